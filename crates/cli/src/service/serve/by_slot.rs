//! Commands that have one process for each slot: the process that starts them, and that of one slot, by the same words.

use crate::options::SlotChoice;
use crate::reservation::{planned, slots_config};
use crate::service::log::LogForm;
use crate::terminal::Failure;
use clap::Args;
use host::machine::Machine;

#[derive(Args, Debug)]
pub(crate) struct ProcessArgs {
    /// Log format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) log: LogForm,
    /// Serve one slot, as the process for it
    #[arg(long, hide = true, requires = "slots")]
    single: bool,
    /// The process that starts this one
    #[arg(long, hide = true, value_name = "PID")]
    parent: Option<u32>,
}

/// What a process is for.
pub(crate) enum Serves {
    /// This slot, by itself.
    One(SlotChoice),
    /// Each of these has a process of its own.
    Each(Vec<SlotChoice>),
}

impl ProcessArgs {
    /// What this process is for, given the slots that were named; none: all there are.
    pub(crate) fn serves(&self, named: &[SlotChoice]) -> Result<Serves, Failure> {
        match (self.single, named) {
            (true, [slot]) => Ok(Serves::One(*slot)),
            (true, _) => Err(Failure::usage("--single: one slot")),
            (false, []) => all_slots().map(Serves::Each),
            (false, named) => Ok(Serves::Each(named.to_vec())),
        }
    }

    /// Has this process end with the one that started it.
    pub(crate) fn die_with_parent(&self) -> Result<(), Failure> {
        super::die_with_parent(self.parent)
    }
}

/// The slots of this machine; one that is none on a machine that has none.
pub(crate) fn all_slots() -> Result<Vec<SlotChoice>, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let plan = planned(&machine, &slots_config(None)?)?;
    let slots: Vec<SlotChoice> = plan.slots.iter().map(|slot| SlotChoice::Number(slot.id)).collect();
    Ok(if slots.is_empty() { vec![SlotChoice::None] } else { slots })
}
