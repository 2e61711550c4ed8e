//! The pages: rendered here, usable without a script, nothing loaded from elsewhere.
//!
//! A handler takes a [`Frame`], and answers with [`show`] or fails with [`Refused`]. Scripts and styles are files of the binary
//! (`assets`); no page holds any in itself, so that the content security policy can forbid that.

mod assets;
mod evidence;
mod frame;
mod hand_in;
mod lists;
mod problems;
mod refused;
mod rows;
mod submission;
mod theme;
mod words;

pub(crate) use frame::Frame;
pub(crate) use refused::{Refused, refused, show};
pub(crate) use theme::local;

use crate::service::Service;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use std::sync::Arc;

/// All pages, and what they load. The service is needed for the frame of pages of errors.
pub(crate) fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(problems::list))
        .route("/problems/{name}", get(problems::one))
        .route("/problems/{name}/files/{file}", get(problems::file))
        .route("/problems/{name}/submit", post(hand_in::hand_in))
        .route("/submissions", get(lists::mine))
        .route("/submissions/{token}", get(submission::one))
        .route("/submissions/{token}/part", get(submission::part_alone))
        .route("/status", get(lists::status))
        .route("/theme", post(theme::choose))
        .merge(crate::accounts::pages())
        .fallback(nothing)
        .layer(from_fn_with_state(service.clone(), refused::as_page))
        .route("/assets/{hash}/{name}", get(assets::serve))
}

/// What is asked for where nothing is.
async fn nothing(frame: Frame) -> Refused {
    crate::errors::Refusal::NotFound(frame.path).into()
}
