//! Who sent a request, and whether it may have been sent by another site's page.

use super::caller::{By, Caller, Scope};
use super::cookie;
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::timestamp::now;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use std::net::IpAddr;
use store::{Error, Hash, Timestamp};

/// An idle session ends after twelve hours: nobody signs in again on the second morning of a contest by accident, and nobody stays signed in on a
/// school's machine for weeks.
pub(super) const IDLE_US: i64 = 12 * 3600 * 1_000_000;

/// Any session ends after a week.
pub(super) const ABSOLUTE_US: i64 = 7 * 24 * 3600 * 1_000_000;

/// A session's end is moved when this much of it is over, and not at each request, which would make each of them write.
const MOVED_US: i64 = 10 * 60 * 1_000_000;

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The client's address, where that is known.
    pub(crate) address: Option<IpAddr>,
    /// The client speaks https.
    pub(crate) secure: bool,
}

/// Who it is, and a cookie to be set.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    pub(crate) cookie: Option<HeaderValue>,
}

/// The client of a connection from `peer`: what a proxy of the site's says of it, else the peer itself. Of several addresses in X-Forwarded-For
/// the last that is no proxy of ours counts: those before it are whatever the client wrote.
pub(crate) fn origin(headers: &HeaderMap, peer: Option<IpAddr>, access: &super::Access) -> Origin {
    let https = access.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    let known = |address: &IpAddr| access.proxies.contains(address);
    let Some(proxy) = peer.filter(known) else { return Origin { address: peer, secure: https } };
    let text = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<IpAddr> = text("x-forwarded-for")
        .flat_map(|line| line.split(','))
        .map_while(|hop| hop.trim().parse().ok())
        .collect();
    let client = hops.iter().rev().find(|hop| !known(hop));
    let proto = text("x-forwarded-proto").next_back();
    Origin { address: Some(*client.unwrap_or(&proxy)), secure: proto.map_or(https, |proto| proto == "https") }
}

/// Refuses requests that reach a service without accounts under a name that is not one of its own: a page of another site can give its own name
/// this machine's loopback address and then talk to it as if it came from here (DNS rebinding). And those that a proxy passes on, since they
/// may come from anywhere.
///
/// # Errors
/// [`Refusal::Forbidden`].
pub(crate) fn is_for_us(
    headers: &HeaderMap,
    uri: &Uri,
    anonymous: bool,
    access: &super::Access,
) -> Result<(), Refusal> {
    if !anonymous {
        return Ok(());
    }
    if let Some(name) =
        ["x-forwarded-for", "forwarded", "x-real-ip"].iter().find(|n| headers.contains_key(**n))
    {
        let why = format!(
            "{name}: without accounts this service is not for others\nhint: behind a proxy, start it with --accounts"
        );
        return Err(Refusal::Forbidden(why));
    }
    let host = host(headers, uri).unwrap_or_default();
    let name = without_port(&host);
    let loopback = ["localhost", "127.0.0.1", "[::1]"].contains(&name);
    if loopback || access.names().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!(
        "host `{name}` is not a name of this service\nhint: use 127.0.0.1 or localhost"
    )))
}

/// Refuses what another site's page may have sent: a request that changes something, by somebody who is known by a cookie or not at all. A token
/// is not sent by itself, and so needs none of this. Browsers say where a request comes from (Fetch Metadata, section 2.4; RFC 6454, section 7);
/// what says nothing is no browser, and is let through where no cookie stands for anybody.
///
/// # Errors
/// [`Refusal::Forbidden`].
pub(crate) fn is_same_site(
    method: &Method,
    headers: &HeaderMap,
    uri: &Uri,
    access: &super::Access,
) -> Result<(), Refusal> {
    if method.is_safe() || token(headers).is_some() {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("not text"));
    let refuse = |from: &str| {
        Err(Refusal::Forbidden(format!(
            "this came from a page of another site ({from})\n\
             hint: scripts send an API token in place of a cookie"
        )))
    };
    match (text("sec-fetch-site"), text("origin")) {
        (Some("same-origin" | "none"), _) => Ok(()),
        (Some(site), origin) => refuse(origin.unwrap_or(site)),
        (None, Some(origin)) => {
            let host = host(headers, uri).unwrap_or_default();
            let (_, name) = origin.split_once("://").unwrap_or_default();
            let ours = access.public_url.as_deref() == Some(origin);
            if ours || (!host.is_empty() && name.eq_ignore_ascii_case(&host)) {
                Ok(())
            } else {
                refuse(origin)
            }
        }
        (None, None) if headers.contains_key(header::COOKIE) => {
            Err(Refusal::Forbidden("a cookie, and neither Origin nor Sec-Fetch-Site".into()))
        }
        (None, None) => Ok(()),
    }
}

/// The host that a request is for, with its port.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str().to_string()),
        None => headers.get(header::HOST)?.to_str().ok().map(String::from),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The API token that a request carries. Faces of other judges have put theirs here before.
fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Who sent this.
///
/// # Errors
/// [`Refusal::Unauthenticated`] for a token that is not good, and whatever the store fails with. A session that is over is nobody.
pub(crate) async fn identify(
    service: &Service,
    headers: &HeaderMap,
    origin: Origin,
) -> Result<Identity, Refusal> {
    let mut caller = Caller { address: origin.address, ..Caller::nobody(service.settings.anonymous) };
    if let Some(token) = token(headers) {
        by_token(service, token, &mut caller).await?;
        return Ok(Identity { caller, cookie: None });
    }
    let session = cookie::value(headers, cookie::SESSION, origin.secure);
    let mut fresh = None;
    if let Some(secret) = session {
        match by_session(service, secret, &mut caller).await? {
            true => return Ok(Identity { caller, cookie: None }),
            false => fresh = Some(cookie::end_session(origin.secure)),
        }
    }
    match cookie::value(headers, cookie::VISITOR, origin.secure) {
        Some(secret) => be_visitor(&mut caller, secret),
        // A program on the command line keeps no cookies, and could not find again what it submitted as a visitor.
        None if wants_page(headers) => {
            let secret = secret::secret()?;
            be_visitor(&mut caller, &secret);
            fresh = Some(cookie::visitor(&secret, origin.secure));
        }
        None => {}
    }
    Ok(Identity { caller, cookie: fresh })
}

/// Whether it is a browser that goes to a page.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|forms| forms.contains("text/html"))
}

/// The owner of what a visitor hands in, from their cookie: it is stored with submissions, where the cookie itself would be a secret in clear.
pub(crate) fn visitor_of(cookie: &str) -> String {
    Hash::digest(format!("visitor:{cookie}").as_bytes()).as_str().into()
}

fn be_visitor(caller: &mut Caller, secret: &str) {
    caller.csrf = form_secret(secret);
    caller.visitor = caller.anonymous_allowed.then(|| visitor_of(secret));
}

/// What forms carry, from the cookie they belong to: nobody without the cookie can tell it, and it does not tell the cookie.
pub(crate) fn form_secret(cookie: &str) -> String {
    Hash::digest(format!("form:{cookie}").as_bytes()).as_str()[..32].to_string()
}

async fn by_token(service: &Service, token: &str, caller: &mut Caller) -> Result<(), Refusal> {
    let bad = || {
        Refusal::Unauthenticated(
            "this API token is unknown, revoked or expired\n\
             hint: create another one on the page /account"
                .into(),
        )
    };
    let now = now();
    let (token, user) = match service.store.token_of_secret(token, now).await {
        Err(Error::NotFound(_)) => return Err(bad()),
        other => other?,
    };
    if token.used.is_none_or(|used| now.0 - used.0 > MOVED_US) {
        service.store.note_use(token.id, now).await?;
    }
    caller.user = Some(user);
    caller.by = By::Token(token.scopes.iter().filter_map(|name| Scope::from_name(name)).collect());
    Ok(())
}

/// Whether the session is good.
async fn by_session(service: &Service, secret: &str, caller: &mut Caller) -> Result<bool, Refusal> {
    let now = now();
    let session = match service.store.session(secret, now).await {
        Err(Error::NotFound(_)) => return Ok(false),
        other => other?,
    };
    let began = session.details["began"].as_i64().unwrap_or_default();
    let end = Timestamp((now.0 + IDLE_US).min(began + ABSOLUTE_US));
    if end.0 - session.expires.0 > MOVED_US {
        service.store.extend_session(secret, end).await?;
    }
    caller.user = Some(session.user);
    caller.by = By::Session;
    caller.csrf = form_secret(secret);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Access;
    use axum::http::HeaderName;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        lines.iter().map(pair).fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        })
    }

    #[test]
    fn only_own_names_reach_a_service_without_accounts() {
        let access = Access { names: vec!["judge.lan".into()], ..Access::default() };
        let check = |lines: &[(&str, &str)], good: bool| {
            let found = is_for_us(&headers(lines), &Uri::from_static("/"), true, &access);
            assert_eq!(found.is_ok(), good, "{lines:?}");
            assert!(is_for_us(&headers(lines), &Uri::from_static("/"), false, &access).is_ok());
        };
        for host in ["127.0.0.1:8080", "localhost", "[::1]:80", "[::1]", "judge.lan:8080", "Judge.LAN"] {
            check(&[("host", host)], true);
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil:80",
            "10.0.0.1",
            "",
            "[::2]",
            "127.0.0.1:x",
        ] {
            check(&[("host", host)], false);
        }
        check(&[], false);
        check(&[("host", "localhost"), ("x-forwarded-for", "1.2.3.4")], false);
    }

    #[test]
    fn writes_of_other_sites_are_refused() {
        let access = Access { public_url: Some("https://judge.example".into()), ..Access::default() };
        let check = |method: Method, lines: &[(&str, &str)], good: bool| {
            let found = is_same_site(&method, &headers(lines), &Uri::from_static("/x"), &access);
            assert_eq!(found.is_ok(), good, "{method} {lines:?}");
        };
        let host = ("host", "127.0.0.1:8080");
        check(Method::GET, &[host, ("origin", "https://evil.example")], true);
        check(Method::POST, &[host], true);
        check(Method::POST, &[host, ("cookie", "a=b")], false);
        check(Method::POST, &[host, ("sec-fetch-site", "same-origin"), ("cookie", "a=b")], true);
        for site in ["cross-site", "same-site", "\u{e9}"] {
            check(Method::POST, &[host, ("sec-fetch-site", site)], false);
        }
        check(Method::POST, &[host, ("origin", "http://127.0.0.1:8080"), ("cookie", "a=b")], true);
        check(Method::POST, &[host, ("origin", "https://judge.example"), ("cookie", "a=b")], true);
        for origin in ["null", "http://127.0.0.1:8081", "http://127.0.0.1", "https://evil.example"] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                check(method, &[host, ("origin", origin)], false);
            }
        }
        // A token is not sent by itself.
        check(Method::POST, &[host, ("origin", "https://evil.example"), ("authorization", "Bearer x")], true);
        check(Method::POST, &[host, ("origin", "https://evil.example"), ("authorization", "Basic x")], false);
    }

    #[test]
    fn proxies_are_believed_as_far_as_they_are_known() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let access = Access { proxies: vec![address("10.0.0.1"), address("10.0.0.2")], ..Access::default() };
        let check = |peer: &str, lines: &[(&str, &str)], client: &str, secure: bool| {
            let found = origin(&headers(lines), Some(address(peer)), &access);
            assert_eq!(found, Origin { address: Some(address(client)), secure }, "{peer} {lines:?}");
        };
        let spoofed = ("x-forwarded-for", "9.9.9.9");
        check("1.2.3.4", &[spoofed, ("x-forwarded-proto", "https")], "1.2.3.4", false);
        check("10.0.0.1", &[spoofed, ("x-forwarded-for", "1.2.3.4")], "1.2.3.4", false);
        check("10.0.0.1", &[("x-forwarded-for", "9.9.9.9, 1.2.3.4, 10.0.0.2")], "1.2.3.4", false);
        check("10.0.0.1", &[("x-forwarded-proto", "https")], "10.0.0.1", true);
        check("10.0.0.1", &[("x-forwarded-for", "unknown")], "10.0.0.1", false);
    }
}
