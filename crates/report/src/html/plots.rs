//! Curves with their bands, and columns of boxes or dots.

use super::chart::{Frame, Limit, Scale, framed, limits, put};
use super::escape;

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
    let values = columns.iter().flat_map(|column| column.values.iter().copied());
    let y = Scale::up(values.chain(lines.iter().map(|line| line.y)));
    framed(frame, &x, &y, |svg| {
        limits(svg, lines, &y);
        let half = ((x.at(1.0) - x.at(0.0)) * 0.3).min(26.0);
        for (n, column) in columns.iter().enumerate() {
            let (middle, colour, title) = (x.at(n as f64), column.colour % COLOURS, escape(&column.title));
            for (run, value) in column.values.iter().enumerate() {
                // Side by side in the order in which they were made.
                let along = (run as f64 + 0.5) / column.values.len() as f64 * 2.0 - 1.0;
                let (cx, cy) = (middle + along * half, y.at(*value));
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

/// Between order statistics, as R's type 7 (Hyndman and Fan, 1996).
fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = q * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}
