//! Lines for the terminal.

mod audit;
mod bench;
mod clocks;
mod consistency;
mod doctor;
mod fleet;
mod index;
mod judge;
mod ladder;
mod languages;
mod layout;
mod ledger;
mod limits;
mod link_order;
mod numa;
mod perturb;
mod run;
mod shadow;
mod slots;
mod table;
mod trace;
mod tune;
mod verify;

pub use audit::audit_table;
pub use bench::bench_report;
pub use clocks::clocks_table;
pub use consistency::consistency_report;
pub use doctor::doctor_lines;
pub use fleet::comparison_table;
pub use index::index_table;
pub use judge::{judgement_lines, test_line, warning_line};
pub(crate) use ladder::isolation as isolation_name;
pub use ladder::ladder_report;
pub use languages::languages_table;
pub use layout::layout_report;
pub use ledger::ledger_lines;
pub use limits::limits_report;
pub use link_order::link_order_report;
pub(crate) use numa::ranges;
pub use numa::{mask_lines, topology_table};
pub use perturb::perturb_report;
pub(crate) use run::isolation;
pub use run::run_summary;
pub(crate) use shadow::{points, seconds};
pub use shadow::{shadow_line, shadow_summary};
pub use slots::slots_table;
pub use table::plain_table;
pub use trace::trace_report;
pub use tune::{boot_lines, noise_lines, tuning_table};
pub use verify::{checked_line, limit_lines, verify_summary};

use model::{Reading, Verdict};
use std::fmt;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours may be used.
    pub colour: bool,
    /// Columns; `None`: no bound.
    pub width: Option<u16>,
}

#[derive(Clone, Copy)]
enum Paint {
    Green,
    Red,
    Yellow,
    Magenta,
    Dim,
}

impl Style {
    fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Green => 32,
            Paint::Red => 31,
            Paint::Yellow => 33,
            Paint::Magenta => 35,
            Paint::Dim => 2,
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// A verdict, padded to three columns.
    fn verdict(self, verdict: Verdict) -> String {
        let paint = match verdict {
            Verdict::Accepted => Paint::Green,
            Verdict::PartiallyAccepted => Paint::Yellow,
            Verdict::JudgeError => Paint::Magenta,
            _ => Paint::Red,
        };
        self.paint(paint, &format!("{verdict:<3}"))
    }

    /// Text on lines of its own, so far from the left and no wider than the terminal: the first lines of it. Each ends with a line end.
    fn paragraph(self, indent: usize, text: &str) -> String {
        let room = self.width.map_or(usize::MAX, |width| usize::from(width).saturating_sub(indent).max(20));
        let text = harmless(text);
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let wrapped: Vec<String> = lines.flat_map(|line| wrap(line, room)).take(PARAGRAPH + 1).collect();
        let mut paragraph = String::new();
        for line in wrapped.iter().take(PARAGRAPH) {
            paragraph += &format!("{:indent$}{line}\n", "");
        }
        if wrapped.len() > PARAGRAPH {
            paragraph += &format!("{:indent$}…\n", "");
        }
        paragraph
    }

    /// What still fits behind `used` columns, on one line.
    fn rest(self, used: usize, text: &str) -> String {
        let room = self.width.map_or(usize::MAX, |width| usize::from(width).saturating_sub(used).max(20));
        clip(&harmless(text.lines().next().unwrap_or_default()), room)
    }
}

/// Text of programs, without what would steer a terminal, or turn the order in which text is read. Line ends and tabs
/// stay.
pub fn harmless(text: &str) -> String {
    // The bidirectional controls of Unicode (UAX #9).
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().map(|c| if steers(c) || turns(c) { '·' } else { c }).collect()
}

/// Lines of a paragraph that are shown.
const PARAGRAPH: usize = 6;

/// A line in lines of so many characters, broken at spaces where there are any.
fn wrap(line: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    while rest.len() > room {
        let space = rest[..=room].iter().rposition(|c| *c == ' ').filter(|at| *at > 0);
        let tail = rest.split_off(space.unwrap_or(room));
        lines.push(rest.iter().collect());
        rest = tail.into_iter().skip_while(|c| *c == ' ').collect();
    }
    lines.push(rest.iter().collect());
    lines
}

fn clip(text: &str, columns: usize) -> String {
    match text.char_indices().nth(columns) {
        None => text.to_string(),
        Some(_) => text.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A reading for people: the value, or `unknown (why)`.
fn shown<T: fmt::Display>(reading: &Reading<T>) -> String {
    match reading {
        Reading::Known(value) => value.to_string(),
        Reading::Unknown(why) => format!("unknown ({why})"),
    }
}

/// `1 test`, `2 tests`.
fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_cannot_steer_the_terminal() {
        let style = Style { colour: false, width: Some(40) };
        assert_eq!(style.rest(0, "a\u{1b}[2Jb\u{7}\u{9b}\u{202e}\nsecond line"), "a·[2Jb···");
        assert_eq!(style.rest(15, &"é".repeat(60)), format!("{}…", "é".repeat(24)));
        assert_eq!(style.rest(39, &"x".repeat(60)).chars().count(), 20);
        assert_eq!(Style::default().rest(15, &"x".repeat(600)).len(), 600);
    }

    #[test]
    fn paragraphs_are_wrapped() {
        let style = Style { colour: false, width: Some(30) };
        let text = "expected `4`, found `5` in\nline\u{7} 3\n\nxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        let expected =
            "     expected `4`, found `5`\n     in\n     line· 3\n     xxxxxxxxxxxxxxxxxxxxxxxxx\n     xxx\n";
        assert_eq!(style.paragraph(5, text), expected);
        assert_eq!(style.paragraph(2, &"a\n".repeat(9)), format!("{}  …\n", "  a\n".repeat(PARAGRAPH)));
        assert_eq!(Style::default().paragraph(5, &"x ".repeat(99)).lines().count(), 1);
        assert_eq!(style.paragraph(5, ""), "");
    }

    #[test]
    fn colour_only_when_asked() {
        assert_eq!(Style::default().verdict(Verdict::Accepted), "AC ");
        let colour = Style { colour: true, width: None };
        assert_eq!(colour.verdict(Verdict::Accepted), "\u{1b}[32mAC \u{1b}[0m");
        assert_eq!(colour.verdict(Verdict::JudgeError), "\u{1b}[35mJE \u{1b}[0m");
    }
}
