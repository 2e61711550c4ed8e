//! What a run of tests came to and what it took, slowest first.

use super::Step;
use super::run::{Outcome, State, Test};
use std::io::{self, Write};
use std::time::Duration;

/// From here on a suite or a test is listed.
const LISTED: Duration = Duration::from_secs(5);

/// Prints it; whether all is well.
pub(super) fn tell(steps: &[Step], outcomes: &[Outcome], strict: bool) -> bool {
    let (text, good) = text(steps, outcomes, strict);
    // Nobody may be there to read it.
    let _ = io::stdout().write_all(text.as_bytes());
    good
}

fn text(steps: &[Step], outcomes: &[Outcome], strict: bool) -> (String, bool) {
    let mut text = String::from("\nTime by part:\n");
    for step in steps {
        text += &row(step.took, step.name);
    }
    let slow = |took: &Duration| *took >= LISTED;
    let suites = outcomes.iter().map(|one| (one.took, suite_row(one)));
    text += &slowest("Suites over 5 s, and their CPU time:", suites.filter(|(took, _)| slow(took)).collect());
    let named = |one: &Outcome, test: &Test| format!("{} {}", one.suite, test.name);
    let tests =
        outcomes.iter().flat_map(|one| one.tests.iter().map(move |test| (test.took, named(one, test))));
    text += &slowest("Tests over 5 s:", tests.filter(|(took, _)| slow(took)).collect());
    let of = |state: State| -> Vec<String> {
        let all = outcomes.iter().flat_map(|one| one.tests.iter().map(move |test| (one, test)));
        all.filter(|(_, test)| test.state == state).map(|(one, test)| named(one, test)).collect()
    };
    let (skipped, mut failed) = (of(State::Skipped), of(State::Failed));
    // A suite that ends badly without a failed test has crashed, or could not begin.
    let told = |test: &Test| matches!(test.state, State::Failed | State::Flaky);
    let crashed = outcomes.iter().filter(|one| !one.good && !one.tests.iter().any(told));
    failed.extend(crashed.map(|one| format!("{}: ended with a failure of its own", one.suite)));
    text += &list("Skipped:", &skipped);
    for one in outcomes.iter().filter(|one| !one.report.is_empty()) {
        text += &format!("\n{} said:\n{}", one.suite, one.report);
    }
    let flaky = of(State::Flaky);
    text += &list("Failed, then passed when run again alone:", &flaky);
    text += &list("Failed:", &failed);
    let passed = of(State::Passed).len();
    text += &format!("\n{passed} passed, {} failed, {} skipped", failed.len(), skipped.len());
    text += &if flaky.is_empty() { "\n".into() } else { format!(", {} flaky\n", flaky.len()) };
    (text, failed.is_empty() && (skipped.is_empty() || !strict))
}

fn suite_row(one: &Outcome) -> String {
    let cpu = one.cpu.map_or("        –".into(), |cpu| format!("{:7.1} s", cpu.as_secs_f64()));
    format!("{cpu}  {}", one.suite)
}

fn row(took: Duration, name: &str) -> String {
    format!("  {:7.1} s  {name}\n", took.as_secs_f64())
}

fn slowest(head: &str, mut rows: Vec<(Duration, String)>) -> String {
    rows.sort_by(|a, b| b.cmp(a));
    let rows: String = rows.iter().map(|(took, name)| row(*took, name)).collect();
    if rows.is_empty() { rows } else { format!("{head}\n{rows}") }
}

fn list(head: &str, names: &[String]) -> String {
    let rows: String = names.iter().map(|name| format!("  {name}\n")).collect();
    if rows.is_empty() { rows } else { format!("{head}\n{rows}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(suite: &str, good: bool, tests: &[(&str, State, u64)]) -> Outcome {
        let test = |(name, state, took): &(&str, State, u64)| Test {
            name: (*name).into(),
            state: *state,
            took: Duration::from_secs(*took),
        };
        let took = Duration::from_secs(tests.iter().map(|(_, _, took)| took).sum());
        Outcome {
            suite: suite.into(),
            took,
            cpu: Some(2 * took),
            tests: tests.iter().map(test).collect(),
            good,
            report: String::new(),
        }
    }

    #[test]
    fn the_slowest_come_first_and_everything_is_counted() {
        let steps = [Step { name: "build", took: Duration::from_secs(61) }];
        let outcomes = [
            outcome("quick", true, &[("a", State::Passed, 1)]),
            outcome(
                "slow",
                true,
                &[("b", State::Passed, 7), ("c", State::Skipped, 0), ("d", State::Passed, 9)],
            ),
        ];
        let (told, good) = text(&steps, &outcomes, false);
        assert!(good);
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        let expected = [
            "",
            "Time by part:",
            "61.0 s  build",
            "Suites over 5 s, and their CPU time:",
            "16.0 s     32.0 s  slow",
            "Tests over 5 s:",
            "9.0 s  slow d",
            "7.0 s  slow b",
            "Skipped:",
            "slow c",
            "",
            "3 passed, 0 failed, 1 skipped",
        ];
        assert_eq!(lines, expected);
        assert!(!text(&steps, &outcomes, true).1, "a skip is a failure where none is allowed");
    }

    #[test]
    fn what_failed_first_is_told_with_its_report() {
        let mut one = outcome("odd", false, &[("a", State::Flaky, 0), ("b", State::Passed, 0)]);
        one.report = "failures:\n1 is not 2\n".into();
        let (told, good) = text(&[], &[one], true);
        assert!(good, "{told}");
        for line in ["odd said:", "1 is not 2", "  odd a", "1 passed, 0 failed, 0 skipped, 1 flaky"] {
            assert!(told.lines().any(|told| told == line), "{line}: {told}");
        }
    }

    #[test]
    fn a_suite_that_crashes_has_failed() {
        let (told, good) = text(&[], &[outcome("gone", false, &[("a", State::Passed, 0)])], false);
        assert!(!good && told.contains("gone: ended") && told.contains("1 passed, 1 failed"), "{told}");
        let (told, good) = text(&[], &[outcome("bad", false, &[("a", State::Failed, 0)])], false);
        assert!(!good && told.contains("0 passed, 1 failed"), "{told}");
    }
}
