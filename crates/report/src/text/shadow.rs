//! `tauto shadow` for people.

use super::{Paint, Style, harmless};
use model::{Agreement, Nanos, Reading, Shadow, ShadowRow};

/// One line for a submission: how both stand to each other, and verdicts and times side by side. Ends with a line end.
pub fn shadow_line(row: &ShadowRow, style: Style) -> String {
    let paint = match row.state {
        Agreement::Agrees => Paint::Green,
        Agreement::Differs => Paint::Red,
        Agreement::NotJudged => Paint::Yellow,
        Agreement::Pending | Agreement::Waiting => Paint::Dim,
    };
    let state = style.paint(paint, &format!("{:<10}", row.state.words()));
    let place =
        format!("{} {} {}", harmless(&row.submission), harmless(&row.problem), harmless(&row.language));
    let said = match &row.why {
        Some(why) => harmless(why.lines().next().unwrap_or_default()),
        None => format!("there {}  here {}", theirs(row), ours(row)),
    };
    format!("{state}  {place:<28} {said}\n")
}

/// Seconds to the millisecond, as contests tell them.
pub(crate) fn seconds(time: Nanos) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

pub(crate) fn points(score: Option<f64>) -> String {
    score.map_or_else(String::new, |score| format!(" {score} points"))
}

fn theirs(row: &ShadowRow) -> String {
    let Some(theirs) = &row.theirs else { return format!("{:<12}", "-") };
    let time = theirs.time.map_or_else(|| "?".into(), seconds);
    format!("{:<3} {time:>8}{}", harmless(&theirs.kind), points(theirs.score))
}

fn ours(row: &ShadowRow) -> String {
    let Some(ours) = &row.ours else { return "-".into() };
    let time = match &ours.time {
        Reading::Known(time) => seconds(*time),
        Reading::Unknown(_) => "?".into(),
    };
    format!("{:<3} {time:>8} of {}{}", ours.verdict.code(), seconds(ours.limit), points(ours.score))
}

/// What it comes to, in one line. Ends with a line end.
pub fn shadow_summary(shadow: &Shadow) -> String {
    let mut parts = vec![format!("{} agree", shadow.agree), format!("{} differ", shadow.differ)];
    let others = [
        (shadow.not_judged, "not judged here"),
        (shadow.pending, "pending"),
        (shadow.waiting, "not judged there"),
    ];
    parts.extend(others.into_iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")));
    format!("{}: {} submissions: {}\n", harmless(&shadow.contest), shadow.submissions, parts.join(", "))
}
