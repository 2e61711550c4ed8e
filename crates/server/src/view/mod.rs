//! Views of submissions, judgements and series, for pages and the API. They also decide who sees what. Times are
//! integer nanoseconds, memory is integer bytes, timestamps are RFC 3339 in UTC; a reading that could not be taken is
//! `{"unknown": "why"}`.

mod judgement;
mod schemas;
mod series;
mod submission;

pub(crate) use judgement::{JudgementView, may_read_message, names, whole, worker_of};
pub(crate) use schemas::{ConfidenceName, NodeStateName, PurposeName, StateName, VerdictName};
pub(crate) use series::{Point, Series, SeriesTest, is_void, series};
pub(crate) use submission::{Brief, Names, SubmissionView};
