//! `tauto lab link-order`: does the order in which a program's objects are linked move its time?

use super::lines::LinkOrderRun;
use super::reserved_machine::Watch;
use super::session::{Forms, Session, SessionArgs, outcome};
use crate::Done;
use crate::bench::words;
use crate::interrupt::Interrupt;
use crate::measured_program::{MeasuredProgramArgs, ended_well};
use crate::options::{PlacementArgs, SlotChoice};
use crate::reservation::{Reservation, reserve};
use crate::terminal::{self, Failure, print_error};
use clap::Args;
use lab::link_order::{BuildError, Inputs, LinkPlan, compared, orders, prepare};
use model::{BenchEnd, Bytes, LinkOrderReport, Observation, Stdio};
use report::csv::link_order_csv;
use report::html::link_order_page;
use report::json::{LinkOrderDocument, to_text};
use report::text::link_order_report;
use sandbox::Launcher;
use serde_json::json;
use stats::Rounds;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Output of a run that is compared, where no limit was typed.
const OUTPUT: Bytes = Bytes(256 << 20);

#[derive(Args, Debug)]
pub(crate) struct LinkOrderArgs {
    /// Objects, archives, C and C++ sources; or one directory with C or C++ sources or a Cargo.toml; or one Rust source
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Arguments of the program, after `--`
    #[arg(last = true, value_name = "ARG")]
    args: Vec<String>,
    /// Number of link orders, including the given one; at most as many as exist
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=1000))]
    orders: u32,
    /// Number of measured runs of each order
    #[arg(short = 'n', long, visible_short_alias = 'r', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Seed of the first shuffled order; the next orders use the next seeds
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    seed: u64,
    /// Link command, such as 'gcc -o {out} {objects} -lm'; split into words as a shell does, without running one [default: cc or
    /// c++]
    #[arg(long, value_name = "COMMAND")]
    link: Option<String>,
    /// Compiler options [default: -O2 for C and C++, a release build for Rust]
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    flags: Option<String>,
    #[command(flatten)]
    pub(super) session: SessionArgs,
    // Last, since their headings hold for what comes after them too.
    #[command(flatten)]
    subject: MeasuredProgramArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

/// What is measured.
struct Subjects {
    orders: Vec<(u64, Vec<usize>)>,
    /// The program of each order.
    programs: Vec<PathBuf>,
    names: Vec<String>,
}

pub(crate) fn main(args: &LinkOrderArgs) -> Result<Done, Failure> {
    let inputs = Inputs {
        paths: args.inputs.clone(),
        link: args.link.as_deref().map(|text| split("--link", text)).transpose()?,
        flags: args.flags.as_deref().map_or(Ok(vec![]), |text| split("--flags", text))?,
    };
    let reservation = reserve(&args.placement, SlotChoice::Auto, 1)?.pop().unwrap_or_default();
    let asked = json!({
        "inputs": args.inputs.iter().map(|path| stamp(path)).collect::<Vec<_>>(), "args": args.args, "link": args.link, "flags": args.flags,
        "orders": args.orders, "runs": args.runs, "seed": args.seed, "placement": reservation.placement,
        "layout": args.placement.layout(), "stdin": args.subject.stdin, "env": args.subject.env, "show": args.subject.show,
        "limits": args.subject.limits.limits(), "machine": super::machine_facts(),
    });
    let (mut session, mut kept) = Session::open::<LinkOrderRun>(&args.session, "link-order", asked)?;
    let workshop = tempfile::tempdir().map_err(Failure::system)?;
    let subjects = linked(args, &inputs, workshop.path())?;
    let mut rounds = resumed(args, &subjects, &kept)?;
    if rounds.next().is_none() && session.again()? {
        kept.clear();
        rounds = resumed(args, &subjects, &kept)?;
    }
    session.tell_resumed(kept.len());
    let (watch, before) = (Watch::begin(), kept.len());
    let (end, failure) = conduct(args, &reservation, &subjects, &mut session, &mut rounds, &mut kept);
    let warnings = watch.told_if(kept.len() > before, &reservation.placement.cpus);
    if kept.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    let report =
        drawn_up(args, subjects, kept, end.clone(), !matches!(&failure, Some(f) if is_disagreement(f)));
    let report = LinkOrderReport { warnings, ..report };
    let forms = Forms {
        json: to_text(&LinkOrderDocument::new(&report)),
        csv: link_order_csv(&report),
        html: link_order_page(&report),
        text: link_order_report(&report, terminal::style()),
    };
    session.finish(&end, failure, forms)
}

fn split(option: &str, text: &str) -> Result<Vec<String>, Failure> {
    words::split(text).map_err(|why| Failure::usage(format!("{option}: {why}")))
}

/// What tells that a file, or all that lies below a directory, is the same as before.
fn stamp(path: &Path) -> serde_json::Value {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(path).ok().map(|facts| (facts.len(), facts.mtime(), facts.mtime_nsec()));
    let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !path.is_symlink() && !is_left_out(path))
        .collect();
    inside.sort();
    match path.is_dir() {
        true => json!([path, inside.iter().map(|path| stamp(path)).collect::<Vec<_>>()]),
        false => json!([path, facts]),
    }
}

/// What no program is made from: hidden files, and what Cargo has built.
fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || (name == "target" && path.is_dir())
}

/// Compiles, and links every order.
fn linked(args: &LinkOrderArgs, inputs: &Inputs, workshop: &Path) -> Result<Subjects, Failure> {
    print_error("tauto: compiling\n");
    let plan: LinkPlan = prepare(inputs, workshop)?;
    let names = plan.names();
    if names.len() < 2 {
        return Err(Failure::usage(format!(
            "{}: one object has one order\nhint: name several objects, or a project of several sources",
            args.inputs[0].display()
        )));
    }
    let orders = orders(names.len(), args.orders as usize, args.seed);
    print_error(&format!("tauto: linking {} objects in {} orders\n", names.len(), orders.len()));
    let mut programs = Vec::new();
    for (seed, order) in &orders {
        // Names of equal length, so that nothing but the order differs.
        let directory = workshop.join(format!("order-{seed:020}"));
        std::fs::create_dir(&directory).map_err(Failure::system)?;
        let program = directory.join("program");
        plan.link(order, &program)?;
        programs.push(program);
    }
    Ok(Subjects { orders, programs, names })
}

/// The rounds as far as the record goes.
fn resumed(args: &LinkOrderArgs, subjects: &Subjects, kept: &[LinkOrderRun]) -> Result<Rounds, Failure> {
    let mut rounds = Rounds::new(subjects.orders.len(), args.runs as usize, args.seed);
    for (n, run) in kept.iter().enumerate() {
        if rounds.next().map(|order| subjects.orders[order].0) != Some(run.seed) {
            let why = format!(
                "run {} of the record does not match this experiment\nhint: --fresh restarts from scratch",
                n + 1
            );
            return Err(Failure::usage(why));
        }
        rounds.put(run.counts);
    }
    Ok(rounds)
}

/// Makes the runs that are left.
fn conduct(
    args: &LinkOrderArgs,
    reservation: &Reservation,
    subjects: &Subjects,
    session: &mut Session,
    rounds: &mut Rounds,
    kept: &mut Vec<LinkOrderRun>,
) -> (BenchEnd, Option<Failure>) {
    let mut measure = || -> Result<BenchEnd, Failure> {
        if rounds.next().is_none() {
            return Ok(BenchEnd::Complete);
        }
        let (floor, launcher) = (reservation.floor(), Launcher::start(&reservation.launcher()?)?);
        let interrupt = Interrupt::ending(vec![launcher.ender()])?;
        let counters = sandbox::counters().is_ok();
        // Run once beforehand: what the others are held against, also when a record is gone on with.
        let expected = match run(args, reservation, &subjects.programs[0], &launcher, counters) {
            _ if interrupt.came() => return Ok(BenchEnd::Interrupted),
            first => first.map_err(|e| Failure::usage(format!("the order as given: {e}")))?.1,
        };
        session.begin(kept.len());
        while let Some(order) = rounds.next() {
            let (seed, number) = (subjects.orders[order].0, kept.len() + 1);
            session.progress(kept.len(), rounds.left(), &format!("order {seed}"));
            let made = run(args, reservation, &subjects.programs[order], &launcher, counters);
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            let (observation, output) =
                made.map_err(|e| Failure::usage(format!("run {number} (order {seed}): {e}")))?;
            if let Some(at) = difference(&expected, &output)? {
                return Err(Failure::usage(format!(
                    "run {number} (order {seed}): {DISAGREE} from byte {at} on: programs that do different things are not compared"
                )));
            }
            let counts = crate::noise_floor::disturbed(&observation, &floor).is_empty();
            let run = LinkOrderRun { seed, counts, observation };
            session.keep(&run)?;
            rounds.put(counts);
            kept.push(run);
        }
        Ok(BenchEnd::Complete)
    };
    outcome(measure())
}

const DISAGREE: &str = "its output differs from that of the order as given";

fn is_disagreement(failure: &Failure) -> bool {
    failure.to_string().contains(DISAGREE)
}

/// One run, and what it wrote.
fn run(
    args: &LinkOrderArgs,
    reservation: &Reservation,
    program: &Path,
    launcher: &Launcher,
    counters: bool,
) -> Result<(Observation, File), Failure> {
    let argv: Vec<String> =
        [program.to_string_lossy().into_owned()].into_iter().chain(args.args.iter().cloned()).collect();
    let (mut spec, mut fds) =
        args.subject.prepared(&argv, &reservation.placement, args.placement.layout())?;
    let output = tempfile::tempfile().map_err(Failure::system)?;
    spec.stdio[1] = Stdio::Fd(fds.len() as u8);
    fds.push(output.try_clone().map_err(Failure::system)?.into());
    spec.limits.output.get_or_insert(OUTPUT);
    spec.count_instructions = counters;
    let observation = launcher.run(&spec, fds)?;
    ended_well(&observation, &spec.limits)?;
    Ok((observation, output))
}

/// The first byte, from 0, in which two outputs differ.
fn difference(a: &File, b: &File) -> Result<Option<u64>, Failure> {
    let (mut at, mut buffers) = (0, [[0; 1 << 16]; 2]);
    loop {
        let [from_a, from_b] = &mut buffers;
        let lengths = [full(a, from_a, at)?, full(b, from_b, at)?];
        let least = lengths[0].min(lengths[1]);
        if let Some(n) = (0..least).find(|n| from_a[*n] != from_b[*n]) {
            return Ok(Some(at + n as u64));
        }
        if lengths[0] != lengths[1] {
            return Ok(Some(at + least as u64));
        }
        if least == 0 {
            return Ok(None);
        }
        at += least as u64;
    }
}

/// Fills a buffer from a place of a file, as far as the file goes.
fn full(file: &File, buffer: &mut [u8], at: u64) -> Result<usize, Failure> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64).map_err(Failure::system)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

fn drawn_up(
    args: &LinkOrderArgs,
    subjects: Subjects,
    kept: Vec<LinkOrderRun>,
    end: BenchEnd,
    outputs_agree: bool,
) -> LinkOrderReport {
    let mut runs = vec![Vec::new(); subjects.orders.len()];
    for run in kept {
        if let Some(order) = subjects.orders.iter().position(|(seed, _)| *seed == run.seed) {
            runs[order].push((run.observation, run.counts));
        }
    }
    let found = compared(&subjects.orders, runs);
    let inputs = args.inputs.iter().map(|path| path.display().to_string());
    LinkOrderReport {
        command: words::join(&inputs.chain(args.args.iter().cloned()).collect::<Vec<String>>()),
        objects: subjects.names,
        orders: found.orders,
        clock: found.clock,
        outputs_agree,
        sensitivity_pct: found.sensitivity_pct,
        chance_pct: found.chance_pct,
        warnings: vec![],
        end,
        machine: super::machine_facts(),
    }
}

impl From<BuildError> for Failure {
    fn from(e: BuildError) -> Failure {
        Failure::usage(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    /// Runs of a program are not gone on with when any of its sources has changed.
    #[test]
    fn a_source_deep_in_a_project_is_noticed() {
        let project = tempfile::tempdir().unwrap();
        let source = project.path().join("src/deep/a.rs");
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(&source, "fn a() {}").unwrap();
        let before = stamp(project.path());
        std::fs::create_dir(project.path().join("target")).unwrap();
        std::fs::write(project.path().join(".hidden"), "x").unwrap();
        assert_eq!(stamp(project.path()), before);
        std::fs::write(&source, "fn a() { }").unwrap();
        assert_ne!(stamp(project.path()), before);
    }

    #[test]
    fn outputs_are_compared_to_the_byte() {
        let long = vec![7; 200_000];
        let mut other = long.clone();
        other[150_000] = 8;
        for (a, b, at) in [
            (&b""[..], &b""[..], None),
            (b"abc", b"abc", None),
            (b"abc", b"abd", Some(2)),
            (b"abc", b"ab", Some(2)),
            (b"", b"x", Some(0)),
            (&long, &long, None),
            (&long, &other, Some(150_000)),
            (&long, &long[..65_536], Some(65_536)),
        ] {
            assert_eq!(difference(&file(a), &file(b)).unwrap(), at);
        }
    }
}
