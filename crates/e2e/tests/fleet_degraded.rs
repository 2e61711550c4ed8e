//! A machine that becomes worse while it works: one of three of a strict pool is held back by a CPU quota of a group around it, as a host does that
//! gives its guest less. It is found by its jobs, drained with the reason, and what it judged meanwhile is listed and judged again.

use e2e::fleet::{Fleet, PoolSetup, Setup, soon};
use e2e::service::submission;
use e2e::stage;
use e2e::traffic::{post, wait_judged};
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The machine.
const WHO: usize = 2;
/// Of a strict pool it is found by that many jobs in which it was held back. What it is at, and what is on its way to it, comes to that.
const FOUND_BY: u64 = 8;
const ON_THE_WAY: u64 = 4;
/// Submitted at a time.
const SOME: usize = 6;
const PATIENCE: Duration = Duration::from_secs(90);

/// A group of processes for whose CPU time there may be a quota, of version 1 or 2.
struct Group(PathBuf);

impl Group {
    fn new() -> Result<Group, String> {
        let name = format!("degraded-{}", std::process::id());
        let passed_on =
            |root: &Path| fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
        let of_cpu = |root: &Path| {
            root.join("cpu.shares").exists() || passed_on(root).split_whitespace().any(|name| name == "cpu")
        };
        let roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"].map(PathBuf::from);
        let root = roots.into_iter().find(|root| of_cpu(root)).ok_or("no hierarchy of the cpu controller")?;
        let group = Group(root.join(name));
        fs::create_dir(&group.0).map_err(|error| format!("{}: {error}", group.0.display()))?;
        Ok(group)
    }

    /// Words that, put before a command, run it in the group.
    fn by(&self) -> Vec<OsString> {
        let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        ["sh", "-c", &join, "sh"].map(OsString::from).into()
    }

    /// Gives it so many thousandths of a second in each tenth.
    fn bound(&self, millis: u32) -> Result<(), String> {
        let (v1, v2) = (self.0.join("cpu.cfs_quota_us"), self.0.join("cpu.max"));
        let quota = u64::from(millis) * 1000;
        let done = match v1.exists() {
            true => fs::write(v1, quota.to_string()),
            false => fs::write(v2, format!("{quota} 100000")),
        };
        done.map_err(|error| format!("{}: {error}", self.0.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes are gone before it.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Takes a good part of a tenth of a second, and has no answer; no two are the same.
fn busy(n: usize) -> Value {
    let text = "int main(void) { for (volatile long i = 0; i < 200000000; i++) {} return 0; }\n";
    let mut document = submission("snowwall", "c", "busy.c", &format!("// {n}\n{text}"), false);
    document["contest"] = "finals".into();
    document
}

fn node(fleet: &Fleet) -> Result<Value, String> {
    let said = fleet.tauto(&["node", "show", &fleet.workers()[WHO].node, "--json"])?;
    serde_json::from_str(&said).map_err(|error| format!("{said}: {error}"))
}

/// Hands some in and waits until they are judged.
fn judge_some(fleet: &Fleet, count: &mut usize) -> Result<(), String> {
    let mut client = fleet.client(0);
    let all: Vec<String> =
        (*count..*count + SOME).map(|n| Ok(post(&mut client, &busy(n))?.1)).collect::<Result<_, String>>()?;
    *count += SOME;
    all.iter().try_for_each(|token| wait_judged(&mut client, token, PATIENCE).map(drop))
}

fn a_node_that_is_held_back_is_found_drained_and_doubted() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let group = Group::new().expect("a group");
    let pools = vec![PoolSetup { name: "metal", strict: true, workers: 3 }];
    let setup = Setup { brokers: 1, servers: 1, pools, apart: false, slots: "none", binaries: Vec::new() };
    let mut fleet = Fleet::start(&setup).expect("a fleet");
    fleet
        .tauto(&["contest", "set", "finals", "--pool", "metal", "--strictness", "strict"])
        .expect("a contest");
    fleet.stop_worker(WHO).expect("the worker ends");
    fleet.start_worker_by(WHO, &group.by()).expect("the worker in a group");
    fleet.wait_until_at_work().expect("it works");

    let mut count = 0;
    judge_some(&fleet, &mut count).expect("verdicts");
    let before = node(&fleet).expect("the node");
    assert_eq!((&before["standing"], &before["doubted_since"]), (&"active".into(), &Value::Null), "{before}");

    group.bound(12).expect("a quota");
    let mut found = Value::Null;
    soon("the node is drained", || {
        judge_some(&fleet, &mut count)?;
        found = node(&fleet)?;
        Ok(found["standing"] != "active")
    })
    .unwrap_or_else(|why| panic!("{why}: {found}"));
    let reason = found["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("disturbed in ") && reason.contains("the last job by: throttled"), "{found}");
    assert!(!found["doubted_since"].is_null(), "{found}");

    let listed = |words: &[&str]| -> Value {
        let said =
            fleet.tauto(&[&["node", "suspects", "metal2", "--json"], words].concat()).expect("suspects");
        serde_json::from_str(&said).expect("a document")
    };
    let suspects = listed(&[]);
    let doubted = suspects["count"].as_u64().unwrap_or_default();
    assert!((1..=FOUND_BY + ON_THE_WAY).contains(&doubted), "{suspects}");
    let again = listed(&["--rejudge"]);
    assert_eq!(again["judged_again"].as_u64(), Some(doubted), "{again}");
    soon("all of it is judged again", || {
        let queue = fleet.client(0).get("/api/v1/queue").map_err(|error| error.to_string())?.json();
        Ok(queue["judging"] == 0 && queue["lines"].as_array().is_some_and(Vec::is_empty))
    })
    .expect("rejudging");
    for suspect in suspects["submissions"].as_array().into_iter().flatten() {
        let token = suspect["token"].as_str().expect("a token");
        let history =
            fleet.client(0).get(&format!("/api/v1/submissions/{token}/judgements")).expect("its history");
        let history = history.json();
        let nodes: Vec<&Value> =
            history["judgements"].as_array().into_iter().flatten().map(|one| &one["node"]).collect();
        assert!(
            nodes.contains(&&"metal2".into()) && nodes.iter().any(|node| **node != "metal2"),
            "{history}"
        );
    }
    fleet.stop().expect("all ends");
}

fn main() -> ExitCode {
    let body = || {
        a_node_that_is_held_back_is_found_drained_and_doubted();
        Ok(())
    };
    let trial = Trial::test("a_node_that_is_held_back_is_found_drained_and_doubted", body);
    let trial = match stage::is_root() {
        true => trial,
        false => trial.with_kind("skipped: it takes root, for a control group").with_ignored_flag(true),
    };
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
