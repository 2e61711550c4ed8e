//! What calibrations say, in sentences.

use model::{Calibration, Clock, Inference, LimitSide, MeasuredTest, Nanos};

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

/// How many times one time is another, with three significant digits: `1.33`, `31.4`, `16500`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 9.995 => format!("{ratio:.2}"),
        _ if ratio < 99.95 => format!("{ratio:.1}"),
        _ if ratio < 999.5 => format!("{ratio:.0}"),
        _ => {
            let step = 10_f64.powf(ratio.log10().floor() - 2.0);
            format!("{:.0}", (ratio / step).round() * step)
        }
    }
}

/// How much longer a test takes under load, in percent of its idle time.
pub(crate) fn more_under_load(test: &MeasuredTest) -> Option<f64> {
    let loaded = test.loaded.as_ref()?.time;
    Some((loaded.0 as f64 / test.idle.time.0.max(1) as f64 - 1.0) * 100.0)
}

/// What load does to the slowest that must pass, by the two times that the table shows of it, and to the limit.
fn under_load(calibration: &Calibration) -> Option<String> {
    let test = calibration.bound(LimitSide::Passes)?.slowest()?;
    let (idle, loaded) = (test.idle.time, test.loaded.as_ref()?.time);
    let more = more_under_load(test)?;
    let [low, high] = test.idle.interval;
    let effect = match loaded {
        _ if low <= loaded && loaded <= high => {
            format!(
                "makes no measurable difference to the slowest that must pass ({idle} idle, {loaded} under load)"
            )
        }
        _ => format!(
            "makes the slowest that must pass {:.1} % {} ({idle} idle, {loaded} under load)",
            more.abs(),
            if loaded > idle { "slower" } else { "faster" }
        ),
    };
    let limit = calibration.suggestion.limit;
    let by_rule = calibration.under_load?;
    let consequence = match calibration.slowest_loaded() {
        Some(slowest) if by_rule != limit && slowest > Nanos::ZERO => format!(
            "For times under load the rule gives {by_rule}; the limit of {limit} rests on idle times and is {} × the slowest under load.",
            times(limit.0 as f64 / slowest.0 as f64)
        ),
        _ => "For times under load the rule gives the same limit.".into(),
    };
    Some(format!("Load on all CPUs {effect}. {consequence}"))
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
        let margin = margin.map_or(String::new(), |m| format!(", {} × the slowest that must pass", times(m)));
        found.push(format!("The package states {stated}{margin}; its own rule gives {limit}."));
    }
    found.extend(under_load(calibration));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn ratios_have_three_significant_digits() {
        let texts = [0.9, 1.333, 9.994, 9.996, 31.41, 99.96, 316.2, 999.7, 1345.9, 16504.92].map(times);
        assert_eq!(texts, ["0.90", "1.33", "9.99", "10.0", "31.4", "100", "316", "1000", "1350", "16500"]);
    }

    #[test]
    fn load_is_told_by_the_times_of_the_table() {
        let (_, mut calibration) = samples::limits::calibrations().swap_remove(0);
        calibration.under_load = Some(calibration.suggestion.limit);
        let mut told = |ms| {
            calibration.programs[1].tests[0].loaded.as_mut().unwrap().time = Nanos::from_millis(ms);
            under_load(&calibration).unwrap()
        };
        let same = "For times under load the rule gives the same limit.";
        for ms in [760, 793, 840] {
            let time = Nanos::from_millis(ms);
            let no_difference = format!(
                "Load on all CPUs makes no measurable difference to the slowest that must pass (800.0 ms idle, {time} under load). {same}"
            );
            assert_eq!(told(ms), no_difference);
        }
        assert!(told(720).contains("10.0 % faster (800.0 ms idle, 720.0 ms under load)"), "{}", told(720));
        assert!(told(880).contains("10.0 % slower (800.0 ms idle, 880.0 ms under load)"), "{}", told(880));
        // Another program that takes longer under load changes nothing of that.
        calibration.programs[0].tests[1].loaded.as_mut().unwrap().time = Nanos::from_secs(9);
        assert!(under_load(&calibration).unwrap().contains("10.0 % slower"));
    }
}
