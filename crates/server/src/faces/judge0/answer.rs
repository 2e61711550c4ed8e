//! Submissions as clients see them: which fields, and in which form.

use super::request::{ARCHIVE, Face};
use super::status;
use crate::errors::Refusal;
use crate::execution::{self, Ran};
use crate::service::Service;
use crate::work::details;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Execution, Exit, Nanos, Verdict};
use serde_json::{Map, Value as Json, json};
use store::{Submission, Timestamp};

/// What clients get where they ask for nothing in particular (Judge0 1.13.1, documentation of `fields`).
const USUAL: &[&str] =
    &["token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status"];

/// What `*` stands for: the documented attributes and those the official client knows. That client fails at any other.
const ALL: &[&str] = &[
    "source_code",
    "language_id",
    "stdin",
    "expected_output",
    "stdout",
    "status_id",
    "created_at",
    "finished_at",
    "time",
    "memory",
    "stderr",
    "token",
    "number_of_runs",
    "cpu_time_limit",
    "cpu_extra_time",
    "wall_time_limit",
    "memory_limit",
    "stack_limit",
    "max_processes_and_or_threads",
    "enable_per_process_and_thread_time_limit",
    "enable_per_process_and_thread_memory_limit",
    "max_file_size",
    "compile_output",
    "exit_code",
    "exit_signal",
    "message",
    "wall_time",
    "compiler_options",
    "command_line_arguments",
    "redirect_stderr_to_stdout",
    "callback_url",
    "additional_files",
    "enable_network",
    "status",
    "language",
];

/// What must be asked for by name: later columns of Judge0's, and our evidence.
const BY_NAME: &[&str] = &["queued_at", "started_at", "updated_at", "queue_host", "execution_host", "tauto"];

/// Which fields are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields(Vec<&'static str>);

impl Fields {
    /// From the parameter `fields`; what it names and there is not comes back as the error.
    pub(super) fn parse(text: &str) -> Result<Fields, Vec<String>> {
        let known = |name: &str| ALL.iter().chain(BY_NAME).find(|known| **known == name).copied();
        let names = || text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let unknown: Vec<String> =
            names().filter(|name| *name != "*" && known(name).is_none()).map(str::to_owned).collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let mut fields: Vec<&'static str> = Vec::new();
        for name in names() {
            let these = if name == "*" { ALL.to_vec() } else { known(name).into_iter().collect() };
            fields.extend(these.into_iter().filter(|field| !fields.contains(field)).collect::<Vec<_>>());
        }
        Ok(Fields(if fields.is_empty() { USUAL.to_vec() } else { fields }))
    }

    /// Those of callbacks.
    pub(super) fn usual() -> Fields {
        Fields(USUAL.to_vec())
    }

    fn any(&self, names: &[&str]) -> bool {
        self.0.iter().any(|field| names.contains(field))
    }
}

/// Something cannot be written as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotText;

/// What is known of a submission, as far as the fields need it.
pub(super) struct View {
    submission: Submission,
    face: Face,
    ran: Option<Ran>,
    asked: Option<Execution>,
    archive: Option<Vec<u8>>,
    evidence: Json,
}

/// Reads what the fields need.
pub(super) async fn view(
    service: &Service,
    submission: Submission,
    fields: &Fields,
) -> Result<View, Refusal> {
    let face = serde_json::from_value(details(&submission)?.face)
        .map_err(|e| Refusal::Fault(format!("submission {}: how it was asked for: {e}", submission.id)))?;
    let ran = execution::ran(service, &submission).await?;
    let asked = match fields.any(&["source_code", "stdin", "expected_output"]) {
        true => execution::asked(service, &submission).await?,
        false => None,
    };
    let archive = match fields.any(&["additional_files"]) {
        true => execution::kept(service, &submission, ARCHIVE).await?,
        false => None,
    };
    let evidence = match (&ran, fields.any(&["tauto"])) {
        (Some(ran), true) => execution::evidence(service, ran).await?,
        _ => Json::Null,
    };
    Ok(View { submission, face, ran, asked, archive, evidence })
}

impl View {
    /// The fields as JSON.
    pub(super) fn json(&self, fields: &Fields, base64: bool) -> Result<Json, NotText> {
        let value = |field: &&'static str| Ok(((*field).to_owned(), self.field(field, base64)?));
        fields.0.iter().map(value).collect::<Result<Map<String, Json>, NotText>>().map(Json::Object)
    }

    fn field(&self, field: &str, base64: bool) -> Result<Json, NotText> {
        let text = |bytes: Option<&[u8]>| text(bytes, base64);
        let face = &self.face;
        Ok(match field {
            "source_code" => {
                let source = self.asked.as_ref().filter(|asked| asked.program != model::ProgramKind::Scripts);
                text(source.and_then(|asked| asked.files.first()).map(|file| file.content.0.as_slice()))?
            }
            "stdin" => {
                text(self.asked.as_ref().map(|asked| &*asked.stdin.0).filter(|stdin| !stdin.is_empty()))?
            }
            "expected_output" => text(
                self.asked.as_ref().and_then(|asked| asked.expected.as_ref()).map(|expected| &*expected.0),
            )?,
            "additional_files" => json!(self.archive.as_ref().map(|archive| STANDARD.encode(archive))),
            "stdout" | "stderr" | "compile_output" | "message" => text(self.words(field).as_deref())?,
            "token" => json!(self.submission.token),
            "status" => status::status_of(&self.submission, self.ran.as_ref()).json(),
            "status_id" => json!(status::status_of(&self.submission, self.ran.as_ref()).0),
            "language" => json!({"id": face.language_id, "name": face.language_name}),
            "language_id" => json!(face.language_id),
            "created_at" | "queued_at" => json!(stamp(self.submission.created)),
            "finished_at" => json!(self.ran.as_ref().map(|ran| stamp(ran.summary.finished))),
            "updated_at" => {
                json!(stamp(self.ran.as_ref().map_or(self.submission.created, |ran| ran.summary.finished)))
            }
            "started_at" | "queue_host" | "execution_host" => Json::Null,
            "time" | "wall_time" | "memory" | "exit_code" | "exit_signal" => self.measured(field),
            "tauto" => self.evidence.clone(),
            _ => asked_for(face, field),
        })
    }

    /// What was written, and what is said about it; nothing where nothing was.
    fn words(&self, field: &str) -> Option<Vec<u8>> {
        let ran = self.ran.as_ref()?;
        let executed = ran.executed.as_ref();
        let words = match (field, ran.summary.verdict, executed) {
            ("message", Verdict::JudgeError, _) => {
                ran.fault.clone().or(executed.map(|executed| executed.message.clone()))?.into_bytes()
            }
            // The compiler's words say why.
            ("message", Verdict::CompileError | Verdict::Accepted, _) => return None,
            ("message", _, Some(executed)) => executed.message.clone().into_bytes(),
            ("stdout", _, Some(executed)) => executed.stdout.content.0.clone(),
            ("stderr", _, Some(executed)) => executed.stderr.content.0.clone(),
            ("compile_output", verdict, Some(executed)) => {
                let compile = executed.compile.as_ref()?;
                let said = [&*compile.stdout.content.0, &*compile.stderr.content.0].concat();
                if said.is_empty() && verdict == Verdict::CompileError {
                    compile.message.clone().into_bytes()
                } else {
                    said
                }
            }
            _ => return None,
        };
        Some(words).filter(|words| !words.is_empty())
    }

    fn measured(&self, field: &str) -> Json {
        let Some(executed) = self.ran.as_ref().and_then(|ran| ran.executed.as_ref()) else {
            return Json::Null;
        };
        let exit = executed.last().map(|run| run.exit);
        match (field, exit) {
            ("time", _) => json!(executed.mean_cpu().map(seconds)),
            ("wall_time", _) => json!(executed.mean_wall().map(seconds)),
            ("memory", _) => json!(executed.mean_memory_peak().known().map(|peak| peak.0 / 1024)),
            ("exit_code", Some(Exit::Code(code))) => json!(code),
            ("exit_signal", Some(Exit::Signal(signal))) => json!(signal),
            _ => Json::Null,
        }
    }
}

/// What was asked for, as it was.
fn asked_for(face: &Face, field: &str) -> Json {
    let decimal = |number: f64| json!(format!("{number:?}"));
    match field {
        "compiler_options" => json!(face.compiler_options),
        "command_line_arguments" => json!(face.command_line_arguments),
        "cpu_time_limit" => decimal(face.cpu_time_limit),
        "cpu_extra_time" => decimal(face.cpu_extra_time),
        "wall_time_limit" => decimal(face.wall_time_limit),
        "memory_limit" => json!(face.memory_limit),
        "stack_limit" => json!(face.stack_limit),
        "max_processes_and_or_threads" => json!(face.max_processes_and_or_threads),
        "max_file_size" => json!(face.max_file_size),
        "number_of_runs" => json!(face.number_of_runs),
        "redirect_stderr_to_stdout" => json!(face.redirect_stderr_to_stdout),
        "callback_url" => json!(face.callback_url),
        "enable_network"
        | "enable_per_process_and_thread_time_limit"
        | "enable_per_process_and_thread_memory_limit" => json!(false),
        _ => Json::Null,
    }
}

fn text(bytes: Option<&[u8]>, base64: bool) -> Result<Json, NotText> {
    match bytes {
        None => Ok(Json::Null),
        Some(bytes) if base64 => Ok(json!(STANDARD.encode(bytes))),
        Some(bytes) => std::str::from_utf8(bytes).map(|text| json!(text)).map_err(|_| NotText),
    }
}

/// Seconds as a decimal text, to the microsecond.
fn seconds(time: Nanos) -> String {
    let micros = time.0 / 1000;
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// A moment as Judge0 writes it: RFC 3339 in UTC, to the millisecond.
fn stamp(moment: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(moment.0).map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_and_come_once() {
        assert_eq!(Fields::parse(""), Ok(Fields::usual()));
        assert_eq!(Fields::parse("token, time,token"), Ok(Fields(vec!["token", "time"])));
        assert_eq!(Fields::parse("*").unwrap().0, ALL);
        let more = Fields::parse("tauto,*").unwrap();
        assert_eq!((more.0[0], more.0.len()), ("tauto", ALL.len() + 1));
        assert_eq!(Fields::parse("time,nonsense,*,x"), Err(vec!["nonsense".to_owned(), "x".to_owned()]));
        assert_eq!(ALL.len(), 35);
        // Named in docs/judge0.md as not given.
        assert!(Fields::parse("post_execution_filesystem").is_err());
    }

    #[test]
    fn numbers_and_moments_have_judge0s_form() {
        for (nanos, text) in
            [(0, "0.0"), (152_345_678, "0.152345"), (5_000_000_000, "5.0"), (1_500_000_000, "1.5")]
        {
            assert_eq!(seconds(Nanos(nanos)), text);
        }
        assert_eq!(stamp(Timestamp(1_733_765_000_662_123)), "2024-12-09T17:23:20.662Z");
    }

    #[test]
    fn what_is_no_text_needs_base64() {
        assert_eq!(text(Some(b"\xff"), false), Err(NotText));
        assert_eq!(text(Some(b"\xff"), true), Ok(json!("/w==")));
        assert_eq!(text(None, true), Ok(Json::Null));
    }
}
