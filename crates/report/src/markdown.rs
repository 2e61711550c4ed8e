//! Text to paste into an issue: GitHub-flavoured Markdown. What was read on the machine, names of processes above all,
//! stands in code, where it is neither markup, nor a mention, nor a reference.

use crate::audit::{SEVERITIES, bad, badges, kind, one_line, summary, with};
use crate::text::harmless;
use model::{Audit, Finding, FindingState, Reading};

/// An audit: what is bad in full, the rest as tables that can be unfolded. Ends with a line end.
pub fn audit(audit: &Audit) -> String {
    let machine = &audit.machine;
    let model = match &machine.cpu_model {
        Reading::Known(model) => code(model),
        Reading::Unknown(why) => format!("processor unknown ({})", prose(why)),
    };
    let mut text = format!(
        "## Audit: {}\n\n{}, {model}, fingerprint {}\n",
        summary(audit),
        kind(machine.kind),
        code(&machine.fingerprint)
    );
    for (severity, word, meaning) in SEVERITIES {
        let findings = bad(audit, severity);
        if !findings.is_empty() {
            text += &format!("\n### Bad, {word}: {meaning}\n");
        }
        findings.into_iter().for_each(|finding| text += &bad_section(finding));
    }
    for (state, word) in [
        (FindingState::Unknown, "unknown"),
        (FindingState::Ok, "ok"),
        (FindingState::NotApplicable, "not applicable"),
    ] {
        text += &table(word, &with(audit, state));
    }
    text
}

fn bad_section(finding: &Finding) -> String {
    let mut text = format!(
        "\n**{}**: {} in {}\\\n{}\n",
        code(&finding.id),
        code(&finding.observed),
        code(&finding.source),
        prose(&finding.why)
    );
    if !finding.who.is_empty() {
        let names: Vec<String> = finding.who.iter().map(|name| code(name)).collect();
        text += &format!("\nwho: {}\n", names.join(", "));
    }
    if let Some(remedy) = &finding.remedy {
        let command = harmless(&one_line(&remedy.command));
        let fence = "`".repeat((longest_ticks(&command) + 1).max(3));
        text += &format!("\n{fence}\n{command}\n{fence}\n\n{}\n", badges(remedy).join(" · "));
    }
    text
}

fn table(word: &str, findings: &[&Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let rows: String =
        findings.iter().map(|f| format!("| {} | {} |\n", code(&f.id), cell(&f.observed))).collect();
    format!(
        "\n<details><summary>{} {word}</summary>\n\n| id | |\n|---|---|\n{rows}\n</details>\n",
        findings.len()
    )
}

/// Code in a cell of a table, where a bar would end the cell even within code.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Text as code, whatever is in it.
fn code(text: &str) -> String {
    let text = harmless(&one_line(text));
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Our own sentences: marks lose their meaning, and what would become a reference to an issue or a person is code.
fn prose(text: &str) -> String {
    const MARKS: [char; 10] = ['\\', '`', '*', '_', '[', ']', '<', '>', '|', '~'];
    let word = |word: &str| {
        if word.contains(['#', '@']) {
            return code(word);
        }
        let escaped = |c: char| if MARKS.contains(&c) { vec!['\\', c] } else { vec![c] };
        harmless(word).chars().flat_map(escaped).collect()
    };
    text.split_whitespace().map(word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn audits() {
        insta::assert_snapshot!("audit", audit(&samples::audit()));
        insta::assert_snapshot!("audit_quiet", audit(&samples::quiet_audit()));
    }

    #[test]
    fn what_is_read_stays_text() {
        for (text, wanted) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("``a", "``` ``a ```"),
            ("@you #1\n\n# x", "`@you #1 # x`"),
            ("", "`  `"),
        ] {
            assert_eq!(code(text), wanted, "{text:?}");
        }
        assert_eq!(cell("a|b"), "`a\\|b`");
        assert_eq!(prose("isolate #126 at <x> a_b"), "isolate `#126` at \\<x\\> a\\_b");
    }
}
