//! What `judge` and `verify` share: reading packages, making slots, ending on signals.

use crate::config::{Config, cache_directory, data_directory};
use crate::inputs;
use crate::options::{KeepArgs, LimitArgs, OpinionArgs, PlacementArgs};
use crate::reservation::Reservation;
use crate::terminal::Failure;
use engine::artifact_cache::ArtifactCache;
use engine::clocks::Meter;
use engine::job::Options;
use engine::languages::Languages;
use engine::limit_cache::LimitCache;
use engine::limits::Overrides;
use engine::opinion::Opinions;
use engine::slot::{Crew, Slot, Station};
use engine::toolchain::{Answers, Host};
use engine::{Fault, SystemError};
use host::facts::Facts;
use host::identity;
use host::machine::Machine;
use judge::language::Table;
use judge::package::Package;
use judge::scoring::JudgeMode;
use model::{Clock, Event, Placement, SecondOpinions};
use sandbox::{Launcher, LauncherOptions, SandboxError};
use serde::Deserialize;
use source::{Source, SourceLimits};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A package that was read.
pub(crate) struct Opened {
    pub(crate) source: Source,
    pub(crate) package: Package,
    /// What times are measured by, if the package says so.
    pub(crate) clock: Option<Clock>,
    /// Which results the reference clock judges too, if the package says so.
    pub(crate) second_opinion: Option<SecondOpinions>,
    /// What is untidy about it.
    pub(crate) warnings: Vec<Event>,
}

/// Reads a package, or says what is wrong with it.
pub(crate) fn open(path: &Path) -> Result<Opened, Failure> {
    read(Source::open(path, SourceLimits::USUAL)?, path)
}

/// Reads a package whose file is not called as the package is.
pub(crate) fn open_as(path: &Path, name: &str) -> Result<Opened, Failure> {
    let mut source = Source::open(path, SourceLimits::USUAL)?;
    source.rename(name);
    read(source, Path::new(name))
}

/// A place in the package at a path; without a place the package itself.
pub(crate) fn inside(path: &Path, place: &str) -> String {
    let place = if place.is_empty() { path.to_owned() } else { path.join(place) };
    model::hint::escaped(&place.display().to_string())
}

fn read(source: Source, path: &Path) -> Result<Opened, Failure> {
    let inside = |place: &str| inside(path, place);
    let (package, warnings) = judge::package::read(source.tree())
        .map_err(|e| Failure::usage(format!("{}: {}", inside(&e.place), e.message)))?;
    let left_out = source.left_out().iter().map(|left| (&left.path, &left.why));
    let untidy = warnings.iter().map(|warning| (&warning.place, &warning.message));
    let warnings = left_out
        .chain(untidy)
        .map(|(place, message)| Event::Warning { place: inside(place), message: message.clone() })
        .collect();
    let package_options =
        package_options(&source).map_err(|why| Failure::usage(format!("{}: {why}", inside(OPTIONS_FILE))))?;
    let PackageOptions { clock, second_opinion } = package_options;
    Ok(Opened { source, package, clock, second_opinion, warnings })
}

/// A file of a package that is for us alone.
const OPTIONS_FILE: &str = "tauto.toml";

/// What a package wishes that its format has no word for: strict TOML.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PackageOptions {
    clock: Option<Clock>,
    second_opinion: Option<SecondOpinions>,
}

fn package_options(source: &Source) -> Result<PackageOptions, String> {
    if !source.tree().files.contains_key(OPTIONS_FILE) {
        return Ok(PackageOptions::default());
    }
    let bytes = source.bytes(OPTIONS_FILE).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_string())?;
    toml::from_str(&text).map_err(|e| e.to_string().trim_end().to_string())
}

/// The languages: those that come with the program, and the user's over them.
pub(crate) fn languages(file: Option<&PathBuf>) -> Result<Languages, Failure> {
    let mut table = Table::shipped();
    if let Some(path) = file {
        let name = path.display().to_string();
        let text = inputs::text(path).map_err(|e| Failure::usage(format!("{name}: {e}")))?;
        table = table.with(&text, &name).map_err(Failure::usage)?;
    }
    let languages = Languages::new(table, Host::current());
    Ok(match cache_directory() {
        Some(directory) => languages.knowing(Answers::kept_in(directory)),
        None => languages,
    })
}

/// Who is asked for second opinions on a package: as the command says, else the package, else the site.
pub(crate) fn opinions(asked: OpinionArgs, opened: &Opened) -> Result<Opinions, Failure> {
    let when = match asked.second_opinion.or(opened.second_opinion) {
        Some(when) => when,
        None => Config::read()?.second_opinion.unwrap_or_default(),
    };
    Ok(Opinions::inferred(when, Some(data_directory()?.join("reference-scales"))))
}

/// Where time limits are kept that were inferred on this machine.
pub(crate) struct LimitDirectory {
    directory: PathBuf,
    machine: String,
    fresh: bool,
}

impl LimitDirectory {
    /// In the data directory.
    pub(crate) fn here(asked: KeepArgs) -> Result<LimitDirectory, Failure> {
        let facts = Machine::this().and_then(|machine| Facts::gather(&machine)).map_err(Failure::system)?;
        let directory = data_directory()?.join("time-limits");
        Ok(LimitDirectory { directory, machine: identity::fingerprint(&facts), fresh: asked.fresh })
    }

    pub(crate) fn limit_cache(&self) -> LimitCache<'_> {
        LimitCache { directory: Some(&self.directory), machine: &self.machine, fresh: self.fresh }
    }
}

/// The engine's options as typed.
pub(crate) fn options(
    limits: &LimitArgs,
    placement: &PlacementArgs,
    mode: JudgeMode,
    floor: settle::NoiseFloor,
    meter: Meter,
) -> Options {
    let overrides = Overrides {
        cpu: limits.cpu_time,
        wall: limits.wall_time,
        memory: limits.memory,
        stack: limits.stack,
        output: limits.output,
        processes: limits.processes,
        open_files: limits.open_files,
    };
    Options { overrides, mode, layout: placement.layout(), meter, floor }
}

/// What signals that ask for an end do to what is in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signals {
    /// It is left.
    End,
    /// It is finished; another signal, a while later, has it left.
    EndLater,
}

/// Signals that come within this time of the first are the same wish.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Slots with their launchers, which end when the user interrupts.
pub(crate) struct Site {
    /// Ours while we judge.
    _places: Vec<Reservation>,
    pub(crate) slots: Arc<Vec<Slot>>,
    /// What goes on is to be left. A worker takes it back when it is told to leave one task only.
    pub(crate) cancel: Arc<AtomicBool>,
    /// This process is to end: never taken back.
    pub(crate) ending: Arc<AtomicBool>,
}

impl Site {
    /// Starts the launchers: two for a slot where validators are to be run. Nothing else must run in this
    /// process yet.
    pub(crate) fn start(reservations: Vec<Reservation>, auxiliary: bool) -> Result<Site, Failure> {
        Site::started(reservations, auxiliary, Signals::End)
    }

    /// The same where what is in hand is finished first when an end is asked for.
    pub(crate) fn start_patient(reservations: Vec<Reservation>, auxiliary: bool) -> Result<Site, Failure> {
        Site::started(reservations, auxiliary, Signals::EndLater)
    }

    fn started(reservations: Vec<Reservation>, auxiliary: bool, signals: Signals) -> Result<Site, Failure> {
        let slots = reservations.iter().map(|reservation| slot(reservation, auxiliary));
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        let (cancel, ending) = (Arc::default(), Arc::default());
        let site = Site { _places: reservations, slots: Arc::new(slots), cancel, ending };
        site.end_on_signals(signals)?;
        Ok(site)
    }

    fn end_on_signals(&self, signals: Signals) -> Result<(), Failure> {
        let (slots, cancel, ending) = (self.slots.clone(), self.cancel.clone(), self.ending.clone());
        let mut first = None;
        ctrlc::set_handler(move || {
            ending.store(true, Ordering::SeqCst);
            // From a terminal both we and whoever started us get the first one, and they hand theirs on.
            let first = first.get_or_insert_with(Instant::now);
            if signals == Signals::EndLater && first.elapsed() < SAME_SIGNAL {
                return;
            }
            // A run may be about to start, and another after it, before the flag is seen; and it may just be taken back.
            loop {
                cancel.store(true, Ordering::SeqCst);
                slots.iter().for_each(Slot::end_runs);
                std::thread::sleep(Duration::from_millis(20));
            }
        })
        .map_err(Failure::system)
    }
}

/// Where what languages compile once is kept. A service's web process, which is another user, cannot write there.
pub(crate) fn artifacts() -> Result<ArtifactCache, Failure> {
    let directory = cache_directory().map_or_else(data_directory, Ok)?;
    Ok(ArtifactCache::new(directory.join("compiled")))
}

fn slot(reservation: &Reservation, auxiliary: bool) -> Result<Slot, Failure> {
    let kept = Arc::new(artifacts()?);
    let artifacts = kept.clone();
    let station = move |options: &LauncherOptions, placement: &Placement| -> Result<Station, SandboxError> {
        let station = Station::new(Box::new(Launcher::start(options)?), placement.clone());
        Ok(station.with_artifacts(artifacts.clone()))
    };
    let main = match crate::isolation::station(reservation) {
        Some(machine) => machine.with_artifacts(kept),
        None => station(&reservation.launcher()?, &reservation.placement)?,
    };
    // The slot's CPUs are its first launcher's alone.
    let (options, placement) = reservation.beside();
    let auxiliary = if auxiliary { Some(station(&options, &placement)?) } else { None };
    let (crew, control) = match reservation.machine() {
        // The control program was measured outside, and no process of a submission may run there.
        Some(_) => (Crew::default(), None),
        None => (
            Crew::new(move || station(&options, &placement).map_err(SystemError::from)),
            crate::noise_floor::control(reservation.slot(), &reservation.placement)?,
        ),
    };
    Ok(Slot { main, auxiliary, crew, control })
}

/// The noise floor for judging on several reservations alike: that of the noisiest.
pub(crate) fn worst_floor(reservations: &[Reservation]) -> settle::NoiseFloor {
    let tail = |floor: &settle::NoiseFloor| floor.spread().tail_scale;
    let floors = reservations.iter().map(Reservation::floor);
    floors.max_by(|a, b| tail(a).total_cmp(&tail(b))).unwrap_or_else(settle::NoiseFloor::assumed)
}

/// The failure that a fault is to the caller.
pub(crate) fn failure(fault: Fault) -> Failure {
    if fault.is_bad_input() { Failure::usage(fault) } else { Failure::system(fault) }
}
