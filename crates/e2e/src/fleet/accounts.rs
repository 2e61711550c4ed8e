//! What came of a storm: every accepted submission is looked at, with all that was ever judged of it.

use super::Fleet;
use super::clients::{Accepted, PROGRAMS};
use super::storm::STRICT;
use crate::http::Client;
use crate::traffic;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// For something to be judged when nobody disturbs any more.
const DRAINED_WITHIN: Duration = Duration::from_secs(900);
/// As long nothing may change while something waits.
const STUCK_AFTER: Duration = Duration::from_secs(180);

/// What came of it all.
#[derive(Debug, Default)]
pub struct Report {
    /// Blows, by what they hit.
    pub blows: BTreeMap<&'static str, usize>,
    /// Submissions that were accepted, by contest.
    pub accepted: BTreeMap<&'static str, usize>,
    /// Verdicts that count.
    pub verdicts: BTreeMap<String, usize>,
    /// Requests whose answer was lost or that were refused, and were repeated.
    pub repeated: usize,
    /// Judgements, by the node that made them.
    pub judged: BTreeMap<String, usize>,
    /// Why other nodes were asked, by reason.
    pub asked: BTreeMap<String, usize>,
    /// Judgements that were a fault of the judge, and so made another node be asked.
    pub faults: usize,
    /// Submissions whose contest is to be confirmed on strict hardware.
    pub relaxed_then_strict: usize,
    /// Those of them that were, all of them near the limit or beyond it.
    pub confirmed: usize,
    /// Submissions that a hair decides, and those of them that were to be confirmed.
    pub near: (usize, usize),
    /// How long blows fell, and how long it took until all was judged.
    pub stormy: Duration,
    /// The same with the time it took until everything was judged.
    pub whole: Duration,
    /// What is wrong: nothing should be.
    pub wrong: Vec<String>,
    /// Where the logs are, where something is.
    pub logs: Option<PathBuf>,
}

/// Waits until all is judged, and looks at it; at events of nodes by an admin's token.
pub(super) fn settle(
    fleet: &Fleet,
    token: &str,
    accepted: &[Accepted],
    expected: &BTreeMap<usize, String>,
    report: &mut Report,
) -> Result<(), String> {
    drain(fleet)?;
    let stored = traffic::all(&mut fleet.client(0))?;
    let known: BTreeSet<i64> = accepted.iter().map(|one| one.id).collect();
    if stored != known {
        let (lost, more) = (known.difference(&stored), stored.difference(&known));
        let (lost, more): (Vec<_>, Vec<_>) = (lost.collect(), more.collect());
        report.wrong.push(format!("accepted and not there: {lost:?}; there and not accepted: {more:?}"));
    }
    let mut admin = fleet.client(0).with("authorization", &format!("Bearer {token}"));
    for worker in fleet.workers() {
        report.wrong.extend(wronged(&mut admin, &worker.node)?);
    }
    for (n, one) in accepted.iter().enumerate() {
        let mut client = fleet.client(n % fleet.servers());
        let wrong = look(&mut client, one, expected.get(&one.program), report)?;
        let name = PROGRAMS[one.program].file;
        let told =
            wrong.into_iter().map(|why| format!("submission {} ({name}, {:?}): {why}", one.id, one.contest));
        report.wrong.extend(told);
    }
    Ok(())
}

/// Jobs that wait, are on their way to a node, or are being done.
fn open(queue: &Value) -> Option<u64> {
    let all = |name: &str| Some(queue[name].as_array()?.iter());
    let waiting: u64 = all("lines")?.filter_map(|line| line["waiting"].as_u64()).sum();
    let running = |pool: &Value| -> u64 {
        let nodes = pool["running"].as_object().into_iter().flatten();
        nodes.filter_map(|(_, count)| count.as_u64()).sum()
    };
    let out: u64 = all("pools")?.map(|pool| pool["tickets"].as_u64().unwrap_or(0) + running(pool)).sum();
    Some(waiting + out)
}

/// Waits until nothing waits or is judged.
fn drain(fleet: &Fleet) -> Result<(), String> {
    let (begun, mut client) = (Instant::now(), fleet.client(0));
    let (mut last, mut changed) = (None, Instant::now());
    loop {
        let queue = client.get("/api/v1/queue").map(|answer| answer.json()).unwrap_or_default();
        let now = open(&queue);
        if now == Some(0) {
            return Ok(());
        }
        if now != last {
            (last, changed) = (now, Instant::now());
        }
        if changed.elapsed() > STUCK_AFTER || begun.elapsed() > DRAINED_WITHIN {
            return Err(format!("not all is judged after {} s: {queue}", begun.elapsed().as_secs()));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Why a node was kept from work, which none deserved: they all are this machine, with one clock.
fn wronged(client: &mut Client, node: &str) -> Result<Option<String>, String> {
    let path = format!("/api/v1/nodes/{node}/events");
    let page = client.get(&path).map_err(|error| format!("GET {path}: {error}"))?.json();
    let events = page["events"].as_array().ok_or_else(|| format!("GET {path}: {page}"))?;
    let waited = events.iter().find(|event| word(event, "kind") == "waits");
    Ok(waited.map(|event| format!("node {node} was kept from work: {event}")))
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// What is wrong with what became of a submission.
fn look(
    client: &mut Client,
    one: &Accepted,
    expected: Option<&String>,
    report: &mut Report,
) -> Result<Option<String>, String> {
    let state = traffic::state(client, &one.token)?;
    let path = format!("/api/v1/submissions/{}/judgements", one.token);
    let history = client.get(&path).map_err(|error| format!("GET {path}: {error}"))?.json();
    let judgements = history["judgements"].as_array().map_or(&[][..], Vec::as_slice);
    let current: Vec<&Value> = judgements.iter().filter(|judgement| judgement["current"] == true).collect();
    let verdict = traffic::verdict(&state).unwrap_or("none");
    count(one, verdict, judgements, report);
    let jobs: BTreeSet<i64> = judgements.iter().filter_map(|judgement| judgement["job"].as_i64()).collect();
    let rounds: BTreeSet<i64> = judgements.iter().filter_map(|one| one["round"].as_i64()).collect();
    let strict = |judgement: &Value| word(judgement, "pool") == STRICT;
    let wrong = match (one.contest, &current[..]) {
        _ if history["waiting"] != 0 => "something of it waits",
        _ if jobs.len() != judgements.len() => "a job has two judgements",
        _ if rounds.len() != 1 => "it was asked for twice",
        (_, []) => "it has no verdict",
        (_, [_, _, ..]) => "it has two verdicts",
        (_, [current]) if word(current, "verdict") != verdict => "it is shown with another verdict",
        _ if expected.is_some_and(|expected| expected != verdict) => "its verdict is another one than here",
        _ if expected.is_none() && !["AC", "TLE"].contains(&verdict) => "its verdict can be AC or TLE",
        (Some("strict"), _) if !judgements.iter().all(strict) => "it was judged outside of its pool",
        (Some("relaxed-then-strict"), [current]) if verdict == "TLE" && !strict(current) => {
            "a missed limit was not confirmed"
        }
        (Some("relaxed-then-strict"), [current]) if expected.is_none() && !strict(current) => {
            "what is near the limit was not confirmed"
        }
        (Some("relaxed-then-strict"), [current]) if judgements.iter().any(strict) && !strict(current) => {
            "the strict judgement does not count"
        }
        _ => return Ok(None),
    };
    Ok(Some(format!("{wrong}: {} was to come: {history}", expected.map_or("AC or TLE", String::as_str))))
}

fn count(one: &Accepted, verdict: &str, judgements: &[Value], report: &mut Report) {
    *report.accepted.entry(one.contest.unwrap_or("practice")).or_default() += 1;
    *report.verdicts.entry(verdict.into()).or_default() += 1;
    for judgement in judgements {
        *report.judged.entry(word(judgement, "node").into()).or_default() += 1;
        if let Some(why) = judgement["why"].as_str() {
            *report.asked.entry(why.into()).or_default() += 1;
        }
        report.faults += usize::from(word(judgement, "verdict") == "JE");
    }
    let near = PROGRAMS[one.program].verdict.is_none();
    let confirms = one.contest == Some("relaxed-then-strict");
    report.near.0 += usize::from(near);
    report.near.1 += usize::from(near && confirms);
    report.relaxed_then_strict += usize::from(confirms);
    let confirmed = judgements.iter().any(|judgement| word(judgement, "stage") == "confirm");
    report.confirmed += usize::from(confirms && confirmed);
}
