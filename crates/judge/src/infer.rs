//! The time limit of a package that states none, from the times of its jury submissions.

use crate::package::Inference;
use model::{Nanos, Suggestion};

/// Why no time limit can be inferred.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InferenceError {
    /// Nothing bounds the limit from below.
    #[error(
        "no jury submission bounds the time limit from below\n\
         hint: add an accepted one, state the limit in the package, or use --cpu-time"
    )]
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

/// The time limit for a slowest time that is known to an interval: `[low, high]` around `slowest`.
///
/// Where the rule gives the same at both ends, noise cannot change the limit. Where it does not, two measurements of one package may fall on
/// both sides of a step; so a limit that was found `earlier` stays as long as the rule gives it for some time of the interval, and only a
/// measurement that contradicts it replaces it. Two sides that leave no room are told in the suggestion, which then lets pass what must pass.
///
/// # Errors
/// Nothing must pass, or a factor is unusable.
pub fn suggest(
    rule: Inference,
    slowest: Option<(Nanos, [Nanos; 2])>,
    fastest: Option<Nanos>,
    earlier: Option<Nanos>,
) -> Result<Suggestion, InferenceError> {
    let (time, [low, high]) = slowest.ok_or(InferenceError::NoLowerBound)?;
    let by_rule = |time: Nanos| infer_time_limit(rule, Some(time), None);
    let (least, own, most) = (by_rule(low.min(time))?, by_rule(time)?, by_rule(high.max(time))?);
    let room = |limit: Nanos| match rule {
        Inference::V2025_09 { time_limit_to_tle, .. } => {
            fastest.is_none_or(|fastest| limit.scale(time_limit_to_tle) <= fastest)
        }
        Inference::Legacy { .. } => true,
    };
    let stays = |earlier: &Nanos| (least..=most).contains(earlier) && (room(*earlier) || !room(own));
    let limit = earlier.filter(stays).unwrap_or(own);
    let clash = infer_time_limit(rule, Some(time), fastest).err().map(|clash| clash.to_string());
    Ok(Suggestion { limit, firm: least == most, kept: limit != own, clash })
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
    fn noise_moves_no_limit_that_was_found() {
        let ms = Nanos::from_millis;
        // Twice the time in steps of 100 ms: 149 to 155 ms lie on both sides of the step at 150.
        let found = |time: u64, fastest: Option<u64>, earlier: Option<u64>| {
            let slowest = (ms(time), [ms(time - 3), ms(time + 3)]);
            let found = suggest(recent(0.1), Some(slowest), fastest.map(ms), earlier.map(ms)).unwrap();
            (found.limit, found.firm, found.kept, found.clash.is_some())
        };
        assert_eq!(found(120, None, None), (ms(300), true, false, false));
        assert_eq!(found(149, None, None), (ms(300), false, false, false));
        assert_eq!(found(152, None, None), (ms(400), false, false, false));
        assert_eq!(found(152, None, Some(300)), (ms(300), false, true, false));
        assert_eq!(found(149, None, Some(400)), (ms(400), false, true, false));
        assert_eq!(found(152, None, Some(400)), (ms(400), false, false, false));
        // What it contradicts is replaced.
        assert_eq!(found(156, None, Some(300)), (ms(400), true, false, false));
        assert_eq!(found(152, None, Some(500)), (ms(400), false, false, false));
        // An earlier one that is no longer slow enough for the other side is, too.
        assert_eq!(found(149, Some(500), Some(400)), (ms(300), false, false, false));
        assert_eq!(found(152, Some(500), None), (ms(400), false, false, true));
        assert_eq!(suggest(LEGACY, None, None, None), Err(InferenceError::NoLowerBound));
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
