//! Schemas of types from other crates, for the OpenAPI document.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Verdict of a submission or test. AC: accepted. PA: partially accepted, with less than the full score. WA: wrong
/// answer. TLE: time limit exceeded. RTE: runtime error. MLE: memory limit exceeded. OLE: output limit exceeded. CE:
/// compile error. JE: judge error, a fault of the judge or the package, which is never scored.
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

/// How a verdict on time was decided. `clear`: by one run, far from the limit. `settled`: by repeated runs.
/// `confirmed`: by the reference clock, as the time was too close to the limit. `open`: the time is still too close
/// to the limit after all repeats.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Confidence)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfidenceName {
    Clear,
    Settled,
    Confirmed,
    Open,
}

/// Whether a node gets work. `active`: it does. `draining`: it finishes its jobs and gets no new ones. `drained`: it
/// has no jobs and gets none.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = NodeState)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeStateName {
    Active,
    Draining,
    Drained,
}

/// Purpose of a judgement. `verdict`: it can become the submission's verdict. `trial`: it never does.
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

/// State of judging. `waiting`: waits to be judged or rejudged. `judging`: a worker judges it. `judged`: has a
/// verdict and waits for nothing. `cancelled`: was cancelled without a verdict.
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
