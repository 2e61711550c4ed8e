//! Which changes would make a machine quiet: those whose knob is there and stands otherwise.

use super::config::TuneConfig;
use super::{Change, Form, Target};
use super::{boot, cache, cpu, interrupts, kernel, partition, tasks};
use crate::cpulist::Set;
use crate::facts::{Frequency, Topology};
use crate::machine::Machine;
use model::{Isolation, Slot, SlotPlan};

/// What the families of knobs look at.
pub(super) struct View<'a> {
    pub(super) machine: &'a Machine,
    pub(super) config: &'a TuneConfig,
    pub(super) frequency: Frequency,
    /// The slots that others are kept off.
    pub(super) slots: Vec<&'a Slot>,
    /// CPUs that programs are judged on.
    pub(super) judging: Set,
    /// CPUs whose speed matters: the same and their siblings.
    pub(super) timed: Set,
    /// CPUs that others are kept off.
    pub(super) quiet: Set,
    /// CPUs for everything else.
    pub(super) housekeeping: Set,
}

/// The changes, in the order in which they are to be made; undoing goes the other way.
///
/// Work is moved off the slots' CPUs before these are walled in, and hyper-threads go offline last, so that they are the
/// first to come back. Limits of frequency are set while turbo is still on: without it the kernel would cut what is
/// restored.
pub fn plan(machine: &Machine, slots: &SlotPlan, config: &TuneConfig) -> Vec<Change> {
    let view = View::new(machine, slots, config);
    let families: [fn(&View<'_>) -> Vec<Change>; 11] = [
        interrupts::changes,
        tasks::changes,
        kernel::changes,
        cpu::governor,
        cpu::frequency,
        cpu::turbo,
        cpu::uncore,
        cpu::c_states,
        partition::changes,
        cache::changes,
        cpu::smt,
    ];
    let mut changes: Vec<Change> = families.into_iter().flat_map(|family| family(&view)).collect();
    changes.retain(|change| config.chosen(&change.id));
    if config.boot {
        changes.extend(boot::changes(&view));
    }
    changes
}

impl<'a> View<'a> {
    pub(super) fn new(machine: &'a Machine, plan: &'a SlotPlan, config: &'a TuneConfig) -> View<'a> {
        let housekeeping: Set = plan.housekeeping.iter().copied().collect();
        let timed: Set = plan.slots.iter().flat_map(Slot::all_cpus).collect();
        let slots: Vec<&Slot> = plan.slots.iter().filter(|s| s.isolation != Isolation::None).collect();
        let quiet: Set = slots.iter().flat_map(|slot| slot.all_cpus()).collect();
        let quiet = quiet.difference(&housekeeping).copied().collect();
        let judging = plan.slots.iter().flat_map(|slot| slot.cpus.iter().copied()).collect();
        let frequency = Frequency::read(machine, &Topology::read(machine).unwrap_or_default());
        View { machine, config, frequency, slots, judging, timed, quiet, housekeeping }
    }

    /// A file's value, if it is there and readable.
    pub(super) fn value(&self, path: &str, form: Form) -> Option<String> {
        Some(form.value(&self.machine.read(path).ok()?))
    }

    /// A change of a file, if it is there and stands otherwise.
    pub(super) fn file(&self, id: &str, path: &str, form: Form, want: &str) -> Option<Change> {
        let found = self.value(path, form)?;
        let target = Target::File { path: path.to_string(), form };
        (!form.same(&found, want)).then(|| change(id, target, &found, want))
    }

    /// A change of a file that says which CPUs may be used, if slots' CPUs are among them.
    pub(super) fn keep_off(&self, id: &str, path: &str, form: Form) -> Option<Change> {
        let found = self.value(path, form)?;
        let want = form.of_cpus(&self.elsewhere(&form.cpus(&found)?)?);
        Some(change(id, Target::File { path: path.to_string(), form }, &found, &want))
    }

    /// Where something goes that may use these CPUs: those of them that are not slots', or else all of housekeeping.
    /// `None` where it is off the slots already.
    pub(super) fn elsewhere(&self, cpus: &Set) -> Option<Set> {
        if cpus.is_disjoint(&self.quiet) {
            return None;
        }
        let rest: Set = cpus.intersection(&self.housekeeping).copied().collect();
        Some(if rest.is_empty() { self.housekeeping.clone() } else { rest })
    }
}

/// A change.
pub(super) fn change(id: &str, target: Target, found: &str, want: &str) -> Change {
    Change { id: id.to_string(), target, found: found.to_string(), want: want.to_string() }
}
