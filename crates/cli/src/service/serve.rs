//! `tauto serve`: the service on this machine. This process only starts and watches the others: the web process, which holds no
//! privilege, and one worker for each slot, which hold no database.

pub(crate) mod by_slot;
pub(crate) mod config;
pub(crate) mod supervisor;
pub(crate) mod user;
mod web;

use crate::Done;
use crate::config::{NATS, data_directory};
use crate::isolation::IsolationArgs;
use crate::options::SlotChoice;
use crate::service::log::{LogForm, begin};
use crate::service::strangers::StrangersArgs;
use crate::service::worker;
use crate::terminal::{Failure, print_error};
use clap::Args;
use config::ServeSettings;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::process::Signal;
use server::Network;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use supervisor::{SupervisedCommand, Supervisor};
use user::User;
pub(crate) use web::{DATABASE, SOCKET};

/// The service's directory in the data directory.
pub(crate) const SERVICE: &str = "service";

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address and port to serve HTTP on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Database: a file or postgres://… [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Distribute jobs to a fleet through these NATS brokers: nats://HOST:PORT or tls://…, comma-separated. Use the
    /// variable TAUTO_NATS if the URL has a password
    #[arg(long, value_name = "URL", env = NATS, hide_env_values = true)]
    pub(crate) nats: Option<String>,
    /// Credentials file (.creds) for the brokers
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_creds: Option<PathBuf>,
    /// PEM file with the certificate authorities of the brokers [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Option<PathBuf>,
    /// PEM file with the client certificate for the brokers
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_cert: Option<PathBuf>,
    /// PEM file with the key of the client certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_key: Option<PathBuf>,
    /// Slots that judge, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::options::slot_choice)]
    slots: Vec<SlotChoice>,
    /// Start no workers; start them with `tauto worker --connect` instead
    #[arg(long, conflicts_with = "slots")]
    no_worker: bool,
    /// User that the web process runs as, if root starts the service [default: tautochrone if it exists, else UID 60780]
    #[arg(long, value_name = "NAME|UID")]
    user: Option<String>,
    /// Require accounts, also on the loopback address
    #[arg(long)]
    accounts: bool,
    /// URL at which browsers reach the service, such as https://judge.example.org [default: the listening address]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Reverse proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    proxy: Vec<IpAddr>,
    /// Print a new one-time link for becoming an admin, even if an admin exists
    #[arg(long)]
    admin_link: bool,
    /// Seconds to let running jobs finish on shutdown [default: 20]
    #[arg(long, value_name = "N")]
    grace: Option<u64>,
    /// Allow callbacks to this private network, such as 10.1.0.0/16; may be repeated
    #[arg(long, value_name = "NETWORK")]
    callback_network: Vec<Network>,
    /// Log format [default: text]
    #[arg(long, value_enum)]
    log: Option<LogForm>,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    /// Be the web process; the listening socket is standard input
    #[arg(long, hide = true)]
    web: bool,
    /// The process that starts this one
    #[arg(long, hide = true, value_name = "PID")]
    parent: Option<u32>,
    /// The service's directory, of the web process
    #[arg(long, hide = true, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    strangers: StrangersArgs,
    // Last, since its heading holds for what comes after it too.
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn main(args: ServeArgs) -> Result<Done, Failure> {
    // The web process reads the configuration while it may read as much as whoever started it.
    let wanted = ServeSettings::read(&args)?;
    begin(wanted.log);
    if args.web { web::main(&args, wanted) } else { supervise(&args, &wanted) }
}

fn supervise(args: &ServeArgs, wanted: &ServeSettings) -> Result<Done, Failure> {
    if !args.no_worker {
        args.strangers.admit()?;
    }
    let http = TcpListener::bind(wanted.listen).map_err(|e| {
        Failure::usage(format!(
            "--listen {}: {e}\nhint: choose another port, or stop what listens there: ss -ltnp",
            wanted.listen
        ))
    })?;
    let address = http.local_addr().map_err(Failure::system)?;
    let user = user::of_service(wanted.user.as_deref())?;
    let directory = service_directory(&data_directory()?, user)?;
    user.map_or(Ok(()), |user| passable(&directory, user))?;
    let slots = match (args.no_worker, args.slots.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => by_slot::all_slots()?,
        (false, false) => args.slots.clone(),
    };
    let mut children = vec![web_child(args, wanted.log, http, &directory, user)];
    let socket = directory.join(SOCKET);
    let way = worker::ServiceAddress::Socket(socket);
    children.extend(worker::children(
        &slots,
        &way,
        None,
        args.languages.as_deref(),
        wanted.log,
        &args.isolation,
    ));
    let supervisor = Supervisor::start(children)?;
    print_error(&format!("tauto: serving at http://{address}/ (Ctrl-C ends it)\n"));
    // Workers last: what they are judging is waited for by the web process.
    supervisor.attend(|children| {
        let (web, workers): (Vec<_>, Vec<_>) = children.iter().partition(|child| child.name == "web");
        web.iter().for_each(|child| child.tell(Signal::TERM));
        web.iter().for_each(|child| child.wait());
        workers.iter().for_each(|child| child.tell(Signal::TERM));
    })
}

/// What was typed; the configuration it reads itself.
fn web_child(
    args: &ServeArgs,
    log: LogForm,
    http: TcpListener,
    directory: &Path,
    user: Option<User>,
) -> SupervisedCommand {
    let mut words: Vec<OsString> =
        vec!["serve".into(), "--web".into(), "--directory".into(), directory.into()];
    let typed = [
        ("--grace", args.grace.map(|grace| grace.to_string())),
        ("--database", args.database.clone()),
        ("--user", user.map(|user| user.to_string())),
        ("--log", Some(log.name().to_string())),
    ];
    for (name, value) in typed {
        words.extend(value.into_iter().flat_map(|value| [name.into(), value.into()]));
    }
    for network in &args.callback_network {
        words.extend(["--callback-network".into(), network.to_string().into()]);
    }
    for (given, word) in [(args.accounts, "--accounts"), (args.admin_link, "--admin-link")] {
        words.extend(given.then(|| word.into()));
    }
    if let Some(url) = &args.public_url {
        words.extend(["--public-url".into(), url.into()]);
    }
    for proxy in &args.proxy {
        words.extend(["--proxy".into(), proxy.to_string().into()]);
    }
    let files = [
        ("--nats-creds", &args.nats_creds),
        ("--nats-ca", &args.nats_ca),
        ("--nats-cert", &args.nats_cert),
        ("--nats-key", &args.nats_key),
    ];
    for (name, file) in files {
        words.extend(file.iter().flat_map(|file| [name.into(), file.into()]));
    }
    let mut env: Vec<(&str, OsString)> = args.nats.iter().map(|url| (NATS, url.into())).collect();
    // Another user's home is root's no more: PostgreSQL's client looks for its password file there.
    env.extend(user.map(|_| ("HOME", directory.into())));
    SupervisedCommand { name: "web".into(), args: words, env, stdin: Some(http.into()) }
}

/// The directory below the data directory that is the web process's alone.
fn service_directory(data: &Path, user: Option<User>) -> Result<PathBuf, Failure> {
    let path = data.join(SERVICE);
    let fail = |e: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{}: {e}\nhint: set TAUTO_DATA_DIR to a directory that this user may write to",
            path.display()
        ))
    };
    std::fs::create_dir_all(data).map_err(|e| fail(&e))?;
    // By descriptor: what lies in a directory that root made is root's, but its entry `service` is given away below.
    let data =
        rustix::fs::open(data, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| fail(&e))?;
    match rustix::fs::mkdirat(&data, SERVICE, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(e) => return Err(fail(&e)),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let service = rustix::fs::openat(&data, SERVICE, flags, Mode::empty()).map_err(|e| fail(&e))?;
    if let Some(user) = user {
        let stat = rustix::fs::fstat(&service).map_err(|e| fail(&e))?;
        if stat.st_uid == 0 {
            rustix::fs::fchown(&service, Some(user.uid), Some(user.gid)).map_err(|e| fail(&e))?;
        } else if stat.st_uid != user.uid.as_raw() {
            let why = format!(
                "belongs to user {}, not to {}, who is to run the service\nhint: name its owner with --user",
                stat.st_uid,
                user.uid.as_raw()
            );
            return Err(fail(&why));
        }
        // The way to it must be passable for that user.
        let passable = rustix::fs::statat(CWD, data_of(&path), AtFlags::empty()).map_err(|e| fail(&e))?;
        if passable.st_mode & 0o001 == 0 && passable.st_uid == 0 {
            rustix::fs::fchmod(&data, Mode::from_raw_mode((passable.st_mode | 0o011) & 0o7777))
                .map_err(|e| fail(&e))?;
        }
    }
    Ok(path)
}

/// Whether that user gets to the directory and may work in it. Said now, since a web process that cannot answers every request with 503.
fn passable(directory: &Path, user: User) -> Result<(), Failure> {
    let directory = std::path::absolute(directory).map_err(Failure::system)?;
    // A thread that becomes that user ends with this look: the kernel says what it may, access lists included.
    let look = std::thread::spawn(move || {
        user.take_over()?;
        let mut way: Vec<&Path> = directory.ancestors().collect();
        way.reverse();
        for step in way {
            let (wanted, word) = match step == directory {
                true => (Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK, "read and write"),
                false => (Access::EXEC_OK, "pass through"),
            };
            rustix::fs::access(step, wanted).map_err(|e| {
                Failure::usage(format!(
                    "{}: user {user}, who is to run the service, may not {word} it: {e}\n\
                     hint: let others pass (chmod o+x), set TAUTO_DATA_DIR to a directory elsewhere, or name \
                     another user with --user",
                    step.display()
                ))
            })?;
        }
        Ok(())
    });
    look.join().unwrap_or_else(|_| Err(Failure::system("looking at the service's directory failed")))
}

fn data_of(service: &Path) -> &Path {
    service.parent().unwrap_or(service)
}

/// Ends this process with the one that started it, however that ends. `parent`: its number, where it may be gone already.
pub(crate) fn die_with_parent(parent: Option<u32>) -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::system)?;
    match parent.is_none_or(|parent| parent == std::os::unix::process::parent_id()) {
        true => Ok(()),
        false => Err(Failure::system("the process that started this one has ended")),
    }
}
