//! `tauto verify` for people.

use super::judge::{compiler_lines, group_lines, weaker_lines};
use super::{Paint, Style, count, harmless};
use crate::calibration::times;
use model::{Bound, CheckOutcome, Checked, Judgement, Reading, Verdict, Verification};

/// One line for a jury submission, and one more for each promise it did not keep. Ends with a line end.
pub fn checked_line(package: &str, checked: &Checked, style: Style) -> String {
    let path = checked.path.strip_prefix("submissions/").unwrap_or(&checked.path);
    let place = format!("{package}: {path}");
    match &checked.outcome {
        CheckOutcome::Skipped(why) => {
            format!("{}  {place:<44} {}\n", style.paint(Paint::Dim, "skipped "), harmless(why))
        }
        CheckOutcome::Judged { judgement, broken } => {
            let (paint, word) =
                if broken.is_empty() { (Paint::Green, "ok      ") } else { (Paint::Red, "mismatch") };
            let mut text =
                format!("{}  {place:<44} {}\n", style.paint(paint, word), earned(judgement, style));
            broken.iter().for_each(|what| text += &format!("          {}\n", harmless(what)));
            if !broken.is_empty() {
                text += &reason(judgement, style);
                text += &group_lines(&judgement.groups, 10);
            }
            text
        }
    }
}

/// What the compiler says, or the jury's message of the first test that was not accepted.
fn reason(judgement: &Judgement, style: Style) -> String {
    let rejected = judgement.tests.iter().find(|t| t.verdict != Verdict::Accepted && !t.message.is_empty());
    match rejected {
        Some(test) => style.paragraph(10, &format!("{} on {}: {}", test.verdict, test.name, test.message)),
        None => compiler_lines(judgement),
    }
}

/// `WA   10 AC, 2 WA, 37.5 of 100 points`.
fn earned(judgement: &Judgement, style: Style) -> String {
    let with = |verdict: Verdict| judgement.tests.iter().filter(|t| t.verdict == verdict).count();
    let counts = Verdict::ALL.into_iter().map(|v| (with(v), v)).filter(|(n, _)| *n > 0);
    let mut parts: Vec<_> = counts.map(|(n, v)| format!("{n} {v}")).collect();
    if let Some(score) = judgement.score {
        let max = judgement.max_score.map_or(String::new(), |max| format!(" of {max}"));
        parts.push(format!("{score}{max} points"));
    }
    if let Some(fault) = &judgement.fault {
        parts.push(harmless(fault));
    }
    format!("{}  {}", style.verdict(judgement.verdict), parts.join(", "))
}

/// The time limit of a package, where it comes from, and how far its submissions stay away from it. Ends with a line end.
pub fn limit_lines(verification: &Verification) -> String {
    let limit = match (&verification.time_limit, &verification.time_limit_source) {
        (Reading::Known(limit), Some(source)) => format!("{limit} ({})", harmless(source)),
        _ => return String::new(),
    };
    let mut text = format!("limit     {}: {limit}\n", verification.package);
    let short = |path: &str| harmless(path.strip_prefix("submissions/").unwrap_or(path));
    if let Some(Bound { path, charge, of_limit, .. }) = verification.slowest_accepted() {
        let margin = if of_limit > 0.0 {
            format!(", the limit is {} × that", times(1.0 / of_limit))
        } else {
            String::new()
        };
        text += &format!("          slowest accepted {charge}, {}{margin}\n", short(path));
    }
    if let Some(Bound { path, charge, of_limit, stopped }) = verification.fastest_too_slow() {
        let (over, more) = if stopped { ("over ", "more than ") } else { ("", "") };
        text += &format!(
            "          fastest too slow {over}{charge}, {}, {more}{} × the limit\n",
            short(path),
            times(of_limit)
        );
    }
    text
}

/// One line for each package that is wrong as a whole, the final line, and what was not in force.
pub fn verify_summary(verifications: &[Verification], style: Style) -> String {
    let mut text = String::new();
    for (verification, fault) in verifications.iter().filter_map(|v| Some((v, v.fault.as_ref()?))) {
        text += &format!(
            "{}  {}: {}\n",
            style.paint(Paint::Red, "mismatch"),
            verification.package,
            harmless(fault)
        );
    }
    let skipped: usize = verifications.iter().map(Verification::skipped).sum();
    let mismatches: usize = verifications.iter().map(Verification::mismatches).sum();
    let judged: usize = verifications.iter().map(Verification::judged).sum();
    let warnings: usize = verifications.iter().map(|v| v.warnings.len()).sum();
    let good = verifications.iter().all(Verification::ok);
    let mut parts = vec![
        count(verifications.len(), "package"),
        count(judged, "submission"),
        if judged == 0 { "nothing was verified".into() } else { count_mismatches(mismatches) },
    ];
    match verifications.iter().filter(|v| v.fault.is_some()).count() {
        0 => {}
        1 => parts.push("1 package is bad".into()),
        n => parts.push(format!("{n} packages are bad")),
    }
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    if warnings > 0 {
        parts.push(count(warnings, "warning"));
    }
    let word = match (good, judged) {
        (false, _) => style.paint(Paint::Red, "mismatch"),
        (true, 0) => style.paint(Paint::Yellow, "nothing "),
        (true, _) => style.paint(Paint::Green, "ok      "),
    };
    text += &format!("{word}  {}\n", parts.join(", "));
    let mut weaker: Vec<&str> = Vec::new();
    let judgements = verifications.iter().flat_map(|v| &v.submissions).filter_map(Checked::judgement);
    for what in judgements.flat_map(Judgement::weaker) {
        if !weaker.contains(&what) {
            weaker.push(what);
        }
    }
    text + &weaker_lines(&weaker, style)
}

fn count_mismatches(n: usize) -> String {
    match n {
        0 => "all as expected".into(),
        1 => "1 not as expected".into(),
        n => format!("{n} not as expected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn packages() {
        let verifications = samples::verifications();
        let mut text = String::new();
        for verification in &verifications {
            for checked in &verification.submissions {
                text += &checked_line(&verification.package, checked, Style::default());
            }
            text += &limit_lines(verification);
        }
        text += &verify_summary(&verifications, Style::default());
        text += &verify_summary(&[], Style::default());
        insta::assert_snapshot!("verify_lines", text);
    }
}
