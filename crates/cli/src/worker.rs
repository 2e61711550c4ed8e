//! `tauto worker`: the judge's side of a service. One process for each slot; each holds its slot's launchers, connects to the
//! service, and does one task after another. It has no database and decides nothing about verdicts that the engine does not.

mod facts;
mod link;
mod packages;
mod task;

use crate::Done;
use crate::judging::{Site, languages, worst_floor};
use crate::log::LogForm;
use crate::options::{PlacementArgs, SlotChoice};
use crate::place::{Place, places, planned, wishes_for};
use crate::serve::nursery::{Child, Nursery};
use crate::terminal::Failure;
use clap::Args;
use engine::languages::Languages;
use engine::slot::Slot;
use facts::Speaker;
use fleet::{FromWorker, Hello, Lease, Outcome, PROTOCOL, SlotFacts, ToWorker};
use host::machine::Machine;
use link::{Broken, Link};
use packages::Packages;
use settle::Floor;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// The service's socket for workers
    #[arg(long, value_name = "PATH")]
    connect: PathBuf,
    /// The slots to serve, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::options::slot_choice)]
    slots: Vec<SlotChoice>,
    /// Name of this machine in the service [default: its host name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Languages of your own: a table laid over the shipped one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    /// How log lines are written
    #[arg(long, value_enum, default_value = "text")]
    log: LogForm,
    /// Serve one slot, as the process for it
    #[arg(long, hide = true, requires = "slots")]
    single: bool,
    /// The process that starts this one
    #[arg(long, hide = true, value_name = "PID")]
    parent: Option<u32>,
    /// Tell the service of this machine, as one of its workers
    #[arg(long, hide = true, requires = "single")]
    speaker: bool,
}

/// One process for each slot, or the process of one slot.
pub(crate) fn main(args: WorkerArgs) -> Result<Done, Failure> {
    crate::log::begin(args.log);
    let slots = if args.slots.is_empty() { all_slots()? } else { args.slots.clone() };
    match (args.single, &slots[..]) {
        (true, [slot]) => serve(&args, *slot),
        (true, _) => Err(Failure::usage("--single: one slot")),
        (false, slots) => {
            let (node, languages) = (args.node.as_deref(), args.languages.as_deref());
            Nursery::start(children(slots, &args.connect, node, languages, args.log))?.attend(|_| {})
        }
    }
}

/// The slots of this machine; one that is none on a machine that has none.
pub(crate) fn all_slots() -> Result<Vec<SlotChoice>, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let plan = planned(&machine, &wishes_for(None)?)?;
    let slots: Vec<SlotChoice> = plan.slots.iter().map(|slot| SlotChoice::Number(slot.id)).collect();
    Ok(if slots.is_empty() { vec![SlotChoice::None] } else { slots })
}

/// How the processes of slots are started. That of the first speaks for the machine.
pub(crate) fn children(
    slots: &[SlotChoice],
    connect: &Path,
    node: Option<&str>,
    languages: Option<&Path>,
    log: LogForm,
) -> Vec<Child> {
    let number = |slot: &SlotChoice| match slot {
        SlotChoice::Number(n) => n.to_string(),
        _ => "none".to_string(),
    };
    let child = |(slot, first): (&SlotChoice, bool)| {
        let slot = number(slot);
        let words = ["worker", "--single", "--slots", &slot, "--log", log.name(), "--connect"];
        let mut args: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        args.push(connect.into());
        if let Some(node) = node {
            args.extend(["--node".into(), node.into()]);
        }
        if let Some(languages) = languages {
            args.extend(["--languages".into(), languages.into()]);
        }
        args.extend(first.then(|| "--speaker".into()));
        Child { name: format!("worker {slot}"), args, env: Vec::new(), stdin: None }
    };
    let first = std::iter::once(true).chain(std::iter::repeat(false));
    slots.iter().zip(first).map(child).collect()
}

/// What a worker needs as long as it lives.
struct Worker {
    slot: &'static Slot,
    cancel: &'static AtomicBool,
    languages: Languages,
    floor: Floor,
    packages: Packages,
    hello: Hello,
    speaker: Option<Speaker>,
}

/// The shortest and the longest wait between attempts to connect.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A conversation that lasted this long was none that fails at once.
const LIVED: Duration = Duration::from_secs(2);
/// Rest after a task that could not be done for a reason that may pass, such as a full disk.
const REST: Duration = Duration::from_secs(1);

fn serve(args: &WorkerArgs, slot: SlotChoice) -> Result<Done, Failure> {
    crate::serve::die_with_parent(args.parent)?;
    let typed = PlacementArgs { slot: Some(slot), ..PlacementArgs::default() };
    let places = places(&typed, SlotChoice::Auto, 1)?;
    let floor = worst_floor(&places);
    let facts = slot_facts(&places[0], slot, &floor);
    let languages = languages(args.languages.as_ref())?;
    let site = Site::start(places, true)?;
    // They are used as long as this process lives, by what is compiled once and kept.
    let site: &'static Site = Box::leak(Box::new(site));
    let slots: &'static Arc<Vec<Slot>> = &site.slots;
    let first = slots.first().ok_or_else(|| Failure::system("there is no slot"))?;
    let machine = Machine::this().map_err(Failure::system)?;
    let own_name = machine.read("/proc/sys/kernel/hostname").map(|name| name.trim().to_string());
    let node = args.node.clone().or(own_name.ok()).unwrap_or_else(|| "this machine".into());
    let hello = Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_string(),
        node,
        slot: facts,
        holding: None,
    };
    let packages = Packages::new(crate::config::data_directory()?.join("worker-packages"))?;
    let speaker = args.speaker.then(|| Speaker::new(args.languages.clone()));
    let mut worker = Worker { slot: first, cancel: &site.cancel, languages, floor, packages, hello, speaker };
    worker.work(&args.connect)
}

fn slot_facts(place: &Place, slot: SlotChoice, floor: &Floor) -> SlotFacts {
    let json = |value: Result<serde_json::Value, _>| value.unwrap_or(serde_json::Value::Null);
    SlotFacts {
        id: if let SlotChoice::Number(n) = slot { n } else { 0 },
        cpus: place.placement.cpus.clone(),
        plan: place.slot().map_or(serde_json::Value::Null, |slot| json(serde_json::to_value(slot))),
        floor: json(serde_json::to_value(floor)),
    }
}

impl Worker {
    fn ending(&self) -> bool {
        self.cancel.load(Ordering::SeqCst)
    }

    /// Connects, and connects again, until this process is to end.
    fn work(&mut self, path: &Path) -> Result<Done, Failure> {
        let mut held: Option<(Lease, Outcome)> = None;
        let mut told = String::new();
        let mut wait = SHORTEST_WAIT;
        loop {
            if self.ending() {
                return Ok(Done::Interrupted);
            }
            self.hello.holding = held.as_ref().map(|(lease, _)| *lease);
            match Link::connect(path, &self.hello) {
                Ok(link) => {
                    told.clear();
                    let begun = Instant::now();
                    match self.converse(&link, &mut held) {
                        Ok(done) => return Ok(done),
                        Err(Broken::Connection(why)) => {
                            tracing::info!(why, "the service is gone; connecting again");
                            // One whose database is full ends every conversation as soon as it hears of a result.
                            wait = if begun.elapsed() > LIVED { SHORTEST_WAIT } else { wait };
                            self.pause(&mut wait);
                        }
                        Err(Broken::Refused(why)) => return Err(Failure::usage(why)),
                        Err(Broken::Worker(why)) => return Err(Failure::system(why)),
                    }
                }
                Err(Broken::Refused(why)) => return Err(Failure::usage(why)),
                Err(Broken::Connection(why) | Broken::Worker(why)) => {
                    if why != told {
                        tracing::info!(why, "no service yet; trying on");
                        told = why;
                    }
                    self.pause(&mut wait);
                }
            }
        }
    }

    /// Waits, longer each time, and no longer than this process is to live.
    fn pause(&self, wait: &mut Duration) {
        let until = Instant::now() + *wait;
        while Instant::now() < until && !self.ending() {
            std::thread::sleep(SHORTEST_WAIT);
        }
        *wait = (*wait * 2).min(LONGEST_WAIT);
    }

    fn converse(&mut self, link: &Link, held: &mut Option<(Lease, Outcome)>) -> Result<Done, Broken> {
        self.speaker.iter_mut().for_each(Speaker::begin);
        loop {
            if let Some((lease, outcome)) = held.as_ref() {
                link.say(&FromWorker::Done { lease: *lease, outcome: outcome.clone() })?;
                while link.hear()? != (ToWorker::Heard { lease: *lease }) {}
                let failed = match held.take() {
                    Some((_, Outcome::Failed { why })) => Some(why),
                    Some((lease, Outcome::Returned { why })) => {
                        tracing::warn!(job = lease.job, why, "a task was given back");
                        self.pause(&mut REST.clone());
                        None
                    }
                    _ => None,
                };
                // What failed may be this process itself; a new one is started in its place.
                if let Some(why) = failed {
                    return Err(Broken::Worker(why));
                }
            }
            if self.ending() {
                return Ok(Done::Interrupted);
            }
            self.tell_of_node(link)?;
            link.say(&FromWorker::Ready)?;
            match self.next_task(link)? {
                Some(task) => {
                    let outcome = task::perform(self, link, &task);
                    *held = Some((task.lease, outcome));
                }
                None => return Ok(Done::Interrupted),
            }
        }
    }

    /// Waits for a task. `None`: this process is to end.
    fn next_task(&mut self, link: &Link) -> Result<Option<fleet::Task>, Broken> {
        loop {
            match link.hear_within(Duration::from_millis(200))? {
                Some(ToWorker::Task(task)) => return Ok(Some(*task)),
                // Too late: nothing is being done.
                Some(_) => {}
                None if self.ending() => return Ok(None),
                None => self.tell_of_node(link)?,
            }
        }
    }

    /// Tells of the machine, if it is time to. Nothing runs in this slot meanwhile.
    fn tell_of_node(&mut self, link: &Link) -> Result<(), Broken> {
        match self.speaker.as_mut().and_then(|speaker| speaker.news(&self.languages)) {
            Some(facts) => link.say(&FromWorker::Node { facts }),
            None => Ok(()),
        }
    }
}
