//! `tauto shadow --html`.

use super::chart::{Chart, Point, svg};
use super::tables::{row, table, warning};
use super::{escape, page};
use crate::text::{points, seconds};
use model::{Agreement, Reading, Shadow, ShadowRow};

/// Most rows of submissions that agree; the others are in the document.
const SHOWN: usize = 500;
/// Most points of the chart: the latest.
const POINTS: usize = 2000;

/// The page of a contest in shadow: what it comes to, what differs, times there and here, and everything else.
pub fn shadow_page(shadow: &Shadow) -> String {
    let mut body = format!("<h1>{} in shadow</h1>\n", escape(&shadow.contest));
    let numbers = [
        ("submissions", shadow.submissions),
        ("agree", shadow.agree),
        ("differ", shadow.differ),
        ("not judged here", shadow.not_judged),
        ("pending", shadow.pending),
        ("not judged there", shadow.waiting),
    ];
    let head = numbers.map(|(name, _)| name);
    body.push_str(&table(&head, [row("", &numbers.map(|(_, n)| n.to_string()))].into_iter()));
    let state = if shadow.ended { "The contest has ended." } else { "The contest is running." };
    body.push_str(&format!("<p class=\"dim\">{} {state}</p>\n", escape(&shadow.url)));
    let of = |states: &'static [Agreement]| {
        shadow.results.iter().rev().filter(|row| states.contains(&row.state)).collect::<Vec<_>>()
    };
    let differ = of(&[Agreement::Differs, Agreement::NotJudged]);
    body.push_str("<h2>Differences</h2>\n");
    body.push_str(&match differ.is_empty() {
        true => "<p>None.</p>\n".to_owned(),
        false => rows(&differ),
    });
    body.push_str(&times(shadow));
    let rest = of(&[Agreement::Agrees, Agreement::Pending, Agreement::Waiting]);
    if !rest.is_empty() {
        body.push_str("<h2>All others</h2>\n");
        if rest.len() > SHOWN {
            let text = format!("The latest {SHOWN} of {}; the --json document has all.", rest.len());
            body.push_str(&warning(&text));
        }
        body.push_str(&rows(&rest[..rest.len().min(SHOWN)]));
    }
    page(&format!("{} in shadow", shadow.contest), &body)
}

fn rows(all: &[&ShadowRow]) -> String {
    let head =
        ["submission", "problem", "language", "", "there", "here", "time there", "time here", "limit", ""];
    let line = |one: &&ShadowRow| {
        let theirs = one.theirs.as_ref();
        let ours = one.ours.as_ref();
        let time = ours.map(|ours| match &ours.time {
            Reading::Known(time) => seconds(*time),
            Reading::Unknown(_) => "?".to_owned(),
        });
        let cells = [
            one.submission.clone(),
            one.problem.clone(),
            one.language.clone(),
            one.state.words().to_owned(),
            theirs.map(|t| format!("{}{}", t.kind, points(t.score))).unwrap_or_default(),
            ours.map(|o| format!("{}{}", o.verdict.code(), points(o.score))).unwrap_or_default(),
            theirs.and_then(|t| t.time).map(seconds).unwrap_or_default(),
            time.unwrap_or_default(),
            ours.map(|o| seconds(o.limit)).unwrap_or_default(),
            one.why.clone().unwrap_or_default(),
        ];
        row(if one.state == Agreement::Differs { "void" } else { "" }, &cells)
    };
    table(&head, all.iter().map(line))
}

/// Times there and here, of each submission that has both: a cross where verdicts differ.
fn times(shadow: &Shadow) -> String {
    let point = |one: &ShadowRow| {
        let there = one.theirs.as_ref()?.time?;
        let ours = one.ours.as_ref()?;
        let here = *ours.time.known()?;
        Some(Point {
            x: there.as_secs_f64(),
            y: here.as_secs_f64(),
            interval: None,
            void: one.state == Agreement::Differs,
            title: format!("{}: {} there, {} here", one.submission, seconds(there), seconds(here)),
        })
    };
    let points: Vec<Point> = shadow.results.iter().rev().filter_map(point).take(POINTS).collect();
    if points.is_empty() {
        return String::new();
    }
    let title = format!("Times of {} submissions there and here", points.len());
    let chart = Chart {
        title: &title,
        x_label: "time there (s)",
        y_label: "time here (s)",
        whole: false,
        points,
        limits: Vec::new(),
    };
    format!("<h2>Times</h2>\n<div class=\"wide\">{}</div>\n", svg(&chart))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Confidence, Nanos, Ours, Theirs, Verdict};

    #[test]
    fn differences_stand_first_and_names_stay_text() {
        let one = |id: &str, state| ShadowRow {
            submission: id.into(),
            problem: "<b>A".into(),
            language: "cpp".into(),
            state,
            theirs: Some(Theirs {
                kind: "TLE".into(),
                simplified: Some("TLE".into()),
                time: Some(Nanos::from_millis(1234)),
                score: None,
            }),
            ours: Some(Ours {
                verdict: Verdict::Accepted,
                time: Reading::Known(Nanos::from_millis(250)),
                limit: Nanos::from_secs(1),
                memory: Reading::Known(Bytes(1)),
                score: None,
                confidence: Confidence::Clear,
                runs: 3,
            }),
            why: None,
        };
        let rows = vec![one("7", Agreement::Agrees), one("8", Agreement::Differs)];
        let shadow = Shadow::new("wf", "http://x/api", false, rows);
        let page = shadow_page(&shadow);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(at("<td>8</td>") < at("<td>7</td>"));
        assert!(page.contains("&lt;b&gt;A") && page.contains("1.234 s") && page.contains("0.250 s"));
        assert!(page.contains("class=\"cross\"") && page.contains("1.234 s there, 0.250 s here"));
        let line = crate::text::shadow_line(&shadow.results[1], Default::default());
        assert_eq!(
            line,
            "differs     8 <b>A cpp                   there TLE  1.234 s  here AC   0.250 s of 1.000 s\n"
        );
        assert_eq!(crate::text::shadow_summary(&shadow), "wf: 2 submissions: 1 agree, 1 differ\n");
    }
}
