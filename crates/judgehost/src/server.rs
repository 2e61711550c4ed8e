//! Requests to a server, each tried again as DOMjudge's own judgehost does.

use crate::files::{self, File};
use crate::report::{self, Form, InternalError};
use crate::task::Work;
use client::{Answer, Client, Method, segment};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// How often a request is tried, and the wait after the first try, doubled after each.
const TRIES: u32 = 3;
const WAIT: Duration = Duration::from_millis(500);

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// The server does not know us: no use to try again.
    #[error(
        "the server refuses this user and password (401)\n\
         hint: correct --user and --password-file, or copy etc/restapi.secret of the server to --secret-file"
    )]
    Unauthorized,
    /// It does not want this, and will not when asked again.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached or has troubles: later.
    #[error("{0}")]
    Unreachable(String),
}

/// A server.
pub struct Server {
    client: Client,
    host: String,
}

/// Settings of the server that concern a judgehost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most bytes of each stored output; `None`: all.
    pub output_storage: Option<usize>,
    /// How far beyond its limit a program is ended.
    pub overshoot: String,
    /// Elapsed time of scripts without a limit of their own, in seconds; likewise KiB of memory and of files.
    pub script: [u64; 3],
}

impl Config {
    fn read(answer: &Value) -> Config {
        let number = |key: &str, usual: i64| {
            let value = &answer[key];
            value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(usual)
        };
        let positive = |key: &str, usual: i64| u64::try_from(number(key, usual)).unwrap_or(usual as u64);
        Config {
            output_storage: usize::try_from(number("output_storage_limit", 50_000)).ok(),
            overshoot: answer["timelimit_overshoot"].as_str().unwrap_or("1s|10%").to_owned(),
            script: [
                positive("script_timelimit", 30),
                positive("script_memory_limit", 2_097_152),
                positive("script_filesize_limit", 540_672),
            ],
        }
    }
}

impl Server {
    /// The server that a client asks, as the judgehost of this name.
    pub fn new(client: Client, host: String) -> Server {
        Server { client, host }
    }

    /// Registers. Everything of ours without a result is given back.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn register(&self) -> Result<(), NotDone> {
        self.ask(&Method::POST, "judgehosts", Some(&vec![("hostname", self.host.clone())])).map(drop)
    }

    /// The settings.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn config(&self) -> Result<Config, NotDone> {
        Ok(Config::read(&json(&self.ask(&Method::GET, "config", None)?)?))
    }

    /// Asks for work, once: where the answer is lost, so may work be.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn fetch(&self, most: Option<u32>) -> Result<Work, NotDone> {
        let mut form: Form = vec![("hostname", self.host.clone())];
        form.extend(most.map(|most| ("max_batchsize", most.to_string())));
        let answer = self.once(&Method::POST, "judgehosts/fetch-work", Some(report::encode(&form)))?;
        Work::read(&json(&answer)?).map_err(NotDone::Refused)
    }

    /// Files of a kind by their id.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn files(&self, kind: &str, id: &str) -> Result<Vec<File>, NotDone> {
        self.files_at(&format!("judgehosts/get_files/{kind}/{}", segment(id)))
    }

    /// Files at a path.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn files_at(&self, path: &str) -> Result<Vec<File>, NotDone> {
        let answer = self.ask(&Method::GET, path, None)?;
        files::read(&answer.body).map_err(|why| NotDone::Refused(format!("{path}: {why}")))
    }

    /// Tells what came of compiling.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn compiled(&self, task: u64, form: &Form) -> Result<(), NotDone> {
        self.ask(&Method::PUT, &self.path("update-judging", task), Some(form)).map(drop)
    }

    /// Reports a run, by a body that was encoded before. False: no more of this judging is wanted.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn report(&self, task: u64, body: &str) -> Result<bool, NotDone> {
        let path = self.path("add-judging-run", task);
        let answer = self.again(|| self.once(&Method::POST, &path, Some(body.to_owned())))?;
        let text = String::from_utf8_lossy(&answer.body);
        Ok(!matches!(text.trim().trim_matches('"'), "0" | "false"))
    }

    /// Tells of a fault.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn internal_error(&self, error: &InternalError, task: Option<u64>) -> Result<(), NotDone> {
        self.ask(&Method::POST, "judgehosts/internal-error", Some(&error.form(&self.host, task))).map(drop)
    }

    /// Commands that tell the versions of a compiler and of what runs its programs.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn version_commands(&self, task: u64) -> Result<[Option<String>; 2], NotDone> {
        let path = format!("judgehosts/get_version_commands/{task}");
        let answer = json(&self.ask(&Method::GET, &path, None)?)?;
        let command =
            |key: &str| answer[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        Ok(["compiler_version_command", "runner_version_command"].map(command))
    }

    /// Tells the versions.
    ///
    /// # Errors
    /// [`NotDone::Refused`]: they are not the site's, and this host has been disabled.
    pub fn versions(&self, task: u64, told: [Option<Vec<u8>>; 2]) -> Result<(), NotDone> {
        let mut form: Form = vec![("hostname", self.host.clone())];
        let named = ["compiler", "runner"].into_iter().zip(told);
        form.extend(named.filter_map(|(name, told)| Some((name, report::base64(&told?)))));
        self.ask(&Method::PUT, &format!("judgehosts/check_versions/{task}"), Some(&form)).map(drop)
    }

    /// Answers a request of the jury for more about a run: `output_run`, or `full_debug`.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn debug_info(&self, task: u64, kind: &'static str, content: &[u8]) -> Result<(), NotDone> {
        let form = vec![(kind, report::base64(content))];
        self.ask(&Method::POST, &self.path("add-debug-info", task), Some(&form)).map(drop)
    }

    fn path(&self, what: &str, task: u64) -> String {
        format!("judgehosts/{what}/{}/{task}", segment(&self.host))
    }

    fn ask(&self, method: &Method, path: &str, form: Option<&Form>) -> Result<Answer, NotDone> {
        self.again(|| self.once(method, path, form.map(report::encode)))
    }

    /// Tries until it is done, refused, or was tried often enough.
    fn again(&self, mut body: impl FnMut() -> Result<Answer, NotDone>) -> Result<Answer, NotDone> {
        let mut wait = WAIT;
        for _ in 1..TRIES {
            match body() {
                Err(NotDone::Unreachable(why)) => {
                    tracing::debug!(why, "a request is tried again");
                    sleep(wait);
                    wait *= 2;
                }
                done => return done,
            }
        }
        body()
    }

    fn once(&self, method: &Method, path: &str, form: Option<String>) -> Result<Answer, NotDone> {
        let what = || format!("{method} {path}");
        let answer = self.client.ask(method, path, form);
        let answer = answer.map_err(|why| NotDone::Unreachable(format!("{}: {why}", what())))?;
        match answer.status {
            200..=299 => Ok(answer),
            401 => Err(NotDone::Unauthorized),
            status => {
                let said: String = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
                let why = format!("{} was answered {status}: {said}", what());
                let final_word =
                    serde_json::from_slice::<Value>(&answer.body).is_ok_and(|v| v["retry"] == false);
                // Too early, too many requests, a time-out of the server's: these pass.
                let passes = matches!(status, 408 | 425 | 429 | 499..);
                match passes && !final_word {
                    true => Err(NotDone::Unreachable(why)),
                    false => Err(NotDone::Refused(why)),
                }
            }
        }
    }
}

fn json(answer: &Answer) -> Result<Value, NotDone> {
    // A document cut short is as good as none.
    serde_json::from_slice(&answer.body)
        .map_err(|e| NotDone::Unreachable(format!("an answer that is no JSON: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_with_and_without_values() {
        let usual = Config::read(&json!({}));
        assert_eq!((usual.output_storage, usual.overshoot.as_str()), (Some(50_000), "1s|10%"));
        let set = Config::read(
            &json!({"output_storage_limit": -1, "timelimit_overshoot": "2s", "script_timelimit": "9"}),
        );
        assert_eq!((set.output_storage, set.overshoot.as_str(), set.script[0]), (None, "2s", 9));
    }
}
