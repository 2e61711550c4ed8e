//! A contest as its feed tells it, as far as whoever judges beside it needs to know. Telling a thing again changes nothing.

use crate::feed::{Notice, duration, reltime, text};
use crate::types;
use model::{Agreement, Nanos, Ours, ShadowRow, Theirs};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most submissions and judgements of a contest that are followed: ten times those of the largest there are.
pub const MOST: usize = 500_000;
/// Longest id: the specification allows 36 characters.
const ID: usize = 255;
/// Most of a time, a name or an address that is kept.
const TEXT: usize = 2048;

/// A problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// Names it has, the surest first: id, uuid, what some systems call its short name, label, name.
    pub names: Vec<String>,
    /// Label, as on scoreboards.
    pub label: Option<String>,
    /// Time limit of a test.
    pub time_limit: Option<Nanos>,
}

/// A submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// Its problem.
    pub problem: String,
    /// Its language.
    pub language: String,
    /// Its entry point.
    pub entry: Option<String>,
    /// Where its files are, as the contest says.
    pub files: Option<String>,
    /// Which one it is, in the order in which they came.
    pub number: usize,
}

/// A judgement that has come to its end.
#[derive(Clone, Debug, PartialEq)]
struct Judgement {
    submission: String,
    kind: Option<String>,
    time: Option<Nanos>,
    score: Option<f64>,
    current: bool,
    /// When it began, in milliseconds of the contest.
    begun: i64,
}

/// A contest.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    /// Which types of judgements solve a problem.
    solved: BTreeMap<String, Option<bool>>,
    /// Languages: their names by id.
    pub languages: BTreeMap<String, String>,
    /// Problems by id.
    pub problems: BTreeMap<String, Problem>,
    /// Submissions by id.
    pub submissions: BTreeMap<String, Submission>,
    judgements: BTreeMap<String, Judgement>,
    /// Judgements of a submission.
    of: BTreeMap<String, Vec<String>>,
    /// The slowest run of a judgement, where there are runs.
    slowest: BTreeMap<String, Nanos>,
    /// Nothing will change any more.
    pub ended: bool,
    numbers: usize,
}

/// What a notification changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    /// Submissions that look otherwise now.
    pub submissions: Vec<String>,
    /// What is kept of it, to be told again after a restart; `None`: nothing changed.
    pub kept: Option<Value>,
}

fn cut(value: &Value) -> Option<String> {
    text(value).map(|text| text.chars().take(TEXT).collect())
}

impl Contest {
    /// Takes a notification in.
    ///
    /// # Errors
    /// There is more than is followed.
    pub fn apply(&mut self, notice: &Notice) -> Result<Changed, String> {
        let known = |kind: &str| {
            matches!(
                kind,
                "judgement-types" | "languages" | "problems" | "submissions" | "judgements" | "runs"
            )
        };
        if notice.kind == "state" {
            let ended = !notice.data["end_of_updates"].is_null();
            let kept = (ended != self.ended).then(|| json!({ "end_of_updates": ended.then_some(true) }));
            self.ended = ended;
            return Ok(Changed { submissions: Vec::new(), kept: kept.map(|data| whole("state", data)) });
        }
        if !known(&notice.kind) {
            return Ok(Changed::default());
        }
        let mut changed = Changed::default();
        let (mut kept, mut there) = (Vec::new(), Vec::new());
        for (id, data) in notice.objects() {
            if id.len() > ID {
                continue;
            }
            let reduced = data.and_then(|data| reduced(&notice.kind, &id, data));
            let (differs, touched) = match &reduced {
                Some(data) => self.set(&notice.kind, &id, data)?,
                None if data.is_none() => self.remove(&notice.kind, &id),
                // Nothing that could be used.
                None => continue,
            };
            changed.submissions.extend(touched);
            if differs {
                let data = reduced.unwrap_or_default();
                kept.push(json!({ "type": notice.kind, "id": id, "data": data }));
            }
            there.push(id);
        }
        if notice.is_whole() && notice.kind != "runs" {
            there.sort_unstable();
            for id in self.ids(&notice.kind) {
                if there.binary_search(&id).is_err() {
                    changed.submissions.extend(self.remove(&notice.kind, &id).1);
                    kept.push(json!({ "type": notice.kind, "id": id, "data": null }));
                }
            }
        }
        changed.kept = (!kept.is_empty()).then_some(Value::Array(kept));
        Ok(changed)
    }

    fn ids(&self, kind: &str) -> Vec<String> {
        match kind {
            "judgement-types" => self.solved.keys().cloned().collect(),
            "languages" => self.languages.keys().cloned().collect(),
            "problems" => self.problems.keys().cloned().collect(),
            "submissions" => self.submissions.keys().cloned().collect(),
            "judgements" => self.judgements.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Sets an object by what is kept of it. Whether it is new or other than before, and whom that touches.
    fn set(&mut self, kind: &str, id: &str, data: &Value) -> Result<(bool, Vec<String>), String> {
        let full = |there: usize| match there < MOST {
            true => Ok(()),
            false => Err(format!("the feed contains more than {MOST} {kind}")),
        };
        let id = id.to_owned();
        Ok(match kind {
            "judgement-types" => {
                full(self.solved.len())?;
                let solved = data["solved"].as_bool();
                (self.solved.insert(id, solved) != Some(solved), Vec::new())
            }
            "languages" => {
                full(self.languages.len())?;
                let name = text(&data["name"]).unwrap_or_default();
                (self.languages.insert(id, name.clone()) != Some(name), Vec::new())
            }
            "problems" => {
                full(self.problems.len())?;
                let problem = problem(&id, data);
                let differs = self.problems.insert(id.clone(), problem.clone()) != Some(problem);
                let of = self.submissions.iter().filter(|(_, s)| differs && s.problem == id);
                (differs, of.map(|(id, _)| id.clone()).collect())
            }
            "submissions" => {
                full(self.submissions.len())?;
                let number = self.submissions.get(&id).map_or(self.numbers, |known| known.number);
                let Some(submission) = submission(data, number) else { return Ok((false, Vec::new())) };
                self.numbers = self.numbers.max(number + 1);
                let differs = self.submissions.insert(id.clone(), submission.clone()) != Some(submission);
                (differs, differs.then_some(id).into_iter().collect())
            }
            "judgements" => {
                full(self.judgements.len())?;
                let Some(judgement) = judgement(data) else { return Ok((false, Vec::new())) };
                let of = judgement.submission.clone();
                let before = self.judgements.insert(id.clone(), judgement.clone());
                let differs = before.as_ref() != Some(&judgement);
                let mut touched = vec![of.clone()];
                if let Some(before) = before.filter(|before| before.submission != of) {
                    self.forget(&before.submission, &id);
                    touched.push(before.submission);
                }
                let list = self.of.entry(of).or_default();
                if !list.contains(&id) {
                    list.push(id);
                }
                (differs, if differs { touched } else { Vec::new() })
            }
            // Of a judgement only the slowest matters.
            _ => {
                let (Some(of), Some(time)) = (text(&data["judgement_id"]), duration(&data["run_time"]))
                else {
                    return Ok((false, Vec::new()));
                };
                if self.slowest.get(&of).is_some_and(|known| *known >= time) {
                    return Ok((false, Vec::new()));
                }
                if !self.slowest.contains_key(&of) {
                    full(self.slowest.len())?;
                }
                let touched = self.judgements.get(&of).filter(|judgement| judgement.kind.is_some());
                let touched = touched.map(|judgement| judgement.submission.clone());
                self.slowest.insert(of, time);
                (true, touched.into_iter().collect())
            }
        })
    }

    fn remove(&mut self, kind: &str, id: &str) -> (bool, Vec<String>) {
        match kind {
            "judgement-types" => (self.solved.remove(id).is_some(), Vec::new()),
            "languages" => (self.languages.remove(id).is_some(), Vec::new()),
            "problems" => (self.problems.remove(id).is_some(), Vec::new()),
            "submissions" => (self.submissions.remove(id).is_some(), vec![id.to_owned()]),
            "judgements" => match self.judgements.remove(id) {
                Some(gone) => {
                    self.forget(&gone.submission, id);
                    self.slowest.remove(id);
                    (true, vec![gone.submission])
                }
                None => (false, Vec::new()),
            },
            _ => (false, Vec::new()),
        }
    }

    fn forget(&mut self, submission: &str, judgement: &str) {
        if let Some(list) = self.of.get_mut(submission) {
            list.retain(|id| id != judgement);
        }
    }

    /// How the contest judges a submission at this moment: the judgement in force, where it has come to its end. Before 2026-01 nothing says
    /// which that is: it is the one that began last.
    pub fn theirs(&self, submission: &str) -> Option<Theirs> {
        let all = self.of.get(submission)?.iter().filter_map(|id| Some((id, self.judgements.get(id)?)));
        let (id, judgement) = all.filter(|(_, j)| j.current).max_by_key(|(_, j)| j.begun)?;
        let kind = judgement.kind.clone()?;
        Some(Theirs {
            simplified: types::simplified(&kind).map(str::to_owned),
            time: judgement.time.or_else(|| self.slowest.get(id).copied()),
            score: judgement.score,
            kind,
        })
    }

    /// A submission, both ways. `ours`: what came of it here, or why nothing can; `None`: not yet.
    pub fn row(&self, id: &str, ours: Option<Result<&Ours, &str>>) -> Option<ShadowRow> {
        let submission = self.submissions.get(id)?;
        let theirs = self.theirs(id);
        let label = self.problems.get(&submission.problem).and_then(|problem| problem.label.clone());
        let state = match (&theirs, ours) {
            (_, None) => Agreement::Pending,
            (_, Some(Err(_))) => Agreement::NotJudged,
            (None, Some(Ok(_))) => Agreement::Waiting,
            (Some(theirs), Some(Ok(ours))) => match self.agree(theirs, ours) {
                true => Agreement::Agrees,
                false => Agreement::Differs,
            },
        };
        Some(ShadowRow {
            submission: id.to_owned(),
            problem: label.unwrap_or_else(|| submission.problem.clone()),
            language: submission.language.clone(),
            state,
            theirs,
            ours: ours.and_then(Result::ok).cloned(),
            why: ours.and_then(Result::err).map(str::to_owned),
        })
    }

    fn agree(&self, theirs: &Theirs, ours: &Ours) -> bool {
        let solved = self.solved.get(&theirs.kind).copied().flatten();
        let scores = match (theirs.score, ours.score) {
            // Contests round scores to whatever they show.
            (Some(a), Some(b)) => (a - b).abs() <= 0.01_f64.max(1e-6 * a.abs()),
            _ => true,
        };
        types::agree(ours.verdict, &theirs.kind, solved) && scores
    }
}

fn whole(kind: &str, data: Value) -> Value {
    json!([{ "type": kind, "id": null, "data": data }])
}

/// What is kept of an object, in the words of the feed; `None`: nothing that could be used.
fn reduced(kind: &str, id: &str, data: &Value) -> Option<Value> {
    let keys: &[&str] = match kind {
        "judgement-types" => &["solved"],
        "languages" => &["name"],
        "problems" => &["uuid", "short_name", "label", "name", "time_limit"],
        "submissions" => &["problem_id", "language_id", "entry_point"],
        "judgements" => {
            &["submission_id", "judgement_type_id", "max_run_time", "score", "current", "start_contest_time"]
        }
        _ => &["judgement_id", "run_time"],
    };
    let object = data.as_object()?;
    let mut kept = serde_json::Map::new();
    kept.insert("id".into(), id.into());
    for key in keys {
        match object.get(*key) {
            Some(Value::String(text)) => kept.insert((*key).into(), cut(&Value::from(text.as_str())).into()),
            Some(plain @ (Value::Number(_) | Value::Bool(_))) => kept.insert((*key).into(), plain.clone()),
            _ => None,
        };
    }
    if kind == "submissions"
        && let Some(href) = object.get("files").and_then(|files| cut(&files[0]["href"]))
    {
        kept.insert("files".into(), json!([{ "href": href }]));
    }
    Some(Value::Object(kept))
}

fn problem(id: &str, data: &Value) -> Problem {
    let of = |key: &str| text(&data[key]).filter(|name| !name.is_empty());
    let others = ["uuid", "short_name", "label", "name"].map(of);
    Problem {
        names: [Some(id.to_owned())].into_iter().chain(others).flatten().collect(),
        label: of("label"),
        time_limit: duration(&data["time_limit"]).filter(|limit| limit.0 > 0),
    }
}

fn submission(data: &Value, number: usize) -> Option<Submission> {
    Some(Submission {
        problem: text(&data["problem_id"])?,
        language: text(&data["language_id"])?,
        entry: text(&data["entry_point"]).filter(|entry| !entry.is_empty()),
        files: text(&data["files"][0]["href"]),
        number,
    })
}

fn judgement(data: &Value) -> Option<Judgement> {
    Some(Judgement {
        submission: text(&data["submission_id"])?,
        kind: text(&data["judgement_type_id"]),
        time: duration(&data["max_run_time"]),
        score: data["score"].as_f64(),
        current: data["current"].as_bool().unwrap_or(true),
        begun: data["start_contest_time"].as_str().and_then(reltime).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Confidence, Reading, Verdict};

    fn tell(contest: &mut Contest, line: Value) -> Changed {
        let notice = Notice::read(line.to_string().as_bytes()).unwrap().unwrap();
        contest.apply(&notice).unwrap()
    }

    fn ours(verdict: Verdict, score: Option<f64>) -> Ours {
        Ours {
            verdict,
            time: Reading::Known(Nanos::from_millis(7)),
            limit: Nanos::from_secs(1),
            memory: Reading::Known(Bytes(1)),
            score,
            confidence: Confidence::Clear,
            runs: 1,
        }
    }

    fn begun() -> Contest {
        let mut contest = Contest::default();
        tell(
            &mut contest,
            json!({ "type": "problems", "id": null, "data": [{ "id": "sum", "label": "A", "name": "Sum", "time_limit": 1.5, "statement": [{}] }] }),
        );
        let changed = tell(
            &mut contest,
            json!({ "type": "submissions", "id": "9", "data": { "id": "9", "problem_id": "sum", "language_id": "cpp", "team_id": "4",
                "files": [{ "href": "contests/x/submissions/9/files", "mime": "application/zip" }] } }),
        );
        assert_eq!(changed.submissions, ["9"]);
        contest
    }

    fn judged(contest: &mut Contest, id: &str, more: Value) -> Changed {
        let mut data = json!({ "id": id, "submission_id": "9", "start_contest_time": "0:10:00.000" });
        for (key, value) in more.as_object().unwrap() {
            data[key] = value.clone();
        }
        tell(contest, json!({ "type": "judgements", "id": id, "data": data }))
    }

    #[test]
    fn what_is_told_twice_changes_nothing() {
        let mut contest = begun();
        let line = json!({ "type": "judgements", "id": "j", "data": { "id": "j", "submission_id": "9", "judgement_type_id": "AC", "x": 1 } });
        let changed = tell(&mut contest, line.clone());
        assert_eq!(changed.submissions, ["9"]);
        assert_eq!(tell(&mut contest, line), Changed::default());
        // What is kept makes the same contest again.
        let mut again = begun();
        for one in changed.kept.unwrap().as_array().unwrap() {
            tell(&mut again, one.clone());
        }
        assert_eq!((again.theirs("9"), again.judgements.len()), (contest.theirs("9"), 1));
    }

    #[test]
    fn the_judgement_in_force() {
        let mut contest = begun();
        assert_eq!(contest.row("9", None).unwrap().state, Agreement::Pending);
        judged(&mut contest, "a", json!({}));
        let accepted = ours(Verdict::Accepted, None);
        assert_eq!(contest.row("9", Some(Ok(&accepted))).unwrap().state, Agreement::Waiting);
        judged(&mut contest, "a", json!({ "judgement_type_id": "WA", "max_run_time": 0.25 }));
        let row = contest.row("9", Some(Ok(&accepted))).unwrap();
        assert_eq!((row.state, row.problem.as_str()), (Agreement::Differs, "A"));
        assert_eq!(row.theirs.unwrap().time, Some(Nanos::from_millis(250)));
        // A rejudging, in the words of 2026-01 and then of 2023-06.
        judged(&mut contest, "b", json!({ "judgement_type_id": "AC", "start_contest_time": "0:05:00" }));
        assert_eq!(contest.theirs("9").unwrap().kind, "WA");
        judged(&mut contest, "a", json!({ "judgement_type_id": "WA", "current": false }));
        assert_eq!(contest.theirs("9").unwrap().kind, "AC");
        judged(&mut contest, "c", json!({ "judgement_type_id": "TLE", "start_contest_time": "0:20:00" }));
        assert_eq!(contest.theirs("9").unwrap().simplified.as_deref(), Some("TLE"));
        let gone = tell(&mut contest, json!({ "type": "judgements", "id": "c", "data": null }));
        assert_eq!(
            (gone.submissions, contest.theirs("9").unwrap().kind),
            (vec!["9".to_owned()], "AC".into())
        );
        assert_eq!(contest.row("9", Some(Ok(&accepted))).unwrap().state, Agreement::Agrees);
        assert_eq!(contest.row("9", Some(Err("no package"))).unwrap().why.as_deref(), Some("no package"));
    }

    #[test]
    fn runs_tell_the_time_where_the_judgement_does_not() {
        let mut contest = begun();
        judged(&mut contest, "a", json!({ "judgement_type_id": "AC" }));
        let run = |id: &str, time: f64| json!({ "type": "runs", "id": id, "data": { "id": id, "judgement_id": "a", "ordinal": 1, "run_time": time } });
        assert_eq!(tell(&mut contest, run("1", 0.5)).submissions, ["9"]);
        assert_eq!(tell(&mut contest, run("2", 0.25)), Changed::default());
        assert_eq!(contest.theirs("9").unwrap().time, Some(Nanos::from_millis(500)));
    }

    #[test]
    fn scores_are_compared_too() {
        let mut contest = begun();
        judged(&mut contest, "a", json!({ "judgement_type_id": "AC", "score": 37.5 }));
        let state =
            |score| contest.row("9", Some(Ok(&ours(Verdict::PartiallyAccepted, score)))).unwrap().state;
        assert_eq!(
            (state(Some(37.504)), state(Some(38.0)), state(None)),
            (Agreement::Agrees, Agreement::Differs, Agreement::Agrees)
        );
    }

    #[test]
    fn a_collection_replaces_what_was_there_and_the_state_ends_it() {
        let mut contest = begun();
        let line = json!({ "type": "submissions", "id": null, "data": [{ "id": "10", "problem_id": "sum", "language_id": "c" }] });
        let changed = tell(&mut contest, line);
        assert_eq!(changed.submissions, ["10", "9"]);
        assert_eq!(contest.submissions.keys().collect::<Vec<_>>(), ["10"]);
        let state = |end: Value| json!({ "type": "state", "id": null, "data": { "end_of_updates": end } });
        assert_eq!(tell(&mut contest, state(Value::Null)), Changed::default());
        let ended = tell(&mut contest, state(json!("2026-01-01T00:00:00Z")));
        assert!(contest.ended && ended.kept.is_some());
    }

    #[test]
    fn nonsense_is_passed_over() {
        let mut contest = begun();
        for data in
            [json!("x"), json!([1]), json!({}), json!({ "submission_id": {} }), json!({ "problem_id": 1 })]
        {
            for kind in
                ["problems", "submissions", "judgements", "runs", "languages", "judgement-types", "teams"]
            {
                drop(tell(&mut contest, json!({ "type": kind, "id": "n", "data": data })));
            }
        }
        assert_eq!(contest.submissions.len(), 1);
        assert_eq!(contest.theirs("9"), None);
    }
}
