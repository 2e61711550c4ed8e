//! `tauto lab perturb --html`.

use super::chart::{Frame, Limit, Ticks};
use super::plots::{Column, boxes};
use super::tables::{banners, digits, end, is_warning, machine, row, table, warning};
use super::{escape, list, page};
use crate::lab::perturb_findings;
use model::{Effect, Nanos, PerturbReport, PerturbRun, PerturbTrial, Reading, Times};

/// The page of perturbations: a box for each, its pairs in percent, a table, and what was found.
pub fn perturb_page(report: &PerturbReport) -> String {
    let mut body = format!("<h1>Perturbations of <code>{}</code></h1>\n", escape(&report.command));
    body.extend(end(&report.end).map(|text| warning(&text)));
    body.push_str(&banners(&report.notes));
    body.push_str(&list(&perturb_findings(report)));
    body.push_str(&chart(report, "CPU time", |time| time.cpu));
    body.push_str(&chart(report, "Wall time", |time| time.wall));
    body.push_str("<h2>Effects</h2>\n");
    body.push_str(&effects(report));
    body.push_str("<h2>How it was done</h2>\n");
    body.push_str(&made(report));
    body.push_str(&list(&report.notes.iter().filter(|note| !is_warning(note)).cloned().collect::<Vec<_>>()));
    body.push_str(&machine(&report.machine));
    page(&format!("Perturbations of {}", report.command), &body)
}

/// Each pair's disturbed run over its control, less one, in percent.
fn pairs(trial: &PerturbTrial, clock: fn(&Times) -> Nanos) -> Vec<f64> {
    let ratio = |two: &[PerturbRun]| {
        let disturbed = two.iter().find(|run| run.disturbed)?;
        let control = two.iter().find(|run| !run.disturbed)?;
        let [disturbed, control] = [disturbed, control].map(|run| clock(&run.run.observation.time).0 as f64);
        (control > 0.0).then(|| 100.0 * (disturbed / control - 1.0))
    };
    trial.runs.chunk_by(|a, b| a.pair == b.pair).filter_map(ratio).collect()
}

fn chart(report: &PerturbReport, clock: &str, of: fn(&Times) -> Nanos) -> String {
    let there: Vec<&PerturbTrial> = report.trials.iter().filter(|trial| trial.pairs > 0).collect();
    let names: Vec<String> = there.iter().map(|trial| trial.perturbation.name().to_string()).collect();
    let column = |(n, trial): (usize, &&PerturbTrial)| Column {
        values: pairs(trial, of),
        colour: n,
        title: trial.perturbation.name().to_string(),
    };
    let columns: Vec<Column> = there.iter().enumerate().map(column).collect();
    let title = format!("Effect on {clock} by perturbation");
    let frame = Frame {
        title: &title,
        x_label: "perturbation",
        y_label: &format!("{clock}, disturbed over control (%)"),
        x_ticks: Ticks::Names(&names),
    };
    let zero = [Limit { y: 0.0, label: "no effect".into() }];
    format!(
        "<h2>{clock}</h2>\n<div class=\"wide\">{}</div>\n<p class=\"dim\">Each dot is a pair: the disturbed run over its control, made one \
         after the other. Boxes span the middle half of them, with a line at the median. A \
         triangle at the edge is a pair beyond it.</p>\n",
        boxes(&frame, &columns, &zero)
    )
}

fn effects(report: &PerturbReport) -> String {
    let clocks = |trial: &PerturbTrial| {
        [
            ("CPU time", trial.cpu.clone()),
            ("wall time", trial.wall.clone()),
            ("instructions", trial.instructions.clone()),
        ]
    };
    let rows = report.trials.iter().flat_map(|trial| {
        clocks(trial).into_iter().enumerate().map(|(n, (clock, effect))| {
            let published = trial.perturbation.published().filter(|_| n == 0).unwrap_or_default();
            let mut cells =
                vec![trial.perturbation.name().to_string(), clock.to_string(), trial.pairs.to_string()];
            cells.extend(figures(&effect));
            cells.push(published.to_string());
            row("", &cells)
        })
    });
    let head = [
        "trial",
        "clock",
        "pairs",
        "effect (%)",
        "95 % interval (%)",
        "found",
        "detectable (%)",
        "published",
    ];
    table(&head, rows)
        + "<p class=\"dim\">Detectable: the smallest effect that would have been found in 80 % of such experiments.</p>\n"
}

fn figures(effect: &Reading<Effect>) -> [String; 4] {
    fn shown<T>(reading: &Reading<T>, words: impl Fn(&T) -> String) -> String {
        match reading {
            Reading::Known(value) => words(value),
            Reading::Unknown(why) => format!("unknown ({why})"),
        }
    }
    match effect {
        Reading::Known(effect) => [
            digits(effect.pct),
            shown(&effect.ci95, |[low, high]| format!("{} … {}", digits(*low), digits(*high))),
            shown(&effect.found, |found| if *found { "yes" } else { "no" }.into()),
            shown(&effect.detectable_pct, |least| digits(*least)),
        ],
        Reading::Unknown(why) => [format!("unknown ({why})"), "–".into(), "–".into(), "–".into()],
    }
}

fn made(report: &PerturbReport) -> String {
    let sentence = |trial: &PerturbTrial| {
        let words = match &trial.made {
            Ok(words) => words.clone(),
            Err(why) => format!("not available here: {why}"),
        };
        format!("{}: {words}.", trial.perturbation.name())
    };
    list(&report.trials.iter().map(sentence).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::disturbed;

    #[test]
    fn perturbations() {
        let page = perturb_page(&disturbed::perturb());
        insta::assert_snapshot!("perturb_page", page);
        assert!(!page.contains("<script") && page.contains("no effect"));
    }
}
