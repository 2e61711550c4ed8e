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
    /// The hosts under which it is reached, without ports.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let host = self.public_url.as_deref().and_then(|url| url.split_once("://")).map(|(_, host)| host);
        let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
        name.into_iter().chain(self.names.iter().map(String::as_str))
    }

    /// Refuses what would let strangers in, or cannot be served.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    pub fn check(&self, anonymous: bool, listening: SocketAddr) -> Result<(), String> {
        if anonymous && !listening.ip().is_loopback() {
            return Err(format!(
                "without accounts everybody who reaches {listening} may submit; listen on 127.0.0.1, or start with --accounts"
            ));
        }
        match &self.public_url {
            Some(url) => {
                let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                match host {
                    Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']) => Ok(()),
                    _ => Err(format!(
                        "public URL `{url}`: it is http:// or https:// and a host, without a path"
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
        for url in ["judge.example", "https://", "https://judge.example/", "ftp://x", "https://a@b"] {
            check(Some(url), false, "127.0.0.1:8080", false);
        }
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
