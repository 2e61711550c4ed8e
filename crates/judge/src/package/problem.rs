//! `problem.yaml`: what kind of problem it is (legacy and 2025-09, "Problem metadata").

use super::field::{self, Section};
use super::limits;
use super::settings::OldGrading;
use super::{FileTree, Format, PackageError, PackageLimits, Warning};
use crate::nearest::did_you_mean;
use crate::yaml::{Node, Value};
use std::collections::BTreeSet;

const FILE: &str = "problem.yaml";

/// What `problem.yaml` says, and the files beside it that state a time limit.
pub(super) struct Problem {
    pub(super) format: Format,
    pub(super) title: Option<String>,
    pub(super) scoring: bool,
    pub(super) interactive: bool,
    pub(super) multi_pass: bool,
    pub(super) submit_answer: bool,
    /// `validation`, where the package says it: `Some(true)` for a custom validator.
    pub(super) custom_validator: Option<bool>,
    pub(super) validator_flags: Vec<String>,
    pub(super) limits: PackageLimits,
    pub(super) languages: Option<BTreeSet<String>>,
    pub(super) constants: Vec<(String, String)>,
    pub(super) maximise: bool,
    /// Settings of test groups that packages older than `legacy` keep here.
    pub(super) old_grading: OldGrading,
}

impl Problem {
    /// 2025-09 or a draft of it.
    pub(super) fn is_new(&self) -> bool {
        self.format == Format::V2025_09
    }
}

/// Keys of every format.
const COMMON: [&str; 9] = [
    "problem_format_version",
    "type",
    "name",
    "uuid",
    "source",
    "license",
    "rights_owner",
    "limits",
    "keywords",
];
/// Keys of `legacy`, and of the first drafts of 2025-09.
const LEGACY: [&str; 5] = ["author", "source_url", "validation", "validator_flags", "grading"];
/// Keys of 2025-09; some packages use them in `legacy` as well, where they do no harm.
const NEW: [&str; 6] =
    ["credits", "version", "embargo_until", "languages", "allow_file_writing", "constants"];

pub(super) fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Problem, PackageError> {
    let root = field::document(tree, FILE, warnings)?.ok_or_else(|| missing(tree))?;
    let section = Section::root(FILE, &root)?;
    let (format, draft) = format(&section, warnings)?;
    check_keys(&section, format, draft, warnings);
    let kind = kind(&section, format, warnings)?;
    let validation = validation(&section, warnings)?;
    let grading = section.section("grading")?;
    let multi_pass = kind.contains("multi-pass") || validation.multi_pass;
    Ok(Problem {
        format,
        title: title(&section),
        scoring: kind.contains("scoring"),
        interactive: kind.contains("interactive") || validation.interactive,
        multi_pass,
        submit_answer: kind.contains("submit-answer"),
        custom_validator: validation.custom,
        validator_flags: section.words("validator_flags")?.unwrap_or_default(),
        limits: limits::read(tree, &section, format, multi_pass, warnings)?,
        languages: languages(&section)?,
        constants: constants(&section)?,
        maximise: maximise(&grading)?,
        old_grading: OldGrading::read(&grading, warnings)?,
    })
}

fn missing(tree: &FileTree) -> PackageError {
    let inside = tree.files.keys().find_map(|path| path.strip_suffix("/problem.yaml"));
    let remedy = match inside {
        Some(directory) => format!("there is one in {directory}/, which seems to be the package"),
        None => "a package has it in its root directory".to_string(),
    };
    PackageError::new(FILE, format!("is missing\nhint: {remedy}"))
}

fn format(section: &Section, warnings: &mut Vec<Warning>) -> Result<(Format, bool), PackageError> {
    const KEY: &str = "problem_format_version";
    let version = section.text(KEY)?.unwrap_or("legacy").trim();
    match version {
        "legacy" => Ok((Format::Legacy, false)),
        "legacy-icpc" | "icpc" => Ok((Format::LegacyIcpc, false)),
        "2025-09" => Ok((Format::V2025_09, false)),
        "2023-07-draft" | "2023-07" => Ok((Format::V2025_09, true)),
        _ if version == "draft" || version.starts_with("20") => {
            let message = format!("`{version}` is not known and read as 2025-09");
            warnings.push(section.warning(KEY, message));
            Ok((Format::V2025_09, true))
        }
        _ => Err(section
            .error(KEY, format!("`{version}` is not one of legacy, legacy-icpc, 2025-09, 2023-07-draft"))),
    }
}

fn check_keys(section: &Section, format: Format, draft: bool, warnings: &mut Vec<Warning>) {
    let own: &[&str] = if format == Format::V2025_09 { &NEW } else { &LEGACY };
    let mut known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
    match (format, draft) {
        (Format::V2025_09, true) => known.extend(LEGACY),
        (Format::V2025_09, false) => {
            let foreign = LEGACY.map(|key| (key, "a key of legacy, still understood here"));
            return section.unknown(&known, &foreign, warnings);
        }
        _ => known.extend(NEW),
    }
    section.unknown(&known, &[], warnings);
}

/// The words of `type`: a list in 2025-09, words in drafts and in some real packages.
fn kind(
    section: &Section,
    format: Format,
    warnings: &mut Vec<Warning>,
) -> Result<BTreeSet<String>, PackageError> {
    const KINDS: [&str; 5] = ["pass-fail", "scoring", "interactive", "multi-pass", "submit-answer"];
    let words = section.words("type")?.unwrap_or_default();
    if let Some(word) = words.iter().find(|word| !KINDS.contains(&word.as_str())) {
        let hint = did_you_mean(word, KINDS);
        let message = format!("`{word}` is not one of {}{hint}", KINDS.join(", "));
        return Err(section.error("type", message));
    }
    let kinds: BTreeSet<String> = words.into_iter().collect();
    let has = |kind: &str| kinds.contains(kind);
    for (one, other) in
        [("scoring", "pass-fail"), ("submit-answer", "interactive"), ("submit-answer", "multi-pass")]
    {
        if has(one) && has(other) {
            return Err(section.error("type", format!("{one} and {other} exclude each other")));
        }
    }
    if format == Format::LegacyIcpc && has("scoring") {
        warnings.push(section.warning("type", "legacy-icpc has no scoring; read as legacy"));
    }
    Ok(kinds)
}

struct Validation {
    custom: Option<bool>,
    interactive: bool,
    multi_pass: bool,
}

/// `validation: default`, or `custom` with any of `score`, `interactive` and (a habit of DOMjudge) `multi-pass`.
fn validation(section: &Section, warnings: &mut Vec<Warning>) -> Result<Validation, PackageError> {
    let Some(words) = section.words("validation")?.filter(|words| !words.is_empty()) else {
        return Ok(Validation { custom: None, interactive: false, multi_pass: false });
    };
    let custom = match words[0].as_str() {
        "default" => false,
        "custom" => true,
        other => {
            return Err(
                section.error("validation", format!("must begin with default or custom, not `{other}`"))
            );
        }
    };
    for word in words[1..].iter().filter(|w| !["score", "interactive", "multi-pass"].contains(&w.as_str())) {
        let message = format!("`{word}` is not one of score, interactive, multi-pass, and ignored");
        warnings.push(section.warning("validation", message));
    }
    let has = |word: &str| custom && words[1..].iter().any(|w| w == word);
    Ok(Validation { custom: Some(custom), interactive: has("interactive"), multi_pass: has("multi-pass") })
}

/// The English title, else that of the first language, else none.
fn title(section: &Section) -> Option<String> {
    let node = section.get("name")?;
    let title = match &node.value {
        Value::Scalar(text) => Some(text.as_str()),
        Value::Map(names) => {
            let english = |(language, _): &&(String, Node)| language == "en" || language.starts_with("en-");
            names.iter().find(english).or(names.first()).and_then(|(_, name)| name.text())
        }
        _ => None,
    };
    title.map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}

fn languages(section: &Section) -> Result<Option<BTreeSet<String>>, PackageError> {
    let words = section.words("languages")?.unwrap_or_default();
    Ok((!words.is_empty() && !words.iter().any(|word| word == "all")).then(|| words.into_iter().collect()))
}

/// 2025-09, "Constants": a scalar, or a map with `value` and variants.
fn constants(section: &Section) -> Result<Vec<(String, String)>, PackageError> {
    let constants = section.section("constants")?;
    let mut found = Vec::new();
    for (name, node) in constants.entries() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(
                constants.error(name, "is not a name of a constant\nhint: use letters, digits and `_`")
            );
        }
        match &node.value {
            Value::Scalar(text) => {
                found.push((name.clone(), text.clone()));
                found.push((format!("{name}.value"), text.clone()));
            }
            Value::Map(variants) => {
                let variants_of = constants.section(name)?;
                for (variant, _) in variants {
                    let text = variants_of.text(variant)?.unwrap_or_default().to_string();
                    if variant == "value" {
                        found.push((name.clone(), text.clone()));
                    }
                    found.push((format!("{name}.{variant}"), text));
                }
                if !variants_of.has("value") {
                    return Err(constants.error(name, "needs the key `value`"));
                }
            }
            _ => return Err(constants.error(name, "must be a number, text, or a map with the key `value`")),
        }
    }
    Ok(found)
}

fn maximise(grading: &Section) -> Result<bool, PackageError> {
    match grading.text("objective")? {
        None | Some("max") => Ok(true),
        Some("min") => Ok(false),
        Some(other) => Err(grading.error("objective", format!("must be min or max, not `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn titles() {
        let table = [
            ("name: Some Title # told\n", "Some Title"),
            ("name: {sv: Hej, en: Hello}\n", "Hello"),
            ("name: {sv: Hej}\n", "Hej"),
            ("name: 42\n", "42"),
            ("author: Someone\n", "problem"),
            ("name:\n", "problem"),
        ];
        for (yaml, title) in table {
            assert_eq!(read_clean(&[("problem.yaml", yaml)]).title, title, "{yaml}");
        }
    }

    #[test]
    fn kinds_of_problems() {
        let validator = ("output_validators/v.py", "");
        let new = "problem_format_version: 2025-09\n";
        let table = [
            ("type: scoring\nvalidation: custom score\n".to_string(), [true, false, false]),
            ("validation: custom interactive\n".to_string(), [false, true, false]),
            ("validation: custom interactive multi-pass\n".to_string(), [false, true, true]),
            (format!("{new}type: [scoring, interactive]\n"), [true, true, false]),
            (format!("{new}type: pass-fail multi-pass\n"), [false, false, true]),
        ];
        for (yaml, flags) in table {
            let (package, _) = package_with(&[("problem.yaml", &yaml), validator]).unwrap();
            assert_eq!([package.scoring, package.interactive, package.multi_pass], flags, "{yaml}");
        }
    }

    #[test]
    fn untidy_keys_are_told_and_do_no_harm() {
        read_warned(
            &[("problem.yaml", "nam: x\nlimits: {memori: 5}\n")],
            &[
                "problem.yaml:1: nam: unknown key, ignored\nhint: did you mean `name`?",
                "problem.yaml:2: limits.memori: unknown key, ignored\nhint: did you mean `memory`?",
            ],
        );
        let tabs = read_warned(
            &[("problem.yaml", "name:\tx\nlimits:\n\tmemory: 512\n")],
            &["problem.yaml:3: indented with tabs"],
        );
        assert_eq!(tabs.limits.memory, Some(model::Bytes::from_mib(512)));
        read_warned(
            &[("problem.yaml", "problem_format_version: 2025-09\nauthor: x\n")],
            &["problem.yaml:2: author: belongs to another format"],
        );
        read_clean(&[(
            "problem.yaml",
            "problem_format_version: 2023-07-draft\nauthor: x\nvalidation: default\n",
        )]);
        read_warned(
            &[("problem.yaml", "name: a\nname: b\n")],
            &["problem.yaml:2: name: appears more than once"],
        );
    }

    #[test]
    fn constants_and_their_variants() {
        let yaml = "problem_format_version: 2025-09\nconstants: {n: 5, k: {value: 1000, tex: '1\\,000'}}\n";
        let expected =
            [("n", "5"), ("n.value", "5"), ("k", "1000"), ("k.value", "1000"), ("k.tex", "1\\,000")];
        let package = read_clean(&[("problem.yaml", yaml)]);
        let found: Vec<_> = package.constants.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn wrong_values_are_refused() {
        let table = [
            ("problem_format_version: 7\n", "problem.yaml:1: problem_format_version: `7` is not one of"),
            ("\ntype: scorin\n", "problem.yaml:2: type: `scorin` is not one of"),
            (
                "type: [scoring, pass-fail]\n",
                "problem.yaml:1: type: scoring and pass-fail exclude each other",
            ),
            ("validation: interactive\n", "problem.yaml:1: validation: must begin with"),
            ("constants: {a b: 1}\n", "problem.yaml:1: constants.a b: is not a name"),
            ("grading: {objective: up}\n", "problem.yaml:1: grading.objective: must be min or max"),
            ("limits: much\n", "problem.yaml:1: limits: must be a map, not a scalar"),
            ("validator_flags: {a: 1}\n", "problem.yaml:1: validator_flags: must be text or a list"),
        ];
        for (yaml, start) in table {
            let error = refusal(&[("problem.yaml", yaml)]);
            assert!(error.starts_with(start), "{error}");
        }
    }
}
