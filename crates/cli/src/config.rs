//! Where tauto keeps its data, and the site's configuration.

use crate::inputs;
use crate::isolation::{IsolationMode, VmConfig};
use crate::service::ServeConfig;
use crate::terminal::Failure;
use model::{Clock, SecondOpinions};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Read where `TAUTO_CONFIG` names no other file; it need not exist.
const USUAL: &str = "/etc/tautochrone.toml";
/// The variable that names brokers, which may hold a password: other users see the arguments of processes, and not their variables.
pub(crate) const NATS: &str = "TAUTO_NATS";
/// What to do about a configuration with a mistake.
pub(crate) const EVERY_KEY: &str = "packaging/tautochrone.toml has every key with its default";
/// Root's data directory, whose locks everybody minds.
pub(crate) const OF_ROOT: &str = "/var/lib/tautochrone";
/// Where what can be found out again is kept by root.
const CACHE_OF_ROOT: &str = "/var/cache/tautochrone";

/// The site's configuration: strict TOML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// What times are measured by where neither the command nor the package says so.
    pub(crate) clock: Option<Clock>,
    /// Which results the reference clock judges too, where neither the command nor the package says so.
    pub(crate) second_opinion: Option<SecondOpinions>,
    /// What holds programs where the command does not say so.
    pub(crate) isolation: Option<IsolationMode>,
    /// How slots are planned.
    pub(crate) slots: host::slots::SlotsConfig,
    /// What is tuned.
    pub(crate) tune: host::tune::TuneConfig,
    /// How the service is run.
    pub(crate) serve: ServeConfig,
    /// Virtual machines around slots.
    pub(crate) vm: VmConfig,
}

impl Config {
    /// The file that `TAUTO_CONFIG` names, else the usual one, else nothing wished.
    pub(crate) fn read() -> Result<Config, Failure> {
        let (named, path) = (named(), file());
        let fail = |e: &dyn std::fmt::Display| Failure::usage(format!("{}: {e}", path.display()));
        match inputs::text(&path) {
            Ok(text) => parse(&text).map_err(|e| fail(&e).hint(EVERY_KEY)),
            Err(e) if named.is_none() && e.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
            Err(e) => Err(fail(&e)),
        }
    }

    /// With the defaults where nothing is set.
    pub(crate) fn or_default(self) -> Config {
        Config {
            clock: self.clock.or(Some(Clock::default())),
            second_opinion: self.second_opinion.or(Some(SecondOpinions::default())),
            isolation: self.isolation.or(Some(IsolationMode::default())),
            serve: self.serve.or_default(),
            ..self
        }
    }
}

/// The file that `TAUTO_CONFIG` names.
fn named() -> Option<PathBuf> {
    std::env::var_os("TAUTO_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// The file that is read, whether it exists or not.
pub(crate) fn file() -> PathBuf {
    named().unwrap_or_else(|| USUAL.into())
}

/// Reads a configuration, strictly: the error names line and key.
pub(crate) fn parse(text: &str) -> Result<Config, String> {
    // The error of the parser names line and field, over several lines.
    let config: Config = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_string())?;
    config.slots.check()?;
    config.tune.check()?;
    config.serve.check()?;
    config.vm.check()?;
    Ok(config)
}

/// The directory of database, packages, journal and locks: `TAUTO_DATA_DIR`, else root's or the user's usual place.
pub(crate) fn data_directory() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = set("TAUTO_DATA_DIR") {
        return Ok(named);
    }
    if rustix::process::geteuid().is_root() {
        return Ok(OF_ROOT.into());
    }
    let home = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let home = home.ok_or_else(|| {
        Failure::usage(
            "no place for data: neither TAUTO_DATA_DIR nor HOME is set\n\
             hint: set TAUTO_DATA_DIR to a directory that this user may write to",
        )
    })?;
    Ok(home.join("tautochrone"))
}

/// The directory of what can be found out again: `TAUTO_CACHE_DIR`, else root's or the user's usual place; none without a home.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = set("TAUTO_CACHE_DIR") {
        return Some(named);
    }
    if rustix::process::geteuid().is_root() {
        return Some(CACHE_OF_ROOT.into());
    }
    // A relative one is to be ignored (XDG Base Directory Specification).
    let usual = || Some(set("HOME")?.join(".cache"));
    let home = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(usual)?;
    Some(home.join("tautochrone"))
}

/// Directories in which slots are locked: ours first, then root's, which others mind too. One that was named by
/// `TAUTO_DATA_DIR` stands alone.
pub(crate) fn lock_directories() -> Result<Vec<PathBuf>, Failure> {
    let ours = data_directory()?;
    let named = std::env::var_os("TAUTO_DATA_DIR").is_some_and(|value| !value.is_empty());
    let roots = Some(PathBuf::from(OF_ROOT)).filter(|roots| !named && Path::new(roots) != ours);
    Ok([ours].into_iter().chain(roots).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_strict() {
        let parsed = parse("[slots]\ncores = 2\nhousekeeping = \"0-1\"\n").unwrap();
        assert_eq!((parsed.slots.cores, &*parsed.slots.housekeeping), (2, "0-1"));
        assert_eq!(parse("").unwrap(), Config::default());
        for (text, part) in [
            ("[slots]\ncoers = 2\n", "line 2"),
            ("[slots]\ncoers = 2\n", "coers"),
            ("[slots]\ncores = 0\n", "slots.cores"),
            ("[slots]\nhousekeeping = \"x\"\n", "`x`"),
            ("[slot]\n", "slot"),
            ("[serve]\nretention = 3\n", "line 2"),
            ("[serve]\nretention_days = 0\n", "serve.retention_days"),
            ("[serve.limits]\nqueued = 0\n", "serve.limits.queued"),
            ("[serve.limits]\nrequests = { burst = 5, per_minute = 0 }\n", "serve.limits.requests"),
            ("[serve.limits]\nrequests = 5\n", "requests"),
            ("[serve]\nlisten = \"8080\"\n", "listen"),
            ("[vm]\nmemory = 64\n", "vm.memory"),
            ("isolation = \"container\"\n", "isolation"),
            ("[tune]\nonly = [\"hyperthreads\"]\n", "unknown id `hyperthreads`"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
