//! Drives the judge's decisions over a [`Runner`], emits events, cancels.

pub mod files;
mod runner;
pub mod simulated;
pub mod source;

pub use runner::{Runner, SystemError};
