//! Judging one test case: the submission's runs, and what the validator says.

use crate::clocks::Meter;
use crate::interact::{Interaction, Pipes, Side, interact};
use crate::limits::Settings;
use crate::program::{Boxed, Built, RunContext, RunInputs, duplicate, how_it_ended};
use crate::transcript::Listener;
use crate::validate::{Validating, default_validation, read_head};
use crate::{Fault, Runner, SystemError, files};
use judge::crash::telling_line;
use judge::package::{Calls, FileIo, Package, SecondPass, SourceFile, TestCase, Validator};
use judge::verdict::{self, Validation, ValidationOutcome, test_verdict};
use model::{BoxMount, Bytes, Charge, Limits, Observation, Speaker, Status, Transcript, Verdict};
use source::Source;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::thread::scope;

const FILES: &str = "/files";
const IO: &str = "/io";

/// Everything a test case needs besides the submission.
pub(crate) struct CaseContext<'a> {
    pub(crate) package: &'a Package,
    /// What the submission's time is measured by.
    pub(crate) meter: Meter,
    pub(crate) source: &'a Source,
    pub(crate) settings: &'a Settings,
    /// The package's validators, or its interactor; none: the default validator.
    pub(crate) validators: &'a [Built<'a>],
    /// The program that judges what the interactor wrote.
    pub(crate) after: Option<&'a (Built<'a>, Calls)>,
}

/// Limits of a submission's runs: those it is stopped by, and those it is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaseLimits {
    pub(crate) stop: Limits,
    pub(crate) judge: Limits,
}

/// A test case judged.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// The validator's result, of the last pass.
    pub(crate) validation: Option<Validation>,
    /// One run for each pass.
    pub(crate) runs: Vec<Observation>,
    /// For the jury.
    pub(crate) message: String,
}

/// One pass judged.
pub(crate) struct Pass {
    pub(crate) verdict: Verdict,
    pub(crate) validation: Option<Validation>,
    pub(crate) run: Observation,
    pub(crate) message: String,
}

impl CaseContext<'_> {
    /// Runs the submission on a test case and judges it.
    pub(crate) fn judge(
        &self,
        submission: &Built,
        limits: &CaseLimits,
        case: &TestCase,
    ) -> Result<Judged, Fault> {
        let data = CaseFiles::new(&case.files, self.source, &submission.context)?;
        let mut validating = self.validating(case)?;
        let mut input = self.source.file(&case.input)?;
        let mut runs = Vec::new();
        let second = self.package.features.second_pass;
        for n in 0..self.package.limits.passes.max(1) {
            let run = Run { context: self, submission, limits, case, data: data.as_ref(), input: &input };
            let pass = match (&self.package.validator, validating.first_mut(), second) {
                (_, _, SecondPass::Written) if n > 0 => run.plain(self.checking(case)?.as_mut_slice())?,
                (Validator::Custom(_), Some(interactor), _) if self.package.interactive => {
                    let pass = match self.package.features.processes {
                        Some(processes) => run.communicating(interactor, processes)?,
                        None => run.interactive(interactor)?,
                    };
                    if second == SecondPass::Written {
                        pass
                    } else {
                        self.judge_written(case, &input, interactor, pass)?
                    }
                }
                _ => run.plain(&mut validating)?,
            };
            runs.push(pass.run);
            let next = match second {
                SecondPass::Kattis => pass.validation.as_ref().is_some_and(|v| v.next_pass),
                SecondPass::Printed | SecondPass::Written => n == 0,
            };
            if pass.verdict != Verdict::Accepted || !next {
                let Pass { verdict, validation, message, .. } = pass;
                return Ok(Judged { verdict, validation, runs, message });
            }
            // Multi-pass packages have one validator (2025-09, "Output validators").
            let none = || SystemError::new("starting the next pass", "no validator asked for it");
            let validating = validating.first().ok_or_else(none)?;
            input = match second {
                SecondPass::Kattis => validating.next_input()?,
                SecondPass::Printed => validating.printed_file()?,
                SecondPass::Written => validating.written()?,
            };
        }
        let message =
            format!("the validator asked for more than {} passes (limits.validation_passes)", runs.len());
        Ok(Judged { verdict: Verdict::JudgeError, validation: None, runs, message })
    }

    /// What submission and interactor say to each other in one more run, of the first pass. `None`: there is no conversation between
    /// two.
    pub(crate) fn conversation(
        &self,
        submission: &Built,
        limits: &CaseLimits,
        case: &TestCase,
    ) -> Result<Option<Transcript>, Fault> {
        if !self.package.interactive || self.package.features.processes.is_some() {
            return Ok(None);
        }
        let data = CaseFiles::new(&case.files, self.source, &submission.context)?;
        let input = self.source.file(&case.input)?;
        let run = Run { context: self, submission, limits, case, data: data.as_ref(), input: &input };
        let mut validating = self.validating(case)?;
        validating.first_mut().map(|interactor| run.conversation(interactor)).transpose()
    }

    /// Judges what was submitted as the answer to a test case (2025-09, type `submit-answer`). `None`: nothing was.
    pub(crate) fn judge_answer(&self, answer: Option<&[u8]>, case: &TestCase) -> Result<Judged, Fault> {
        let Some(answer) = answer else {
            let message = "nothing was submitted for this test case".to_owned();
            return Ok(Judged { verdict: Verdict::WrongAnswer, validation: None, runs: Vec::new(), message });
        };
        self.judge_output(&files::in_memory_with("answer", answer)?, case)
    }

    /// Judges a file as what a submission printed.
    pub(crate) fn judge_output(&self, output: &File, case: &TestCase) -> Result<Judged, Fault> {
        let mut validating = self.validating(case)?;
        let validation = self.validate(case, &self.source.file(&case.input)?, output, &mut validating)?;
        let verdict = test_verdict(Status::Ok, Some(&validation));
        let message = said(verdict, Some(&validation));
        Ok(Judged { verdict, validation: Some(validation), runs: Vec::new(), message })
    }

    fn validating<'a>(&'a self, case: &'a TestCase) -> Result<Vec<Validating<'a>>, Fault> {
        (self.validators.iter())
            .map(|v| {
                Validating::new(v, case, self.source, self.package.multi_pass, &self.package.features.calls)
            })
            .collect()
    }

    /// The program that judges what the interactor wrote, where there is one.
    fn checking<'a>(&'a self, case: &'a TestCase) -> Result<Vec<Validating<'a>>, Fault> {
        let one = self.after.map(|(after, calls)| Validating::new(after, case, self.source, false, calls));
        one.into_iter().collect()
    }

    /// Judges what an interactor wrote that accepted: the checker's word is final.
    fn judge_written(
        &self,
        case: &TestCase,
        input: &File,
        interactor: &Validating,
        pass: Pass,
    ) -> Result<Pass, Fault> {
        if pass.verdict != Verdict::Accepted || self.after.is_none() {
            return Ok(pass);
        }
        let mut checking = self.checking(case)?;
        let written = match self.package.features.processes {
            Some(_) => interactor.printed_file()?,
            None => interactor.written()?,
        };
        let validation = self.validate(case, input, &written, &mut checking)?;
        let verdict = test_verdict(Status::Ok, Some(&validation));
        let message = said(verdict, Some(&validation));
        Ok(Pass { verdict, validation: Some(validation), message, ..pass })
    }

    /// Every validator must accept (legacy, "Output validators"); the first that does not decides.
    fn validate(
        &self,
        case: &TestCase,
        input: &File,
        output: &File,
        validating: &mut [Validating],
    ) -> Result<Validation, Fault> {
        let mut last = None;
        for validating in validating {
            let limits = self.settings.validation(validating.validator.allowance);
            let stdin = files::reopen(output)
                .map_err(|e| SystemError::new("opening the output for the validator", e.to_string()))?;
            let (spec, fds) = validating.prepare(input, Some(output), stdin.into(), None, limits)?;
            let observation = validating.validator.context.run(&spec, fds)?;
            let decided = validating.outcome(&observation, &limits)?;
            if decided.outcome != ValidationOutcome::Accepted {
                return Ok(decided);
            }
            last = Some(decided);
        }
        match last {
            Some(decided) => Ok(decided),
            None => default_validation(case, self.source, output, self.package.format),
        }
    }
}

/// A test case's own files, in a small box that is shown read-only.
pub(crate) struct CaseFiles<'a> {
    boxed: Boxed<'a>,
    entries: BTreeSet<String>,
}

impl<'a> CaseFiles<'a> {
    /// `None`: the test case has none.
    pub(crate) fn new(
        files: &[SourceFile],
        source: &Source,
        context: &RunContext<'a>,
    ) -> Result<Option<CaseFiles<'a>>, Fault> {
        if files.is_empty() {
            return Ok(None);
        }
        let tree = source.tree();
        // A file in memory takes whole pages, and its directory entry some more.
        let room = |size: u64| size.div_ceil(4096).saturating_mul(4096).saturating_add(8192);
        let sizes = files.iter().map(|file| room(tree.files.get(&file.path).map_or(0, |entry| entry.size)));
        let size = sizes.fold(64 << 10, u64::saturating_add);
        let boxed = Boxed::new(context.runner, Bytes(size))?;
        let mut entries = BTreeSet::new();
        for file in files {
            context.runner.put(boxed.id, &file.name, file.executable, &source.file(&file.path)?)?;
            entries.insert(file.name.split('/').next().unwrap_or(&file.name).to_owned());
        }
        Ok(Some(CaseFiles { boxed, entries }))
    }

    /// The box for a run whose work directory has links to the files.
    pub(crate) fn mount(&self) -> (BoxMount, BTreeSet<String>) {
        (BoxMount { id: self.boxed.id, at: FILES.to_owned(), writable: false }, self.entries.clone())
    }
}

/// One run of a submission at a test case.
pub(crate) struct Run<'a, 'b> {
    pub(crate) context: &'a CaseContext<'b>,
    pub(crate) submission: &'a Built<'a>,
    pub(crate) limits: &'a CaseLimits,
    pub(crate) case: &'a TestCase,
    data: Option<&'a CaseFiles<'a>>,
    pub(crate) input: &'a File,
}

impl Run<'_, '_> {
    /// Path of the interactor.
    pub(crate) fn manager_path(&self) -> String {
        match &self.context.package.validator {
            Validator::Custom(programs) => programs.first().map(|one| one.path.clone()).unwrap_or_default(),
            Validator::Default => String::new(),
        }
    }

    pub(crate) fn given(
        &self,
        stdin: File,
        stdout: File,
        stderr: &File,
        io: &Option<IoBox>,
    ) -> Result<RunInputs, Fault> {
        let boxes = self.data.iter().map(|files| files.mount());
        let boxes = boxes.chain(io.as_ref().map(IoBox::mount));
        Ok(RunInputs {
            args: self.case.args.clone(),
            limits: self.limits.stop,
            stdin: stdin.into(),
            stdout: stdout.into(),
            stderr: duplicate(stderr)?.into(),
            boxes: boxes.collect(),
            files: Vec::new(),
        })
    }

    /// The submission alone, its output judged afterwards.
    fn plain(&self, validating: &mut [Validating]) -> Result<Pass, Fault> {
        let reopened = |file: &File| {
            files::reopen(file).map_err(|e| SystemError::new("opening a file again", e.to_string()))
        };
        let output = files::in_memory("standard output")?;
        let errors = files::in_memory("standard error")?;
        let io = IoBox::new(
            self.submission.context.runner,
            &self.context.package.features.file_io,
            self.input,
            self.limits.stop.output,
        )?;
        let stdin = match &io {
            Some(io) if io.names.input.is_some() && !io.names.both => files::in_memory("no standard input")?,
            _ => reopened(self.input)?,
        };
        let given = self.given(stdin, duplicate(&output)?, &errors, &io)?;
        let (mut spec, mut fds) = self.submission.prepare(given);
        let counting = self.context.meter.begin(&mut spec, &mut fds)?;
        let run = self.submission.context.run(&spec, fds)?;
        let run = counting.end(run)?;
        let charge = self.context.meter.charge(&run)?;
        let status = run.status(&self.limits.judge);
        let output = match &io {
            Some(io) => io.output()?.unwrap_or(output),
            None => output,
        };
        let validation = match status {
            Status::Ok => {
                validating.iter_mut().for_each(|one| one.taken = taken(&run));
                Some(self.context.validate(self.case, self.input, &output, validating)?)
            }
            _ => None,
        };
        let verdict = test_verdict(status, validation.as_ref());
        let message = message(verdict, (&run, charge), self.limits, validation.as_ref(), &errors)?;
        Ok(Pass { verdict, validation, run, message })
    }

    /// The submission and the interactor side by side.
    fn interactive(&self, interactor: &mut Validating) -> Result<Pass, Fault> {
        let (mine, its, kept) = Pipes::new()?.split();
        let errors = files::in_memory("standard error")?;
        let [stdin, stdout] = mine.map(File::from);
        let (mut spec, mut fds) = self.submission.prepare(self.given(stdin, stdout, &errors, &None)?);
        let counting = self.context.meter.begin(&mut spec, &mut fds)?;
        let stop = spec.limits;
        let submission = Side { context: self.submission.context, spec, fds };
        let allowance = interactor.validator.allowance;
        let limits = self.context.settings.interactor(allowance, &stop);
        let [stdin, stdout] = its;
        let (spec, fds) = interactor.prepare(self.input, None, stdin, Some(stdout), limits)?;
        let side = Side { context: interactor.validator.context, spec, fds };
        let Interaction { submission: run, interactor: observed, first } =
            interact(submission, side, kept, self.context.package.features.calls.protocol.accepts())?;
        let run = counting.end(run)?;
        let charge = self.context.meter.charge(&run)?;
        let validation = interactor.outcome(&observed, &limits)?;
        let verdict = verdict::interactive(run.status(&self.limits.judge), &validation, first);
        let message = message(verdict, (&run, charge), self.limits, Some(&validation), &errors)?;
        Ok(Pass { verdict, validation: Some(validation), run, message })
    }
}

impl Run<'_, '_> {
    /// As [`Run::interactive`], with this process between both, which listens.
    fn conversation(&self, interactor: &mut Validating) -> Result<Transcript, Fault> {
        let fault = |e: std::io::Error| SystemError::new("making pipes for a transcript", e.to_string());
        let ([mine, to_interactor], [its, to_submission], kept) = Pipes::new()?.split();
        let (said, stdout) = std::io::pipe().map_err(fault)?;
        let (answered, its_stdout) = std::io::pipe().map_err(fault)?;
        let errors = files::in_memory("standard error")?;
        let (stdin, stdout) = (File::from(mine), File::from(OwnedFd::from(stdout)));
        let (spec, fds) = self.submission.prepare(self.given(stdin, stdout, &errors, &None)?);
        let limits = self.context.settings.interactor(interactor.validator.allowance, &spec.limits);
        let submission = Side { context: self.submission.context, spec, fds };
        let (spec, fds) = interactor.prepare(self.input, None, its, Some(its_stdout.into()), limits)?;
        let side = Side { context: interactor.validator.context, spec, fds };
        let listener = Listener::new();
        let file = |end: OwnedFd| File::from(end);
        scope(|threads| {
            threads.spawn(|| listener.relay(Speaker::Program, file(said.into()), file(to_interactor)));
            threads.spawn(|| listener.relay(Speaker::Interactor, file(answered.into()), file(to_submission)));
            interact(submission, side, kept, self.context.package.features.calls.protocol.accepts())
        })?;
        Ok(listener.transcript())
    }
}

/// A box with the files that take the place of a submission's standard streams.
pub(crate) struct IoBox<'a> {
    boxed: Boxed<'a>,
    runner: &'a dyn Runner,
    names: &'a FileIo,
}

impl<'a> IoBox<'a> {
    /// `None`: the package names no such files.
    pub(crate) fn new(
        runner: &'a dyn Runner,
        names: &'a FileIo,
        input: &File,
        output: Option<Bytes>,
    ) -> Result<Option<IoBox<'a>>, Fault> {
        if *names == FileIo::default() {
            return Ok(None);
        }
        let fault = |e: std::io::Error| SystemError::new("showing the input as a file", e.to_string());
        let size = input.metadata().map_err(fault)?.len();
        let output = output.map_or(0, |output| output.0);
        // Whole pages, and some more for directory entries.
        let room = Bytes(size.saturating_add(output).saturating_add(1 << 20));
        let boxed = Boxed::new(runner, room)?;
        if let Some(name) = &names.input {
            runner.put(boxed.id, name, false, &files::reopen(input).map_err(fault)?)?;
        }
        Ok(Some(IoBox { boxed, runner, names }))
    }

    pub(crate) fn mount(&self) -> (BoxMount, BTreeSet<String>) {
        let names = [&self.names.input, &self.names.output].into_iter().flatten().cloned().collect();
        (BoxMount { id: self.boxed.id, at: IO.to_owned(), writable: true }, names)
    }

    /// What was written; empty where there is no such file. `None`: standard output counts.
    pub(crate) fn output(&self) -> Result<Option<File>, Fault> {
        let Some(name) = &self.names.output else { return Ok(None) };
        let found = self.runner.fetch(self.boxed.id, name)?.file();
        Ok(Some(found.map_or_else(|| files::in_memory("no output"), Ok)?))
    }
}

/// What a checker may be told of the run: CPU time in seconds, and peak memory in KiB.
fn taken(run: &Observation) -> [String; 2] {
    let memory = run.memory_peak.known().map_or(0, |peak| peak.0 >> 10);
    [format!("{:.3}", run.time.cpu.0 as f64 / 1e9), memory.to_string()]
}

/// What to tell the jury about a test case.
pub(crate) fn message(
    verdict: Verdict,
    (run, charge): (&Observation, Charge),
    limits: &CaseLimits,
    validation: Option<&Validation>,
    errors: &File,
) -> Result<String, Fault> {
    Ok(match verdict {
        Verdict::RunTimeError => {
            let printed = read_head(errors, "standard error")?;
            match telling_line(&printed).as_str() {
                "" => how_it_ended(run),
                line => format!("{}: {line}", how_it_ended(run)),
            }
        }
        Verdict::TimeLimit => over_time(run, charge, limits),
        Verdict::MemoryLimit => "memory limit".to_owned(),
        Verdict::OutputLimit => "output limit".to_owned(),
        _ => said(verdict, validation),
    })
}

/// Which limit was passed; and, where the run was ended only some way beyond it, why: else its time reads as if the limit were not kept.
fn over_time(run: &Observation, charge: Charge, limits: &CaseLimits) -> String {
    let stop = limits.stop.cpu.map(|stop| Charge::for_time(charge.clock, stop));
    match (Charge::limit(charge.clock, &limits.judge), stop) {
        (Some(limit), Some(stop)) if charge > limit && stop > limit && charge >= stop => {
            let times = stop.amount as f64 / limit.amount as f64;
            format!("{} limit; stopped at {times:.1} × the limit to be sure", charge.clock.label())
        }
        (Some(limit), _) if charge > limit => format!("{} limit", charge.clock.label()),
        _ if run.over(&limits.judge).is_some() => {
            "CPU time limit, by what the clock does not count".to_owned()
        }
        _ => "wall time limit: it waited or slept".to_owned(),
    }
}

/// What the validator said, after what is wrong with the validator itself.
fn said(verdict: Verdict, validation: Option<&Validation>) -> String {
    let said = validation.map(|v| v.judge_message.trim_end().to_owned()).unwrap_or_default();
    if verdict != Verdict::JudgeError {
        return said;
    }
    let why = match validation.map(|v| &v.outcome) {
        Some(ValidationOutcome::Error(why)) => why.clone(),
        _ => "the run could not be judged".to_owned(),
    };
    match telling_line(&said) {
        line if line.is_empty() => why,
        line if line == said => format!("{why}: {line}"),
        line => format!("{why}: {line}\n{said}"),
    }
}
