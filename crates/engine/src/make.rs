//! Making the files of a package that are not in it: tests by generators, answers by the jury's submission, in the sandbox; texts with
//! other ends of lines. What programs make is kept in the artifact cache by what it is made from.

use crate::artifact_cache::{ArtifactCache, MADE};
use crate::build_plan::load_files;
use crate::case::IoBox;
use crate::job::Job;
use crate::limits::{Settings, WHILE_INFERRING};
use crate::prepared_slot::prepare;
use crate::program::{Built, Compiled, RunContext, RunInputs, compile, duplicate, how_it_ended};
use crate::submission::{Submission, build_plan_of};
use crate::validate::read_head;
use crate::{Fault, SystemError, files};
use judge::package::{MadeFile, Maker, Program};
use model::{Bytes, Limits, Status};
use sha2::{Digest, Sha256};
use source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write, empty};
use std::sync::{Mutex, PoisonError};

/// Most that one file may have.
const LARGEST: Bytes = Bytes::from_mib(512);
/// Most that all files of a package may have together.
const TOTAL: u64 = 8 << 30;

/// Slots of one process that open the same package make its files once.
static MAKING: Mutex<()> = Mutex::new(());

/// Makes what has not been made yet. `context` is where programs run; `None`: none are to.
pub(crate) fn files(job: &Job, context: Option<RunContext>, settings: &Settings) -> Result<(), Fault> {
    let made = &job.package.features.made;
    if made.files.is_empty() {
        return Ok(());
    }
    let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if made.files.iter().all(|file| job.source.made(&file.path).is_some()) {
        return Ok(());
    }
    let mut making = Making { job, context, settings, built: BTreeMap::new(), digests: BTreeMap::new() };
    let mut total = 0;
    for file in &made.files {
        let content = making.make(file)?;
        total += content.metadata().map(|facts| facts.len()).unwrap_or(0);
        if total > TOTAL {
            let why = format!("the generated files of the package exceed {TOTAL} bytes");
            return Err(Fault::Package { place: file.path.clone(), why });
        }
        job.source.supply(&file.path, content);
    }
    Ok(())
}

struct Making<'j, 'p> {
    job: &'j Job<'j>,
    context: Option<RunContext<'p>>,
    settings: &'j Settings,
    /// Programs compiled already: generators by number, submissions by path.
    built: BTreeMap<String, Built<'p>>,
    /// Digest of the files of each.
    digests: BTreeMap<String, Vec<u8>>,
}

/// A run that makes a file.
struct Order<'a> {
    /// What is run.
    maker: &'a str,
    program: &'a Program,
    args: &'a [String],
    stdin: Option<&'a str>,
    from_errors: bool,
    of_jury: bool,
}

impl<'p> Making<'_, 'p> {
    fn make(&mut self, file: &MadeFile) -> Result<File, Fault> {
        match &file.by {
            Maker::Empty => on_disk(&mut empty(), 0),
            Maker::Text(text) => on_disk(&mut text.as_bytes(), LARGEST.0),
            Maker::Lines { of, ended } => lines(self.job.source, of, *ended),
            Maker::Program { program, args, stdin, from_errors } => {
                let programs = &self.job.package.features.made.programs;
                let known = || SystemError::new("making tests", "there is no such generator");
                let order = Order {
                    maker: &format!("generator {program}"),
                    program: programs.get(*program).ok_or_else(known)?,
                    args,
                    stdin: stdin.as_deref(),
                    from_errors: *from_errors,
                    of_jury: false,
                };
                self.ordered(&order)
            }
            Maker::Submission { path, input } => {
                let found = self.job.package.submissions.iter().find(|jury| jury.program.path == *path);
                let known = || SystemError::new("making answers", "there is no such submission");
                let order = Order {
                    maker: path,
                    program: &found.ok_or_else(known)?.program,
                    args: &[],
                    stdin: Some(input),
                    from_errors: false,
                    of_jury: true,
                };
                self.ordered(&order)
            }
        }
    }

    /// From the artifact cache, or by running it.
    fn ordered(&mut self, order: &Order) -> Result<File, Fault> {
        let missing = || SystemError::new("making tests", "the slot has no auxiliary runner");
        let context = self.context.ok_or_else(missing)?;
        let artifacts = context.caches.artifacts.clone();
        let name = self.name(order)?;
        if let Some(kept) =
            artifacts.as_deref().and_then(|artifacts: &ArtifactCache| artifacts.content(&name))
        {
            return on_disk(&mut kept.as_slice(), LARGEST.0);
        }
        let file = self.run(context, order)?;
        if let Some(artifacts) = artifacts.as_deref() {
            let mut bytes = Vec::new();
            let read = files::reopen(&file).and_then(|mut file| file.read_to_end(&mut bytes));
            // Not kept, it is made again by the next process.
            if read.is_ok() {
                let _ = artifacts.keep_content(&name, &bytes);
            }
        }
        Ok(file)
    }

    /// Names what comes of it: the program's files, its options and arguments, what it reads.
    fn name(&mut self, order: &Order) -> Result<String, Fault> {
        let job = self.job;
        if !self.digests.contains_key(order.maker) {
            let mut hasher = Sha256::new();
            let mut add = |bytes: &[u8]| {
                hasher.update((bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            };
            let mut sources = order.program.files.clone();
            if order.of_jury {
                // What is compiled with submissions, and how they are run, makes other answers too.
                sources.extend(job.package.include.iter().flat_map(|include| include.files.clone()));
                let before = job.package.include.iter().map(|include| include.before_sources.as_bytes());
                before.for_each(&mut add);
                add(format!("{:?}", job.package.features.file_io).as_bytes());
            }
            for part in load_files(&sources, job.source, &job.package.constants)? {
                add(part.name.as_bytes());
                add(&part.content);
            }
            let words = order.program.options.iter().chain(&order.program.language);
            words.for_each(|word| add(word.as_bytes()));
            self.digests.insert(order.maker.to_owned(), hasher.finalize().to_vec());
        }
        let mut hasher = Sha256::new();
        hasher.update(&self.digests[order.maker]);
        for word in order.args {
            hasher.update((word.len() as u64).to_le_bytes());
            hasher.update(word);
        }
        hasher.update([u8::from(order.from_errors), u8::from(order.of_jury)]);
        if let Some(stdin) = order.stdin {
            let mut file = job.source.file(stdin)?;
            std::io::copy(&mut file, &mut Hashing(&mut hasher))
                .map_err(|e| SystemError::new("reading what tests are made from", e.to_string()))?;
        }
        let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{MADE}{digest}"))
    }

    fn built(&mut self, context: RunContext<'p>, order: &Order) -> Result<&Built<'p>, Fault> {
        if !self.built.contains_key(order.maker) {
            let built = match order.of_jury {
                false => prepare(self.job, context, order.program, self.settings)?,
                true => submission(self.job, context, order.maker, self.settings)?,
            };
            self.built.insert(order.maker.to_owned(), built);
        }
        let missing = || SystemError::new("making tests", "a program was not compiled");
        Ok(self.built.get(order.maker).ok_or_else(missing)?)
    }

    fn run(&mut self, context: RunContext<'p>, order: &Order) -> Result<File, Fault> {
        let (job, settings) = (self.job, self.settings);
        let built = self.built(context, order)?;
        let limits = match order.of_jury {
            false => settings.validation(built.allowance),
            true => settings.submission(WHILE_INFERRING, built.allowance),
        };
        let limits = Limits { output: Some(LARGEST), ..limits };
        let stdin = match order.stdin {
            Some(path) => job.source.file(path)?,
            None => files::in_memory("no input")?,
        };
        let names = &job.package.features.file_io;
        let io = if order.of_jury { IoBox::new(context.runner, names, &stdin, Some(LARGEST))? } else { None };
        let (output, errors) = (files::in_memory("what is made")?, files::in_memory("errors")?);
        let (spec, fds) = built.prepare(RunInputs {
            args: order.args.to_vec(),
            limits,
            stdin: stdin.into(),
            stdout: duplicate(&output)?.into(),
            stderr: duplicate(&errors)?.into(),
            boxes: io.iter().map(IoBox::mount).collect(),
            files: Vec::new(),
        });
        let observation = context.run(&spec, fds)?;
        let status = observation.status(&limits);
        if status != Status::Ok {
            let said = read_head(&errors, "a generator's errors")?;
            let how = match status {
                Status::CpuTimeLimit | Status::WallTimeLimit => "exceeded its time limit".to_owned(),
                Status::MemoryLimit => "exceeded its memory limit".to_owned(),
                Status::OutputLimit => format!("wrote more than {LARGEST}"),
                _ => format!("ended with {}", how_it_ended(&observation)),
            };
            let last = said.trim().lines().last().unwrap_or_default();
            let input = order.stdin.map(|path| format!(" < {path}")).unwrap_or_default();
            let why = format!("`{}{input}` {how}: {last}", order.args.join(" "));
            return Err(Fault::Package { place: order.program.path.clone(), why });
        }
        let output = match &io {
            Some(io) => io.output()?.unwrap_or(output),
            None => output,
        };
        let wanted = if order.from_errors { &errors } else { &output };
        let mut wanted =
            files::reopen(wanted).map_err(|e| SystemError::new("opening what was made", e.to_string()))?;
        on_disk(&mut wanted, LARGEST.0)
    }
}

/// A jury submission, compiled as one.
fn submission<'p>(
    job: &Job,
    context: RunContext<'p>,
    path: &str,
    settings: &Settings,
) -> Result<Built<'p>, Fault> {
    let found = job.package.submissions.iter().find(|jury| jury.program.path == path);
    let missing = || SystemError::new("making answers", "there is no such submission");
    let submission = Submission::of_jury(found.ok_or_else(missing)?, job)?;
    let build_plan = build_plan_of(job, settings, &submission)?;
    match compile(context, &build_plan, settings)? {
        Compiled::Built { program, .. } => Ok(program),
        Compiled::Failed { output } => Err(Fault::Package {
            place: path.to_owned(),
            why: format!("generates the answers but does not compile:\n{}", output.trim_end()),
        }),
    }
}

struct Hashing<'a>(&'a mut Sha256);

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn on_disk(content: &mut dyn Read, limit: u64) -> Result<File, Fault> {
    Ok(files::on_disk(content, limit)
        .map_err(|e| SystemError::new("keeping what was made", e.to_string()))?)
}

/// The file with a line feed for each end of line.
fn lines(source: &Source, of: &str, ended: bool) -> Result<File, Fault> {
    let fault = |e: std::io::Error| SystemError::new(format!("reading {of}"), e.to_string());
    // What this makes may take the place of what it is made from, which is then made of itself.
    let mut text = Vec::new();
    BufReader::new(source.file(of)?)
        .take(source::SourceLimits::USUAL.file_size)
        .read_to_end(&mut text)
        .map_err(fault)?;
    let text = unix_lines(text, ended);
    on_disk(&mut text.as_slice(), text.len() as u64)
}

/// Every end of line (CR LF, CR, LF) as LF; `ended`: the last line too.
fn unix_lines(text: Vec<u8>, ended: bool) -> Vec<u8> {
    let mut lines = text;
    if lines.contains(&b'\r') {
        let mut kept = Vec::with_capacity(lines.len());
        let mut bytes = lines.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            if byte == b'\r' {
                bytes.next_if_eq(&b'\n');
            }
            kept.push(if byte == b'\r' { b'\n' } else { byte });
        }
        lines = kept;
    }
    if ended && lines.last().is_some_and(|last| *last != b'\n') {
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines() {
        for (text, ended, expected) in [
            ("a\r\nb\rc\n", true, "a\nb\nc\n"),
            ("a\r\n\r\nb", true, "a\n\nb\n"),
            ("a\r\nb", false, "a\nb"),
            ("", true, ""),
            ("\r", false, "\n"),
        ] {
            assert_eq!(unix_lines(text.into(), ended), expected.as_bytes(), "{text:?}");
        }
    }
}
