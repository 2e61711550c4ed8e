//! A DOMjudge server for tests, as far as judgehosts see one: written from its protocol, in its three dialects, with the faults a network and a
//! busy server have. It notes what no judgehost may do.

mod wire;

use md5::{Digest, Md5};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// User and password that it takes.
pub const USER: &str = "judgehost";
/// See [`USER`].
pub const PASSWORD: &str = "s3cr#t and more";

/// Which version it speaks as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// 8.3
    V8,
    /// 9.0
    V9,
    /// What comes after.
    Main,
}

/// Files: name, content, executable.
pub type Files = Vec<(String, Vec<u8>, bool)>;

/// One executable file of this name.
pub fn file(name: &str, content: &str) -> Files {
    vec![(name.to_owned(), content.as_bytes().to_vec(), true)]
}

/// A problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Input and answer of each test.
    pub tests: Vec<(Vec<u8>, Vec<u8>)>,
    /// Seconds of CPU time.
    pub time_limit: f64,
    /// KiB.
    pub output_limit: u64,
    /// KiB.
    pub memory_limit: u64,
    /// What compares, or talks to the submission.
    pub jury: Files,
    /// It talks to the submission.
    pub interactive: bool,
    /// Most passes.
    pub passes: u32,
}

/// A submission.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Which problem, by its number.
    pub problem: usize,
    /// What compiles it.
    pub compiler: Files,
    /// Its files.
    pub sources: Files,
    /// Its entry point.
    pub entry: Option<String>,
}

/// How often something goes wrong, of a thousand requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The connection ends before anything is done.
    pub drop_before: u64,
    /// It ends after all is done: the answer is lost.
    pub drop_after: u64,
    /// An error is answered, and nothing done.
    pub error_before: u64,
    /// An error is answered, and all is done.
    pub error_after: u64,
    /// Files come as others.
    pub damaged: u64,
}

/// A judging of a submission.
#[derive(Clone, Debug)]
pub struct Judging {
    /// Which submission, by its number.
    pub submission: usize,
    /// How it ended: the first result other than `correct`, `compiler-error`, or `correct`.
    pub result: Option<String>,
    /// The result of each test, where there is one.
    pub runs: Vec<Option<BTreeMap<String, String>>>,
    /// Who has a test, from when.
    assigned: Vec<Option<String>>,
    /// Who compiled it, and whether it did.
    pub compiled: BTreeMap<String, BTreeMap<String, String>>,
    /// What an internal error said of it.
    pub failed: Option<String>,
}

/// All a server knows.
#[derive(Debug, Default)]
pub struct State {
    /// Problems by their number.
    pub problems: Vec<Problem>,
    /// Submissions by their number.
    pub submissions: Vec<Submission>,
    /// Judgings by their number.
    pub judgings: Vec<Judging>,
    /// Names of hosts, and whether they are enabled.
    pub hosts: BTreeMap<String, bool>,
    /// What no judgehost may do, and did.
    pub violations: Vec<String>,
    /// Internal errors: what is disabled, and why.
    pub errors: Vec<(Value, String)>,
    /// Debug information by task.
    pub debug: BTreeMap<u64, BTreeMap<String, String>>,
    /// Versions that were told.
    pub versions: Vec<BTreeMap<String, String>>,
    /// Tasks of other kinds to hand out first.
    pub extra: Vec<Value>,
    /// Commands for versions.
    pub version_commands: Value,
    /// Settings beside the usual ones.
    pub settings: BTreeMap<String, Value>,
    /// Faults.
    pub faults: Faults,
    /// Whether it gives what a host lost to others when the host registers again. DOMjudge's own does not, by issue 2461.
    pub gives_back: bool,
    /// Every request that was done: method and path.
    pub requests: Vec<String>,
    /// Reports of a run that came again, with the same result.
    pub repeated: u64,
    /// Extensions of the files that are passed to what compiles.
    pub extensions: Vec<String>,
    /// The run executable of problems that are not interactive, where it is not the usual one.
    pub run: Option<Files>,
    executables: Vec<Files>,
    seed: u64,
}

/// A running server. Its threads end with the process.
#[derive(Debug)]
pub struct DomServer {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// When it began.
    pub begun: Instant,
}

/// MD5 in hexadecimal digits.
fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash_of(files: &Files) -> String {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort();
    let part = |(name, content, executable): &&(String, Vec<u8>, bool)| {
        format!("{}{name}{}", md5_hex(content), if *executable { "1" } else { "" })
    };
    md5_hex(sorted.iter().map(part).collect::<String>().as_bytes())
}

/// The usual run executable, in words of ours.
const RUN: &str =
    "#!/bin/sh\nTESTIN=\"$1\"; shift\nPROGOUT=\"$1\"; shift\nexec \"$@\" <\"$TESTIN\" >\"$PROGOUT\"\n";

/// Numbers of the tests of a judging lie this far apart.
const TASKS: u64 = 1000;

impl DomServer {
    /// Starts a server that hands out a judging for each submission.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn start(
        dialect: Dialect,
        problems: Vec<Problem>,
        submissions: Vec<Submission>,
        faults: Faults,
    ) -> Result<DomServer, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let judging = |(n, submission): (usize, &Submission)| {
            let tests = problems[submission.problem].tests.len();
            Judging {
                submission: n,
                result: None,
                runs: vec![None; tests],
                assigned: vec![None; tests],
                compiled: BTreeMap::new(),
                failed: None,
            }
        };
        let judgings = submissions.iter().enumerate().map(judging).collect();
        let state = State {
            problems,
            judgings,
            submissions,
            faults,
            seed: 0x9e37_79b9_7f4a_7c15,
            version_commands: json!({}),
            extensions: ["c", "sh", "py"].map(String::from).into(),
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                thread::spawn(move || wire::serve(stream, &state, dialect));
            }
        });
        Ok(DomServer { address, state, begun: Instant::now() })
    }

    /// Address of its API.
    pub fn url(&self) -> String {
        format!("http://{}/domjudge/api/v4", self.address)
    }

    /// What it knows now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether every judging has ended.
    pub fn is_done(&self) -> bool {
        self.state().judgings.iter().all(|judging| judging.result.is_some() || judging.failed.is_some())
    }
}

impl State {
    /// The next number by chance, below 1000.
    fn chance(&mut self) -> u64 {
        // Xorshift, so that a run can be had again.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % 1000
    }

    /// Number and hash of an executable.
    pub fn task_executable(&mut self, files: &Files) -> (String, String) {
        let at = self.executables.iter().position(|known| known == files).unwrap_or_else(|| {
            self.executables.push(files.clone());
            self.executables.len() - 1
        });
        (at.to_string(), hash_of(files))
    }

    /// Every result of a judging so far that is not the usual run of things.
    fn note(&mut self, what: String) {
        self.violations.push(what);
    }

    fn register(&mut self, host: &str) -> Value {
        self.hosts.entry(host.to_owned()).or_insert(true);
        let mut given = Vec::new();
        if self.gives_back {
            for (number, judging) in self.judgings.iter_mut().enumerate() {
                let open = judging.result.is_none();
                let mine = |(assigned, run): (&mut Option<String>, &Option<_>)| {
                    let mine = run.is_none() && assigned.as_deref() == Some(host);
                    if mine {
                        *assigned = None;
                    }
                    mine
                };
                let back =
                    judging.assigned.iter_mut().zip(&judging.runs).map(mine).filter(|mine| *mine).count();
                if open && back > 0 {
                    given.push(json!({ "jobid": number + 1, "submitid": judging.submission + 1 }));
                }
            }
        }
        Value::Array(given)
    }

    /// Tasks of one judging: one that this host knows, else one nobody has, else any.
    fn fetch(&mut self, host: &str, most: usize, dialect: Dialect) -> Value {
        if self.hosts.get(host) != Some(&true) {
            if !self.hosts.contains_key(host) {
                self.note(format!("{host} asks for work and was never registered"));
            }
            return json!([]);
        }
        if !self.extra.is_empty() {
            return Value::Array(std::mem::take(&mut self.extra));
        }
        let open = |judging: &Judging| {
            judging.result.is_none()
                && judging.failed.is_none()
                && judging.assigned.iter().zip(&judging.runs).any(|(a, r)| a.is_none() && r.is_none())
        };
        let known = |j: &Judging| j.assigned.iter().flatten().any(|other| other == host);
        let fresh = |j: &Judging| j.assigned.iter().all(Option::is_none);
        let pick = self.judgings.iter().position(|j| open(j) && known(j));
        let pick = pick.or_else(|| self.judgings.iter().position(|j| open(j) && fresh(j)));
        let pick = pick.or_else(|| self.judgings.iter().position(open));
        let Some(pick) = pick else { return json!([]) };
        let judging = &mut self.judgings[pick];
        let free: Vec<usize> = (0..judging.runs.len())
            .filter(|n| judging.assigned[*n].is_none() && judging.runs[*n].is_none())
            .take(most)
            .collect();
        for n in &free {
            judging.assigned[*n] = Some(host.to_owned());
        }
        let tasks = free.iter().map(|n| self.task(pick, *n, dialect)).collect();
        Value::Array(tasks)
    }

    /// A task as it is handed out.
    pub fn task(&mut self, number: usize, test: usize, dialect: Dialect) -> Value {
        let submission = self.submissions[self.judgings[number].submission].clone();
        let problem = self.problems[submission.problem].clone();
        let (compile_id, compile_hash) = self.task_executable(&submission.compiler);
        let (jury_id, jury_hash) = self.task_executable(&problem.jury);
        let (run_id, run_hash) = match problem.interactive {
            true => (jury_id.clone(), jury_hash.clone()),
            false => {
                let run = self.run.clone().unwrap_or_else(|| file("run", RUN));
                self.task_executable(&run)
            }
        };
        let (input, answer) = &problem.tests[test];
        let compile = json!({
            "script_timelimit": 30, "script_memory_limit": 2_097_152, "script_filesize_limit": 540_672,
            "language_extensions": self.extensions, "filter_compiler_files": true, "hash": compile_hash,
        });
        let mut run = json!({
            "time_limit": problem.time_limit, "memory_limit": problem.memory_limit, "output_limit": problem.output_limit,
            "process_limit": 64, "entry_point": submission.entry, "hash": run_hash,
        });
        if dialect != Dialect::V8 {
            run["pass_limit"] = json!(problem.passes);
            run["overshoot"] = json!(0);
        }
        let compare = json!({
            "script_timelimit": 30, "script_memory_limit": 2_097_152, "script_filesize_limit": 540_672,
            "compare_args": null, "combined_run_compare": problem.interactive, "hash": jury_hash,
        });
        let mut task = json!({
            "judgetaskid": number as u64 * TASKS + test as u64 + 1, "type": "judging_run", "priority": 0,
            "jobid": (number + 1).to_string(), "uuid": format!("uuid-{number}"), "submitid": submit_id(self.judgings[number].submission, dialect),
            "compile_script_id": compile_id, "run_script_id": run_id, "compare_script_id": jury_id,
            "testcase_id": format!("{}", submission.problem * 1000 + test), "testcase_hash": format!("{}_{}", md5_hex(input), md5_hex(answer)),
            "compile_config": compile.to_string(), "run_config": run.to_string(), "compare_config": compare.to_string(),
        });
        if dialect == Dialect::Main {
            task["contestid"] = json!("con.test");
        }
        task
    }

    fn files(&mut self, kind: &str, id: &str, dialect: Dialect) -> Option<Files> {
        let number = || id.parse::<usize>().ok();
        match kind {
            "source" => {
                let found = (0..self.submissions.len()).find(|n| submit_id(*n, dialect) == id)?;
                Some(self.submissions[found].sources.clone())
            }
            "testcase" => {
                let (problem, test) = (number()? / 1000, number()? % 1000);
                let (input, answer) = self.problems.get(problem)?.tests.get(test)?.clone();
                Some(vec![("input".into(), input, false), ("output".into(), answer, false)])
            }
            "compile" | "run" | "compare" | "debug" => self.executables.get(number()?).cloned(),
            _ => None,
        }
    }

    fn compiled(
        &mut self,
        host: &str,
        task: u64,
        form: BTreeMap<String, String>,
    ) -> Result<(), (u16, String)> {
        let (number, _) = self.find(task)?;
        if !form.contains_key("output_compile") {
            return Err((400, "output_compile is missing".into()));
        }
        let ok = form.get("compile_success").is_some_and(|value| value == "1");
        if ok && !form.contains_key("compile_metadata") {
            return Err((400, "compile_metadata is missing".into()));
        }
        let judging = &mut self.judgings[number];
        let differs = |told: &BTreeMap<String, String>| told["compile_success"] != form["compile_success"];
        if judging.compiled.values().any(differs) {
            self.violations.push(format!("judging {number}: compilation results are different"));
        } else if !ok {
            judging.result = Some("compiler-error".into());
        }
        self.judgings[number].compiled.insert(host.to_owned(), form);
        Ok(())
    }

    fn run(
        &mut self,
        host: &str,
        task: u64,
        form: BTreeMap<String, String>,
        dialect: Dialect,
    ) -> Result<&'static str, (u16, String)> {
        let (number, test) = self.find(task)?;
        let mut needed = vec![
            "runresult",
            "runtime",
            "output_run",
            "output_diff",
            "output_error",
            "output_system",
            "metadata",
        ];
        if dialect != Dialect::V8 {
            needed.extend(["start_time", "end_time"]);
        }
        if let Some(missing) = needed.iter().find(|key| !form.contains_key(**key)) {
            return Err((400, format!("{missing} is missing")));
        }
        const RESULTS: [&str; 7] = [
            "memory-limit",
            "output-limit",
            "run-error",
            "timelimit",
            "wrong-answer",
            "no-output",
            "correct",
        ];
        let result = form["runresult"].clone();
        if !RESULTS.contains(&result.as_str()) {
            self.note(format!("task {task}: `{result}` is not a result"));
            return Err((500, "unknown result".into()));
        }
        if !self.judgings[number].compiled.contains_key(host) {
            self.note(format!("task {task}: {host} reports a run before it compiled"));
        }
        let judging = &mut self.judgings[number];
        if let Some(before) = &judging.runs[test] {
            if before != &form {
                self.violations.push(format!("task {task}: reported again as another result"));
                return Err((500, "evaluated result changed".into()));
            }
            self.repeated += 1;
        }
        judging.runs[test] = Some(form);
        let results = judging.runs.iter().map(|run| run.as_ref().map(|run| run["runresult"].as_str()));
        // In order: after a gap nothing is decided.
        let decided: Vec<&str> = results.map_while(|result| result).collect();
        let bad = decided.iter().find(|result| **result != "correct").map(|result| (*result).to_owned());
        let all = decided.len() == judging.runs.len();
        let decides = bad.or_else(|| all.then(|| "correct".to_owned()));
        match (&judging.result, decides) {
            (None, Some(result)) => judging.result = Some(result),
            (Some(before), Some(now)) if *before != now => {
                let what = format!("judging {number}: {before} became {now}");
                self.violations.push(what);
            }
            _ => {}
        }
        let over = self.judgings[number].result.as_deref().is_some_and(|result| result != "correct");
        Ok(if over { "0" } else { "1" })
    }

    fn internal_error(&mut self, form: &BTreeMap<String, String>) -> Result<Value, (u16, String)> {
        for key in ["description", "judgehostlog", "disabled"] {
            if !form.contains_key(key) {
                return Err((400, format!("{key} is missing")));
            }
        }
        let disabled: Value = serde_json::from_str(&form["disabled"]).map_err(|e| (400, e.to_string()))?;
        let description = form["description"].clone();
        if disabled["kind"] == "judgehost" {
            let host = disabled["hostname"].as_str().unwrap_or_default().to_owned();
            self.hosts.insert(host, false);
        } else if let Some(task) = form.get("judgetaskid").and_then(|task| task.parse().ok()) {
            let (number, _) = self.find(task)?;
            self.judgings[number].failed = Some(description.clone());
        }
        self.errors.push((disabled, description));
        Ok(json!(self.errors.len()))
    }

    fn find(&self, task: u64) -> Result<(usize, usize), (u16, String)> {
        let unknown = || (400, format!("there is no judging task {task}"));
        let at = task.checked_sub(1).ok_or_else(unknown)?;
        let (number, test) = ((at / TASKS) as usize, (at % TASKS) as usize);
        let known = self.judgings.get(number).is_some_and(|judging| test < judging.runs.len());
        if known { Ok((number, test)) } else { Err(unknown()) }
    }

    /// Whether a host has a task of a judging that goes on.
    pub fn has_open_task(&self, host: &str) -> bool {
        let open = |judging: &&Judging| judging.result.is_none() && judging.failed.is_none();
        let has = |judging: &Judging| {
            judging
                .assigned
                .iter()
                .zip(&judging.runs)
                .any(|(a, run)| a.as_deref() == Some(host) && run.is_none())
        };
        self.judgings.iter().filter(open).any(has)
    }

    /// Reports so far, of runs and of compilations.
    pub fn reports(&self) -> usize {
        self.judgings
            .iter()
            .map(|judging| judging.runs.iter().flatten().count() + judging.compiled.len())
            .sum()
    }

    /// Names of those that reported.
    pub fn reporters(&self) -> BTreeSet<String> {
        self.judgings.iter().flat_map(|judging| judging.compiled.keys().cloned()).collect()
    }
}

fn submit_id(submission: usize, dialect: Dialect) -> String {
    match dialect {
        Dialect::Main => format!("s-{}.x", submission + 1),
        Dialect::V8 | Dialect::V9 => (submission + 1).to_string(),
    }
}
