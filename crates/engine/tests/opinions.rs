//! What CPU time leaves open the reference clock decides, on a simulated sandbox.

mod kit;

use engine::SystemError;
use engine::clocks::{Emulator, Meter};
use engine::opinion::Opinions;
use engine::simulated::Stage;
use judge::package::TimeBounds;
use judge::scoring::JudgeMode::AllTests;
use kit::{Kit, echo, kit, ms, ok};
use model::{Confidence, Event, Observation, ReferenceScale, SecondOpinions, Verdict};
use std::path::Path;
use std::sync::Mutex;

/// CPU and reference times of the next runs of the submission, in milliseconds; the last ones stay. Judging takes place in this process only.
static TIMES: Mutex<[Vec<u64>; 2]> = Mutex::new([Vec::new(), Vec::new()]);
/// Runs in the emulator so far.
static FOLLOWED: Mutex<u32> = Mutex::new(0);
/// One test at a time, since they share the times.
static ALONE: Mutex<()> = Mutex::new(());

fn next(clock: usize) -> u64 {
    let times = &mut TIMES.lock().unwrap()[clock];
    if times.len() > 1 { times.remove(0) } else { times[0] }
}

fn timed(stage: &mut Stage) -> Result<Observation, SystemError> {
    echo(stage)?;
    ok(next(0))
}

/// Of the jury: 400 ms by CPU time, 300 ms by reference time.
fn jury(stage: &mut Stage) -> Result<Observation, SystemError> {
    echo(stage)?;
    ok(400)
}

/// How often the control program has run on a slot that becomes calm at its fifth run.
static LOOKS: Mutex<u32> = Mutex::new(0);

fn control(_: &mut Stage) -> Result<Observation, SystemError> {
    let mut looks = LOOKS.lock().unwrap();
    *looks += 1;
    ok(if *looks < 5 { 140 } else { 100 })
}

/// Of the jury, on that slot: slower until it is calm.
fn slower_at_first(stage: &mut Stage) -> Result<Observation, SystemError> {
    echo(stage)?;
    ok(if *LOOKS.lock().unwrap() < 5 { 560 } else { 400 })
}

/// Of the jury, in no time.
fn quick(stage: &mut Stage) -> Result<Observation, SystemError> {
    echo(stage)?;
    ok(5)
}

/// Plays the program that it is given.
fn emulator(stage: &mut Stage) -> Result<Observation, SystemError> {
    *FOLLOWED.lock().unwrap() += 1;
    let program = stage.spec().argv[7].clone();
    let name = String::from_utf8(stage.file(&program).unwrap()).unwrap();
    let time = if name == "jury" { 300 } else { next(1) };
    match name.as_str() {
        "wrong when followed" => stage.write("what?").unwrap(),
        _ => drop(echo(stage)?),
    }
    stage.follow(ms(time)).unwrap();
    let cpu = time * 10;
    ok(cpu)
}

fn opinions(when: SecondOpinions, directory: Option<&Path>) -> Opinions {
    static EMULATOR: std::sync::OnceLock<Emulator> = std::sync::OnceLock::new();
    let emulator =
        EMULATOR.get_or_init(|| Emulator { path: "/emulator".into(), version: "an emulator".into() });
    Opinions::inferred(when, directory.map(Path::to_owned)).followed_by(Meter::Reference(emulator))
}

/// A limit of 2 s, which is 1.5 s of reference time.
fn a_kit(when: SecondOpinions) -> Kit {
    let mut kit = kit();
    kit.package.data.groups[0].cases.truncate(1);
    kit.programs.insert("timed", timed);
    kit.programs.insert("wrong when followed", timed);
    kit.programs.insert("jury", jury);
    kit.programs.insert("quick", quick);
    kit.programs.insert("/emulator", emulator);
    let bounds = TimeBounds { lower: true, upper: false };
    kit.jury("submissions/accepted/jury.sim", "jury", Verdict::Accepted, bounds);
    kit.opinions = opinions(when, None);
    kit
}

/// Verdict, confidence, and of the second opinion the time in milliseconds and whether it passes.
type Seen = (Verdict, Confidence, Option<(u64, bool)>);

fn judged(kit: &mut Kit, program: &str, cpu: &[u64], reference: &[u64]) -> Seen {
    *TIMES.lock().unwrap() = [cpu.to_vec(), reference.to_vec()];
    let judgement = kit.judge(program, AllTests).unwrap().judgement;
    let test = &judgement.tests[0];
    let opinion = test.second_opinion.map(|opinion| {
        assert_eq!(opinion.limit, ms(1500));
        (opinion.time.0 / 1_000_000, opinion.passes)
    });
    assert_eq!(judgement.second_opinion(), test.second_opinion);
    assert_eq!(judgement.settled.confidence, test.settled.confidence);
    (judgement.verdict, test.settled.confidence, opinion)
}

fn check(when: SecondOpinions, cpu: &[u64], reference: &[u64], expected: Seen) {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    assert_eq!(judged(&mut a_kit(when), "timed", cpu, reference), expected, "{when:?} {cpu:?} {reference:?}");
}

const PASSES: Verdict = Verdict::Accepted;
const FAILS: Verdict = Verdict::TimeLimit;

#[test]
fn what_is_open_is_decided_by_reference_time() {
    use Confidence::{Clear, Confirmed, Open, Settled};
    use SecondOpinions::{Grey, Never};
    let asked = SecondOpinions::Open;
    check(asked, &[2010], &[1400], (PASSES, Confirmed, Some((1400, true))));
    check(asked, &[2010], &[1500], (PASSES, Confirmed, Some((1500, true))));
    check(asked, &[2010], &[1501], (FAILS, Confirmed, Some((1501, false))));
    check(Never, &[2010], &[1400], (FAILS, Open, None));
    // It passes three times, but by less than a usual run varies: another judgement might find none.
    check(asked, &[1990], &[1400], (PASSES, Confirmed, Some((1400, true))));
    check(asked, &[1990], &[1600], (FAILS, Confirmed, Some((1600, false))));
    check(Never, &[1990], &[1600], (PASSES, Settled, None));
    // With room for that it stands, where not everything grey is asked about.
    check(asked, &[1825], &[1600], (PASSES, Settled, None));
    check(Grey, &[1825], &[1600], (FAILS, Confirmed, Some((1600, false))));
    check(asked, &[2500, 2400], &[1400], (FAILS, Settled, None));
    check(Grey, &[2500, 2400], &[1400], (PASSES, Confirmed, Some((1400, true))));
    // Nobody asks about what is clear.
    check(Grey, &[1000], &[1600], (PASSES, Clear, None));
    check(Grey, &[3900], &[1400], (FAILS, Clear, None));
}

#[test]
fn times_that_do_not_repeat_are_told_apart() {
    use Confidence::{Confirmed, Open};
    let asked = SecondOpinions::Open;
    // All on one side: as good as one time. The least of three counts.
    check(asked, &[2010], &[1490, 1480, 1485], (PASSES, Confirmed, Some((1480, true))));
    check(asked, &[2010], &[1590, 1560, 1575], (FAILS, Confirmed, Some((1560, false))));
    // On both: it can keep the limit, so it passes, but nobody is sure.
    check(asked, &[2010], &[1590, 1480, 1575], (PASSES, Open, Some((1480, true))));
    // Far away one run is enough.
    check(asked, &[2010], &[900, 1600], (PASSES, Confirmed, Some((900, true))));
    check(asked, &[2010], &[1700, 900], (FAILS, Confirmed, Some((1700, false))));
}

#[test]
fn what_is_wrong_apart_from_time_is_seen_when_it_is_in_time() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut kit = a_kit(SecondOpinions::Open);
    // It never kept the limit, so only the run that was followed says what it prints.
    let seen = judged(&mut kit, "wrong when followed", &[2010], &[1400]);
    assert_eq!(seen, (Verdict::WrongAnswer, Confidence::Confirmed, Some((1400, true))));
    // It kept it once, and that run decides.
    let seen = judged(&mut kit, "wrong when followed", &[1990], &[1400]);
    assert_eq!(seen, (PASSES, Confidence::Confirmed, Some((1400, true))));
}

#[test]
fn without_a_scale_it_stays_open_and_says_why() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut kit = a_kit(SecondOpinions::Open);
    kit.package.submissions.clear();
    let bounds = TimeBounds { lower: true, upper: false };
    kit.jury("submissions/accepted/quick.sim", "quick", Verdict::Accepted, bounds);
    assert_eq!(judged(&mut kit, "timed", &[2010], &[1400]), (FAILS, Confidence::Open, None));
    let said = kit.events.lock().unwrap().iter().any(|event| {
        matches!(event, Event::Warning { message, .. } if message.contains("no second opinion") && message.contains("10.0 ms"))
    });
    assert!(said, "{:?}", kit.events.lock().unwrap());
}

#[test]
fn a_scale_is_found_once_and_kept() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let top = tempfile::tempdir().unwrap();
    let directory = top.path().join("scales");
    let mut kit = a_kit(SecondOpinions::Open);
    let followed = |kit: &mut Kit| {
        *FOLLOWED.lock().unwrap() = 0;
        assert_eq!(judged(kit, "timed", &[2010], &[1400]).1, Confidence::Confirmed);
        *FOLLOWED.lock().unwrap()
    };
    kit.opinions = opinions(SecondOpinions::Open, Some(&directory));
    // The jury's program once, the submission twice, since it is within a tenth of its limit.
    assert_eq!(followed(&mut kit), 3);
    assert_eq!(followed(&mut kit), 2);
    kit.opinions = opinions(SecondOpinions::Open, Some(&directory));
    assert_eq!(followed(&mut kit), 2, "kept");
    kit.file("data/secret/extra.in", "another package");
    kit.opinions = opinions(SecondOpinions::Open, Some(&directory));
    assert_eq!(followed(&mut kit), 3, "the package is another");
}

#[test]
fn a_scale_is_taken_from_a_calm_machine() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut kit = a_kit(SecondOpinions::Open);
    kit.control = true;
    kit.programs.extend([("control", control as kit::Play), ("jury", slower_at_first)]);
    *LOOKS.lock().unwrap() = 0;
    assert_eq!(kit.scales().unwrap().scales[0].cpu, ms(400));
    // A check before each of the runs, and four while it waited.
    assert_eq!(*LOOKS.lock().unwrap(), 5 + 4);
}

#[test]
fn scales_that_are_told_are_used_and_no_others() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut kit = a_kit(SecondOpinions::Open);
    let scale = ReferenceScale {
        language: "sim".into(),
        submission: "a".into(),
        test: "b".into(),
        cpu: ms(4),
        reference: ms(3),
        counted_by: "reference machine 1 in an emulator".into(),
    };
    let told = |scales| {
        let emulator =
            Box::leak(Box::new(Emulator { path: "/emulator".into(), version: "an emulator".into() }));
        Opinions::told(SecondOpinions::Open, scales).followed_by(Meter::Reference(emulator))
    };
    kit.opinions = told(vec![scale.clone()]);
    assert_eq!(judged(&mut kit, "timed", &[2010], &[1400]).2, Some((1400, true)));
    let other = ReferenceScale { language: "other".into(), ..scale.clone() };
    kit.opinions = told(vec![other]);
    assert_eq!(judged(&mut kit, "timed", &[2010], &[1400]).1, Confidence::Confirmed, "the slowest of all");
    let unlike = ReferenceScale { counted_by: "reference machine 9".into(), ..scale };
    kit.opinions = told(vec![unlike]);
    assert_eq!(judged(&mut kit, "timed", &[2010], &[1400]), (FAILS, Confidence::Open, None));
    kit.opinions = told(Vec::new());
    assert_eq!(judged(&mut kit, "timed", &[2010], &[1400]), (FAILS, Confidence::Open, None));
}
