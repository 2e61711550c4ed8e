//! Judging on a simulated sandbox: a program's source is the name of a function that plays it.

#![allow(dead_code, reason = "every test binary uses a part of the kit")]

use engine::calibrate::{CalibrationOptions, calibrate};
use engine::execute::{Conditions, execute};
use engine::job::{Job, Options};
use engine::languages::Languages;
use engine::limit_cache::LimitCache;
use engine::limits::Overrides;
use engine::looks::Looks;
use engine::opinion::Opinions;
use engine::prepared_slot::PreparedSlot;
use engine::simulated::{Simulated, Stage, observation};
use engine::slot::{Control, Crew, Slot, Station};
use engine::submission::{JudgedSubmission, Submission, judge_submission};
use engine::timelimit::time_limit;
use engine::toolchain::{Host, Toolchain};
use engine::verify::verify_package;
use engine::{Fault, LoadedFile, Runner, SystemError};
use judge::language::{Paths, Table};
use judge::package::*;
use judge::scoring::JudgeMode;
use model::*;
use source::{Source, SourceLimits};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// Plays a program.
pub(crate) type Play = fn(&mut Stage) -> Result<Observation, SystemError>;

const TABLE: &str = r#"
[[language]]
id = "sim"
name = "Simulated"
extensions = ["sim"]
compile = [["/compiler", "{sources}", "{options}"]]
options = ["-O*"]
run = ["/program/{entry}"]

[[language]]
id = "slow"
name = "Simulated, twice as slow"
extensions = ["slow"]
run = ["/program/{entry}"]
time_factor = 2.0

[[language]]
id = "heavy"
name = "Simulated, with a runtime"
extensions = ["heavy"]
run = ["/program/{entry}", "{memory_mib}"]
time_factor = 3.0
memory_allowance_mib = 100
process_allowance = 7

[[language]]
id = "absent"
name = "Absent"
extensions = ["absent"]
tools = { gone = ["no-such-tool-anywhere"] }
run = ["{gone}", "{entry}"]
"#;

/// A package, programs and what was seen.
pub(crate) struct Kit {
    dir: tempfile::TempDir,
    pub(crate) package: Package,
    pub(crate) programs: BTreeMap<&'static str, Play>,
    pub(crate) cancel: AtomicBool,
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) overrides: Overrides,
    pub(crate) runners: Vec<(Arc<Simulated>, Arc<Simulated>)>,
    /// Slots have a control program, the one that is called `control` here, which takes 100 ms at best.
    pub(crate) control: bool,
    /// The noise floor of the slots.
    pub(crate) floor: settle::NoiseFloor,
    /// How often a submission was judged in its slot before.
    pub(crate) before: u32,
    pub(crate) opinions: Opinions,
    /// Where time limits are kept.
    pub(crate) limit_cache: Option<PathBuf>,
    /// Whatever is kept, they are inferred again.
    pub(crate) fresh: bool,
}

fn control(looks: PathBuf) -> Control {
    let spec = RunSpec { argv: vec!["control".into()], ..RunSpec::bare() };
    Control {
        spec,
        files: Vec::new(),
        best: ms(100).0.into(),
        keep: Box::new(|_| ()),
        pause: std::time::Duration::ZERO,
        looks: Looks(looks),
    }
}

struct Shared(Arc<Simulated>);

impl Runner for Shared {
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError> {
        self.0.create_box(size)
    }
    fn put(&self, id: BoxId, path: &str, x: bool, content: &std::fs::File) -> Result<(), SystemError> {
        self.0.put(id, path, x, content)
    }
    fn fetch(&self, id: BoxId, path: &str) -> Result<model::Found<std::fs::File>, SystemError> {
        self.0.fetch(id, path)
    }
    fn list(&self, id: BoxId) -> Result<Vec<String>, SystemError> {
        self.0.list(id)
    }
    fn remove(&self, id: BoxId, path: &str) -> Result<(), SystemError> {
        self.0.remove(id, path)
    }
    fn drop_box(&self, id: BoxId) -> Result<(), SystemError> {
        self.0.drop_box(id)
    }
    fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SystemError> {
        self.0.run(spec, fds)
    }
    fn end_run(&self, output: bool) {
        self.0.end_run(output)
    }
}

/// A pass-fail package of the 2025-09 format with the tests secret/1 to secret/3, whose answer is the input.
pub(crate) fn kit() -> Kit {
    let dir = tempfile::tempdir().unwrap();
    let mut kit = Kit {
        dir,
        package: package(),
        programs: BTreeMap::new(),
        cancel: AtomicBool::new(false),
        events: Mutex::default(),
        overrides: Overrides::default(),
        runners: Vec::new(),
        control: false,
        floor: settle::NoiseFloor::assumed(),
        before: 0,
        opinions: Opinions::none(),
        limit_cache: None,
        fresh: false,
    };
    kit.programs.insert("echo", echo);
    kit.programs.insert("wrong", |_| ok(1));
    kit.programs.insert("crash", |_| Ok(observation(Exit::Signal(11), ms(1))));
    kit.programs.insert("slow", |s| {
        echo(s)?;
        ok(3000)
    });
    for n in 1..=3 {
        let case = kit.case(&format!("secret/{n}"), &format!("{n}\n"), &format!("{n}\n"));
        kit.package.data.groups[0].cases.push(case);
    }
    kit
}

/// Prints its input.
pub(crate) fn echo(stage: &mut Stage) -> Result<Observation, SystemError> {
    let input = stage.read_all();
    stage.write(&String::from_utf8_lossy(&input)).unwrap();
    ok(10)
}

/// Ended well after so many milliseconds.
pub(crate) fn ok(cpu: u64) -> Result<Observation, SystemError> {
    exit(0, cpu)
}

/// Exited so after so many milliseconds.
pub(crate) fn exit(code: i32, cpu: u64) -> Result<Observation, SystemError> {
    Ok(observation(Exit::Code(code), ms(cpu)))
}

pub(crate) fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

pub(crate) fn group(name: &str) -> TestGroup {
    let settings = GroupSettings {
        break_on_reject: true,
        grading: Grading::Sum,
        accept_score: 1.0,
        reject_score: 0.0,
        range: None,
        max_score: None,
        require_pass: Vec::new(),
    };
    TestGroup { name: name.to_owned(), settings, groups: Vec::new(), cases: Vec::new() }
}

fn package() -> Package {
    Package {
        short_name: "p".into(),
        title: "P".into(),
        format: Format::V2025_09,
        scoring: false,
        interactive: false,
        multi_pass: false,
        submit_answer: false,
        limits: PackageLimits {
            time: TimeLimit::Stated { limit: ms(2000), source: "problem.yaml: limits.time_limit".into() },
            rule: Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution: 1.0 },
            memory: None,
            output: None,
            code: None,
            compilation_time: None,
            compilation_memory: None,
            validation_time: None,
            validation_memory: None,
            validation_output: None,
            passes: 1,
        },
        validator: Validator::Default,
        data: TestGroup { groups: vec![group("secret")], ..group("") },
        grader: None,
        include: Vec::new(),
        submissions: Vec::new(),
        languages: None,
        constants: Vec::new(),
        maximise: true,
        features: judge::package::FormatFeatures::default(),
    }
}

impl Kit {
    /// The same package in the legacy format.
    pub(crate) fn legacy(&mut self) {
        let plain = Grading::LegacyDefault {
            verdict: VerdictMode::WorstError,
            score: ScoreMode::Sum,
            ignore_sample: false,
            accept_if_any_accepted: false,
        };
        self.package.format = Format::Legacy;
        self.package.data.settings.grading = plain.clone();
        self.package.data.groups.iter_mut().for_each(|group| group.settings.grading = plain.clone());
    }

    /// Writes a file of the package.
    pub(crate) fn file(&self, path: &str, content: &str) -> SourceFile {
        let full = self.dir.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, content).unwrap();
        let name = path.rsplit('/').next().unwrap().to_owned();
        SourceFile { path: path.to_owned(), name, executable: false }
    }

    pub(crate) fn case(&self, name: &str, input: &str, answer: &str) -> TestCase {
        TestCase {
            name: name.to_owned(),
            input: self.file(&format!("data/{name}.in"), input).path,
            answer: self.file(&format!("data/{name}.ans"), answer).path,
            args: Vec::new(),
            validator_flags: Vec::new(),
            files: Vec::new(),
            ..TestCase::default()
        }
    }

    /// A program of the package that is played by this function.
    pub(crate) fn program(&mut self, path: &str, name: &'static str, play: Play) -> Program {
        self.programs.insert(name, play);
        Program { path: path.to_owned(), files: vec![self.file(path, name)], ..Program::default() }
    }

    /// The package's validator.
    pub(crate) fn validator(&mut self, play: Play) {
        let program = self.program("output_validator/v.sim", "validator", play);
        self.package.validator = Validator::Custom(vec![program]);
    }

    /// A jury submission that plays a known program, and the verdict it must have.
    pub(crate) fn jury(&mut self, path: &str, name: &str, expected: Verdict, bounds: TimeBounds) {
        let program =
            Program { path: path.to_owned(), files: vec![self.file(path, name)], ..Program::default() };
        let expectation = Expectation { verdicts: vec![expected], ..Expectation::default() };
        let limits = OwnLimits::default();
        let jury = JurySubmission { program, expectation, language: None, entry_point: None, bounds, limits };
        self.package.submissions.push(jury);
    }

    /// Judges a submission that plays this program.
    pub(crate) fn judge(&mut self, program: &str, mode: JudgeMode) -> Result<JudgedSubmission, Fault> {
        self.judge_as(program, "sim", mode)
    }

    pub(crate) fn judge_as(
        &mut self,
        program: &str,
        extension: &str,
        mode: JudgeMode,
    ) -> Result<JudgedSubmission, Fault> {
        self.judge_parts(&[(&format!("main.{extension}"), program)], mode)
    }

    /// Judges a submission of these files.
    pub(crate) fn judge_parts(
        &mut self,
        files: &[(&str, &str)],
        mode: JudgeMode,
    ) -> Result<JudgedSubmission, Fault> {
        let part = |(name, content): &(&str, &str)| LoadedFile {
            name: name.to_string(),
            executable: false,
            content: content.as_bytes().to_vec(),
        };
        let submission = Submission {
            name: files[0].0.to_owned(),
            parts: files.iter().map(part).collect(),
            language: None,
            entry: None,
            of_jury: false,
        };
        let before = self.before;
        self.with_job(mode, 1, |job, slots| {
            let benches = PreparedSlot::all(job, slots)?;
            let found = time_limit(&job, &benches)?;
            for _ in 0..before {
                judge_submission(&benches[0], &submission, &found.time, mode)?;
            }
            judge_submission(&benches[0], &submission, &found.time, mode)
        })
    }

    /// Executes a program by itself.
    pub(crate) fn execute(&mut self, asked: &Execution) -> Result<Executed, Fault> {
        self.with_job(JudgeMode::AllTests, 1, |job, slots| {
            let conditions = Conditions {
                languages: job.languages,
                floor: &job.options.floor,
                layout: job.options.layout,
                cancel: job.cancel,
                emit: job.emit,
            };
            execute(&slots[0], asked, conditions)
        })
    }

    pub(crate) fn verify(&mut self, jobs: usize) -> Result<Verification, Fault> {
        self.with_job(JudgeMode::AllTests, jobs, |job, slots| {
            let all: Vec<_> = job.package.submissions.iter().collect();
            verify_package(job, slots, &all, &|_| {})
        })
    }

    /// The scales of reference time, by the jury's programs.
    pub(crate) fn scales(&mut self) -> Result<InferredScales, Fault> {
        self.with_job(JudgeMode::AllTests, 1, |job, slots| {
            let bench = PreparedSlot::new(job, &slots[0])?;
            engine::opinion::scales(&bench)
        })
    }

    /// Measures the jury's programs, so often; under load, too, where a load is given.
    pub(crate) fn calibrate(
        &mut self,
        runs: u32,
        load: Option<&dyn Fn(bool) -> Result<(), Fault>>,
    ) -> Result<Calibration, Fault> {
        self.with_job(JudgeMode::AllTests, 1, |job, slots| {
            let bench = PreparedSlot::new(job, &slots[0])?;
            calibrate(&bench, &CalibrationOptions { runs, load, tell: &|_, _| {} })
        })
    }

    fn with_job<R>(&mut self, mode: JudgeMode, jobs: usize, work: impl FnOnce(Job, &[Slot]) -> R) -> R {
        let source = Source::open(self.dir.path(), SourceLimits::USUAL).unwrap();
        let toolchain = |language: &str| Toolchain {
            language: language.to_owned(),
            paths: Paths::new(),
            compile_view: View::default(),
            run_view: View::default(),
        };
        let host = Host { root: PathBuf::from("/"), path: Vec::new(), homes: Vec::new() };
        let languages = Languages::new(Table::parse(TABLE, "test").unwrap(), host).with_toolchains(vec![
            toolchain("sim"),
            toolchain("slow"),
            toolchain("heavy"),
        ]);
        self.runners = (0..jobs).map(|_| (self.runner(), self.runner())).collect();
        let station =
            |runner: &Arc<Simulated>| Station::new(Box::new(Shared(runner.clone())), Placement::default());
        let slot = |(main, auxiliary): &(Arc<Simulated>, Arc<Simulated>)| Slot {
            main: station(main),
            auxiliary: Some(station(auxiliary)),
            crew: Crew::default(),
            control: self.control.then(|| control(self.dir.path().join("looks"))),
        };
        let slots: Vec<Slot> = self.runners.iter().map(slot).collect();
        let emit = |event: Event| self.events.lock().unwrap().push(event);
        let job = Job {
            package: &self.package,
            source: &source,
            languages: &languages,
            options: Options {
                overrides: self.overrides,
                mode,
                layout: Layout::default(),
                meter: engine::clocks::Meter::Kernel,
                floor: self.floor,
            },
            opinions: &self.opinions,
            limit_cache: LimitCache {
                directory: self.limit_cache.as_deref(),
                machine: "simulated",
                fresh: self.fresh,
            },
            cancel: &self.cancel,
            emit: &emit,
        };
        work(job, &slots)
    }

    fn runner(&self) -> Arc<Simulated> {
        let programs = self.programs.clone();
        Arc::new(Simulated::new(move |stage| {
            let called = stage.spec().argv[0].clone();
            if called == "/compiler" {
                let source = stage.file(&format!("/program/{}", stage.spec().argv[1])).unwrap();
                if source.starts_with(b"syntax error") {
                    stage.write_error("main.sim:1: error").unwrap();
                    return exit(1, 1);
                }
                if source.starts_with(b"refused") {
                    let blame = engine::Blame::Content;
                    return Err(SystemError { blame, ..SystemError::new("request", "it is too long") });
                }
                return ok(1);
            }
            if let Some(play) = programs.get(called.as_str()) {
                return play(stage);
            }
            let name = String::from_utf8(stage.file(&called).expect("no such program")).unwrap();
            let play = programs.get(name.as_str()).unwrap_or_else(|| panic!("no program plays `{name}`"));
            play(stage)
        }))
    }

    /// No box is left on any runner.
    pub(crate) fn assert_clean(&self) {
        for (main, auxiliary) in &self.runners {
            assert_eq!((main.boxes(), auxiliary.boxes()), (0, 0), "boxes are left");
        }
    }
}

/// `AC AC WA`.
pub(crate) fn verdicts(judgement: &Judgement) -> String {
    judgement.tests.iter().map(|t| t.verdict.code()).collect::<Vec<_>>().join(" ")
}
