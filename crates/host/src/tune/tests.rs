//! Applying and undoing on trees that look like a machine's, with everything that can go wrong.

mod crashes;
mod planning;
mod real_files;

use super::target::{ABSENT, PRESENT};
use super::{Change, Form, Journal, Knobs, Standing, Target, TuneConfig};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// How a knob behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Nature {
    Plain,
    /// Refuses every write.
    Refuses(Errno),
    /// Is gone when first written.
    Vanishes,
    /// Takes the wanted value for another one.
    Rounds,
    /// Cannot be read once it was written.
    GoesDark,
    /// Shows another value as long as that knob is not as it was found.
    ShadowedBy(String),
}

/// Knobs with a memory, and an end that comes when it comes.
#[derive(Clone, Debug, Default)]
struct Fake {
    files: BTreeMap<String, String>,
    nature: BTreeMap<String, Nature>,
    found: BTreeMap<String, String>,
    /// Halves of writes until everything ends, as by kill -9.
    end_in: Option<usize>,
}

/// What a panic carries that stands for kill -9.
struct Killed;

const WANT: &str = "wanted";

impl Fake {
    fn new(knobs: &[(String, Nature)]) -> Fake {
        let files: BTreeMap<String, String> =
            knobs.iter().map(|(path, _)| (path.clone(), format!("{path} found"))).collect();
        Fake { found: files.clone(), files, nature: knobs.iter().cloned().collect(), end_in: None }
    }

    fn half(&mut self) {
        if let Some(left) = &mut self.end_in {
            if *left == 0 {
                std::panic::resume_unwind(Box::new(Killed));
            }
            *left -= 1;
        }
    }

    fn set(&mut self, path: &str, value: &str, is_file: bool) -> io::Result<()> {
        match self.nature.get(path) {
            Some(Nature::Refuses(errno)) => return Err((*errno).into()),
            _ if is_file && !self.files.contains_key(path) => return Err(Errno::NOENT.into()),
            Some(Nature::Vanishes) => drop(self.files.remove(path)),
            _ if value == ABSENT => drop(self.files.remove(path)),
            Some(Nature::Rounds) if value == WANT => drop(self.files.insert(path.into(), "rounded".into())),
            _ => drop(self.files.insert(path.into(), value.into())),
        }
        Ok(())
    }

    fn shown(&self, path: &str) -> Option<String> {
        let value = self.files.get(path)?;
        match self.nature.get(path) {
            Some(Nature::ShadowedBy(other))
                if self.files.get(other).is_some_and(|now| *now != self.found[other]) =>
            {
                Some("shadow".into())
            }
            _ => Some(value.clone()),
        }
    }
}

fn path_of(target: &Target) -> &str {
    match target {
        Target::File { path, .. } | Target::Directory(path) | Target::Whole(path) => path,
        other => panic!("{other}"),
    }
}

impl Knobs for Fake {
    fn read(&self, target: &Target) -> io::Result<String> {
        let path = path_of(target);
        let dark =
            self.nature.get(path) == Some(&Nature::GoesDark) && self.files.get(path) != self.found.get(path);
        match (target, self.shown(path)) {
            _ if dark => Err(Errno::IO.into()),
            (Target::File { .. }, shown) => shown.ok_or_else(|| io::ErrorKind::NotFound.into()),
            (_, shown) => Ok(shown.unwrap_or_else(|| ABSENT.into())),
        }
    }

    fn write(&mut self, target: &Target, value: &str) -> io::Result<()> {
        self.half();
        let written = self.set(path_of(target), value, matches!(target, Target::File { .. }));
        self.half();
        written
    }
}

fn file(id: &str, path: &str, found: &str, want: &str) -> Change {
    let target = Target::File { path: path.into(), form: Form::Text };
    Change { id: id.into(), target, found: found.into(), want: want.into() }
}

fn go(_: usize, _: &Change) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn apply(changes: &[Change], directory: &Path, knobs: &mut dyn Knobs) -> Vec<Standing> {
    let mut journal = Journal::open(directory, "boot").unwrap();
    let outcome = super::apply(changes, &mut journal, knobs, &mut go).unwrap();
    outcome.records.into_iter().map(|record| record.standing).collect()
}

fn undo(directory: &Path, boot: &str, knobs: &mut dyn Knobs) -> Vec<Standing> {
    let mut journal = Journal::open(directory, boot).unwrap();
    let outcome = super::undo(&mut journal, &TuneConfig::default(), knobs, &mut go).unwrap();
    outcome.records.into_iter().map(|record| record.standing).collect()
}

fn knobs(natures: &[Nature]) -> (Fake, Vec<Change>) {
    let named: Vec<(String, Nature)> =
        natures.iter().enumerate().map(|(n, nature)| (format!("/k{n}"), nature.clone())).collect();
    let changes = named.iter().map(|(path, _)| file("thp", path, &format!("{path} found"), WANT)).collect();
    (Fake::new(&named), changes)
}

#[test]
fn one_that_fails_does_not_stop_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let natures = [
        Nature::Plain,
        Nature::Refuses(Errno::IO),
        Nature::Refuses(Errno::PERM),
        Nature::Refuses(Errno::INVAL),
        Nature::Vanishes,
        Nature::Rounds,
        Nature::GoesDark,
        Nature::Plain,
    ];
    let (mut fake, changes) = knobs(&natures);
    let standings = apply(&changes, directory.path(), &mut fake);
    let words = |standing: &Standing| match standing {
        Standing::Verified => "verified".to_string(),
        Standing::Refused(why) => format!("refused {}", why.split(':').next().unwrap_or_default()),
        Standing::Otherwise(why) | Standing::Applied(why) => why.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(
        standings.iter().map(words).collect::<Vec<_>>(),
        [
            "verified",
            "refused EIO",
            "refused EPERM",
            "refused EINVAL",
            "vanished",
            "reads back `rounded`",
            "cannot be read back: Input/output error (os error 5)",
            "verified"
        ]
    );
    // What cannot be read any more cannot be put back with certainty: it stays in the journal.
    let undone = undo(directory.path(), "boot", &mut fake);
    assert_eq!(undone.iter().filter(|s| matches!(s, Standing::Undone(_))).count(), 4, "{undone:?}");
    assert!(Journal::path_in(directory.path()).exists());
}

#[test]
fn a_second_apply_keeps_what_was_found_first() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, changes) = knobs(&[Nature::Plain, Nature::Plain]);
    let before = fake.files.clone();
    apply(&changes[..1], directory.path(), &mut fake);
    fake.files.insert("/k0".into(), "foreign".into());
    let again = [file("thp", "/k0", "foreign", "other"), changes[1].clone()];
    assert_eq!(apply(&again, directory.path(), &mut fake), [Standing::Verified, Standing::Verified]);
    assert_eq!(Journal::read(directory.path()).unwrap().len(), 2);
    undo(directory.path(), "boot", &mut fake);
    assert_eq!(fake.files, before);
    assert!(!Journal::path_in(directory.path()).exists());
}

#[test]
fn a_change_that_is_refused_the_second_time_is_still_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, changes) = knobs(&[Nature::Plain]);
    let before = fake.files.clone();
    apply(&changes, directory.path(), &mut fake);
    fake.nature.insert("/k0".into(), Nature::Refuses(Errno::IO));
    let again = [file("thp", "/k0", WANT, "other")];
    assert!(matches!(apply(&again, directory.path(), &mut fake)[..], [Standing::Otherwise(_)]));
    fake.nature.insert("/k0".into(), Nature::Plain);
    undo(directory.path(), "boot", &mut fake);
    assert_eq!(fake.files, before);
}

#[test]
fn what_others_changed_since_is_told_and_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, changes) = knobs(&[Nature::Plain, Nature::Plain, Nature::Plain]);
    let before = fake.files.clone();
    apply(&changes, directory.path(), &mut fake);
    fake.files.insert("/k1".into(), "foreign".into());
    let told = |fake: &Fake, boot: &str| -> Vec<(model::ChangeState, Option<String>)> {
        let records = Journal::read(directory.path()).unwrap();
        let present = records.iter().map(|record| super::present(record, boot, fake));
        present.map(|change| (change.state, change.reason)).collect()
    };
    use model::ChangeState::{Foreign, Undone, Verified};
    let (verified, foreign) = ((Verified, None), (Foreign, Some("is `foreign` now".to_string())));
    assert_eq!(told(&fake, "boot"), [verified.clone(), foreign, verified]);
    let gone = (Undone, Some("was reset by a reboot".to_string()));
    assert_eq!(told(&fake, "other"), [gone.clone(), gone.clone(), gone]);
    let undone = undo(directory.path(), "boot", &mut fake);
    assert_eq!(
        undone[1],
        Standing::Undone(Some("the kernel or another process had set it to `foreign`".into()))
    );
    assert_eq!(fake.files, before);
}

#[test]
fn after_a_restart_only_what_lasts_is_undone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, mut changes) = knobs(&[Nature::Plain]);
    let whole = |path: &str| Target::Whole(path.into());
    for (path, target) in [
        ("/etc/default/grub.d", Target::Directory("/etc/default/grub.d".into())),
        ("/etc/default/grub.d/x", whole("/etc/default/grub.d/x")),
    ] {
        let want = if path.ends_with('d') { PRESENT } else { "text\n" };
        changes.push(Change { id: "thp".into(), target, found: ABSENT.into(), want: want.into() });
    }
    assert_eq!(apply(&changes, directory.path(), &mut fake), vec![Standing::Verified; 3]);
    assert_eq!(fake.files.len(), 3);
    let (found, now) = ("/k0 found".to_string(), fake.files["/k0"].clone());
    assert_ne!(found, now);
    let undone = undo(directory.path(), "next boot", &mut fake);
    assert_eq!(undone.len(), 3);
    // The knob of the kernel is another one since; what it holds is not ours.
    assert_eq!(fake.files, BTreeMap::from([("/k0".to_string(), now)]));
    assert!(!Journal::path_in(directory.path()).exists());
}

#[test]
fn what_is_refused_again_is_told_once() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, changes) = knobs(&[Nature::Refuses(Errno::IO), Nature::Plain]);
    apply(&changes, directory.path(), &mut fake);
    apply(&changes[..1], directory.path(), &mut fake);
    assert_eq!(Journal::read(directory.path()).unwrap().len(), 2);
    // Somebody else could: that is what is put back.
    fake.nature.insert("/k0".into(), Nature::Plain);
    fake.files.insert("/k0".into(), "foreign".into());
    let again = [file("thp", "/k0", "foreign", WANT)];
    assert_eq!(apply(&again, directory.path(), &mut fake), [Standing::Verified]);
    undo(directory.path(), "boot", &mut fake);
    assert_eq!(fake.files["/k0"], "foreign");
}

#[test]
fn a_choice_is_undone_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, mut changes) = knobs(&[Nature::Plain, Nature::Plain]);
    changes[1].id = "ksm".into();
    let before = fake.files.clone();
    apply(&changes, directory.path(), &mut fake);
    let mut journal = Journal::open(directory.path(), "boot").unwrap();
    let only = TuneConfig { only: vec!["ksm".into()], ..TuneConfig::default() };
    super::undo(&mut journal, &only, &mut fake, &mut go).unwrap();
    assert_eq!((fake.files["/k0"].as_str(), &fake.files["/k1"]), (WANT, &before["/k1"]));
    assert!(journal.in_force());
    drop(journal);
    undo(directory.path(), "boot", &mut fake);
    assert_eq!(fake.files, before);
}

#[test]
fn stopped_between_two_changes() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fake, changes) = knobs(&[Nature::Plain, Nature::Plain, Nature::Plain]);
    let before = fake.files.clone();
    let mut two = |done: usize, _: &Change| match done {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let mut journal = Journal::open(directory.path(), "boot").unwrap();
    let outcome = super::apply(&changes, &mut journal, &mut fake, &mut two).unwrap();
    assert_eq!((outcome.stopped, outcome.records.len()), (true, 2));
    assert_eq!(fake.files["/k2"], before["/k2"]);
    let outcome = super::undo(&mut journal, &TuneConfig::default(), &mut fake, &mut two).unwrap();
    assert_eq!((outcome.stopped, outcome.records.len()), (false, 2));
    assert_eq!(fake.files, before);
}
