//! The pages: rendered here, usable without a script, nothing loaded from elsewhere.
//!
//! A handler takes a [`Frame`], and answers with [`show`] or fails with [`Refused`]. Scripts and styles are files of the binary
//! (`assets`); no page holds any in itself, so that the content security policy can forbid that.

mod assets;
mod consistency;
mod docs;
mod evidence;
pub(crate) mod filters;
mod frame;
mod hosts;
mod lists;
mod node;
mod pools;
mod problems;
mod queue;
mod refused;
mod rejudging;
mod rows;
mod submission;
mod submit_form;
#[cfg(test)]
pub(crate) mod tests;
mod theme;
mod upload;
mod words;

pub(crate) use frame::Frame;
pub(crate) use refused::{Refused, refused, show};
pub(crate) use theme::local;

use crate::limits::Class;
use crate::service::Service;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use std::sync::Arc;

/// All pages, and what they load. The service is needed for the frame of pages of errors.
pub(crate) fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(problems::list))
        .route(
            "/problems/new",
            get(upload::form).post(upload::upload).layer(DefaultBodyLimit::max(Class::Upload.body())),
        )
        .route("/problems/{name}", get(problems::one))
        .route("/problems/{name}/files/{file}", get(problems::file))
        .route("/problems/{name}/submit", post(submit_form::handle_submit))
        .route("/problems/{name}/run", post(submit_form::run))
        .route("/problems/{name}/verification", get(upload::page).post(upload::order))
        .route("/problems/{name}/time-limits", post(upload::infer_again))
        .route("/problems/{name}/verification/part", get(upload::part_alone))
        .route("/submissions", get(lists::mine))
        .route("/submissions/{token}", get(submission::one))
        .route("/submissions/{token}/part", get(submission::part_alone))
        .route("/submissions/{token}/rejudge", post(consistency::again))
        .route("/submissions/{token}/consistency", get(consistency::page).post(consistency::order))
        .route("/submissions/{token}/consistency/part", get(consistency::part_alone))
        .route("/rejudge", get(rejudging::choose).post(rejudging::order))
        .route("/rejudge/{id}", get(rejudging::one))
        .route("/rejudge/{id}/part", get(rejudging::part_alone))
        .route("/hosts", get(hosts::page))
        .route("/nodes/{name}", get(node::page))
        .route("/nodes/{name}/drain", post(node::drain))
        .route("/nodes/{name}/return", post(node::give_back))
        .route("/nodes/{name}/rejudge", post(node::rejudge))
        .route("/pools", get(pools::page))
        .route("/queue", get(queue::page))
        .route("/docs", get(docs::front))
        .route("/docs/{page}", get(docs::page))
        .route("/docs/pictures/{picture}", get(docs::picture))
        .route("/status", get(lists::status))
        .route("/theme", post(theme::choose))
        .merge(crate::accounts::pages())
        .fallback(nothing)
        .layer(from_fn_with_state(service.clone(), crate::accounts::forms_are_own))
        .layer(from_fn_with_state(service.clone(), refused::as_page))
        .route("/assets/{hash}/{name}", get(assets::serve))
}

/// What is asked for where nothing is.
async fn nothing(frame: Frame) -> Refused {
    crate::errors::Refusal::missing(frame.path).into()
}
