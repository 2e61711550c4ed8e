//! DMOJ's problems: `init.yml` (docs.dmoj.ca, "Problem format"; judge-server, dmoj/problem.py).
//!
//! Its keys can stand at any level and hold for what lies inside. Keys that end with `+` are Python that DMOJ's judge runs while it
//! reads the file: they are refused by name. Checkers and interactive graders in Python run in the sandbox: see [`python`].

mod cases;
mod expectations;
mod python;

use super::super::field::{self, Range, Section};
use super::super::{
    Calls, FileIo, FileTree, Include, MadeFile, Maker, Package, PackageError, Program, Protocol, SourceFile,
    Validator, Warning,
};
use super::{Importer, blank, source_file};
use crate::yaml::{Node, Value};
use model::{Bytes, Nanos};

const FILE: &str = "init.yml";

pub(super) const IMPORTER: Importer = Importer { name: "dmoj", mark: FILE, wants, archives, read };

/// Keys of any level.
#[rustfmt::skip]
const KNOWN: [&str; 33] = [
    "archive", "test_cases", "pretest_test_cases", "points", "in", "out", "batched", "dependencies", "checker", "generator",
    "generator_args", "generator_in", "interactive", "signature_grader", "file_io", "unbuffered", "hints", "meta", "symlinks",
    "wall_time_factor", "output_prefix_length", "output_limit_length", "binary_data", "short_circuit", "input_format",
    "output_format", "case_points", "custom_judge", "run_on_error", "validator", "author", "time_limit", "memory_limit",
];

fn wants(path: &str) -> bool {
    expectations::wanted(path) || python::wanted(path)
}

fn archives(tree: &FileTree) -> Vec<String> {
    let Ok(Some(root)) = field::document(tree, FILE, &mut Vec::new()) else { return Vec::new() };
    let Ok(section) = Section::root(FILE, &root) else { return Vec::new() };
    let archive = section.text("archive").ok().flatten().and_then(clean);
    archive.filter(|path| tree.files.contains_key(path)).into_iter().collect()
}

/// The path with `.` left out; `None` where it leaves the package.
fn clean(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!path.starts_with('/') && !parts.contains(&"..") && !parts.is_empty()).then(|| parts.join("/"))
}

/// The files of a problem: those beside `init.yml`, then those of its archive.
struct Files<'a> {
    tree: &'a FileTree,
    archive: Option<String>,
}

impl Files<'_> {
    /// The path in the package of a file named at `key`.
    fn find(&self, section: &Section, key: &str, name: &str) -> Result<String, PackageError> {
        let path = clean(name).ok_or_else(|| section.error(key, format!("`{name}` leaves the package")))?;
        if self.tree.files.contains_key(&path) {
            return Ok(path);
        }
        let inside = self.archive.as_ref().map(|archive| format!("{archive}/{path}"));
        inside.filter(|path| self.tree.files.contains_key(path)).ok_or_else(|| {
            let beyond = self.archive.as_ref().map(|a| format!(" and not in {a}")).unwrap_or_default();
            section.error(key, format!("`{name}` is not in the package{beyond}"))
        })
    }

    /// The program whose files are named at `key`, one or several.
    fn program(&self, section: &Section, key: &str) -> Result<Program, PackageError> {
        let names = names(section, key)?;
        if names.is_empty() {
            return Err(section.error(key, "is missing: the program's files"));
        }
        let paths = names.iter().map(|name| self.find(section, key, name)).collect::<Result<Vec<_>, _>>()?;
        let language = section.text("lang")?.or(section.text("language")?).and_then(language);
        let options = section.words("flags")?.unwrap_or_default();
        let path = paths[0].clone();
        let files = paths.iter().map(|path| source_file(self.tree, path)).collect();
        Ok(Program { path, files, language: language.map(str::to_string), options })
    }
}

/// One name or several, which may hold blanks.
fn names(section: &Section, key: &str) -> Result<Vec<String>, PackageError> {
    match section.get(key).map(|node| &node.value) {
        Some(Value::Scalar(name)) => Ok(vec![name.clone()]),
        _ => Ok(section.words(key)?.unwrap_or_default()),
    }
}

fn read(tree: &FileTree, warnings: &mut Vec<Warning>) -> Result<Package, PackageError> {
    let root = field::document(tree, FILE, warnings)?;
    let root = root.ok_or_else(|| PackageError::new(FILE, "is missing"))?;
    refuse_dynamic(&root, "")?;
    let section = Section::root(FILE, &root)?;
    if section.entries().is_empty() {
        return Err(PackageError::new(
            FILE,
            "is empty\nhint: it must have at least `test_cases` or `archive`",
        ));
    }
    section.unknown(&KNOWN, &[], warnings);
    let archive = archives(tree).pop();
    if let (Some(named), None) = (section.text("archive")?, &archive) {
        return Err(section.error("archive", format!("`{named}` is not in the package")));
    }
    let files = Files { tree, archive };
    let mut package = blank(tree, IMPORTER.name);
    let output = section.number("output_limit_length", Range::above_zero(1e12))?;
    package.limits.output = Some(Bytes(output.unwrap_or(25_165_824.0) as u64));
    signature(&section, &files, &mut package)?;
    unbuffered(&section, &mut package, warnings)?;
    let io = section.section("file_io")?;
    package.features.file_io =
        FileIo { input: file_name(&io, "input")?, output: file_name(&io, "output")?, both: false };
    links(&section, &mut package, warnings)?;
    if section.has("custom_judge") {
        python::grader(&section, &files, &mut package)?;
    } else {
        interactor(&section, &files, &mut package, warnings)?;
    }
    let names = cases::read(&section, &files, &mut package)?;
    expectations::read(tree, &names, &mut package, warnings)?;
    Ok(package)
}

/// Refuses keys whose values are Python (judge-server, dmoj/config.py).
fn refuse_dynamic(node: &Node, place: &str) -> Result<(), PackageError> {
    match &node.value {
        Value::Map(entries) => entries.iter().try_for_each(|(key, inner)| {
            let place = format!("{place}{key}");
            if key.ends_with('+') {
                let place = field::place(FILE, Some(inner.line), &place);
                let message = "is Python that DMOJ runs to find the value\n\
                               hint: write the value itself under the key without `+`";
                return Err(PackageError::new(place, message));
            }
            refuse_dynamic(inner, &format!("{place}."))
        }),
        Value::List(items) => {
            let mut each = items.iter().enumerate();
            each.try_for_each(|(n, inner)| refuse_dynamic(inner, &format!("{place}{n}.")))
        }
        _ => Ok(()),
    }
}

fn file_name(section: &Section, key: &str) -> Result<Option<String>, PackageError> {
    let Some(name) = section.text(key)? else { return Ok(None) };
    match is_file_name(name) {
        false => {
            Err(section.error(key, format!("`{name}` is not a name of a file in the working directory")))
        }
        true => Ok(Some(name.to_string())),
    }
}

fn is_file_name(name: &str) -> bool {
    !name.contains(['/', '\0']) && !["", ".", ".."].contains(&name) && name.len() <= 255
}

/// Links in the working directory. One to standard input is a file with the input; no other is made.
fn links(section: &Section, package: &mut Package, warnings: &mut Vec<Warning>) -> Result<(), PackageError> {
    if !section.has("symlinks") {
        return Ok(());
    }
    let links = section.section("symlinks")?;
    let io = &mut package.features.file_io;
    for (name, _) in links.entries() {
        if io.input.is_none() && links.text(name)? == Some("/dev/stdin") && is_file_name(name) {
            (io.input, io.both) = (Some(name.to_string()), true);
        } else {
            warnings.push(links.warning(name, "is not made; here only one link to /dev/stdin is"));
        }
    }
    Ok(())
}

/// Makes the standard output of C and C++ unbuffered, as DMOJ does by a library that it loads into the program.
const UNBUFFERED: &str = include_str!("unbuffered.c");

/// A file of a program with [`UNBUFFERED`] in it.
fn unbuffered_file(package: &mut Package, ending: &str) -> SourceFile {
    our_file(package, "(unbuffered stdout)", UNBUFFERED, format!("unbuffered_stdout.{ending}"))
}

/// A file of a program with a text of ours in it, which lies at `path` among the package's files.
fn our_file(package: &mut Package, path: &str, text: &'static str, name: String) -> SourceFile {
    let files = &mut package.features.made.files;
    if !files.iter().any(|file| file.path == path) {
        files.push(MadeFile { path: path.to_string(), by: Maker::Text(text) });
    }
    SourceFile { path: path.to_string(), name, executable: false }
}

fn unbuffered(
    section: &Section,
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    if !section.flag("unbuffered")?.unwrap_or(false) {
        return Ok(());
    }
    package.features.unbuffered = true;
    for code in ["c", "cpp"] {
        let files = vec![unbuffered_file(package, code)];
        let language = Some(code.to_string());
        package.include.push(Include { language, files, ..Include::default() });
    }
    let message = "holds for C, C++ and Python here; programs in other languages must flush";
    warnings.push(section.warning("unbuffered", message));
    Ok(())
}

/// Submissions are functions: the package has `main`, and a header with what they are to define.
fn signature(section: &Section, files: &Files, package: &mut Package) -> Result<(), PackageError> {
    if !section.has("signature_grader") {
        return Ok(());
    }
    let grader = section.section("signature_grader")?;
    let file = |key: &str| {
        let name = grader.text(key)?.ok_or_else(|| grader.error(key, "is missing"))?;
        files.find(&grader, key, name)
    };
    let (entry, header) =
        (source_file(files.tree, &file("entry")?), source_file(files.tree, &file("header")?));
    let mut before_sources = format!("#define SIGNATURE_GRADER 1\n#include \"{}\"\n", header.name);
    if !grader.flag("allow_main")?.unwrap_or(false) {
        before_sources.push_str("#define main main_of_submission\n");
    }
    // The compiler takes the entry by its name's ending; the other language's would not link.
    let includes = ["c", "cpp"].map(|code| {
        let stem = entry.name.rsplit_once('.').map_or(entry.name.as_str(), |(stem, _)| stem);
        let entry = super::super::SourceFile { name: format!("{stem}.{code}"), ..entry.clone() };
        let files = vec![entry, header.clone()];
        let before_sources = before_sources.clone();
        Include { language: Some(code.to_string()), files, before_sources, own_name: None }
    });
    package.languages = Some(["c", "cpp"].map(str::to_string).into());
    package.include.extend(includes);
    Ok(())
}

fn interactor(
    section: &Section,
    files: &Files,
    package: &mut Package,
    warnings: &mut Vec<Warning>,
) -> Result<(), PackageError> {
    if !section.has("interactive") {
        return Ok(());
    }
    let spec = section.section("interactive")?;
    #[rustfmt::skip]
    let known = [
        "files", "lang", "flags", "type", "args_format_string", "memory_limit", "preprocessing_time", "feedback",
        "compiler_time_limit", "unbuffered", "cached",
    ];
    spec.unknown(&known, &[], warnings);
    package.features.calls = calls(&spec, [Calls::INPUT, Calls::ANSWER])?;
    package.interactive = true;
    limits(&spec, package)?;
    let mut program = files.program(&spec, "files")?;
    let ending = program.path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let code = match (program.language.as_deref(), ending) {
        (Some("c"), _) | (None, "c") => Some("c"),
        (Some("cpp"), _) | (None, "cc" | "cpp" | "cxx") => Some("cpp"),
        _ => None,
    };
    // DMOJ's interactors need not flush, unless the package says so.
    if spec.flag("unbuffered")?.unwrap_or(true) {
        program.files.extend(code.map(|code| unbuffered_file(package, code)));
    }
    package.validator = Validator::Custom(vec![program]);
    Ok(())
}

/// How a bridged program is called (judge-server, dmoj/contrib). `plain` are the arguments where it is no testlib program.
fn calls<const N: usize>(spec: &Section, plain: [&str; N]) -> Result<Calls, PackageError> {
    let three = Calls::TESTLIB_CHECKER;
    let interactor = N == 2;
    let calls = match spec.text("type")?.unwrap_or("default") {
        "default" => Calls::new(Protocol::ZeroOne, &plain),
        "testlib" => Calls::new(Protocol::Testlib { percent: false }, &three),
        "coci" => Calls::new(Protocol::Coci, &plain),
        "peg" if !interactor => Calls::new(Protocol::Peg, &[three[2], three[1], three[0]]),
        other => {
            let known = if interactor { "default, testlib, coci" } else { "default, testlib, coci, peg" };
            return Err(spec.error("type", format!("`{other}` is not one of {known}")));
        }
    };
    let Some(format) = spec.text("args_format_string")? else { return Ok(calls) };
    let arguments = words(format)
        .ok_or_else(|| spec.error("args_format_string", "has a quotation mark that is not closed"))?;
    Ok(Calls { arguments, ..calls })
}

/// The words of a shell's command line, quoted ones in one.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Limits of bridged programs: seconds and KiB.
fn limits(spec: &Section, package: &mut Package) -> Result<(), PackageError> {
    if let Some(seconds) = spec.number("time_limit", Range::above_zero(86_400.0))? {
        package.limits.validation_time = Nanos::from_secs_f64(seconds);
    }
    if let Some(kib) = spec.number("memory_limit", Range::above_zero(1e12))? {
        package.limits.validation_memory = Some(Bytes::from_kib(kib as u64));
    }
    Ok(())
}

/// The package language code of one of DMOJ's languages; `None`: the file's name tells.
fn language(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    Some(match upper.as_str() {
        "PY2" | "PYPY2" => "python2",
        "PY3" | "PYPY3" | "PYPY" => "python3",
        "C" | "C11" | "CLANG" | "CLANGC" => "c",
        "PAS" | "FPC" => "pascal",
        "RUST" => "rust",
        "GO" => "go",
        "HASK" => "haskell",
        "OCAML" => "ocaml",
        "RUBY" | "RUBY2" => "ruby",
        "PERL" => "perl",
        "PHP" | "PHP7" => "php",
        "LUA" => "lua",
        "KOTLIN" => "kotlin",
        "V8JS" | "NODEJS" => "javascript",
        "MONOCS" | "DOTNETCS" => "csharp",
        "PRO" => "prolog",
        "NASM64" => "nasm",
        "BF" => "brainfuck",
        _ if upper.starts_with("CPP") || upper.starts_with("CLANGX") => "cpp",
        _ if upper.starts_with("JAVA") => "java",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::tree;
    use super::super::super::{Grading, Maker, Package, read};
    use super::*;
    use crate::compare::{BuiltIn, FloatError};
    use model::Verdict;

    fn package(yaml: &str, files: &[(&str, &str)]) -> Package {
        let all: Vec<_> = [(FILE, yaml)].into_iter().chain(files.iter().copied()).collect();
        let (package, warnings) = read(&tree(&all)).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
        assert_eq!(warnings, [], "{yaml}");
        package
    }

    fn names(package: &Package) -> Vec<String> {
        package.data.all_cases().iter().map(|case| case.name.clone()).collect()
    }

    const FILES: [(&str, &str); 4] = [("1.in", ""), ("1.out", ""), ("2.in", ""), ("2.out", "")];

    #[test]
    fn cases_and_batches_with_dependencies() {
        let yaml = "points: 5\ntest_cases:\n- {in: 1.in, out: 1.out}\n- batched:\n  - {in: 1.in}\n  - {in: 2.in, out: 2.out}\n  \
                    points: 10\n- batched: [{in: 1.in}]\n  dependencies: [1]\n";
        let package = package(yaml, &FILES);
        assert_eq!(names(&package), ["secret/1", "secret/2/1", "secret/2/2", "secret/3/1"]);
        assert!(package.scoring);
        let secret = &package.data.groups[0];
        assert_eq!(secret.settings.max_score, Some(20.0));
        assert_eq!(secret.cases[0].points, Some(5.0));
        assert_eq!(
            (&secret.groups[0].settings.grading, secret.groups[0].settings.max_score),
            (&Grading::Min, Some(10.0))
        );
        assert_eq!(secret.groups[1].settings.require_pass, ["secret/2"]);
        assert_eq!(secret.groups[0].cases[0].answer, "(empty)");
        assert!(
            package.features.made.files.iter().any(|made| made.path == "(empty)" && made.by == Maker::Empty)
        );
    }

    #[test]
    fn what_gives_no_points_must_pass_before_the_rest_counts() {
        let yaml = "test_cases:\n- {in: 1.in, points: 0}\n- {in: 2.in, points: 3}\n";
        let gated = package(yaml, &FILES);
        let secret = &gated.data.groups[0];
        assert_eq!(secret.groups[1].settings.require_pass, ["secret/1"]);
        assert_eq!(names(&gated), ["secret/1/1", "secret/2/1"]);
        let pretests = package("pretest_test_cases: [{in: 1.in}]\ntest_cases: [{in: 2.in}]\n", &FILES);
        assert_eq!(pretests.data.groups[0].groups[0].settings.max_score, Some(0.0));
        assert!(!package("points: 0\ntest_cases: [{in: 1.in}]\n", &FILES).scoring);
    }

    #[test]
    fn cases_are_found_by_their_names_in_the_archive() {
        let files = [
            ("a.zip", ""),
            ("a.zip/p.2.in", ""),
            ("a.zip/p.2.out", ""),
            ("a.zip/p.10.in", ""),
            ("a.zip/p.10.out", ""),
            ("a.zip/p.b3-1.in", ""),
            ("a.zip/p.b3-1.out", ""),
            ("a.zip/note.txt", ""),
        ];
        let found = package("archive: a.zip\n", &files);
        let inputs: Vec<_> = found.data.all_cases().iter().map(|case| case.input.clone()).collect();
        assert_eq!(inputs.len(), 3, "{inputs:?}");
        let yaml = "archive: a.zip\ntest_cases:\n  input_format: 'p\\.(?P<case>\\d+)\\.in'\n  \
                    output_format: 'p\\.(?P<case>\\d+)\\.out'\n  case_points: [1, 2]\n";
        let found = package(yaml, &files);
        let cases: Vec<_> =
            found.data.all_cases().iter().map(|c| (c.input.clone(), c.answer.clone(), c.points)).collect();
        let case =
            |n: u32, points: f64| (format!("a.zip/p.{n}.in"), format!("a.zip/p.{n}.out"), Some(points));
        assert_eq!(cases, [case(2, 1.0), case(10, 2.0)]);
    }

    #[test]
    fn checkers_by_name() {
        let comparison = |checker: &str| {
            let yaml = format!("checker: {checker}\ntest_cases: [{{in: 1.in, out: 1.out}}]\n");
            package(&yaml, &FILES).data.all_cases()[0].comparison.clone()
        };
        for (checker, expected) in [
            ("standard", BuiltIn::Lines),
            ("easy", BuiltIn::Characters),
            ("floats", BuiltIn::Floats { tolerance: 1e-6, error: FloatError::Either }),
            (
                "{name: floats, args: {precision: 2, error_mode: relative}}",
                BuiltIn::Floats { tolerance: 0.01, error: FloatError::Relative },
            ),
            ("floatsabs", BuiltIn::Floats { tolerance: 1e-6, error: FloatError::Absolute }),
            ("identical", BuiltIn::Identical),
            ("linecount", BuiltIn::LineCount),
            (
                "{name: linematches, args: {point_distribution: [1, 2]}}",
                BuiltIn::LineMatches { weights: vec![1.0, 2.0], same_count: true },
            ),
            ("rstripped", BuiltIn::EndsStripped { without_empty: false }),
            ("sorted", BuiltIn::SortedLines),
            ("{name: sorted, args: {split_on: whitespace}}", BuiltIn::SortedTokens),
            ("unordered", BuiltIn::SortedTokens),
        ] {
            assert_eq!(comparison(checker), expected, "{checker}");
        }
    }

    #[test]
    fn bridged_programs_generators_and_signatures() {
        let files = [("1.in", ""), ("c.cpp", ""), ("t.h", ""), ("g.cpp", "")];
        let yaml = "checker: {name: bridged, args: {files: [c.cpp, t.h], lang: CPP17, type: testlib, flags: [-DX]}}\n\
                    generator: g.cpp\ntest_cases:\n- {generator_args: [1, 2]}\n- {in: 1.in}\n";
        let bridged = package(yaml, &files);
        assert_eq!(bridged.features.calls.protocol, Protocol::Testlib { percent: false });
        let Validator::Custom(programs) = &bridged.validator else { panic!("no checker") };
        assert_eq!(
            (programs[0].files.len(), programs[0].language.as_deref(), &programs[0].options[..]),
            (2, Some("cpp"), &["-DX".to_string()][..])
        );
        assert_eq!(bridged.features.made.programs.len(), 1);
        assert_eq!(bridged.data.all_cases()[0].input, "(g.cpp 1 2: input)");
        let interactive =
            package("interactive: {files: c.cpp, type: coci}\ntest_cases: [{in: 1.in}]\n", &files);
        let Validator::Custom(programs) = &interactive.validator else { panic!("no interactor") };
        assert_eq!(programs[0].files[1].name, "unbuffered_stdout.cpp");
        let made = &interactive.features.made.files;
        assert!(made.iter().any(|made| made.path == programs[0].files[1].path), "{made:?}");
        for buffered in
            ["interactive: {files: c.cpp, unbuffered: false}", "interactive: {files: c.py, lang: PY3}"]
        {
            let yaml = format!("{buffered}\ntest_cases: [{{in: 1.in}}]\n");
            let buffered = package(&yaml, &[&files[..], &[("c.py", "")]].concat());
            let Validator::Custom(programs) = &buffered.validator else { panic!("no interactor") };
            assert_eq!(programs[0].files.len(), 1);
        }
        assert!(
            interactive.interactive
                && interactive.features.calls.arguments == ["{input_file}", "{answer_file}"]
        );
        let yaml = "signature_grader: {entry: g.cpp, header: t.h}\ntest_cases: [{in: 1.in}]\n";
        let signature = package(yaml, &files);
        assert_eq!(signature.include.len(), 2);
        assert!(signature.include[0].before_sources.contains("#include \"t.h\"\n#define main "));
    }

    #[test]
    fn python_of_dmoj_runs_in_the_sandbox() {
        let files = [
            ("1.in", ""),
            ("c.py", "def check(process_output, judge_output, **kwargs):\n    return True\n"),
            (
                "g.py",
                "class Grader(InteractiveGrader):\n    def interact(self, case, interactor):\n        return True\n",
            ),
        ];
        let told = |package: &Package| -> Vec<serde_json::Value> {
            let cases = package.data.all_cases();
            cases.iter().map(|case| serde_json::from_str(&case.validator_flags[0]).unwrap()).collect()
        };
        let yaml = "checker: {name: c.py, args: {most: 3, words: [a, 1.5]}}\n\
                    test_cases:\n- {in: 1.in, points: 5}\n- {batched: [{in: 1.in}, {in: 1.in, binary_data: true}], points: 2}\n";
        let checked = package(yaml, &files);
        let fact = |points: f64, position: u32, batch: u32, binary: bool| {
            let args = serde_json::json!({ "most": 3, "words": ["a", 1.5] });
            serde_json::json!({ "file": "c.py", "interactive": false, "points": points, "position": position, "batch": batch, "binary": binary, "args": args })
        };
        assert_eq!(told(&checked), [fact(5.0, 1, 0, false), fact(2.0, 2, 1, false), fact(2.0, 3, 1, true)]);
        let Validator::Custom(programs) = &checked.validator else { panic!("no checker") };
        let names = programs[0].files.iter().map(|file| file.name.as_str());
        assert!(names.eq(["__main__.py", "tauto_compare.py", "c.py"]));
        assert_eq!(checked.features.calls.protocol, Protocol::Kattis);
        let talked = package("custom_judge: g.py\ntest_cases: [{in: 1.in, points: 3}]\n", &files);
        assert!(talked.interactive);
        let facts = &told(&talked)[0];
        assert_eq!(
            (&facts["file"], &facts["interactive"], &facts["points"]),
            (&"g.py".into(), &true.into(), &3.0.into())
        );
    }

    #[test]
    fn unbuffered_programs_and_links() {
        let yaml = "unbuffered: true\nsymlinks: {a: /dev/stdin, b: /dev/stdout, c/d: /dev/stdin}\ntest_cases: [{in: 1.in}]\n";
        let (package, warnings) = read(&tree(&[(FILE, yaml), ("1.in", "")])).unwrap();
        let names = package.include.iter().map(|include| include.files[0].name.as_str());
        assert!(names.eq(["unbuffered_stdout.c", "unbuffered_stdout.cpp"]));
        let io = FileIo { input: Some("a".into()), both: true, output: None };
        assert_eq!(package.features.file_io, io);
        let places: Vec<_> = warnings.iter().map(|warning| warning.place.as_str()).collect();
        assert_eq!(places, ["init.yml:1: unbuffered", "init.yml:2: symlinks.b", "init.yml:2: symlinks.c/d"]);
    }

    #[test]
    fn a_partly_right_output_is_wrong_where_dmoj_says_so() {
        let files = [
            ("1.in", ""),
            ("tests/a/test.yml", "language: PY3\nsource: a.py\ncases: [WA, AC, WA]\n"),
            ("tests/a/a.py", ""),
        ];
        let yaml = "test_cases:\n- {in: 1.in, checker: linecount, points: 5}\n- {in: 1.in, checker: linecount, points: 5}\n- {in: 1.in}\n";
        let package = package(yaml, &files);
        let within = &package.submissions[0].expectation.within;
        let full: Vec<_> = within.iter().map(|(_, inner)| inner.full).collect();
        assert_eq!(full, [Some(5.0), None, None]);
    }

    #[test]
    fn promises_of_the_test_suite() {
        let files = [
            ("1.in", ""),
            ("tests/a/test.yml", "language: PY2\ntime: 2\nmemory: 65536\nsource: a.py\nexpect: WA\n"),
            ("tests/a/a.py", ""),
            ("tests/b/test.yml", "language: CPP11\ntime: 3\nmemory: 1024\nsource: b.cpp\ncases: [AC]\n"),
            ("tests/b/b.cpp", ""),
        ];
        let package = package("test_cases: [{in: 1.in}]\n", &files);
        assert_eq!(package.limits.memory, Some(Bytes::from_mib(64)));
        let [one, two] = &package.submissions[..] else { panic!("{:?}", package.submissions) };
        let memory = [one, two].map(|jury| jury.limits.memory.unwrap());
        assert_eq!(memory, [Bytes::from_mib(64), Bytes::from_mib(1)]);
        assert_eq!((one.language.as_deref(), one.expectation.required.len()), (Some("python2"), 1));
        assert_eq!(two.expectation.within[0].0, "secret/1");
    }

    #[test]
    fn tests_of_this_system_are_read_and_win() {
        let files = [
            ("1.in", ""),
            ("tests/a/test.yml", "language: C\ntime: 2\nmemory: 65536\nsource: a.c\nexpect: WA\n"),
            ("tests/a/test.linux.yml", "expect: AC\ntime: 1\n"),
            ("tests/a/a.c", ""),
            ("tests/b/test.posix.yml", "language: C\ntime: 1\nmemory: 1024\nsource: b.c\n"),
            ("tests/b/b.c", ""),
            ("tests/c/test.freebsd.yml", "language: C\ntime: 9\nmemory: 1024\nsource: c.c\n"),
            ("tests/d/test.linux.yml", "language: C\ntime: 9\nsource: d.c\narch: [m68k]\n"),
            ("tests/d/d.c", ""),
            ("tests/e/test.yml", "language: C\nsource: e.c\nexpect: IE\n"),
            ("tests/e/e.c", ""),
        ];
        let package = package("test_cases: [{in: 1.in}]\n", &files);
        let read: Vec<_> = package.submissions.iter().map(|jury| &jury.program.path[..]).collect();
        assert_eq!(read, ["tests/a/a.c", "tests/b/b.c", "tests/e/e.c"]);
        assert_eq!(package.submissions[0].expectation.verdicts, [Verdict::Accepted]);
        assert_eq!(package.submissions[2].expectation.verdicts, [Verdict::JudgeError]);
        assert_eq!(package.submissions[0].limits.time, Nanos::from_secs_f64(1.0));
    }

    #[test]
    fn malformed_packages_name_file_and_element() {
        let with = |rest: &str| format!("test_cases: [{{in: 1.in}}]\n{rest}");
        let table = [
            (String::new(), "init.yml: is empty"),
            ("a: [".into(), "init.yml:1: not readable as yaml"),
            ("- a\n".into(), "init.yml:1: must be a map"),
            (with("custom_judge: j.py\n"), "init.yml:2: custom_judge: `j.py` is not in the package"),
            (with("custom_judge: 1.in\n"), "init.yml:2: custom_judge: `1.in` has no method `interact`"),
            (with("custom_judge: g.py\n"), "init.yml:2: custom_judge: `g.py` overrides `check_result`"),
            (with("checker: c.py\n"), "init.yml:2: checker: `c.py` is not in the package"),
            (with("checker: 1.in\n"), "init.yml:2: checker: `1.in` is not Python"),
            (
                "test_cases: [{in: 1.in, checker: g.py}, {in: 1.in}]\n".into(),
                "init.yml:1: checker: some cases have a checker of their own",
            ),
            (with("checker++: x\n"), "init.yml:2: checker++: is Python"),
            ("test_cases:\n- {in+: 'x'}\n".into(), "init.yml:2: test_cases.0.in+: is Python"),
            (with("checker: nonesuch\n"), "init.yml:2: checker: `nonesuch` is not one of"),
            (with("archive: none.zip\n"), "init.yml:2: archive: `none.zip` is not in the package"),
            (
                "test_cases: [{in: 9.in}]\n".into(),
                "init.yml:1: test_cases.0.in: `9.in` is not in the package",
            ),
            ("test_cases: [{in: ../1.in}]\n".into(), "init.yml:1: test_cases.0.in: `../1.in` leaves"),
            ("test_cases: []\n".into(), "init.yml:1: test_cases: has no test case"),
            ("hints: []\n".into(), "init.yml:1: test_cases: must be a list of cases"),
            ("test_cases: [{batched: []}]\n".into(), "init.yml:1: test_cases.0.batched: has no test case"),
            (
                "test_cases: [{batched: [{batched: [{}]}]}]\n".into(),
                "init.yml:1: test_cases.0.batched.0.batched: a batch cannot",
            ),
            (
                "test_cases: [{batched: [{}], dependencies: [1]}]\n".into(),
                "init.yml:1: test_cases.0.dependencies: `1` is not the number of an earlier batch",
            ),
            ("test_cases: [{points: -1}]\n".into(), "init.yml:1: test_cases.0.points: must be at least 0"),
            (
                "generator: 1.in\ntest_cases: [{in: 1.in, generator_args: [1]}]\n".into(),
                "init.yml:2: test_cases.0.generator_args: and `in` are both",
            ),
            (
                with("checker: {name: bridged, args: {files: 1.in, type: odd}}\n"),
                "init.yml:2: checker.args.type: `odd` is not one of",
            ),
            (
                with("checker: {name: floats, args: {error_mode: odd}}\n"),
                "init.yml:2: checker.args.error_mode: `odd`",
            ),
            (with("interactive: {files: none.cpp}\n"), "init.yml:2: interactive.files: `none.cpp` is not"),
            (with("interactive: {type: testlib}\n"), "init.yml:2: interactive.files: is missing"),
            (with("signature_grader: {entry: 1.in}\n"), "init.yml:2: signature_grader.header: is missing"),
            (with("file_io: {input: a/b}\n"), "init.yml:2: file_io.input: `a/b` is not a name"),
            (
                with("interactive: {files: 1.in, args_format_string: '\"a'}\n"),
                "init.yml:2: interactive.args_format_string: has a quotation mark",
            ),
        ];
        for (yaml, start) in table {
            let grader = "class Grader(InteractiveGrader):\n    def check_result(self, case, result):\n        return True\n";
            let error =
                read(&tree(&[(FILE, &yaml), ("1.in", ""), ("g.py", grader)])).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}\n{yaml}");
        }
        let archive = |rest: &str| format!("archive: a.zip\ntest_cases: {{{rest}}}\n");
        for (yaml, start) in [
            (
                archive("input_format: '('"),
                "init.yml:2: test_cases.input_format: cannot be read as a pattern",
            ),
            (archive("input_format: 'x'"), "init.yml:2: test_cases.input_format: has no group"),
            (archive("case_points: [a]"), "init.yml:2: test_cases.case_points: `a` is not a number"),
            (archive("case_points: []"), "init.yml:2: test_cases.case_points: has too few"),
        ] {
            let error =
                read(&tree(&[(FILE, &yaml), ("a.zip", ""), ("a.zip/1.in", "")])).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}\n{yaml}");
        }
    }
}
