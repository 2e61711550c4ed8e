//! `tauto limits --json`.

use crate::calibration::{findings, rule_words};
use model::{Calibration, Clock, Inference, LimitSide, MeasuredProgram, Nanos};
use serde::Serialize;

/// Packages, measured: one entry for each package and clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitsDocument<'a> {
    /// Each.
    pub packages: Vec<LimitsOfPackage<'a>>,
}

/// A package by one clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitsOfPackage<'a> {
    /// As typed.
    pub path: &'a str,
    /// Short name.
    pub package: &'a str,
    /// What times are measured by.
    pub clock: Clock,
    /// What counted, and in which version.
    pub counted_by: Option<&'a str>,
    /// The limit that the rule gives: time of a test, without language factors.
    pub suggested_ns: Nanos,
    /// The rule in words.
    pub rule: String,
    /// The rule as numbers.
    pub multipliers: Inference,
    /// The limit that the package states.
    pub stated_ns: Option<Nanos>,
    /// Noise cannot change the limit.
    pub firm: bool,
    /// The limit is one that was found before and is within this measurement's noise.
    pub kept: bool,
    /// Why no limit satisfies both sides.
    pub clash: Option<&'a str>,
    /// Each language.
    pub languages: Vec<LanguageLimits<'a>>,
    /// How far the suggested limit is from both sides.
    pub margin: Margin,
    /// Contest load, where it was asked for.
    pub load: Option<LoadEffect>,
    /// What is to be known of the limit, in words.
    pub findings: Vec<String>,
    /// What is to be known of the package.
    pub warnings: &'a [String],
    /// Every program with every test.
    pub programs: &'a [MeasuredProgram],
}

/// A language.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LanguageLimits<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its slowest program that must pass.
    pub slowest_accepted: Option<BoundTime<'a>>,
    /// Its fastest program that must be too slow.
    pub fastest_too_slow: Option<BoundTime<'a>>,
}

/// A program at its slowest test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundTime<'a> {
    /// Path in the package.
    pub path: &'a str,
    /// The test.
    pub test: &'a str,
    /// Its settled time.
    pub ns: Nanos,
    /// Where other measurements of it lie. It contains `ns`; both ends are `ns` of a test that was ended.
    pub interval_ns: [Nanos; 2],
    /// It was ended then: it takes longer.
    pub ended: bool,
    /// The same under load, on the test that is slowest then.
    pub loaded_ns: Option<Nanos>,
}

/// How many times further the two sides are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Margin {
    /// The limit ÷ the slowest that must pass; `null`: that took no time.
    pub accepted: Option<f64>,
    /// The fastest that must be too slow ÷ the limit; `null`: there is none.
    pub too_slow: Option<f64>,
}

/// What load on all CPUs does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadEffect {
    /// The slowest that must pass under load ÷ the same idle.
    pub slowdown: Option<f64>,
    /// The limit that the rule gives for times under load.
    pub suggested_ns: Option<Nanos>,
}

impl<'a> LimitsDocument<'a> {
    /// Calibrations with the paths of their packages.
    pub fn new(calibrations: &'a [(String, Calibration)]) -> LimitsDocument<'a> {
        LimitsDocument { packages: calibrations.iter().map(|(path, c)| package(path, c)).collect() }
    }
}

fn package<'a>(path: &'a str, calibration: &'a Calibration) -> LimitsOfPackage<'a> {
    let suggestion = &calibration.suggestion;
    let language = |id: &'a str| LanguageLimits {
        id,
        slowest_accepted: calibration.bound_of(id, LimitSide::Passes).and_then(bound),
        fastest_too_slow: calibration.bound_of(id, LimitSide::TooSlow).and_then(bound),
    };
    let loaded = calibration.programs.iter().any(|program| program.loaded().is_some());
    LimitsOfPackage {
        path,
        package: &calibration.package,
        clock: calibration.clock,
        counted_by: calibration.counted_by.as_deref(),
        suggested_ns: suggestion.limit,
        rule: rule_words(calibration.rule),
        multipliers: calibration.rule,
        stated_ns: calibration.stated,
        firm: suggestion.firm,
        kept: suggestion.kept,
        clash: suggestion.clash.as_deref(),
        languages: calibration.languages().into_iter().map(language).collect(),
        margin: Margin {
            accepted: calibration.margin_accepted(suggestion.limit),
            too_slow: calibration.margin_too_slow(suggestion.limit),
        },
        load: loaded
            .then(|| LoadEffect { slowdown: calibration.slowdown(), suggested_ns: calibration.under_load }),
        findings: findings(calibration),
        warnings: &calibration.warnings,
        programs: &calibration.programs,
    }
}

fn bound(program: &MeasuredProgram) -> Option<BoundTime<'_>> {
    let test = program.slowest()?;
    Some(BoundTime {
        path: &program.path,
        test: &test.name,
        ns: test.idle.time,
        interval_ns: test.idle.interval,
        ended: test.ended,
        loaded_ns: program.loaded(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn document() {
        insta::assert_snapshot!("limits", to_text(&LimitsDocument::new(&samples::limits::calibrations())));
    }
}
