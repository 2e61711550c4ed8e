//! `tauto clocks --json`.

use crate::ClockStatus;
use serde::Serialize;

/// The clocks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClocksDocument<'a> {
    /// Each with what keeps it, or why it does not work.
    pub clocks: &'a [ClockStatus],
}
