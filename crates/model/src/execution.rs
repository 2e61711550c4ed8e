//! A program run by itself, without a problem package: what is asked for, and what came of it. Services that speak other
//! judges' protocols need it.

use crate::{
    Bytes, Cause, Confidence, Exit, Limits, Nanos, Observation, Reading, Settled, Status, Thresholds, Verdict,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Bytes that need not be text. On the wire: a string in base64 (RFC 4648, section 4), padded.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl Blob {
    /// As text, with a replacement for what is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Blob {
        Blob(bytes)
    }
}

impl From<&str> for Blob {
    fn from(text: &str) -> Blob {
        Blob(text.as_bytes().to_vec())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Blob, D::Error> {
        let text = String::deserialize(d)?;
        STANDARD.decode(text).map(Blob).map_err(|e| serde::de::Error::custom(format!("no base64: {e}")))
    }
}

/// A file of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramFile {
    /// Path within the program's directory: relative, `/` between parts, without `.` and `..`.
    pub name: String,
    /// Its bytes.
    pub content: Blob,
    /// It may be executed.
    #[serde(default)]
    pub executable: bool,
}

/// What kind of program the files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramKind {
    /// One of this language: an id or a package language code.
    Language(String),
    /// Several files with shell scripts at their root: `compile` (or `compile.sh`), which may be absent, then `run` (or
    /// `run.sh`), both run by bash.
    Scripts,
    /// The first file is an executable of this machine.
    Executable,
    /// Running it prints the first file.
    Text,
}

/// A program to be compiled and run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// What its files are.
    pub program: ProgramKind,
    /// Its files; at least one.
    pub files: Vec<ProgramFile>,
    /// The file or class to begin in, where the language does not find it by itself.
    #[serde(default)]
    pub entry: Option<String>,
    /// Options for the compiler, one word each. Each language says which it takes.
    #[serde(default)]
    pub compiler_options: Vec<String>,
    /// Arguments of the program; a text takes none.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its standard input.
    #[serde(default)]
    pub stdin: Blob,
    /// What it should print, white space at the ends of lines and of the whole aside; `None`: anything.
    #[serde(default)]
    pub expected: Option<Blob>,
    /// What a run may use. Memory and processes that the language's runtime needs for itself come on top; times are not scaled.
    pub limits: Limits,
    /// What the compilation may use (`cpu`: all its steps together, everything else: each step); where `None`, what the
    /// language gives. Only `cpu`, `wall`, `memory`, `output` and `processes` count.
    #[serde(default)]
    pub compile_limits: Limits,
    /// How often it is run, each time with everything its time needs to be settled; the first run that is not accepted ends
    /// it. At least once.
    pub runs: u32,
    /// Standard error goes where standard output goes, and is compared with it.
    #[serde(default)]
    pub redirect_stderr: bool,
    /// Most that is kept of each of its streams and of the compiler's.
    #[serde(rename = "keep_output_bytes")]
    pub keep_output: Bytes,
}

/// The beginning of what a program wrote to a stream, and the size of all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedStream {
    /// Its first bytes.
    pub content: Blob,
    /// Bytes written in all.
    #[serde(rename = "total_bytes")]
    pub total: Bytes,
}

impl CapturedStream {
    /// Whether the program wrote more than was kept.
    pub fn is_truncated(&self) -> bool {
        self.total.0 > self.content.0.len() as u64
    }
}

/// The compilation of an executed program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutedCompile {
    /// Whether compilation succeeded.
    pub ok: bool,
    /// What the compiler wrote to standard output.
    pub stdout: CapturedStream,
    /// What it wrote to standard error.
    pub stderr: CapturedStream,
    /// Why compilation failed: lower case, no full stop; empty on success. If no step ran, the files could not be given to
    /// the compiler.
    pub message: String,
    /// Its steps, in order, as far as they were run.
    pub steps: Vec<Observation>,
}

/// One of the runs that were asked for, its time settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutedRun {
    /// What it earned.
    pub verdict: Verdict,
    /// How the run that decides everything but time ended, in one word.
    pub status: Status,
    /// How its main process ended.
    pub exit: Exit,
    /// CPU time that counts.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// Elapsed time of the same run.
    #[serde(rename = "wall_ns")]
    pub wall: Nanos,
    /// Most memory of any of its runs.
    #[serde(rename = "memory_peak_bytes")]
    pub memory_peak: Reading<Bytes>,
    /// How its time was settled.
    pub settled: Settled,
    /// Every run that was made for it, in order.
    pub runs: Vec<Observation>,
    /// For each of these what disturbed it.
    #[serde(default = "crate::outcome::not_recorded")]
    pub causes: Reading<Vec<Vec<Cause>>>,
}

/// The result of an [`Execution`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executed {
    /// Id of the language that was used; `scripts`, `executable` or `text` for programs of those kinds.
    pub language: String,
    /// Why it stands in for the language that was asked for, if it does.
    pub stands_in: Option<String>,
    /// What it earned: AC where nothing was expected and it ended well.
    pub verdict: Verdict,
    /// What to tell about the verdict; empty when there is nothing.
    pub message: String,
    /// Its compilation; `None` where there was nothing to compile.
    pub compile: Option<ExecutedCompile>,
    /// The limits of a run that were in force.
    pub limits: Limits,
    /// The runs that were asked for, as far as they were made: all but the last are accepted.
    pub runs: Vec<ExecutedRun>,
    /// What its times were judged by.
    #[serde(default = "crate::outcome::not_recorded")]
    pub thresholds: Reading<Thresholds>,
    /// Standard output of the run that decides.
    pub stdout: CapturedStream,
    /// Its standard error.
    pub stderr: CapturedStream,
}

impl Executed {
    /// The run that decides the verdict: the last. `None`: it was not run.
    pub fn last(&self) -> Option<&ExecutedRun> {
        self.runs.last()
    }

    /// Every run that was made, in order.
    pub fn observations(&self) -> impl Iterator<Item = &Observation> {
        self.runs.iter().flat_map(|run| &run.runs)
    }

    /// How certain its times are, all runs together.
    pub fn settled(&self) -> Settled {
        let none = Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 };
        self.runs.iter().fold(none, |all, run| all.and(run.settled))
    }

    /// Mean CPU time of the runs that were asked for. `None`: it was not run.
    pub fn mean_cpu(&self) -> Option<Nanos> {
        mean(self.runs.iter().map(|run| run.cpu.0)).map(Nanos)
    }

    /// Mean wall time of these runs.
    pub fn mean_wall(&self) -> Option<Nanos> {
        mean(self.runs.iter().map(|run| run.wall.0)).map(Nanos)
    }

    /// Mean peak memory of the requested runs; unknown if one of them is.
    pub fn mean_memory_peak(&self) -> Reading<Bytes> {
        let unknown = self.runs.iter().map(|run| &run.memory_peak).find(|peak| peak.known().is_none());
        let peaks = self.runs.iter().filter_map(|run| run.memory_peak.known());
        match (unknown, mean(peaks.map(|peak| peak.0))) {
            (Some(unknown), _) => unknown.clone(),
            (None, Some(mean)) => Reading::Known(Bytes(mean)),
            (None, None) => Reading::unknown("it was not run"),
        }
    }
}

/// Rounded down.
fn mean(values: impl Iterator<Item = u64>) -> Option<u64> {
    let (count, sum) = values.fold((0u128, 0u128), |(n, sum), value| (n + 1, sum + u128::from(value)));
    sum.checked_div(count).and_then(|mean| u64::try_from(mean).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cpu: u64, memory: Reading<Bytes>, confidence: Confidence) -> ExecutedRun {
        ExecutedRun {
            verdict: Verdict::Accepted,
            status: Status::Ok,
            exit: Exit::Code(0),
            cpu: Nanos(cpu),
            wall: Nanos(2 * cpu),
            memory_peak: memory,
            settled: Settled { confidence, runs: 2, void_runs: 1 },
            runs: vec![Observation::unread(Exit::Code(0), Nanos(cpu), "no machine"); 2],
            causes: Reading::Known(vec![Vec::new(); 2]),
        }
    }

    fn executed(runs: Vec<ExecutedRun>) -> Executed {
        Executed {
            language: "c".into(),
            stands_in: None,
            verdict: Verdict::Accepted,
            message: String::new(),
            compile: None,
            limits: Limits::default(),
            runs,
            thresholds: Reading::unknown("no machine"),
            stdout: CapturedStream { content: "a".into(), total: Bytes(2) },
            stderr: CapturedStream::default(),
        }
    }

    #[test]
    fn bytes_travel_as_base64() {
        for bytes in [&b""[..], b"a", b"ab", b"\0\xff\n"] {
            let json = serde_json::to_string(&Blob(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_str::<Blob>(&json).unwrap().0, bytes);
        }
        assert_eq!(serde_json::to_string(&Blob::from("hello")).unwrap(), "\"aGVsbG8=\"");
        for bad in ["\"a\"", "\"aGVsbG8\"", "\"aGVs bG8=\"", "[1]"] {
            assert!(serde_json::from_str::<Blob>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_asked_for_and_what_came_of_it_survive_the_wire() {
        let asked = Execution {
            program: ProgramKind::Language("c".into()),
            files: vec![ProgramFile { name: "a.c".into(), content: "x".into(), executable: false }],
            entry: None,
            compiler_options: vec!["-O3".into()],
            args: vec!["a b".into()],
            stdin: Blob(vec![0, 255]),
            expected: Some("y".into()),
            limits: Limits { cpu: Some(Nanos(1)), ..Limits::default() },
            compile_limits: Limits::default(),
            runs: 3,
            redirect_stderr: true,
            keep_output: Bytes(7),
        };
        let json = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Execution>(&json).unwrap(), asked);
        let came = executed(vec![run(3, Reading::Known(Bytes(5)), Confidence::Open)]);
        let json = serde_json::to_string(&came).unwrap();
        assert_eq!(serde_json::from_str::<Executed>(&json).unwrap(), came);
        assert!(came.stdout.is_truncated() && !came.stderr.is_truncated());
    }

    #[test]
    fn means_are_of_the_runs_that_were_asked_for() {
        let known = |bytes| Reading::Known(Bytes(bytes));
        let two =
            executed(vec![run(3, known(10), Confidence::Settled), run(6, known(20), Confidence::Clear)]);
        assert_eq!((two.mean_cpu(), two.mean_wall()), (Some(Nanos(4)), Some(Nanos(9))));
        assert_eq!(two.mean_memory_peak(), known(15));
        assert_eq!(two.settled(), Settled { confidence: Confidence::Settled, runs: 4, void_runs: 2 });
        assert_eq!((two.observations().count(), two.last().map(|run| run.cpu)), (4, Some(Nanos(6))));
        let one = executed(vec![
            run(3, known(10), Confidence::Open),
            run(3, Reading::unknown("x"), Confidence::Clear),
        ]);
        assert_eq!(one.mean_memory_peak(), Reading::unknown("x"));
        let none = executed(Vec::new());
        assert_eq!((none.mean_cpu(), none.last()), (None, None));
        assert!(none.mean_memory_peak().known().is_none());
        let large = executed(vec![run(u64::MAX / 2, known(u64::MAX), Confidence::Clear); 3]);
        assert_eq!(large.mean_memory_peak(), known(u64::MAX));
    }
}
