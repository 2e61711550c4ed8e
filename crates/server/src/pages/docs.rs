//! The documents of this version, beside what they explain.

use super::filters;
use super::{Frame, Refused, show};
use crate::book::{self, BOOK, Entry, Page};
use crate::errors::Refusal;
use crate::statement::picture_form;
use askama::Template;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    frame: Frame,
    page: &'static Page,
    contents: &'static [Entry],
    before: Option<(&'static str, &'static str)>,
    after: Option<(&'static str, &'static str)>,
}

impl DocsPage {
    fn is_here(&self, address: &str) -> bool {
        self.frame.path.split('?').next() == Some(address)
    }
}

/// `GET /docs`.
pub(super) async fn front(frame: Frame) -> Result<Response, Refused> {
    document("", frame)
}

/// `GET /docs/{page}`.
pub(super) async fn page(Path(page): Path<String>, frame: Frame) -> Result<Response, Refused> {
    document(page.trim_end_matches(".md").trim_end_matches(".html"), frame)
}

fn document(name: &str, frame: Frame) -> Result<Response, Refused> {
    let page = BOOK.page(name).ok_or_else(|| Refusal::missing(&frame.path))?;
    let address = format!("/docs/{name}");
    let [before, after] = BOOK.beside(address.trim_end_matches('/'));
    Ok(show(&DocsPage { frame, page, contents: &BOOK.contents, before, after }))
}

/// `GET /docs/pictures/{picture}`.
pub(super) async fn picture(Path(picture): Path<String>, frame: Frame) -> Result<Response, Refused> {
    let content = book::picture(&picture).ok_or_else(|| Refusal::missing(&frame.path))?;
    let form = picture_form(&picture).unwrap_or("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, form)], content).into_response())
}
