//! Programs in boxes: compiled once, run often.

use crate::limits::{Allowance, PROGRAM_BOX, Settings};
use crate::recipe::Recipe;
use crate::slot::Caches;
use crate::{Fault, Runner, SystemError, files};
use judge::language::{CACHE_DIR, Command, CompileLimits, PROGRAM_DIR};
use model::{
    BoxId, BoxMount, FileMount, Layout, Limits, Nanos, Observation, Placement, RunSpec, Status, Stdio, View,
    WallLimit,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most of a compiler's output that is kept.
const COMPILE_OUTPUT: u64 = 64 << 10;

/// A runner and where its runs take place.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) runner: &'a dyn Runner,
    pub(crate) placement: &'a Placement,
    pub(crate) caches: &'a Caches,
    pub(crate) layout: Layout,
    pub(crate) cancel: &'a AtomicBool,
}

impl Place<'_> {
    /// Runs a program to its end.
    pub(crate) fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, Fault> {
        self.check_cancelled()?;
        let observation = self.runner.run(spec, fds);
        self.check_cancelled()?;
        Ok(observation?)
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), Fault> {
        if self.cancel.load(Ordering::SeqCst) { Err(Fault::Cancelled) } else { Ok(()) }
    }
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
    pub(crate) place: Place<'a>,
    pub(crate) allowance: Allowance,
    boxed: Boxed<'a>,
    run: Command,
    view: View,
    /// What lies directly in the program's directory.
    entries: BTreeSet<String>,
}

/// What came of compiling.
pub(crate) enum Compiled<'a> {
    Built { program: Built<'a>, output: String },
    Failed { output: String },
}

/// Puts a program into a box and compiles it there.
pub(crate) fn compile<'a>(
    place: Place<'a>,
    recipe: &Recipe,
    settings: &Settings,
) -> Result<Compiled<'a>, Fault> {
    let boxed = Boxed::new(place.runner, PROGRAM_BOX)?;
    for part in &recipe.parts {
        let content = files::in_memory_with(&part.name, &part.content)?;
        place.runner.put(boxed.id, &part.name, part.executable, &content)?;
    }
    let printed = files::in_memory("compiler output")?;
    let own_cache;
    let cache = match warmed(place, recipe)? {
        Warmed::Needless => None,
        Warmed::Cache(id) => Some(BoxMount { id, at: CACHE_DIR.to_owned(), writable: false }),
        Warmed::Failed => {
            own_cache = Boxed::new(place.runner, PROGRAM_BOX)?;
            Some(BoxMount { id: own_cache.id, at: CACHE_DIR.to_owned(), writable: true })
        }
    };
    let usual = recipe.compile_limits;
    let stated = CompileLimits {
        cpu: settings.compilation_time.unwrap_or(usual.cpu),
        memory: settings.compilation_memory.unwrap_or(usual.memory),
        ..usual
    };
    let boxes = [program_box(boxed.id)].into_iter().chain(cache).collect();
    let failed = compile_steps(place, recipe, &recipe.compile, boxes, stated, &printed)?;
    let mut output = files::head(&printed, COMPILE_OUTPUT)
        .map_err(|e| SystemError::new("reading the compiler's output", e.to_string()))?;
    if let Some(why) = failed {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&why);
        return Ok(Compiled::Failed { output });
    }
    let names = place.runner.list(boxed.id)?;
    let first = |name: &String| name.split('/').next().unwrap_or(name).to_owned();
    let entries = names.iter().map(first).collect();
    let (run, view) = (recipe.run.clone(), recipe.run_view.clone());
    let program = Built { place, allowance: recipe.allowance, boxed, run, view, entries };
    Ok(Compiled::Built { program, output })
}

/// What a language's programs have in common, compiled.
enum Warmed {
    Needless,
    Cache(BoxId),
    /// Every compilation is on its own, with an empty cache.
    Failed,
}

/// What the language compiles once for all its programs, made the first time a station compiles one of them.
fn warmed(place: Place, recipe: &Recipe) -> Result<Warmed, Fault> {
    let Some(warm_up) = &recipe.warm_up else { return Ok(Warmed::Needless) };
    let mut caches = place.caches.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = caches.get(&recipe.language) {
        return Ok(known.map_or(Warmed::Failed, Warmed::Cache));
    }
    let program = Boxed::new(place.runner, PROGRAM_BOX)?;
    let content = files::in_memory_with(&warm_up.name, warm_up.text.as_bytes())?;
    place.runner.put(program.id, &warm_up.name, false, &content)?;
    let cache = Boxed::new(place.runner, PROGRAM_BOX)?;
    let boxes =
        vec![program_box(program.id), BoxMount { id: cache.id, at: CACHE_DIR.to_owned(), writable: true }];
    let printed = files::in_memory("compiler output")?;
    // Not the package's limits: this is no program of it.
    let failed = compile_steps(place, recipe, &warm_up.commands, boxes, recipe.compile_limits, &printed)?;
    let made = failed.is_none().then(|| cache.keep());
    caches.insert(recipe.language.clone(), made);
    Ok(made.map_or(Warmed::Failed, Warmed::Cache))
}

fn program_box(id: BoxId) -> BoxMount {
    BoxMount { id, at: PROGRAM_DIR.to_owned(), writable: true }
}

/// Runs the commands, within the limits for all of them; the answer is why one failed.
fn compile_steps(
    place: Place,
    recipe: &Recipe,
    commands: &[Command],
    boxes: Vec<BoxMount>,
    bounds: CompileLimits,
    printed: &File,
) -> Result<Option<String>, Fault> {
    let mut left = bounds.cpu;
    for command in commands {
        let limits = compile_limits(bounds, left);
        let spec = RunSpec {
            tally: None,
            count_instructions: false,
            argv: command.argv.clone(),
            env: command.env.clone(),
            view: recipe.compile_view.clone(),
            boxes: boxes.clone(),
            files: Vec::new(),
            cwd: PROGRAM_DIR.to_owned(),
            links: Vec::new(),
            stdio: [Stdio::Null, Stdio::Fd(0), Stdio::Fd(0)],
            limits,
            placement: place.placement.clone(),
            layout: place.layout,
        };
        let observation = place.run(&spec, vec![duplicate(printed)?.into()])?;
        left = left - observation.time.cpu;
        if let Some(why) = compile_failure(&observation, &limits) {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn compile_limits(bounds: CompileLimits, cpu: Nanos) -> Limits {
    Limits {
        instructions: None,
        reference: None,
        cpu: Some(cpu),
        wall: Some(WallLimit { time: cpu.scale(2.0) + Nanos::from_secs(5), excuse_waiting: true }),
        memory: Some(bounds.memory),
        stack: None,
        output: Some(bounds.output),
        processes: Some(bounds.processes),
        open_files: None,
    }
}

fn compile_failure(observation: &Observation, limits: &Limits) -> Option<String> {
    let limit = |name: &str| Some(format!("the compilation passed its {name} limit"));
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
pub(crate) struct Given {
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

impl Built<'_> {
    /// The specification and the descriptors of one run.
    pub(crate) fn prepare(&self, given: Given) -> (RunSpec, Vec<OwnedFd>) {
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
            placement: self.place.placement.clone(),
            layout: self.place.layout,
        };
        (spec, fds)
    }
}

/// Another descriptor of the same open file.
pub(crate) fn duplicate(file: &File) -> Result<File, SystemError> {
    file.try_clone().map_err(|e| SystemError::new("duplicating a descriptor", e.to_string()))
}
