//! `tauto judge` for people.

use super::{Paint, Style, count, harmless, shown};
use model::{Confidence, GroupScore, Judgement, SecondOpinion, TestResult, Verdict};

/// Lines of compiler output that are shown.
const COMPILER_LINES: usize = 20;

/// One line for a test case, without a line end; why it was not accepted, on lines of its own.
pub fn test_line(test: &TestResult, style: Style) -> String {
    let memory = shown(&test.memory_peak);
    let score = test.score.map_or(String::new(), |score| format!("  {score:>6} points"));
    let head = format!("{:<20} {:>9} {:>10}{score}", test.name, test.charge, memory);
    let line = format!("{}  {head}", style.verdict(test.verdict));
    if !matches!(test.verdict, Verdict::Accepted | Verdict::PartiallyAccepted) {
        return format!("{line}\n{}", style.paragraph(5, &test.message)).trim_end().to_owned();
    }
    match style.rest(5 + head.chars().count() + 2, &test.message) {
        message if message.is_empty() => line,
        message => format!("{line}  {}", style.paint(Paint::Dim, &message)),
    }
}

/// The end of a judgement: what the compiler says where it refuses, and the final line.
pub fn judgement_lines(judgement: &Judgement, style: Style) -> String {
    let mut text = compiler_lines(judgement);
    text += &group_lines(&judgement.groups, 5);
    let title = format!("{} ({})", judgement.submission, judgement.language);
    text += &format!("{}  {title}{}\n", style.verdict(judgement.verdict), details(judgement));
    text + &weaker_lines(&judgement.weaker(), style)
}

/// One line for each test group with points: its part of the score.
pub(super) fn group_lines(groups: &[GroupScore], indent: usize) -> String {
    let line = |group: &GroupScore| {
        let max = group.max_score.map_or(String::new(), |max| format!(" of {max}"));
        let name = harmless(&group.name);
        format!("{:indent$}{name:<20} {}  {:>6}{max} points\n", "", group.verdict, group.score)
    };
    groups.iter().map(line).collect()
}

/// What was not in force, where anything was not; why, and what to do about it, is in the documents.
pub(super) fn weaker_lines(weaker: &[&str], style: Style) -> String {
    match weaker {
        [] => String::new(),
        some => {
            let short: Vec<&str> =
                some.iter().map(|what| what.split([':', ';']).next().unwrap_or(what)).collect();
            style.paragraph(0, &format!("weaker: {} (see --json for the reason)", short.join(", ")))
        }
    }
}

/// What the compiler says where it refuses, a few lines of it; else nothing.
pub(super) fn compiler_lines(judgement: &Judgement) -> String {
    let mut text = String::new();
    if judgement.verdict == Verdict::CompileError {
        let output = harmless(&judgement.compile.output);
        let lines: Vec<_> = output.lines().collect();
        lines.iter().take(COMPILER_LINES).for_each(|line| text += &format!("     {line}\n"));
        if lines.len() > COMPILER_LINES {
            text += &format!("     … and {}\n", count(lines.len() - COMPILER_LINES, "more line"));
        }
    }
    text
}

fn details(judgement: &Judgement) -> String {
    let mut parts = Vec::new();
    match (judgement.score, judgement.max_score) {
        (Some(score), Some(max)) => parts.push(format!("{score} of {max} points")),
        (Some(score), None) => parts.push(format!("{score} points")),
        (None, _) => {}
    }
    if let Some(fault) = &judgement.fault {
        parts.push(harmless(fault));
    }
    let rejected = |t: &&TestResult| !matches!(t.verdict, Verdict::Accepted | Verdict::PartiallyAccepted);
    if let Some(first) = judgement.tests.iter().find(rejected) {
        parts.push(format!("{} on {}", first.verdict, first.name));
    }
    if !judgement.tests.is_empty() {
        parts.push(count(judgement.tests.len(), "test"));
        parts.push(format!("slowest {} of {}", shown(&judgement.slowest()), judgement.limit()));
        if !judgement.clock.varies() {
            parts.push(format!("by the clock {}", judgement.clock.name()));
        }
        if judgement.stopped_beyond() {
            parts.push("stopped above the limit".into());
        }
        parts.push(shown(&judgement.memory_peak()));
    }
    match judgement.settled.confidence {
        Confidence::Clear => {}
        Confidence::Settled => {
            parts.push(format!("settled by {}", count(judgement.settled.runs as usize, "run")))
        }
        Confidence::Confirmed => {
            parts.extend(judgement.second_opinion().map(|opinion| second_opinion(&opinion)))
        }
        Confidence::Open => parts.push("too close to the limit to be certain".into()),
    }
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// What the reference clock says, with both of its figures.
fn second_opinion(opinion: &SecondOpinion) -> String {
    let (time, limit) = (opinion.charge(), opinion.limit());
    format!(
        "too close to the limit to be certain, decided by {} {time:#} of {limit:#}",
        opinion.clock.label()
    )
}

/// One line for a warning about a package, without a line end.
pub fn warning_line(place: &str, message: &str, style: Style) -> String {
    format!("{} {}: {}", style.paint(Paint::Yellow, "warning:"), harmless(place), harmless(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use model::Settled;

    #[test]
    fn tests_and_final_lines() {
        let narrow = Style { colour: false, width: Some(80) };
        let open = Settled { confidence: Confidence::Open, runs: 9, void_runs: 1 };
        let repeated = Settled { confidence: Confidence::Settled, ..open };
        let confirmed =
            [(Verdict::Accepted, 900, true), (Verdict::TimeLimit, 1100, false)].map(samples::confirmed);
        let scored =
            TestResult { score: Some(12.5), ..samples::test("secret/g1/02", Verdict::Accepted, 900, "") };
        let mut text = String::new();
        let slow = samples::too_slow();
        for test in samples::judgement(Verdict::WrongAnswer).tests.iter().chain([&scored]).chain(&slow.tests)
        {
            text += &(test_line(test, narrow) + "\n");
        }
        for judgement in [
            samples::judgement(Verdict::Accepted),
            samples::judgement(Verdict::WrongAnswer),
            samples::partly(),
            samples::judge_error(),
            samples::compile_error(),
            Judgement { settled: open, ..samples::judgement(Verdict::TimeLimit) },
            samples::too_slow(),
            Judgement { settled: repeated, ..samples::judgement(Verdict::Accepted) },
        ] {
            text += &judgement_lines(&judgement, narrow);
        }
        confirmed.iter().for_each(|judgement| text += &judgement_lines(judgement, narrow));
        text += &warning_line("problem.yaml:3: limits.memory", "is not a number", narrow);
        insta::assert_snapshot!("judge_lines", text);
    }

    #[test]
    fn long_compiler_output_is_cut() {
        let mut judgement = samples::compile_error();
        judgement.compile.output = "error\n".repeat(COMPILER_LINES + 1);
        let text = judgement_lines(&judgement, Style::default());
        assert_eq!(text.lines().count(), COMPILER_LINES + 2);
        assert!(text.contains("\n     … and 1 more line\n"), "{text}");
    }
}
