//! What clients submit, held against bounds, made an [`Execution`] of.

use super::runtimes::{Runtime, find};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Blob, Bytes, Execution, Limits, Nanos, ProgramFile, ProgramKind, WallLimit};
use serde_json::Value;

/// Milliseconds of a stage, where nothing is asked for (Piston's own), and the most.
const RUN_MS: (f64, f64) = (3000.0, 20_000.0);
const COMPILE_MS: (f64, f64) = (10_000.0, 30_000.0);
/// Bytes of memory of a stage, where nothing is asked for, and the most.
const RUN_MEMORY: (f64, f64) = (268_435_456.0, 1_073_741_824.0);
const COMPILE_MEMORY: (f64, f64) = (2_147_483_648.0, 2_147_483_648.0);
/// Bytes that may be written (Piston: `max_file_size`) and are kept of each stream.
const OUTPUT: u64 = 10_000_000;
const KEPT: u64 = 1 << 20;
/// Processes and threads (Piston: `max_process_count`).
const PROCESSES: u32 = 64;
/// Files and arguments.
const FILES: usize = 1000;
const ARGUMENTS: usize = 1000;

/// A request that is in order.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) runtime: Runtime,
    pub(super) execution: Execution,
}

/// Reads a request; `Err` says what is wrong with it.
pub(super) fn read(given: &Value, runtimes: &[Runtime]) -> Result<Wanted, String> {
    let text = |name: &str| {
        given[name].as_str().filter(|text| !text.is_empty()).ok_or(format!("{name} is required as a string"))
    };
    let (language, version) = (text("language")?, text("version")?);
    let runtime = find(runtimes, language, version)
        .ok_or_else(|| format!("{language}-{version} runtime is unknown"))?
        .clone();
    let files = files(given, &runtime)?;
    let limit = |name: &str, bounds| limit(given, name, bounds);
    let limits = |stage: &str, time, memory| {
        let wall = limit(&format!("{stage}_timeout"), time)?;
        Ok::<Limits, String>(Limits {
            cpu: millis(limit(&format!("{stage}_cpu_time"), time)?),
            wall: millis(wall).map(|time| WallLimit { time, excuse_waiting: true }),
            memory: Some(Bytes(limit(&format!("{stage}_memory_limit"), memory)? as u64)),
            ..Limits::default()
        })
    };
    let run = limits("run", RUN_MS, RUN_MEMORY)?;
    let mut stdin = optional_text(given, "stdin")?.unwrap_or_default().to_owned();
    // Piston ends the input with a line end.
    if !stdin.ends_with('\n') {
        stdin.push('\n');
    }
    let execution = Execution {
        program: ProgramKind::Language(runtime.id.to_owned()),
        entry: files.first().filter(|_| runtime.begins).map(|file| file.name.clone()),
        files,
        compiler_options: Vec::new(),
        args: args(given)?,
        stdin: Blob(stdin.into_bytes()),
        expected: None,
        limits: Limits { output: Some(Bytes(OUTPUT)), processes: Some(PROCESSES), ..run },
        compile_limits: limits("compile", COMPILE_MS, COMPILE_MEMORY)?,
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes(KEPT),
    };
    Ok(Wanted { runtime, execution })
}

fn millis(time: f64) -> Option<Nanos> {
    Nanos::from_secs_f64(time / 1000.0)
}

/// A number that is at most the second of the pair; the first where there is none, and the second where -1 asks for no bound.
fn limit(given: &Value, name: &str, (usual, most): (f64, f64)) -> Result<f64, String> {
    let value = match &given[name] {
        Value::Null => return Ok(usual),
        value => value.as_f64().ok_or(format!("if specified, {name} must be a number"))?,
    };
    match value {
        -1.0 => Ok(most),
        0.0 => Ok(usual),
        value if value < 0.0 => Err(format!("{name} must be non-negative")),
        value if value > most => Err(format!("{name} cannot exceed the configured limit of {most}")),
        value => Ok(value),
    }
}

fn optional_text<'a>(given: &'a Value, name: &str) -> Result<Option<&'a str>, String> {
    match &given[name] {
        Value::Null => Ok(None),
        value => value.as_str().map(Some).ok_or(format!("{name} must be a string")),
    }
}

fn args(given: &Value) -> Result<Vec<String>, String> {
    let args = match &given["args"] {
        Value::Null => return Ok(Vec::new()),
        args => args.as_array().ok_or("args must be an array")?,
    };
    if args.len() > ARGUMENTS {
        return Err(format!("args must be at most {ARGUMENTS}"));
    }
    let word = |(n, arg): (usize, &Value)| {
        arg.as_str().map(str::to_owned).ok_or(format!("args[{n}] must be a string"))
    };
    args.iter().enumerate().map(word).collect()
}

fn files(given: &Value, runtime: &Runtime) -> Result<Vec<ProgramFile>, String> {
    let files = given["files"].as_array().ok_or("files is required as an array")?;
    if files.is_empty() || files.len() > FILES {
        return Err(format!("files must be 1 to {FILES}"));
    }
    let mut all = Vec::new();
    for (n, file) in files.iter().enumerate() {
        let content =
            file["content"].as_str().ok_or(format!("files[{n}].content is required as a string"))?;
        let encoding = file["encoding"].as_str().unwrap_or("utf8");
        let bytes = match encoding {
            "base64" => STANDARD.decode(content).map_err(|_| format!("files[{n}].content is not base64"))?,
            "hex" => hex(content).ok_or(format!("files[{n}].content is not hex"))?,
            _ => content.as_bytes().to_vec(),
        };
        let name =
            match optional_text(file, "name").map_err(|_| format!("files[{n}].name must be a string"))? {
                Some(name) if !name.is_empty() => name.to_owned(),
                _ if all.is_empty() => runtime.file.to_owned(),
                _ => format!("file{n}.code"),
            };
        let part = ProgramFile { name, content: Blob(bytes), executable: false };
        all.push((!matches!(encoding, "base64" | "hex"), part));
    }
    // The program begins in the first file that came as text.
    if !all.iter().any(|(text, _)| *text) {
        return Err("files must include at least one utf8 encoded file".to_owned());
    }
    all.sort_by_key(|(text, _)| !text);
    let mut all: Vec<ProgramFile> = all.into_iter().map(|(_, file)| file).collect();
    name_source(&mut all, runtime);
    Ok(all)
}

/// Piston hands files to its compilers whatever they are called; a first file whose name has no ending of the language gets one.
fn name_source(files: &mut [ProgramFile], runtime: &Runtime) {
    let Some((_, ending)) = runtime.file.rsplit_once('.') else { return };
    if let Some(first) = files.first_mut()
        && !first.name.rsplit('/').next().unwrap_or_default().contains('.')
    {
        first.name = format!("{}.{ending}", first.name);
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchains::Toolchain;
    use serde_json::json;

    fn read_json(given: &Value) -> Result<Wanted, String> {
        let here = [("cpython3", "3.11.7"), ("c", "12.2.0")].map(|(id, version)| Toolchain {
            id: id.into(),
            tool: "x".into(),
            version: Some(version.into()),
            compile: Vec::new(),
            run: Vec::new(),
        });
        read(given, &super::super::runtimes::all(&here))
    }

    #[test]
    fn a_program_of_several_files_begins_in_the_first_that_is_text() {
        let wanted = read_json(&json!({
            "language": "py", "version": "3.x", "args": ["a b"], "stdin": "x", "run_timeout": 500, "run_memory_limit": -1,
            "files": [{"name": "data", "content": "00fF", "encoding": "hex"}, {"name": "prog", "content": "1"}, {"content": "Mg==", "encoding": "base64"}],
        }));
        let Wanted { runtime, execution } = wanted.unwrap();
        assert_eq!((runtime.language, runtime.version.as_str()), ("python", "3.11.7"));
        let names: Vec<&str> = execution.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["prog.py", "data", "file2.code"]);
        assert_eq!(
            (execution.files[1].content.0.as_slice(), execution.files[2].content.0.as_slice()),
            (&[0, 255][..], &b"2"[..])
        );
        assert_eq!(
            (execution.entry.as_deref(), execution.args.as_slice()),
            (Some("prog.py"), &["a b".to_owned()][..])
        );
        assert_eq!((execution.stdin.text().as_str(), execution.limits.memory), ("x\n", Some(Bytes(1 << 30))));
        assert_eq!(execution.limits.wall.map(|wall| wall.time), Some(Nanos(500_000_000)));
        assert_eq!(execution.limits.cpu, Some(Nanos(3_000_000_000)));
        let unnamed =
            read_json(&json!({"language": "c", "version": "*", "files": [{"content": ""}]})).unwrap();
        assert_eq!((unnamed.execution.files[0].name.as_str(), &unnamed.execution.entry), ("main.c", &None));
    }

    #[test]
    fn what_is_wrong_is_said_in_piston_s_way() {
        let ok = json!({"language": "c", "version": "*", "files": [{"content": ""}]});
        for (change, says) in [
            (json!({"language": 1}), "language is required as a string"),
            (json!({"version": null}), "version is required as a string"),
            (json!({"version": "13.x"}), "c-13.x runtime is unknown"),
            (json!({"files": "x"}), "files is required as an array"),
            (json!({"files": []}), "files must be 1"),
            (json!({"files": [{"name": "a"}]}), "files[0].content is required as a string"),
            (json!({"files": [{"content": "AA==", "encoding": "base64"}]}), "at least one utf8"),
            (json!({"files": [{"content": "0", "encoding": "hex"}]}), "files[0].content is not hex"),
            (json!({"files": [{"content": "", "name": 1}]}), "files[0].name must be"),
            (json!({"stdin": 1}), "stdin must be a string"),
            (json!({"args": [1]}), "args[0] must be a string"),
            (json!({"run_timeout": "x"}), "run_timeout must be a number"),
            (json!({"run_timeout": 1e9}), "run_timeout cannot exceed the configured limit of 20000"),
            (json!({"compile_memory_limit": -2}), "compile_memory_limit must be non-negative"),
        ] {
            let mut given = ok.clone();
            given.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let why = read_json(&given).err().unwrap_or_else(|| panic!("{change}"));
            assert!(why.contains(says), "{change}: {why}");
        }
        assert!(read_json(&json!([])).is_err());
    }
}
