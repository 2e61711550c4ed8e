//! `tauto lab layout --html`.

use super::chart::{Frame, Limit, Ticks};
use super::plots::{At, Curve, curves};
use super::tables::{banners, end, machine, row, table, warning};
use super::{escape, page};
use crate::lab::{layout_findings, layout_unit};
use model::{LayoutClock, LayoutPoint, LayoutReport, Reading};

/// Layouts beside a peak that are shown with it.
const AROUND: u32 = 48;
/// More layouts than these are in the JSON and the CSV alone.
const LISTED: usize = 2000;

/// The page of a sweep: what was found, the whole curve, each peak from near by, and the curves of other machines laid over it.
pub fn layout_page(report: &LayoutReport, others: &[LayoutReport]) -> String {
    let mut body = format!("<h1>Layout of <code>{}</code></h1>\n", escape(&report.command));
    body.extend(end(&report.end).map(|text| warning(&text)));
    body.push_str(&banners(&report.warnings));
    let found: String =
        layout_findings(report).iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    let aslr = if report.aslr { "on" } else { "off" };
    body.push_str(&format!(
        "<ul>\n{found}</ul>\n<p class=\"dim\">{} runs, {} of them discarded; address space layout randomisation {aslr}.</p>\n",
        report.runs, report.void_runs
    ));
    body.push_str(&whole(report));
    for peak in &report.peaks {
        let near = |point: &&LayoutPoint| {
            point.at + AROUND >= peak.from && point.at <= peak.to.saturating_add(AROUND)
        };
        let points: Vec<LayoutPoint> = report.points.iter().filter(near).copied().collect();
        let heading = format!("Peak at {} to {} bytes", peak.from, peak.to);
        body.push_str(&format!("<h2>{}</h2>\n", escape(&heading)));
        body.push_str(&chart(report, &heading, &points, true));
    }
    if !others.is_empty() {
        body.push_str(&overlay(report, others));
    }
    body.push_str(&peaks_table(report));
    body.push_str(&points_table(report));
    body.push_str(&machine(&report.machine));
    page(&format!("Layout of {}", report.command), &body)
}

/// The unit of a chart, and how many of the clock's units it has.
fn unit(report: &LayoutReport) -> (&'static str, f64) {
    let most = report.points.iter().map(|point| point.max).max().unwrap_or(0);
    match (report.clock, most) {
        (LayoutClock::Cycles, 0..1_000_000) => ("thousand cycles", 1e3),
        (LayoutClock::Cycles, _) => ("million cycles", 1e6),
        (LayoutClock::CpuNs, 0..1_000_000) => ("CPU time, µs", 1e3),
        (LayoutClock::CpuNs, _) => ("CPU time, ms", 1e6),
    }
}

fn whole(report: &LayoutReport) -> String {
    let what = format!("Median {} by {}", layout_unit(report.clock), report.vary.words());
    chart(report, &what, &report.points, false)
        + "<p class=\"dim\">The line joins the medians of each layout's runs. The axis does not start at 0.</p>\n"
}

fn chart(report: &LayoutReport, title: &str, points: &[LayoutPoint], bands: bool) -> String {
    let (unit, size) = unit(report);
    let at = |point: &LayoutPoint| At {
        x: f64::from(point.at),
        y: point.median as f64 / size,
        band: Some([point.min, point.median].map(|value| value as f64 / size)),
    };
    let curve = Curve { name: report.command.clone(), points: points.iter().map(at).collect() };
    let mean = report.mean.known().map(|mean| Limit { y: mean / size, label: "mean".into() });
    let x_label = format!("{} (bytes added)", report.vary.words());
    let frame = Frame { title, x_label: &x_label, y_label: unit, x_ticks: Ticks::Whole };
    let note = match bands {
        true => "<p class=\"dim\">The band spans from the fastest run of each layout to its median.</p>\n",
        false => "",
    };
    let mean: Vec<Limit> = mean.into_iter().collect();
    format!("<div class=\"wide\">{}</div>\n{note}", curves(&frame, &[curve], &mean, bands, f64::MAX))
}

/// Machines differ in speed: each curve is shown over its own mean.
fn overlay(report: &LayoutReport, others: &[LayoutReport]) -> String {
    let name = |of: &LayoutReport, n: usize| {
        let processor = of.machine.iter().find(|(name, _)| name == "processor").map(|(_, value)| &**value);
        format!("{}: {}", n + 1, processor.unwrap_or("unknown machine"))
    };
    let curve = |(n, of): (usize, &LayoutReport)| {
        let mean = of.mean.known().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
        let at = |p: &LayoutPoint| At { x: f64::from(p.at), y: p.median as f64 / mean, band: None };
        Curve { name: name(of, n), points: of.points.iter().map(at).collect() }
    };
    let all: Vec<Curve> = [report].into_iter().chain(others).enumerate().map(curve).collect();
    let x_label = format!("{} (bytes added)", report.vary.words());
    let frame = Frame {
        title: "Curves of several machines",
        x_label: &x_label,
        y_label: "median over the machine's mean",
        x_ticks: Ticks::Whole,
    };
    let rows = [report].into_iter().chain(others).enumerate().map(|(n, of)| {
        let figure = |reading: &Reading<f64>| reading.known().map_or("unknown".into(), |v| format!("{v:.2}"));
        let cells =
            [name(of, n), of.command.clone(), figure(&of.sensitivity_pct), of.peaks.len().to_string()];
        row("", &cells)
    });
    format!(
        "<h2>Several machines</h2>\n<div class=\"wide\">{}</div>\n{}",
        curves(&frame, &all, &[], false, f64::MAX),
        table(&["machine", "command", "sensitivity (%)", "peaks"], rows)
    )
}

fn peaks_table(report: &LayoutReport) -> String {
    if report.peaks.is_empty() {
        return String::new();
    }
    let rows = report.peaks.iter().map(|peak| {
        let bytes = [peak.from, peak.to, peak.width_bytes].map(|bytes| bytes.to_string());
        row("", &[&bytes[..], &[peak.height_pct.to_string(), format!("{:.1e}", peak.p)]].concat())
    });
    let head = ["from (bytes)", "to (bytes)", "width (bytes)", "height over the mean (%)", "p"];
    format!("<h2>Peaks</h2>\n{}", table(&head, rows))
}

fn points_table(report: &LayoutReport) -> String {
    if report.points.len() > LISTED {
        return format!("<p>The JSON and the CSV list all {} layouts.</p>\n", report.points.len());
    }
    let unit = match report.clock {
        LayoutClock::Cycles => "cycles",
        LayoutClock::CpuNs => "ns",
    };
    let head = [
        "bytes".to_string(),
        format!("median ({unit})"),
        format!("min ({unit})"),
        format!("max ({unit})"),
        "runs".into(),
    ];
    let rows = report.points.iter().map(|point| {
        let numbers = [u64::from(point.at), point.median, point.min, point.max, point.n as u64];
        row("", &numbers.map(|number| number.to_string()))
    });
    let head: Vec<&str> = head.iter().map(|name| &**name).collect();
    format!("<details><summary>All layouts</summary>\n{}</details>\n", table(&head, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::layout as sample;

    #[test]
    fn the_page_has_the_numbers_and_no_text_becomes_markup() {
        let page = layout_page(&sample(), &[sample()]);
        for part in [
            "<td>48</td><td>1250003</td>",
            "Layout sensitivity 25.00 %",
            "24.9997",
            "./loop &#39;&lt;&amp;&gt;&#39;",
            "Several machines",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<&>") && !page.contains("<CPU>"));
        insta::assert_snapshot!(page);
    }
}
