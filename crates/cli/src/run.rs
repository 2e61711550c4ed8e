//! `tauto run`: one sandboxed, measured run of a command.

use crate::Done;
use crate::options::{LimitArgs, PlacementArgs};
use crate::terminal::Failure;
use clap::Args;
use model::{Bytes, FileMount, Observation, RunSpec, Status, Stdio, View, ViewMount};
use sandbox::{Ender, Launcher, LauncherOptions};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Where programs are looked for inside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Parts of the host every run sees at the same place.
const SYSTEM: [&str; 6] = ["/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/lib32/"];

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    placement: PlacementArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Read standard input from FILE
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Write the command's standard output to FILE
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// Write the command's standard error to FILE
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// Set an environment variable; the caller's environment is not passed on
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Show a directory or file of the host to the command, read-only, at the same path or at INSIDE
    #[arg(long, value_name = "PATH[:INSIDE]", value_parser = shown)]
    show: Vec<ViewMount>,
    /// The command. Files of the host that it names and that lie outside /usr are shown to it, read-only, in
    /// /program, and their names adjusted. It starts in an empty, writable directory
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn main(args: RunArgs) -> Result<Done, Failure> {
    let mut fds = Vec::new();
    let mut spec = RunSpec {
        argv: vec![],
        env: vec![("PATH".into(), PATH.into()), ("LANG".into(), "C.UTF-8".into())],
        view: View { mounts: args.show.clone() },
        boxes: vec![],
        files: vec![],
        cwd: "/w".into(),
        links: vec![],
        stdio: [Stdio::Null; 3],
        limits: args.limits.limits(),
        placement: args.placement.placement(),
        layout: args.placement.layout(),
    };
    spec.env.extend(args.env.iter().cloned());
    show_command(&args.command, &mut spec, &mut fds)?;
    let launcher = Launcher::start(&LauncherOptions::default())?;
    let interrupted = Arc::new(AtomicBool::new(false));
    end_on_signals(launcher.ender(), interrupted.clone())?;
    let relays = connect(&args, &mut spec, &mut fds, &launcher)?;
    let observed = launcher.run(&spec, fds);
    for relay in relays {
        // A relay ends with the program's end of its pipe; what it could not write is the caller's doing.
        let _ = relay.join();
    }
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Done::Interrupted);
    }
    let observation = observed?;
    print(&args, &spec, &observation);
    Ok(Done::Good)
}

/// Resolves the program and shows the files that the command names.
fn show_command(command: &[String], spec: &mut RunSpec, fds: &mut Vec<OwnedFd>) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    let visible = |path: &Path, spec: &RunSpec| {
        let inside = |dir: &str| path.starts_with(dir);
        SYSTEM.iter().any(|dir| inside(dir))
            || spec.view.mounts.iter().any(|m| m.host == m.inside && inside(&m.host))
    };
    for (n, word) in command.iter().enumerate() {
        let path = if n == 0 { find_program(word)? } else { PathBuf::from(word) };
        let absolute = std::path::absolute(&path).map_err(Failure::usage)?;
        if visible(&absolute, spec) || !absolute.is_file() {
            let word = if n == 0 { absolute.to_string_lossy().into_owned() } else { word.clone() };
            spec.argv.push(word);
            continue;
        }
        let file = File::open(&absolute).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        let base = absolute.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        let name = if names.insert(base.clone()) { base } else { format!("{n}-{base}") };
        let at = format!("/program/{name}");
        spec.files.push(FileMount { fd: fds.len() as u8, at: at.clone() });
        fds.push(file.into());
        spec.argv.push(at);
        if fds.len() > 24 {
            return Err(Failure::usage(
                "the command names more than 24 files; show their directory with --show instead",
            ));
        }
    }
    Ok(())
}

fn find_program(name: &str) -> Result<PathBuf, Failure> {
    if name.is_empty() {
        return Err(Failure::usage("the command is empty"));
    }
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match std::fs::metadata(&path) {
            Err(e) => Err(Failure::usage(format!("{name}: {e}"))),
            Ok(m) if !m.is_file() => Err(Failure::usage(format!("{name}: not a file"))),
            Ok(_) => Ok(path),
        };
    }
    let callers = std::env::var("PATH").unwrap_or_default();
    let candidates = PATH.split(':').chain(callers.split(':')).filter(|d| !d.is_empty());
    candidates
        .map(|dir| Path::new(dir).join(name))
        .find(|p| p.is_file())
        .ok_or_else(|| Failure::usage(format!("{name}: no such program in {PATH} or $PATH")))
}

/// Connects the standard streams: to files that were named, else through pipes to our own.
fn connect(
    args: &RunArgs,
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
    launcher: &Launcher,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let mut relays = Vec::new();
    let input = match &args.stdin {
        Some(path) => {
            File::open(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?.into()
        }
        None => std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::system)?,
    };
    spec.stdio[0] = push(fds, input);
    let written = Arc::new(AtomicU64::new(0));
    for (n, file) in [(1, &args.stdout), (2, &args.stderr)] {
        spec.stdio[n] = match file {
            Some(path) => {
                let file =
                    File::create(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
                push(fds, file.into())
            }
            None => {
                let (read, write) = std::io::pipe().map_err(Failure::system)?;
                let to_stdout = n == 1 && !args.json;
                let relay = Relay {
                    from: File::from(OwnedFd::from(read)),
                    to_stdout,
                    written: written.clone(),
                    limit: spec.limits.output,
                    ender: launcher.ender(),
                };
                relays.push(std::thread::spawn(move || relay.work()));
                push(fds, write.into())
            }
        };
    }
    Ok(relays)
}

fn push(fds: &mut Vec<OwnedFd>, fd: OwnedFd) -> Stdio {
    fds.push(fd);
    Stdio::Fd(fds.len() as u8 - 1)
}

/// Passes on what the command writes, and ends it when that is too much.
struct Relay {
    from: File,
    to_stdout: bool,
    written: Arc<AtomicU64>,
    limit: Option<Bytes>,
    ender: Ender,
}

impl Relay {
    fn work(mut self) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = self.from.read(&mut buffer) {
            let total = self.written.fetch_add(n as u64, Ordering::SeqCst) + n as u64;
            if self.limit.is_some_and(|l| total > l.0) {
                self.ender.end_run(true);
                continue;
            }
            // The caller's end may be closed; the command goes on as it would with a closed pipe of its own.
            let _ = if self.to_stdout {
                std::io::stdout().write_all(&buffer[..n]).and_then(|()| std::io::stdout().flush())
            } else {
                std::io::stderr().write_all(&buffer[..n])
            };
        }
    }
}

fn end_on_signals(ender: Ender, interrupted: Arc<AtomicBool>) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        interrupted.store(true, Ordering::SeqCst);
        ender.end_run(false);
    })
    .map_err(Failure::system)
}

#[allow(clippy::print_stdout, clippy::print_stderr)]
fn print(args: &RunArgs, spec: &RunSpec, observation: &Observation) {
    let status = observation.status(&spec.limits);
    if args.json {
        println!("{}", document(observation, status));
    } else {
        eprintln!(
            "{status:?} {:?} cpu {} wall {}",
            observation.exit, observation.time.cpu, observation.time.wall
        );
    }
}

fn document(o: &Observation, status: Status) -> serde_json::Value {
    let (exit_code, signal) = match o.exit {
        model::Exit::Code(c) => (Some(c), None),
        model::Exit::Signal(s) => (None, Some(s)),
    };
    serde_json::json!({"status": status, "exit_code": exit_code, "signal": signal, "time": o.time,
        "memory_peak_bytes": o.memory_peak, "output_bytes": o.output, "evidence": o.evidence, "disturbed": []})
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("must be NAME=VALUE".into()),
    }
}

fn shown(text: &str) -> Result<ViewMount, String> {
    let (host, inside) = text.split_once(':').unwrap_or((text, text));
    let host = std::path::absolute(host).map_err(|e| e.to_string())?;
    let host = host.to_str().ok_or("the path is not UTF-8")?.to_string();
    let inside = if text.contains(':') { inside.to_string() } else { host.clone() };
    if !inside.starts_with('/')
        || Path::new(&inside).components().any(|c| c == std::path::Component::ParentDir)
    {
        return Err("the place inside must be an absolute path without `..`".into());
    }
    Ok(ViewMount { host, inside, optional: false })
}
