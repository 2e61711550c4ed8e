//! Calibrates the time limit of a package on this machine: measures the jury's programs repeatedly, in turn, idle and under load.

use crate::Fault;
use crate::case::CaseLimits;
use crate::clocks::Meter;
use crate::limit_cache;
use crate::limits::WHILE_INFERRING;
use crate::prepared_slot::PreparedSlot;
use crate::program::Built;
use crate::submission::{Ready, Submission, case_limits, prepare};
use crate::timelimit::{TimeLimitInUse, earlier, keep_limit, runnable};
use judge::infer::suggest;
use judge::package::{JurySubmission, TestCase, TimeLimit};
use model::{
    Calibration, Charge, Event, Forms, Inference, InferredLimit, JudgePhase, LimitSide, MeasuredProgram,
    MeasuredTest, Nanos, Reading, SettledTime, Suggestion, TimedProgram, Verdict,
};
use settle::{NoiseFloor, Timed, disturbances};
use std::sync::{Mutex, PoisonError};

/// The forms of a calibration that is kept; `tests/forms` has a file for each.
pub(crate) const TIMES: Forms = Forms::kept("times of a jury", 1);

/// Tests that take less than this part of their program's slowest cannot become the slowest: one run of them is enough.
const MATTERS: f64 = 0.1;
/// How far beyond what the rule asks for a program that must be too slow is followed, by a clock that is cheap to run by.
const BEYOND: f64 = 2.0;

/// How the jury's programs are measured.
pub struct CalibrationOptions<'a> {
    /// Runs of each test that matters: idle, and as many under load.
    pub runs: u32,
    /// Starts or stops load on all CPUs; `None`: measure without load.
    pub load: Option<&'a dyn Fn(bool) -> Result<(), Fault>>,
    /// Called before each measurement with the round, from 1, and the program with its test.
    pub tell: &'a dyn Fn(u32, &str),
}

/// A program that was compiled, and what is known of it.
struct CompiledProgram<'a> {
    path: &'a str,
    language: String,
    side: LimitSide,
    built: Built<'a>,
    limits: CaseLimits,
    tests: Vec<Series<'a>>,
}

/// The runs of one test.
struct Series<'a> {
    case: &'a TestCase,
    idle: Vec<Run>,
    loaded: Vec<Run>,
    ended: bool,
}

/// A run, as far as its time is asked for; without the language's factor.
#[derive(Clone, Copy)]
struct Run {
    time: Nanos,
    /// What it would have taken without what its evidence names.
    undisturbed: Nanos,
}

/// Measures the jury's programs on one slot, or returns the cached result.
///
/// # Errors
/// The package cannot be judged, or has no program that must pass; or the system failed.
pub fn calibrate(bench: &PreparedSlot, options: &CalibrationOptions) -> Result<Calibration, Fault> {
    let job = &bench.job;
    let limit_cache = job.limit_cache;
    let key = limit_cache.directory.map(|_| limit_cache::key(bench)).transpose()?;
    let load = if options.load.is_some() { "-load" } else { "" };
    let name = key.as_ref().map(|key| format!("{key}.times-{}{load}", options.runs));
    if let (Some(directory), Some(name), false) = (limit_cache.directory, &name, limit_cache.fresh)
        && let Some(known) = limit_cache::read(directory, name, &TIMES)
    {
        return Ok(known);
    }
    let warnings = Mutex::new(Vec::new());
    let emit = |event: Event| {
        if let Event::Warning { place, message } = &event {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{place}: {message}"));
        }
        (job.emit)(event);
    };
    let own = bench.with_emit(&emit);
    let earlier = key.as_deref().and_then(|key| earlier(limit_cache, key)).map(|limit| limit.limit);
    let measured = measure(&own, options, earlier)?;
    let calibration = Calibration {
        warnings: std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner)),
        ..measured
    };
    if let (Some(directory), Some(key), Some(name)) = (limit_cache.directory, &key, &name) {
        keep_limit(limit_cache, key, &limit(&calibration));
        // What cannot be kept is measured again.
        let _ = limit_cache::write(directory, name, &TIMES, &calibration);
    }
    Ok(calibration)
}

fn measure(
    bench: &PreparedSlot,
    options: &CalibrationOptions,
    earlier: Option<Nanos>,
) -> Result<Calibration, Fault> {
    let job = &bench.job;
    let (meter, floor) = (job.options.meter, &job.options.floor);
    let rule = job.package.limits.rule;
    let generous = TimeLimitInUse::plain(WHILE_INFERRING);
    let mut subjects = subjects(bench, &generous, LimitSide::Passes)?;
    let refuse = |why: String| Fault::Input { place: job.package.short_name.clone(), why };
    for subject in &mut subjects {
        first_look(bench, subject, options, None)?;
    }
    let slowest = subjects.iter().filter_map(|subject| subject.slowest(floor, meter)).max_by_key(|t| t.time);
    let found = suggest(rule, slowest.map(|slowest| (slowest.time, slowest.interval)), None, None);
    let at_least = found.map_err(|e| refuse(e.to_string()))?.limit;
    let too_slow = match rule {
        Inference::Legacy { safety_margin, .. } => safety_margin.max(1.0),
        Inference::V2025_09 { time_limit_to_tle, .. } => time_limit_to_tle,
    };
    let enough = at_least.scale(too_slow * if meter.clock().varies() { BEYOND } else { 1.0 });
    let mut others = self::subjects(bench, &TimeLimitInUse::plain(enough), LimitSide::TooSlow)?;
    for subject in &mut others {
        first_look(bench, subject, options, Some(enough))?;
    }
    subjects.append(&mut others);
    // By turns, so that what changes meanwhile changes all of them alike.
    for round in 1..=options.runs {
        if round > 1 {
            again(bench, &mut subjects, options, round, false)?;
        }
        if let Some(load) = options.load {
            load(true)?;
            let done = again(bench, &mut subjects, options, round, true);
            load(false)?;
            done?;
        }
    }
    let programs: Vec<MeasuredProgram> =
        subjects.iter().map(|subject| subject.measured(floor, meter)).collect();
    let time_of = |side: LimitSide, loaded: bool| {
        let own = programs.iter().filter(move |program| program.side == side && !program.tests.is_empty());
        own.map(move |program| match loaded {
            true => program.loaded().unwrap_or_else(|| program.time()),
            false => program.time(),
        })
    };
    let slowest = programs.iter().filter(|program| program.side == LimitSide::Passes);
    let slowest = slowest.filter_map(MeasuredProgram::slowest).max_by_key(|test| test.idle.time);
    let slowest = slowest.map(|test| (test.idle.time, test.idle.interval));
    let fastest = time_of(LimitSide::TooSlow, false).min();
    let suggestion = suggest(rule, slowest, fastest, earlier).map_err(|e| refuse(e.to_string()))?;
    let loaded = |time: Nanos| suggest(rule, Some((time, [time; 2])), None, None).ok().map(|s| s.limit);
    let under_load = options.load.and_then(|_| time_of(LimitSide::Passes, true).max()).and_then(loaded);
    let stated = match &job.package.limits.time {
        TimeLimit::Stated { limit, .. } => Some(*limit),
        TimeLimit::Inferred(_) => None,
    };
    Ok(Calibration {
        package: job.package.short_name.clone(),
        clock: meter.clock(),
        counted_by: meter.versions(),
        rule,
        stated,
        suggestion,
        under_load,
        floor_measured: !floor.assumed,
        programs,
        warnings: Vec::new(),
    })
}

/// The programs that bound the limit from this side and can be run here, compiled.
fn subjects<'a>(
    bench: &'a PreparedSlot,
    time: &TimeLimitInUse,
    side: LimitSide,
) -> Result<Vec<CompiledProgram<'a>>, Fault> {
    let job = &bench.job;
    let bounds = |jury: &&JurySubmission| match side {
        LimitSide::Passes => jury.bounds.lower,
        // In legacy they have no say in the limit, and show all the same whether it stops what it should.
        LimitSide::TooSlow => jury.bounds.upper || jury.expectation.verdicts == [Verdict::TimeLimit],
    };
    let mut subjects = Vec::new();
    for jury in job.package.submissions.iter().filter(bounds) {
        let path = jury.program.path.as_str();
        let ready = runnable(job, jury, || Ok(Some(prepare(bench, &Submission::of_jury(jury, job)?)?)))?;
        match ready {
            Some(Ready::Runs { built, language, .. }) => {
                let limits = case_limits(bench, time, built.allowance);
                subjects.push(CompiledProgram { path, language, side, built, limits, tests: Vec::new() });
            }
            Some(Ready::DoesNotCompile { .. }) => {
                job.warn(path, "does not compile, so it does not count for the time limit".to_owned());
            }
            Some(Ready::Answers) | None => {}
        }
    }
    Ok(subjects)
}

/// Every test once. One that must be too slow is run until a test takes `enough`.
fn first_look<'a>(
    bench: &'a PreparedSlot,
    subject: &mut CompiledProgram<'a>,
    options: &CalibrationOptions,
    enough: Option<Nanos>,
) -> Result<(), Fault> {
    for case in bench.job.package.data.all_cases() {
        let (run, verdict) = run(bench, subject, case, options, 1)?;
        let over = verdict == Verdict::TimeLimit;
        if over && enough.is_none() {
            let why = format!(
                "must pass, but takes longer than {WHILE_INFERRING}\n\
                 hint: state a time limit in the package, or use --cpu-time"
            );
            return Err(Fault::Package { place: subject.path.to_owned(), why });
        }
        let ended = enough.is_some_and(|enough| over || run.time >= enough);
        // Where it was stopped says nothing but that it takes longer than asked for.
        let run = match enough.filter(|_| ended) {
            Some(enough) => Run { time: run.time.max(enough), undisturbed: enough },
            None => run,
        };
        subject.tests.push(Series { case, idle: vec![run], loaded: Vec::new(), ended });
        if ended {
            break;
        }
    }
    Ok(())
}

/// One more run of all that matters.
fn again(
    bench: &PreparedSlot,
    subjects: &mut [CompiledProgram],
    options: &CalibrationOptions,
    round: u32,
    loaded: bool,
) -> Result<(), Fault> {
    for subject in subjects {
        let slowest = subject.tests.iter().filter_map(|series| series.idle.first()).map(|run| run.time).max();
        let matters = slowest.unwrap_or_default().scale(match subject.side {
            LimitSide::Passes => MATTERS,
            LimitSide::TooSlow => 1.0,
        });
        for n in 0..subject.tests.len() {
            let Some(series) = subject.tests.get(n) else { continue };
            // One that was ended takes longer, however often it is run.
            if series.ended || series.idle.first().is_some_and(|run| run.time < matters) {
                continue;
            }
            let (run, _) = run(bench, subject, series.case, options, round)?;
            if let Some(series) = subject.tests.get_mut(n) {
                let runs = if loaded { &mut series.loaded } else { &mut series.idle };
                runs.push(run);
            }
        }
    }
    Ok(())
}

fn run(
    bench: &PreparedSlot,
    subject: &CompiledProgram,
    case: &TestCase,
    options: &CalibrationOptions,
    round: u32,
) -> Result<(Run, Verdict), Fault> {
    let job_options = &bench.job.options;
    bench.job.phase(Some(subject.path), JudgePhase::InferringTimeLimit);
    (options.tell)(round, &format!("{}: {}", subject.path, case.name));
    let judged = bench.context().judge(&subject.built, &subject.limits, case)?;
    if judged.verdict == Verdict::JudgeError {
        return Err(Fault::Package {
            place: subject.path.to_owned(),
            why: format!("{}: {}", case.name, judged.message),
        });
    }
    let charged = judged.runs.iter().map(|run| Ok((job_options.meter.charge(run)?, run)));
    let charged = charged.collect::<Result<Vec<_>, Fault>>()?;
    let slowest = charged.into_iter().max_by_key(|(charge, _)| *charge);
    let timed = slowest.map_or_else(
        || Timed::new(Charge { clock: job_options.meter.clock(), amount: 0 }, &[]),
        |(charge, run)| Timed::new(charge, &disturbances(run, &job_options.floor)),
    );
    let own = |time: Nanos| time.scale(1.0 / subject.built.allowance.time_factor);
    let time = timed.charge.as_time();
    let undisturbed = Nanos(time.0.saturating_sub(timed.explained.0));
    Ok((Run { time: own(time), undisturbed: own(undisturbed) }, judged.verdict))
}

impl CompiledProgram<'_> {
    fn slowest(&self, floor: &NoiseFloor, meter: Meter) -> Option<SettledTime> {
        self.tests.iter().filter_map(|series| settled(&series.idle, floor, meter)).max_by_key(|s| s.time)
    }

    fn measured(&self, floor: &NoiseFloor, meter: Meter) -> MeasuredProgram {
        let test = |series: &Series| {
            let mut idle = settled(&series.idle, floor, meter)?;
            if series.ended {
                // It takes longer than that: less is not possible, and how much longer nobody has seen.
                idle.interval = [idle.time; 2];
            }
            let loaded = settled(&series.loaded, floor, meter);
            Some(MeasuredTest { name: series.case.name.clone(), ended: series.ended, idle, loaded })
        };
        MeasuredProgram {
            path: self.path.to_owned(),
            language: self.language.clone(),
            side: self.side,
            tests: self.tests.iter().filter_map(test).collect(),
        }
    }
}

/// What runs of one test say together. `None`: there is none.
fn settled(runs: &[Run], floor: &NoiseFloor, meter: Meter) -> Option<SettledTime> {
    let mut times: Vec<Nanos> = runs.iter().map(|run| run.time).collect();
    let asked = times.clone();
    times.sort_unstable();
    let (least, median) = (*times.first()?, *times.get(times.len() / 2)?);
    let undisturbed = runs.iter().map(|run| run.undisturbed).min()?;
    let interval = match meter.clock().varies() {
        true => {
            let reach = 1.0 + floor.spread().median_excess;
            [undisturbed.min(least).scale(1.0 / reach), median.max(least.scale(reach))]
        }
        false => [least, *times.last()?],
    };
    Some(SettledTime { time: least, interval, runs: asked })
}

/// The limit as whoever judges keeps it.
fn limit(calibration: &Calibration) -> InferredLimit {
    let Suggestion { limit, .. } = calibration.suggestion;
    let slowest = calibration.bound(LimitSide::Passes);
    let slowest = slowest.map(|p| format!("{} takes {}", p.path, p.time())).unwrap_or_default();
    let program = |program: &MeasuredProgram| TimedProgram {
        path: program.path.clone(),
        language: program.language.clone(),
        side: program.side,
        time: program.time(),
        ended: program.slowest().is_some_and(|test| test.ended),
    };
    InferredLimit {
        limit,
        source: format!("inferred: the slowest jury submission that must pass, {slowest}"),
        rule: Reading::Known(calibration.rule),
        clock: Reading::Known(calibration.clock),
        programs: calibration.programs.iter().map(program).collect(),
        warnings: calibration.warnings.clone(),
    }
}
