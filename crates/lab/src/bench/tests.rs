//! The bench over made-up runs.

use super::*;
use model::{BenchWarning, Exit, HostLoad, Limits, Nanos, Reading};
use stats::Random;

const FLOOR: fn() -> NoiseFloor = NoiseFloor::assumed;

fn run_of(micros: u64, steal_ms: u64) -> Observation {
    let time = Nanos::from_micros(micros);
    let mut run = Observation::unread(Exit::Code(0), time, "made up");
    run.evidence.steal = Reading::Known(Nanos::from_millis(steal_ms));
    run
}

fn plan(programs: usize, runs: usize) -> Plan {
    Plan { clock: Clock::Cpu, programs, runs, warmup: 0, until_ci: None, max_runs: 1000 }
}

/// A run a little different from every other.
fn quiet(n: usize) -> Observation {
    run_of(100_000 + (n as u64 * 37) % 100, 0)
}

fn programs(n: usize) -> Vec<Program> {
    let program = |n: usize| Program { argv: vec![], shown: format!("p{n}"), parameters: vec![] };
    (0..n).map(program).collect()
}

fn report(kept: Vec<Vec<BenchRun>>, asked: BenchTargets) -> Vec<model::Benched> {
    benched(&programs(kept.len()), kept, Clock::Cpu, &Limits::default(), &FLOOR(), asked)
}

/// These runs, as a bench that asked for as many keeps them.
fn kept(runs: Vec<Observation>) -> Vec<BenchRun> {
    let (plan, mut left) = (plan(1, runs.len()), runs.into_iter());
    bench::<()>(&plan, &FLOOR(), |_| Ok(left.next())).0.remove(0)
}

#[test]
fn programs_take_turns_and_warm_up_first() {
    let mut order = String::new();
    let plan = Plan { warmup: 1, ..plan(3, 2) };
    let (kept, stop) = bench::<()>(&plan, &FLOOR(), |next| {
        let name = ['a', 'b', 'c'][next.program];
        order.push(if next.warmup { name } else { name.to_ascii_uppercase() });
        assert_eq!((next.done, next.expected), (order.len() - 1, 9));
        Ok(Some(quiet(order.len())))
    });
    assert_eq!((order.as_str(), stop), ("abcABCABC", Stop::Enough));
    assert!(kept.iter().all(|runs| runs.len() == 2));
}

#[test]
fn void_runs_are_made_again() {
    let mut made = 0;
    let (kept, stop) = bench::<()>(&plan(1, 10), &FLOOR(), |_| {
        made += 1;
        // The third and the eighth are hit; the fifth is slow of itself.
        Ok(Some(match made {
            3 | 8 => run_of(140_000, 60),
            5 => run_of(120_000, 0),
            n => quiet(n),
        }))
    });
    assert_eq!((kept[0].len(), stop), (12, Stop::Enough));
    let report = report(kept, BenchTargets { runs: Some(10), ..BenchTargets::default() });
    let void: Vec<usize> = (1..=12).filter(|n| report[0].runs[n - 1].void).collect();
    assert_eq!((void, report[0].counted(), report[0].void_runs()), (vec![3, 8], 10, 2));
    let figures = report[0].charged.known().unwrap();
    assert_eq!(figures.max, Nanos::from_micros(120_000));
    assert!(figures.spread_pct > 19.0 && figures.spread_pct < 21.0, "{figures:?}");
    let ledgers: Vec<(usize, Vec<&str>, bool)> = report[0]
        .outliers
        .iter()
        .map(|o| (o.run, o.explained_by.iter().map(|(name, _)| &**name).collect(), o.unexplained_ns > 0))
        .collect();
    assert_eq!(ledgers, [(3, vec!["steal"], false), (5, vec![], true), (8, vec!["steal"], false)]);
    assert!(!report[0].warnings.iter().any(|w| matches!(w, BenchWarning::TooManyVoid { .. })));
}

#[test]
fn void_runs_are_bounded_and_told() {
    let mut made = 0;
    let (kept, stop) = bench::<()>(&plan(1, 10), &FLOOR(), |_| {
        made += 1;
        Ok(Some(if made % 3 == 0 || made > 10 {
            run_of(140_000 + made as u64 * 4000, 80)
        } else {
            quiet(made)
        }))
    });
    assert_eq!((kept[0].len(), stop), (20, Stop::Enough));
    let report = report(kept, BenchTargets { runs: Some(10), ..BenchTargets::default() });
    let counted = report[0].counted();
    assert!(counted < 10, "{counted}");
    let void = 20 - counted;
    assert!(report[0].warnings.contains(&BenchWarning::TooManyVoid { void, counted }));
}

#[test]
fn disturbed_runs_among_their_like_count() {
    let all: Vec<Observation> = (0..10).map(|n| run_of(100_000 + 3_000 * n, 60)).collect();
    assert_eq!(report(vec![kept(all)], BenchTargets::default())[0].void_runs(), 0);
    // Too few others to say how far runs vary.
    let few = vec![quiet(0), quiet(1), quiet(2), run_of(140_000, 60)];
    assert_eq!(report(vec![kept(few)], BenchTargets::default())[0].void_runs(), 0);
}

#[test]
fn only_the_program_that_lost_a_run_runs_again() {
    let mut order = Vec::new();
    bench::<()>(&plan(2, 6), &FLOOR(), |next| {
        order.push(next.program);
        Ok(Some(if order.len() == 4 { run_of(150_000, 60) } else { quiet(order.len()) }))
    });
    assert_eq!(order, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]);
}

#[test]
fn it_goes_on_until_the_interval_is_narrow() {
    let noisy = |random: &mut Random| run_of(100_000 + (20_000.0 * random.unit()) as u64, 0);
    let made = |percent, max_runs| {
        let mut random = Random::new(7);
        let plan = Plan { until_ci: Some(percent), max_runs, ..plan(2, 10) };
        let (kept, stop) = bench::<()>(&plan, &FLOOR(), |_| Ok(Some(noisy(&mut random))));
        assert_eq!(stop, Stop::Enough);
        assert_eq!(kept[0].len(), kept[1].len());
        let asked = BenchTargets { runs: None, ci: Some(percent), looks: plan.looks() };
        let wide = |w: &BenchWarning| matches!(w, BenchWarning::IntervalTooWide { .. });
        let n = kept[0].len();
        (n, report(kept, asked).iter().any(|program| program.warnings.iter().any(wide)))
    };
    assert_eq!(made(30.0, 1000), (10, false));
    let (n, wide) = made(2.0, 1000);
    assert!((20..400).contains(&n) && !wide, "{n}");
    assert_eq!(made(0.01, 60), (60, true));
}

#[test]
fn max_runs_bounds_void_runs_too() {
    let mut made = 0;
    let plan = Plan { until_ci: Some(0.001), max_runs: 30, ..plan(1, 10) };
    let (kept, stop) = bench::<()>(&plan, &FLOOR(), |_| {
        made += 1;
        // Every fourth is hit.
        Ok(Some(if made % 4 == 0 { run_of(300_000, 200) } else { run_of(100_000 + made * 397 % 1000, 0) }))
    });
    assert!(kept[0].iter().any(|run| run.void), "some runs are void");
    assert_eq!((kept[0].len(), stop), (30, Stop::Enough));
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let mut made = 0;
    let (kept, stop) = bench(&plan(1, 100), &FLOOR(), |_| {
        made += 1;
        if made == 57 { Err("no memory") } else { Ok(Some(quiet(made))) }
    });
    assert_eq!((kept[0].len(), stop), (56, Stop::Failed { program: 0, run: 57, error: "no memory" }));
    let (kept, stop) = bench::<()>(&plan(2, 3), &FLOOR(), |next| Ok((next.done < 3).then(|| quiet(0))));
    assert_eq!((kept[0].len(), kept[1].len(), stop), (2, 1, Stop::BenchTargets));
    let (kept, stop) = bench(&Plan { warmup: 2, ..plan(1, 3) }, &FLOOR(), |_| Err::<Option<_>, _>("gone"));
    assert_eq!((kept[0].len(), stop), (0, Stop::Failed { program: 0, run: 0, error: "gone" }));
    assert!(report(kept, BenchTargets::default())[0].charged.known().is_none());
}

#[test]
fn shapes_and_waiting_are_warned_of() {
    let kinds = |runs: Vec<Observation>| {
        let warnings = report(vec![kept(runs)], BenchTargets::default()).remove(0).warnings;
        warnings
            .iter()
            .map(|w| format!("{w:?}").split([' ', '{']).next().unwrap_or("").to_string())
            .collect::<Vec<_>>()
    };
    let mut random = Random::new(3);
    let mut noise = || 100_000 + (1000.0 * random.exponential()) as u64;
    let plain: Vec<Observation> = (0..20).map(|_| run_of(noise(), 0)).collect();
    assert_eq!(kinds(plain.clone()), Vec::<String>::new());
    let mut slow = plain.clone();
    slow[0] = run_of(150_000, 0);
    assert_eq!(kinds(slow), ["SlowStart"]);
    let mut waited = plain.clone();
    waited.iter_mut().for_each(|run| run.evidence.run_queue_wait = Reading::Known(Nanos::from_millis(40)));
    assert_eq!(kinds(waited), ["Waiting"]);
    let mut failed = plain.clone();
    failed[3].exit = Exit::Signal(11);
    failed[4].exit = Exit::Code(2);
    let warnings = report(vec![kept(failed)], BenchTargets::default()).remove(0).warnings;
    assert_eq!(warnings, [BenchWarning::Failing { runs: 2, how: "ended by signal 11".into() }]);
    assert_eq!(kinds((0..9).map(|_| run_of(noise() / 100, 0)).collect()), ["Short"]);
    // A discarded run between does not change the numbers of the others.
    let mut stepped: Vec<Observation> =
        (0..30).map(|n| run_of(if n < 15 { noise() } else { noise() + 9000 }, 0)).collect();
    stepped.insert(5, run_of(200_000, 120));
    let warnings = report(vec![kept(stepped)], BenchTargets::default()).remove(0).warnings;
    assert!(matches!(warnings[..], [BenchWarning::Shift { run: 16..=18, .. }]), "{warnings:?}");
}

#[test]
fn busy_cores_are_never_passed_over() {
    let load = |shares: &[f64]| {
        let cpu = |(n, busy_pct): (usize, &f64)| model::CpuLoad { cpu: n as u32, busy_pct: *busy_pct };
        Reading::Known(HostLoad {
            cpus: shares.iter().enumerate().map(cpu).collect(),
            load_average: Reading::Known(1.0),
        })
    };
    assert_eq!(machine_warnings(&load(&[10.0, 3.0]), &[1]), []);
    for (shares, cores, theirs) in
        [(&[99.0, 50.0][..], 2, true), (&[99.0, 0.0], 1, false), (&[0.0, 30.0], 1, true)]
    {
        match &machine_warnings(&load(shares), &[1])[..] {
            [BenchWarning::SaturatedCores { busy, of: 2, ours, .. }] => {
                assert_eq!((busy.len(), *ours), (cores, theirs), "{shares:?}");
            }
            other => panic!("{shares:?}: {other:?}"),
        }
    }
    let unknown = machine_warnings(&Reading::unknown("/proc/stat: denied"), &[1]);
    assert_eq!(unknown, [BenchWarning::UnknownLoad { why: "/proc/stat: denied".into() }]);
}

#[test]
fn a_slower_program_is_told_apart() {
    let mut random = Random::new(5);
    let mut of = |base: f64| {
        kept((0..20).map(|_| run_of((base * (1.0 + 0.01 * random.exponential())) as u64, 0)).collect())
    };
    let all = vec![of(100_000.0), of(103_000.0), of(100_000.0)];
    let report = report(all, BenchTargets::default());
    let [a, b, c] = [0, 1, 2].map(|n: usize| report[n].comparison);
    assert_eq!(a, None);
    assert!(b.is_some_and(|b| b.different && b.p < 0.01 && b.ratio_ci95[0] > 1.01), "{b:?}");
    assert!(c.is_some_and(|c| !c.different && c.ratio_ci95[0] < 1.0 && c.ratio_ci95[1] > 1.0), "{c:?}");
}

#[test]
fn runs_that_are_like_those_before_them_are_told_where_they_stray_far() {
    let told = |scale: f64| {
        let (mut random, mut last) = (Random::new(3), 0.0);
        let (kept, _) = bench::<()>(&plan(1, 60), &FLOOR(), |_| {
            last = 0.7 * last + scale * (random.unit() - 0.5);
            Ok(Some(run_of((100_000.0 * (1.0 + last)) as u64, 0)))
        });
        let correlated =
            |w: &BenchWarning| matches!(w, BenchWarning::Correlated { correlation } if *correlation > 0.3);
        report(kept, BenchTargets::default())[0].warnings.iter().any(correlated)
    };
    assert!(told(0.1) && !told(0.01));
}
