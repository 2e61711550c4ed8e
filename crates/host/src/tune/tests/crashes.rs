//! Killed at any point, undo restores everything, and so does an undo after an undo that was killed.

use super::{Fake, Killed, Nature, knobs};
use crate::tune::{Change, Journal};
use proptest::prelude::*;
use rustix::io::Errno;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn nature() -> impl Strategy<Value = Nature> {
    prop_oneof![
        4 => Just(Nature::Plain),
        1 => Just(Nature::Refuses(Errno::IO)),
        1 => Just(Nature::Vanishes),
        1 => Just(Nature::Rounds),
        1 => (0usize..6).prop_map(|n| Nature::ShadowedBy(format!("/k{n}"))),
    ]
}

/// One that overrides is not itself overridden, as in the kernel.
fn without_chains(mut natures: Vec<Nature>) -> Vec<Nature> {
    let shadowing = |nature: &Nature| matches!(nature, Nature::ShadowedBy(_));
    let all = natures.clone();
    for nature in &mut natures {
        if let Nature::ShadowedBy(other) = nature {
            let number: usize = other[2..].parse().unwrap();
            if all.get(number).is_none_or(shadowing) {
                *nature = Nature::Plain;
            }
        }
    }
    natures
}

/// Runs until the end comes; says whether it came.
fn killed(fake: &mut Fake, after: Option<usize>, work: impl FnOnce(&mut Fake)) -> bool {
    fake.end_in = after;
    let ended = catch_unwind(AssertUnwindSafe(|| work(fake)));
    fake.end_in = None;
    ended.is_err_and(|panic| panic.is::<Killed>() || std::panic::resume_unwind(panic))
}

/// Cuts bytes off the journal's last line, as a crash does that comes while it is written: only a line that nothing has
/// followed yet.
fn tear(directory: &Path, bytes: usize) {
    let path = Journal::path_in(directory);
    let Ok(text) = std::fs::read(&path) else { return };
    let line = text[..text.len() - 1].iter().rev().take_while(|byte| **byte != b'\n').count();
    std::fs::write(&path, &text[..text.len() - 1 - bytes % line]).unwrap();
}

fn check(natures: Vec<Nature>, ends: [Option<usize>; 3], torn: Option<usize>) -> Result<(), TestCaseError> {
    let directory = tempfile::Builder::new().tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (mut fake, changes) = knobs(&without_chains(natures));
    let mut before = fake.files.clone();
    let apply = |fake: &mut Fake, changes: &[Change]| {
        super::apply(changes, directory.path(), fake);
    };
    let ended = killed(&mut fake, ends[0], |fake| apply(fake, &changes));
    // An even half has noted an intent and changed nothing.
    if let (true, Some(bytes), Some(0)) = (ended, torn, ends[0].map(|end| end % 2)) {
        tear(directory.path(), bytes);
    }
    if ends[1].is_some() {
        let present: Vec<Change> = changes
            .iter()
            .filter_map(|change| {
                Some(Change { found: fake.shown(super::path_of(&change.target))?, ..change.clone() })
            })
            .filter(|change| change.found != change.want)
            .collect();
        killed(&mut fake, ends[1], |fake| apply(fake, &present));
    }
    killed(&mut fake, ends[2], |fake| drop(super::undo(directory.path(), "boot", fake)));
    super::undo(directory.path(), "boot", &mut fake);
    before.retain(|path, _| fake.files.contains_key(path));
    prop_assert_eq!(&fake.files, &before);
    prop_assert!(!Journal::path_in(directory.path()).exists());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn undo_restores_all(
        natures in proptest::collection::vec(nature(), 1..6),
        ends in proptest::array::uniform3(proptest::option::of(0usize..14)),
        torn in proptest::option::of(0usize..300),
    ) {
        check(natures, ends, torn)?;
    }
}

#[test]
fn killed_at_each_half_of_each_change() {
    for end in 0..12 {
        check(vec![Nature::Plain; 5], [Some(end), None, None], None).unwrap();
        check(vec![Nature::Plain; 5], [Some(end), None, Some(end)], None).unwrap();
        check(vec![Nature::Plain; 5], [None, None, Some(end)], None).unwrap();
        for bytes in [0, 1, 17, 90] {
            check(vec![Nature::Plain; 5], [Some(end), None, None], Some(bytes)).unwrap();
        }
    }
}
