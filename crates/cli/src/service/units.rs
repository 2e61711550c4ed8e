//! The systemd units of `packaging/` say to this program what it understands, and agree with each other.

use crate::Cli;
use crate::config::OF_ROOT;
use crate::service::serve::{DATABASE, SERVICE};
use clap::CommandFactory;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A unit: the values of each `Section.Key`, in the order in which they stand.
type Unit = BTreeMap<String, Vec<String>>;

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(packaging().join(name)).unwrap_or_else(|e| panic!("packaging/{name}: {e}"))
}

/// Reads a unit (systemd.syntax(7)); none of ours continues a line.
fn parse(text: &str) -> Unit {
    let mut unit = Unit::new();
    let mut section = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        assert!(!line.ends_with('\\'), "{line}");
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => section = name,
            None => {
                let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("no assignment: {line}"));
                unit.entry(format!("{section}.{key}")).or_default().push(value.into());
            }
        }
    }
    unit
}

fn one<'a>(unit: &'a Unit, key: &str) -> &'a str {
    match unit.get(key).map(Vec::as_slice) {
        Some([value]) => value,
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn every_command_of_a_unit_is_understood() {
    let mut commands = 0;
    for entry in std::fs::read_dir(packaging()).expect("packaging") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if !name.ends_with(".service") {
            continue;
        }
        let unit = parse(&text(&name));
        for (key, values) in &unit {
            if !key.starts_with("Service.Exec") {
                continue;
            }
            for line in values {
                let words: Vec<&str> = line.split(' ').collect();
                assert_eq!(words.first(), Some(&"/usr/bin/tauto"), "{name}: {line}");
                let read = Cli::command().try_get_matches_from(words);
                read.unwrap_or_else(|e| panic!("{name}: {line}: {e}"));
                commands += 1;
            }
        }
        assert_eq!(one(&unit, "Service.Environment"), format!("TAUTO_DATA_DIR={OF_ROOT}"), "{name}");
    }
    assert!(commands >= 4, "{commands}");
}

#[test]
fn the_units_of_the_service_agree() {
    let (web, worker) = (parse(&text("tautochrone-web.service")), parse(&text("tautochrone-worker.service")));
    let directory = format!("{OF_ROOT}/{SERVICE}");
    let serves = one(&web, "Service.ExecStart");
    assert!(serves.ends_with(&format!("serve --web --directory {directory}")), "{serves}");
    let works = one(&worker, "Service.ExecStart");
    assert!(
        works.ends_with(&format!("worker --connect {directory}/{}", crate::service::serve::SOCKET)),
        "{works}"
    );
    assert_eq!(one(&web, "Service.StandardInput"), "socket");
    assert_eq!(one(&web, "Service.ReadWritePaths"), directory);
    let user = one(&web, "Service.User");
    let (users, files) = (text("tautochrone.sysusers"), text("tautochrone.tmpfiles"));
    assert!(users.lines().any(|line| line.starts_with(&format!("u {user} "))), "{users}");
    assert!(files.contains(&format!("d {directory} 0700 {user} {user} -")), "{files}");
    assert!(files.contains(&format!("d {OF_ROOT} 0755 root root -")), "{files}");
    assert!(!DATABASE.contains('/'), "the database lies in the service's directory");
}

#[test]
fn the_web_unit_holds_no_privilege_and_the_worker_no_network() {
    let (web, worker) = (parse(&text("tautochrone-web.service")), parse(&text("tautochrone-worker.service")));
    for (key, value) in [
        ("Service.CapabilityBoundingSet", ""),
        ("Service.AmbientCapabilities", ""),
        ("Service.NoNewPrivileges", "yes"),
        ("Service.ProtectSystem", "strict"),
        ("Service.PrivateDevices", "yes"),
        ("Service.RestrictNamespaces", "yes"),
    ] {
        assert_eq!(one(&web, key), value, "{key}");
    }
    // Workers are known by their uid, which a user namespace of the web process would hide from it.
    assert!(!web.contains_key("Service.PrivateUsers"));
    assert!(!worker.contains_key("Service.User"), "sandboxes are made by root");
    assert_eq!(one(&worker, "Service.PrivateNetwork"), "yes");
    assert_eq!(one(&worker, "Service.Delegate"), "yes");
}
