//! How values of other crates are described in the API's document.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a submission earned: accepted, partially accepted (less than the full score), wrong answer, time limit, run-time error,
/// memory limit, output limit, compile error, judge error (a fault of the judge or the package, never scored).
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Verdict)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum VerdictName {
    Ac,
    Pa,
    Wa,
    Tle,
    Rte,
    Mle,
    Ole,
    Ce,
    Je,
}

/// How firmly a time verdict stands: `clear` one run far from the limit, `settled` by repeated runs, `confirmed` too near the limit
/// and decided by the reference clock, `open` still too near the limit after the bound of repeats and decided by the rule.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Confidence)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfidenceName {
    Clear,
    Settled,
    Confirmed,
    Open,
}

/// Whether a node gets work: it does; it ends what it has; it has nothing.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = NodeState)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeStateName {
    Active,
    Draining,
    Drained,
}

/// What a judgement is for: to be the submission's verdict, or a trial, which never is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Purpose)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PurposeName {
    Verdict,
    Trial,
}

impl From<PurposeName> for store::Purpose {
    fn from(name: PurposeName) -> store::Purpose {
        match name {
            PurposeName::Verdict => store::Purpose::Verdict,
            PurposeName::Trial => store::Purpose::Trial,
        }
    }
}

/// How far judging has come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = State)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StateName {
    Waiting,
    Judging,
    Judged,
    Cancelled,
}

impl From<StateName> for store::State {
    fn from(name: StateName) -> store::State {
        match name {
            StateName::Waiting => store::State::Waiting,
            StateName::Judging => store::State::Judging,
            StateName::Judged => store::State::Judged,
            StateName::Cancelled => store::State::Cancelled,
        }
    }
}
