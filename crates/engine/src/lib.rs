//! Drives the judge's decisions over a [`Runner`], emits events, cancels.
//!
//! The order of things: a [`source::Source`] is read into a package; [`job::Job`] says what is to be judged how;
//! [`bench::Bench`]es are made on slots (validators compiled); [`timelimit`] finds the time limit, [`calibrate`] measures what it should be; [`submission`]
//! judges one submission, [`verify`] all of the jury's. Runs and their outputs never touch the host's file system
//! by name.

pub mod bench;
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
pub mod kept;
pub mod languages;
pub mod limits;
mod make;
pub mod opinion;
mod program;
mod recipe;
mod runner;
mod sandboxed;
mod settled;
pub mod shelf;
pub mod simulated;
pub mod slot;
pub mod submission;
pub mod timelimit;
pub mod toolchain;
mod transcript;
mod validate;
pub mod verify;
pub mod warm;

pub use fault::Fault;
pub use recipe::Part;
pub use runner::{Blame, Runner, SystemError};
pub use source::SourceError;
