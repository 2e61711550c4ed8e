//! `tauto index`: what this machine can do, and how machines compare.

use crate::Done;
use crate::config::data_directory;
use crate::exports::Exports;
use crate::inputs;
use crate::options::{CpuList, PlacementArgs, SlotChoice, cpu_list, seconds, slot_choice};
use crate::reservation::{Reservation, reserve};
use crate::terminal::{self, Failure, print};
use clap::Args;
use host::facts::Facts;
use host::identity;
use host::machine::Machine;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Index, IndexFigure, IndexPart, Nanos, Reading};
use power_index::compare::compare;
use power_index::{IndexOptions, PRIORITY, Protection, conditions, measure, protect};
use report::html::{comparison_page, index_page};
use report::json::{ComparisonDocument, FaultDocument, index_text, read_index, read_kept_index, to_text};
use report::text::{comparison_table, index_table};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest that all parts may take together.
const LONGEST: Nanos = Nanos::from_secs(3600);

#[derive(Args, Debug)]
pub(crate) struct IndexArgs {
    /// Compare saved results of --json instead of measuring; several files may belong to one machine
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["seconds", "name", "slot", "cpu"])]
    compare: Vec<PathBuf>,
    /// Seconds to measure for, 1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = bounded, allow_negative_numbers = true)]
    seconds: Nanos,
    /// Name of this machine in comparisons [default: a hash of its machine-id(5)]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write a page with charts to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Slot to measure in: auto (the first free slot), none, or a slot number [default: auto; none with --cpu]
    #[arg(long, value_name = "auto|none|N", value_parser = slot_choice)]
    slot: Option<SlotChoice>,
    /// CPU to measure on; unlike a slot, it is not locked [default: the slot's]
    #[arg(long, value_name = "N", value_parser = one_cpu)]
    cpu: Option<CpuList>,
}

pub(crate) fn main(args: &IndexArgs) -> Result<Done, Failure> {
    let done = if args.compare.is_empty() { taken(args) } else { compared(args) };
    if let (true, Err(Failure::System(e))) = (args.json, &done) {
        print(&to_text(&FaultDocument::new(format!("{e:#}"))));
    }
    done
}

/// Compares saved indices.
fn compared(args: &IndexArgs) -> Result<Done, Failure> {
    let page = Exports::open(args.json, [("--html", args.html.as_ref())])?;
    let saved = |path: &PathBuf| {
        let name = path.display();
        let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{name}: {why}"));
        let text = inputs::text(path).map_err(|e| wrong(&e))?;
        read_index(&name.to_string(), &text).map_err(|why| wrong(&why))
    };
    let saved = args.compare.iter().map(saved).collect::<Result<Vec<_>, _>>()?;
    let comparison = compare(&saved);
    match args.json {
        true => print(&to_text(&ComparisonDocument::new(&comparison))),
        false => page.print(&comparison_table(&comparison, terminal::style())),
    }
    page.write([&|| comparison_page(&comparison)]);
    Ok(if comparison.strays.is_empty() { Done::Good } else { Done::Bad })
}

fn taken(args: &IndexArgs) -> Result<Done, Failure> {
    let page = Exports::open(args.json, [("--html", args.html.as_ref())])?;
    let typed = PlacementArgs { slot: args.slot, cpu: args.cpu.clone(), ..PlacementArgs::default() };
    let reservation = reserve(&typed, SlotChoice::Auto, 1)?.pop().unwrap_or_default();
    let cpu = cpu_of(args, &reservation)?;
    let stop = Arc::new(AtomicBool::new(false));
    // Whoever ends us must get the CPU where the measurement has the only one. Refused where the class is.
    let _ = sandbox::sched::become_fifo(PRIORITY + 1);
    let told = stop.clone();
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed)).map_err(Failure::system)?;
    let index = index(args, &reservation, cpu, &stop)?;
    let Some(index) = index else { return Ok(Done::Interrupted) };
    keep(&index);
    match args.json {
        true => print(&index_text(&index)),
        false => page.print(&index_table(&index, terminal::style())),
    }
    page.write([&|| index_page(&index)]);
    Ok(Done::Good)
}

/// The last result of this machine, in the data directory: a service's worker shows it.
pub(crate) const KEPT: &str = "index.json";

/// Keeps the result where there is a place for it.
fn keep(index: &Index) {
    if let Ok(data) = data_directory() {
        // It was asked for on this terminal, not for the service.
        drop(replace(&data.join(KEPT), index_text(index).as_bytes()));
    }
}

/// What was kept last.
pub(crate) fn kept() -> Reading<Index> {
    let read = || {
        let path = data_directory().map_err(|e| e.to_string())?.join(KEPT);
        let text = std::fs::read_to_string(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => "not measured yet".to_string(),
            _ => format!("{}: {e}", path.display()),
        })?;
        read_kept_index(&text).map_err(|why| format!("{}: {why}", path.display()))
    };
    Reading::from_result::<String>(read())
}

/// Puts a file in the place of another, whole, so that who reads it meanwhile has the one or the other.
pub(crate) fn replace(path: &std::path::Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
    fresh.write_all(content)?;
    fresh.persist(path).map(drop).map_err(|e| e.error)
}

/// The CPU to be bound to: as typed, the slot's, or the last of those allowed, as the one least used by others.
fn cpu_of(args: &IndexArgs, reservation: &Reservation) -> Result<Option<u32>, Failure> {
    let allowed = loads::allowed().map_err(Failure::system)?;
    if let Some(CpuList(typed)) = &args.cpu {
        return match typed.first().filter(|cpu| allowed.contains(cpu)) {
            Some(cpu) => Ok(Some(*cpu)),
            None => {
                let list = host::cpulist::to_list(&allowed);
                Err(Failure::usage(format!("--cpu: this process may use CPUs {list} only")))
            }
        };
    }
    let slot = reservation.slot().and_then(|slot| slot.cpus.first().copied());
    Ok(slot.or(allowed.last().copied()))
}

/// Measures; `None` where the user interrupted.
fn index(
    args: &IndexArgs,
    reservation: &Reservation,
    cpu: Option<u32>,
    stop: &AtomicBool,
) -> Result<Option<Index>, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let gather = || Facts::gather(&machine).map_err(Failure::system);
    let (before, begun) = (gather()?, Instant::now());
    let (available, total) = identity::memory(&machine);
    let asked = IndexOptions {
        topology: &before.topology,
        cpu,
        available: available.known().map_or(0, |bytes| usize::try_from(*bytes).unwrap_or(usize::MAX)),
        program: "/proc/self/exe".into(),
        time: Duration::from_nanos(args.seconds.0),
    };
    let Some((protection, parts)) = on_a_thread(&asked, stop)? else { return Ok(None) };
    let slot = match (reservation.slot(), args.slot, &args.cpu) {
        (Some(slot), ..) => Reading::Known(slot.id),
        (None, Some(SlotChoice::None), _) => Reading::unknown("--slot none"),
        (None, _, Some(_)) => Reading::unknown("--cpu names a CPU, not a slot"),
        (None, ..) => Reading::unknown("this machine has no slot"),
    };
    let platform = &before.platform;
    let caches = cpu.and_then(|cpu| before.topology.cpus.get(&cpu)).map_or(&[][..], |cpu| &cpu.caches);
    let microcode = platform.microcode.iter().cloned().collect::<Vec<_>>().join(" ");
    let mut parts: BTreeMap<IndexPart, Reading<IndexFigure>> = parts.into_iter().collect();
    let rounds_per_second = parts.remove(&IndexPart::Rounds);
    Ok(Some(Index {
        version: crate::VERSION.into(),
        taken_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        seconds: begun.elapsed().as_secs_f64(),
        machine: args.name.clone().map_or_else(|| identity::machine_id(&machine), Reading::Known),
        fingerprint: identity::fingerprint(&before),
        cpu_model: platform.cpu_model.clone(),
        microcode: Reading::from_option(Some(microcode).filter(|m| !m.is_empty()), || {
            "/proc/cpuinfo names none".into()
        }),
        kernel: platform.kernel.clone(),
        memory_bytes: total,
        caches: caches.iter().map(|cache| format!("L{} {}", cache.level, cache.size)).collect(),
        boot_id: Reading::from_result(host::tune::boot_id(&machine)),
        conditions: conditions(cpu, slot, &protection, &before, &gather()?),
        rounds_per_second: rounds_per_second.unwrap_or_else(|| Reading::unknown("not measured")),
        parts,
    }))
}

type Parts = Vec<(IndexPart, Reading<IndexFigure>)>;

/// Measures on a thread of its own, since it binds itself, with a bar on a terminal.
fn on_a_thread(asked: &IndexOptions, stop: &AtomicBool) -> Result<Option<(Protection, Parts)>, Failure> {
    let bar = ProgressBar::new(1000);
    // A template that does not parse leaves the usual look.
    bar.set_style(
        ProgressStyle::with_template("{spinner} measuring {wide_bar} {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let parts = thread::scope(|scope| {
        let work = || {
            let protection = protect(asked.cpu);
            let parts = measure(asked, stop, |share| bar.set_position((1000.0 * share) as u64))?;
            Some((protection, parts))
        };
        thread::Builder::new().name("index".into()).spawn_scoped(scope, work).map(|thread| thread.join())
    });
    bar.finish_and_clear();
    parts.map_err(Failure::system)?.map_err(|_| Failure::system("the measurement panicked"))
}

fn bounded(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        time if (Nanos::from_secs(1)..=LONGEST).contains(&time) => Ok(time),
        _ => Err("must be from 1 to 3600".into()),
    }
}

fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("must not be empty".into()),
        name if name.chars().any(char::is_control) => Err("must have no control characters".into()),
        name => Ok(name.into()),
    }
}

fn one_cpu(text: &str) -> Result<CpuList, String> {
    match cpu_list(text)? {
        list if list.0.len() == 1 => Ok(list),
        _ => Err("must be one CPU".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_checked() {
        assert_eq!(bounded("1.5"), Ok(Nanos::from_millis(1500)));
        for bad in ["0.5", "3601", "-1", "x", "NaN"] {
            assert!(bounded(bad).is_err(), "{bad}");
        }
        assert_eq!(name(" judge 7 "), Ok("judge 7".into()));
        assert!(name(" ").is_err() && name("a\u{1b}[2J").is_err());
        assert!(one_cpu("3").is_ok() && one_cpu("1-2").is_err());
    }
}
