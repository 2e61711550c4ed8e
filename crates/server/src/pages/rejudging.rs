//! Judging many submissions again, and what changed by it.

use super::filters;
use super::lists::Narrowed;
use super::rows::{self, names};
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::rejudge::{self, Ask, MOST_SUBMISSIONS};
use crate::service::Service;
use askama::Template;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::{
    Filter, JudgementSummary, Page, Problem, Purpose, Rejudged, Rejudging, RejudgingId, SubmissionId, UserId,
};

/// Rejudgings in the list.
const LISTED: u32 = 30;
/// Rows of a comparison; the changed ones come first.
const COMPARED: usize = 500;

/// What is chosen, before anything is done.
struct Chosen {
    count: u64,
    too_many: bool,
}

#[derive(Template)]
#[template(path = "rejudge.html")]
struct ChoosePage {
    frame: Frame,
    problems: Vec<Problem>,
    narrowed: Narrowed,
    chosen: Option<Chosen>,
    earlier: Vec<Rejudging>,
    names: HashMap<UserId, String>,
}

impl ChoosePage {
    fn verdicts(&self) -> Vec<(&'static str, &'static str)> {
        rows::verdicts().collect()
    }

    fn languages(&self) -> &'static [judge::language::Language] {
        words::table().languages()
    }

    fn who(&self, rejudging: &Rejudging) -> &str {
        rejudging.by.and_then(|id| self.names.get(&id)).map_or("", String::as_str)
    }
}

/// `GET /rejudge`: choose, and what was judged again before.
pub(super) async fn choose(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Query(narrowed): Query<Narrowed>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Rejudge)?;
    let chosen = match narrowed.is_narrow() {
        true => match narrowed.filter(&service).await {
            Ok(filter) => {
                let most = u32::try_from(MOST_SUBMISSIONS).unwrap_or(u32::MAX);
                let count = service.store.count_submissions(&filter, most.saturating_add(1)).await?;
                Some(Chosen { count, too_many: count > u64::from(most) })
            }
            Err(Refusal::NotFound(_)) => Some(Chosen { count: 0, too_many: false }),
            Err(error) => return Err(error.into()),
        },
        false => None,
    };
    let problems = service.store.problems().await?;
    let earlier = service.store.rejudgings(None, LISTED).await?;
    let names = names(&service, earlier.iter().map(|rejudging| rejudging.by).collect()).await?;
    Ok(show(&ChoosePage { frame, problems, narrowed, chosen, earlier, names }))
}

#[derive(Debug, Deserialize)]
pub(super) struct Ordered {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    newest: String,
    #[serde(default)]
    problem: String,
    #[serde(default)]
    author: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    origin: String,
}

/// `POST /rejudge`.
pub(super) async fn order(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Form(ordered): Form<Ordered>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Rejudge)?;
    let Ordered { reason, newest, problem, author, language, verdict, origin, .. } = ordered;
    let narrowed = Narrowed { problem, author, language, verdict, origin, ..Narrowed::default() };
    if !narrowed.is_narrow() {
        return Err(Refusal::Bad("choose a problem, a verdict or an author first".into()).into());
    }
    let version = match (newest.is_empty(), narrowed.problem.as_str()) {
        (true, _) => None,
        (false, "") => {
            return Err(Refusal::Bad("newest version: choose a problem first".into()).into());
        }
        (false, name) => Some(service.store.problem(name).await?.newest.id),
    };
    let chosen = all(&service, &narrowed.filter(&service).await?).await?;
    let ask = Ask { version, ..Ask::new(Purpose::Verdict, 1, reason.trim(), frame.caller.id()) };
    let id = rejudge::again(&service, &chosen, ask).await?;
    Ok(Redirect::to(&format!("/rejudge/{id}")).into_response())
}

/// The submissions that fit and still have their files.
async fn all(service: &Service, filter: &Filter) -> Result<Vec<SubmissionId>, Refusal> {
    let mut found = Vec::new();
    let mut page = Page::first(500);
    loop {
        let some = service.store.submissions(filter, page).await?;
        let Some(last) = some.last().map(|submission| submission.id) else { return Ok(found) };
        found.extend(
            some.iter().filter(|submission| submission.forgotten.is_none()).map(|submission| submission.id),
        );
        if found.len() > MOST_SUBMISSIONS {
            let why = format!("more than {MOST_SUBMISSIONS} submissions match\nhint: narrow the filter");
            return Err(Refusal::Bad(why));
        }
        page = Page::after(last, 500);
    }
}

/// A submission before and after.
struct Compared {
    token: String,
    id: SubmissionId,
    author: String,
    title: String,
    before: Option<JudgementSummary>,
    after: Option<JudgementSummary>,
}

impl Compared {
    fn is_changed(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.verdict != after.verdict || before.score != after.score,
            _ => false,
        }
    }

    /// How much longer it took, in percent of the time before.
    fn slower(&self) -> String {
        let charge =
            |judgement: &Option<JudgementSummary>| judgement.as_ref().and_then(|judgement| judgement.charge);
        match (charge(&self.before), charge(&self.after)) {
            (Some(before), Some(after)) if before.amount > 0 && before.clock == after.clock => {
                format!("{:+.1} %", (after.amount as f64 / before.amount as f64 - 1.0) * 100.0)
            }
            _ => String::new(),
        }
    }
}

/// What changes while it goes on.
struct RejudgingProgress {
    rejudging: Rejudging,
    /// From which verdict to which, and how often.
    changes: Vec<(String, String, u64)>,
    same: u64,
    rows: Vec<Compared>,
    left_out: usize,
}

impl RejudgingProgress {
    fn is_done(&self) -> bool {
        self.rejudging.judged >= self.rejudging.jobs
    }
}

#[derive(Template)]
#[template(path = "rejudging_part.html")]
struct PartPage {
    part: RejudgingProgress,
}

#[derive(Template)]
#[template(path = "rejudging.html")]
struct OnePage {
    frame: Frame,
    part: RejudgingProgress,
    who: String,
}

/// `GET /rejudge/{id}`.
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(id): Path<i64>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Rejudge)?;
    let part = part(&service, RejudgingId(id)).await?;
    let who = names(&service, vec![part.rejudging.by]).await?.into_values().next().unwrap_or_default();
    Ok(show(&OnePage { frame, part, who }))
}

/// `GET /rejudge/{id}/part`: what changes.
pub(super) async fn part_alone(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(id): Path<i64>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Rejudge)?;
    let part = part(&service, RejudgingId(id)).await?;
    let stands = if part.is_done() { "done" } else { "going" };
    let mut response = show(&PartPage { part });
    response.headers_mut().insert(HeaderName::from_static("x-tauto-live"), HeaderValue::from_static(stands));
    Ok(response)
}

async fn part(service: &Service, id: RejudgingId) -> Result<RejudgingProgress, Refusal> {
    let (rejudging, mut all) = service.store.rejudging(id).await?;
    let (changes, same) = changes(&all);
    let changed = |one: &Rejudged| match (&one.before, one.after.last()) {
        (Some(before), Some(after)) => u8::from(before.verdict == after.verdict),
        (_, Some(_)) => 2,
        _ => 3,
    };
    all.sort_by_key(changed);
    let left_out = all.len().saturating_sub(COMPARED);
    all.truncate(COMPARED);
    let titles = rows::titles(service).await?;
    let mut submissions = Vec::new();
    for one in &all {
        submissions.push(service.store.submission(one.submission).await?);
    }
    let names = names(service, submissions.iter().map(|submission| submission.author).collect()).await?;
    let row = |(mut one, submission): (Rejudged, store::Submission)| Compared {
        id: submission.id,
        author: rows::author(&submission, &names),
        title: submission
            .problem
            .as_ref()
            .map_or(String::new(), |of| titles.get(&of.name).unwrap_or(&of.name).clone()),
        token: submission.token,
        before: one.before,
        after: one.after.pop(),
    };
    let rows = all.into_iter().zip(submissions).map(row).collect();
    Ok(RejudgingProgress { rejudging, changes, same, rows, left_out })
}

/// Which verdicts became which, and how many stayed.
fn changes(all: &[Rejudged]) -> (Vec<(String, String, u64)>, u64) {
    let mut changes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut same = 0;
    for one in all {
        let (Some(before), Some(after)) = (&one.before, one.after.last()) else { continue };
        match before.verdict == after.verdict {
            true => same += 1,
            false => *changes.entry((before.verdict.code(), after.verdict.code())).or_default() += 1,
        }
    }
    let change = |((from, to), count): ((&str, &str), u64)| (from.to_string(), to.to_string(), count);
    (changes.into_iter().map(change).collect(), same)
}
