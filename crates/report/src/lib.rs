//! Results as text: JSON documents, lines for the terminal, CSV, Markdown, pages with charts. Pure functions from values to strings; whether
//! there is a terminal, how wide it is and whether it shows colour are arguments.

mod audit;
mod bench;
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
    /// By what it works; why it does not.
    pub by: Reading<String>,
    /// Languages whose programs it measures alike, to the last digit, from run to run.
    pub exact: &'static str,
    /// How many times longer a run takes.
    pub cost: &'static str,
}

/// A language of the table and what was found for it on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageStatus {
    /// Its id, such as `cpp`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// File name extensions, without the dot.
    pub extensions: Vec<String>,
    /// The compile command as configured; `None` where nothing is compiled.
    pub compile: Option<Vec<String>>,
    /// The run command as configured.
    pub run: Vec<String>,
    /// Its tools as found, or why it cannot be used here.
    pub toolchain: Result<Vec<ToolStatus>, String>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolStatus {
    /// Name by which the table calls it.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// What it says of itself, or why it could not be asked.
    pub version: Reading<String>,
}
