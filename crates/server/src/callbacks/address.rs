//! Which addresses callbacks may go to. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Longest address that is taken.
const LONGEST: usize = 2048;

/// A network: the addresses that begin like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no network; write one as 10.1.0.0/16, fd00:1::/32 or as an address")]
pub struct NoNetwork(String);

impl Network {
    const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Network {
        Network { address: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), prefix }
    }

    const fn v6(a: u16, b: u16, prefix: u8) -> Network {
        Network { address: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), prefix }
    }

    /// Whether an address is in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let shift = 32 - u32::from(self.prefix);
                u32::from(own).checked_shr(shift) == u32::from(other).checked_shr(shift)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let shift = 128 - u32::from(self.prefix);
                u128::from(own).checked_shr(shift) == u128::from(other).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Network, NoNetwork> {
        let bad = || NoNetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(whole), str::parse).map_err(|_| bad())?;
        if prefix > whole { Err(bad()) } else { Ok(Network { address, prefix }) }
    }
}

impl TryFrom<String> for Network {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Network, NoNetwork> {
        text.parse()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Not for strangers: the special-purpose IPv4 addresses (IANA registry, RFC 6890) and multicast.
const SPECIAL_V4: [Network; 16] = [
    Network::v4(0, 0, 0, 8),
    Network::v4(10, 0, 0, 8),
    Network::v4(100, 64, 0, 10),
    Network::v4(127, 0, 0, 8),
    Network::v4(169, 254, 0, 16),
    Network::v4(172, 16, 0, 12),
    Network::v4(192, 0, 0, 24),
    Network::v4(192, 0, 2, 24),
    Network::v4(192, 31, 196, 24),
    Network::v4(192, 52, 193, 24),
    Network::v4(192, 88, 99, 24),
    Network::v4(192, 168, 0, 16),
    Network::v4(198, 18, 0, 15),
    Network::v4(198, 51, 100, 24),
    Network::v4(203, 0, 113, 24),
    // Multicast, what is reserved, broadcast.
    Network::v4(224, 0, 0, 3),
];

/// Of IPv6 only this is given out for the Internet (RFC 4291, section 2.4). Loopback, unique local and link-local addresses,
/// multicast, and IPv4 addresses in IPv6 form, NAT64's included, lie outside.
const GLOBAL_V6: Network = Network::v6(0x2000, 0, 3);

/// What lies inside it and is something else: protocol assignments with Teredo and ORCHID, 6to4, documentation, AS112.
const SPECIAL_V6: [Network; 5] = [
    Network::v6(0x2001, 0, 23),
    Network::v6(0x2001, 0xdb8, 32),
    Network::v6(0x2002, 0, 16),
    Network::v6(0x2620, 0x4f, 32),
    Network::v6(0x3fff, 0, 20),
];

/// What a site lets callbacks reach beyond the public Internet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Networks that callbacks may go to although they are not public.
    pub networks: Vec<Network>,
    /// Ports that callbacks may go to.
    pub ports: Vec<RangeInclusive<u16>>,
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed { networks: Vec::new(), ports: vec![80..=80, 443..=443, 1024..=u16::MAX] }
    }
}

impl Allowed {
    /// Whether a callback may go to this address; `Err` names it.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Undeliverable> {
        let open = match address {
            _ if self.networks.iter().any(|network| network.holds(address)) => true,
            IpAddr::V4(_) => !SPECIAL_V4.iter().any(|network| network.holds(address)),
            IpAddr::V6(_) => {
                GLOBAL_V6.holds(address) && !SPECIAL_V6.iter().any(|network| network.holds(address))
            }
        };
        if open { Ok(()) } else { Err(Undeliverable::Address(address)) }
    }
}

/// Why a callback does not reach its address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undeliverable {
    /// The text is no address that callbacks go to.
    #[error("`{0}` is no address for callbacks: {1}")]
    Url(String, &'static str),
    /// The port is none of those that are allowed.
    #[error("port {0} is not open to callbacks here")]
    Port(u16),
    /// The address is not public.
    #[error("{0} is not public; callbacks to it must be allowed by the operator")]
    Address(IpAddr),
    /// The name has no address.
    #[error("{0}: {1}")]
    Name(String, String),
    /// It could not be reached, or did not answer as it should.
    #[error("{0}")]
    Failed(String),
}

/// Where a callback goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// By https.
    pub(crate) secure: bool,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// Host and port as they go into the request.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: String,
}

/// Whether an address looks as if callbacks could go there. What its name resolves to is looked at when it is called.
pub(crate) fn check(url: &str, allowed: &Allowed) -> Result<Target, Undeliverable> {
    let shown: String = url.chars().take(100).flat_map(char::escape_debug).collect();
    let bad = |why| Undeliverable::Url(shown.clone(), why);
    if url.len() > LONGEST {
        return Err(bad("it is too long"));
    }
    let uri: axum::http::Uri = url.parse().map_err(|_| bad("it cannot be read"))?;
    let secure = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(bad("it must begin with http:// or https://")),
    };
    let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
    if authority.as_str().contains('@') {
        return Err(bad("it holds a name or a password"));
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(bad("it names no host"));
    }
    let after_host = authority.as_str().rsplit_once(']').map_or(authority.as_str(), |(_, rest)| rest);
    if after_host.contains(':') && authority.port_u16().is_none() {
        return Err(bad("its port cannot be read"));
    }
    let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
    if !allowed.ports.iter().any(|range| range.contains(&port)) {
        return Err(Undeliverable::Port(port));
    }
    if let Ok(address) = host.parse() {
        allowed.address(address)?;
    }
    Ok(Target {
        secure,
        host: host.to_owned(),
        port,
        authority: authority.to_string(),
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_public_addresses_are_open() {
        let usual = Allowed::default();
        for open in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "172.32.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
        ] {
            assert!(usual.address(open.parse().unwrap()).is_ok(), "{open}");
        }
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            let why = usual.address(closed.parse().unwrap()).unwrap_err().to_string();
            assert!(why.contains(closed.parse::<IpAddr>().unwrap().to_string().as_str()), "{why}");
        }
    }

    #[test]
    fn a_site_opens_networks_of_its_own() {
        let networks = ["10.1.0.0/16", "fd00:1::/32", "127.0.0.2"].map(|text| text.parse().unwrap());
        let site = Allowed { networks: networks.to_vec(), ..Allowed::default() };
        for open in ["10.1.2.3", "fd00:1::5", "127.0.0.2"] {
            assert!(site.address(open.parse().unwrap()).is_ok(), "{open}");
        }
        for closed in ["10.2.0.1", "fd00:2::5", "127.0.0.1", "127.0.0.3"] {
            assert!(site.address(closed.parse().unwrap()).is_err(), "{closed}");
        }
        for bad in ["", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "host", "10.0.0.0/x", "10.0.0.0/-1"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.holds("127.0.0.1".parse().unwrap()) && !all.holds("::1".parse().unwrap()));
    }

    #[test]
    fn targets_are_read_and_what_is_odd_is_refused() {
        let usual = Allowed::default();
        let target = check("https://judge.example.org/done?x=1#y", &usual).unwrap();
        assert_eq!((target.secure, target.host.as_str(), target.port), (true, "judge.example.org", 443));
        assert_eq!(target.path, "/done?x=1");
        let target = check("http://[2606:4700::1111]:8080", &usual).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("2606:4700::1111", 8080, "/"));
        let long = format!("http://example.org/{}", "x".repeat(LONGEST));
        for (url, says) in [
            ("", "cannot be read"),
            ("/path", "must begin with"),
            ("ftp://example.org/", "must begin with"),
            ("gopher://127.0.0.1:6379/_x", "must begin with"),
            ("http://user:secret@example.org/", "password"),
            ("http://example.org@127.0.0.1/", "password"),
            ("http://example.org:25/", "port 25"),
            ("http://example.org:99999/", "read"),
            ("http://127.0.0.1:8080/", "127.0.0.1 is not public"),
            ("http://[::1]/", "::1 is not public"),
            ("http://[::ffff:127.0.0.1]/", "is not public"),
            ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is not public"),
            (&long, "too long"),
        ] {
            let why = check(url, &usual).unwrap_err().to_string();
            assert!(why.contains(says), "{url}: {why}");
        }
    }

    proptest! {
        #[test]
        fn a_literal_address_that_is_closed_never_passes(bytes in any::<[u8; 4]>(), port in 1024u16..) {
            let address = Ipv4Addr::from(bytes);
            let usual = Allowed::default();
            let passes = check(&format!("http://{address}:{port}/"), &usual).is_ok();
            prop_assert_eq!(passes, usual.address(address.into()).is_ok());
            prop_assert!(!(passes && (address.is_loopback() || address.is_private() || address.is_link_local() || address.is_multicast())));
        }

        #[test]
        fn whatever_is_sent_is_answered(url in ".{0,60}") {
            drop(check(&url, &Allowed::default()));
        }
    }
}
