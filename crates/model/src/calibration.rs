//! The time limit that a package's rule gives on one machine, and the times it is made of.

use crate::{Clock, Inference, LimitSide, Nanos};
use serde::{Deserialize, Serialize};

/// What the runs of one test say of its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledTime {
    /// The least of its runs, without the language's factor: what counts.
    #[serde(rename = "ns")]
    pub time: Nanos,
    /// Where the least of other such runs lies: from what the least run would be without what its evidence names and the slot's noise, to the
    /// usual run. A clock that counts and says the same each time has no width here, and neither has a test that was ended.
    #[serde(rename = "interval_ns")]
    pub interval: [Nanos; 2],
    /// All runs, in the order in which they were made.
    #[serde(rename = "runs_ns")]
    pub runs: Vec<Nanos>,
}

impl SettledTime {
    /// How far the slowest run lies above the fastest, in percent of that.
    pub fn spread_pct(&self) -> f64 {
        let most = self.runs.iter().max().map_or(0, |time| time.0);
        match self.time.0 {
            0 => 0.0,
            least => (most as f64 / least as f64 - 1.0) * 100.0,
        }
    }
}

/// One test of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredTest {
    /// The test.
    pub name: String,
    /// It was ended at that time: it takes longer.
    pub ended: bool,
    /// Its time while nothing else is asked of the machine.
    #[serde(flatten)]
    pub idle: SettledTime,
    /// Its time while all CPUs are kept busy, where that was asked for.
    pub loaded: Option<SettledTime>,
}

/// A jury submission that has a say in the time limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredProgram {
    /// Its path in the package.
    pub path: String,
    /// Language id.
    pub language: String,
    /// What it promises.
    pub side: LimitSide,
    /// Its tests, as far as they were run: one that must be too slow is run until a test shows it.
    pub tests: Vec<MeasuredTest>,
}

impl MeasuredProgram {
    /// Its slowest test.
    pub fn slowest(&self) -> Option<&MeasuredTest> {
        self.tests.iter().max_by_key(|test| test.idle.time)
    }

    /// Time of its slowest test; zero where none was run.
    pub fn time(&self) -> Nanos {
        self.slowest().map_or(Nanos::ZERO, |test| test.idle.time)
    }

    /// The same under load.
    pub fn loaded(&self) -> Option<Nanos> {
        self.tests.iter().filter_map(|test| Some(test.loaded.as_ref()?.time)).max()
    }
}

/// How a time limit was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The limit: time of a test, without language factors.
    #[serde(rename = "suggested_ns")]
    pub limit: Nanos,
    /// The rule gives the same at both ends of the slowest time's interval: noise cannot change it.
    pub firm: bool,
    /// The rule gives another for this measurement, and the limit that was found before is still within its noise, so that one stays.
    pub kept: bool,
    /// Why no limit satisfies both sides, where none does.
    pub clash: Option<String>,
}

/// The times of a package's jury on one machine by one clock, and the limit they suggest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Short name of the package.
    pub package: String,
    /// What times are measured by.
    pub clock: Clock,
    /// What counted, and in which version, where that can change a time.
    pub counted_by: Option<String>,
    /// The package's rule.
    pub rule: Inference,
    /// The limit that the package states.
    #[serde(rename = "stated_ns")]
    pub stated: Option<Nanos>,
    /// The limit by the rule.
    #[serde(flatten)]
    pub suggestion: Suggestion,
    /// The limit that the rule gives for the times under load, where they were measured.
    #[serde(rename = "suggested_under_load_ns")]
    pub under_load: Option<Nanos>,
    /// The noise floor of the slot was measured, not assumed.
    pub floor_measured: bool,
    /// Whose times it is made of.
    pub programs: Vec<MeasuredProgram>,
    /// What is to be known of it: submissions without a say, and why.
    pub warnings: Vec<String>,
}

impl Calibration {
    /// Of these programs the one nearest to the limit from its side: the slowest that must pass, the fastest that must be too slow.
    fn nearest<'a>(
        programs: impl Iterator<Item = &'a MeasuredProgram>,
        side: LimitSide,
    ) -> Option<&'a MeasuredProgram> {
        let of_side = programs.filter(|program| program.side == side && !program.tests.is_empty());
        match side {
            LimitSide::Passes => of_side.max_by_key(|program| program.time()),
            LimitSide::TooSlow => of_side.min_by_key(|program| program.time()),
        }
    }

    /// The program nearest to the limit from this side.
    pub fn bound(&self, side: LimitSide) -> Option<&MeasuredProgram> {
        Calibration::nearest(self.programs.iter(), side)
    }

    /// The same of a language.
    pub fn bound_of(&self, language: &str, side: LimitSide) -> Option<&MeasuredProgram> {
        let own = self.programs.iter().filter(|program| program.language == language);
        Calibration::nearest(own, side)
    }

    /// The languages of the programs, each once, by name.
    pub fn languages(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.programs.iter().map(|program| program.language.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// How many times the slowest that must pass a limit is. `None`: nothing took time.
    pub fn margin_accepted(&self, limit: Nanos) -> Option<f64> {
        let slowest = self.bound(LimitSide::Passes)?.time().0;
        (slowest > 0).then(|| limit.0 as f64 / slowest as f64)
    }

    /// How many times a limit the fastest that must be too slow is. `None`: there is none.
    pub fn margin_too_slow(&self, limit: Nanos) -> Option<f64> {
        let fastest = self.bound(LimitSide::TooSlow)?.time().0;
        (limit.0 > 0).then(|| fastest as f64 / limit.0 as f64)
    }

    /// How many times longer the slowest that must pass takes under load, on the test that is slowest while idle:
    /// the two times that reports show side by side.
    pub fn slowdown(&self) -> Option<f64> {
        let test = self.bound(LimitSide::Passes)?.slowest()?;
        let (idle, loaded) = (test.idle.time, test.loaded.as_ref()?.time);
        (idle > Nanos::ZERO).then(|| loaded.0 as f64 / idle.0 as f64)
    }

    /// The longest time under load of all that must pass.
    pub fn slowest_loaded(&self) -> Option<Nanos> {
        let passes = self.programs.iter().filter(|program| program.side == LimitSide::Passes);
        passes.filter_map(MeasuredProgram::loaded).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, ms: u64, loaded: Option<u64>) -> MeasuredTest {
        let settled = |ms| SettledTime {
            time: Nanos::from_millis(ms),
            interval: [Nanos::from_millis(ms); 2],
            runs: vec![Nanos::from_millis(ms + ms / 10), Nanos::from_millis(ms)],
        };
        MeasuredTest { name: name.into(), ended: false, idle: settled(ms), loaded: loaded.map(settled) }
    }

    fn program(path: &str, language: &str, side: LimitSide, tests: Vec<MeasuredTest>) -> MeasuredProgram {
        MeasuredProgram { path: path.into(), language: language.into(), side, tests }
    }

    #[test]
    fn bounds_and_margins_are_of_the_slowest_tests() {
        let calibration = Calibration {
            package: "p".into(),
            clock: Clock::Cpu,
            counted_by: None,
            rule: Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 },
            stated: None,
            suggestion: Suggestion { limit: Nanos::from_secs(1), firm: true, kept: false, clash: None },
            under_load: None,
            floor_measured: false,
            programs: vec![
                program("a", "cpp", LimitSide::Passes, vec![test("1", 50, Some(60)), test("2", 200, None)]),
                program("b", "java", LimitSide::Passes, vec![test("1", 400, Some(500))]),
                program("c", "cpp", LimitSide::TooSlow, vec![test("1", 3000, None)]),
                program("d", "cpp", LimitSide::TooSlow, vec![test("1", 2000, None)]),
                program("e", "cpp", LimitSide::TooSlow, vec![]),
            ],
            warnings: Vec::new(),
        };
        let path = |program: Option<&MeasuredProgram>| program.map(|program| program.path.clone());
        assert_eq!(path(calibration.bound(LimitSide::Passes)).as_deref(), Some("b"));
        assert_eq!(path(calibration.bound(LimitSide::TooSlow)).as_deref(), Some("d"));
        assert_eq!(path(calibration.bound_of("cpp", LimitSide::Passes)).as_deref(), Some("a"));
        assert_eq!(path(calibration.bound_of("java", LimitSide::TooSlow)), None);
        assert_eq!(calibration.languages(), ["cpp", "java"]);
        let limit = calibration.suggestion.limit;
        assert_eq!(calibration.margin_accepted(limit), Some(2.5));
        assert_eq!(calibration.margin_too_slow(limit), Some(2.0));
        assert_eq!(calibration.slowdown(), Some(1.25));
        assert_eq!(calibration.slowest_loaded(), Some(Nanos::from_millis(500)));
        let mut other = calibration.clone();
        other.programs[0].tests[0].loaded.as_mut().unwrap().time = Nanos::from_millis(900);
        assert_eq!(other.slowdown(), Some(1.25), "of one test, idle and under load");
        assert_eq!(other.slowest_loaded(), Some(Nanos::from_millis(900)));
        let spread = calibration.programs[0].tests[1].idle.spread_pct();
        assert!((spread - 10.0).abs() < 1e-9, "{spread}");
    }
}
