//! `tauto judgehost`: judging for a DOMjudge server in place of its own judgehost. One process for each slot, each a judgehost of its own
//! for the server, since that continues judgings by the host's name. The protocol is the crate `judgehost`, judging is `engine::bundle`.

mod batch;
mod bundles;
mod host;
mod report_sender;
mod testcases;
mod words;
mod workdirs;

use crate::Done;
use crate::config::data_directory;
use crate::inputs;
use crate::judging::{Site, worst_floor};
use crate::options::{PlacementArgs, SlotChoice};
use crate::reservation::reserve;
use crate::service::serve::by_slot::{ProcessArgs, Serves};
use crate::service::serve::supervisor::{SupervisedCommand, Supervisor};
use crate::service::strangers::StrangersArgs;
use crate::terminal::Failure;
use ::judgehost::credentials::{Account, is_host_name};
use ::judgehost::server::Server;
use batch::Stop;
use clap::{Args, ValueEnum};
use client::Client;
use engine::bundle::BundleRunner;
use host::Host;
use judge::domjudge::MemoryVerdict;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The variable with a password, as DOMjudge's image takes it.
const PASSWORD: &str = "JUDGEDAEMON_PASSWORD";
/// The variable with the address of a server, as DOMjudge's image takes it: without the path of the API.
const BASE: &str = "DOMSERVER_BASEURL";

#[derive(Args, Debug)]
pub(crate) struct JudgehostArgs {
    /// Address of the server's API, such as https://judge.example.org/api/v4 [default: $DOMSERVER_BASEURL with api/v4]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// User of the server with the role judgehost
    #[arg(long, value_name = "USER", env = "JUDGEDAEMON_USERNAME", default_value = "judgehost")]
    user: String,
    /// File with that user's password [default: $JUDGEDAEMON_PASSWORD]
    #[arg(long, value_name = "FILE", env = "JUDGEDAEMON_PASSWORD_FILE")]
    password_file: Option<PathBuf>,
    /// File with the address, user and password of one server, in the format of DOMjudge's etc/restapi.secret
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "password_file"])]
    secret_file: Option<PathBuf>,
    /// Name of this machine on the server; the slot number is appended [default: the host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Slots that judge, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::options::slot_choice)]
    slots: Vec<SlotChoice>,
    /// Maximum number of tests to fetch at a time [default: the server's choice]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// Verdict to report if a program exceeds its memory limit
    #[arg(long, value_enum, default_value = "rte")]
    memory_verdict: ToldMemory,
    /// Directory that provides /usr, /bin and /lib to programs and scripts, such as a DOMjudge chroot [default: this
    /// machine's root]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Exit when the queue is empty
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    strangers: StrangersArgs,
    #[command(flatten)]
    process: ProcessArgs,
}

/// What the server is told of a program killed for its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ToldMemory {
    /// Run-time error, as DOMjudge's own judgehost reports
    Rte,
    /// A memory limit
    Mle,
}

impl ToldMemory {
    fn verdict(self) -> MemoryVerdict {
        match self {
            ToldMemory::Rte => MemoryVerdict::RunError,
            ToldMemory::Mle => MemoryVerdict::MemoryLimit,
        }
    }
}

/// One process for each slot, or the process of one slot.
pub(crate) fn main(args: &JudgehostArgs) -> Result<Done, Failure> {
    crate::service::log::begin(args.process.log);
    // What is wrong with them is said once, before any process is started.
    let account = account(args)?;
    client(&account)?;
    let name = name(args)?;
    root(args)?;
    let serves = args.process.serves(&args.slots)?;
    if let Serves::Each(_) = serves {
        args.strangers.admit()?;
    }
    match serves {
        Serves::One(slot) => serve(args, &account, &name, slot),
        Serves::Each(slots) if args.once => all_once(&slots, &name),
        Serves::Each(slots) => {
            let child = |slot: &SlotChoice| SupervisedCommand {
                name: format!("judgehost {}", number(*slot)),
                args: words(*slot, &name),
                env: Vec::new(),
                stdin: None,
            };
            Supervisor::start(slots.iter().map(child).collect())?.attend(|_| {})
        }
    }
}

/// The words by which this program is started again for a slot: those it was started with, and the slot. Secrets are in files or variables.
fn words(slot: SlotChoice, name: &str) -> Vec<OsString> {
    let mut given = std::env::args_os().skip(1);
    let mut words: Vec<OsString> = Vec::new();
    while let Some(word) = given.next() {
        let text = word.to_string_lossy();
        match &*text {
            "--slots" | "--name" => drop(given.next()),
            _ if text.starts_with("--slots=") || text.starts_with("--name=") => {}
            _ => words.push(word),
        }
    }
    let slot = match slot {
        SlotChoice::Number(n) => n.to_string(),
        SlotChoice::None | SlotChoice::Auto => "none".to_owned(),
    };
    words.extend(["--single", "--slots", &slot, "--name", name].map(OsString::from));
    words
}

fn number(slot: SlotChoice) -> u32 {
    if let SlotChoice::Number(n) = slot { n } else { 0 }
}

/// All slots at the same time, until none has anything to do.
fn all_once(slots: &[SlotChoice], name: &str) -> Result<Done, Failure> {
    let parent = std::process::id().to_string();
    let start = |slot: &SlotChoice| {
        let mut command = Command::new("/proc/self/exe");
        command.args(words(*slot, name)).args(["--parent", &parent]).stdin(Stdio::null());
        command.spawn().map_err(Failure::system)
    };
    let children: Vec<_> = slots.iter().map(start).collect::<Result<_, _>>()?;
    let mut done = Done::Good;
    for mut child in children {
        let status = child.wait().map_err(Failure::system)?;
        match status.code() {
            Some(0) => {}
            Some(2) => return Err(Failure::usage("a slot failed\nhint: see the messages above")),
            _ => done = Done::Fault,
        }
    }
    Ok(done)
}

/// Who we are at which server: from one file, or from options and variables.
fn account(args: &JudgehostArgs) -> Result<Account, Failure> {
    if let Some(path) = &args.secret_file {
        let bad = |why: String| Failure::usage(format!("{}: {why}", path.display()));
        let text = inputs::text(path).map_err(|e| bad(e.to_string()))?;
        return Account::of_secret(&text).map_err(bad);
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let base = || variable(BASE).map(|base| format!("{}/api/v4", base.trim_end_matches('/')));
    let url = args.url.clone().or_else(base).ok_or_else(|| {
        Failure::usage("no server given\nhint: give --url URL, such as https://judge.example.org/api/v4")
    })?;
    let password = match &args.password_file {
        Some(path) => {
            let text = inputs::text(path);
            let text = text.map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        }
        None => variable(PASSWORD).ok_or_else(|| {
            Failure::usage(
                "no password given\n\
                 hint: give --password-file FILE or --secret-file FILE",
            )
        })?,
    };
    Ok(Account { url, user: args.user.clone(), password })
}

/// What is asked.
fn client(account: &Account) -> Result<Client, Failure> {
    let agent = format!("tautochrone/{}", env!("CARGO_PKG_VERSION"));
    Client::new(&account.url, Some(account.authorization()), agent).map_err(Failure::usage)
}

/// The name of this machine at the server.
fn name(args: &JudgehostArgs) -> Result<String, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => {
            let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
            own.split('.').next().unwrap_or_default().to_owned()
        }
    };
    // With room for a slot.
    match is_host_name(&name) && name.len() <= 58 {
        true => Ok(name),
        false => Err(Failure::usage(format!(
            "--name `{name}`: the server takes 1 to 58 of a-z, A-Z, 0-9, -, _ and . before the slot's number"
        ))),
    }
}

/// The tree whose programs are used, as an absolute path.
fn root(args: &JudgehostArgs) -> Result<Option<String>, Failure> {
    let Some(given) = &args.root else { return Ok(None) };
    let bad = |why: String| {
        Failure::usage(format!(
            "--root {}: {why}\n\
             hint: name a directory that has usr and bin/sh, such as one made by dj_make_chroot or debootstrap",
            given.display()
        ))
    };
    let path = given.canonicalize().map_err(|error| bad(error.to_string()))?;
    if !path.join("usr").symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(bad("it has no directory usr".to_owned()));
    }
    // A link there names a path inside the tree.
    if path.join("bin/sh").symlink_metadata().is_err() {
        return Err(bad("it has no bin/sh".to_owned()));
    }
    path.into_os_string().into_string().map(Some).map_err(|_| bad("its path is not UTF-8".to_owned()))
}

fn serve(args: &JudgehostArgs, account: &Account, name: &str, slot: SlotChoice) -> Result<Done, Failure> {
    args.process.die_with_parent()?;
    let name = format!("{name}-{}", number(slot));
    // Before the launchers are forked: another process of this name has them.
    let directory = data_directory()?.join("judgehost");
    let journal = host::journal(&directory.join(&name), &name)?;
    let typed = PlacementArgs { slot: Some(slot), ..PlacementArgs::default() };
    let reservations = reserve(&typed, SlotChoice::Auto, 1)?;
    let floor = worst_floor(&reservations);
    let site = Site::start_patient(reservations, true)?;
    // Used as long as this process lives, by what is built once and kept.
    let site: &'static Site = Box::leak(Box::new(site));
    let floor = Box::leak(Box::new(floor));
    let slots: &'static [engine::slot::Slot] = &site.slots;
    let first = slots.first().ok_or_else(|| Failure::system("there is no slot"))?;
    let view = Box::leak(Box::new(engine::bundle::view(root(args)?.as_deref())));
    let runner = BundleRunner { slot: first, floor, view, cancel: &site.cancel };
    let tests = testcases::Tests::new(directory.join("tests"))?;
    let server = || Ok::<_, Failure>(Server::new(client(account)?, name.clone()));
    let report_sender = report_sender::ReportSender::start(server()?)?;
    let mut host = Host {
        server: server()?,
        report_sender,
        url: account.url.clone(),
        name: name.clone(),
        journal,
        runner,
        ending: &site.ending,
        tests,
        bundles: bundles::Bundles::default(),
        judging: None,
        workdirs: workdirs::Workdirs::new(directory.join(&name).join("work")).map_err(Failure::system)?,
        versions: std::collections::BTreeMap::new(),
        memory: args.memory_verdict.verdict(),
        batch: args.batch,
        once: args.once,
    };
    host.live()
}

/// How often something is fetched that comes damaged.
const FETCHES: usize = 5;

/// Fetches until what came is whole, some times: nobody is to blame for what happens on the way. The last complaint where it never is.
fn whole<T>(fetch: impl Fn() -> Result<Result<T, String>, Stop>) -> Result<Result<T, String>, Stop> {
    for _ in 1..FETCHES {
        if let Ok(good) = fetch()? {
            return Ok(Ok(good));
        }
    }
    fetch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_comes_damaged_is_fetched_again_a_few_times() {
        let fetched = |good_from: usize| {
            let times = Cell::new(0);
            let whole = whole(|| {
                times.set(times.get() + 1);
                Ok(if times.get() >= good_from { Ok("good") } else { Err("damaged".to_owned()) })
            });
            (whole.ok(), times.get())
        };
        assert_eq!(fetched(1), (Some(Ok("good")), 1));
        assert_eq!(fetched(4), (Some(Ok("good")), 4));
        assert_eq!(fetched(9), (Some(Err("damaged".to_owned())), FETCHES));
    }
}
