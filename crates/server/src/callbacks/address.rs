//! Which addresses callbacks may go to. Pure.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Longest address that is taken.
const LONGEST: usize = 2048;

/// A network, or an address alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Network(IpNet);

/// Text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a network\nhint: write one as 10.1.0.0/16, fd00:1::/32 or as an address")]
pub struct NoNetwork(String);

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Network, NoNetwork> {
        let address = |_| text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(address).map(Network).map_err(|_| NoNetwork(text.to_owned()))
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
        self.0.fmt(f)
    }
}

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// Not for strangers: the special-purpose IPv4 addresses (IANA registry, RFC 6890) and multicast.
const SPECIAL_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 31, 196, 24),
    v4(192, 52, 193, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    // Multicast, what is reserved, broadcast.
    v4(224, 0, 0, 3),
];

/// Of IPv6 only this is given out for the Internet (RFC 4291, section 2.4). Loopback, unique local and link-local addresses,
/// multicast, and IPv4 addresses in IPv6 form, NAT64's included, lie outside.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);

/// What lies inside it and is something else: protocol assignments with Teredo and ORCHID, 6to4, documentation, AS112.
const SPECIAL_V6: [Ipv6Net; 5] =
    [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x2002, 0, 16), v6(0x2620, 0x4f, 32), v6(0x3fff, 0, 20)];

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
            _ if self.networks.iter().any(|network| network.0.contains(&address)) => true,
            IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
            IpAddr::V6(address) => {
                GLOBAL_V6.contains(&address) && !SPECIAL_V6.iter().any(|network| network.contains(&address))
            }
        };
        if open { Ok(()) } else { Err(Undeliverable::Address(address)) }
    }
}

/// Why a callback does not reach its address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undeliverable {
    /// The text is no address that callbacks go to.
    #[error("`{0}` is not an address for callbacks: {1}")]
    Url(String, &'static str),
    /// The port is none of those that are allowed.
    #[error("port {0} is not open to callbacks here")]
    Port(u16),
    /// The address is not public.
    #[error("{0} is not public\nhint: the operator can allow callbacks to it: serve.callbacks.networks")]
    Address(IpAddr),
    /// The name stands for the machine itself.
    #[error(
        "{0} is this machine, which is not public\n\
         hint: the operator can allow callbacks to it: serve.callbacks.networks"
    )]
    ThisMachine(String),
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

/// The host of an address, as those read it who connect to it: resolvers take every spelling of `inet_aton(3)` for an address.
enum Host {
    Address(IpAddr),
    /// A name that stands for loopback wherever it is resolved (RFC 6761, section 6.3), or does so by the usual /etc/hosts.
    ThisMachine(String),
    Name(String),
}

impl Host {
    /// `None`: neither an address nor a name.
    fn read(text: &str) -> Option<Host> {
        if let Some(inside) = text.strip_prefix('[') {
            return inside
                .strip_suffix(']')?
                .parse()
                .ok()
                .map(|address: Ipv6Addr| Host::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        let fine = |label: &&str| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        let last = labels.last().filter(|_| labels.iter().all(fine))?;
        // No name ends in a number.
        if number(last).is_some() || last.bytes().all(|b| b.is_ascii_digit()) {
            return loose_v4(&labels).map(|address| Host::Address(address.into()));
        }
        let own = ["localhost", "localdomain", "ip6-localhost", "ip6-loopback", "localhost4", "localhost6"];
        Some(if own.contains(last) { Host::ThisMachine(name) } else { Host::Name(name) })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Address(address) => address.fmt(f),
            Host::ThisMachine(name) | Host::Name(name) => f.write_str(name),
        }
    }
}

/// A part of an IPv4 address: decimal, octal after `0`, hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    match digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        true if digits.is_empty() && radix == 16 => Some(0),
        true => u64::from_str_radix(digits, radix).ok(),
        false => None,
    }
}

/// An IPv4 address of one to four parts, of which the last fills what is left.
fn loose_v4(parts: &[&str]) -> Option<Ipv4Addr> {
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let mut address = number(last).filter(|last| *last < 1 << (8 * (4 - first.len())))?;
    for (n, part) in first.iter().enumerate() {
        address |= number(part).filter(|part| *part < 256)? << (8 * (3 - n));
    }
    u32::try_from(address).ok().map(Ipv4Addr::from)
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
    if authority.host().is_empty() {
        return Err(bad("it names no host"));
    }
    let host = Host::read(authority.host()).ok_or_else(|| bad("its host cannot be read"))?;
    let after_host = authority.as_str().rsplit_once(']').map_or(authority.as_str(), |(_, rest)| rest);
    if after_host.contains(':') && authority.port_u16().is_none() {
        return Err(bad("its port cannot be read"));
    }
    let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
    if !allowed.ports.iter().any(|range| range.contains(&port)) {
        return Err(Undeliverable::Port(port));
    }
    match &host {
        Host::Address(address) => allowed.address(*address)?,
        Host::ThisMachine(name) => {
            let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
            if loopback.iter().all(|address| allowed.address(*address).is_err()) {
                return Err(Undeliverable::ThisMachine(name.clone()));
            }
        }
        Host::Name(_) => {}
    }
    Ok(Target {
        secure,
        host: host.to_string(),
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
        let holds = |address: &str| all.0.contains(&address.parse::<IpAddr>().unwrap());
        assert!(holds("127.0.0.1") && !holds("::1"));
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

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        let usual = Allowed::default();
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "localhost.localdomain",
            "ip6-localhost",
            "127.1",
            "127.0.1",
            "127.0.0.1.",
            "0x7f000001",
            "0X7F000001",
            "2130706433",
            "017700000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.0x0.0.01",
            "0",
            "0x",
            "0.0",
            "012.1.2.3",
            "10.65793",
            "0xa9fea9fe",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:0:0:1]",
            "[64:ff9b::127.0.0.1]",
        ] {
            let why = check(&format!("http://{host}/x"), &usual).unwrap_err().to_string();
            assert!(why.contains("is not public"), "{host}: {why}");
        }
        for host in [
            "256.1.1.1",
            "1.2.3.4.5",
            "4294967296",
            "08.1",
            "127.0.0.1..",
            "a..b",
            "127.0.0.0x1g.1",
            "%31.1",
            "[::1%25lo]",
            "[1.2.3.4]",
            ".",
        ] {
            let why = check(&format!("http://{host}/x"), &usual).unwrap_err().to_string();
            assert!(why.contains("cannot be read"), "{host}: {why}");
        }
        for (host, reads) in [
            ("134744072", "8.8.8.8"),
            ("0x8.010.2056", "8.8.8.8"),
            ("Judge.Example.org.", "judge.example.org"),
            ("1.example", "1.example"),
            ("0xg", "0xg"),
        ] {
            assert_eq!(check(&format!("http://{host}/x"), &usual).unwrap().host, reads);
        }
        let site = Allowed { networks: vec!["127.0.0.0/8".parse().unwrap()], ..Allowed::default() };
        for host in ["localhost", "127.1", "2130706433"] {
            assert!(check(&format!("http://{host}/x"), &site).is_ok(), "{host}");
        }
    }

    proptest! {
        #[test]
        fn a_closed_address_never_passes_however_it_is_written(bytes in any::<[u8; 4]>(), parts in 1usize..5, bases in any::<[u8; 4]>(), dot in any::<bool>()) {
            let address = Ipv4Addr::from(bytes);
            let mut numbers: Vec<u32> = bytes[..parts - 1].iter().map(|byte| u32::from(*byte)).collect();
            numbers.push((u64::from(u32::from(address)) & ((1 << (8 * (5 - parts))) - 1)) as u32);
            let text: Vec<String> = numbers.iter().zip(bases).map(|(number, base)| match base % 3 {
                0 => format!("{number}"),
                1 => format!("0{number:o}"),
                _ => format!("0x{number:x}"),
            }).collect();
            let host = text.join(".") + if dot { "." } else { "" };
            let usual = Allowed::default();
            let read = check(&format!("http://{host}/"), &usual);
            prop_assert_eq!(read.is_ok(), usual.address(address.into()).is_ok(), "{}", host);
            if let Ok(target) = read {
                prop_assert_eq!(target.host, address.to_string());
            }
        }

        #[test]
        fn a_literal_address_that_is_closed_never_passes(bytes in any::<[u8; 4]>(), port in 1024u16..) {
            let address = Ipv4Addr::from(bytes);
            let usual = Allowed::default();
            let passes = check(&format!("http://{address}:{port}/"), &usual).is_ok();
            prop_assert_eq!(passes, usual.address(address.into()).is_ok());
            prop_assert!(!(passes && (address.is_loopback() || address.is_private() || address.is_link_local() || address.is_multicast())));
        }

        #[test]
        fn only_web_addresses_pass_and_errors_are_a_fact_and_a_hint(url in "(https?://)?[a-z0-9.:@/\\[\\]%-]{0,20}|.{0,60}") {
            match check(&url, &Allowed::default()) {
                Ok(_) => {
                    let authority = url.split(['/', '?', '#']).nth(2).unwrap_or_default();
                    prop_assert!(url.to_lowercase().starts_with("http") && !authority.contains('@'), "{}", url);
                }
                Err(why) => {
                    let line = model::hint::in_one_line(&why.to_string());
                    prop_assert!(!line.contains(char::is_control), "{}", why);
                }
            }
        }
    }
}
