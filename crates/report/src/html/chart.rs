//! Charts as SVG: the frame with its axes, and scatters of points. Other kinds draw in the same frame.

use super::escape;
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 380.0;
/// Room for the axes: left, right, top, bottom.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 142.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 62.0;
/// Of a tick's text, about so wide.
const LETTER: f64 = 8.0;

/// A point.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Where its value lies, when it is an estimate.
    pub(super) interval: Option<[f64; 2]>,
    /// It does not count: a cross.
    pub(super) void: bool,
    /// What it says when it is pointed at.
    pub(super) title: String,
}

/// A line across the chart.
pub(super) struct Limit {
    pub(super) y: f64,
    pub(super) label: String,
}

/// A chart.
pub(super) struct Chart<'a> {
    /// What is to be seen, for those who do not see it.
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    /// Only whole numbers on the x axis.
    pub(super) whole: bool,
    pub(super) points: Vec<Point>,
    pub(super) limits: Vec<Limit>,
}

/// What a chart says of itself and of its axes.
pub(super) struct Frame<'a> {
    /// What is to be seen, for those who do not see it.
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    /// What stands along the x axis.
    pub(super) x_ticks: Ticks<'a>,
}

/// Marks of an axis.
pub(super) enum Ticks<'a> {
    /// Round numbers.
    Round,
    /// Round numbers that are whole.
    Whole,
    /// A name at each of 0, 1, 2 …
    Names(&'a [String]),
}

/// From values to places.
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// The x axis of a frame, for these values.
    pub(super) fn across(values: impl Iterator<Item = f64> + Clone) -> Scale {
        Scale::of(values, LEFT, WIDTH - RIGHT)
    }

    /// The y axis of a frame, for these values.
    pub(super) fn up(values: impl Iterator<Item = f64> + Clone) -> Scale {
        Scale::of(values, HEIGHT - BOTTOM, TOP)
    }

    /// The x axis of a frame with so many columns, at 0, 1, 2 …
    pub(super) fn columns(count: usize) -> Scale {
        Scale { low: -0.5, high: count.max(1) as f64 - 0.5, from: LEFT, to: WIDTH - RIGHT }
    }

    /// All values with a little room; never empty.
    fn of(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
        let (low, high) =
            values.clone().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.06 * (high - low) } else { 0.01 * high.abs().max(1.0) };
        Scale { low: low - room, high: high + room, from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values, about six of them, with the decimals they need.
    fn ticks(&self, whole: bool) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough).max(if whole { 1.0 } else { 0.0 });
        let decimals = (-(step * 1.000_001).log10().floor()).max(0.0) as usize;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|n| n as f64 * step).map(|v| (v, format!("{v:.decimals$}"))).collect()
    }
}

/// The chart as an `svg` element.
pub(super) fn svg(chart: &Chart) -> String {
    let x = Scale::across(chart.points.iter().map(|p| p.x));
    let y = chart.points.iter().flat_map(|p| [p.y].into_iter().chain(p.interval.into_iter().flatten()));
    let y = Scale::up(y.chain(chart.limits.iter().map(|limit| limit.y)));
    let x_ticks = if chart.whole { Ticks::Whole } else { Ticks::Round };
    let frame = Frame { title: chart.title, x_label: chart.x_label, y_label: chart.y_label, x_ticks };
    framed(&frame, &x, &y, |svg| {
        limits(svg, &chart.limits, &y);
        chart.points.iter().for_each(|point| mark(svg, point, &x, &y));
    })
}

/// A frame with its axes, and what is drawn in it.
pub(super) fn framed(frame: &Frame, x: &Scale, y: &Scale, draw: impl FnOnce(&mut String)) -> String {
    let title = escape(frame.title);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
    );
    axes(&mut svg, frame, x, y);
    draw(&mut svg);
    svg + "</svg>\n"
}

/// Lines across the frame, labelled where they end.
pub(super) fn limits(svg: &mut String, limits: &[Limit], y: &Scale) {
    let right = WIDTH - RIGHT;
    let mut labelled = Vec::new();
    for limit in limits {
        let at = y.at(limit.y);
        put(svg, format_args!("<path class=\"limit\" d=\"M{LEFT} {at:.1}H{right}\"/>\n"));
        // Labels that would lie on each other are told by the table.
        if labelled.iter().all(|other: &f64| (other - at).abs() >= 15.0) {
            let (from, down, label) = (right + 6.0, at + 5.0, escape(&limit.label));
            put(
                svg,
                format_args!("<text class=\"limit-text\" x=\"{from}\" y=\"{down:.1}\">{label}</text>\n"),
            );
            labelled.push(at);
        }
    }
}

fn axes(svg: &mut String, chart: &Frame, x: &Scale, y: &Scale) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for (value, label) in y.ticks(false) {
        let (at, before) = (y.at(value), LEFT - 8.0);
        put(svg, format_args!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>"));
        let down = at + 5.0;
        put(
            svg,
            format_args!(
                "<text class=\"tick\" x=\"{before}\" y=\"{down:.1}\" text-anchor=\"end\">{label}</text>\n"
            ),
        );
    }
    let ticks = match chart.x_ticks {
        Ticks::Round => x.ticks(false),
        Ticks::Whole => x.ticks(true),
        Ticks::Names(names) => names.iter().enumerate().map(|(n, name)| (n as f64, escape(name))).collect(),
    };
    // Where names would lie on each other, every other one stands a line lower.
    let crowded = match chart.x_ticks {
        Ticks::Names(names) => {
            let room = (right - LEFT) / names.len().max(1) as f64;
            names.iter().any(|name| name.chars().count() as f64 * LETTER > room)
        }
        _ => false,
    };
    for (n, (value, label)) in ticks.into_iter().enumerate() {
        let (at, below) = (x.at(value), bottom + if crowded && n % 2 == 1 { 33.0 } else { 18.0 });
        put(svg, format_args!("<path class=\"axis\" d=\"M{at:.1} {bottom}v5\"/>"));
        put(
            svg,
            format_args!(
                "<text class=\"tick\" x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>\n"
            ),
        );
    }
    put(svg, format_args!("<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\n"));
    let (x_label, y_label) = (escape(chart.x_label), escape(chart.y_label));
    let (middle, low) = ((LEFT + right) / 2.0, HEIGHT - 8.0);
    put(svg, format_args!("<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">{x_label}</text>\n"));
    let half = (TOP + bottom) / 2.0;
    put(
        svg,
        format_args!(
            "<text transform=\"translate(18 {half}) rotate(-90)\" text-anchor=\"middle\">{y_label}</text>\n"
        ),
    );
}

/// A dot, or a cross where it does not count.
pub(super) fn mark(svg: &mut String, point: &Point, x: &Scale, y: &Scale) {
    let (cx, cy, title) = (x.at(point.x), y.at(point.y), escape(&point.title));
    if let Some([low, high]) = point.interval {
        let (low, high) = (y.at(low), y.at(high));
        put(svg, format_args!("<path class=\"whisker\" d=\"M{cx:.1} {low:.1}V{high:.1}\"/>"));
    }
    let (left, up) = (cx - 4.5, cy - 4.5);
    match point.void {
        true => put(
            svg,
            format_args!(
                "<path class=\"cross\" d=\"M{left:.1} {up:.1}l9 9m0 -9l-9 9\"><title>{title}</title></path>\n"
            ),
        ),
        false => put(
            svg,
            format_args!(
                "<circle class=\"dot\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{title}</title></circle>\n"
            ),
        ),
    }
}

/// Writing to a string cannot fail.
pub(super) fn put(svg: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = svg.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = |low: f64, high: f64, whole| {
            let scale = Scale { low, high, from: 0.0, to: 1.0 };
            scale.ticks(whole).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ticks(0.0, 12.0, false), "0 2 4 6 8 10 12");
        assert_eq!(ticks(0.4, 3.6, true), "1 2 3");
        assert_eq!(ticks(101.8, 104.1, false), "102.0 102.5 103.0 103.5 104.0");
        assert_eq!(ticks(0.0101, 0.0149, false), "0.011 0.012 0.013 0.014");
    }

    #[test]
    fn odd_values_have_places() {
        for values in [&[][..], &[5.0], &[0.0, 0.0], &[1e9, 1e9]] {
            let scale = Scale::of(values.iter().copied(), 0.0, 100.0);
            assert!(scale.high > scale.low, "{values:?}");
            assert!(values.iter().all(|v| (0.0..=100.0).contains(&scale.at(*v))), "{values:?}");
            assert!((1..20).contains(&scale.ticks(false).len()), "{values:?}");
        }
    }
}
