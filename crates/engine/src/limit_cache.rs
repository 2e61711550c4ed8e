//! A cache of inferred time limits, by everything they depend on, so that the same package is not measured again on the same
//! machine.

use crate::artifact_cache::ours;
use crate::prepared_slot::PreparedSlot;
use crate::submission::{Submission, language_of};
use crate::{Fault, SystemError};
use model::{Form, Forms, Numbered};
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Largest file that is read.
const LARGEST: u64 = 16 << 20;

/// Where inferred limits are stored, and for which machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimitCache<'a> {
    /// The directory, created if absent; `None`: nothing is stored.
    pub directory: Option<&'a Path>,
    /// The fingerprint of this machine.
    pub machine: &'a str,
    /// Measure again and replace what is stored.
    pub fresh: bool,
}

impl LimitCache<'_> {
    /// A cache that stores nothing.
    pub const NOWHERE: LimitCache<'static> = LimitCache { directory: None, machine: "", fresh: false };
}

/// A name that is another one where the package, the jury's languages with their tools, the clock, this program or the machine is another.
pub(crate) fn key(bench: &PreparedSlot) -> Result<String, Fault> {
    let job = &bench.job;
    let meter = job.options.meter;
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    add(env!("CARGO_PKG_VERSION"));
    add(meter.clock().name());
    add(&meter.versions().unwrap_or_default());
    if meter.clock().varies() {
        add(job.limit_cache.machine);
    }
    tools(bench)?.iter().for_each(|tool| add(tool));
    let mut buffer = vec![0; 64 << 10];
    for (path, entry) in &job.source.tree().files {
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update(entry.size.to_le_bytes());
        let mut file = job.source.file(path)?;
        loop {
            match file.read(&mut buffer).map_err(|e| SystemError::new(path.clone(), e.to_string()))? {
                0 => break,
                n => hasher.update(buffer.get(..n).unwrap_or_default()),
            }
        }
    }
    Ok(hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// The languages of the jury's programs with the versions of their tools here.
fn tools(bench: &PreparedSlot) -> Result<BTreeSet<String>, Fault> {
    let job = &bench.job;
    let mut tools = BTreeSet::new();
    for jury in job.package.submissions.iter().filter(|jury| jury.bounds.lower || jury.bounds.upper) {
        // One whose language is not known here is told of where it is measured.
        let Ok(language) = Submission::of_jury(jury, job).and_then(|own| language_of(job, &own)) else {
            continue;
        };
        let version = match job.languages.usable(language) {
            Ok(usable) => {
                job.languages.version(usable.language, &usable.toolchain).known().cloned().unwrap_or_default()
            }
            Err(_) => "absent".to_owned(),
        };
        tools.insert(format!("{} {version}", language.id));
    }
    Ok(tools)
}

/// What is kept under this name, where nobody else can have written it.
pub(crate) fn read<T: DeserializeOwned>(directory: &Path, name: &str, forms: &Forms) -> Option<T> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
    ours(&directory).ok()?;
    let file = openat(&directory, name, flags, Mode::empty()).ok()?;
    ours(&file).ok()?;
    let mut text = String::new();
    File::from(file).take(LARGEST).read_to_string(&mut text).ok()?;
    parse(&text, forms)
}

fn parse<T: DeserializeOwned>(text: &str, forms: &Forms) -> Option<T> {
    forms.read(toml::from_str::<Form>(text).ok()?.form).ok()?;
    toml::from_str(text).ok()
}

fn text(thing: &impl Serialize, forms: &Forms) -> Result<String, toml::ser::Error> {
    toml::to_string(&Numbered { form: forms.newest, thing })
}

/// Keeps a thing under a name. Whoever reads it meanwhile sees the old one or the new one.
pub(crate) fn write(directory: &Path, name: &str, forms: &Forms, thing: &impl Serialize) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
    fresh.write_all(text(thing, forms).map_err(io::Error::other)?.as_bytes())?;
    fresh.persist(directory.join(name))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::TIMES;
    use crate::timelimit::LIMIT;
    use model::{
        Calibration, Clock, Inference, InferredLimit, LimitSide, MeasuredProgram, MeasuredTest, Nanos,
        Reading, SettledTime, Suggestion, TimedProgram,
    };

    fn limit() -> InferredLimit {
        let program = TimedProgram {
            path: "submissions/accepted/a.cpp".into(),
            language: "cpp".into(),
            side: LimitSide::Passes,
            time: Nanos(123),
            ended: false,
        };
        InferredLimit {
            limit: Nanos::from_secs(2),
            source: "inferred".into(),
            rule: Reading::Known(rule()),
            clock: Reading::Known(Clock::Cpu),
            programs: vec![program],
            warnings: vec!["b: has no say".into()],
        }
    }

    fn rule() -> Inference {
        Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution: 0.5 }
    }

    fn times() -> Calibration {
        let settled = SettledTime { time: Nanos(5), interval: [Nanos(4), Nanos(6)], runs: vec![Nanos(5)] };
        let test = MeasuredTest {
            name: "secret/1".into(),
            ended: true,
            idle: settled.clone(),
            loaded: Some(settled),
        };
        Calibration {
            package: "p".into(),
            clock: Clock::Reference,
            counted_by: Some("an emulator".into()),
            rule: rule(),
            stated: Some(Nanos(9)),
            suggestion: Suggestion { limit: Nanos(8), firm: true, kept: false, clash: Some("no".into()) },
            under_load: Some(Nanos(10)),
            floor_measured: true,
            programs: vec![MeasuredProgram {
                path: "a".into(),
                language: "c".into(),
                side: LimitSide::TooSlow,
                tests: vec![test],
            }],
            warnings: vec!["w".into()],
        }
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let files = [include_str!("../tests/forms/kept-limit-1.toml").to_owned()];
        LIMIT.hold(&text(&limit(), &LIMIT).unwrap(), &files, String::eq);
        assert_eq!(parse(&files[0], &LIMIT), Some(limit()));
        let files = [include_str!("../tests/forms/kept-times-1.toml").to_owned()];
        TIMES.hold(&text(&times(), &TIMES).unwrap(), &files, String::eq);
        assert_eq!(parse(&files[0], &TIMES), Some(times()));
        assert_eq!(parse::<InferredLimit>("form = 2\n", &LIMIT), None);
    }

    #[test]
    fn only_what_nobody_else_can_have_written_is_read() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("limits");
        assert_eq!(read::<InferredLimit>(&directory, "k", &LIMIT), None);
        write(&directory, "k", &LIMIT, &limit()).unwrap();
        assert_eq!(read(&directory, "k", &LIMIT), Some(limit()));
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(directory.join("k"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(read::<InferredLimit>(&directory, "k", &LIMIT), None, "others may write it");
    }
}
