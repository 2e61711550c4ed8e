//! Waiting for calm over recorded epochs: seconds in which neighbours slow all that needs memory. What comes of it stands in
//! docs/settling.md, whose table must be the one found here.

use model::{Charge, Confidence, Nanos, SecondOpinions};
use settle::{Decision, NoiseFloor, Policy, Step, Timed, asks, is_calm, settle};
use stats::{Summary, median};

const POLICY: Policy = Policy::PUBLISHED;
/// Limits, as parts of the usual time.
const LIMITS: [f64; 6] = [0.95, 0.98, 1.0, 1.02, 1.05, 1.2];
/// Runs that are left out where a repeat waits: the pause between two looks, at more than a tenth of a second each.
const PAUSE: usize = 2;
/// Looks in ten minutes, each with its pause.
const KNOWN: usize = 1500;

/// CPU times of one memory-bound program, in the order of its runs.
fn recorded(text: &str) -> Vec<f64> {
    let numbers = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    numbers.map(|line| line.parse().expect("a number")).collect()
}

/// What a judgement takes from the recording.
struct World<'a> {
    runs: &'a [f64],
    at: usize,
    /// The fastest run of the control program that is known.
    best: f64,
    floor: NoiseFloor,
    /// Looks of this judgement and those before it.
    looks: Vec<Nanos>,
}

/// What one look shows.
#[derive(Clone, Copy)]
struct Look {
    slowdown: f64,
    calm: bool,
}

impl World<'_> {
    fn next(&mut self) -> f64 {
        self.at += 1;
        self.runs[(self.at - 1) % self.runs.len()]
    }

    /// The control program is memory-bound as well, so the next run stands for it.
    fn look(&mut self) -> Look {
        let time = self.next();
        self.looks.push(Nanos(time as u64));
        self.looks.drain(..self.looks.len().saturating_sub(KNOWN));
        let calm = is_calm(Nanos(time as u64), Nanos(self.best as u64), self.floor.slow_from(), &self.looks);
        Look { slowdown: time / self.best, calm }
    }

    fn timed(&self, time: f64, slowdown: Option<f64>) -> Timed {
        let slow = slowdown.filter(|slowdown| *slowdown > self.floor.slow_from());
        let explained = slow.map_or(0.0, |slowdown| time * (1.0 - 1.0 / slowdown));
        Timed {
            charge: Charge::cpu(Nanos(time as u64)),
            disturbed: slow.is_some(),
            explained: Nanos(explained as u64),
            slow: slow.is_some(),
        }
    }
}

/// One judgement of a test as the engine makes it. Where it does not wait, it looks only before a program fails.
/// Returns the number of looks for which it waited, too.
fn judge(world: &mut World, limit: Nanos, waits: bool) -> (Decision, u32) {
    let limit = Charge::cpu(limit);
    let mut runs: Vec<(f64, Option<f64>)> = Vec::new();
    let mut looks = 0;
    let decided = |world: &World, runs: &[(f64, Option<f64>)]| {
        let runs: Vec<Timed> = runs.iter().map(|(time, slowdown)| world.timed(*time, *slowdown)).collect();
        match settle(limit, world.floor.spread(), &POLICY, &runs) {
            Step::Again => None,
            Step::Decided(decision) => Some(decision),
        }
    };
    loop {
        runs.push((world.next(), None));
        let mut end = decided(world, &runs);
        let least = runs.iter().map(|(time, _)| *time).fold(f64::MAX, f64::min);
        let near = least <= 1.5 * limit.amount as f64 && !end.is_some_and(|end| end.passes);
        let look = waits || end.is_some_and(|end| end.confidence != Confidence::Open);
        if near && look {
            let mut look = world.look();
            runs.iter_mut().for_each(|(_, seen)| *seen = seen.or(Some(look.slowdown)));
            end = decided(world, &runs);
            while waits && end.is_none() && !look.calm && looks < Policy::CALM_LOOKS {
                world.at += PAUSE;
                looks += 1;
                look = world.look();
            }
        }
        if let Some(end) = end {
            return (end, looks);
        }
    }
}

#[test]
fn repeats_that_wait_for_calm_are_told_apart_from_slow_machines() {
    let idle = recorded(include_str!("../data/epochs-idle.csv"));
    let loaded = recorded(include_str!("../data/epochs-loaded.csv"));
    let usual = median(&idle).expect("runs");
    let mut sorted = idle.clone();
    sorted.sort_by(f64::total_cmp);
    // One run in fifty is as fast: a floor of fifteen runs has seen nothing faster.
    let best = sorted[idle.len() / 50];
    let mut table = String::new();
    for (name, runs) in [("idle", &idle), ("loaded", &loaded)] {
        let single = Summary::from_sample(runs).expect("runs").cv_pct;
        for waits in [false, true] {
            let cells = LIMITS.map(|limit| {
                let mut world = World { runs, at: 0, best, floor: NoiseFloor::assumed(), looks: Vec::new() };
                let (judged, looks): (Vec<Decision>, Vec<u32>) = (0..runs.len())
                    .map(|first| {
                        world.at = first;
                        judge(&mut world, Nanos((usual * limit) as u64), waits)
                    })
                    .unzip();
                let looks = f64::from(looks.iter().sum::<u32>()) / runs.len() as f64;
                let share = |which: &dyn Fn(&&Decision) -> bool| {
                    100.0 * judged.iter().filter(which).count() as f64 / judged.len() as f64
                };
                let asks = |d: &Decision| asks(SecondOpinions::Open, d.confidence, d.near);
                let fails = share(&|d| !d.passes && !asks(d));
                if waits && limit >= 1.02 {
                    assert_eq!(fails, 0.0, "{name} at {limit}: failed in an epoch");
                }
                let times: Vec<f64> = judged.iter().map(|d| d.charge.amount as f64).collect();
                let cv = Summary::from_sample(&times).expect("times").cv_pct;
                format!(
                    "{:.1} · {fails:.1} · {:.1} · {cv:.1} · {looks:.0}",
                    share(&|d| d.passes && !asks(d)),
                    share(&|d| asks(d))
                )
            });
            let how = if waits { "waits for calm" } else { "does not wait" };
            table.push_str(&format!("| {name}, {single:.1} | {how} | {} |\n", cells.join(" | ")));
        }
    }
    let page = include_str!("../../../docs/settling.md");
    assert!(page.contains(&table), "docs/settling.md has another table than this:\n{table}");
}
