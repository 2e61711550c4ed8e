//! `tauto lab ladder --html`.

use super::chart::{Frame, Ticks};
use super::plots::{Column, boxes};
use super::tables::{banners, end, is_warning, machine, ms, row, table, warning};
use super::{escape, list, page};
use crate::lab::{ladder_findings, ladder_words, published};
use crate::text::isolation_name;
use model::{Figures, LadderLoad, LadderReport, LadderStage, Reading};

/// The page of a climb: a box for each stage, idle and loaded side by side, a table with what was published, and what was found.
pub fn ladder_page(report: &LadderReport) -> String {
    let mut body = format!("<h1>Ladder of <code>{}</code></h1>\n", escape(&report.command));
    body.extend(end(&report.end).map(|text| warning(&text)));
    body.push_str(&banners(&report.notes));
    body.push_str(&list(&ladder_findings(report)));
    body.push_str(&chart(report, "CPU time", |stage| {
        stage.runs.iter().map(|run| run.observation.time.cpu.as_millis_f64()).collect()
    }));
    body.push_str("<h2>Stages</h2>\n");
    body.push_str(&stages(report));
    body.push_str("<h2>How it was done</h2>\n");
    body.push_str(&made(report));
    body.push_str(&list(&report.notes.iter().filter(|note| !is_warning(note)).cloned().collect::<Vec<_>>()));
    body.push_str(&chart(report, "Wall time", |stage| {
        stage.runs.iter().map(|run| run.observation.time.wall.as_millis_f64()).collect()
    }));
    body.push_str(&machine(&report.machine));
    page(&format!("Ladder of {}", report.command), &body)
}

fn chart(report: &LadderReport, clock: &str, values: impl Fn(&LadderStage) -> Vec<f64>) -> String {
    let there: Vec<&LadderStage> = report.stages.iter().filter(|stage| !stage.runs.is_empty()).collect();
    let names: Vec<String> = there
        .iter()
        .map(|stage| match stage.load {
            LadderLoad::Idle => stage.rung.name().to_string(),
            LadderLoad::Cpu => "… loaded".to_string(),
        })
        .collect();
    let column = |stage: &&LadderStage| Column {
        values: values(stage),
        colour: usize::from(stage.load == LadderLoad::Cpu),
        title: format!("{}, {}", stage.rung.name(), ladder_words(stage.load)),
    };
    let columns: Vec<Column> = there.iter().map(column).collect();
    let title = format!("{clock} of each run by stage");
    let y_label = format!("{clock} (ms)");
    let frame = Frame { title: &title, x_label: "stage", y_label: &y_label, x_ticks: Ticks::Names(&names) };
    format!(
        "<h2>{clock}</h2>\n<div class=\"wide\">{}</div>\n<p class=\"dim\">Each dot is a run, in the order in which they were made; boxes span the middle half of them, with a line at the median. The axis does not start at 0.</p>\n",
        boxes(&frame, &columns, &[])
    )
}

fn stages(report: &LadderReport) -> String {
    let cells = |figures: &Reading<Figures>| match figures {
        Reading::Known(f) => [f.median, f.min, f.max, f.spread]
            .map(ms)
            .into_iter()
            .chain([f.spread_pct, f.mad_pct].map(percent))
            .collect(),
        Reading::Unknown(_) => vec!["–".to_string(); 6],
    };
    let wall = |figures: &Reading<Figures>| match figures {
        Reading::Known(f) => vec![ms(f.median), percent(f.spread_pct)],
        Reading::Unknown(_) => vec!["–".to_string(); 2],
    };
    let rows = report.stages.iter().map(|stage| {
        let mut row_cells =
            vec![stage.rung.name().to_string(), stage.load.name().to_string(), stage.runs.len().to_string()];
        row_cells.extend(cells(&stage.cpu));
        row_cells.extend(wall(&stage.wall));
        row_cells.push(stage.void_runs().to_string());
        row_cells.push(stage.valid.known().map_or("–".into(), |f| percent(f.spread_pct)));
        row_cells.push(published(stage).unwrap_or_default());
        row("", &row_cells)
    });
    let head = [
        "stage",
        "load",
        "runs",
        "median (ms)",
        "min (ms)",
        "max (ms)",
        "spread (ms)",
        "spread (%)",
        "MAD (%)",
        "wall median (ms)",
        "wall spread (%)",
        "discarded runs",
        "spread without them (%)",
        "published spread",
    ];
    table(&head, rows)
        + "<p class=\"dim\">Times are CPU time unless stated otherwise. Spread is maximum minus minimum of all runs, relative to the median; discarded runs are those that a judge would repeat because of their evidence. Published: Yandex.Contest, a sieve of about 10 s, 20 runs.</p>\n"
}

fn percent(value: f64) -> String {
    format!("{value:.2}")
}

fn made(report: &LadderReport) -> String {
    let sentence = |stage: &LadderStage| {
        let name = format!("{}, {}", stage.rung.name(), ladder_words(stage.load));
        match (&stage.made, &stage.isolation) {
            (Err(why), _) => format!("{name}: not available here: {why}."),
            (Ok(words), Reading::Known(rung)) => {
                format!("{name}: {words}; isolation {}.", isolation_name(*rung))
            }
            (Ok(words), Reading::Unknown(_)) => format!("{name}: {words}."),
        }
    };
    list(&report.stages.iter().map(sentence).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::disturbed;

    #[test]
    fn a_climb() {
        let page = ladder_page(&disturbed::ladder());
        insta::assert_snapshot!("ladder_page", page);
        assert!(!page.contains("<script") && page.contains("1230.000"));
    }
}
