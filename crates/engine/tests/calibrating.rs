//! Time limits that are measured and kept.

mod kit;

use judge::package::{Inference, TimeBounds, TimeLimit};
use kit::{Play, kit, ms, ok};
use model::{Event, LimitSide, Nanos, Verdict};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const LOWER: TimeBounds = TimeBounds { lower: true, upper: false };
const UPPER: TimeBounds = TimeBounds { lower: false, upper: true };
const RULE: Inference =
    Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution: 0.1 };

/// What the program under test takes, in milliseconds; load adds a fifth.
static TAKES: AtomicU64 = AtomicU64::new(0);
static LOADED: AtomicBool = AtomicBool::new(false);
/// Tests of this file share what programs take.
static ALONE: Mutex<()> = Mutex::new(());

/// A package whose jury is one program that takes [`TAKES`] on the second test and little on the others, and one that never ends.
fn package() -> kit::Kit {
    let mut kit = kit();
    (kit.package.limits.time, kit.package.limits.rule) = (TimeLimit::Inferred(RULE), RULE);
    let steady: Play = |stage| {
        let input = stage.read_all();
        stage.write(&String::from_utf8_lossy(&input)).unwrap();
        let takes = TAKES.load(Ordering::SeqCst);
        let takes = if LOADED.load(Ordering::SeqCst) { takes + takes / 5 } else { takes };
        ok(if input == b"2\n" { takes } else { 1 })
    };
    kit.programs.insert("steady", steady);
    kit.programs.insert("endless", |_| ok(1_000_000));
    kit.jury("submissions/accepted/a.sim", "steady", Verdict::Accepted, LOWER);
    kit.jury("submissions/time_limit_exceeded/b.sim", "endless", Verdict::TimeLimit, UPPER);
    kit
}

fn runs(kit: &kit::Kit) -> usize {
    kit.runners.iter().map(|(main, _)| main.specs().len()).sum()
}

#[test]
fn every_test_is_measured_and_what_matters_again_and_again() {
    let _alone = ALONE.lock().unwrap();
    let mut kit = package();
    TAKES.store(120, Ordering::SeqCst);
    let load = |on: bool| {
        LOADED.store(on, Ordering::SeqCst);
        Ok(())
    };
    let found = kit.calibrate(3, Some(&load)).unwrap();
    assert_eq!((found.suggestion.limit, found.suggestion.firm, found.stated), (ms(300), true, None));
    let a = &found.programs[0];
    let runs_of = |n: usize| a.tests[n].idle.runs.len();
    assert_eq!((a.side, runs_of(0), runs_of(1), runs_of(2)), (LimitSide::Passes, 1, 3, 1));
    assert_eq!(a.tests[1].idle.time, ms(120));
    let [low, high] = a.tests[1].idle.interval;
    assert!(low < ms(120) && high > ms(120) && high < ms(130), "{low} to {high}");
    let loaded = a.tests[1].loaded.as_ref().unwrap();
    assert_eq!((loaded.time, loaded.runs.len(), &a.tests[0].loaded), (ms(144), 3, &None));
    assert_eq!((found.slowdown(), found.under_load), (Some(1.2), Some(ms(300))));
    // One test shows that it is too slow, and one run.
    let b = &found.programs[1];
    assert_eq!((b.tests.len(), b.tests[0].ended, b.tests[0].idle.runs.len()), (1, true, 1));
    assert_eq!(b.tests[0].idle.interval, [b.tests[0].idle.time; 2], "it takes longer than that, never less");
    assert_eq!(found.margin_accepted(ms(300)), Some(2.5));
    assert!(!LOADED.load(Ordering::SeqCst), "the load has ended");
    // The limit that a package states is told beside its rule's.
    kit.package.limits.time = TimeLimit::Stated { limit: Nanos::from_secs(7), source: "x".into() };
    let found = kit.calibrate(1, None).unwrap();
    assert_eq!((found.suggestion.limit, found.stated), (ms(300), Some(Nanos::from_secs(7))));
}

#[test]
fn what_was_measured_is_kept_and_noise_changes_no_limit() {
    let _alone = ALONE.lock().unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut kit = package();
    kit.limit_cache = Some(place.path().join("limits"));
    let mut limit = |takes: u64, fresh: bool, verify: bool| {
        TAKES.store(takes, Ordering::SeqCst);
        kit.fresh = fresh;
        let found = match verify {
            true => kit.verify(1).unwrap().time_limit.known().copied().unwrap(),
            false => kit.calibrate(3, None).unwrap().suggestion.limit,
        };
        (found, runs(&kit))
    };
    // 149 ms and 151 ms lie on both sides of a step, and within each other's noise.
    let (first, measured) = limit(151, false, false);
    assert_eq!(first, ms(400));
    // a: compiled, 3 tests, and the second twice more; b: compiled, 1 test.
    assert_eq!(measured, 1 + 3 + 2 + 2);
    assert_eq!(limit(149, false, false), (ms(400), 0), "nothing is measured again");
    assert_eq!(limit(149, true, false).0, ms(400), "noise moves no limit");
    // Who judges uses it: no program is run but to be judged.
    let (verified, judged) = limit(149, false, true);
    assert_eq!((verified, judged), (ms(400), 4 + 4));
    assert_eq!(limit(149, true, true).0, ms(400));
    // What contradicts it replaces it.
    assert_eq!(limit(120, true, false).0, ms(300));
    assert_eq!(limit(149, false, true).0, ms(300));
    // Another package is another one.
    kit.file("data/secret/1.in", "4\n");
    kit.file("data/secret/1.ans", "4\n");
    kit.fresh = false;
    TAKES.store(151, Ordering::SeqCst);
    assert_eq!(kit.calibrate(3, None).unwrap().suggestion.limit, ms(400));
    assert!(runs(&kit) > 0);
}

#[test]
fn who_has_no_say_is_told_again_with_what_was_kept() {
    let _alone = ALONE.lock().unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut kit = package();
    TAKES.store(120, Ordering::SeqCst);
    kit.jury("submissions/accepted/c.absent", "echo", Verdict::Accepted, LOWER);
    kit.limit_cache = Some(place.path().join("limits"));
    for _ in 0..2 {
        kit.verify(1).unwrap();
        let said = |e: &Event| matches!(e, Event::Warning { place, message } if place.ends_with("c.absent") && message.contains("does not count"));
        assert!(kit.events.lock().unwrap().drain(..).any(|e| said(&e)));
    }
    let found = kit.calibrate(1, None).unwrap();
    assert!(
        found.warnings.iter().any(|told| told.contains("c.absent: does not count")),
        "{:?}",
        found.warnings
    );
    // Without a program that must pass there is no limit.
    kit.package.submissions.retain(|jury| jury.bounds.upper);
    let why = kit.calibrate(1, None).unwrap_err().to_string();
    assert!(why.contains("no jury submission bounds the time limit from below"), "{why}");
}
