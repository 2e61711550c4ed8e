//! `tauto tune`: make the host quiet, say what is in force, put it back.

mod pause;

use crate::Done;
use crate::config::{Config, OF_ROOT};
use crate::terminal::{self, Failure, print, tell_warning};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use host::facts::Topology;
use host::machine::Machine;
use host::tune::{self, Change, Journal, Knobs, Profile, TuneConfig, Writer};
use host::{noise, slots};
use indicatif::{ProgressBar, ProgressStyle};
use model::{ChangeState, CpuNoise, Isolation, NoiseComparison, SlotPlan, Tuning};
use report::json::to_text;
use report::text::{boot_lines, noise_lines, tuning_table};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long each slot is listened to, before and after.
const LISTEN: Duration = Duration::from_millis(500);
/// So many slots are listened to.
const LISTENED: usize = 4;

#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Show the planned changes without applying them
    Plan(PlanArgs),
    /// Apply the planned changes; every previous value is recorded first
    Apply(ApplyArgs),
    /// Show which changes are in force and which were altered since
    Status(StatusArgs),
    /// Restore the previous values, also after a crash or reboot
    Undo(UndoArgs),
}

#[derive(Args, Debug)]
struct ChoiceArgs {
    /// Apply only these changes (comma-separated IDs)
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Skip these changes (comma-separated)
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    skip: Vec<String>,
}

#[derive(Args, Debug)]
struct SiteArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Read the sections [tune] and [slots] from this TOML file
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Include the kernel command line for the next boot, set by a drop-in file of the boot loader
    #[arg(long)]
    boot: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct PlanArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Plan for a recorded machine: a file of `tauto audit --record`, or a directory with its /proc and /sys
    #[arg(long, value_name = "PATH")]
    root: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct ApplyArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Skip measuring the slots before and after
    #[arg(long)]
    no_measure: bool,
    /// Stop this process (SIGSTOP) at the N-th half of a change: odd when it is noted and not made, even when it is made
    /// and its outcome is not noted. For tests that kill it exactly there.
    #[arg(long, value_name = "N", hide = true)]
    pause_at: Option<u64>,
}

#[derive(Args, Debug)]
struct StatusArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct UndoArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(tune::known())
}

pub(crate) fn main(args: TuneArgs) -> Result<Done, Failure> {
    match args.command {
        Command::Plan(args) => plan(&args),
        Command::Apply(args) => apply(&args),
        Command::Status(args) => status(&args),
        Command::Undo(args) => undo(&args),
    }
}

fn plan(args: &PlanArgs) -> Result<Done, Failure> {
    let (tune_config, slots_config) = tune_config(&args.site, args.root.is_some())?;
    let machine = match &args.root {
        Some(root) => Machine::at(root).map_err(|e| Failure::usage(format!("{}: {e}", root.display())))?,
        None => Machine::this().map_err(Failure::system)?,
    };
    let slots = planned_slots(&machine, &slots_config)?;
    let changes = tune::plan(&machine, &slots, &tune_config);
    let directory = data_directory();
    let in_force = match args.root {
        Some(_) => false,
        None => in_force(&machine, &directory),
    };
    let boot = tune_config.boot.then(|| tune::boot(&machine, &slots, &tune_config));
    let tuning = tuning(changes.iter().map(model::Change::from).collect(), &directory, in_force);
    show(&Tuning { boot, ..tuning }, args.site.json);
    Ok(Done::Good)
}

fn apply(args: &ApplyArgs) -> Result<Done, Failure> {
    let (tune_config, slots_config) = tune_config(&args.site, false)?;
    let machine = Machine::this().map_err(Failure::system)?;
    needs_root("apply")?;
    let interrupted = on_interrupt()?;
    let directory = data_directory();
    let mut journal = open(&machine, &directory)?;
    let slots = planned_slots(&machine, &slots_config)?;
    let changes = tune::plan(&machine, &slots, &tune_config);
    let before = listen(&machine, &slots, args.no_measure || changes.is_empty(), &interrupted);
    let mut knobs: Box<dyn Knobs> = Box::new(Writer::at(Path::new("/")).map_err(Failure::system)?);
    if let Some(at) = args.pause_at {
        knobs = Box::new(pause::PauseAt::new(knobs, at));
    }
    let progress = bar(changes.len());
    let outcome = tune::apply(&changes, &mut journal, &mut *knobs, &mut between(&progress, &interrupted));
    progress.finish_and_clear();
    let outcome = outcome.map_err(|e| {
        Failure::system(format!("{e}\nhint: `sudo tauto tune undo` restores the previous values"))
    })?;
    let boot = tune_config.boot.then(|| tune::boot(&machine, &slots, &tune_config));
    let quiet = args.no_measure || changes.is_empty() || outcome.stopped;
    let after = listen(&machine, &slots, quiet, &interrupted);
    let noise = (!after.is_empty()).then_some(NoiseComparison { before, after });
    let made: Vec<model::Change> = outcome.records.iter().map(model::Change::from).collect();
    let refused = made.iter().any(|change| change.state == ChangeState::Refused);
    show(&Tuning { noise, boot, ..tuning(made, &directory, journal.in_force()) }, args.site.json);
    let state = if journal.in_force() { "what was changed is in force" } else { "nothing was changed" };
    Ok(end(refused, outcome.stopped, state, journal.in_force()))
}

fn status(args: &StatusArgs) -> Result<Done, Failure> {
    show(&present()?, args.json);
    Ok(Done::Good)
}

/// What is in force now.
pub(crate) fn present() -> Result<Tuning, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let directory = data_directory();
    let boot = tune::boot_id(&machine).map_err(Failure::system)?;
    let records = Journal::read(&directory).map_err(|e| unreadable(&e))?;
    let knobs = Writer::at(Path::new("/")).map_err(Failure::system)?;
    let in_force = records.iter().any(|record| record.is_live(&boot));
    let changes = records.iter().map(|record| tune::present(record, &boot, &knobs)).collect();
    Ok(tuning(changes, &directory, in_force))
}

fn undo(args: &UndoArgs) -> Result<Done, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    needs_root("undo")?;
    let interrupted = on_interrupt()?;
    let directory = data_directory();
    let mut journal = open(&machine, &directory)?;
    let mut knobs = Writer::at(Path::new("/")).map_err(Failure::system)?;
    let progress = bar(journal.records().len());
    let tune_config = args.choice.tune_config();
    let outcome = tune::undo(&mut journal, &tune_config, &mut knobs, &mut between(&progress, &interrupted));
    progress.finish_and_clear();
    let outcome = outcome.map_err(Failure::system)?;
    let done: Vec<model::Change> = outcome.records.iter().map(model::Change::from).collect();
    let refused = done.iter().any(|change| change.state != ChangeState::Undone);
    show(&tuning(done, &directory, journal.in_force()), args.json);
    Ok(end(refused, outcome.stopped, "the rest is still in force", journal.in_force()))
}

fn end(refused: bool, stopped: bool, state: &str, in_force: bool) -> Done {
    match (stopped, refused) {
        (true, _) => {
            let hint =
                if in_force { "\nhint: `sudo tauto tune undo` restores the previous values" } else { "" };
            tell_warning(format!("interrupted: {state}{hint}"));
            Done::Interrupted
        }
        (false, true) => Done::Bad,
        (false, false) => Done::Good,
    }
}

impl ChoiceArgs {
    fn tune_config(&self) -> TuneConfig {
        TuneConfig { only: self.only.clone(), skip: self.skip.clone(), ..TuneConfig::default() }
    }
}

/// The configuration of the profile, else of the site unless the machine is recorded elsewhere, over which goes what is typed.
fn tune_config(args: &SiteArgs, elsewhere: bool) -> Result<(TuneConfig, slots::SlotsConfig), Failure> {
    let profile = match &args.profile {
        None => Profile::default(),
        Some(path) => {
            let fail = |e: &dyn std::fmt::Display| Failure::usage(format!("{}: {e}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
            Profile::parse(&text).map_err(|e| fail(&e))?
        }
    };
    let config = if elsewhere { Config::default() } else { Config::read()? };
    let mut tune_config = profile.tune.unwrap_or(config.tune);
    if !args.choice.only.is_empty() {
        tune_config.only.clone_from(&args.choice.only);
    }
    tune_config.skip.extend(args.choice.skip.iter().cloned());
    tune_config.boot |= args.boot;
    Ok((tune_config, profile.slots.unwrap_or(config.slots)))
}

fn planned_slots(machine: &Machine, slots_config: &slots::SlotsConfig) -> Result<SlotPlan, Failure> {
    let topology = Topology::read(machine).map_err(Failure::system)?;
    Ok(slots::plan(&topology, slots_config, Isolation::Partition))
}

fn needs_root(verb: &str) -> Result<(), Failure> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(Failure::system(format!(
            "changing this machine needs root, nothing was changed\nhint: `sudo tauto tune {verb}`"
        ))),
    }
}

/// Only root tunes, so without a word on it the journal is root's for everybody.
pub(crate) fn data_directory() -> PathBuf {
    let set = std::env::var_os("TAUTO_DATA_DIR").filter(|value| !value.is_empty());
    set.map_or_else(|| OF_ROOT.into(), PathBuf::from)
}

pub(crate) fn open(machine: &Machine, directory: &Path) -> Result<Journal, Failure> {
    let boot = tune::boot_id(machine).map_err(Failure::system)?;
    Journal::open(directory, &boot).map_err(Failure::system)
}

fn unreadable(e: &tune::JournalError) -> Failure {
    let denied = matches!(e, tune::JournalError::Io { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied);
    let hint = if denied { "\nhint: `sudo tauto tune status`" } else { "" };
    Failure::system(format!("{e}{hint}"))
}

/// For a plan, which anybody may see; the journal may be root's.
fn in_force(machine: &Machine, directory: &Path) -> bool {
    let (Ok(boot), Ok(records)) = (tune::boot_id(machine), Journal::read(directory)) else {
        return Journal::path_in(directory).exists();
    };
    records.iter().any(|record| record.is_live(&boot))
}

fn tuning(changes: Vec<model::Change>, directory: &Path, in_force: bool) -> Tuning {
    let journal = Journal::path_in(directory).display().to_string();
    Tuning { changes, journal, in_force, noise: None, boot: None }
}

fn show(tuning: &Tuning, json: bool) {
    if json {
        return print(&to_text(tuning));
    }
    print(&tuning_table(tuning, terminal::style()));
    print(&tuning.noise.as_ref().map(noise_lines).unwrap_or_default());
    print(&tuning.boot.as_ref().map(boot_lines).unwrap_or_default());
}

/// Listens to the first slots, one after the other.
fn listen(machine: &Machine, slots: &SlotPlan, skip: bool, interrupted: &AtomicBool) -> Vec<CpuNoise> {
    let chosen = slots.slots.iter().take(if skip { 0 } else { LISTENED });
    let progress = bar(chosen.len());
    let listened = chosen
        .take_while(|_| !interrupted.load(Ordering::SeqCst))
        .map(|slot| {
            progress.set_message(format!("measuring slot {}", slot.id));
            progress.inc(1);
            noise::measure(machine, slot, LISTEN)
        })
        .collect();
    progress.finish_and_clear();
    listened
}

fn bar(total: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}");
    let bar = ProgressBar::new(total as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

/// Shows each change and stops before it when the user has interrupted.
fn between<'a>(
    progress: &'a ProgressBar,
    interrupted: &'a AtomicBool,
) -> impl FnMut(usize, &Change) -> ControlFlow<()> + 'a {
    move |done, change| {
        progress.set_position(done as u64);
        progress.set_message(format!("{} {}", change.id, change.target));
        match interrupted.load(Ordering::SeqCst) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// From now on an interrupt lets the change at hand be finished and noted.
fn on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let set = interrupted.clone();
    ctrlc::set_handler(move || set.store(true, Ordering::SeqCst)).map_err(Failure::system)?;
    Ok(interrupted)
}
