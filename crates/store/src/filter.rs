//! Which submissions are asked for.

use crate::db::{Value, values};
use crate::{ContestId, ProblemId, State, SubmissionId, Timestamp, UserId};
use model::Verdict;

/// What submissions must be to be let through; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Submitted for any version of this problem.
    pub problem: Option<ProblemId>,
    /// Submitted by this user.
    pub author: Option<UserId>,
    /// In this language.
    pub language: Option<String>,
    /// Submitted for this contest.
    pub contest: Option<ContestId>,
    /// Their current verdict.
    pub verdict: Option<Verdict>,
    /// How far judging them has come.
    pub state: Option<State>,
    /// Where they came from.
    pub origin: Option<String>,
    /// Submitted by this visitor, without signing in.
    pub visitor: Option<String>,
    /// Submitted at this time or later.
    pub since: Option<Timestamp>,
    /// Submitted before this time.
    pub until: Option<Timestamp>,
}

/// Which of many submissions, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Those older than this one: the last of the page before. What comes in meanwhile does not shift pages.
    pub before: Option<SubmissionId>,
    /// Leave out this number. For clients that know pages by number; the time this takes grows with the number.
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

/// The open jobs for a verdict, in the words of the index that has them.
macro_rules! open {
    ($rest:literal) => {
        concat!("(SELECT submission FROM jobs WHERE purpose = 'verdict' AND state <> 'judged'", $rest, ")")
    };
}

/// The current judgement.
macro_rules! verdict {
    () => {
        "(SELECT 1 FROM judgements WHERE submission = s.id AND current = 1)"
    };
}

impl State {
    /// What holds of a submission `s` in this state; see the column `state` of [`crate::submissions`].
    const fn condition(self) -> &'static str {
        match self {
            State::Waiting => concat!(
                "s.id IN ",
                open!(""),
                " AND NOT EXISTS ",
                open!(" AND state = 'claimed' AND started IS NOT NULL AND submission = s.id")
            ),
            State::Judging => concat!("s.id IN ", open!(" AND state = 'claimed' AND started IS NOT NULL")),
            State::Judged => {
                concat!("NOT EXISTS ", open!(" AND submission = s.id"), " AND EXISTS ", verdict!())
            }
            State::Cancelled => concat!(
                "s.id IN (SELECT submission FROM jobs WHERE cancelled IS NOT NULL) AND NOT EXISTS ",
                open!(" AND submission = s.id"),
                " AND NOT EXISTS ",
                verdict!()
            ),
        }
    }
}

impl Filter {
    /// The column to sort by: the number of the submission, read from the index that is in this order after the verdict where
    /// one is asked for. By the other SQLite would sort all of that verdict.
    pub(crate) const fn number(&self) -> &'static str {
        if self.verdict.is_some() { "j.submission" } else { "s.id" }
    }

    /// `WHERE …` on submissions `s` and their current judgement `j`, and the arguments from `$1` on. Only what is asked for
    /// is in it, so that the database can choose an index by it.
    pub(crate) fn conditions(&self, before: Option<SubmissionId>) -> (String, Vec<Value>) {
        let problem = "s.version IN (SELECT id FROM problem_versions WHERE problem = ";
        let older = &format!("{} < ", self.number());
        let all = [
            (problem, ")", self.problem.map(Value::from)),
            ("s.author = ", "", self.author.map(Value::from)),
            ("s.language = ", "", self.language.as_deref().map(Value::from)),
            ("s.contest = ", "", self.contest.map(Value::from)),
            ("j.verdict = ", "", self.verdict.map(|v| Value::from(v.code()))),
            ("s.origin = ", "", self.origin.as_deref().map(Value::from)),
            ("s.visitor = ", "", self.visitor.as_deref().map(Value::from)),
            ("s.created >= ", "", self.since.map(Value::from)),
            ("s.created < ", "", self.until.map(Value::from)),
            (older, "", before.map(Value::from)),
        ];
        let (mut conditions, mut values) = (Vec::new(), values![]);
        for (left, right, value) in all {
            let Some(value) = value else { continue };
            values.push(value);
            conditions.push(format!("{left}${}{right}", values.len()));
        }
        // What infers limits is no program, and what is run on tests of its own no submission: found only by their names.
        conditions.extend(self.origin.is_none().then(|| "s.origin NOT IN ('limits', 'run')".to_string()));
        conditions.extend(self.state.map(|state| state.condition().to_string()));
        let word = if conditions.is_empty() { "" } else { "WHERE " };
        (format!("{word}{}", conditions.join(" AND ")), values)
    }
}
