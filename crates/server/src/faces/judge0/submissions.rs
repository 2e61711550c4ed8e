//! Submitting, looking, waiting, listing, deleting.

use super::answer::{Fields, NotText, view};
use super::auth::{Authenticated, Authorized};
use super::languages::Edition;
use super::request::{self, ARCHIVE, Against, Wanted};
use super::{Fault, ORIGIN, config};
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::execution::{Program, submit_program, wait};
use crate::service::Service;
use crate::submit::Accepted;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{Filter, Page, Submission};

/// How long a result is waited for at most: about as long as Judge0 does, and less than a request may take
/// ([`crate::limits::Class::Execution`]).
const PATIENCE: Duration = Duration::from_secs(590);
/// Submissions on a page, where nothing is asked for, and the most.
const PAGE: (u32, u32) = (20, 100);
/// Pages are counted up to so many submissions.
const COUNTED: u32 = 1_000_000;

/// What may be said in an address. Numbers are read leniently, as Judge0 does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SubmissionsQuery {
    base64_encoded: String,
    wait: String,
    fields: String,
    tokens: String,
    page: String,
    per_page: String,
}

impl SubmissionsQuery {
    /// Only where it is said: Judge0 1.13.1's rule.
    fn base64(&self) -> bool {
        self.base64_encoded == "true"
    }

    fn fields(&self) -> Result<Fields, Fault> {
        Fields::parse(&self.fields).map_err(|unknown| {
            Fault::new(StatusCode::BAD_REQUEST, format!("invalid fields: [{}]", unknown.join(", ")))
        })
    }
}

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Extension(edition): Extension<Edition>,
    Authenticated(caller): Authenticated,
    Query(asked): Query<SubmissionsQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Fault> {
    let fields = asked.fields()?;
    let given = object(&headers, &body)?;
    room(&service, 1).await?;
    let wanted = read(&service, edition, asked.base64(), &given).await?.map_err(Fault::fields)?;
    let accepted = accept(&service, &caller, &wanted).await?;
    if asked.wait != "true" {
        return Ok((StatusCode::CREATED, Json(json!({"token": accepted.token}))));
    }
    let submission = wait(&service, accepted.id, PATIENCE).await?;
    let shown = view(&service, submission, &fields).await?;
    let shown = shown.json(&fields, asked.base64()).unwrap_or_else(|NotText| {
        json!({"token": accepted.token, "error": "something here is not UTF-8\n\
                                                  hint: ask again with base64_encoded=true"})
    });
    Ok((StatusCode::CREATED, Json(shown)))
}

pub(super) async fn create_many(
    State(service): State<Arc<Service>>,
    Extension(edition): Extension<Edition>,
    Authenticated(caller): Authenticated,
    Query(asked): Query<SubmissionsQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Fault> {
    let given = object(&headers, &body)?;
    let all = given.get("submissions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    bounded(all.len())?;
    room(&service, all.len()).await?;
    let (mut answers, mut any) = (Vec::new(), false);
    for one in all {
        let given = one.as_object().cloned().unwrap_or_default();
        answers.push(match read(&service, edition, asked.base64(), &given).await? {
            Err(faults) => Value::Object(faults),
            Ok(wanted) => match accept(&service, &caller, &wanted).await {
                Ok(accepted) => {
                    any = true;
                    json!({"token": accepted.token})
                }
                // Those before it are accepted: their names must reach the client.
                Err(refusal) if any => json!({"error": refusal.to_string()}),
                Err(refusal) => return Err(refusal.into()),
            },
        });
    }
    let status = if any { StatusCode::CREATED } else { StatusCode::UNPROCESSABLE_ENTITY };
    Ok((status, Json(Value::Array(answers))))
}

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Authenticated(caller): Authenticated,
    Path(token): Path<String>,
    Query(asked): Query<SubmissionsQuery>,
) -> Result<Json<Value>, Fault> {
    let fields = asked.fields()?;
    let submission = find(&service, &caller, &token).await?;
    Ok(Json(view(&service, submission, &fields).await?.json(&fields, asked.base64())?))
}

pub(super) async fn show_many(
    State(service): State<Arc<Service>>,
    Authenticated(caller): Authenticated,
    Query(asked): Query<SubmissionsQuery>,
) -> Result<Json<Value>, Fault> {
    let fields = asked.fields()?;
    let tokens: Vec<&str> =
        asked.tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).collect();
    bounded(tokens.len())?;
    let mut all = Vec::new();
    for token in tokens {
        all.push(match find(&service, &caller, token).await {
            Ok(submission) => view(&service, submission, &fields).await?.json(&fields, asked.base64())?,
            Err(Refusal::NotFound(_)) => Value::Null,
            Err(refusal) => return Err(refusal.into()),
        });
    }
    Ok(Json(json!({"submissions": all})))
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Authorized(_): Authorized,
    Query(asked): Query<SubmissionsQuery>,
) -> Result<Json<Value>, Fault> {
    let fields = asked.fields()?;
    let number = |text: &str, name: &str, usual: u32| match text {
        "" => Ok(usual),
        text => text.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(|| {
            Fault::new(StatusCode::BAD_REQUEST, format!("invalid {name}: it must be a number above 0"))
        }),
    };
    let page = number(&asked.page, "page", 1)?;
    let per_page = number(&asked.per_page, "per_page", PAGE.0)?.min(PAGE.1);
    let filter = Filter { origin: Some(ORIGIN.to_owned()), ..Filter::default() };
    let total = service.store.count_submissions(&filter, COUNTED).await?;
    let skip = (page - 1).saturating_mul(per_page);
    let mut all = Vec::new();
    for submission in service.store.submissions(&filter, Page { skip, ..Page::first(per_page) }).await? {
        all.push(view(&service, submission, &fields).await?.json(&fields, asked.base64())?);
    }
    let pages = total.div_ceil(u64::from(per_page));
    let meta = json!({
        "current_page": page,
        "next_page": (u64::from(page) < pages).then(|| page + 1),
        "prev_page": (page > 1).then(|| page - 1),
        "total_pages": pages,
        "total_count": total,
    });
    Ok(Json(json!({"submissions": all, "meta": meta})))
}

pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    Authorized(caller): Authorized,
    Path(token): Path<String>,
    Query(asked): Query<SubmissionsQuery>,
) -> Result<Json<Value>, Fault> {
    let fields = asked.fields()?;
    // What is deleted is evidence.
    caller.must(Right::Administer)?;
    let submission = find(&service, &caller, &token).await?;
    let id = submission.id;
    let shown = view(&service, submission, &fields).await?.json(&fields, true)?;
    service.store.delete_submission(id).await?;
    Ok(Json(shown))
}

/// What is put to the address of a callback: the usual fields, in base64.
pub(crate) async fn callback_body(service: &Service, submission: Submission) -> Result<Vec<u8>, Refusal> {
    let fields = Fields::usual();
    let shown = view(service, submission, &fields).await?.json(&fields, true);
    let shown = shown.map_err(|NotText| Refusal::Fault("base64 is text".to_owned()))?;
    serde_json::to_vec(&shown).map_err(|e| Refusal::Fault(e.to_string()))
}

/// A submission of this face that the caller may see. Where nobody signs in, its name is the key to it.
async fn find(service: &Service, caller: &Caller, token: &str) -> Result<Submission, Refusal> {
    let submission = service.store.submission_of_token(token).await?;
    let nobodys = submission.author.is_none() && caller.anonymous_allowed;
    if submission.origin == ORIGIN && (nobodys || caller.sees(&submission)) {
        Ok(submission)
    } else {
        Err(Refusal::missing(format_args!("submission {token}")))
    }
}

async fn read(
    service: &Service,
    edition: Edition,
    base64: bool,
    given: &Map<String, Value>,
) -> Result<Result<Wanted, request::Faults>, Refusal> {
    let toolchains = service.toolchains.get(&service.store).await?;
    let against =
        Against { edition, toolchains: &toolchains, callbacks: &service.settings.callbacks, base64 };
    Ok(request::read(given, &against))
}

async fn accept(service: &Service, caller: &Caller, wanted: &Wanted) -> Result<Accepted, Refusal> {
    let program = Program {
        origin: ORIGIN,
        language: wanted.language.short(),
        execution: &wanted.execution,
        kept: wanted.archive.iter().map(|archive| (ARCHIVE, archive.as_slice())).collect(),
        problem: None,
        face: serde_json::to_value(&wanted.face).map_err(|e| Refusal::Fault(e.to_string()))?,
        callback: wanted.face.callback_url.as_deref(),
    };
    submit_program(service, caller, program).await
}

/// How many of this face's submissions were waiting when they were last counted, and those that came since: counting takes
/// longer the more there are.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Option<(Instant, u64)>>);

/// How long a count is believed.
const COUNT_FRESH: Duration = Duration::from_secs(1);

/// Refuses while too many wait.
async fn room(service: &Service, more: usize) -> Result<(), Fault> {
    let more = more as u64;
    let full = |waiting: u64| {
        let full = waiting > u64::from(config::MAX_QUEUE_SIZE);
        if full { Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, "queue is full")) } else { Ok(()) }
    };
    let known = || service.waiting.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((counted, waiting)) = &mut *known()
        && counted.elapsed() < COUNT_FRESH
    {
        *waiting += more;
        return full(*waiting);
    }
    let filter =
        Filter { origin: Some(ORIGIN.to_owned()), state: Some(store::State::Waiting), ..Filter::default() };
    let waiting = service.store.count_submissions(&filter, config::MAX_QUEUE_SIZE).await? + more;
    *known() = Some((Instant::now(), waiting));
    full(waiting)
}

fn bounded(number: usize) -> Result<(), Fault> {
    let bad = |why: String| Err(Fault::new(StatusCode::BAD_REQUEST, why));
    match number {
        0 => bad("there should be at least one submission in a batch".to_owned()),
        n if n > config::MAX_BATCH => bad(format!(
            "number of submissions in a batch should be less than or equal to {}",
            config::MAX_BATCH
        )),
        _ => Ok(()),
    }
}

/// The body: a JSON object, or the fields of a form.
fn object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Fault> {
    let form = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if form.is_some_and(|form| form.starts_with("application/x-www-form-urlencoded")) {
        let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body)
            .map_err(|e| Fault::new(StatusCode::BAD_REQUEST, format!("the form cannot be read: {e}")))?;
        return Ok(fields.into_iter().map(|(name, value)| (name, Value::String(value))).collect());
    }
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(body)
        .map_err(|e| Fault::new(StatusCode::BAD_REQUEST, format!("the body is no JSON object: {e}")))
}
