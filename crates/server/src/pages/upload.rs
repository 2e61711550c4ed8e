//! Packages: handing one in, and whether its jury's submissions keep their promises.

use super::filters;
use super::hand_in::broken;
use super::{Frame, Refused, show, words};
use crate::accounts::Right;
use crate::errors::Refusal;
use crate::problems::{self, JuryVerification, name_of_file};
use crate::service::Service;
use askama::Template;
use axum::extract::{Multipart, Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use store::{Problem, Version};

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
struct Part {
    verification: JuryVerification,
}

impl Part {
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
    part: Part,
}

#[derive(Template)]
#[template(path = "verification.html")]
struct VerificationPage {
    frame: Frame,
    problem: Problem,
    part: Part,
    warnings: Vec<(String, String)>,
    versions: Vec<Version>,
    tests: usize,
    size: String,
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
    let size = words::memory(model::Bytes(service.store.blob_size(&problem.newest.package).await?));
    let page = VerificationPage {
        frame,
        part: Part { verification },
        warnings: opened.warnings.clone(),
        versions,
        tests: opened.package.data.all_cases().len(),
        size,
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
    let part = Part { verification: problems::verification(&service, &problem, &problem.newest).await? };
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
