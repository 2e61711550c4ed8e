//! Whether a jury submission earned what its directory, its tag or submissions.yaml promises.

use crate::package::{Expectation, Glob};
use model::Verdict;

/// What a submission earned on one test case.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOutcome {
    /// Path below `data/` without extension.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// Judge and team messages.
    pub messages: Vec<String>,
}

/// What a submission earned.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionOutcome {
    /// The final verdict.
    pub verdict: Verdict,
    /// The final score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// Every test case that was run, in order.
    pub tests: Vec<TestOutcome>,
    /// Scores of the test groups, by name.
    pub groups: Vec<(String, Option<f64>)>,
}

/// Checks every part of an expectation; the error tells all that is broken, in words.
///
/// Packages promise AC, WA, TLE and RTE only. Finer verdicts count as the coarse ones they are a kind of: MLE
/// as RTE; OLE as WA, RTE or TLE (endless output passes whichever limit comes first). PA counts as AC, as graders
/// see it: how much of the score an accepted submission must have, only a score says. JE is promised by name only.
pub fn holds(expectation: &Expectation, outcome: &SubmissionOutcome) -> Result<(), Vec<String>> {
    let mut broken = Vec::new();
    check_final(expectation, outcome, &mut broken);
    check_tests("", expectation, &outcome.tests.iter().collect::<Vec<_>>(), &mut broken);
    for (pattern, inner) in &expectation.within {
        check_within(pattern, inner, outcome, &mut broken);
    }
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

fn check_final(expectation: &Expectation, outcome: &SubmissionOutcome, broken: &mut Vec<String>) {
    if outcome.verdict == Verdict::JudgeError && !expectation.verdicts.contains(&Verdict::JudgeError) {
        return broken.push("the judging ended in a judge error".into());
    }
    let verdicts = &expectation.verdicts;
    let met = verdicts.is_empty()
        || verdicts.iter().any(|v| counts_as(outcome.verdict, *v))
        || expectation.tolerated.contains(&outcome.verdict)
        || (outcome.verdict == Verdict::PartiallyAccepted && verdicts.contains(&Verdict::Accepted));
    if !met {
        broken.push(format!("the verdict is {}, expected {}", outcome.verdict, list(verdicts)));
    }
    if expectation.partial && outcome.verdict != Verdict::PartiallyAccepted {
        let score = outcome.score.map_or("no score".to_string(), |s| format!("score {s}"));
        broken.push(format!(
            "the verdict is {} with {score}, expected less than the full score",
            outcome.verdict
        ));
    }
    check_score("the score", expectation.score, outcome.score, broken);
}

/// Scores are sums of decimals: an error of representation is no broken promise.
const SLACK: f64 = 1e-6;

fn check_score(what: &str, range: Option<(f64, f64)>, score: Option<f64>, broken: &mut Vec<String>) {
    let Some((low, high)) = range else { return };
    let wanted = if low == high { format!("{low}") } else { format!("between {low} and {high}") };
    match score {
        Some(score) if score >= low - SLACK && score <= high + SLACK => {}
        Some(score) => broken.push(format!("{what} is {score}, expected {wanted}")),
        None => broken.push(format!("{what} is missing, expected {wanted}")),
    }
}

fn check_tests(place: &str, expectation: &Expectation, tests: &[&TestOutcome], broken: &mut Vec<String>) {
    let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
    let below = |t: &TestOutcome| expectation.full.zip(t.score).is_some_and(|(full, own)| own < full - SLACK);
    let earned = |t: &TestOutcome| match t.verdict {
        Verdict::Accepted if below(t) => Verdict::WrongAnswer,
        verdict => verdict,
    };
    if let Some(permitted) = &expectation.permitted
        && let Some(t) = tests.iter().find(|t| !permitted.iter().any(|v| counts_as(earned(t), *v)))
    {
        broken.push(format!("{at}{} on {}, permitted are only {}", t.verdict, t.name, list(permitted)));
    }
    let required = &expectation.required;
    if !required.is_empty() && !tests.iter().any(|t| required.iter().any(|v| counts_as(t.verdict, *v))) {
        broken.push(format!("{at}no test case got {}", list(required)));
    }
    if let Some(text) = expectation.message.as_deref().filter(|text| !text.is_empty())
        && !tests.iter().any(|t| t.messages.iter().any(|m| m.contains(text)))
    {
        broken.push(format!("{at}no message of the validator contains `{text}`"));
    }
}

/// A part of the test data: a pattern matches a test case when it matches the case or a group around it; a
/// score is demanded of the groups it matches (2025-09, "Test data groups", "Glob patterns").
fn check_within(pattern: &str, inner: &Expectation, outcome: &SubmissionOutcome, broken: &mut Vec<String>) {
    let glob = match Glob::parse(pattern) {
        Ok(glob) => glob,
        Err(why) => return broken.push(format!("submissions.yaml: {why}")),
    };
    let tests: Vec<_> = outcome.tests.iter().filter(|t| glob.matches(&t.name)).collect();
    check_tests(pattern, inner, &tests, broken);
    for (name, score) in outcome.groups.iter().filter(|(name, _)| glob.is(name)) {
        check_score(&format!("{name}: the score"), inner.score, *score, broken);
    }
}

fn counts_as(earned: Verdict, wanted: Verdict) -> bool {
    earned == wanted
        || match earned {
            Verdict::MemoryLimit => wanted == Verdict::RunTimeError,
            Verdict::OutputLimit => {
                matches!(wanted, Verdict::WrongAnswer | Verdict::RunTimeError | Verdict::TimeLimit)
            }
            _ => false,
        }
}

fn list<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> String {
    verdicts.into_iter().map(|v| v.code()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{
        Accepted as AC, JudgeError as JE, MemoryLimit as MLE, OutputLimit as OLE, PartiallyAccepted as PA,
        RunTimeError as RTE, TimeLimit as TLE, WrongAnswer as WA,
    };

    fn outcome(verdict: Verdict, tests: &[(&str, Verdict)]) -> SubmissionOutcome {
        let test = |(name, verdict): &(&str, Verdict)| TestOutcome {
            name: name.to_string(),
            verdict: *verdict,
            score: None,
            messages: vec![format!("said on {name}")],
        };
        let groups = vec![("secret/g1".into(), Some(12.5)), ("secret/g2".into(), None)];
        let tests = tests.iter().map(test).collect();
        SubmissionOutcome { verdict, score: Some(50.0), max_score: Some(100.0), tests, groups }
    }

    #[test]
    fn a_judge_error_holds_only_where_it_is_promised() {
        let fault = outcome(JE, &[("secret/1", JE)]);
        let promised =
            |verdicts: &[Verdict]| Expectation { verdicts: verdicts.to_vec(), ..Expectation::default() };
        assert_eq!(holds(&promised(&[JE]), &fault), Ok(()));
        for other in [vec![], vec![WA]] {
            assert!(holds(&promised(&other), &fault).is_err(), "{other:?}");
        }
        assert!(holds(&promised(&[JE]), &outcome(WA, &[("secret/1", WA)])).is_err());
    }

    fn tests(permitted: &[Verdict], required: &[Verdict]) -> Expectation {
        let permitted = (!permitted.is_empty()).then(|| permitted.iter().copied().collect());
        Expectation { permitted, required: required.iter().copied().collect(), ..Expectation::default() }
    }

    #[track_caller]
    fn check(expectation: Expectation, outcome: SubmissionOutcome, broken: &[&str]) {
        assert_eq!(holds(&expectation, &outcome).err().unwrap_or_default(), broken);
    }

    #[test]
    fn final_verdicts() {
        let verdicts = |v: &[Verdict]| Expectation { verdicts: v.to_vec(), ..Expectation::default() };
        let failed = &[("secret/1", WA)];
        check(verdicts(&[]), outcome(WA, failed), &[]);
        check(verdicts(&[AC, WA]), outcome(WA, failed), &[]);
        check(verdicts(&[TLE, AC]), outcome(WA, failed), &["the verdict is WA, expected TLE or AC"]);
        check(verdicts(&[RTE]), outcome(MLE, failed), &[]);
        check(verdicts(&[TLE]), outcome(OLE, failed), &[]);
        check(verdicts(&[TLE]), outcome(MLE, failed), &["the verdict is MLE, expected TLE"]);
        check(verdicts(&[AC]), outcome(PA, failed), &[]);
        check(verdicts(&[WA]), outcome(PA, failed), &["the verdict is PA, expected WA"]);
        let slow = Expectation { tolerated: vec![WA], ..verdicts(&[TLE]) };
        check(slow.clone(), outcome(WA, failed), &[]);
        check(slow, outcome(RTE, failed), &["the verdict is RTE, expected TLE"]);
        check(verdicts(&[]), outcome(JE, failed), &["the judging ended in a judge error"]);
    }

    #[test]
    fn a_test_below_the_full_score_may_count_as_wrong() {
        let wrong = Expectation { full: Some(5.0), ..tests(&[WA], &[]) };
        let scored = |score| {
            let mut one = outcome(PA, &[("secret/1", AC)]);
            one.tests[0].score = Some(score);
            one
        };
        check(wrong.clone(), scored(4.5), &[]);
        check(wrong, scored(5.0), &["AC on secret/1, permitted are only WA"]);
        check(tests(&[WA], &[]), scored(4.5), &["AC on secret/1, permitted are only WA"]);
    }

    #[test]
    fn scores() {
        let partial = Expectation { partial: true, verdicts: vec![PA], ..Expectation::default() };
        check(partial.clone(), outcome(PA, &[]), &[]);
        check(
            partial,
            outcome(AC, &[]),
            &[
                "the verdict is AC, expected PA",
                "the verdict is AC with score 50, expected less than the full score",
            ],
        );
        let score = |low, high| Expectation { score: Some((low, high)), ..Expectation::default() };
        check(score(50.0, 50.0), outcome(PA, &[]), &[]);
        check(score(0.0, 49.0), outcome(PA, &[]), &["the score is 50, expected between 0 and 49"]);
        let none = SubmissionOutcome { score: None, ..outcome(WA, &[]) };
        check(score(3.0, 3.0), none, &["the score is missing, expected 3"]);
    }

    #[test]
    fn permitted_and_required_verdicts_of_tests() {
        let run = |verdict| outcome(AC, &[("sample/1", AC), ("secret/1", verdict)]);
        check(tests(&[AC, WA], &[WA]), run(WA), &[]);
        check(tests(&[AC, RTE], &[RTE]), run(MLE), &[]);
        check(tests(&[AC, WA], &[]), run(TLE), &["TLE on secret/1, permitted are only AC or WA"]);
        check(tests(&[], &[TLE, WA]), run(RTE), &["no test case got WA or TLE"]);
    }

    #[test]
    fn messages_are_looked_for_in_every_test() {
        let message = |text: &str| Expectation { message: Some(text.into()), ..Expectation::default() };
        let run = || outcome(AC, &[("sample/1", AC), ("secret/1", AC)]);
        check(message("on secret"), run(), &[]);
        check(message(""), outcome(AC, &[]), &[]);
        check(message("On secret"), run(), &["no message of the validator contains `On secret`"]);
    }

    #[test]
    fn parts_of_the_test_data() {
        let run = || {
            outcome(
                TLE,
                &[("sample/1", AC), ("secret/g1/1", AC), ("secret/g1/2-hard", TLE), ("secret/g2/1", WA)],
            )
        };
        let within = |pattern: &str, inner| Expectation {
            within: vec![(pattern.into(), inner)],
            ..Expectation::default()
        };
        check(within("sample", tests(&[AC], &[])), run(), &[]);
        check(within("secret/g1", tests(&[AC, TLE], &[TLE])), run(), &[]);
        check(within("{sample,secret/g2}", tests(&[AC, WA], &[WA])), run(), &[]);
        check(within("secret/*/*-hard", tests(&[TLE], &[TLE])), run(), &[]);
        check(
            within("secret", tests(&[AC, TLE], &[RTE])),
            run(),
            &["secret: WA on secret/g2/1, permitted are only AC or TLE", "secret: no test case got RTE"],
        );
        // A star stays within one part of a name.
        check(within("s*-hard", tests(&[], &[TLE])), run(), &["s*-hard: no test case got TLE"]);
        let score = Expectation { score: Some((10.0, 10.0)), ..Expectation::default() };
        check(within("secret/g1", score.clone()), run(), &["secret/g1: the score is 12.5, expected 10"]);
        check(within("secret/g2", score.clone()), run(), &["secret/g2: the score is missing, expected 10"]);
        let text = holds(&within("secret/{g1", score), &run()).unwrap_err().concat();
        assert!(text.starts_with("submissions.yaml: `secret/{g1` is not a pattern"), "{text}");
    }
}
