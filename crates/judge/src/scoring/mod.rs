//! From the verdicts of test cases to the verdict and score of a submission: which test case comes next, what
//! a group's members make of the group, and when enough is known.
//!
//! [`Judging`] holds only the results recorded so far and works out everything else from them again, so that
//! the same results give the same verdict in whatever order and mode they came.

mod best;
mod case;
mod legacy;
mod recent;

#[cfg(test)]
mod tests;

pub use best::max_score;

use crate::package::{Grading, Package, TestCase, TestGroup};
use crate::verdict::Validation;
use legacy::ignores_sample;
use model::{GroupScore, Verdict};
use std::collections::HashMap;

/// How much is run. The final verdict is the same in both modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeMode {
    /// Only what the verdict needs.
    StopEarly,
    /// Every test case, in order.
    AllTests,
}

/// What a group, or the whole submission, earned.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupResult {
    /// Its verdict.
    pub verdict: Verdict,
    /// Its score; `None` in pass-fail problems and where a rejection leaves none.
    pub score: Option<f64>,
    /// Why it is a judge error, with the group or test case; `None` otherwise.
    pub fault: Option<String>,
}

impl GroupResult {
    fn new(verdict: Verdict, score: Option<f64>) -> GroupResult {
        GroupResult { verdict, score, fault: None }
    }

    fn fault(why: String) -> GroupResult {
        GroupResult { verdict: Verdict::JudgeError, score: None, fault: Some(why) }
    }
}

/// What a test case earned, once the scoring rules of its package have been applied.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The verdict recorded, or JE where the validator's score breaks the rules.
    pub verdict: Verdict,
    /// Its score; `None` where it has none of its own.
    pub score: Option<f64>,
    /// Why it became a judge error here; `None` otherwise.
    pub fault: Option<String>,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'p> {
    /// Judge this test case and [`Judging::record`] it.
    Run(&'p TestCase),
    /// Run the package's grader, give its output to [`parse_grade`], and the result to [`Judging::graded`].
    Grade {
        /// Name of the group.
        group: &'p str,
        /// Arguments of the grader.
        flags: &'p [String],
        /// Its standard input.
        input: String,
    },
    /// Nothing; this is the final result.
    Done(GroupResult),
}

/// The results must come from somewhere first.
enum Need<'p> {
    Case(&'p TestCase),
    Grade { group: &'p TestGroup, flags: &'p [String], input: String },
}

/// Whether the package is graded as in legacy. Packages of the drafts of 2025-09 can be, so it is the grading of
/// the test data that tells, not the format.
fn legacy_grading(package: &Package) -> bool {
    matches!(package.data.settings.grading, Grading::LegacyDefault { .. } | Grading::Custom { .. })
}

/// A member of a group.
#[derive(Clone, Copy)]
enum Member<'p> {
    Case(&'p TestCase),
    Group(&'p TestGroup),
}

impl<'p> Member<'p> {
    fn name(self) -> &'p str {
        match self {
            Member::Case(case) => &case.name,
            Member::Group(group) => &group.name,
        }
    }
}

/// Test cases and groups directly inside, together in the order of their names (legacy, "Test data groups";
/// 2025-09, "Test cases").
fn members(group: &TestGroup) -> Vec<Member<'_>> {
    let cases = group.cases.iter().map(Member::Case);
    let mut all: Vec<_> = cases.chain(group.groups.iter().map(Member::Group)).collect();
    all.sort_by_key(|m| m.name());
    all
}

/// A submission being judged.
#[derive(Clone, Debug)]
pub struct Judging<'p> {
    package: &'p Package,
    mode: JudgeMode,
    /// Every test case with the group it lies in, in judging order.
    order: Vec<(&'p TestCase, &'p TestGroup)>,
    cases: HashMap<&'p str, CaseResult>,
    grades: HashMap<&'p str, GroupResult>,
    /// Some score came from the validator and not from the package's settings.
    own_scores: bool,
}

impl<'p> Judging<'p> {
    /// Nothing judged yet.
    pub fn new(package: &'p Package, mode: JudgeMode) -> Judging<'p> {
        let mut order = Vec::new();
        collect(&package.data, &mut order);
        Judging { package, mode, order, cases: HashMap::new(), grades: HashMap::new(), own_scores: false }
    }

    /// What is to be done next. Asking again gives the same answer until something is recorded.
    pub fn next(&self) -> Step<'p> {
        if self.mode == JudgeMode::AllTests
            && let Some((case, _)) =
                self.order.iter().find(|(case, _)| !self.cases.contains_key(case.name.as_str()))
        {
            return Step::Run(case);
        }
        match self.final_result() {
            Ok(result) => Step::Done(result),
            Err(Need::Case(case)) => Step::Run(case),
            Err(Need::Grade { group, flags, input }) => Step::Grade { group: &group.name, flags, input },
        }
    }

    /// Records a test case and returns what it counts as. `validation` is the validator's result, if it ran;
    /// of a multi-pass run the last one. An unknown name is ignored but for the result returned.
    pub fn record(&mut self, name: &str, verdict: Verdict, validation: Option<&Validation>) -> CaseResult {
        let Some(&(case, group)) = self.order.iter().find(|(case, _)| case.name == name) else {
            return CaseResult { verdict, score: None, fault: None };
        };
        self.own_scores |= validation.is_some_and(|v| v.score.is_some() || v.multiplier.is_some());
        let result = case::result(self.package, group, case, verdict, validation);
        self.cases.insert(&case.name, result.clone());
        result
    }

    /// Records the result of the grader that [`Judging::next`] asked for; `Err` says why it failed, which is a
    /// judge error. Without such a question nothing happens.
    pub fn graded(&mut self, result: Result<GroupResult, String>) {
        if let Err(Need::Grade { group, .. }) = self.final_result() {
            let result =
                result.unwrap_or_else(|why| GroupResult::fault(format!("grader on {}: {why}", title(group))));
            self.grades.insert(&group.name, result);
        }
    }

    /// Result of every group inside `data` that is known by now, by name. Empty for pass-fail packages of
    /// 2025-09, whose groups have no results.
    pub fn groups(&self) -> Vec<(String, GroupResult)> {
        let mut groups = Vec::new();
        self.package.data.groups.iter().for_each(|g| collect_groups(g, &mut groups));
        let result = |group: &'p TestGroup| match (legacy_grading(self.package), self.package.scoring) {
            (true, _) => self.legacy_group(group).ok().flatten(),
            (false, true) => self.recent_group(group).ok(),
            (false, false) => None,
        };
        groups.into_iter().filter_map(|g| Some((g.name.clone(), result(g)?))).collect()
    }

    /// The parts of the score: what every test group that counts has earned by now, in order. The groups that
    /// hold the whole score are left out.
    pub fn subtotals(&self) -> Vec<GroupScore> {
        let mut groups = Vec::new();
        self.package.data.groups.iter().for_each(|g| collect_groups(g, &mut groups));
        let recent = !legacy_grading(self.package);
        let sample_only = recent || ignores_sample(&self.package.data.settings);
        let whole = |group: &TestGroup| sample_only && matches!(group.name.as_str(), "sample" | "secret");
        let earned = |group: &'p TestGroup| {
            let result = match recent {
                true => self.recent_group(group).ok(),
                false => self.legacy_group(group).ok().flatten(),
            }?;
            Some(GroupScore {
                name: group.name.clone(),
                verdict: result.verdict,
                score: result.score?,
                max_score: best::group_max(self.package, group, self.own_scores),
            })
        };
        let counts = groups.into_iter().filter(|group| self.package.scoring && !whole(group));
        counts.filter_map(earned).collect()
    }

    /// The best score this submission could have, where that is known: see [`max_score`].
    pub fn max_score(&self) -> Option<f64> {
        max_score(self.package, self.own_scores)
    }

    fn final_result(&self) -> Result<GroupResult, Need<'p>> {
        let result = if legacy_grading(self.package) { self.legacy_result()? } else { self.recent_result()? };
        Ok(if self.package.scoring { result } else { GroupResult { score: None, ..result } })
    }

    fn case(&self, case: &'p TestCase) -> Result<GroupResult, Need<'p>> {
        let result = self.cases.get(case.name.as_str()).ok_or(Need::Case(case))?;
        let fault = match (&result.fault, result.verdict) {
            (Some(why), _) => Some(format!("test case {}: {why}", case.name)),
            (None, Verdict::JudgeError) => Some(format!("judge error on test case {}", case.name)),
            (None, _) => None,
        };
        Ok(GroupResult { verdict: result.verdict, score: result.score, fault })
    }
}

fn collect<'p>(group: &'p TestGroup, into: &mut Vec<(&'p TestCase, &'p TestGroup)>) {
    for member in members(group) {
        match member {
            Member::Case(case) => into.push((case, group)),
            Member::Group(inner) => collect(inner, into),
        }
    }
}

fn collect_groups<'p>(group: &'p TestGroup, into: &mut Vec<&'p TestGroup>) {
    into.push(group);
    group.groups.iter().for_each(|g| collect_groups(g, into));
}

fn title(group: &TestGroup) -> String {
    if group.name.is_empty() { "the test data".into() } else { format!("test group {}", group.name) }
}

/// Reads a grader's standard output: one verdict and one finite score, parted by white space (legacy,
/// "Graders").
pub fn parse_grade(output: &[u8]) -> Result<GroupResult, String> {
    let text = String::from_utf8_lossy(output);
    let mut words = text.split_whitespace();
    let verdict = words.next().and_then(|w| w.parse::<Verdict>().ok());
    let score = words.next().and_then(|w| w.parse::<f64>().ok()).filter(|s| s.is_finite());
    match (verdict, score, words.next()) {
        (Some(Verdict::JudgeError), Some(_), None) => Err("the grader reports a judge error".into()),
        (Some(Verdict::PartiallyAccepted | Verdict::CompileError), ..)
        | (None, ..)
        | (_, None, _)
        | (.., Some(_)) => {
            let shown: String = text.trim().chars().take(60).collect();
            Err(format!("its output must be a verdict and a score, such as `AC 10`, found `{shown}`"))
        }
        (Some(verdict), score, None) => Ok(GroupResult::new(verdict, score)),
    }
}
