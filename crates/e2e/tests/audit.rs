//! `tauto audit` on the machine the tests run on, as root and as an ordinary user: it passes nothing it has not seen,
//! tells no secrets, and says the same of a recording.

use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Only reached by a `tauto` that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What these tell stands in one of these files; a machine that has none cannot be said to be quiet in it.
const SEEN_IN: [(&str, &[&str]); 14] = [
    ("turbo", &["/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/cpufreq/boost"]),
    ("governor", &["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"]),
    ("frequency_range", &["/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq"]),
    ("uncore", &["/sys/devices/system/cpu/intel_uncore_frequency"]),
    ("thermal_throttle", &["/sys/devices/system/cpu/cpu0/thermal_throttle"]),
    ("managed_irq", &["/proc/irq"]),
    ("workqueues", &["/sys/devices/virtual/workqueue/cpumask"]),
    ("perf_sample_rate", &["/proc/sys/kernel/perf_event_max_sample_rate"]),
    ("thp", &["/sys/kernel/mm/transparent_hugepage/enabled"]),
    ("ksm", &["/sys/kernel/mm/ksm/run"]),
    ("guest_polling", &["/sys/module/kvm/parameters/halt_poll_ns"]),
    ("guest_pages", &["/sys/module/kvm/parameters/nx_huge_pages"]),
    ("numa_balancing", &["/proc/sys/kernel/numa_balancing"]),
    ("cache_partition", &["/sys/fs/resctrl"]),
];

/// Runs a body for each user the suite can be, alone.
fn on_stage(name: &str, body: impl Fn(&Workspace<'_>) -> Result<(), String>) {
    let scratch = e2e::scratch!();
    let _alone = stage::alone(&scratch).expect("the lock of the suite");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("a stage");
        let place = stage.place(name).expect("a place");
        if let Err(error) = body(&place) {
            panic!("as {}: {error}", pass.name());
        }
    }
}

fn audit(place: &Workspace<'_>, arguments: &[&str]) -> Result<Ended, String> {
    tauto::run(place.tauto().arg("audit").args(arguments), false, PATIENCE)
}

fn findings(document: &Value) -> &[Value] {
    document["findings"].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(finding: &'a Value, key: &str) -> &'a str {
    finding[key].as_str().unwrap_or_default()
}

fn state<'a>(document: &'a Value, id: &str) -> &'a str {
    findings(document).iter().find(|finding| finding["id"] == id).map_or("", |finding| text(finding, "state"))
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[test]
fn what_was_not_seen_is_not_ok() {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
    let guest = cpuinfo.split_whitespace().any(|word| word == "hypervisor");
    on_stage("unseen", |place| {
        let ended = audit(place, &["--json"])?;
        let document = ended.document()?;
        ensure(ended.stderr.is_empty(), || ended.stderr.clone())?;
        for (id, files) in SEEN_IN {
            let seen = files.iter().any(|file| Path::new(file).exists());
            let state = state(&document, id);
            ensure(!state.is_empty(), || format!("no finding {id}: {document:#}"))?;
            ensure(seen || state != "ok", || format!("{id} is ok, and there is none of {files:?}"))?;
        }
        let hidden = matches!(state(&document, "smt"), "unknown" | "not_applicable");
        ensure(!guest || hidden, || format!("smt is told in a virtual machine: {document:#}"))?;
        ensure(!guest || document["machine"]["kind"] != "bare_metal", || format!("{document:#}"))
    });
}

#[test]
fn every_finding_can_be_acted_upon() {
    on_stage("shape", |place| {
        let ended = audit(place, &["--json"])?;
        let document = ended.document()?;
        let fingerprint = document["machine"]["fingerprint"].as_str().unwrap_or_default();
        let hexadecimal = fingerprint.chars().all(|c| c.is_ascii_hexdigit());
        ensure(fingerprint.len() == 16 && hexadecimal, || format!("fingerprint {fingerprint}"))?;
        for finding in findings(&document) {
            let full = ["id", "observed", "source", "why"].iter().all(|key| !text(finding, key).is_empty());
            let known = ["ok", "bad", "unknown", "not_applicable"].contains(&text(finding, "state"));
            let remedy = &finding["remedy"];
            let to_do =
                remedy.is_null() || !text(remedy, "command").is_empty() && remedy["root"].is_boolean();
            ensure(full && known && to_do, || format!("{finding:#}"))?;
        }
        let bad = findings(&document).iter().any(|finding| finding["state"] == "bad");
        ensure(ended.code()? == i32::from(bad), || format!("exit code {:?}, bad: {bad}", ended.code()))
    });
}

#[test]
fn a_recording_is_judged_alike_and_tells_no_secrets() {
    on_stage("recording", |place| {
        let mut bystander = bystander(place)?;
        let recorded = audit(place, &["--json", "--record", "machine"]);
        drop(bystander.kill().and_then(|()| bystander.wait()));
        let recorded = recorded?;
        ensure(recorded.stderr.lines().count() == 1, || recorded.stderr.clone())?;
        let again = audit(place, &["--json", "--root", "machine"])?;
        ensure(recorded.document()? == again.document()?, || {
            format!("{}\nis not what the recording gives:\n{}", recorded.stdout, again.stdout)
        })?;
        let recording = fs::read_to_string(place.path("machine")).map_err(|error| error.to_string())?;
        no_secrets(&recording)?;
        let refused = audit(place, &["--record", "machine"])?;
        let kept = fs::read_to_string(place.path("machine")).is_ok_and(|text| text == recording);
        ensure(refused.code()? == 2 && kept, || format!("overwritten: {}", refused.stderr))
    });
}

/// An argument of another process.
const ARGUMENT: &str = "e2e-argument-of-another-process";

/// A process with secrets in its arguments and its environment.
fn bystander(place: &Workspace<'_>) -> Result<Child, String> {
    let mut command: Command = place.command(Path::new("/bin/sh"));
    command.args(["-c", "read never", ARGUMENT]).stdin(Stdio::piped());
    command.spawn().map_err(|error| format!("/bin/sh: {error}"))
}

fn no_secrets(recording: &str) -> Result<(), String> {
    let secrets = [ARGUMENT, stage::SECRET.1, "console=", "root=", "BOOT_IMAGE=", "init=", "reboot="];
    for secret in secrets {
        ensure(!recording.contains(secret), || format!("`{secret}` was recorded"))?;
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let told = |line: &str| !host.trim().is_empty() && line.trim() == host.trim();
    ensure(!recording.lines().any(told), || "the host name was recorded".into())?;
    let private = |line: &&str| {
        let path = line.split(' ').next().unwrap_or(line);
        let ends = ["/environ", "/cmdline", "/hostname", "/maps"].iter().any(|end| path.ends_with(end));
        line.starts_with('/') && ends && path != "/proc/cmdline"
    };
    match recording.lines().find(private) {
        Some(line) => Err(format!("{line} was recorded")),
        None => Ok(()),
    }
}

#[test]
fn people_and_issues_get_all_of_it() {
    on_stage("people", |place| {
        let document = audit(place, &["--json"])?.document()?;
        let ids: Vec<&str> = findings(&document).iter().map(|finding| text(finding, "id")).collect();
        for arguments in [&[][..], &["--markdown"][..]] {
            let ended = audit(place, arguments)?;
            let missing: Vec<_> = ids.iter().filter(|id| !ended.stdout.contains(**id)).collect();
            ensure(missing.is_empty(), || format!("{arguments:?}: no {missing:?} in\n{}", ended.stdout))?;
            let steering = ended.stdout.contains(|c: char| c.is_control() && c != '\n');
            ensure(!steering, || format!("{arguments:?}: {:?}", ended.stdout))?;
        }
        Ok(())
    });
}

#[test]
fn the_exit_code_tells_what_was_found_and_what_was_asked_wrongly() {
    on_stage("codes", |place| {
        let machine = |name: &str, text: &str| {
            fs::write(place.path(name), text).map_err(|error| format!("{name}: {error}"))
        };
        let swap = "/proc/swaps\n\tFilename Type Size Used Priority\n\t/dev/sdz2 partition 8 0 -2\n";
        machine("swapping", &format!("tauto recording 1\n/sys/devices/system/cpu/online\n\t0\n{swap}"))?;
        machine("words", "no recording\n")?;
        fs::create_dir(place.path("empty")).map_err(|error| error.to_string())?;
        for (arguments, code, says) in [
            (&["--root", "swapping"][..], 1, ""),
            (&["--root", "words"][..], 2, "line 1"),
            (&["--root", "empty"][..], 2, "processors"),
            (&["--root", "absent"][..], 2, "absent"),
            (&["--json", "--markdown"][..], 2, "--markdown"),
            (&["--record", "absent/machine"][..], 2, "absent/machine"),
        ] {
            let ended = audit(place, arguments)?;
            let right = ended.code()? == code && ended.stderr.contains(says);
            ensure(right, || format!("{arguments:?}: {:?}: {}", ended.code(), ended.stderr))?;
        }
        Ok(())
    });
}
