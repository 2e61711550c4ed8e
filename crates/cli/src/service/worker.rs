//! `tauto worker`: the judge's side of a service. One process for each slot; each holds its slot's launchers, connects to the
//! service by its socket or by the brokers of a fleet, and does one task after another. It has no database and decides nothing about
//! verdicts that the engine does not.

mod brokers;
mod facts;
mod job_loop;
mod nats;
mod packages;
mod probe;
mod socket;
mod statement;
mod task;
mod transport;
mod warm;
mod worker_state;

use crate::Done;
use crate::config::{Config, NATS};
use crate::isolation::{IsolationArgs, IsolationMode, shown_to};
use crate::judging::{Site, languages, worst_floor};
use crate::options::{PlacementArgs, SlotChoice};
use crate::reservation::{Reservation, reserve};
use crate::service::log::LogForm;
use crate::service::serve::by_slot::{ProcessArgs, Serves};
use crate::service::serve::supervisor::{SupervisedCommand, Supervisor};
use crate::service::strangers::StrangersArgs;
use crate::terminal::Failure;
use brokers::BrokerArgs;
use clap::Args;
use engine::languages::Languages;
use engine::slot::Slot;
use facts::FactsReporter;
use fleet::nats::name;
use fleet::{Hello, OLDEST, PROTOCOL, SlotFacts};
use host::facts::Cgroups;
use host::machine::Machine;
use model::Reading;
use packages::Packages;
use settle::NoiseFloor;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// Socket for workers of a service on this machine
    #[arg(long, value_name = "PATH")]
    connect: Option<PathBuf>,
    #[command(flatten)]
    brokers: BrokerArgs,
    /// Slots that judge, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::options::slot_choice)]
    slots: Vec<SlotChoice>,
    /// Name of this machine in the service [default: its host name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    #[command(flatten)]
    strangers: StrangersArgs,
    #[command(flatten)]
    process: ProcessArgs,
    /// Compile what languages have in common, and end
    #[arg(long, hide = true, conflicts_with = "single")]
    warm: bool,
    /// Tell the service of this machine, as one of its workers
    #[arg(long, hide = true, requires = "single")]
    speaker: bool,
    // Last, since its heading holds for what comes after it too.
    #[command(flatten)]
    isolation: IsolationArgs,
}

/// One process for each slot, or the process of one slot.
pub(crate) fn main(args: WorkerArgs) -> Result<Done, Failure> {
    crate::service::log::begin(args.process.log);
    if args.warm {
        return warm::main(&args);
    }
    let address = ServiceAddress::from_args(&args)?;
    match args.process.serves(&args.slots)? {
        Serves::One(slot) => serve(&args, &address, slot),
        Serves::Each(slots) => {
            args.strangers.admit()?;
            let (node, languages) = (args.node.as_deref(), args.languages.as_deref());
            Supervisor::start(children(&slots, &address, node, languages, args.process.log, &args.isolation))?
                .attend(|_| {})
        }
    }
}

/// Where the service is.
pub(crate) enum ServiceAddress {
    /// Its socket.
    Socket(PathBuf),
    /// The brokers of a fleet.
    Brokers(brokers::Brokers),
}

impl ServiceAddress {
    fn from_args(args: &WorkerArgs) -> Result<ServiceAddress, Failure> {
        match (&args.connect, args.brokers.wanted()?) {
            (Some(_), Some(_)) => {
                Err(Failure::usage("--connect and --nats: both are given\nhint: give only one"))
            }
            (Some(path), None) => Ok(ServiceAddress::Socket(path.clone())),
            (None, brokers) => {
                match brokers.map_or_else(|| args.brokers.of_environment(), |of| Ok(Some(of)))? {
                    Some(brokers) => Ok(ServiceAddress::Brokers(brokers)),
                    None => Err(Failure::usage(
                        "no service given\n\
                         hint: give --connect PATH for one on this machine, or --nats URL and --pool NAME for a fleet",
                    )),
                }
            }
        }
    }

    /// The name of this machine there: as it was given, or its host name.
    fn node(&self, given: Option<String>, host: Option<String>) -> Result<String, Failure> {
        match (self, given) {
            (ServiceAddress::Socket(_), given) => Ok(given.or(host).unwrap_or_else(|| "this machine".into())),
            (ServiceAddress::Brokers(_), None) => Ok(name::node_of_host(host.as_deref().unwrap_or_default())),
            (ServiceAddress::Brokers(_), Some(given)) if name::is_node(&given) => Ok(given),
            (ServiceAddress::Brokers(_), Some(given)) => Err(Failure::usage(format!(
                "--node `{given}`: is not a name of a node\n\
                 hint: use 1 to 63 of a-z, A-Z, 0-9, - and _"
            ))),
        }
    }

    fn args(&self) -> Vec<OsString> {
        match self {
            ServiceAddress::Socket(path) => vec!["--connect".into(), path.into()],
            ServiceAddress::Brokers(brokers) => brokers.args(),
        }
    }
}

/// Says loudly that a quota of CPU time makes times vary: programs stand still while they are measured.
fn warn_of_quotas() {
    let Ok(machine) = Machine::this() else { return };
    for quota in Cgroups::read(&machine).quotas.known().into_iter().flatten() {
        tracing::warn!(
            file = quota.file,
            limit = quota.limit,
            "a quota of CPU time stops programs while they are measured, and times vary by up to a period\n\
             hint: give whole CPUs in place of it (docs/containers.md)"
        );
    }
}

/// How the processes of slots are started. That of the first speaks for the machine.
pub(crate) fn children(
    slots: &[SlotChoice],
    address: &ServiceAddress,
    node: Option<&str>,
    languages: Option<&Path>,
    log: LogForm,
    isolation: &IsolationArgs,
) -> Vec<SupervisedCommand> {
    warn_of_quotas();
    let number = |slot: &SlotChoice| match slot {
        SlotChoice::Number(n) => n.to_string(),
        _ => "none".to_string(),
    };
    let child = |(slot, first): (&SlotChoice, bool)| {
        let slot = number(slot);
        let words = ["worker", "--single", "--slots", &slot, "--log", log.name()];
        let mut args: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        args.extend(address.args());
        args.extend(isolation.words().into_iter().map(OsString::from));
        if let Some(node) = node {
            args.extend(["--node".into(), node.into()]);
        }
        if let Some(languages) = languages {
            args.extend(["--languages".into(), languages.into()]);
        }
        args.extend(first.then(|| "--speaker".into()));
        // Whoever speaks to a socket needs no secret of brokers.
        let env = match address {
            ServiceAddress::Socket(_) => None,
            ServiceAddress::Brokers(_) => std::env::var_os(NATS).map(|url| (NATS, url)),
        };
        SupervisedCommand {
            name: format!("worker {slot}"),
            args,
            env: env.into_iter().collect(),
            stdin: None,
        }
    };
    let first = std::iter::once(true).chain(std::iter::repeat(false));
    slots.iter().zip(first).map(child).collect()
}

/// What a worker needs as long as it lives.
struct Worker {
    slot: &'static Slot,
    /// What is being done is to be left.
    cancel: &'static AtomicBool,
    /// This process is to end.
    ending: &'static AtomicBool,
    languages: Languages,
    floor: NoiseFloor,
    packages: Packages,
    hello: Hello,
    /// What holds its programs.
    isolation: IsolationArgs,
    speaker: Option<FactsReporter>,
}

fn serve(args: &WorkerArgs, address: &ServiceAddress, slot: SlotChoice) -> Result<Done, Failure> {
    args.process.die_with_parent()?;
    let typed = PlacementArgs { slot: Some(slot), ..PlacementArgs::default() };
    let mut reservations = reserve(&typed, SlotChoice::Auto, 1)?;
    let languages = languages(args.languages.as_ref())?;
    args.isolation.apply(&mut reservations, true, || shown_to(&languages))?;
    let floor = worst_floor(&reservations);
    let isolation = args.isolation.clone();
    let isolation_mode = isolation.isolation_mode(&Config::read()?);
    let facts = slot_facts(&reservations[0], slot, &floor, isolation_mode);
    let cpus = Cpus::reserved_by(&reservations[0]);
    let site = Site::start(reservations, true)?;
    // They are used as long as this process lives, by what is compiled once and kept.
    let site: &'static Site = Box::leak(Box::new(site));
    let slots: &'static Arc<Vec<Slot>> = &site.slots;
    let first = slots.first().ok_or_else(|| Failure::system("there is no slot"))?;
    let machine = Machine::this().map_err(Failure::system)?;
    let own_name = machine.read("/proc/sys/kernel/hostname").map(|name| name.trim().to_string());
    let node = address.node(args.node.clone(), own_name.ok())?;
    let hello = Hello {
        protocol: PROTOCOL,
        oldest: Some(OLDEST),
        version: crate::VERSION.to_string(),
        node,
        slot: facts,
        holding: None,
        infers: true,
    };
    let packages = Packages::new(crate::config::data_directory()?.join("worker-packages"))?;
    if args.speaker {
        warm::begin(args.languages.as_deref(), args.process.log);
    }
    let speaker = args.speaker.then(|| FactsReporter::new(args.languages.clone(), isolation_mode));
    let (cancel, ending) = (&*site.cancel, &*site.ending);
    let mut worker =
        Worker { slot: first, cancel, ending, languages, floor, packages, hello, isolation, speaker };
    match address {
        ServiceAddress::Socket(path) => socket::work(&mut worker, path, &cpus),
        ServiceAddress::Brokers(brokers) => nats::work(&mut worker, brokers, &cpus),
    }
}

/// CPUs of the slot.
struct Cpus {
    /// Where `tauto index` measures it.
    first: Option<u32>,
    /// All that is to be quiet on, siblings included.
    all: BTreeSet<u32>,
}

impl Cpus {
    fn reserved_by(reservation: &Reservation) -> Cpus {
        let all: BTreeSet<u32> = match reservation.slot() {
            Some(slot) => slot.all_cpus().into_iter().collect(),
            None => reservation.placement.cpus.iter().copied().collect(),
        };
        let first = reservation.slot().and_then(|slot| slot.cpus.first()).or(all.last()).copied();
        Cpus { first, all }
    }
}

fn slot_facts(
    reservation: &Reservation,
    slot: SlotChoice,
    floor: &NoiseFloor,
    isolation_mode: IsolationMode,
) -> SlotFacts {
    SlotFacts {
        id: if let SlotChoice::Number(n) = slot { n } else { 0 },
        cpus: reservation.placement.cpus.clone(),
        plan: Reading::from_option(reservation.slot().map(|slot| isolation_mode.slot(slot)), || {
            "there is no slot".into()
        }),
        floor: Reading::Known(*floor),
    }
}

impl Worker {
    /// What is to be told of the machine now, if anything is. Nothing runs in this slot meanwhile.
    fn news(&mut self) -> Option<Box<model::NodeFacts>> {
        self.speaker.as_mut().and_then(|speaker| speaker.news(&self.languages))
    }

    fn ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }
}
