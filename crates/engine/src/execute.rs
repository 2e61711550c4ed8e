//! A program run by itself, without a package: compiled, run as often as was asked for, its output kept and compared.
//!
//! Times are settled by the rule that holds for submissions, so that a program near its limit has the same fate everywhere.

mod intake;

use crate::build_plan::BuildPlan;
use crate::case::{CaseLimits, Judged, message};
use crate::clocks::Meter;
use crate::languages::Languages;
use crate::limits::Allowance;
use crate::program::{Built, CompileBounds, RunContext, RunInputs, compile_to, duplicate};
use crate::settled::{SettleContext, SettledCase, limits_to_settle, settle_attempts};
use crate::slot::{Control, Slot};
use crate::{Fault, SystemError, files};
use intake::{Intake, intake};
use judge::compare::compare_lines;
use judge::language::CompileLimits;
use judge::verdict::{Validation, ValidationOutcome, test_verdict};
use model::{
    Blob, Bytes, CapturedStream, Charge, Event, Executed, ExecutedCompile, ExecutedRun, Execution,
    JudgePhase, Layout, Limits, ProgramKind, Reading, Status, Verdict,
};
use settle::NoiseFloor;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

/// What executions on a slot have in common.
#[derive(Clone, Copy)]
pub struct Conditions<'a> {
    /// The languages of this host.
    pub languages: &'a Languages,
    /// How far times vary on the slot.
    pub floor: &'a NoiseFloor,
    /// Memory layout of the runs.
    pub layout: Layout,
    /// Set to end everything; whoever sets it ends the slot's runs too.
    pub cancel: &'a AtomicBool,
    /// Takes the phases, and what is to be told about the language.
    pub emit: &'a (dyn Fn(Event) + Sync),
}

/// Compiles a program and runs it. What is wrong with what was submitted is told in the result, as a compilation that failed;
/// only an unknown language and one without tools here are faults, beside those of the machine.
///
/// The limits are the caller's to bound: what is `None` is not limited here. Memory and processes that a language's runtime
/// needs for itself come on top of them, as they do for submissions; the time limit is taken as it is.
pub fn execute(slot: &Slot, asked: &Execution, conditions: Conditions) -> Result<Executed, Fault> {
    let station = &slot.main;
    let context = RunContext {
        runner: &*station.runner,
        placement: &station.placement,
        caches: &station.caches,
        layout: conditions.layout,
        cancel: conditions.cancel,
    };
    let phase = |phase| (conditions.emit)(Event::Phase { submission: None, phase });
    let build_plan = match intake(asked, conditions.languages)? {
        Intake::BuildPlan(build_plan) => build_plan,
        Intake::Refused { language, why } => return Ok(refused(asked, language, why)),
    };
    phase(JudgePhase::Compiling);
    if let Some(why) = &build_plan.stands_in {
        (conditions.emit)(Event::Warning { place: build_plan.language.clone(), message: why.clone() });
    }
    let limits = with_allowance(asked.limits, build_plan.allowance);
    let mut executed = Executed {
        language: build_plan.language.clone(),
        stands_in: build_plan.stands_in.clone(),
        limits,
        ..refused(asked, String::new(), String::new())
    };
    let (built, compile) = compile(context, asked, &build_plan)?;
    executed.compile = (!build_plan.compile.is_empty() || !compile.ok).then_some(compile);
    let Some(built) = built else {
        executed.message =
            executed.compile.as_ref().map(|compile| compile.message.clone()).unwrap_or_default();
        return Ok(executed);
    };
    phase(JudgePhase::Judging);
    let stop = limits_to_settle(CaseLimits { judge: limits, stop: limits }, conditions.floor);
    let stdin = files::in_memory_with("standard input", &asked.stdin.0)?;
    let runs = Runs { asked, built: &built, limits: stop, stdin: &stdin };
    executed.thresholds = Reading::Known(settle::thresholds(conditions.floor));
    runs.all(&mut executed, conditions.floor, slot.control.as_ref(), &phase)?;
    Ok(executed)
}

/// What comes of a program that cannot be handed to its compiler.
fn refused(asked: &Execution, language: String, why: String) -> Executed {
    let (stdout, stderr) = (CapturedStream::default(), CapturedStream::default());
    let compile = ExecutedCompile { ok: false, stdout, stderr, message: why.clone(), steps: Vec::new() };
    Executed {
        language,
        stands_in: None,
        verdict: Verdict::CompileError,
        message: why,
        compile: Some(compile),
        limits: asked.limits,
        runs: Vec::new(),
        thresholds: Reading::unknown("nothing was run"),
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
    }
}

fn with_allowance(limits: Limits, allowance: Allowance) -> Limits {
    Limits {
        memory: limits.memory.map(|memory| memory + allowance.memory),
        processes: limits.processes.map(|processes| processes.saturating_add(allowance.processes)),
        ..limits
    }
}

fn compile<'a>(
    context: RunContext<'a>,
    asked: &Execution,
    build_plan: &BuildPlan,
) -> Result<(Option<Built<'a>>, ExecutedCompile), Fault> {
    let stated = asked.compile_limits;
    let usual = build_plan.compile_limits;
    let limits = CompileLimits {
        cpu: stated.cpu.unwrap_or(usual.cpu),
        memory: stated.memory.unwrap_or(usual.memory),
        processes: stated.processes.unwrap_or(usual.processes),
        output: stated.output.unwrap_or(usual.output),
    };
    let (stdout, stderr) = (files::in_memory("compiler output")?, files::in_memory("compiler errors")?);
    let bounds = CompileBounds { limits, wall: stated.wall };
    let compilation = compile_to(context, build_plan, bounds, &[], [&stdout, &stderr])?;
    let (program, message) = match compilation.program {
        Ok(program) => (Some(program), String::new()),
        Err(why) => (None, why),
    };
    let (stdout, stderr) = (kept(&stdout, asked.keep_output)?, kept(&stderr, asked.keep_output)?);
    let compile =
        ExecutedCompile { ok: program.is_some(), stdout, stderr, message, steps: compilation.steps };
    Ok((program, compile))
}

/// The runs of a compiled program.
struct Runs<'a> {
    asked: &'a Execution,
    built: &'a Built<'a>,
    limits: CaseLimits,
    stdin: &'a File,
}

/// What a run wrote. The same file twice where errors go with the output.
struct Streams {
    stdout: File,
    stderr: File,
}

impl Runs<'_> {
    /// As many as were asked for, up to the first that is not accepted.
    fn all(
        &self,
        executed: &mut Executed,
        floor: &NoiseFloor,
        control: Option<&Control>,
        phase: &dyn Fn(JudgePhase),
    ) -> Result<(), Fault> {
        let control = control.map(|control| (control, self.built.context));
        let looks = Cell::new(0);
        let settle_context = SettleContext {
            meter: Meter::Kernel,
            limits: &self.limits,
            floor,
            control,
            looks: &looks,
            phase,
        };
        for _ in 0..self.asked.runs.max(1) {
            let mut written = Vec::new();
            let settled = settle_attempts(&settle_context, || {
                let (judged, streams) = self.once()?;
                written.push(streams);
                Ok(judged)
            })?;
            let streams = written.swap_remove(settled.attempt);
            executed.stdout = kept(&streams.stdout, self.asked.keep_output)?;
            executed.stderr = match self.asked.redirect_stderr {
                true => CapturedStream::default(),
                false => kept(&streams.stderr, self.asked.keep_output)?,
            };
            executed.verdict = settled.judged.verdict;
            executed.message.clone_from(&settled.judged.message);
            executed.runs.push(self.run(settled)?);
            if executed.verdict != Verdict::Accepted {
                break;
            }
        }
        Ok(())
    }

    /// One run, judged.
    fn once(&self) -> Result<(Judged, Streams), Fault> {
        let stdout = files::in_memory("standard output")?;
        let stderr = match self.asked.redirect_stderr {
            true => duplicate(&stdout)?,
            false => files::in_memory("standard error")?,
        };
        let stdin = files::reopen(self.stdin).map_err(reading("standard input"))?;
        // It would print the files of these names.
        let ignored = self.asked.program == ProgramKind::Text;
        let given = RunInputs {
            args: if ignored { Vec::new() } else { self.asked.args.clone() },
            limits: self.limits.stop,
            stdin: OwnedFd::from(stdin),
            stdout: duplicate(&stdout)?.into(),
            stderr: duplicate(&stderr)?.into(),
            boxes: Vec::new(),
            files: Vec::new(),
        };
        let (spec, fds) = self.built.prepare(given);
        let run = self.built.context.run(&spec, fds)?;
        let status = run.status(&self.limits.judge);
        let validation = if status == Status::Ok { Some(self.compared(&stdout)?) } else { None };
        let verdict = test_verdict(status, validation.as_ref());
        let charge = Charge::cpu(run.time.cpu);
        let message = message(verdict, (&run, charge), &self.limits, validation.as_ref(), &stderr)?;
        let judged = Judged { verdict, validation, runs: vec![run], message };
        Ok((judged, Streams { stdout, stderr }))
    }

    fn compared(&self, stdout: &File) -> Result<Validation, Fault> {
        let Some(expected) = &self.asked.expected else {
            return Ok(Validation::plain(ValidationOutcome::Accepted, String::new()));
        };
        let mut output = Vec::new();
        let read = files::reopen(stdout).and_then(|mut file| file.read_to_end(&mut output));
        read.map_err(reading("the output"))?;
        Ok(match compare_lines(&expected.0, &output) {
            None => Validation::plain(ValidationOutcome::Accepted, String::new()),
            Some(difference) => Validation::plain(ValidationOutcome::Rejected, difference.to_string()),
        })
    }

    fn run(&self, settled: SettledCase) -> Result<ExecutedRun, Fault> {
        let decides = settled.judged.runs.first();
        let decides = decides.ok_or_else(|| SystemError::new("settling a run", "there was none"))?;
        let peaks = settled.runs.iter().filter_map(|run| run.memory_peak.known()).max();
        let memory_peak = peaks.map_or_else(|| decides.memory_peak.clone(), |peak| Reading::Known(*peak));
        Ok(ExecutedRun {
            verdict: settled.judged.verdict,
            status: decides.status(&self.limits.judge),
            exit: decides.exit,
            cpu: settled.charge.as_time(),
            wall: settled.wall,
            memory_peak,
            settled: settled.settled,
            runs: settled.runs,
            causes: Reading::Known(settled.causes),
        })
    }
}

/// The beginning of a file.
fn kept(file: &File, limit: Bytes) -> Result<CapturedStream, SystemError> {
    let read = || {
        let mut content = Vec::new();
        files::reopen(file)?.take(limit.0).read_to_end(&mut content)?;
        Ok(CapturedStream { content: Blob(content), total: Bytes(file.metadata()?.len()) })
    };
    read().map_err(reading("what a program wrote"))
}

fn reading(what: &str) -> impl Fn(std::io::Error) -> SystemError + '_ {
    move |e| SystemError::new(format!("reading {what}"), e.to_string())
}
