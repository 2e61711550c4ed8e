//! The time limit of a package that states none, from the times of its jury submissions.

use crate::package::Inference;
use model::Nanos;

/// Why no time limit can be inferred.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InferenceError {
    /// Nothing bounds the limit from below.
    #[error("no jury submission bounds the time limit from below: add an accepted one, or state the limit")]
    NoLowerBound,
    /// A factor or the resolution is unusable.
    #[error("`{field}` must be a positive number, found {value}")]
    Factor {
        /// As named in problem.yaml.
        field: &'static str,
        /// As found.
        value: f64,
    },
    /// The two bounds leave no room.
    #[error(
        "no time limit fits: the slowest submission that must pass takes {slowest} (× {lower_factor}) and \
         needs at least {limit}, but the fastest that must be too slow takes {fastest} (÷ {upper_factor}) \
         and allows at most {most}"
    )]
    Clash {
        /// Slowest time that must pass.
        slowest: Nanos,
        /// `ac_to_time_limit`.
        lower_factor: f64,
        /// Least limit the lower bound allows, a multiple of the resolution.
        limit: Nanos,
        /// Fastest time that must be too slow.
        fastest: Nanos,
        /// `time_limit_to_tle`.
        upper_factor: f64,
        /// Greatest limit the upper bound allows.
        most: Nanos,
    },
}

/// The time limit by the package's rule.
///
/// `slowest_lower` is the slowest time of the submissions that must pass, each over the tests they must pass;
/// `fastest_upper` is the least, over the submissions that must be too slow, of their slowest test.
///
/// Legacy (problemtools): `max(1, ceil(slowest × multiplier))` whole seconds; submissions that must be too
/// slow have no say, see [`margin_holds`]. 2025-09 ("Timelimit inference"): the smallest multiple of the
/// resolution that is at least `slowest × ac_to_time_limit` and at most `fastest / time_limit_to_tle`.
pub fn infer_time_limit(
    rule: Inference,
    slowest_lower: Option<Nanos>,
    fastest_upper: Option<Nanos>,
) -> Result<Nanos, InferenceError> {
    let slowest = slowest_lower.ok_or(InferenceError::NoLowerBound)?;
    match rule {
        Inference::Legacy { multiplier, .. } => {
            positive("limits.time_multiplier", multiplier)?;
            Ok(next_multiple(slowest.scale(multiplier), Nanos::from_secs(1)))
        }
        Inference::V2025_09 { ac_to_time_limit, time_limit_to_tle, resolution } => {
            positive("limits.time_multipliers.ac_to_time_limit", ac_to_time_limit)?;
            positive("limits.time_multipliers.time_limit_to_tle", time_limit_to_tle)?;
            let step = Nanos::from_secs_f64(resolution)
                .filter(|step| *step > Nanos::ZERO)
                .ok_or(InferenceError::Factor { field: "limits.time_resolution", value: resolution })?;
            let limit = next_multiple(slowest.scale(ac_to_time_limit), step);
            match fastest_upper {
                Some(fastest) if limit.scale(time_limit_to_tle) > fastest => Err(InferenceError::Clash {
                    slowest,
                    lower_factor: ac_to_time_limit,
                    limit,
                    fastest,
                    upper_factor: time_limit_to_tle,
                    most: fastest.scale(1.0 / time_limit_to_tle),
                }),
                _ => Ok(limit),
            }
        }
    }
}

/// Whether a submission that must be too slow, with this slowest time, is so with room to spare: still over
/// `limit × time_safety_margin` (legacy) or at least `limit × time_limit_to_tle` (2025-09).
pub fn margin_holds(rule: Inference, limit: Nanos, slowest: Nanos) -> bool {
    match rule {
        Inference::Legacy { safety_margin, .. } => slowest > limit.scale(safety_margin),
        Inference::V2025_09 { time_limit_to_tle, .. } => slowest >= limit.scale(time_limit_to_tle),
    }
}

fn positive(field: &'static str, value: f64) -> Result<(), InferenceError> {
    let usable = value.is_finite() && value > 0.0;
    usable.then_some(()).ok_or(InferenceError::Factor { field, value })
}

/// The least positive multiple of `step` that is at least `time`.
fn next_multiple(time: Nanos, step: Nanos) -> Nanos {
    Nanos(time.0.div_ceil(step.0).max(1).saturating_mul(step.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEGACY: Inference = Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 };

    fn recent(resolution: f64) -> Inference {
        Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution }
    }

    #[track_caller]
    fn check(rule: Inference, lower: u64, upper: Option<u64>, expected: Result<u64, &str>) {
        let found = infer_time_limit(rule, Some(Nanos::from_millis(lower)), upper.map(Nanos::from_millis));
        match expected {
            Ok(ms) => assert_eq!(found, Ok(Nanos::from_millis(ms))),
            Err(part) => {
                let text = found.unwrap_err().to_string();
                assert!(text.contains(part), "{text}");
            }
        }
    }

    #[test]
    fn known_cases() {
        check(LEGACY, 1, None, Ok(1_000));
        check(LEGACY, 200, None, Ok(1_000));
        check(LEGACY, 201, None, Ok(2_000));
        check(LEGACY, 201, Some(100), Ok(2_000));
        check(recent(1.0), 0, None, Ok(1_000));
        check(recent(0.1), 150, None, Ok(300));
        check(recent(0.1), 151, None, Ok(400));
        check(recent(0.1), 151, Some(600), Ok(400));
        check(recent(0.1), 151, Some(599), Err("needs at least 400.0 ms"));
        check(recent(0.1), 151, Some(599), Err("allows at most 399.3 ms"));
        check(recent(0.0), 1, None, Err("`limits.time_resolution` must be a positive number, found 0"));
        check(
            Inference::Legacy { multiplier: f64::NAN, safety_margin: 2.0 },
            1,
            None,
            Err("time_multiplier"),
        );
        assert_eq!(infer_time_limit(LEGACY, None, Some(Nanos(1))), Err(InferenceError::NoLowerBound));
    }

    #[test]
    fn margins_follow_the_rule() {
        let s = Nanos::from_secs;
        assert!(!margin_holds(LEGACY, s(2), s(4)) && margin_holds(LEGACY, s(2), s(5)));
        assert!(
            !margin_holds(recent(1.0), s(2), Nanos::from_millis(2999))
                && margin_holds(recent(1.0), s(2), s(3))
        );
    }

    proptest! {
        #[test]
        fn the_limit_is_the_least_multiple_above(slowest in 0u64..60_000_000_000, steps in 1u64..40) {
            let step = steps * 50_000_000;
            let rule = recent(step as f64 / 1e9);
            let limit = infer_time_limit(rule, Some(Nanos(slowest)), None).unwrap().0;
            prop_assert_eq!(limit % step, 0);
            prop_assert!(limit >= 2 * slowest && limit >= step);
            prop_assert!(limit == step || limit - step < 2 * slowest);
        }
    }
}
