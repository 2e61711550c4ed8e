//! What a run must not leave on the host: processes, mounts, cgroups, files, System V objects, interfaces.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The state of the host at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    processes: BTreeSet<i32>,
    mounts: BTreeSet<String>,
    groups: BTreeSet<PathBuf>,
    others: BTreeSet<String>,
}

/// Makes this process the heir of all orphans below it, so that none can leave its sight.
///
/// # Errors
/// The kernel refuses.
pub fn adopt_orphans() -> Result<(), String> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("child subreaper: {error}"))
}

/// State letter and parent of a process.
fn state_and_parent(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn numbers(directory: &str) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Descendants of this process that are alive. Dead ones that fell to us are collected.
pub fn descendants() -> BTreeSet<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or_default();
    let facts: BTreeMap<i32, (char, i32)> =
        numbers("/proc").into_iter().filter_map(|pid| Some((pid, state_and_parent(pid)?))).collect();
    let is_below = |mut pid: i32| {
        for _ in 0..64 {
            match facts.get(&pid) {
                Some((_, parent)) if *parent == me => return true,
                Some((_, parent)) if *parent > 1 => pid = *parent,
                _ => return false,
            }
        }
        true
    };
    let mut alive = BTreeSet::new();
    for (pid, (state, parent)) in &facts {
        if *state == 'Z' && *parent == me {
            if let Some(pid) = Pid::from_raw(*pid) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        } else if *state != 'Z' && is_below(*pid) {
            alive.insert(*pid);
        }
    }
    alive
}

fn mounts() -> Vec<Vec<String>> {
    let text = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    text.lines().map(|line| line.split(' ').map(String::from).collect()).collect()
}

fn directories_below(root: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            directories_below(&entry.path(), found);
            found.insert(entry.path());
        }
    }
}

/// A cgroup in which some process lives, or whose keeper does, may be somebody else's, who works at the same time: our
/// own processes are looked for by descent.
fn is_deserted(group: &Path) -> bool {
    let name = group.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // `tauto-PID.NAMESPACE`, and what follows for others of the same keeper.
    let keeper = name.strip_prefix("tauto-").and_then(|rest| rest.split(['.', '-']).next());
    if keeper.is_some_and(|pid| Path::new("/proc").join(pid).exists()) {
        return false;
    }
    let mut all = BTreeSet::from([group.to_path_buf()]);
    directories_below(group, &mut all);
    all.iter()
        .all(|path| fs::read_to_string(path.join("cgroup.procs")).is_ok_and(|text| text.trim().is_empty()))
}

/// Shared memory whose creator lives and is not below us is somebody else's, such as a database's (`cpid` is the fifth field of
/// /proc/sysvipc/shm, proc_sysvipc(5)).
fn is_of_another(fields: &[&str]) -> bool {
    let creator = fields.get(4).and_then(|pid| pid.parse().ok());
    creator.is_some_and(|pid| state_and_parent(pid).is_some() && !descendants().contains(&pid))
}

fn other_traces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for directory in ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/netns", "/sys/class/net"] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if directory.ends_with("net") || name.contains("tauto") {
                found.insert(format!("{directory}/{name}"));
            }
        }
    }
    for kind in ["shm", "msg", "sem"] {
        let text = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let objects = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let objects = objects.filter(|fields| kind != "shm" || !is_of_another(fields));
        found.extend(objects.map(|fields| format!("System V {kind} {}", fields[..2].join(" "))));
    }
    found
}

/// Ends what should not be there, so that one failure spoils no other test: all are stopped before any is killed,
/// since processes that fork would otherwise always be one ahead.
fn end_all(wanted: &BTreeSet<i32>) {
    for signal in [Signal::STOP, Signal::STOP, Signal::KILL, Signal::KILL] {
        for pid in descendants().difference(wanted).filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Waits until none of these processes is there any more; collects those that fell to us.
///
/// # Errors
/// They are, after so long.
pub fn wait_until_gone(processes: &[Pid], bound: Duration) -> Result<(), String> {
    let start = Instant::now();
    let there = |pid: &Pid| Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists();
    loop {
        descendants();
        let left: Vec<_> = processes.iter().filter(|pid| there(pid)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > bound {
            return Err(format!("still there: processes {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Snapshot {
    /// Looks at the host.
    pub fn take() -> Snapshot {
        let mut groups = BTreeSet::new();
        for mount in
            mounts().iter().filter(|mount| mount.get(2).is_some_and(|kind| kind.starts_with("cgroup")))
        {
            directories_below(Path::new(&mount[1]), &mut groups);
        }
        Snapshot {
            processes: descendants(),
            mounts: mounts().into_iter().map(|fields| fields.join(" ")).collect(),
            groups,
            others: other_traces(),
        }
    }

    /// What is there now that was not, in words.
    pub fn added_since(&self) -> Vec<String> {
        let now = Snapshot::take();
        let name = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_string()
        };
        let mut added: Vec<String> = now
            .processes
            .difference(&self.processes)
            .map(|pid| format!("process {pid} ({})", name(pid)))
            .collect();
        added.extend(now.mounts.difference(&self.mounts).map(|mount| format!("mount {mount}")));
        let groups = now.groups.difference(&self.groups).filter(|group| is_deserted(group));
        added.extend(groups.map(|group| format!("cgroup {}", group.display())));
        added.extend(now.others.difference(&self.others).cloned());
        added
    }

    /// Waits until no process is left, and no longer than `bound`.
    ///
    /// # Errors
    /// Those that were still there then; they are killed.
    pub fn wait_until_no_processes(&self, bound: Duration) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let now = descendants();
            let left: Vec<_> = now.difference(&self.processes).collect();
            if left.is_empty() {
                return Ok(());
            }
            if start.elapsed() > bound {
                let error = format!("left behind: processes {left:?}");
                end_all(&self.processes);
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until nothing is left, `also` included, and no longer than `bound`.
    ///
    /// # Errors
    /// What was still left then; processes are killed.
    pub fn wait_until_clean(&self, bound: Duration, also: impl Fn() -> Vec<String>) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let mut left = self.added_since();
            left.extend(also());
            if left.is_empty() {
                return Ok(());
            }
            if start.elapsed() > bound {
                left.truncate(20);
                end_all(&self.processes);
                return Err(format!("left behind: {}", left.join("; ")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
