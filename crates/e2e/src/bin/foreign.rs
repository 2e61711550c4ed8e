//! Packages and tests of others, none of which is part of this repository:
//!
//! - `foreign testlib DIRECTORY`: the tests of testlib itself, as packages of Polygon. Checkers and interactors must give the verdict of
//!   their exit code with its message, validators must accept or reject, generators must print the same bytes.
//! - `foreign polygon PACKAGE…`: the tests of packages that have a `cmd` are made again, and compared byte for byte with those in the package.
//! - `foreign dmoj DIRECTORY`: the test suite of DMOJ's judge, where each test states what its submission gets.
//!
//! Each ends with the figures, after what differs, and with exit code 1 if anything of testlib or Polygon differs.

use e2e::tauto;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1800);

const USAGE: &str = "foreign testlib DIRECTORY | polygon PACKAGE… | dmoj DIRECTORY";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["testlib", directory] => testlib(Path::new(directory)),
        ["polygon", ref packages @ ..] if !packages.is_empty() => polygon(packages),
        ["dmoj", directory] => dmoj(Path::new(directory)),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&format!("foreign: {why}"));
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, reason = "what it is for")]
fn say(line: &str) {
    println!("{line}");
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut found: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What `tauto` says; its data are kept below the directory for temporary files, so that programs are compiled once.
fn ended(words: &[&str], data: &Path) -> Result<tauto::Ended, String> {
    let mut command = Command::new(tauto::binary()?);
    command.env("TAUTO_DATA_DIR", data).args(words);
    tauto::run(&mut command, false, PATIENCE)
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// One test of testlib, as a package of Polygon.
#[derive(Default)]
struct Case {
    name: String,
    /// A checker, validator, interactor or generator: its source.
    program: PathBuf,
    input: Vec<u8>,
    answer: Vec<u8>,
    /// What the submission prints.
    output: Vec<u8>,
    /// The arguments of a generator.
    arguments: String,
    /// The exit code that testlib's own test expects, and the bytes of both streams.
    code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// The part of a test's directory that all have.
fn case(directory: &Path, program: &str, reference: &Path) -> Result<Case, String> {
    let text = |name: &str| read(&reference.join(name));
    let code =
        String::from_utf8_lossy(&text("exit_code")?).trim().parse().map_err(|e| format!("exit_code: {e}"))?;
    Ok(Case {
        name: format!("{} {}", name(directory), name(reference)),
        program: directory.join(program),
        code,
        // Some were recorded on Windows with CR LF; programs print LF here.
        stdout: line_feeds(&text("stdout")?),
        stderr: text("stderr")?,
        ..Case::default()
    })
}

fn line_feeds(bytes: &[u8]) -> Vec<u8> {
    let kept = |n: usize| bytes[n] != b'\r' || bytes.get(n + 1) != Some(&b'\n');
    (0..bytes.len()).filter(|n| kept(*n)).map(|n| bytes[n]).collect()
}

/// A literal of Python.
fn literal(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b'{escaped}'")
}

/// A checker that accepts any output.
const ANY: &str = "#include \"testlib.h\"\nint main(int c, char **v) { registerTestlibCmd(c, v); while (!ouf.seekEof()) ouf.readWord(); quitf(_ok, \"any\"); }\n";

/// Writes it with its program in the role.
fn package(case: &Case, role: &str, header: &Path, to: &Path) -> Result<(), String> {
    let test = match role {
        "generator" => {
            format!("<test method=\"generated\" cmd=\"{} {}\"/>", stem(&case.program), case.arguments)
        }
        _ => "<test method=\"manual\"/>".to_string(),
    };
    let source = format!("files/{}", name(&case.program));
    let program = format!("<source path=\"{source}\" type=\"cpp.g++17\"/>");
    let (mut executables, mut assets) = (String::new(), String::new());
    match role {
        "generator" => executables = format!("<executables><executable>{program}</executable></executables>"),
        "validator" => assets = format!("<validators><validator>{program}</validator></validators>"),
        "interactor" => assets = format!("<interactor>{program}</interactor>"),
        _ => {}
    }
    let checker = if role == "checker" {
        program
    } else {
        "<source path=\"files/any.cpp\" type=\"cpp.g++17\"/>".into()
    };
    let problem = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<problem revision=\"1\" short-name=\"one\">\n\
         <names><name language=\"english\" value=\"One\"/></names>\n<judging input-file=\"\" output-file=\"\">\n\
         <testset name=\"tests\"><time-limit>5000</time-limit><memory-limit>268435456</memory-limit><test-count>1</test-count>\n\
         <input-path-pattern>tests/%02d</input-path-pattern><answer-path-pattern>tests/%02d.a</answer-path-pattern>\n\
         <tests>{test}</tests></testset></judging>\n<files>{executables}</files>\n\
         <assets><checker type=\"testlib\">{checker}</checker>{assets}\n\
         <solutions><solution tag=\"main\"><source path=\"solutions/print.py\" type=\"python.3\"/></solution></solutions></assets>\n</problem>\n"
    );
    let print = format!("import sys\nsys.stdout.buffer.write({})\n", literal(&case.output));
    let mut files = vec![
        ("problem.xml".to_string(), problem.into_bytes()),
        (source, read(&case.program)?),
        ("files/any.cpp".into(), ANY.into()),
        ("files/testlib.h".into(), read(header)?),
        ("solutions/print.py".into(), print.into_bytes()),
        ("tests/01.a".into(), case.answer.clone()),
    ];
    if role != "generator" {
        files.push(("tests/01".into(), case.input.clone()));
    }
    for (path, content) in files {
        let path = to.join(path);
        let parent = path.parent().ok_or("a file without a directory")?;
        let made = fs::create_dir_all(parent).and_then(|()| fs::write(&path, content));
        made.map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// All tests of testlib that are of a checker, an interactor, a validator or a generator, with their role.
fn cases(root: &Path) -> Result<Vec<(&'static str, Case)>, String> {
    let tests = root.join("tests");
    let of = |name: &str| tests.join(name);
    let mut all = Vec::new();
    let compare = of("test-002_run-fcmp-wcmp");
    let file = |name: &str| read(&compare.join("files").join(name));
    for (number, source, output, answer) in [
        (1, "wcmp", "output.01", "answer.01"),
        (2, "wcmp", "output.01", "output.01"),
        (1, "wcmp", "output.01.bom", "answer.01"),
        (2, "wcmp", "output.01.bom", "output.01"),
        (4, "fcmp", "output.01", "answer.01"),
        (5, "fcmp", "output.01", "output.01"),
    ] {
        let one = case(&compare, &format!("src/{source}.cpp"), &compare.join(format!("refs/r{number}")))?;
        all.push((
            "checker",
            Case { input: file("input.01")?, output: file(output)?, answer: file(answer)?, ..one },
        ));
    }
    let talk = of("test-006_interactors");
    let one = case(&talk, "src/interactor-a-plus-b.cpp", &talk.join("refs/r-interactor-a-plus-b-1-1"))?;
    let (input, output) =
        (read(&talk.join("files/unix/input.01"))?, read(&talk.join("files/unix/participant.01"))?);
    all.push(("interactor", Case { input, output, ..one }));
    let strings = of("test-001_run-sval-case-nval");
    for source in ["case-nval", "case-string-zb", "sval"] {
        for input in sorted(&strings.join("files/unix").join(source))? {
            let reference = strings.join(format!("refs/r-{source}-{}", name(&input)));
            let one = case(&strings, &format!("src/{source}.cpp"), &reference)?;
            all.push(("validator", Case { input: read(&input)?, ..one }));
        }
    }
    let validators = of("test-007_validators");
    for version in 1..=4 {
        for number in 1..=6 {
            let reference = validators.join(format!("refs/v{version}-0{number}"));
            let one = case(&validators, &format!("src/v{version}.cpp"), &reference)?;
            let input = read(&validators.join(format!("files/unix/input.0{number}")))?;
            all.push(("validator", Case { input, ..one }));
        }
    }
    let random = of("test-003_run-rnd");
    for (number, arguments) in [(1, "10 100"), (2, "100 1000")] {
        let one = case(&random, "src/gen.cpp", &random.join(format!("refs/r{number}")))?;
        all.push(("generator", Case { arguments: arguments.into(), ..one }));
    }
    let options = of("test-005_opts");
    let said = String::from_utf8_lossy(&read(&options.join("run.sh"))?).into_owned();
    for line in said.lines().filter(|line| line.contains("test-ref")) {
        let Some((before, arguments)) = line.split_once(" ./") else { continue };
        let reference = before.split_whitespace().nth(2).unwrap_or_default();
        let (program, arguments) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let one = case(&options, &format!("files/{program}.cpp"), &options.join("refs").join(reference))?;
        all.push(("generator", Case { arguments: arguments.into(), ..one }));
    }
    let form = of("test-008_format");
    for program in ["test-format", "test-format-format1", "test-format-format2"] {
        let one = case(&form, &format!("files/{program}.cpp"), &form.join(format!("refs/{program}/r1")))?;
        all.push(("generator", one));
    }
    Ok(all)
}

/// The one file of a converted package that is called so.
fn converted(to: &Path, ending: &str) -> Result<Vec<u8>, String> {
    let all = sorted(&to.join("data/secret"))?;
    let found = all.iter().find(|path| name(path).ends_with(ending));
    read(found.ok_or_else(|| format!("{}: no {ending}", to.display()))?)
}

/// What differs from testlib's own test, if anything.
fn differs(
    role: &str,
    case: &Case,
    package: &Path,
    to: &Path,
    data: &Path,
) -> Result<Option<String>, String> {
    let first = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_string();
    Ok(match role {
        "checker" | "interactor" => {
            let program = package.join("solutions/print.py");
            let said = ended(&["judge", shown(package), shown(&program), "--json", "--slot", "none"], data)?;
            let document = said.document().map_err(|_| said.stderr.clone())?;
            let wanted = if case.code == 0 { "AC" } else { "WA" };
            let message = document["tests"][0]["message"].as_str().unwrap_or_default().to_string();
            // What an interactor says of a right submission is not shown: the checker speaks last.
            let told = if role == "checker" { first(&case.stderr) } else { String::new() };
            match document["verdict"] == wanted && message.contains(told.trim()) {
                true => None,
                false => Some(format!("{}, `{message}`; expected {wanted}, `{told}`", document["verdict"])),
            }
        }
        "validator" => {
            let said = ended(&["verify", shown(package), "--json", "--slot", "none"], data)?;
            let fault = said.document().map_err(|_| said.stderr.clone())?["packages"][0]["fault"].clone();
            let told = first(&case.stderr);
            match (&fault, case.code) {
                (Value::Null, 0) => None,
                (Value::String(fault), 3)
                    if fault.contains("rejects tests/01") && fault.contains(told.trim()) =>
                {
                    None
                }
                _ => Some(format!("{fault}; expected exit code {}, `{told}`", case.code)),
            }
        }
        _ => {
            let said = ended(&["convert", shown(package), shown(to), "--slot", "none"], data)?;
            match (said.code()?, case.code) {
                (0, 0) => {
                    let made = converted(to, ".in")?;
                    (made != case.stdout).then(|| format!("{} bytes, not {}", made.len(), case.stdout.len()))
                }
                (0, code) => Some(format!("made; expected exit code {code}")),
                (_, 0) => Some(said.stderr),
                _ => None,
            }
        }
    })
}

fn testlib(root: &Path) -> Result<bool, String> {
    let header = root.join("testlib.h");
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let data = scratch.path().join("data");
    let mut counts: Vec<(&str, usize, usize)> = Vec::new();
    for (number, (role, case)) in cases(root)?.into_iter().enumerate() {
        let directory = scratch.path().join(format!("package-{number}"));
        package(&case, role, &header, &directory)?;
        let differs =
            differs(role, &case, &directory, &scratch.path().join(format!("made-{number}")), &data)?;
        if let Some(why) = &differs {
            say(&format!("{role} {}: {}", case.name, why.trim_end()));
        }
        if counts.last().is_none_or(|(known, ..)| *known != role) {
            counts.push((role, 0, 0));
        }
        if let Some((_, all, same)) = counts.last_mut() {
            *all += 1;
            *same += usize::from(differs.is_none());
        }
    }
    for (role, all, same) in &counts {
        say(&format!("testlib, {role}: {same} of {all} as its own tests expect"));
    }
    Ok(counts.iter().all(|(_, all, same)| all == same))
}

/// Copies what a package needs to make its tests: all but the inputs that are to be made.
fn copy(from: &Path, to: &Path, left_out: &[PathBuf]) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    for path in sorted(from)? {
        let target = to.join(name(&path));
        if path.is_dir() {
            copy(&path, &target, left_out)?;
        } else if !left_out.contains(&path) {
            fs::copy(&path, &target).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

fn polygon(packages: &[&str]) -> Result<bool, String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let data = scratch.path().join("data");
    let mut all_same = true;
    for (number, package) in packages.iter().enumerate() {
        let package = Path::new(package);
        let xml = String::from_utf8_lossy(&read(&package.join("problem.xml"))?).into_owned();
        let tests = xml.split("<test ").skip(1).map(|text| text.split('>').next().unwrap_or_default());
        let made = (1_usize..).zip(tests).filter(|(_, test)| test.contains("cmd=\""));
        let inputs: Vec<PathBuf> = made.map(|(n, _)| package.join(format!("tests/{n:02}"))).collect();
        let inputs: Vec<PathBuf> = inputs.into_iter().filter(|path| path.is_file()).collect();
        let (source, to) =
            (scratch.path().join(format!("source-{number}")), scratch.path().join(format!("to-{number}")));
        copy(package, &source, &inputs)?;
        let said = ended(&["convert", shown(&source), shown(&to), "--slot", "none"], &data)?;
        if said.code() != Ok(0) {
            say(&format!("{}: {}", package.display(), said.stderr.trim_end()));
            all_same = false;
            continue;
        }
        let mut same = 0;
        for input in &inputs {
            let before: Vec<u8> = String::from_utf8_lossy(&read(input)?).replace("\r\n", "\n").into_bytes();
            let after = converted(&to, &format!("{}.in", name(input)))?;
            if before == after {
                same += 1;
            } else {
                say(&format!("{}: differs", input.display()));
            }
        }
        say(&format!("{}: {same} of {} tests are the same, byte for byte", package.display(), inputs.len()));
        all_same &= same == inputs.len();
    }
    Ok(all_same)
}

/// Whether a test of DMOJ states an internal error.
fn refusal_is_stated(test: &Path) -> bool {
    fs::read_to_string(test.join("test.yml")).is_ok_and(|text| text.contains("expect: IE"))
}

fn dmoj(root: &Path) -> Result<bool, String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (mut all, mut met) = (0, 0);
    for package in sorted(root)?.iter().filter(|path| path.join("init.yml").is_file()) {
        let stated = sorted(&package.join("tests")).unwrap_or_default();
        let stated: Vec<&PathBuf> = stated
            .iter()
            .filter(|test| {
                ["test.yml", "test.posix.yml", "test.linux.yml"].iter().any(|name| test.join(name).is_file())
            })
            .collect();
        all += stated.len();
        // Limits on the command line would take precedence over those of the submissions.
        let words = ["verify", shown(package), "--json", "--slot", "none"];
        let said = ended(&words, scratch.path())?;
        let document = said.document().unwrap_or_default();
        let one = &document["packages"][0];
        let submissions = one["submissions"].as_array().cloned().unwrap_or_default();
        let of = |test: &Path| {
            let start = format!("tests/{}/", name(test));
            submissions
                .iter()
                .find(|submission| submission["path"].as_str().is_some_and(|path| path.starts_with(&start)))
        };
        for test in stated {
            match (of(test), one["fault"].as_str()) {
                (Some(submission), _) if submission["ok"] == true => met += 1,
                (Some(submission), _) => {
                    let why = submission["skipped"]
                        .as_str()
                        .map_or_else(|| submission["verdict"].to_string(), str::to_string);
                    say(&format!("{} {}: {why}", name(package), name(test)));
                }
                // DMOJ refuses a problem when it is judged, by an internal error; here its package is refused.
                (None, _) if refusal_is_stated(test) => met += 1,
                (None, fault) => {
                    let why =
                        fault.unwrap_or(said.stderr.trim_end()).lines().next().unwrap_or("not judged here");
                    say(&format!("{} {}: {why}", name(package), name(test)));
                }
            }
        }
    }
    say(&format!("DMOJ: {met} of {all} as their tests state"));
    Ok(true)
}
