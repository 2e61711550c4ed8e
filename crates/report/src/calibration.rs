//! What calibrations say, in sentences.

use model::{Calibration, Clock, Inference, LimitSide, Nanos};

/// The rule in words, with the package's numbers and keys.
pub(crate) fn rule_words(rule: Inference) -> String {
    match rule {
        Inference::Legacy { multiplier, safety_margin } => format!(
            "legacy: the slowest that must pass × {multiplier} (time_multiplier), in whole seconds, at least 1 s; what must be too slow must take more than {safety_margin} × the limit (time_safety_margin)"
        ),
        Inference::V2025_09 { ac_to_time_limit, time_limit_to_tle, resolution } => format!(
            "2025-09: the least multiple of {resolution} s (time_resolution) that is at least {ac_to_time_limit} × the slowest that must pass \
             (ac_to_time_limit) and at most the fastest that must be too slow ÷ {time_limit_to_tle} (time_limit_to_tle)"
        ),
    }
}

/// A time by its clock: `12.3 ms`, or with the clock's name where it is not the kernel's.
pub(crate) fn timed(clock: Clock, time: Nanos) -> String {
    match clock {
        Clock::Cpu => time.to_string(),
        other => format!("{time} by {}", other.name()),
    }
}

/// What is to be known before the limit is used, each a sentence.
pub(crate) fn findings(calibration: &Calibration) -> Vec<String> {
    let suggestion = &calibration.suggestion;
    let limit = suggestion.limit;
    let mut found = Vec::new();
    found.extend(suggestion.clash.as_ref().map(|clash| format!("Warning: {clash}.")));
    if suggestion.kept {
        found.push(format!(
            "The limit stays at {limit}, as measured earlier: this measurement alone gives another step, but within its noise."
        ));
    } else if !suggestion.firm {
        found.push(format!(
            "The slowest that must pass is so close to a step of the rule that noise decides between two limits. tauto keeps {limit} while it is within the noise; a limit one step higher is equally safe."
        ));
    }
    if let Some(stated) = calibration.stated.filter(|stated| *stated != limit) {
        let margin = calibration.margin_accepted(stated);
        let margin = margin.map_or(String::new(), |m| format!(", {m:.2} × the slowest that must pass"));
        found.push(format!("The package states {stated}{margin}; its own rule gives {limit}."));
    }
    if let (Some(slowdown), Some(loaded)) = (calibration.slowdown(), calibration.under_load) {
        let slower = (slowdown - 1.0) * 100.0;
        found.push(match loaded == limit {
            true => format!(
                "With all CPUs busy the slowest that must pass takes {slower:+.1} % time; the rule gives the same limit."
            ),
            false => format!(
                "With all CPUs busy the slowest that must pass takes {slower:+.1} % time, and the rule would give {loaded}. The limit rests on idle times; it is {:.2} × the \
                 slowest under load.",
                calibration.margin_accepted(limit).unwrap_or_default() / slowdown
            ),
        });
    }
    if calibration.bound(LimitSide::TooSlow).is_none() {
        found.push(
            "No jury submission must be too slow, so nothing shows that the limit stops slow programs."
                .into(),
        );
    }
    if calibration.clock.varies() && !calibration.floor_measured {
        found.push("The noise floor of the slot is assumed; `tauto slots --measure` measures it.".into());
    }
    found
}
