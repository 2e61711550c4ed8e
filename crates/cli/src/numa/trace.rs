//! `tauto numa trace`: runs a program as the user would, or watches one, and looks at it from outside.

use super::faults::Watched;
use crate::Done;
use crate::bench::words;
use crate::exports::Exports;
use crate::measured_program::ended_well;
use crate::options::seconds;
use crate::run::command::{environment, find_program, show};
use crate::terminal::{self, Failure, print};
use clap::Args;
use host::facts::Topology;
use host::machine::Machine;
use lab::numa::counters::{Counting, Processor, Recording, this_generation};
use lab::numa::{Counts, Facts, Trace, allocations, named, snapshot, traced, tree};
use lab::offcore::generation;
use model::{LatencyRatio, Nanos, Placement, Reading, RunSpec, Stdio, TraceReport, TraceVerdict};
use report::html::trace_page;
use report::json::to_text;
use report::text::trace_report;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Begin, Launcher, LauncherOptions};
use std::collections::BTreeSet;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Name under which this binary is started to become the program, once it is watched.
const GATE: &str = "tauto-gate";
/// Between two looks, at least.
const SHORTEST: Duration = Duration::from_millis(5);
/// Between two looks, at most: so that the end of a program is noticed.
const LONGEST: Duration = Duration::from_millis(500);
/// Between two looks lies so many times what the last one cost: together they take at most half a percent of a CPU. Page faults take about as much.
const RARELY: u32 = 500;
const RARELY_AT_MAPPINGS: u32 = 400;
/// So long one kind of request is counted before the next.
const TURN: Duration = Duration::from_millis(50);
/// The end of a program is noticed so soon.
const NOTICED: Duration = Duration::from_millis(40);
/// Mappings are looked at sooner when the program has had twice as many page faults as at the last look, and so many more: it has taken that
/// much memory, and what a look costs beside the faults is little.
const MORE_FAULTS: u64 = 64;

#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// Watch this process and its children instead of starting one
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// Watch for at most SECONDS; the program keeps running [default: until it ends]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    seconds: Option<Nanos>,
    /// Skip measuring the latency of remote memory (about two seconds if there are several nodes)
    #[arg(long)]
    no_latency: bool,
    /// Take counts from a recording instead of the processor
    #[arg(long, value_name = "FILE", hide = true)]
    counters: Option<PathBuf>,
    /// Print one JSON document; the program's own output goes to standard error then
    #[arg(long)]
    json: bool,
    /// Write a page with tables and bars to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Program to run. It starts as from a shell: with the caller's environment and streams, outside the sandbox
    #[arg(last = true, value_name = "CMD", required_unless_present = "pid")]
    command: Vec<String>,
}

/// Whether this process is to become a traced program.
pub(crate) fn is_gate() -> bool {
    std::env::args_os().next().is_some_and(|name| name == GATE)
}

/// Waits until it is watched, then becomes the program its arguments name.
pub(crate) fn gate() -> ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let [path, name, arguments @ ..] = &words[..] else { return ExitCode::from(127) };
    if kill_process(getpid(), Signal::STOP).is_err() {
        return ExitCode::from(127);
    }
    // Comes back only when it could not.
    let why = Command::new(path).arg0(name).args(arguments).exec();
    crate::terminal::tell_error(format!("{}: {why}", name.to_string_lossy()));
    ExitCode::from(127)
}

/// What is watched.
enum TracedProgram {
    Started(Child),
    Running(Pid),
}

pub(crate) fn main(args: TraceArgs) -> Result<Done, Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let topology = Topology::read(&machine).map_err(Failure::system)?;
    let html = Exports::open(args.json, [("--html", args.html.as_ref())])?;
    let nodes: Vec<u32> = topology.nodes.keys().copied().collect();
    // Before the program has the machine to itself, and only where there is something to compare.
    let latency = latency(&args, &topology);
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = interrupted.clone();
    ctrlc::set_handler(move || told.store(true, Ordering::SeqCst)).map_err(Failure::system)?;
    let mut subject = begin(&args, &machine)?;
    let mut counting = counting(&args, &machine, &topology, &subject);
    let before = allocations(&machine, &nodes);
    let balancing = machine.read("/proc/sys/kernel/numa_balancing").is_ok_and(|text| text.trim() != "0");
    let mut faults = faults_of(&subject, &machine, &topology);
    let start = Instant::now();
    let mut trace =
        Trace::new(clock(ClockId::Monotonic), if balancing { Counts::First } else { Counts::Last });
    let looks = (&mut trace, &mut faults, counting.as_mut().ok());
    let ended = watch(&args, &machine, &mut subject, looks, start, &interrupted)?;
    faults.take(&mut trace);
    let wall = Nanos::from(start.elapsed());
    let after = allocations(&machine, &nodes);
    let counted = before.into_iter().zip(after.into_values()).map(|((node, before), after)| {
        let more = match (before, after) {
            (Reading::Known(a), Reading::Known(b)) => Reading::Known(model::NodeAllocations {
                hit: b.hit.saturating_sub(a.hit),
                miss: b.miss.saturating_sub(a.miss),
                foreign: b.foreign.saturating_sub(a.foreign),
                other: b.other.saturating_sub(a.other),
            }),
            (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
        };
        (node, more)
    });
    let facts = Facts {
        command: args.pid.map_or_else(|| words::join(&args.command), |pid| format!("process {pid}")),
        topology: &topology,
        counted: counting.and_then(|counting| counting.end()),
        allocations: counted.collect(),
        latency,
        first_touch: faults.told(),
        code: named(&trace),
        balancing,
        ended,
        wall,
        cost: own_time(),
    };
    let report = traced(&trace, facts);
    match args.json {
        true => print(&to_text(&report)),
        false => html.print(&trace_report(&report, terminal::style())),
    }
    html.write([&|| trace_page(&report)]);
    Ok(answer(&report, interrupted.load(Ordering::SeqCst)))
}

fn answer(report: &TraceReport, interrupted: bool) -> Done {
    match report.verdict {
        _ if interrupted => Done::Interrupted,
        TraceVerdict::DoesNot => Done::Bad,
        TraceVerdict::WorksRight | TraceVerdict::CannotKnow => Done::Good,
    }
}

/// Counters of the program's requests, where there are any.
fn counting(
    args: &TraceArgs,
    machine: &Machine,
    topology: &Topology,
    subject: &TracedProgram,
) -> Result<Counting, String> {
    if let Some(path) = &args.counters {
        let fail = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        let recording: Recording = serde_json::from_str(&text).map_err(|e| fail(&e))?;
        let generation = generation(&recording.generation)
            .ok_or_else(|| fail(&format!("there is no table for `{}`", recording.generation)))?;
        return Counting::begin(Box::new(recording), generation, topology);
    }
    let TracedProgram::Started(child) = subject else {
        return Err("they are opened before a program starts, and this one runs".into());
    };
    Counting::begin(Box::new(Processor::for_process(child.id())), this_generation(machine)?, topology)
}

/// How long memory takes from the own node and from the farthest other one.
fn latency(args: &TraceArgs, topology: &Topology) -> Reading<LatencyRatio> {
    let Some((own, cpu)) = topology.cpus.values().find_map(|cpu| Some((cpu.node?, cpu.id))) else {
        return Reading::unknown("the kernel reports no node for any CPU");
    };
    let far = topology.nodes.keys().copied().filter(|node| *node != own);
    let Some(far) = far.max_by_key(|node| topology.distance(own, *node)) else {
        return Reading::unknown("this machine has one memory node");
    };
    if args.no_latency {
        return Reading::unknown("not asked for (--no-latency)");
    }
    let measured = || -> Result<LatencyRatio, Failure> {
        let launcher = Launcher::start(&LauncherOptions::default())?;
        let (local_ns, remote_ns) = (walk(&launcher, cpu, own)?, walk(&launcher, cpu, far)?);
        Ok(LatencyRatio { local_ns, remote_ns, ratio: remote_ns / local_ns })
    };
    measured().map_or_else(|e| Reading::unknown(e.to_string()), Reading::Known)
}

/// Nanoseconds of a read from a node's memory, on this CPU.
fn walk(launcher: &Launcher, cpu: u32, node: u32) -> Result<f64, Failure> {
    let own = std::env::current_exe().map_err(Failure::system)?;
    let argv = [own.to_string_lossy().into_owned(), "probe".into(), "walk".into()];
    let mut fds = Vec::new();
    let placement = Placement { cpus: vec![cpu], mem_node: Some(node), ..Placement::default() };
    let mut spec = RunSpec { env: environment(&[]), placement, ..RunSpec::bare() };
    show(&argv, &mut spec, &mut fds)?;
    let mut output = tempfile::tempfile().map_err(Failure::system)?;
    spec.stdio[1] = Stdio::Fd(fds.len() as u8);
    fds.push(output.try_clone().map_err(Failure::system)?.into());
    ended_well(&launcher.run(&spec, fds)?, &spec.limits)?;
    let mut text = String::new();
    output.rewind().and_then(|()| output.read_to_string(&mut text)).map_err(Failure::system)?;
    text.trim().parse().map_err(|_| Failure::system(format!("the walk said `{}`", text.trim())))
}

/// Starts the program, stopped before its first instruction, or finds the process.
fn begin(args: &TraceArgs, machine: &Machine) -> Result<TracedProgram, Failure> {
    if let Some(number) = args.pid {
        let pid = Pid::from_raw(number).ok_or_else(|| Failure::usage("--pid: must be positive"))?;
        let maps = format!("/proc/{number}/numa_maps");
        if machine.read(&format!("/proc/{number}/stat")).is_err() {
            return Err(Failure::usage(format!("--pid {number}: there is no such process")));
        }
        machine.read(&maps).map_err(|e| {
            Failure::usage(format!("{maps}: {e}\n\
                                    hint: processes of other users are shown to root only: sudo tauto numa trace \
                                    --pid {number}"))
        })?;
        return Ok(TracedProgram::Running(pid));
    }
    // What outlives its parent is still seen.
    set_child_subreaper(Some(getpid())).map_err(Failure::system)?;
    let program = find_program(&args.command[0])?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0(GATE).arg(program).args(&args.command);
    if args.json {
        let to_stderr = rustix::io::dup(std::io::stderr()).map_err(Failure::system)?;
        command.stdout(to_stderr);
    }
    let child = command.spawn().map_err(Failure::system)?;
    let pid = Pid::from_child(&child);
    waitpid(Some(pid), WaitOptions::UNTRACED).map_err(Failure::system)?;
    Ok(TracedProgram::Started(child))
}

/// Processes that belong to it.
fn processes(subject: &TracedProgram, machine: &Machine) -> BTreeSet<u32> {
    let own = std::process::id();
    match subject {
        TracedProgram::Started(_) => tree(machine, own).into_iter().filter(|pid| *pid != own).collect(),
        TracedProgram::Running(pid) => tree(machine, pid.as_raw_nonzero().get().unsigned_abs()),
    }
}

/// Has its page faults watched: a program's that was started from its exec on.
fn faults_of(subject: &TracedProgram, machine: &Machine, topology: &Topology) -> Watched {
    let cpus: Vec<u32> = topology.cpus.keys().copied().collect();
    match subject {
        TracedProgram::Started(child) => Watched::begin(&[child.id()], &cpus, Begin::Exec),
        TracedProgram::Running(_) => {
            let tasks = |pid: u32| machine.list(&format!("/proc/{pid}/task")).unwrap_or_default();
            let threads: Vec<u32> = processes(subject, machine)
                .into_iter()
                .flat_map(tasks)
                .filter_map(|tid| tid.parse().ok())
                .collect();
            Watched::begin(&threads, &cpus, Begin::Now)
        }
    }
}

/// Looks at it until it ends. Gives how it ended.
fn watch(
    args: &TraceArgs,
    machine: &Machine,
    subject: &mut TracedProgram,
    (trace, faults, counting): (&mut Trace, &mut Watched, Option<&mut Counting>),
    start: Instant,
    interrupted: &AtomicBool,
) -> Result<Option<String>, Failure> {
    if let TracedProgram::Started(child) = subject {
        let pid = Pid::from_child(child);
        kill_process(pid, Signal::CONT).map_err(Failure::system)?;
        while is_gate_still(machine, pid) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    let (mut mappings_from, mut faults_until) = (Instant::now(), 0);
    let (mut counting, mut turn_from) = (counting, Instant::now() + TURN);
    loop {
        let ended = ended(subject, machine)?;
        if ended.is_some() {
            return Ok(ended);
        }
        if interrupted.load(Ordering::SeqCst) {
            end(subject);
            return Ok(Some("interrupted".into()));
        }
        if args.seconds.is_some_and(|most| start.elapsed() >= std::time::Duration::from(most)) {
            return Ok(None);
        }
        if let Some(counting) = counting.as_mut().filter(|_| Instant::now() >= turn_from) {
            counting.turn();
            turn_from = Instant::now() + TURN;
        }
        let began = own_time();
        let pids = processes(subject, machine);
        // A program that was started has had nothing before.
        let at = match subject {
            TracedProgram::Started(_) => Nanos::from(start.elapsed()) + Nanos(1),
            TracedProgram::Running(_) if trace.looks() == 0 => Nanos::ZERO,
            TracedProgram::Running(_) => Nanos::from(start.elapsed()),
        };
        let with_mappings = Instant::now() >= mappings_from || faults.count() >= faults_until;
        trace.add(&snapshot(machine, &pids, at, with_mappings));
        let cost = Duration::from(own_time() - began);
        if with_mappings {
            faults_until = 2 * faults.count() + MORE_FAULTS;
            mappings_from = Instant::now() + (cost * RARELY_AT_MAPPINGS).clamp(SHORTEST, 4 * LONGEST);
        }
        let pause = if with_mappings { SHORTEST } else { (cost * RARELY).clamp(SHORTEST, LONGEST) };
        pause_for(pause, faults_until, subject, (trace, faults), interrupted);
    }
}

/// Not yet the program, but this binary that will become it.
fn is_gate_still(machine: &Machine, pid: Pid) -> bool {
    let words = machine.read(&format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    words.is_ok_and(|words| words.starts_with(GATE))
}

/// Sleeps, but not beyond the end of the program by more than some milliseconds, and takes in page faults meanwhile, until there were so
/// many in all.
fn pause_for(
    pause: Duration,
    faults_until: u64,
    subject: &mut TracedProgram,
    (trace, faults): (&mut Trace, &mut Watched),
    interrupted: &AtomicBool,
) {
    let until = Instant::now() + pause;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let over = match subject {
            TracedProgram::Started(child) => !matches!(child.try_wait(), Ok(None)),
            TracedProgram::Running(_) => false,
        };
        if over || faults.count() >= faults_until || interrupted.load(Ordering::SeqCst) {
            return;
        }
        faults.wait(left.min(NOTICED));
        faults.take(trace);
    }
}

/// How it ended, in words; `None`: it goes on.
fn ended(subject: &mut TracedProgram, machine: &Machine) -> Result<Option<String>, Failure> {
    match subject {
        TracedProgram::Started(child) => Ok(child.try_wait().map_err(Failure::system)?.map(in_words)),
        TracedProgram::Running(pid) => {
            let stat = machine.read(&format!("/proc/{}/stat", pid.as_raw_nonzero()));
            let state = stat.ok().and_then(|stat| stat.rsplit_once(')')?.1.trim().chars().next());
            Ok(matches!(state, None | Some('Z' | 'X')).then(|| "ended".into()))
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (_, Some(signal)) => format!("ended by signal {signal}"),
        _ => status.to_string(),
    }
}

/// Ctrl-C reaches the program too; it is waited for, and made to end if it does not.
fn end(subject: &mut TracedProgram) {
    let TracedProgram::Started(child) = subject else { return };
    let patience = Instant::now() + Duration::from_secs(2);
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

/// CPU time of this process so far.
fn own_time() -> Nanos {
    clock(ClockId::ProcessCPUTime)
}

fn clock(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}
