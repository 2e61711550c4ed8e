//! `tauto lab ladder` for people.

use super::layout::end_line;
use super::{Paint, Style, harmless};
use crate::bench::precise;
use crate::lab::{ladder_findings, published};
use model::{Isolation, LadderReport, LadderStage, Reading};

/// The report of a climb: a line for each stage with what was published beside it, and what was found.
pub fn ladder_report(report: &LadderReport, style: Style) -> String {
    let mut text = format!("{}\n", harmless(&report.command));
    let head = format!(
        "  {:<10} {:<5} {:>4} {:>12} {:>12} {:>9} {:>9} {:>9}  {:<9} {:>9} {:>9}",
        "stage",
        "load",
        "runs",
        "median",
        "spread",
        "spread",
        "MAD",
        "wall",
        "isolation",
        "discarded",
        "published"
    );
    text.push_str(&format!("{}\n", style.paint(Paint::Dim, &head)));
    text.extend(report.stages.iter().map(|stage| line(stage, style) + "\n"));
    let about = "spread: maximum minus minimum CPU time of all runs; wall: the same for wall time; discarded: runs a judge would repeat; \
                 published: a sieve of about 10 s";
    text.push_str(&format!("  {}\n\n", style.paint(Paint::Dim, about)));
    let told = ladder_findings(report);
    text.extend(told.iter().chain(&report.notes).map(|told| format!("  {}\n", harmless(told))));
    text + &end_line(&report.end, style)
}

fn line(stage: &LadderStage, style: Style) -> String {
    let name = format!("  {:<10} {:<5}", stage.rung.name(), stage.load.name());
    let published = published(stage).unwrap_or_default();
    let (cpu, wall) = match (&stage.made, &stage.cpu, &stage.wall) {
        (Err(why), ..) => {
            let shown = if published.is_empty() { published } else { format!(" (published: {published})") };
            return format!(
                "{name}    – {}",
                style.paint(Paint::Dim, &format!("not available here: {}{shown}", harmless(why)))
            );
        }
        (_, Reading::Known(cpu), Reading::Known(wall)) => (cpu, wall),
        _ => return format!("{name}    – {}", style.paint(Paint::Dim, "no run finished")),
    };
    let isolation = stage.isolation.known().map_or("unknown", |rung| isolation(*rung));
    let line = format!(
        "{name} {:>4} {:>12} {:>12} {:>9} {:>9} {:>9}  {isolation:<9} {:>9} {published:>9}",
        stage.runs.len(),
        precise(cpu.median),
        precise(cpu.spread),
        percent(cpu.spread_pct),
        percent(cpu.mad_pct),
        percent(wall.spread_pct),
        stage.void_runs()
    );
    line.trim_end().to_string()
}

fn percent(value: f64) -> String {
    format!("{value:.2} %")
}

/// As in the JSON.
pub(crate) fn isolation(rung: Isolation) -> &'static str {
    match rung {
        Isolation::None => "none",
        Isolation::Affinity => "affinity",
        Isolation::Cpuset => "cpuset",
        Isolation::Partition => "partition",
        Isolation::Vm => "vm",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::disturbed;

    #[test]
    fn a_climb() {
        insta::assert_snapshot!("ladder", ladder_report(&disturbed::ladder(), Style::default()));
    }
}
