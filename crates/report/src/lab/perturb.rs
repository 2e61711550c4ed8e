//! What perturbations did, in words.

use model::{Effect, PerturbReport, PerturbTrial, Reading};

/// What was found, a sentence for each perturbation.
pub(crate) fn perturb_findings(report: &PerturbReport) -> Vec<String> {
    let mut found: Vec<String> = report.trials.iter().map(sentence).collect();
    let tested = report.trials.iter().filter(|trial| trial.pairs > 0).count();
    if tested > 1 {
        found.push(
            "An effect is found if the 95 % intervals of all pairs and of each half exclude 0. Chance alone does that in about one of a thousand trials."
                .into(),
        );
    }
    found
}

fn sentence(trial: &PerturbTrial) -> String {
    let published = trial.perturbation.published().map_or(String::new(), |p| format!(" Published: {p}."));
    let name = trial.perturbation.name();
    if let Err(why) = &trial.made {
        return format!("{name}: not available here: {why}.{published}");
    }
    let clocks: Vec<String> =
        [("CPU time", &trial.cpu), ("wall time", &trial.wall), ("instructions", &trial.instructions)]
            .into_iter()
            .filter_map(|(clock, effect)| Some(clause(clock, effect.known()?)))
            .collect();
    match clocks.is_empty() {
        true => format!("{name}: no pair finished.{published}"),
        false => format!("{name}: {}.{published}", clocks.join("; ")),
    }
}

/// "No effect" is told with what would have been found.
fn clause(clock: &str, effect: &Effect) -> String {
    let interval =
        effect.ci95.known().map(|[low, high]| format!("95 %: {} to {}", signed(*low), signed(*high)));
    let pct = signed(effect.pct);
    match (&effect.found, interval, &effect.detectable_pct) {
        (Reading::Known(true), Some(interval), _) => format!("{clock} {pct} % ({interval})"),
        (Reading::Known(_), Some(interval), _) if is_apart(effect) => {
            format!("{clock} {pct} % ({interval}), not confirmed: one half of the pairs does not show it")
        }
        (Reading::Known(_), Some(interval), Reading::Known(least)) => format!(
            "no effect on {clock} ({pct} %, {interval}), where an effect of {} % would have been found in 80 % of such experiments",
            signed(*least).trim_start_matches('+')
        ),
        (Reading::Known(_), Some(interval), Reading::Unknown(_)) => {
            format!("no effect on {clock} that this number of pairs can show ({pct} %, {interval})")
        }
        (Reading::Unknown(_), Some(interval), _) => {
            format!("{clock} {pct} % ({interval}), not confirmed: that takes twelve pairs")
        }
        _ => format!("{clock} {pct} %, uncertain because of too few pairs"),
    }
}

/// Whether 0 is outside the interval.
fn is_apart(effect: &Effect) -> bool {
    effect.ci95.known().is_some_and(|[low, high]| *low > 0.0 || *high < 0.0)
}

/// Counts of instructions differ by millionths.
fn signed(percent: f64) -> String {
    match percent.abs() {
        0.0 => "0".into(),
        0.0..0.01 => format!("{percent:+}"),
        _ => format!("{percent:+.2}"),
    }
}
