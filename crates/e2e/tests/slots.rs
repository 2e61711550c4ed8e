//! Slots on this machine: planned as documented, one run at a time on each, and free again however a run ends.

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Only reached by a `tauto` that waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

fn on_stage(body: impl Fn(&Workspace<'_>) -> Result<(), String>) {
    let scratch: PathBuf = e2e::scratch!();
    let _alone = stage::alone(&scratch).expect("lock");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("stage");
        let place = stage.place("slots").expect("place");
        body(&place).unwrap_or_else(|why| panic!("as {}: {why}", pass.name()));
    }
}

/// `tauto` with locks of this test's own.
fn tauto_with(place: &Workspace<'_>, arguments: &[&str]) -> std::process::Command {
    let mut command = place.tauto();
    command.env("TAUTO_DATA_DIR", place.path("data")).args(arguments);
    command
}

fn run(place: &Workspace<'_>, arguments: &[&str]) -> Result<Ended, String> {
    tauto::run(&mut tauto_with(place, arguments), false, PATIENCE)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

#[test]
fn every_cpu_is_in_one_slot_or_keeps_house() {
    on_stage(|place| {
        let plan = run(place, &["slots", "--json"])?.document()?;
        let slots = plan["slots"].as_array().ok_or("no slots")?;
        let mut all = numbers(&plan["housekeeping"]);
        if !all.contains(&0) {
            return Err(format!("CPU 0 is in a slot: {plan}"));
        }
        for slot in slots {
            all.extend(numbers(&slot["cpus"]).into_iter().chain(numbers(&slot["idle_siblings"])));
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let alone = cpus == 1 && slots.len() == 1;
        all.sort_unstable();
        all.dedup();
        match all.len() >= cpus && (alone || !slots.is_empty()) {
            true => Ok(()),
            false => Err(format!("{cpus} CPUs, and this plan: {plan}")),
        }
    });
}

/// A run that holds slot 0 until it is ended; it runs once this returns.
fn holder(place: &Workspace<'_>) -> Result<Child, String> {
    let mut command =
        tauto_with(place, &["run", "--slot", "0", "--", "/bin/sh", "-c", "echo held; read never"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut line = String::new();
    let stdout = child.stdout.take().ok_or("no stdout")?;
    BufReader::new(stdout).read_line(&mut line).map_err(|e| e.to_string())?;
    if line == "held\n" { Ok(child) } else { Err(format!("the holder said `{line}`")) }
}

/// A second run for the same slot, once it has said that it waits.
fn waiter(place: &Workspace<'_>, holder: &Child) -> Result<Child, String> {
    let mut command = tauto_with(place, &["run", "--slot", "auto", "--", "/bin/true"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut line = String::new();
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let mut stderr = BufReader::new(stderr);
    stderr.read_line(&mut line).map_err(|e| e.to_string())?;
    // Whatever else it says must not block it.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    let wanted = format!("tauto: waiting for slot 0, held by process {}\n", holder.id());
    if line == wanted { Ok(child) } else { Err(format!("`{line}`, not `{wanted}`")) }
}

fn single_slot(place: &Workspace<'_>) -> Result<bool, String> {
    let plan = run(place, &["slots", "--json"])?.document()?;
    Ok(plan["slots"].as_array().is_some_and(|slots| slots.len() == 1))
}

#[test]
fn a_slot_is_for_one_run_and_free_when_it_ends() {
    on_stage(|place| {
        // With more slots the second run would find another one free.
        if !single_slot(place)? {
            return Ok(());
        }
        for killed in [false, true] {
            let mut first = holder(place)?;
            let mut second = waiter(place, &first)?;
            if second.try_wait().map_err(|e| e.to_string())?.is_some() {
                return Err("the second did not wait".into());
            }
            match killed {
                // The run of a killed holder is ended by its keeper.
                true => first.kill().map_err(|e| e.to_string())?,
                false => drop(first.stdin.take()),
            }
            let first = tauto::wait(&mut first, PATIENCE)?;
            let second = tauto::wait(&mut second, PATIENCE)?;
            if first.code().is_none() != killed || second.code() != Some(0) {
                return Err(format!("killed {killed}: {first:?}, {second:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn the_rung_in_force_is_told() {
    on_stage(|place| {
        let plan = run(place, &["slots", "--json"])?.document()?;
        let slot = &plan["slots"][0];
        let seen = run(place, &["run", "--slot", "0", "--json", "--", "/bin/true"])?.document()?;
        let evidence = &seen["evidence"];
        // An ordinary user may not be given a cpuset that the plan thinks possible.
        let rungs = [slot["isolation"].clone(), Value::from("affinity")];
        let right = rungs.contains(&evidence["isolation"])
            && (evidence["isolation"] == "none" || evidence["cpus"] == slot["cpus"]);
        let free = run(place, &["run", "--json", "--", "/bin/true"])?.document()?;
        match right && free["evidence"]["isolation"] == "none" {
            true => Ok(()),
            false => Err(format!("{slot}\n{evidence}\n{}", free["evidence"])),
        }
    });
}

#[test]
fn what_cannot_be_had_is_said() {
    on_stage(|place| {
        std::fs::write(place.path("bad.toml"), "[slots]\ncoers = 2\n").map_err(|e| e.to_string())?;
        let start = Instant::now();
        for (arguments, says) in [
            (&["run", "--slot", "77", "--", "/bin/true"][..], "no such slot"),
            (&["run", "--slot", "0", "--cpu", "0", "--", "/bin/true"], "--cpu and --slot"),
            (&["run", "--slot", "some", "--", "/bin/true"], "auto, none or a slot's number"),
        ] {
            let ended = run(place, arguments)?;
            if ended.code()? != 2 || !ended.stderr.contains(says) {
                return Err(format!("{arguments:?}: {:?} {}", ended.status, ended.stderr));
            }
        }
        let config = place.path("bad.toml");
        let ended = tauto::run(tauto_with(place, &["slots"]).env("TAUTO_CONFIG", config), false, PATIENCE)?;
        match ended.code()? == 2 && ended.stderr.contains("line 2") && ended.stderr.contains("coers") {
            true if start.elapsed() < PATIENCE => Ok(()),
            _ => Err(ended.stderr),
        }
    });
}
