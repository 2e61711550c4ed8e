//! Judging one submission.

use crate::bench::Bench;
use crate::case::{CaseLimits, Judged};
use crate::job::Job;
use crate::limits::Allowance;
use crate::program::{Built, Compiled, compile};
use crate::recipe::{Part, detect, included, overlay, read_parts, recipe};
use crate::source::{Source, SourceError, SourceLimits};
use crate::timelimit::TimeLimitInUse;
use crate::{Fault, validate};
use judge::expect::{SubmissionOutcome, TestOutcome};
use judge::language::Language;
use judge::package::{JurySubmission, TestCase};
use judge::scoring::{CaseResult, JudgeMode, Judging, Step};
use model::{Event, JudgePhase, Limits, Nanos, Reading, TestResult, Verdict};
use std::io::Read;
use std::path::PathBuf;

/// A submission as it was handed in.
#[derive(Clone, Debug)]
pub struct Submission {
    /// How it is called: a path, as the user or the package names it.
    pub name: String,
    /// Its files.
    pub parts: Vec<Part>,
    /// Its language, if it was named: an id or a package language code.
    pub language: Option<String>,
    /// Its entry point, if it was named.
    pub entry: Option<String>,
    /// The jury wrote it: the package's choice of languages and code limit are for others.
    pub of_jury: bool,
}

/// What came of the compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileResult {
    /// It can be run.
    pub ok: bool,
    /// What the compiler wrote, bounded, and why it failed.
    pub output: String,
}

/// A judged submission.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionResult {
    /// How it is called.
    pub submission: String,
    /// Id of its language.
    pub language: String,
    /// What it earned.
    pub verdict: Verdict,
    /// Its score, in scoring problems.
    pub score: Option<f64>,
    /// The best score there is, where known.
    pub max_score: Option<f64>,
    /// CPU time of a test it was judged by, language factor included.
    pub time_limit: Nanos,
    /// The compilation.
    pub compile: CompileResult,
    /// The tests that were run, in order.
    pub tests: Vec<TestResult>,
    /// Messages of judge and validator for each of them.
    pub messages: Vec<Vec<String>>,
    /// Score of every test group that has one, by name.
    pub groups: Vec<(String, Option<f64>)>,
    /// Why it is a judge error.
    pub fault: Option<String>,
}

impl SubmissionResult {
    /// What the expectations of a package are held against.
    pub fn outcome(&self) -> SubmissionOutcome {
        let test = |(result, messages): (&TestResult, &Vec<String>)| TestOutcome {
            name: result.name.clone(),
            verdict: result.verdict,
            score: result.score,
            messages: messages.clone(),
        };
        SubmissionOutcome {
            verdict: self.verdict,
            score: self.score,
            max_score: self.max_score,
            tests: self.tests.iter().zip(&self.messages).map(test).collect(),
            groups: self.groups.clone(),
        }
    }

    /// CPU time of the slowest test.
    pub fn slowest(&self) -> Nanos {
        self.tests.iter().map(|test| test.cpu).max().unwrap_or_default()
    }
}

impl Submission {
    /// A submission of the package's jury.
    pub fn of_jury(jury: &JurySubmission, job: &Job) -> Result<Submission, Fault> {
        Ok(Submission {
            name: jury.program.path.clone(),
            parts: read_parts(&jury.program.files, job.source, &job.package.constants)?,
            language: jury.language.clone(),
            entry: jury.entry_point.clone(),
            of_jury: true,
        })
    }

    /// A submission from files, or from one directory or zip archive.
    pub fn from_paths(paths: &[PathBuf], language: Option<String>) -> Result<Submission, Fault> {
        let name = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        let parts = match paths {
            [one] if one.is_dir() || one.extension().is_some_and(|e| e == "zip") => parts_of(one)?,
            _ => paths.iter().map(part_of).collect::<Result<_, _>>()?,
        };
        if parts.is_empty() {
            return Err(Fault::Input { place: name, why: "has no files".to_owned() });
        }
        Ok(Submission { name, parts, language, entry: None, of_jury: false })
    }
}

/// Bounds of a submission as it is read; what may be compiled is bounded by the package.
const SUBMISSION_LIMITS: SourceLimits = SourceLimits {
    entries: 1_000,
    file_size: 64 << 20,
    total_size: 64 << 20,
    ratio: 1_000,
    ratio_from: 1 << 20,
    depth: 16,
};

fn parts_of(path: &PathBuf) -> Result<Vec<Part>, Fault> {
    let source = Source::open(path, SUBMISSION_LIMITS)?;
    let files = source.tree().files.iter();
    let read = files.filter(|(name, _)| !name.starts_with('.')).map(|(name, entry)| {
        let content = source.bytes(name)?;
        Ok(Part { name: name.clone(), executable: entry.executable, content })
    });
    read.collect()
}

fn part_of(path: &PathBuf) -> Result<Part, Fault> {
    let refuse = |why: String| SourceError::Open { path: path.clone(), why };
    let file = std::fs::File::open(path).map_err(|e| refuse(e.to_string()))?;
    let metadata = file.metadata().map_err(|e| refuse(e.to_string()))?;
    if !metadata.is_file() {
        return Err(refuse("is no regular file; give files or one directory".to_owned()).into());
    }
    let mut content = Vec::new();
    file.take(SUBMISSION_LIMITS.file_size + 1)
        .read_to_end(&mut content)
        .map_err(|e| refuse(e.to_string()))?;
    if content.len() as u64 > SUBMISSION_LIMITS.file_size {
        return Err(refuse(format!("is larger than {} bytes", SUBMISSION_LIMITS.file_size)).into());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Part { name, executable: false, content })
}

/// A submission that can be run, or why it cannot.
pub(crate) enum Ready<'a> {
    Runs { built: Built<'a>, language: String, output: String },
    DoesNotCompile { language: String, output: String },
}

/// Compiles a submission on a bench.
pub(crate) fn prepare<'a>(bench: &'a Bench, submission: &Submission) -> Result<Ready<'a>, Fault> {
    let job = &bench.job;
    let name = &submission.name;
    let language = detect(name, &submission.parts, job.languages, submission.language.as_deref())?;
    if !submission.of_jury {
        check_allowed(name, language, job)?;
        let size: u64 = submission.parts.iter().map(|part| part.content.len() as u64).sum();
        if size > bench.settings.code.0 {
            let limit = bench.settings.code;
            let output = format!("the source code has {size} bytes, more than the code limit of {limit}");
            return Ok(Ready::DoesNotCompile { language: language.id.clone(), output });
        }
    }
    job.phase(Some(name), JudgePhase::Compiling);
    let added = read_parts(&included(job.package, language), job.source, &job.package.constants)?;
    let parts = overlay(submission.parts.clone(), added);
    let entry = submission.entry.as_deref();
    let recipe = recipe(name, parts, language, entry, bench.settings.memory, job.languages)?;
    if let Some(why) = &recipe.stands_in {
        job.warn(name, why.clone());
    }
    let language = recipe.language.clone();
    Ok(match compile(bench.place(), &recipe, &bench.settings)? {
        Compiled::Built { program, output } => Ready::Runs { built: program, language, output },
        Compiled::Failed { output } => Ready::DoesNotCompile { language, output },
    })
}

fn check_allowed(name: &str, language: &Language, job: &Job) -> Result<(), Fault> {
    match &job.package.languages {
        Some(allowed) if !language.codes.iter().any(|code| allowed.contains(code)) => {
            let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let why = format!("the package does not take {}; it takes {allowed}", language.name);
            Err(Fault::Input { place: name.to_owned(), why })
        }
        _ => Ok(()),
    }
}

/// Judges a submission by a time limit.
pub fn judge_submission(
    bench: &Bench,
    submission: &Submission,
    time: &TimeLimitInUse,
    mode: JudgeMode,
) -> Result<SubmissionResult, Fault> {
    let job = &bench.job;
    let (built, language, output) = match prepare(bench, submission)? {
        Ready::Runs { built, language, output } => (built, language, output),
        Ready::DoesNotCompile { language, output } => {
            let result = does_not_compile(submission, language, output, time.limit);
            finished(job, &result);
            return Ok(result);
        }
    };
    (job.emit)(Event::SubmissionStarted {
        submission: submission.name.clone(),
        language: language.clone(),
        tests: u32::try_from(job.package.data.all_cases().len()).unwrap_or(u32::MAX),
    });
    job.phase(Some(&submission.name), JudgePhase::Judging);
    let limits = case_limits(bench, time, built.allowance);
    let mut running = Running { bench, submission, built, limits, tests: Vec::new(), messages: Vec::new() };
    let mut judging = Judging::new(job.package, mode);
    let done = loop {
        match judging.next() {
            Step::Done(result) => break result,
            Step::Run(case) => running.test(case, &mut judging)?,
            Step::Grade { group: _, flags, input } => {
                let graded = match bench.grader() {
                    Some(grader) => validate::grade(grader, flags, &input, &bench.settings)?,
                    None => Err("the package has none".to_owned()),
                };
                judging.graded(graded);
            }
        }
    };
    let result = SubmissionResult {
        submission: submission.name.clone(),
        language,
        verdict: done.verdict,
        score: done.score,
        max_score: judging.max_score(),
        time_limit: limits.judge.cpu.unwrap_or(time.limit),
        compile: CompileResult { ok: true, output },
        tests: running.tests,
        messages: running.messages,
        groups: judging.groups().into_iter().map(|(name, group)| (name, group.score)).collect(),
        fault: done.fault,
    };
    finished(job, &result);
    Ok(result)
}

/// The limits of a submission whose runtime needs this.
pub(crate) fn case_limits(bench: &Bench, time: &TimeLimitInUse, allowance: Allowance) -> CaseLimits {
    let cpu = time.limit.scale(allowance.time_factor);
    let limits = |cpu: Nanos| -> Limits { bench.settings.submission(cpu, allowance) };
    CaseLimits { judge: limits(cpu), stop: limits(cpu.scale(time.stop_factor)) }
}

struct Running<'a> {
    bench: &'a Bench<'a>,
    submission: &'a Submission,
    built: Built<'a>,
    limits: CaseLimits,
    tests: Vec<TestResult>,
    messages: Vec<Vec<String>>,
}

impl Running<'_> {
    fn test(&mut self, case: &TestCase, judging: &mut Judging) -> Result<(), Fault> {
        let judged = self.bench.court().judge(&self.built, &self.limits, case)?;
        let counted = judging.record(&case.name, judged.verdict, judged.validation.as_ref());
        self.messages.push(messages(&judged, &counted));
        let result = test_result(case, judged, counted);
        (self.bench.job.emit)(Event::TestFinished {
            submission: self.submission.name.clone(),
            result: Box::new(result.clone()),
        });
        self.tests.push(result);
        Ok(())
    }
}

fn messages(judged: &Judged, counted: &CaseResult) -> Vec<String> {
    let validator = judged.validation.iter().flat_map(|v| [v.judge_message.clone(), v.team_message.clone()]);
    let mut all: Vec<String> = validator.chain(counted.fault.clone()).collect();
    all.retain(|message| !message.is_empty());
    all
}

fn test_result(case: &TestCase, judged: Judged, counted: CaseResult) -> TestResult {
    let slowest = judged.runs.iter().max_by_key(|run| run.time.cpu);
    let peaks = judged.runs.iter().filter_map(|run| run.memory_peak.known()).max();
    let unknown = || {
        judged.runs.first().map_or_else(|| Reading::unknown("nothing was run"), |run| run.memory_peak.clone())
    };
    TestResult {
        name: case.name.clone(),
        verdict: counted.verdict,
        cpu: slowest.map(|run| run.time.cpu).unwrap_or_default(),
        wall: slowest.map(|run| run.time.wall).unwrap_or_default(),
        memory_peak: peaks.map_or_else(unknown, |peak| Reading::Known(*peak)),
        score: counted.score,
        message: counted.fault.unwrap_or(judged.message),
        runs: judged.runs,
    }
}

fn does_not_compile(
    submission: &Submission,
    language: String,
    output: String,
    limit: Nanos,
) -> SubmissionResult {
    SubmissionResult {
        submission: submission.name.clone(),
        language,
        verdict: Verdict::CompileError,
        score: None,
        max_score: None,
        time_limit: limit,
        compile: CompileResult { ok: false, output },
        tests: Vec::new(),
        messages: Vec::new(),
        groups: Vec::new(),
        fault: None,
    }
}

fn finished(job: &Job, result: &SubmissionResult) {
    (job.emit)(Event::SubmissionFinished {
        submission: result.submission.clone(),
        verdict: result.verdict,
        score: result.score,
    });
}
