//! Slots that are virtual machines: programs run and are judged there as they are outside, what breaks a machine ends as a fault of the
//! system, and nothing of any machine is left. Emulation is slow and uneven, so nothing here is about time but that it ends.

use e2e::lost::{self, Lost};
use e2e::machine::{self, SMALL, kernel};
use e2e::package::{self, DOUBLE};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::tauto::{self, Ended};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// For one command, with a machine that boots in it.
const PATIENCE: Duration = Duration::from_secs(180);
/// For QEMU to be gone when `tauto` has ended.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Processes of machines: keepers and QEMU, by their arguments.
fn machines() -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let machine = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let ours = words.contains("tauto-vm-keeper") || words.contains("tauto,debug-threads=on");
        ours.then_some((pid, words))
    };
    entries.filter_map(machine).collect()
}

fn nothing_left() -> Result<(), String> {
    let deadline = Instant::now() + GONE_WITHIN;
    while !machines().is_empty() {
        if Instant::now() > deadline {
            return Err(format!("machines are left: {:?}", machines()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn command(place: &Workspace<'_>, kernel: &Path, words: &[&str]) -> Command {
    let mut command = place.tauto();
    command.env(machine::KERNEL, kernel).args(words).stdin(Stdio::null());
    command
}

fn ran(place: &Workspace<'_>, kernel: &Path, words: &[&str]) -> Result<Ended, String> {
    let ended = tauto::run(&mut command(place, kernel, words), false, PATIENCE)?;
    nothing_left()?;
    Ok(ended)
}

/// A command in a machine: its output, its evidence, and that it cannot write what it is shown.
fn a_run(place: &Workspace<'_>, kernel: &Path) -> Result<(), String> {
    let script =
        "echo hi; cat; (echo x >/usr/x) 2>/dev/null || echo read-only; ls /home /root 2>/dev/null; true";
    let input = place.path("input");
    fs::write(&input, "from a file\n").map_err(|e| e.to_string())?;
    let output = place.path("output");
    let (input, output_name) = (input.display().to_string(), output.display().to_string());
    let mut words = vec![
        "run",
        "--json",
        "--cpu-time",
        "20",
        "--memory",
        "128M",
        "--stdin",
        &input,
        "--stdout",
        &output_name,
    ];
    words.extend(SMALL);
    words.extend(["--", "/bin/sh", "-c", script]);
    let ended = ran(place, kernel, &words)?;
    let run = ended.document()?;
    if ended.code()? != 0 || run["status"] != "ok" {
        return Err(format!("{run:#} {}", ended.stderr));
    }
    let said = fs::read_to_string(&output).map_err(|e| e.to_string())?;
    if said != "hi\nfrom a file\nread-only\n" {
        return Err(format!("it said {said:?}"));
    }
    let evidence = &run["evidence"];
    let accelerator = evidence["machine"]["accelerator"].as_str().unwrap_or_default();
    if evidence["isolation"] != "vm" || !["kvm", "tcg"].contains(&accelerator) {
        return Err(format!("{evidence:#}"));
    }
    Ok(())
}

/// A submission is judged there, compiled and run, with a verdict of the host's.
fn a_judgement(place: &Workspace<'_>, kernel: &Path) -> Result<(), String> {
    let directory = place.path("package");
    package::write(&directory, &DOUBLE)?;
    let wrong = place.path("wrong.py");
    fs::write(&wrong, "print(2 * int(input()) + (1 if False else 0) if True else 0)\nraise SystemExit(0)\n")
        .map_err(|e| e.to_string())?;
    let (directory, wrong) = (directory.display().to_string(), wrong.display().to_string());
    let right = format!("{directory}/submissions/accepted/right.c");
    for submission in [&right, &wrong] {
        let mut words = vec!["judge", "--json", "--cpu-time", "20", "--second-opinion", "never"];
        // What compiles may have 2 GiB.
        words.extend(["--isolation", "vm", "--memory", "128M", &directory, submission]);
        let ended = ran(place, kernel, &words)?;
        let judged = ended.document()?;
        if ended.code()? != 0 || judged["verdict"] != "AC" {
            return Err(format!("{submission}: {judged:#} {}", ended.stderr));
        }
        let runs = judged["tests"][0]["runs"][0]["evidence"]["isolation"].as_str();
        if runs != Some("vm") {
            return Err(format!("{judged:#}"));
        }
    }
    Ok(())
}

/// Waits until a machine computes for this process, and gives the emulator's pid.
fn emulator(child: &mut Child) -> Result<i32, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some((pid, _)) = machines().into_iter().find(|(_, words)| words.starts_with("/usr/bin/qemu")) {
            return Ok(pid);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ended before there was a machine: {status}"));
        }
        if Instant::now() > deadline {
            return Err("no machine was started".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run that says when it has begun.
fn begin(place: &Workspace<'_>, kernel: &Path) -> Result<(Child, i32), String> {
    let output = place.path("begun");
    let shown = output.display().to_string();
    let mut words = vec!["run", "--json", "--cpu-time", "100", "--wall-time", "100", "--stderr", &shown];
    words.extend(SMALL);
    words.extend(["--", "/bin/sh", "-c", "while :; do :; done"]);
    let mut command = command(place, kernel, &words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("start: {e}"))?;
    let pid = emulator(&mut child)?;
    Ok((child, pid))
}

/// The emulator is killed, the guest with it: a fault, and nothing is left.
fn killed(place: &Workspace<'_>, kernel: &Path) -> Result<(), String> {
    let (child, _) = begin(place, kernel)?;
    // Each machine that does not start is started again, a few times.
    let deadline = Instant::now() + PATIENCE;
    let mut child = child;
    loop {
        for (pid, words) in machines() {
            if words.starts_with("/usr/bin/qemu") {
                let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
            }
        }
        match child.try_wait() {
            Ok(Some(_)) => break,
            _ if Instant::now() > deadline => return Err("it goes on without its machine".into()),
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    let ended = child.wait_with_output().map_err(|e| e.to_string())?;
    nothing_left()?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.status.code() {
        Some(3) if said.contains("virtual machine") || said.contains("system_error") => Ok(()),
        code => Err(format!("{code:?}: {said} {}", String::from_utf8_lossy(&ended.stderr))),
    }
}

/// Whoever ends `tauto` ends its machine, politely and not.
fn ended(place: &Workspace<'_>, kernel: &Path, signal: Signal) -> Result<(), String> {
    let (child, _) = begin(place, kernel)?;
    let pid = Pid::from_child(&child);
    kill_process(pid, signal).map_err(|e| e.to_string())?;
    let ended = child.wait_with_output().map_err(|e| e.to_string())?;
    nothing_left()?;
    match (signal, ended.status.code()) {
        (Signal::INT, Some(130)) | (Signal::KILL, None) => Ok(()),
        (_, code) => Err(format!("{code:?}: {}", String::from_utf8_lossy(&ended.stderr))),
    }
}

/// Root of a guest can reach nothing of the host, and the run beside it ends normally.
fn root_of_a_guest(place: &Workspace<'_>, kernel: &Path) -> Result<(), String> {
    // A guest that connects here has reached the host.
    let listener = TcpListener::bind(("0.0.0.0", 0)).map_err(|e| e.to_string())?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    let report = place.path("report");
    fs::write(&report, "").map_err(|e| e.to_string())?;
    fs::set_permissions(&report, fs::Permissions::from_mode(0o666)).map_err(|e| e.to_string())?;
    let lost = Lost::new(&place.path(""), &[("probe", 1)].into(), [0, 0], port, Some(&report))?;
    let mut words = lost.by();
    words.push(tauto::binary()?.display().to_string());
    let told = ["run", "--json", "--cpu-time", "60", "--wall-time", "60", "--vm-accelerator", "tcg"];
    words.extend([&told[..], &SMALL, &["--", "/bin/sleep", "20"]].concat().iter().map(ToString::to_string));
    let mut command = e2e::child::command(&words[0]);
    command.args(&words[1..]).env(machine::KERNEL, kernel).env("TAUTO_DATA_DIR", place.path("data"));
    let ended = tauto::run(&mut command, false, PATIENCE)?;
    nothing_left()?;
    let said = fs::read_to_string(&report).map_err(|e| e.to_string())?;
    let count = |word: &str| said.lines().filter(|line| line.starts_with(word)).count();
    let whole = said.lines().last() == Some("done") && count("refused") >= 70;
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    if !whole || count("REACHED") > 0 || listener.accept().is_ok() {
        return Err(format!("root of the guest: {said} {ended:?}"));
    }
    let _ = writeln!(io::stdout(), "{} attempts refused", count("refused"));
    match ended.document()?["status"].as_str() {
        Some("ok") => Ok(()),
        _ => Err(format!("{ended:?}")),
    }
}

/// A short `make vm-chaos`: root of the guest panics, sends invalid messages and writes into devices.
fn lost_guests(place: &Workspace<'_>, _: &Path) -> Result<(), String> {
    let blows = [("nothing", 4), ("panic", 1), ("lie", 2), ("poke", 1)];
    let report = lost::storm(&place.path(""), 5, &blows.into(), [2000, 12_000])?;
    match report.wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{report:#?}")),
    }
}

/// What is missing is named, with what brings it.
fn refused(place: &Workspace<'_>) -> Result<(), String> {
    let words = ["run", "--isolation", "vm", "--", "/bin/true"];
    let ended = tauto::run(&mut command(place, Path::new("/nowhere/vmlinuz-1"), &words), false, PATIENCE)?;
    match ended.code()? {
        2 if ended.stderr.contains("/nowhere/vmlinuz-1") => Ok(()),
        code => Err(format!("{code}: {}", ended.stderr)),
    }
}

fn trial(name: &'static str, test: impl Fn(&Workspace<'_>) -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        let _machine = stage::machine(&e2e::scratch!())?;
        let pass = Pass::possible().into_iter().next().ok_or("there is no user to be")?;
        let stage = Stage::new(pass)?;
        let place = stage.place(&format!("vm-{name}"))?;
        test(&place).map_err(Failed::from)
    })
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Whatever is left has one author.
    arguments.test_threads = Some(1);
    let mut trials = vec![trial("what_is_missing_is_named", refused)];
    match kernel() {
        Ok(kernel) => {
            let with = |name: &'static str, test: fn(&Workspace<'_>, &Path) -> Result<(), String>| {
                let kernel = kernel.clone();
                trial(name, move |place| test(place, &kernel))
            };
            trials.push(with("a_command_runs", a_run));
            trials.push(with("submissions_are_judged", a_judgement));
            trials.push(with("a_killed_machine_is_a_fault", killed));
            trials.push(with("interrupted", |place, kernel| ended(place, kernel, Signal::INT)));
            // Replacing QEMU takes a mount.
            if stage::is_root() {
                trials.push(with("root_of_a_guest_reaches_nothing", root_of_a_guest));
                trials.push(with("lost_guests_cost_no_submission", lost_guests));
            }
            trials.push(with("killed_itself", |place, kernel| ended(place, kernel, Signal::KILL)));
        }
        Err(why) => trials.push(Trial::test(format!("skipped: {why}"), || Ok(()))),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
