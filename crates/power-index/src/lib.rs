//! The machine's power index: what it can do, in parts with physical units, each measured in short slices that take turns,
//! so that whatever disturbs meets all parts alike.

pub mod compare;
mod conditions;
mod walk;
mod work;

pub use conditions::conditions;

use host::facts::Topology;
use loads::bind;
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
pub struct IndexOptions<'a> {
    /// The machine's processors and caches.
    pub topology: &'a Topology,
    /// The CPU to be bound to.
    pub cpu: Option<u32>,
    /// Memory that is available, in bytes.
    pub available: usize,
    /// This program: what is started under the name [`loads::NOTHING`].
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
    asked: &IndexOptions,
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
            let figure = figure(&taken[at], Quantiles::for_part(part), part.unit(), how);
            figure.and_then(|figure| controlled(figure, bench.control(part)))
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
/// set against each other's; memory's vary from those of [`measure`], which goes through more of it. Parts of which most slices
/// were disturbed, or which this machine does not tell, are left out. `None`: `stop` was set.
pub fn probe(asked: &IndexOptions, stop: &AtomicBool) -> Option<Vec<(IndexPart, f64)>> {
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

/// Which quantile of a turn's slices stands for the turn, and which of the turns for the part.
#[derive(Clone, Copy, Debug)]
struct Quantiles {
    slices: f64,
    turns: f64,
}

impl Quantiles {
    const MIDDLE: Quantiles = Quantiles { slices: 0.5, turns: 0.5 };

    /// The middle. But a clock can only seem slower than it is: a tick, a hypervisor's exit, a neighbour on the core's other
    /// thread take cycles from its chain of multiplications, often too little to be told by the CPU time, and nothing gives any.
    /// So a turn's clock is what one slice in twenty reaches, and the core's what a quarter of the turns do. On a virtual machine
    /// whose clock held still these spread by 0.007 % over 12 repetitions, loaded, and the medians by 1.7 %.
    fn for_part(part: IndexPart) -> Quantiles {
        match part {
            IndexPart::Clock => Quantiles { slices: 0.95, turns: 0.75 },
            _ => Quantiles::MIDDLE,
        }
    }
}

/// What the slices of a part's turns come to.
fn figure(turns: &[Vec<Slice>], quantiles: Quantiles, unit: &str, how: String) -> Reading<IndexFigure> {
    let values = |turn: &Vec<Slice>| -> Vec<f64> {
        let value = |slice: &Slice| if let Slice::Value(value) = slice { Some(*value) } else { None };
        turn.iter().filter_map(value).filter(|value| value.is_finite()).collect()
    };
    let valid: Vec<Vec<f64>> = turns.iter().map(values).collect();
    let told: Vec<f64> = valid.iter().filter_map(|turn| stats::quantile(turn, quantiles.slices)).collect();
    let all: Vec<f64> = valid.into_iter().flatten().collect();
    let slices: usize = turns.iter().map(Vec::len).sum();
    let voided = slices - all.len();
    if told.len() < LEAST_TURNS {
        let turns = told.len();
        return Reading::unknown(format!(
            "{voided} of {slices} slices were disturbed, and only {turns} turns are left; another process uses this CPU"
        ));
    }
    let (Some(summary), Some(value)) =
        (stats::Summary::from_sample(&told), stats::quantile(&told, quantiles.turns))
    else {
        return Reading::unknown("its turns have no figure");
    };
    let ci95 = stats::quantile_interval(&told, quantiles.turns);
    let (min, max) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    Reading::Known(IndexFigure {
        value: rounded(value),
        ci95: Reading::from_option(ci95.map(|ci| [ci.low, ci.high].map(rounded)), || "too few turns".into()),
        unit: unit.into(),
        n: all.len(),
        voided,
        min: rounded(min),
        max: rounded(max),
        repeatability_pct: rounded(summary.mad_pct),
        turns: told.into_iter().map(rounded).collect(),
        control: None,
        how,
    })
}

/// A figure with what it was held against. A multiplication taken for one cycle longer or shorter than it is would show.
fn controlled(figure: IndexFigure, control: Option<f64>) -> Reading<IndexFigure> {
    const WRONG: f64 = 0.1;
    match control {
        Some(ratio) if (ratio - 1.0).abs() > WRONG => Reading::unknown(format!(
            "multiplications gave {ratio:.3} times the clock that additions gave in the same slices"
        )),
        control => Reading::Known(IndexFigure { control, ..figure }),
    }
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
        let slice = |value: &Option<f64>| value.map_or(Slice::Discarded, Slice::Value);
        of.iter().map(|turn| turn.iter().map(slice).collect()).collect()
    }

    #[test]
    fn a_figure_is_of_what_was_not_disturbed() {
        let (void, one, two, nine) = (None, Some(1.0), Some(2.0), Some(9.0));
        let even: &[Option<f64>] = &[one, two, nine];
        let figure = |of: &[&[Option<f64>]]| figure(&turns(of), Quantiles::MIDDLE, "ns", "x".into());
        let told = figure(&[even, even, even, &[void, two], &[void, void], even, even]);
        let told = told.known().unwrap();
        assert_eq!((told.value, told.n, told.voided, told.min, told.max), (2.0, 16, 3, 1.0, 9.0));
        assert_eq!((told.turns.len(), told.repeatability_pct), (6, 0.0));
        assert_eq!(told.ci95, Reading::Known([2.0, 2.0]));
        let few = figure(&[even, even, even, even, even, &[void]]);
        let Reading::Unknown(why) = few else { panic!("{few:?}") };
        assert!(why.starts_with("1 of 16 slices were disturbed, and only 5 turns"), "{why}");
    }

    /// A core of 3.7 GHz. In most slices something takes cycles unseen, in some turns far more; in three the clock is lower.
    #[test]
    fn a_clock_is_told_by_the_slices_in_which_nothing_took_cycles() {
        let mut random = stats::Random::new(7);
        let mut turn = |turn: usize| -> Vec<Slice> {
            let (clock, taken) =
                (if turn % 7 == 3 { 3.2 } else { 3.7 }, if turn.is_multiple_of(2) { 0.05 } else { 0.01 });
            let mut slice =
                || if random.unit() < 0.1 { clock } else { clock * (1.0 - taken * random.unit()) };
            (0..300).map(|_| Slice::Value(slice())).collect()
        };
        let turns: Vec<Vec<Slice>> = (0..TURNS).map(&mut turn).collect();
        let of = |quantiles| figure(&turns, quantiles, "GHz", "x".into()).known().unwrap().clone();
        let clock = of(Quantiles::for_part(IndexPart::Clock));
        assert_eq!((clock.value, clock.max, &clock.ci95), (3.7, 3.7, &Reading::Known([3.7, 3.7])));
        assert_eq!(clock.turns.iter().filter(|turn| **turn == 3.2).count(), 3);
        assert!(of(Quantiles::MIDDLE).value < 3.69);
        assert_eq!(controlled(clock.clone(), Some(1.002)).known().unwrap().control, Some(1.002));
        assert_eq!(controlled(clock.clone(), None), Reading::Known(clock.clone()));
        let Reading::Unknown(why) = controlled(clock, Some(1.3334)) else { panic!("a cycle too many") };
        assert!(why.contains("gave 1.333 times the clock"), "{why}");
    }

    #[test]
    fn a_probe_is_short_and_tells_what_was_not_disturbed() {
        let topology = Topology::read(&host::machine::Machine::this().unwrap()).unwrap();
        let (program, time) = ("/bin/true".into(), Duration::ZERO);
        let asked = IndexOptions { topology: &topology, cpu: None, available: 1 << 30, program, time };
        assert_eq!(probe(&asked, &AtomicBool::new(true)), None);
        for (part, value) in probe(&asked, &AtomicBool::new(false)).unwrap() {
            assert!(PROBED.contains(&part) && value > 0.0, "{part:?} {value}");
        }
    }

    #[test]
    fn every_part_is_measured_and_a_stop_ends_at_once() {
        let topology = Topology::read(&host::machine::Machine::this().unwrap()).unwrap();
        let asked = IndexOptions {
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
            // A machine under load may discard them all; none may be without a reason, or worth nothing.
            match figure {
                Reading::Known(figure) => assert!(figure.value > 0.0 && figure.n > 0, "{part:?} {figure:?}"),
                Reading::Unknown(why) => assert!(!why.is_empty(), "{part:?}"),
            }
        }
    }
}
