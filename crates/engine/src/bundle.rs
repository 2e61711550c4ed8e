//! Judging by bundles: programs of another judge that come as files with scripts. One compiles submissions, one compares outputs or
//! talks to the submission. The result of a test is DOMjudge's ([`judge::domjudge`]); times are settled as everywhere.

use crate::build_plan::{BuildPlan, LoadedFile};
use crate::case::{CaseLimits, Judged};
use crate::clocks::Meter;
use crate::interact::{Interaction, Pipes, Side, interact};
use crate::limits::Allowance;
use crate::program::{Built, CompileBounds, RunContext, RunInputs, compile_to, duplicate};
use crate::settled::{SettleContext, limits_to_settle, settle_attempts};
use crate::slot::{Slot, Station};
use crate::validate::Validating;
use crate::{Fault, SystemError, files};
use judge::domjudge::{Bounds, Ended, MemoryVerdict, RunResult, run_result};
use judge::language::{Command, CompileLimits, PROGRAM_DIR};
use judge::package::{Calls, Protocol};
use judge::verdict::{EndedFirst, Validation, ValidationOutcome};
use model::{
    BoxMount, Bytes, Cause, Layout, Limits, Nanos, Observation, Settled, View, ViewMount, WallLimit,
};
use settle::NoiseFloor;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, sink};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread::scope;

/// How bundles that compare are called.
static KATTIS: Calls = Calls { protocol: Protocol::Kattis, arguments: Vec::new() };
/// Where a compilation sees the bundle that compiles.
const TOOLS: &str = "/bundle";
/// Where a script that starts the submission sees the test's input.
const WRAPPED_INPUT: &str = "/test/testdata.in";
/// Where a script that packs sees the directories.
const PACKED: &str = "/judgings";
/// What it writes.
const PACKAGE: &str = "package";
/// Processes that such a script may have beside the submission's.
const WRAPPER_PROCESSES: u32 = 8;
/// Processes of a script: as many as build scripts of packages may have.
const PROCESSES: u32 = 256;
/// CPU time of a script in units of its elapsed time, which is what is bounded: compilers work on several CPUs.
const CPUS: u64 = 16;
/// Most that is kept of what a compilation prints.
const PRINTED: u64 = 1 << 20;

/// Where bundles are built and run.
#[derive(Clone, Copy)]
pub struct BundleRunner<'a> {
    /// Its main station compiles and runs submissions; the auxiliary one runs compare scripts.
    pub slot: &'a Slot,
    /// The noise floor of the slot.
    pub floor: &'a NoiseFloor,
    /// What scripts and programs see; see [`view`].
    pub view: &'a View,
    /// Set it to stop; the caller also ends the runs of the slot.
    pub cancel: &'a AtomicBool,
}

/// A station of the slot, by what it is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationRole {
    /// Where submissions are compiled.
    Main,
    /// Where outputs are compared.
    Beside,
}

/// What a script may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Elapsed time.
    pub wall: Nanos,
    /// Memory.
    pub memory: Bytes,
    /// What it may write.
    pub files: Bytes,
}

impl ScriptLimits {
    fn bounds(&self) -> CompileBounds {
        CompileBounds {
            limits: CompileLimits {
                cpu: Nanos(self.wall.0.saturating_mul(CPUS)),
                memory: self.memory,
                processes: PROCESSES,
                output: self.files,
            },
            wall: Some(self.wall_limit()),
        }
    }

    fn wall_limit(&self) -> WallLimit {
        WallLimit { time: self.wall, excuse_waiting: true }
    }

    fn limits(&self) -> Limits {
        Limits {
            cpu: Some(Nanos(self.wall.0.saturating_mul(CPUS))),
            wall: Some(self.wall_limit()),
            memory: Some(self.memory),
            output: Some(self.files),
            processes: Some(PROCESSES),
            ..Limits::default()
        }
    }
}

/// A bundle, built.
pub struct Executable<'a>(Built<'a>);

/// A submission, compiled.
pub struct Program<'a>(Built<'a>);

/// The result of building or compiling.
pub struct Made<T> {
    /// The program, or why it could not be built.
    pub made: Result<T, String>,
    /// What was printed, from its beginning.
    pub printed: Vec<u8>,
    /// The last step; `None` where there was nothing to do.
    pub run: Option<Observation>,
}

impl<T> Made<T> {
    fn map<U>(self, change: impl FnOnce(T) -> Result<U, String>) -> Made<U> {
        Made { made: self.made.and_then(change), printed: self.printed, run: self.run }
    }
}

/// A test of a submission.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// Its input.
    pub input: &'a File,
    /// The jury's answer.
    pub answer: &'a File,
    /// Arguments of the compare script.
    pub args: &'a [String],
    /// CPU time by which the submission is judged.
    pub limit: Nanos,
    /// CPU time after which it is ended, unless settling takes more.
    pub hard: Nanos,
    /// Elapsed time after which it is too slow.
    pub wall: Nanos,
    /// Its memory.
    pub memory: Bytes,
    /// Most bytes that it may print.
    pub output: Bytes,
    /// Its processes.
    pub processes: u32,
    /// What the compare script may use.
    pub script: ScriptLimits,
    /// Most runs, each with the input that the script left for it.
    pub passes: u32,
    /// The script talks to the submission.
    pub interactive: bool,
    /// The verdict for a run that was killed for memory.
    pub memory_verdict: MemoryVerdict,
    /// A script that starts the submission, built where submissions are compiled. Not where the jury's script talks to it.
    pub wrapper: Option<&'a Executable<'a>>,
}

/// A test, judged.
pub struct Tested {
    /// The result.
    pub result: RunResult,
    /// Why the compare script failed, for [`RunResult::CompareError`].
    pub why: String,
    /// The last pass of the attempt that decides.
    pub last: Pass,
    /// How many passes it had.
    pub passes: u32,
    /// The settled time.
    pub time: Nanos,
    /// Elapsed time of the same run.
    pub wall: Nanos,
    /// How certain the time is.
    pub settled: Settled,
    /// All runs.
    pub runs: Vec<Observation>,
    /// The disturbances of each run.
    pub causes: Vec<Vec<Cause>>,
}

/// One run and its comparison.
pub struct Pass {
    /// The run of the submission.
    pub run: Observation,
    /// Its output; empty if it was interactive.
    pub output: File,
    /// The beginning of its standard error.
    pub errors: Vec<u8>,
    /// The compare script, if it ran.
    pub compared: Option<Compared>,
}

/// The result of a compare script.
pub struct Compared {
    /// Its run.
    pub run: Observation,
    /// For the jury: what it left for them and what it printed.
    pub message: String,
    /// For the participant.
    pub team_message: String,
    /// Its score, if it left one.
    pub score: Option<f64>,
    /// It ended before the submission did; only of an interactive one.
    pub first: bool,
}

impl<'a> BundleRunner<'a> {
    fn station(&self, at: StationRole) -> Result<&'a Station, Fault> {
        let missing = || SystemError::new("preparing a script", "the slot has no auxiliary runner");
        match at {
            StationRole::Main => Ok(&self.slot.main),
            StationRole::Beside => Ok(self.slot.auxiliary.as_ref().ok_or_else(missing)?),
        }
    }

    fn context(&self, at: StationRole) -> Result<RunContext<'a>, Fault> {
        let station = self.station(at)?;
        Ok(RunContext {
            runner: &*station.runner,
            placement: &station.placement,
            caches: &station.caches,
            layout: Layout::default(),
            cancel: self.cancel,
        })
    }

    /// Builds a bundle: runs its `build`, if it has one, which must leave a `run`.
    ///
    /// # Errors
    /// A fault of this machine.
    pub fn build(
        &self,
        at: StationRole,
        parts: Vec<LoadedFile>,
        limits: &ScriptLimits,
    ) -> Result<Made<Executable<'a>>, Fault> {
        let builds = parts.iter().any(|part| part.name == "build");
        let compile = if builds { vec![command("build", Vec::new(), &[])] } else { Vec::new() };
        let build_plan = self.build_plan(parts, compile, "run");
        let made = self.make(at, &build_plan, limits, &[])?;
        Ok(made.map(|built| match built.entries.contains("run") {
            true => Ok(Executable(built)),
            false => Err("it has no `run`, and its `build` made none".to_owned()),
        }))
    }

    /// Compiles a submission by a bundle: `run program ARGS` in the directory of the sources, which leaves an executable file `program`.
    ///
    /// # Errors
    /// A fault of this machine.
    pub fn compile(
        &self,
        script: &Executable,
        sources: Vec<LoadedFile>,
        args: Vec<String>,
        env: &[(String, String)],
        limits: &ScriptLimits,
    ) -> Result<Made<Program<'a>>, Fault> {
        let words = [format!("{TOOLS}/run"), "program".to_owned()].into_iter().chain(args).collect();
        let command = Command { argv: words, env: environment(env) };
        let mut build_plan = self.build_plan(sources, vec![command], "program");
        build_plan.run.env = environment(env);
        let tools = [BoxMount { id: script.0.boxed.id, at: TOOLS.to_owned(), writable: false }];
        let made = self.make(StationRole::Main, &build_plan, limits, &tools)?;
        Ok(made.map(|built| match built.entries.contains("program") {
            true => Ok(Program(built)),
            false => Err("nothing was made: there is no file `program`".to_owned()),
        }))
    }

    /// Runs a script of one file and returns what it printed.
    ///
    /// # Errors
    /// A fault of this machine.
    pub fn script(&self, text: &[u8], limits: &ScriptLimits) -> Result<Vec<u8>, Fault> {
        let part = LoadedFile { name: "script".to_owned(), executable: true, content: text.to_vec() };
        let build_plan = self.build_plan(vec![part], vec![command("script", Vec::new(), &[])], "script");
        Ok(self.make(StationRole::Main, &build_plan, limits, &[])?.printed)
    }

    /// Packs a directory below `directory` by a bundle: `run DIRECTORY PACKAGE`, with all of `directory` to be read. The package's content, of
    /// at most `most` bytes.
    ///
    /// # Errors
    /// A fault of this machine.
    pub fn package(
        &self,
        script: &Executable,
        directory: &Path,
        name: &str,
        most: u64,
        limits: &ScriptLimits,
    ) -> Result<Made<Vec<u8>>, Fault> {
        let package = format!("{PROGRAM_DIR}/{PACKAGE}");
        let argv = vec![format!("{TOOLS}/run"), format!("{PACKED}/{name}"), package];
        let mut build_plan =
            self.build_plan(Vec::new(), vec![Command { argv, env: environment(&[]) }], PACKAGE);
        let host = directory.to_string_lossy().into_owned();
        build_plan.compile_view.mounts.push(ViewMount { host, inside: PACKED.to_owned(), optional: false });
        let tools = [BoxMount { id: script.0.boxed.id, at: TOOLS.to_owned(), writable: false }];
        let made = self.make(StationRole::Main, &build_plan, limits, &tools)?;
        let fetched = |built: &Built| built.context.runner.fetch(built.boxed.id, PACKAGE);
        let file = made.made.as_ref().ok().map(fetched).transpose()?.and_then(|found| found.file());
        let content = file.map(|file| bytes(&file, most + 1)).transpose()?;
        Ok(made.map(|_| match content {
            Some(content) if content.len() as u64 <= most => Ok(content),
            Some(_) => Err(format!("it is larger than {} MiB", most >> 20)),
            None => Err("the script wrote no file".to_owned()),
        }))
    }

    fn build_plan(&self, parts: Vec<LoadedFile>, compile: Vec<Command>, run: &str) -> BuildPlan {
        BuildPlan {
            language: "bundle".to_owned(),
            stands_in: None,
            refused: None,
            parts,
            compile,
            warm_up: None,
            compile_view: self.view.clone(),
            compile_limits: crate::languages::SCRIPT_LIMITS,
            run: command(run, Vec::new(), &[]),
            run_view: self.view.clone(),
            allowance: Allowance::NONE,
        }
    }

    fn make(
        &self,
        at: StationRole,
        build_plan: &BuildPlan,
        limits: &ScriptLimits,
        tools: &[BoxMount],
    ) -> Result<Made<Built<'a>>, Fault> {
        let printed = files::in_memory("what a script prints")?;
        let streams = [&printed, &printed];
        let mut compilation = compile_to(self.context(at)?, build_plan, limits.bounds(), tools, streams)?;
        Ok(Made {
            made: compilation.program,
            printed: bytes(&printed, PRINTED)?,
            run: compilation.steps.pop(),
        })
    }

    /// Judges a program on a test. `jury` was built at the auxiliary station.
    ///
    /// # Errors
    /// A fault of this machine.
    pub fn judge(&self, program: &Program, jury: &Executable, case: &Case) -> Result<Tested, Fault> {
        let limits = Limits {
            cpu: Some(case.limit),
            memory: Some(case.memory),
            output: Some(case.output),
            processes: Some(case.processes + case.wrapper.map_or(0, |_| WRAPPER_PROCESSES)),
            ..Limits::default()
        };
        let stop = Limits { cpu: Some(case.hard), ..limits };
        let mut limits = limits_to_settle(CaseLimits { judge: limits, stop }, self.floor);
        // A sleeper is judged by `wall`; a program that computes is to be stopped by its CPU time first.
        let computing = limits.stop.cpu.map_or(Nanos::ZERO, |cpu| cpu + Nanos::from_millis(50));
        limits.stop.wall = Some(WallLimit { time: case.wall.max(computing), excuse_waiting: true });
        let control = self.slot.control.as_ref().map(|control| (control, program.0.context));
        let looks = Cell::new(0);
        let settle_context = SettleContext {
            meter: Meter::Kernel,
            limits: &limits,
            floor: self.floor,
            control,
            looks: &looks,
            phase: &|_| (),
        };
        let mut attempts = Vec::new();
        let settled = settle_attempts(&settle_context, || {
            let (judged, attempt) = attempt(program, jury, case, &limits)?;
            attempts.push(attempt);
            Ok(judged)
        })?;
        let Attempt { result, why, last, passes } = attempts.swap_remove(settled.attempt);
        Ok(Tested {
            result,
            why,
            last,
            passes,
            time: settled.charge.as_time(),
            wall: settled.wall,
            settled: settled.settled,
            runs: settled.runs,
            causes: settled.causes,
        })
    }
}

/// All passes of a test, once.
struct Attempt {
    result: RunResult,
    why: String,
    last: Pass,
    passes: u32,
}

fn attempt(
    program: &Program,
    jury: &Executable,
    case: &Case,
    limits: &CaseLimits,
) -> Result<(Judged, Attempt), Fault> {
    let multi_pass = case.passes > 1;
    let mut validating = Validating::by(&jury.0, duplicate(case.answer)?, case.args, multi_pass, &KATTIS)?;
    let mut input = duplicate(case.input)?;
    let mut runs = Vec::new();
    loop {
        let (last, validation, first) = match case.interactive {
            true => talk(program, &mut validating, case, limits, &input)?,
            false => run(program, &mut validating, case, limits, &input)?,
        };
        runs.push(last.run.clone());
        let outcome = validation.as_ref().map(|validation| &validation.outcome);
        let bounds = Bounds { limit: case.limit, wall: case.wall, output: Some(case.output) };
        let ended = Ended::from_run(&last.run, &bounds, length(&last.output)?);
        let mut result = run_result(ended, outcome, first, case.memory_verdict);
        let mut why = match outcome {
            Some(ValidationOutcome::Error(why)) => why.clone(),
            _ => String::new(),
        };
        let passes = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        let again = result == RunResult::Correct
            && validation.as_ref().is_some_and(|validation| validation.next_pass);
        if again && passes < case.passes {
            input = validating.next_input()?;
            continue;
        }
        if again {
            result = RunResult::CompareError;
            why = format!("the compare script asked for more than {} passes", case.passes);
        }
        let judged = Judged { verdict: result.verdict(), validation, runs, message: String::new() };
        return Ok((judged, Attempt { result, why, last, passes }));
    }
}

type Ran = (Pass, Option<Validation>, Option<EndedFirst>);

/// The submission alone; what it printed is compared where it ended well. A script that is asked about half an output may crash, and the
/// whole problem with it.
fn run(
    program: &Program,
    validating: &mut Validating,
    case: &Case,
    limits: &CaseLimits,
    input: &File,
) -> Result<Ran, Fault> {
    let output = files::in_memory("standard output")?;
    let (run, errors) = with_errors(case.output, |stderr| {
        let mut given = given(limits.stop, reopened(input)?, duplicate(&output)?, stderr);
        if let Some(wrapper) = case.wrapper {
            let tools = BoxMount { id: wrapper.0.boxed.id, at: TOOLS.to_owned(), writable: false };
            given.boxes.push((tools, BTreeSet::new()));
            given.files.push((reopened(input)?.into(), WRAPPED_INPUT.to_owned()));
        }
        let (mut spec, fds) = program.0.prepare(given);
        if case.wrapper.is_some() {
            // `run INPUT OUTPUT PROGRAM`: as DOMjudge's own judgehost calls it, with the program itself where that has its sandbox.
            let words = [format!("{TOOLS}/run"), WRAPPED_INPUT.to_owned(), "/dev/stdout".to_owned()];
            spec.argv.splice(0..0, words);
        }
        program.0.context.run(&spec, fds)
    })?;
    let bounds = Bounds { limit: case.limit, wall: case.wall, output: Some(case.output) };
    let ended = Ended::from_run(&run, &bounds, length(&output)?);
    if ended.too_slow || ended.failed || ended.cut {
        return Ok((Pass { run, output, errors, compared: None }, None, None));
    }
    let limits = case.script.limits();
    let (spec, fds) = validating.prepare(input, None, reopened(&output)?.into(), None, limits)?;
    let seen = validating.validator.context.run(&spec, fds)?;
    let validation = validating.outcome(&seen, &limits)?;
    let compared = compared(validating, seen, &validation, false)?;
    Ok((Pass { run, output, errors, compared: Some(compared) }, Some(validation), None))
}

/// The submission and the jury's program side by side.
fn talk(
    program: &Program,
    validating: &mut Validating,
    case: &Case,
    limits: &CaseLimits,
    input: &File,
) -> Result<Ran, Fault> {
    let (mine, its, kept) = Pipes::new()?.split();
    let script = case.script.limits();
    let beside = limits.stop.wall.map_or(Nanos::ZERO, |wall| wall.time);
    let wall = WallLimit { time: case.script.wall + beside, excuse_waiting: true };
    let script = Limits { wall: Some(wall), ..script };
    let (seen, errors) = with_errors(case.output, |stderr| {
        let [stdin, stdout] = mine.map(File::from);
        let (spec, fds) = program.0.prepare(given(limits.stop, stdin, stdout, stderr));
        let submission = Side { context: program.0.context, spec, fds };
        let [stdin, stdout] = its;
        let (spec, fds) = validating.prepare(input, None, stdin, Some(stdout), script)?;
        let context = validating.validator.context;
        interact(submission, Side { context, spec, fds }, kept, KATTIS.protocol.accepts())
    })?;
    let Interaction { submission: run, interactor: seen, first } = seen;
    let validation = validating.outcome(&seen, &script)?;
    let compared = compared(validating, seen, &validation, first == EndedFirst::Validator)?;
    let output = files::in_memory("standard output")?;
    Ok((Pass { run, output, errors, compared: Some(compared) }, Some(validation), Some(first)))
}

/// What a script came to. The message for the jury is what it left for them, then its own troubles, then what it printed.
fn compared(
    validating: &Validating,
    run: Observation,
    validation: &Validation,
    first: bool,
) -> Result<Compared, Fault> {
    let left = [validating.text("judgemessage.txt")?, validating.text("judgeerror.txt")?];
    let parts = left.into_iter().flatten().chain([validating.printed()?]);
    let mut message = String::new();
    for part in parts.filter(|part| !part.is_empty()) {
        if !message.is_empty() && !message.ends_with('\n') {
            message.push('\n');
        }
        message.push_str(&part);
    }
    Ok(Compared {
        run,
        message,
        team_message: validation.team_message.clone(),
        score: validation.score,
        first,
    })
}

fn given(limits: Limits, stdin: File, stdout: File, stderr: File) -> RunInputs {
    RunInputs {
        args: Vec::new(),
        limits,
        stdin: stdin.into(),
        stdout: stdout.into(),
        stderr: stderr.into(),
        boxes: Vec::new(),
        files: Vec::new(),
    }
}

/// Calls `body` with the writing end of a pipe for errors. The first `most` bytes are kept and the rest is discarded: too many errors are no
/// result.
fn with_errors<T>(most: Bytes, body: impl FnOnce(File) -> Result<T, Fault>) -> Result<(T, Vec<u8>), Fault> {
    let fault = |e: std::io::Error| SystemError::new("making a pipe for errors", e.to_string());
    let (mut from, to) = std::io::pipe().map_err(fault)?;
    scope(|threads| {
        let reader = threads.spawn(move || {
            let mut kept = Vec::new();
            // What ends it early ends it like the end of the pipe.
            let _ = (&mut from).take(most.0).read_to_end(&mut kept);
            let _ = std::io::copy(&mut from, &mut sink());
            kept
        });
        let done = body(File::from(std::os::fd::OwnedFd::from(to)));
        let kept = reader.join().unwrap_or_default();
        Ok((done?, kept))
    })
}

fn command(name: &str, args: Vec<String>, env: &[(String, String)]) -> Command {
    let argv = [format!("{PROGRAM_DIR}/{name}")].into_iter().chain(args).collect();
    Command { argv, env: environment(env) }
}

/// Scripts see the way to programs and nothing else, as under DOMjudge's own judgehost.
fn environment(more: &[(String, String)]) -> Vec<(String, String)> {
    let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
    [path].into_iter().chain(more.iter().cloned()).collect()
}

/// What bundles see: the system directories below a root, or the host's own, and the parts of /etc and /var that toolchains below
/// /usr need. Scripts name no language, so every bundle sees them, as it sees all of /etc under DOMjudge's own judgehost.
pub fn view(root: Option<&str>) -> View {
    let below = |path: &str| format!("{}{path}", root.unwrap_or_default().trim_end_matches('/'));
    let names = std::fs::read_dir(below("/etc")).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let java = names.filter(|name| name.starts_with("java-")).map(|name| format!("/etc/{name}"));
    let fixed = ["/etc/mono", "/etc/R", "/etc/fpc.cfg", "/var/lib/ghc"].map(String::from);
    let mut paths: Vec<String> = java.chain(fixed).filter(|path| Path::new(&below(path)).exists()).collect();
    paths.sort();
    let mount = |path: String| ViewMount { host: below(&path), inside: path, optional: true };
    View { root: root.map(Box::from), mounts: paths.into_iter().map(mount).collect() }
}

fn reopened(file: &File) -> Result<File, SystemError> {
    files::reopen(file).map_err(|e| SystemError::new("opening a file again", e.to_string()))
}

fn length(file: &File) -> Result<Bytes, SystemError> {
    let facts = file.metadata().map_err(|e| SystemError::new("asking for a file's length", e.to_string()))?;
    Ok(Bytes(facts.len()))
}

/// A file from its beginning, at most so much of it.
fn bytes(file: &File, most: u64) -> Result<Vec<u8>, SystemError> {
    let mut bytes = Vec::new();
    let read = reopened(file)?.take(most).read_to_end(&mut bytes);
    read.map_err(|e| SystemError::new("reading what a script printed", e.to_string()))?;
    Ok(bytes)
}
