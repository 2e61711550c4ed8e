//! A time limit that was inferred from jury submissions, and the figures it came from.

use crate::{Clock, Nanos, Reading};
use serde::{Deserialize, Serialize};

/// Rule by which a time limit is inferred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = InferenceRule))]
#[serde(tag = "rule")]
pub enum Inference {
    /// Legacy: `max(1, ceil(slowest accepted × multiplier))` whole seconds.
    #[serde(rename = "legacy")]
    Legacy {
        /// `limits.time_multiplier`, default 5.
        multiplier: f64,
        /// `limits.time_safety_margin`, default 2.
        safety_margin: f64,
    },
    /// 2025-09: the smallest multiple of `resolution` that satisfies both sides.
    #[serde(rename = "2025-09")]
    V2025_09 {
        /// `time_multipliers.ac_to_time_limit`, default 2.
        ac_to_time_limit: f64,
        /// `time_multipliers.time_limit_to_tle`, default 1.5.
        time_limit_to_tle: f64,
        /// `time_resolution` in seconds, default 1.
        resolution: f64,
    },
}

/// How a jury submission bounds the time limit. `passes`: it must pass. `too_slow`: it must exceed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitSide {
    /// It must pass.
    Passes,
    /// It must exceed the limit.
    TooSlow,
}

/// A jury submission that the time limit was inferred from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TimedProgram {
    /// Path in the package.
    pub path: String,
    /// Language id.
    pub language: String,
    /// How it bounds the limit.
    pub side: LimitSide,
    /// Time of its slowest test, without the language's factor.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Whether it was stopped at that time, so that it would take longer.
    pub ended: bool,
}

/// An inferred time limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InferredLimit {
    /// CPU time of a test, without language factors.
    #[serde(rename = "limit_ns")]
    pub limit: Nanos,
    /// Where the limit comes from, as text.
    pub source: String,
    /// Rule of the package.
    pub rule: Reading<Inference>,
    /// Clock of the times.
    pub clock: Reading<Clock>,
    /// Jury submissions that it was inferred from.
    pub programs: Vec<TimedProgram>,
    /// Jury submissions that were not used, and why.
    pub warnings: Vec<String>,
}

impl InferredLimit {
    /// A limit without further data, as older versions stored it.
    pub fn bare(limit: Nanos, source: impl Into<String>) -> InferredLimit {
        InferredLimit {
            limit,
            source: source.into(),
            rule: Reading::unknown("not recorded then"),
            clock: Reading::unknown("not recorded then"),
            programs: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The slowest submission that must pass, of each language.
    pub fn slowest(&self) -> Vec<&TimedProgram> {
        let mut slowest: Vec<&TimedProgram> = Vec::new();
        for program in self.programs.iter().filter(|program| program.side == LimitSide::Passes) {
            match slowest.iter_mut().find(|known| known.language == program.language) {
                Some(known) if known.time < program.time => *known = program,
                Some(_) => {}
                None => slowest.push(program),
            }
        }
        slowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_that_must_pass_is_told_of_each_language() {
        let program = |path: &str, language: &str, side, ms| TimedProgram {
            path: path.into(),
            language: language.into(),
            side,
            time: Nanos::from_millis(ms),
            ended: false,
        };
        let programs = vec![
            program("a", "cpp", LimitSide::Passes, 5),
            program("b", "cpp", LimitSide::Passes, 7),
            program("c", "java", LimitSide::Passes, 2),
            program("d", "cpp", LimitSide::TooSlow, 90),
        ];
        let limit = InferredLimit { programs, ..InferredLimit::bare(Nanos::from_secs(1), "") };
        let slowest: Vec<_> = limit.slowest().iter().map(|program| program.path.as_str()).collect();
        assert_eq!(slowest, ["b", "c"]);
    }
}
