//! Waiting for calm over recorded epochs: seconds in which neighbours slow all that needs memory. What comes of it stands in
//! docs/settling.md, whose table must be the one found here.

use model::{Charge, Confidence, Nanos, SecondOpinions};
use settle::{Decision, NoiseFloor, Policy, Step, Timed, asks, is_calm, is_unaffected, settle};
use stats::{Summary, median};

const POLICY: Policy = Policy::PUBLISHED;
/// Limits, as parts of the usual time.
const LIMITS: [f64; 6] = [0.95, 0.98, 1.0, 1.02, 1.05, 1.2];
/// Runs that are left out where a repeat waits: the pause between two looks, at more than a tenth of a second each.
const PAUSE: usize = 2;
/// Looks in ten minutes, each with its pause.
const KNOWN: usize = 1500;

/// The columns of a recording.
fn recorded<const N: usize>(text: &str) -> Vec<[f64; N]> {
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let row =
        |line: &str| line.split(',').map(|number| number.parse().expect("a number")).collect::<Vec<_>>();
    rows.map(|line| row(line).try_into().expect("as many columns as that")).collect()
}

/// How a judgement repeats.
#[derive(Clone, Copy, PartialEq)]
enum Repeats {
    /// It looks only before a program fails.
    AtOnce,
    /// It waits for calm.
    Calm,
    /// It waits for calm, unless the program is seen to be unaffected.
    CalmIfAffected,
}

/// What a judgement takes from a recording.
struct World<'a> {
    /// CPU times of a program, in the order of its runs.
    runs: &'a [f64],
    /// Those of the control program after each run. Without them the program is as memory-bound, and its next run stands for it.
    controls: Option<&'a [f64]>,
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

    fn look(&mut self) -> Look {
        let time = match self.controls {
            Some(controls) => controls[(self.at - 1) % controls.len()],
            None => self.next(),
        };
        self.looks.push(Nanos(time as u64));
        self.looks.drain(..self.looks.len().saturating_sub(KNOWN));
        let calm = is_calm(Nanos(time as u64), Nanos(self.best as u64), self.floor.calm_until(), &self.looks);
        Look { slowdown: time / self.best, calm }
    }

    /// What is left out until the next look.
    fn pause(&mut self) {
        self.at += if self.controls.is_some() { 1 } else { PAUSE };
    }

    fn timed(&self, (time, slowdown): (f64, Option<f64>), unaffected: bool) -> Timed {
        let above = |least: f64| slowdown.filter(|slowdown| *slowdown > least);
        let slow = above(self.floor.slow_from());
        let explained = slow.map_or(0.0, |slowdown| time * (1.0 - 1.0 / slowdown));
        Timed {
            charge: Charge::cpu(Nanos(time as u64)),
            disturbed: slow.is_some(),
            explained: Nanos(explained as u64),
            slow: above(self.floor.calm_until()).is_some() && !unaffected,
        }
    }
}

/// One judgement of a test as the engine makes it. Returns the number of looks for which it waited, too.
fn judge(world: &mut World, limit: Nanos, repeats: Repeats) -> (Decision, u32) {
    let limit = Charge::cpu(limit);
    let waits = repeats != Repeats::AtOnce;
    let mut runs: Vec<(f64, Option<f64>)> = Vec::new();
    let mut looks = 0;
    let unaffected = |runs: &[(f64, Option<f64>)]| {
        let seen = runs.iter().filter_map(|(time, slowdown)| Some((*time, (*slowdown)?)));
        repeats == Repeats::CalmIfAffected && is_unaffected(seen)
    };
    let decided = |world: &World, runs: &[(f64, Option<f64>)]| {
        let timed: Vec<Timed> = runs.iter().map(|run| world.timed(*run, unaffected(runs))).collect();
        match settle(limit, world.floor.spread(), &POLICY, &timed) {
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
            let first = repeats == Repeats::CalmIfAffected && runs.len() < Policy::UNAFFECTED_RUNS;
            let most = if first { looks + Policy::FIRST_LOOKS } else { Policy::CALM_LOOKS };
            while waits
                && end.is_none()
                && !unaffected(&runs)
                && !look.calm
                && looks < most.min(Policy::CALM_LOOKS)
            {
                world.pause();
                looks += 1;
                look = world.look();
            }
        }
        if let Some(end) = end {
            return (end, looks);
        }
    }
}

/// What comes of judgements that begin at each run of a recording: a row for each way to repeat.
fn rows(name: &str, runs: &[f64], controls: Option<&[f64]>, best: f64, usual: f64) -> String {
    let single = Summary::from_sample(runs).expect("runs").cv_pct;
    let ways = [
        (Repeats::AtOnce, "does not wait"),
        (Repeats::Calm, "waits for calm"),
        (Repeats::CalmIfAffected, "waits if affected"),
    ];
    let row = |(repeats, how)| {
        let cells = LIMITS.map(|limit| {
            let floor = NoiseFloor::assumed();
            let mut world = World { runs, controls, at: 0, best, floor, looks: Vec::new() };
            let (judged, looks): (Vec<Decision>, Vec<u32>) = (0..runs.len())
                .map(|first| {
                    world.at = first;
                    judge(&mut world, Nanos((usual * limit) as u64), repeats)
                })
                .unzip();
            let looks = f64::from(looks.iter().sum::<u32>()) / runs.len() as f64;
            let share = |which: &dyn Fn(&&Decision) -> bool| {
                100.0 * judged.iter().filter(which).count() as f64 / judged.len() as f64
            };
            let asks = |d: &Decision| asks(SecondOpinions::Open, d.confidence, d.near);
            let fails = share(&|d| !d.passes && !asks(d));
            if repeats != Repeats::AtOnce && limit >= 1.02 {
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
        format!("| {name}, {single:.1} | {how} | {} |\n", cells.join(" | "))
    };
    ways.map(row).concat()
}

/// One run in fifty is as fast: a floor of fifteen runs has seen nothing faster.
fn fastest(runs: &[f64]) -> f64 {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[runs.len() / 50]
}

fn is_on_the_page(table: &str) {
    let page = include_str!("../../../docs/settling.md");
    assert!(page.contains(table), "docs/settling.md has another table than this:\n{table}");
}

#[test]
fn repeats_that_wait_for_calm_are_told_apart_from_slow_machines() {
    let idle = recorded::<1>(include_str!("../data/epochs-idle.csv")).concat();
    let loaded = recorded::<1>(include_str!("../data/epochs-loaded.csv")).concat();
    let (best, usual) = (fastest(&idle), median(&idle).expect("runs"));
    let table = [("idle", &idle), ("loaded", &loaded)];
    is_on_the_page(&table.map(|(name, runs)| rows(name, runs, None, best, usual)).concat());
}

#[test]
fn programs_that_a_slow_machine_does_not_slow_need_not_wait() {
    let idle = recorded::<3>(include_str!("../data/slow-idle.csv"));
    let loaded = recorded::<3>(include_str!("../data/slow-loaded.csv"));
    let column = |rows: &[[f64; 3]], n: usize| rows.iter().map(|row| row[n] * 1000.0).collect::<Vec<f64>>();
    let best = fastest(&column(&idle, 2)).min(fastest(&column(&loaded, 2)));
    let mut table = String::new();
    for (program, n) in [("loop", 0), ("sieve", 1)] {
        for (state, recorded) in [("idle", &idle), ("loaded", &loaded)] {
            let (runs, controls) = (column(recorded, n), column(recorded, 2));
            let usual = median(&runs).expect("runs");
            table += &rows(&format!("{program} {state}"), &runs, Some(&controls), best, usual);
        }
    }
    is_on_the_page(&table);
}
