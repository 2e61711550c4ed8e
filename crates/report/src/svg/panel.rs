//! Boxes within boxes: each as large as what is in it, placed from left to right and then in rows.

use super::{escape, put};

const PAD: f64 = 10.0;
const GAP: f64 = 10.0;
const LINE: f64 = 18.0;
/// Of a character at 13 px, on the generous side: what is too narrow would be drawn over.
const CHARACTER: f64 = 7.4;
const BAR: f64 = 10.0;
const CELL: f64 = 38.0;

/// A box with its words and what is in it.
#[derive(Default)]
pub(super) struct Panel {
    /// Class of the box in the picture's style.
    pub(super) class: &'static str,
    /// In bold; may be empty.
    pub(super) title: String,
    /// Below the title.
    pub(super) lines: Vec<String>,
    /// A bar, this part of which is filled.
    pub(super) used: Option<f64>,
    /// A square of numbers.
    pub(super) grid: Option<Grid>,
    /// What is in it.
    pub(super) inner: Vec<Panel>,
    /// Rows of what is in it are no wider, but for single boxes that are.
    pub(super) wide: f64,
}

/// A square of numbers between things that are numbered themselves.
pub(super) struct Grid {
    /// Of rows and of columns.
    pub(super) heads: Vec<u32>,
    /// From each to each.
    pub(super) rows: Vec<Vec<u32>>,
    /// Greater ones are drawn as far.
    pub(super) near: u32,
}

impl Panel {
    pub(super) fn group(class: &'static str, title: &str, wide: f64, inner: Vec<Panel>) -> Panel {
        Panel { class, title: title.into(), wide, inner, ..Panel::default() }
    }

    pub(super) fn leaf(class: &'static str, title: &str, line: &str) -> Panel {
        Panel { class, title: title.into(), lines: vec![line.into()], ..Panel::default() }
    }

    /// Width and height.
    pub(super) fn size(&self) -> (f64, f64) {
        let (_, (wide, high)) = self.placed();
        let words = self.words().map(|(words, _)| words.chars().count()).max().unwrap_or(0);
        let width = wide.max(words as f64 * CHARACTER).max(self.grid_side());
        let height = self.head() + high + self.grid_side();
        let below = if high > 0.0 && self.head() > 0.0 { GAP - 4.0 } else { 0.0 };
        (width + 2.0 * PAD, height + below + 2.0 * PAD)
    }

    pub(super) fn draw(&self, svg: &mut String, x: f64, y: f64) {
        let (width, height) = self.size();
        let class = self.class;
        put(
            svg,
            format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\"/>\n"
            ),
        );
        let (left, mut down) = (x + PAD, y + PAD);
        for (words, class) in self.words() {
            let (base, words) = (down + 13.0, escape(words));
            put(
                svg,
                format_args!("<text class=\"{class}\" x=\"{left:.1}\" y=\"{base:.1}\">{words}</text>\n"),
            );
            down += LINE;
        }
        if let Some(used) = self.used {
            let (whole, filled) = (width - 2.0 * PAD, (width - 2.0 * PAD) * used);
            for (class, wide) in [("free", whole), ("used", filled)] {
                put(
                    svg,
                    format_args!(
                        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{down:.1}\" width=\"{wide:.1}\" height=\"{BAR}\"/>\n"
                    ),
                );
            }
        }
        let (places, (_, high)) = self.placed();
        let below = if high > 0.0 && self.head() > 0.0 { GAP - 4.0 } else { 0.0 };
        let top = y + PAD + self.head() + below;
        for (panel, (right, under)) in self.inner.iter().zip(places) {
            panel.draw(svg, left + right, top + under);
        }
        self.draw_grid(svg, left, top);
    }

    fn words(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let title = (!self.title.is_empty()).then_some((&*self.title, "title"));
        // Words that stand alone are what the box says.
        let class = if self.inner.is_empty() && self.grid.is_none() { "" } else { "dim" };
        title.into_iter().chain(self.lines.iter().map(move |line| (&**line, class)))
    }

    /// Height of words and bar.
    fn head(&self) -> f64 {
        let bar = if self.used.is_some() { BAR + 4.0 } else { 0.0 };
        self.words().count() as f64 * LINE + bar
    }

    /// Where what is in it lies, and the room all of it takes.
    fn placed(&self) -> (Vec<(f64, f64)>, (f64, f64)) {
        let (mut places, mut wide, mut high) = (Vec::new(), 0.0_f64, 0.0_f64);
        let (mut x, mut y) = (0.0, 0.0);
        for panel in &self.inner {
            let (width, height) = panel.size();
            if x > 0.0 && x + width > self.wide {
                (x, y) = (0.0, high + GAP);
            }
            places.push((x, y));
            x += width + GAP;
            wide = wide.max(x - GAP);
            high = high.max(y + height);
        }
        (places, (wide, high))
    }

    fn grid_side(&self) -> f64 {
        self.grid.as_ref().map_or(0.0, |grid| (grid.heads.len() as f64 + 1.0) * CELL)
    }

    fn draw_grid(&self, svg: &mut String, left: f64, top: f64) {
        let Some(Grid { heads, rows, near }) = &self.grid else { return };
        let text = |svg: &mut String, class: &str, column: usize, row: usize, number: u32| {
            let (x, y) = (left + (column as f64 + 0.5) * CELL, top + (row as f64 + 0.5) * CELL + 5.0);
            put(
                svg,
                format_args!(
                    "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{number}</text>\n"
                ),
            );
        };
        for (n, head) in heads.iter().enumerate() {
            text(svg, "title", n + 1, 0, *head);
            text(svg, "title", 0, n + 1, *head);
        }
        for (r, row) in rows.iter().enumerate() {
            for (c, number) in row.iter().enumerate() {
                let class = if number > near { "far" } else { "near" };
                let (x, y) = (left + (c as f64 + 1.0) * CELL, top + (r as f64 + 1.0) * CELL);
                put(
                    svg,
                    format_args!(
                        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{CELL}\" height=\"{CELL}\"/>"
                    ),
                );
                text(svg, "", c + 1, r + 1, *number);
            }
        }
    }
}
