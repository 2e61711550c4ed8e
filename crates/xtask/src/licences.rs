//! What the released binary is made of may be shipped: licences and sources of all dependencies, by the lists of deny.toml, and none that it bans.

use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use toml::Table;

/// What is not allowed, a line for each package.
///
/// # Errors
/// cargo or deny.toml cannot be read.
pub fn dependencies_may_be_shipped(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let deny: Table = text.parse().map_err(|e| format!("deny.toml: {e}"))?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["metadata", "--format-version=1", "--locked", "--offline"]);
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{command:?}: {e}"))?;
    refused(&metadata, &deny)
}

fn list<'a>(deny: &'a Table, section: &str, key: &str) -> Result<BTreeSet<&'a str>, String> {
    let found = deny.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_array);
    let found = found.ok_or_else(|| format!("deny.toml: no list {section}.{key}"))?;
    Ok(found.iter().filter_map(toml::Value::as_str).collect())
}

/// Licences that are allowed for one package alone.
fn exceptions<'a>(deny: &'a Table, package: &Value) -> BTreeSet<&'a str> {
    let all = deny.get("licenses").and_then(|section| section.get("exceptions"));
    let all = all.and_then(toml::Value::as_array).into_iter().flatten();
    let own = all
        .filter(|exception| exception.get("crate").and_then(toml::Value::as_str) == package["name"].as_str());
    let lists = own.filter_map(|exception| exception.get("allow").and_then(toml::Value::as_array));
    lists.flatten().filter_map(toml::Value::as_str).collect()
}

/// Crates that deny.toml bans, with its reasons.
fn banned(deny: &Table) -> Result<BTreeMap<&str, &str>, String> {
    let found = deny.get("bans").and_then(|bans| bans.get("deny")).and_then(toml::Value::as_array);
    let found = found.ok_or("deny.toml: no list bans.deny")?;
    found
        .iter()
        .map(|entry| Some((entry.get("crate")?.as_str()?, entry.get("reason")?.as_str()?)))
        .collect::<Option<_>>()
        .ok_or_else(|| "deny.toml: an entry of bans.deny has no `crate` or no `reason`".into())
}

fn refused(metadata: &Value, deny: &Table) -> Result<Vec<String>, String> {
    let (allowed, registries) = (list(deny, "licenses", "allow")?, list(deny, "sources", "allow-registry")?);
    let banned = banned(deny)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let why = |package: &Value| {
        // Ours has none.
        let source = package["source"].as_str()?;
        if !source.strip_prefix("registry+").is_some_and(|registry| registries.contains(registry)) {
            return Some(format!("comes from {source}"));
        }
        if let Some(reason) = banned.get(package["name"].as_str().unwrap_or_default()) {
            return Some(format!("is banned: {reason}"));
        }
        let Some(licence) = package["license"].as_str() else { return Some("names no licence".into()) };
        let excepted = exceptions(deny, package);
        let may = |part: &str| allowed.contains(part) || excepted.contains(part);
        match Expression::parse_mode(licence, ParseMode::LAX) {
            Err(e) => Some(format!("its licence cannot be read: {e}")),
            Ok(expression) => (!expression.evaluate(|part| may(part.to_string().as_str())))
                .then(|| format!("its licence {licence} is not allowed")),
        }
    };
    let line = |package: &Value| {
        let name = |key: &str| package[key].as_str().unwrap_or("?").to_string();
        Some(format!("{} {}: {}", name("name"), name("version"), why(package)?))
    };
    Ok(packages.iter().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn licences_sources_and_bans_are_held_to_the_lists() {
        let deny = "[licenses]\nallow = ['MIT', 'Zlib']\nexceptions = [{crate = 'i', allow = ['ISC']}]\n\
                    [sources]\nallow-registry = ['https://r']\n[bans]\ndeny = [{ crate = 'k', reason = 'no C' }]\n";
        let deny: Table = deny.parse().unwrap();
        let package = |name: &str, source: &str, licence: &str| json!({"name": name, "version": "1", "source": source, "license": licence});
        let good = [
            ("a", "MIT"),
            ("b", "GPL-3.0-only OR MIT"),
            ("c", "MIT AND Zlib"),
            ("d", "MIT/GPL-2.0"),
            ("i", "ISC AND MIT"),
        ];
        let bad = [
            ("e", "GPL-3.0-only"),
            ("f", "MIT AND GPL-3.0-only"),
            ("g", "no licence at all"),
            ("j", "ISC"),
            ("k", "MIT"),
        ];
        let all = good.iter().chain(&bad).map(|(name, licence)| package(name, "registry+https://r", licence));
        let elsewhere = package("h", "git+https://example.org/h", "MIT");
        let own = json!({"name": "ours", "version": "1", "source": null, "license": null});
        let metadata = json!({"packages": all.chain([elsewhere, own]).collect::<Vec<_>>()});
        let refused = refused(&metadata, &deny).unwrap();
        let names: String = refused.iter().filter_map(|line| line.chars().next()).collect();
        assert_eq!(names, "efgjkh", "{refused:#?}");
        assert!(super::refused(&metadata, &Table::new()).is_err());
    }
}
