//! Jury submissions and what they promise: by their directory, by a tag in their source, and by
//! `submissions.yaml`.

use super::expectations::{DIRECTORIES, DirectoryExpectation, of_tag, promise, shown, tag, tagged};
use super::field::some_of;
use super::problem::Problem;
use super::program::{ending, is_leftover, program};
use super::rules::{self, Entry, Rule, with_kinds_of_crash};
use super::tree::Child;
use super::{Expectation, FileTree, JurySubmission, OwnLimits, PackageError, Program, TimeBounds, Warning};
use crate::nearest::did_you_mean;
use model::Verdict;

/// Every test case, as a pattern below `data/`.
const EVERY_TEST: &str = "{sample,secret}";
/// Endings of files beside submissions that are none.
#[rustfmt::skip]
const NO_PROGRAMS: [&str; 19] = [
    "md", "txt", "pdf", "html", "tex", "yaml", "yml", "json", "toml", "csv", "in", "ans", "diff", "patch", "png", "jpg",
    "h", "hh", "hpp",
];

/// Every submission of the package, ordered by path.
pub(super) fn read(
    tree: &FileTree,
    problem: &Problem,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<JurySubmission>, PackageError> {
    let rules = rules::read(tree, warnings)?;
    let mut found = Vec::new();
    let (directories, files): (Vec<Child>, Vec<Child>) =
        tree.children("submissions").into_iter().partition(|child| child.directory);
    stray(&files, warnings);
    for directory in directories {
        let programs = programs(tree, problem, &directory, warnings);
        let promise = promise(&directory.name, problem);
        let has_rule = rules.iter().any(|entry| entry.pattern == directory.name);
        if promise.is_none() && !has_rule && !programs.is_empty() {
            let message = "states no expected verdict for its submissions; any verdict is accepted";
            let name = directory.name.to_ascii_lowercase().replace('-', "_");
            let meant = did_you_mean(&name, DIRECTORIES);
            warnings.push(Warning::new(directory.path.as_str(), format!("{message}{meant}")));
        }
        for program in programs {
            let tag = tag(tree, &program, warnings);
            found.push(submission(program, problem, promise.clone(), tag, &rules));
        }
    }
    found.sort_by(|a, b| a.program.path.cmp(&b.program.path));
    for entry in &rules {
        if !found.iter().any(|submission| entry.glob.matches(below_submissions(&submission.program.path))) {
            warnings.push(Warning::new(
                entry.place.as_str(),
                format!("`{}` matches no submission", entry.pattern),
            ));
        }
    }
    Ok(found)
}

fn below_submissions(path: &str) -> &str {
    path.strip_prefix("submissions/").unwrap_or(path)
}

/// Files directly in `submissions/`.
fn stray(files: &[Child], warnings: &mut Vec<Warning>) {
    let looks_like_one = |file: &&Child| {
        !is_leftover(&file.name) && !ending(&file.name).is_some_and(|ending| NO_PROGRAMS.contains(&ending))
    };
    let stray: Vec<String> = files.iter().filter(looks_like_one).map(|file| file.name.clone()).collect();
    if !stray.is_empty() {
        let names = some_of(&stray);
        let message = format!(
            "has files outside of the directories that state an expected verdict ({names}); not judged"
        );
        warnings.push(Warning::new("submissions", message));
    }
}

/// The submissions in a directory, without what editors, compilers and authors left beside them.
fn programs(
    tree: &FileTree,
    problem: &Problem,
    directory: &Child,
    warnings: &mut Vec<Warning>,
) -> Vec<Program> {
    let mut found = Vec::new();
    for child in tree.children(&directory.path).into_iter().filter(|child| !is_leftover(&child.name)) {
        if !child.directory && !problem.submit_answer {
            if is_compiled(tree, &child.path) || child.name.to_ascii_lowercase().starts_with("readme") {
                continue;
            }
            if ending(&child.name).is_some_and(|ending| NO_PROGRAMS.contains(&ending)) {
                warnings.push(Warning::new(child.path.as_str(), "is not a program, and not judged"));
                continue;
            }
        }
        found.extend(program(tree, &child));
    }
    found
}

/// Begins like a compiled program: ELF, a Java class or Mach-O archive, Mach-O, or a DOS program.
fn is_compiled(tree: &FileTree, path: &str) -> bool {
    let Some(content) = tree.files.get(path).and_then(|entry| entry.content.as_deref()) else { return false };
    let magic: [&[u8]; 4] = [b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"MZ\x90\x00"];
    magic.iter().any(|magic| content.starts_with(magic))
}

/// Puts together what the directory, the tag and `submissions.yaml` say, in this order: a tag replaces the
/// directory's promise, an entry named after the directory replaces both, every other entry adds to it.
fn submission(
    program: Program,
    problem: &Problem,
    promise: Option<DirectoryExpectation>,
    tag: Option<Vec<Verdict>>,
    rules: &[Entry],
) -> JurySubmission {
    let path = below_submissions(&program.path);
    let directory = path.split('/').next().unwrap_or(path);
    let (named, others): (Vec<&Entry>, Vec<&Entry>) =
        rules.iter().filter(|entry| entry.glob.matches(path)).partition(|entry| entry.pattern == directory);

    let promise = promise.map(|promise| tagged(promise, tag.as_deref())).or(tag.map(of_tag));
    let mut added: Vec<Rule> = others.iter().map(|entry| entry.rule.clone()).collect();
    let (mut expectation, mut bounds) = match (named.first(), promise) {
        (None, Some(DirectoryExpectation::Verdict { expectation, bounds_from_below })) => {
            (expectation, TimeBounds { lower: bounds_from_below, upper: false })
        }
        (entry, promise) => {
            let default = match promise {
                Some(DirectoryExpectation::Tests(rule)) => rule,
                _ => rules::of_directory(directory).unwrap_or_default(),
            };
            added.insert(0, entry.map(|entry| entry.rule.clone()).unwrap_or_default().or(default));
            (Expectation::default(), TimeBounds { lower: false, upper: false })
        }
    };
    for rule in &added {
        bounds.lower |= rule.bounds_from_below();
        bounds.upper |= rule.bounds_from_above();
        add(&mut expectation, rule);
    }
    finals(&mut expectation, problem.scoring, added.is_empty());
    let language = added.iter().rev().find_map(|rule| rule.language.clone());
    let entry_point = added.iter().rev().find_map(|rule| rule.entry_point.clone());
    let limits = OwnLimits::default();
    JurySubmission { program, expectation, language, entry_point, bounds, limits }
}

/// Adds a rule to an expectation, so that both hold.
fn add(expectation: &mut Expectation, rule: &Rule) {
    if let Some(allowed) = rule.allowed() {
        expectation.permitted = Some(match expectation.permitted.take() {
            Some(before) => before.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }
    let demanded = rule.demanded();
    if expectation.required.is_empty() {
        expectation.required = demanded;
    } else if !demanded.is_empty() && demanded != expectation.required {
        let both = Expectation { required: demanded, ..Expectation::default() };
        expectation.within.push((EVERY_TEST.to_string(), both));
    }
    if let Some((low, high)) = rule.score {
        let (least, most) = expectation.score.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        expectation.score = Some((least.max(low), most.min(high)));
    }
    match (&rule.message, &expectation.message) {
        (Some(text), Some(before)) if text != before => {
            let both = Expectation { message: Some(text.clone()), ..Expectation::default() };
            expectation.within.push((EVERY_TEST.to_string(), both));
        }
        (Some(text), None) => expectation.message = Some(text.clone()),
        _ => {}
    }
    for (pattern, inner) in &rule.within {
        let mut within = Expectation::default();
        add(&mut within, inner);
        expectation.within.push((pattern.clone(), within));
    }
}

/// Fills in the final verdicts that follow from what is said about tests; `untouched` when no rule spoke.
///
/// In scoring problems of 2025-09 the tests decide: a submission that fails some may still earn a score, and one
/// that passes all may earn less than the full one.
fn finals(expectation: &mut Expectation, scoring: bool, untouched: bool) {
    if untouched || !(expectation.verdicts.is_empty() && expectation.tolerated.is_empty()) {
        return;
    }
    let (permitted, required) = (&expectation.permitted, &expectation.required);
    expectation.verdicts = shown(permitted, required);
    if expectation.verdicts.is_empty() {
        return;
    }
    let rejected = !required.is_empty() && !required.contains(&Verdict::Accepted);
    let mut tolerated = with_kinds_of_crash(expectation.verdicts.iter().copied().collect());
    match permitted {
        Some(permitted) => tolerated.extend(permitted),
        None => tolerated.extend(Verdict::ALL),
    }
    if rejected && !scoring {
        tolerated.remove(&Verdict::Accepted);
    }
    tolerated.remove(&Verdict::CompileError);
    tolerated.remove(&Verdict::JudgeError);
    match scoring {
        true => tolerated.extend([Verdict::Accepted, Verdict::PartiallyAccepted]),
        false => _ = tolerated.remove(&Verdict::PartiallyAccepted),
    }
    tolerated.retain(|verdict| !expectation.verdicts.contains(verdict));
    expectation.tolerated = tolerated.into_iter().collect();
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use Verdict::{Accepted as AC, CompileError as CE, MemoryLimit as MLE, OutputLimit as OLE};
    use Verdict::{PartiallyAccepted as PA, RunTimeError as RTE, TimeLimit as TLE, WrongAnswer as WA};
    use std::collections::BTreeSet;

    const LEGACY: (&str, &str) = ("problem.yaml", "name: x\n");
    const NEW: (&str, &str) = ("problem.yaml", "problem_format_version: 2025-09\n");

    /// The only submission of a package with these files.
    fn only(files: &[(&str, &str)]) -> JurySubmission {
        let mut submissions = read_clean(files).submissions;
        assert_eq!(submissions.len(), 1, "{files:?}");
        submissions.remove(0)
    }

    fn set(verdicts: &[Verdict]) -> BTreeSet<Verdict> {
        verdicts.iter().copied().collect()
    }

    #[test]
    fn directories_of_legacy() {
        let table: [(&str, &[Verdict], &[Verdict], bool); 14] = [
            ("accepted", &[AC], &[], true),
            ("slow_accepted", &[AC, TLE], &[], false),
            ("partially_accepted", &[PA], &[], false),
            ("wrong_answer", &[WA], &[], false),
            ("Wrong-Answer", &[WA], &[], false),
            ("time_limit_exceeded", &[TLE], &[TLE], false),
            ("run_time_error", &[RTE], &[RTE, MLE, OLE], false),
            ("runtime_error", &[RTE], &[RTE, MLE, OLE], false),
            ("memory_limit_exceeded", &[MLE], &[RTE, MLE], false),
            ("output_limit_exceeded", &[OLE], &[RTE, OLE], false),
            ("compile_error", &[CE], &[], false),
            ("ac_or_wa", &[AC, WA], &[], false),
            ("rejected", &[WA, TLE, RTE], &[], false),
            ("mixed", &[], &[], false),
        ];
        for (directory, verdicts, required, lower) in table {
            let found = only(&[LEGACY, (&format!("submissions/{directory}/a.py"), "")]);
            assert_eq!(found.expectation.verdicts, verdicts, "{directory}");
            assert_eq!(found.expectation.required, set(required), "{directory}");
            assert_eq!(found.expectation.permitted, None, "{directory}");
            assert_eq!(found.expectation.partial, directory == "partially_accepted");
            assert_eq!(found.bounds, TimeBounds { lower, upper: false }, "{directory}");
        }
    }

    #[test]
    fn directories_of_2025_09() {
        type Row<'a> = (&'a str, &'a [Verdict], Option<&'a [Verdict]>, &'a [Verdict], (bool, bool));
        let table: [Row; 7] = [
            ("accepted", &[AC], Some(&[AC]), &[], (true, false)),
            ("slow_accepted", &[AC, TLE], Some(&[AC, TLE]), &[], (false, false)),
            ("wrong_answer", &[WA], Some(&[AC, WA]), &[WA], (true, false)),
            ("time_limit_exceeded", &[TLE], Some(&[AC, TLE]), &[TLE], (false, true)),
            ("run_time_error", &[RTE], Some(&[AC, RTE, MLE, OLE]), &[RTE, MLE, OLE], (true, false)),
            ("rejected", &[WA, TLE, RTE], None, &[WA, TLE, RTE, MLE, OLE], (false, false)),
            (
                "brute_force",
                &[TLE, RTE],
                Some(&[AC, TLE, RTE, MLE, OLE]),
                &[TLE, RTE, MLE, OLE],
                (false, false),
            ),
        ];
        for (directory, verdicts, permitted, required, (lower, upper)) in table {
            let found = only(&[NEW, (&format!("submissions/{directory}/a.py"), "")]);
            assert_eq!(found.expectation.verdicts, verdicts, "{directory}");
            assert_eq!(found.expectation.permitted, permitted.map(set), "{directory}");
            assert_eq!(found.expectation.required, set(required), "{directory}");
            assert_eq!(found.bounds, TimeBounds { lower, upper }, "{directory}");
        }
    }

    #[test]
    fn final_verdicts_that_are_good_though_not_named() {
        let scoring = ("problem.yaml", "problem_format_version: 2025-09\ntype: scoring\n");
        let table: [(_, &str, &[Verdict]); 7] = [
            (LEGACY, "accepted", &[]),
            (LEGACY, "time_limit_exceeded", &[WA]),
            (LEGACY, "run_time_error", &[MLE, OLE, WA, TLE]),
            (NEW, "run_time_error", &[MLE, OLE]),
            (NEW, "wrong_answer", &[]),
            (scoring, "accepted", &[PA]),
            (scoring, "wrong_answer", &[AC, PA]),
        ];
        for (yaml, directory, tolerated) in table {
            let found = only(&[yaml, (&format!("submissions/{directory}/a.py"), "")]);
            assert_eq!(found.expectation.tolerated, tolerated, "{directory} of {}", yaml.1);
        }
    }

    #[test]
    fn only_programs_are_submissions() {
        let files = [
            LEGACY,
            ("submissions/accepted/.gitkeep", ""),
            ("submissions/accepted/a.cpp", "int main() {}"),
            ("submissions/accepted/a.cpp~", ""),
            ("submissions/accepted/a.class", ""),
            ("submissions/accepted/a", "\x7fELF\x02"),
            ("submissions/accepted/README.md", ""),
            ("submissions/accepted/dir/main.py", ""),
            ("submissions/accepted/dir/util/x.py", ""),
            ("submissions/accepted/dir/__pycache__/x.pyc", ""),
            ("submissions/accepted/empty/", ""),
            ("submissions/odd/", ""),
        ];
        let found = read_clean(&files).submissions;
        let names: Vec<_> = found
            .iter()
            .map(|s| {
                (s.program.path.as_str(), s.program.files.iter().map(|f| f.name.as_str()).collect::<Vec<_>>())
            })
            .collect();
        let expected = [
            ("submissions/accepted/a.cpp", vec!["a.cpp"]),
            ("submissions/accepted/dir", vec!["main.py", "util/x.py"]),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn what_is_judged_without_an_expectation_or_not_at_all_is_told() {
        let files = [
            ("submissions/a.py", ""),
            ("submissions/accepted/notes.txt", ""),
            ("submissions/funny/b.py", ""),
            ("submissions/submissions.yaml", "accepted/none.py: {permitted: [AC]}\n"),
        ];
        let warned = [
            "submissions: has files outside of the directories that state an expected verdict (a.py)",
            "submissions/accepted/notes.txt: is not a program",
            "submissions/funny: states no expected verdict",
            "submissions/submissions.yaml:1: `accepted/none.py` matches no submission",
        ];
        let package = read_warned(&files, &warned);
        assert_eq!(package.submissions.len(), 1);
        assert_eq!(package.submissions[0].expectation, Expectation::default());
    }

    #[test]
    fn tags_in_sources() {
        let table: [(&str, &str, &[Verdict]); 6] = [
            ("mixed", "# @EXPECTED_RESULTS@: TIMELIMIT, RUN-ERROR\n", &[TLE, RTE]),
            ("mixed", "/* @EXPECTED_RESULTS@: wrong_answer */", &[WA]),
            ("accepted", "// @EXPECTED_RESULTS@: CORRECT,WRONG-ANSWER", &[AC, WA]),
            ("accepted", "// @EXPECTED_RESULTS@: CHECK-MANUALLY", &[]),
            ("accepted", "// @EXPECTED_RESULTS@: ACCEPTED", &[AC]),
            ("wrong_answer", "// @EXPECTED_RESULTS@: COMPILER-ERROR", &[CE]),
        ];
        for (directory, source, verdicts) in table {
            for yaml in [LEGACY, NEW] {
                let found = only(&[yaml, (&format!("submissions/{directory}/a.c"), source)]);
                assert_eq!(found.expectation.verdicts, verdicts, "{source} in {directory}");
                let unchanged = directory == "accepted" && verdicts == [AC];
                assert_eq!(found.bounds.lower, unchanged, "{source} in {directory}");
            }
        }
        let bad = [("submissions/accepted/a.c", "// @EXPECTED_RESULTS@: MAYBE\n")];
        let package = read_warned(&bad, &["submissions/accepted/a.c: @EXPECTED_RESULTS@: names `MAYBE`"]);
        assert_eq!(package.submissions[0].expectation.verdicts, [AC]);
    }

    #[test]
    fn entries_of_submissions_yaml() {
        let rules = "\
accepted/*.py: {language: python3, entrypoint: main.py, authors: Someone, score: 50}
time_limit_exceeded: {permitted: [AC, WA, TLE]}
wrong_answer/{x,y}.py:
  permitted: [WA, RTE]
  message: too long
  score: [10, 20]
  secret/*-easy: {permitted: [AC]}
";
        let files = [
            NEW,
            ("submissions/submissions.yaml", rules),
            ("submissions/accepted/a.py", ""),
            ("submissions/time_limit_exceeded/t.py", ""),
            ("submissions/wrong_answer/y.py", ""),
        ];
        let [accepted, slow, wrong] = read_clean(&files).submissions.try_into().unwrap();
        assert_eq!(
            (accepted.language.as_deref(), accepted.entry_point.as_deref()),
            (Some("python3"), Some("main.py"))
        );
        assert_eq!(accepted.expectation.score, Some((50.0, 50.0)));
        assert_eq!(accepted.expectation.permitted, Some(set(&[AC])));
        assert_eq!(slow.expectation.permitted, Some(set(&[AC, WA, TLE])));
        assert_eq!(slow.expectation.required, set(&[TLE]));
        assert_eq!(slow.expectation.verdicts, [TLE]);
        assert_eq!(slow.expectation.tolerated, [WA]);
        assert!(slow.bounds.upper);
        assert_eq!(wrong.expectation.permitted, Some(set(&[WA])));
        assert_eq!(wrong.expectation.message.as_deref(), Some("too long"));
        assert_eq!(wrong.expectation.score, Some((10.0, 20.0)));
        let easy = Expectation { permitted: Some(set(&[AC])), ..Expectation::default() };
        assert_eq!(wrong.expectation.within, [("secret/*-easy".to_string(), easy)]);
    }

    #[test]
    fn two_demands_are_both_kept() {
        let rules = "wrong_answer/a.py: {permitted: [AC, WA, TLE], required: [TLE]}\n";
        let rule = ("submissions/submissions.yaml", rules);
        let found = only(&[NEW, rule, ("submissions/wrong_answer/a.py", "")]);
        assert_eq!(found.expectation.required, set(&[WA]));
        let both = Expectation { required: set(&[TLE]), ..Expectation::default() };
        assert_eq!(found.expectation.within, [(EVERY_TEST.to_string(), both)]);
    }

    #[test]
    fn use_for_time_limit() {
        let table = [
            ("accepted", "false", (false, false)),
            ("accepted", "true", (true, false)),
            ("time_limit_exceeded", "false", (false, false)),
            ("brute_force", "upper", (false, true)),
            ("rejected", "lower", (true, false)),
        ];
        for (directory, value, (lower, upper)) in table {
            let rules = format!("{directory}: {{use_for_time_limit: {value}}}\n");
            let rule = ("submissions/submissions.yaml", rules.as_str());
            let found = only(&[NEW, rule, (&format!("submissions/{directory}/a.py"), "")]);
            assert_eq!(found.bounds, TimeBounds { lower, upper }, "{directory} {value}");
        }
        let rules = "custom:\n  sample: {permitted: [AC]}\n  secret: {use_for_time_limit: upper}\n";
        let found = only(&[NEW, ("submissions/submissions.yaml", rules), ("submissions/custom/a.py", "")]);
        assert_eq!(found.bounds, TimeBounds { lower: false, upper: true });
        assert_eq!(found.expectation.within[1].1.required, set(&[TLE]));
    }

    #[test]
    fn bad_entries_are_refused() {
        let table = [
            ("a: {permitted: [OK]}\n", "submissions/submissions.yaml:1: a.permitted: `OK` is not a verdict"),
            ("\na: {score: x}\n", "submissions/submissions.yaml:2: a.score: must be a number"),
            ("a: {score: [2, 1]}\n", "submissions/submissions.yaml:1: a.score: must be"),
            (
                "a: {use_for_time_limit: maybe}\n",
                "submissions/submissions.yaml:1: a.use_for_time_limit: must be",
            ),
            ("'{a': {language: c}\n", "submissions/submissions.yaml:1: {a: `{a` is not a pattern"),
            ("a: b\n", "submissions/submissions.yaml:1: a: must be a map"),
        ];
        for (rules, start) in table {
            let error = refusal(&[("submissions/submissions.yaml", rules)]);
            assert!(error.starts_with(start), "{error}");
        }
    }
}
