//! `tauto shadow`: judging a contest that another system judges, and showing what differs. The contest is read from its feed of events; nothing
//! is told to its server. What was read and what was judged is in a journal, so that whatever ends this process costs no submission.

mod contest;
mod feed;
mod journal;
mod judges;
mod packages;

use crate::Done;
use crate::exports::{self, Exports};
use crate::inputs;
use crate::judging::{Site, languages, worst_floor};
use crate::options::{ClockArgs, LimitArgs, OpinionArgs, PlacementArgs, SlotChoice};
use crate::reservation::reserve;
use crate::service::log::LogForm;
use crate::service::serve::by_slot::all_slots;
use crate::terminal::{self, Failure, print};
use ::client::Client;
use clap::Args;
use contest::Following;
use engine::slot::needs_auxiliary;
use judges::{Judges, Message};
use model::{Agreement, Shadow, ShadowRow};
use packages::Packages;
use report::html::shadow_page;
use report::json::to_text;
use report::text::{shadow_line, shadow_summary};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// The variable with a password.
const PASSWORD: &str = "TAUTO_SHADOW_PASSWORD";
/// Messages that wait to be taken in: a feed is read no faster than it is written down.
const WAITING: usize = 16;
/// As often a page is written again while things change.
const PAGE: Duration = Duration::from_secs(1);
/// As often the end is looked for.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
pub(crate) struct ShadowArgs {
    /// URL of the contest, such as https://judge.example.org/api/contests/finals, or of its API
    #[arg(long, value_name = "URL")]
    url: String,
    /// ID of the contest [default: from the URL, else the only contest]
    #[arg(long, value_name = "ID")]
    contest: Option<String>,
    /// User that may read the contest's submissions [default: no login]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// File with that user's password [default: $TAUTO_SHADOW_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Problem packages: a package, a directory of packages, or a table (.toml) that maps the contest's problems to
    /// packages and its languages to tauto's; may be repeated
    #[arg(long, required = true, value_name = "DIR|FILE", num_args = 1..)]
    packages: Vec<PathBuf>,
    /// Exit when all submissions that are now in the feed are judged
    #[arg(long)]
    once: bool,
    /// Restart from scratch, ignoring what was read and judged of this contest before
    #[arg(long)]
    fresh: bool,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
    /// Write a page to FILE, and rewrite it after each change
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Number of submissions judged in parallel, each in its own slot [default: the number of slots]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    /// Log format
    #[arg(long, value_enum, default_value = "text")]
    log: LogForm,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    opinion: OpinionArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

pub(crate) fn main(args: &ShadowArgs) -> Result<Done, Failure> {
    crate::service::log::begin(args.log);
    let address = feed::address(args, authorization(args)?)?;
    let client = address.client()?;
    let languages = languages(args.languages.as_ref())?;
    let packages = Packages::read(&args.packages, &languages)?;
    // Looked at before anything is judged; a page is written again and again.
    drop(Exports::open(args.json, [("--html", args.html.as_ref())])?);
    let kept = journal::open(&address, args.fresh)?;
    let jobs = match args.jobs {
        Some(jobs) => usize::from(jobs),
        None if args.placement.slot_choice(SlotChoice::Auto)? == SlotChoice::Auto => all_slots()?.len(),
        None => 1,
    };
    let auxiliary = packages.all().any(|opened| needs_auxiliary(&opened.package));
    let reservations = reserve(&args.placement, SlotChoice::Auto, jobs)?;
    let floor = worst_floor(&reservations);
    let site = Site::start(reservations, auxiliary)?;
    let judges = Judges::new(args, &address, &packages, &languages, &site, floor)?;
    let mut following = Following::new(kept, &packages, &languages, &client, &address);
    // What differed before is told again only in the document and on the page.
    drop(following.lines());
    let ended = follow(args, &address, &mut following, &judges, &site);
    let shadow = following.shadow(&address);
    write_page(args, &shadow);
    let ended = ended?;
    match args.json {
        true => print(&to_text(&shadow)),
        false => {
            let style = terminal::style();
            let open = |row: &&ShadowRow| matches!(row.state, Agreement::Pending | Agreement::Waiting);
            let left = shadow.results.iter().filter(|row| ended && open(row));
            left.for_each(|row| print(&shadow_line(row, style)));
            print(&shadow_summary(&shadow));
        }
    }
    Ok(match (ended, shadow.differ + shadow.not_judged + shadow.pending) {
        (false, _) => Done::Interrupted,
        (true, 0) => Done::Good,
        (true, _) => Done::Bad,
    })
}

fn new_client(url: &str, authorization: Option<String>) -> Result<Client, Failure> {
    let agent = format!("tautochrone/{}", env!("CARGO_PKG_VERSION"));
    Client::new(url, authorization, agent).map_err(Failure::usage)
}

fn authorization(args: &ShadowArgs) -> Result<Option<String>, Failure> {
    let Some(user) = &args.user else { return Ok(None) };
    let password = match &args.password_file {
        Some(path) => {
            let text = inputs::text(path);
            text.map_err(|e| Failure::usage(format!("--password-file {}: {e}", path.display())))?
        }
        None => std::env::var(PASSWORD).map_err(|_| {
            Failure::usage(format!(
                "--user {user}: no password\nhint: give --password-file FILE, or set {PASSWORD}"
            ))
        })?,
    };
    Ok(Some(::client::basic(user, password.trim_end_matches(['\r', '\n']))))
}

/// Takes in what the feed tells and what the judges say, until there is no more. False: the user interrupted.
fn follow(
    args: &ShadowArgs,
    address: &feed::Address,
    following: &mut Following,
    judges: &Judges,
    site: &Site,
) -> Result<bool, Failure> {
    let (tell, told) = sync_channel(WAITING);
    let told_all = AtomicBool::new(false);
    std::thread::scope(|threads| {
        // Those who judge and those who read end when nobody listens any more.
        let told = told;
        let _end = judges.ending();
        for slot in site.slots.iter() {
            let tell = tell.clone();
            threads.spawn(move || judges.serve(slot, &tell));
        }
        let mut over = following.has_ended();
        if !over {
            let (token, ending) = (following.token(), &site.ending);
            let reader = feed::Reader { address, token, once: args.once, over: &told_all, ending };
            threads.spawn(move || reader.read(&tell));
        }
        following.order_all(judges);
        let mut page = Page { due: true, written: None };
        loop {
            if site.ending.load(Ordering::SeqCst) {
                return Ok(false);
            }
            lines(args, following);
            page.keep(args, address, following);
            if over && judges.is_idle() && following.is_done() {
                return Ok(true);
            }
            match told.recv_timeout(LOOK) {
                Ok(Message::Line(line)) => {
                    page.due |= following.take(&line, judges)?;
                    over |= following.has_ended();
                    told_all.store(over, Ordering::SeqCst);
                }
                Ok(Message::Connected) => following.connected(judges),
                Ok(Message::Waiting) => following.retry(judges),
                Ok(Message::Over) => over = true,
                Ok(Message::Failed(failure)) => return Err(failure),
                Ok(Message::Outcome(told)) => {
                    let (order, outcome) = *told;
                    page.due = true;
                    following.outcome(order, outcome, args.once, judges)?;
                }
                Err(RecvTimeoutError::Timeout) => following.retry(judges),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::system("all threads have ended")),
            }
        }
    })
}

/// Tells what has changed.
fn lines(args: &ShadowArgs, following: &mut Following) {
    let changed = following.lines();
    if !args.json {
        let style = terminal::style();
        changed.iter().for_each(|row| print(&shadow_line(row, style)));
    }
}

/// When the page is to be written.
struct Page {
    due: bool,
    written: Option<Instant>,
}

impl Page {
    fn keep(&mut self, args: &ShadowArgs, address: &feed::Address, following: &Following) {
        let early = self.written.is_some_and(|at| at.elapsed() < PAGE);
        if args.html.is_none() || !self.due || early {
            return;
        }
        write_page(args, &following.shadow(address));
        (self.due, self.written) = (false, Some(Instant::now()));
    }
}

fn write_page(args: &ShadowArgs, shadow: &Shadow) {
    let Some(path) = &args.html else { return };
    if let Err(e) = exports::replace(path, shadow_page(shadow).as_bytes()) {
        terminal::lose(path.display(), e);
    }
}
