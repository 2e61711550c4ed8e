//! `tauto judge`: compile and judge one submission, with a package or with tests alone.

mod test_files;

use crate::Done;
use crate::clocks;
use crate::isolation::{IsolationArgs, shown_to};
use crate::judging::{
    LimitDirectory, Opened, Site, failure, languages, open, opinions, options, worst_floor,
};
use crate::options::{ClockArgs, KeepArgs, LimitArgs, OpinionArgs, PlacementArgs, SlotChoice};
use crate::progress::Progress;
use crate::reservation::reserve;
use crate::terminal::{Failure, print};
use clap::Args;
use engine::Fault;
use engine::clocks::Meter;
use engine::job::Job;
use engine::languages::Languages;
use engine::opinion::Opinions;
use engine::prepared_slot::PreparedSlot;
use engine::slot::needs_auxiliary;
use engine::submission::{Submission, check, judge_submission};
use engine::timelimit::time_limit;
use judge::package::TimeLimit;
use judge::scoring::JudgeMode;
use model::{Event, Judgement, Verdict};
use report::json::{JudgeDocument, Judged, to_text};
use report::text::judgement_lines;
use settle::NoiseFloor;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use test_files::{TemporaryPackage, TestArgs};

const USAGE: &str = "tauto judge [OPTIONS] <PACKAGE> <SUBMISSION>...
       tauto judge [OPTIONS] --in <FILE> --answer <FILE> <SUBMISSION>...
       tauto judge [OPTIONS] --tests <DIR> <SUBMISSION>...";

#[derive(Args, Debug)]
#[command(override_usage = USAGE)]
pub(crate) struct JudgeArgs {
    /// Problem package (a directory or zip archive), then the submission (source files or one directory). With --in or
    /// --tests, only the submission
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    tests: TestArgs,
    /// Language of the submission, as `tauto languages` lists it [default: from its file names]
    #[arg(long, value_name = "ID")]
    language: Option<String>,
    /// Run all tests instead of stopping when the verdict is known
    #[arg(long)]
    all_tests: bool,
    #[command(flatten)]
    keep: KeepArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    opinion: OpinionArgs,
    #[command(flatten)]
    placement: PlacementArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

/// What will happen.
struct Plan {
    opened: Opened,
    submission: Submission,
    languages: Languages,
    mode: JudgeMode,
    meter: Meter,
    opinions: Opinions,
    kept: LimitDirectory,
    /// Of tests without a package: there as long as they are read.
    _laid: Option<TemporaryPackage>,
}

pub(crate) fn main(args: JudgeArgs) -> Result<Done, Failure> {
    let plan = plan(&args)?;
    let mut reservations = reserve(&args.placement, SlotChoice::Auto, 1)?;
    args.isolation.apply(&mut reservations, false, || shown_to(&plan.languages))?;
    let floor = worst_floor(&reservations);
    let site = Site::start(reservations, needs_auxiliary(&plan.opened.package))?;
    let progress = Progress::new(1, !args.json);
    plan.opened.warnings.iter().for_each(|warning| progress.tell(warning));
    let judged = judge(&args, &plan, &site, floor, &|event| progress.tell(&event));
    progress.finish();
    let judgement = match judged {
        Ok(judgement) => judgement,
        Err(Fault::Cancelled) => return Ok(Done::Interrupted),
        // What nobody can be blamed for is still told as a document.
        Err(fault) if args.json && !fault.is_bad_input() => {
            Judgement::fault(&plan.submission.name, fault.to_string())
        }
        Err(fault) => return Err(failure(fault)),
    };
    match args.json {
        true => {
            let document = JudgeDocument::new(&judgement, &|run| crate::noise_floor::disturbed(run, &floor));
            print(&to_text(&Judged { document, thresholds: settle::thresholds(&floor) }));
        }
        false => print(&judgement_lines(&judgement, progress.style)),
    }
    Ok(if judgement.verdict == Verdict::JudgeError { Done::Fault } else { Done::Good })
}

fn plan(args: &JudgeArgs) -> Result<Plan, Failure> {
    let languages = languages(args.languages.as_ref())?;
    if let Some(name) = &args.language {
        let unknown = |e: judge::language::DetectError| match e.to_string() {
            told if told.contains("\nhint: ") => Failure::usage(format!("--language: {told}")),
            told => Failure::usage(format!("--language: {told}")).hint("`tauto languages` lists them"),
        };
        languages.table().named(name).map_err(unknown)?;
    }
    let (opened, submission, laid) = subject(args)?;
    let submission = Submission::from_paths(submission, args.language.clone()).map_err(failure)?;
    let mode = if args.all_tests { JudgeMode::AllTests } else { JudgeMode::StopEarly };
    let meter = clocks::meter(args.clock, opened.clock)?;
    let opinions = opinions(args.opinion, &opened)?;
    let kept = LimitDirectory::here(args.keep)?;
    let plan = Plan { opened, submission, languages, mode, meter, opinions, kept, _laid: laid };
    // Before anything is started or the time limit is looked for.
    check(&job(args, &plan, &AtomicBool::new(false), NoiseFloor::assumed(), &|_| {}), &plan.submission)
        .map_err(failure)?;
    Ok(plan)
}

/// What is judged by what.
fn subject(args: &JudgeArgs) -> Result<(Opened, &[PathBuf], Option<TemporaryPackage>), Failure> {
    if args.tests.without_package() {
        let laid = args.tests.lay_out()?;
        let mut opened = open(&laid.package())?;
        // The package is ours: nobody has written its limit into a file.
        if let TimeLimit::Stated { source, .. } = &mut opened.package.limits.time {
            *source = "default; --cpu-time sets another".into();
        }
        return Ok((opened, &args.paths, Some(laid)));
    }
    args.tests.refuse_for_package()?;
    match args.paths.split_first() {
        Some((package, submission)) if !submission.is_empty() => Ok((open(package)?, submission, None)),
        _ => Err(Failure::usage(format!(
            "{}: no submission given\n\
             hint: name its files after the package, as in `tauto judge PACKAGE a.cpp`, or give --in and --answer",
            args.paths.first().map_or(Path::new("").display(), |path| path.display())
        ))),
    }
}

fn job<'a>(
    args: &JudgeArgs,
    plan: &'a Plan,
    cancel: &'a AtomicBool,
    floor: NoiseFloor,
    emit: &'a (dyn Fn(Event) + Sync),
) -> Job<'a> {
    Job {
        package: &plan.opened.package,
        source: &plan.opened.source,
        languages: &plan.languages,
        options: options(&args.limits, &args.placement, plan.mode, floor, plan.meter),
        opinions: &plan.opinions,
        limit_cache: plan.kept.limit_cache(),
        cancel,
        emit,
    }
}

fn judge(
    args: &JudgeArgs,
    plan: &Plan,
    site: &Site,
    floor: NoiseFloor,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Judgement, Fault> {
    let job = job(args, plan, &site.cancel, floor, emit);
    let benches = PreparedSlot::all(job, &site.slots)?;
    let found = time_limit(&job, &benches)?;
    Ok(judge_submission(&benches[0], &plan.submission, &found.time, plan.mode)?.judgement)
}
