//! Curves with their bands, and columns of boxes or dots.

use super::chart::{Frame, Limit, Scale, framed, limits, put};
use super::escape;
use stats::quantile;

/// Colours of curves and columns, as classes of the page's style.
const COLOURS: usize = 6;

/// A point of a curve.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) x: f64,
    pub(super) y: f64,
    /// From the least to the greatest.
    pub(super) band: Option<[f64; 2]>,
}

/// A curve.
pub(super) struct Curve {
    /// Stands at its end when there are several.
    pub(super) name: String,
    /// Ascending.
    pub(super) points: Vec<At>,
}

/// Curves in one frame. `far`: points farther apart than this are not joined, since what lies between was not looked at.
pub(super) fn curves(frame: &Frame, curves: &[Curve], lines: &[Limit], bands: bool, far: f64) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let band = |point: &At| point.band.filter(|_| bands).unwrap_or([point.y; 2]);
    let x = Scale::across(points().map(|point| point.x));
    let y = Scale::up(points().flat_map(band).chain(lines.iter().map(|line| line.y)));
    framed(frame, &x, &y, |svg| {
        for (n, curve) in curves.iter().enumerate() {
            let colour = n % COLOURS;
            if bands {
                let edge = |point: &At, end: usize| (x.at(point.x), y.at(band(point)[end]));
                let up = curve.points.iter().map(|point| edge(point, 1));
                let down = curve.points.iter().rev().map(|point| edge(point, 0));
                put(svg, format_args!("<path class=\"band c{colour}\" d=\"{}Z\"/>\n", path(up.chain(down))));
            }
            for part in curve.points.chunk_by(|a, b| b.x - a.x <= far) {
                let joined = path(part.iter().map(|point| (x.at(point.x), y.at(point.y))));
                put(svg, format_args!("<path class=\"curve c{colour}\" d=\"{joined}\"/>\n"));
            }
            if curve.points.len() <= 200 {
                for point in &curve.points {
                    let (cx, cy) = (x.at(point.x), y.at(point.y));
                    put(
                        svg,
                        format_args!(
                            "<circle class=\"c{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"2.5\"><title>{}: {}</title></circle>\n",
                            point.x, point.y
                        ),
                    );
                }
            }
        }
        limits(svg, lines, &y);
        if curves.len() > 1 {
            legend(svg, curves);
        }
    })
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (n, (x, y)) in points.enumerate() {
        put(&mut text, format_args!("{}{x:.1} {y:.1}", if n == 0 { 'M' } else { 'L' }));
    }
    text
}

fn legend(svg: &mut String, curves: &[Curve]) {
    for (n, curve) in curves.iter().enumerate() {
        let (y, colour, name) = (32 + 18 * n, n % COLOURS, escape(&curve.name));
        put(
            svg,
            format_args!(
                "<circle class=\"c{colour}\" cx=\"94\" cy=\"{y}\" r=\"5\"/><text x=\"104\" y=\"{}\">{name}</text>\n",
                y + 5
            ),
        );
    }
}

/// What stands above a name.
pub(super) struct Column {
    pub(super) values: Vec<f64>,
    /// Which of the colours.
    pub(super) colour: usize,
    /// What it says when it is pointed at.
    pub(super) title: String,
}

/// Columns of boxes: from the first to the third quartile with a line at the median, and every value as a dot beside it.
pub(super) fn boxes(frame: &Frame, columns: &[Column], lines: &[Limit]) -> String {
    let x = Scale::columns(columns.len());
    let reach = shown_range(columns);
    let y = Scale::up(reach.into_iter().flatten().chain(lines.iter().map(|line| line.y)));
    framed(frame, &x, &y, |svg| {
        limits(svg, lines, &y);
        let Some([least, most]) = reach else { return };
        let half = ((x.at(1.0) - x.at(0.0)) * 0.3).min(26.0);
        for (n, column) in columns.iter().enumerate() {
            let (middle, colour, title) = (x.at(n as f64), column.colour % COLOURS, escape(&column.title));
            for (run, value) in column.values.iter().enumerate() {
                // Side by side in the order in which they were made.
                let along = (run as f64 + 0.5) / column.values.len() as f64 * 2.0 - 1.0;
                let (cx, cy) = (middle + along * half, y.at(value.clamp(least, most)));
                if !(least..=most).contains(value) {
                    let turn = if *value > most { -8 } else { 8 };
                    put(
                        svg,
                        format_args!(
                            "<path class=\"beyond c{colour}\" d=\"M{:.1} {cy:.1}h9l-4.5 {turn}z\"><title>run {}: {value}</title></path>\n",
                            cx - 4.5,
                            run + 1
                        ),
                    );
                    continue;
                }
                put(
                    svg,
                    format_args!(
                        "<circle class=\"c{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"2.5\"><title>run {}: {value}</title></circle>\n",
                        run + 1
                    ),
                );
            }
            let [Some(low), Some(median), Some(high)] =
                [0.25, 0.5, 0.75].map(|q| quantile(&column.values, q))
            else {
                continue;
            };
            let (left, top, width) = (middle - half - 4.0, y.at(high), 2.0 * half + 8.0);
            let (height, line) = (y.at(low) - top, y.at(median));
            put(
                svg,
                format_args!(
                    "<rect class=\"box c{colour}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{title}</title></rect>\
                 <path class=\"curve c{colour}\" d=\"M{left:.1} {line:.1}h{width:.1}\"/>\n"
                ),
            );
        }
    })
}

/// How many widths of its box a value may lie beyond it before it is taken for an outlier.
const FAR: f64 = 3.0;
/// From how many times on outliers may stretch an axis before they are put at its edge.
const STRETCH: f64 = 3.0;

/// From the least to the greatest value that is shown at its place: all of them, unless single ones would flatten the rest.
/// `None`: there are no values.
fn shown_range(columns: &[Column]) -> Option<[f64; 2]> {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold([f64::MAX, f64::MIN], |[low, high], value| [low.min(value), high.max(value)])
    };
    let near = |column: &Column| {
        let ends = [0.25, 0.75].map(|q| quantile(&column.values, q).unwrap_or_default());
        let room = FAR * (ends[1] - ends[0]);
        let near =
            column.values.iter().filter(move |value| (ends[0] - room..=ends[1] + room).contains(*value));
        near.copied().collect::<Vec<f64>>()
    };
    let all = range(&mut columns.iter().flat_map(|column| column.values.iter().copied()));
    let most = range(&mut columns.iter().flat_map(near));
    let (whole, bulk) = (all[1] - all[0], most[1] - most[0]);
    let shown = if bulk > 0.0 && whole > STRETCH * bulk { most } else { all };
    (shown[0] <= shown[1]).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values_do_not_flatten_the_rest() {
        let column = |values: &[f64]| Column { values: values.to_vec(), colour: 0, title: String::new() };
        let steady = [0.0, 0.1, 0.2, 0.3, 0.4];
        let one = [column(&steady), column(&[0.0, 0.1, 0.1, 0.2, 60.0])];
        assert_eq!(shown_range(&one), Some([0.0, 0.4]));
        let frame =
            Frame { title: "t", x_label: "x", y_label: "y", x_ticks: super::super::chart::Ticks::Round };
        let svg = boxes(&frame, &one, &[]);
        assert_eq!((svg.matches("class=\"beyond").count(), svg.matches("<circle").count()), (1, 9));
        assert!(svg.contains("run 5: 60"), "{svg}");
        // A column that is elsewhere as a whole, and one without any spread, are shown where they are.
        assert_eq!(shown_range(&[column(&steady), column(&[60.0, 60.1, 60.2])]), Some([0.0, 60.2]));
        assert_eq!(shown_range(&[column(&[1.0, 1.0, 1.0, 1.0, 9.0])]), Some([1.0, 9.0]));
        boxes(&frame, &[column(&[])], &[]);
    }
}
