//! What all experiments have in common: the record they go on with, progress, and how they end.

use crate::Done;
use crate::config::data_directory;
use crate::exports::Exports;
use crate::terminal::{Failure, print, print_error, tell_error};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lab::record::{Record, RecordError};
use model::BenchEnd;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Where results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Write every measured value to FILE as CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page with plots to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Record every run in FILE and resume from the runs it holds [default: one file per experiment in the data
    /// directory; a complete experiment restarts from scratch]
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Restart from scratch, ignoring recorded runs
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// A report in all its forms.
pub(crate) struct Forms {
    pub(crate) json: String,
    pub(crate) csv: String,
    pub(crate) html: String,
    pub(crate) text: String,
}

/// How an experiment ended, and what ended it if that was a failure.
pub(crate) fn outcome(conducted: Result<BenchEnd, Failure>) -> (BenchEnd, Option<Failure>) {
    match conducted {
        Ok(end) => (end, None),
        Err(failure) => (BenchEnd::Failed(failure.to_string()), Some(failure)),
    }
}

/// An experiment under way.
pub(crate) struct Session {
    experiment: &'static str,
    asked: Value,
    record: Record,
    json: bool,
    /// The record has a file of its own only because the user did not name one.
    usual_place: bool,
    bar: ProgressBar,
    exports: Exports<2>,
}

impl Session {
    /// Opens the record of what is asked for, and gives the runs it holds.
    pub(crate) fn open<R: DeserializeOwned>(
        args: &SessionArgs,
        experiment: &'static str,
        asked: Value,
    ) -> Result<(Session, Vec<R>), Failure> {
        let exports =
            Exports::open(args.json, [("--csv", args.csv.as_ref()), ("--html", args.html.as_ref())])?;
        let path = match &args.record {
            Some(path) => path.clone(),
            None => usual_path(experiment, &asked)?,
        };
        let (record, runs) = Record::open(&path, experiment, &asked, args.fresh)?;
        let usual_place = args.record.is_none();
        Ok((Session { experiment, asked, record, json: args.json, usual_place, bar: bar(), exports }, runs))
    }

    /// To be called where the record holds all runs already. One that the user named is reported as it is; another one
    /// begins again: `true`.
    pub(crate) fn again(&mut self) -> Result<bool, Failure> {
        if self.usual_place {
            self.record.clear(self.experiment, &self.asked)?;
        }
        Ok(self.usual_place)
    }

    /// Says that runs of before are gone on with.
    pub(crate) fn tell_resumed(&self, runs: usize) {
        if runs > 0 {
            print_error(&format!("tauto: resuming after {runs} runs of {}\n", self.record.path().display()));
        }
    }

    /// Shows how far it has come.
    pub(crate) fn progress(&self, made: usize, left: usize, doing: &str) {
        self.bar.set_length((made + left) as u64);
        self.bar.set_position(made as u64);
        self.bar.set_message(doing.chars().take(60).collect::<String>());
    }

    /// Runs of before took no time now.
    pub(crate) fn begin(&self, made: usize) {
        self.bar.set_position(made as u64);
        self.bar.reset_eta();
    }

    /// Keeps a run, before the next is made.
    pub(crate) fn keep(&mut self, run: &impl Serialize) -> Result<(), Failure> {
        Ok(self.record.append(run)?)
    }

    /// Takes the bar away, writes the files that were asked for, and tells. Gives the exit code.
    pub(crate) fn finish(
        self,
        end: &BenchEnd,
        failure: Option<Failure>,
        report: Forms,
    ) -> Result<Done, Failure> {
        self.bar.finish_and_clear();
        if *end != BenchEnd::Complete {
            let path = self.record.path().display();
            print_error(&format!("tauto: the runs so far are saved in {path}; the same command resumes\n"));
        }
        match self.json {
            true => print(&report.json),
            false => self.exports.print(&report.text),
        }
        self.exports.write([&|| report.csv.clone(), &|| report.html.clone()]);
        ended(end, failure)
    }
}

/// The exit code of an experiment whose report was told, so that a failure of the system is no second document.
fn ended(end: &BenchEnd, failure: Option<Failure>) -> Result<Done, Failure> {
    match (failure, end) {
        (Some(Failure::System(e)), _) => {
            tell_error(format!("{e:#}"));
            Ok(Done::Fault)
        }
        (Some(failure), _) => Err(failure),
        (None, BenchEnd::Interrupted) => Ok(Done::Interrupted),
        (None, _) => Ok(Done::Good),
    }
}

/// A file for each different experiment.
fn usual_path(experiment: &str, asked: &Value) -> Result<PathBuf, Failure> {
    let directory = data_directory()?.join("lab");
    let fail = |e: std::io::Error| {
        Failure::usage(format!(
            "{}: {e}\nhint: name a file with --record, or set TAUTO_DATA_DIR",
            directory.display()
        ))
    };
    std::fs::create_dir_all(&directory).map_err(fail)?;
    Ok(directory.join(format!("{experiment}-{:016x}.jsonl", hash(asked.to_string().as_bytes()))))
}

/// FNV-1a (Fowler, Noll and Vo): the same on every machine and for ever.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let template = "{spinner} run {pos} of {len}, {eta} left  {msg}";
    // A template that does not parse leaves the usual look.
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

impl From<RecordError> for Failure {
    fn from(e: RecordError) -> Failure {
        Failure::usage(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the authors' page.
    #[test]
    fn hashes_are_those_of_the_definition() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
