//! A contest of ours as the lines of a feed that has come to its end, for resolvers and whoever analyses a contest. What a version has no word
//! for is left out.

use jiff::Timestamp;
use model::{Charge, Judgement, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// In which version it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2023-06
    V2023,
    /// 2026-01
    V2026,
}

/// What an organiser tells of the contest and of who takes part: objects of the Contest API, besides what is named here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct People {
    /// Fields of the contest.
    pub contest: ContestFields,
    /// Groups.
    pub groups: Vec<Map<String, Value>>,
    /// Organizations.
    pub organizations: Vec<Map<String, Value>>,
    /// Teams. `account` says whose submissions are theirs: the name of a user here; without it their id is.
    pub teams: Vec<Map<String, Value>>,
}

/// What an organiser tells of the contest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContestFields {
    /// Its name.
    pub name: Option<String>,
    /// Its whole name.
    pub formal_name: Option<String>,
    /// When it began (RFC 3339).
    pub start_time: Option<String>,
    /// How long it took, `h:mm:ss`.
    pub duration: Option<String>,
    /// How long before its end the scoreboard stood still, `h:mm:ss`.
    pub scoreboard_freeze_duration: Option<String>,
    /// Minutes for each wrong submission of a solved problem.
    pub penalty_minutes: Option<u32>,
}

/// A problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Its short name.
    pub id: String,
    /// Its title.
    pub title: String,
}

/// A submission with its judgements, the oldest first.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its number.
    pub id: i64,
    /// Its problem's short name.
    pub problem: String,
    /// Its language's id.
    pub language: String,
    /// Who handed it in; `None`: nobody known.
    pub author: Option<Author>,
    /// When, in microseconds since 1970.
    pub at: i64,
    /// How it was judged.
    pub judgements: Vec<Judged>,
}

/// Who submitted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Author {
    /// The name they sign in with.
    pub name: String,
    /// The name that is shown.
    pub display: String,
}

/// A judgement.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its number.
    pub id: i64,
    /// It is the submission's verdict.
    pub current: bool,
    /// When it began and ended, in microseconds since 1970.
    pub from: i64,
    /// See `from`.
    pub to: i64,
    /// Whole.
    pub judgement: Judgement,
}

/// A language.
#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// Its id here.
    pub id: String,
    /// Codes it is known by to packages and contests.
    pub codes: Vec<String>,
    /// Its name.
    pub name: String,
    /// Extensions of its files.
    pub extensions: Vec<String>,
}

/// A contest.
#[derive(Clone, Debug)]
pub struct Contest {
    /// Its id.
    pub id: String,
    /// When it was set up, in microseconds since 1970.
    pub created: i64,
    /// When the feed is written, in the same unit.
    pub now: i64,
    /// Its problems, in order.
    pub problems: Vec<Problem>,
    /// Languages of its submissions.
    pub languages: Vec<Language>,
    /// Its submissions, in order.
    pub submissions: Vec<Submission>,
}

/// Microseconds of a second and of an hour.
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
/// The team of those nobody knows.
const NOBODY: &str = "nobody";

/// The feed: lines without their ends, and what had to be left out, in words.
///
/// # Errors
/// What the organiser tells is not so: which field, and why.
pub fn feed(
    contest: &Contest,
    people: &People,
    version: Version,
) -> Result<(Vec<String>, Vec<String>), String> {
    let times = Times::of(contest, &people.contest)?;
    let teams = Teams::of(contest, people)?;
    let ids = languages(&contest.languages);
    let scores = contest.submissions.iter().flat_map(|s| &s.judgements).any(|j| j.judgement.score.is_some());
    let mut lines = vec![line("contest", None, &head(contest, &people.contest, &times, scores, version))];
    for (id, name, solved, penalty) in TYPES {
        let data = json!({ "id": id, "name": name, "penalty": penalty, "solved": solved });
        lines.push(line("judgement-types", Some(id), &data));
    }
    for language in &contest.languages {
        let id = &ids[&language.id];
        let data = json!({ "id": id, "name": language.name, "entry_point_required": false, "extensions": language.extensions });
        lines.push(line("languages", Some(id), &data));
    }
    for (n, problem) in contest.problems.iter().enumerate() {
        lines.push(line("problems", Some(&problem.id), &told_problem(contest, n, problem, version)));
    }
    for (kind, objects) in
        [("groups", &people.groups), ("organizations", &people.organizations), ("teams", &teams.objects)]
    {
        for object in objects {
            let id = named(kind, object)?;
            lines.push(line(kind, Some(&id), &Value::Object(object.clone())));
        }
    }
    let mut open = 0;
    for submission in &contest.submissions {
        let id = submission.id.to_string();
        let data = json!({
            "id": id, "language_id": ids[&submission.language], "problem_id": submission.problem,
            "team_id": teams.team(submission.author.as_ref()),
            "time": moment(submission.at), "contest_time": times.within(submission.at),
            // The published schemas want both keys: the entry point also where there is none, the place where an API has the files.
            "entry_point": null,
            "files": [{ "href": format!("contests/{}/submissions/{id}/files", contest.id), "filename": "files.zip", "mime": "application/zip" }],
        });
        lines.push(line("submissions", Some(&id), &data));
        open += usize::from(!submission.judgements.iter().any(|judged| judged.current));
        for judged in &submission.judgements {
            told_judgement(&mut lines, submission, judged, &times, version);
        }
    }
    // Events in the future are null (Contest API, "State").
    let past = |at: i64| (at <= contest.now).then(|| moment(at));
    let end = past(times.end());
    let over = end.clone().filter(|_| open == 0);
    lines.push(line(
        "state",
        None,
        &json!({ "started": past(times.start), "frozen": times.frozen().and_then(past), "ended": end, "thawed": null,
            "finalized": over, "end_of_updates": over }),
    ));
    let left = (open > 0).then(|| {
        let some = if open == 1 { "1 submission is" } else { &format!("{open} submissions are") };
        format!("{some} not judged yet, so the feed does not say that the contest is final")
    });
    Ok((lines, left.into_iter().collect()))
}

/// Id, name, solved, penalty.
const TYPES: [(&str, &str, bool, bool); 8] = [
    ("AC", "Accepted", true, false),
    ("WA", "Wrong Answer", false, true),
    ("TLE", "Time Limit Exceeded", false, true),
    ("RTE", "Run-Time Error", false, true),
    ("MLE", "Memory Limit Exceeded", false, true),
    ("OLE", "Output Limit Exceeded", false, true),
    ("CE", "Compile Error", false, false),
    ("JE", "Judging Error", false, false),
];

/// The type of a verdict: one accepted with less than the full score is accepted, and its score says the rest.
fn kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::PartiallyAccepted => "AC",
        other => other.code(),
    }
}

fn line(kind: &str, id: Option<&str>, data: &Value) -> String {
    json!({ "type": kind, "id": id, "data": data }).to_string()
}

fn moment(micros: i64) -> String {
    // Whole milliseconds, as the specification has them.
    Timestamp::from_millisecond(micros.div_euclid(1000)).map(|at| format!("{at:.3}")).unwrap_or_default()
}

/// A duration as `h:mm:ss.sss`.
fn reltime(micros: i64) -> String {
    let (sign, millis) = if micros < 0 { ("-", -micros / 1000) } else { ("", micros / 1000) };
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    format!("{sign}{}:{:02}:{:02}.{fraction:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

struct Times {
    start: i64,
    duration: i64,
    freeze: Option<i64>,
}

impl Times {
    /// As told; else from the first submission on, and for whole hours up to the last.
    fn of(contest: &Contest, told: &ContestFields) -> Result<Times, String> {
        let span = |name: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => match crate::feed::reltime(text) {
                Some(millis) if millis >= 0 => Ok(Some(millis * 1000)),
                _ => Err(format!("contest.{name}: `{text}` is not a duration\nhint: write it as 5:00:00")),
            },
        };
        let all = || contest.submissions.iter().map(|submission| submission.at);
        let first = all().min().unwrap_or(contest.created);
        let start = match &told.start_time {
            None => first - first.rem_euclid(60 * SECOND),
            Some(text) => text.parse::<Timestamp>().map(Timestamp::as_microsecond).map_err(|_| {
                format!("contest.start_time: `{text}` is not a moment\nhint: write it as 2026-03-01T10:00:00+01:00")
            })?,
        };
        let last = all().max().unwrap_or(start);
        let hours = (last - start).div_euclid(HOUR) + 1;
        let duration = span("duration", &told.duration)?.unwrap_or(hours.max(1) * HOUR);
        let freeze = span("scoreboard_freeze_duration", &told.scoreboard_freeze_duration)?;
        Ok(Times { start, duration, freeze })
    }

    fn end(&self) -> i64 {
        self.start + self.duration
    }

    fn frozen(&self) -> Option<i64> {
        self.freeze.map(|freeze| (self.end() - freeze).max(self.start))
    }

    /// A moment as a time of the contest.
    fn within(&self, micros: i64) -> String {
        reltime(micros - self.start)
    }
}

fn head(contest: &Contest, told: &ContestFields, times: &Times, scores: bool, version: Version) -> Value {
    let name = told.name.clone().unwrap_or_else(|| contest.id.clone());
    let mut head = json!({
        "id": contest.id, "name": name, "start_time": moment(times.start), "duration": reltime(times.duration),
        "scoreboard_type": if scores { "score" } else { "pass-fail" },
    });
    if let Some(name) = &told.formal_name {
        head["formal_name"] = json!(name);
    }
    if let Some(freeze) = times.freeze {
        head["scoreboard_freeze_duration"] = json!(reltime(freeze));
    }
    if !scores {
        let minutes = told.penalty_minutes.unwrap_or(20);
        head["penalty_time"] = match version {
            Version::V2023 => json!(minutes),
            Version::V2026 => json!(reltime(i64::from(minutes) * 60 * SECOND)),
        };
    }
    head
}

fn told_problem(contest: &Contest, n: usize, problem: &Problem, version: Version) -> Value {
    let of = contest.submissions.iter().filter(|submission| submission.problem == problem.id);
    let judged: Vec<&Judgement> = of.flat_map(|s| &s.judgements).map(|judged| &judged.judgement).collect();
    // A language may be given more: the least is the problem's.
    let limit =
        judged.iter().filter(|judgement| judgement.compile.ok).map(|judgement| judgement.time_limit).min();
    let tests = judged.iter().map(|judgement| judgement.tests.len()).max().unwrap_or_default();
    let mut data = json!({ "id": problem.id, "label": label(n), "name": problem.title, "ordinal": n, "test_data_count": tests });
    if let Some(limit) = limit {
        data["time_limit"] = thousandths(limit.0);
    }
    if let Some(most) = judged.iter().filter_map(|judgement| judgement.max_score).next() {
        data["max_score"] = json!(most);
    }
    let memory = judged.iter().filter_map(|judgement| judgement.limits.memory).min();
    if let Some(memory) = memory.filter(|_| version == Version::V2026) {
        data["memory_limit"] = json!(memory.mib());
    }
    data
}

/// Seconds with three digits behind the point.
fn thousandths(nanos: u64) -> Value {
    let millis = nanos.saturating_add(500_000) / 1_000_000;
    // Parsed from its digits, so that it is the number nearest to them.
    format!("{}.{:03}", millis / 1000, millis % 1000).parse::<f64>().map_or(Value::Null, Value::from)
}

/// A, B, … Z, AA, AB …
fn label(n: usize) -> String {
    let letter = char::from(b'A' + (n % 26) as u8);
    if n < 26 { letter.to_string() } else { format!("{}{letter}", label(n / 26 - 1)) }
}

fn told_judgement(
    lines: &mut Vec<String>,
    submission: &Submission,
    judged: &Judged,
    times: &Times,
    version: Version,
) {
    let id = judged.id.to_string();
    let judgement = &judged.judgement;
    let mut data = json!({
        "id": id, "submission_id": submission.id.to_string(), "judgement_type_id": kind(judgement.verdict),
        "start_time": moment(judged.from), "start_contest_time": times.within(judged.from),
        "end_time": moment(judged.to), "end_contest_time": times.within(judged.to),
    });
    if version == Version::V2026 {
        data["current"] = json!(judged.current);
    }
    if let Some(slowest) = judgement.slowest().known() {
        data["max_run_time"] = thousandths(slowest.as_time().0);
    }
    if let Some(score) = judgement.score {
        data["score"] = json!(score);
    }
    lines.push(line("judgements", Some(&id), &data));
    for (n, test) in judgement.tests.iter().enumerate() {
        let run = format!("{id}-{}", n + 1);
        let data = json!({
            "id": run, "judgement_id": id, "ordinal": n + 1, "judgement_type_id": kind(test.verdict),
            // When each test ended is not kept.
            "time": moment(judged.to), "contest_time": times.within(judged.to),
            "run_time": thousandths(Charge::as_time(test.charge).0),
        });
        lines.push(line("runs", Some(&run), &data));
    }
}

/// Ids of languages as contests know them: a code of the specification where one language alone has it, else our own.
fn languages(all: &[Language]) -> BTreeMap<String, String> {
    let own: BTreeSet<&str> = all.iter().map(|language| language.id.as_str()).collect();
    let id = |language: &Language| {
        let code = language.codes.first().filter(|code| {
            let others = all.iter().filter(|other| other.codes.first() == Some(code)).count();
            others == 1 && !own.contains(code.as_str())
        });
        (language.id.clone(), code.unwrap_or(&language.id).clone())
    };
    all.iter().map(id).collect()
}

fn named(kind: &str, object: &Map<String, Value>) -> Result<String, String> {
    let id = object.get("id").and_then(crate::feed::text).filter(|id| is_id(id));
    let id = id.ok_or_else(|| {
        format!(
            "{kind}: an object without an id of 1 to 36 of a-z, A-Z, 0-9, _, . and -: {}",
            Value::Object(object.clone())
        )
    })?;
    match object.get("name").and_then(Value::as_str) {
        Some(_) => Ok(id),
        None => Err(format!("{kind}.{id}: has no name")),
    }
}

/// Whether a text is an id of the specification.
fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    (1..=36).contains(&bytes.len())
        && plain(bytes[0])
        && bytes.iter().all(|byte| plain(*byte) || b".-".contains(byte))
        && bytes.last() != Some(&b'.')
}

struct Teams {
    objects: Vec<Map<String, Value>>,
    /// Teams by the names of users.
    of: BTreeMap<String, String>,
}

impl Teams {
    /// Those the organiser names, one for each author who is in none of them, and one for those nobody knows.
    fn of(contest: &Contest, people: &People) -> Result<Teams, String> {
        let mut teams = Teams { objects: Vec::new(), of: BTreeMap::new() };
        let mut ids = BTreeSet::new();
        for team in &people.teams {
            let id = named("teams", team)?;
            if !ids.insert(id.clone()) {
                return Err(format!("teams.{id}: is there twice\nhint: remove one of the two"));
            }
            let mut object = team.clone();
            let account = object.remove("account").as_ref().and_then(crate::feed::text);
            object.insert("id".into(), id.clone().into());
            object.entry("label").or_insert_with(|| id.clone().into());
            teams.of.insert(account.unwrap_or_else(|| id.clone()), id);
            teams.objects.push(object);
        }
        let authors: BTreeSet<&Author> =
            contest.submissions.iter().filter_map(|s| s.author.as_ref()).collect();
        for author in authors {
            if !teams.of.contains_key(&author.name) {
                let id = free(&author.name, &mut ids);
                teams.of.insert(author.name.clone(), id.clone());
                teams.add(&id, &author.display, false);
            }
        }
        if contest.submissions.iter().any(|submission| submission.author.is_none()) {
            let id = free(NOBODY, &mut ids);
            teams.of.insert(String::new(), id.clone());
            teams.add(&id, "Nobody known", true);
        }
        Ok(teams)
    }

    fn add(&mut self, id: &str, name: &str, hidden: bool) {
        let mut object = json!({ "id": id, "label": id, "name": name });
        if hidden {
            object["hidden"] = json!(true);
        }
        self.objects.extend(object.as_object().cloned());
    }

    fn team(&self, author: Option<&Author>) -> Option<&String> {
        self.of.get(author.map_or("", |author| author.name.as_str()))
    }
}

/// An id like this name that nobody has.
fn free(name: &str, ids: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let stem: String = name.chars().map(plain).take(30).collect();
    let stem = if stem.is_empty() { NOBODY.to_owned() } else { stem };
    let numbered = (2..).map(|n| format!("{stem}_{n}"));
    let id = [stem.clone()].into_iter().chain(numbered).find(|id| !ids.contains(id)).unwrap_or(stem);
    ids.insert(id.clone());
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Contest as Followed;
    use crate::feed::Notice;
    use model::{Bytes, Compilation, Confidence, Nanos, Reading, Settled, TestResult};

    fn judgement(verdict: Verdict, millis: u64) -> Judgement {
        let test = TestResult {
            name: "secret/1".into(),
            verdict,
            charge: Charge::cpu(Nanos::from_millis(millis)),
            wall: Nanos::from_millis(millis),
            memory_peak: Reading::Known(Bytes(1)),
            score: None,
            message: String::new(),
            settled: Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 },
            runs: Vec::new(),
            causes: Reading::Known(Vec::new()),
            second_opinion: None,
            transcript: None,
        };
        Judgement {
            verdict,
            time_limit: Nanos::from_millis(1500),
            compile: Compilation { ok: true, output: String::new() },
            tests: vec![test],
            fault: None,
            ..Judgement::fault("1", "")
        }
    }

    /// 2026-03-01T09:00:30Z
    const AT: i64 = 1_772_355_630 * SECOND;

    fn contest() -> Contest {
        let author = Author { name: "a.b".into(), display: "A. B.".into() };
        let one = |id: i64, author: Option<Author>, at: i64, judgements: Vec<Judged>| Submission {
            id,
            problem: "sum".into(),
            language: "cpython3".into(),
            author,
            at,
            judgements,
        };
        let judged = |id, current, verdict| Judged {
            id,
            current,
            from: AT + SECOND,
            to: AT + 3 * SECOND,
            judgement: judgement(verdict, 29),
        };
        Contest {
            id: "finals".into(),
            created: AT,
            now: AT + 10 * HOUR,
            problems: vec![Problem { id: "sum".into(), title: "Sum".into() }],
            languages: vec![Language {
                id: "cpython3".into(),
                codes: vec!["python3".into()],
                name: "Python 3".into(),
                extensions: vec!["py".into()],
            }],
            submissions: vec![
                one(
                    7,
                    Some(author),
                    AT,
                    vec![judged(1, false, Verdict::WrongAnswer), judged(2, true, Verdict::Accepted)],
                ),
                one(8, None, AT + HOUR, vec![judged(3, true, Verdict::MemoryLimit)]),
            ],
        }
    }

    fn told(contest: &Contest, people: &str, version: Version) -> Vec<Value> {
        let people: People = serde_json::from_str(people).unwrap();
        let (lines, _) = feed(contest, &people, version).unwrap();
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
        lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
    }

    #[test]
    fn a_contest_in_both_versions() {
        let lines = told(&contest(), "{}", Version::V2026);
        let head = of(&lines, "contest")[0];
        assert_eq!(
            (&head["penalty_time"], &head["duration"]),
            (&json!("0:20:00.000"), &json!("2:00:00.000"))
        );
        assert_eq!(head["start_time"], "2026-03-01T09:00:00.000Z");
        let old = told(&contest(), "{}", Version::V2023);
        assert_eq!(of(&old, "contest")[0]["penalty_time"], 20);
        assert_eq!(
            (of(&lines, "judgements")[0].get("current"), of(&old, "judgements")[0].get("current")),
            (Some(&json!(false)), None)
        );
        let submission = of(&lines, "submissions")[0];
        assert_eq!(submission["contest_time"], "0:00:30.000");
        assert_eq!((&submission["language_id"], &submission["team_id"]), (&json!("python3"), &json!("a_b")));
        let problem = of(&lines, "problems")[0];
        assert_eq!(
            (&problem["label"], &problem["time_limit"], &problem["test_data_count"]),
            (&json!("A"), &json!(1.5), &json!(1))
        );
        assert_eq!(
            (of(&lines, "judgements").len(), of(&lines, "runs")[0]["run_time"].to_string()),
            (3, "0.029".into())
        );
        let names: Vec<&Value> = of(&lines, "teams").iter().map(|team| &team["name"]).collect();
        assert_eq!(names, ["A. B.", "Nobody known"]);
        assert_eq!(lines.last().unwrap()["data"]["end_of_updates"], "2026-03-01T11:00:00.000Z");
    }

    /// Whoever follows the feed sees the contest as it is here.
    #[test]
    fn what_is_told_is_read_again() {
        let mut followed = Followed::default();
        for line in feed(&contest(), &People::default(), Version::V2026).unwrap().0 {
            drop(followed.apply(&Notice::read(line.as_bytes()).unwrap().unwrap()).unwrap());
        }
        assert!(followed.ended);
        let theirs = followed.theirs("7").unwrap();
        assert_eq!((theirs.kind.as_str(), theirs.time), ("AC", Some(Nanos::from_millis(29))));
        assert_eq!(followed.theirs("8").unwrap().simplified.as_deref(), Some("RTE"));
    }

    #[test]
    fn teams_are_those_the_organiser_names() {
        let people = r#"{"contest": {"name": "Finals", "start_time": "2026-03-01T10:00:00+01:00", "duration": "5:00:00", "scoreboard_freeze_duration": "1:00:00"},
            "groups": [{"id": "g", "name": "G"}], "teams": [{"id": "t1", "name": "Team", "account": "a.b", "group_ids": ["g"]}]}"#;
        let lines = told(&contest(), people, Version::V2026);
        assert_eq!(
            of(&lines, "teams")[0],
            &json!({ "id": "t1", "name": "Team", "group_ids": ["g"], "label": "t1" })
        );
        assert_eq!(of(&lines, "submissions")[0]["team_id"], "t1");
        assert_eq!(lines.last().unwrap()["data"]["frozen"], "2026-03-01T13:00:00.000Z");
        for (people, words) in [
            (r#"{"teams": [{"id": "a b", "name": "x"}]}"#, "without an id"),
            (r#"{"teams": [{"id": "a"}]}"#, "teams.a: has no name"),
            (r#"{"teams": [{"id": "a", "name": "x"}, {"id": "a", "name": "y"}]}"#, "twice"),
            (r#"{"contest": {"duration": "5 hours"}}"#, "contest.duration"),
            (r#"{"contest": {"start_time": "ten"}}"#, "contest.start_time"),
        ] {
            let people: People = serde_json::from_str(people).unwrap();
            let why = feed(&contest(), &people, Version::V2026).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        assert!(serde_json::from_str::<People>(r#"{"team": []}"#).is_err());
    }

    #[test]
    fn what_has_not_happened_has_no_time() {
        let state = |now: i64| {
            let lines = told(&Contest { now, ..contest() }, "{}", Version::V2026);
            of(&lines, "state")[0].clone()
        };
        let during = state(AT + SECOND);
        assert!(during["started"].is_string() && during["ended"].is_null() && during["finalized"].is_null());
        assert!(state(AT - 24 * HOUR)["started"].is_null());
        assert!(state(AT + 24 * HOUR)["finalized"].is_string());
    }

    #[test]
    fn what_is_not_judged_is_not_final() {
        let mut contest = contest();
        contest.submissions[1].judgements.clear();
        let (lines, left) = feed(&contest, &People::default(), Version::V2026).unwrap();
        assert!(left[0].starts_with("1 submission is not judged"), "{left:?}");
        assert!(lines.last().unwrap().contains("\"end_of_updates\":null"));
    }

    #[test]
    fn labels_and_ids() {
        assert_eq!([0, 25, 26, 701, 702].map(label), ["A", "Z", "AA", "ZZ", "AAA"]);
        assert!(
            is_id("a.b-c_")
                && !is_id("-a")
                && !is_id("a.")
                && !is_id("")
                && !is_id(&"a".repeat(37))
                && !is_id("ä")
        );
        let mut ids = BTreeSet::new();
        assert_eq!(
            [free("a b", &mut ids), free("a.b", &mut ids), free("", &mut ids)],
            ["a_b", "a_b_2", "nobody"]
        );
    }
}
