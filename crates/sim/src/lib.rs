//! A fleet in simulation: how far the design scales, and what it does when things go wrong (docs/scale.md).
//!
//! Events in order of time. Admission, cross-checks, health and the settle rule are the very functions that a service uses, and the order of work
//! is proved to be that of its store; made up are programs, the noise of their times, machines and what befalls them, and the network. Everything
//! comes from one seed: the same scenario gives the same figures on every machine.

mod faults;
mod figures;
mod judging;
mod node;
mod queue;
mod quiet;
mod scenario;
mod service;
#[cfg(test)]
mod tests;
mod world;

pub use figures::{Detection, Extra, Figures, Percentiles, Queueing, Wrong};
pub use queue::{Asker, Job, Queue, Taken, Urgency};
pub use quiet::{Quiet, quiet};
pub use scenario::Scenario;

/// Plays a scenario to its end.
pub fn run(scenario: &Scenario) -> Figures {
    let mut world = world::World::new(scenario);
    world.play();
    figures::Figures::from_world(&world)
}
