//! Judging one submission.

use crate::build_plan::{
    BuildPlan, LoadedFile, Sources, as_included, build_plan, detect, included, load_files,
};
use crate::case::{CaseContext, CaseLimits, Judged};
use crate::clocks::Meter;
use crate::job::Job;
use crate::limits::{Allowance, Settings};
use crate::opinion::{SecondOpinionJudge, second_bench};
use crate::prepared_slot::PreparedSlot;
use crate::program::{Built, Compiled, compile};
use crate::settled::{SettleContext, SettledCase, limits_to_settle, settle_attempts};
use crate::timelimit::TimeLimitInUse;
use crate::{Fault, transcript, validate};
use judge::expect::{SubmissionOutcome, TestOutcome};
use judge::filenames;
use judge::language::Language;
use judge::package::{HandedIn, JurySubmission, Package, TestCase};
use judge::scoring::{CaseResult, JudgeMode, Judging, Step};
use model::{
    Charge, Compilation, Confidence, Event, JudgePhase, Judgement, Limits, Nanos, Reading, Settled,
    TestResult, Transcript, Verdict,
};
use source::{Source, SourceError, SourceLimits};
use std::cell::Cell;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A submission as it was submitted.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its path, as the user or the package names it.
    pub name: String,
    /// Its files.
    pub parts: Vec<LoadedFile>,
    /// Its language, if it was named: an id or a package language code.
    pub language: Option<String>,
    /// Its entry point, if it was named.
    pub entry: Option<String>,
    /// The jury wrote it: the package's choice of languages and code limit are for others.
    pub of_jury: bool,
}

/// A judged submission, with what only expectations need.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedSubmission {
    /// What it earned.
    pub judgement: Judgement,
    /// Messages of judge and validator for each of its tests.
    pub messages: Vec<Vec<String>>,
    /// Score of every test group that has one, by name.
    pub groups: Vec<(String, Option<f64>)>,
}

impl JudgedSubmission {
    /// The outcome that is compared with the package's expectations.
    pub fn outcome(&self) -> SubmissionOutcome {
        let test = |(result, messages): (&TestResult, &Vec<String>)| TestOutcome {
            name: result.name.clone(),
            verdict: result.verdict,
            score: result.score,
            messages: messages.clone(),
        };
        SubmissionOutcome {
            verdict: self.judgement.verdict,
            score: self.judgement.score,
            max_score: self.judgement.max_score,
            tests: self.judgement.tests.iter().zip(&self.messages).map(test).collect(),
            groups: self.groups.clone(),
        }
    }

    /// The charge of the slowest test as a time; zero when none was run.
    pub(crate) fn slowest(&self) -> Nanos {
        self.judgement.slowest().known().map_or(Nanos::ZERO, |charge| charge.as_time())
    }
}

impl Submission {
    /// A submission of the package's jury.
    pub fn of_jury(jury: &JurySubmission, job: &Job) -> Result<Submission, Fault> {
        Ok(Submission {
            name: jury.program.path.clone(),
            parts: load_files(&jury.program.files, job.source, &job.package.constants)?,
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
            _ => paths.iter().map(|path| part_of(path)).collect::<Result<_, _>>()?,
        };
        if parts.is_empty() {
            return Err(Fault::Input { place: name, why: "has no files".to_owned() });
        }
        filenames::check(parts.iter().map(|part| part.name.as_str()))
            .map_err(|bad| Fault::Input { place: name.clone(), why: bad.to_string() })?;
        Ok(Submission { name, parts, language, entry: None, of_jury: false })
    }
}

impl Submission {
    /// Its files but for outputs that are submitted by name.
    fn program(&self, package: &Package) -> Vec<LoadedFile> {
        let cases = package.data.all_cases();
        let output = |part: &&LoadedFile| cases.iter().any(|case| case.handed_in.name() == Some(&part.name));
        self.parts.iter().filter(|part| !output(part)).cloned().collect()
    }

    /// The output that was submitted for a test case by name.
    fn handed_in(&self, case: &TestCase) -> Option<&[u8]> {
        let name = case.handed_in.name()?;
        self.parts.iter().find(|part| part.name == name).map(|part| part.content.as_slice())
    }

    /// The submitted output of a test case: a file called like it, with the extension `out`, `ans` or `txt` or none, at
    /// its place below `data/` or directly; or the only file there is. The specification leaves the names open.
    fn answer_to(&self, case: &TestCase) -> Option<&[u8]> {
        let last = case.name.rsplit('/').next().unwrap_or(&case.name);
        let below = case.name.split_once('/').map_or(last, |(_, below)| below);
        let called = |part: &&LoadedFile| {
            let stem = [".out", ".ans", ".txt"].iter().find_map(|ending| part.name.strip_suffix(ending));
            [case.name.as_str(), below, last].contains(&stem.unwrap_or(&part.name))
        };
        let only = (self.parts.len() == 1).then(|| self.parts.first()).flatten();
        self.parts.iter().find(called).or(only).map(|part| part.content.as_slice())
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

fn parts_of(path: &Path) -> Result<Vec<LoadedFile>, Fault> {
    let source = Source::open(path, SUBMISSION_LIMITS)?;
    let files = source.tree().files.iter();
    let read = files.filter(|(name, _)| !name.starts_with('.')).map(|(name, entry)| {
        let content = source.bytes(name)?;
        Ok(LoadedFile { name: name.clone(), executable: entry.executable, content })
    });
    read.collect()
}

fn part_of(path: &Path) -> Result<LoadedFile, Fault> {
    let refuse = |why: String| SourceError::Open { path: path.to_owned(), why };
    // Opening a pipe waits for its writer.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::File::options().read(true).custom_flags(nonblock).open(path);
    let file = file.map_err(|e| refuse(e.to_string()))?;
    let metadata = file.metadata().map_err(|e| refuse(e.to_string()))?;
    if !metadata.is_file() {
        return Err(refuse("is not a regular file\nhint: name files or one directory".to_owned()).into());
    }
    let mut content = Vec::new();
    file.take(SUBMISSION_LIMITS.file_size + 1)
        .read_to_end(&mut content)
        .map_err(|e| refuse(e.to_string()))?;
    if content.len() as u64 > SUBMISSION_LIMITS.file_size {
        return Err(refuse(format!("is larger than {} bytes", SUBMISSION_LIMITS.file_size)).into());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(LoadedFile { name, executable: false, content })
}

/// A submission that can be run, or why it cannot.
pub(crate) enum Ready<'a> {
    Runs {
        built: Built<'a>,
        language: String,
        output: String,
    },
    /// Its files are answers to test cases.
    Answers,
    DoesNotCompile {
        language: String,
        output: String,
    },
}

/// What is to be compiled, or why that is refused.
enum Planned {
    /// Nothing: the files are answers.
    Answers,
    BuildPlan(Box<BuildPlan>),
    TooLarge {
        language: String,
        output: String,
    },
}

/// Whether a submission can be judged here at all: its language is known, allowed and installed.
pub fn check(job: &Job, submission: &Submission) -> Result<(), Fault> {
    plan(job, &job.settings(), submission).map(drop)
}

fn plan(job: &Job, settings: &Settings, submission: &Submission) -> Result<Planned, Fault> {
    if job.package.submit_answer {
        return Ok(Planned::Answers);
    }
    let name = &submission.name;
    let own = submission.program(job.package);
    if own.is_empty() {
        return Ok(Planned::Answers);
    }
    let language = language_of(job, submission)?;
    if !submission.of_jury {
        check_allowed(name, language, job)?;
        let size: u64 = submission.parts.iter().map(|part| part.content.len() as u64).sum();
        if size > settings.code.0 {
            let output =
                format!("the source code has {size} bytes, more than the code limit of {}", settings.code);
            return Ok(Planned::TooLarge { language: language.id.clone(), output });
        }
    }
    let added = load_files(&included(job.package, language), job.source, &job.package.constants)?;
    let parts = as_included(own, job.package, language);
    let entry = submission.entry.as_deref();
    let counted = job.options.meter != Meter::Kernel;
    let sources = Sources { own: parts, added, entry, options: &[] };
    let mut build_plan = build_plan(name, sources, language, settings.memory, job.languages, counted)?;
    if job.package.features.unbuffered {
        // Python, "Environment variables"; nothing to other languages.
        build_plan.run.env.push(("PYTHONUNBUFFERED".to_owned(), "1".to_owned()));
    }
    Ok(Planned::BuildPlan(Box::new(build_plan)))
}

/// The build plan of a jury submission.
pub(crate) fn build_plan_of(
    job: &Job,
    settings: &Settings,
    submission: &Submission,
) -> Result<BuildPlan, Fault> {
    match plan(job, settings, submission)? {
        Planned::BuildPlan(build_plan) => Ok(*build_plan),
        Planned::Answers | Planned::TooLarge { .. } => {
            let why = "is not a program that could make answers".to_owned();
            Err(Fault::Input { place: submission.name.clone(), why })
        }
    }
}

/// Compiles a submission on a bench.
pub(crate) fn prepare<'a>(bench: &'a PreparedSlot, submission: &Submission) -> Result<Ready<'a>, Fault> {
    let job = &bench.job;
    let name = &submission.name;
    let build_plan = match plan(job, &bench.settings, submission)? {
        Planned::BuildPlan(build_plan) => build_plan,
        Planned::Answers => return Ok(Ready::Answers),
        Planned::TooLarge { language, output } => return Ok(Ready::DoesNotCompile { language, output }),
    };
    job.phase(Some(name), JudgePhase::Compiling);
    if let Some(why) = &build_plan.stands_in {
        job.warn(name, why.clone());
    }
    let language = build_plan.language.clone();
    Ok(match compile(bench.main_context(), &build_plan, &bench.settings)? {
        Compiled::Built { mut program, output } => {
            let twins = bench.crew()?.into_iter().map(|context| program.copied_to(context));
            program.twins = twins.collect::<Result<_, _>>()?;
            Ready::Runs { built: program, language, output }
        }
        Compiled::Failed { output } => Ready::DoesNotCompile { language, output },
    })
}

/// The language a submission is taken for.
pub(crate) fn language_of<'t>(job: &Job<'t>, submission: &Submission) -> Result<&'t Language, Fault> {
    let own = submission.program(job.package);
    detect(&submission.name, &own, job.languages, submission.language.as_deref())
}

fn check_allowed(name: &str, language: &Language, job: &Job) -> Result<(), Fault> {
    match &job.package.languages {
        Some(allowed) if allowed.is_empty() => {
            let why = "the package takes no programs, but the output for each test as a file".to_owned();
            Err(Fault::Input { place: name.to_owned(), why })
        }
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
    bench: &PreparedSlot,
    submission: &Submission,
    time: &TimeLimitInUse,
    mode: JudgeMode,
) -> Result<JudgedSubmission, Fault> {
    let job = &bench.job;
    let (built, language, output) = match prepare(bench, submission)? {
        Ready::Runs { built, language, output } => (Some(built), language, output),
        Ready::Answers => (None, "answers".to_owned(), String::new()),
        Ready::DoesNotCompile { language, output } => {
            let limits = job.options.meter.judged_by(bench.settings.submission(time.limit, Allowance::NONE));
            let compile = Compilation { ok: false, output };
            let result = JudgedSubmission {
                judgement: judgement(
                    submission,
                    language,
                    limits,
                    compile,
                    Verdict::CompileError,
                    job.options.meter,
                ),
                messages: Vec::new(),
                groups: Vec::new(),
            };
            finished(job, &result.judgement);
            return Ok(result);
        }
    };
    (job.emit)(Event::SubmissionStarted {
        submission: submission.name.clone(),
        language: language.clone(),
        tests: u32::try_from(job.package.data.all_cases().len()).unwrap_or(u32::MAX),
    });
    job.phase(Some(&submission.name), JudgePhase::Judging);
    let allowance = built.as_ref().map_or(Allowance::NONE, |built| built.allowance);
    let limits = case_limits(bench, time, allowance);
    let second = second_bench(bench);
    let asking =
        built.is_some().then(|| SecondOpinionJudge::new(bench, second.as_ref(), submission, time, &language));
    let mut running = Running {
        bench,
        submission,
        built,
        limits,
        asking,
        looks: Cell::new(0),
        tests: Vec::new(),
        messages: Vec::new(),
    };
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
    let compile = Compilation { ok: true, output };
    let judgement = Judgement {
        score: done.score,
        max_score: judging.max_score(),
        groups: judging.subtotals(),
        settled: Settled::combined(&running.tests),
        thresholds: Reading::Known(settle::thresholds(&job.options.floor)),
        tests: running.tests,
        fault: done.fault,
        ..judgement(submission, language, limits.judge, compile, done.verdict, job.options.meter)
    };
    finished(job, &judgement);
    let groups = judging.groups().into_iter().map(|(name, group)| (name, group.score)).collect();
    Ok(JudgedSubmission { judgement, messages: running.messages, groups })
}

/// Nothing was run.
const SETTLED_AT_ONCE: Settled = Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 };

/// A judgement without tests.
fn judgement(
    submission: &Submission,
    language: String,
    limits: Limits,
    compile: Compilation,
    verdict: Verdict,
    meter: Meter,
) -> Judgement {
    Judgement {
        submission: submission.name.clone(),
        language,
        clock: meter.clock(),
        counted_by: meter.versions(),
        verdict,
        score: None,
        max_score: None,
        groups: Vec::new(),
        time_limit: Charge::limit(meter.clock(), &limits).unwrap_or_default().as_time(),
        limits,
        compile,
        tests: Vec::new(),
        settled: SETTLED_AT_ONCE,
        thresholds: Reading::unknown("nothing was run"),
        fault: None,
    }
}

/// The limits of a submission whose runtime needs this.
pub(crate) fn case_limits(bench: &PreparedSlot, time: &TimeLimitInUse, allowance: Allowance) -> CaseLimits {
    let cpu = time.limit.scale(allowance.time_factor);
    let limits = |cpu: Nanos| -> Limits { bench.settings.submission(cpu, allowance) };
    let meter = bench.job.options.meter;
    let limits =
        CaseLimits { judge: meter.judged_by(limits(cpu)), stop: limits(cpu.scale(time.stop_factor)) };
    match meter.clock().varies() {
        true => limits_to_settle(limits, &bench.job.options.floor),
        // There is nothing to settle, so the run is stopped at its limit.
        false => limits,
    }
}

struct Running<'a> {
    bench: &'a PreparedSlot<'a>,
    submission: &'a Submission,
    /// `None`: its files are answers.
    built: Option<Built<'a>>,
    limits: CaseLimits,
    asking: Option<SecondOpinionJudge<'a>>,
    /// For calm.
    looks: Cell<u32>,
    tests: Vec<TestResult>,
    messages: Vec<Vec<String>>,
}

impl Running<'_> {
    fn test(&mut self, case: &TestCase, judging: &mut Judging) -> Result<(), Fault> {
        let context = self.bench.context();
        let handed_in = self.submission.handed_in(case);
        let given = match case.handed_in {
            HandedIn::No if self.built.is_none() => self.submission.answer_to(case),
            _ => handed_in,
        };
        let runs = matches!(case.handed_in, HandedIn::No | HandedIn::May(_)) && handed_in.is_none();
        let judged = match &self.built {
            Some(built) if runs => {
                let job = &self.bench.job;
                let settle_context = SettleContext {
                    meter: context.meter,
                    limits: &self.limits,
                    floor: &job.options.floor,
                    control: self.bench.control().map(|control| (control, built.context)),
                    looks: &self.looks,
                    phase: &|phase| job.phase(Some(&self.submission.name), phase),
                };
                let settled = settle_attempts(&settle_context, || context.judge(built, &self.limits, case))?;
                match &mut self.asking {
                    Some(asking) => asking.heard(case, settled)?,
                    None => settled,
                }
            }
            _ => without_runs(context.judge_answer(given, case)?, context.meter),
        };
        let counted = judging.record(&case.name, judged.judged.verdict, judged.judged.validation.as_ref());
        self.messages.push(messages(&judged.judged, &counted));
        let mut result = test_result(case, judged, counted);
        result.transcript = self.conversation(&context, case, &result, runs);
        if let Some(transcript) = &result.transcript {
            let said = transcript::text(transcript);
            result.message = format!("{}\n{said}", result.message).trim_start().to_owned();
        }
        (self.bench.job.emit)(Event::TestFinished {
            submission: self.submission.name.clone(),
            result: Box::new(result.clone()),
        });
        self.tests.push(result);
        Ok(())
    }

    /// What was said in the first interactive test that the submission failed, listened to in one more run.
    fn conversation(
        &self,
        context: &CaseContext,
        case: &TestCase,
        result: &TestResult,
        runs: bool,
    ) -> Option<Transcript> {
        let failed = |test: &TestResult| {
            !matches!(test.verdict, Verdict::Accepted | Verdict::PartiallyAccepted | Verdict::JudgeError)
        };
        let built =
            self.built.as_ref().filter(|_| runs && failed(result) && !self.tests.iter().any(failed))?;
        // The verdict stands: a fault here takes nothing but the transcript.
        context.conversation(built, &self.limits, case).ok().flatten()
    }
}

fn messages(judged: &Judged, counted: &CaseResult) -> Vec<String> {
    let validator = judged.validation.iter().flat_map(|v| [v.judge_message.clone(), v.team_message.clone()]);
    let mut all: Vec<String> = validator.chain(counted.fault.clone()).collect();
    all.retain(|message| !message.is_empty());
    all
}

/// A test case of a problem whose answers are submitted: there is no time to settle.
fn without_runs(judged: Judged, meter: Meter) -> SettledCase {
    SettledCase {
        judged,
        attempt: 0,
        runs: Vec::new(),
        causes: Vec::new(),
        charge: Charge { clock: meter.clock(), amount: 0 },
        wall: Nanos::ZERO,
        settled: SETTLED_AT_ONCE,
        near: false,
        opinion: None,
    }
}

fn test_result(case: &TestCase, judged: SettledCase, counted: CaseResult) -> TestResult {
    let peaks = judged.runs.iter().filter_map(|run| run.memory_peak.known()).max();
    let unknown = || {
        judged.runs.first().map_or_else(|| Reading::unknown("nothing was run"), |run| run.memory_peak.clone())
    };
    TestResult {
        name: case.name.clone(),
        verdict: counted.verdict,
        charge: judged.charge,
        wall: judged.wall,
        memory_peak: peaks.map_or_else(unknown, |peak| Reading::Known(*peak)),
        score: counted.score,
        message: counted.fault.unwrap_or(judged.judged.message),
        settled: judged.settled,
        runs: judged.runs,
        causes: Reading::Known(judged.causes),
        second_opinion: judged.opinion,
        transcript: None,
    }
}

fn finished(job: &Job, judgement: &Judgement) {
    (job.emit)(Event::SubmissionFinished {
        submission: judgement.submission.clone(),
        verdict: judgement.verdict,
        score: judgement.score,
    });
}
