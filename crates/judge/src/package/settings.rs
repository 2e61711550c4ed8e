//! Settings of test groups: `testdata.yaml` (legacy, "Test data groups"), `test_group.yaml` (2025-09, "Test
//! data configuration"), and what drafts in between wrote.

use super::field::{self, Range, Section};
use super::{FileTree, Grading, GroupSettings, PackageError, ScoreMode, ValidatorArgs, VerdictMode, Warning};
use crate::yaml::{Node, Value};

/// Largest score that is taken for one.
const MOST_SCORE: f64 = 1e15;
const SCORE: Range = Range::at_least(-MOST_SCORE, MOST_SCORE);

/// Keys only legacy has, which say that a group is graded its way.
const LEGACY: [&str; 5] = ["on_reject", "grader_flags", "accept_score", "reject_score", "range"];
/// All other keys that occur. Those which judging does not need are known all the same.
#[rustfmt::skip]
const KNOWN: [&str; 20] = [
    "grading", "scoring", "max_score", "score_aggregation", "require_pass", "static_validation_score",
    "static_validator_args", "static_validation", "args", "input_validator_flags", "input_validator_args",
    "output_validator_flags", "output_validator_args", "input_visualizer_args", "output_visualizer_args",
    "full_feedback", "hint", "description", "run_samples", "name",
];

/// Which format's rules group results follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Legacy,
    New { scoring: bool },
}

/// What a group hands down to the groups and cases inside, in both formats.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    break_on_reject: Option<bool>,
    custom_grader: Option<bool>,
    grader_flags: Option<Vec<String>>,
    accept_score: Option<f64>,
    reject_score: Option<f64>,
    range: Option<(f64, f64)>,
    /// Arguments of the submission.
    pub(super) args: Vec<String>,
    /// Arguments of input validators: a validator's name, or none for all.
    pub(super) input_validator_args: ValidatorArgs,
    /// Arguments of the output validator, without those in `problem.yaml`.
    pub(super) validator_args: Vec<String>,
}

/// Settings that packages older than `legacy` keep under `grading` in `problem.yaml`; they hold everywhere.
#[derive(Clone, Debug, Default)]
pub(super) struct OldGrading {
    break_on_reject: Option<bool>,
    accept_score: Option<f64>,
    reject_score: Option<f64>,
    range: Option<(f64, f64)>,
}

impl OldGrading {
    pub(super) fn read(grading: &Section, warnings: &mut Vec<Warning>) -> Result<OldGrading, PackageError> {
        let known =
            ["objective", "show_test_data_groups", "accept_score", "reject_score", "range", "on_reject"];
        grading.unknown(&known, &[], warnings);
        let break_on_reject = match grading.text("on_reject")? {
            None | Some("worst_error") => None,
            Some("first_error" | "break") => Some(true),
            Some("grade" | "continue") => Some(false),
            Some(other) => {
                let message = format!("must be first_error, worst_error or grade, not `{other}`");
                return Err(grading.error("on_reject", message));
            }
        };
        Ok(OldGrading {
            break_on_reject,
            accept_score: grading.number("accept_score", SCORE)?,
            reject_score: grading.number("reject_score", SCORE)?,
            range: range(grading)?,
        })
    }
}

/// Whether a settings file speaks of results the way legacy does.
pub(super) fn is_legacy(section: &Section) -> bool {
    LEGACY.iter().any(|key| section.has(key)) || matches!(section.text("grading"), Ok(Some(_)))
}

/// What a group's file adds to what it inherits.
pub(super) fn inherit(
    section: &Section,
    above: &Inherited,
    warnings: &mut Vec<Warning>,
) -> Result<Inherited, PackageError> {
    let known: Vec<&str> = KNOWN.iter().chain(&LEGACY).copied().collect();
    section.unknown(&known, &[], warnings);
    if section.has("static_validation_score") || section.has("static_validation") {
        warnings.push(section.warning("static_validation_score", "static validation is not done"));
    }
    let break_on_reject = match section.text("on_reject")? {
        None => above.break_on_reject,
        Some("break") => Some(true),
        Some("continue") => Some(false),
        Some(other) => {
            return Err(section.error("on_reject", format!("must be break or continue, not `{other}`")));
        }
    };
    let custom_grader = match section.get("grading").and_then(Node::text) {
        None => above.custom_grader,
        Some("default") => Some(false),
        Some("custom") => Some(true),
        Some(other) => {
            return Err(section.error("grading", format!("must be default or custom, not `{other}`")));
        }
    };
    Ok(Inherited {
        break_on_reject,
        custom_grader,
        grader_flags: section.words("grader_flags")?.or_else(|| above.grader_flags.clone()),
        accept_score: section.number("accept_score", SCORE)?.or(above.accept_score),
        reject_score: section.number("reject_score", SCORE)?.or(above.reject_score),
        range: range(section)?.or(above.range),
        args: section.words("args")?.unwrap_or_else(|| above.args.clone()),
        input_validator_args: input_validator_args(section)?
            .unwrap_or_else(|| above.input_validator_args.clone()),
        validator_args: validator_args(section)?.unwrap_or_else(|| above.validator_args.clone()),
    })
}

/// `input_validator_args`, or `input_validator_flags`: words for all validators, or a map with words for each.
pub(super) fn input_validator_args(section: &Section) -> Result<Option<ValidatorArgs>, PackageError> {
    let Some(key) =
        ["input_validator_args", "input_validator_flags"].into_iter().find(|key| section.has(key))
    else {
        return Ok(None);
    };
    match section.get(key).map(|node| &node.value) {
        Some(Value::Map(entries)) => {
            let inner = section.section(key)?;
            let one = |(name, _): &(String, Node)| Ok((name.clone(), inner.words(name)?.unwrap_or_default()));
            entries.iter().map(one).collect::<Result<_, _>>().map(Some)
        }
        _ => Ok(section.words(key)?.map(|words| vec![(String::new(), words)])),
    }
}

/// `output_validator_args`, or `output_validator_flags`: text, or a map with `flags`.
pub(super) fn validator_args(section: &Section) -> Result<Option<Vec<String>>, PackageError> {
    if let Some(args) = section.words("output_validator_args")? {
        return Ok(Some(args));
    }
    match section.get("output_validator_flags").map(|node| &node.value) {
        Some(Value::Map(_)) => {
            Ok(Some(section.section("output_validator_flags")?.words("flags")?.unwrap_or_default()))
        }
        _ => section.words("output_validator_flags"),
    }
}

/// `range`: two numbers, with `inf`, `+inf` and `-inf`.
fn range(section: &Section) -> Result<Option<(f64, f64)>, PackageError> {
    let Some(words) = section.words("range")? else { return Ok(None) };
    let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[low, high]) if low <= high => Ok(Some((low, high))),
        _ => Err(section
            .error("range", format!("must be two numbers, the lower first, not `{}`", words.join(" ")))),
    }
}

/// The settings in force in a group of legacy. `name` is empty for `data` itself.
pub(super) fn legacy(
    name: &str,
    section: &Section,
    own: &Inherited,
    old: &OldGrading,
    warnings: &mut Vec<Warning>,
) -> GroupSettings {
    let flags = own.grader_flags.clone().unwrap_or_default();
    let grading = match own.custom_grader {
        Some(true) => Grading::Custom { flags },
        _ => default_grader(name, section, &flags, warnings),
    };
    let range = old.range.or(own.range);
    GroupSettings {
        break_on_reject: old.break_on_reject.or(own.break_on_reject).unwrap_or(true),
        grading,
        accept_score: old.accept_score.or(own.accept_score).unwrap_or(1.0),
        reject_score: old.reject_score.or(own.reject_score).unwrap_or(0.0),
        range: range.filter(|(low, high)| low.is_finite() || high.is_finite()),
        max_score: None,
        require_pass: Vec::new(),
    }
}

/// Legacy, "Default grader specification". Of modes that exclude each other the last holds. `ignore_sample`
/// means something at the root only, and is not inherited from there.
fn default_grader(name: &str, section: &Section, flags: &[String], warnings: &mut Vec<Warning>) -> Grading {
    let (mut verdict, mut score) = (VerdictMode::WorstError, ScoreMode::Sum);
    let (mut ignore_sample, mut accept_if_any_accepted) = (false, false);
    for flag in flags {
        match flag.as_str() {
            "worst_error" => verdict = VerdictMode::WorstError,
            "first_error" => verdict = VerdictMode::FirstError,
            "always_accept" => verdict = VerdictMode::AlwaysAccept,
            "sum" => score = ScoreMode::Sum,
            "avg" => score = ScoreMode::Average,
            "min" => score = ScoreMode::Min,
            "max" => score = ScoreMode::Max,
            "ignore_sample" => ignore_sample = name.is_empty(),
            "accept_if_any_accepted" => accept_if_any_accepted = true,
            other if section.has("grader_flags") => {
                let message = format!("the default grader knows no flag `{other}`; ignored");
                warnings.push(section.warning("grader_flags", message));
            }
            _ => {}
        }
    }
    Grading::LegacyDefault { verdict, score, ignore_sample, accept_if_any_accepted }
}

/// The settings in force in a group of 2025-09 ("Result aggregation"). In scoring problems `sample` gives no
/// points, `secret` up to 100 by default, and the root is the sum of both.
pub(super) fn new(
    tree: &FileTree,
    name: &str,
    section: &Section,
    scoring: bool,
    warnings: &mut Vec<Warning>,
) -> Result<GroupSettings, PackageError> {
    let mut settings = GroupSettings {
        break_on_reject: true,
        grading: Grading::PassFail,
        accept_score: 1.0,
        reject_score: 0.0,
        range: None,
        max_score: None,
        require_pass: Vec::new(),
    };
    let scores = ["max_score", "score_aggregation", "require_pass", "scoring"];
    if !scoring || name.is_empty() || name == "sample" {
        for key in scores.into_iter().filter(|key| section.has(key)) {
            let message =
                "says something about scores, which only secret groups of scoring problems have; ignored";
            warnings.push(section.warning(key, message));
        }
        if scoring && name.is_empty() {
            settings.grading = Grading::Sum;
            settings.break_on_reject = false;
        }
        if scoring && name == "sample" {
            settings.max_score = Some(0.0);
        }
        return Ok(settings);
    }
    let draft = draft_scoring(section)?;
    let most = match draft.as_ref() {
        Some(draft) if draft.has("max_score") => max_score(draft, "max_score")?,
        Some(draft) => max_score(draft, "score")?,
        None => max_score(section, "max_score")?,
    };
    settings.max_score = match most {
        Some(most) => most,
        None => (name == "secret").then_some(100.0),
    };
    let aggregation = match draft.as_ref() {
        Some(draft) => aggregation(draft, "aggregation")?.or(aggregation(draft, "score_aggregation")?),
        None => aggregation(section, "score_aggregation")?,
    };
    settings.grading = aggregation.unwrap_or(if name == "secret" { Grading::Sum } else { Grading::PassFail });
    settings.break_on_reject = settings.grading != Grading::Sum;
    settings.require_pass = match draft.as_ref() {
        Some(draft) if draft.has("require-pass") => required(tree, name, draft, "require-pass")?,
        Some(draft) => required(tree, name, draft, "require_pass")?,
        None => required(tree, name, section, "require_pass")?,
    };
    Ok(settings)
}

/// Drafts had a map `scoring` (for a time `grading`) with `score`, `aggregation` and `require-pass`.
fn draft_scoring<'a>(section: &Section<'a>) -> Result<Option<Section<'a>>, PackageError> {
    let is_map = |key: &&str| section.get(key).is_some_and(|node| matches!(node.value, Value::Map(_)));
    ["scoring", "grading"].into_iter().find(is_map).map(|key| section.section(key)).transpose()
}

/// Whether the group's file is silent about its highest score in the draft's way, so that it is to be shared
/// out (see [`share_out`]).
pub(super) fn leaves_score_open(section: &Section) -> bool {
    let silent = |section: &Section| !section.has("score") && !section.has("max_score");
    matches!(draft_scoring(section), Ok(Some(draft)) if silent(&draft))
}

/// The draft's rule for groups that state no score: what the others leave of the parent's, in equal parts.
pub(super) fn share_out(parent: &GroupSettings, groups: &mut [(GroupSettings, bool)]) {
    let Some(most) = parent.max_score else { return };
    let stated: f64 = groups.iter().filter(|(_, open)| !open).filter_map(|(group, _)| group.max_score).sum();
    let open = groups.iter().filter(|(_, open)| *open).count();
    let part = match parent.grading {
        Grading::Min => most,
        _ => (most - stated).max(0.0) / open.max(1) as f64,
    };
    groups.iter_mut().filter(|(_, open)| *open).for_each(|(group, _)| group.max_score = Some(part));
}

/// `None`: not stated. `Some(None)`: `unbounded`.
fn max_score(section: &Section, key: &str) -> Result<Option<Option<f64>>, PackageError> {
    if section.get(key).and_then(Node::text) == Some("unbounded") {
        return Ok(Some(None));
    }
    Ok(section.number(key, Range::at_least(0.0, MOST_SCORE))?.map(Some))
}

fn aggregation(section: &Section, key: &str) -> Result<Option<Grading>, PackageError> {
    match section.text(key)? {
        None => Ok(None),
        Some("pass-fail") => Ok(Some(Grading::PassFail)),
        Some("sum") => Ok(Some(Grading::Sum)),
        Some("min") => Ok(Some(Grading::Min)),
        Some(other) => Err(section.error(key, format!("must be pass-fail, sum or min, not `{other}`"))),
    }
}

/// 2025-09, "Group dependencies": names of `sample` or of groups that come earlier. A missing `sample` cannot
/// fail.
fn required(tree: &FileTree, own: &str, section: &Section, key: &str) -> Result<Vec<String>, PackageError> {
    let mut names = Vec::new();
    for word in section.words(key)?.unwrap_or_default() {
        let is_group = |name: &str| tree.is_directory(&format!("data/{name}"));
        let name = if is_group(&word) || word == "sample" { word } else { format!("secret/{word}") };
        if name == "sample" && !is_group(&name) {
            continue;
        }
        if !is_group(&name) {
            return Err(section.error(key, format!("`{name}` is not a test group")));
        }
        if name.as_str() >= own || own.starts_with(&format!("{name}/")) {
            return Err(section.error(key, format!("`{name}` does not come before `{own}`")));
        }
        names.push(name);
    }
    Ok(names)
}

/// The settings file of a directory, parsed: its path and its root.
pub(super) fn file(
    tree: &FileTree,
    directory: &str,
    new: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Option<(String, Node)>, PackageError> {
    let own = if new { "test_group.yaml" } else { "testdata.yaml" };
    let other = if new { "testdata.yaml" } else { "test_group.yaml" };
    for name in [own, other] {
        let path = format!("{directory}/{name}");
        if let Some(root) = field::document(tree, &path, warnings)? {
            return Ok(Some((path, root)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::*;

    const NEW: &str = "problem_format_version: 2025-09\n";
    const NEW_SCORING: &str = "problem_format_version: 2025-09\ntype: scoring\n";
    const SCORING: &str = "type: scoring\n";

    #[test]
    fn settings_of_legacy_are_inherited_one_by_one() {
        let files = [
            ("data/testdata.yaml", "on_reject: continue\ngrader_flags: ignore_sample max\nrange: 0 100\n"),
            ("data/secret/testdata.yaml", "accept_score: 7\nrange: -inf +inf\n"),
            (
                "data/secret/a/testdata.yaml",
                "on_reject: break\ngrader_flags: first_error min accept_if_any_accepted\n",
            ),
        ];
        let found = data(SCORING, &["sample/1", "secret/a/1", "secret/b/1"], &files, &[]);
        let default = |verdict, score, ignore_sample, accept_if_any_accepted| Grading::LegacyDefault {
            verdict,
            score,
            ignore_sample,
            accept_if_any_accepted,
        };
        let root = &found.settings;
        assert_eq!(root.grading, default(VerdictMode::WorstError, ScoreMode::Max, true, false));
        assert_eq!((root.range, root.accept_score, root.break_on_reject), (Some((0.0, 100.0)), 1.0, false));
        let a = &find(&found, "secret/a").settings;
        assert_eq!(a.grading, default(VerdictMode::FirstError, ScoreMode::Min, false, true));
        assert_eq!((a.range, a.accept_score, a.break_on_reject), (None, 7.0, true));
        let b = &find(&found, "secret/b").settings;
        assert_eq!(b.grading, default(VerdictMode::WorstError, ScoreMode::Max, false, false));
        assert_eq!((b.accept_score, b.break_on_reject), (7.0, false));
    }

    #[test]
    fn grading_in_problem_yaml_as_before_legacy() {
        let yaml =
            "type: scoring\ngrading: {objective: min, accept_score: 3, range: 0 10, on_reject: grade}\n";
        let found = data(yaml, &["secret/1"], &[("data/testdata.yaml", "accept_score: 9\n")], &[]);
        let settings = &find(&found, "secret").settings;
        assert_eq!((settings.accept_score, settings.range), (3.0, Some((0.0, 10.0))));
        assert!(!settings.break_on_reject);
    }

    #[test]
    fn settings_of_2025_09() {
        let files = [
            ("data/secret/test_group.yaml", "max_score: 50\n"),
            ("data/secret/a/test_group.yaml", "max_score: 20\nrequire_pass: sample\n"),
            (
                "data/secret/b/test_group.yaml",
                "max_score: 30\nscore_aggregation: min\nrequire_pass: [sample, a]\n",
            ),
        ];
        let found = data(NEW_SCORING, &["sample/1", "secret/a/1", "secret/b/1"], &files, &[]);
        let of = |name: &str| {
            let settings = &find(&found, name).settings;
            (
                settings.grading.clone(),
                settings.max_score,
                settings.break_on_reject,
                settings.require_pass.clone(),
            )
        };
        assert_eq!(of(""), (Grading::Sum, None, false, vec![]));
        assert_eq!(of("sample"), (Grading::PassFail, Some(0.0), true, vec![]));
        assert_eq!(of("secret"), (Grading::Sum, Some(50.0), false, vec![]));
        assert_eq!(of("secret/a"), (Grading::PassFail, Some(20.0), true, vec!["sample".to_string()]));
        let both = vec!["sample".to_string(), "secret/a".to_string()];
        assert_eq!(of("secret/b"), (Grading::Min, Some(30.0), true, both));
        let plain = data(NEW_SCORING, &["secret/1"], &[], &[]);
        assert_eq!(find(&plain, "secret").settings.max_score, Some(100.0));
        let unbounded = [("data/secret/test_group.yaml", "max_score: unbounded\n")];
        assert_eq!(
            find(&data(NEW_SCORING, &["secret/1"], &unbounded, &[]), "secret").settings.max_score,
            None
        );
        let pass_fail =
            data(NEW, &["secret/1"], &unbounded, &["data/secret/test_group.yaml:1: max_score: says"]);
        assert_eq!(pass_fail.groups[0].settings.grading, Grading::PassFail);
    }

    #[test]
    fn settings_of_the_drafts() {
        let draft = "problem_format_version: 2023-07-draft\ntype: scoring\n";
        let files = [
            ("data/secret/a/testdata.yaml", "scoring: {score: 40, aggregation: min}\n"),
            ("data/secret/b/testdata.yaml", "scoring: {aggregation: sum, require-pass: secret/a}\n"),
            ("data/secret/c/testdata.yaml", "scoring: {aggregation: pass-fail}\n"),
        ];
        let found = data(draft, &["secret/a/1", "secret/b/1", "secret/c/1"], &files, &[]);
        let of =
            |name: &str| (find(&found, name).settings.grading.clone(), find(&found, name).settings.max_score);
        assert_eq!(of("secret/a"), (Grading::Min, Some(40.0)));
        assert_eq!(of("secret/b"), (Grading::Sum, Some(30.0)));
        assert_eq!(of("secret/c"), (Grading::PassFail, Some(30.0)));
        assert_eq!(find(&found, "secret/b").settings.require_pass, ["secret/a"]);
        let old = [("data/secret/testdata.yaml", "grader_flags: min\n")];
        let found =
            data(draft, &["secret/a/1"], &old, &["data/secret/testdata.yaml: has settings of legacy"]);
        assert!(matches!(
            find(&found, "secret/a").settings.grading,
            Grading::LegacyDefault { score: ScoreMode::Min, .. }
        ));
    }

    #[test]
    fn wrong_settings_are_refused() {
        let legacy = |text| ("", "data/secret/testdata.yaml", text);
        let new = |text| (NEW_SCORING, "data/secret/test_group.yaml", text);
        let table = [
            (legacy("on_reject: stop\n"), "1: on_reject: must be break or continue"),
            (legacy("grading: best\n"), "1: grading: must be default or custom"),
            (legacy("\nrange: 5 1\n"), "2: range: must be two numbers"),
            (legacy("range: 5 nan\n"), "1: range: must be two numbers"),
            (legacy("accept_score: .inf\n"), "1: accept_score: must be a number"),
            (new("max_score: -1\n"), "1: max_score: must be at least 0"),
            (new("score_aggregation: max\n"), "1: score_aggregation: must be pass-fail, sum or min"),
            (new("require_pass: z\n"), "1: require_pass: `secret/z` is not a test group"),
            (new("require_pass: secret\n"), "1: require_pass: `secret` does not come before `secret`"),
            (new("args: {a: b}\n"), "1: args: must be text or a list"),
        ];
        for ((yaml, path, text), rest) in table {
            let error = refusal(&[("problem.yaml", yaml), (path, text)]);
            assert!(error.starts_with(&format!("{path}:{rest}")), "{error}");
        }
        read_warned(
            &[("data/testdata.yaml", "grader_flags: sum no_errors\non_rejct: break\n")],
            &[
                "data/testdata.yaml:2: on_rejct: unknown key",
                "data/testdata.yaml:1: grader_flags: the default grader",
            ],
        );
        let deep = format!("data/secret/{}1.in", "d/".repeat(20));
        assert!(refusal(&[(&deep, "")]).contains("is more than 16 directories deep"));
    }
}
