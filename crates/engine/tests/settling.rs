//! Times near the limit are settled by repeated runs, on a simulated sandbox.

mod kit;

use engine::SystemError;
use engine::simulated::Stage;
use judge::scoring::JudgeMode::AllTests;
use kit::{Kit, echo, kit, ms, ok};
use model::{Confidence, Event, Exit, JudgePhase, Nanos, Observation, Policy, Reading, Spread, Verdict};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// CPU times of the next runs, in milliseconds; the last one stays. Judging takes place in this process only.
static TIMES: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// One test at a time, since they share the times.
static ALONE: Mutex<()> = Mutex::new(());

fn next() -> u64 {
    let mut times = TIMES.lock().unwrap();
    if times.len() > 1 { times.remove(0) } else { times[0] }
}

fn timed(stage: &mut Stage) -> Result<Observation, SystemError> {
    echo(stage)?;
    ok(next())
}

/// Wrong, whatever the time.
fn wrong(_: &mut Stage) -> Result<Observation, SystemError> {
    ok(next())
}

/// Above its limit it is ended.
fn stopped(stage: &mut Stage) -> Result<Observation, SystemError> {
    Ok(Observation { exit: Exit::Signal(9), ..timed(stage)? })
}

/// Its CPU was taken from it so often that it can have cost 200 ms.
fn disturbed(stage: &mut Stage) -> Result<Observation, SystemError> {
    let mut observation = timed(stage)?;
    observation.evidence.involuntary_switches = Reading::Known(2000);
    Ok(observation)
}

/// CPU time of the control program in milliseconds, 100 where nothing slows the machine, and how often it ran.
static CONTROL: Mutex<(u64, u32)> = Mutex::new((100, 0));
/// After so many runs of it the machine is calm.
static CALM_AFTER: Mutex<u32> = Mutex::new(u32::MAX);
/// The machine becomes a little slower with each run of it.
static SLOWER: AtomicBool = AtomicBool::new(false);
/// In place of [`CALM_AFTER`]: it is more or less slow, for ever.
const VARIES: u32 = 0;

fn control(_: &mut Stage) -> Result<Observation, SystemError> {
    let mut control = CONTROL.lock().unwrap();
    control.1 += 1;
    if SLOWER.load(Relaxed) {
        control.0 += 1;
    }
    ok(match *CALM_AFTER.lock().unwrap() {
        VARIES => control.0 + 10 * u64::from(control.1 % 4),
        calm_after if control.1 > calm_after => 100,
        _ => control.0,
    })
}

/// Judges one test case with a limit of 2 s: verdict, confidence, runs, discarded runs and the time that counts.
fn check(program: &'static str, times: &[u64], verdict: Verdict, how: (Confidence, u32, u32, u64)) {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    check_in(kit(), program, times, verdict, how);
}

/// The same on a slot whose control program takes so long, for ever, and how often that ran.
fn check_beside(
    milliseconds: u64,
    program: &'static str,
    times: &[u64],
    verdict: Verdict,
    how: (Confidence, u32, u32, u64),
) -> u32 {
    check_until_calm(milliseconds, u32::MAX, program, times, verdict, how)
}

/// The same until it ran `calm_after` times.
fn check_until_calm(
    milliseconds: u64,
    calm_after: u32,
    program: &'static str,
    times: &[u64],
    verdict: Verdict,
    how: (Confidence, u32, u32, u64),
) -> u32 {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    *CONTROL.lock().unwrap() = (milliseconds, 0);
    *CALM_AFTER.lock().unwrap() = calm_after;
    let mut kit = kit();
    kit.control = true;
    kit.programs.insert("control", control);
    check_in(kit, program, times, verdict, how);
    CONTROL.lock().unwrap().1
}

fn check_in(
    mut kit: Kit,
    program: &'static str,
    times: &[u64],
    verdict: Verdict,
    how: (Confidence, u32, u32, u64),
) {
    kit.package.data.groups[0].cases.truncate(1);
    kit.programs.insert("timed", timed);
    kit.programs.insert("wrong, in time", wrong);
    kit.programs.extend([("disturbed", disturbed as kit::Play), ("stopped", stopped)]);
    *TIMES.lock().unwrap() = times.to_vec();
    let judged = kit.judge(program, AllTests).unwrap().judgement;
    let test = &judged.tests[0];
    assert_eq!(judged.verdict, verdict, "{program} {times:?}");
    let settled = test.settled;
    let seen = (settled.confidence, settled.runs, settled.void_runs, test.charge.amount / 1_000_000);
    assert_eq!(seen, how, "{program} {times:?}");
    assert_eq!(test.runs.len() as u32, settled.runs, "every run is kept");
    assert_eq!(judged.settled, settled);
    assert!(test.wall >= Nanos::ZERO && judged.time_limit == ms(2000));
}

#[test]
fn clear_cases_take_one_run() {
    check("timed", &[1000], Verdict::Accepted, (Confidence::Clear, 1, 0, 1000));
    check("timed", &[1818], Verdict::Accepted, (Confidence::Clear, 1, 0, 1818));
    check("timed", &[2600], Verdict::TimeLimit, (Confidence::Clear, 1, 0, 2600));
    check("wrong, in time", &[1990], Verdict::WrongAnswer, (Confidence::Clear, 1, 0, 1990));
}

#[test]
fn near_the_limit_it_is_repeated() {
    check("timed", &[1990, 1810], Verdict::Accepted, (Confidence::Settled, 2, 0, 1810));
    check("timed", &[2010, 1990], Verdict::Accepted, (Confidence::Settled, 5, 0, 1990));
    check("timed", &[2500, 2400], Verdict::TimeLimit, (Confidence::Settled, 2, 0, 2400));
    check("timed", &[2010], Verdict::TimeLimit, (Confidence::Open, 10, 0, 2010));
    // The first run in time decides everything else.
    check("wrong, in time", &[2010, 1990], Verdict::WrongAnswer, (Confidence::Settled, 2, 0, 1990));
}

#[test]
fn no_program_fails_for_a_machine_that_has_become_slower() {
    let (fails, passes) = (Verdict::TimeLimit, Verdict::Accepted);
    let settled = |runs, void, time| (Confidence::Settled, runs, void, time);
    // As fast as ever: the control ran after each.
    assert_eq!(check_beside(102, "timed", &[2500, 2400], fails, settled(2, 0, 2400)), 2);
    // 30 % slower: both runs could have kept the limit, and the third did. Both repeats waited for a moment.
    let looks = 2 * (1 + Policy::FIRST_LOOKS);
    assert_eq!(check_beside(130, "timed", &[2500, 2400, 1810], passes, settled(3, 2, 1810)), looks);
    // Slower to the end: nobody can know.
    check_beside(130, "timed", &[2500], fails, (Confidence::Open, 10, 10, 2500));
    // Slower, but by less than it is over: its runs count, each for less.
    check_beside(110, "timed", &[2700], fails, settled(3, 0, 2700));
    // What is far from the limit is nothing to ask about.
    assert_eq!(check_beside(130, "timed", &[1810], passes, (Confidence::Clear, 1, 0, 1810)), 0);
    assert_eq!(check_beside(130, "timed", &[3100], fails, (Confidence::Clear, 1, 0, 3100)), 0);
}

#[test]
fn a_repeat_waits_for_calm() {
    let settled = (Confidence::Settled, 2, 1, 1810);
    let looks = check_until_calm(130, 4, "timed", &[2500, 1810], Verdict::Accepted, settled);
    assert_eq!(looks, 5, "it ran again as soon as the machine was calm");
}

/// Measured in a calm moment, a floor is narrower than what the machine varies by over minutes.
#[test]
fn nobody_waits_for_the_best_moments_of_a_calm_machine() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    *CALM_AFTER.lock().unwrap() = u32::MAX;
    let looks = |times, verdict, how| {
        *CONTROL.lock().unwrap() = (105, 0);
        let mut kit = kit();
        kit.control = true;
        kit.floor.memory.spread = Spread { median_excess: 0.01, tail_scale: 0.01 };
        kit.floor.compute.spread = kit.floor.memory.spread;
        kit.programs.insert("control", control);
        check_in(kit, "timed", times, verdict, how);
        CONTROL.lock().unwrap().1
    };
    assert_eq!(looks(&[1950], Verdict::Accepted, (Confidence::Settled, 5, 0, 1950)), 4);
    // The floor still says that the machine was slow, so that runs over the limit are discarded.
    assert_eq!(looks(&[2080], Verdict::TimeLimit, (Confidence::Open, 10, 10, 2080)), 10);
}

#[test]
fn who_watches_is_told_of_a_wait() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    *TIMES.lock().unwrap() = vec![2500, 1810];
    *CONTROL.lock().unwrap() = (130, 0);
    *CALM_AFTER.lock().unwrap() = 4;
    let mut kit = kit();
    kit.control = true;
    kit.package.data.groups[0].cases.truncate(1);
    kit.programs.extend([("control", control as kit::Play), ("timed", timed)]);
    kit.judge("timed", AllTests).unwrap();
    let events = kit.events.lock().unwrap();
    let phases: Vec<_> = events.iter().filter_map(phase).collect();
    use JudgePhase::{Compiling, Judging, WaitingForCalm};
    assert_eq!(phases, [Compiling, Judging, WaitingForCalm, Judging]);
}

fn phase(event: &Event) -> Option<JudgePhase> {
    match event {
        Event::Phase { submission: Some(_), phase } => Some(*phase),
        _ => None,
    }
}

#[test]
fn a_pass_near_the_limit_takes_calm_runs_too() {
    let (passes, settled) = (Verdict::Accepted, |runs| (Confidence::Settled, runs, 0, 1950));
    let slower_at_first = &[1999, 1830];
    // The control runs after all but the last, which settles it.
    assert_eq!(check_beside(102, "timed", &[1950], passes, settled(5)), 4);
    // Slow after the first run and for two looks more: that run is not one of the five.
    let six = (Confidence::Settled, 6, 0, 1830);
    assert_eq!(check_until_calm(130, 3, "timed", slower_at_first, passes, six), 4 + 4);
    // Slow to the end: it has waited until that was known, and ten runs are enough.
    assert_eq!(check_beside(130, "timed", &[1950], passes, settled(10)), 5 + Policy::CALM_KNOWN as u32);
}

/// How often the control program ran for judgements of a submission near its limit, one after another in a slot that is slow.
fn looks_of(judgements: u32) -> u32 {
    *CONTROL.lock().unwrap() = (if SLOWER.load(Relaxed) { 13_000 } else { 130 }, 0);
    *CALM_AFTER.lock().unwrap() = u32::MAX;
    let mut kit = kit();
    (kit.control, kit.before) = (true, judgements - 1);
    kit.programs.insert("control", control);
    check_in(kit, "timed", &[1950], Verdict::Accepted, (Confidence::Settled, 10, 0, 1950));
    CONTROL.lock().unwrap().1
}

#[test]
fn a_slot_knows_how_slow_its_machine_stays() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let first = 5 + Policy::CALM_KNOWN as u32;
    assert_eq!((looks_of(1), looks_of(2)), (first, first + 9), "the second one does not wait");
}

#[test]
fn waiting_for_calm_has_an_end() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    SLOWER.store(true, Relaxed);
    let looks = (looks_of(1), looks_of(2));
    SLOWER.store(false, Relaxed);
    let each = 9 + Policy::CALM_LOOKS;
    assert_eq!(looks, (each, 2 * each), "each submission has its own looks");
}

#[test]
fn a_program_that_a_slow_machine_does_not_slow_does_not_wait() {
    let (passes, fails) = (Verdict::Accepted, Verdict::TimeLimit);
    let check = |program, times, verdict, how| check_until_calm(130, VARIES, program, times, verdict, how);
    // Four runs show it, with a short wait before three of them; the fifth settles.
    let shown = 4 + 3 * Policy::FIRST_LOOKS;
    let steady = check("timed", &[1950], passes, (Confidence::Settled, 5, 0, 1950));
    // A run over the limit is discarded all the same.
    let over = check("timed", &[2500], fails, (Confidence::Open, 10, 10, 2500));
    // These vary as the machine does, and those were all stopped.
    let feels = check("timed", &[1830, 1990], passes, (Confidence::Settled, 10, 0, 1830));
    let stopped = check("stopped", &[2500], fails, (Confidence::Open, 10, 10, 2500));
    assert_eq!((steady, over), (shown, shown + 6));
    assert!(feels > shown + 9 && stopped > shown + 9, "{feels} {stopped}");
}

#[test]
fn void_runs_are_repeated_and_shown() {
    check("disturbed", &[2100], Verdict::TimeLimit, (Confidence::Open, 10, 10, 2100));
    check("disturbed", &[2100, 1800], Verdict::Accepted, (Confidence::Settled, 2, 1, 1800));
    check("disturbed", &[1800], Verdict::Accepted, (Confidence::Clear, 1, 0, 1800));
}
