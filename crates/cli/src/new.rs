//! `tauto new`: a package of one's own that verifies at once, to be changed from there.

use crate::Done;
use crate::terminal::{Failure, print};
use clap::{Args, ValueEnum};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// Name of the directory to create: lower-case letters, digits, `-` and `_`
    name: PathBuf,
    /// Type of the problem
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t = Kind::PassFail)]
    kind: Kind,
    /// Language of the accepted solution: c, cpp, java or python3
    #[arg(long, value_name = "ID", default_value = "cpp")]
    language: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The output is compared with the answer
    PassFail,
    /// A checker decides whether the output is right
    Checker,
    /// The submission talks to an interactor
    Interactive,
    /// Test groups give points
    Scoring,
    /// The submission runs several times; the result of one run is the input of the next
    MultiPass,
}

/// Files that packages of a kind are made of.
struct Template {
    /// `type` of problem.yaml.
    kind: &'static str,
    statement: &'static str,
    validate: &'static str,
    generate: &'static str,
    /// Of c, cpp, java and python3.
    solutions: [&'static str; 4],
    wrong: &'static str,
    /// Name and text of the output validator.
    checker: Option<(&'static str, &'static str)>,
    /// Name, input and answer of each test that is not made by hand.
    sample: (&'static str, &'static str),
    secret: &'static [(&'static str, &'static str, &'static str)],
}

/// Solutions in the order of [`LANGUAGES`].
macro_rules! solutions {
    ($from:literal) => {
        [
            include_str!(concat!("../templates/", $from, "/solution.c")),
            include_str!(concat!("../templates/", $from, "/solution.cpp")),
            include_str!(concat!("../templates/", $from, "/Solution.java")),
            include_str!(concat!("../templates/", $from, "/solution.py")),
        ]
    };
}

/// Languages of solutions, and their files.
const LANGUAGES: [(&str, &str); 4] =
    [("c", "solution.c"), ("cpp", "solution.cpp"), ("java", "Solution.java"), ("python3", "solution.py")];

/// Of the sums: file, and the Python list that the generator makes them of.
const SUMS: &str = "[(\"01-one\", 1, 10), (\"02-small\", 10, 100), (\"03-large\", 1000, 10**12)]";
const SUMS_IN_GROUPS: &str = "[(\"1-small/01\", 5, 100), (\"1-small/02\", 20, 100), (\"2-large/01\", 5, 10**12), (\"2-large/02\", 1000, 10**12)]";

const fn template(kind: Kind) -> Template {
    let sum = Template {
        kind: "pass-fail",
        statement: include_str!("../templates/sum/statement.md"),
        validate: include_str!("../templates/sum/validate.py"),
        generate: include_str!("../templates/sum/generate.py"),
        solutions: solutions!("sum"),
        wrong: include_str!("../templates/pass-fail/wrong.py"),
        checker: None,
        sample: ("3\n1 -2 30\n", "29\n"),
        secret: &[
            ("01-one", "1\n-7\n", "-7\n"),
            ("02-small", "4\n5 -6 7 -8\n", "-2\n"),
            ("03-large", "2\n1000000000000 -1\n", "999999999999\n"),
        ],
    };
    match kind {
        Kind::PassFail => sum,
        Kind::Scoring => Template {
            kind: "scoring",
            wrong: include_str!("../templates/scoring/partial.py"),
            secret: &[
                ("1-small/01", "2\n40 2\n", "42\n"),
                ("1-small/02", "3\n-1 -2 -3\n", "-6\n"),
                ("2-large/01", "2\n1000000000000 1\n", "1000000000001\n"),
                ("2-large/02", "2\n-1000000000000 1\n", "-999999999999\n"),
            ],
            ..sum
        },
        Kind::Checker => Template {
            kind: "pass-fail",
            statement: include_str!("../templates/checker/statement.md"),
            validate: include_str!("../templates/checker/validate.py"),
            generate: include_str!("../templates/checker/generate.py"),
            solutions: solutions!("checker"),
            wrong: include_str!("../templates/checker/wrong.py"),
            checker: Some(("checker.py", include_str!("../templates/checker/checker.py"))),
            sample: ("5\n", "2 3\n"),
            secret: &[
                ("01-least", "2\n", "1 1\n"),
                ("02-odd", "7\n", "1 6\n"),
                ("03-most", "1000000000\n", "1 999999999\n"),
            ],
        },
        Kind::Interactive => Template {
            kind: "interactive",
            statement: include_str!("../templates/interactive/statement.md"),
            validate: include_str!("../templates/interactive/validate.py"),
            generate: include_str!("../templates/interactive/generate.py"),
            solutions: solutions!("interactive"),
            wrong: include_str!("../templates/interactive/wrong.py"),
            checker: Some(("interactor.py", include_str!("../templates/interactive/interactor.py"))),
            sample: ("42\n", "42\n"),
            secret: &[
                ("01-first", "1\n", "1\n"),
                ("02-last", "1000\n", "1000\n"),
                ("03-middle", "500\n", "500\n"),
                ("04-any", "777\n", "777\n"),
            ],
        },
        Kind::MultiPass => Template {
            kind: "multi-pass",
            statement: include_str!("../templates/multi-pass/statement.md"),
            validate: include_str!("../templates/multi-pass/validate.py"),
            generate: include_str!("../templates/multi-pass/generate.py"),
            solutions: solutions!("multi-pass"),
            wrong: include_str!("../templates/multi-pass/wrong.py"),
            checker: Some(("passer.py", include_str!("../templates/multi-pass/passer.py"))),
            sample: ("send 2026\n", "2026\n"),
            secret: &[
                ("01-zero", "send 0\n", "0\n"),
                ("02-digits", "send 1234567890\n", "1234567890\n"),
                ("03-most", "send 1000000000000000000\n", "1000000000000000000\n"),
            ],
        },
    }
}

pub(crate) fn main(args: &NewArgs) -> Result<Done, Failure> {
    let name = args.name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    // The format's own rule for names (problem package format 2025-09, "Overview").
    if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
        return Err(Failure::usage(format!(
            "{}: is not a name of a package\nhint: use lower-case letters, digits, `-` and `_`, as in two-sums",
            args.name.display()
        )));
    }
    let files = files(name, args.kind, &args.language).map_err(Failure::usage)?;
    if args.name.exists() {
        return Err(Failure::usage(format!(
            "{} exists already\nhint: choose another name",
            args.name.display()
        )));
    }
    for (path, text) in &files {
        write(&args.name.join(path), text)
            .map_err(|e| Failure::usage(format!("{}: {e}", args.name.join(path).display())))?;
    }
    let shown = args.name.display();
    print(&format!("{shown}: {} files; next: tauto verify {shown}\n", files.len()));
    Ok(Done::Good)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}

/// Paths in the package and their texts.
fn files(name: &str, kind: Kind, language: &str) -> Result<Vec<(String, String)>, String> {
    let template = template(kind);
    let Some(at) = LANGUAGES.iter().position(|(id, _)| *id == language) else {
        let known = LANGUAGES.map(|(id, _)| id).join(", ");
        return Err(format!("--language {language}: no template\nhint: choose one of {known}"));
    };
    let scoring = kind == Kind::Scoring;
    let (wrong, tests) = match scoring {
        true => ("submissions/partially_accepted/partial.py", SUMS_IN_GROUPS),
        false => ("submissions/wrong_answer/wrong.py", SUMS),
    };
    let problem = format!(
        "problem_format_version: 2025-09\ntype: {}\nname: {}\nuuid: {}\nlicense: cc0\nrights_owner: its authors\nlimits:\n  time_limit: 1\n",
        template.kind,
        title(name),
        uuid().map_err(|e| format!("a random number: {e}"))?,
    );
    let mut files = vec![
        ("problem.yaml".to_string(), problem),
        ("statement/problem.en.md".into(), template.statement.into()),
        ("input_validators/validate.py".into(), template.validate.into()),
        ("generators/generate.py".into(), template.generate.replace("{{tests}}", tests)),
        (format!("submissions/accepted/{}", LANGUAGES[at].1), template.solutions[at].into()),
        (wrong.into(), template.wrong.into()),
        ("data/sample/1.in".into(), template.sample.0.into()),
        ("data/sample/1.ans".into(), template.sample.1.into()),
    ];
    if let Some((file, text)) = template.checker {
        files.push((format!("output_validator/{file}"), text.into()));
    }
    for (test, input, answer) in template.secret {
        files.push((format!("data/secret/{test}.in"), (*input).into()));
        files.push((format!("data/secret/{test}.ans"), (*answer).into()));
    }
    if scoring {
        for (group, points, largest) in [("1-small", 30, "100"), ("2-large", 70, "1000000000000")] {
            let text = format!(
                "max_score: {points}\nscore_aggregation: pass-fail\ninput_validator_args: [\"{largest}\"]\n"
            );
            files.push((format!("data/secret/{group}/test_group.yaml"), text));
        }
        files.push(("data/secret/test_group.yaml".into(), "max_score: 100\nscore_aggregation: sum\n".into()));
        let promise = "partially_accepted/partial.py:\n  score: 30\n";
        files.push(("submissions/submissions.yaml".into(), promise.into()));
    }
    Ok(files)
}

/// `two-sums` as `Two Sums`.
fn title(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split(['-', '_']).filter_map(word).collect::<Vec<_>>().join(" ")
}

/// A random one (RFC 9562, version 4).
fn uuid() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok([&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].map(hex).join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_a_package_that_can_be_read() {
        for kind in Kind::value_variants() {
            for (language, file) in LANGUAGES {
                let place = tempfile::tempdir().unwrap();
                let package = place.path().join("two-sums");
                for (path, text) in files("two-sums", *kind, language).unwrap() {
                    write(&package.join(path), &text).unwrap();
                }
                let opened = crate::judging::open(&package).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
                assert_eq!(opened.warnings, [], "{kind:?}");
                let paths: Vec<&str> =
                    opened.package.submissions.iter().map(|jury| &*jury.program.path).collect();
                assert_eq!(paths.len(), 2, "{paths:?}");
                assert!(paths.iter().any(|path| path.ends_with(file)), "{paths:?}");
            }
        }
        assert!(files("a", Kind::PassFail, "cobol").unwrap_err().contains("c, cpp, java, python3"));
        assert_eq!(title("two-sums_again"), "Two Sums Again");
    }
}
