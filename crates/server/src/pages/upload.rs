//! Packages: handing one in, and whether its jury's submissions keep their promises.

use super::filters;
use super::submit_form::broken;
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::problems::limits::{self, Inferring};
use crate::problems::{self, JuryVerification, name_of_file};
use crate::service::Service;
use askama::Template;
use axum::Form;
use axum::extract::{Multipart, Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use model::hint::in_one_line;
use model::{InferredLimit, ReferenceScale, TimedProgram};
use serde::Deserialize;
use std::sync::Arc;
use store::{Problem, StoredLimit, StoredScales, Version};

#[derive(Template)]
#[template(path = "upload.html")]
struct UploadPage {
    frame: Frame,
    error: Option<String>,
}

/// `GET /problems/new`.
pub(super) async fn form(frame: Frame) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    Ok(show(&UploadPage { frame, error: None }))
}

/// A form as it was posted.
#[derive(Default)]
struct Posted {
    name: String,
    file: String,
    package: Vec<u8>,
    verify: bool,
}

async fn read(mut form: Multipart) -> Result<Posted, Refusal> {
    let mut posted = Posted::default();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name().unwrap_or_default() {
            "name" => posted.name = field.text().await.map_err(broken)?.trim().to_string(),
            "verify" => posted.verify = true,
            "package" => {
                posted.file = field.file_name().unwrap_or_default().to_string();
                posted.package = field.bytes().await.map_err(broken)?.to_vec();
            }
            _ => {}
        }
    }
    Ok(posted)
}

/// `POST /problems/new`.
pub(super) async fn upload(
    State(service): State<Arc<Service>>,
    frame: Frame,
    form: Multipart,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    let posted = read(form).await?;
    let name = if posted.name.is_empty() { name_of_file(&posted.file) } else { &posted.name };
    if posted.package.is_empty() {
        let error = Some("package: choose a zip file".to_string());
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, show(&UploadPage { frame, error })).into_response());
    }
    match problems::add(&service, frame.caller.id(), name, posted.package).await {
        Ok(added) => {
            let name = added.problem.name;
            if posted.verify {
                problems::verify(&service, &name, frame.caller.id()).await?;
            }
            Ok(Redirect::to(&format!("/problems/{name}/verification")).into_response())
        }
        Err(Refusal::Bad(why) | Refusal::TooLarge(why)) => {
            let page = UploadPage { frame, error: Some(why) };
            Ok((StatusCode::UNPROCESSABLE_ENTITY, show(&page)).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// What changes while it is verified.
struct VerificationProgress {
    verification: JuryVerification,
}

impl VerificationProgress {
    /// Whether something is still to come.
    fn is_going(&self) -> bool {
        let open = |check: &problems::JuryCheck| check.submission.is_some() && check.broken.is_none();
        self.verification.checks.iter().any(open)
    }

    fn is_begun(&self) -> bool {
        self.verification.checks.iter().any(|check| check.submission.is_some())
    }

    fn broken(&self) -> usize {
        let broken =
            |check: &&problems::JuryCheck| check.broken.as_ref().is_some_and(|broken| !broken.is_empty());
        self.verification.checks.iter().filter(broken).count()
    }

    fn expected(&self, check: &problems::JuryCheck) -> String {
        let codes: Vec<&str> = check.expected.iter().map(|verdict| verdict.code()).collect();
        if codes.is_empty() { "any".into() } else { codes.join(" or ") }
    }
}

#[derive(Template)]
#[template(path = "verification_part.html")]
struct PartPage {
    part: VerificationProgress,
}

#[derive(Template)]
#[template(path = "verification.html")]
struct VerificationPage {
    frame: Frame,
    problem: Problem,
    part: VerificationProgress,
    warnings: Vec<(String, String)>,
    versions: Vec<Version>,
    tests: usize,
    size: String,
    limits: Vec<LimitRow>,
    scales: Vec<ScalesRow>,
}

/// What limits are in reference time.
struct ScalesRow {
    /// Empty: for what is of no contest.
    pool: String,
    stands: String,
    fault: Option<String>,
    token: Option<String>,
    scales: Vec<ReferenceScale>,
    warnings: Vec<String>,
    node: String,
}

/// An inferred time limit.
struct LimitRow {
    /// Empty: for what is of no contest.
    pool: String,
    limit: String,
    stands: String,
    /// Why there is none, or no newer one.
    fault: Option<String>,
    /// The submission that infers it.
    token: Option<String>,
    /// The slowest submissions that must pass, one of each language.
    slowest: Vec<String>,
    warnings: Vec<String>,
    node: String,
}

fn stands(inferring: Inferring, remedy: &str) -> (String, Option<String>) {
    match inferring {
        Inferring::UnderWay(state) => (words::state(state).to_string(), None),
        Inferring::Done => ("Inferred".into(), None),
        Inferring::Failed(why) => {
            ("Not inferred".into(), Some(format!("{}\nhint: {remedy}", in_one_line(&why))))
        }
    }
}

async fn scales_row(service: &Service, stored: StoredScales) -> Result<ScalesRow, Refusal> {
    let (inferring, token) = limits::inferring(service, stored.submission).await?;
    let (stands, fault) = stands(inferring, limits::SCALES_REMEDY);
    let node = stored.found.as_ref().and_then(|found| found.node.clone()).unwrap_or_default();
    let found = stored.found.map(|found| found.inferred).unwrap_or_default();
    let pool = stored.of.pool.unwrap_or_default();
    Ok(ScalesRow { pool, stands, fault, token, scales: found.scales, warnings: found.warnings, node })
}

async fn limit_row(service: &Service, stored: StoredLimit) -> Result<LimitRow, Refusal> {
    let (inferring, token) = limits::inferring(service, stored.submission).await?;
    let (stands, fault) = stands(inferring, limits::REMEDY);
    let found = stored.limit;
    let node = found.as_ref().and_then(|found| found.node.clone()).unwrap_or_default();
    let inferred = found.map(|found| found.inferred);
    let slowest = |limit: &InferredLimit| {
        let one = |program: &&TimedProgram| format!("{} takes {}", program.path, program.time);
        limit.slowest().iter().map(one).collect()
    };
    Ok(LimitRow {
        pool: stored.of.pool.unwrap_or_default(),
        limit: inferred.as_ref().map(|found| found.limit.to_string()).unwrap_or_default(),
        stands,
        fault,
        token,
        slowest: inferred.as_ref().map(slowest).unwrap_or_default(),
        warnings: inferred.map(|found| found.warnings).unwrap_or_default(),
        node,
    })
}

/// `GET /problems/{name}/verification`.
pub(super) async fn page(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    let problem = service.store.problem(&name).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &name).await?;
    let mut versions = service.store.versions(problem.id).await?;
    versions.sort_by_key(|version| std::cmp::Reverse(version.number));
    let verification = problems::verification(&service, &problem, &problem.newest).await?;
    let mut limits = Vec::new();
    for stored in service.store.time_limits(problem.newest.id).await? {
        limits.push(limit_row(&service, stored).await?);
    }
    let mut scales = Vec::new();
    for stored in service.store.all_scales(problem.newest.id).await? {
        scales.push(scales_row(&service, stored).await?);
    }
    let size = words::memory(model::Bytes(service.store.blob_size(&problem.newest.package).await?));
    let page = VerificationPage {
        frame,
        part: VerificationProgress { verification },
        warnings: opened.warnings.clone(),
        versions,
        tests: opened.package.data.all_cases().len(),
        size,
        limits,
        scales,
        problem,
    };
    Ok(show(&page))
}

/// `GET /problems/{name}/verification/part`: what changes.
pub(super) async fn part_alone(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    let problem = service.store.problem(&name).await?;
    let part = VerificationProgress {
        verification: problems::verification(&service, &problem, &problem.newest).await?,
    };
    let stands = if part.is_going() { "going" } else { "done" };
    let mut response = show(&PartPage { part });
    response.headers_mut().insert(HeaderName::from_static("x-tauto-live"), HeaderValue::from_static(stands));
    Ok(response)
}

/// `POST /problems/{name}/verification`.
pub(super) async fn order(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    problems::verify(&service, &name, frame.caller.id()).await?;
    Ok(Redirect::to(&format!("/problems/{name}/verification")).into_response())
}

/// Which time limit is to be inferred again.
#[derive(Debug, Deserialize)]
pub(super) struct WhichLimit {
    /// Empty: of what is of no contest.
    #[serde(default)]
    pool: String,
}

/// `POST /problems/{name}/time-limits`.
pub(super) async fn infer_again(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    Form(which): Form<WhichLimit>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Problems)?;
    let problem = service.store.problem(&name).await?;
    let pool = Some(which.pool).filter(|pool| !pool.is_empty());
    limits::again(&service, &problem.newest, &name, pool).await?;
    Ok(Redirect::to(&format!("/problems/{name}/verification")).into_response())
}
