//! The state of a worker, over any transport: idle, a job claimed, a job in work, or an outcome that the service has not
//! confirmed. Pure: the job loop asks for the next step, and transports report what happened.
//!
//! idle ─claimed─▶ claimed ─begin─▶ working ─ended─▶ handing in ─heard─▶ idle
//!
//! While an outcome is being reported the worker may judge its next job, but reports no second outcome. A broken connection
//! changes nothing: the worker finishes its job and reports the outcome once a service is reachable.

use crate::{Lease, Outcome};

/// Why a task that was lost was given back.
const LEFT: &str = "the service wanted it to be left";

/// The state of a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerState {
    at: Option<At>,
    telling: Option<Lease>,
    /// The service withdrew this job, perhaps before the worker had it.
    lost: Option<Lease>,
    /// The service must confirm the current outcome before the worker claims another job.
    patient: bool,
    ending: bool,
    failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    lease: Lease,
    begun: bool,
}

/// The next step of a worker without a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Claim a job.
    Claim,
    /// Wait until the service confirms the outcome.
    Wait,
    /// End: nothing is left to do. With the failure that ends the worker, if one does.
    End(Option<String>),
}

impl WorkerState {
    /// The next step.
    pub fn next(&self) -> Step {
        match (self.telling.is_some(), self.ending) {
            (true, ending) if ending || self.patient => Step::Wait,
            (_, false) => Step::Claim,
            (_, true) => Step::End(self.failed.clone()),
        }
    }

    /// The worker claimed a job.
    pub fn claimed(&mut self, lease: Lease) {
        self.at = Some(At { lease, begun: false });
    }

    /// Begins the claimed job. False: the service withdrew it, and the worker must not begin.
    pub fn begin(&mut self) -> bool {
        let goes = !self.is_left();
        self.at.iter_mut().for_each(|at| at.begun = goes);
        goes
    }

    /// The service withdrew a job. True: end its runs, as long as [`WorkerState::is_left`] holds; false if this was known.
    pub fn lose(&mut self, lease: Lease) -> bool {
        let news = self.lost.replace(lease) != Some(lease);
        news && self.is_left()
    }

    /// Whether the current job was withdrawn.
    pub fn is_left(&self) -> bool {
        self.at.is_some_and(|at| self.lost == Some(at.lease))
    }

    /// Whether the worker is judging a withdrawn job.
    pub fn is_leaving(&self) -> bool {
        self.is_left() && self.at.is_some_and(|at| at.begun)
    }

    /// Ends the current job; returns the outcome to report. After a failure the worker ends once the service confirms it, since
    /// the worker itself may be at fault.
    pub fn ended(&mut self, outcome: Outcome) -> Outcome {
        let left = self.is_left();
        self.at = None;
        match outcome {
            Outcome::Returned { .. } if left => Outcome::Returned { why: LEFT.into() },
            Outcome::Failed { why } => {
                (self.ending, self.failed) = (true, Some(why.clone()));
                Outcome::Failed { why }
            }
            other => other,
        }
    }

    /// Begins to report an outcome. No other report may be under way.
    pub fn tell(&mut self, lease: Lease, outcome: &Outcome) {
        self.telling = Some(lease);
        // Whoever gave something back hears first that it is not its own any more.
        self.patient = matches!(outcome, Outcome::Returned { .. } | Outcome::Failed { .. });
    }

    /// Whether an outcome is being reported.
    pub fn is_telling(&self) -> bool {
        self.telling.is_some()
    }

    /// The service confirmed an outcome.
    pub fn heard(&mut self, lease: Lease) {
        self.telling = self.telling.filter(|telling| *telling != lease);
    }

    /// Gives up reporting: no service will confirm it.
    pub fn give_up(&mut self) {
        self.telling = None;
    }

    /// The job in work or being reported, for the greeting.
    pub fn holding(&self) -> Option<Lease> {
        self.at.map(|at| at.lease).or(self.telling)
    }

    /// Ends the worker once its outcome is reported.
    pub fn drain(&mut self) {
        self.ending = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobId;
    use model::Judgement;
    use proptest::prelude::*;

    fn lease(job: i64) -> Lease {
        Lease { job: JobId(job), attempt: 1 }
    }

    fn judged() -> Outcome {
        Outcome::Judged { judgement: Box::new(Judgement::fault("s", "made up")) }
    }

    fn returned(why: &str) -> Outcome {
        Outcome::Returned { why: why.into() }
    }

    #[test]
    fn the_next_job_is_claimed_while_an_outcome_is_on_its_way() {
        let mut hand = WorkerState::default();
        hand.claimed(lease(1));
        assert!(hand.begin());
        let outcome = hand.ended(judged());
        assert_eq!(outcome, judged());
        hand.tell(lease(1), &outcome);
        assert_eq!((hand.next(), hand.holding()), (Step::Claim, Some(lease(1))));
        hand.claimed(lease(2));
        assert_eq!(hand.holding(), Some(lease(2)));
        hand.heard(lease(1));
        assert!(!hand.is_telling());
    }

    #[test]
    fn what_is_lost_is_left_whenever_that_is_said() {
        // Before it is had, before it is begun, and while it is worked at.
        for when in 0..3 {
            let mut hand = WorkerState::default();
            let said = |hand: &mut WorkerState, at| (at == when).then(|| hand.lose(lease(1)));
            let mut ended = said(&mut hand, 0);
            hand.claimed(lease(1));
            ended = ended.or(said(&mut hand, 1));
            assert_eq!(hand.begin(), when == 2);
            ended = ended.or(said(&mut hand, 2));
            assert_eq!((ended, hand.is_leaving()), (Some(when > 0), when == 2));
            assert!(!hand.lose(lease(1)), "once");
            assert_eq!(hand.ended(returned("it was ended")), returned(LEFT));
            assert!(!hand.is_left() && !hand.is_leaving(), "its runs are over");
            hand.claimed(lease(2));
            assert!(hand.begin(), "another one");
        }
    }

    #[test]
    fn what_was_judged_before_it_was_left_is_told() {
        let mut hand = WorkerState::default();
        hand.claimed(lease(1));
        hand.begin();
        hand.lose(lease(1));
        assert_eq!(hand.ended(judged()), judged());
    }

    #[test]
    fn who_gave_back_failed_or_is_to_end_waits_until_that_is_heard() {
        let failed = Outcome::Failed { why: "no launcher".into() };
        for (outcome, drain, then) in [
            (returned("a full disk"), false, Step::Claim),
            (failed, false, Step::End(Some("no launcher".into()))),
            (judged(), true, Step::End(None)),
        ] {
            let mut hand = WorkerState::default();
            hand.claimed(lease(1));
            hand.begin();
            let outcome = hand.ended(outcome);
            hand.tell(lease(1), &outcome);
            if drain {
                hand.drain();
            }
            assert_eq!(hand.next(), Step::Wait);
            hand.heard(lease(7));
            assert_eq!(hand.next(), Step::Wait, "of another one");
            hand.heard(lease(1));
            assert_eq!(hand.next(), then);
        }
        let mut idle = WorkerState::default();
        idle.drain();
        assert_eq!(idle.next(), Step::End(None));
    }

    proptest! {
        /// Whatever is said when, whoever goes by it has one job at a time, tells of each once, and ends with nothing in hand.
        #[test]
        fn nothing_is_had_twice_or_forgotten(events in prop::collection::vec((0..6u8, 0..4i64), 1..60)) {
            let mut hand = WorkerState::default();
            let (mut jobs, mut told, mut heard) = (0, Vec::new(), Vec::new());
            for (event, n) in events {
                match event {
                    0 => drop(hand.lose(lease(jobs - 1 + n))),
                    1 if n == 0 => hand.drain(),
                    2 => {
                        if let Some(last) = told.last().filter(|_| hand.is_telling()) {
                            heard.push(*last);
                            hand.heard(lease(*last));
                        }
                    }
                    _ => {
                        if hand.next() != Step::Claim || (hand.is_telling() && n == 0) {
                            continue;
                        }
                        jobs += 1;
                        hand.claimed(lease(jobs));
                        prop_assert_eq!(hand.holding(), Some(lease(jobs)));
                        hand.begin();
                        let outcome = hand.ended(if n == 1 { returned("why") } else { judged() });
                        if hand.is_telling() {
                            heard.extend(told.last());
                            hand.heard(lease(told[told.len() - 1]));
                        }
                        hand.tell(lease(jobs), &outcome);
                        told.push(jobs);
                    }
                }
            }
            hand.drain();
            if hand.is_telling() {
                prop_assert_eq!(hand.next(), Step::Wait);
                heard.extend(told.last());
                hand.heard(lease(told[told.len() - 1]));
            }
            prop_assert_eq!(hand.next(), Step::End(None));
            prop_assert_eq!(hand.holding(), None);
            prop_assert_eq!(heard, told);
        }
    }
}
