//! `tauto verify`: judge every jury submission of packages and compare with the expected verdicts.

mod watch;

use crate::Done;
use crate::clocks;
use crate::exports::Exports;
use crate::isolation::{IsolationArgs, shown_to};
use crate::judging::{
    LimitDirectory, Opened, Site, failure, languages, open, opinions, options, worst_floor,
};
use crate::options::{ClockArgs, KeepArgs, LimitArgs, OpinionArgs, PlacementArgs, SlotChoice};
use crate::progress::Progress;
use crate::reservation::reserve;
use crate::terminal::{Failure, print, print_error, tell_error};
use clap::Args;
use engine::Fault;
use engine::clocks::Meter;
use engine::job::{Job, Options};
use engine::languages::Languages;
use engine::opinion::Opinions;
use engine::slot::needs_auxiliary;
use engine::verify::verify_package;
use judge::package::{Glob, JurySubmission};
use judge::scoring::JudgeMode;
use model::{CheckOutcome, Checked, Event, Reading, Verdict, Verification};
use report::ci;
use report::json::{Judged, VerifyDocument, to_text};
use report::text::{checked_line, limit_lines, verify_summary};
use settle::NoiseFloor;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Problem packages: directories or zip archives
    #[arg(required = true, value_name = "PACKAGE")]
    packages: Vec<PathBuf>,
    /// Judge only submissions whose path below submissions/ matches, such as 'accepted/*' or '*.py'; may be repeated
    #[arg(long, value_name = "PATTERN", value_parser = Glob::parse)]
    only: Vec<Glob>,
    /// Keep running and verify again whenever a file of the packages changes
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    #[command(flatten)]
    keep: KeepArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write a JUnit report for CI systems: one test case for each submission
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    junit: Option<PathBuf>,
    /// Write a SARIF report, with which code hosts annotate files: one result for each unexpected verdict and warning
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    sarif: Option<PathBuf>,
    /// Number of submissions judged in parallel, each in its own slot
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
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

pub(crate) fn main(args: VerifyArgs) -> Result<Done, Failure> {
    let languages = languages(args.languages.as_ref())?;
    let mut packages = read(&args)?;
    let reports = [("--junit", args.junit.as_ref()), ("--sarif", args.sarif.as_ref())];
    let mut exports = Some(Exports::open(args.json, reports)?);
    // A package that is changed may come to need it.
    let own =
        |opened: &Opened| needs_auxiliary(&opened.package) || !opened.package.features.checks.is_empty();
    let auxiliary = args.watch || packages.iter().any(own);
    let mut reservations = reserve(&args.placement, SlotChoice::Auto, usize::from(args.jobs))?;
    args.isolation.apply(&mut reservations, true, || shown_to(&languages))?;
    let floor = worst_floor(&reservations);
    let site = Site::start(reservations, auxiliary)?;
    loop {
        let seen = watch::look(&args.packages);
        let done = once(&args, &packages, &languages, floor, &site, exports.take())?;
        if !args.watch || done == Done::Interrupted {
            return Ok(done);
        }
        packages = loop {
            print_error("tauto: waiting for changes (Ctrl-C ends it)\n");
            if !watch::wait(&args.packages, &seen, &site.ending) {
                return Ok(Done::Interrupted);
            }
            match read(&args) {
                Ok(packages) => break packages,
                // Half of a change may have been read; the rest of it comes.
                Err(e) => tell_error(e),
            }
        };
    }
}

fn read(args: &VerifyArgs) -> Result<Vec<Opened>, Failure> {
    let packages = args.packages.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    if !args.only.is_empty() && packages.iter().all(|opened| chosen(args, opened).is_empty()) {
        let there = packages.iter().flat_map(|opened| &opened.package.submissions).map(below);
        let there: Vec<&str> = there.take(5).collect();
        return Err(Failure::usage(format!(
            "--only matches no jury submission\nhint: there are {} and so on",
            there.join(", ")
        )));
    }
    Ok(packages)
}

/// The path below submissions/.
fn below(jury: &JurySubmission) -> &str {
    jury.program.path.strip_prefix("submissions/").unwrap_or(&jury.program.path)
}

/// Those to be judged.
fn chosen<'a>(args: &VerifyArgs, opened: &'a Opened) -> Vec<&'a JurySubmission> {
    let is = |glob: &Glob, path: &str| {
        glob.matches(path) || path.rsplit_once('/').is_some_and(|(_, name)| glob.is(name))
    };
    let all = opened.package.submissions.iter();
    all.filter(|jury| args.only.is_empty() || args.only.iter().any(|glob| is(glob, below(jury)))).collect()
}

/// Verifies them one after the other and tells what came of it.
fn once(
    args: &VerifyArgs,
    packages: &[Opened],
    languages: &Languages,
    floor: NoiseFloor,
    site: &Site,
    exports: Option<Exports<2>>,
) -> Result<Done, Failure> {
    let meter: Vec<Meter> =
        packages.iter().map(|opened| clocks::meter(args.clock, opened.clock)).collect::<Result<_, _>>()?;
    let submissions: usize = packages.iter().map(|opened| chosen(args, opened).len()).sum();
    let kept = LimitDirectory::here(args.keep)?;
    let progress = Progress::new(submissions as u64, false);
    let (mut verifications, mut paths) = (Vec::new(), Vec::new());
    // A package of which nothing is chosen is not looked at.
    let looked_at = packages.iter().zip(&args.packages).zip(meter);
    let looked_at =
        looked_at.filter(|((opened, _), _)| args.only.is_empty() || !chosen(args, opened).is_empty());
    for ((opened, path), meter) in looked_at {
        paths.push(path.display().to_string());
        let options = options(&args.limits, &args.placement, JudgeMode::AllTests, floor, meter);
        let opinions = opinions(args.opinion, opened)?;
        match verify(args, opened, (options, &opinions, &kept), languages, site, &progress) {
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
    let document = VerifyDocument::new(&verifications);
    if let Some(exports) = exports {
        if !args.json {
            exports.print(&verify_summary(&verifications, progress.style));
        }
        let version = env!("CARGO_PKG_VERSION");
        exports.write([&|| ci::junit(&document), &|| to_text(&ci::sarif(&document, &paths, version))]);
    } else if !args.json {
        print(&verify_summary(&verifications, progress.style));
    }
    if args.json {
        print(&to_text(&Judged { document, thresholds: settle::thresholds(&floor) }));
    }
    Ok(done(&verifications))
}

fn verify(
    args: &VerifyArgs,
    opened: &Opened,
    (options, opinions, kept): (Options, &Opinions, &LimitDirectory),
    languages: &Languages,
    site: &Site,
    progress: &Progress,
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
        opinions,
        limit_cache: kept.limit_cache(),
        cancel: &site.cancel,
        emit: &emit,
    };
    let verified = verify_package(job, &site.slots, &chosen(args, opened), &|checked: &Checked| {
        progress.step();
        if !args.json {
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
    if !args.json {
        progress.line(&limit_lines(&verification));
    }
    Ok(verification)
}

/// A package whose own programs fail. The others can still be verified.
fn broken(opened: &Opened, fault: &Fault) -> Verification {
    Verification {
        package: opened.package.short_name.clone(),
        format: opened.package.format.name().to_owned(),
        time_limit: Reading::unknown("the package's own programs fail"),
        time_limit_source: None,
        submissions: Vec::new(),
        fault: Some(fault.to_string()),
        warnings: Vec::new(),
    }
}

/// A judge error that nobody promised is a fault of ours or of a package's programs.
fn done(verifications: &[Verification]) -> Done {
    let judge_error = |checked: &Checked| match &checked.outcome {
        CheckOutcome::Judged { judgement, broken } => {
            judgement.verdict == Verdict::JudgeError && !broken.is_empty()
        }
        _ => false,
    };
    if verifications.iter().any(|v| v.submissions.iter().any(judge_error)) {
        Done::Fault
    } else if verifications.iter().all(Verification::ok) {
        Done::Good
    } else {
        Done::Bad
    }
}
