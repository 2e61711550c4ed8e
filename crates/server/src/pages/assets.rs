//! What pages load: part of the binary, under names that change with the content, so that browsers may keep them for good.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
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

const ASSETS: [Asset; 3] =
    [asset!("style.css", STYLE), asset!("page.js", SCRIPT), asset!("icon.svg", "image/svg+xml")];

/// The assets with the addresses they are served under.
static PLACES: LazyLock<Vec<(String, &'static Asset)>> = LazyLock::new(|| {
    let place = |asset: &'static Asset| {
        let hash = store::Hash::of(asset.content);
        (format!("/assets/{}/{}", &hash.as_str()[..12], asset.name), asset)
    };
    ASSETS.iter().map(place).collect()
});

/// The address of an asset; of one that is not there, an address that is not found.
pub(super) fn place(name: &str) -> &'static str {
    PLACES.iter().find(|(_, asset)| asset.name == name).map_or("/assets/none", |(place, _)| place)
}

/// `GET /assets/{hash}/{name}`.
pub(super) async fn serve(Path((hash, name)): Path<(String, String)>) -> Response {
    let asked = format!("/assets/{hash}/{name}");
    match PLACES.iter().find(|(place, _)| *place == asked) {
        Some((_, asset)) => {
            let headers = [
                (header::CONTENT_TYPE, asset.form),
                (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
            ];
            (headers, asset.content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
