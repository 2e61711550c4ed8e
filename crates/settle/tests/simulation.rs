//! The rule over recorded and made-up noise: 10⁵ judgements with fixed seeds. What comes of it stands in
//! docs/settling.md, whose tables must be the ones found here.

use model::{Charge, Confidence, Evidence, Exit, Isolation, Nanos, Observation, Reading, SecondOpinions};
use settle::{Decision, NoiseFloor, Policy, Spread, Step, Timed, asks, disturbances, explained, settle};
use stats::{Random, median};

const POLICY: Policy = Policy::PUBLISHED;
const JUDGEMENTS: usize = 100_000;
/// Times, as parts of the limit, that the page shows.
const SHOWN: [f64; 7] = [0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 2.0];

/// Runs of one program in one condition: how long against its undisturbed median, and what the evidence says.
struct Noise {
    runs: Vec<Run>,
    spread: Spread,
    /// Runs follow each other as they were recorded: disturbance lasts.
    in_order: bool,
}

#[derive(Clone, Copy)]
struct Run {
    factor: f64,
    disturbed: bool,
    /// As a factor of the median too.
    explained: f64,
}

fn observation(line: &str) -> Observation {
    let numbers: Vec<u64> = line.split(',').map(|n| n.parse().expect("a number")).collect();
    let [cpu, wall, wait, steal, irq, foreign, switches, faults] = numbers[..] else { panic!("{line}") };
    let time = |n: u64| Reading::Known(Nanos(n));
    let mut run = Observation::unread(Exit::Code(0), Nanos(cpu), "not recorded");
    run.time.wall = Nanos(wall);
    run.evidence = Evidence {
        isolation: Isolation::Affinity,
        cpus: vec![1],
        mem_nodes: vec![0],
        run_queue_wait: time(wait),
        steal: time(steal),
        irq: time(irq),
        foreign: time(foreign),
        migrations: Reading::Known(0),
        involuntary_switches: Reading::Known(switches),
        major_faults: Reading::Known(faults),
        ..run.evidence
    };
    run
}

fn recorded(text: &str) -> Vec<Observation> {
    text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(observation).collect()
}

fn middle(runs: &[Observation]) -> f64 {
    median(&runs.iter().map(|run| run.time.cpu.0 as f64).collect::<Vec<_>>()).expect("runs")
}

/// Recorded runs, judged on a slot whose floor was measured when it was idle.
fn replay(runs: &[Observation], undisturbed: &[Observation], floor: &NoiseFloor) -> Noise {
    let usual = middle(undisturbed);
    let run = |run: &Observation| {
        let causes = disturbances(run, floor);
        Run {
            factor: run.time.cpu.0 as f64 / usual,
            disturbed: !causes.is_empty(),
            explained: explained(&causes).0 as f64 / usual,
        }
    };
    Noise { runs: runs.iter().map(run).collect(), spread: floor.spread(), in_order: true }
}

/// Half of the runs at the median or below by up to `reach`, half above with an exponential tail; one in `varies` up to 40 %
/// above with evidence, one in 100·`varies` up to 5 % without: what no evidence shows must be small for any rule to work.
fn made_up(reach: f64, tail: f64, strays: f64) -> Noise {
    let mut random = Random::new(7);
    let run = |random: &mut Random| {
        let usual = if random.unit() < 0.5 {
            1.0 - reach * random.unit().powi(2)
        } else {
            1.0 + tail * random.exponential()
        };
        let far = 1.0 + 0.4 * random.unit();
        match random.unit() * strays {
            x if x < 1.0 => Run { factor: usual * far, disturbed: true, explained: 1.5 * (far - 1.0) },
            x if x < 1.01 => {
                Run { factor: usual * (1.0 + (far - 1.0) / 8.0), disturbed: false, explained: 0.0 }
            }
            _ => Run { factor: usual, disturbed: false, explained: 0.0 },
        }
    };
    Noise {
        runs: (0..20_000).map(|_| run(&mut random)).collect(),
        spread: Spread { median_excess: reach, tail_scale: tail },
        in_order: false,
    }
}

/// One judgement of a program whose undisturbed median is `time` times the limit.
fn judge(noise: &Noise, time: f64, random: &mut Random) -> (Decision, usize) {
    const LIMIT: Nanos = Nanos(1_000_000_000);
    let stop = settle::stop_at(LIMIT, noise.spread, &POLICY);
    let mut runs = Vec::new();
    let first = random.below(noise.runs.len());
    loop {
        let at = if noise.in_order { first + runs.len() } else { random.below(noise.runs.len()) };
        let run = noise.runs[at % noise.runs.len()];
        let taken = LIMIT.scale(time * run.factor).min(stop);
        runs.push(Timed {
            charge: Charge::cpu(taken),
            disturbed: run.disturbed,
            explained: LIMIT.scale(time * run.explained),
            slow: false,
        });
        if let Step::Decided(decision) = settle(Charge::cpu(LIMIT), noise.spread, &POLICY, &runs) {
            return (decision, runs.len());
        }
    }
}

/// Of many judgements.
#[derive(Default)]
struct Count {
    judgements: usize,
    runs: usize,
    passes: usize,
    open: usize,
    firm: [usize; 2],
}

impl Count {
    fn of(noise: &Noise, n: usize, random: &mut Random, time: impl Fn(&mut Random) -> f64) -> Count {
        let mut count = Count::default();
        for _ in 0..n {
            let at = time(random);
            let (decision, runs) = judge(noise, at, random);
            count.judgements += 1;
            count.runs += runs;
            count.passes += usize::from(decision.passes);
            match decision.confidence {
                Confidence::Open => count.open += 1,
                _ => count.firm[usize::from(decision.passes)] += 1,
            }
        }
        count
    }

    fn mean_runs(&self) -> f64 {
        self.runs as f64 / self.judgements as f64
    }
}

/// From a tenth to ten times the limit, on a logarithmic scale, more than a tenth away from it.
fn away(random: &mut Random) -> f64 {
    loop {
        let time = 100f64.powf(random.unit()) / 10.0;
        if !(0.9..=1.1).contains(&time) {
            return time;
        }
    }
}

fn noises() -> Vec<(&'static str, Noise, f64)> {
    let compute = recorded(include_str!("../data/compute-idle.csv"));
    let memory = recorded(include_str!("../data/memory-idle.csv"));
    let floor = settle::floor_from_runs(&compute, &memory).expect("a floor");
    let compute_loaded = recorded(include_str!("../data/compute-loaded.csv"));
    let memory_loaded = recorded(include_str!("../data/memory-loaded.csv"));
    vec![
        ("recorded, compute, idle", replay(&compute, &compute, &floor), 1.02),
        ("recorded, memory, idle", replay(&memory, &memory, &floor), 1.02),
        ("recorded, compute, loaded", replay(&compute_loaded, &compute, &floor), 1.3),
        ("recorded, memory, loaded", replay(&memory_loaded, &memory, &floor), 1.3),
        ("made up, quiet server", made_up(0.003, 0.003, 1000.0), 1.02),
        ("made up, desktop", made_up(0.02, 0.01, 200.0), 1.02),
        ("made up, busy cloud", made_up(0.05, 0.02, 10.0), 1.3),
    ]
}

#[test]
fn ten_to_the_five_judgements() {
    let noises = noises();
    let each = JUDGEMENTS / noises.len();
    let mut table = String::new();
    let mut broken = Vec::new();
    for (n, (name, noise, bar)) in noises.iter().enumerate() {
        let mut random = Random::new(n as u64);
        let far = Count::of(noise, each, &mut random, away);
        if far.mean_runs() > *bar {
            broken.push(format!("{name}: {:.3} runs, bar {bar}", far.mean_runs()));
        }
        let mut cells = Vec::new();
        for time in [0.5, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2, 2.0] {
            let at = Count::of(noise, 2000, &mut random, |_| time);
            let share = |n: usize| 100.0 * n as f64 / at.judgements as f64;
            if SHOWN.contains(&time) {
                cells.push(format!(
                    "{:.2} · {:.1} · {:.1}",
                    at.mean_runs(),
                    share(at.passes),
                    share(at.open)
                ));
            }
            // Where it is not open it is always the same.
            if at.firm[0] > 0 && at.firm[1] > 0 {
                broken
                    .push(format!("{name} at {time}: {} firm fails, {} firm passes", at.firm[0], at.firm[1]));
            }
        }
        table.push_str(&format!("| {name} | {:.3} | {} |\n", far.mean_runs(), cells.join(" | ")));
        broken.extend(wrong_outside_the_band(name, noise, each, &mut random));
    }
    assert!(broken.is_empty(), "{broken:#?}");
    let page = include_str!("../../../docs/settling.md");
    assert!(page.contains(&table), "docs/settling.md has another table than this:\n{table}");
}

/// A program whose median lies below the limit by more than the grey zone passes; one whose least possible time lies
/// above it fails.
fn wrong_outside_the_band(name: &str, noise: &Noise, n: usize, random: &mut Random) -> Vec<String> {
    let band = settle::band(noise.spread, &POLICY);
    let least = noise.runs.iter().map(|run| run.factor).fold(f64::MAX, f64::min);
    let below = Count::of(noise, n / 2, random, |random| (1.0 - 0.9 * random.unit()) / (1.0 + band));
    let above = Count::of(noise, n / 2, random, |random| (1.001 + random.unit()) / least);
    let mut wrong = Vec::new();
    if below.passes < below.judgements {
        wrong.push(format!("{name}: {} programs below the band failed", below.judgements - below.passes));
    }
    if above.passes > 0 {
        wrong.push(format!("{name}: {} programs that cannot do it passed", above.passes));
    }
    wrong
}

/// Times, as parts of the limit, at which second opinions are shown.
const ASKED_AT: [f64; 9] = [0.9, 0.92, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2];

/// How often the reference clock is asked, and how often judgements of one program then differ, were it of the other opinion than those
/// that did not ask: in parts of a hundred, the fewer of both verdicts.
fn asked(noise: &Noise, opinions: SecondOpinions, time: f64, random: &mut Random) -> [f64; 2] {
    const JUDGED: usize = 2000;
    let (mut asked, mut firm) = (0, [0, 0]);
    for _ in 0..JUDGED {
        let (decision, _) = judge(noise, time, random);
        match asks(opinions, decision.confidence, decision.near) {
            true => asked += 1,
            false => firm[usize::from(decision.passes)] += 1,
        }
    }
    // The reference clock says one thing to all that ask: whichever is the worse.
    let flips = [0, 1].map(|says: usize| {
        let mut all = firm;
        all[says] += asked;
        all[0].min(all[1])
    });
    let share = |n: usize| 100.0 * n as f64 / JUDGED as f64;
    [share(asked), share(flips[0].max(flips[1]))]
}

#[test]
fn a_second_opinion_leaves_nothing_open() {
    let mut table = String::new();
    let mut broken = Vec::new();
    for (n, (name, noise, _)) in noises().iter().enumerate() {
        for opinions in [SecondOpinions::Open, SecondOpinions::Grey] {
            let mut random = Random::new(100 + n as u64);
            let cells = ASKED_AT.map(|time| {
                let [asked, flips] = asked(noise, opinions, time, &mut random);
                if time == 1.0 && flips > 0.0 {
                    broken.push(format!("{name}: {flips} % of judgements at the limit are by lot"));
                }
                format!("{asked:.1} · {flips:.1}")
            });
            table.push_str(&format!("| {name} | {} | {} |\n", opinions.name(), cells.join(" | ")));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    let page = include_str!("../../../docs/settling.md");
    assert!(page.contains(&table), "docs/settling.md has another table than this:\n{table}");
}
