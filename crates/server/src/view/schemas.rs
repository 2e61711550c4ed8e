//! How values of other crates are described in the API's document.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{RefOr, schema::KnownFormat, schema::SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

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

/// How firmly a time verdict stands: `clear` one run far from the limit, `settled` by repeated runs, `open` still too near the
/// limit after the bound of repeats and decided by the rule.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Confidence)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfidenceName {
    Clear,
    Settled,
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

/// A number, or why it is not known.
pub(crate) struct ReadingOfInteger;

impl ToSchema for ReadingOfInteger {
    fn name() -> std::borrow::Cow<'static, str> {
        "Reading".into()
    }
}

impl PartialSchema for ReadingOfInteger {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0));
        let unknown = ObjectBuilder::new()
            .property("unknown", ObjectBuilder::new().schema_type(Type::String))
            .required("unknown");
        let either = OneOfBuilder::new().item(number).item(unknown);
        either.description(Some("a number, or why it is not known")).into()
    }
}
