//! Piston's HTTP interface, version 2: run this program and tell what it wrote. docs/piston.md says what is different and why.

mod answer;
mod request;
mod runtimes;
mod selector;

use super::Face;
use crate::accounts::{Caller, Right};
use crate::errors::Refusal;
use crate::execution::{self, Program, submit_program, wait};
use crate::service::Service;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Where submissions of this face come from.
const ORIGIN: &str = "piston";

/// Most bytes of a request.
const BODY: usize = 16 << 20;

/// How long a program may wait for its turn and run. The answer is the result or none.
const PATIENCE: Duration = Duration::from_secs(300);

/// Mounted where Piston has it, and where its public service had it.
pub(super) const FACE: Face = Face {
    places: &["/api/v2", "/api/v2/piston"],
    router,
    executes: &["/execute"],
    token: |_: &Method, _, headers| as_bearer(headers),
};

fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/runtimes", get(runtimes))
        .route("/execute", post(execute))
        .route("/packages", get(packages).post(install).delete(install))
        .layer(DefaultBodyLimit::max(BODY))
}

/// What is answered where something is not done.
struct Fault(StatusCode, String);

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault(refusal.status_elsewhere(), refusal.to_string())
    }
}

impl From<BytesRejection> for Fault {
    fn from(rejection: BytesRejection) -> Fault {
        Fault(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"message": self.1}))).into_response()
    }
}

/// Somebody who may submit.
struct Asker(Caller);

impl FromRequestParts<Arc<Service>> for Asker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let Ok(caller) = Caller::from_request_parts(parts, service).await;
        caller.must(Right::Submit).map_err(|refusal| Fault::from(refusal).into_response())?;
        Ok(Asker(caller))
    }
}

/// Piston's clients send their key without saying what it is.
fn as_bearer(headers: &mut HeaderMap) {
    let bare = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bare = bare.filter(|value| !value.contains(' ')).map(|key| format!("Bearer {key}"));
    if let Some(Ok(mut value)) = bare.map(HeaderValue::try_from) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
}

async fn runtimes(State(service): State<Arc<Service>>, _: Asker) -> Result<Json<Value>, Fault> {
    let all = runtimes::all(&service.toolchains.get(&service.store).await?);
    Ok(Json(serde_json::to_value(all).map_err(|e| Refusal::Fault(e.to_string()))?))
}

/// What is there is installed; what is not is not known here.
async fn packages(State(service): State<Arc<Service>>, _: Asker) -> Result<Json<Value>, Fault> {
    let all = runtimes::all(&service.toolchains.get(&service.store).await?);
    let package = |one: runtimes::Runtime| json!({"language": one.language, "language_version": one.version, "installed": true});
    Ok(Json(all.into_iter().map(package).collect()))
}

async fn install(_: Asker) -> Fault {
    let why = "the languages of a judge node are what is installed on it\nhint: ask its operator";
    Fault(StatusCode::NOT_FOUND, why.to_owned())
}

async fn execute(
    State(service): State<Arc<Service>>,
    Asker(caller): Asker,
    given: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Fault> {
    // Its clients send JSON and often do not say so.
    let given = serde_json::from_slice(&given?)
        .map_err(|error| Refusal::Malformed(format!("the body is not JSON: {error}")))?;
    let runtimes = runtimes::all(&service.toolchains.get(&service.store).await?);
    let wanted = request::read(&given, &runtimes).map_err(Refusal::Bad)?;
    let program = Program {
        origin: ORIGIN,
        language: wanted.runtime.id,
        execution: &wanted.execution,
        kept: Vec::new(),
        problem: None,
        face: json!({"language": wanted.runtime.language, "version": wanted.runtime.version}),
        callback: None,
    };
    let accepted = submit_program(&service, &caller, program).await?;
    let submission = wait(&service, accepted.id, PATIENCE).await?;
    let ran = execution::ran(&service, &submission).await?;
    let late =
        || Refusal::Unavailable("no result yet; the queue is long or the service is stopping".to_owned());
    Ok(Json(answer::answer_to(&wanted.runtime, &ran.ok_or_else(late)?)?))
}

#[cfg(test)]
mod tests {
    use crate::test_service::{TestService, facts, language};
    use serde_json::json;

    #[tokio::test]
    async fn a_body_is_json_whatever_is_said_of_it() {
        let kit = TestService::new(true).await;
        let facts = facts([language("c", "gcc 12.2.0")]);
        kit.service.store.note_node("n", "default", &facts, crate::timestamp::now()).await.unwrap();
        let asked = json!({"language": "none", "version": "*", "files": [{"content": ""}]}).to_string();
        for kind in
            [None, Some("content-type: text/plain;charset=UTF-8"), Some("content-type: application/json")]
        {
            let headers = kind.as_slice();
            let answer = kit.send("POST /api/v2/execute", headers, asked.clone()).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.json()["message"]),
                (400, &json!("none-* runtime is unknown"))
            );
            let answer = kit.send("POST /api/v2/execute", headers, "{").await;
            assert!(answer.status == 400 && answer.text.contains("not JSON"), "{}", answer.text);
        }
    }
}
