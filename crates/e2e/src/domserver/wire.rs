//! Requests and answers.

use super::{Dialect, Files, PASSWORD, State, USER};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

struct Request {
    method: String,
    path: String,
    authorized: bool,
    form: BTreeMap<String, String>,
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut authorized) = (0, false);
    let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorized = value == expected,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let form = serde_urlencoded::from_bytes(&body).ok()?;
    Some(Request { method, path, authorized, form })
}

/// Whether whoever asked was killed before anything was done for it.
fn is_gone(stream: &TcpStream) -> bool {
    let look = || {
        stream.set_nonblocking(true)?;
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        seen
    };
    match look() {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Answers the one request of a connection, or not.
pub(super) fn serve(mut stream: TcpStream, state: &Mutex<State>, dialect: Dialect) {
    let Some(request) = read(&stream) else { return };
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, body) = {
        let mut state = lock();
        if !state.gives_back && is_gone(&stream) {
            return;
        }
        let faults = state.faults;
        let chance = state.chance();
        let mut from = 0;
        let mut hit = |part: u64| {
            let within = (from..from + part).contains(&chance);
            from += part;
            within
        };
        let [drop_before, drop_after, error_before, error_after, damaged] =
            [faults.drop_before, faults.drop_after, faults.error_before, faults.error_after, faults.damaged]
                .map(&mut hit);
        if drop_before {
            return;
        }
        let broken = || (500, json!({ "code": 500, "message": "injected" }).to_string());
        if error_before {
            broken()
        } else {
            let answer = answer(&request, &mut state, dialect, damaged);
            if drop_after {
                return;
            }
            if error_after { broken() } else { answer }
        }
    };
    // Whoever went away does not read it.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn answer(request: &Request, state: &mut State, dialect: Dialect, damaged: bool) -> (u16, String) {
    if !request.authorized {
        return (401, json!({ "code": 401, "message": "no" }).to_string());
    }
    let Some(path) = request.path.strip_prefix("/domjudge/api/v4/") else {
        return (404, json!({ "code": 404, "message": "no such place" }).to_string());
    };
    state.requests.push(format!("{} {path}", request.method));
    match done(request, path, state, dialect, damaged) {
        Ok(answer) => (200, answer),
        Err((status, why)) => (status, json!({ "code": status, "message": why }).to_string()),
    }
}

fn done(
    request: &Request,
    path: &str,
    state: &mut State,
    dialect: Dialect,
    damaged: bool,
) -> Result<String, (u16, String)> {
    let parts: Vec<&str> = path.split('/').collect();
    let form = &request.form;
    let host = || form.get("hostname").cloned().ok_or_else(|| (400, "hostname is missing".to_owned()));
    let number = |text: &str| text.parse::<u64>().map_err(|e| (400, e.to_string()));
    let json = |value: Value| Ok(value.to_string());
    match (request.method.as_str(), &parts[..]) {
        ("POST", ["judgehosts"]) => json(state.register(&host()?)),
        ("GET", ["config"]) => {
            let mut all = json!({
                "output_storage_limit": 50_000, "timelimit_overshoot": "10%", "diskspace_error": 1_048_576,
                "script_timelimit": 30, "script_memory_limit": 2_097_152, "script_filesize_limit": 540_672,
            });
            for (key, value) in &state.settings {
                all[key] = value.clone();
            }
            json(all)
        }
        ("POST", ["judgehosts", "fetch-work"]) => {
            let most = form.get("max_batchsize").map_or(Ok(5), |most| number(most))?;
            json(state.fetch(&host()?, most as usize, dialect))
        }
        ("GET", ["judgehosts", "get_files", "source", contest, id]) if dialect == Dialect::Main => {
            if *contest != "con.test" {
                return Err((404, "no such contest".into()));
            }
            files(state.files("source", id, dialect), false)
        }
        ("GET", ["judgehosts", "get_files", kind, id]) if *kind != "source" || dialect != Dialect::Main => {
            // Nothing tells that a source is not what it was.
            files(state.files(kind, id, dialect), damaged && *kind != "source")
        }
        ("GET", ["judgehosts", "get_version_commands", _]) => json(state.version_commands.clone()),
        ("PUT", ["judgehosts", "check_versions", _]) => {
            state.versions.push(form.clone());
            json(json!(null))
        }
        ("PUT", ["judgehosts", "update-judging", host, task]) => {
            state.compiled(host, number(task)?, form.clone())?;
            json(json!(null))
        }
        ("POST", ["judgehosts", "add-judging-run", host, task]) => {
            Ok(state.run(host, number(task)?, form.clone(), dialect)?.to_owned())
        }
        ("POST", ["judgehosts", "internal-error"]) => json(state.internal_error(form)?),
        ("POST", ["judgehosts", "add-debug-info", _, task]) => {
            state.debug.insert(number(task)?, form.clone());
            json(json!(null))
        }
        _ => Err((404, format!("no such place: {path}"))),
    }
}

fn files(found: Option<Files>, damaged: bool) -> Result<String, (u16, String)> {
    let found = found.ok_or_else(|| (404, "no such file".to_owned()))?;
    let file = |(name, mut content, executable): (String, Vec<u8>, bool)| {
        if damaged {
            content.push(b' ');
        }
        // As PHP writes JSON.
        json!({ "filename": name, "content": STANDARD.encode(content), "is_executable": executable })
            .to_string()
            .replace('/', "\\/")
    };
    Ok(format!("[{}]", found.into_iter().map(file).collect::<Vec<_>>().join(",")))
}
