//! A place in the version 2 tree for a slot's leaf, and room for it.
//!
//! "No internal processes" (cgroup-v2.rst): a group with processes in it cannot hand controllers on to its children,
//! and one that hands them on takes no processes in. So whoever lives in the group we were started in steps aside into
//! a child of it, for as long as the leaf is there, and is put back afterwards. The root of the whole tree is exempt.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The child group to step aside into. Not the form of a slot's name.
const ASIDE: &str = "tauto";
/// How often processes that are forked meanwhile are moved after the others.
const ROUNDS: usize = 10;
/// How long another process may hold up the turn before we go on without it: any user can hold the lock.
const PATIENCE: Duration = Duration::from_secs(1);

/// Our own group, or the one around it when we have stepped aside (a second launcher finds us there).
pub(super) fn home(own: &Path, root: &Path) -> PathBuf {
    match own.parent() {
        Some(parent) if own != root && own.ends_with(ASIDE) && writable(parent) => parent.into(),
        _ => own.into(),
    }
}

/// Makes the group `name` where it has those of the controllers `needed` that can be had, or at least counts CPU time.
/// Returns its parent.
pub(super) fn make_leaf(home: &Path, root: &Path, needed: &[&str], name: &str) -> io::Result<PathBuf> {
    let _turn = turn(home);
    let make = |parent: &Path, needed: &[&str]| -> io::Result<PathBuf> {
        hand_on(parent, needed)?;
        match fs::create_dir(parent.join(name)) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
            _ => Ok(parent.into()),
        }
    };
    let busy = match make(home, needed) {
        Ok(parent) => return Ok(parent),
        Err(e) => e.kind() == ErrorKind::ResourceBusy,
    };
    let with_room = |movers: Movers| {
        let made = if busy { step_aside(home, movers) } else { Err(ErrorKind::PermissionDenied.into()) };
        made.and_then(|()| make(home, needed)).inspect_err(|_| put_back(home))
    };
    // Only root may write to the root of the tree. Its last resort is the group of whoever started us.
    with_room(Movers::Us)
        .or_else(|_| make(root, needed))
        .or_else(|_| with_room(Movers::Ours))
        .or_else(|_| make(home, &[]))
        .map_err(|e| io::Error::new(e.kind(), format!("{} takes no group of ours: {e}", home.display())))
}

/// Makes the group `name` in a partition, which nobody lives in, below the root of the tree.
pub(super) fn make_inside(partition: &Path, root: &Path, needed: &[&str], name: &str) -> io::Result<()> {
    let _turn = turn(partition);
    hand_on(root, needed)?;
    hand_on(partition, needed)?;
    match fs::create_dir(partition.join(name)) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Undoes what making room has done, unless somebody still needs it.
pub(super) fn tidy(home: &Path) {
    if home.join(ASIDE).is_dir() {
        let _turn = turn(home);
        put_back(home);
    }
}

/// Has the group give its children those of the controllers `needed` that it has itself.
fn hand_on(group: &Path, needed: &[&str]) -> io::Result<()> {
    let words = |name: &str| fs::read_to_string(group.join(name));
    let has = |text: &str, c: &str| text.split_whitespace().any(|w| w == c);
    let (available, handed_on) = (words("cgroup.controllers")?, words("cgroup.subtree_control")?);
    let missing: Vec<String> = needed
        .iter()
        .filter(|c| has(&available, c) && !has(&handed_on, c))
        .map(|c| format!("+{c}"))
        .collect();
    if missing.is_empty() { Ok(()) } else { control(group, &missing) }
}

fn control(group: &Path, changes: &[String]) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), changes.join(" "))
}

/// Who may be moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Movers {
    /// This process and its caller.
    Us,
    /// Also those who started the caller; and in an ordinary user's own group everybody: it was given to this user.
    Ours,
}

/// Moves everybody in the group into a child of it; refuses when somebody must not be moved.
fn step_aside(group: &Path, movers: Movers) -> io::Result<()> {
    let mut lineage = lineage();
    if movers == Movers::Us {
        lineage.truncate(2);
    }
    let me = rustix::process::geteuid();
    let mine = movers == Movers::Ours && !me.is_root() && fs::metadata(group)?.uid() == me.as_raw();
    let may_move = |pid: &u32| mine || lineage.contains(pid);
    for _ in 0..ROUNDS {
        let inside = processes(group)?;
        if inside.is_empty() {
            return Ok(());
        }
        if !inside.iter().all(may_move) {
            return Err(io::Error::other("other processes live in this group"));
        }
        let aside = group.join(ASIDE);
        if !aside.is_dir() {
            fs::create_dir(&aside)?;
        }
        move_all(&inside, &aside)?;
    }
    Err(io::Error::other("processes are made faster than they can be moved"))
}

/// Unless there are other groups than the one stepped into: takes the controllers back, then the processes.
fn put_back(group: &Path) {
    let aside = group.join(ASIDE);
    let children = fs::read_dir(group).into_iter().flatten().flatten();
    let others = children.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()) && e.file_name() != ASIDE);
    if !aside.is_dir() || others.count() > 0 {
        return;
    }
    for controller in ["-memory", "-pids", "-cpuset"] {
        let _ = control(group, &[controller.into()]);
    }
    for _ in 0..ROUNDS {
        match processes(&aside) {
            Ok(inside) if !inside.is_empty() && move_all(&inside, group).is_ok() => {}
            _ => break,
        }
    }
    // Fails while somebody lives there who cannot be moved.
    let _ = fs::remove_dir(aside);
}

fn processes(group: &Path) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(group.join("cgroup.procs"))?;
    // 0 is a process that cannot be seen from our pid namespace.
    Ok(text.lines().map(|l| l.parse().unwrap_or(0)).collect())
}

fn move_all(pids: &[u32], group: &Path) -> io::Result<()> {
    let procs = group.join("cgroup.procs");
    for pid in pids {
        match fs::write(&procs, pid.to_string()) {
            Err(e) if e.raw_os_error() != Some(libc::ESRCH) => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// This process, its parent, and so on, as far as they can be seen.
fn lineage() -> Vec<u32> {
    let parent = |pid: &u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // State and parent follow the name, which may hold anything (proc(5)).
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok().filter(|p| *p != 0)
    };
    std::iter::successors(Some(std::process::id()), parent).collect()
}

fn writable(dir: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD};
    rustix::fs::accessat(CWD, dir, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Keeps two launchers from making and undoing room at the same time, until it is dropped.
fn turn(group: &Path) -> Option<File> {
    const STEP: Duration = Duration::from_millis(5);
    let file = File::open(group.join("cgroup.subtree_control")).ok()?;
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        if file.try_lock().is_ok() {
            return Some(file);
        }
        std::thread::sleep(STEP);
    }
    None
}
