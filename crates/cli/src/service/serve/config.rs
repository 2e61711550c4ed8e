//! What a site wishes of its service: the command line over the configuration file over what is usual.

use super::ServeArgs;
use crate::config::{Config, NATS};
use crate::service::log::LogForm;
use crate::terminal::Failure;
use model::SecondOpinions;
use serde::{Deserialize, Serialize, Serializer};
use server::{Access, AllowedCallbacks, Limits, Network, Rate};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// The section `[serve]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServeConfig {
    /// Address and port of HTTP.
    pub(crate) listen: Option<SocketAddr>,
    /// The database: a file, or postgres://….
    pub(crate) database: Option<String>,
    /// Brokers of a fleet: nats://….
    pub(crate) nats: Option<String>,
    /// Credentials for them, a file.
    pub(crate) nats_creds: Option<PathBuf>,
    /// Their certificate authorities, a PEM file.
    pub(crate) nats_ca: Option<PathBuf>,
    /// Our certificate for them, a PEM file.
    pub(crate) nats_cert: Option<PathBuf>,
    /// Its key, a PEM file.
    pub(crate) nats_key: Option<PathBuf>,
    /// User of the web process.
    pub(crate) user: Option<String>,
    /// Everybody must sign in.
    pub(crate) accounts: bool,
    /// Seconds that judging may go on when the service is to end.
    pub(crate) grace_seconds: Option<u64>,
    /// The number of workers that may fail at a submission, or die of it, before it gets the verdict JE.
    pub(crate) attempts: Option<u64>,
    /// How log lines are written.
    pub(crate) log: Option<LogForm>,
    /// Sources, runs and outputs of submissions, and samples of nodes, are kept this long; for good where absent.
    pub(crate) retention_days: Option<u32>,
    /// Where browsers find it, such as `https://judge.example.org`.
    pub(crate) public_url: Option<String>,
    /// Names under which it is also reached where no accounts are needed.
    pub(crate) names: Vec<String>,
    /// Reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
    pub(crate) proxies: Vec<IpAddr>,
    /// What one caller may ask for.
    pub(crate) limits: RequestLimitsConfig,
    /// Where callbacks of Judge0's interface may go.
    pub(crate) callbacks: CallbackConfig,
}

/// The section `[serve.callbacks]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CallbackConfig {
    /// Networks that are not public, such as `10.1.0.0/16`, that callbacks may go to all the same.
    #[serde(serialize_with = "as_text")]
    networks: Vec<Network>,
    /// Ports that callbacks may go to, each a number or first and last: `443`, `[1024, 65535]`.
    ports: Option<Vec<PortsConfig>>,
}

fn as_text<S: Serializer>(networks: &[Network], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(networks.iter().map(Network::to_string))
}

/// One port, or the first and the last of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
enum PortsConfig {
    One(u16),
    Between([u16; 2]),
}

impl CallbackConfig {
    fn or_default(self) -> CallbackConfig {
        let wish = |ports: RangeInclusive<u16>| match ports.start() == ports.end() {
            true => PortsConfig::One(*ports.start()),
            false => PortsConfig::Between([*ports.start(), *ports.end()]),
        };
        let usual = || AllowedCallbacks::default().ports.into_iter().map(wish).collect();
        CallbackConfig { ports: self.ports.or_else(|| Some(usual())), ..self }
    }

    fn over(self, usual: AllowedCallbacks, typed: &[Network]) -> AllowedCallbacks {
        let range = |wish: PortsConfig| match wish {
            PortsConfig::One(port) => port..=port,
            PortsConfig::Between([first, last]) => first..=last,
        };
        AllowedCallbacks {
            networks: self.networks.into_iter().chain(typed.iter().copied()).collect(),
            ports: self.ports.map_or(usual.ports, |ports| ports.into_iter().map(range).collect()),
        }
    }
}

/// The section `[serve.limits]`: what is not named is as usual ([`Limits::USUAL`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RequestLimitsConfig {
    requests: Option<RateConfig>,
    submissions: Option<RateConfig>,
    failed_sign_ins: Option<RateConfig>,
    failed_sign_ins_in_all: Option<RateConfig>,
    queued: Option<u32>,
    queued_trusted: Option<u32>,
    connections: Option<usize>,
    connections_of_address: Option<usize>,
}

/// So many at once, then so many a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateConfig {
    burst: u32,
    per_minute: u32,
}

impl RequestLimitsConfig {
    fn rates(&self) -> [(&'static str, Option<RateConfig>); 4] {
        [
            ("requests", self.requests),
            ("submissions", self.submissions),
            ("failed_sign_ins", self.failed_sign_ins),
            ("failed_sign_ins_in_all", self.failed_sign_ins_in_all),
        ]
    }

    fn or_default(&self) -> RequestLimitsConfig {
        let limits = self.over(Limits::USUAL);
        let rate = |rate: Rate| Some(RateConfig { burst: rate.burst, per_minute: rate.per_minute });
        RequestLimitsConfig {
            requests: rate(limits.requests),
            submissions: rate(limits.submissions),
            failed_sign_ins: rate(limits.failed_sign_ins),
            failed_sign_ins_in_all: rate(limits.failed_sign_ins_in_all),
            queued: Some(limits.queued),
            queued_trusted: Some(limits.queued_trusted),
            connections: Some(limits.connections),
            connections_of_address: Some(limits.connections_of_address),
        }
    }

    fn over(&self, usual: Limits) -> Limits {
        let rate = |wish: Option<RateConfig>, usual: Rate| {
            wish.map_or(usual, |wish| Rate { burst: wish.burst, per_minute: wish.per_minute })
        };
        Limits {
            requests: rate(self.requests, usual.requests),
            submissions: rate(self.submissions, usual.submissions),
            failed_sign_ins: rate(self.failed_sign_ins, usual.failed_sign_ins),
            failed_sign_ins_in_all: rate(self.failed_sign_ins_in_all, usual.failed_sign_ins_in_all),
            queued: self.queued.unwrap_or(usual.queued),
            queued_trusted: self.queued_trusted.unwrap_or(usual.queued_trusted),
            connections: self.connections.unwrap_or(usual.connections),
            connections_of_address: self.connections_of_address.unwrap_or(usual.connections_of_address),
        }
    }
}

impl ServeConfig {
    /// With the defaults where nothing is set and there is one.
    pub(crate) fn or_default(self) -> ServeConfig {
        ServeConfig {
            listen: self.listen.or(Some(LISTEN)),
            grace_seconds: self.grace_seconds.or(Some(GRACE)),
            attempts: self.attempts.or(Some(server::ATTEMPTS)),
            log: self.log.or(Some(LogForm::Text)),
            limits: self.limits.or_default(),
            callbacks: self.callbacks.or_default(),
            ..self
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.retention_days == Some(0) {
            return Err(
                "serve.retention_days: must be 1 or more\nhint: leave it out to keep everything".into()
            );
        }
        if self.attempts == Some(0) {
            return Err("serve.attempts: must be 1 or more".into());
        }
        let nothing = |(_, rate): &(_, Option<RateConfig>)| {
            rate.is_some_and(|rate| rate.burst == 0 || rate.per_minute == 0)
        };
        if let Some((name, _)) = self.limits.rates().into_iter().find(nothing) {
            return Err(format!("serve.limits.{name}: burst and per_minute must be 1 or more"));
        }
        let zero = [
            ("queued", self.limits.queued.map(u64::from)),
            ("queued_trusted", self.limits.queued_trusted.map(u64::from)),
            ("connections", self.limits.connections.map(|n| n as u64)),
            ("connections_of_address", self.limits.connections_of_address.map(|n| n as u64)),
        ];
        if let Some((name, _)) = zero.into_iter().find(|(_, number)| *number == Some(0)) {
            return Err(format!("serve.limits.{name}: must be 1 or more"));
        }
        Ok(())
    }
}

/// What holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServeSettings {
    pub(super) listen: SocketAddr,
    pub(super) database: Option<String>,
    pub(super) nats: Option<NatsSettings>,
    pub(super) user: Option<String>,
    pub(super) accounts: bool,
    pub(super) grace: Duration,
    pub(super) attempts: u64,
    pub(super) second_opinion: SecondOpinions,
    pub(super) log: LogForm,
    pub(super) retention: Option<Duration>,
    pub(super) access: Access,
    pub(super) callbacks: AllowedCallbacks,
}

/// Brokers, and what is needed to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NatsSettings {
    pub(super) url: String,
    pub(super) creds: Option<PathBuf>,
    pub(super) ca: Option<PathBuf>,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

/// Where the service listens unless told otherwise.
pub(crate) const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// Seconds of grace likewise.
const GRACE: u64 = 20;

impl ServeSettings {
    pub(super) fn read(args: &ServeArgs) -> Result<ServeSettings, Failure> {
        let config = Config::read()?;
        let second_opinion = config.second_opinion.unwrap_or_default();
        let wanted = ServeSettings { second_opinion, ..ServeSettings::merged(args, config.serve) };
        match &wanted.nats {
            Some(nats) if nats.cert.is_some() != nats.key.is_some() => Err(Failure::usage(
                "--nats-cert and --nats-key: only one is given\nhint: give both or neither",
            )),
            None if [&args.nats_creds, &args.nats_ca, &args.nats_cert, &args.nats_key]
                .iter()
                .any(|file| file.is_some()) =>
            {
                Err(Failure::usage(format!(
                    "--nats-creds, --nats-ca, --nats-cert, --nats-key: no brokers\n\
                     hint: give --nats URL, or set {NATS}"
                )))
            }
            _ => Ok(wanted),
        }
    }

    fn merged(args: &ServeArgs, site: ServeConfig) -> ServeSettings {
        let nats = args.nats.clone().or(site.nats).filter(|url| !url.is_empty());
        ServeSettings {
            listen: args.listen.or(site.listen).unwrap_or(LISTEN),
            database: args.database.clone().or(site.database),
            nats: nats.map(|url| NatsSettings {
                url,
                creds: args.nats_creds.clone().or(site.nats_creds),
                ca: args.nats_ca.clone().or(site.nats_ca),
                cert: args.nats_cert.clone().or(site.nats_cert),
                key: args.nats_key.clone().or(site.nats_key),
            }),
            user: args.user.clone().or(site.user),
            accounts: args.accounts || site.accounts,
            grace: Duration::from_secs(args.grace.or(site.grace_seconds).unwrap_or(GRACE)),
            attempts: site.attempts.unwrap_or(server::ATTEMPTS),
            second_opinion: SecondOpinions::default(),
            log: args.log.or(site.log).unwrap_or(LogForm::Text),
            retention: site.retention_days.map(|days| Duration::from_secs(u64::from(days) * 86_400)),
            access: Access {
                public_url: args.public_url.clone().or(site.public_url),
                names: site.names,
                proxies: if args.proxy.is_empty() { site.proxies } else { args.proxy.clone() },
                limits: site.limits.over(Limits::USUAL),
            },
            callbacks: site.callbacks.over(AllowedCallbacks::default(), &args.callback_network),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn wanted(words: &[&str], site: &str) -> ServeSettings {
        let line = Line::parse_from(["serve"].iter().chain(words));
        ServeSettings::merged(&line.serve, toml::from_str(site).expect("a section"))
    }

    #[test]
    fn the_command_line_wins() {
        let usual = wanted(&[], "");
        assert_eq!((usual.listen, usual.grace), (LISTEN, Duration::from_secs(GRACE)));
        assert_eq!((usual.database.as_deref(), usual.accounts, usual.retention), (None, false, None));
        let site = "listen = '10.0.0.1:80'\ndatabase = 'a.db'\ngrace_seconds = 5\nlog = 'json'\naccounts = true\nattempts = 5\nretention_days = 2";
        let of_site = wanted(&[], site);
        assert_eq!((of_site.listen.port(), of_site.grace), (80, Duration::from_secs(5)));
        assert_eq!(
            (of_site.database.as_deref(), of_site.accounts, of_site.log),
            (Some("a.db"), true, LogForm::Json)
        );
        assert_eq!((usual.attempts, of_site.attempts), (2, 5));
        assert_eq!(of_site.retention, Some(Duration::from_secs(172_800)));
        assert_eq!(of_site.nats, None);
        let nats =
            wanted(&["--nats-ca", "b.pem"], "nats = 'nats://a'\nnats_creds = 'a.creds'\nnats_ca = 'a.pem'");
        let nats = nats.nats.expect("brokers");
        assert_eq!(
            (&*nats.url, nats.creds, nats.ca),
            ("nats://a", Some("a.creds".into()), Some("b.pem".into()))
        );
        let limits = "proxies = ['::1']\n[limits]\nqueued = 7\nrequests = { burst = 1, per_minute = 2 }";
        let access = wanted(&[], limits).access;
        assert_eq!((access.proxies.len(), access.limits.queued), (1, 7));
        assert_eq!(access.limits.requests, Rate { burst: 1, per_minute: 2 });
        assert_eq!(access.limits.submissions, Limits::USUAL.submissions);
        let callbacks = "[callbacks]\nnetworks = ['10.1.0.0/16']\nports = [443, [8000, 8999]]";
        let callbacks = wanted(&["--callback-network", "fd00::1"], callbacks).callbacks;
        let networks: Vec<String> = callbacks.networks.iter().map(Network::to_string).collect();
        assert_eq!(networks, ["10.1.0.0/16", "fd00::1/128"]);
        assert_eq!(callbacks.ports, [443..=443, 8000..=8999]);
        let typed =
            wanted(&["--listen", "[::1]:81", "--database", "b.db", "--grace", "6", "--log", "text"], site);
        assert_eq!((typed.listen.port(), typed.grace), (81, Duration::from_secs(6)));
        assert_eq!(
            (typed.database.as_deref(), typed.accounts, typed.log),
            (Some("b.db"), true, LogForm::Text)
        );
    }
}
