//! Runs with tests of their own: a program is judged by tests that come with it, or by the samples of a problem. They become a package, which
//! a worker judges as every other; what comes of it is the caller's alone and no submission to a problem.

use super::{Accepted, Checked, Details, Incoming, Submitted, check, names, submit};
use crate::accounts::Caller;
use crate::archive::archive;
use crate::errors::Refusal;
use crate::execution;
use crate::languages;
use crate::problems::Opened;
use crate::problems::limits::{Needs, needs};
use crate::service::Service;
use crate::submit::FILES;
use fleet::{Mode, TimeLimit};
use judge::package::{Format, LOOSE_TIME_LIMIT, TimeLimit as PackageLimit, loose_group, loose_problem};
use model::{Bytes, Execution, Limits, Nanos, ProgramFile, ProgramKind, WallLimit};
use serde::{Deserialize, Serialize};
use store::{RUN, Urgency};

/// The file that holds the package among those of the program: no submitted file can be called so.
pub(crate) const PACKAGE: &str = "//package.zip";
/// Tests of a run.
pub(crate) const TESTS: usize = 1000;
/// Longest time limit of a test, and most memory.
const LONGEST: Nanos = Nanos::from_secs(60);
const MOST_MEMORY: Bytes = Bytes::from_mib(16 << 10);
/// What a program on an input of one's own may print to be shown.
const SHOWN: Bytes = Bytes::from_kib(64);

/// A package that is not of a problem, as it is noted with a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OwnTests {
    /// SHA-256 of the package, which is among the run's files.
    pub(crate) package: String,
    /// What it is called in messages.
    pub(crate) name: String,
    /// The limit, where the package states none.
    pub(crate) time_limit: Option<TimeLimit>,
}

/// A test: names and bytes as they come.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) input: Vec<u8>,
    pub(crate) answer: Vec<u8>,
}

/// How outputs are compared with answers.
#[derive(Debug)]
pub(crate) enum Comparing {
    /// Token by token.
    Tokens,
    /// The same, and numbers may differ by so much.
    Tolerance(f64),
    /// By a program that follows the convention of output validators: its files.
    Checker(Vec<(String, Vec<u8>)>),
}

/// A program with its tests.
#[derive(Debug)]
pub(crate) struct WithTests<'a> {
    pub(crate) language: Option<&'a str>,
    pub(crate) files: &'a [(String, Vec<u8>)],
    pub(crate) tests: Vec<Test>,
    pub(crate) comparing: Comparing,
    pub(crate) time_limit: Option<Nanos>,
    pub(crate) memory: Option<Bytes>,
    /// How far to go, and by which clock.
    pub(crate) details: Details,
}

/// Takes in a program with its tests.
///
/// # Errors
/// [`Refusal::Bad`], whose text begins with the field.
pub(crate) async fn with_tests(
    service: &Service,
    caller: &Caller,
    asked: WithTests<'_>,
    token: &str,
    request: Option<String>,
) -> Result<Accepted, Refusal> {
    names(asked.files.iter().map(|(name, _)| name.as_str()), FILES)?;
    let language = languages::detect(service, asked.language, asked.files).await?;
    let package = laid_out(&asked)?;
    let loose = OwnTests { package: String::new(), name: "tests".into(), time_limit: None };
    let details = Details { request, ..asked.details };
    take(service, caller, (&language, asked.files), (package, loose), details, Some(token)).await
}

/// The package of tests.
fn laid_out(asked: &WithTests) -> Result<Vec<u8>, Refusal> {
    let bad = |why: String| Refusal::Bad(why);
    if asked.tests.is_empty() || asked.tests.len() > TESTS {
        return Err(bad(format!("tests: 1 to {TESTS} may be")));
    }
    let time = asked.time_limit.unwrap_or(LOOSE_TIME_LIMIT);
    if time == Nanos::ZERO || time > LONGEST {
        return Err(bad(format!("limits.time_ns: above 0 and at most {LONGEST}")));
    }
    if asked.memory.is_some_and(|memory| memory < Bytes::from_mib(1) || memory > MOST_MEMORY) {
        return Err(bad(format!("limits.memory_bytes: 1 MiB to {MOST_MEMORY} may be")));
    }
    let mut files: Vec<(String, &[u8])> = Vec::new();
    let problem = loose_problem(time, asked.memory);
    files.push(("problem.yaml".into(), problem.as_bytes()));
    let digits = asked.tests.len().to_string().len();
    for (n, test) in asked.tests.iter().enumerate() {
        // Their owner has them, so what a checker says of them is no secret, as of samples.
        let name = format!("data/sample/{:0digits$}", n + 1);
        files.push((format!("{name}.in"), &test.input));
        files.push((format!("{name}.ans"), &test.answer));
    }
    let group;
    match &asked.comparing {
        Comparing::Tokens => {}
        Comparing::Tolerance(tolerance) if tolerance.is_finite() && *tolerance >= 0.0 => {
            group = loose_group(*tolerance);
            files.push(("data/sample/test_group.yaml".into(), group.as_bytes()));
        }
        Comparing::Tolerance(_) => return Err(bad("tolerance: a number of 0 or more, such as 1e-6".into())),
        Comparing::Checker(checker) => {
            names(checker.iter().map(|(name, _)| name.as_str()), FILES).map_err(|refusal| match refusal {
                Refusal::Bad(why) => Refusal::Bad(format!("checker.{why}")),
                other => other,
            })?;
            files.extend(
                checker.iter().map(|(name, bytes)| (format!("output_validator/{name}"), bytes.as_slice())),
            );
        }
    }
    archive(files.into_iter().map(|(name, bytes)| (name, bytes, false)))
}

/// Whether a problem's samples can be run by themselves: its format keeps them apart from the secret tests, and there are some.
pub(crate) fn has_samples(opened: &Opened) -> bool {
    let own = !matches!(opened.package.format, Format::Foreign(_)) && !opened.package.submit_answer;
    let made = opened.package.features.made.runs_programs();
    own && !made
        && opened
            .package
            .data
            .groups
            .iter()
            .any(|group| group.name == "sample" && !group.all_cases().is_empty())
}

/// Whether a program can be run on an input of one's own: nothing of the package talks to it or is compiled with it.
pub(crate) fn takes_input(opened: &Opened) -> bool {
    let package = &opened.package;
    !package.interactive && !package.multi_pass && !package.submit_answer && package.include.is_empty()
}

/// The package with its samples alone.
fn of_samples(opened: &Opened) -> Result<Vec<u8>, Refusal> {
    let left_out = [
        "data/secret/",
        "submissions/",
        "generators/",
        "graders/",
        "input_validators/",
        "answer_validators/",
    ];
    let tree = &opened.source.tree().files;
    let mut files = Vec::new();
    for (path, entry) in tree.iter().filter(|(path, _)| !left_out.iter().any(|of| path.starts_with(of))) {
        let bytes = opened.source.bytes(path).map_err(|e| Refusal::Fault(e.to_string()))?;
        files.push((path.clone(), bytes, entry.executable));
    }
    archive(files)
}

/// Runs a program on the samples of a problem. `submitted` is looked at as a submission is.
///
/// # Errors
/// As for a submission; and where the problem has no samples that can be run.
pub(crate) async fn on_samples(
    service: &Service,
    caller: &Caller,
    submitted: &Submitted<'_>,
) -> Result<Accepted, Refusal> {
    let Checked { problem, contest, language } = check(service, submitted).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    if !has_samples(&opened) {
        return Err(Refusal::Bad("problem: it has no samples that can be run by themselves".into()));
    }
    let contest = contest.map(|contest| contest.id);
    let time_limit = match needs(service, &problem.newest, &problem.name, contest).await? {
        Needs::Nothing => None,
        Needs::Limit(limit) => Some(limit),
        Needs::Missing(_) => Some(TimeLimit {
            limit: LOOSE_TIME_LIMIT,
            source: "the problem's own limit is still being inferred".into(),
        }),
    };
    let read = tokio::task::spawn_blocking(move || of_samples(&opened));
    let package = read.await.map_err(|e| Refusal::Fault(format!("reading a package: {e}")))??;
    let loose = OwnTests { package: String::new(), name: problem.name.clone(), time_limit };
    let details = Details { mode: Mode::AllTests, problem: Some(problem.name), ..Details::default() };
    take(service, caller, (&language, submitted.files), (package, loose), details, None).await
}

/// Runs a program on an input of one's own, with the limits of a problem.
///
/// # Errors
/// As for a submission; and where programs of this problem cannot be run alone.
pub(crate) async fn on_input(
    service: &Service,
    caller: &Caller,
    submitted: &Submitted<'_>,
    input: Vec<u8>,
) -> Result<Accepted, Refusal> {
    let Checked { problem, contest, language } = check(service, submitted).await?;
    let opened = service.packages.get(&service.store, &problem.newest.package, &problem.name).await?;
    if !takes_input(&opened) {
        let why = "problem: programs for it cannot be run alone\nhint: run them on the samples";
        return Err(Refusal::Bad(why.into()));
    }
    let limit = match &opened.package.limits.time {
        PackageLimit::Stated { limit, .. } => *limit,
        PackageLimit::Inferred(_) => {
            let contest = contest.map(|contest| contest.id);
            match needs(service, &problem.newest, &problem.name, contest).await? {
                Needs::Limit(told) => told.limit,
                Needs::Nothing | Needs::Missing(_) => LOOSE_TIME_LIMIT,
            }
        }
    };
    let file = |(name, bytes): &(String, Vec<u8>)| ProgramFile {
        name: name.clone(),
        content: bytes.clone().into(),
        executable: false,
    };
    let execution = Execution {
        program: ProgramKind::Language(language.clone()),
        files: submitted.files.iter().map(file).collect(),
        entry: None,
        compiler_options: Vec::new(),
        args: Vec::new(),
        stdin: input.into(),
        expected: None,
        limits: Limits {
            cpu: Some(limit),
            wall: Some(WallLimit { time: limit + limit + Nanos::from_secs(1), excuse_waiting: true }),
            memory: Some(opened.package.limits.memory.unwrap_or(Bytes::from_mib(2048))),
            output: Some(opened.package.limits.output.unwrap_or(Bytes::from_mib(8))),
            processes: Some(64),
            ..Limits::default()
        },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: SHOWN,
    };
    let program = execution::Program {
        origin: RUN,
        language: &language,
        execution: &execution,
        kept: Vec::new(),
        problem: Some(problem.name),
        face: serde_json::Value::Null,
        callback: None,
    };
    execution::submit_program(service, caller, program).await
}

/// Stores a run with its package.
async fn take(
    service: &Service,
    caller: &Caller,
    (language, own): (&str, &[(String, Vec<u8>)]),
    (package, loose): (Vec<u8>, OwnTests),
    details: Details,
    token: Option<&str>,
) -> Result<Accepted, Refusal> {
    let loose = OwnTests { package: store::Hash::digest(&package).as_str().to_owned(), ..loose };
    let mut files: Vec<(&str, &[u8])> =
        own.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    files.push((PACKAGE, &package));
    let incoming = Incoming {
        token,
        version: None,
        author: caller.id(),
        origin: RUN,
        visitor: caller.visitor.as_deref().filter(|_| caller.user.is_none()),
        language,
        files,
        details: Details { loose: Some(loose), ..details },
        urgency: Urgency::Live,
        contest: None,
        callback: None,
    };
    submit(service, incoming).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::package::{Package, Validator};

    fn asked(tests: usize, comparing: Comparing) -> WithTests<'static> {
        let test = |n: usize| Test { input: format!("{n}\n").into(), answer: format!("{n}\n").into() };
        WithTests {
            language: None,
            files: &[],
            tests: (0..tests).map(test).collect(),
            comparing,
            time_limit: Some(Nanos::from_millis(1500)),
            memory: Some(Bytes::from_mib(100)),
            details: Details::default(),
        }
    }

    /// The package of what is asked for, as a worker reads it.
    fn read(asked: &WithTests) -> Package {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tests.zip");
        std::fs::write(&path, laid_out(asked).unwrap()).unwrap();
        crate::problems::packages::read(&path, "tests").unwrap().package
    }

    #[test]
    fn tests_become_a_package_that_is_read() {
        let package = read(&asked(12, Comparing::Tolerance(1e-6)));
        let names: Vec<String> = package.data.all_cases().iter().map(|case| case.name.clone()).collect();
        assert_eq!((names.len(), names[0].as_str(), names[11].as_str()), (12, "sample/01", "sample/12"));
        let flags = &package.data.all_cases()[3].validator_flags;
        assert_eq!(flags, &["float_tolerance", "1e-6"]);
        assert!(
            matches!(package.limits.time, PackageLimit::Stated { limit, .. } if limit == Nanos::from_millis(1500))
        );
        assert_eq!(package.limits.memory, Some(Bytes::from_mib(100)));
        let checker = Comparing::Checker(vec![("check.py".into(), b"exit(42)".to_vec())]);
        assert!(
            matches!(read(&asked(1, checker)).validator, Validator::Custom(programs) if programs.len() == 1)
        );
    }

    #[test]
    fn what_cannot_be_judged_is_refused_by_its_field() {
        let refused = |asked: WithTests| match laid_out(&asked) {
            Err(Refusal::Bad(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(asked(0, Comparing::Tokens)).starts_with("tests: "));
        assert!(refused(asked(TESTS + 1, Comparing::Tokens)).starts_with("tests: "));
        assert!(refused(asked(1, Comparing::Tolerance(-1.0))).starts_with("tolerance: "));
        let long = WithTests { time_limit: Some(Nanos::from_secs(61)), ..asked(1, Comparing::Tokens) };
        assert!(refused(long).starts_with("limits.time_ns: "));
        let small = WithTests { memory: Some(Bytes(1)), ..asked(1, Comparing::Tokens) };
        assert!(refused(small).starts_with("limits.memory_bytes: "));
        let checker = Comparing::Checker(vec![("../x".into(), Vec::new())]);
        assert!(refused(asked(1, checker)).starts_with("checker.files"));
        assert!(judge::filenames::check([PACKAGE].into_iter()).is_err(), "no submitted file is called so");
    }
}
