//! `tauto verify`: judge every jury submission of packages and compare with what they promise.

use crate::Done;
use crate::clocks;
use crate::judging::{Opened, Site, failure, languages, open, options, worst_floor};
use crate::options::{ClockArgs, LimitArgs, PlacementArgs, SlotChoice};
use crate::place::places;
use crate::progress::Progress;
use crate::terminal::{Failure, print};
use clap::Args;
use engine::Fault;
use engine::clocks::Means;
use engine::job::{Job, Options};
use engine::languages::Languages;
use engine::slot::needs_auxiliary;
use engine::verify::verify_package;
use judge::scoring::JudgeMode;
use model::{CheckOutcome, Checked, Event, Reading, Verdict, Verification};
use report::json::{Judged, VerifyDocument, to_text};
use report::text::{checked_line, limit_lines, verify_summary};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The problem packages: directories or zip archives
    #[arg(required = true, value_name = "PACKAGE")]
    packages: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Submissions judged at one time, each in a slot of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Languages of your own: a table laid over the shipped one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

pub(crate) fn main(args: VerifyArgs) -> Result<Done, Failure> {
    let languages = languages(args.languages.as_ref())?;
    let packages = args.packages.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let auxiliary = packages.iter().any(|opened| needs_auxiliary(&opened.package));
    let means: Vec<Means> =
        packages.iter().map(|opened| clocks::means(args.clock, opened.clock)).collect::<Result<_, _>>()?;
    let places = places(&args.placement, SlotChoice::Auto, usize::from(args.jobs))?;
    let floor = worst_floor(&places);
    let site = Site::start(places, auxiliary)?;
    let submissions: usize = packages.iter().map(|opened| opened.package.submissions.len()).sum();
    let progress = Progress::new(submissions as u64, false);
    let mut verifications = Vec::new();
    for (opened, means) in packages.iter().zip(means) {
        let options = options(&args.limits, &args.placement, JudgeMode::AllTests, floor, means);
        match verify(opened, &languages, options, &site, &progress, args.json) {
            Ok(verification) => verifications.push(verification),
            Err(Fault::Cancelled) => {
                progress.finish();
                return Ok(Done::Interrupted);
            }
            Err(fault) => {
                progress.finish();
                return Err(failure(fault));
            }
        }
    }
    progress.finish();
    match args.json {
        true => {
            let document = VerifyDocument::new(&verifications);
            print(&to_text(&Judged { document, thresholds: settle::thresholds(&floor) }));
        }
        false => print(&verify_summary(&verifications, progress.style)),
    }
    Ok(done(&verifications))
}

fn verify(
    opened: &Opened,
    languages: &Languages,
    options: Options,
    site: &Site,
    progress: &Progress,
    json: bool,
) -> Result<Verification, Fault> {
    let warnings = Mutex::new(Vec::new());
    let emit = |event: Event| {
        if let Event::Warning { place, message } = &event {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{place}: {message}"));
        }
        progress.tell(&event);
    };
    opened.warnings.iter().cloned().for_each(emit);
    let job = Job {
        package: &opened.package,
        source: &opened.source,
        languages,
        options,
        cancel: &site.cancel,
        emit: &emit,
    };
    let verified = verify_package(job, &site.slots, &|checked: &Checked| {
        progress.step();
        if !json {
            progress.line(&checked_line(&opened.package.short_name, checked, progress.style));
        }
    });
    let verification = match verified {
        Err(fault @ Fault::Package { .. }) => broken(opened, &fault),
        verified => verified?,
    };
    let verification = Verification {
        warnings: warnings.into_inner().unwrap_or_else(PoisonError::into_inner),
        ..verification
    };
    if !json {
        progress.line(&limit_lines(&verification));
    }
    Ok(verification)
}

/// A package whose own programs fail. The others can still be verified.
fn broken(opened: &Opened, fault: &Fault) -> Verification {
    Verification {
        package: opened.package.short_name.clone(),
        time_limit: Reading::unknown("the package's own programs fail"),
        time_limit_source: None,
        submissions: Vec::new(),
        fault: Some(fault.to_string()),
        warnings: Vec::new(),
    }
}

/// A judge error anywhere is a fault of ours or of a package's programs.
fn done(verifications: &[Verification]) -> Done {
    let judge_error = |checked: &Checked| matches!(&checked.outcome, CheckOutcome::Judged { judgement, .. } if judgement.verdict == Verdict::JudgeError);
    if verifications.iter().any(|v| v.submissions.iter().any(judge_error)) {
        Done::Fault
    } else if verifications.iter().all(Verification::ok) {
        Done::Good
    } else {
        Done::Bad
    }
}
