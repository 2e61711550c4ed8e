//! Which submissions are asked for.

use crate::db::{Value, values};
use crate::{Moment, ProblemId, SubmissionId, UserId};
use model::Verdict;

/// What submissions must be to be let through; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Handed in for any version of this problem.
    pub problem: Option<ProblemId>,
    /// Handed in by this user.
    pub author: Option<UserId>,
    /// In this language.
    pub language: Option<String>,
    /// Their current verdict.
    pub verdict: Option<Verdict>,
    /// Handed in at this time or later.
    pub since: Option<Moment>,
    /// Handed in before this time.
    pub until: Option<Moment>,
}

/// Which of many submissions, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Those older than this one: the last of the page before. What comes in meanwhile does not shift pages.
    pub before: Option<SubmissionId>,
    /// Leave out so many. For clients that know pages by number; the time this takes grows with the number.
    pub skip: u32,
    /// At most so many.
    pub limit: u32,
}

impl Page {
    /// The first page.
    pub const fn first(limit: u32) -> Page {
        Page { before: None, skip: 0, limit }
    }

    /// The page behind this submission.
    pub const fn after(last: SubmissionId, limit: u32) -> Page {
        Page { before: Some(last), skip: 0, limit }
    }
}

impl Filter {
    /// `WHERE …` on submissions `s` and their current judgement `j`, and the arguments from `$1` on. Only what is asked for
    /// is in it, so that the database can choose an index by it.
    pub(crate) fn conditions(&self, before: Option<SubmissionId>) -> (String, Vec<Value>) {
        let problem = "s.version IN (SELECT id FROM problem_versions WHERE problem = ";
        let all = [
            (problem, ")", self.problem.map(Value::from)),
            ("s.author = ", "", self.author.map(Value::from)),
            ("s.language = ", "", self.language.as_deref().map(Value::from)),
            ("j.verdict = ", "", self.verdict.map(|v| Value::from(v.code()))),
            ("s.created >= ", "", self.since.map(Value::from)),
            ("s.created < ", "", self.until.map(Value::from)),
            ("s.id < ", "", before.map(Value::from)),
        ];
        let (mut conditions, mut values) = (String::new(), values![]);
        for (left, right, value) in all {
            let Some(value) = value else { continue };
            values.push(value);
            let word = if values.len() == 1 { "WHERE" } else { " AND" };
            conditions += &format!("{word} {left}${}{right}", values.len());
        }
        (conditions, values)
    }
}
