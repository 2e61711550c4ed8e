//! A submission and an interactor that talk to each other.
//!
//! Two pipes lead from the one to the other; this process keeps a second reading end of each. As long as a
//! program runs, only it reads from its pipe. When it has ended, what the other still writes is read here and
//! thrown away, so that nobody is ended by a broken pipe for the last words to a partner who has left. Writing
//! ends are not kept: when a program ends, its partner reads the end of input.
//!
//! Which of the two ended first is told by the times at which their runners saw them dead, since the reports
//! themselves may overtake one another; see [`ended_first`].

use crate::Fault;
use crate::SystemError;
use crate::program::Place;
use judge::verdict::{EndedFirst, VALIDATOR_ACCEPTS};
use model::{Exit, Limits, Observation, RunSpec, Status};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{copy, sink};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Scope, scope};
use std::time::Duration;

/// How long to wait before a run that was ended is ended again: the first time it may not have begun.
const AGAIN: Duration = Duration::from_millis(20);

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
    kept: Kept,
}

/// Second reading ends.
struct Kept {
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
        let kept = Kept { to_submission: second(&submission_in)?, to_interactor: second(&interactor_in)? };
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
pub(crate) struct KeptEnds(Kept);

/// One side of an interaction: where it runs, what, and its descriptors.
pub(crate) struct Side<'a> {
    pub(crate) place: Place<'a>,
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
pub(crate) fn interact(submission: Side, interactor: Side, kept: KeptEnds) -> Result<Interaction, Fault> {
    let KeptEnds(Kept { to_submission, to_interactor }) = kept;
    let limits = submission.spec.limits;
    let (places, (tell, reports)) = ([submission.place, interactor.place], channel::<Report>());
    scope(|threads| {
        let telling = tell.clone();
        threads.spawn(move || report(&telling, EndedFirst::Submission, submission));
        threads.spawn(move || report(&tell, EndedFirst::Validator, interactor));

        let (who, one) = receive(&reports)?;
        let failed = one.is_err();
        let other = match who {
            EndedFirst::Submission => {
                discard(threads, to_submission);
                drop(to_interactor);
                if failed { end(&places[1], &reports) } else { receive(&reports) }
            }
            EndedFirst::Validator => {
                discard(threads, to_interactor);
                drop(to_submission);
                let accepted = matches!(&one, Ok(o) if o.exit == Exit::Code(VALIDATOR_ACCEPTS));
                if accepted { receive(&reports) } else { end(&places[0], &reports) }
            }
        }?;
        let (submission, interactor) = match who {
            EndedFirst::Submission => (one?, other.1?),
            EndedFirst::Validator => (other.1?, one?),
        };
        let first = ended_first(&submission, &interactor, &limits);
        Ok(Interaction { submission, interactor, first })
    })
}

/// A submission that passed a limit was ended by its own runner, whenever its death was seen: tearing down what
/// was killed takes longer than the interactor needs to notice. One that we ended had not ended by itself.
fn ended_first(submission: &Observation, interactor: &Observation, limits: &Limits) -> EndedFirst {
    match submission.status(limits) {
        Status::CpuTimeLimit | Status::WallTimeLimit | Status::MemoryLimit | Status::OutputLimit => {
            EndedFirst::Submission
        }
        _ if submission.cancelled || interactor.ended < submission.ended => EndedFirst::Validator,
        _ => EndedFirst::Submission,
    }
}

fn report(to: &Sender<Report>, who: EndedFirst, side: Side) {
    let seen = side.place.run(&side.spec, side.fds);
    // The receiver is gone only when the interaction has failed already.
    let _ = to.send((who, seen));
}

fn receive(reports: &Receiver<Report>) -> Result<Report, Fault> {
    reports.recv().map_err(|_| SystemError::new("an interaction", "one side ended without a report").into())
}

/// Ends a run, again and again until it reports.
fn end(place: &Place, reports: &Receiver<Report>) -> Result<Report, Fault> {
    loop {
        place.runner.end_run(false);
        match reports.recv_timeout(AGAIN) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(report) => return Ok(report),
            Err(RecvTimeoutError::Disconnected) => return receive(reports),
        }
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
    fn limits_come_before_times_and_times_before_reports() {
        let limits = Limits { cpu: Some(Nanos(100)), ..Limits::default() };
        let seen = |exit: Exit, cpu: u64, ended: u64| Observation {
            ended: Nanos(ended),
            ..observation(exit, Nanos(cpu))
        };
        let interactor = seen(Exit::Code(43), 1, 50);
        let crash = Exit::Signal(6);
        for (submission, first) in [
            (seen(crash, 1, 49), EndedFirst::Submission),
            (seen(crash, 1, 51), EndedFirst::Validator),
            (seen(Exit::Signal(9), 101, 51), EndedFirst::Submission),
            (Observation { wall_exceeded: true, ..seen(Exit::Signal(9), 1, 51) }, EndedFirst::Submission),
            (Observation { cancelled: true, ..seen(Exit::Signal(9), 1, 51) }, EndedFirst::Validator),
        ] {
            assert_eq!(ended_first(&submission, &interactor, &limits), first, "{submission:?}");
        }
    }
}
