//! `tauto numa`: the map of recorded machines and of this one, and masks both ways, as scripts see them.

use e2e::tauto::{self, Ended};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn numa(arguments: &[&str]) -> Ended {
    let mut command = Command::new(tauto::binary().expect("the binary"));
    tauto::run(command.arg("numa").args(arguments), false, PATIENCE).expect("tauto numa")
}

fn recorded(name: &str) -> String {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/machines/numa");
    machines.join(name).with_extension("txt").to_string_lossy().into_owned()
}

fn topology(name: &str) -> Value {
    let ended = numa(&["topology", "--json", "--root", &recorded(name)]);
    assert_eq!((ended.code(), &*ended.stderr), (Ok(0), ""), "{name}");
    ended.document().expect("a document")
}

#[test]
fn two_nodes_with_cpus_numbered_alternately() {
    let document = topology("two-nodes-alternating");
    let gib = |n: u64| n << 30;
    let node = |id: u64, cpus: [u64; 4], free| json!({"id": id, "cpus": cpus, "packages": [id], "memory_bytes": gib(12), "free_bytes": gib(free)});
    assert_eq!(document["nodes"], json!([node(0, [0, 2, 4, 6], 9), node(1, [1, 3, 5, 7], 11)]));
    assert_eq!(document["distances"], json!([[10, 20], [20, 10]]));
}

#[test]
fn other_shapes_of_machines() {
    let eight = topology("eight-packages");
    assert_eq!(eight["nodes"].as_array().map(Vec::len), Some(8));
    assert_eq!(eight["distances"][0], json!([10, 21, 21, 31, 21, 31, 31, 21]));
    let clusters = topology("sub-clusters");
    assert_eq!(clusters["nodes"][1]["packages"], json!([0]));
    assert!(
        clusters["notes"][0].as_str().is_some_and(|note| note.contains("package 0 is nodes 0-1")),
        "{clusters}"
    );
    let expansion = topology("memory-only-node");
    assert_eq!(
        (&expansion["nodes"][1]["memory_bytes"], &expansion["nodes"][2]["id"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(expansion["nodes"][2]["cpus"], json!([]));
    let offline = topology("offline-cpus");
    assert_eq!(offline["offline_cpus"], json!([3, 4, 5, 6, 7]));
}

/// Nodes, CPUs and memory of this machine are what the kernel says; with one node there is nothing to diagnose.
#[test]
fn this_machine() {
    let ended = numa(&["topology", "--json"]);
    assert_eq!((ended.code(), &*ended.stderr), (Ok(0), ""));
    let document = ended.document().expect("a document");
    let nodes = document["nodes"].as_array().expect("nodes");
    let cpus: usize = nodes.iter().filter_map(|node| node["cpus"].as_array()).map(Vec::len).sum();
    let online = fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
    assert_eq!(cpus, online.lines().filter(|line| line.starts_with("processor")).count(), "{document:#}");
    assert!(nodes.iter().all(|node| node["memory_bytes"].as_u64().is_some()), "{document:#}");
    let nothing = ended.stdout.contains("nothing to diagnose");
    let with_memory = nodes.iter().filter(|node| node["memory_bytes"] != 0).count();
    assert_eq!(nothing, with_memory < 2, "{document:#}");
}

#[test]
fn a_picture_beside_the_table() {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numa.svg");
    let file = path.to_string_lossy();
    let ended = numa(&["topology", "--root", &recorded("sub-clusters"), "--svg", &file]);
    assert_eq!(ended.code(), Ok(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("4 memory nodes, 2 packages, 8 cores, 16 CPUs"), "{}", ended.stdout);
    let svg = fs::read_to_string(&path).expect("the picture");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    for words in ["package 1", "node 3", "CPU 7, 15", "prefers-color-scheme: dark"] {
        assert!(svg.contains(words), "{words}");
    }
    let nowhere = numa(&["topology", "--svg", "/nowhere/numa.svg"]);
    assert_eq!(nowhere.code(), Ok(2));
    assert!(nowhere.stderr.contains("/nowhere/numa.svg"), "{}", nowhere.stderr);
}

#[test]
fn masks_both_ways() {
    let decoded = numa(&["decode", "0x20ff", "--cpu", "nehalem", "--json"]);
    let words = ["--request", "ANY_REQUEST", "--response", "REMOTE_DRAM", "--cpu", "Nehalem", "--json"];
    let encoded = numa(&[&["encode"][..], &words].concat());
    assert_eq!((decoded.code(), encoded.code()), (Ok(0), Ok(0)));
    assert_eq!(decoded.document(), encoded.document());
    let document = decoded.document().expect("a document");
    let fields = json!([
        document["mask"],
        document["generation"],
        document["response"],
        document["name"],
        document["valid"],
        document["why"]
    ]);
    assert_eq!(fields, json!(["0x20ff", "nehalem", ["REMOTE_DRAM"], "ANY_REQUEST.REMOTE_DRAM", true, null]));
    assert_eq!(document["perf"][1], "cpu/config=0x1b7,config1=0x20ff/");
    let people =
        numa(&["encode", "--request", "demand_data_rd", "--response", "remote_dram", "--cpu", "skx"]);
    assert!(people.stdout.starts_with("0x63b800001 on Skylake-SP"), "{}", people.stdout);
}

#[test]
fn what_counts_nothing_and_what_is_wrong() {
    for (arguments, code, says) in [
        (&["decode", "0xff", "--cpu", "nehalem"][..], 1, "no response bit"),
        (&["decode", "0x400001", "--cpu", "haswellx"], 1, "no snoop bit"),
        (
            &["encode", "--request", "DEMAND_DATA_RD", "--response", "SNOOP_MISS", "--cpu", "icx"],
            1,
            "no supplier bit",
        ),
        (&["decode", "20ff", "--cpu", "nehalem"], 2, "0x20ff"),
        (&["decode", "0x1", "--cpu", "pentium"], 2, "nehalem, westmere"),
        (&["encode", "--request", "X", "--response", "REMOTE_DRAM", "--cpu", "nehalem"], 2, "DEMAND_DATA_RD"),
        (&["encode", "--request", "ANY_REQUEST", "--cpu", "nehalem"], 2, "--response"),
        (&["topology", "--root", "absent"], 2, "absent"),
    ] {
        let ended = numa(arguments);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code(), Ok(code), "{arguments:?}: {told}");
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
    let refused = numa(&["decode", "0xff", "--cpu", "nehalem", "--json"]).document().expect("a document");
    assert_eq!((&refused["valid"], &refused["name"]), (&json!(false), &json!(null)));
}

/// Without `--cpu` it is this processor's generation, or the generations are listed.
#[test]
fn the_generation_of_this_processor() {
    let ended = numa(&["decode", "0x1", "--json"]);
    match ended.code() {
        Ok(2) => assert!(ended.stderr.contains("--cpu: nehalem"), "{}", ended.stderr),
        Ok(0 | 1) => {
            let document = ended.document().expect("a document");
            let cpuinfo = fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
            let zen = document["generation"].as_str().is_some_and(|id| id.starts_with("zen"));
            assert_eq!(zen, cpuinfo.contains("AuthenticAMD"), "{document}");
        }
        code => panic!("{code:?}: {}", ended.stderr),
    }
}

/// Counts of a Nehalem, as they were recorded: each kind of request on each CPU, those of CPU 1 counted for half of the time.
fn recording(remote: u64) -> Value {
    let kinds = [0xff, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80];
    let count = |cpu: u64, mask: u64, value: u64| {
        let running = if cpu == 1 { 500_000_000 } else { 1_000_000_000 };
        json!({"cpu": cpu, "config": 0x1b7, "config1": mask, "value": value, "running_ns": running})
    };
    let counts: Vec<Value> = (0..2)
        .flat_map(|cpu| {
            kinds.iter().flat_map(move |kind| {
                [
                    count(cpu, kind | 0x4000, 1000),
                    count(cpu, kind | 0x2000, if cpu == 1 { remote } else { 0 }),
                ]
            })
        })
        .collect();
    json!({"generation": "nehalem", "ran_ns": {"0": 1_000_000_000, "1": 1_000_000_000}, "counts": counts})
}

/// What the processor has counted goes through the whole program, from the events to the document, with turns told.
#[test]
fn counters_are_believed_and_their_turns_are_told() {
    let directory = tempfile::tempdir().expect("directory");
    let write = |name: &str, value: &Value| {
        let path = directory.path().join(name);
        fs::write(&path, value.to_string()).expect("write");
        path.to_string_lossy().into_owned()
    };
    let path = write("counts", &recording(1000));
    let page = directory.path().join("page.html");
    let page_name = page.to_string_lossy().into_owned();
    let work = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let trace = |counters: &str| {
        let arguments = ["trace", "--json", "--no-latency", "--html", &page_name, "--counters", counters];
        numa(&[&arguments[..], &["--", "sh", "-c", work]].concat())
    };
    let ended = trace(&path);
    let document = ended.document().expect("a document");
    assert_eq!(
        (&document["method"], &document["no_counters"]),
        (&json!("counters"), &Value::Null),
        "{document}"
    );
    let cpus = document["cpus"].as_array().expect("CPUs");
    let [zero, one] = [0, 1].map(|cpu| cpus.iter().find(|row| row["cpu"] == cpu).expect("a CPU"));
    assert_eq!((&zero["local"], &zero["remote_pct"]), (&json!(1000.0), &json!(0.0)));
    // Counted for half of the time: twice as many.
    assert_eq!(
        (&one["local"], &one["remote"], &one["remote_pct"]),
        (&json!(2000.0), &json!(2000.0), &json!(50.0))
    );
    let kinds = one["kinds"].as_array().expect("kinds");
    assert_eq!(kinds.len(), 9);
    assert!(kinds.iter().all(|kind| kind["counted_pct"] == 50.0), "{kinds:?}");
    let html = fs::read_to_string(&page).expect("page");
    assert!(html.contains("PF_IFETCH") && html.contains("50.0 % remote"));
    if document["nodes"].as_array().map(Vec::len) == Some(1) {
        assert_eq!((ended.code(), &document["verdict"]), (Ok(0), &json!("works_right")));
        assert!(document["because"].as_str().is_some_and(|why| why.contains("nothing to diagnose")));
    }
    // A recording of which something is missing, or of a processor nobody knows: the other way, and why.
    let mut short = recording(0);
    short["counts"].as_array_mut().expect("counts").truncate(3);
    let unknown = json!({"generation": "abacus", "ran_ns": {}, "counts": []});
    for (name, bad, part) in [("short", short, "has no event"), ("unknown", unknown, "abacus")] {
        let document = trace(&write(name, &bad)).document().expect("a document");
        assert_eq!(document["method"], "placement", "{name}");
        assert!(document["no_counters"].as_str().is_some_and(|why| why.contains(part)), "{document}");
    }
}
