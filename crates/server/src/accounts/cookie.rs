//! Cookies: which there are, how they are read and set.

use axum::http::{HeaderMap, HeaderValue, header};

/// Who is signed in.
pub(crate) const SESSION: &str = "tauto-session";

/// A browser, signed in or not: ties forms to it, and submissions in anonymous mode.
pub(crate) const VISITOR: &str = "tauto-visitor";

/// A year; browsers keep none longer than 400 days.
const YEAR_S: i64 = 365 * 24 * 3600;

/// The name under which a cookie is kept. A browser takes `__Host-` names only over https and from this very host, so that no other host of the
/// domain can plant one (RFC 6265bis, section 4.1.3.2).
fn named(name: &str, secure: bool) -> String {
    if secure { format!("__Host-{name}") } else { name.to_string() }
}

/// The value of a cookie, where the request has it and it looks like a secret of ours.
pub(crate) fn value<'a>(headers: &'a HeaderMap, name: &str, secure: bool) -> Option<&'a str> {
    let name = named(name, secure);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    crate::secret::is_one(value).then_some(value)
}

/// The header that sets a cookie until the browser ends (`None`) or for so many seconds.
fn set(name: &str, value: &str, secure: bool, max_age_s: Option<i64>) -> HeaderValue {
    let age = max_age_s.map(|age| format!("; Max-Age={age}")).unwrap_or_default();
    let https = if secure { "; Secure" } else { "" };
    let line = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{age}{https}", named(name, secure));
    HeaderValue::try_from(line).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Sets the session's cookie. It ends with the browser, the session on the service before that if nothing happens.
pub(crate) fn begin_session(secret: &str, secure: bool) -> HeaderValue {
    set(SESSION, secret, secure, None)
}

/// Removes the session's cookie.
pub(crate) fn end_session(secure: bool) -> HeaderValue {
    set(SESSION, "", secure, Some(0))
}

/// Sets the visitor's cookie.
pub(crate) fn visitor(secret: &str, secure: bool) -> HeaderValue {
    set(VISITOR, secret, secure, Some(YEAR_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_name() {
        let secret = "a".repeat(43);
        let check = |line: String, secure: bool, found: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::try_from(line).unwrap());
            assert_eq!(value(&headers, SESSION, secure), found.then_some(secret.as_str()));
        };
        check(format!("tauto-session={secret}"), false, true);
        check(format!("x=1; tauto-session={secret};y=2"), false, true);
        check(format!("__Host-tauto-session={secret}"), true, true);
        // Over https only the name that other hosts cannot set counts.
        check(format!("tauto-session={secret}"), true, false);
        check(format!("xtauto-session={secret}"), false, false);
        check("tauto-session=short".into(), false, false);
        check(format!("tauto-session={}", "é".repeat(43)), false, false);
    }

    #[test]
    fn attributes_are_set() {
        let line = begin_session("s", true).to_str().unwrap().to_string();
        assert_eq!(line, "__Host-tauto-session=s; Path=/; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(end_session(false), "tauto-session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    }
}
