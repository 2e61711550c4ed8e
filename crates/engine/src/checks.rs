//! Running the package's own programs over its tests: input and answer validators, and output validators over the outputs that they are
//! tried with. Only a verification of the package does.

use crate::case::CaseFiles;
use crate::prepared_slot::{PreparedSlot, prepare};
use crate::program::{Built, RunInputs, duplicate, how_it_ended};
use crate::validate::{INPUT, read_head};
use crate::{Fault, SystemError, files};
use judge::crash::telling_line;
use judge::package::{Calls, TestCheck, TestCheckRun, ValidatorTest};
use model::{Exit, Status, Verdict};
use std::collections::BTreeMap;

/// Most tests that are named as bad.
const NAMED: usize = 5;

/// What the package's validators say against its tests, in words; `None`: nothing. One whose language is not installed is told as a
/// warning.
pub(crate) fn complaints(bench: &PreparedSlot) -> Result<Option<String>, Fault> {
    let job = &bench.job;
    let mut bad = Vec::new();
    // Inputs that are to be rejected, and whether one validator did. One that cannot be run might have.
    let (mut rejected, mut all_ran) = (BTreeMap::new(), true);
    for check in &job.package.features.checks {
        let built = match prepare(job, bench.beside()?, &check.program, &bench.settings) {
            Ok(built) => built,
            Err(fault @ (Fault::NoToolchain { .. } | Fault::Input { .. })) => {
                job.warn(&check.program.path, format!("is not run: {fault}"));
                all_ran = false;
                continue;
            }
            Err(Fault::Package { place, why }) => {
                bad.push(format!("{place} {why}"));
                continue;
            }
            Err(fault) => return Err(fault),
        };
        for run in &check.runs {
            let why = complaint(bench, &built, check, run)?;
            if !run.good {
                *rejected.entry(&run.file).or_insert(false) |= why.is_some();
            } else if let Some(why) = why {
                bad.push(format!("{} rejects {}: {why}", check.program.path, run.file));
            }
        }
    }
    let accepted = rejected.into_iter().filter(|(_, rejected)| all_ran && !rejected);
    bad.extend(accepted.map(|(file, _)| format!("no input validator rejects {file}")));
    for test in &job.package.features.validator_tests {
        bad.extend(wrong(bench, test)?);
    }
    let more = bad.len().saturating_sub(NAMED);
    bad.truncate(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    bad.extend(more);
    Ok((!bad.is_empty()).then(|| bad.join("; ")))
}

/// What is wrong where the output validators think otherwise of an output than the package says; `None`: nothing.
fn wrong(bench: &PreparedSlot, test: &ValidatorTest) -> Result<Option<String>, Fault> {
    let Some(output) = &test.output else { return Ok(None) };
    let judged = bench.context().judge_output(&bench.job.source.file(output)?, &test.case)?;
    let said = if judged.message.is_empty() { String::new() } else { format!(": {}", judged.message) };
    Ok(match (judged.verdict, test.good) {
        (Verdict::Accepted, true) | (Verdict::WrongAnswer, false) => None,
        (Verdict::Accepted, false) => Some(format!("the output validator accepts {output}")),
        (Verdict::WrongAnswer, true) => Some(format!("the output validator rejects {output}{said}")),
        _ => Some(format!("the output validator fails on {output}{said}")),
    })
}

/// Why a test is bad; `None`: it is good.
fn complaint(
    bench: &PreparedSlot,
    validator: &Built,
    check: &TestCheck,
    run: &TestCheckRun,
) -> Result<Option<String>, Fault> {
    let source = bench.job.source;
    let limits = bench.settings.validation(validator.allowance);
    let (printed, errors) = (files::in_memory("validator output")?, files::in_memory("validator errors")?);
    let shown = |path: &String| -> Result<_, Fault> {
        let file = files::readable_for_everyone(source.file(path)?)
            .map_err(|e| SystemError::new("showing an input to the validator", e.to_string()))?;
        Ok((file.into(), INPUT.to_owned()))
    };
    let beside = CaseFiles::new(&run.files, source, &validator.context)?;
    let (spec, fds) = validator.prepare(RunInputs {
        args: run.args.iter().map(|word| word.replace(Calls::INPUT, INPUT)).collect(),
        limits,
        stdin: source.file(&run.file)?.into(),
        stdout: duplicate(&printed)?.into(),
        stderr: duplicate(&errors)?.into(),
        boxes: beside.iter().map(CaseFiles::mount).collect(),
        files: run.input.iter().map(shown).collect::<Result<_, _>>()?,
    });
    let observation = validator.context.run(&spec, fds)?;
    let how = match observation.status(&limits) {
        Status::Ok | Status::NonzeroExit if observation.exit == Exit::Code(check.accepts) => return Ok(None),
        Status::CpuTimeLimit | Status::WallTimeLimit => "it exceeded its time limit".to_owned(),
        Status::MemoryLimit => "it exceeded its memory limit".to_owned(),
        Status::OutputLimit => "it exceeded its output limit".to_owned(),
        _ => how_it_ended(&observation),
    };
    let said = [read_head(&errors, "a validator's errors")?, read_head(&printed, "a validator's output")?];
    let said = said.iter().map(|text| telling_line(text)).find(|line| !line.is_empty());
    Ok(Some(said.map_or(how.clone(), |line| format!("{line} ({how})"))))
}
