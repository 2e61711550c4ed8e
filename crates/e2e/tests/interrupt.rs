//! Ends `tauto` in the middle of a run, politely and not: nothing may stay behind.

use e2e::leftovers::{self, Snapshot};
use e2e::program::{self, Program};
use e2e::stage::{self, Pass, Place, Stage};
use e2e::{compile, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// For `tauto` and all it started to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// For a run to begin.
const STARTED_WITHIN: Duration = Duration::from_secs(20);

/// Who gets the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The process that was started.
    Tauto,
    /// Its oldest child: the launcher.
    Child,
    /// Its whole process group, as from a terminal.
    Group,
}

/// Signal, target and what `tauto` must end with; `None`: by that very signal.
const CASES: [(&str, Signal, Target, Option<&[i32]>); 8] = [
    ("interrupt", Signal::INT, Target::Tauto, Some(&[130])),
    ("interrupt_group", Signal::INT, Target::Group, Some(&[130])),
    ("terminate", Signal::TERM, Target::Tauto, Some(&[130, 143])),
    ("terminate_group", Signal::TERM, Target::Group, Some(&[130, 143])),
    ("hang_up", Signal::HUP, Target::Tauto, Some(&[129, 130])),
    ("kill", Signal::KILL, Target::Tauto, None),
    ("kill_launcher", Signal::KILL, Target::Child, Some(&[3])),
    ("kill_group", Signal::KILL, Target::Group, None),
];

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")
}

fn begin(place: &Place<'_>, program: &Program) -> Result<Child, String> {
    let file = place.install(&compile::executable(program, &scratch())?, false)?;
    let fail = |error: std::io::Error| format!("start: {error}");
    let mut command = place.tauto();
    command.args(["run", "--json", "--stdout"]).arg(place.path("out/stdout"));
    command.arg("--stderr").arg(place.path("out/stderr"));
    for (name, value) in &program.options {
        command.args([name, value]);
    }
    let log = File::create(place.path("log")).map_err(fail)?;
    command.arg("--").arg(file).process_group(0);
    command.stdin(Stdio::null()).stdout(log.try_clone().map_err(fail)?).stderr(log);
    let mut child = command.spawn().map_err(fail)?;
    let start = Instant::now();
    while std::fs::read(place.path("out/stdout")).unwrap_or_default().is_empty() {
        if let Ok(Some(status)) = child.try_wait() {
            let log = std::fs::read_to_string(place.path("log")).unwrap_or_default();
            return Err(format!("tauto ended before the program began: {status}: {log}"));
        }
        if start.elapsed() > STARTED_WITHIN {
            drop(child.kill());
            drop(child.wait());
            return Err("the program never began".into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(child)
}

fn strike(child: &Child, signal: Signal, target: Target) -> Result<(), String> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
    let result = match target {
        Target::Tauto => kill_process(id, signal),
        Target::Group => kill_process_group(id, signal),
        Target::Child => {
            let path = format!("/proc/{0}/task/{0}/children", child.id());
            let children = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            let first =
                children.split_whitespace().next().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
            kill_process(first.ok_or("tauto has no child")?, signal)
        }
    };
    result.map_err(|error| format!("kill: {error}"))
}

fn right_end(status: ExitStatus, signal: Signal, codes: Option<&[i32]>) -> bool {
    match codes {
        Some(codes) => status.code().is_some_and(|code| codes.contains(&code)),
        None => status.signal() == Some(signal.as_raw()),
    }
}

fn attempt(pass: Pass, program: &Program, case: usize) -> Result<(), Failed> {
    let (name, signal, target, codes) = CASES[case];
    let _alone = stage::alone(&scratch())?;
    leftovers::adopt_orphans()?;
    let stage = Stage::new(pass)?;
    let before = Snapshot::take();
    let place = stage.place(name)?;
    let mut child = begin(&place, program)?;
    strike(&child, signal, target)?;
    let status = tauto::wait(&mut child, GONE_WITHIN);
    // With the whole group killed nobody is left to remove empty cgroups and files: the next run does.
    let next = if target == Target::Group && signal == Signal::KILL {
        before.wait_until_no_processes(GONE_WITHIN)?;
        tauto::run(place.tauto().args(["run", "--json", "--", "/bin/true"]), false, STARTED_WITHIN)?.code()?
    } else {
        0
    };
    let clean = before.wait_until_clean(GONE_WITHIN, || place.temporaries());
    let status = status?;
    clean?;
    let log = std::fs::read_to_string(place.path("log")).unwrap_or_default();
    if !right_end(status, signal, codes) {
        return Err(format!("tauto ended with {status}: {log}").into());
    }
    if next == 0 { Ok(()) } else { Err(format!("the next run ended with {next}").into()) }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let programs = program::discover().unwrap_or_default();
    let mut trials = Vec::new();
    for pass in Pass::possible() {
        for program in programs.iter().filter(|program| program.name.starts_with("interrupt/")) {
            for (case, (name, ..)) in CASES.iter().enumerate() {
                let program = program.clone();
                let title = format!("{}::{}::{name}", pass.name(), program.name);
                trials.push(Trial::test(title, move || attempt(pass, &program, case)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
