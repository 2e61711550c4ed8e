//! Runs against a limit, as a chart for a page that brings its own style.

use super::chart::{Frame, Limit, Point, Scale, Ticks, framed, limits, mark, put};
use crate::bench::exact;
use model::{Clock, Nanos};

/// A run in a [`RunsChart`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChartedRun {
    /// Where it stands: number of its column, from 0.
    pub column: usize,
    /// Its charge, as a time.
    pub time: Nanos,
    /// It does not count.
    pub void: bool,
    /// What it says when it is pointed at.
    pub title: String,
}

/// Times of runs, in columns, with the limit and the grey zone around it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunsChart {
    /// What is to be seen, for those who do not see it.
    pub title: String,
    /// What the runs are charged by.
    pub clock: Clock,
    /// What the columns are.
    pub x_label: String,
    /// Their names; empty: their numbers from 1 stand there.
    pub columns: Vec<String>,
    /// The runs.
    pub runs: Vec<ChartedRun>,
    /// The limit, where it is to be shown.
    pub limit: Option<Nanos>,
    /// From where to where time decides nothing by itself.
    pub band: Option<[Nanos; 2]>,
    /// The axis begins at 0.
    pub from_zero: bool,
    /// Other lines, with their names.
    pub lines: Vec<(String, Nanos)>,
}

/// More names than this do not fit below the axis.
const NAMES: usize = 12;

/// The chart as SVG, without a style: its classes are those of the pages of this crate, and `zone` for the grey zone.
pub fn runs_chart(chart: &RunsChart) -> String {
    let times = || {
        chart.runs.iter().map(|run| run.time).chain(chart.limit).chain(chart.lines.iter().map(|line| line.1))
    };
    let (unit, size) = chart.clock.scale(times().max().unwrap_or_default().0);
    let y = |time: Nanos| time.0 as f64 / size;
    let band = chart.band.into_iter().flatten();
    let zero = chart.from_zero.then_some(Nanos::ZERO);
    let up: Vec<f64> = times().chain(band).chain(zero).map(y).collect();
    let columns = chart.runs.iter().map(|run| run.column + 1).max().unwrap_or(1).max(chart.columns.len());
    let named = !chart.columns.is_empty() && columns <= NAMES;
    let (scale_x, scale_y) = (Scale::columns(columns), Scale::up(up.into_iter()));
    let numbers: Vec<String> = numbered(columns);
    let frame = Frame {
        title: &chart.title,
        x_label: &chart.x_label,
        y_label: &format!("{} ({unit})", chart.clock.label()),
        x_ticks: Ticks::Names(if named { &chart.columns } else { &numbers }),
    };
    framed(&frame, &scale_x, &scale_y, |svg| {
        if let Some([from, to]) = chart.band {
            let (top, bottom) = (scale_y.at(y(to)), scale_y.at(y(from)));
            let (left, right) = (scale_x.at(-0.5), scale_x.at(columns as f64 - 0.5));
            let (width, height) = (right - left, bottom - top);
            put(
                svg,
                format_args!(
                    "<rect class=\"zone\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>grey zone</title></rect>\n"
                ),
            );
        }
        let lines = chart.lines.iter().map(|(name, at)| (name.as_str(), *at));
        let all = chart.limit.map(|limit| ("limit", limit)).into_iter().chain(lines);
        let all: Vec<Limit> = all
            .map(|(name, at)| Limit { y: y(at), label: format!("{name} {}", exact(chart.clock, at)) })
            .collect();
        limits(svg, &all, &scale_y);
        for (run, x) in chart.runs.iter().zip(spread(&chart.runs)) {
            let point = Point { x, y: y(run.time), interval: None, void: run.void, title: run.title.clone() };
            mark(svg, &point, &scale_x, &scale_y);
        }
    })
}

/// Runs of one column side by side, so that none lies on another.
fn spread(runs: &[ChartedRun]) -> Vec<f64> {
    let place = |(n, run): (usize, &ChartedRun)| {
        let before = runs[..n].iter().filter(|other| other.column == run.column).count();
        let all = before + runs[n..].iter().filter(|other| other.column == run.column).count();
        let aside = (before as f64 + 0.5) / all as f64 - 0.5;
        run.column as f64 + 0.6 * aside
    };
    runs.iter().enumerate().map(place).collect()
}

/// Numbers from 1, as many of them as fit; the others are empty.
fn numbered(columns: usize) -> Vec<String> {
    let step = columns.div_ceil(2 * NAMES).max(1);
    (0..columns).map(|n| if n % step == 0 { (n + 1).to_string() } else { String::new() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(column: usize, ms: u64, void: bool) -> ChartedRun {
        ChartedRun { column, time: Nanos::from_millis(ms), void, title: format!("{ms} <ms>") }
    }

    fn chart(runs: Vec<ChartedRun>) -> RunsChart {
        let limit = Some(Nanos::from_millis(1000));
        let band = Some([Nanos::from_millis(950), Nanos::from_millis(1100)]);
        RunsChart {
            title: "t".into(),
            clock: Clock::Cpu,
            x_label: "test".into(),
            columns: vec![],
            runs,
            limit,
            band,
            from_zero: true,
            lines: vec![],
        }
    }

    #[test]
    fn every_run_is_drawn_and_void_ones_are_crosses() {
        let svg = runs_chart(&chart(vec![run(0, 900, false), run(0, 1300, true), run(1, 20, false)]));
        assert_eq!((svg.matches("class=\"dot\"").count(), svg.matches("class=\"cross\"").count()), (2, 1));
        assert!(
            svg.contains("class=\"zone\"") && svg.contains(">limit 1") && svg.contains("20 &lt;ms&gt;"),
            "{svg}"
        );
    }

    #[test]
    fn runs_of_a_column_stand_side_by_side() {
        let at = spread(&[run(0, 1, false), run(0, 2, false), run(1, 3, false)]);
        assert!(
            (at[0] + 0.15).abs() < 1e-9 && (at[1] - 0.15).abs() < 1e-9 && (at[2] - 1.0).abs() < 1e-9,
            "{at:?}"
        );
    }

    #[test]
    fn nothing_to_draw_and_too_many_names_do_no_harm() {
        assert!(runs_chart(&RunsChart { limit: None, band: None, ..chart(vec![]) }).starts_with("<svg"));
        let many = RunsChart {
            columns: (0..500).map(|n| format!("secret/{n}")).collect(),
            ..chart(vec![run(499, 5, false)])
        };
        let svg = runs_chart(&many);
        assert!(!svg.contains("secret/") && svg.matches("class=\"tick\"").count() < 540);
    }
}
