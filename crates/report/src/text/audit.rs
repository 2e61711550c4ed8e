//! `tauto audit` for people.

use super::{Paint, Style, clip, harmless, shown};
use crate::audit::{SEVERITIES, bad, badges, kind, one_line, summary, with};
use model::{Audit, Finding, FindingState, Severity};

/// Columns before the text of a finding: two, an id (the longest of them has 18), two.
const INDENT: usize = 22;

/// Columns that text is given at least, however narrow the terminal.
const LEAST: usize = 24;

/// An audit as lines: what is bad in full, the worst first; why things are unknown; what is ok on a line each; what the
/// machine does not have on one. Text is folded at the width, commands are not, so that they can be copied. Ends with
/// a line end.
pub fn audit_table(audit: &Audit, style: Style) -> String {
    let mut text = machine_line(audit, style);
    for (severity, word, meaning) in SEVERITIES {
        let findings = bad(audit, severity);
        text += &heading(&format!("bad, {word}"), meaning, paint_of(severity), findings.len(), style);
        findings.into_iter().for_each(|finding| text += &bad_row(finding, paint_of(severity), style));
    }
    let unknown = with(audit, FindingState::Unknown);
    text += &heading("unknown", "could not be checked and may be bad", Paint::Magenta, unknown.len(), style);
    for finding in unknown {
        text += &folded(&id(finding, Paint::Magenta, style), &finding.observed, style);
    }
    let ok = with(audit, FindingState::Ok);
    text += &heading("ok", "checked and quiet", Paint::Green, ok.len(), style);
    for finding in ok {
        let observed = style.rest(INDENT, &one_line(&finding.observed));
        text += &format!("{}{observed}\n", id(finding, Paint::Green, style));
    }
    let absent: Vec<&str> =
        with(audit, FindingState::NotApplicable).into_iter().map(|finding| &*finding.id).collect();
    if !absent.is_empty() {
        text += &format!("\n{}  {}\n", style.paint(Paint::Dim, "not applicable"), absent.join(", "));
    }
    let paint = if audit.is_bad() { Paint::Red } else { Paint::Green };
    text + "\n" + &style.paint(paint, &summary(audit)) + "\n"
}

fn machine_line(audit: &Audit, style: Style) -> String {
    let machine = &audit.machine;
    let model = one_line(&shown(&machine.cpu_model));
    let line = format!("{}, {model}, fingerprint {}", kind(machine.kind), machine.fingerprint);
    lines(&line, style.width.map_or(usize::MAX, usize::from).max(LEAST)).join("\n") + "\n"
}

fn paint_of(severity: Severity) -> Paint {
    match severity {
        Severity::High | Severity::Medium => Paint::Red,
        Severity::Low => Paint::Yellow,
    }
}

/// A blank line and what the group is; nothing for an empty group.
fn heading(word: &str, meaning: &str, paint: Paint, findings: usize, style: Style) -> String {
    match findings {
        0 => String::new(),
        _ => format!("\n{}: {meaning}\n", style.paint(paint, word)),
    }
}

fn id(finding: &Finding, paint: Paint, style: Style) -> String {
    let padded = format!("{:<width$}", finding.id, width = INDENT - 4);
    format!("  {}  ", style.paint(paint, &padded))
}

fn bad_row(finding: &Finding, paint: Paint, style: Style) -> String {
    let margin = " ".repeat(INDENT);
    let observed = match finding.observed.contains(&finding.source) {
        true => finding.observed.clone(),
        false => format!("{} ({})", finding.observed, finding.source),
    };
    let mut text = folded(&id(finding, paint, style), &observed, style);
    text += &folded(&margin, &finding.why, style);
    if !finding.who.is_empty() {
        text += &folded(&margin, &format!("who: {}", finding.who.join(", ")), style);
    }
    let (command, last) = match &finding.remedy {
        None => (String::new(), "no remedy on this machine".into()),
        Some(remedy) => {
            let command = harmless(&one_line(&remedy.command));
            (format!("{margin}> {command}\n"), badges(remedy).join(" · "))
        }
    };
    text += &command;
    for line in lines(&last, room(style)) {
        text += &format!("{margin}{}\n", style.paint(Paint::Dim, &line));
    }
    text
}

/// Columns for the text of a finding.
fn room(style: Style) -> usize {
    style.width.map_or(usize::MAX, |width| usize::from(width).saturating_sub(INDENT).max(LEAST))
}

/// Text behind a head of [`INDENT`] columns, folded.
fn folded(head: &str, text: &str, style: Style) -> String {
    let between = format!("\n{}", " ".repeat(INDENT));
    format!("{head}{}\n", lines(text, room(style)).join(&between))
}

/// Text in lines of at most so many columns, broken at spaces; longer words are cut short.
fn lines(text: &str, columns: usize) -> Vec<String> {
    let text = harmless(&one_line(text));
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').map(|word| clip(word, columns)) {
        let wide = word.chars().count();
        if used > 0 && used + 1 + wide > columns {
            lines.push(String::new());
            used = 0;
        }
        let line = lines.last_mut().expect("there is always a line");
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(&word);
        used += wide;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use model::Scope;

    #[test]
    fn audits() {
        let table = |width, colour| audit_table(&samples::audit(), Style { colour, width });
        insta::assert_snapshot!("audit_wide", table(None, false));
        insta::assert_snapshot!("audit_narrow", table(Some(70), false));
        insta::assert_snapshot!("audit_colour", table(Some(100), true).replace('\u{1b}', "ESC"));
        insta::assert_snapshot!("audit_quiet", audit_table(&samples::quiet_audit(), Style::default()));
    }

    #[test]
    fn no_line_but_a_command_is_wider_than_the_terminal() {
        for width in [46, 60, 80, 120, 200] {
            let text = audit_table(&samples::audit(), Style { colour: false, width: Some(width) });
            let folded = text.lines().filter(|line| !line.trim_start().starts_with("> "));
            // Headings, the line of what is absent and the summary are short and fixed, and not folded.
            let wide: Vec<&str> = folded
                .filter(|line| line.starts_with("   ") && line.chars().count() > usize::from(width))
                .collect();
            assert!(wide.is_empty(), "{width}: {wide:#?}");
        }
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let text = audit_table(&samples::audit(), Style { colour: false, width: Some(100) });
        let steering = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(steering) && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("·[2Jevil"), "{text}");
    }

    #[test]
    fn badges_tell_what_it_takes() {
        let audit = samples::audit();
        let of = |scope| audit.findings.iter().filter_map(|f| f.remedy.as_ref()).find(|r| r.scope == scope);
        let shown = |scope| badges(of(scope).unwrap()).join(" · ");
        assert_eq!(shown(Scope::Runtime), "run time · root · can be undone");
        assert_eq!(shown(Scope::Boot), "boot · root · reboot · can be undone");
        assert_eq!(shown(Scope::Firmware), "firmware · reboot · cannot be undone");
        assert_eq!(shown(Scope::Process), "this process only · can be undone");
    }
}
