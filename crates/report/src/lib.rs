//! Results as text: JSON documents, lines for the terminal, CSV, Markdown, pages with charts. Pure functions from values to strings; whether
//! there is a terminal, how wide it is and whether it shows colour are arguments.

mod audit;
mod bench;
mod calibration;
pub mod ci;
pub mod csv;
mod doctor;
pub mod html;
mod index;
pub mod json;
mod lab;
pub mod markdown;
pub mod svg;
pub mod text;
mod trace;

#[cfg(test)]
mod samples;

pub use bench::words as warning_words;
pub use doctor::{Check, CheckState, DoctorDocument};

use model::Reading;
use serde::Serialize;

/// A clock, and what keeps it on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockStatus {
    /// As in `--clock`.
    pub name: &'static str,
    /// As in `--counter`, where that chooses this.
    #[serde(skip)]
    pub counter: Option<&'static str>,
    /// By what it works; why it does not.
    pub by: Reading<String>,
    /// Languages whose programs it measures alike, to the last digit, from run to run.
    pub exact: &'static str,
    /// How many times longer a run takes.
    pub cost: &'static str,
}
