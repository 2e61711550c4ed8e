//! What a package means, whichever format it follows.

use super::FormatFeatures;
use crate::compare::BuiltIn;
pub use model::Inference;
use model::{Bytes, Nanos, Verdict};
use std::collections::BTreeSet;

/// Which specification a package follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Kattis `legacy`.
    Legacy,
    /// `legacy-icpc`, the pass-fail subset.
    LegacyIcpc,
    /// `2025-09`, and its draft alias `2023-07-draft`.
    V2025_09,
    /// A format that is none of Kattis', by its importer's name. It is scored as 2025-09.
    Foreign(&'static str),
}

impl Format {
    /// Its name in reports: that of the specification, else of the system it is from.
    pub fn name(self) -> &'static str {
        match self {
            Format::Legacy => "legacy",
            Format::LegacyIcpc => "legacy-icpc",
            Format::V2025_09 => "2025-09",
            Format::Foreign(name) => name,
        }
    }
}

/// A package that can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// Short name: that of the directory or archive.
    pub short_name: String,
    /// Title for people, English when there is one.
    pub title: String,
    /// Its format.
    pub format: Format,
    /// Points instead of pass-fail.
    pub scoring: bool,
    /// The validator talks to the submission.
    pub interactive: bool,
    /// The submission is run again with what the validator hands on.
    pub multi_pass: bool,
    /// Submissions are files of answers, not programs.
    pub submit_answer: bool,
    /// Limits stated by the package.
    pub limits: PackageLimits,
    /// How a run's output is judged.
    pub validator: Validator,
    /// `data/`, with `sample` and `secret` as its groups.
    pub data: TestGroup,
    /// Custom grader (legacy `graders/`), if any group asks for one.
    pub grader: Option<Program>,
    /// Files added to submissions of a language (`None`: of every language).
    pub include: Vec<Include>,
    /// Jury submissions, ordered by path.
    pub submissions: Vec<JurySubmission>,
    /// Language codes (specification appendix) that may be used; `None`: all.
    pub languages: Option<BTreeSet<String>>,
    /// Named constants of 2025-09, substituted for `{{name}}` in include files and validators' sources. A constant
    /// `n` is listed as `n`, as `n.value` and once for each variant (`n.tex`).
    pub constants: Vec<(String, String)>,
    /// For each scoring objective: higher is better.
    pub maximise: bool,
    /// Where it does other than a Kattis package.
    pub features: FormatFeatures,
}

/// Limits as the package states them; `None`: not stated, the judge's default holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageLimits {
    /// CPU time per test case.
    pub time: TimeLimit,
    /// The rule by which a time limit is inferred, also where one is stated: what it should be can be asked all the same.
    pub rule: Inference,
    /// Memory of a run.
    pub memory: Option<Bytes>,
    /// Output of a run.
    pub output: Option<Bytes>,
    /// Total size of a submission's sources.
    pub code: Option<Bytes>,
    /// CPU time of a compilation.
    pub compilation_time: Option<Nanos>,
    /// Memory of a compilation.
    pub compilation_memory: Option<Bytes>,
    /// CPU time of a validator run.
    pub validation_time: Option<Nanos>,
    /// Memory of a validator run.
    pub validation_memory: Option<Bytes>,
    /// Output of a validator run.
    pub validation_output: Option<Bytes>,
    /// Most passes of a multi-pass run; 1 otherwise.
    pub passes: u32,
}

/// Where the time limit comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeLimit {
    /// Stated, with the file (and field) that states it.
    Stated {
        /// The limit.
        limit: Nanos,
        /// Such as `problem.yaml: limits.time_limit`.
        source: String,
    },
    /// To be inferred from jury submissions.
    Inferred(Inference),
}

/// How output is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Validator {
    /// Token comparison; its flags come with each test case.
    Default,
    /// Programs of the package; each must accept. 2025-09 has one at most.
    Custom(Vec<Program>),
}

/// A program of the package or a submission: source files that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Path in the package of the file or directory that is the program.
    pub path: String,
    /// Its files.
    pub files: Vec<SourceFile>,
    /// Its language, an id or a package language code, where the package names it.
    pub language: Option<String>,
    /// Options for its compiler.
    pub options: Vec<String>,
}

/// One file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path in the package.
    pub path: String,
    /// Path within the program's directory: relative, `/` between parts, never `..`.
    pub name: String,
    /// Has an execute permission.
    pub executable: bool,
}

/// Files added to every submission of a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Language code as in the package's directory name; `None` for `default`.
    pub language: Option<String>,
    /// The files.
    pub files: Vec<SourceFile>,
    /// Text that goes before each source of the submission.
    pub before_sources: String,
    /// Name without extension for the source of a single-file submission, if the files use it as a unit of that name.
    pub own_name: Option<String>,
}

/// A directory of test data: a group, with the settings in force after inheritance.
#[derive(Clone, Debug, PartialEq)]
pub struct TestGroup {
    /// Path below `data/`, such as `secret/group1`; empty for `data` itself.
    pub name: String,
    /// Settings in force.
    pub settings: GroupSettings,
    /// Groups inside, ordered by name.
    pub groups: Vec<TestGroup>,
    /// Test cases directly inside, ordered by name.
    pub cases: Vec<TestCase>,
}

impl TestGroup {
    /// Every test case of the group and the groups inside, in judging order.
    pub fn all_cases(&self) -> Vec<&TestCase> {
        let mut all: Vec<&TestCase> = Vec::new();
        self.collect(&mut all);
        all
    }

    fn collect<'a>(&'a self, into: &mut Vec<&'a TestCase>) {
        into.extend(&self.cases);
        self.groups.iter().for_each(|g| g.collect(into));
    }
}

/// Settings of a test group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSettings {
    /// Stop at the first rejected case or group.
    pub break_on_reject: bool,
    /// How results are put together.
    pub grading: Grading,
    /// Legacy: score of an accepted case without a score of its own.
    pub accept_score: f64,
    /// Legacy: score of a rejected case.
    pub reject_score: f64,
    /// Lowest and highest score the group may have; `None`: unbounded.
    pub range: Option<(f64, f64)>,
    /// 2025-09: the most the group can give, once bounded.
    pub max_score: Option<f64>,
    /// 2025-09: names of groups that must be accepted for this one to be judged.
    pub require_pass: Vec<String>,
}

/// How the results of a group's members become the group's.
#[derive(Clone, Debug, PartialEq)]
pub enum Grading {
    /// The legacy default grader with these modes.
    LegacyDefault {
        /// Verdict.
        verdict: VerdictMode,
        /// Score.
        score: ScoreMode,
        /// The sample group does not count at the top.
        ignore_sample: bool,
        /// Accepted as soon as any member is.
        accept_if_any_accepted: bool,
    },
    /// The package's grader, called with these flags.
    Custom {
        /// `grader_flags`.
        flags: Vec<String>,
    },
    /// 2025-09 `score_aggregation: pass-fail`: `max_score` if all members are accepted, else 0.
    PassFail,
    /// 2025-09 `score_aggregation: sum`.
    Sum,
    /// 2025-09 `score_aggregation: min`.
    Min,
    /// The product of the members' shares of `max_score` (CMS, `GroupMul`).
    Product,
    /// `max_score` if the share of each member is above 0 and at most this, else 0 (CMS, `GroupThreshold`).
    Threshold(f64),
}

/// Legacy verdict modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictMode {
    /// The worst, in the order JE, RTE, MLE, TLE, OLE, WA.
    WorstError,
    /// The first that is not accepted.
    FirstError,
    /// Always accepted.
    AlwaysAccept,
}

/// Legacy score modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreMode {
    /// Sum of the members.
    Sum,
    /// Mean of the members.
    Average,
    /// Least of the members.
    Min,
    /// Greatest of the members.
    Max,
}

/// One test case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestCase {
    /// Path below `data/` without extension, such as `secret/group1/01`.
    pub name: String,
    /// Path in the package of the input.
    pub input: String,
    /// Path in the package of the answer; empty when the package has none, in which case the validator is
    /// given an empty file.
    pub answer: String,
    /// Arguments for the submission.
    pub args: Vec<String>,
    /// Flags for the output validator, all levels joined.
    pub validator_flags: Vec<String>,
    /// Files put into the working directory.
    pub files: Vec<SourceFile>,
    /// How an output is compared where the package has no validator.
    pub comparison: BuiltIn,
    /// The most it gives in a group whose members are summed; `None`: its share of the group's `max_score`.
    pub points: Option<f64>,
    /// Whether its output may be submitted.
    pub handed_in: HandedIn,
    /// Arguments for input validators.
    pub input_validator_args: ValidatorArgs,
}

/// Words for validators: the name of one, or none for all, and its arguments.
pub type ValidatorArgs = Vec<(String, Vec<String>)>;

/// Whether the output for a test case is submitted as a file, in place of a program that makes it or beside one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HandedIn {
    /// It is not, unless all of the problem is of the type `submit-answer`.
    #[default]
    No,
    /// It may be, under this name; else the program runs.
    May(String),
    /// It is, under this name; no program runs.
    Must(String),
}

impl HandedIn {
    /// The name of the file.
    pub fn name(&self) -> Option<&str> {
        match self {
            HandedIn::No => None,
            HandedIn::May(name) | HandedIn::Must(name) => Some(name),
        }
    }
}

/// A submission the jury wrote, and what it promises.
#[derive(Clone, Debug, PartialEq)]
pub struct JurySubmission {
    /// The program; its path is how it is named.
    pub program: Program,
    /// What it must earn.
    pub expectation: Expectation,
    /// Language code given by submissions.yaml, if any.
    pub language: Option<String>,
    /// Entry point (file or class) given by submissions.yaml, if any.
    pub entry_point: Option<String>,
    /// Whether its times bound the time limit from below, from above, both or neither.
    pub bounds: TimeBounds,
    /// Limits of its own, by which alone its promise holds.
    pub limits: OwnLimits,
}

/// Limits of one jury submission. What is absent is as for everyone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// CPU time of a test, before language factors.
    pub time: Option<Nanos>,
    /// Memory of a test.
    pub memory: Option<Bytes>,
}

/// Use of a jury submission when a time limit is inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBounds {
    /// The limit must let it pass.
    pub lower: bool,
    /// The limit must stop it on some test.
    pub upper: bool,
}

/// What a jury submission promises. All parts must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// Accepted final verdicts; empty: any. This is what `expected` shows.
    pub verdicts: Vec<Verdict>,
    /// Final verdicts that are good as well, though not what the directory is named after: a legacy
    /// `time_limit_exceeded` submission may fail an earlier test with a wrong answer. Whatever holds here,
    /// `permitted` and `required` must hold too.
    pub tolerated: Vec<Verdict>,
    /// Verdicts that single tests may have; `None`: any.
    pub permitted: Option<BTreeSet<Verdict>>,
    /// At least one test must have one of these; empty: no such demand.
    pub required: BTreeSet<Verdict>,
    /// Lowest and highest final score.
    pub score: Option<(f64, f64)>,
    /// Accepted, yet below the full score.
    pub partial: bool,
    /// Score of a test below which an accepted one counts as wrong (DMOJ, `linecount`).
    pub full: Option<f64>,
    /// Text that some judge or team message must contain.
    pub message: Option<String>,
    /// Expectations for single groups or cases: glob below `data/`, and what must hold there.
    pub within: Vec<(String, Expectation)>,
}
