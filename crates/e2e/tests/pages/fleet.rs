//! The pages of a fleet.

use super::Visit;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// A strict pool and its nodes: their pages, a node that is drained and returned, and what a suspected one judged, again.
pub(super) fn look_at(visit: &mut Visit) {
    let database = visit.data.path().join("service/tautochrone.db").display().to_string();
    let file = visit.data.path().join("metal.toml");
    let definition = "name = \"metal\"\nkind = \"strict\"\nhelps_after_secs = 60\n[definition.equal]\nkernel = [\"6.12.48\"]\n\
        cpu_model = [\"Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz\"]\n[definition.index.dram_ns]\nvalue = 90.0\ntolerance_pct = 2.0\n";
    std::fs::write(&file, definition).expect("a pool's file");
    let file = file.display().to_string();
    let said = |words: &[&str]| {
        let mut command = Command::new(e2e::tauto::binary().expect("tauto"));
        command.args(words).args(["--database", &database, "--json"]);
        e2e::tauto::run(&mut command, true, Duration::from_secs(30))
            .expect("tauto")
            .document()
            .expect("a document")
    };
    assert_eq!(said(&["pool", "add", "metal", "--file", &file])["kind"], "strict");
    let contest = [
        "contest",
        "set",
        "finals",
        "--pool",
        "metal",
        "--strictness",
        "relaxed-then-strict",
        "--at-once",
        "9",
    ];
    assert_eq!(said(&contest)["strictness"], "relaxed_then_strict");
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fleet_rows.py");
    let made = Command::new("python3").arg(rows).arg(&database).output().expect("python3");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = said(&["node", "list"]);
    let standing = |name: &str| {
        let nodes = told["nodes"].as_array().expect("nodes");
        nodes.iter().find(|node| node["name"] == name).map_or(Value::Null, |node| node["standing"].clone())
    };
    assert_eq!((standing("judge7"), standing("judge8")), ("drained".into(), "active".into()));
    visit.open("/pools");
    visit.look("pools");
    visit.look_dark("pools");
    visit.open("/queue");
    visit.look("queue");
    visit.open("/hosts");
    visit.look("hosts-fleet");
    visit.open("/nodes/judge9-with-a-rather-long-name-as-clouds-give-them-to-machines");
    assert_eq!(
        visit.script("return document.querySelectorAll('td .tag.bad').length"),
        2,
        "kernel and dram_ns"
    );
    visit.look("node-waits");
    visit.open("/nodes/judge8");
    visit.type_into("#why", "new memory");
    visit.click("form[action$=drain] button");
    visit.wait_for("document.querySelector('form[action$=return]')");
    visit.look("node-drained");
    visit.click("form[action$=return] button");
    visit.wait_for("document.querySelector('form[action$=drain]')");
    visit.open("/nodes/judge7");
    assert_eq!(visit.script("return document.querySelectorAll('meter').length"), 8, "tests");
    assert_eq!(visit.script("return document.querySelectorAll('.chart svg').length"), 2, "core and memory");
    visit.script("document.getElementById('measurements').open = true");
    visit.look("node-suspected");
    visit.look_dark("node-suspected");
    visit.click("form[action$=rejudge] button");
    visit.wait_for("location.pathname.startsWith('/rejudge/')");
    visit.look("rejudging-suspects");
    visit.open("/queue");
    visit.look("queue-at-work");
}
