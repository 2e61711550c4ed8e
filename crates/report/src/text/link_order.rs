//! `tauto lab link-order` for people.

use super::layout::end_line;
use super::{Style, harmless};
use crate::bench::precise;
use crate::lab::link_order_findings;
use model::{LinkOrderReport, Reading};

/// The report of link orders: a line each, and what was found.
pub fn link_order_report(report: &LinkOrderReport, style: Style) -> String {
    let mut text = format!("{}\n", harmless(&report.command));
    for order in &report.orders {
        let name = if order.seed == 0 { "as given".into() } else { format!("seed {}", order.seed) };
        let median = match &order.cpu {
            Reading::Known(figures) => precise(figures.median),
            Reading::Unknown(why) => format!("unknown ({why})"),
        };
        let against = order.against_given.map_or(String::new(), |a| {
            let differs = if a.different { "  differs" } else { "" };
            format!(
                "  {:+.2} % [{:+.2}, {:+.2}]{differs}",
                pct(a.ratio),
                pct(a.ratio_ci95[0]),
                pct(a.ratio_ci95[1])
            )
        });
        text.push_str(&format!("  {name:<12}{median:>12}  {} runs{against}\n", order.n));
    }
    text.extend(link_order_findings(report).iter().map(|found| format!("  {}\n", harmless(found))));
    text.extend(report.warnings.iter().map(|told| format!("  {}\n", harmless(told))));
    text + &end_line(&report.end, style)
}

fn pct(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::link_orders as sample;

    #[test]
    fn the_report_says_what_was_found() {
        let text = link_order_report(&sample(), Style::default());
        assert!(text.contains("seed 7") && text.contains("+7.00 % [+6.00, +8.10]  differs"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn too_few_runs_are_named() {
        let mut few = sample();
        few.orders[0].n = 11;
        let told = link_order_report(&few, Style::default());
        assert!(told.contains("At least 12 runs of each order must count"), "{told}");
    }
}
