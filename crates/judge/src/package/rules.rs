//! `submissions/submissions.yaml`, and the rules that 2025-09 gives the usual directories ("Example
//! submissions").

use super::field::{self, Section};
use super::glob::Glob;
use super::{FileTree, PackageError, Warning};
use crate::yaml::{Node, Value};
use model::Verdict;
use std::collections::BTreeSet;

const FILE: &str = "submissions/submissions.yaml";

/// What must hold for the tests of a submission, or for some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rule {
    pub(super) permitted: Option<BTreeSet<Verdict>>,
    pub(super) required: Option<BTreeSet<Verdict>>,
    pub(super) score: Option<(f64, f64)>,
    pub(super) message: Option<String>,
    pub(super) time: Option<UseForTimeLimit>,
    pub(super) language: Option<String>,
    pub(super) entry_point: Option<String>,
    /// Rules for single groups or cases, by pattern.
    pub(super) within: Vec<(String, Rule)>,
}

/// `use_for_time_limit`, where it is not `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UseForTimeLimit {
    No,
    Lower,
    Upper,
}

/// A rule and the submissions it is for.
pub(super) struct Entry {
    pub(super) pattern: String,
    pub(super) glob: Glob,
    pub(super) rule: Rule,
    /// Where it stands.
    pub(super) place: String,
}

impl Rule {
    fn new(permitted: Option<&[Verdict]>, required: Option<&[Verdict]>) -> Rule {
        let set = |verdicts: &[Verdict]| with_kinds_of_crash(verdicts.iter().copied().collect());
        Rule { permitted: permitted.map(set), required: required.map(set), ..Rule::default() }
    }

    /// These keys, and the others' where this says nothing: how an entry named after a directory replaces the
    /// directory's own rule.
    pub(super) fn or(self, default: Rule) -> Rule {
        Rule {
            permitted: self.permitted.or(default.permitted),
            required: self.required.or(default.required),
            score: self.score.or(default.score),
            message: self.message.or(default.message),
            time: self.time.or(default.time),
            language: self.language.or(default.language),
            entry_point: self.entry_point.or(default.entry_point),
            within: if self.within.is_empty() { default.within } else { self.within },
        }
    }

    /// The limit must let such a submission pass: it may not be too slow.
    pub(super) fn bounds_from_below(&self) -> bool {
        match self.time {
            None => self.permitted.as_ref().is_some_and(|set| !set.contains(&Verdict::TimeLimit)),
            Some(time) => time == UseForTimeLimit::Lower,
        }
    }

    /// The limit must stop such a submission: being too slow is the one thing required, of all tests or of
    /// some. (From below only rules for all tests count: a bound is not kept for single groups.)
    pub(super) fn bounds_from_above(&self) -> bool {
        if self.within.iter().any(|(_, rule)| rule.bounds_from_above()) {
            return true;
        }
        match self.time {
            None => self.required.as_ref().is_some_and(|set| set.iter().eq([&Verdict::TimeLimit])),
            Some(time) => time == UseForTimeLimit::Upper,
        }
    }

    /// Verdicts that tests may have, `use_for_time_limit: lower` included, which excludes being too slow.
    pub(super) fn allowed(&self) -> Option<BTreeSet<Verdict>> {
        match self.time {
            Some(UseForTimeLimit::Lower) => {
                let mut set = self.permitted.clone().unwrap_or_else(any);
                set.remove(&Verdict::TimeLimit);
                Some(set)
            }
            _ => self.permitted.clone(),
        }
    }

    /// Verdicts of which some test must have one, `use_for_time_limit: upper` included.
    pub(super) fn demanded(&self) -> BTreeSet<Verdict> {
        match (self.time, &self.required) {
            (Some(UseForTimeLimit::Upper), _) => BTreeSet::from([Verdict::TimeLimit]),
            (_, Some(set)) if *set != any() => set.clone(),
            _ => BTreeSet::new(),
        }
    }
}

/// Every verdict of a test the specification knows.
fn any() -> BTreeSet<Verdict> {
    use Verdict::{Accepted, RunTimeError, TimeLimit, WrongAnswer};
    with_kinds_of_crash(BTreeSet::from([Accepted, WrongAnswer, TimeLimit, RunTimeError]))
}

/// The specification knows four verdicts only: exceeding memory or output is a kind of RTE there.
pub(super) fn with_kinds_of_crash(mut verdicts: BTreeSet<Verdict>) -> BTreeSet<Verdict> {
    if verdicts.contains(&Verdict::RunTimeError) {
        verdicts.extend([Verdict::MemoryLimit, Verdict::OutputLimit]);
    }
    verdicts
}

/// 2025-09, "Default directories".
pub(super) fn of_directory(name: &str) -> Option<Rule> {
    use Verdict::{Accepted as AC, RunTimeError as RTE, TimeLimit as TLE, WrongAnswer as WA};
    Some(match name {
        "accepted" => Rule::new(Some(&[AC]), None),
        "slow_accepted" => Rule { time: Some(UseForTimeLimit::No), ..Rule::new(Some(&[AC, TLE]), None) },
        "rejected" => Rule::new(None, Some(&[RTE, TLE, WA])),
        "wrong_answer" => Rule::new(Some(&[AC, WA]), Some(&[WA])),
        "time_limit_exceeded" => Rule::new(Some(&[AC, TLE]), Some(&[TLE])),
        "run_time_error" | "runtime_error" => Rule::new(Some(&[AC, RTE]), Some(&[RTE])),
        "brute_force" => Rule::new(Some(&[AC, RTE, TLE]), Some(&[RTE, TLE])),
        _ => return None,
    })
}

/// The entries of `submissions.yaml`, in the order of the file.
pub(super) fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Vec<Entry>, PackageError> {
    let Some(root) = field::document(tree, FILE, warnings)? else { return Ok(Vec::new()) };
    let section = Section::root(FILE, &root)?;
    let mut entries = Vec::new();
    for (pattern, node) in section.entries() {
        let glob = Glob::parse(pattern).map_err(|error| section.error(pattern, error.to_string()))?;
        let inner = Section::new(FILE, format!("{pattern}."), node)?;
        let rule = rule(&inner, true, warnings)?;
        let pattern = pattern.trim_matches('/').to_string();
        entries.push(Entry { pattern, glob, rule, place: field::place(FILE, Some(node.line), "") });
    }
    Ok(entries)
}

fn rule(section: &Section, whole: bool, warnings: &mut Vec<Warning>) -> Result<Rule, PackageError> {
    const TESTS: [&str; 5] = ["permitted", "required", "score", "message", "use_for_time_limit"];
    const WHOLE: [&str; 5] = ["language", "entrypoint", "authors", "author", "model_solution"];
    let is_group = |key: &str, node: &Node| {
        whole && matches!(node.value, Value::Map(_)) && !TESTS.contains(&key) && !WHOLE.contains(&key)
    };
    let groups: Vec<&(String, Node)> =
        section.entries().iter().filter(|(key, node)| is_group(key, node)).collect();
    let mut known = TESTS.to_vec();
    if whole {
        known.extend(WHOLE);
        known.extend(groups.iter().map(|(key, _)| key.as_str()));
    }
    section.unknown(&known, &[], warnings);
    let mut rule = Rule {
        permitted: verdicts(section, "permitted")?,
        required: verdicts(section, "required")?,
        score: score(section)?,
        message: section.text("message")?.filter(|text| !text.is_empty()).map(str::to_string),
        time: use_for_time_limit(section)?,
        ..Rule::default()
    };
    if whole {
        rule.language = section.text("language")?.map(str::to_string);
        rule.entry_point = section.text("entrypoint")?.map(str::to_string);
        for (key, _) in groups {
            let pattern = Glob::parse(key).map(|_| key.trim_matches('/').to_string());
            let pattern = pattern.map_err(|error| section.error(key, error.to_string()))?;
            rule.within.push((pattern, self::rule(&section.section(key)?, false, warnings)?));
        }
    }
    Ok(rule)
}

fn verdicts(section: &Section, key: &str) -> Result<Option<BTreeSet<Verdict>>, PackageError> {
    let Some(words) = section.words(key)? else { return Ok(None) };
    let mut set = BTreeSet::new();
    for word in words {
        let verdict = word.trim_matches([',', ' ']).parse();
        set.insert(verdict.map_err(|error: model::ParseVerdictError| section.error(key, error.to_string()))?);
    }
    Ok(Some(with_kinds_of_crash(set)))
}

fn score(section: &Section) -> Result<Option<(f64, f64)>, PackageError> {
    let Some(words) = section.words("score")? else { return Ok(None) };
    let number = |word: &String| word.parse().ok().filter(|score: &f64| !score.is_nan());
    let numbers: Option<Vec<f64>> = words.iter().map(number).collect();
    match numbers.as_deref() {
        Some(&[score]) => Ok(Some((score, score))),
        Some(&[low, high]) if low <= high => Ok(Some((low, high))),
        _ => Err(section.error("score", "must be a number, or a list of two with the lower first")),
    }
}

fn use_for_time_limit(section: &Section) -> Result<Option<UseForTimeLimit>, PackageError> {
    const KEY: &str = "use_for_time_limit";
    match section.get(KEY).and_then(Node::text) {
        Some("lower") => Ok(Some(UseForTimeLimit::Lower)),
        Some("upper") => Ok(Some(UseForTimeLimit::Upper)),
        _ => match section.flag(KEY) {
            Ok(flag) => Ok((flag == Some(false)).then_some(UseForTimeLimit::No)),
            Err(_) => Err(section.error(KEY, "must be true, false, lower or upper")),
        },
    }
}
