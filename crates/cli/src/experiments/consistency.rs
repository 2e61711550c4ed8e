//! `tauto lab consistency`: how far times and verdicts of this machine can be believed.

use super::disturber::{Disturbance, Disturber};
use super::lines::ConsistencyLine;
use super::reserved_machine::{ReservedMachine, Watch, in_run};
use super::session::{Forms, Session, SessionArgs, outcome};
use super::{command_or, machine_facts};
use crate::Done;
use crate::exports::Exports;
use crate::inputs;
use crate::interrupt::Interrupt;
use crate::measured_program::ended_well;
use crate::options::PlacementArgs;
use crate::run::command::{environment, find_program, show};
use crate::terminal::{self, Failure, print};
use clap::{Args, ValueEnum};
use engine::clocks::{Counter, Meter, meter};
use lab::consistency::{Run, Series, cells, read_times};
use model::{BenchEnd, Clock, ConsistencyReport, FileMount, Limits, Nanos, RunSpec, WallLimit};
use report::html::consistency_page;
use report::json::{consistency_text, read_consistency};
use report::text::consistency_report;
use sandbox::Launcher;
use serde_json::json;
use settle::{NoiseFloor, disturbances, explained};
use stats::Rounds;
use std::fs::Permissions;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Seed of the order of runs.
const SEED: u64 = 20_261_123;
/// Runs of each program under each load by CPU time, and the same of the quick way.
const RUNS: u32 = 20;
const QUICK_RUNS: u32 = 6;
/// Runs by clocks that count, which say the same every time, mostly.
const COUNTED: u32 = 3;
/// No program of the suite takes as much by any clock.
const PATIENCE: Nanos = Nanos::from_secs(300);
/// Where the program for Java lies inside.
const JAVA_AT: &str = "/probe/Loop.java";
/// The same work in both: hashes in a table, which their compilers find hot.
const JAVASCRIPT: &str = "let t = new Int32Array(1 << 16), x = 1; for (let i = 0; i < 2e7; i++) { x = Math.imul(x, 1103515245) + 12345 | 0; t[x >>> 16] += i; } console.log(t[7]);";
const JAVA: &str = "class Loop { public static void main(String[] a) { int[] t = new int[1 << 16]; int x = 1; for (int i = 0; i < 20000000; i++) { x = x * 1103515245 + 12345; t[x >>> 16] += i; } System.out.println(t[7]); } }\n";

#[derive(Args, Debug)]
pub(crate) struct ConsistencyArgs {
    /// Number of runs of each program under each load by CPU time; the other clocks use at most three [default: 20, with
    /// --quick 6]
    #[arg(short = 'n', long, visible_short_alias = 'r', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// Run only compute, memory and syscalls, without load and with busy CPUs, a few times each
    #[arg(long)]
    quick: bool,
    /// Run only these programs (comma-separated)
    #[arg(long, value_name = "PROGRAMS", value_enum, value_delimiter = ',')]
    only: Vec<Program>,
    /// Run only under these loads (comma-separated)
    #[arg(long, value_name = "LOADS", value_enum, value_delimiter = ',')]
    loads: Vec<LoadName>,
    /// Run only by these clocks (comma-separated) [default: all clocks that work on this machine]
    #[arg(long, value_name = "CLOCKS", value_enum, value_delimiter = ',')]
    clocks: Vec<ClockName>,
    /// Compare with the machine of FILE, the output of another run with --json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Read another judge's times from FILE instead of running programs; its first line is program,load,time (seconds)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "quick", "only", "loads", "clocks", "record", "fresh"])]
    csv: Option<PathBuf>,
    /// Write a page with plots to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Record every run in FILE and resume from the runs it holds [default: one file per experiment in the data
    /// directory; a complete experiment restarts from scratch]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Restart from scratch, ignoring recorded runs
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    placement: PlacementArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    /// Multiplications and shifts without memory access
    Compute,
    /// A sieve larger than the caches
    Memory,
    /// Allocation of fresh pages and small objects
    Allocation,
    /// System calls
    Syscalls,
    /// A loop in JavaScript, if node is installed
    Node,
    /// A loop in Java, if a JDK is installed
    Java,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoadName {
    /// None
    Idle,
    /// A busy thread on every CPU
    Cpu,
    /// Memory reads and writes on the other CPUs, or on the only CPU
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClockName {
    Cpu,
    Instructions,
    Reference,
}

fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

/// Those that were named; all of these where none was.
fn chosen<T: ValueEnum + Copy + PartialEq>(named: &[T], usual: &[T]) -> Vec<T> {
    let all = T::value_variants().iter().copied();
    match named.is_empty() {
        true => usual.to_vec(),
        false => all.filter(|value| named.contains(value)).collect(),
    }
}

/// A program of the suite as it is here.
struct SuiteProgram {
    name: String,
    argv: Vec<String>,
    /// Shown to it at [`JAVA_AT`].
    source: Option<&'static str>,
}

/// One cell of the report.
#[derive(Clone, Copy)]
struct Condition {
    program: usize,
    load: LoadName,
    clock: usize,
}

/// The experiment, as far as it has come.
struct Consistency {
    reserved: ReservedMachine,
    subjects: Vec<SuiteProgram>,
    clocks: Vec<Meter>,
    conditions: Vec<Condition>,
    /// Conditions by clocks that vary, and by those that count.
    rounds: [Rounds; 2],
    series: Vec<Series>,
    refused: Vec<(usize, usize, String)>,
    made: usize,
    warned: Vec<String>,
    notes: Vec<String>,
}

pub(crate) fn main(args: &ConsistencyArgs) -> Result<Done, Failure> {
    // What cannot be read is told before anything is run.
    let other = args.compare.as_deref().map(read_report).transpose()?;
    if let Some(path) = &args.csv {
        return told(args, vec![of_times(path)?], other);
    }
    let reserved = ReservedMachine::take(&args.placement)?;
    let mut all = Consistency::new(args, reserved)?;
    let asked = json!({
        "programs": all.subjects.iter().map(|s| json!([s.name, s.argv])).collect::<Vec<_>>(),
        "loads": all.conditions.iter().map(|c| name_of(&c.load)).collect::<std::collections::BTreeSet<_>>(),
        "clocks": all.clocks.iter().map(|meter| json!([meter.clock(), meter.versions()])).collect::<Vec<_>>(),
        "runs": all.rounds[0].left() + all.rounds[1].left(), "layout": args.placement.layout(),
        "cpus": all.reserved.bound(), "version": env!("CARGO_PKG_VERSION"), "machine": machine_facts(),
    });
    let session_args = SessionArgs {
        json: args.json,
        csv: None,
        html: args.html.clone(),
        record: args.record.clone(),
        fresh: args.fresh,
    };
    let (mut session, kept) = Session::open::<ConsistencyLine>(&session_args, "consistency", asked)?;
    all.resume(kept)?;
    if all.next().is_none() && session.again()? {
        all = Consistency::new(args, all.reserved)?;
    }
    session.tell_resumed(all.made);
    let (watch, before) = (Watch::begin(), all.made);
    let (end, failure) = outcome(all.conduct(args, &mut session));
    if all.made == 0
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if all.made > before {
        all.warned = watch.told(&all.reserved.cpus.iter().copied().collect::<Vec<_>>());
        session.keep(&ConsistencyLine::Warned(all.warned.clone()))?;
    }
    let own = all.drawn_up(end.clone());
    let json = consistency_text(&own);
    let reports: Vec<ConsistencyReport> = std::iter::once(own).chain(other).collect();
    let forms = Forms {
        json,
        csv: String::new(),
        html: consistency_page(&reports),
        text: consistency_report(&reports, terminal::style()),
    };
    session.finish(&end, failure, forms)
}

/// Reports without a run of ours.
fn told(
    args: &ConsistencyArgs,
    mut reports: Vec<ConsistencyReport>,
    other: Option<ConsistencyReport>,
) -> Result<Done, Failure> {
    let exports = Exports::open(args.json, [("--html", args.html.as_ref())])?;
    let json = reports.first().map(consistency_text).unwrap_or_default();
    reports.extend(other);
    match args.json {
        true => print(&json),
        false => exports.print(&consistency_report(&reports, terminal::style())),
    }
    exports.write([&|| consistency_page(&reports)]);
    Ok(Done::Good)
}

fn text(path: &Path) -> Result<String, Failure> {
    inputs::text(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
}

fn read_report(path: &Path) -> Result<ConsistencyReport, Failure> {
    read_consistency(&text(path)?).map_err(|why| {
        let hint = "name a file with what `tauto lab consistency --json` printed on the other machine";
        Failure::usage(format!("{}: {why}\nhint: {hint}", path.display()))
    })
}

fn of_times(path: &Path) -> Result<ConsistencyReport, Failure> {
    let series = read_times(&text(path)?).map_err(|(line, why)| {
        let hint = "--csv reads times in seconds; the first line is program,load,time";
        Failure::usage(format!("{}: line {line}: {why}\nhint: {hint}", path.display()))
    })?;
    let note = "Times of another judge, whose runs have no evidence; settled as on a slot whose noise floor was not measured.";
    Ok(ConsistencyReport {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        cells: cells(&series, NoiseFloor::assumed().spread()),
        notes: vec![note.into()],
        machine: Vec::new(),
        end: BenchEnd::Complete,
    })
}

impl Consistency {
    fn new(args: &ConsistencyArgs, reserved: ReservedMachine) -> Result<Consistency, Failure> {
        let quick_programs = [Program::Compute, Program::Memory, Program::Syscalls];
        let quick_loads = [LoadName::Idle, LoadName::Cpu];
        let (programs, loads) = match args.quick {
            true => (&quick_programs[..], &quick_loads[..]),
            false => (Program::value_variants(), LoadName::value_variants()),
        };
        let mut notes = Vec::new();
        let mut subjects = Vec::new();
        for program in chosen(&args.only, programs) {
            match subject(program) {
                Ok(subject) => subjects.push(subject),
                Err(why) => notes.push(format!("{}: not available here: {why}", name_of(&program))),
            }
        }
        let mut clocks = Vec::new();
        for clock in chosen(&args.clocks, ClockName::value_variants()) {
            let clock = match clock {
                ClockName::Cpu => Clock::Cpu,
                ClockName::Instructions => Clock::Instructions,
                ClockName::Reference => Clock::Reference,
            };
            match meter(clock, Counter::Best) {
                Ok(meter) => clocks.push(meter),
                Err(why) => notes.push(format!("clock {}: not available here: {why}", clock.name())),
            }
        }
        if subjects.is_empty() || clocks.is_empty() {
            let why = notes.join("; ");
            return Err(Failure::usage(format!("none of the chosen programs can run here: {why}")));
        }
        let mut conditions = Vec::new();
        for program in 0..subjects.len() {
            for load in chosen(&args.loads, loads) {
                conditions.extend((0..clocks.len()).map(|clock| Condition { program, load, clock }));
            }
        }
        // Those that vary first, so that rounds number them from 0.
        conditions.sort_by_key(|condition| !clocks[condition.clock].clock().varies());
        let varying = conditions.iter().filter(|c| clocks[c.clock].clock().varies()).count();
        let runs = args.runs.unwrap_or(if args.quick { QUICK_RUNS } else { RUNS });
        let rounds = [(varying, runs), (conditions.len() - varying, runs.min(COUNTED))];
        let series = |condition: &Condition| Series {
            program: subjects[condition.program].name.clone(),
            load: name_of(&condition.load),
            clock: clocks[condition.clock].clock(),
            runs: Vec::new(),
        };
        let series = conditions.iter().map(series).collect();
        let rounds = rounds.map(|(conditions, runs)| Rounds::new(conditions, runs as usize, SEED));
        let (refused, warned, made) = (Vec::new(), Vec::new(), 0);
        Ok(Consistency {
            reserved,
            subjects,
            clocks,
            conditions,
            rounds,
            series,
            refused,
            made,
            warned,
            notes,
        })
    }

    /// The condition that is run next.
    fn next(&self) -> Option<usize> {
        let varying = || self.conditions.iter().filter(|c| self.clocks[c.clock].clock().varies()).count();
        self.rounds[0].next().or_else(|| Some(varying() + self.rounds[1].next()?))
    }

    fn done(&mut self) {
        let phase = usize::from(self.rounds[0].next().is_none());
        self.rounds[phase].put(true);
    }

    /// Leaves out what a clock cannot count.
    fn skip_refused(&mut self) {
        while let Some(condition) = self.next().map(|next| self.conditions[next]) {
            let of = |(program, clock, _): &(usize, usize, String)| {
                (*program, *clock) == (condition.program, condition.clock)
            };
            if !self.refused.iter().any(of) {
                return;
            }
            self.done();
        }
    }

    /// Goes as far as the record does.
    fn resume(&mut self, kept: Vec<ConsistencyLine>) -> Result<(), Failure> {
        for (n, line) in kept.into_iter().enumerate() {
            if let ConsistencyLine::Warned(told) = line {
                self.warned = told;
                continue;
            }
            let unlike = || {
                let line = n + 2;
                Failure::usage(format!(
                    "line {line} of the record does not match this experiment\nhint: --fresh restarts from scratch"
                ))
            };
            let next = self.next().ok_or_else(unlike)?;
            let Series { program: of, load: under, clock: by, .. } = &self.series[next];
            match line {
                ConsistencyLine::Run { program, load, clock, amount, disturbed, explained }
                    if (&program, &load, &clock) == (of, under, by) =>
                {
                    self.put(next, Run { amount, disturbed, explained });
                }
                ConsistencyLine::Refused { program, clock, why } if (&program, &clock) == (of, by) => {
                    self.refuse(next, why);
                }
                _ => return Err(unlike()),
            }
        }
        Ok(())
    }

    fn put(&mut self, condition: usize, run: Run) {
        self.series[condition].runs.push(run);
        self.made += 1;
        self.done();
        self.skip_refused();
    }

    fn refuse(&mut self, condition: usize, why: String) {
        let Condition { program, clock, .. } = self.conditions[condition];
        self.refused.push((program, clock, why));
        self.skip_refused();
    }

    /// Makes the runs that are left.
    fn conduct(&mut self, args: &ConsistencyArgs, session: &mut Session) -> Result<BenchEnd, Failure> {
        if self.next().is_none() {
            return Ok(BenchEnd::Complete);
        }
        let launcher = Launcher::start(&self.reserved.reservation.launcher()?)?;
        let interrupt = Interrupt::ending(vec![launcher.ender()])?;
        let floor = self.reserved.reservation.floor();
        session.begin(self.made);
        while let Some(next) = self.next() {
            let Series { program, load, clock, .. } = self.series[next].clone();
            let name = format!("{program}, {load}, {}", clock.name());
            session.progress(self.made, self.rounds.iter().map(Rounds::left).sum(), &name);
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            let run = self.run(args, self.conditions[next], &launcher, &floor);
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            match run.map_err(|e| in_run(&e, self.made + 1, &name))? {
                Ok(run) => {
                    let Run { amount, disturbed, explained } = run;
                    session.keep(&ConsistencyLine::Run {
                        program,
                        load,
                        clock,
                        amount,
                        disturbed,
                        explained,
                    })?;
                    self.put(next, run);
                }
                Err(why) => {
                    session.keep(&ConsistencyLine::Refused { program, clock, why: why.clone() })?;
                    self.refuse(next, why);
                }
            }
        }
        Ok(BenchEnd::Complete)
    }

    /// One run; what loads the machine has begun before, and is gone after. Or why this clock cannot count this program here.
    fn run(
        &self,
        args: &ConsistencyArgs,
        condition: Condition,
        launcher: &Launcher,
        floor: &NoiseFloor,
    ) -> Result<Result<Run, String>, Failure> {
        let (meter, subject) = (self.clocks[condition.clock], &self.subjects[condition.program]);
        let (mut spec, mut fds) = self.spec(args, subject)?;
        let counting = meter.begin(&mut spec, &mut fds).map_err(Failure::system)?;
        let loading = self.load(condition.load).as_ref().map(Disturber::start).transpose()?;
        let observation = launcher.run(&spec, fds);
        drop(loading);
        let counted = counting.end(observation?).and_then(|run| Ok((meter.charge(&run)?, run)));
        let (charge, observation) = match counted {
            Ok(counted) => counted,
            Err(why) => return Ok(Err(why.to_string())),
        };
        if let Err(why) = ended_well(&observation, &spec.limits) {
            return Ok(Err(why.to_string()));
        }
        let causes = disturbances(&observation, floor);
        let disturbed = !causes.is_empty();
        Ok(Ok(Run { amount: charge.amount, disturbed, explained: explained(&causes) }))
    }

    fn spec(
        &self,
        args: &ConsistencyArgs,
        subject: &SuiteProgram,
    ) -> Result<(RunSpec, Vec<OwnedFd>), Failure> {
        let mut fds = Vec::new();
        let wall = WallLimit { time: PATIENCE, excuse_waiting: false };
        let mut spec = RunSpec {
            env: environment(&[]),
            limits: Limits { cpu: Some(PATIENCE), wall: Some(wall), ..Limits::default() },
            placement: self.reserved.reservation.placement.clone(),
            layout: args.placement.layout(),
            ..RunSpec::bare()
        };
        show(&subject.argv, &mut spec, &mut fds)?;
        if let Some(source) = subject.source {
            let mut file = tempfile::tempfile().map_err(Failure::system)?;
            file.write_all(source.as_bytes()).and_then(|()| file.rewind()).map_err(Failure::system)?;
            // The program is somebody else, who may read what everybody may.
            file.set_permissions(Permissions::from_mode(0o444)).map_err(Failure::system)?;
            spec.files.push(FileMount { fd: fds.len() as u8, at: JAVA_AT.into() });
            fds.push(file.into());
        }
        Ok((spec, fds))
    }

    fn load(&self, load: LoadName) -> Option<Disturbance> {
        let all = || self.reserved.cpus.iter().copied().collect::<Vec<u32>>();
        let outside = || Some(self.reserved.outside()).filter(|cpus| !cpus.is_empty()).unwrap_or_else(all);
        match load {
            LoadName::Idle => None,
            LoadName::Cpu => Some(Disturbance { kind: "cpu", cpus: all(), priority: None }),
            LoadName::Memory => Some(Disturbance { kind: "memory", cpus: outside(), priority: None }),
        }
    }

    fn drawn_up(&self, end: BenchEnd) -> ConsistencyReport {
        let floor = self.reserved.reservation.floor();
        let refused = self.refused.iter().map(|(program, clock, why)| {
            let (program, clock) = (&self.subjects[*program].name, self.clocks[*clock].clock().name());
            format!("{program} by the clock {clock}: not available here: {why}")
        });
        let spread = floor.spread();
        let settled = format!(
            "Settled with the noise floor in force: reach {:.1} %, tail {:.1} %.",
            100.0 * spread.median_excess,
            100.0 * spread.tail_scale
        );
        let notes = self.warned.iter().chain(&self.notes).cloned().chain(refused).chain([settled]).collect();
        ConsistencyReport {
            name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            cells: cells(&self.series, spread),
            notes,
            machine: machine_facts(),
            end,
        }
    }
}

/// A program as it is here.
///
/// # Errors
/// It is not here.
fn subject(program: Program) -> Result<SuiteProgram, String> {
    let name = name_of(&program);
    let there = |tool: &str| find_program(tool).map(drop).map_err(|e| e.to_string());
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    let (argv, source) = match program {
        Program::Compute | Program::Memory | Program::Allocation | Program::Syscalls => {
            (command_or(&[], &name).map_err(|e| e.to_string())?, None)
        }
        Program::Node => {
            there("node")?;
            (words(&["node", "-e", JAVASCRIPT]), None)
        }
        Program::Java => {
            there("java")?;
            there("javac")?;
            (words(&["java", "-XX:+UseSerialGC", JAVA_AT]), Some(JAVA))
        }
    };
    Ok(SuiteProgram { name, argv, source })
}
