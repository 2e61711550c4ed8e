//! `tauto lab link-order --html`.

use super::chart::{Frame, Limit, Ticks};
use super::plots::{Column, boxes};
use super::tables::{banners, end, machine, ms, row, table, warning};
use super::{escape, page};
use crate::lab::link_order_findings;
use model::{LayoutClock, LinkOrder, LinkOrderReport, Observation, Reading};

/// The page of link orders: what was found, a box for each order, and a table.
pub fn link_order_page(report: &LinkOrderReport) -> String {
    let mut body = format!("<h1>Link orders of <code>{}</code></h1>\n", escape(&report.command));
    body.extend(end(&report.end).map(|text| warning(&text)));
    body.push_str(&banners(&report.warnings));
    let found = link_order_findings(report);
    let found: String = found.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    body.push_str(&format!("<ul>\n{found}</ul>\n"));
    body.push_str(&chart(report));
    body.push_str(&orders_table(report));
    let objects: String = report
        .objects
        .iter()
        .enumerate()
        .map(|(n, name)| format!("<li value=\"{n}\"><code>{}</code></li>\n", escape(name)))
        .collect();
    body.push_str(&format!("<h2>Objects</h2>\n<ol>\n{objects}</ol>\n"));
    body.push_str(&machine(&report.machine));
    page(&format!("Link orders of {}", report.command), &body)
}

fn chart(report: &LinkOrderReport) -> String {
    let names: Vec<String> = report.orders.iter().map(|order| order.seed.to_string()).collect();
    let unit =
        if report.clock == LayoutClock::Cycles { "million cycles in user space" } else { "CPU time (ms)" };
    let value = |run: &Observation| match (report.clock, run.cycles.known()) {
        (LayoutClock::Cycles, Some(cycles)) => *cycles as f64 / 1e6,
        _ => run.time.cpu.0 as f64 / 1e6,
    };
    let column = |order: &LinkOrder| Column {
        values: order.runs.iter().map(|(run, _)| value(run)).collect(),
        colour: usize::from(order.seed != 0),
        title: format!("order {}", order.seed),
    };
    let columns: Vec<Column> = report.orders.iter().map(column).collect();
    let given = report.orders.first().and_then(|order| match (report.clock, &order.cpu, &order.cycles) {
        (LayoutClock::Cycles, _, Reading::Known(cycles)) => Some(*cycles as f64 / 1e6),
        (_, Reading::Known(figures), _) => Some(figures.median.0 as f64 / 1e6),
        _ => None,
    });
    let line = given.map(|y| Limit { y, label: "as given".into() });
    let frame = Frame {
        title: "Each run by link order",
        x_label: "seed of the order (0: as given)",
        y_label: unit,
        x_ticks: Ticks::Names(&names),
    };
    let lines: Vec<Limit> = line.into_iter().collect();
    format!(
        "<div class=\"wide\">{}</div>\n<p class=\"dim\">Each dot is a run; boxes span the middle half of them, with a line at the median. \
         The axis does not start at 0.</p>\n",
        boxes(&frame, &columns, &lines)
    )
}

fn orders_table(report: &LinkOrderReport) -> String {
    let head = [
        "seed",
        "median CPU time (ms)",
        "min (ms)",
        "max (ms)",
        "runs",
        "over the order as given",
        "95 % interval",
        "differs",
        "order",
    ];
    let line = |order: &LinkOrder| {
        let times = match &order.cpu {
            Reading::Known(f) => [f.median, f.min, f.max].map(ms),
            Reading::Unknown(_) => ["unknown"; 3].map(String::from),
        };
        let against = order.against_given;
        let places: Vec<String> = order.order.iter().map(usize::to_string).collect();
        let cells = [
            against.map_or(String::new(), |a| format!("{:.4}", a.ratio)),
            against.map_or(String::new(), |a| format!("{:.4} … {:.4}", a.ratio_ci95[0], a.ratio_ci95[1])),
            against.map_or(String::new(), |a| if a.different { "yes" } else { "no" }.into()),
            places.join(" "),
        ];
        row("", &[&[order.seed.to_string()][..], &times, &[order.n.to_string()], &cells].concat())
    };
    format!("<h2>Orders</h2>\n{}", table(&head, report.orders.iter().map(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::link_orders as sample;

    #[test]
    fn the_page_has_the_numbers_and_no_text_becomes_markup() {
        let page = link_order_page(&sample());
        for part in ["run 7 (order 7)", "1.0600 … 1.0810", "&lt;b&gt;.o"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<b>.o"));
        insta::assert_snapshot!(page);
    }
}
