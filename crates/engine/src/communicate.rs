//! Processes of one submission that talk to a manager at the same time, each through two FIFOs (CMS, "Communication").
//!
//! The FIFOs are files of the host, in a directory of their own that is gone with the run; each side sees those that are its own and no
//! other, by a mount. Opening one waits for the other side (fifo(7)). Where they are standard streams, a process is started when the
//! manager has opened both, as CMS' sandbox would wait; until then this process keeps both ends. Nobody waits for a side that has ended:
//! ends that are opened and closed here free it, and what it reads then has an end.

use crate::case::{Pass, Run, message};
use crate::program::{RunContext, how_it_ended};
use crate::validate::{INPUT, Validating};
use crate::{Fault, SystemError, files};
use judge::package::Processes;
use judge::verdict::{Validation, ValidationOutcome, test_verdict};
use model::{Exit, FileMount, Limits, Nanos, Observation, Reading, RunSpec, Status};
use rustix::fs::{CWD, FileType, Mode, OFlags, inotify};
use std::fs::Permissions;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{scope, sleep};
use std::time::Duration;
use tempfile::TempDir;

/// How often it is looked whether a side waits for one that has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is looked whether the manager has opened a FIFO.
const OPENING: Duration = Duration::from_millis(1);
/// What a program is ended by that writes to nobody (signal(7)).
const SIGPIPE: i32 = 13;

/// The FIFOs of a run: of each process that from it, and that to it.
struct Fifos {
    directory: TempDir,
    count: u32,
}

/// Which way a FIFO leads.
#[derive(Clone, Copy)]
enum FifoDirection {
    FromProcess,
    ToProcess,
}

impl Fifos {
    fn new(count: u32) -> Result<Fifos, SystemError> {
        let fault = |e: std::io::Error| SystemError::new("making FIFOs", e.to_string());
        let fifos = Fifos { directory: TempDir::new().map_err(fault)?, count };
        for path in fifos.all() {
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0)
                .map_err(|e| fault(e.into()))?;
            // Whatever the mask of this process: the users of runs are others.
            std::fs::set_permissions(&path, Permissions::from_mode(0o666)).map_err(fault)?;
        }
        Ok(fifos)
    }

    fn path(&self, n: u32, way: FifoDirection) -> PathBuf {
        self.directory.path().join(Fifos::name(n, way))
    }

    fn name(n: u32, way: FifoDirection) -> String {
        match way {
            FifoDirection::FromProcess => format!("u{n}_to_m"),
            FifoDirection::ToProcess => format!("m_to_u{n}"),
        }
    }

    /// Where a run sees it: by the names CMS gives them.
    fn shown(n: u32, way: FifoDirection) -> String {
        format!("/fifo{n}/{}", Fifos::name(n, way))
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.count)
            .flat_map(|n| [self.path(n, FifoDirection::FromProcess), self.path(n, FifoDirection::ToProcess)])
    }

    fn open(&self, n: u32, way: FifoDirection, flags: OFlags) -> Result<OwnedFd, SystemError> {
        rustix::fs::open(self.path(n, way), flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| SystemError::new("opening a FIFO", e.to_string()))
    }

    /// Shows both FIFOs of a process to a run.
    fn show(&self, n: u32, spec: &mut RunSpec, fds: &mut Vec<OwnedFd>) -> Result<(), SystemError> {
        for way in [FifoDirection::FromProcess, FifoDirection::ToProcess] {
            let fd =
                u8::try_from(fds.len()).map_err(|e| SystemError::new("showing a FIFO", e.to_string()))?;
            fds.push(self.open(n, way, OFlags::PATH)?);
            spec.files.push(FileMount { fd, at: Fifos::shown(n, way) });
        }
        Ok(())
    }

    /// Lets go whoever waits for the other side of a FIFO to be opened.
    fn free(&self) {
        for path in self.all() {
            // One that cannot be opened frees nobody; limits of time end the run then.
            let _ = rustix::fs::open(&path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
        }
    }
}

/// Ends of two FIFOs that become standard streams once the manager has opened the others.
struct Streams<'a> {
    fifos: &'a Fifos,
    n: u32,
    queue: OwnedFd,
    _kept: [OwnedFd; 2],
}

impl<'a> Streams<'a> {
    fn new(fifos: &'a Fifos, n: u32) -> Result<Streams<'a>, SystemError> {
        let fault = |e: rustix::io::Errno| SystemError::new("watching a FIFO", e.to_string());
        let ways = [FifoDirection::FromProcess, FifoDirection::ToProcess];
        let [from, to] = ways.map(|way| fifos.open(n, way, OFlags::RDWR | OFlags::NONBLOCK));
        let kept = [from?, to?];
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let queue = inotify::init(flags).map_err(fault)?;
        for way in ways {
            inotify::add_watch(&queue, fifos.path(n, way), inotify::WatchFlags::OPEN).map_err(fault)?;
        }
        Ok(Streams { fifos, n, queue, _kept: kept })
    }

    /// Standard input and output of the process; `None`: the manager has ended.
    fn opened(self, manager_gone: &AtomicBool) -> Result<Option<[OwnedFd; 2]>, SystemError> {
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < 2 {
            let mut space = [MaybeUninit::uninit(); 1024];
            let mut events = inotify::Reader::new(&self.queue, &mut space);
            while let Ok(event) = events.next() {
                seen.insert(event.wd());
            }
            if seen.len() < 2 {
                if manager_gone.load(Ordering::SeqCst) {
                    return Ok(None);
                }
                sleep(OPENING);
            }
        }
        let input = self.fifos.open(self.n, FifoDirection::ToProcess, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let output =
            self.fifos.open(self.n, FifoDirection::FromProcess, OFlags::WRONLY | OFlags::NONBLOCK)?;
        for fd in [&input, &output] {
            rustix::fs::fcntl_setfl(fd, OFlags::empty())
                .map_err(|e| SystemError::new("opening a FIFO", e.to_string()))?;
        }
        Ok(Some([input, output]))
    }
}

/// How a process is run, once it may be.
struct Prepared<'a> {
    context: RunContext<'a>,
    spec: RunSpec,
    fds: Vec<OwnedFd>,
    streams: Option<Streams<'a>>,
}

impl Prepared<'_> {
    /// Runs it; `None`: the manager ended before there was anything to start it with.
    fn run(self, manager_gone: &AtomicBool) -> Result<Option<Observation>, Fault> {
        let Prepared { context, spec, mut fds, streams } = self;
        if let Some(streams) = streams {
            let Some([input, output]) = streams.opened(manager_gone)? else { return Ok(None) };
            (fds[0], fds[1]) = (input, output);
        }
        context.run(&spec, fds).map(Some)
    }
}

impl Run<'_, '_> {
    /// The submission's processes and their manager side by side.
    pub(crate) fn communicating(
        &self,
        manager: &mut Validating,
        Processes { count, streams }: Processes,
    ) -> Result<Pass, Fault> {
        let (context, fifos) = (self.context, Fifos::new(count)?);
        let programs: Vec<_> = std::iter::once(self.submission).chain(&self.submission.twins).collect();
        let mut prepared = Vec::new();
        let (mut errors, mut countings) = (Vec::new(), Vec::new());
        let mut stop = self.limits.stop;
        for (n, program) in (0..count).zip(programs) {
            let [stdin, stdout, stderr] = ["no input", "no output", "standard error"].map(files::in_memory);
            let (stdin, stdout, stderr) = (stdin?, stdout?, stderr?);
            let mut given = self.given(stdin, stdout, &stderr, &None)?;
            if !streams {
                given.args.extend([
                    Fifos::shown(n, FifoDirection::ToProcess),
                    Fifos::shown(n, FifoDirection::FromProcess),
                ]);
            }
            given.args.extend((count > 1).then(|| n.to_string()));
            let (mut spec, mut fds) = program.prepare(given);
            if !streams {
                fifos.show(n, &mut spec, &mut fds)?;
            }
            countings.push(context.meter.begin(&mut spec, &mut fds)?);
            stop = spec.limits;
            let streams = if streams { Some(Streams::new(&fifos, n)?) } else { None };
            prepared.push(Prepared { context: program.context, spec, fds, streams });
            errors.push(stderr);
        }
        let allowance = manager.validator.allowance;
        let limits = context.settings.interactor(allowance, &stop);
        let stdin =
            files::reopen(self.input).map_err(|e| SystemError::new("opening the input", e.to_string()))?;
        manager.fifos = (0..count)
            .flat_map(|n| {
                [FifoDirection::FromProcess, FifoDirection::ToProcess].map(|way| Fifos::shown(n, way))
            })
            .collect();
        let (mut spec, mut fds) = manager.prepare(self.input, None, stdin.into(), None, limits)?;
        // Managers read their input from here, too, and some write notes beside it.
        spec.links.push(("input.txt".to_owned(), INPUT.to_owned()));
        (0..count).try_for_each(|n| fifos.show(n, &mut spec, &mut fds))?;
        let Talked { processes, manager: observed, manager_last } =
            talk(prepared, manager.validator.context, (spec, fds), &fifos)?;
        let mut counted = Vec::new();
        for (process, counting) in processes.into_iter().zip(&countings) {
            counted.push(process.map(|process| counting.end(process)).transpose()?);
        }
        let Some((run, worst)) = together(counted, &self.limits.judge) else {
            let why = format!("the manager ended before it opened its FIFOs: {}", how_it_ended(&observed));
            return Err(Fault::Package { place: self.manager_path(), why });
        };
        let charge = context.meter.charge(&run)?;
        let status = run.status(&self.limits.judge);
        let validation = match status {
            Status::Ok if manager_last && left_alone(&observed) => {
                let why = "the submission ended before the manager had heard what it waits for";
                Some(Validation::plain(ValidationOutcome::Rejected, why.to_owned()))
            }
            Status::Ok => Some(manager.outcome(&observed, &limits)?),
            _ => None,
        };
        let verdict = test_verdict(status, validation.as_ref());
        let message = message(verdict, (&run, charge), self.limits, validation.as_ref(), &errors[worst])?;
        Ok(Pass { verdict, validation, run, message })
    }
}

/// Whether a manager ended because nobody was left to talk to.
fn left_alone(manager: &Observation) -> bool {
    manager.wall_exceeded || manager.exit == Exit::Signal(SIGPIPE)
}

/// What was seen of all sides.
struct Talked {
    /// `None`: it was never started.
    processes: Vec<Option<Observation>>,
    manager: Observation,
    /// It ended after all processes.
    manager_last: bool,
}

/// Runs all sides to their ends.
fn talk(
    processes: Vec<Prepared>,
    manager: RunContext,
    (spec, fds): (RunSpec, Vec<OwnedFd>),
    fifos: &Fifos,
) -> Result<Talked, Fault> {
    let places: Vec<RunContext> = processes.iter().map(|process| process.context).chain([manager]).collect();
    let bounds: Vec<Limits> = processes.iter().map(|process| process.spec.limits).collect();
    let (count, manager_gone) = (processes.len(), AtomicBool::new(false));
    let mut seen: Vec<Option<Result<Option<Observation>, Fault>>> = (0..=count).map(|_| None).collect();
    let (tell, reports) = channel();
    let mut manager_last = false;
    scope(|threads| {
        let gone = &manager_gone;
        for (n, process) in processes.into_iter().enumerate() {
            let tell = tell.clone();
            // The receiver goes when everybody has reported.
            threads.spawn(move || drop(tell.send((n, process.run(gone)))));
        }
        threads.spawn(move || drop(tell.send((count, manager.run(&spec, fds).map(Some)))));
        let mut end_all = false;
        while seen.iter().any(Option::is_none) {
            match reports.recv_timeout(LOOK) {
                Ok((who, report)) => {
                    let failed = match &report {
                        Ok(Some(run)) => who < count && run.status(&bounds[who]) != Status::Ok,
                        Ok(None) => false,
                        Err(_) => true,
                    };
                    end_all |= failed;
                    gone.store(gone.load(Ordering::SeqCst) || who == count || failed, Ordering::SeqCst);
                    seen[who] = Some(report);
                    manager_last = who == count && seen.iter().all(Option::is_some);
                }
                Err(RecvTimeoutError::Timeout) if end_all => {
                    let left = places.iter().zip(&seen).filter(|(_, seen)| seen.is_none());
                    left.for_each(|(context, _)| context.runner.end_run(false));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if seen[count].is_some() || seen[..count].iter().all(Option::is_some) {
                        fifos.free();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    let silent = || SystemError::new("an interaction", "one side ended without a report");
    let mut all = Vec::new();
    for report in seen {
        all.push(report.ok_or_else(silent)??);
    }
    let manager = all.pop().flatten().ok_or_else(silent)?;
    Ok(Talked { processes: all, manager, manager_last })
}

/// All processes as one run: what they used together, and the end of the first that failed. `None`: one was never started.
fn together(processes: Vec<Option<Observation>>, limits: &Limits) -> Option<(Observation, usize)> {
    let all: Vec<Observation> = processes.into_iter().collect::<Option<_>>()?;
    let failed = |run: &Observation| !run.cancelled && run.status(limits) != Status::Ok;
    let worst = all.iter().position(failed).unwrap_or(0);
    let mut run = all.get(worst)?.clone();
    let sum = |of: fn(&Observation) -> Nanos| Nanos(all.iter().map(|run| of(run).0).sum());
    run.time.cpu = sum(|run| run.time.cpu);
    run.time.user = sum(|run| run.time.user);
    run.time.system = sum(|run| run.time.system);
    run.time.wall = all.iter().map(|run| run.time.wall).max()?;
    run.ended = all.iter().map(|run| run.ended).max()?;
    run.instructions = added(all.iter().map(|run| run.instructions.clone()), |a, b| a + b);
    run.reference = added(all.iter().map(|run| run.reference.clone()), |a, b| a + b);
    run.memory_peak = added(all.iter().map(|run| run.memory_peak.clone()), Ord::max);
    Some((run, worst))
}

/// Readings as one; unknown where one is.
fn added<T>(readings: impl Iterator<Item = Reading<T>>, add: fn(T, T) -> T) -> Reading<T> {
    let both = |a, b| match (a, b) {
        (Reading::Known(a), Reading::Known(b)) => Reading::Known(add(a, b)),
        (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
    };
    readings.reduce(both).unwrap_or_else(|| Reading::unknown("nothing was run"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::observation;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn streams_are_there_once_the_manager_has_opened_both() {
        let fifos = Fifos::new(1).unwrap();
        let streams = Streams::new(&fifos, 0).unwrap();
        let (from, to) = (fifos.path(0, FifoDirection::FromProcess), fifos.path(0, FifoDirection::ToProcess));
        let manager = std::thread::spawn(move || {
            let mut heard = File::open(from).unwrap();
            let mut said = File::options().write(true).open(to).unwrap();
            said.write_all(b"1 2\n").unwrap();
            drop(said);
            let mut text = String::new();
            heard.read_to_string(&mut text).unwrap();
            text
        });
        let [input, output] = streams.opened(&AtomicBool::new(false)).unwrap().unwrap();
        let mut text = String::new();
        File::from(input).read_to_string(&mut text).unwrap();
        File::from(output).write_all(b"3\n").unwrap();
        assert_eq!((text.as_str(), manager.join().unwrap().as_str()), ("1 2\n", "3\n"));
    }

    #[test]
    fn nobody_waits_for_a_manager_that_is_gone() {
        let fifos = Fifos::new(1).unwrap();
        let streams = Streams::new(&fifos, 0).unwrap();
        assert!(streams.opened(&AtomicBool::new(true)).unwrap().is_none());
        let path = fifos.path(0, FifoDirection::ToProcess);
        let waiting = std::thread::spawn(move || std::fs::read(path).unwrap());
        while !waiting.is_finished() {
            fifos.free();
            sleep(OPENING);
        }
        assert!(waiting.join().unwrap().is_empty());
    }

    #[test]
    fn times_add_up_and_the_first_failure_counts() {
        let limits = Limits { cpu: Some(Nanos(100)), ..Limits::default() };
        let run = |exit, cpu| Some(observation(exit, Nanos(cpu)));
        let good = Exit::Code(0);
        let (both, worst) = together(vec![run(good, 60), run(good, 60)], &limits).unwrap();
        assert_eq!((both.time.cpu, worst, both.status(&limits)), (Nanos(120), 0, Status::CpuTimeLimit));
        let (failed, worst) = together(vec![run(good, 1), run(Exit::Code(3), 1)], &limits).unwrap();
        assert_eq!((failed.exit, worst), (Exit::Code(3), 1));
        assert!(together(vec![run(good, 1), None], &limits).is_none());
    }
}
