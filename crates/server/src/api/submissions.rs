//! Submissions: hand in, look at, list.

use super::Problem;
use crate::errors::Refusal;
use crate::service::Service;
use crate::submit::{Details, Incoming, submit};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Filter, Page, Urgency};

/// A submission to a problem.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Short name of the problem.
    problem: String,
    /// Language id.
    #[serde(default)]
    language: String,
    /// Its files.
    files: Vec<TextFile>,
    #[serde(default)]
    mode: fleet::Mode,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextFile {
    name: String,
    content: String,
}

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Json(create): Json<Create>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    if create.files.is_empty() {
        return Err(Refusal::Bad("files: there must be one".into()).into());
    }
    let problem = service.store.problem(&create.problem).await?;
    let files = create.files.iter().map(|file| (file.name.as_str(), file.content.as_bytes())).collect();
    let incoming = Incoming {
        version: Some(problem.newest.id),
        author: None,
        origin: store::PARTICIPANT,
        visitor: None,
        language: &create.language,
        files,
        details: Details { mode: create.mode, ..Details::default() },
        urgency: Urgency::Live,
        callback: None,
    };
    let accepted = submit(&service, incoming).await?;
    Ok((StatusCode::CREATED, Json(json!({"id": accepted.id, "token": accepted.token}))))
}

pub(super) async fn one(
    State(service): State<Arc<Service>>,
    Path(token): Path<String>,
) -> Result<Json<Value>, Problem> {
    let submission = service.store.submission_of_token(&token).await?;
    Ok(Json(serde_json::to_value(submission).map_err(|e| Refusal::Fault(e.to_string()))?))
}

pub(super) async fn list(State(service): State<Arc<Service>>) -> Result<Json<Value>, Problem> {
    let all = service.store.submissions(&Filter::default(), Page::first(50)).await?;
    Ok(Json(serde_json::to_value(all).map_err(|e| Refusal::Fault(e.to_string()))?))
}
