//! Second opinions: the reference clock judges a test whose CPU time does not decide. Its limit in reference time follows from the
//! jury's programs (docs/settling.md, "The second opinion").

mod scale;
mod scale_cache;

use crate::case::{CaseLimits, Judged};
use crate::clocks::{Counter, Meter, meter};
use crate::prepared_slot::PreparedSlot;
use crate::program::Built;
use crate::settled::SettledCase;
use crate::submission::{Ready, Submission, case_limits, prepare};
use crate::timelimit::TimeLimitInUse;
use crate::{Fault, SystemError};
use judge::package::TestCase;
use model::{
    Charge, Clock, Confidence, InferredScales, Nanos, ReferenceScale, SecondOpinion, SecondOpinions, Verdict,
};
use settle::asks;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A time that is further from its limit than this part of it stands by one run: reference times of programs whose times do not repeat
/// differ by less (docs/clocks.md).
const SURE: f64 = 0.1;

/// When a package gets second opinions, by which emulator, and its scales of reference time.
pub struct Opinions {
    when: SecondOpinions,
    /// What follows programs, or why nothing does.
    meter: Result<Meter, String>,
    /// By language; or why it has none.
    scales: Mutex<BTreeMap<String, Result<ReferenceScale, String>>>,
    /// Others are found with the jury's programs, and kept here.
    inferring: bool,
    directory: Option<PathBuf>,
}

impl Opinions {
    /// No second opinions.
    pub fn none() -> Opinions {
        Opinions {
            when: SecondOpinions::Never,
            meter: Err("second opinions are off".into()),
            scales: Mutex::default(),
            inferring: false,
            directory: None,
        }
    }

    /// Second opinions with these scales and no others, as a service sends them.
    pub fn told(when: SecondOpinions, scales: Vec<ReferenceScale>) -> Opinions {
        let scales = scales.into_iter().map(|scale| (scale.language.clone(), Ok(scale))).collect();
        let meter = meter(Clock::Reference, Counter::Best);
        Opinions { when, meter, scales: Mutex::new(scales), inferring: false, directory: None }
    }

    /// Second opinions with scales that are inferred from the jury's programs when first needed. They are cached in a directory,
    /// created if absent, for this package, reference machine and emulator.
    pub fn inferred(when: SecondOpinions, directory: Option<PathBuf>) -> Opinions {
        Opinions { inferring: true, directory, ..Opinions::told(when, Vec::new()) }
    }

    /// The same with this emulator.
    pub fn followed_by(self, meter: Meter) -> Opinions {
        Opinions { meter: Ok(meter), ..self }
    }

    /// What of this package's limits is reference time, for a language.
    fn scale(
        &self,
        benches: [&PreparedSlot; 2],
        language: &str,
    ) -> Result<Result<ReferenceScale, String>, Fault> {
        // Held while it is found: others would find the same.
        let mut scales = self.scales.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.inferring {
            let told = InferredScales::for_language(scales.values().flatten(), language);
            let here = benches[1].job.options.meter.versions().unwrap_or_default();
            return Ok(match told {
                Some(scale) if scale.counted_by == here => Ok(scale.clone()),
                Some(scale) => Err(format!(
                    "its limit was inferred by {}, and this host has {here}\nhint: infer the scales again",
                    scale.counted_by
                )),
                None => Err(format!("no limit in reference time is known for {language}")),
            });
        }
        if let Some(known) = scales.get(language) {
            return Ok(known.clone());
        }
        let key = scale_cache::key(benches[1], language)?;
        let kept = self.directory.as_deref().and_then(|directory| scale_cache::read(directory, &key));
        let found = match kept {
            Some(kept) => Ok(kept),
            None => scale::infer(benches, language, &Cell::new(0))?,
        };
        if let (Ok(scale), Some(directory)) = (&found, &self.directory) {
            // What cannot be kept is found again.
            let _ = scale_cache::write(directory, &key, scale);
        }
        scales.insert(language.to_owned(), found.clone());
        Ok(found)
    }
}

/// A bench whose runs are followed by the reference clock; `None` where no opinion will be asked for, or nobody can give one.
pub(crate) fn second_bench<'b>(bench: &'b PreparedSlot) -> Option<PreparedSlot<'b>> {
    let opinions = bench.job.opinions;
    let asked = opinions.when != SecondOpinions::Never && bench.job.options.meter.clock().varies();
    let meter = opinions.meter.as_ref().ok().filter(|_| asked)?;
    Some(bench.with_meter(*meter))
}

/// The scales of a package, by its jury's programs, for those who tell them to others ([`Opinions::told`]). The jobs' [`Opinions`] say what
/// follows programs.
///
/// # Errors
/// [`Fault::Input`] if this machine has no emulator; else the errors of judging.
pub fn scales(bench: &PreparedSlot) -> Result<InferredScales, Fault> {
    let mut found = InferredScales::default();
    if !bench.job.options.meter.clock().varies() {
        found.warnings.push("its clock counts, so no result stays open".into());
        return Ok(found);
    }
    let meter = bench.job.opinions.meter.as_ref();
    let meter =
        meter.map_err(|why| Fault::Input { place: "the reference clock".into(), why: why.clone() })?;
    let second = bench.with_meter(*meter);
    let looks = Cell::new(0);
    for language in scale::languages(bench)? {
        match scale::infer([bench, &second], &language, &looks)? {
            Ok(scale) => found.scales.push(scale),
            Err(why) => found.warnings.push(format!("{language}: {why}")),
        }
    }
    Ok(found)
}

/// The second opinions on one submission.
pub(crate) struct SecondOpinionJudge<'a> {
    bench: &'a PreparedSlot<'a>,
    /// See [`second_bench`].
    second: Option<&'a PreparedSlot<'a>>,
    submission: &'a Submission,
    time: &'a TimeLimitInUse,
    language: String,
    /// Made when the first opinion is asked for.
    ready: Option<Result<Prepared<'a>, String>>,
    warned: bool,
}

/// The submission, built for the reference clock, and its limits there.
struct Prepared<'a> {
    built: Built<'a>,
    limits: CaseLimits,
}

/// What the reference clock says of a test.
struct ReferenceResult {
    opinion: SecondOpinion,
    /// Another run would say the same.
    firm: bool,
    /// The run with the least time.
    judged: Judged,
}

impl<'a> SecondOpinionJudge<'a> {
    pub(crate) fn new(
        bench: &'a PreparedSlot<'a>,
        second: Option<&'a PreparedSlot<'a>>,
        submission: &'a Submission,
        time: &'a TimeLimitInUse,
        language: &str,
    ) -> SecondOpinionJudge<'a> {
        let language = language.to_owned();
        SecondOpinionJudge { bench, second, submission, time, language, ready: None, warned: false }
    }

    /// A settled test, by the reference clock where it is to be asked and can say something.
    pub(crate) fn heard(&mut self, case: &TestCase, settled: SettledCase) -> Result<SettledCase, Fault> {
        let opinions = self.bench.job.opinions;
        let timed = matches!(settled.judged.verdict, Verdict::Accepted | Verdict::TimeLimit);
        if !timed || !asks(opinions.when, settled.settled.confidence, settled.near) {
            return Ok(settled);
        }
        match self.ask(case)? {
            Ok(said) => Ok(decided(settled, said)),
            Err(why) => {
                if settled.settled.confidence == Confidence::Open && !self.warned {
                    self.warned = true;
                    self.bench
                        .job
                        .warn(&self.submission.name, format!("{}: no second opinion: {why}", case.name));
                }
                Ok(settled)
            }
        }
    }

    fn ask(&mut self, case: &TestCase) -> Result<Result<ReferenceResult, String>, Fault> {
        let opinions = self.bench.job.opinions;
        let Some(second) = self.second else {
            return Ok(Err(opinions.meter.clone().err().unwrap_or_else(|| "no other clock is asked".into())));
        };
        if self.ready.is_none() {
            self.ready = Some(self.prepared(second)?);
        }
        match &self.ready {
            Some(Ok(ready)) => excused(opinion(second, ready, case)),
            Some(Err(why)) => Ok(Err(why.clone())),
            None => Ok(Err("it could not be prepared".into())),
        }
    }

    fn prepared(&self, second: &'a PreparedSlot<'a>) -> Result<Result<Prepared<'a>, String>, Fault> {
        let scale = match self.bench.job.opinions.scale([self.bench, second], &self.language)? {
            Ok(scale) => scale,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match prepare(second, self.submission)? {
            Ready::Runs { built, .. } => {
                let limit = scale.limit(self.time.limit);
                let time = TimeLimitInUse { limit, stop_factor: 1.0 + SURE, ..self.time.clone() };
                let limits = case_limits(second, &time, built.allowance);
                Ok(Prepared { built, limits })
            }
            Ready::Answers => Err("nothing was run".into()),
            Ready::DoesNotCompile { .. } => Err("it does not compile for the reference clock".into()),
        })
    }
}

/// What cannot be followed has no second opinion; it is no fault of the judgement.
fn excused<T>(said: Result<Result<T, String>, Fault>) -> Result<Result<T, String>, Fault> {
    match said {
        Err(Fault::System(error)) => Ok(Err(error.to_string())),
        other => other,
    }
}

/// One run; near the limit a second, which is to take the same time; where it does not, a third. The least of them counts.
fn opinion(
    bench: &PreparedSlot,
    ready: &Prepared,
    case: &TestCase,
) -> Result<Result<ReferenceResult, String>, Fault> {
    let limit = Charge::limit(Clock::Reference, &ready.limits.judge).unwrap_or_default();
    let mut heard: Vec<(Charge, Judged)> = Vec::new();
    for _ in 0..3 {
        let judged = bench.context().judge(&ready.built, &ready.limits, case)?;
        let charge = slowest(bench, &judged)?;
        let over = charge > limit;
        match judged.verdict {
            Verdict::TimeLimit if !over => return Ok(Err("it waited or slept".into())),
            Verdict::Accepted | Verdict::WrongAnswer | Verdict::TimeLimit => {}
            other => return Ok(Err(format!("it ended with {other} in the emulator"))),
        }
        let sure = (charge.amount as f64 - limit.amount as f64).abs() >= SURE * limit.amount as f64;
        let same = heard.last().is_some_and(|(before, _)| *before == charge);
        heard.push((charge, judged));
        if same || (sure && heard.len() == 1) {
            break;
        }
    }
    let firm =
        heard.iter().all(|(charge, _)| *charge > limit) || heard.iter().all(|(charge, _)| *charge <= limit);
    let nothing = || SystemError::new("asking the reference clock", "nothing was run");
    let (charge, judged) = heard.into_iter().min_by_key(|(charge, _)| *charge).ok_or_else(nothing)?;
    let (time, limit) = (charge.as_time(), limit.as_time());
    let opinion = SecondOpinion { clock: Clock::Reference, time, limit, passes: time <= limit };
    Ok(Ok(ReferenceResult { opinion, firm, judged }))
}

/// The charge of the slowest pass.
fn slowest(bench: &PreparedSlot, judged: &Judged) -> Result<Charge, Fault> {
    let meter = bench.job.options.meter;
    let charges = judged.runs.iter().map(|run| meter.charge(run)).collect::<Result<Vec<_>, _>>()?;
    Ok(charges.into_iter().max().unwrap_or(Charge::for_time(meter.clock(), Nanos::ZERO)))
}

/// The reference clock decides. What is right or wrong apart from time is what the run showed that kept its limit.
fn decided(settled: SettledCase, said: ReferenceResult) -> SettledCase {
    let ReferenceResult { opinion, firm, judged: second } = said;
    let confidence = if firm { Confidence::Confirmed } else { Confidence::Open };
    let judged = match (opinion.passes, settled.judged.verdict) {
        (true, Verdict::Accepted) | (false, Verdict::TimeLimit) => settled.judged,
        (true, _) => Judged { runs: Vec::new(), ..second },
        (false, _) => {
            let message = format!(
                "too near the limit by CPU time; its reference time {:#} is more than {:#}",
                opinion.charge(),
                opinion.limit()
            );
            Judged { verdict: Verdict::TimeLimit, validation: None, runs: Vec::new(), message }
        }
    };
    let how = model::Settled { confidence, ..settled.settled };
    SettledCase { judged, settled: how, opinion: Some(opinion), ..settled }
}
