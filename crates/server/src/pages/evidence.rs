//! Why a time can be believed: the runs of a judgement, what their evidence says, and the scatter against the limit, in words.
//! Pure: a judgement and the noise floor of its slot in, what a page shows out.

use super::filters::flattened;
use super::words;
use crate::view::{is_void, may_read_message};
use model::{
    Cause, Charge, Confidence, Disturbance, Isolation, Judgement, Nanos, Observation, Reading, TestResult,
    Verdict,
};
use report::html::{ChartedRun, RunsChart, runs_chart};
use settle::{NoiseFloor, Policy, band, floor_of, judged_runs};
use std::collections::BTreeMap;

/// A run as a page shows it.
#[derive(Debug)]
pub(crate) struct RunShown {
    pub(crate) number: usize,
    /// What it is charged.
    pub(crate) time: String,
    /// Of what that is, and what it took besides.
    pub(crate) spent: String,
    /// What was read around it: name and amount, or why it is not known.
    pub(crate) readings: Vec<(&'static str, Result<String, String>)>,
    /// What disturbed it, in words, and what that can have cost.
    pub(crate) causes: Vec<(&'static str, &'static str, String)>,
    /// It does not count.
    pub(crate) void: bool,
    pub(crate) place: String,
}

/// A test as a page shows it.
#[derive(Debug)]
pub(crate) struct TestShown {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// What it is charged, for people and to order by.
    pub(crate) time: String,
    pub(crate) amount: u64,
    /// Of the limit, in percent; at most 100.
    pub(crate) share: u64,
    pub(crate) memory: String,
    pub(crate) memory_bytes: u64,
    pub(crate) confidence: Confidence,
    pub(crate) runs: Vec<RunShown>,
    pub(crate) void_runs: u32,
    pub(crate) made: u32,
    pub(crate) score: Option<String>,
    /// What the validator says, where the reader may know it.
    pub(crate) message: String,
}

impl TestShown {
    /// It was disturbed in some run.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.runs.iter().any(|run| !run.causes.is_empty())
    }
}

/// How good a piece of evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It speaks for the time.
    Good,
    /// It is to be known.
    Note,
    /// It speaks against, or was not in force.
    Weak,
}

impl Weight {
    /// The class of its tag, and what the tag says.
    pub(crate) fn tag(self) -> (&'static str, &'static str) {
        match self {
            Weight::Good => ("good", "ok"),
            Weight::Note => ("", "note"),
            Weight::Weak => ("mark", "weaker"),
        }
    }
}

/// What speaks for and against the times of a judgement.
#[derive(Debug, Default)]
pub(crate) struct Belief {
    pub(crate) sentences: Vec<(Weight, String)>,
    /// All of it in one line: the slowest test against the limit, and what disturbed its runs.
    pub(crate) line: String,
    /// All runs against the limit, as SVG.
    pub(crate) chart: Option<String>,
    /// The limit and the grey zone are in it.
    pub(crate) near: bool,
}

/// Tests as they are shown to one who sees all, or only what is theirs.
pub(super) fn tests(judgement: &Judgement, sees_all: bool) -> Vec<TestShown> {
    judgement.tests.iter().map(|test| shown(test, judgement.time_limit, sees_all)).collect()
}

/// A test as it is shown, by the clock that it was charged by.
pub(super) fn shown(test: &TestResult, limit: Nanos, sees_all: bool) -> TestShown {
    let limit = Charge::for_time(test.charge.clock, limit);
    let may_read = may_read_message(&test.name, sees_all);
    let memory = test.memory_peak.known();
    let run = |(n, (run, causes)): (usize, (&Observation, Vec<Cause>))| run_shown(n + 1, run, limit, &causes);
    TestShown {
        name: test.name.clone(),
        verdict: test.verdict,
        time: test.charge.to_string(),
        amount: test.charge.amount,
        share: (test.charge.amount.saturating_mul(100) / limit.amount.max(1)).min(100),
        memory: memory.map_or("unknown".into(), |bytes| words::memory(*bytes)),
        memory_bytes: memory.map_or(0, |bytes| bytes.0),
        confidence: test.settled.confidence,
        runs: judged_runs(test).into_iter().enumerate().map(run).collect(),
        void_runs: test.settled.void_runs,
        made: test.settled.runs,
        score: test.score.map(words::score),
        message: if may_read { test.message.trim().to_string() } else { String::new() },
    }
}

fn run_shown(number: usize, run: &Observation, limit: Charge, causes: &[Cause]) -> RunShown {
    let charge = Charge::measured(limit.clock, run);
    let e = &run.evidence;
    let time = |reading: &Reading<Nanos>| read(reading, Nanos::to_string);
    let count = |reading: &Reading<u64>| read(reading, u64::to_string);
    let readings = vec![
        ("run-queue wait", time(&e.run_queue_wait)),
        ("steal time", time(&e.steal)),
        ("interrupts", time(&e.irq)),
        ("other processes", time(&e.foreign)),
        ("throttled", time(&e.throttled)),
        ("preemptions", count(&e.involuntary_switches)),
        ("migrations", count(&e.migrations)),
        ("minor page faults", count(&e.minor_faults)),
        ("major page faults", count(&e.major_faults)),
        ("CPU frequency", read(&e.frequency_ratio, |ratio| format!("{:.1} %", ratio * 100.0))),
    ];
    let cost = |cause: &Cause| match cause.bound {
        Nanos::ZERO => "no CPU time".to_string(),
        bound => format!("at most {bound}"),
    };
    RunShown {
        number,
        time: read(&charge, Charge::to_string).unwrap_or_else(|why| format!("unknown ({why})")),
        spent: match limit.clock.varies() {
            true => format!("of CPU time in {} of wall time", run.time.wall),
            false => format!("with {} of CPU time in {} of wall time", run.time.cpu, run.time.wall),
        },
        readings,
        void: charge.known().is_some_and(|charge| is_void(*charge, limit, causes)),
        causes: causes.iter().map(|cause| (cause.name.name(), cause.name.words(), cost(cause))).collect(),
        place: place(run),
    }
}

fn read<T>(reading: &Reading<T>, text: impl Fn(&T) -> String) -> Result<String, String> {
    match reading {
        Reading::Known(value) => Ok(text(value)),
        Reading::Unknown(why) => Err(why.to_string()),
    }
}

/// Where a run was, in words.
fn place(run: &Observation) -> String {
    let evidence = &run.evidence;
    let cpus = match &evidence.cpus[..] {
        [one] => format!("CPU {one}"),
        many => format!("CPUs {}", words::list(many)),
    };
    match evidence.isolation {
        Isolation::Vm => {
            let machine = evidence.machine.as_ref();
            let how = machine.map_or(String::new(), |machine| format!(" ({})", machine.accelerator));
            match evidence.cpus.is_empty() {
                true => format!("its own virtual machine{how}, not pinned to a CPU"),
                false => format!("its own virtual machine{how} on {cpus}"),
            }
        }
        Isolation::Partition => {
            format!("{cpus} alone, in a partition where the kernel schedules nothing else")
        }
        Isolation::Cpuset => format!("{cpus} in a cpuset of its own"),
        Isolation::Affinity => format!("bound to {cpus}, where other work may run too"),
        Isolation::None => "bound to no CPU".to_string(),
    }
}

/// What speaks for and against the times of a judgement.
pub(super) fn belief(judgement: &Judgement) -> Belief {
    let floor = &floor_of(judgement);
    let runs: Vec<&Observation> = judgement.tests.iter().flat_map(|test| &test.runs).collect();
    let mut sentences = Vec::new();
    if runs.is_empty() {
        return Belief::default();
    }
    sentences.push(counts(judgement));
    sentences.extend(nearest(judgement, floor));
    sentences.extend(places(&runs));
    sentences.extend(waited(judgement));
    sentences.extend(disturbed(judgement));
    if judgement.clock.varies() {
        sentences.push(noise(floor));
    } else {
        let by = judgement.counted_by.as_deref().unwrap_or("a counter");
        let clock = judgement.clock.name();
        sentences.push((
            Weight::Good,
            format!("Times are from the clock “{clock}”, counted by {by}: they are the same on every machine and at any load."),
        ));
    }
    sentences.extend(second_opinions(judgement));
    sentences.extend(unknown(&runs));
    sentences.extend(weaker(&runs));
    let near = runs.iter().filter_map(|run| charged(run, judgement)).any(|charge| is_near(charge, judgement));
    Belief { sentences, line: line(judgement), chart: chart(judgement, floor), near }
}

/// The slowest test against the limit, and whether its runs were disturbed.
fn line(judgement: &Judgement) -> String {
    // What the verdict names is shown, where the clock alone does not tell it.
    let stopped = judgement
        .tests
        .iter()
        .find(|test| judgement.verdict == Verdict::TimeLimit && test.verdict == Verdict::TimeLimit);
    let slowest = || judgement.tests.iter().max_by_key(|test| test.charge.amount);
    let Some(slowest) = stopped.or_else(slowest) else { return String::new() };
    let limit = judgement.limit();
    let share = 100.0 * slowest.charge.amount as f64 / limit.amount.max(1) as f64;
    let share = match slowest.verdict {
        Verdict::TimeLimit if slowest.charge > limit => format!("over the limit of {limit}"),
        Verdict::TimeLimit => format!("stopped by the wall-time limit after {}", slowest.wall),
        _ if share < 10.0 => format!("{share:.1} % of the limit"),
        _ => format!("{share:.0} % of the limit"),
    };
    let runs = judged_runs(slowest);
    let disturbed = runs.iter().filter(|(_, causes)| !causes.is_empty()).count();
    let evidence = match disturbed {
        _ if judgement.settled.confidence == Confidence::Open => "too close to be certain".to_string(),
        0 => "undisturbed".to_string(),
        1 if runs.len() == 1 => "disturbed".to_string(),
        some => format!("{some} of {} runs disturbed", runs.len()),
    };
    format!("{share}, {evidence}")
}

fn counts(judgement: &Judgement) -> (Weight, String) {
    let settled = judgement.settled;
    let runs = words::counted(u64::from(settled.runs), "run", "runs");
    let tests = words::counted(judgement.tests.len() as u64, "test", "tests");
    let void = match settled.void_runs {
        0 => "None was discarded.".to_string(),
        n => format!(
            "{}: a disturbance may explain the time over the limit.",
            words::counted(
                u64::from(n),
                "run was discarded and repeated",
                "runs were discarded and repeated"
            )
        ),
    };
    let weight = if settled.confidence == Confidence::Open { Weight::Weak } else { Weight::Good };
    (weight, format!("{runs} of {tests}. {void} {}", words::confidence_words(settled.confidence)))
}

/// What the reference clock said of the tests that were left open, both figures of each.
fn second_opinions(judgement: &Judgement) -> Vec<(Weight, String)> {
    let told = |test: &model::TestResult| {
        let opinion = test.second_opinion?;
        let (side, end) = if opinion.passes { ("at most", "passes") } else { ("more than", "fails") };
        let sentence = format!(
            "{} took {} of {}: too close to the limit to be certain. On the reference clock it takes {:#}, {side} its limit there, \
             {:#}. It {end} on every machine.",
            test.name,
            test.charge,
            judgement.limit(),
            opinion.charge().as_time(),
            opinion.limit().as_time()
        );
        Some((Weight::Good, sentence))
    };
    judgement.tests.iter().filter_map(told).collect()
}

/// How near the limit the slowest test came.
fn nearest(judgement: &Judgement, floor: &NoiseFloor) -> Option<(Weight, String)> {
    let limit = judgement.limit();
    let slowest = judgement.tests.iter().max_by_key(|test| test.charge)?;
    if limit.amount == 0 {
        return None;
    }
    let charge = slowest.charge;
    let part = charge.amount as f64 / limit.amount as f64;
    let [from, to] = grey(judgement.time_limit, floor).map(|time| Charge::for_time(limit.clock, time));
    let grey = format!("{from} to {to}");
    let beside = match charge {
        _ if !limit.clock.varies() => {
            "This clock does not vary, so one run decides even near the limit.".into()
        }
        charge if charge < from => format!("This is below the grey zone ({grey}), so one run decides."),
        charge if charge > to => format!("This is above the grey zone ({grey}), so one run decides."),
        _ => format!("This is in the grey zone ({grey}), where one run does not decide."),
    };
    let how = match part {
        part if part > 1.0 => format!("{:.0} % over the limit of {limit}", (part - 1.0) * 100.0),
        part => format!("{:.0} % of the limit of {limit}", part * 100.0),
    };
    Some((Weight::Note, format!("The slowest test, {}, took {charge}: {how}. {beside}", slowest.name)))
}

/// From where to where one run of a program does not decide: the two borders of the settle rule.
pub(super) fn grey(limit: Nanos, floor: &NoiseFloor) -> [Nanos; 2] {
    let (spread, policy) = (floor.spread(), Policy::PUBLISHED);
    [
        limit.scale(1.0 / (1.0 + spread.median_excess.max(policy.close))),
        limit.scale(1.0 + band(spread, &policy)),
    ]
}

fn places(runs: &[&Observation]) -> Vec<(Weight, String)> {
    let mut places: BTreeMap<(Isolation, String), u64> = BTreeMap::new();
    for run in runs {
        *places.entry((run.evidence.isolation, place(run))).or_default() += 1;
    }
    let only = places.len() == 1;
    let nodes = |isolation: &Isolation| {
        let of = runs.iter().find(|run| run.evidence.isolation == *isolation)?;
        let nodes = &of.evidence.mem_nodes;
        (!nodes.is_empty()).then(|| format!("; memory on node {}", words::list(nodes)))
    };
    let sentence = |((isolation, place), count): (&(Isolation, String), &u64)| {
        let who = if only { "Every run".to_string() } else { words::counted(count, "run", "runs") };
        let weight = if *isolation >= Isolation::Cpuset { Weight::Good } else { Weight::Weak };
        let verb = if place.starts_with("bound") { "was" } else { "used" };
        (weight, format!("{who} {verb} {place}{}.", nodes(isolation).unwrap_or_default()))
    };
    places.iter().map(sentence).collect()
}

/// A test that ran out of real time, of which its CPU time says nothing.
fn waited(judgement: &Judgement) -> Option<(Weight, String)> {
    let limit = judgement.limit();
    let over =
        |test: &&TestResult| test.verdict == Verdict::TimeLimit && test.charge <= limit && limit.amount > 0;
    let test = judgement.tests.iter().find(over)?;
    let (charge, wall) = (test.charge, test.wall);
    let text =
        format!("Test {} was stopped by the wall-time limit after {wall}; it used {charge}.", test.name);
    Some((Weight::Note, text))
}

/// Whether some run was disturbed and kept the limit all the same, in a test that did.
fn kept_although_disturbed(judgement: &Judgement) -> bool {
    let tests = judgement.tests.iter().filter(|test| test.verdict != Verdict::TimeLimit);
    let kept = |run: &Observation| charged(run, judgement).is_some_and(|charge| charge <= judgement.limit());
    tests.flat_map(judged_runs).any(|(run, causes)| kept(run) && !causes.is_empty())
}

fn disturbed(judgement: &Judgement) -> Vec<(Weight, String)> {
    let mut causes: BTreeMap<&'static str, (Disturbance, u64)> = BTreeMap::new();
    for cause in judgement.tests.iter().flat_map(judged_runs).flat_map(|(_, causes)| causes) {
        causes.entry(cause.name.name()).or_insert((cause.name, 0)).1 += 1;
    }
    if causes.is_empty() {
        let text = "No run was disturbed: steal time, interrupts, waits and migrations are as in quiet runs on this slot.";
        return vec![(Weight::Good, text.into())];
    }
    let part = |(cause, count): (Disturbance, u64)| {
        format!("{} ({})", cause.words(), words::counted(count, "run", "runs"))
    };
    let parts: Vec<String> = causes.into_values().map(part).collect();
    let so = match kept_although_disturbed(judgement) {
        true => "a run within the limit still counts",
        false => "a run over the limit is discarded if a disturbance may explain it",
    };
    let text = format!("Disturbances: {}. They only add time: {so}.", parts.join("; "));
    vec![(Weight::Note, text)]
}

fn noise(floor: &NoiseFloor) -> (Weight, String) {
    let spread = floor.spread();
    let [reach, tail] =
        [spread.median_excess, spread.tail_scale].map(|part| format!("{:.1} %", part * 100.0));
    match floor.assumed {
        true => (
            Weight::Weak,
            format!(
                "The noise floor of this slot was not measured. A median excess of {reach} and a tail scale of {tail} are assumed, which widens the grey zone."
            ),
        ),
        false => (
            Weight::Good,
            format!("Noise floor of this slot (measured): median excess {reach}, tail scale {tail}."),
        ),
    }
}

fn unknown(runs: &[&Observation]) -> Option<(Weight, String)> {
    let first = runs.first()?;
    let e = &first.evidence;
    // With one node there is nothing to know.
    let nodes = why(&e.pages_by_node).filter(|_| e.mem_nodes.len() > 1);
    let all: [(&str, Option<&str>); 6] = [
        ("steal time", why(&e.steal)),
        ("run-queue wait", why(&e.run_queue_wait)),
        ("interrupts", why(&e.irq)),
        ("other processes", why(&e.foreign)),
        ("CPU frequency", why(&e.frequency_ratio)),
        ("memory placement", nodes),
    ];
    let lacking: Vec<String> =
        all.iter().filter_map(|(name, why)| Some(format!("{name} ({})", (*why)?))).collect();
    (!lacking.is_empty())
        .then(|| (Weight::Weak, format!("Not readable on this host: {}.", lacking.join("; "))))
}

fn why<T>(reading: &Reading<T>) -> Option<&str> {
    match reading {
        Reading::Known(_) => None,
        Reading::Unknown(why) => Some(why),
    }
}

fn weaker(runs: &[&Observation]) -> Vec<(Weight, String)> {
    let mut all: Vec<&String> = runs.iter().flat_map(|run| &run.evidence.weaker).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(|text| (Weight::Weak, format!("Weaker protection: {text}."))).collect()
}

/// Whether the limit is drawn beside such a time: far above all points it would only make them small.
fn is_near(charge: Charge, judgement: &Judgement) -> bool {
    charge.as_time() >= judgement.time_limit.scale(0.2)
}

fn charged(run: &Observation, judgement: &Judgement) -> Option<Charge> {
    Charge::measured(judgement.clock, run).known().copied()
}

/// Runs that are drawn at most; of more, those of the slowest tests.
const DRAWN: usize = 600;

fn chart(judgement: &Judgement, floor: &NoiseFloor) -> Option<String> {
    let (limit, clock) = (judgement.limit(), judgement.clock);
    if limit.amount == 0 {
        return None;
    }
    let mut tests: Vec<&TestResult> = judgement.tests.iter().filter(|test| !test.runs.is_empty()).collect();
    if tests.iter().map(|test| test.runs.len()).sum::<usize>() > DRAWN {
        tests.sort_by_key(|test| std::cmp::Reverse(test.charge));
        tests.truncate(DRAWN / Policy::PUBLISHED.runs as usize);
    }
    let run = |column: usize, test: &TestResult, (n, (run, causes)): (usize, (&Observation, Vec<Cause>))| {
        let charge = charged(run, judgement)?;
        let void = is_void(charge, limit, &causes);
        let names: Vec<&str> = causes.iter().map(|cause| cause.name.name()).collect();
        let why =
            if names.is_empty() { String::new() } else { format!(", disturbed by {}", names.join(", ")) };
        let title =
            format!("{}, run {}: {charge}{}{why}", test.name, n + 1, if void { ", discarded" } else { "" });
        let title = flattened(&title);
        Some(ChartedRun { column, time: charge.as_time(), void, title })
    };
    let of = |(column, test): (usize, &&TestResult)| {
        judged_runs(test).into_iter().enumerate().filter_map(|at| run(column, test, at)).collect::<Vec<_>>()
    };
    let runs: Vec<ChartedRun> = tests.iter().enumerate().flat_map(of).collect();
    let most = runs.iter().map(|run| run.time).max()?;
    let near = is_near(Charge::for_time(clock, most), judgement);
    Some(runs_chart(&RunsChart {
        title: format!("{} of every run of every test against the limit", clock.label()),
        clock,
        x_label: "test".into(),
        columns: tests.iter().map(|test| flattened(&test.name)).collect(),
        runs,
        limit: near.then_some(judgement.time_limit),
        band: near.then(|| grey(judgement.time_limit, floor)).filter(|_| clock.varies()),
        from_zero: true,
        lines: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Clock, Compilation, Exit, Limits, Settled};
    use settle::Timed;

    const LIMIT: Nanos = Nanos(1_000_000_000);

    /// A run of so many milliseconds in a cpuset of its own, undisturbed but for so many milliseconds that were stolen.
    fn run((cpu, stolen): (u64, u64)) -> Observation {
        let mut run = Observation::unread(Exit::Code(0), Nanos::from_millis(cpu), "no machine");
        run.evidence.isolation = Isolation::Cpuset;
        (run.evidence.cpus, run.evidence.mem_nodes) = (vec![3], vec![0]);
        run.evidence.steal = Reading::Known(Nanos::from_millis(stolen));
        run
    }

    fn test(name: &str, runs: &[(u64, u64)], confidence: Confidence) -> TestResult {
        let least = runs.iter().map(|run| run.0).min().unwrap_or(0);
        TestResult {
            name: name.into(),
            verdict: Verdict::WrongAnswer,
            charge: Charge::cpu(Nanos::from_millis(least)),
            wall: Nanos::from_millis(least),
            memory_peak: Reading::Known(Bytes(1 << 20)),
            score: None,
            settled: Settled { confidence, runs: runs.len() as u32, void_runs: 0 },
            runs: runs.iter().copied().map(run).collect(),
            causes: Reading::unknown("made up"),
            second_opinion: None,
            transcript: None,
            message: "expected 42".into(),
        }
    }

    fn judgement(tests: Vec<TestResult>) -> Judgement {
        Judgement {
            submission: String::new(),
            language: "c".into(),
            verdict: Verdict::WrongAnswer,
            score: None,
            max_score: None,
            groups: Vec::new(),
            clock: Clock::Cpu,
            counted_by: None,
            time_limit: LIMIT,
            limits: Limits::default(),
            compile: Compilation::default(),
            settled: Settled::combined(&tests),
            tests,
            thresholds: Reading::unknown("made up"),
            fault: None,
        }
    }

    #[test]
    fn what_the_validator_says_of_secret_tests_is_for_the_jury() {
        let judgement = judgement(vec![
            test("sample/1", &[(10, 0)], Confidence::Clear),
            test("secret/1", &[(10, 0)], Confidence::Clear),
        ]);
        let messages = |sees_all| -> Vec<String> {
            tests(&judgement, sees_all).into_iter().map(|test| test.message).collect()
        };
        assert_eq!(messages(true), ["expected 42", "expected 42"]);
        assert_eq!(messages(false), ["expected 42", ""]);
    }

    #[test]
    fn void_runs_are_told_and_drawn_as_such() {
        let runs = [(1200, 300), (980, 0), (970, 0), (990, 0)];
        let judgement = judgement(vec![test("secret/1", &runs, Confidence::Settled)]);
        let shown = tests(&judgement, false);
        let void: Vec<bool> = shown[0].runs.iter().map(|run| run.void).collect();
        assert_eq!(void, [true, false, false, false]);
        assert!(shown[0].is_disturbed() && shown[0].runs[0].causes[0].0 == "steal");
        let belief = belief(&judgement);
        let chart = belief.chart.expect("a chart");
        assert_eq!(
            (chart.matches("class=\"cross\"").count(), chart.matches("class=\"zone\"").count()),
            (1, 1)
        );
        assert!(belief.near);
    }

    #[test]
    fn sentences_say_what_is_sure_and_what_is_not() {
        let has = |judgement: &Judgement, weight: Weight, part: &str| {
            let sentences = belief(judgement).sentences;
            let found = sentences.iter().any(|(of, text)| *of == weight && text.contains(part));
            assert!(found, "{part}: {sentences:?}");
        };
        let quiet = judgement(vec![test("secret/1", &[(100, 0)], Confidence::Clear)]);
        has(&quiet, Weight::Good, "1 run of 1 test. None was discarded.");
        has(&quiet, Weight::Good, "Every run used CPU 3 in a cpuset of its own; memory on node 0.");
        has(&quiet, Weight::Good, "No run was disturbed");
        assert!(belief(&quiet).line.ends_with(" % of the limit, undisturbed"), "{}", belief(&quiet).line);
        has(&quiet, Weight::Note, "secret/1, took 100.0 ms: 10 % of the limit of 1.000 s");
        has(&quiet, Weight::Weak, "was not measured");
        has(&quiet, Weight::Weak, "Not readable on this host: run-queue wait (no machine)");
        let floor = NoiseFloor { assumed: false, ..NoiseFloor::assumed() };
        let measured = Judgement { thresholds: Reading::Known(settle::thresholds(&floor)), ..quiet.clone() };
        has(&measured, Weight::Good, "Noise floor of this slot (measured)");
        let open = judgement(vec![test("secret/1", &[(1010, 0); 10], Confidence::Open)]);
        has(&open, Weight::Weak, "too close to the limit to be certain");
        has(&open, Weight::Note, "1 % over the limit of 1.000 s. This is in the grey zone");
        let mut counted = quiet.clone();
        (counted.clock, counted.counted_by) = (Clock::Instructions, Some("qemu 9".into()));
        has(&counted, Weight::Good, "counted by qemu 9");
        (counted.tests[0].charge.clock, counted.tests[0].runs[0].instructions) =
            (Clock::Instructions, Reading::Known(100_000_000));
        has(&counted, Weight::Note, "secret/1, took 100.00 M instr.: 10 % of the limit of 1.000 G instr.");
        let chart = belief(&counted).chart.expect("a chart");
        assert!(chart.contains(">instruction count (million)<"), "{chart}");
        assert!(belief(&judgement(vec![])).sentences.is_empty());
    }

    #[test]
    fn passes_of_a_test_are_not_called_one_run() {
        let passes = judgement(vec![test("secret/1", &[(10, 0), (20, 0)], Confidence::Clear)]);
        let (_, text) = belief(&passes).sentences.remove(0);
        assert!(
            text.starts_with("2 runs of 1 test. None was discarded. One run of each test decides"),
            "{text}"
        );
    }

    #[test]
    fn what_kept_no_limit_is_proof_of_nothing() {
        let sentence = |judgement: &Judgement| {
            let all = belief(judgement).sentences;
            all.into_iter().map(|(_, text)| text).find(|text| text.starts_with("Disturbances: ")).unwrap()
        };
        let timed = |verdict, runs: &[(u64, u64)]| {
            let test = TestResult { verdict, ..test("secret/1", runs, Confidence::Settled) };
            sentence(&judgement(vec![test]))
        };
        let slow = timed(Verdict::TimeLimit, &[(1200, 300), (1900, 100), (1900, 0)]);
        assert!(slow.ends_with("is discarded if a disturbance may explain it."), "{slow}");
        // Stopped by real time, its CPU time below the limit.
        let late =
            TestResult { verdict: Verdict::TimeLimit, ..test("secret/1", &[(1900, 0)], Confidence::Clear) };
        assert_eq!(belief(&judgement(vec![late])).line, "over the limit of 1.000 s, undisturbed");
        let slept = Judgement {
            verdict: Verdict::TimeLimit,
            ..judgement(vec![
                test("secret/1", &[(100, 0)], Confidence::Clear),
                TestResult { verdict: Verdict::TimeLimit, ..test("secret/2", &[(10, 0)], Confidence::Clear) },
            ])
        };
        assert_eq!(belief(&slept).line, "stopped by the wall-time limit after 10.0 ms, undisturbed");
        let asleep = timed(Verdict::TimeLimit, &[(10, 300)]);
        assert!(!asleep.contains("still counts"), "{asleep}");
        // The run that kept it was not disturbed.
        let beside = timed(Verdict::Accepted, &[(1200, 300), (900, 0)]);
        assert!(!beside.contains("still counts"), "{beside}");
        let kept = timed(Verdict::Accepted, &[(900, 300)]);
        assert!(kept.contains("a run within the limit still counts"), "{kept}");
        let test =
            TestResult { verdict: Verdict::TimeLimit, ..test("secret/1", &[(10, 0)], Confidence::Clear) };
        let all = belief(&judgement(vec![test])).sentences;
        assert!(all.iter().any(|(_, text)| text.contains("was stopped by the wall-time limit")), "{all:?}");
    }

    #[test]
    fn the_grey_band_has_the_borders_of_the_rule() {
        let floor = NoiseFloor::assumed();
        let [from, to] = grey(LIMIT, &floor);
        let step = |cpu: Nanos| {
            let timed = Timed::new(Charge::cpu(cpu), &[]);
            settle::settle(Charge::cpu(LIMIT), floor.spread(), &Policy::PUBLISHED, &[timed])
        };
        let outside = [from - Nanos::from_millis(1), to + Nanos::from_millis(1)];
        let inside = [from + Nanos::from_millis(1), to - Nanos::from_millis(1)];
        assert!(outside.map(step).iter().all(|step| matches!(step, settle::Step::Decided(_))));
        assert_eq!(inside.map(step), [settle::Step::Again; 2]);
    }
}
