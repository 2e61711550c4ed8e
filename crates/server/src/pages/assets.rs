//! What pages load: part of the binary, under a name that changes with the content, so that browsers may keep it for good.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A file that pages load.
struct Asset {
    name: &'static str,
    form: &'static str,
    content: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! asset {
    ($name:literal, $form:expr) => {
        Asset { name: $name, form: $form, content: include_bytes!(concat!("../../assets/", $name)) }
    };
}

const ASSETS: [Asset; 6] = [
    asset!("style.css", STYLE),
    asset!("page.js", SCRIPT),
    asset!("editor.js", SCRIPT),
    asset!("highlight.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("icon.svg", "image/svg+xml"),
];

/// Where they all are: one hash for all of them, since scripts load each other by name.
static PLACES: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let all: Vec<u8> = ASSETS.iter().flat_map(|asset| asset.content.iter().copied()).collect();
    let hash = store::Hash::digest(&all);
    let place = |asset: &Asset| (asset.name, format!("/assets/{}/{}", &hash.as_str()[..12], asset.name));
    ASSETS.iter().map(place).collect()
});

/// The address of an asset; of one that is not there, an address that is not found.
pub(super) fn place(name: &str) -> &'static str {
    PLACES.get(name).map_or("/assets/none", String::as_str)
}

/// `GET /assets/{hash}/{name}`.
pub(super) async fn serve(Path((hash, name)): Path<(String, String)>) -> Response {
    let asked = format!("/assets/{hash}/{name}");
    match ASSETS.iter().find(|asset| place(asset.name) == asked) {
        Some(asset) => {
            let kept = "public, max-age=31536000, immutable";
            let headers = [(header::CONTENT_TYPE, asset.form), (header::CACHE_CONTROL, kept)];
            (headers, asset.content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
