//! The HTTP interface of Jobe, which Moodle's CodeRunner uses (trampgeek/jobe, restapi): languages and runs, without files of their own.

use super::Face;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::execution::{self, Program, submit_program, wait};
use crate::service::Service;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use model::{Blob, Bytes, Executed, Execution, Limits, Nanos, ProgramFile, ProgramKind, Status, WallLimit};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of a request.
const BODY: usize = 16 << 20;
/// How long a program may wait for its turn and run.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) const FACE: Face = Face {
    places: &["/jobe/index.php/restapi"],
    router,
    executes: &["/runs"],
    token: |_: &Method, _, headers| as_bearer(headers),
};

fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/languages", get(languages))
        .route("/runs", post(run))
        .layer(DefaultBodyLimit::max(BODY))
}

/// Its clients send their key in a header of their own.
fn as_bearer(headers: &mut HeaderMap) {
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    if let Some(Ok(mut value)) = key.map(|key| HeaderValue::try_from(format!("Bearer {key}"))) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
}

struct Fault(StatusCode, String);

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault(refusal.status_elsewhere(), refusal.to_string())
    }
}

impl From<JsonRejection> for Fault {
    fn from(rejection: JsonRejection) -> Fault {
        Fault(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

struct Asker(Caller);

impl FromRequestParts<Arc<Service>> for Asker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let Ok(caller) = Caller::from_request_parts(parts, service).await;
        caller.must(Right::Submit).map_err(|refusal| Fault::from(refusal).into_response())?;
        Ok(Asker(caller))
    }
}

async fn languages(
    State(service): State<Arc<Service>>,
    _: Asker,
) -> Result<Json<Vec<(String, String)>>, Fault> {
    let all = service.toolchains.get(&service.store).await?;
    Ok(Json(all.iter().map(|one| (one.id.clone(), one.version.clone().unwrap_or_default())).collect()))
}

#[derive(Deserialize)]
struct Asked {
    run_spec: RunSpec,
}

#[derive(Deserialize)]
struct RunSpec {
    language_id: String,
    sourcecode: String,
    sourcefilename: String,
    #[serde(default)]
    input: String,
    #[serde(default)]
    parameters: Parameters,
}

/// Seconds and MiB.
#[derive(Default, Deserialize)]
struct Parameters {
    cputime: Option<f64>,
    memorylimit: Option<f64>,
}

async fn run(
    State(service): State<Arc<Service>>,
    Asker(caller): Asker,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Json<Value>, Fault> {
    let Json(Asked { run_spec }) = asked?;
    let time = Nanos::from_secs_f64(run_spec.parameters.cputime.unwrap_or(5.0).clamp(0.1, 50.0));
    let memory = run_spec.parameters.memorylimit.unwrap_or(500.0).clamp(1.0, 2048.0);
    let file = ProgramFile {
        name: run_spec.sourcefilename,
        content: Blob(run_spec.sourcecode.into_bytes()),
        executable: false,
    };
    let execution = Execution {
        program: ProgramKind::Language(run_spec.language_id.clone()),
        entry: Some(file.name.clone()),
        files: vec![file],
        compiler_options: Vec::new(),
        args: Vec::new(),
        stdin: Blob(run_spec.input.into_bytes()),
        expected: None,
        limits: Limits {
            cpu: time,
            wall: time.map(|time| WallLimit { time: time.scale(2.0), excuse_waiting: true }),
            memory: Some(Bytes::from_mib(memory as u64)),
            output: Some(Bytes::from_mib(20)),
            processes: Some(64),
            ..Limits::default()
        },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes::from_mib(1),
    };
    let program = Program {
        origin: "jobe",
        language: &run_spec.language_id,
        execution: &execution,
        kept: Vec::new(),
        problem: None,
        face: Value::Null,
        callback: None,
    };
    let accepted = submit_program(&service, &caller, program).await?;
    let submission = wait(&service, accepted.id, PATIENCE).await?;
    let late =
        || Refusal::Unavailable("no result yet; the queue is long or the service is stopping".to_owned());
    let ran = execution::ran(&service, &submission).await?.ok_or_else(late)?;
    let executed = ran.executed.ok_or_else(|| Refusal::Fault(ran.fault.unwrap_or_default()))?;
    Ok(Json(json!({
        "run_id": null,
        "outcome": outcome(&executed),
        "cmpinfo": executed.compile.as_ref().filter(|one| !one.ok).map_or(String::new(), |one| one.stderr.content.text()),
        "stdout": executed.stdout.content.text(),
        "stderr": executed.stderr.content.text(),
    })))
}

/// Jobe's numbers.
fn outcome(executed: &Executed) -> u8 {
    let Some(run) = executed.last() else { return 11 };
    match run.status {
        Status::Ok => 15,
        Status::CpuTimeLimit | Status::WallTimeLimit => 13,
        Status::MemoryLimit => 17,
        Status::NonzeroExit | Status::Signalled | Status::OutputLimit => 12,
        Status::SystemError => 20,
    }
}
