//! Many submissions to a service at once, and what became of them.

use crate::http::Client;
use jiff::Timestamp;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Submissions that are listed at a time.
const AT_ONCE: usize = 200;

/// What came of handing in many submissions.
#[derive(Debug, Default)]
pub struct Posted {
    /// Tokens, in the order in which the service numbered them.
    pub tokens: Vec<String>,
    /// How long each was waited for, least first.
    pub waits: Vec<Duration>,
}

/// Hands all of them in over so many connections, each as fast as it can. The clients stay on these CPUs, where there are any.
///
/// # Errors
/// Any answer but 201.
pub fn post_all(
    address: SocketAddr,
    submissions: &[Value],
    connections: usize,
    cpus: &[usize],
) -> Result<Posted, String> {
    let queue = Mutex::new(submissions.iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let one = || {
        stay_on(cpus)?;
        let (mut client, mut done) = (Client::new(address), Vec::new());
        while let Some(submission) = next() {
            let begun = Instant::now();
            let (id, token) = post(&mut client, submission)?;
            done.push((id, token, begun.elapsed()));
        }
        Ok::<_, String>(done)
    };
    let mut all = Vec::with_capacity(submissions.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(one)).collect();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Ok::<_, String>(())
    })?;
    all.sort();
    let mut waits: Vec<_> = all.iter().map(|(_, _, wait)| *wait).collect();
    waits.sort();
    Ok(Posted { tokens: all.into_iter().map(|(_, token, _)| token).collect(), waits })
}

fn stay_on(cpus: &[usize]) -> Result<(), String> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    if cpus.is_empty() {
        Ok(())
    } else {
        sched_setaffinity(None, &set).map_err(|e| format!("CPUs {cpus:?}: {e}"))
    }
}

/// Hands one in: its number and token.
///
/// # Errors
/// Any answer but 201, or none.
pub fn post(client: &mut Client, submission: &Value) -> Result<(i64, String), String> {
    let response = client.post("/api/v1/submissions", &[], submission).map_err(|e| format!("POST: {e}"))?;
    let json = response.json();
    match (response.status, json["id"].as_i64(), json["token"].as_str()) {
        (201, Some(id), Some(token)) => Ok((id, token.to_string())),
        (status, ..) => Err(format!("POST: {status}: {}", String::from_utf8_lossy(&response.body))),
    }
}

/// How a submission stands.
///
/// # Errors
/// Any answer but 200, or none.
pub fn state(client: &mut Client, token: &str) -> Result<Value, String> {
    let path = format!("/api/v1/submissions/{token}");
    let response = client.get(&path).map_err(|e| format!("GET {path}: {e}"))?;
    match response.status {
        200 => Ok(response.json()),
        status => Err(format!("GET {path}: {status}: {}", String::from_utf8_lossy(&response.body))),
    }
}

/// Its current verdict, once nothing is to be waited for.
pub fn verdict(state: &Value) -> Option<&str> {
    (state["state"] == "judged").then(|| state["judgement"]["verdict"].as_str()).flatten()
}

/// When its current judgement was stored, in seconds since 1970.
pub fn finished(state: &Value) -> Option<f64> {
    let written: Timestamp = state["judgement"]["finished"].as_str()?.parse().ok()?;
    Some(written.as_microsecond() as f64 / 1e6)
}

/// Waits until a submission is judged: how it stands then.
///
/// # Errors
/// It is not in time, or the service does not answer.
pub fn wait_judged(client: &mut Client, token: &str, patience: Duration) -> Result<Value, String> {
    let start = Instant::now();
    loop {
        let state = state(client, token)?;
        if verdict(&state).is_some() {
            return Ok(state);
        }
        if start.elapsed() > patience {
            return Err(format!("submission {token} is not judged after {} s: {state}", patience.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The numbers of all submissions there are.
///
/// # Errors
/// The service does not answer.
pub fn all(client: &mut Client) -> Result<BTreeSet<i64>, String> {
    let (mut ids, mut before) = (BTreeSet::new(), None);
    loop {
        let before_it = before.map_or(String::new(), |before: i64| format!("&before={before}"));
        let path = format!("/api/v1/submissions?limit={AT_ONCE}{before_it}");
        let page = client.get(&path).map_err(|error| format!("GET {path}: {error}"))?.json();
        let some = page["submissions"].as_array().ok_or_else(|| format!("GET {path}: {page}"))?;
        ids.extend(some.iter().filter_map(|one| one["id"].as_i64()));
        before = page["next"].as_i64();
        if before.is_none() {
            return Ok(ids);
        }
    }
}

/// How many of these submissions, which were submitted in this order and are judged in it, are judged.
///
/// # Errors
/// The service does not answer.
pub fn judged(client: &mut Client, tokens: &[String]) -> Result<usize, String> {
    let (mut low, mut high) = (0, tokens.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if verdict(&state(client, &tokens[middle])?).is_some() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The wait that so many percent of all stay within.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}
