//! Extractors whose errors are problem details. Handlers read the query and body only after they have checked the
//! caller's rights, so that callers without rights learn nothing about the expected form.

use super::problem::{Problem, no_address};
use crate::errors::Refusal;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Multipart, OriginalUri, Request};
use axum::http::StatusCode;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::convert::Infallible;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;

/// A body that was not read yet.
pub(crate) struct Body<T> {
    request: Request,
    of: PhantomData<fn() -> T>,
}

/// The query of an address. Its errors are reported only to callers with the required rights.
pub(crate) struct Query<T>(Result<T, Refusal>);

/// Parts of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T> FromRequest<S> for Body<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Body<T>, Infallible> {
        Ok(Body { request, of: PhantomData })
    }
}

impl<T> Body<T> {
    /// The media type, in lower case and without parameters; empty if there is none.
    pub(crate) fn media_type(&self) -> String {
        let kind = self.request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The whole body as bytes.
    pub(crate) async fn bytes(self) -> Result<axum::body::Bytes, Refusal> {
        axum::body::Bytes::from_request(self.request, &()).await.map_err(|rejection| of_bytes(&rejection))
    }

    /// The whole body as text.
    pub(crate) async fn text(self) -> Result<String, Refusal> {
        let bytes = self.bytes().await?;
        String::from_utf8(bytes.into()).map_err(|_| Refusal::Malformed("the body is not UTF-8".into()))
    }

    /// The body as a form with files.
    pub(crate) async fn form(self) -> Result<Multipart, Refusal> {
        let form = Multipart::from_request(self.request, &()).await;
        form.map_err(|rejection| of_status(rejection.status(), &rejection.body_text()))
    }
}

impl<T: DeserializeOwned> Body<T> {
    /// The body as JSON.
    pub(crate) async fn json(self) -> Result<T, Refusal> {
        match axum::Json::from_request(self.request, &()).await {
            Ok(axum::Json(Object(value))) => Ok(value),
            Err(rejection) => Err(of_json(rejection)),
        }
    }
}

/// A JSON object. Serde also reads structures from arrays of their fields, which the API does not document.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object<T>, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, to: &mut Formatter) -> fmt::Result {
                to.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
            }
        }

        from.deserialize_map(Fields(PhantomData))
    }
}

fn of_json(rejection: JsonRejection) -> Refusal {
    match rejection {
        JsonRejection::JsonDataError(error) => Refusal::Bad(in_short(&of_value(&cause(&error)))),
        JsonRejection::JsonSyntaxError(error) => {
            Refusal::Malformed(in_short(&format!("the body is not valid JSON: {}", cause(&error))))
        }
        JsonRejection::MissingJsonContentType(_) => Refusal::MediaType("it must be application/json".into()),
        JsonRejection::BytesRejection(rejection) => of_bytes(&rejection),
        other => of_status(other.status(), &other.body_text()),
    }
}

/// Why the body of a request could not be read.
fn of_bytes(rejection: &BytesRejection) -> Refusal {
    of_status(rejection.status(), &rejection.body_text())
}

/// Why a form could not be read: too large, or malformed.
pub(crate) fn of_status(status: StatusCode, text: &str) -> Refusal {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge("the request is too large".into()),
        _ => Refusal::Malformed(in_short(text)),
    }
}

/// The innermost cause: the outer errors of axum add nothing.
fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source().filter(|source| !source.to_string().is_empty()) {
        // The error that names the path in the document has its own source, which does not.
        if error.to_string().contains(&format!(": {source}")) && !error.to_string().starts_with("Failed") {
            break;
        }
        error = source;
    }
    error.to_string()
}

/// Serde's words for a value that does not fit, as those of the API: a field that it names comes first. `path: ` may precede them.
fn of_value(error: &str) -> String {
    let (error, place) = match error.rsplit_once(" at line ") {
        Some((error, place)) => (error, format!(" (line {})", place.replace(" column", ", column"))),
        None => (error, String::new()),
    };
    let is_path = |path: &str| {
        !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || "_.[]?-".contains(c))
    };
    let (path, error) = error.split_once(": ").filter(|(path, _)| is_path(path)).unwrap_or((".", error));
    let above = if path == "." { String::new() } else { format!("{path}.") };
    let subject = if path == "." { "the body" } else { path };
    let quoted = |text: &str| text.split('`').nth(1).unwrap_or(text).to_owned();
    if error.starts_with("missing field ") {
        return format!("{above}{}: is required{place}", quoted(error));
    }
    if let Some((unknown, known)) =
        error.split_once(", expected ").filter(|_| error.starts_with("unknown field "))
    {
        let field = quoted(unknown);
        // The path already ends with it.
        let field = if path == field || path.ends_with(&format!(".{field}")) {
            path.to_owned()
        } else {
            above + &field
        };
        let known = known.trim_start_matches("one of ");
        return format!("{field}: no such field{place}\nhint: the fields are: {known}");
    }
    let found = error.strip_prefix("invalid type: ").or_else(|| error.strip_prefix("invalid value: "));
    match found.and_then(|found| found.split_once(", expected ")) {
        Some((found, wanted)) => format!("{subject}: must be {}, not {found}{place}", kind_of(wanted)),
        None => format!("{subject}: {error}{place}"),
    }
}

/// What serde expected, in words of JSON.
fn kind_of(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted => wanted,
    }
}

/// Shortens an error, since it may quote the request.
pub(super) fn in_short(text: &str) -> String {
    text.chars().take(500).collect()
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Query<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Infallible> {
        Ok(Query(match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(value),
            Err(QueryRejection::FailedToDeserializeQueryString(error)) => {
                Err(Refusal::Bad(in_short(&cause(&error))))
            }
            Err(other) => Err(of_status(other.status(), &other.body_text())),
        }))
    }
}

impl<T> Query<T> {
    /// The query, or its error.
    pub(crate) fn read(self) -> Result<T, Refusal> {
        self.0
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Response> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Path(value)),
            // What has another form than names of this kind is the name of nothing.
            Err(PathRejection::FailedToDeserializePathParams(_)) => {
                let whole = parts.extensions.get::<OriginalUri>().map(|OriginalUri(whole)| whole);
                Err(no_address(whole.unwrap_or(&parts.uri).path()).into_response())
            }
            Err(other) => Err(Problem(of_status(other.status(), &other.body_text())).into_response()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Asked {
        pool: Option<String>,
    }

    #[test]
    fn what_serde_says_becomes_a_sentence() {
        for (told, wanted) in [
            (
                "files[0].name: invalid type: integer `1`, expected a string at line 1 column 9",
                "files[0].name: must be a string, not integer `1` (line 1, column 9)",
            ),
            ("missing field `files` at line 1 column 2", "files: is required (line 1, column 2)"),
            (
                "files[0]: missing field `name` at line 1 column 2",
                "files[0].name: is required (line 1, column 2)",
            ),
            (
                "unknown field `a`, expected one of `b`, `c`",
                "a: no such field\nhint: the fields are: `b`, `c`",
            ),
            ("a: unknown field `a`, expected `b`", "a: no such field\nhint: the fields are: `b`"),
            (
                "invalid type: null, expected a JSON object at line 1 column 4",
                "the body: must be a JSON object, not null (line 1, column 4)",
            ),
            (
                "times: invalid type: string \"x\", expected u32",
                "times: must be a whole number, not string \"x\"",
            ),
            ("say: this: is no path", "say: this: is no path"),
        ] {
            assert_eq!(of_value(told), wanted);
        }
    }

    #[test]
    fn an_array_of_fields_is_no_object() {
        let read = |text: &str| serde_json::from_str::<Object<Asked>>(text).map(|Object(asked)| asked.pool);
        assert_eq!(read(r#"{"pool": "a"}"#).unwrap(), Some("a".into()));
        assert_eq!(read("{}").unwrap(), None);
        assert!(read("[null]").unwrap_err().to_string().contains("expected a JSON object"));
    }
}
