//! The writer and the journal on real files.

use super::{apply, file, undo};
use crate::tune::{Change, Form, Journal, JournalError, Knobs, Standing, Target, Writer};
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Every file and directory below with its content.
fn snapshot(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let is_directory = path.is_dir() && !path.is_symlink();
            all.insert(name, if is_directory { vec![] } else { std::fs::read(&path).unwrap_or_default() });
            if is_directory {
                left.push(path);
            }
        }
    }
    all
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn a_tree_comes_back_byte_for_byte() {
    let root = tree(&[
        ("/sys/a", "powersave\n"),
        ("/sys/deep/b", "0-7\n"),
        ("/sys/mask", "ff\n"),
        ("/etc/default/grub", "X=1\n"),
        ("/etc/default/old.cfg", "old\nlines\n"),
    ]);
    let data = tempfile::tempdir().unwrap();
    let change = |target: Target, found: &str, want: &str| Change {
        id: "thp".into(),
        target,
        found: found.into(),
        want: want.into(),
    };
    let formed = |path: &str, form| Target::File { path: path.into(), form };
    let changes = [
        file("thp", "/sys/a", "powersave", "performance"),
        change(formed("/sys/deep/b", Form::Cpus), "0-7", "0,1"),
        change(formed("/sys/mask", Form::Mask), "ff", "3"),
        file("thp", "/sys/none", "x", "y"),
        // A directory where a file should be.
        file("thp", "/sys/deep", "x", "y"),
        change(Target::Directory("/sys/group".into()), "absent", "present"),
        change(Target::Directory("/etc/default/grub.d".into()), "absent", "present"),
        change(Target::Whole("/etc/default/grub.d/50.cfg".into()), "absent", "# a\nB=\"c\"\n"),
        change(Target::Whole("/etc/default/old.cfg".into()), "old\nlines\n", "new\n"),
    ];
    let before = snapshot(root.path());
    let mut writer = Writer::at(root.path()).unwrap();
    let standings = apply(&changes, data.path(), &mut writer);
    let refused = standings.iter().filter(|standing| matches!(standing, Standing::Refused(_))).count();
    let verified = standings.iter().filter(|standing| **standing == Standing::Verified).count();
    assert_eq!((refused, verified), (2, 7), "{standings:?}");
    assert_eq!(std::fs::read_to_string(root.path().join("sys/a")).unwrap(), "performance\n");
    assert_eq!(
        std::fs::read_to_string(root.path().join("etc/default/grub.d/50.cfg")).unwrap(),
        "# a\nB=\"c\"\n"
    );
    assert_ne!(snapshot(root.path()), before);
    undo(data.path(), "boot", &mut writer);
    assert_eq!(snapshot(root.path()), before);
    assert!(!Journal::path_in(data.path()).exists());
}

#[test]
fn links_lead_nowhere_outside() {
    let outside = tree(&[("/value", "1\n")]);
    let root = tree(&[("/sys/a", "1\n")]);
    symlink(outside.path(), root.path().join("sys/out")).unwrap();
    let mut writer = Writer::at(root.path()).unwrap();
    let target = Target::File { path: "/sys/out/value".into(), form: Form::Text };
    assert!(writer.write(&target, "2").is_err());
    assert_eq!(std::fs::read_to_string(outside.path().join("value")).unwrap(), "1\n");
}

#[test]
fn tasks_and_services_of_a_tree_are_not_touched() {
    let root = tree(&[("/sys/a", "1\n")]);
    let mut writer = Writer::at(root.path()).unwrap();
    let task = Target::Task { pid: std::process::id(), started: 0, comm: "x".into() };
    for target in [task, Target::Service("irqbalance".into())] {
        assert!(writer.write(&target, "0").is_err(), "{target}");
    }
}

#[test]
fn a_task_with_another_start_is_another_task() {
    let writer = Writer::at(Path::new("/")).unwrap();
    let task = |started| Target::Task { pid: std::process::id(), started, comm: "x".into() };
    assert_eq!(writer.read(&task(0)).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let machine = crate::machine::Machine::this().unwrap();
    let started = crate::tune::tasks::stat(&machine, std::process::id()).unwrap().started;
    assert!(!writer.read(&task(started)).unwrap().is_empty());
}

#[test]
fn journals_that_are_not_ours_or_not_understood() {
    let data = tempfile::tempdir().unwrap();
    let path = Journal::path_in(data.path());
    let open = || Journal::open(data.path(), "boot");
    let start = "{\"start\":{\"version\":1,\"boot\":\"boot\"}}\n";
    for (text, line) in [
        ("nonsense\n".to_string(), 1),
        ("{\"start\":{\"version\":3,\"boot\":\"b\"}}\n".to_string(), 1),
        (format!("{start}{{\"outcome\":{{\"n\":0,\"standing\":\"verified\"}}}}\n"), 2),
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(
            matches!(open(), Err(JournalError::Malformed { line: at, .. }) if at == line),
            "{:?}",
            open()
        );
    }
    // Torn in its very first line.
    std::fs::write(&path, &start[..9]).unwrap();
    assert!(open().unwrap().records().is_empty());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(open(), Err(JournalError::NotOurs(_))));
    std::fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    assert!(matches!(open(), Err(JournalError::Io { .. })));
    std::fs::remove_file(&path).unwrap();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(open(), Err(JournalError::NotOurs(_))));
}

#[test]
fn one_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let first = Journal::open(data.path(), "boot").unwrap();
    assert!(matches!(Journal::open(data.path(), "boot"), Err(JournalError::Busy(_))));
    assert!(!Journal::path_in(data.path()).exists(), "nothing to note yet");
    drop(first);
    Journal::open(data.path(), "boot").unwrap();
}
