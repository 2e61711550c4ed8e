//! `tauto lab perturb` for people.

use super::layout::end_line;
use super::{Paint, Style, harmless};
use crate::lab::perturb_findings;
use model::{Effect, PerturbReport, PerturbTrial, Reading};

/// The report of perturbations: a line each, and what was found.
pub fn perturb_report(report: &PerturbReport, style: Style) -> String {
    let mut text = format!("{}\n", harmless(&report.command));
    let head = format!(
        "  {:<16} {:>5} {:>30} {:>30} {:>11}  {:<12}",
        "trial", "pairs", "effect on CPU time", "on wall time", "detectable", "published"
    );
    text.push_str(&format!("{}\n", style.paint(Paint::Dim, head.trim_end())));
    text.extend(report.trials.iter().map(|trial| line(trial, style) + "\n"));
    text.push('\n');
    let told = perturb_findings(report);
    text.extend(told.iter().chain(&report.notes).map(|told| format!("  {}\n", harmless(told))));
    text + &end_line(&report.end, style)
}

fn line(trial: &PerturbTrial, style: Style) -> String {
    let name = trial.perturbation.name();
    let published = trial.perturbation.published().unwrap_or_default();
    if let Err(why) = &trial.made {
        return format!(
            "  {name:<16}     – {}",
            style.paint(Paint::Dim, &format!("not available here: {}", harmless(why)))
        );
    }
    let detectable = trial.cpu.known().and_then(|effect| effect.detectable_pct.known());
    let detectable = detectable.map_or("–".into(), |least| format!("{least:.2} %"));
    let line = format!(
        "  {name:<16} {:>5} {:>30} {:>30} {detectable:>11}  {published}",
        trial.pairs,
        shown(&trial.cpu),
        shown(&trial.wall)
    );
    line.trim_end().to_string()
}

fn shown(effect: &Reading<Effect>) -> String {
    let Reading::Known(effect) = effect else { return "–".into() };
    match &effect.ci95 {
        Reading::Known([low, high]) => format!("{:+.2} % [{low:+.2}, {high:+.2}]", effect.pct),
        Reading::Unknown(_) => format!("{:+.2} %", effect.pct),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::disturbed;

    #[test]
    fn perturbations() {
        insta::assert_snapshot!("perturb", perturb_report(&disturbed::perturb(), Style::default()));
    }
}
