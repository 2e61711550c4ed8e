//! Same code, same verdict: when a measured time may decide, and what it decides.
//!
//! Pure: observations in, decisions out, so that a verdict can be derived again years later from what was stored. The
//! rule in words for participants: docs/settling.md.
//!
//! Disturbance only ever adds time. So a run at or below the limit proves that the program can do it, whatever went on
//! beside it; a run above the limit proves nothing until it is too far above to be explained by noise.

mod calm;
mod disturbance;
mod floor;
mod opinion;
mod record;
mod rule;
mod thresholds;

pub use calm::{is_calm, is_unaffected};
pub use disturbance::{disturbances, explained};
pub use floor::floor_from_runs;
pub use model::{Cause, Noise, NoiseFloor, Policy, Quiet, Spread, Thresholds};
pub use opinion::asks;
pub use record::{causes, floor_of, judged_runs};
pub use rule::{Decision, Step, Timed, band, settle, stop_at};
pub use thresholds::thresholds;
