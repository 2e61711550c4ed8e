//! What packages of other formats have and Kattis' does not: how their programs are called and answer, tests that are made,
//! files in place of standard streams. The default is Kattis' way.

use super::{Program, SourceFile, TestCase};

/// Where a package does other than a Kattis package.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormatFeatures {
    /// How validators, or the interactor, are called and answer.
    pub calls: Calls,
    /// Judges what the interactor wrote, once it accepted.
    pub after: Option<FollowUpChecker>,
    /// The submission runs as several processes at the same time, and the interactor is their manager.
    pub processes: Option<Processes>,
    /// What a second pass of a multi-pass run reads, where no `nextpass.in` says it.
    pub second_pass: SecondPass,
    /// Files that take the place of a submission's standard streams.
    pub file_io: FileIo,
    /// Submissions in Python do not buffer their standard output (DMOJ, `unbuffered`).
    pub unbuffered: bool,
    /// Tests, or parts of them, that are made before anything is judged.
    pub made: Made,
    /// Programs that look at the tests themselves. Only verification of the package runs them.
    pub checks: Vec<TestCheck>,
    /// What validators are tried with. Only verification of the package does.
    pub validator_tests: Vec<ValidatorTest>,
}

/// What decides after an interactor that accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowUpChecker {
    /// The checker.
    pub program: Program,
    /// How it is called.
    pub calls: Calls,
}

/// Processes of one submission, each of which talks to the manager through two FIFOs (CMS, "Communication"). What they
/// use of CPU time together is held against the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processes {
    /// How many, from 1 to [`Processes::MOST`].
    pub count: u32,
    /// The FIFOs are a process's standard streams; else their names are its arguments: that to read, that to write.
    pub streams: bool,
}

impl Processes {
    /// Each takes a sandbox of its own, beside all others.
    pub const MOST: u32 = 16;
}

/// A program that tells whether tests are as they should be: it reads one on standard input.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCheck {
    /// The program.
    pub program: Program,
    /// Its exit code for what is good; any other is for what is not.
    pub accepts: i32,
    /// What it reads, and its arguments with each.
    pub runs: Vec<TestCheckRun>,
}

/// One test that a program looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCheckRun {
    /// Path of the file in the package that it reads on standard input.
    pub file: String,
    /// Path of the input in the package, where that is another file. [`Calls::INPUT`] stands for it in arguments.
    pub input: Option<String>,
    /// Files in its work directory.
    pub files: Vec<SourceFile>,
    /// Arguments.
    pub args: Vec<String>,
    /// Whether it is as it should be, and accepted by all; else one program at least must reject it.
    pub good: bool,
}

/// A test case for the validators themselves (2025-09, "Validation test data").
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatorTest {
    /// The test case. Its input is valid where there is an output.
    pub case: TestCase,
    /// Path of an output to it in the package, for the output validators; `None`: the input is for the input validators.
    pub output: Option<String>,
    /// Whether all validators must accept; else one at least must reject.
    pub good: bool,
}

/// How a program of the package that decides is called, and by what it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// What its answer is read from.
    pub protocol: Protocol,
    /// Its arguments, in which [`Calls::INPUT`], [`Calls::OUTPUT`] and [`Calls::ANSWER`] stand for paths, and [`Calls::CPU`] and
    /// [`Calls::MEMORY`] for what the submission's run took. With [`Protocol::Kattis`] they follow the usual ones.
    pub arguments: Vec<String>,
}

impl Calls {
    /// Stands for the path of the test's input.
    pub const INPUT: &'static str = "{input_file}";
    /// Stands for the path of the submission's output; of an interactor, of the file it may write.
    pub const OUTPUT: &'static str = "{output_file}";
    /// Stands for the path of the test's answer.
    pub const ANSWER: &'static str = "{answer_file}";
    /// Stands for the paths of all FIFOs of [`Processes`], as arguments of their own: of each process that from it, that to it.
    pub const FIFOS: &'static str = "{fifos}";
    /// Stands for the CPU time of the run that is judged, in seconds; of an interactor, for 0.
    pub const CPU: &'static str = "{cpu_seconds}";
    /// Stands for the peak memory of that run, in KiB; 0 where it is not known.
    pub const MEMORY: &'static str = "{memory_kib}";
    /// The order of testlib's checkers and interactors (testlib.h, `registerTestlibCmd`, `registerInteraction`).
    pub const TESTLIB_CHECKER: [&'static str; 3] = [Calls::INPUT, Calls::OUTPUT, Calls::ANSWER];

    /// Calls with these arguments.
    pub fn new(protocol: Protocol, arguments: &[&str]) -> Calls {
        Calls { protocol, arguments: arguments.iter().map(|word| (*word).to_string()).collect() }
    }
}

/// By what a validator, checker or interactor answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Exit codes 42 and 43, and files of a feedback directory.
    #[default]
    Kattis,
    /// testlib's exit codes, and `points X` on standard error.
    Testlib {
        /// Points are percent of the test's (Polygon, `treat-points-from-checker-as-percent`).
        percent: bool,
    },
    /// 0 accepts, 1 rejects (DMOJ, `default`).
    ZeroOne,
    /// As testlib, but partial points are `partial X/Y` (DMOJ, `coci`).
    Coci,
    /// As `ZeroOne`, but two lines of standard output, each with a number, are a fraction (DMOJ, `peg`).
    Peg,
    /// A number on standard output is the share of the points (CMS).
    Cms,
}

/// What a second pass reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondPass {
    /// `nextpass.in` in the feedback directory, as often as it is there.
    #[default]
    Kattis,
    /// There is one second pass, and it reads what the checker printed in the first (Polygon, run twice).
    Printed,
    /// There is one second pass, without interactor, and it reads what the interactor wrote in the first.
    Written,
}

/// Names of files in the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileIo {
    /// The input is there, and standard input is empty.
    pub input: Option<String>,
    /// Standard input has the input too.
    pub both: bool,
    /// The output is taken from there; standard output does not count.
    pub output: Option<String>,
}

/// Files of the package that are made from others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// Generators.
    pub programs: Vec<Program>,
    /// The files, each after those it is made from.
    pub files: Vec<MadeFile>,
}

/// A file that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeFile {
    /// Path in the package. Where there is such a file already, this takes its place.
    pub path: String,
    /// How.
    pub by: Maker,
}

/// How a file is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maker {
    /// A generator writes it.
    Program {
        /// Index in [`Made::programs`].
        program: usize,
        /// Its arguments.
        args: Vec<String>,
        /// Path of the file it reads; `None`: nothing.
        stdin: Option<String>,
        /// From its standard error, not its standard output.
        from_errors: bool,
    },
    /// The jury's submission of this path writes it, given this input.
    Submission {
        /// Path of the jury's submission.
        path: String,
        /// Path of the input.
        input: String,
    },
    /// It is another with every end of line a single line feed.
    Lines {
        /// Path of the other, which may be the same.
        of: String,
        /// The last line is ended too.
        ended: bool,
    },
    /// It is empty.
    Empty,
    /// It has this text, which is ours.
    Text(&'static str),
}

impl Made {
    /// Whether a program is to be run for it.
    pub fn runs_programs(&self) -> bool {
        self.files.iter().any(|file| matches!(file.by, Maker::Program { .. } | Maker::Submission { .. }))
    }
}
