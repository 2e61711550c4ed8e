//! Drives the judge's decisions over a [`Runner`], emits events, cancels.

mod runner;
pub mod toolchain;

pub use runner::{Runner, SystemError};
