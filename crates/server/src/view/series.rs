//! Trials of a submission: how much its times vary.

use super::{Brief, VerdictName, names};
use crate::errors::Refusal;
use crate::service::Service;
use model::{Cause, Charge, Clock, Judgement, Nanos, Observation, Verdict};
use serde::Serialize;
use settle::Timed;
use std::collections::BTreeMap;
use store::{Purpose, RejudgingId, Submission};
use utoipa::ToSchema;

/// Maximum number of judgements in a series; the newest count.
const MOST: usize = 200;

/// Trials of a submission, which show how much its times vary.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Series {
    /// Token of the submission.
    pub(crate) token: String,
    /// Clock of the runs. Under `instructions`, one nanosecond stands for one instruction.
    pub(crate) clock: Clock,
    /// Time limit of a test. Null before the first judgement.
    pub(crate) time_limit_ns: Option<u64>,
    /// Number of judgements that were requested and are not finished.
    pub(crate) waiting: u64,
    /// Number of judgements by verdict.
    pub(crate) verdicts: Vec<VerdictCount>,
    /// Variation of the settled time of the slowest test between judgements.
    pub(crate) slowest: Option<Spread>,
    /// Judgements, oldest first; at most the newest 200.
    pub(crate) judgements: Vec<Brief>,
    /// Tests that were run.
    pub(crate) tests: Vec<SeriesTest>,
}

/// Number of judgements with a verdict.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct VerdictCount {
    /// The verdict.
    #[schema(value_type = VerdictName)]
    pub(crate) verdict: Verdict,
    /// Number of judgements.
    pub(crate) count: u64,
}

/// A test of a series.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SeriesTest {
    /// Path below `data/`, without extension.
    pub(crate) name: String,
    /// Variation of the settled time between judgements.
    pub(crate) settled: Option<Spread>,
    /// Variation of the times of single runs, without discarded ones.
    pub(crate) runs: Option<Spread>,
    /// Number of discarded runs.
    pub(crate) void_runs: u64,
    /// All runs.
    pub(crate) points: Vec<Point>,
}

/// A run of a series.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Point {
    /// Number of the judgement.
    pub(crate) judgement: u64,
    /// Number of the run within the test of that judgement, from 1.
    pub(crate) run: u64,
    /// Charge of the run as a time. Under `instructions`, one nanosecond stands for one instruction.
    pub(crate) time_ns: u64,
    /// Wall time.
    pub(crate) wall_ns: u64,
    /// Whether the run is discarded: its disturbances can account for all of its time above the limit.
    pub(crate) void: bool,
    /// Names of the disturbances.
    pub(crate) disturbed: Vec<String>,
}

/// Variation of times.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SeriesSpread)]
pub(crate) struct Spread {
    /// Number of times.
    pub(crate) n: u64,
    /// Minimum.
    pub(crate) min_ns: u64,
    /// Median.
    pub(crate) median_ns: u64,
    /// Maximum.
    pub(crate) max_ns: u64,
    /// Maximum minus minimum.
    pub(crate) spread_ns: u64,
    /// Spread in percent of the median.
    pub(crate) spread_pct: f64,
}

impl Spread {
    /// From times of at most 2⁵³.
    fn between(times: impl Iterator<Item = u64>) -> Option<Spread> {
        let sample: Vec<f64> = times.map(|time| time as f64).collect();
        let summary = stats::Summary::from_sample(&sample)?;
        let whole = |x: f64| x.round() as u64;
        Some(Spread {
            n: summary.n as u64,
            min_ns: whole(summary.min),
            median_ns: whole(summary.median),
            max_ns: whole(summary.max),
            spread_ns: whole(summary.spread),
            spread_pct: summary.spread_pct,
        })
    }
}

/// The trials of a submission, or only those of one rejudging.
pub(crate) async fn series(
    service: &Service,
    submission: &Submission,
    of: Option<RejudgingId>,
) -> Result<Series, Refusal> {
    let mut jobs = service.store.jobs(submission.id).await?;
    jobs.retain(|job| job.purpose == Purpose::Trial && (of.is_none() || job.rejudging == of));
    let waiting = jobs.iter().filter(|job| job.is_open()).count();
    let mut history = service.store.history(submission.id).await?;
    history.retain(|judgement| jobs.binary_search_by_key(&judgement.job, |job| job.id).is_ok());
    history.drain(..history.len().saturating_sub(MOST));
    let mut building = Building::default();
    for summary in &history {
        let stored = service.store.judgement(summary.id).await?;
        building.add(summary.number, &stored.judgement);
    }
    let mut verdicts: BTreeMap<Verdict, u64> = BTreeMap::new();
    history.iter().for_each(|judgement| *verdicts.entry(judgement.verdict).or_default() += 1);
    Ok(Series {
        token: submission.token.clone(),
        clock: building.clock,
        time_limit_ns: building.limit.map(|limit| limit.0),
        waiting: waiting as u64,
        verdicts: verdicts.into_iter().map(|(verdict, count)| VerdictCount { verdict, count }).collect(),
        slowest: Spread::between(
            history.iter().filter_map(|judgement| judgement.charge).map(|charge| charge.amount),
        ),
        judgements: history.iter().map(Brief::new).collect(),
        tests: building.tests(),
    })
}

/// The tests of a series, as judgements are added.
#[derive(Default)]
struct Building {
    clock: Clock,
    limit: Option<Nanos>,
    /// Names in the order of the tests, and for each the settled times and the runs.
    tests: Vec<(String, Vec<u64>, Vec<Point>)>,
}

impl Building {
    fn add(&mut self, number: u64, judgement: &Judgement) {
        (self.clock, self.limit) = (judgement.clock, Some(judgement.time_limit));
        for test in &judgement.tests {
            let known = self.tests.iter().position(|(name, ..)| *name == test.name);
            let at = known.unwrap_or_else(|| {
                self.tests.push((test.name.clone(), Vec::new(), Vec::new()));
                self.tests.len() - 1
            });
            let (_, settled, points) = &mut self.tests[at];
            settled.push(test.charge.amount);
            let point = |((run, causes), n): ((&Observation, Vec<Cause>), u64)| {
                point((number, n), run, judgement.limit(), &causes)
            };
            points.extend(settle::judged_runs(test).into_iter().zip(1u64..).filter_map(point));
        }
    }

    fn tests(self) -> Vec<SeriesTest> {
        let test = |(name, settled, points): (String, Vec<u64>, Vec<Point>)| SeriesTest {
            name,
            settled: Spread::between(settled.into_iter()),
            runs: Spread::between(points.iter().filter(|point| !point.void).map(|point| point.time_ns)),
            void_runs: points.iter().filter(|point| point.void).count() as u64,
            points,
        };
        self.tests.into_iter().map(test).collect()
    }
}

fn point((judgement, run): (u64, u64), seen: &Observation, limit: Charge, causes: &[Cause]) -> Option<Point> {
    let charge = *Charge::measured(limit.clock, seen).known()?;
    Some(Point {
        judgement,
        run,
        time_ns: charge.amount,
        wall_ns: seen.time.wall.0,
        void: is_void(charge, limit, causes),
        disturbed: names(causes),
    })
}

/// Whether a run with this charge says nothing about the limit, by the settle rule.
pub(crate) fn is_void(charge: Charge, limit: Charge, causes: &[Cause]) -> bool {
    limit.amount > 0 && Timed::new(charge, causes).is_void(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Exit, Reading, Settled, TestResult};

    fn judged(times: &[u64]) -> Judgement {
        let run = |cpu: &u64| Observation::unread(Exit::Code(0), Nanos(*cpu), "no machine");
        let settled = Settled { confidence: model::Confidence::Clear, runs: 1, void_runs: 0 };
        let test = TestResult {
            name: "secret/1".into(),
            verdict: Verdict::Accepted,
            charge: Charge::cpu(Nanos(times.iter().copied().min().unwrap_or(0))),
            wall: Nanos(1),
            memory_peak: Reading::Known(Bytes(1)),
            score: None,
            settled,
            runs: times.iter().map(run).collect(),
            causes: Reading::unknown("made up"),
            second_opinion: None,
            transcript: None,
            message: String::new(),
        };
        Judgement {
            submission: String::new(),
            language: "c".into(),
            verdict: Verdict::Accepted,
            score: None,
            max_score: None,
            groups: Vec::new(),
            clock: Clock::Cpu,
            counted_by: None,
            time_limit: Nanos(1000),
            limits: model::Limits::default(),
            compile: model::Compilation::default(),
            tests: vec![test],
            settled,
            thresholds: Reading::unknown("made up"),
            fault: None,
        }
    }

    #[test]
    fn a_series_tells_settled_times_and_runs_apart() {
        let mut building = Building::default();
        let mut stolen = judged(&[100, 1100]);
        stolen.tests[0].runs[1].evidence.steal = Reading::Known(Nanos(100_000_000));
        building.add(1, &stolen);
        building.add(2, &judged(&[110]));
        let tests = building.tests();
        let [test] = &tests[..] else { panic!("{tests:?}") };
        let figures =
            |spread: &Option<Spread>| spread.as_ref().map(|s| (s.n, s.min_ns, s.max_ns, s.spread_ns));
        assert_eq!(figures(&test.settled), Some((2, 100, 110, 10)));
        assert_eq!(figures(&test.runs), Some((2, 100, 110, 10)), "the void run does not count");
        assert_eq!((test.void_runs, test.points.len()), (1, 3));
        assert_eq!(test.points[1].disturbed, ["steal"]);
        assert!(test.points[1].void && !test.points[0].void);
    }
}
