//! What a server is told: forms, stored outputs cut, and facts about runs by the keys that DOMjudge's own judgehost writes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Confidence, Exit, Nanos, Observation, Settled};

/// Fields of a form.
pub type Form = Vec<(&'static str, String)>;

/// A form as the body of a request.
pub fn encode(form: &Form) -> String {
    serde_urlencoded::to_string(form).unwrap_or_default()
}

/// Whether the body of a report, encoded, is that of a correct run.
pub fn is_correct(body: &str) -> bool {
    body.split('&').any(|field| field == "runresult=correct")
}

/// Bytes as they travel.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// At most so many bytes of an output, and a line that says so where there was more. `None`: all.
pub fn cut(bytes: &[u8], limit: Option<usize>) -> Vec<u8> {
    match limit {
        Some(limit) if bytes.len() > limit => {
            let said = format!("\n[output storage truncated after {limit} B]\n");
            [&bytes[..limit], said.as_bytes()].concat()
        }
        _ => bytes.to_vec(),
    }
}

/// Seconds with three digits after the point, as DOMjudge writes them.
pub fn seconds(time: Nanos) -> String {
    format!("{}.{:03}", time.0 / 1_000_000_000, time.0 / 1_000_000 % 1000)
}

/// What a run passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Its limit of time.
    pub soft: bool,
    /// The limit after which it was ended.
    pub hard: bool,
    /// Its limit of output.
    pub output: bool,
}

/// Facts about a run: lines of a key and a value, in the order in which DOMjudge's runguard writes them. `read` and `written` are bytes of its
/// standard streams, and `time` is what counts: that of the run, or the settled one.
pub fn metadata(run: &Observation, time: Nanos, passed: Passed, read: u64, written: [u64; 2]) -> String {
    let exitcode = match run.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    };
    // The signal by which runguard ends a run: that of its CPU time limit, or that of elapsed time.
    let signal = if passed.hard { "signal: 14\n" } else { "" };
    let result = match (passed.hard, passed.soft) {
        (true, _) => "hard-timelimit",
        (false, true) => "soft-timelimit",
        (false, false) => "",
    };
    let truncated = if passed.output { "stdout" } else { "" };
    let memory = run.memory_peak.known().map_or(0, |bytes| bytes.0);
    format!(
        "memory-bytes: {memory}\nexitcode: {exitcode}\n{signal}wall-time: {}\nuser-time: {}\nsys-time: {}\ncpu-time: {}\ntime-used: cpu-time\n\
         time-result: {result}\noutput-truncated: {truncated}\nstdin-bytes: {read}\nstdout-bytes: {}\nstderr-bytes: {}\n",
        seconds(run.time.wall),
        seconds(run.time.user),
        seconds(run.time.system),
        seconds(time),
        written[0],
        written[1],
    )
}

/// Facts of ours about a test, for its metadata: lines that the server keeps.
pub fn own_metadata(time: Nanos, settled: &Settled, causes: &[&str]) -> String {
    format!(
        "tauto-cpu-time-ns: {}\ntauto-runs: {}\ntauto-void-runs: {}\ntauto-confidence: {}\ntauto-disturbed: {}\n",
        time.0,
        settled.runs,
        settled.void_runs,
        confidence(settled.confidence),
        causes.join(","),
    )
}

/// How firmly a time stands, in a word.
pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Clear => "clear",
        Confidence::Settled => "settled",
        Confidence::Open => "open",
        Confidence::Confirmed => "confirmed",
    }
}

/// What an internal error disables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disabled {
    /// This host.
    Host(String),
    /// An executable that compiles.
    CompileScript(String),
    /// One that runs.
    RunScript(String),
    /// One that compares.
    CompareScript(String),
    /// A test.
    Testcase(String),
}

impl Disabled {
    /// As it travels.
    pub fn json(&self) -> String {
        let (kind, key, value) = match self {
            Disabled::Host(name) => ("judgehost", "hostname", name),
            Disabled::CompileScript(id) => ("compile_script", "compile_script_id", id),
            Disabled::RunScript(id) => ("run_script", "run_script_id", id),
            Disabled::CompareScript(id) => ("compare_script", "compare_script_id", id),
            Disabled::Testcase(id) => ("testcase", "testcaseid", id),
        };
        serde_json::json!({ "kind": kind, key: value }).to_string()
    }
}

/// A fault that the server is told of.
#[derive(Clone, Debug)]
pub struct InternalError {
    /// In a line.
    pub description: String,
    /// What led to it.
    pub log: String,
    /// What is disabled by it.
    pub disabled: Disabled,
}

impl InternalError {
    /// The form of it.
    pub fn form(&self, host: &str, task: Option<u64>) -> Form {
        let mut form = vec![
            ("description", self.description.clone()),
            ("judgehostlog", base64(self.log.as_bytes())),
            ("disabled", self.disabled.json()),
            ("hostname", host.to_owned()),
        ];
        form.extend(task.map(|task| ("judgetaskid", task.to_string())));
        form
    }
}

/// The line of a compiler's output that names the entry point, taken out of it: `Detected entry_point: NAME`.
pub fn entry_point(output: &[u8]) -> (Option<String>, Vec<u8>) {
    let mut found = None;
    let mut rest = Vec::new();
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let name = ["Detected entry_point: ", "detected entry_point: "]
            .iter()
            .find_map(|words| text.split_once(words).map(|(_, name)| name.trim().to_owned()));
        match name {
            Some(name) => found = Some(name),
            None => rest.extend_from_slice(line),
        }
    }
    (found, rest)
}

/// Whether a compile script says that it failed by itself.
pub fn says_internal_error(output: &[u8]) -> bool {
    String::from_utf8_lossy(output)
        .lines()
        .any(|line| line.to_ascii_lowercase().starts_with("internal-error:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, Reading};

    #[test]
    fn a_correct_result_is_known_by_its_body() {
        let body = |result: &str| {
            encode(&vec![("runresult", result.to_owned()), ("output_run", "runresult=correct".into())])
        };
        assert!(is_correct(&body("correct")) && !is_correct(&body("wrong-answer")));
    }

    #[test]
    fn outputs_are_cut() {
        assert_eq!(cut(b"abc", Some(3)), b"abc");
        assert_eq!(cut(b"abcd", Some(3)), b"abc\n[output storage truncated after 3 B]\n");
        assert_eq!(cut(b"abcd", None), b"abcd");
    }

    #[test]
    fn metadata_as_runguard_writes_it() {
        let mut run = Observation::unread(Exit::Signal(11), Nanos::from_millis(1234), "not read");
        run.memory_peak = Reading::Known(Bytes(4096));
        let text =
            metadata(&run, Nanos::from_millis(1200), Passed { soft: true, ..Passed::default() }, 5, [6, 7]);
        assert_eq!(
            text,
            "memory-bytes: 4096\nexitcode: 139\nwall-time: 1.234\nuser-time: 1.234\nsys-time: 0.000\ncpu-time: 1.200\n\
             time-used: cpu-time\ntime-result: soft-timelimit\noutput-truncated: \nstdin-bytes: 5\nstdout-bytes: 6\nstderr-bytes: 7\n"
        );
        let ended = metadata(&run, run.time.cpu, Passed { soft: true, hard: true, output: true }, 0, [0, 0]);
        assert!(ended.contains("exitcode: 139\nsignal: 14\nwall"), "{ended}");
        assert!(ended.contains("time-result: hard-timelimit\noutput-truncated: stdout\n"), "{ended}");
    }

    #[test]
    fn an_entry_point_is_taken_out_of_the_output() {
        let (name, rest) = entry_point(b"a\nInfo: detected entry_point: Main\nb\xff");
        assert_eq!((name.as_deref(), rest.as_slice()), (Some("Main"), &b"a\nb\xff"[..]));
        assert!(says_internal_error(b"x\nInternal-Error: y") && !says_internal_error(b"no internal-error:"));
    }

    #[test]
    fn the_smallest_thing_is_disabled() {
        assert_eq!(Disabled::Host("h-0".into()).json(), r#"{"kind":"judgehost","hostname":"h-0"}"#);
        assert_eq!(Disabled::Testcase("7".into()).json(), r#"{"kind":"testcase","testcaseid":"7"}"#);
        let error = InternalError {
            description: "a&b".into(),
            log: "l".into(),
            disabled: Disabled::RunScript("3".into()),
        };
        let body = encode(&error.form("h-0", Some(9)));
        assert!(
            body.starts_with("description=a%26b&judgehostlog=bA%3D%3D&") && body.ends_with("&judgetaskid=9"),
            "{body}"
        );
    }
}
