//! Running the package's own programs over what a submission wrote: validators and graders.

use crate::limits::Settings;
use crate::program::{Boxed, Built, RunInputs};
use crate::{Fault, SystemError, files};
use judge::compare::{BuiltIn, CompareOptions, compare};
use judge::package::{Calls, Format, Protocol, TestCase};
use judge::scoring::{GroupResult, parse_grade};
use judge::verdict::{FeedbackFiles, Validation, ValidationOutcome, validation};
use model::{BoxMount, Bytes, Found, Limits, Observation, RunSpec, Status};
use source::Source;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, empty};
use std::os::fd::OwnedFd;

const FEEDBACK: &str = "/feedback";
pub(crate) const INPUT: &str = "/data/input";
const ANSWER: &str = "/data/answer";
const OUTPUT: &str = "/data/output";
/// What an interactor of another format may write, in its feedback directory.
const WRITTEN: &str = "output";
const NEXT_PASS: &str = "nextpass.in";
/// Most of a message that is kept.
const MESSAGE: u64 = 64 << 10;
/// Most that a validator may leave in its feedback directory: far more than messages need, enough for the
/// inputs of further passes and images.
const FEEDBACK_BOX: Bytes = Bytes::from_mib(256);

/// Compares an output with the answer by the default validator.
pub(crate) fn default_validation(
    case: &TestCase,
    source: &Source,
    output: &File,
    format: Format,
) -> Result<Validation, Fault> {
    if case.comparison != BuiltIn::Kattis {
        return built_in_validation(case, source, output);
    }
    let options = match CompareOptions::parse(&case.validator_flags, format) {
        Ok(options) => options,
        Err(e) => {
            return Ok(Validation::plain(ValidationOutcome::Error(e.to_string()), String::new()));
        }
    };
    let answer: Box<dyn BufRead> = match case.answer.as_str() {
        "" => Box::new(BufReader::new(empty())),
        path => Box::new(BufReader::new(source.file(path)?)),
    };
    let fault =
        |e: std::io::Error| SystemError::new(format!("comparing the output of {}", case.name), e.to_string());
    let output = BufReader::new(files::reopen(output).map_err(fault)?);
    Ok(match compare(answer, output, &options).map_err(fault)? {
        None => Validation::plain(ValidationOutcome::Accepted, String::new()),
        Some(difference) => Validation::plain(ValidationOutcome::Rejected, difference.to_string()),
    })
}

/// Compares by a comparison of another format. Both sides are held in memory: the output is no larger than its limit.
fn built_in_validation(case: &TestCase, source: &Source, output: &File) -> Result<Validation, Fault> {
    let answer = if case.answer.is_empty() { Vec::new() } else { source.bytes(&case.answer)? };
    let (mut found, fault) = (Vec::new(), |e: std::io::Error| {
        SystemError::new(format!("comparing the output of {}", case.name), e.to_string())
    });
    files::reopen(output).and_then(|mut file| file.read_to_end(&mut found)).map_err(fault)?;
    Ok(match case.comparison.compare(&answer, &found) {
        Err(why) => Validation::plain(ValidationOutcome::Error(why), String::new()),
        Ok(compared) if compared.share <= 0.0 => {
            Validation::plain(ValidationOutcome::Rejected, compared.message)
        }
        Ok(compared) => {
            let multiplier = (compared.share < 1.0).then_some(compared.share);
            Validation { multiplier, ..Validation::plain(ValidationOutcome::Accepted, compared.message) }
        }
    })
}

/// A custom validator at one test case: its feedback directory lives through all passes.
pub(crate) struct Validating<'a> {
    pub(crate) validator: &'a Built<'a>,
    feedback: Boxed<'a>,
    answer: File,
    flags: &'a [String],
    multi_pass: bool,
    calls: &'a Calls,
    /// Paths that stand for [`Calls::FIFOS`].
    pub(crate) fifos: Vec<String>,
    /// What the run took that is judged: [`Calls::CPU`] and [`Calls::MEMORY`].
    pub(crate) taken: [String; 2],
    printed: File,
    errors: File,
}

impl<'a> Validating<'a> {
    pub(crate) fn new(
        validator: &'a Built<'a>,
        case: &'a TestCase,
        source: &'a Source,
        multi_pass: bool,
        calls: &'a Calls,
    ) -> Result<Validating<'a>, Fault> {
        let answer = match case.answer.as_str() {
            "" => files::on_disk(&mut empty(), 0)
                .map_err(|e| SystemError::new("making an empty answer", e.to_string()))?,
            path => source.file(path)?,
        };
        Validating::by(validator, answer, &case.validator_flags, multi_pass, calls)
    }

    /// The same without a package.
    pub(crate) fn by(
        validator: &'a Built<'a>,
        answer: File,
        flags: &'a [String],
        multi_pass: bool,
        calls: &'a Calls,
    ) -> Result<Validating<'a>, Fault> {
        Ok(Validating {
            validator,
            feedback: Boxed::new(validator.context.runner, FEEDBACK_BOX)?,
            answer,
            flags,
            multi_pass,
            calls,
            fifos: Vec::new(),
            taken: ["0", "0"].map(str::to_owned),
            printed: files::in_memory("validator output")?,
            errors: files::in_memory("validator errors")?,
        })
    }

    /// The run of the validator over `input`, reading `stdin`; `output` is what the submission wrote, and `None` for an
    /// interactor. Its standard output is kept for its message unless it goes to `stdout`.
    pub(crate) fn prepare(
        &mut self,
        input: &File,
        output: Option<&File>,
        stdin: OwnedFd,
        stdout: Option<OwnedFd>,
        limits: Limits,
    ) -> Result<(RunSpec, Vec<OwnedFd>), Fault> {
        let shown = |file: File, what: &str| {
            files::readable_for_everyone(file)
                .map_err(|e| SystemError::new(format!("showing {what} to the validator"), e.to_string()))
        };
        let reopened = |file: &File, what: &str| {
            files::reopen(file)
                .map_err(|e| SystemError::new(format!("opening the {what} for the validator"), e.to_string()))
        };
        let (input, answer) = (reopened(input, "input")?, reopened(&self.answer, "answer")?);
        let output = output.map(|output| reopened(output, "output")).transpose()?;
        let shows_output = output.is_some();
        self.printed = files::in_memory("validator output")?;
        let kattis = self.calls.protocol == Protocol::Kattis;
        if !kattis {
            self.errors = files::in_memory("validator errors")?;
        }
        let printed = || crate::program::duplicate(&self.printed).map(OwnedFd::from);
        let errors = if kattis { &self.printed } else { &self.errors };
        let feedback = BoxMount { id: self.feedback.id, at: FEEDBACK.to_owned(), writable: true };
        let fixed = [INPUT.to_owned(), ANSWER.to_owned(), format!("{FEEDBACK}/")];
        Ok(self.validator.prepare(RunInputs {
            args: match kattis {
                true => {
                    let flags = self.flags.iter().cloned();
                    fixed.into_iter().chain(flags).chain(self.arguments(shows_output)).collect()
                }
                false => self.arguments(shows_output),
            },
            limits,
            stdin,
            stdout: match stdout {
                Some(fd) => fd,
                None => printed()?,
            },
            stderr: crate::program::duplicate(errors)?.into(),
            boxes: vec![(feedback, BTreeSet::new())],
            files: [
                Some((input, INPUT)),
                Some((answer, ANSWER)),
                output.filter(|_| !kattis).map(|output| (output, OUTPUT)),
            ]
            .into_iter()
            .flatten()
            .map(|(file, at)| Ok((shown(file, at)?.into(), at.to_owned())))
            .collect::<Result<_, SystemError>>()?,
        }))
    }

    fn arguments(&self, checks: bool) -> Vec<String> {
        let output = if checks { OUTPUT.to_owned() } else { format!("{FEEDBACK}/{WRITTEN}") };
        let [cpu, memory] = &self.taken;
        let put = |word: &String| {
            let known = [
                (Calls::INPUT, INPUT),
                (Calls::ANSWER, ANSWER),
                (Calls::OUTPUT, output.as_str()),
                (Calls::CPU, cpu),
                (Calls::MEMORY, memory),
            ];
            known.iter().fold(word.clone(), |word, (name, path)| word.replace(name, path))
        };
        let words = self.calls.arguments.iter().flat_map(|word| match word.as_str() {
            Calls::FIFOS => self.fifos.clone(),
            _ => vec![put(word)],
        });
        words.collect()
    }

    /// What the interactor wrote into the file it was given; empty when there is none.
    pub(crate) fn written(&self) -> Result<File, Fault> {
        let fault = |e: std::io::Error| SystemError::new("taking what the interactor wrote", e.to_string());
        Ok(match self.fetch(WRITTEN)?.file() {
            Some(mut found) => files::on_disk(&mut found, FEEDBACK_BOX.0).map_err(fault)?,
            None => files::on_disk(&mut empty(), 0).map_err(fault)?,
        })
    }

    /// What it printed, to be read from its start.
    pub(crate) fn printed_file(&self) -> Result<File, Fault> {
        let fault = |e: std::io::Error| SystemError::new("taking what the checker printed", e.to_string());
        let mut printed = files::reopen(&self.printed).map_err(fault)?;
        Ok(files::on_disk(&mut printed, FEEDBACK_BOX.0).map_err(fault)?)
    }

    /// What the validator decided, from its run and what it left.
    pub(crate) fn outcome(&self, observation: &Observation, limits: &Limits) -> Result<Validation, Fault> {
        if self.calls.protocol != Protocol::Kattis {
            let printed = read_head(&self.printed, "the checker's output")?;
            let errors = read_head(&self.errors, "the checker's errors")?;
            return Ok(self.calls.protocol.decided(observation, limits, &printed, &errors));
        }
        let next = self.next_pass()?;
        let found = FeedbackFiles {
            judge_message: self.text("judgemessage.txt")?,
            team_message: self.text("teammessage.txt")?,
            score: self.text("score.txt")?,
            multiplier: self.text("score_multiplier.txt")?,
            next_pass: matches!(next, Found::File(_)),
            unusable: matches!(next, Found::Other).then(|| {
                format!(
                    "the validator left a {NEXT_PASS} that is not a regular file of at most {} bytes",
                    FEEDBACK_BOX.0
                )
            }),
        };
        let mut decided = validation(observation, limits, found);
        if matches!(decided.outcome, ValidationOutcome::Error(_)) && decided.judge_message.is_empty() {
            decided.judge_message = self.printed()?;
        }
        Ok(decided)
    }

    /// Takes the next pass's input out of the feedback directory.
    pub(crate) fn next_input(&self) -> Result<File, Fault> {
        let fault = |why: String| SystemError::new("taking the input of the next pass", why);
        let mut found = self.next_pass()?.file().ok_or_else(|| fault("it has vanished".to_owned()))?;
        let input = files::on_disk(&mut found, FEEDBACK_BOX.0).map_err(|e| fault(e.to_string()))?;
        self.validator.context.runner.remove(self.feedback.id, NEXT_PASS)?;
        Ok(input)
    }

    /// The input of the next pass; one that is larger than what it lies in (it can have holes) is as good as none.
    fn next_pass(&self) -> Result<Found<File>, SystemError> {
        if !self.multi_pass {
            return Ok(Found::Nothing);
        }
        Ok(match self.fetch(NEXT_PASS)? {
            Found::File(file) if file.metadata().is_ok_and(|facts| facts.len() > FEEDBACK_BOX.0) => {
                Found::Other
            }
            found => found,
        })
    }

    fn fetch(&self, name: &str) -> Result<Found<File>, SystemError> {
        self.validator.context.runner.fetch(self.feedback.id, name)
    }

    /// What it printed.
    pub(crate) fn printed(&self) -> Result<String, SystemError> {
        read_head(&self.printed, "the validator's output")
    }

    /// A text that it left in its feedback directory.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, SystemError> {
        let Some(file) = self.fetch(name)?.file() else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(MESSAGE)
            .read_to_end(&mut bytes)
            .map_err(|e| SystemError::new(format!("reading the validator's {name}"), e.to_string()))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Runs the package's grader over the results of a group (legacy, "Graders").
pub(crate) fn grade(
    grader: &Built,
    flags: &[String],
    input: &str,
    settings: &Settings,
) -> Result<Result<GroupResult, String>, Fault> {
    let limits = settings.validation(grader.allowance);
    let output = files::in_memory("grader output")?;
    let (spec, fds) = grader.prepare(RunInputs {
        args: flags.to_vec(),
        limits,
        stdin: files::in_memory_with("grader input", input.as_bytes())?.into(),
        stdout: crate::program::duplicate(&output)?.into(),
        stderr: files::in_memory("grader errors")?.into(),
        boxes: Vec::new(),
        files: Vec::new(),
    });
    let observation = grader.context.run(&spec, fds)?;
    Ok(match observation.status(&limits) {
        Status::Ok => parse_grade(read_head(&output, "the grader's output")?.as_bytes()),
        _ => Err(format!("the grader failed: {}", crate::program::how_it_ended(&observation))),
    })
}

pub(crate) fn read_head(file: &File, what: &str) -> Result<String, SystemError> {
    files::head(file, MESSAGE).map_err(|e| SystemError::new(format!("reading {what}"), e.to_string()))
}
