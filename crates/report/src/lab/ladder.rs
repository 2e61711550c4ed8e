//! What a climb of the ladder found, in words.

use model::{LadderLoad, LadderReport, LadderStage, LadderStep, PUBLISHED_LADDER, Reading};

/// What was found, a sentence each.
pub(crate) fn ladder_findings(report: &LadderReport) -> Vec<String> {
    let mut found: Vec<String> =
        report.steps.iter().map(|step| bought(step.to.name(), step, runs(report, step))).collect();
    found.extend(report.stages.iter().filter_map(under_load));
    found.extend(report.whole.iter().map(|step| {
        let name = format!("from {} to {}", step.from.name(), step.to.name());
        bought(&name, step, runs(report, step))
    }));
    found
}

fn runs(report: &LadderReport, step: &LadderStep) -> usize {
    let of = |stage: &&LadderStage| stage.load == step.load && [step.from, step.to].contains(&stage.rung);
    report.stages.iter().filter(of).map(|stage| stage.runs.len()).min().unwrap_or(0)
}

pub(crate) fn words(load: LadderLoad) -> &'static str {
    match load {
        LadderLoad::Idle => "idle",
        LadderLoad::Cpu => "under load",
    }
}

/// Which step bought what.
fn bought(name: &str, step: &LadderStep, runs: usize) -> String {
    let spread = format!(
        "{name}: spread {} {:.2} % → {:.2} %",
        words(step.load),
        step.from_spread_pct,
        step.to_spread_pct
    );
    let median = 100.0 * (step.median_ratio - 1.0);
    let median = if median.abs() < 0.5 { String::new() } else { format!("; median {median:+.1} %") };
    let verdict = match (&step.p, step.differs) {
        (Reading::Unknown(why), _) => format!(" (inconclusive: {why})"),
        (Reading::Known(_), false) => format!(", no difference that {runs} runs can show"),
        (Reading::Known(p), true) if step.to_spread_pct <= step.from_spread_pct => {
            format!(", an improvement (p = {p})")
        }
        (Reading::Known(p), true) => format!(", a deterioration (p = {p})"),
    };
    format!("{spread}{verdict}{median}.")
}

fn under_load(stage: &LadderStage) -> Option<String> {
    let seen = stage.under_load?;
    let [ratio, low, high] =
        [seen.ratio, seen.ratio_ci95[0], seen.ratio_ci95[1]].map(|ratio| 100.0 * (ratio - 1.0));
    Some(match seen.different {
        true => format!(
            "{}: the load changes CPU time by {ratio:+.2} % (95 %: {low:+.2} to {high:+.2}).",
            stage.rung.name()
        ),
        false => format!(
            "{}: no measurable effect of the load on CPU time ({ratio:+.2} %, 95 %: {low:+.2} to {high:+.2}).",
            stage.rung.name()
        ),
    })
}

/// What was published of a stage.
pub(crate) fn published(stage: &LadderStage) -> Option<String> {
    let of = PUBLISHED_LADDER.iter().find(|p| p.name == stage.rung && p.load == stage.load)?;
    Some(format!("{} ms", of.spread_ms))
}
