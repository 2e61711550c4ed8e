//! A submission: its verdict as it comes about, test by test, and why its times can be believed.

use super::evidence::{self, Belief, TestShown};
use super::filters;
use super::rows::{author, names};
use super::{Frame, Refused, rows, show, words};
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::execution;
use crate::live::LiveEvent;
use crate::problems::limits;
use crate::service::Service;
use crate::submit::handed_in;
use crate::view::worker_of;
use crate::work::details;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use model::{Charge, Event, JudgePhase, Judgement, Nanos};
use serde::Deserialize;
use std::sync::Arc;
use store::{JobState, JudgementSummary, Purpose, StoredJudgement, Submission};

/// A judgement that goes on.
#[derive(Debug, Default)]
pub(super) struct Going {
    worker: Option<String>,
    phase: &'static str,
    /// Tests to come, at most.
    expected: u64,
    tests: Vec<TestShown>,
    /// Jobs before it.
    ahead: u64,
    /// What it waits for before it waits for its turn.
    awaits: Option<String>,
    /// Why it came back to the queue.
    returned: Option<String>,
}

/// A judgement that is there.
#[derive(Debug)]
pub(super) struct Judged {
    stored: StoredJudgement,
    tests: Vec<TestShown>,
    belief: Belief,
    worker: Option<String>,
    fault: Option<String>,
    /// What a program by itself printed: standard output and standard error, and whether there was more.
    printed: Vec<Printed>,
}

/// What was kept of a stream.
#[derive(Debug)]
pub(super) struct Printed {
    name: &'static str,
    text: String,
    cut: bool,
}

impl Judged {
    fn judgement(&self) -> &Judgement {
        &self.stored.judgement
    }

    fn slowest(&self) -> String {
        self.judgement().slowest().known().map_or("–".into(), Charge::to_string)
    }

    fn memory(&self) -> String {
        self.judgement().memory_peak().known().map_or("–".into(), |bytes| words::memory(*bytes))
    }

    fn score(&self) -> Option<String> {
        self.judgement().score.map(words::score)
    }

    fn most(&self) -> Option<String> {
        self.judgement().max_score.map(words::score)
    }

    /// Name, verdict, points and most points of each test group.
    fn groups(&self) -> Vec<(&str, &'static str, String, Option<String>)> {
        let groups = self.judgement().groups.iter();
        let shown = groups.map(|group| {
            let (score, most) = (words::score(group.score), group.max_score.map(words::score));
            (group.name.as_str(), group.verdict.code(), score, most)
        });
        shown.collect()
    }

    fn limit(&self) -> String {
        self.judgement().limit().to_string()
    }

    fn scores(&self) -> bool {
        self.tests.iter().any(|test| test.score.is_some())
    }
}

/// What changes while a submission is judged.
pub(super) struct SubmissionProgress {
    submission: Submission,
    going: Option<Going>,
    judged: Option<Judged>,
}

impl SubmissionProgress {
    fn is_done(&self) -> bool {
        self.going.is_none()
    }

    /// What is said to those who cannot see it.
    fn said(&self) -> String {
        match (&self.going, &self.judged) {
            (Some(going), _) if going.worker.is_some() => {
                format!("{}: {} tests done", going.phase, going.tests.len())
            }
            (Some(Going { awaits: Some(awaits), .. }), _) => awaits.clone(),
            (Some(going), _) => format!("Waiting, {} ahead in the queue", going.ahead),
            (None, Some(judged)) => words::verdict(judged.stored.summary.verdict).to_string(),
            (None, None) => String::new(),
        }
    }
}

#[derive(Template)]
#[template(path = "submission_part.html")]
struct PartPage {
    part: SubmissionProgress,
}

/// A file that was submitted.
struct Source {
    name: String,
    text: String,
    lines: String,
    size: String,
    /// It holds characters that make it look other than it is.
    steers: bool,
}

#[derive(Template)]
#[template(path = "submission.html")]
struct SubmissionPage {
    frame: Frame,
    part: SubmissionProgress,
    /// Of its problem; empty where it has none.
    title: String,
    /// The name of the problem whose page leads here.
    home: Option<String>,
    author: String,
    /// Its contest; empty: none.
    contest: String,
    history: Vec<JudgementSummary>,
    trials: usize,
    sources: Vec<Source>,
    /// The jury submission it is, and what it promises.
    jury: Option<(String, String)>,
    /// The number of an older judgement that is looked at.
    older: Option<u64>,
}

impl SubmissionPage {
    /// What it is that is no submission to a problem.
    fn heading(&self) -> &'static str {
        let submission = &self.part.submission;
        match (submission.origin.as_str(), details(submission)) {
            (store::RUN, Ok(details)) if details.loose.is_some() && details.problem.is_some() => {
                "Run on the samples"
            }
            (store::RUN, Ok(details)) if details.loose.is_some() => "Run on given tests",
            (store::RUN, _) => "Run on custom input",
            _ => "Program without a problem",
        }
    }

    fn may_rejudge(&self) -> bool {
        self.frame.caller.may(Right::Rejudge) && self.part.submission.forgotten.is_none()
    }
}

/// The submission of this token, where the caller may see it.
pub(super) async fn found(service: &Service, caller: &Caller, token: &str) -> Result<Submission, Refusal> {
    let missing = || Refusal::missing("this submission");
    let submission = service.store.submission_of_token(token).await.map_err(|error| match error {
        store::Error::NotFound(_) => missing(),
        other => other.into(),
    })?;
    if caller.sees(&submission) { Ok(submission) } else { Err(missing()) }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    /// The number of a judgement; the current one where it is not said.
    judgement: Option<u64>,
}

/// `GET /submissions/{token}`.
pub(super) async fn one(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
    Query(which): Query<Which>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    let all = service.store.history(submission.id).await?;
    let trials = all.iter().filter(|judgement| judgement.purpose == Purpose::Trial).count();
    let older =
        which.judgement.filter(|number| submission.current.as_ref().is_none_or(|now| now.number != *number));
    let asked = match older {
        Some(number) => {
            let found = all.iter().find(|judgement| judgement.number == number);
            Some(found.ok_or_else(|| Refusal::missing(format_args!("judgement {number}")))?.id)
        }
        None => None,
    };
    let history: Vec<_> =
        all.into_iter().filter(|judgement| judgement.purpose == Purpose::Verdict).rev().collect();
    let (home, title) = home(&service, &submission).await?;
    let names = names(&service, vec![submission.author]).await?;
    let author = author(&submission, &names);
    let jury = details(&submission)?.jury.filter(|_| frame.caller.may(Right::SeeAll)).map(|jury| {
        let codes: Vec<&str> = jury.expected.iter().map(|verdict| verdict.code()).collect();
        (jury.path, if codes.is_empty() { "any verdict".into() } else { codes.join(" or ") })
    });
    let contest = match submission.contest {
        Some(id) => service.store.contest_by_id(id).await?.name,
        None => String::new(),
    };
    let sources = sources(&service, &submission).await?;
    let part = part(&service, &frame.caller, submission, asked).await?;
    let page =
        SubmissionPage { frame, part, title, home, author, contest, history, trials, sources, jury, older };
    Ok(show(&page))
}

/// The name and the title of the problem that a submission is to, or on whose page a run was made.
pub(super) async fn home(
    service: &Service,
    submission: &Submission,
) -> Result<(Option<String>, String), Refusal> {
    let name = match &submission.problem {
        Some(of) => Some(of.name.clone()),
        None => details(submission)?.problem,
    };
    let Some(name) = name else { return Ok((None, String::new())) };
    Ok(match rows::titles(service).await?.remove(&name) {
        Some(title) => (Some(name), title),
        None => (None, name),
    })
}

/// `GET /submissions/{token}/part`: what changes while it is judged. The header `x-tauto-live` says whether it still does.
pub(super) async fn part_alone(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    let part = part(&service, &frame.caller, submission, None).await?;
    let stands = if part.is_done() { "done" } else { "going" };
    let mut response = show(&PartPage { part });
    response.headers_mut().insert(HeaderName::from_static("x-tauto-live"), HeaderValue::from_static(stands));
    Ok(response)
}

async fn part(
    service: &Service,
    caller: &Caller,
    submission: Submission,
    asked: Option<store::JudgementId>,
) -> Result<SubmissionProgress, Refusal> {
    let sees_all = caller.may(Right::SeeAll);
    let going = match (submission.state, asked) {
        (store::State::Judged, _) | (_, Some(_)) => None,
        _ => Some(going(service, &submission, sees_all).await?),
    };
    let id = asked.or(submission.current.as_ref().map(|current| current.id));
    let judged = match id {
        Some(id) => Some(judged(service, service.store.judgement(id).await?, sees_all).await?),
        None => None,
    };
    Ok(SubmissionProgress { submission, going, judged })
}

async fn judged(service: &Service, stored: StoredJudgement, sees_all: bool) -> Result<Judged, Refusal> {
    let worker = worker_of(service, &stored).await?;
    let judgement = &stored.judgement;
    let fault = judgement.fault.as_ref().map(|fault| match sees_all {
        true => fault.clone(),
        // What failed may be a validator, and what it said may tell of secret data.
        false => "A fault of the judge or of the problem's package. It does not count against you; the organisers can see the cause.".into(),
    });
    let (tests, belief) = (evidence::tests(judgement, sees_all), evidence::belief(judgement));
    let printed = printed(service, stored.summary.id).await?;
    Ok(Judged { tests, belief, worker, fault, printed, stored })
}

/// What a program by itself printed; nothing of a submission to a problem.
async fn printed(service: &Service, judgement: store::JudgementId) -> Result<Vec<Printed>, Refusal> {
    let Some(output) = service.store.output(judgement).await? else { return Ok(Vec::new()) };
    let totals: Option<model::Executed> = serde_json::from_value(output.details).ok();
    let total = |of: fn(&model::Executed) -> u64| totals.as_ref().map_or(0, of);
    let stream = |name, bytes: &[u8], total: u64| Printed {
        name,
        text: String::from_utf8_lossy(bytes).into_owned(),
        cut: total > bytes.len() as u64,
    };
    let mut printed = vec![stream("Standard output", &output.stdout, total(|ran| ran.stdout.total.0))];
    if !output.stderr.is_empty() {
        printed.push(stream("Standard error", &output.stderr, total(|ran| ran.stderr.total.0)));
    }
    Ok(printed)
}

/// What is known of a judgement that goes on.
async fn going(service: &Service, submission: &Submission, sees_all: bool) -> Result<Going, Refusal> {
    let mut going = Going { phase: "Waiting", ..Going::default() };
    let jobs = service.store.jobs(submission.id).await?;
    let open = jobs.iter().rev().find(|job| job.purpose == Purpose::Verdict && job.is_open());
    if let Some(job) = open {
        match &job.state {
            JobState::Queued => going.ahead = service.store.ahead(job.id).await?,
            JobState::Claimed { worker, .. } => going.worker = Some(worker.clone()),
            JobState::Judged { .. } | JobState::Cancelled { .. } => {}
        }
        going.returned = job.returned.clone().filter(|_| sees_all);
        if let (true, Some(version)) = (submission.awaits_limit, job.version) {
            going.awaits = Some(limits::awaited(service, version, job.contest, sees_all).await?);
        }
    }
    let mut limit = Nanos::ZERO;
    for event in service.live.watch(submission.id).0 {
        match event {
            LiveEvent::Started { worker, .. } => {
                (going.worker, going.phase) = (Some(worker), "Starting");
            }
            LiveEvent::Progress { progress } => match *progress {
                Event::Phase { phase, .. } => going.phase = phase_words(phase),
                Event::SubmissionStarted { tests, .. } => going.expected = u64::from(tests),
                Event::TimeLimit { limit: found, .. } => limit = found,
                Event::TestFinished { result, .. } => {
                    going.tests.push(evidence::shown(&result, limit, sees_all));
                }
                Event::Warning { .. } | Event::SubmissionFinished { .. } => {}
            },
            LiveEvent::Returned { .. } | LiveEvent::Judged { .. } => {}
        }
    }
    Ok(going)
}

fn phase_words(phase: JudgePhase) -> &'static str {
    match phase {
        JudgePhase::Reading => "Reading the package",
        JudgePhase::PreparingValidators => "Preparing the validators",
        JudgePhase::Compiling => "Compiling",
        JudgePhase::InferringTimeLimit => "Inferring the time limit",
        JudgePhase::Judging => "Running the tests",
        JudgePhase::WaitingForCalm => "Waiting for a calm machine",
    }
}

/// Larger files are not shown.
const SHOWN: u64 = 256 << 10;

async fn sources(service: &Service, submission: &Submission) -> Result<Vec<Source>, Refusal> {
    let mut sources = Vec::new();
    if submission.forgotten.is_some() {
        return Ok(sources);
    }
    if details(submission)?.execution
        && let Some(execution) = execution::asked(service, submission).await?
    {
        let files = execution.files.into_iter().map(|file| (file.name, file.content.0));
        let input = ("Standard input".to_string(), execution.stdin.0);
        for (name, bytes) in files.chain([input]).filter(|(_, bytes)| !bytes.is_empty()) {
            let size = bytes.len() as u64;
            sources.push(source(name, size, String::from_utf8(bytes).ok().filter(|_| size <= SHOWN)));
        }
        return Ok(sources);
    }
    for file in handed_in(service, submission.id).await? {
        let text = match file.size > SHOWN {
            true => None,
            false => String::from_utf8(service.store.blob(&file.hash).await?).ok(),
        };
        sources.push(source(file.name, file.size, text));
    }
    Ok(sources)
}

/// A file as it is shown; without its text where that is too large, or no text.
fn source(name: String, size: u64, text: Option<String>) -> Source {
    let text = text.unwrap_or_else(|| "(not shown: too large, or not text)".into());
    let lines = (1..=text.lines().count().max(1)).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let steers = text.contains(filters::steers);
    Source { name, text, lines, size: words::memory(model::Bytes(size)), steers }
}
