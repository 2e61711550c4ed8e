//! The reference machine: how long its processor takes for what a program does (docs/reference-clock.md).
//!
//! An eight-wide out-of-order core that is never real and never changes. Blocks of code are decoded once ([`block`], with the
//! costs of [`costs`]); as they are entered, one core per thread ([`core`]) follows when results are ready, through caches
//! ([`memory`]) and a branch predictor ([`branch`]). Everything is integer arithmetic on what the program does: the same
//! program and input take the same time on every host.

pub(crate) mod block;
mod branch;
mod core;
mod costs;
mod flow;
mod memory;
mod mixer;
mod tags;

pub(crate) use block::{Block, Site};
pub(crate) use core::{Core, Unknown};

/// Version of the machine: results of different versions are not to be compared. Any change of a rule or a cost is a new one.
pub const VERSION: u32 = 1;

/// Time is counted in sixteenths of a cycle, so that half a cycle and a share of a unit are whole numbers.
pub(crate) const TICKS: u32 = 16;
/// Cycles of a nanosecond.
pub(crate) const GHZ: u32 = 4;
/// What the clock counts in one second.
pub const TICKS_PER_SECOND: u64 = 1_000_000_000 * (GHZ * TICKS) as u64;

pub(crate) const fn cycles(n: u32) -> u32 {
    n * TICKS
}

pub(crate) const fn nanoseconds(n: u32) -> u32 {
    cycles(n * GHZ)
}
