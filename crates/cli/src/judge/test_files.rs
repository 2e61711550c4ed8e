//! Tests without a package: a package of them is laid out in a temporary directory, and judged as every other.

use crate::terminal::Failure;
use clap::Args;
use judge::package::{LOOSE_TIME_LIMIT, loose_group, loose_problem};
use std::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Options that stand for a package.
#[derive(Args, Debug)]
pub(super) struct TestArgs {
    /// Input file of a test, to judge without a package; repeat the option for each test
    #[arg(long = "in", value_name = "FILE", requires = "answers")]
    inputs: Vec<PathBuf>,
    /// Answer file of a test: one for each --in, in the same order
    #[arg(long = "answer", value_name = "FILE", requires = "inputs")]
    answers: Vec<PathBuf>,
    /// Directory of tests (NAME.in and NAME.ans), to judge without a package
    #[arg(long, value_name = "DIR", conflicts_with = "inputs")]
    tests: Option<PathBuf>,
    /// Accept numbers that differ from the answer by at most X, absolutely or relatively
    #[arg(long, value_name = "X", conflicts_with = "checker", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Source file of a checker (output validator). Its arguments are the input file, the answer file and a directory; it
    /// reads the output on standard input and exits with 42 (right) or 43 (wrong)
    #[arg(long, value_name = "FILE")]
    checker: Option<PathBuf>,
}

/// A package of tests, gone when this is dropped.
pub(super) struct TemporaryPackage {
    directory: TempDir,
}

/// What the package is called in results.
const NAME: &str = "tests";

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("must be a number of 0 or more, such as 1e-6".into()),
    }
}

impl TemporaryPackage {
    /// The directory to be read as a package.
    pub(super) fn package(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }
}

impl TestArgs {
    /// Whether they say that there is no package.
    pub(super) fn without_package(&self) -> bool {
        self.tests.is_some() || !self.inputs.is_empty()
    }

    /// Refuses what has no effect on a package.
    pub(super) fn refuse_for_package(&self) -> Result<(), Failure> {
        let named = [("--tolerance", self.tolerance.is_some()), ("--checker", self.checker.is_some())];
        match named.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} has no effect: the package says how output is compared\n\
                 hint: give {option} together with --in or --tests"
            ))),
            None => Ok(()),
        }
    }

    /// Lays out the package.
    pub(super) fn lay_out(&self) -> Result<TemporaryPackage, Failure> {
        let tests = self.pairs()?;
        let directory = tempfile::Builder::new().prefix("tauto-tests-").tempdir().map_err(Failure::system)?;
        let laid = TemporaryPackage { directory };
        let package = laid.package();
        let secret = package.join("data/secret");
        fs::create_dir_all(&secret).map_err(Failure::system)?;
        for test in &tests {
            copy(&test.input, &secret.join(format!("{}.in", test.name)))?;
            copy(&test.answer, &secret.join(format!("{}.ans", test.name)))?;
        }
        // Unless `--cpu-time` says something else.
        write(&package.join("problem.yaml"), &loose_problem(LOOSE_TIME_LIMIT, None))?;
        if let Some(tolerance) = self.tolerance {
            write(&secret.join("test_group.yaml"), &loose_group(tolerance))?;
        }
        if let Some(checker) = &self.checker {
            let name = checker.file_name().ok_or_else(|| named(checker, &"is not a file"))?;
            let place = package.join("output_validator");
            fs::create_dir(&place).map_err(Failure::system)?;
            copy(checker, &place.join(name))?;
        }
        Ok(laid)
    }

    fn pairs(&self) -> Result<Vec<Test>, Failure> {
        if let Some(directory) = &self.tests {
            return in_directory(directory);
        }
        if self.inputs.len() != self.answers.len() {
            let (inputs, answers) = (self.inputs.len(), self.answers.len());
            return Err(Failure::usage(format!(
                "--in is given {inputs} times and --answer {answers} times\n\
                 hint: give an --answer for each --in, in the same order"
            )));
        }
        let digits = self.inputs.len().to_string().len();
        let test = |(n, (input, answer)): (usize, (&PathBuf, &PathBuf))| Test {
            // A name of its own, whatever the files are called: the order is what was typed.
            name: format!("{:0digits$}", n + 1),
            input: input.clone(),
            answer: answer.clone(),
        };
        Ok(self.inputs.iter().zip(&self.answers).enumerate().map(test).collect())
    }
}

struct Test {
    name: String,
    input: PathBuf,
    answer: PathBuf,
}

fn in_directory(directory: &Path) -> Result<Vec<Test>, Failure> {
    let entries = fs::read_dir(directory).map_err(|e| named(directory, &e))?;
    let mut inputs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inputs.retain(|path| path.extension().is_some_and(|extension| extension == "in"));
    inputs.sort();
    if inputs.is_empty() {
        return Err(named(directory, &"has no tests\nhint: a test is a pair of files NAME.in and NAME.ans"));
    }
    let test = |input: PathBuf| {
        let answer = input.with_extension("ans");
        let name = input.file_stem().and_then(|stem| stem.to_str()).map(str::to_string);
        match (answer.is_file(), name) {
            (false, _) => Err(named(
                &input,
                &"has no answer\n\
                  hint: put the answer beside it, with the extension .ans",
            )),
            (_, None) => Err(named(&input, &"the name is not UTF-8")),
            (true, Some(name)) => Ok(Test { name, input, answer }),
        }
    };
    inputs.into_iter().map(test).collect()
}

fn named(path: &Path, why: &dyn Display) -> Failure {
    Failure::usage(format!("{}: {why}", path.display()))
}

/// Read and written rather than cloned: an input may be a pipe.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut source = File::open(from).map_err(|e| named(from, &e))?;
    if source.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err(named(from, &"is a directory"));
    }
    let mut copy = File::create(to).map_err(Failure::system)?;
    std::io::copy(&mut source, &mut copy).map_err(|e| named(from, &e))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(Failure::system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        tests: TestArgs,
    }

    fn args(words: &[&str]) -> Result<TestArgs, clap::Error> {
        Line::try_parse_from(["judge"].iter().chain(words)).map(|line| line.tests)
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for words in [&["--in", "a"][..], &["--answer", "a"], &["--tests", "d", "--in", "a", "--answer", "b"]]
        {
            assert!(args(words).is_err(), "{words:?}");
        }
        for text in ["-1", "x", "inf", "nan"] {
            assert!(args(&["--tests", "d", &format!("--tolerance={text}")]).is_err(), "{text}");
        }
        let one = args(&["--in", "a", "--in", "b", "--answer", "c"]).unwrap();
        let why = one.lay_out().err().unwrap().to_string();
        assert!(why.contains("--in is given 2 times and --answer 1 times"), "{why}");
        assert!(args(&["--tolerance", "1e-6"]).unwrap().refuse_for_package().is_err());
    }

    #[test]
    fn a_package_is_laid_out_and_goes() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["b.in", "b.ans", "a.in", "a.ans", "notes.txt", "check.py"] {
            fs::write(at(name), name).unwrap();
        }
        let directory = place.path().to_str().unwrap();
        let laid = args(&["--tests", directory, "--tolerance", "0.001"]).unwrap().lay_out().unwrap();
        let package = laid.package();
        assert_eq!(fs::read_to_string(package.join("data/secret/b.ans")).unwrap(), "b.ans");
        let group = fs::read_to_string(package.join("data/secret/test_group.yaml")).unwrap();
        assert_eq!(group, "output_validator_args: [float_tolerance, \"1e-3\"]\n");
        drop(laid);
        assert!(!package.exists());
        let checker = at("check.py");
        let laid = args(&["--tests", directory, "--checker", checker.to_str().unwrap()]).unwrap().lay_out();
        assert!(laid.unwrap().package().join("output_validator/check.py").is_file());
        fs::remove_file(at("a.ans")).unwrap();
        let why = args(&["--tests", directory]).unwrap().lay_out().err().unwrap().to_string();
        assert!(why.contains("a.in: has no answer"), "{why}");
    }
}
