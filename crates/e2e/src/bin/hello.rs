//! DOMjudge's example problem `hello` through the protocol, by its own executables: `hello DIRECTORY [PART]`, where DIRECTORY is a checkout of
//! DOMjudge, which is no part of this repository; with PART only programs whose names have it. Each program has the results it may have in its text or its directory; those that have others
//! are listed with what was told of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::domserver::{Dialect, DomServer, Faults, Files, PASSWORD, Problem, Submission, USER};
use e2e::tauto;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

/// For all of them.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Directories of executables that compile, and the extensions of their languages as a new DOMserver has them.
const LANGUAGES: [(&str, &[&str]); 24] = [
    ("adb", &["adb", "ads"]),
    ("awk", &["awk"]),
    ("bash", &["bash"]),
    ("c", &["c"]),
    ("cpp", &["cpp", "cc", "cxx", "c++"]),
    ("csharp", &["csharp", "cs"]),
    ("f95", &["f95", "f90"]),
    ("go", &["go"]),
    ("hs", &["hs", "lhs"]),
    ("java_javac_detect", &["java"]),
    ("js", &["js", "mjs"]),
    ("kt", &["kt"]),
    ("lua", &["lua"]),
    ("ocaml", &["ml"]),
    ("pas", &["pas", "p", "pp"]),
    ("pl", &["pl"]),
    ("plg", &["plg"]),
    ("py3", &["py", "py3"]),
    ("r", &["R"]),
    ("rb", &["rb"]),
    ("rs", &["rs"]),
    ("scala", &["scala"]),
    ("sh", &["sh"]),
    ("swift", &["swift"]),
];

/// Words of tags, and the results they stand for. Other words ask for nothing.
const TAGS: [(&str, &str); 9] = [
    ("CORRECT", "correct"),
    ("ACCEPTED", "correct"),
    ("WRONG-ANSWER", "wrong-answer"),
    ("NO-OUTPUT", "no-output"),
    ("TIMELIMIT", "timelimit"),
    ("TIME-LIMIT-EXCEEDED", "timelimit"),
    ("RUN-ERROR", "run-error"),
    ("RUN-TIME-ERROR", "run-error"),
    ("COMPILER-ERROR", "compiler-error"),
];

struct Program {
    name: String,
    expected: Vec<&'static str>,
    submission: Submission,
}

fn files(directory: &Path) -> Result<Files, String> {
    let fail = |e: std::io::Error| format!("{}: {e}", directory.display());
    let mut found: Vec<PathBuf> =
        fs::read_dir(directory).map_err(fail)?.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.iter().filter(|path| path.is_file()).map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<(String, Vec<u8>, bool), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    let executable = fs::metadata(path).map_err(fail)?.permissions().mode() & 0o111 != 0;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((name, fs::read(path).map_err(fail)?, executable))
}

/// Results that a program may have: those its text names, else those of its directory.
fn expected(group: &str, sources: &Files) -> Vec<&'static str> {
    let named = |word: &str| TAGS.iter().find(|(tag, _)| *tag == word).map(|(_, result)| *result);
    let tags = sources.iter().filter_map(|(_, content, _)| {
        let text = String::from_utf8_lossy(content).into_owned();
        let line = text.split_once("@EXPECTED_RESULTS@:")?.1.lines().next()?.replace('_', "-");
        Some(line)
    });
    let words: Vec<String> = tags
        .flat_map(|line| line.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    if !words.is_empty() {
        let output_limit = words.iter().any(|word| word == "OUTPUT-LIMIT").then_some("output-limit");
        return words.iter().filter_map(|word| named(word)).chain(output_limit).collect();
    }
    match group {
        "output_limit" => vec!["output-limit"],
        other => named(&other.to_uppercase().replace('_', "-")).into_iter().collect(),
    }
}

fn programs(root: &Path) -> Result<(Vec<Program>, Vec<String>), String> {
    let problem = root.join("example_problems/hello");
    let entries: Value = fs::read_to_string(problem.join("submissions.json"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let (mut programs, mut left) = (Vec::new(), Vec::new());
    let mut groups: Vec<PathBuf> = fs::read_dir(problem.join("submissions"))
        .map_err(|e| format!("{}: {e}", problem.display()))?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    groups.sort();
    for group in groups.iter().filter(|path| path.is_dir()) {
        let mut all: Vec<PathBuf> =
            fs::read_dir(group).map_err(|e| e.to_string())?.flatten().map(|entry| entry.path()).collect();
        all.sort();
        for path in all {
            let sources = if path.is_dir() { files(&path)? } else { vec![read(&path)?] };
            let kind = group.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let last = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let name = format!("{kind}/{last}");
            let language = |(file, ..): &(String, Vec<u8>, bool)| {
                let end = file.rsplit_once('.')?.1;
                LANGUAGES.iter().find(|(_, ends)| ends.contains(&end))
            };
            let Some((language, _)) = sources.iter().find_map(language) else {
                left.push(format!("{name}: in no language"));
                continue;
            };
            let compiler = files(&root.join("sql/files/defaultdata").join(language))?;
            let entry = entries[format!("submissions/{name}/")]["entry_point"].as_str().map(str::to_owned);
            let expected = expected(&kind, &sources);
            programs.push(Program {
                name,
                expected,
                submission: Submission { problem: 0, compiler, sources, entry },
            });
        }
    }
    Ok((programs, left))
}

fn text(form: Option<&BTreeMap<String, String>>, key: &str) -> String {
    let bytes = form.and_then(|form| STANDARD.decode(form.get(key)?).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .take(3)
        .collect::<Vec<_>>()
        .join(" | ")
        .chars()
        .take(240)
        .collect()
}

fn main() -> ExitCode {
    match all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&why);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "what it is for")]
fn say(line: &str) {
    println!("{line}");
}

fn all() -> Result<bool, String> {
    let root =
        std::env::args_os().nth(1).map(PathBuf::from).ok_or("hello DIRECTORY: a checkout of DOMjudge")?;
    let (mut programs, left) = programs(&root)?;
    if let Some(part) = std::env::args().nth(2) {
        programs.retain(|program| program.name.contains(&part));
    }
    let hello = root.join("example_problems/hello/data/sample");
    let problem = Problem {
        tests: vec![(read(&hello.join("1.in"))?.1, read(&hello.join("1.ans"))?.1)],
        time_limit: 5.0,
        output_limit: 8192,
        memory_limit: 2_097_152,
        jury: files(&root.join("sql/files/defaultdata/compare"))?,
        interactive: false,
        passes: 1,
    };
    let submissions = programs.iter().map(|program| program.submission.clone()).collect();
    let server = DomServer::start(Dialect::V9, vec![problem], submissions, Faults::default())?;
    {
        let mut state = server.state();
        state.extensions =
            LANGUAGES.iter().flat_map(|(_, ends)| ends.iter().map(|end| (*end).to_owned())).collect();
        state.run = Some(
            files(&root.join("sql/files/defaultdata/run"))?.into_iter().filter(|f| f.0 == "run").collect(),
        );
    }
    let data = tempfile::tempdir().map_err(|e| e.to_string())?;
    fs::write(data.path().join("password"), PASSWORD).map_err(|e| e.to_string())?;
    let log = fs::File::create(data.path().join("log")).map_err(|e| e.to_string())?;
    let mut command = e2e::child::command(tauto::binary()?);
    command.env("TAUTO_DATA_DIR", data.path()).current_dir(data.path());
    command.args(["judgehost", "--url", &server.url(), "--user", USER, "--password-file", "password"]);
    command.args(["--name", "box", "--slots", "none", "--once"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let status = tauto::wait(&mut child, PATIENCE)?;
    let state = server.state();
    let (mut kept, mut others, mut free) = (0, 0, 0);
    for (program, judging) in programs.iter().zip(&state.judgings) {
        let failed = judging.failed.as_ref().map(|why| format!("internal error: {why}"));
        let result = judging.result.clone().or(failed).unwrap_or_else(|| "none".into());
        if program.expected.is_empty() {
            free += 1;
            say(&format!("untagged  {}: {result}", program.name));
        } else if program.expected.contains(&result.as_str()) {
            kept += 1;
        } else {
            others += 1;
            let compiled = text(judging.compiled.values().next(), "output_compile");
            let run = judging.runs.first().and_then(Option::as_ref);
            let (errors, system) = (text(run, "output_error"), text(run, "output_system"));
            say(&format!(
                "deviates  {}: {result}, not {:?}: compiler `{compiled}` errors `{errors}` system `{system}`",
                program.name, program.expected
            ));
        }
    }
    left.iter().for_each(|line| say(&format!("left out  {line}")));
    for (disabled, why) in &state.errors {
        say(&format!("disabled  {disabled}: {}", why.lines().take(3).collect::<Vec<_>>().join(" | ")));
    }
    state.violations.iter().for_each(|what| say(&format!("violation {what}")));
    say(&format!(
        "{} programs: {kept} as tagged, {others} not, {free} without a tag that asks for a result, {} left out; the judgehost ended with {status}",
        programs.len() + left.len(),
        left.len()
    ));
    Ok(others == 0)
}
