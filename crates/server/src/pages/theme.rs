//! Light or dark, as the reader chooses.

use super::frame::THEME;
use axum::Form;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Choice {
    theme: String,
    #[serde(default)]
    back: String,
}

/// `POST /theme`.
pub(super) async fn choose(Form(choice): Form<Choice>) -> Response {
    let theme = if choice.theme == "dark" { "dark" } else { "light" };
    let cookie = format!("{THEME}={theme}; Path=/; Max-Age=31536000; SameSite=Lax");
    ([(header::SET_COOKIE, cookie)], Redirect::to(local(&choice.back))).into_response()
}

/// A place on this site; the first page for anything else.
pub(crate) fn local(back: &str) -> &str {
    let plain = back.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if plain && back.starts_with('/') && !back.starts_with("//") { back } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comes_back_to_this_site() {
        for (asked, got) in [
            ("/problems/a?x=1", "/problems/a?x=1"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\nb", "/"),
            ("", "/"),
        ] {
            assert_eq!(local(asked), got, "{asked}");
        }
    }
}
