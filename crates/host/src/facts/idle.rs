//! How deep idle processors may sleep.
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use super::{Topology, text};
use crate::machine::Machine;
use model::Reading;
use std::collections::BTreeMap;

const CPUS: &str = "/sys/devices/system/cpu";

/// How deep idle processors may sleep.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    /// The driver; `none` where the kernel only halts.
    pub driver: Reading<String>,
    /// The states of each online CPU that names any, the shallowest first.
    pub states: BTreeMap<u32, Vec<State>>,
}

/// A state in which a CPU sleeps.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its number.
    pub number: u32,
    /// Its name, such as `C6`.
    pub name: String,
    /// What waking from it takes, in microseconds.
    pub latency: u64,
    /// It may be entered.
    pub enabled: bool,
}

impl Idle {
    /// Reads it.
    pub fn read(machine: &Machine, topology: &Topology) -> Idle {
        let of = |cpu: &u32| Some((*cpu, states(machine, *cpu)?));
        Idle {
            driver: text(machine, &format!("{CPUS}/cpuidle/current_driver")),
            states: topology.cpus.keys().filter_map(of).collect(),
        }
    }
}

fn states(machine: &Machine, cpu: u32) -> Option<Vec<State>> {
    let state = |number: u32| {
        let file = |name: &str| format!("{CPUS}/cpu{cpu}/cpuidle/state{number}/{name}");
        let name = machine.read(&file("name")).ok()?;
        let latency = machine.number(&file("latency")).ok()?;
        let enabled = machine.number::<u64>(&file("disable")).ok()? == 0;
        Some(State { number, name, latency, enabled })
    };
    // CPUIDLE_STATE_MAX of include/linux/cpuidle.h.
    let states: Vec<State> = (0..10).map_while(state).collect();
    (!states.is_empty()).then_some(states)
}
