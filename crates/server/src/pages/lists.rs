//! Lists of submissions: mine, and everybody's.

use super::filters;
use super::rows::{Row, rows, verdicts};
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::service::Service;
use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Filter, Page, Problem, SubmissionId};

/// More than this are not counted.
const COUNTED: u32 = 100_000;
/// Rows of a page.
const ROWS: u32 = 50;

/// What a list is narrowed to, as its form and its address have it; empty means all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Narrowed {
    pub(super) problem: String,
    pub(super) author: String,
    pub(super) language: String,
    pub(super) verdict: String,
    pub(super) state: String,
    pub(super) origin: String,
    #[serde(skip_serializing)]
    pub(super) before: Option<i64>,
}

impl Narrowed {
    /// The filter of the store that says the same.
    pub(super) async fn filter(&self, service: &Service) -> Result<Filter, Refusal> {
        let text = |text: &str| Some(text.trim().to_string()).filter(|text| !text.is_empty());
        let problem = match text(&self.problem) {
            Some(name) => Some(service.store.problem(&name).await?.id),
            None => None,
        };
        let author = match text(&self.author) {
            Some(name) => Some(service.store.user_of_name(&name).await?.id),
            None => None,
        };
        let verdict = match text(&self.verdict) {
            Some(code) => Some(code.parse().map_err(|e| Refusal::Bad(format!("verdict: {e}")))?),
            None => None,
        };
        let state = match text(&self.state).as_deref() {
            None => None,
            Some("waiting") => Some(store::State::Waiting),
            Some("judging") => Some(store::State::Judging),
            Some("judged") => Some(store::State::Judged),
            Some("cancelled") => Some(store::State::Cancelled),
            Some(other) => return Err(Refusal::Bad(format!("state: `{other}` is unknown"))),
        };
        let language = text(&self.language);
        Ok(Filter {
            problem,
            author,
            verdict,
            state,
            language,
            origin: text(&self.origin),
            ..Filter::default()
        })
    }

    /// As the query of an address.
    pub(super) fn query(&self) -> String {
        let pairs = [
            ("problem", &self.problem),
            ("author", &self.author),
            ("language", &self.language),
            ("verdict", &self.verdict),
            ("state", &self.state),
            ("origin", &self.origin),
        ];
        let pair = |(name, value): &(&str, &String)| format!("{name}={}", encoded(value));
        let set = pairs.iter().filter(|(_, value)| !value.is_empty());
        set.map(pair).collect::<Vec<_>>().join("&")
    }

    pub(super) fn is_narrow(&self) -> bool {
        !self.query().is_empty()
    }
}

/// Text as part of a path or a query (RFC 3986, section 2.1).
pub(super) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[derive(Template)]
#[template(path = "submissions.html")]
struct ListPage {
    frame: Frame,
    /// Only the reader's own.
    own: bool,
    rows: Vec<Row>,
    problems: Vec<Problem>,
    narrowed: Narrowed,
    /// The page of older ones.
    next: Option<SubmissionId>,
    count: u64,
}

impl ListPage {
    fn sees_all(&self) -> bool {
        self.frame.caller.may(Right::SeeAll)
    }

    fn verdicts(&self) -> Vec<(&'static str, &'static str)> {
        verdicts().collect()
    }

    fn languages(&self) -> &'static [judge::language::Language] {
        words::table().languages()
    }

    fn place(&self) -> &'static str {
        if self.own { "/submissions" } else { "/status" }
    }

    fn scores(&self) -> bool {
        self.rows.iter().any(|row| !row.score().is_empty())
    }
}

/// `GET /submissions`: the reader's own.
pub(super) async fn mine(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Query(narrowed): Query<Narrowed>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::View)?;
    let whose = frame.own();
    let narrowed = Narrowed { author: String::new(), origin: String::new(), ..narrowed };
    list(&service, frame, narrowed, Some(whose)).await
}

/// `GET /status`: everybody's. Who does not see all sees who, what, when and how it ended.
pub(super) async fn status(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Query(narrowed): Query<Narrowed>,
) -> Result<Response, Refused> {
    let sees_all = frame.caller.may(Right::SeeAll);
    if !sees_all {
        frame.caller.must(Right::View)?;
    }
    // What the jury hands in tells of the tests.
    let origin = if sees_all { narrowed.origin.clone() } else { store::PARTICIPANT.to_string() };
    list(&service, frame, Narrowed { origin, ..narrowed }, None).await
}

/// `own`: only those that this finds.
async fn list(
    service: &Service,
    frame: Frame,
    narrowed: Narrowed,
    own: Option<Option<Filter>>,
) -> Result<Response, Refused> {
    let is_own = own.is_some();
    let filter = match (narrowed.filter(service).await, own) {
        // Words that name nothing find nothing.
        (Err(Refusal::NotFound(_)), _) | (_, Some(None)) => None,
        (Err(error), _) => return Err(error.into()),
        (Ok(filter), Some(Some(whose))) => {
            Some(Filter { author: whose.author, visitor: whose.visitor, ..filter })
        }
        (Ok(filter), None) => Some(filter),
    };
    let (mut found, mut count) = (Vec::new(), 0);
    if let Some(filter) = filter {
        let page = Page { before: narrowed.before.map(SubmissionId), skip: 0, limit: ROWS + 1 };
        found = service.store.submissions(&filter, page).await?;
        count = service.store.count_submissions(&filter, COUNTED).await?;
    }
    let more = found.len() > ROWS as usize;
    found.truncate(ROWS as usize);
    let next = found.last().filter(|_| more).map(|last| last.id);
    let rows = rows(service, &frame, found).await?;
    let problems = service.store.problems().await?;
    let narrowed = Narrowed {
        origin: if frame.caller.may(Right::SeeAll) { narrowed.origin } else { String::new() },
        ..narrowed
    };
    Ok(show(&ListPage { frame, own: is_own, rows, problems, narrowed, next, count }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_what_was_asked() {
        let narrowed = Narrowed { problem: "a&b".into(), verdict: "AC".into(), ..Narrowed::default() };
        assert_eq!(narrowed.query(), "problem=a%26b&verdict=AC");
        assert!(narrowed.is_narrow() && !Narrowed::default().is_narrow());
    }
}
