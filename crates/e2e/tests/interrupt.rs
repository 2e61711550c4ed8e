//! Ends `tauto` in the middle of a run, politely and not: nothing may stay behind. Likewise every tool that starts others, such as loads.

use e2e::leftovers::{self, Snapshot};
use e2e::program::{self, Program};
use e2e::stage::{self, Pass, Stage, Workspace};
use e2e::{compile, tauto};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// For `tauto` and all it started to be gone. Only reached by what hangs: sixty-four processes that fork hold up whoever ends them.
const GONE_WITHIN: Duration = Duration::from_secs(20);
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

fn begin(place: &Workspace<'_>, program: &Program) -> Result<Child, String> {
    let file = place.install(&compile::executable(program, &e2e::scratch!())?, false)?;
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
    let _alone = stage::alone(&e2e::scratch!())?;
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

/// Every tool that starts other programs.
const TOOLS: [(&str, &str, &[&str]); 7] = [
    ("bars", env!("CARGO_BIN_EXE_bars"), &[]),
    ("verdicts", env!("CARGO_BIN_EXE_verdicts"), &[]),
    ("clocks", env!("CARGO_BIN_EXE_clocks"), &["judgements"]),
    ("chaos", env!("CARGO_BIN_EXE_chaos"), &[]),
    ("queue", env!("CARGO_BIN_EXE_queue"), &[]),
    ("fleet_chaos", env!("CARGO_BIN_EXE_fleet_chaos"), &[]),
    ("dispatch", env!("CARGO_BIN_EXE_dispatch"), &[]),
];
/// For a tool to start something.
const BUSY_WITHIN: Duration = Duration::from_secs(60);
/// How long it is then at work.
const AT_WORK: Duration = Duration::from_millis(700);

/// Processes below this one, each with the moment it began.
fn below(pid: u32) -> Vec<(u32, u64)> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let mut all: Vec<_> = children.iter().flat_map(|child| below(*child)).collect();
    all.extend(children.iter().filter_map(|child| Some((*child, begun(*child)?))));
    all
}

/// When a process began; `None`: it is there no more, or only its number is (proc_pid_stat(5)).
fn begun(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) { None } else { fields.get(19)?.parse().ok() }
}

/// A tool that is killed takes what it had started with it.
fn ends_what_it_started(tool: &str, words: &[&str]) -> Result<(), Failed> {
    let _alone = stage::alone(&e2e::scratch!())?;
    // What it cannot remove any more lies there.
    let left = tempfile::TempDir::with_prefix("tool-")?;
    std::fs::set_permissions(left.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let mut command = e2e::child::command(tool);
    command.args(words).env("TAUTO_BIN", tauto::binary()?).env("TMPDIR", left.path());
    let mut tool = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let start = Instant::now();
    while below(tool.id()).is_empty() {
        if tool.try_wait()?.is_some() || start.elapsed() > BUSY_WITHIN {
            drop(tool.kill());
            let said = tool.wait_with_output()?;
            return Err(format!("it started nothing: {}", String::from_utf8_lossy(&said.stderr)).into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // What is started first may end soon, and others come after it.
    std::thread::sleep(AT_WORK);
    let mut started = below(tool.id());
    while started.is_empty() && start.elapsed() < BUSY_WITHIN {
        started = below(tool.id());
    }
    tool.kill()?;
    tool.wait()?;
    let killed = Instant::now();
    loop {
        let left: Vec<_> = started.iter().filter(|(pid, at)| begun(*pid) == Some(*at)).collect();
        if left.is_empty() && !started.is_empty() {
            return Ok(());
        }
        if killed.elapsed() > GONE_WITHIN {
            return Err(format!("{} were started, and these are left: {left:?}", started.len()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
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
    for (name, tool, words) in TOOLS {
        trials.push(Trial::test(format!("tool::{name}"), move || ends_what_it_started(tool, words)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
