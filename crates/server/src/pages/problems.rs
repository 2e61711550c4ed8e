//! The list of problems, and a problem with its statement, its samples and the form to submit.

use super::filters;
use super::rows::class;
use super::{Frame, Refused, show, words};
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::problems::Opened;
use crate::service::Service;
use crate::statement::{self, Statement};
use crate::submit::own_tests::{has_samples, takes_input};
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use judge::language::Language;
use judge::package::TimeLimit;
use model::{Nanos, Verdict};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use store::{Contest, Filter, Page, Problem, Submission, UserId};

/// Of so many of one's newest submissions the list of problems knows.
const REMEMBERED: u32 = 500;

/// A problem in the list.
struct Listed {
    problem: Problem,
    /// What there is of the reader's: class and words.
    mine: Option<(&'static str, &'static str)>,
    tries: u64,
}

#[derive(Template)]
#[template(path = "problems.html")]
struct ProblemsPage {
    frame: Frame,
    problems: Vec<Listed>,
}

impl ProblemsPage {
    fn may_add(&self) -> bool {
        self.frame.caller.may(Right::Problems)
    }

    fn solved(&self) -> usize {
        self.problems.iter().filter(|listed| listed.mine.is_some_and(|(class, _)| class == "AC")).count()
    }
}

/// `GET /`.
pub(super) async fn list(State(service): State<Arc<Service>>, frame: Frame) -> Result<Response, Refused> {
    frame.caller.must(Right::View)?;
    let mut mine = mine(&service, &frame).await?;
    let listed = |problem: Problem| {
        let (best, tries) = mine.remove(&problem.name).unwrap_or_default();
        Listed { problem, mine: best, tries }
    };
    let problems = service.store.problems().await?.into_iter().map(listed).collect();
    Ok(show(&ProblemsPage { frame, problems }))
}

type Standing = (Option<(&'static str, &'static str)>, u64);

/// How the reader stands in each problem they tried.
async fn mine(service: &Service, frame: &Frame) -> Result<HashMap<String, Standing>, Refusal> {
    let mut standings: HashMap<String, Standing> = HashMap::new();
    let Some(filter) = frame.own() else { return Ok(standings) };
    // Newest first, so that what is kept of those that are not accepted is the newest.
    for submission in service.store.submissions(&filter, Page::first(REMEMBERED)).await? {
        let Some(of) = &submission.problem else { continue };
        let (best, tries) = standings.entry(of.name.clone()).or_default();
        *tries += 1;
        let accepted =
            submission.current.as_ref().is_some_and(|current| current.verdict == Verdict::Accepted);
        if best.is_none() || (accepted && best.is_some_and(|(class, _)| class != "AC")) {
            *best = Some((class(&submission), super::rows::label(&submission)));
        }
    }
    Ok(standings)
}

/// A sample.
struct Sample {
    name: String,
    input: String,
    answer: String,
    /// Lines that begin with `<` come from the judge, with `>` from the program.
    interaction: Option<Vec<(bool, String)>>,
}

/// What somebody has typed into the form.
#[derive(Default)]
pub(super) struct Entered {
    pub(super) language: String,
    pub(super) source: String,
    /// The name of the file that was opened in the editor.
    pub(super) named: String,
    pub(super) contest: String,
    /// An input of one's own.
    pub(super) input: String,
    pub(super) error: Option<String>,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    frame: Frame,
    problem: Problem,
    opened: Arc<Opened>,
    statement: Statement,
    samples: Vec<Sample>,
    time_limit: String,
    languages: Vec<&'static Language>,
    /// Those that one can submit for, the newest first.
    contests: Vec<Contest>,
    entered: Entered,
    mine: Vec<Submission>,
}

impl ProblemPage {
    fn may_submit(&self) -> bool {
        self.frame.caller.may(Right::Submit)
    }

    /// What the statement calls it, in its language; else what the package does.
    fn title(&self) -> &str {
        self.statement.title.as_deref().unwrap_or(&self.problem.title)
    }

    /// Under which name the browser keeps what is written and not yet submitted: each user their own on a shared machine.
    fn draft(&self) -> String {
        let whose = self.frame.caller.id().map(|id| id.0.to_string()).unwrap_or_default();
        format!("{whose}:{}", self.problem.name)
    }

    /// A program can be run on the samples before it is submitted.
    fn has_samples(&self) -> bool {
        has_samples(&self.opened)
    }

    /// A program can be run on an input of one's own.
    fn takes_input(&self) -> bool {
        takes_input(&self.opened)
    }

    fn may_manage(&self) -> bool {
        self.frame.caller.may(Right::Problems)
    }

    fn memory(&self) -> String {
        self.opened.package.limits.memory.map_or("2 GiB".into(), words::memory)
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wish {
    /// The language to read the statement in.
    lang: Option<String>,
    /// The contest to submit for.
    contest: Option<String>,
}

/// `GET /problems/{name}`.
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    Query(wish): Query<Wish>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::View)?;
    let contest = match (wish.contest, frame.own()) {
        (Some(contest), _) => contest,
        (None, Some(own)) => last_contest(&service, &own).await?,
        (None, None) => String::new(),
    };
    page(&service, frame, &name, wish.lang, Entered { contest, ..Entered::default() }).await
}

/// The contest that the reader's newest submission was for: most likely the next one is too.
async fn last_contest(service: &Service, own: &Filter) -> Result<String, Refusal> {
    let newest = service.store.submissions(own, Page::first(1)).await?;
    match newest.first().and_then(|submission| submission.contest) {
        Some(id) => Ok(service.store.contest_by_id(id).await?.name),
        None => Ok(String::new()),
    }
}

/// The page of a problem, with what was typed into its form.
pub(super) async fn page(
    service: &Service,
    frame: Frame,
    name: &str,
    wish: Option<String>,
    entered: Entered,
) -> Result<Response, Refused> {
    let problem = service.store.problem(name).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, name).await?;
    let (from, called) = (opened.clone(), name.to_string());
    let read = tokio::task::spawn_blocking(move || {
        Ok::<_, Refusal>((statement::statement(&from, &called, wish.as_deref())?, samples(&from)?))
    });
    let (statement, samples) =
        read.await.map_err(|e| Refusal::Fault(format!("reading a package: {e}")))??;
    let mine = match frame.own() {
        Some(filter) => {
            let filter = Filter { problem: Some(problem.id), ..filter };
            service.store.submissions(&filter, Page::first(8)).await?
        }
        None => Vec::new(),
    };
    let time_limit = time_limit(service, &problem, &opened).await?;
    let languages = languages(&opened);
    let failed = entered.error.is_some();
    let contests = service.store.contests().await?;
    let page = ProblemPage {
        frame,
        problem,
        opened,
        statement,
        samples,
        time_limit,
        languages,
        contests,
        entered,
        mine,
    };
    let status = if failed { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok((status, show(&page)).into_response())
}

/// The time limit in words.
async fn time_limit(service: &Service, problem: &Problem, opened: &Opened) -> Result<String, Refusal> {
    if let TimeLimit::Stated { limit, .. } = &opened.package.limits.time {
        return Ok(seconds(*limit));
    }
    let mut known = Vec::new();
    for stored in service.store.time_limits(problem.newest.id).await? {
        let limit = stored.limit.map_or("being inferred".into(), |found| seconds(found.inferred.limit));
        known.push((stored.of.pool, limit));
    }
    let usual = known.first().map_or("being inferred", |(_, limit)| limit).to_string();
    let other = known.iter().filter(|(pool, limit)| pool.is_some() && *limit != usual);
    let other =
        other.map(|(pool, limit)| format!("; in contests of pool {} {limit}", pool.as_deref().unwrap_or("")));
    Ok(other.fold(usual.clone(), |words, more| words + &more))
}

/// A limit as people state it.
fn seconds(limit: Nanos) -> String {
    format!("{} s", words::score(limit.0 as f64 / 1e9))
}

/// The languages that a package takes.
fn languages(opened: &Opened) -> Vec<&'static Language> {
    let all = words::table().languages().iter();
    let taken = |language: &&Language| match &opened.package.languages {
        Some(codes) => language.codes.iter().any(|code| codes.contains(code)) || codes.contains(&language.id),
        None => true,
    };
    all.filter(taken).collect()
}

/// More of a sample than this is not shown on the page.
const SAMPLE: usize = 64 << 10;

fn samples(opened: &Opened) -> Result<Vec<Sample>, Refusal> {
    let text = |path: &str| -> Result<String, Refusal> {
        if path.is_empty() {
            return Ok(String::new());
        }
        let bytes = opened.source.bytes(path).map_err(|e| Refusal::Fault(e.to_string()))?;
        let clipped = &bytes[..bytes.len().min(SAMPLE)];
        let more = if bytes.len() > SAMPLE { "…\n" } else { "" };
        Ok(String::from_utf8_lossy(clipped).into_owned() + more)
    };
    let tree = &opened.source.tree().files;
    // What is to be shown in the place of what is judged with.
    let shown = |path: &str| {
        let other = format!("{path}.statement");
        if tree.contains_key(&other) { other } else { path.to_string() }
    };
    let group = opened.package.data.groups.iter().find(|group| group.name == "sample");
    let cases = group.map(judge::package::TestGroup::all_cases).unwrap_or_default();
    let mut samples = Vec::new();
    // Those that are yet to be made are shown nowhere: this process runs no programs.
    let there = |path: &str| path.is_empty() || tree.contains_key(path);
    for case in cases.into_iter().filter(|case| there(&case.input) && there(&case.answer)) {
        let script = format!("data/{}.interaction", case.name);
        let interaction = match tree.contains_key(&script) {
            true => Some(interaction(&text(&script)?)),
            false => None,
        };
        let name = case.name.strip_prefix("sample/").unwrap_or(&case.name).to_string();
        let (input, answer) = (text(&shown(&case.input))?, text(&shown(&case.answer))?);
        samples.push(Sample { name, input, answer, interaction });
    }
    // Interactions that belong to no test.
    let known: Vec<String> = samples.iter().map(|sample| sample.name.clone()).collect();
    for path in tree.keys() {
        let name = path.strip_prefix("data/sample/").and_then(|rest| rest.strip_suffix(".interaction"));
        if let Some(name) = name.filter(|name| !known.iter().any(|known| known == name)) {
            let interaction = Some(interaction(&text(path)?));
            samples.push(Sample {
                name: name.into(),
                input: String::new(),
                answer: String::new(),
                interaction,
            });
        }
    }
    Ok(samples)
}

/// Lines of an interaction with who says them: `true` the judge.
fn interaction(text: &str) -> Vec<(bool, String)> {
    let line = |line: &str| match line.split_at_checked(1) {
        Some((">", said)) => (false, said.to_string()),
        Some(("<", said)) => (true, said.to_string()),
        _ => (true, line.to_string()),
    };
    text.lines().map(line).collect()
}

/// `GET /problems/{name}/files/{file}`: pictures of the statement, and statements that are PDF. Nothing else of a package.
pub(super) async fn file(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, file)): Path<(String, String)>,
) -> Result<Response, Refused> {
    caller.must(Right::View)?;
    let missing = || Refusal::missing(format_args!("file {file} of problem {name}"));
    let problem = service.store.problem(&name).await?;
    let form = statement::picture_form(&file).ok_or_else(missing)?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &name).await?;
    let path = statement::picture_path(&opened, &file).ok_or_else(missing)?;
    let read = tokio::task::spawn_blocking(move || opened.source.bytes(&path)).await;
    let bytes = read.map_err(|e| Refusal::Fault(format!("reading a package: {e}")))?;
    let bytes = bytes.map_err(|e| Refusal::Fault(e.to_string()))?;
    // A picture may be opened by itself; it must not run a script then.
    let headers = [
        (header::CONTENT_TYPE, form),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "private, max-age=300"),
    ];
    Ok((headers, bytes).into_response())
}

/// Whose submissions a filter is to find.
pub(super) fn own(author: Option<UserId>, visitor: Option<&str>) -> Option<Filter> {
    match (author, visitor) {
        (Some(author), _) => Some(Filter { author: Some(author), ..Filter::default() }),
        (None, Some(visitor)) => Some(Filter { visitor: Some(visitor.to_string()), ..Filter::default() }),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_what() {
        let lines = interaction("<put 7\n>1 2\n<ok\n");
        assert_eq!(lines, [(true, "put 7".into()), (false, "1 2".into()), (true, "ok".into())]);
    }

    #[test]
    fn limits_are_in_seconds() {
        assert_eq!(
            (seconds(Nanos(2_000_000_000)), seconds(Nanos(500_000_000))),
            ("2 s".into(), "0.5 s".into())
        );
    }
}
