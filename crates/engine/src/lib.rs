//! Drives the judge's decisions over a [`Runner`], emits events, cancels.
//!
//! The order of things: a [`source::Source`] is read into a package; [`job::Job`] says what is to be judged how;
//! [`prepared_slot::PreparedSlot`]es are made on slots (validators compiled); [`timelimit`] finds the time limit, [`calibrate`] measures what it should be; [`submission`]
//! judges one submission, [`verify`] all of the jury's. Runs and their outputs never touch the host's file system
//! by name.

pub mod artifact_cache;
mod build_plan;
pub mod bundle;
pub mod calibrate;
mod case;
mod checks;
pub mod clocks;
mod communicate;
pub mod execute;
mod fault;
pub mod files;
mod interact;
pub mod job;
pub mod languages;
pub mod limit_cache;
pub mod limits;
pub mod looks;
mod make;
pub mod opinion;
pub mod prepared_slot;
mod program;
mod runner;
mod sandboxed;
mod settled;
pub mod simulated;
pub mod slot;
pub mod submission;
pub mod timelimit;
pub mod toolchain;
mod transcript;
mod validate;
pub mod verify;
pub mod warm;

pub use build_plan::LoadedFile;
pub use fault::Fault;
pub use runner::{Blame, Runner, SystemError};
pub use source::SourceError;
