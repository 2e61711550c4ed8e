//! A test case whose time is settled: run again while the rule asks for it.

use crate::Fault;
use crate::case::{CaseLimits, Judged};
use crate::clocks::Meter;
use crate::program::RunContext;
use crate::slot::Control;
use model::{
    Cause, Charge, Confidence, Exit, JudgePhase, Nanos, Observation, Reading, SecondOpinion, Settled, Verdict,
};
use settle::{
    Decision, NoiseFloor, Policy, Step, Timed, causes, disturbances, is_unaffected, settle, stop_at,
};
use std::cell::Cell;

/// A program this far above its limit fails whatever the control program says: machines become slower by less.
const NEAR: f64 = 1.5;

/// A test case, judged as often as its time asked for.
pub(crate) struct SettledCase {
    /// The attempt that decides everything but time: the first that kept the limit, else the first.
    pub(crate) judged: Judged,
    /// Which attempt that is, from 0.
    pub(crate) attempt: usize,
    /// Every run of every attempt, in order.
    pub(crate) runs: Vec<Observation>,
    /// For each of them what disturbed it.
    pub(crate) causes: Vec<Vec<Cause>>,
    /// What counts.
    pub(crate) charge: Charge,
    /// Elapsed time of the same run.
    pub(crate) wall: Nanos,
    /// How certain the time is.
    pub(crate) settled: Settled,
    /// It passes by runs so near the limit that its usual time may be above.
    pub(crate) near: bool,
    /// What the reference clock said.
    pub(crate) opinion: Option<SecondOpinion>,
}

/// Limits under which an attempt shows how far it is above its limit.
pub(crate) fn limits_to_settle(limits: CaseLimits, floor: &NoiseFloor) -> CaseLimits {
    let Some(limit) = limits.judge.cpu else { return limits };
    let stop = stop_at(limit, floor.spread(), &Policy::PUBLISHED);
    let cpu = limits.stop.cpu.map_or(stop, |typed| typed.max(stop));
    CaseLimits { stop: model::Limits { cpu: Some(cpu), ..limits.stop }, ..limits }
}

/// One attempt: all passes of a test case.
struct Attempt {
    judged: Judged,
    timed: Timed,
    wall: Nanos,
    /// What the control program showed after it.
    slowdown: Option<f64>,
}

/// What an attempt is judged by, apart from itself.
pub(crate) struct SettleContext<'a> {
    pub(crate) meter: Meter,
    pub(crate) limits: &'a CaseLimits,
    pub(crate) floor: &'a NoiseFloor,
    /// The control program of the slot, and where it is run.
    pub(crate) control: Option<(&'a Control, RunContext<'a>)>,
    /// Looks for calm that were made for this submission.
    pub(crate) looks: &'a Cell<u32>,
    /// Called when a wait for calm begins, now and then while it lasts, and when it ends.
    pub(crate) phase: &'a dyn Fn(JudgePhase),
}

/// Makes attempts at a test case until their times decide. Interactive and multi-pass cases are repeated as a whole; their time is that of
/// their slowest pass.
///
/// While the least time is near the limit and no pass is settled, the control program is run after each: neighbours that share caches and
/// memory slow a machine for seconds, in which all runs agree and no other evidence shows it. Where it is slow, the next attempt waits until it is not,
/// unless the attempts show that this does not slow the program. The first waits are short, until there are enough attempts to show that.
pub(crate) fn settle_attempts(
    settle_context: &SettleContext<'_>,
    mut attempt: impl FnMut() -> Result<Judged, Fault>,
) -> Result<SettledCase, Fault> {
    let SettleContext { meter, limits, floor, control, looks, phase } = *settle_context;
    let limit = Charge::limit(meter.clock(), &limits.judge);
    let mut attempts: Vec<Attempt> = Vec::new();
    loop {
        let judged = attempt()?;
        let (timed, wall) = timed(&judged.runs, meter, floor)?;
        attempts.push(Attempt { judged, timed, wall, slowdown: None });
        let mut end = decided(&attempts, limit, floor);
        let passes = end.is_some_and(|end| end.passes);
        if let Some((control, context)) = control.filter(|_| !passes && is_near(&attempts, limit)) {
            let look = control.look(&context, floor.calm_until())?;
            note_slowdown(&mut attempts, look.slowdown, meter, floor)?;
            end = decided(&attempts, limit, floor);
            if end.is_none() && !is_unaffected(seen(&attempts)) {
                let first = attempts.len() < Policy::UNAFFECTED_RUNS;
                let most = if first { Policy::FIRST_LOOKS } else { Policy::CALM_LOOKS };
                control.wait_for_calm(&context, floor.calm_until(), look, (looks, most), phase)?;
            }
        }
        let Some(end) = end else { continue };
        let Decision { confidence, charge, near, void_runs, .. } = end;
        let runs: Vec<Observation> =
            attempts.iter().flat_map(|attempt| attempt.judged.runs.clone()).collect();
        let wall =
            attempts.iter().find(|attempt| attempt.timed.charge == charge).map_or(Nanos::ZERO, |a| a.wall);
        let settled = Settled { confidence, runs: u32::try_from(runs.len()).unwrap_or(u32::MAX), void_runs };
        let kept = attempts.iter().position(|attempt| attempt.judged.verdict != Verdict::TimeLimit);
        let attempt = kept.unwrap_or(0);
        let judged = attempts.swap_remove(attempt).judged;
        return Ok(SettledCase {
            judged,
            attempt,
            causes: causes(&runs, floor),
            runs,
            charge,
            wall,
            settled,
            near,
            opinion: None,
        });
    }
}

/// What the attempts so far decide, if they are enough.
fn decided(attempts: &[Attempt], limit: Option<Charge>, floor: &NoiseFloor) -> Option<Decision> {
    let last = attempts.last()?;
    // Of what time does not decide.
    let apart = |confidence, charge, void_runs| {
        Some(Decision { passes: true, confidence, near: false, charge, void_runs })
    };
    let Some(limit) = limit else { return apart(Confidence::Clear, last.timed.charge, 0) };
    let kept = attempts.iter().find(|attempt| attempt.timed.charge <= limit);
    // What is wrong apart from time is wrong however long it takes.
    if let Some(attempt) = kept.filter(|attempt| attempt.judged.verdict != Verdict::Accepted) {
        let confidence = if attempts.len() == 1 { Confidence::Clear } else { Confidence::Settled };
        let void = attempts.iter().filter(|attempt| attempt.timed.is_void(limit)).count();
        return apart(confidence, attempt.timed.charge, void as u32);
    }
    // Another limit was passed together with that of time, and comes before it (docs/verdicts.md).
    if kept.is_none() && last.judged.verdict != Verdict::TimeLimit {
        return apart(Confidence::Clear, last.timed.charge, 0);
    }
    // Only for a pass: a run above the limit is discarded as before.
    let unaffected = is_unaffected(seen(attempts));
    let slow = |slowdown: f64| !unaffected && slowdown > floor.calm_until();
    let timed = |attempt: &Attempt| Timed { slow: attempt.slowdown.is_some_and(slow), ..attempt.timed };
    let timed: Vec<Timed> = attempts.iter().map(timed).collect();
    match settle(limit, floor.spread(), &Policy::PUBLISHED, &timed) {
        Step::Again => None,
        Step::Decided(decision) => Some(decision),
    }
}

/// The time of each attempt, and what the control program showed after it. Runs that were stopped all take as long.
fn seen(attempts: &[Attempt]) -> impl Iterator<Item = (f64, f64)> {
    let ended = |attempt: &&Attempt| attempt.judged.runs.iter().all(|run| matches!(run.exit, Exit::Code(_)));
    let seen = |attempt: &Attempt| Some((attempt.timed.charge.amount as f64, attempt.slowdown?));
    attempts.iter().filter(ended).filter_map(seen)
}

/// Whether the best attempt was not far above the limit, by a clock that varies.
fn is_near(attempts: &[Attempt], limit: Option<Charge>) -> bool {
    let least = attempts.iter().map(|attempt| attempt.timed.charge).min();
    let both = limit.filter(|limit| limit.clock.varies()).zip(least);
    both.is_some_and(|(limit, least)| least.as_time() <= limit.as_time().scale(NEAR))
}

/// Adds to the evidence of all runs since the last look that the machine was so slow.
fn note_slowdown(
    attempts: &mut [Attempt],
    slowdown: f64,
    meter: Meter,
    floor: &NoiseFloor,
) -> Result<(), Fault> {
    for attempt in attempts.iter_mut().filter(|attempt| attempt.slowdown.is_none()) {
        attempt.slowdown = Some(slowdown);
        let runs = attempt.judged.runs.iter_mut();
        runs.for_each(|run| run.evidence.slowdown = Reading::Known(slowdown));
        (attempt.timed, attempt.wall) = timed(&attempt.judged.runs, meter, floor)?;
    }
    Ok(())
}

/// The slowest pass of an attempt, as the rule sees it, and its elapsed time.
fn timed(runs: &[Observation], meter: Meter, floor: &NoiseFloor) -> Result<(Timed, Nanos), Fault> {
    let charged = runs.iter().map(|run| Ok((meter.charge(run)?, run)));
    let charged = charged.collect::<Result<Vec<_>, Fault>>()?;
    let slowest = charged.into_iter().max_by_key(|(charge, _)| *charge);
    Ok(match slowest {
        Some((charge, run)) => (Timed::new(charge, &disturbances(run, floor)), run.time.wall),
        None => (Timed::new(Charge { clock: meter.clock(), amount: 0 }, &[]), Nanos::ZERO),
    })
}
