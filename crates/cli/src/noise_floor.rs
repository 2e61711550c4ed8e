//! The noise floor of slots: measured on request, kept in the data directory, used by whatever judges there.

use crate::config::data_directory;
use crate::run::command;
use crate::terminal::Failure;
use engine::looks::Looks;
use engine::slot::Control;
use host::machine::Machine;
use model::{Cause, Form, Forms, Limits, Nanos, Numbered, Observation, Placement, RunSpec, Slot};
use sandbox::Launcher;
use serde::{Deserialize, Serialize};
use settle::NoiseFloor;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// Runs of each fixed program: enough for a median and a tail, in a few seconds.
const RUNS: usize = 15;
/// The first are left out: the program's pages come from disk.
const WARM_UP: usize = 2;

/// Between two looks at a slow machine: neighbours slow it for a second and more.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs of a measurement, for its progress.
pub(crate) const STEPS: u64 = 2 * (WARM_UP + RUNS) as u64;

/// The forms of a floor that is kept; `tests/forms` has one in each of them.
///
/// 1: [`Measured`] without a number. 2: with `form`.
const FORMS: Forms = Forms::kept("a noise floor", 2);

/// What is kept, and what it holds for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// The start of the system it was measured in: another one may be tuned otherwise.
    boot_id: String,
    floor: NoiseFloor,
}

fn path(slot: &Slot) -> Result<PathBuf, Failure> {
    let first = slot.cpus.first().copied().unwrap_or_default();
    Ok(data_directory()?.join("floors").join(format!("core-{first}.json")))
}

fn boot_id() -> Result<String, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    host::tune::boot_id(&machine).map_err(Failure::system)
}

fn read(text: &str) -> Result<Measured, String> {
    let wrong = |e: serde_json::Error| e.to_string();
    FORMS.read(serde_json::from_str::<Form>(text).map_err(wrong)?.form)?;
    serde_json::from_str(text).map_err(wrong)
}

fn written(boot_id: String, floor: NoiseFloor) -> Numbered<Measured> {
    Numbered { form: FORMS.newest, thing: Measured { boot_id, floor } }
}

/// The floor that was measured in this slot since the system started, else one that is assumed.
pub(crate) fn of_slot(slot: Option<&Slot>) -> NoiseFloor {
    let kept = || -> Option<NoiseFloor> {
        let text = fs::read_to_string(path(slot?).ok()?).ok()?;
        let kept = read(&text)
            .inspect_err(|why| tracing::warn!(why, "a noise floor that was kept is not used"))
            .ok()?;
        (kept.boot_id == boot_id().ok()?).then_some(kept.floor)
    };
    kept().unwrap_or_else(NoiseFloor::assumed)
}

/// What disturbed a run, by name.
pub(crate) fn disturbed(run: &Observation, floor: &NoiseFloor) -> Vec<String> {
    names(&settle::disturbances(run, floor))
}

pub(crate) fn names(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| cause.name.to_string()).collect()
}

/// Measures a slot's floor. `step` is told of each run.
pub(crate) fn measure(
    launcher: &Launcher,
    slot: &Slot,
    placement: &Placement,
    step: &dyn Fn(),
) -> Result<NoiseFloor, Failure> {
    let runs = |kind: &str| -> Result<Vec<Observation>, Failure> {
        let mut runs = Vec::new();
        for n in 0..WARM_UP + RUNS {
            let observation = probe(launcher, kind, placement)?;
            if n >= WARM_UP {
                runs.push(observation);
            }
            step();
        }
        Ok(runs)
    };
    let (compute, memory) = (runs("compute")?, runs("memory")?);
    let floor = settle::floor_from_runs(&compute, &memory);
    Ok(floor
        .ok_or_else(|| Failure::system("the fixed programs of the noise floor used no CPU time"))?
        .knowing(&of_slot(Some(slot))))
}

/// Whether a floor lets a single run decide nearer to a limit than another.
pub(crate) fn is_better(floor: &NoiseFloor, than: &NoiseFloor) -> bool {
    let band = |floor: &NoiseFloor| settle::band(floor.spread(), &settle::Policy::PUBLISHED);
    band(floor) < band(than)
}

/// Keeps a slot's floor, in place of the one before.
pub(crate) fn keep(slot: &Slot, floor: NoiseFloor) -> Result<(), Failure> {
    let path = path(slot)?;
    let fail = |e: std::io::Error| Failure::system(format!("{}: {e}", path.display()));
    let text = serde_json::to_string_pretty(&written(boot_id()?, floor)).map_err(Failure::system)?;
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(fail)?;
    // Whoever reads it meanwhile sees the old one or the new one.
    let fresh = path.with_extension("new");
    fs::write(&fresh, text + "\n").and_then(|()| fs::rename(&fresh, &path)).map_err(fail)
}

/// Keeps a faster run of the memory-bound program than the floor's. Where that fails, the next process finds another one.
fn keep_faster(slot: &Slot, least: Nanos) {
    let mut floor = of_slot(Some(slot));
    if floor.assumed {
        return;
    }
    floor.memory.least = floor.memory.least.min(least);
    if let Err(failure) = keep(slot, floor) {
        tracing::warn!(why = failure.to_string(), "a faster run of the control program is not kept");
    }
}

/// The memory-bound program as a control of what is judged in a slot whose floor was measured.
pub(crate) fn control(slot: Option<&Slot>, placement: &Placement) -> Result<Option<Control>, Failure> {
    let floor = of_slot(slot);
    let Some(slot) = slot.cloned().filter(|_| !floor.assumed) else { return Ok(None) };
    let (spec, files) = fixed_program("memory", placement)?;
    let best = floor.memory.least.0.into();
    let looks = Looks(path(&slot)?.with_extension("looks"));
    let keep = Box::new(move |faster| keep_faster(&slot, faster));
    Ok(Some(Control { spec, files, best, keep, pause: PAUSE, looks }))
}

/// This very program, as one of the fixed programs.
fn fixed_program(kind: &str, placement: &Placement) -> Result<(RunSpec, Vec<OwnedFd>), Failure> {
    let own = std::env::current_exe().map_err(Failure::system)?;
    let words = [own.to_string_lossy().into_owned(), "probe".into(), kind.into()];
    let mut fds = Vec::new();
    let mut spec = RunSpec {
        env: command::environment(&[]),
        limits: Limits { cpu: Some(Nanos::from_secs(30)), ..Limits::default() },
        placement: placement.clone(),
        ..RunSpec::bare()
    };
    command::show(&words, &mut spec, &mut fds)?;
    Ok((spec, fds))
}

fn probe(launcher: &Launcher, kind: &str, placement: &Placement) -> Result<Observation, Failure> {
    let (spec, fds) = fixed_program(kind, placement)?;
    let observation = launcher.run(&spec, fds)?;
    match observation.exit {
        model::Exit::Code(0) => Ok(observation),
        other => Err(Failure::system(format!(
            "the fixed program `{kind}` of the noise floor ended with {other:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const KEPT: [&str; 2] =
        [include_str!("../tests/forms/floor-1.json"), include_str!("../tests/forms/floor-2.json")];

    fn sample() -> NoiseFloor {
        NoiseFloor { assumed: false, ..NoiseFloor::assumed() }
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let now = serde_json::to_value(written("b00t".into(), sample())).unwrap();
        FORMS.hold(&now, &KEPT.map(|text| serde_json::from_str(text).unwrap()), Value::eq);
    }

    #[test]
    fn every_form_there_was_is_read() {
        for text in KEPT {
            assert_eq!(read(text), Ok(Measured { boot_id: "b00t".into(), floor: sample() }));
        }
        let later = read(r#"{"form": 3}"#).unwrap_err();
        assert_eq!(later, "form 3 of a noise floor, and this version knows 1 to 2\nhint: upgrade tauto here");
    }
}
