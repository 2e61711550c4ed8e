//! Handing in.

use super::extract::{Body, of_status};
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::submit::{Checked, Details, FILES, Incoming, Submitted, check, submit};
use axum::extract::State;
use axum::extract::multipart::MultipartError;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::{Problem as StoredProblem, Urgency};
use utoipa::ToSchema;

/// Bytes of a request, base64 and what is around the files included.
pub(super) const REQUEST_LIMIT: usize = 8 << 20;
/// Bytes of an `Idempotency-Key`.
const KEY: usize = 255;

/// A submission to a problem.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSubmission, example = json!({"problem": "fence", "files": [{"name": "fence.py", "content": "print(8)\n"}]}))]
pub(super) struct Create {
    /// Short name of the problem.
    problem: String,
    /// The contest it is for (see `/contests`); left out: none.
    #[serde(default)]
    contest: Option<String>,
    /// Language id (see `/languages`) or code of the package format; told by the files where it is left out or empty.
    #[serde(default)]
    language: Option<String>,
    /// Its files, in the order in which they are compiled.
    #[schema(min_items = 1, max_items = 100)]
    files: Vec<File>,
    /// How far judging goes. Only the jury, and everybody on a service without accounts, may choose.
    #[serde(default)]
    mode: Option<ModeName>,
    /// What its times are measured by, where it is to differ from what the package says. Likewise.
    #[serde(default)]
    clock: Option<Clock>,
}

/// A file: its text in `content`, or any bytes in `content_base64`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFile)]
struct File {
    /// Its name: relative, `/` between at most 32 parts, without `.`, `..`, backslashes and control characters; at most 249 bytes.
    #[schema(min_length = 1, max_length = 249)]
    name: String,
    /// Its text.
    #[serde(default)]
    content: Option<String>,
    /// Its bytes in base64 (RFC 4648, section 4).
    #[serde(default)]
    content_base64: Option<String>,
}

/// How far judging goes: until the verdict is known, or through all tests.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = Mode)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    StopEarly,
    AllTests,
}

/// The same as a form.
#[derive(ToSchema)]
#[schema(as = NewSubmissionForm)]
#[expect(dead_code, reason = "describes the form, which is read part by part")]
pub(super) struct Form {
    /// Short name of the problem.
    problem: String,
    /// The contest it is for; left out: none.
    contest: Option<String>,
    /// Language id; told by the files where it is left out.
    language: Option<String>,
    /// One part for each file, with its file name.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<String>,
}

/// What was taken in.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Taken {
    /// Its name in addresses. Nobody can guess it.
    token: String,
    /// Its number.
    id: i64,
    /// Its address.
    url: String,
    /// Where what happens is told as it happens.
    events: String,
}

/// What is handed in, whichever way.
struct Parts {
    problem: String,
    contest: Option<String>,
    language: Option<String>,
    files: Vec<(String, Vec<u8>)>,
    details: Details,
}

/// Hand in a submission
///
/// When this answers, the submission is on disk and will be judged. A request with an `Idempotency-Key` can be repeated when its answer
/// was lost: the same key of the same user is the same submission.
#[utoipa::path(post, path = "/submissions", tag = "submissions",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any text of at most 255 bytes, a new one for each submission", max_length = 255)),
    request_body(content((Create = "application/json"), (Form = "multipart/form-data"))),
    responses(
        (status = 201, description = "It was taken in", body = Taken, headers(("Location" = String, description = "Its address"))),
        (status = 200, description = "It was taken in before, under this key", body = Taken)))]
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    caller: Caller,
    headers: HeaderMap,
    body: Body<Create>,
) -> Result<Response, Problem> {
    caller.must(Right::Submit)?;
    let key = key(&headers)?;
    let parts = match body.media_type().as_str() {
        "multipart/form-data" => of_form(body).await?,
        "application/json" => of_json(body.json().await?, &caller)?,
        _ => {
            let takes = "it must be application/json or multipart/form-data";
            return Err(Refusal::MediaType(takes.into()).into());
        }
    };
    Ok(take(&service, &caller, parts, key).await?)
}

fn of_json(create: Create, caller: &Caller) -> Result<Parts, Refusal> {
    if (create.mode.is_some() || create.clock.is_some()) && !caller.anonymous_allowed {
        caller.must(Right::SeeAll)?;
    }
    let mode = match create.mode {
        Some(ModeName::AllTests) => fleet::Mode::AllTests,
        _ => fleet::Mode::StopEarly,
    };
    let mut files = Vec::new();
    for (n, file) in create.files.into_iter().enumerate() {
        let bytes = match (file.content, file.content_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => STANDARD.decode(encoded).map_err(|e| {
                Refusal::Bad(format!("files[{n}].content_base64: no base64 with padding: {e}"))
            })?,
            _ => {
                let why = "either content or content_base64 must be there";
                return Err(Refusal::Bad(format!("files[{n}].content: {why}")));
            }
        };
        files.push((file.name, bytes));
    }
    let details = Details { mode, clock: create.clock, ..Details::default() };
    let language = create.language.filter(|language| !language.is_empty());
    Ok(Parts { problem: create.problem, contest: create.contest, language, files, details })
}

async fn of_form(body: Body<Create>) -> Result<Parts, Refusal> {
    let bad = |text: String| Refusal::Bad(text);
    let broken = |e: MultipartError| of_status(e.status(), &e.body_text());
    let mut form = body.form().await?;
    let (mut problem, mut contest, mut language, mut files) = (None, None, None, Vec::new());
    while let Some(part) = form.next_field().await.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_string();
        let file = part.file_name().map(|name| name.rsplit(['/', '\\']).next().unwrap_or(name).to_string());
        let bytes = part.bytes().await.map_err(broken)?;
        let not_text = |_| Refusal::Bad(format!("{name}: no text in UTF-8"));
        let text = || String::from_utf8(bytes.to_vec()).map_err(not_text);
        match name.as_str() {
            "problem" => problem = Some(text()?),
            "contest" => contest = Some(text()?).filter(|contest| !contest.is_empty()),
            "language" => language = Some(text()?).filter(|language| !language.is_empty()),
            "file" if files.len() == FILES => return Err(bad(format!("file: at most {FILES} may be"))),
            "file" => {
                let file = file.ok_or_else(|| bad("file: the part must have a file name".into()))?;
                files.push((file, bytes.to_vec()));
            }
            _ => {
                return Err(
                    bad("form: a part is none of `problem`, `contest`, `language` and `file`".into()),
                );
            }
        }
    }
    let problem = problem.ok_or_else(|| bad("problem: missing".into()))?;
    Ok(Parts { problem, contest, language, files, details: Details::default() })
}

async fn take(
    service: &Service,
    caller: &Caller,
    parts: Parts,
    key: Option<String>,
) -> Result<Response, Refusal> {
    let submitted = Submitted {
        problem: &parts.problem,
        contest: parts.contest.as_deref(),
        language: parts.language.as_deref(),
        files: &parts.files,
    };
    let Checked { problem, contest, language } =
        check(service, &submitted).await.map_err(|error| match error {
            Refusal::NotFound(_) => Refusal::Bad("problem: there is none of this name".into()),
            other => other,
        })?;
    let mut details = parts.details.clone();
    let mut token = secret::uuid()?;
    if let Some(key) = key {
        details.request = Some(fingerprint(&problem, &parts, &language));
        token = token_of(service, caller, &key).await?;
    }
    let incoming = Incoming {
        token: Some(&token),
        version: Some(problem.newest.id),
        author: caller.id(),
        origin: store::PARTICIPANT,
        visitor: caller.visitor.as_deref().filter(|_| caller.user.is_none()),
        language: &language,
        files: parts.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect(),
        details: details.clone(),
        urgency: Urgency::Live,
        contest: contest.map(|contest| contest.id),
        callback: None,
    };
    let (status, id) = match submit(service, incoming).await {
        Ok(accepted) => (StatusCode::CREATED, accepted.id),
        Err(Refusal::Conflict(why)) if details.request.is_some() => {
            let known =
                service.store.submission_of_token(&token).await.map_err(|_| Refusal::Conflict(why))?;
            if crate::work::details(&known)?.request != details.request {
                let why = "Idempotency-Key: it was used for another submission; take a new one";
                return Err(Refusal::Conflict(why.into()));
            }
            (StatusCode::OK, known.id)
        }
        Err(other) => return Err(other),
    };
    let url = format!("/api/v1/submissions/{token}");
    let taken = Taken { events: format!("{url}/events"), url: url.clone(), id: id.0, token };
    Ok((status, [(header::LOCATION, url)], axum::Json(taken)).into_response())
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=KEY).contains(&key.len()) => Ok(Some(key.to_string())),
        _ => Err(Refusal::Bad(format!("Idempotency-Key: 1 to {KEY} bytes of text may be"))),
    }
}

/// The token that a key of this caller stands for. Nobody else can tell it, even from the key.
async fn token_of(service: &Service, caller: &Caller, key: &str) -> Result<String, Refusal> {
    let hidden = service.store.setting_or("idempotency/secret", &secret::secret()?.into()).await?;
    let owner = match (caller.id(), &caller.visitor) {
        (Some(id), _) => format!("user {id}"),
        (None, Some(visitor)) => format!("visitor {visitor}"),
        (None, None) => String::new(),
    };
    let mut hasher = Sha256::new();
    for part in [hidden.as_str().unwrap_or_default(), &owner, key] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    Ok(secret::as_uuid(bytes))
}

/// What tells whether two requests are the same.
fn fingerprint(problem: &StoredProblem, parts: &Parts, language: &str) -> String {
    let mut hasher = Sha256::new();
    let mut add = |part: &[u8]| {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    add(problem.name.as_bytes());
    add(language.as_bytes());
    for (name, bytes) in &parts.files {
        add(name.as_bytes());
        add(bytes);
    }
    // One part more than pairs, so that it is no file.
    if let Some(contest) = &parts.contest {
        add(contest.as_bytes());
    }
    store::Hash::of(&hasher.finalize()).as_str().to_string()
}
