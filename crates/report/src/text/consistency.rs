//! `tauto lab consistency` for people.

use super::layout::end_line;
use super::{Style, harmless, plain_table};
use crate::lab::consistency_findings;
use model::{ConsistencyCell, ConsistencyReport};

/// The report: a line for each cell, and what was found; of several machines one after the other.
pub fn consistency_report(reports: &[ConsistencyReport], style: Style) -> String {
    reports.iter().map(|report| one(report, style)).collect::<Vec<_>>().join("\n")
}

fn one(report: &ConsistencyReport, style: Style) -> String {
    let mut text = format!("{}\n", harmless(&report.name));
    let above = report.cells.first().map(|cell| &*cell.verdicts).unwrap_or_default();
    let mut head: Vec<String> =
        ["program", "load", "clock", "runs", "median", "spread", "CV"].map(String::from).to_vec();
    head.extend(above.iter().map(|verdicts| format!("+{:.0} %", verdicts.above_pct)));
    let head: Vec<&str> = head.iter().map(|name| &**name).collect();
    let rows: Vec<Vec<String>> = report.cells.iter().map(row).collect();
    text.push_str(&plain_table(&head, &rows, style));
    if !rows.is_empty() {
        text.push_str("  +N %: of 100 verdicts with the limit so far above the usual time those that flip, by single runs / settled\n");
    }
    text.extend(consistency_findings(report).iter().map(|found| format!("  {}\n", harmless(found))));
    text.extend(report.notes.iter().map(|note| format!("  {}\n", harmless(note))));
    text + &end_line(&report.end, style)
}

fn row(cell: &ConsistencyCell) -> Vec<String> {
    let (unit, scale) = cell.clock.scale(cell.median);
    let mut row = vec![
        cell.program.clone(),
        cell.load.clone(),
        cell.clock.name().to_string(),
        cell.runs.len().to_string(),
        format!("{:.3} {unit}", cell.median as f64 / scale),
        format!("{:.2} %", cell.spread_pct),
        cell.cv_pct.known().map_or("–".into(), |cv| format!("{cv:.2} %")),
    ];
    row.extend(cell.verdicts.iter().map(|v| format!("{:.0} / {:.0}", v.single_pct, v.settled_pct)));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::consistency;

    #[test]
    fn the_report_says_how_often_verdicts_flip() {
        let text = consistency_report(&[consistency("here"), consistency("there")], Style::default());
        assert!(text.starts_with("here\n") && text.contains("\nthere\n"), "{text}");
        assert!(text.contains("With a limit 5 % above the usual time, 10.0 of 100 verdicts flip if a single run decides, and 2.5 if repeats settle the time."), "{text}");
        assert!(
            text.contains(
                "By the clock reference, all runs of compute give the same count, under every load."
            ),
            "{text}"
        );
        assert!(
            text.contains("CPU time varies most of compute (cpu): coefficient of variation 4.00 %"),
            "{text}"
        );
    }
}
