//! Programs in boxes: compiled once, run often.

use crate::build_plan::BuildPlan;
use crate::limits::{Allowance, PROGRAM_BOX, Settings};
use crate::slot::Caches;
use crate::{Blame, Fault, Runner, SystemError, artifact_cache, files};
use judge::language::{CACHE_DIR, Command, CompileLimits, PROGRAM_DIR};
use model::{
    BoxId, BoxMount, FileMount, Layout, Limits, Nanos, Observation, Placement, RunSpec, Status, Stdio, View,
    WallLimit,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most of a compiler's output that is kept.
const COMPILE_OUTPUT: u64 = 64 << 10;

/// Most that the links to a program's files may take of a message to the launcher, whose bound is 192 KiB.
const LINKS: usize = 96 << 10;
/// What a link takes besides the names: the program's directory, and punctuation.
const PER_LINK: usize = PROGRAM_DIR.len() + 8;

/// How long a text is in a message to the launcher (JSON: RFC 8259, section 7), without its quotes.
pub(crate) fn message_length(text: &str) -> usize {
    let length = |byte| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(length).sum()
}

/// A runner, with where and how its runs take place.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) runner: &'a dyn Runner,
    pub(crate) placement: &'a Placement,
    pub(crate) caches: &'a Caches,
    pub(crate) layout: Layout,
    pub(crate) cancel: &'a AtomicBool,
}

impl RunContext<'_> {
    /// Runs a program to its end. One of the box that cannot be executed, because nothing was compiled or it is no program,
    /// fails as it would under a shell.
    pub(crate) fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, Fault> {
        self.check_cancelled()?;
        let errors = errors_of(spec, &fds)?;
        let observation = self.runner.run(spec, fds);
        self.check_cancelled()?;
        match observation {
            Err(e) if e.blame == Blame::CannotExec && brought(spec) => Ok(cannot_execute(&e, errors)?),
            observation => Ok(observation?),
        }
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), Fault> {
        if self.cancel.load(Ordering::SeqCst) { Err(Fault::Cancelled) } else { Ok(()) }
    }
}

/// Whether the program to be run is not a tool of the host's.
fn brought(spec: &RunSpec) -> bool {
    let program = spec.argv.first().and_then(|program| program.strip_prefix(PROGRAM_DIR));
    program.is_some_and(|name| name.starts_with('/'))
}

/// Where the program writes its errors.
fn errors_of(spec: &RunSpec, fds: &[OwnedFd]) -> Result<Option<File>, SystemError> {
    let Stdio::Fd(n) = spec.stdio[2] else { return Ok(None) };
    let errors = fds.get(usize::from(n)).map(OwnedFd::try_clone).transpose();
    Ok(errors.map_err(|e| SystemError::new("duplicating a descriptor", e.to_string()))?.map(File::from))
}

/// What a shell makes of a program that cannot be executed: a message and the exit code 126 (POSIX, 2.8.2 "Exit Status for
/// Commands").
fn cannot_execute(why: &SystemError, errors: Option<File>) -> Result<Observation, SystemError> {
    if let Some(mut errors) = errors {
        let written =
            writeln!(errors, "cannot execute {}: {}", why.what.trim_start_matches("executing "), why.why);
        written.map_err(|e| SystemError::new("writing to standard error", e.to_string()))?;
    }
    Ok(Observation::unread(model::Exit::Code(126), Nanos::ZERO, "the program could not be executed"))
}

/// A box that is removed when it is no longer needed.
pub(crate) struct Boxed<'a> {
    runner: &'a dyn Runner,
    pub(crate) id: BoxId,
}

impl<'a> Boxed<'a> {
    pub(crate) fn new(runner: &'a dyn Runner, size: model::Bytes) -> Result<Boxed<'a>, SystemError> {
        Ok(Boxed { runner, id: runner.create_box(size)? })
    }
}

impl Boxed<'_> {
    /// Leaves the box to the end of its sandbox.
    fn keep(self) -> BoxId {
        std::mem::ManuallyDrop::new(self).id
    }
}

impl Drop for Boxed<'_> {
    fn drop(&mut self) {
        // The box goes with its sandbox at the latest; a fault here must not hide the result.
        let _ = self.runner.drop_box(self.id);
    }
}

/// A program in a box, ready to run.
pub(crate) struct Built<'a> {
    pub(crate) context: RunContext<'a>,
    pub(crate) allowance: Allowance,
    pub(crate) boxed: Boxed<'a>,
    run: Box<Command>,
    view: View,
    /// What lies directly in the program's directory.
    pub(crate) entries: BTreeSet<String>,
    /// The same program at other places, for further processes of a submission.
    pub(crate) twins: Vec<Built<'a>>,
}

/// What came of compiling.
pub(crate) enum Compiled<'a> {
    Built { program: Built<'a>, output: String },
    Failed { output: String },
}

/// What a compilation may use.
#[derive(Clone, Copy)]
pub(crate) struct CompileBounds {
    /// As the language gives them, or who asked for it.
    pub(crate) limits: CompileLimits,
    /// Elapsed time of each step; `None`: what fits the CPU time.
    pub(crate) wall: Option<WallLimit>,
}

/// How a compilation ended. Files that cannot be taken as they are make none either: whoever brought them is told why.
pub(crate) struct Compilation<'a> {
    /// The program, or why there is none.
    pub(crate) program: Result<Built<'a>, String>,
    /// What was observed of each step.
    pub(crate) steps: Vec<Observation>,
}

/// Puts a program into a box and compiles it there, within a package's limits.
pub(crate) fn compile<'a>(
    context: RunContext<'a>,
    build_plan: &BuildPlan,
    settings: &Settings,
) -> Result<Compiled<'a>, Fault> {
    let usual = build_plan.compile_limits;
    let limits = CompileLimits {
        cpu: settings.compilation_time.unwrap_or(usual.cpu),
        memory: settings.compilation_memory.unwrap_or(usual.memory),
        ..usual
    };
    let printed = files::in_memory("compiler output")?;
    let bounds = CompileBounds { limits, wall: None };
    let compilation = compile_to(context, build_plan, bounds, &[], [&printed, &printed])?;
    let mut output = files::head(&printed, COMPILE_OUTPUT)
        .map_err(|e| SystemError::new("reading the compiler's output", e.to_string()))?;
    Ok(match compilation.program {
        Ok(program) => Compiled::Built { program, output },
        Err(why) => {
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            if out_of_room(&output) {
                output.push_str(&too_much_written(limits.output));
                output.push('\n');
            }
            output.push_str(&why);
            Compiled::Failed { output }
        }
    })
}

/// Whether a compiler says that it could not write. One of its parts passed the limit of a file's size, or its files fill
/// their room, so the compiler itself ends in its own way and often calls it a bug of its own.
fn out_of_room(output: &str) -> bool {
    // SIGXFSZ, ENOSPC and EFBIG, in the words of the C library.
    ["File size limit exceeded", "No space left on device", "File too large"]
        .iter()
        .any(|words| output.contains(words))
}

fn too_much_written(limit: model::Bytes) -> String {
    format!(
        "the program or a file made on the way is larger than {} MiB, which compilations may write\n\
         hint: arrays with initial values are part of the program's file",
        limit.mib()
    )
}

/// The same with the compiler's two streams going into these files, and more boxes that it sees.
pub(crate) fn compile_to<'a>(
    context: RunContext<'a>,
    build_plan: &BuildPlan,
    bounds: CompileBounds,
    tools: &[BoxMount],
    streams: [&File; 2],
) -> Result<Compilation<'a>, Fault> {
    if let Some(why) = &build_plan.refused {
        return Ok(Compilation { program: Err(why.clone()), steps: Vec::new() });
    }
    let boxed = Boxed::new(context.runner, PROGRAM_BOX)?;
    for part in &build_plan.parts {
        let content = files::in_memory_with(&part.name, &part.content)?;
        match context.runner.put(boxed.id, &part.name, part.executable, &content) {
            Err(e) if e.blame == Blame::Content => {
                return Ok(Compilation { program: Err(e.to_string()), steps: Vec::new() });
            }
            put => put?,
        }
    }
    let own_cache;
    let cache = match warmed(context, build_plan)? {
        Warmed::Needless => None,
        Warmed::Cache(id) => Some(BoxMount { id, at: CACHE_DIR.to_owned(), writable: false }),
        Warmed::Copy(copy) => {
            own_cache = copy;
            Some(BoxMount { id: own_cache.id, at: CACHE_DIR.to_owned(), writable: false })
        }
        Warmed::Failed => {
            own_cache = Boxed::new(context.runner, PROGRAM_BOX)?;
            Some(BoxMount { id: own_cache.id, at: CACHE_DIR.to_owned(), writable: true })
        }
    };
    let boxes = [program_box(boxed.id)].into_iter().chain(cache).chain(tools.iter().cloned()).collect();
    let (steps, failed) = compile_steps(context, build_plan, &build_plan.compile, boxes, bounds, streams)?;
    if let Some(why) = failed {
        return Ok(Compilation { program: Err(why), steps });
    }
    let names = context.runner.list(boxed.id)?;
    let first = |name: &String| name.split('/').next().unwrap_or(name).to_owned();
    let entries: BTreeSet<String> = names.iter().map(first).collect();
    // Each is linked into the directory of every run, and all links travel in one message.
    if entries.iter().map(|name| 2 * message_length(name) + PER_LINK).sum::<usize>() > LINKS {
        let why = format!("it has too many files at its root: {}", entries.len());
        return Ok(Compilation { program: Err(why), steps });
    }
    let (run, view) = (Box::new(build_plan.run.clone()), build_plan.run_view.clone());
    let (allowance, twins) = (build_plan.allowance, Vec::new());
    let program = Built { context, allowance, boxed, run, view, entries, twins };
    Ok(Compilation { program: Ok(program), steps })
}

/// What a language's programs have in common, compiled.
pub(crate) enum Warmed<'a> {
    Needless,
    Cache(BoxId),
    /// For this compilation alone.
    Copy(Boxed<'a>),
    /// Every compilation is on its own, with an empty cache.
    Failed,
}

/// What the language compiles once for all its programs: made the first time a station compiles one of them, unless the artifact cache has it.
pub(crate) fn warmed<'a>(context: RunContext<'a>, build_plan: &BuildPlan) -> Result<Warmed<'a>, Fault> {
    let Some(warm_up) = &build_plan.warm_up else { return Ok(Warmed::Needless) };
    let kept = context
        .caches
        .artifacts
        .as_deref()
        .map(|artifacts| (artifacts, artifact_cache::name_of(build_plan, warm_up)));
    // What a machine that may have been taken over has compiled is nobody else's. It gets a copy of what was compiled outside.
    if context.runner.throws_away() {
        let copy = Boxed::new(context.runner, PROGRAM_BOX)?;
        let filled = kept.is_some_and(|(artifacts, name)| artifacts.fill(&name, context.runner, copy.id));
        return Ok(if filled { Warmed::Copy(copy) } else { Warmed::Failed });
    }
    let mut caches = context.caches.made.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = caches.get(&build_plan.language) {
        return Ok(known.map_or(Warmed::Failed, Warmed::Cache));
    }
    let mut lock = None;
    if let Some((artifacts, name)) = &kept {
        let cache = Boxed::new(context.runner, PROGRAM_BOX)?;
        let mut filled = artifacts.fill(name, context.runner, cache.id);
        if !filled {
            // Workers that start together compile it once.
            lock = artifacts.lock(&build_plan.language, context.cancel);
            filled = lock.is_some() && artifacts.fill(name, context.runner, cache.id);
        }
        if filled {
            let id = cache.keep();
            caches.insert(build_plan.language.clone(), Some(id));
            return Ok(Warmed::Cache(id));
        }
    }
    let program = Boxed::new(context.runner, PROGRAM_BOX)?;
    let content = files::in_memory_with(&warm_up.name, warm_up.text.as_bytes())?;
    context.runner.put(program.id, &warm_up.name, false, &content)?;
    let cache = Boxed::new(context.runner, PROGRAM_BOX)?;
    let boxes =
        vec![program_box(program.id), BoxMount { id: cache.id, at: CACHE_DIR.to_owned(), writable: true }];
    let printed = files::in_memory("compiler output")?;
    // Not the package's limits: this is no program of it.
    let bounds = CompileBounds { limits: build_plan.compile_limits, wall: None };
    let streams = [&printed, &printed];
    let (_, failed) = compile_steps(context, build_plan, &warm_up.commands, boxes.clone(), bounds, streams)?;
    if let (None, Some((artifacts, name))) = (&failed, &kept) {
        let (_, marked) = compile_steps(context, build_plan, &[mark_directories()], boxes, bounds, streams)?;
        if marked.is_none() {
            // Not kept, it is made again by the next process.
            let _ = artifacts.keep(name, context.runner, cache.id);
        }
    }
    drop(lock);
    let made = failed.is_none().then(|| cache.keep());
    caches.insert(build_plan.language.clone(), made);
    Ok(made.map_or(Warmed::Failed, Warmed::Cache))
}

/// Puts a file into every empty directory of the cache: what is kept are files, and a compiler that cannot write misses its directories.
fn mark_directories() -> Command {
    let words =
        ["/usr/bin/find", CACHE_DIR, "-type", "d", "-empty", "-exec", "/usr/bin/touch", "{}/.kept", ";"];
    Command { argv: words.map(str::to_owned).into(), env: Vec::new() }
}

fn program_box(id: BoxId) -> BoxMount {
    BoxMount { id, at: PROGRAM_DIR.to_owned(), writable: true }
}

/// Runs the commands, within the limits for all of them; what was observed, and why one failed.
fn compile_steps(
    context: RunContext,
    build_plan: &BuildPlan,
    commands: &[Command],
    boxes: Vec<BoxMount>,
    bounds: CompileBounds,
    streams: [&File; 2],
) -> Result<(Vec<Observation>, Option<String>), Fault> {
    let mut left = bounds.limits.cpu;
    let mut steps = Vec::new();
    for command in commands {
        let limits = compile_limits(bounds, left);
        let spec = RunSpec {
            tally: None,
            count_instructions: false,
            argv: command.argv.clone(),
            env: command.env.clone(),
            view: build_plan.compile_view.clone(),
            boxes: boxes.clone(),
            files: Vec::new(),
            cwd: PROGRAM_DIR.to_owned(),
            links: Vec::new(),
            stdio: [Stdio::Null, Stdio::Fd(0), Stdio::Fd(1)],
            limits,
            placement: context.placement.clone(),
            layout: context.layout,
        };
        let fds = streams.map(|stream| duplicate(stream).map(OwnedFd::from));
        let observation = match context.run(&spec, fds.into_iter().collect::<Result<_, _>>()?) {
            // So many files that no compiler can be told of them.
            Err(Fault::System(e)) if e.blame == Blame::Content => return Ok((steps, Some(e.to_string()))),
            observation => observation?,
        };
        left = left - observation.time.cpu;
        let failed = compile_failure(&observation, &limits);
        steps.push(observation);
        if failed.is_some() {
            return Ok((steps, failed));
        }
    }
    Ok((steps, None))
}

fn compile_limits(bounds: CompileBounds, cpu: Nanos) -> Limits {
    let wall = WallLimit { time: cpu.scale(2.0) + Nanos::from_secs(5), excuse_waiting: true };
    let CompileBounds { limits: bounds, wall: stated } = bounds;
    Limits {
        cpu: Some(cpu),
        wall: Some(stated.unwrap_or(wall)),
        memory: Some(bounds.memory),
        output: Some(bounds.output),
        processes: Some(bounds.processes),
        ..Limits::default()
    }
}

fn compile_failure(observation: &Observation, limits: &Limits) -> Option<String> {
    let limit = |name: &str| Some(format!("the compilation exceeded its {name} limit"));
    match observation.status(limits) {
        Status::Ok => None,
        Status::NonzeroExit | Status::Signalled => Some(how_it_ended(observation)),
        Status::CpuTimeLimit | Status::WallTimeLimit => limit("time"),
        Status::MemoryLimit => limit("memory"),
        Status::OutputLimit => limit("output"),
        Status::SystemError => Some("the compilation could not be run".to_owned()),
    }
}

/// `exit code 1`, `signal 11`.
pub(crate) fn how_it_ended(observation: &Observation) -> String {
    match observation.exit {
        model::Exit::Code(code) => format!("exit code {code}"),
        model::Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// What one run of a built program is given.
pub(crate) struct RunInputs {
    pub(crate) args: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// More boxes, each with the entries that are linked into the work directory.
    pub(crate) boxes: Vec<(BoxMount, BTreeSet<String>)>,
    /// Files shown by themselves.
    pub(crate) files: Vec<(OwnedFd, String)>,
}

impl<'a> Built<'a> {
    /// The same program in another run context.
    pub(crate) fn copied_to(&self, context: RunContext<'a>) -> Result<Built<'a>, Fault> {
        let boxed = Boxed::new(context.runner, PROGRAM_BOX)?;
        let (from, lost) =
            (self.context.runner, || SystemError::new("copying a program", "a file is missing"));
        for name in from.list(self.boxed.id)? {
            let file = from.fetch(self.boxed.id, &name)?.file().ok_or_else(lost)?;
            let facts = file.metadata().map_err(|e| SystemError::new("copying a program", e.to_string()))?;
            context.runner.put(boxed.id, &name, facts.mode() & 0o111 != 0, &file)?;
        }
        let (run, view, entries) = (self.run.clone(), self.view.clone(), self.entries.clone());
        Ok(Built { context, allowance: self.allowance, boxed, run, view, entries, twins: Vec::new() })
    }
}

impl Built<'_> {
    /// The specification and the descriptors of one run.
    pub(crate) fn prepare(&self, given: RunInputs) -> (RunSpec, Vec<OwnedFd>) {
        let program = BoxMount { id: self.boxed.id, at: PROGRAM_DIR.to_owned(), writable: false };
        let mut links: Vec<(String, String)> = Vec::new();
        let all = [(program, self.entries.clone())].into_iter().chain(given.boxes);
        let mut boxes = Vec::new();
        for (mount, entries) in all {
            // A later box's entry takes the place of an earlier one's (2025-09, "Input": `.files` overwrite).
            links.retain(|(name, _)| !entries.contains(name));
            links.extend(entries.into_iter().map(|name| (name.clone(), format!("{}/{name}", mount.at))));
            boxes.push(mount);
        }
        let mut fds = vec![given.stdin, given.stdout, given.stderr];
        let mut mounts = Vec::new();
        for (n, (fd, at)) in (3..).zip(given.files) {
            fds.push(fd);
            mounts.push(FileMount { fd: n, at });
        }
        let argv = self.run.argv.iter().cloned().chain(given.args).collect();
        let spec = RunSpec {
            tally: None,
            count_instructions: false,
            argv,
            env: self.run.env.clone(),
            view: self.view.clone(),
            boxes,
            files: mounts,
            cwd: "/w".to_owned(),
            links,
            stdio: [Stdio::Fd(0), Stdio::Fd(1), Stdio::Fd(2)],
            limits: given.limits,
            placement: self.context.placement.clone(),
            layout: self.context.layout,
        };
        (spec, fds)
    }
}

/// Another descriptor of the same open file.
pub(crate) fn duplicate(file: &File) -> Result<File, SystemError> {
    file.try_clone().map_err(|e| SystemError::new("duplicating a descriptor", e.to_string()))
}
