//! Output and input validators: those of Kattis' formats as they are, others within a directory that has `build` and `run`.

use super::super::{Calls, Package, PackageError, Program, Protocol, SecondPass, Validator};
use super::{Writer, compares, inexpressible};

const COMPARE: &str = include_str!("compare.py");
const RUN: &str = include_str!("run.sh");

pub(super) fn write(writer: &mut Writer) -> Result<(), PackageError> {
    let package = writer.package;
    if let Validator::Custom(programs) = &package.validator {
        match (package.features.calls.protocol, &programs[..]) {
            (Protocol::Kattis, [one]) => files(writer, one, "output_validator", &one.path),
            (_, [one]) => wrapped(writer, one)?,
            _ => {
                let message = inexpressible("several validators must accept");
                return Err(PackageError::new("output_validators", message));
            }
        }
    } else if compares(package) {
        writer.text("output_validator/compare.py", COMPARE);
    }
    checks(writer)
}

/// A program as it is, in a directory.
fn files(writer: &mut Writer, program: &Program, directory: &str, path: &str) {
    for file in &program.files {
        writer.copy(format!("{directory}/{}", file.name), &file.path);
    }
    if program.files.is_empty() {
        writer.warn(path, "has no file");
    }
}

/// Shell words that build a program as `$here/NAME` from the files in `DIRECTORY`.
fn building(program: &Program, name: &str, directory: &str) -> Result<String, PackageError> {
    let main = program.files.first().map(|file| file.name.as_str()).unwrap_or_default();
    let ending = main.rsplit_once('.').map_or("", |(_, ending)| ending);
    let options: String = program.options.iter().map(|option| format!(" {}", shell(option))).collect();
    // As with submissions, every source is compiled; headers lie beside them.
    let is_source = |name: &&str| match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "cpp" | "cc" | "cxx" | "c++" => true,
        other => other == ending,
    };
    let more = program.files.iter().skip(1).map(|file| file.name.as_str()).filter(is_source);
    let quoted = |name| shell(&format!("{directory}/{name}"));
    let source = [main].into_iter().chain(more).map(quoted).collect::<Vec<_>>().join(" ");
    let main = quoted(main);
    match (program.language.as_deref(), ending) {
        (Some(language), _) if language.starts_with("cpp") => {
            cpp(language, &source, name, directory, &options)
        }
        (Some("c"), _) | (None, "c") => {
            Ok(format!("gcc -x c -std=gnu17 -O2 -I {directory} -o {name} {source}{options} -lm\n"))
        }
        (Some("python3"), _) | (None, "py") => Ok(format!(
            "printf '#!/bin/sh\\nexec python3 \"$(dirname \"$0\")\"/%s \"$@\"\\n' {main} > {name}\nchmod +x {name}\n"
        )),
        (None, "cpp" | "cc" | "cxx") => cpp("cpp", &source, name, directory, &options),
        (language, _) => {
            let language = language.unwrap_or(ending);
            let message = format!(
                "is in `{language}`, which cannot be wrapped for 2025-09\n\
                 hint: translate it into C, C++ or Python, or judge the package in its own format"
            );
            Err(PackageError::new(program.path.as_str(), message))
        }
    }
}

fn cpp(
    language: &str,
    source: &str,
    name: &str,
    directory: &str,
    options: &str,
) -> Result<String, PackageError> {
    let standard = language.strip_prefix("cpp").filter(|year| !year.is_empty()).unwrap_or("20");
    Ok(format!("g++ -x c++ -std=gnu++{standard} -O2 -I {directory} -o {name} {source}{options}\n"))
}

/// A word that a shell takes as it is.
fn shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Arguments with the names of the wrapper's variables; `output` is what stands for the submission's output.
fn arguments(calls: &Calls, output: &str) -> String {
    let word = |word: &String| {
        let known = [(Calls::INPUT, "$input"), (Calls::ANSWER, "$answer"), (Calls::OUTPUT, output)];
        match known.iter().find(|(name, _)| name == word) {
            Some((_, variable)) => format!("\"{variable}\""),
            None => known
                .iter()
                .fold(format!("\"{word}\""), |word, (name, variable)| word.replace(name, variable)),
        }
    };
    calls.arguments.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// What the exit code and the words of a program mean.
fn decision(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Testlib { percent: false } => {
            "case $code in\n    0) accept ;;\n    1|2|4|8) reject ;;\n    7) score \"$(told points)\" ;;\n    *) fail ;;\nesac\n"
        }
        Protocol::Testlib { percent: true } => {
            "case $code in\n    0) accept ;;\n    1|2|4|8) reject ;;\n    7) multiply \"$(told points | awk '{ print $1 / 100 }')\" ;;\n    *) fail ;;\nesac\n"
        }
        Protocol::Coci => {
            "case $code in\n    0) accept ;;\n    1|2|4|8) reject ;;\n    7) multiply \"$(told partial | awk -F/ '{ print $1 / $2 }')\" ;;\n    *) fail ;;\nesac\n"
        }
        Protocol::ZeroOne => "case $code in\n    0) accept ;;\n    1) reject ;;\n    *) fail ;;\nesac\n",
        Protocol::Peg => {
            "part=$(awk '$0 + 0 == $0 && before != \"\" && before > 0 && $0 > 0 { print before / $0; exit } { before = $0 + 0 == $0 ? $0 : \"\" }' \"$printed\")\ncase $code in\n    0) [ -z \"$part\" ] || multiply \"$part\"; accept ;;\n    1) [ -z \"$part\" ] || multiply \"$part\"; reject ;;\n    *) fail ;;\nesac\n"
        }
        Protocol::Kattis | Protocol::Cms => {
            "case $code in\n    0) multiply \"$(head -n 1 \"$printed\")\" ;;\n    *) fail ;;\nesac\n"
        }
    }
}

/// A checker or interactor of another judge.
fn wrapped(writer: &mut Writer, program: &Program) -> Result<(), PackageError> {
    let features = &writer.package.features;
    let mut build = "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\n".to_string();
    let mut run = RUN.to_string();
    let directory = "output_validator";
    let first = if writer.package.interactive { "interactor" } else { "checker" };
    build.push_str(&building(program, first, &format!("{first}-source"))?);
    if writer.package.interactive {
        let arguments = arguments(&features.calls, "$output");
        // It talks by its own standard streams.
        run.push_str(&format!("\"$here/{first}\" {arguments} 2> \"$said\"\ncode=$?\n: > \"$printed\"\n"));
        if let Some(after) = &features.after {
            build.push_str(&building(&after.program, "checker", "checker-source")?);
            files(writer, &after.program, &format!("{directory}/checker-source"), &after.program.path);
            let decided = decision(features.calls.protocol).replace("0) accept ;;", "0) ;;");
            let arguments = self::arguments(&after.calls, "$output");
            run.push_str(&format!(
                "{decided}[ -e \"$output\" ] || : > \"$output\"\n\"$here/checker\" {arguments} > \"$printed\" 2> \"$said\" < /dev/null\ncode=$?\n{}",
                decision(after.calls.protocol)
            ));
        } else {
            run.push_str(decision(features.calls.protocol));
        }
    } else {
        let arguments = arguments(&features.calls, "$output");
        run.push_str(&format!(
            "cat > \"$output\"\n\"$here/{first}\" {arguments} > \"$printed\" 2> \"$said\" < /dev/null\ncode=$?\n"
        ));
        if features.second_pass == SecondPass::Printed {
            // What it prints in the first pass is the input of the second.
            run.push_str("if [ \"$code\" = 0 ] && [ ! -e \"$feedback/passed.txt\" ]; then\n    : > \"$feedback/passed.txt\"\n    cp \"$printed\" \"$feedback/nextpass.in\"\nfi\n");
        }
        run.push_str(decision(features.calls.protocol));
    }
    files(writer, program, &format!("{directory}/{first}-source"), &program.path);
    writer.script(format!("{directory}/build"), build);
    writer.script(format!("{directory}/run"), run);
    Ok(())
}

/// How an input validator is called in the converted package.
pub(super) fn check_name(package: &Package, n: usize) -> String {
    let path = package.features.checks.get(n).map_or("", |check| check.program.path.as_str());
    let last = path.rsplit('/').next().unwrap_or(path);
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    format!("v{n}-{}", stem.chars().map(clean).collect::<String>())
}

fn checks(writer: &mut Writer) -> Result<(), PackageError> {
    let package = writer.package;
    for (n, check) in package.features.checks.iter().enumerate() {
        if check.runs.iter().any(|run| run.input.is_some()) {
            writer.warn(&check.program.path, "looks at answers, which no program of 2025-09 does; left out");
            continue;
        }
        let directory = format!("input_validators/{}", check_name(package, n));
        if check.accepts != 0 {
            files(writer, &check.program, &directory, &check.program.path);
            continue;
        }
        let built = building(&check.program, "validator", "source")?;
        files(writer, &check.program, &format!("{directory}/source"), &check.program.path);
        writer.script(
            format!("{directory}/build"),
            format!("#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\n{built}"),
        );
        writer.script(
            format!("{directory}/run"),
            "#!/bin/sh\n# Only tests that it is told to check are for it.\n[ \"$1\" = check ] || exit 42\nshift\n\"$(dirname \"$0\")/validator\" \"$@\" && exit 42\nexit 43\n",
        );
    }
    Ok(())
}
