//! Short measurements of the slot between tasks, by which the service sees whether the node is as it was.

use super::statement::now;
use fleet::Probe;
use host::facts::Topology;
use host::identity;
use host::machine::Machine;
use power_index::{IndexOptions, probe, protect};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A probe with fewer parts was disturbed.
const LEAST_PARTS: usize = 3;

/// Probes the CPU on which `tauto index` measures this slot. `None`: it was disturbed, ended, or could not be.
pub(super) fn taken(cpu: Option<u32>, stop: &AtomicBool) -> Option<Probe> {
    let machine = Machine::this().ok()?;
    let topology = Topology::read(&machine).ok()?;
    let available =
        identity::memory(&machine).0.known().map_or(0, |bytes| usize::try_from(*bytes).unwrap_or(0));
    let asked = IndexOptions {
        topology: &topology,
        cpu,
        available,
        program: "/proc/self/exe".into(),
        time: Duration::ZERO,
    };
    let at = now();
    // On a thread of its own, since it binds itself and takes another class.
    let work = || {
        let protection = protect(cpu);
        if let (Some(cpu), Err(error)) = (cpu, &protection.bound) {
            tracing::debug!(cpu, %error, "no probe");
            return None;
        }
        probe(&asked, stop)
    };
    let parts = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("probe".into()).spawn_scoped(scope, work);
        thread.ok()?.join().ok().flatten()
    })?;
    (parts.len() >= LEAST_PARTS).then_some(Probe { at, parts })
}
