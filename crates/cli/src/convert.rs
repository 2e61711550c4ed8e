//! `tauto convert`: a package of any format as one of 2025-09, for judges that read no other.

use crate::Done;
use crate::clocks;
use crate::judging::{Opened, Site, failure, inside, languages, open, options, worst_floor};
use crate::options::{ClockArgs, LimitArgs, PlacementArgs, SlotChoice};
use crate::reservation::reserve;
use crate::terminal::{Failure, print, tell_warning};
use clap::Args;
use engine::job::Job;
use engine::limit_cache::LimitCache;
use engine::opinion::Opinions;
use engine::prepared_slot::PreparedSlot;
use judge::package::convert::{Content, Written, to_2025_09};
use judge::scoring::JudgeMode;
use model::Event;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Problem package to convert: a directory or zip archive in any format that `tauto verify` reads
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Directory to write the package to; it must be empty or absent
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    #[command(flatten)]
    placement: PlacementArgs,
}

pub(crate) fn main(args: ConvertArgs) -> Result<Done, Failure> {
    let opened = open(&args.package)?;
    let shown = args.package.display();
    let (files, warnings) = to_2025_09(&opened.package, opened.source.tree())
        .map_err(|e| Failure::usage(format!("{}: {}", inside(&args.package, &e.place), e.message)))?;
    empty(&args.directory)?;
    make(&args, &opened)?;
    for file in &files {
        write(&args.directory, file, &opened)
            .map_err(|e| Failure::system(format!("{}: {e}", args.directory.join(&file.path).display())))?;
    }
    let told = opened.warnings.iter().filter_map(|event| match event {
        Event::Warning { place, message } => Some(format!("{place}: {message}")),
        _ => None,
    });
    for warning in told.chain(warnings.iter().map(|warning| format!("{shown}: {warning}"))) {
        tell_warning(warning);
    }
    let directory = args.directory.display();
    print(&format!("{} files in {directory}; check it with: tauto verify {directory}\n", files.len()));
    Ok(Done::Good)
}

/// Refuses a directory that has something in it.
fn empty(directory: &Path) -> Result<(), Failure> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::usage(format!("{}: is not empty", directory.display()))
            .hint("name a directory that is empty or does not exist")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::usage(format!("{}: {e}", directory.display()))),
    }
}

/// Makes the files of the package that are not in it, in the sandbox.
fn make(args: &ConvertArgs, opened: &Opened) -> Result<(), Failure> {
    if opened.package.features.made.files.is_empty() {
        return Ok(());
    }
    let languages = languages(args.languages.as_ref())?;
    let reservations = reserve(&args.placement, SlotChoice::None, 1)?;
    let floor = worst_floor(&reservations);
    let site = Site::start(reservations, true)?;
    let meter = clocks::meter(ClockArgs::default(), opened.clock)?;
    let job = Job {
        package: &opened.package,
        source: &opened.source,
        languages: &languages,
        options: options(&LimitArgs::default(), &args.placement, JudgeMode::AllTests, floor, meter),
        opinions: &Opinions::none(),
        limit_cache: LimitCache::NOWHERE,
        cancel: &site.cancel,
        emit: &|_| {},
    };
    let slot = site.slots.first().ok_or_else(|| Failure::system("there is no slot"))?;
    PreparedSlot::new(job, slot).map(drop).map_err(failure)
}

fn write(directory: &Path, file: &Written, opened: &Opened) -> io::Result<()> {
    let path = directory.join(&file.path);
    fs::create_dir_all(path.parent().unwrap_or(directory))?;
    match &file.content {
        Content::Text(text) => fs::write(&path, text)?,
        Content::Empty => fs::write(&path, "")?,
        Content::Of(of) => {
            let mut from = opened.source.file(of).map_err(io::Error::other)?;
            io::copy(&mut from, &mut fs::File::create(&path)?)?;
        }
    }
    if file.executable {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
