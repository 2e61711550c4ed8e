//! A submission and an interactor that talk to each other.
//!
//! Two pipes lead from the one to the other; this process keeps a second reading end of each. As long as a
//! program runs, only it reads from its pipe. When it has ended, what the other still writes is read here and
//! thrown away, so that nobody is ended by a broken pipe for the last words to a partner who has left. Writing
//! ends are not kept: when a program ends, its partner reads the end of input.
//!
//! Which of the two ended first is told by which of them first stopped talking, that is by whose pipe lost its
//! writer: a runtime may close its output long before it is dead, and the other side notices at once. The kernel
//! keeps the order (inotify works on pipes). Where it cannot be asked, the times at which the runners saw them
//! dead decide; the reports themselves may overtake one another. See [`ended_first`].

use crate::Fault;
use crate::SystemError;
use crate::program::RunContext;
use judge::verdict::EndedFirst;
use model::{Exit, Limits, Observation, RunSpec, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{copy, sink};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Scope, scope};
use std::time::Duration;

/// How long to wait before a run that was ended is ended again: the first time it may not have begun.
const AGAIN: Duration = Duration::from_millis(20);
/// How long a submission that closed its output may go on before it is ended: runtimes take a while to exit.
const DYING: Duration = Duration::from_secs(1);

/// The pipes of one interaction.
pub(crate) struct Pipes {
    /// Standard input of the submission.
    pub(crate) submission_in: OwnedFd,
    /// Standard output of the submission.
    pub(crate) submission_out: OwnedFd,
    /// Standard input of the interactor.
    pub(crate) interactor_in: OwnedFd,
    /// Standard output of the interactor.
    pub(crate) interactor_out: OwnedFd,
    kept: ReadEnds,
}

/// Second reading ends.
struct ReadEnds {
    to_submission: File,
    to_interactor: File,
}

impl Pipes {
    pub(crate) fn new() -> Result<Pipes, SystemError> {
        let fault = |e: String| SystemError::new("making pipes for an interaction", e);
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault(e.to_string()));
        let (submission_in, interactor_out) = pipe()?;
        let (interactor_in, submission_out) = pipe()?;
        let second = |fd: &OwnedFd| fd.try_clone().map(File::from).map_err(|e| fault(e.to_string()));
        let kept =
            ReadEnds { to_submission: second(&submission_in)?, to_interactor: second(&interactor_in)? };
        Ok(Pipes { submission_in, submission_out, interactor_in, interactor_out, kept })
    }

    /// Parts the ends that go to the programs from those that stay here.
    pub(crate) fn split(self) -> ([OwnedFd; 2], [OwnedFd; 2], KeptEnds) {
        let submission = [self.submission_in, self.submission_out];
        let interactor = [self.interactor_in, self.interactor_out];
        (submission, interactor, KeptEnds(self.kept))
    }
}

/// The reading ends that stay here.
pub(crate) struct KeptEnds(ReadEnds);

/// One side of an interaction: where it runs, what, and its descriptors.
pub(crate) struct Side<'a> {
    pub(crate) context: RunContext<'a>,
    pub(crate) spec: RunSpec,
    pub(crate) fds: Vec<OwnedFd>,
}

/// What was seen of an interaction.
pub(crate) struct Interaction {
    pub(crate) submission: Observation,
    pub(crate) interactor: Observation,
    pub(crate) first: EndedFirst,
}

type Report = (EndedFirst, Result<Observation, Fault>);

/// Runs both sides to their ends.
///
/// `accepts` is the exit code of an interactor that accepts.
pub(crate) fn interact(
    submission: Side,
    interactor: Side,
    kept: KeptEnds,
    accepts: i32,
) -> Result<Interaction, Fault> {
    let KeptEnds(ReadEnds { to_submission, to_interactor }) = kept;
    let limits = submission.spec.limits;
    let watch = Watch::new(&to_submission, &to_interactor);
    let (places, (tell, reports)) = ([submission.context, interactor.context], channel::<Report>());
    scope(|threads| {
        let telling = tell.clone();
        threads.spawn(move || report(&telling, EndedFirst::Submission, submission));
        threads.spawn(move || report(&tell, EndedFirst::Validator, interactor));

        let (who, one) = receive(&reports)?;
        let failed = one.is_err();
        let silent = watch.and_then(|watch| watch.first([&to_submission, &to_interactor]));
        match who {
            EndedFirst::Submission => discard(threads, to_submission),
            EndedFirst::Validator => discard(threads, to_interactor),
        }
        let accepted = matches!(&one, Ok(o) if o.exit == Exit::Code(accepts));
        let (_, other) = match who {
            EndedFirst::Submission if failed => end(&places[1], &reports, Duration::ZERO)?,
            EndedFirst::Submission => receive(&reports)?,
            EndedFirst::Validator if accepted => receive(&reports)?,
            EndedFirst::Validator if silent == Some(EndedFirst::Submission) => {
                end(&places[0], &reports, DYING)?
            }
            EndedFirst::Validator => end(&places[0], &reports, Duration::ZERO)?,
        };
        let (submission, interactor) = match who {
            EndedFirst::Submission => (one?, other?),
            EndedFirst::Validator => (other?, one?),
        };
        let first = ended_first(&submission, &interactor, &limits, silent);
        Ok(Interaction { submission, interactor, first })
    })
}

/// A submission that passed a limit was ended by its own runner, however long it took to tear down. One that we
/// ended had not ended by itself.
fn ended_first(
    submission: &Observation,
    interactor: &Observation,
    limits: &Limits,
    silent: Option<EndedFirst>,
) -> EndedFirst {
    let by_time = match interactor.ended < submission.ended {
        true => EndedFirst::Validator,
        false => EndedFirst::Submission,
    };
    match submission.status(limits) {
        Status::CpuTimeLimit | Status::WallTimeLimit | Status::MemoryLimit | Status::OutputLimit => {
            EndedFirst::Submission
        }
        _ if submission.cancelled => EndedFirst::Validator,
        _ => silent.unwrap_or(by_time),
    }
}

/// Watches both pipes for the closing of their writing ends.
struct Watch {
    queue: OwnedFd,
    /// Of the pipe to the submission, and of the pipe to the interactor.
    pipes: [i32; 2],
}

impl Watch {
    /// `None` where the kernel or a missing /proc does not allow it.
    fn new(to_submission: &File, to_interactor: &File) -> Option<Watch> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let add = |pipe: &File| {
            let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
            inotify::add_watch(&queue, path, WatchFlags::CLOSE_WRITE).ok()
        };
        let pipes = [add(to_submission)?, add(to_interactor)?];
        Some(Watch { queue, pipes })
    }

    /// Who closed its output first, of those whose output is closed by now.
    fn first(&self, pipes: [&File; 2]) -> Option<EndedFirst> {
        let mut fds = pipes.map(|pipe| PollFd::new(pipe, PollFlags::empty()));
        poll(&mut fds, Some(&Timespec::default())).ok()?;
        let closed = fds.map(|fd| fd.revents().contains(PollFlags::HUP));
        let mut space = [MaybeUninit::uninit(); 1024];
        let mut events = inotify::Reader::new(&self.queue, &mut space);
        // A program may open its output a second time and close that; its last event is the one that counts.
        let mut last = [None, None];
        let mut count = 0;
        while let Ok(event) = events.next() {
            count += 1;
            if let Some(n) = self.pipes.iter().position(|wd| *wd == event.wd()) {
                last[n] = Some(count);
            }
        }
        let at = |n: usize| last[n].filter(|_| closed[n]);
        match (at(0), at(1)) {
            (Some(interactor), Some(submission)) if interactor < submission => Some(EndedFirst::Validator),
            (_, Some(_)) => Some(EndedFirst::Submission),
            (Some(_), None) => Some(EndedFirst::Validator),
            (None, None) => None,
        }
    }
}

fn report(to: &Sender<Report>, who: EndedFirst, side: Side) {
    let seen = side.context.run(&side.spec, side.fds);
    // The receiver is gone only when the interaction has failed already.
    let _ = to.send((who, seen));
}

fn receive(reports: &Receiver<Report>) -> Result<Report, Fault> {
    reports.recv().map_err(|_| SystemError::new("an interaction", "one side ended without a report").into())
}

/// Ends a run that does not end by itself within `grace`; again and again until it reports.
fn end(context: &RunContext, reports: &Receiver<Report>, grace: Duration) -> Result<Report, Fault> {
    let mut patience = grace;
    loop {
        match reports.recv_timeout(patience) {
            Ok(report) => return Ok(report),
            Err(RecvTimeoutError::Disconnected) => return receive(reports),
            Err(RecvTimeoutError::Timeout) => context.runner.end_run(false),
        }
        patience = AGAIN;
    }
}

/// Reads a pipe to its end and throws it away.
fn discard<'scope>(threads: &'scope Scope<'scope, '_>, mut pipe: File) {
    // An error ends it like the end of the pipe does: nobody waits for these bytes.
    threads.spawn(move || copy(&mut pipe, &mut sink()).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::observation;
    use model::Nanos;

    #[test]
    fn limits_come_before_pipes_and_pipes_before_times() {
        let limits = Limits { cpu: Some(Nanos(100)), ..Limits::default() };
        let seen = |exit: Exit, cpu: u64, ended: u64| Observation {
            ended: Nanos(ended),
            ..observation(exit, Nanos(cpu))
        };
        let interactor = seen(Exit::Code(43), 1, 50);
        let crash = Exit::Signal(6);
        let (validator, itself) = (EndedFirst::Validator, EndedFirst::Submission);
        for (submission, silent, first) in [
            (seen(crash, 1, 49), None, itself),
            (seen(crash, 1, 51), None, validator),
            (seen(crash, 1, 51), Some(itself), itself),
            (seen(crash, 1, 49), Some(validator), validator),
            (seen(Exit::Signal(9), 101, 51), Some(validator), itself),
            (Observation { wall_exceeded: true, ..seen(Exit::Signal(9), 1, 51) }, None, itself),
            (Observation { cancelled: true, ..seen(Exit::Signal(9), 1, 51) }, Some(itself), validator),
        ] {
            assert_eq!(ended_first(&submission, &interactor, &limits, silent), first, "{submission:?}");
        }
    }

    #[test]
    fn the_kernel_keeps_the_order_of_closing() {
        for (validator_first, expected) in [(true, EndedFirst::Validator), (false, EndedFirst::Submission)] {
            let Pipes { submission_out, interactor_out, kept, .. } = Pipes::new().unwrap();
            let watch = Watch::new(&kept.to_submission, &kept.to_interactor).expect("pipes can be watched");
            for end in [&submission_out, &interactor_out] {
                drop(File::options().write(true).open(format!("/proc/self/fd/{}", end.as_raw_fd())));
            }
            match validator_first {
                true => [interactor_out, submission_out].map(drop),
                false => [submission_out, interactor_out].map(drop),
            };
            assert_eq!(watch.first([&kept.to_submission, &kept.to_interactor]), Some(expected));
        }
    }

    #[test]
    fn an_open_pipe_is_not_silent() {
        let Pipes { submission_out, kept, .. } = Pipes::new().unwrap();
        let watch = Watch::new(&kept.to_submission, &kept.to_interactor).expect("pipes can be watched");
        drop(File::options().write(true).open(format!("/proc/self/fd/{}", submission_out.as_raw_fd())));
        // The other one is closed already, without an event, since it was dropped with the rest of the pipes.
        assert_eq!(watch.first([&kept.to_submission, &kept.to_interactor]), None);
    }
}
