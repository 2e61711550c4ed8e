//! What `tauto doctor` found: one check for each part of an installation.

use serde::Serialize;

/// How a part of an installation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It works.
    Ok,
    /// It works, with less isolation, less exact times or fewer languages than it could.
    Weaker,
    /// Judging is impossible until it is mended.
    Bad,
    /// It could not be checked.
    Unknown,
}

impl CheckState {
    /// As in the JSON document.
    pub const fn name(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Weaker => "weaker",
            CheckState::Bad => "bad",
            CheckState::Unknown => "unknown",
        }
    }
}

/// One part of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable, lower case, such as `sandbox`.
    pub id: &'static str,
    /// How it stands.
    pub state: CheckState,
    /// What was found, or why nothing could be.
    pub found: String,
    /// The command that mends it, or what to do; none where nothing needs to be done.
    pub remedy: Option<String>,
}

impl Check {
    /// A part that works.
    pub fn ok(id: &'static str, found: impl Into<String>) -> Check {
        Check { id, state: CheckState::Ok, found: found.into(), remedy: None }
    }

    /// A part that does not, or not as well as it could. Its remedy is in place of the hints of an error that was found.
    pub fn not(
        state: CheckState,
        id: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Check {
        let (found, _) = model::hint::split(&found.into());
        Check { id, state, found, remedy: Some(remedy.into()) }
    }
}

/// What `tauto doctor --json` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorDocument<'a> {
    /// No check is bad.
    pub ok: bool,
    /// In a fixed order.
    pub checks: &'a [Check],
}

impl<'a> DoctorDocument<'a> {
    /// Of these checks.
    pub fn new(checks: &'a [Check]) -> DoctorDocument<'a> {
        DoctorDocument { ok: checks.iter().all(|check| check.state != CheckState::Bad), checks }
    }
}
