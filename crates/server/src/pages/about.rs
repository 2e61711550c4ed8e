//! The rule by which times are settled, as the documentation has it: whoever wants to check a verdict finds it beside the verdict.

use super::filters;
use super::{Frame, show};
use crate::statement;
use askama::Template;
use axum::response::Response;
use std::sync::LazyLock;

#[derive(Template)]
#[template(path = "about.html")]
struct AboutPage {
    frame: Frame,
    text: &'static str,
}

/// `GET /about`.
pub(super) async fn page(frame: Frame) -> Response {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| statement::document(include_str!("../../../../docs/settling.md")));
    show(&AboutPage { frame, text: &TEXT })
}
