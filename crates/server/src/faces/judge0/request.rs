//! What clients submit: read leniently as Judge0 does (numbers and flags may be text), held against its bounds, and made an
//! [`Execution`] of. Every field that is wrong is told.

use super::config;
use super::languages::{Edition, Offered, find};
use crate::callbacks::{self, Allowed};
use crate::toolchains::Toolchain;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use judge::filenames;
use judge::language::words;
use model::{Blob, Bytes, Execution, Limits, Nanos, ProgramFile, WallLimit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use source::{UnpackLimits, unpack};

/// Name under which the archive of additional files is kept, to be shown again.
pub(super) const ARCHIVE: &str = "additional_files.zip";

/// Entries of an archive of additional files, and how deep they may lie.
const ARCHIVE_ENTRIES: usize = 1000;
const ARCHIVE_DEPTH: usize = 16;
/// Kept of each stream at least, whatever little may be written: compilers talk too.
const LEAST_KEPT: u64 = 64 << 10;

/// What is noted with a submission, so that it can be shown again as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Face {
    pub(super) language_id: u32,
    pub(super) language_name: String,
    pub(super) compiler_options: Option<String>,
    pub(super) command_line_arguments: Option<String>,
    pub(super) cpu_time_limit: f64,
    pub(super) cpu_extra_time: f64,
    pub(super) wall_time_limit: f64,
    pub(super) memory_limit: u64,
    pub(super) stack_limit: u64,
    pub(super) max_processes_and_or_threads: u64,
    pub(super) max_file_size: u64,
    pub(super) number_of_runs: u64,
    pub(super) redirect_stderr_to_stdout: bool,
    pub(super) callback_url: Option<String>,
}

/// A request that is in order.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) language: Offered,
    pub(super) execution: Execution,
    pub(super) archive: Option<Vec<u8>>,
    pub(super) face: Face,
}

/// What is wrong, by field.
pub(super) type Faults = Map<String, Json>;

/// What a request is held against.
pub(super) struct Against<'a> {
    pub(super) edition: Edition,
    pub(super) toolchains: &'a [Toolchain],
    pub(super) callbacks: &'a Allowed,
    /// Source, input and expected output come in base64; the archive always does.
    pub(super) base64: bool,
}

/// Reads a request.
pub(super) fn read(given: &Map<String, Json>, against: &Against) -> Result<Wanted, Faults> {
    let mut fields = Fields { given, faults: Faults::new() };
    let language = language(&mut fields, against);
    let face = face(&mut fields, language.as_ref(), against.callbacks);
    let source = fields.bytes("source_code", against.base64);
    let stdin = fields.bytes("stdin", against.base64).unwrap_or_default();
    let expected = fields.bytes("expected_output", against.base64);
    let archive = fields.bytes("additional_files", true).filter(|bytes| !bytes.is_empty());
    let [compiler_options, args] = [
        ("compiler_options", &face.compiler_options),
        ("command_line_arguments", &face.command_line_arguments),
    ]
    .map(|(name, text)| fields.words(name, text.as_deref().unwrap_or_default()));
    let files = fields.files(language.as_ref(), source, archive.as_deref());
    refuse_what_is_not_done(&mut fields);
    let Some(language) = language.filter(|_| fields.faults.is_empty()) else { return Err(fields.faults) };
    let execution = Execution {
        program: language.kind(),
        files,
        entry: language.entry(),
        compiler_options,
        args,
        stdin: Blob(stdin),
        expected: expected.map(Blob),
        limits: limits(&face),
        compile_limits: Limits::default(),
        runs: u32::try_from(face.number_of_runs).unwrap_or(1),
        redirect_stderr: face.redirect_stderr_to_stdout,
        keep_output: Bytes(kib(face.max_file_size).max(LEAST_KEPT)),
    };
    Ok(Wanted { language, execution, archive, face })
}

fn language(fields: &mut Fields, against: &Against) -> Option<Offered> {
    let given = fields.number("language_id");
    let id = given.filter(|id| id.fract() == 0.0 && (0.0..1e9).contains(id)).map(|id| id as u32);
    let found = id.and_then(|id| find(against.edition, id, against.toolchains));
    match (given, &found) {
        (None, _) => fields.fault("language_id", "can't be blank"),
        (Some(given), None) => {
            fields.fault("language_id", format!("language with id {given} doesn't exist here"));
        }
        (Some(_), Some(_)) => {}
    }
    found
}

fn face(fields: &mut Fields, language: Option<&Offered>, callbacks: &Allowed) -> Face {
    let callback_url = fields.text("callback_url");
    if let Some(why) = callback_url.as_deref().and_then(|url| callbacks::check(url, callbacks).err()) {
        fields.fault("callback_url", why.to_string());
    }
    Face {
        language_id: language.map_or(0, |language| language.id),
        language_name: language.map(|language| language.name.clone()).unwrap_or_default(),
        compiler_options: fields.text("compiler_options"),
        command_line_arguments: fields.text("command_line_arguments"),
        cpu_time_limit: fields.within("cpu_time_limit", 0.0, config::CPU_TIME),
        cpu_extra_time: fields.within("cpu_extra_time", 0.0, config::CPU_EXTRA_TIME),
        wall_time_limit: fields.within("wall_time_limit", 1.0, config::WALL_TIME),
        memory_limit: fields.whole("memory_limit", 2048, config::MEMORY),
        stack_limit: fields.whole("stack_limit", 0, config::STACK),
        max_processes_and_or_threads: fields.whole("max_processes_and_or_threads", 1, config::PROCESSES),
        max_file_size: fields.whole("max_file_size", 0, config::FILE_SIZE),
        number_of_runs: fields.whole("number_of_runs", 1, config::RUNS),
        redirect_stderr_to_stdout: fields.flag("redirect_stderr_to_stdout"),
        callback_url,
    }
}

/// What Judge0 can be configured to refuse, and what is always refused here.
fn refuse_what_is_not_done(fields: &mut Fields) {
    for (name, why) in [
        ("enable_network", "enabling network is not allowed"),
        ("enable_per_process_and_thread_time_limit", "this option cannot be enabled"),
        ("enable_per_process_and_thread_memory_limit", "this option cannot be enabled"),
    ] {
        if fields.flag(name) {
            fields.fault(name, why);
        }
    }
}

/// The limits of a run. Judge0 takes 0 for none; the largest that can be asked for stands for it here.
fn limits(face: &Face) -> Limits {
    let or_most = |asked: u64, most: u64| if asked == 0 { most } else { asked };
    let cpu = if face.cpu_time_limit > 0.0 { face.cpu_time_limit } else { config::CPU_TIME.1 };
    Limits {
        cpu: Nanos::from_secs_f64(cpu),
        wall: Nanos::from_secs_f64(face.wall_time_limit).map(|time| WallLimit { time, excuse_waiting: true }),
        memory: Some(Bytes(kib(face.memory_limit))),
        stack: Some(Bytes(kib(or_most(face.stack_limit, config::STACK.1)))),
        output: Some(Bytes(kib(or_most(face.max_file_size, config::FILE_SIZE.1)))),
        processes: u32::try_from(face.max_processes_and_or_threads).ok(),
        ..Limits::default()
    }
}

fn kib(number: u64) -> u64 {
    number.saturating_mul(1024)
}

/// The fields of a request, and what is wrong with them.
struct Fields<'a> {
    given: &'a Map<String, Json>,
    faults: Faults,
}

impl Fields<'_> {
    fn fault(&mut self, name: &str, why: impl Into<String>) {
        let faults = self.faults.entry(name).or_insert_with(|| Json::Array(Vec::new()));
        if let Json::Array(faults) = faults {
            faults.push(Json::String(why.into()));
        }
    }

    fn get(&self, name: &str) -> Option<&Json> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// A text; an empty one is none.
    fn text(&mut self, name: &str) -> Option<String> {
        let text = match self.get(name)? {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            Json::Bool(flag) => flag.to_string(),
            _ => {
                self.fault(name, "is not text");
                return None;
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn bytes(&mut self, name: &str, encoded: bool) -> Option<Vec<u8>> {
        let text = match self.get(name)? {
            // Here an empty text is not none: an expected output may be empty.
            Json::String(text) => text.clone(),
            _ => self.text(name)?,
        };
        if !encoded {
            return Some(text.into_bytes());
        }
        let decoded = decode(&text);
        if decoded.is_none() {
            self.fault(name, "is not base64");
        }
        decoded
    }

    fn number(&mut self, name: &str) -> Option<f64> {
        let number = match self.get(name)? {
            Json::Number(number) => number.as_f64(),
            Json::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        if number.is_none_or(|number| !number.is_finite()) {
            self.fault(name, "is not a number");
        }
        number.filter(|number| number.is_finite())
    }

    /// A number between bounds; the first of the pair where there is none.
    fn within(&mut self, name: &str, least: f64, (usual, most): (f64, f64)) -> f64 {
        let Some(number) = self.number(name) else { return usual };
        if number < least {
            self.fault(name, format!("must be greater than or equal to {least:?}"));
        }
        if number > most {
            self.fault(name, format!("must be less than or equal to {most:?}"));
        }
        number
    }

    /// The same for whole numbers; a fraction is dropped.
    fn whole(&mut self, name: &str, least: u64, (usual, most): (u64, u64)) -> u64 {
        let Some(number) = self.number(name).map(f64::trunc) else { return usual };
        if number < least as f64 {
            self.fault(name, format!("must be greater than or equal to {least}"));
        }
        if number > most as f64 {
            self.fault(name, format!("must be less than or equal to {most}"));
        }
        // Out of bounds it is not used.
        number as u64
    }

    fn flag(&mut self, name: &str) -> bool {
        match self.get(name) {
            None => false,
            Some(Json::Bool(flag)) => *flag,
            Some(Json::String(text)) if matches!(text.as_str(), "true" | "1") => true,
            Some(Json::String(text)) if matches!(text.as_str(), "false" | "0" | "") => false,
            Some(Json::Number(number)) if number.as_u64().is_some_and(|n| n < 2) => {
                number.as_u64() == Some(1)
            }
            Some(_) => {
                self.fault(name, "is neither true nor false");
                false
            }
        }
    }

    fn words(&mut self, name: &str, text: &str) -> Vec<String> {
        if text.chars().count() > config::MAX_WORDS {
            self.fault(name, format!("is too long (maximum is {} characters)", config::MAX_WORDS));
        }
        words(text).unwrap_or_else(|why| {
            self.fault(name, why.to_string());
            Vec::new()
        })
    }

    /// The program's files: the source first, then what the archive adds to it.
    fn files(
        &mut self,
        language: Option<&Offered>,
        source: Option<Vec<u8>>,
        archive: Option<&[u8]>,
    ) -> Vec<ProgramFile> {
        let blank = source.as_deref().is_none_or(|source| source.trim_ascii().is_empty());
        let project = language.is_some_and(Offered::is_project);
        match (project, blank, archive) {
            (false, true, _) => self.fault("source_code", "can't be blank"),
            (true, false, _) => self.fault("source_code", "must be blank"),
            _ => {}
        }
        if project && archive.is_none() {
            self.fault("additional_files", "can't be blank");
        }
        let name = language.and_then(|language| language.source_file.clone()).unwrap_or_default();
        let own = source.filter(|_| !project);
        let own =
            own.map(|content| ProgramFile { name: name.clone(), content: Blob(content), executable: false });
        let limits = UnpackLimits {
            entries: ARCHIVE_ENTRIES,
            total_size: kib(config::MAX_EXTRACT_SIZE),
            depth: ARCHIVE_DEPTH,
        };
        let added = archive.map_or(Ok(Vec::new()), |archive| unpack(archive, limits)).unwrap_or_else(|why| {
            self.fault("additional_files", why.to_string());
            Vec::new()
        });
        // The source is not replaced by a file of its name.
        let added: Vec<_> = added.into_iter().filter(|file| project || file.name != name).collect();
        let names =
            own.iter().map(|file| file.name.as_str()).chain(added.iter().map(|file| file.name.as_str()));
        // Without a language the source has no name.
        if let Some(why) = language.and_then(|_| filenames::check(names).err()) {
            self.fault("additional_files", why.to_string());
        }
        let added = added.into_iter().map(|file| ProgramFile {
            name: file.name,
            content: Blob(file.content),
            executable: file.executable,
        });
        own.into_iter().chain(added).collect()
    }
}

/// Base64 as clients send it: with line breaks or without, padded or not.
fn decode(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    LENIENT.decode(packed).ok()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
