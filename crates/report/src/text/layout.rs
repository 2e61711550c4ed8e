//! `tauto lab layout` for people.

use super::{Paint, Style, harmless};
use crate::lab::layout_findings;
use model::{BenchEnd, LayoutReport};

/// The report of a sweep: what was found.
pub fn layout_report(report: &LayoutReport, style: Style) -> String {
    let mut text = format!("{}\n", harmless(&report.command));
    text.extend(layout_findings(report).iter().map(|found| format!("  {found}\n")));
    let aslr = if report.aslr { "on" } else { "off" };
    text.push_str(&format!("  {} runs, {} of them discarded; ASLR {aslr}\n", report.runs, report.void_runs));
    text.extend(report.warnings.iter().map(|told| format!("  {}\n", harmless(told))));
    text + &end_line(&report.end, style)
}

/// How an experiment ended, where that was before its time.
pub(crate) fn end_line(end: &BenchEnd, style: Style) -> String {
    let end = match end {
        BenchEnd::Complete => return String::new(),
        BenchEnd::Interrupted => "interrupted: results of the runs so far".to_string(),
        BenchEnd::Failed(why) => {
            format!("stopped by a failed run ({}): results of the runs before it", harmless(why))
        }
    };
    style.paint(Paint::Yellow, &end) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::layout as sample;

    #[test]
    fn the_report_says_what_was_found() {
        let why_clock = Some("no counter\nhint: pass it on".into());
        let uncounted = layout_report(&LayoutReport { why_clock, ..sample() }, Style::default());
        assert!(uncounted.contains("counted here: no counter.\n  hint: pass it on\n"), "{uncounted}");
        let text = layout_report(&sample(), Style::default());
        assert!(text.contains("Peak 1: 48 to 64 bytes (32 wide), +25.0 % above the mean."));
        insta::assert_snapshot!(text);
    }
}
