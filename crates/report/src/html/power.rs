//! How the power of a node went over time.

use super::chart::{Frame, Limit, Ticks};
use super::plots::{At, Curve, curves};

/// Hours between measurements that are not joined.
const FAR: f64 = 48.0;

/// A part of the index over time.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCurve {
    /// Its name.
    pub name: String,
    /// Hours before now, which are negative, and percent slower than usual; in order of time.
    pub points: Vec<(f64, f64)>,
}

/// The parts of a group over time, as an `svg` element for a page that has the style of charts.
pub fn power_chart(title: &str, parts: &[PowerCurve]) -> String {
    let frame = Frame { title, x_label: "hours", y_label: "slower than usual, %", x_ticks: Ticks::Round };
    let curve = |part: &PowerCurve| Curve {
        name: part.name.clone(),
        points: part.points.iter().map(|&(x, y)| At { x, y, band: None }).collect(),
    };
    let drawn: Vec<Curve> = parts.iter().map(curve).collect();
    curves(&frame, &drawn, &[Limit { y: 0.0, label: "usual".into() }], false, FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_curve() {
        let part = |name: &str, last: f64| PowerCurve {
            name: name.into(),
            points: vec![(-3.0, 0.0), (-2.0, 0.1), (-1.0, last)],
        };
        let svg = power_chart("core", &[part("clock_ghz", 0.2), part("l1<ns", 5.0)]);
        assert_eq!(svg.matches("class=\"curve").count(), 2);
        assert!(svg.contains("clock_ghz") && svg.contains("l1&lt;ns") && !svg.contains("l1<ns"), "{svg}");
    }
}
