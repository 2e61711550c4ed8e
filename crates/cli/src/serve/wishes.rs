//! What a site wishes of its service: the command line over the configuration file over what is usual.

use super::ServeArgs;
use crate::config::Config;
use crate::log::LogForm;
use crate::terminal::Failure;
use serde::Deserialize;
use std::net::SocketAddr;
use std::time::Duration;

/// The section `[serve]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServeWishes {
    /// Address and port of HTTP.
    pub(crate) listen: Option<SocketAddr>,
    /// The database: a file, or postgres://….
    pub(crate) database: Option<String>,
    /// User of the web process.
    pub(crate) user: Option<String>,
    /// Everybody must sign in.
    pub(crate) accounts: bool,
    /// Seconds that judging may go on when the service is to end.
    pub(crate) grace_seconds: Option<u64>,
    /// How log lines are written.
    pub(crate) log: Option<LogForm>,
    /// Sources, runs and outputs of submissions, and samples of nodes, are kept this long; for good where absent.
    pub(crate) retention_days: Option<u32>,
}

impl ServeWishes {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.retention_days == Some(0) {
            return Err("serve.retention_days: must be 1 or more; leave it out to keep everything".into());
        }
        Ok(())
    }
}

/// What holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) listen: SocketAddr,
    pub(super) database: Option<String>,
    pub(super) user: Option<String>,
    pub(super) accounts: bool,
    pub(super) grace: Duration,
    pub(super) log: LogForm,
    pub(super) retention: Option<Duration>,
}

/// Where the service listens unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// Seconds of grace likewise.
const GRACE: u64 = 20;

impl Wanted {
    pub(super) fn read(args: &ServeArgs) -> Result<Wanted, Failure> {
        Ok(Wanted::of(args, Config::read()?.serve))
    }

    fn of(args: &ServeArgs, site: ServeWishes) -> Wanted {
        Wanted {
            listen: args.listen.or(site.listen).unwrap_or(LISTEN),
            database: args.database.clone().or(site.database),
            user: args.user.clone().or(site.user),
            accounts: args.accounts || site.accounts,
            grace: Duration::from_secs(args.grace.or(site.grace_seconds).unwrap_or(GRACE)),
            log: args.log.or(site.log).unwrap_or(LogForm::Text),
            retention: site.retention_days.map(|days| Duration::from_secs(u64::from(days) * 86_400)),
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

    fn wanted(words: &[&str], site: &str) -> Wanted {
        let line = Line::parse_from(["serve"].iter().chain(words));
        Wanted::of(&line.serve, toml::from_str(site).expect("a section"))
    }

    #[test]
    fn the_command_line_wins() {
        let usual = wanted(&[], "");
        assert_eq!((usual.listen, usual.grace), (LISTEN, Duration::from_secs(GRACE)));
        assert_eq!((usual.database.as_deref(), usual.accounts, usual.retention), (None, false, None));
        let site = "listen = '10.0.0.1:80'\ndatabase = 'a.db'\ngrace_seconds = 5\nlog = 'json'\naccounts = true\nretention_days = 2";
        let of_site = wanted(&[], site);
        assert_eq!((of_site.listen.port(), of_site.grace), (80, Duration::from_secs(5)));
        assert_eq!((of_site.database.as_deref(), of_site.accounts, of_site.log), (Some("a.db"), true, LogForm::Json));
        assert_eq!(of_site.retention, Some(Duration::from_secs(172_800)));
        let typed = wanted(&["--listen", "[::1]:81", "--database", "b.db", "--grace", "6", "--log", "text"], site);
        assert_eq!((typed.listen.port(), typed.grace), (81, Duration::from_secs(6)));
        assert_eq!((typed.database.as_deref(), typed.accounts, typed.log), (Some("b.db"), true, LogForm::Text));
    }
}
