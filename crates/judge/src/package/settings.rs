//! Settings of test groups: `testdata.yaml` (legacy, "Test data groups"), `test_group.yaml` (2025-09, "Test
//! data configuration"), and what drafts in between wrote.

use super::field::{self, Range, Section};
use super::{FileTree, Grading, GroupSettings, PackageError, ScoreMode, VerdictMode, Warning};
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
        validator_args: validator_args(section)?.unwrap_or_else(|| above.validator_args.clone()),
    })
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
        Some(draft) => aggregation(draft, "aggregation")?,
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
            return Err(section.error(key, format!("`{name}` is no test group")));
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
