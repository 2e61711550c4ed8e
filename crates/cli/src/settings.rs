//! `tauto config`: every value of the site's configuration and where it comes from, and a strict check of the file.

use crate::Done;
use crate::config::{self, Config, NATS};
use crate::inputs;
use crate::terminal::{Failure, print};
use clap::{Args, Subcommand};
use report::json::to_text;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show every key with its value and where the value comes from
    Show,
    /// Check a configuration file: unknown keys, wrong types, values out of range
    Check {
        /// Configuration file to check [default: the one in use]
        file: Option<PathBuf>,
    },
}

pub(crate) fn main(args: &ConfigArgs) -> Result<Done, Failure> {
    match &args.action {
        Action::Show => show(args.json),
        Action::Check { file } => check(file.clone(), args.json),
    }
}

/// One key of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Key {
    /// With its section, such as `serve.listen`.
    key: String,
    /// Null where nothing is set.
    value: Value,
    /// `default`, `file` or `environment NAME`.
    origin: String,
}

#[derive(Serialize)]
struct ShowDocument<'a> {
    /// The file that was read; null where there is none.
    file: Option<PathBuf>,
    keys: &'a [Key],
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    file: &'a PathBuf,
    ok: bool,
    error: Option<String>,
}

/// Which file is in use, in words.
pub(crate) fn origin() -> String {
    let file = config::file();
    match file.exists() {
        true => file.display().to_string(),
        false => format!("defaults; {} does not exist", file.display()),
    }
}

fn show(json: bool) -> Result<Done, Failure> {
    let (config, file) = (Config::read()?, config::file());
    let text = inputs::text(&file).unwrap_or_default();
    let named: toml::Table = text.parse().map_err(Failure::usage)?;
    let environment = std::env::var(NATS).ok().filter(|url| !url.is_empty());
    let keys = keys(&config, &named, environment.as_deref()).map_err(Failure::system)?;
    if json {
        let file = Some(file).filter(|file| file.exists());
        print(&to_text(&ShowDocument { file, keys: &keys }));
        return Ok(Done::Good);
    }
    let lines: Vec<(String, &str)> = keys.iter().map(|key| (line(key), &*key.origin)).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default().min(60);
    let lines = lines.iter().map(|(line, origin)| format!("{line:<width$}  # {origin}\n"));
    print(&format!("# {}\n{}", origin(), lines.collect::<String>()));
    Ok(Done::Good)
}

fn check(file: Option<PathBuf>, json: bool) -> Result<Done, Failure> {
    let named = file.is_some();
    let file = file.unwrap_or_else(config::file);
    let found = match inputs::text(&file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !named => Ok(()),
        Err(e) => return Err(Failure::usage(format!("{}: {e}", file.display()))),
        Ok(text) => config::parse(&text).map(|_| ()),
    };
    match (json, &found) {
        (true, _) => {
            let error = found.as_ref().err().cloned();
            print(&to_text(&CheckDocument { file: &file, ok: found.is_ok(), error }));
        }
        (false, Ok(())) if file.exists() => print(&format!("{}: ok\n", file.display())),
        (false, Ok(())) => print(&format!("{}: does not exist; defaults apply\n", file.display())),
        (false, Err(why)) => {
            print(&format!("{}: {why}\nhint: {}\n", file.display(), config::EVERY_KEY));
        }
    }
    Ok(if found.is_ok() { Done::Good } else { Done::Bad })
}

/// Every key, in the order of the sections. `named` is what the file says, `environment` the value of `TAUTO_NATS`.
fn keys(
    config: &Config,
    named: &toml::Table,
    environment: Option<&str>,
) -> Result<Vec<Key>, serde_json::Error> {
    let mut found = Vec::new();
    leaves("", &serde_json::to_value(config.clone().or_default())?, &mut found);
    let origin = |key: &str| {
        let in_file = key.split('.').try_fold(None, |at: Option<&toml::Value>, part| match at {
            None => Some(named.get(part)),
            Some(section) => Some(section.as_table()?.get(part)),
        });
        if in_file.flatten().is_some() { "file".to_string() } else { "default".to_string() }
    };
    let key = |(key, value): (String, Value)| match environment.filter(|_| key == "serve.nats") {
        Some(url) => Key { value: without_password(url).into(), origin: format!("environment {NATS}"), key },
        None => Key {
            value: value.as_str().map_or_else(|| value.clone(), |text| without_password(text).into()),
            origin: origin(&key),
            key,
        },
    };
    Ok(found.into_iter().map(key).collect())
}

/// Values below the sections of a configuration; a rate is one value.
fn leaves(prefix: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(section) if !section.contains_key("burst") => {
            for (name, value) in section {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&key, value, found);
            }
        }
        leaf => found.push((prefix.to_string(), leaf.clone())),
    }
}

/// An address as people may see it.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let hide = |place: &str| match place.rsplit_once('@') {
        Some((user, host)) => format!("{}:…@{host}", user.split(':').next().unwrap_or_default()),
        None => place.to_string(),
    };
    // PostgreSQL takes it as a parameter, too (its documentation, "Connection URIs").
    let hide_value = |parameter: &str| match parameter.split_once("password=") {
        Some((before, _)) => format!("{before}password=…"),
        None => parameter.to_string(),
    };
    let shown = rest.split('&').map(hide_value).collect::<Vec<_>>().join("&");
    format!("{scheme}://{}", shown.split(',').map(hide).collect::<Vec<_>>().join(","))
}

/// As the file would say it.
fn line(key: &Key) -> String {
    match toml_value(&key.value) {
        Some(value) => format!("{} = {value}", key.key),
        None => format!("# {} is not set", key.key),
    }
}

/// A value as TOML writes it in one line; `None` for null.
fn toml_value(value: &Value) -> Option<String> {
    let list = |values: &[Value]| values.iter().filter_map(toml_value).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => None,
        Value::Array(values) => Some(format!("[{}]", list(values))),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| Some(format!("{name} = {}", toml_value(value)?));
            Some(format!("{{ {} }}", fields.iter().filter_map(field).collect::<Vec<_>>().join(", ")))
        }
        // Strings of JSON are strings of TOML.
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The file that is shipped: prose behind `# `, keys behind `#`.
    const SHIPPED: &str = include_str!("../../../packaging/tautochrone.toml");

    fn uncommented() -> String {
        let key = |line: &str| {
            line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        let line = |line: &'static str| if key(line) { &line[1..] } else { line };
        SHIPPED.lines().map(|text| format!("{}\n", line(text))).collect()
    }

    fn by_name(text: &str) -> BTreeMap<String, Key> {
        let config = config::parse(text).expect("a configuration");
        let named = text.parse().expect("TOML");
        let keys = keys(&config, &named, None).expect("keys");
        keys.into_iter().map(|key| (key.key.clone(), key)).collect()
    }

    #[test]
    fn the_shipped_file_has_every_key_and_its_default() {
        let (usual, named) = (by_name(""), by_name(&uncommented()));
        for (name, key) in &usual {
            assert_eq!(
                (&*key.origin, &*named[name].origin),
                ("default", "file"),
                "{name} is not in the shipped file"
            );
            if !key.value.is_null() {
                assert_eq!(key.value, named[name].value, "{name}: the shipped file has another default");
            }
        }
        assert_eq!(by_name(SHIPPED), usual, "the shipped file changes nothing");
        assert!(usual.len() > 25, "{usual:?}");
    }

    #[test]
    fn what_is_shown_is_a_configuration() {
        let text = "[serve]\nlisten = '10.0.0.1:80'\nproxies = ['::1']\n[serve.limits]\nqueued = 7\nrequests = { burst = 1, per_minute = 2 }\n";
        let keys = by_name(text);
        assert_eq!((&*keys["serve.listen"].origin, &*keys["serve.log"].origin), ("file", "default"));
        assert_eq!(keys["serve.limits.queued"].value, 7);
        let shown: String = keys.values().map(|key| format!("{}\n", line(key))).collect();
        assert!(shown.contains("serve.limits.requests = { burst = 1, per_minute = 2 }\n"), "{shown}");
        assert!(shown.contains("# serve.nats is not set\n"), "{shown}");
        let again = config::parse(&shown).expect("what is shown is read again");
        assert_eq!(again.or_default(), config::parse(text).unwrap().or_default());
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://a:b@c/d", "postgres://a:…@c/d"),
            ("nats://a:b@c,e:f@g:4222", "nats://a:…@c,e:…@g:4222"),
            ("nats://c", "nats://c"),
            ("postgres://c/d?password=b@,b&user=a", "postgres://c/d?password=…&user=a"),
            (
                "postgres://a:b?b@c/d?sslmode=require&sslpassword=b",
                "postgres://a:…@c/d?sslmode=require&sslpassword=…",
            ),
            ("/var/lib/x.db", "/var/lib/x.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let config = Config::default();
        let keys = keys(&config, &toml::Table::new(), Some("nats://u:secret@h")).unwrap();
        let nats = keys.iter().find(|key| key.key == "serve.nats").unwrap();
        assert_eq!((nats.value.as_str(), &*nats.origin), (Some("nats://u:…@h"), "environment TAUTO_NATS"));
    }
}
