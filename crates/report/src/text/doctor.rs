//! `tauto doctor` for people.

use super::{Paint, Style, count};
use crate::{Check, CheckState};

/// Columns before what was found.
const INDENT: usize = 25;

/// A line or more for each check, and one that sums up.
pub fn doctor_lines(checks: &[Check], style: Style) -> String {
    let of = |state| checks.iter().filter(|check| check.state == state).count();
    let (bad, weaker) = (of(CheckState::Bad), of(CheckState::Weaker));
    let (paint, summary) = match (bad, weaker) {
        (0, 0) => (Paint::Green, "This machine can judge.".to_string()),
        (0, _) => {
            (Paint::Yellow, format!("This machine can judge; {} could be better.", count(weaker, "part")))
        }
        _ => (Paint::Red, format!("This machine cannot judge: {} must be fixed.", count(bad, "part"))),
    };
    let lines: String = checks.iter().map(|check| lines(check, style)).collect();
    format!("{lines}\n{}\n", style.paint(paint, &summary))
}

fn lines(check: &Check, style: Style) -> String {
    let paint = match check.state {
        CheckState::Ok => Paint::Green,
        CheckState::Weaker => Paint::Yellow,
        CheckState::Bad => Paint::Red,
        CheckState::Unknown => Paint::Magenta,
    };
    let found = style.paragraph(INDENT, &check.found);
    let state = style.paint(paint, &format!("{:<9}", check.state.name()));
    let remedy = check.remedy.as_deref().map_or_else(String::new, |remedy| {
        let lines = style.paragraph(INDENT + 6, remedy);
        format!("{:INDENT$}{} {}\n", "", style.paint(Paint::Dim, "hint:"), lines.trim())
    });
    format!("{state}{:<width$}{}\n{remedy}", check.id, found.trim(), width = INDENT - 9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DoctorDocument;

    #[test]
    fn what_works_and_what_mends_the_rest() {
        let checks = [
            Check::ok("slots", "2 slots"),
            Check::not(CheckState::Weaker, "clocks", "no emulator", "apt install qemu-user"),
        ];
        let text = doctor_lines(&checks, Style::default());
        let wanted = "ok       slots           2 slots\nweaker   clocks          no emulator\n                         \
                      hint: apt install qemu-user\n\nThis machine can judge; 1 part could be better.\n";
        assert_eq!(text, wanted);
        assert!(DoctorDocument::new(&checks).ok);
        let bad = [Check::not(CheckState::Bad, "sandbox", "no", "yes")];
        assert!(!DoctorDocument::new(&bad).ok);
        assert!(doctor_lines(&bad, Style::default()).ends_with("cannot judge: 1 part must be fixed.\n"));
    }
}
