//! Results of judging: judgements of submissions and verifications of packages. Plain data that reports,
//! stores and the engine share.

use crate::{
    Bytes, Charge, Clock, Confidence, Exit, Limits, Nanos, Observation, Reading, SecondOpinion, TestResult,
    Thresholds, Verdict,
};
use serde::{Deserialize, Serialize};

/// The unknown reading for a value that an older form did not record.
pub fn not_recorded<T>() -> Reading<T> {
    Reading::unknown("not recorded then")
}

/// How a compilation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compilation {
    /// Whether compilation succeeded.
    pub ok: bool,
    /// Output of the compiler, truncated.
    pub output: String,
}

/// How the time verdict of a submission was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The least certain confidence of its test cases.
    pub confidence: Confidence,
    /// Runs of the submission, all test cases together.
    pub runs: u32,
    /// Discarded runs.
    pub void_runs: u32,
}

impl Settled {
    /// All test cases combined: the least certain confidence, and the sum of the runs.
    pub fn combined(tests: &[TestResult]) -> Settled {
        let none = Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 };
        tests.iter().fold(none, |all, test| all.and(test.settled))
    }

    /// Both combined.
    pub fn and(self, other: Settled) -> Settled {
        Settled {
            confidence: self.confidence.max(other.confidence),
            runs: self.runs.saturating_add(other.runs),
            void_runs: self.void_runs.saturating_add(other.void_runs),
        }
    }
}

/// What a test group earned: a part of the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupScore {
    /// Path below `data/`, such as `secret/group1`.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its points.
    pub score: f64,
    /// The best score it can have, where known.
    pub max_score: Option<f64>,
}

/// A submission, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// As the user or the package names it.
    pub submission: String,
    /// Language id.
    pub language: String,
    /// What it earned.
    pub verdict: Verdict,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// What its test groups earned, in scoring problems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupScore>,
    /// The clock that its tests are charged by.
    pub clock: Clock,
    /// What counted, with its version, under counting clocks.
    pub counted_by: Option<String>,
    /// Time that a test case may take, with the language's factor; what it stands for under the clock is [`Judgement::limit`].
    #[serde(rename = "time_limit_ns")]
    pub time_limit: Nanos,
    /// The limits of a run.
    pub limits: Limits,
    /// Its compilation.
    pub compile: Compilation,
    /// Every test case that was run, in order.
    pub tests: Vec<TestResult>,
    /// How its time was settled.
    pub settled: Settled,
    /// What its times were judged by.
    #[serde(default = "not_recorded")]
    pub thresholds: Reading<Thresholds>,
    /// Why the verdict is JE; `None` otherwise.
    pub fault: Option<String>,
}

impl Judgement {
    /// A judgement of JE: a fault of the judge or the package, never of the program. `why` explains it.
    pub fn fault(submission: impl Into<String>, why: impl Into<String>) -> Judgement {
        Judgement {
            submission: submission.into(),
            language: String::new(),
            clock: Clock::Cpu,
            counted_by: None,
            verdict: Verdict::JudgeError,
            score: None,
            max_score: None,
            groups: Vec::new(),
            time_limit: Nanos::ZERO,
            limits: Limits::default(),
            compile: Compilation::default(),
            tests: Vec::new(),
            settled: Settled::combined(&[]),
            thresholds: Reading::unknown("nothing was judged"),
            fault: Some(why.into()),
        }
    }

    /// The most that a test case may be charged: its time limit in the unit of the clock.
    pub fn limit(&self) -> Charge {
        Charge::for_time(self.clock, self.time_limit)
    }

    /// The same, where a worker before 0.1 judged it by a clock that counts: it told counts in place of CPU time, in tests, runs and the
    /// limit of a run, and nothing of charges.
    pub fn by_its_clock(mut self) -> Judgement {
        let clock = self.clock;
        if self.tests.iter().all(|test| test.charge.clock == clock) {
            return self;
        }
        if let Some(time) = self.limits.cpu.take() {
            self.limits = Charge::for_time(clock, time).limiting(self.limits);
        }
        for test in &mut self.tests {
            test.charge.clock = clock;
            // The two parts were the kernel's, and CPU time is their sum.
            test.runs.iter_mut().for_each(|run| run.time.cpu = run.time.user + run.time.system);
        }
        self
    }

    /// The charge of the slowest test case.
    pub fn slowest(&self) -> Reading<Charge> {
        let slowest = self.tests.iter().map(|t| t.charge).max();
        slowest.map_or_else(|| Reading::unknown("no test case was run"), Reading::Known)
    }

    /// What the reference clock said of the test case that decides: the first that it failed, else the one that came nearest to
    /// its limit.
    pub fn second_opinion(&self) -> Option<SecondOpinion> {
        let said = || self.tests.iter().filter_map(|test| test.second_opinion);
        let nearest = || said().max_by(|a, b| a.of_limit().total_cmp(&b.of_limit()));
        said().find(|opinion| !opinion.passes).or_else(nearest)
    }

    /// Peak memory of all test cases; unknown if that of one is.
    pub fn memory_peak(&self) -> Reading<Bytes> {
        let most = |a: Reading<Bytes>, b: &Reading<Bytes>| match (a, b) {
            (Reading::Known(a), Reading::Known(b)) => Reading::Known(a.max(*b)),
            (unknown @ Reading::Unknown(_), _) => unknown,
            (Reading::Known(_), unknown) => unknown.clone(),
        };
        let peaks: Vec<_> = self.tests.iter().map(|t| &t.memory_peak).collect();
        match peaks.split_first() {
            Some((first, rest)) => rest.iter().fold((*first).clone(), |a, b| most(a, b)),
            None => Reading::unknown("no test case was run"),
        }
    }
}

impl Judgement {
    /// Protections and measurements that were missing in any of its runs, each once.
    pub fn weaker(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for what in self.tests.iter().flat_map(|test| &test.runs).flat_map(|run| &run.evidence.weaker) {
            if !all.contains(&what.as_str()) {
                all.push(what);
            }
        }
        all
    }

    /// Whether a run was ended for its time only beyond the limit, as runs are whose time is not clear sooner.
    pub fn stopped_beyond(&self) -> bool {
        let over = |run: &Observation| Charge::measured(self.clock, run).known() > Some(&self.limit());
        let beyond = |run: &Observation| over(run) && run.exit == Exit::Signal(9);
        let slow = self.tests.iter().filter(|test| test.verdict == Verdict::TimeLimit);
        slow.flat_map(|test| &test.runs).any(beyond)
    }
}

/// A jury submission with its expected verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Its path in the package.
    pub path: String,
    /// Final verdicts it may have; empty: any.
    pub expected: Vec<Verdict>,
    /// The result.
    pub outcome: CheckOutcome,
}

impl Checked {
    /// What it earned; `None`: it could not be judged here.
    pub fn judgement(&self) -> Option<&Judgement> {
        match &self.outcome {
            CheckOutcome::Judged { judgement, .. } => Some(judgement),
            CheckOutcome::Skipped(_) => None,
        }
    }
}

/// The result of checking a jury submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It was judged.
    Judged {
        /// What it earned.
        judgement: Box<Judgement>,
        /// Every expectation that it misses, in words; empty: it meets all.
        broken: Vec<String>,
    },
    /// It could not be judged here, for this reason: no toolchain for its language.
    Skipped(String),
}

/// A package, verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Short name.
    pub package: String,
    /// Name of its format: `legacy`, `2025-09`, `polygon`, `cms`, `tps`, `dmoj`.
    pub format: String,
    /// CPU time of a test case, without language factors; unknown where it could not be found.
    #[serde(rename = "time_limit_ns")]
    pub time_limit: Reading<Nanos>,
    /// Where the time limit comes from, in words; `None` where it could not be found.
    pub time_limit_source: Option<String>,
    /// Its jury submissions, ordered by path.
    pub submissions: Vec<Checked>,
    /// Why the package as a whole is wrong, such as an impossible time limit; `None` otherwise.
    pub fault: Option<String>,
    /// Warnings, each with its place in the package.
    pub warnings: Vec<String>,
}

/// A jury submission and the time that bounds the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound<'a> {
    /// The submission.
    pub path: &'a str,
    /// The charge of its slowest test case.
    pub charge: Charge,
    /// That over its limit, which has its language's factor.
    pub of_limit: f64,
    /// The run was ended then; it would have taken longer.
    pub stopped: bool,
}

impl Verification {
    /// The accepted submission that comes nearest to its limit.
    pub fn slowest_accepted(&self) -> Option<Bound<'_>> {
        let accepted = |judgement: &Judgement| judgement.verdict == Verdict::Accepted;
        self.bounds(accepted).max_by(|a, b| a.of_limit.total_cmp(&b.of_limit))
    }

    /// Of the submissions that pass their limit, the one that comes nearest to it.
    pub fn fastest_too_slow(&self) -> Option<Bound<'_>> {
        let slow = |test: &TestResult| test.verdict == Verdict::TimeLimit;
        let beyond = |judgement: &Judgement| {
            judgement.tests.iter().any(slow) && judgement.slowest().known() > Some(&judgement.limit())
        };
        self.bounds(beyond).min_by(|a, b| a.of_limit.total_cmp(&b.of_limit))
    }

    fn bounds(&self, wanted: impl Fn(&Judgement) -> bool) -> impl Iterator<Item = Bound<'_>> {
        let judged = self.submissions.iter().filter_map(|checked| Some((checked, checked.judgement()?)));
        judged.filter(move |(_, judgement)| wanted(judgement)).filter_map(|(checked, judgement)| {
            let charge = *judgement.slowest().known()?;
            let of_limit = charge.amount as f64 / judgement.limit().amount as f64;
            Some(Bound { path: &checked.path, charge, of_limit, stopped: judgement.stopped_beyond() })
        })
    }

    /// Submissions that were judged.
    pub fn judged(&self) -> usize {
        self.submissions.len() - self.skipped()
    }

    /// Nothing is wrong with the package, skipped submissions aside.
    pub fn ok(&self) -> bool {
        self.fault.is_none() && self.mismatches() == 0
    }

    /// Submissions that miss an expectation.
    pub fn mismatches(&self) -> usize {
        let broken =
            |c: &&Checked| matches!(&c.outcome, CheckOutcome::Judged { broken, .. } if !broken.is_empty());
        self.submissions.iter().filter(broken).count()
    }

    /// Submissions that could not be judged here.
    pub fn skipped(&self) -> usize {
        self.submissions.iter().filter(|c| matches!(c.outcome, CheckOutcome::Skipped(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// As a worker before 0.1 sends it: counts stand where CPU time stands.
    #[test]
    fn judgements_of_older_workers_are_charged_by_their_clock() {
        let mut run = Observation::unread(Exit::Code(0), Nanos(2_000), "not read");
        (run.time.user, run.time.system) = (Nanos(40), Nanos(2));
        let test = TestResult {
            name: "secret/1".into(),
            verdict: Verdict::Accepted,
            charge: Charge::cpu(Nanos(2_000)),
            wall: Nanos(50),
            memory_peak: Reading::Known(Bytes(1)),
            score: None,
            settled: crate::Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 },
            runs: vec![run],
            causes: not_recorded(),
            second_opinion: None,
            transcript: None,
            message: String::new(),
        };
        let mut judgement = Judgement::fault("a", "");
        judgement.clock = Clock::Instructions;
        judgement.limits.cpu = Some(Nanos(5_000));
        judgement.tests = vec![test.clone()];
        let mut told = serde_json::to_value(&judgement).unwrap();
        assert_eq!(told["tests"][0]["cpu_ns"], 2_000);
        told["tests"][0].as_object_mut().unwrap().remove("charge");
        let read = serde_json::from_value::<Judgement>(told.clone()).unwrap().by_its_clock();
        assert_eq!(read.tests[0].charge, Charge { clock: Clock::Instructions, amount: 2_000 });
        assert_eq!(read.tests[0].runs[0].time.cpu, Nanos(42));
        assert_eq!((read.limits.cpu, read.limits.instructions), (None, Some(5_000)));
        // One of today is left as it is.
        assert_eq!(read.clone().by_its_clock(), read);
        told["tests"][0]["cpu_ns"] = Value::Null;
        assert!(serde_json::from_value::<Judgement>(told).is_err());
        assert_eq!(json!(test)["charge"]["amount"], 2_000);
    }
}
