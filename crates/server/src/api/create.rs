//! Submitting.

use super::extract::{Body, of_status};
use super::problem::Problem;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::submit::own_tests::{Comparing, Test, WithTests, with_tests};
use crate::submit::{Accepted, Checked, Details, FILES, Incoming, Submitted, check, submit};
use axum::extract::State;
use axum::extract::multipart::MultipartError;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Bytes, Clock, Nanos};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use store::Urgency;
use utoipa::ToSchema;

/// Maximum size of a request, base64 and everything around the files included.
pub(super) const REQUEST_LIMIT: usize = 8 << 20;
/// Maximum size of an `Idempotency-Key`, in bytes.
const KEY: usize = 255;

/// A submission to a problem, or a run with tests of its own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSubmission, example = json!({"problem": "fence", "files": [{"name": "fence.py", "content": "print(8)\n"}]}))]
pub(super) struct Create {
    /// Short name of the problem. Omit it if `tests` is given.
    #[serde(default)]
    problem: Option<String>,
    /// Tests to run instead of those of a problem. The program is compiled once. The result has the form of a
    /// submission with the origin `run`; it does not count as a submission.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 1000)]
    tests: Option<Vec<NewTest>>,
    /// With `tests`: maximum absolute or relative difference of numbers from the answer.
    #[serde(default)]
    #[schema(minimum = 0)]
    tolerance: Option<f64>,
    /// With `tests`: files of a checker, which replaces the built-in comparison. Its arguments are the input file,
    /// the answer file and a directory. It reads the output from standard input and exits with 42 to accept or 43 to
    /// reject.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 100)]
    checker: Option<Vec<File>>,
    /// With `tests`: limits of each test.
    #[serde(default)]
    limits: Option<NewLimits>,
    /// Contest to submit to (see `/contests`). Default: none.
    #[serde(default)]
    contest: Option<String>,
    /// Language id (see `/languages`), or language code of the package format. Default: detected from the files.
    #[serde(default)]
    language: Option<String>,
    /// Source files, in compilation order.
    #[schema(min_items = 1, max_items = 100)]
    files: Vec<File>,
    /// How far judging goes. Default: `stop_early`; with `tests`, `all_tests`. Without `tests`, only the jury may set
    /// it, or anyone on a service without accounts.
    #[serde(default)]
    mode: Option<ModeName>,
    /// Clock that measures the times. Default: the clock of the package. Only the jury may set it, or anyone on a
    /// service without accounts.
    #[serde(default)]
    clock: Option<Clock>,
}

/// A test of a run, as text or in base64 (RFC 4648, section 4).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTest {
    /// Input as text.
    #[serde(default)]
    input: Option<String>,
    /// Input in base64.
    #[serde(default)]
    input_base64: Option<String>,
    /// Expected answer as text. May be omitted if a checker needs none.
    #[serde(default)]
    answer: Option<String>,
    /// Expected answer in base64.
    #[serde(default)]
    answer_base64: Option<String>,
}

/// Limits of each test of a run.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewLimits {
    /// Time limit of a test, without the language's factor. Default: 10 s.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 60_000_000_000_u64)]
    time_ns: Option<u64>,
    /// Memory limit of a test. Default: 2 GiB.
    #[serde(default)]
    #[schema(minimum = 1_048_576, maximum = 17_179_869_184_u64)]
    memory_bytes: Option<u64>,
}

/// A file, with text in `content` or arbitrary bytes in `content_base64`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFile)]
struct File {
    /// Relative path of at most 249 bytes, with at most 32 components separated by `/`. The components `.` and `..`,
    /// backslashes and control characters are not allowed.
    #[schema(min_length = 1, max_length = 249)]
    name: String,
    /// Content as text.
    #[serde(default)]
    content: Option<String>,
    /// Content in base64 (RFC 4648, section 4).
    #[serde(default)]
    content_base64: Option<String>,
}

/// How far judging goes. `stop_early`: until the verdict is known. `all_tests`: through all tests.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = Mode)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    StopEarly,
    AllTests,
}

/// A submission as a form.
#[derive(ToSchema)]
#[schema(as = NewSubmissionForm)]
#[expect(dead_code, reason = "describes the form, which is read part by part")]
pub(super) struct Form {
    /// Short name of the problem.
    problem: String,
    /// Contest to submit to. Default: none.
    contest: Option<String>,
    /// Language id. Default: detected from the files.
    language: Option<String>,
    /// One part per file, with its file name.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<String>,
}

/// An accepted submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Taken {
    /// Token of the submission, used in addresses. It cannot be guessed.
    token: String,
    /// Number of the submission.
    id: i64,
    /// Address of the submission.
    url: String,
    /// Address of the event stream of the submission.
    events: String,
}

/// The parts of a submission, from JSON or a form.
struct Parts {
    what: What,
    contest: Option<String>,
    language: Option<String>,
    files: Vec<(String, Vec<u8>)>,
    details: Details,
}

/// What a program is judged by.
enum What {
    /// The problem with this name.
    Problem(String),
    Tests {
        tests: Vec<Test>,
        comparing: Comparing,
        limits: NewLimits,
    },
}

/// Submit a program
///
/// Submits to a problem, or runs the program with tests of its own. After the response, the submission is on disk and
/// will be judged. If a response is lost, repeat the request with the same `Idempotency-Key`: the same key of the
/// same user returns the same submission. A different submission with that key is refused with 409.
#[utoipa::path(post, path = "/submissions", tag = "submissions",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any text of at most 255 bytes, unique for each submission", max_length = 255)),
    request_body(content((Create = "application/json"), (Form = "multipart/form-data"))),
    responses(
        (status = 201, description = "The submission was accepted", body = Taken, headers(("Location" = String, description = "Address of the submission"))),
        (status = 200, description = "The submission was already accepted with this key", body = Taken)))]
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
    let alone = create.tests.is_some();
    if (!alone && create.mode.is_some() || create.clock.is_some()) && !caller.anonymous_allowed {
        caller.must(Right::SeeAll)?;
    }
    let mode = match create.mode {
        Some(ModeName::StopEarly) => fleet::Mode::StopEarly,
        Some(ModeName::AllTests) => fleet::Mode::AllTests,
        None if alone => fleet::Mode::AllTests,
        None => fleet::Mode::StopEarly,
    };
    let files = contents("files", create.files)?;
    let only_with_tests = [
        ("tolerance", create.tolerance.is_some()),
        ("checker", create.checker.is_some()),
        ("limits", create.limits.is_some()),
    ];
    let bad = |why: &str| Refusal::Bad(why.into());
    let what = match (create.problem, create.tests) {
        (Some(problem), None) => {
            if let Some((field, _)) = only_with_tests.iter().find(|(_, given)| *given) {
                return Err(bad(&format!(
                    "{field}: only with tests: the problem says how it is judged\n\
                     hint: leave out {field}, or give tests in place of problem"
                )));
            }
            What::Problem(problem)
        }
        (None, Some(tests)) => {
            if create.contest.is_some() {
                return Err(bad("contest: a run with its own tests cannot be part of a contest"));
            }
            let comparing = match (create.tolerance, create.checker) {
                (None, None) => Comparing::Tokens,
                (Some(tolerance), None) => Comparing::Tolerance(tolerance),
                (None, Some(checker)) => Comparing::Checker(contents("checker", checker)?),
                (Some(_), Some(_)) => {
                    return Err(bad("tolerance: a checker compares by itself\n\
                                    hint: give either tolerance or checker"));
                }
            };
            let tests = tests.into_iter().enumerate().map(|(n, test)| {
                let part = |field, text, base64| bytes_of(&format!("tests[{n}].{field}"), text, base64);
                let input = part("input", test.input, test.input_base64)?;
                Ok(Test { input, answer: part("answer", test.answer, test.answer_base64)? })
            });
            let tests = tests.collect::<Result<_, Refusal>>()?;
            What::Tests { tests, comparing, limits: create.limits.unwrap_or_default() }
        }
        (Some(_), Some(_)) => {
            return Err(bad("tests: a problem has its own\nhint: give either problem or tests"));
        }
        (None, None) => return Err(bad("problem: missing\nhint: name one, or give tests")),
    };
    let details = Details { mode, clock: create.clock, ..Details::default() };
    let language = create.language.filter(|language| !language.is_empty());
    Ok(Parts { what, contest: create.contest, language, files, details })
}

/// Names and bytes of files.
fn contents(field: &str, files: Vec<File>) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let bytes = |(n, file): (usize, File)| {
        let at = format!("{field}[{n}].content");
        if file.content.is_none() && file.content_base64.is_none() {
            return Err(Refusal::Bad(format!("{at}: missing\nhint: give either content or content_base64")));
        }
        Ok((file.name, bytes_of(&at, file.content, file.content_base64)?))
    };
    files.into_iter().enumerate().map(bytes).collect()
}

/// Bytes that were given as text or in base64; empty if neither was given.
fn bytes_of(field: &str, text: Option<String>, encoded: Option<String>) -> Result<Vec<u8>, Refusal> {
    match (text, encoded) {
        (Some(_), Some(_)) => {
            let name = field.rsplit('.').next().unwrap_or(field);
            Err(Refusal::Bad(format!("{field}: is given twice\nhint: give either {name} or {name}_base64")))
        }
        (None, Some(encoded)) => STANDARD
            .decode(encoded)
            .map_err(|e| Refusal::Bad(format!("{field}_base64: not base64 with padding: {e}"))),
        (text, None) => Ok(text.unwrap_or_default().into_bytes()),
    }
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
        let not_text = |_| Refusal::Bad(format!("{name}: not UTF-8"));
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
                return Err(bad(
                    "form: a part is not one of `problem`, `contest`, `language` and `file`".into()
                ));
            }
        }
    }
    let problem = problem.ok_or_else(|| bad("problem: missing".into()))?;
    Ok(Parts { what: What::Problem(problem), contest, language, files, details: Details::default() })
}

async fn take(
    service: &Service,
    caller: &Caller,
    parts: Parts,
    key: Option<String>,
) -> Result<Response, Refusal> {
    let request = key.as_ref().map(|_| fingerprint(&parts));
    let token = match &key {
        Some(key) => token_of(service, caller, key).await?,
        None => secret::uuid()?,
    };
    let taken = match parts.what {
        What::Problem(_) => to_problem(service, caller, parts, &token, request.clone()).await,
        What::Tests { tests, comparing, limits } => {
            let asked = WithTests {
                language: parts.language.as_deref(),
                files: &parts.files,
                tests,
                comparing,
                time_limit: limits.time_ns.map(Nanos),
                memory: limits.memory_bytes.map(Bytes),
                details: parts.details,
            };
            with_tests(service, caller, asked, &token, request.clone()).await
        }
    };
    let (status, id) = match taken {
        Ok(accepted) => (StatusCode::CREATED, accepted.id),
        Err(Refusal::Conflict(why)) if request.is_some() => {
            let known =
                service.store.submission_of_token(&token).await.map_err(|_| Refusal::Conflict(why))?;
            if crate::work::details(&known)?.request != request {
                let why = "Idempotency-Key: this key was used for another submission\nhint: send a key that was never used";
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

async fn to_problem(
    service: &Service,
    caller: &Caller,
    parts: Parts,
    token: &str,
    request: Option<String>,
) -> Result<Accepted, Refusal> {
    let problem = match &parts.what {
        What::Problem(name) => name.as_str(),
        What::Tests { .. } => "",
    };
    let submitted = Submitted {
        problem,
        contest: parts.contest.as_deref(),
        language: parts.language.as_deref(),
        files: &parts.files,
    };
    let Checked { problem, contest, language } =
        check(service, &submitted).await.map_err(|error| match error {
            Refusal::NotFound(_) => Refusal::Bad("problem: no problem of this name".into()),
            other => other,
        })?;
    let incoming = Incoming {
        token: Some(token),
        version: Some(problem.newest.id),
        author: caller.id(),
        origin: store::PARTICIPANT,
        visitor: caller.visitor.as_deref().filter(|_| caller.user.is_none()),
        language: &language,
        files: parts.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect(),
        details: Details { request, ..parts.details.clone() },
        urgency: Urgency::Live,
        contest: contest.map(|contest| contest.id),
        callback: None,
    };
    submit(service, incoming).await
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=KEY).contains(&key.len()) => Ok(Some(key.to_string())),
        _ => Err(Refusal::Bad(format!("Idempotency-Key: must be 1 to {KEY} bytes of text"))),
    }
}

/// The token that a key of this caller stands for. Nobody else can derive it, even from the key.
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

/// A hash that tells whether two requests are the same.
fn fingerprint(parts: &Parts) -> String {
    let mut hasher = Sha256::new();
    let mut add = |part: &[u8]| {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    match &parts.what {
        What::Problem(name) => add(name.as_bytes()),
        What::Tests { tests, comparing, limits } => {
            add(format!("{} tests {comparing:?} {limits:?} {:?}", tests.len(), parts.details.mode).as_bytes());
            for test in tests {
                add(&test.input);
                add(&test.answer);
            }
        }
    }
    add(parts.language.as_deref().unwrap_or_default().as_bytes());
    for (name, bytes) in &parts.files {
        add(name.as_bytes());
        add(bytes);
    }
    // One part more than pairs, so that it is no file.
    if let Some(contest) = &parts.contest {
        add(contest.as_bytes());
    }
    store::Hash::digest(&hasher.finalize()).as_str().to_string()
}
