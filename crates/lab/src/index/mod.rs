//! The machine's power index: what it can do, in parts with physical units, each measured in short slices that take turns,
//! so that whatever disturbs meets all parts alike.

mod armour;
pub mod compare;
mod walk;
mod work;

pub use armour::armour;

use crate::load::bind;
use host::facts::Topology;
use model::{IndexFigure, IndexPart, Reading};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use work::{Bench, Slice};

/// Turns that every part has.
pub const TURNS: usize = 20;
/// Slices of a part in a turn, at least.
const LEAST_SLICES: usize = 3;
/// Fewer turns have no interval of their median.
const LEAST_TURNS: usize = 6;
/// The CPU is kept busy before, so that its clock has risen.
const WARM_UP: Duration = Duration::from_millis(100);
/// The real-time priority of the measurement.
pub const PRIORITY: u8 = 50;

/// What is to be measured, and where.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The machine's processors and caches.
    pub topology: &'a Topology,
    /// The CPU to be bound to.
    pub cpu: Option<u32>,
    /// Memory that is available, in bytes.
    pub available: usize,
    /// This program: what is started under the name [`crate::NOTHING`].
    pub program: PathBuf,
    /// How long all parts may take together.
    pub time: Duration,
}

/// How the measuring thread was protected.
#[derive(Debug)]
pub struct Protection {
    /// It is bound to the CPU; or why not.
    pub bound: Result<(), io::Error>,
    /// It is of the class SCHED_FIFO; or why not.
    pub fifo: Result<(), io::Error>,
    /// No huge pages for this process; or why not.
    pub huge_pages_off: Result<(), io::Error>,
}

/// Protects the calling thread as far as it may: on its CPU, ahead of all ordinary tasks, with small pages. The class is
/// inherited by what the thread starts.
pub fn protect(cpu: Option<u32>) -> Protection {
    Protection {
        bound: cpu.map_or_else(|| Err(io::Error::other("no CPU was chosen")), |cpu| bind(&[cpu].into())),
        fifo: sandbox::sched::become_fifo(PRIORITY),
        huge_pages_off: rustix::thread::disable_transparent_huge_pages(true).map_err(io::Error::from),
    }
}

/// Measures all parts on the calling thread, which should be protected. `tell` is told after each part of a turn what share
/// of all is done. `None`: `stop` was set.
pub fn measure(
    asked: &Asked,
    stop: &AtomicBool,
    mut tell: impl FnMut(f64),
) -> Option<Vec<(IndexPart, Reading<IndexFigure>)>> {
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        sandbox::pace::multiply(100_000);
    }
    let mut bench = Bench::new(asked);
    let parts: Vec<(IndexPart, Reading<String>)> =
        IndexPart::ALL.into_iter().map(|part| (part, bench.how(part))).collect();
    let able: Vec<IndexPart> =
        parts.iter().filter(|(_, how)| how.known().is_some()).map(|(part, _)| *part).collect();
    let mut taken: Vec<Vec<Vec<Slice>>> = vec![Vec::new(); able.len()];
    let begun = Instant::now();
    let (all, mut done) = ((TURNS * able.len()) as f64, 0.0);
    for _ in 0..TURNS {
        for (part, turns) in able.iter().zip(&mut taken) {
            done += 1.0;
            let until = begun + asked.time.mul_f64(done / all);
            turns.push(turn(&mut bench, *part, until, stop)?);
            tell(done / all);
        }
    }
    let figure = |part: IndexPart, how: Reading<String>| {
        how.and_then(|how| {
            let at = able.iter().position(|one| *one == part).unwrap_or_default();
            figure(&taken[at], how).map(|figure| IndexFigure { control: bench.control(part), ..figure })
        })
    };
    Some(parts.into_iter().map(|(part, how)| (part, figure(part, how))).collect())
}

fn turn(bench: &mut Bench, part: IndexPart, until: Instant, stop: &AtomicBool) -> Option<Vec<Slice>> {
    bench.warm(part);
    let mut slices = Vec::new();
    while slices.len() < LEAST_SLICES || Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        slices.push(bench.slice(part));
    }
    Some(slices)
}

/// Parts of a probe, some of each group, each of which a slice tells in a millisecond.
const PROBED: [IndexPart; 8] = [
    IndexPart::Rounds,
    IndexPart::Clock,
    IndexPart::L1,
    IndexPart::L2,
    IndexPart::L3,
    IndexPart::Bandwidth,
    IndexPart::PageFault,
    IndexPart::Syscall,
];
/// Turns of a probe.
const PROBE_TURNS: u32 = 3;
/// How long a probe measures, after [`WARM_UP`] and making its buffers.
const PROBE_TIME: Duration = Duration::from_millis(250);
/// The largest buffer of a probe, in bytes. It is made each time, which takes a third of a second for so much.
const PROBE_BUFFER: usize = 256 << 20;

/// A short measurement of some parts on the calling thread, which should be protected: about half a second. Its values are to be
/// set against each other's; memory's stray from those of [`measure`], which goes through more of it. Parts of which most slices
/// were disturbed, or which this machine does not tell, are left out. `None`: `stop` was set.
pub fn probe(asked: &Asked, stop: &AtomicBool) -> Option<Vec<(IndexPart, f64)>> {
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        sandbox::pace::multiply(100_000);
    }
    let mut bench = Bench::small(asked, PROBE_BUFFER);
    let able: Vec<IndexPart> = PROBED.into_iter().filter(|part| bench.how(*part).known().is_some()).collect();
    let mut taken: Vec<Vec<Slice>> = vec![Vec::new(); able.len()];
    let begun = Instant::now();
    let (all, mut done) = (PROBE_TURNS * able.len() as u32, 0);
    for _ in 0..PROBE_TURNS {
        for (part, slices) in able.iter().zip(&mut taken) {
            done += 1;
            slices.extend(turn(&mut bench, *part, begun + PROBE_TIME * done / all, stop)?);
        }
    }
    let value = |slices: &[Slice]| {
        let value = |slice: &Slice| if let Slice::Value(value) = slice { Some(*value) } else { None };
        let values: Vec<f64> = slices.iter().filter_map(value).filter(|value| value.is_finite()).collect();
        stats::median(&values).filter(|_| 2 * values.len() > slices.len())
    };
    Some(able.into_iter().zip(taken).filter_map(|(part, slices)| Some((part, value(&slices)?))).collect())
}

/// What the slices of a part's turns come to.
fn figure(turns: &[Vec<Slice>], how: String) -> Reading<IndexFigure> {
    let values = |turn: &Vec<Slice>| -> Vec<f64> {
        let value = |slice: &Slice| if let Slice::Value(value) = slice { Some(*value) } else { None };
        turn.iter().filter_map(value).filter(|value| value.is_finite()).collect()
    };
    let valid: Vec<Vec<f64>> = turns.iter().map(values).collect();
    let middles: Vec<f64> = valid.iter().filter_map(|turn| stats::median(turn)).collect();
    let all: Vec<f64> = valid.into_iter().flatten().collect();
    let slices: usize = turns.iter().map(Vec::len).sum();
    let voided = slices - all.len();
    if middles.len() < LEAST_TURNS {
        let turns = middles.len();
        return Reading::unknown(format!(
            "{voided} of {slices} slices were disturbed, and only {turns} turns are left; something else uses this CPU"
        ));
    }
    let Some(summary) = stats::Summary::of(&middles) else {
        return Reading::unknown("it has no median");
    };
    let ci95 = stats::median_interval(&middles, 1);
    let (min, max) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    Reading::Known(IndexFigure {
        value: rounded(summary.median),
        ci95: Reading::from_option(ci95.map(|ci| [ci.low, ci.high].map(rounded)), || "too few turns".into()),
        n: all.len(),
        voided,
        min: rounded(min),
        max: rounded(max),
        repeatability_pct: rounded(summary.mad_pct),
        turns: middles.into_iter().map(rounded).collect(),
        control: None,
        how,
    })
}

/// To seven digits, more than any part repeats to, so that documents and pages can show the same.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// Nanoseconds of a read that waits for the one before, through a buffer of so many bytes whose memory comes from the node the
/// calling thread is given memory of: the least of some rounds, since disturbance only adds. `None` where there is no memory.
pub fn latency(bytes: usize) -> Option<f64> {
    const ROUNDS: usize = 5;
    let mut walk = walk::Walk::new(bytes)?;
    let steps = walk.once();
    walk.steps(steps);
    let mut round = || {
        let start = std::time::Instant::now();
        walk.steps(steps);
        start.elapsed().as_nanos() as f64 / steps as f64
    };
    (0..ROUNDS).map(|_| round()).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(of: &[&[Option<f64>]]) -> Vec<Vec<Slice>> {
        let slice = |value: &Option<f64>| value.map_or(Slice::Void, Slice::Value);
        of.iter().map(|turn| turn.iter().map(slice).collect()).collect()
    }

    #[test]
    fn a_figure_is_of_what_was_not_disturbed() {
        let (void, one, two, nine) = (None, Some(1.0), Some(2.0), Some(9.0));
        let even: &[Option<f64>] = &[one, two, nine];
        let told = figure(&turns(&[even, even, even, &[void, two], &[void, void], even, even]), "x".into());
        let told = told.known().unwrap();
        assert_eq!((told.value, told.n, told.voided, told.min, told.max), (2.0, 16, 3, 1.0, 9.0));
        assert_eq!((told.turns.len(), told.repeatability_pct), (6, 0.0));
        assert_eq!(told.ci95, Reading::Known([2.0, 2.0]));
        let few = figure(&turns(&[even, even, even, even, even, &[void]]), "x".into());
        let Reading::Unknown(why) = few else { panic!("{few:?}") };
        assert!(why.starts_with("1 of 16 slices were disturbed, and only 5 turns"), "{why}");
    }

    #[test]
    fn a_probe_is_short_and_tells_what_was_not_disturbed() {
        let topology = Topology::read(&host::machine::Machine::this().unwrap()).unwrap();
        let (program, time) = ("/bin/true".into(), Duration::ZERO);
        let asked = Asked { topology: &topology, cpu: None, available: 1 << 30, program, time };
        assert_eq!(probe(&asked, &AtomicBool::new(true)), None);
        for (part, value) in probe(&asked, &AtomicBool::new(false)).unwrap() {
            assert!(PROBED.contains(&part) && value > 0.0, "{part:?} {value}");
        }
    }

    #[test]
    fn every_part_is_measured_and_a_stop_ends_at_once() {
        let topology = Topology::read(&host::machine::Machine::this().unwrap()).unwrap();
        let asked = Asked {
            topology: &topology,
            cpu: None,
            available: 1 << 30,
            program: "/bin/true".into(),
            time: Duration::from_millis(10),
        };
        assert!(measure(&asked, &AtomicBool::new(true), |_| ()).is_none());
        let mut told = Vec::new();
        let parts = measure(&asked, &AtomicBool::new(false), |share| told.push(share)).unwrap();
        assert_eq!(parts.iter().map(|(part, _)| *part).collect::<Vec<_>>(), IndexPart::ALL);
        assert!(told.is_sorted() && told.last() == Some(&1.0));
        for (part, figure) in parts {
            // A machine under load may void them all; none may be without a reason, or worth nothing.
            match figure {
                Reading::Known(figure) => assert!(figure.value > 0.0 && figure.n > 0, "{part:?} {figure:?}"),
                Reading::Unknown(why) => assert!(!why.is_empty(), "{part:?}"),
            }
        }
    }
}
