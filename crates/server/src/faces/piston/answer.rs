//! What came of a program in Piston's form.

use super::runtimes::Runtime;
use crate::errors::Refusal;
use crate::execution::Ran;
use model::{CapturedStream, Executed, ExecutedCompile, ExecutedRun, Exit, Status};
use serde_json::{Value, json};

/// The answer.
///
/// # Errors
/// Nothing was executed: our fault, and the client's 5xx.
pub(super) fn answer_to(runtime: &Runtime, ran: &Ran) -> Result<Value, Refusal> {
    let why = || ran.fault.clone().unwrap_or_else(|| "what came of it was deleted".to_owned());
    let executed = ran.executed.as_ref().ok_or_else(|| Refusal::Fault(why()))?;
    let compile = executed.compile.as_ref().map(compile_stage);
    let run = executed.last().map(|run| run_stage(executed, run));
    // Where nothing was run, clients expect the compilation in its place.
    let run = run.or_else(|| compile.clone()).ok_or_else(|| Refusal::Fault(executed.message.clone()))?;
    let mut answer = json!({"run": run, "language": runtime.language, "version": runtime.version});
    if let Some(compile) = compile {
        answer["compile"] = compile;
    }
    Ok(answer)
}

fn run_stage(executed: &Executed, run: &ExecutedRun) -> Value {
    let (stdout, stderr) = (executed.stdout.content.text(), executed.stderr.content.text());
    let ended = Ended {
        exit: run.exit,
        status: run.status,
        message: executed.message.clone(),
        cpu_ms: run.cpu.as_millis_f64(),
        wall_ms: run.wall.as_millis_f64(),
        memory: run.memory_peak.known().map(|peak| peak.0),
    };
    stage(stdout, stderr, Some(&ended))
}

fn compile_stage(compile: &ExecutedCompile) -> Value {
    let text = |kept: &CapturedStream| kept.content.text();
    let last = compile.steps.last().map(|step| Ended {
        exit: step.exit,
        status: if compile.ok { Status::Ok } else { step_status(step.exit) },
        message: compile.message.clone(),
        cpu_ms: step.time.cpu.as_millis_f64(),
        wall_ms: step.time.wall.as_millis_f64(),
        memory: step.memory_peak.known().map(|peak| peak.0),
    });
    let stderr = text(&compile.stderr);
    // What could not be handed to the compiler is told where its words would stand.
    let stderr = if last.is_none() && stderr.is_empty() { compile.message.clone() } else { stderr };
    let mut shown = stage(text(&compile.stdout), stderr, last.as_ref());
    if !compile.ok && (shown["code"].is_null() && shown["signal"].is_null() || shown["code"] == 0) {
        shown["code"] = json!(1);
    }
    shown
}

/// How a step of a compilation ended, as far as its limits do not tell.
fn step_status(exit: Exit) -> Status {
    match exit {
        Exit::Code(_) => Status::NonzeroExit,
        Exit::Signal(_) => Status::Signalled,
    }
}

struct Ended {
    exit: Exit,
    status: Status,
    message: String,
    cpu_ms: f64,
    wall_ms: f64,
    memory: Option<u64>,
}

fn stage(stdout: String, stderr: String, ended: Option<&Ended>) -> Value {
    let output = format!("{stdout}{stderr}");
    let (code, signal) = match ended.map(|ended| ended.exit) {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal_name(signal))),
        None => (None, None),
    };
    json!({
        "stdout": stdout,
        "stderr": stderr,
        "output": output,
        "code": code,
        "signal": signal,
        "message": ended.map(|ended| ended.message.as_str()).filter(|message| !message.is_empty()),
        "status": ended.and_then(|ended| status_name(ended.status)),
        "cpu_time": ended.map(|ended| ended.cpu_ms),
        "wall_time": ended.map(|ended| ended.wall_ms),
        "memory": ended.and_then(|ended| ended.memory),
    })
}

/// The two letters of Piston's readme.
fn status_name(status: Status) -> Option<&'static str> {
    match status {
        Status::Ok => None,
        Status::NonzeroExit => Some("RE"),
        Status::Signalled | Status::MemoryLimit => Some("SG"),
        Status::CpuTimeLimit | Status::WallTimeLimit => Some("TO"),
        Status::OutputLimit => Some("OL"),
        Status::SystemError => Some("XX"),
    }
}

/// A signal's name (signal(7), x86).
fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|place| NAMES.get(place));
    name.map_or_else(|| format!("SIG{signal}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        for (signal, name) in
            [(1, "SIGHUP"), (9, "SIGKILL"), (11, "SIGSEGV"), (25, "SIGXFSZ"), (31, "SIGSYS"), (34, "SIG34")]
        {
            assert_eq!(signal_name(signal), name);
        }
    }

    #[test]
    fn a_failed_compilation_never_looks_like_a_success() {
        for steps in
            [Vec::new(), vec![model::Observation::unread(Exit::Code(0), model::Nanos(1), "no machine")]]
        {
            let compile = ExecutedCompile {
                ok: false,
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
                message: "no such option".into(),
                steps,
            };
            let shown = compile_stage(&compile);
            assert_eq!(shown["code"], 1, "{shown}");
            assert!(shown.to_string().contains("no such option"), "{shown}");
        }
    }
}
