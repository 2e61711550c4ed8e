//! The machine that judges: facts about it, what they mean for time, how its CPUs are divided, and changing it so that
//! it can be put back.
//!
//! Facts are read by [`facts`] below a given root, a recorded machine as well as this one, and judged by pure functions
//! ([`audit`], [`slots`], [`numa`], [`tune::plan`]). Only [`tune`] and [`locks`] write.

pub mod audit;
pub mod busy;
pub mod facts;
pub mod identity;
pub mod locks;
pub mod machine;
pub mod noise;
pub mod numa;
pub mod slots;
pub mod tune;

pub use model::cpulist;
