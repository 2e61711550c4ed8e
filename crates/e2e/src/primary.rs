//! A contest's own system for tests, as far as one that shadows it sees it: the feed of events and the files of submissions, written from the
//! Contest API in versions 2023-06 and 2026-01, with the faults a network and a busy server have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// User and password that it takes.
pub const USER: &str = "shadow";
/// See [`USER`].
pub const PASSWORD: &str = "let me see";
/// The contest's id.
pub const CONTEST: &str = "finals";

/// Which version of the specification it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2023-06
    V2023,
    /// 2026-01
    V2026,
}

/// A submission of the recorded contest.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// Its problem.
    pub problem: &'static str,
    /// Its language.
    pub language: &'static str,
    /// Its archive.
    pub archive: Vec<u8>,
    /// How it was judged; empty: not yet.
    pub judged: &'static str,
    /// The time of its slowest run, in seconds.
    pub time: f64,
}

/// All the server knows.
#[derive(Debug, Default)]
pub struct State {
    /// Lines of the feed. The token of each is its number.
    pub events: Vec<String>,
    /// So many of them have happened.
    pub released: usize,
    /// Archives by submission.
    pub archives: BTreeMap<String, Vec<u8>>,
    /// How often the archive of each was given away.
    pub fetched: BTreeMap<String, usize>,
    /// With which parameters the feed was asked for.
    pub asked: Vec<String>,
    /// A connection of the feed ends after so many lines; 0: never.
    pub drop_after: usize,
    /// Of a thousand requests for files, so many are answered 500.
    pub errors: u64,
    /// Tokens up to this one are not known any more.
    pub expired: usize,
    seed: u64,
}

/// A running server. Its threads end with the process.
#[derive(Debug)]
pub struct Primary {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// A notification.
pub fn notice(kind: &str, id: Option<&str>, data: &Value) -> String {
    json!({ "type": kind, "id": id, "data": data }).to_string()
}

fn clock(seconds: usize) -> String {
    format!("{}:{:02}:{:02}.000", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn time(seconds: usize) -> String {
    format!("2026-03-01T{:02}:{:02}:{:02}.000+01:00", 9 + seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The feed of a contest in which this was submitted, a submission every ten seconds, to its end.
pub fn recorded(version: Version, problems: &[(&str, &str, f64)], submitted: &[Submitted]) -> Vec<String> {
    let mut lines = Vec::new();
    let penalty = if version == Version::V2026 { json!("0:20:00") } else { json!(20) };
    let contest = json!({ "id": CONTEST, "name": "Finals", "start_time": time(0), "duration": "5:00:00", "scoreboard_type": "pass-fail", "penalty_time": penalty });
    lines.push(match version {
        Version::V2023 => notice("contest", None, &contest),
        Version::V2026 => notice("contest", Some(CONTEST), &contest),
    });
    let types = [("AC", true), ("WA", false), ("NO", false), ("TLE", false), ("RTE", false), ("CE", false)];
    let one =
        |(id, solved): (&str, bool)| json!({ "id": id, "name": id, "penalty": !solved, "solved": solved });
    lines.push(notice("judgement-types", None, &types.map(one).into()));
    for (id, name) in [("c", "C"), ("python3", "Python 3"), ("weird", "Weird")] {
        let data = json!({ "id": id, "name": name, "entry_point_required": false, "extensions": [id] });
        lines.push(notice("languages", Some(id), &data));
    }
    let one = |(n, (id, name, limit)): (usize, &(&str, &str, f64))| {
        let label = char::from(b'A' + n as u8).to_string();
        json!({ "id": id, "label": label, "name": name, "ordinal": n, "time_limit": limit, "test_data_count": 3 })
    };
    lines.push(notice("problems", None, &problems.iter().enumerate().map(one).collect()));
    lines.push(notice("teams", Some("t1"), &json!({ "id": "t1", "name": "Team", "label": "1" })));
    for (n, one) in submitted.iter().enumerate() {
        let (id, at) = ((n + 1).to_string(), n * 10);
        let mut file = json!({ "href": format!("contests/{CONTEST}/submissions/{id}/files"), "mime": "application/zip" });
        if version == Version::V2026 {
            file["filename"] = json!("files.zip");
        }
        let data = json!({ "id": id, "language_id": one.language, "problem_id": one.problem, "team_id": "t1", "time": time(at),
            "contest_time": clock(at), "files": [file] });
        lines.push(notice("submissions", Some(&id), &data));
        if one.judged.is_empty() {
            continue;
        }
        let (judgement, begun) = (format!("j{id}"), at + 1);
        let mut data = json!({ "id": judgement, "submission_id": id, "start_time": time(begun), "start_contest_time": clock(begun),
            "judgement_type_id": null, "end_time": null, "end_contest_time": null });
        lines.push(notice("judgements", Some(&judgement), &data));
        for ordinal in 1..=3 {
            let run = format!("{judgement}-{ordinal}");
            let data = json!({ "id": run, "judgement_id": judgement, "ordinal": ordinal, "judgement_type_id": one.judged, "time": time(begun),
                "contest_time": clock(begun), "run_time": one.time / f64::from(4 - ordinal) });
            lines.push(notice("runs", Some(&run), &data));
        }
        for (key, value) in [
            ("judgement_type_id", json!(one.judged)),
            ("end_time", json!(time(begun + 2))),
            ("end_contest_time", json!(clock(begun + 2))),
        ] {
            data[key] = value;
        }
        if version == Version::V2026 {
            data["current"] = json!(true);
            data["max_run_time"] = json!(one.time);
        }
        lines.push(notice("judgements", Some(&judgement), &data));
    }
    let state = json!({ "started": time(0), "ended": time(18_000), "finalized": time(18_000), "end_of_updates": time(18_000) });
    lines.push(notice("state", None, &state));
    lines
}

/// The submissions that these lines name.
fn told(events: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for event in events.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let id = event["data"]["id"].as_str().filter(|_| event["type"] == "submissions");
        if let Some(id) = id.filter(|&id| !all.iter().any(|known| known == id)) {
            all.push(id.to_owned());
        }
    }
    all
}

impl Primary {
    /// Starts a server that tells these lines, of which none has happened yet. What was submitted stands in the order in which the lines
    /// first name it.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn start(events: Vec<String>, submitted: &[Submitted]) -> std::result::Result<Primary, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let archives =
            told(&events).into_iter().zip(submitted.iter().map(|one| one.archive.clone())).collect();
        let state = State { events, archives, seed: 0x9e37_79b9_7f4a_7c15, ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        Ok(Primary { address, state })
    }

    /// Address of its API.
    pub fn api(&self) -> String {
        format!("http://{}/ccs/api", self.address)
    }

    /// What it knows now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it has happened.
    pub fn release_all(&self) {
        let mut state = self.state();
        state.released = state.events.len();
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let expected = format!("authorization: Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    let mut authorized = false;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim_end().is_empty() {
            break;
        }
        let known = header.trim_end().split_once(": ");
        authorized |=
            known.is_some_and(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()) == expected);
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = path.strip_prefix("/ccs/api/").unwrap_or("elsewhere");
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        _ if !authorized => answer(&mut stream, 401, b"{\"code\":401,\"message\":\"who are you?\"}"),
        ["contests"] => answer(&mut stream, 200, json!([{ "id": CONTEST }]).to_string().as_bytes()),
        ["contests", CONTEST, "event-feed"] => feed(&mut stream, query, state),
        ["contests", CONTEST, "submissions", id, "files"] => {
            let (status, archive) = {
                let mut state = lock();
                // Xorshift, so that a run can be had again.
                state.seed ^= state.seed << 13;
                state.seed ^= state.seed >> 7;
                state.seed ^= state.seed << 17;
                let fails = state.seed % 1000 < state.errors;
                match state.archives.get(id).cloned() {
                    _ if fails => (500, b"busy".to_vec()),
                    None => (404, b"no such submission".to_vec()),
                    Some(archive) => {
                        *state.fetched.entry(id.to_owned()).or_default() += 1;
                        (200, archive)
                    }
                }
            };
            answer(&mut stream, status, &archive)
        }
        _ => answer(&mut stream, 404, b"{\"code\":404,\"message\":\"no such place\"}"),
    }
}

fn answer(stream: &mut TcpStream, status: u16, body: &[u8]) -> Result<()> {
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}

/// Lines as they happen, in chunks, with a newline where nothing does.
fn feed(stream: &mut TcpStream, query: &str, state: &Mutex<State>) -> Result<()> {
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let parameter = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let (expired, drop_after) = {
        let mut state = lock();
        state.asked.push(query.to_owned());
        (state.expired, state.drop_after)
    };
    let mut next = match parameter("since_token").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(token)) if token >= expired => token + 1,
        Some(_) => {
            // Places that are told from now on are known.
            lock().expired = 0;
            return answer(stream, 400, b"{\"code\":400,\"message\":\"since_token\"}");
        }
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )?;
    let mut told = 0;
    loop {
        let (lines, over) = {
            let state = lock();
            let to = state.released.min(state.events.len());
            let lines: Vec<(usize, String)> = (next..to).map(|n| (n, state.events[n].clone())).collect();
            (lines, to == state.events.len())
        };
        for (n, line) in lines {
            // The token last, and every third line without one.
            let token = if n % 3 == 2 { String::new() } else { format!(",\"token\":\"{n}\"") };
            let line = match line.strip_suffix('}') {
                Some(open) => format!("{open}{token}}}\n"),
                None => format!("{line}\n"),
            };
            write!(stream, "{:x}\r\n{line}\r\n", line.len())?;
            next = n + 1;
            told += 1;
            if drop_after > 0 && told >= drop_after {
                // Without an end: the connection breaks.
                return Ok(());
            }
        }
        if over || parameter("stream") == Some("false") {
            return stream.write_all(b"0\r\n\r\n");
        }
        stream.write_all(b"1\r\n\n\r\n")?;
        thread::sleep(Duration::from_millis(100));
    }
}
