//! `tauto lab consistency --html`.

use super::chart::{Frame, Limit, Ticks};
use super::plots::{Column, boxes};
use super::tables::{banners, digits, end, is_warning, machine, row, table, warning};
use super::{escape, list, page};
use crate::lab::consistency_findings;
use model::{Clock, ConsistencyCell, ConsistencyReport};

/// The page of one machine, or of several beside each other: what was found, for each load the runs of every program in percent of its
/// usual time with the limits across, and a table.
pub fn consistency_page(reports: &[ConsistencyReport]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| &*report.name).collect();
    let title = format!("Consistency of {}", names.join(" and "));
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    for report in reports {
        if reports.len() > 1 {
            body.push_str(&format!("<h2>{}</h2>\n", escape(&report.name)));
        }
        body.extend(end(&report.end).map(|text| warning(&text)));
        body.push_str(&banners(&report.notes));
        body.push_str(&list(&consistency_findings(report)));
    }
    let mut loads: Vec<&str> = Vec::new();
    for cell in reports.iter().flat_map(|report| &report.cells).filter(|cell| cell.clock == Clock::Cpu) {
        if !loads.contains(&&*cell.load) {
            loads.push(&cell.load);
        }
    }
    body.extend(loads.iter().map(|load| chart(reports, load)));
    for report in reports {
        body.push_str(&format!("<h2>Figures of {}</h2>\n", escape(&report.name)));
        body.push_str(&figures(report));
        let plain: Vec<String> = report.notes.iter().filter(|note| !is_warning(note)).cloned().collect();
        body.push_str(&list(&plain));
        if !report.machine.is_empty() {
            body.push_str(&machine(&report.machine));
        }
    }
    page(&title, &body)
}

/// The machines' columns of a program stand side by side.
fn chart(reports: &[ConsistencyReport], load: &str) -> String {
    let mut programs: Vec<&str> = Vec::new();
    let here = |cell: &&ConsistencyCell| cell.clock == Clock::Cpu && cell.load == load;
    for cell in reports.iter().flat_map(|report| report.cells.iter().filter(here)) {
        if !programs.contains(&&*cell.program) {
            programs.push(&cell.program);
        }
    }
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for program in programs {
        for (n, report) in reports.iter().enumerate() {
            let Some(cell) = report.cells.iter().filter(here).find(|cell| cell.program == program) else {
                continue;
            };
            let percent = |run: &u64| 100.0 * (*run as f64 / (cell.usual as f64).max(1.0) - 1.0);
            names.push(if n == 0 { program.to_string() } else { format!("({})", n + 1) });
            let title = format!("{program}, {}", report.name);
            columns.push(Column { values: cell.runs.iter().map(percent).collect(), colour: n, title });
        }
    }
    let title = format!("Runs under the load {load}");
    let frame = Frame {
        title: &title,
        x_label: "program",
        y_label: "above its usual time (%)",
        x_ticks: Ticks::Names(&names),
    };
    let above = reports.iter().flat_map(|report| &report.cells).next().map(|cell| &*cell.verdicts);
    let limits: Vec<Limit> = above
        .unwrap_or_default()
        .iter()
        .map(|at| Limit { y: at.above_pct, label: format!("limit +{:.0} %", at.above_pct) })
        .collect();
    let others: Vec<String> = reports
        .iter()
        .enumerate()
        .skip(1)
        .map(|(n, report)| format!(" ({}): {}.", n + 1, escape(&report.name)))
        .collect();
    format!(
        "<h2>Load: {}</h2>\n<div class=\"wide\">{}</div>\n<p class=\"dim\">Each dot is a run, above or below the median of the program's \
         idle runs. With the limit at a line, a run above it would have failed by itself.{}</p>\n",
        escape(load),
        boxes(&frame, &columns, &limits),
        others.concat()
    )
}

fn figures(report: &ConsistencyReport) -> String {
    let above = report.cells.first().map(|cell| &*cell.verdicts).unwrap_or_default();
    let mut head: Vec<String> =
        ["program", "load", "clock", "runs", "median", "spread (%)", "CV (%)"].map(String::from).to_vec();
    for at in above {
        head.extend(["single", "settled"].map(|how| format!("+{:.0} %, {how}", at.above_pct)));
    }
    let head: Vec<&str> = head.iter().map(|name| &**name).collect();
    let rows = report.cells.iter().map(|cell| {
        let (unit, scale) = cell.clock.scale(cell.median);
        let mut cells = vec![
            cell.program.clone(),
            cell.load.clone(),
            cell.clock.name().to_string(),
            cell.runs.len().to_string(),
            format!("{} {unit}", digits(cell.median as f64 / scale)),
            digits(cell.spread_pct),
            cell.cv_pct.known().map_or("–".into(), |cv| digits(*cv)),
        ];
        cells.extend(cell.verdicts.iter().flat_map(|v| [v.single_pct, v.settled_pct].map(digits)));
        row("", &cells)
    });
    table(&head, rows)
        + "<p class=\"dim\">Of 100 verdicts those that flip, with the limit so far above the median of the program's idle runs.</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::consistency;

    #[test]
    fn one_machine_and_two_are_drawn_alike() {
        let here = consistency("here <b>");
        let alone = consistency_page(std::slice::from_ref(&here));
        let both = consistency_page(&[here, consistency("there")]);
        assert!(alone.contains("limit +20 %") && alone.contains("<svg") && !alone.contains("<b>"));
        assert!(!alone.contains("<script") && !alone.contains("(2)"));
        assert_eq!(both.matches("<svg").count(), alone.matches("<svg").count());
        assert!(both.contains("Figures of there") && both.contains(" (2): there."));
        // Twice the dots.
        let dots = |page: &str| page.matches("<circle").count();
        assert_eq!(dots(&both), 2 * dots(&alone));
    }
}
