//! Headers that tell browsers what answers of this service may do.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// What every answer carries unless its handler has set it otherwise. Names and meanings: the OWASP Secure Headers Project.
const HEADERS: [(HeaderName, &str); 7] = [
    // Nothing but our own files: no script or style in a page, no frame around it, no form to elsewhere.
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Addresses of submissions and one-time links are secrets; and a stricter policy makes browsers post our own forms with the origin `null`, by which
    // nobody can tell them from those of other sites where the connection is not https.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=(), interest-cohort=()",
    ),
    // Whatever is not said to be public is for one reader.
    (header::CACHE_CONTROL, "no-store"),
];

/// Sets them.
pub(crate) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
