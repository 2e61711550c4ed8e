//! What a site decides about who reaches its service, and how.

use crate::limits::Limits;
use std::net::{IpAddr, SocketAddr};

/// How the service is reached, and what one caller may ask of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Where browsers find it, such as `https://judge.example.org`, without a slash at the end; by default the listening address.
    pub public_url: Option<String>,
    /// Names under which it is also reached where no accounts are needed.
    pub names: Vec<String>,
    /// Reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
    pub proxies: Vec<IpAddr>,
    /// What one caller may ask for.
    pub limits: Limits,
}

impl Default for Access {
    fn default() -> Access {
        Access { public_url: None, names: Vec::new(), proxies: Vec::new(), limits: Limits::USUAL }
    }
}

impl Access {
    /// The host of the public URL, without a port.
    fn public_name(&self) -> Option<&str> {
        let (_, host) = self.public_url.as_deref()?.split_once("://")?;
        Some(match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        })
    }

    /// The hosts under which it is reached, without ports.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.public_name().into_iter().chain(self.names.iter().map(String::as_str))
    }

    /// Refuses what would let strangers in, or cannot be served.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    pub fn check(&self, anonymous: bool, listening: SocketAddr) -> Result<(), String> {
        if anonymous && !listening.ip().is_loopback() {
            return Err(format!(
                "without accounts everyone who reaches {listening} may submit\n\
                 hint: listen on 127.0.0.1, or start with --accounts"
            ));
        }
        let loopback = |name: &str| ["localhost", "127.0.0.1", "[::1]"].contains(&name);
        if anonymous && (!self.proxies.is_empty() || !self.public_name().is_none_or(loopback)) {
            return Err(
                "a proxy or a public URL lets others in: everyone must sign in there\nhint: start with --accounts"
                    .into(),
            );
        }
        match &self.public_url {
            Some(url) => {
                let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                match host {
                    Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']) => Ok(()),
                    _ => Err(format!(
                        "public URL `{url}`: is not an address of a host\n\
                         hint: write it as https://judge.example.org, without a path"
                    )),
                }
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_strangers_in_is_refused() {
        let check = |url: Option<&str>, anonymous, listening: &str, good| {
            let access = Access { public_url: url.map(String::from), ..Access::default() };
            assert_eq!(
                access.check(anonymous, listening.parse().unwrap()).is_ok(),
                good,
                "{url:?} {listening}"
            );
        };
        check(None, true, "127.0.0.1:8080", true);
        check(None, true, "[::1]:8080", true);
        check(None, true, "0.0.0.0:8080", false);
        check(None, true, "192.168.1.5:80", false);
        check(None, false, "0.0.0.0:8080", true);
        check(Some("https://judge.example"), false, "127.0.0.1:8080", true);
        check(Some("https://judge.example"), true, "127.0.0.1:8080", false);
        check(Some("http://localhost:8080"), true, "127.0.0.1:8080", true);
        for url in ["judge.example", "https://", "https://judge.example/", "ftp://x", "https://a@b"] {
            check(Some(url), false, "127.0.0.1:8080", false);
        }
    }

    #[test]
    fn behind_a_proxy_one_signs_in() {
        let access = Access { proxies: vec![[127, 0, 0, 1].into()], ..Access::default() };
        let listening = SocketAddr::from(([127, 0, 0, 1], 8080));
        assert!(access.check(true, listening).is_err() && access.check(false, listening).is_ok());
    }

    #[test]
    fn names_are_hosts() {
        let access = Access {
            public_url: Some("http://judge.example:81".into()),
            names: vec!["b".into()],
            ..Access::default()
        };
        assert_eq!(access.names().collect::<Vec<_>>(), ["judge.example", "b"]);
    }
}
