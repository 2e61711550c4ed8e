//! What a run leaves for a later one to see: one launcher, and programs that leave marks and look for them.

use crate::leftovers::Snapshot;
use model::{
    BoxMount, Bytes, FileMount, Found, Limits, Nanos, Observation, RunSpec, Status, Stdio, WallLimit,
};
use sandbox::{Counted, Events, Launcher, LauncherOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many hostile runs [`many`] makes.
pub const RUNS: &str = "TAUTO_HOSTILE_RUNS";
/// The same by default.
const FEW: usize = 20;
/// How many runs [`circles`] makes.
const CIRCLES: usize = 40;
/// By how much of itself the host's kernel memory may have grown after many runs.
const SLAB_SHARE: f64 = 0.01;
/// The number of blocks that runs are divided into, with a control after each.
const BLOCKS: usize = 4;
/// The kernel frees later what it must not free at once.
const SETTLED: Duration = Duration::from_millis(500);
/// And groups and namespaces in batches, by workers of its own that are in no hurry.
const FREED: Duration = Duration::from_secs(60);
/// A control lasts as long as its block, and no longer than this.
const QUIET: Duration = Duration::from_secs(10);

/// The two programs and a place for files of the caller's.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Says all it can observe.
    pub observe: PathBuf,
    /// Leaves marks.
    pub leave: PathBuf,
    /// Has children that nobody waits for, and says what they used.
    pub children: PathBuf,
    /// Prints how many Unix sockets there are, and leaves some that only refer to each other.
    pub circles: PathBuf,
    /// Belongs to the caller.
    pub directory: PathBuf,
}

type Seen = BTreeMap<String, String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn limits() -> Limits {
    let wall = WallLimit { time: Nanos::from_millis(20_000), excuse_waiting: true };
    Limits {
        memory: Some(Bytes::from_mib(256)),
        processes: Some(64),
        output: Some(Bytes::from_mib(64)),
        wall: Some(wall),
        ..Limits::default()
    }
}

/// One slot.
struct Slot<'a> {
    launcher: Launcher,
    means: &'a Programs,
}

impl<'a> Slot<'a> {
    fn new(means: &'a Programs) -> Result<Slot<'a>, String> {
        fs::write(means.directory.join("input"), "1 2 3\n").map_err(text)?;
        Slot::with(means, &LauncherOptions::default())
    }

    fn with(means: &'a Programs, options: &LauncherOptions) -> Result<Slot<'a>, String> {
        let launcher = Launcher::start(options).map_err(text)?;
        Ok(Slot { launcher, means })
    }

    fn input(&self) -> Result<File, String> {
        File::open(self.means.directory.join("input")).map_err(text)
    }

    /// Runs a program with these three streams; none: nothing.
    fn run(&self, program: &Path, streams: [Option<OwnedFd>; 3]) -> Result<Observation, String> {
        let mut spec = RunSpec { limits: limits(), argv: vec!["/program/it".into()], ..RunSpec::bare() };
        let mut fds = vec![OwnedFd::from(File::open(program).map_err(text)?), self.input()?.into()];
        spec.files = vec![
            FileMount { fd: 0, at: "/program/it".into() },
            FileMount { fd: 1, at: "/data/input".into() },
        ];
        for (n, stream) in streams.into_iter().enumerate() {
            if let Some(fd) = stream {
                spec.stdio[n] = Stdio::Fd(fds.len() as u8);
                fds.push(fd);
            }
        }
        let observed = self.launcher.run(&spec, fds).map_err(text)?;
        match observed.status(&spec.limits) {
            Status::Ok => Ok(observed),
            other => Err(format!("{}: {other:?}", program.display())),
        }
    }

    /// What can be observed now; with nothing for standard error, and an own file for output.
    fn look(&self) -> Result<Seen, String> {
        self.look_into(tempfile::tempfile().map_err(text)?)
    }

    /// The same, told to this file.
    fn look_into(&self, mut output: File) -> Result<Seen, String> {
        let streams = [Some(self.input()?.into()), Some(output.try_clone().map_err(text)?.into()), None];
        self.run(&self.means.observe, streams)?;
        let mut told = Vec::new();
        output.rewind().and_then(|()| output.read_to_end(&mut told)).map_err(text)?;
        let told = String::from_utf8_lossy(&told);
        let seen: Seen = told.lines().filter_map(distinct).collect();
        if seen.len() < 300 {
            return Err(format!("only {} things were observed", seen.len()));
        }
        Ok(seen)
    }

    /// Leaves marks, with these streams.
    fn mark(&self, input: Option<OwnedFd>, output: Option<OwnedFd>) -> Result<(), String> {
        self.run(&self.means.leave, [input, output, None]).map(drop)
    }
}

/// Top directories of /proc that a run has for itself, or that namespaces divide.
const DIVIDED: [&str; 5] = ["self", "sys", "net", "sysvipc", "keys"];
/// Files below those that the whole kernel shares, or that show how far this very process has come. SECURITY.md names the former.
const SHARED: [&str; 38] = [
    "sys/fs/aio-nr",
    "sys/fs/dentry-state",
    "sys/fs/file-nr",
    "sys/fs/inode-nr",
    "sys/fs/inode-state",
    "sys/fs/quota/",
    "sys/kernel/ns_last_pid",
    "sys/kernel/pty/nr",
    "sys/kernel/random/",
    "sys/kernel/sched_domain/",
    "sys/vm/stat_refresh",
    "sys/net/netfilter/nf_conntrack_count",
    "net/protocols",
    "net/softnet_stat",
    "net/stat/",
    "net/sockstat",
    "self/arch_status",
    "self/clear_refs",
    "self/io",
    "self/latency",
    "self/maps",
    "self/mem",
    "self/mountstats",
    "self/numa_maps",
    "self/oom_score",
    "self/sched",
    "self/schedstat",
    "self/smaps",
    "self/stat",
    "self/statm",
    "self/syscall",
    "self/timens_offsets",
    "self/wchan",
    "self/net/protocols",
    "self/net/softnet_stat",
    "self/net/stat/",
    "self/net/sockstat",
    "self/fdinfo/",
];

/// Where the host's own files are shown.
const HOST: [&str; 5] = [" /usr", " /lib", " /bin", " /sbin", " /etc/"];

/// The same, and devices.
const SHOWN: [&str; 3] = [" /usr", " /etc/", " /dev/"];

fn is_shared(file: &str) -> bool {
    let top = file.split('/').next().unwrap_or_default();
    !DIVIDED.contains(&top)
        || SHARED.iter().any(|name| {
            file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || name.ends_with('/'))
                || (file == "self/smaps_rollup")
        })
}

/// A line of what was observed as a name and a value; `None` for what every run shares with the host.
fn distinct(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('\t')?;
    let file = name.split_once(' ').and_then(|(_, path)| path.strip_prefix("/proc/"));
    let value = match (name.split(' ').next()?, file) {
        (_, Some(file)) if is_shared(file) => return None,
        ("text", Some("self/status")) => kept(value, |line| {
            !["Vm", "Rss", "voluntary", "nonvoluntary", "Hugetlb", "Mems"].iter().any(|p| line.starts_with(p))
        }),
        // Numbers of mounts and devices are the kernel's, and differ from run to run.
        ("text", Some("self/mountinfo")) => value
            .split('|')
            .map(|line| line.splitn(4, ' ').nth(3).unwrap_or_default())
            .collect::<Vec<_>>()
            .join("|"),
        // Its links are the processes of the whole machine.
        ("file", _) if name == "file /proc" => return None,
        // The host reads its own programs, too. Whoever sets their times changes the last one as well.
        ("file" | "open", _) if HOST.iter().any(|dir| name.contains(dir)) => {
            kept_words(value, |word| !word.starts_with("a="))
        }
        // Locks of runs that go on elsewhere at this moment: none outlives its run.
        ("flags", _) if name == "flags stderr" || SHOWN.iter().any(|dir| name.contains(dir)) => {
            kept_words(value, |word| !word.starts_with("lock=") && !word.starts_with("flock="))
        }
        // An own file for each run that looks.
        ("open", _) if name == "open stdout" => kept_words(value, |word| !word.starts_with("ino=")),
        _ => value.to_string(),
    };
    Some((name.to_string(), value))
}

fn kept(value: &str, keep: impl Fn(&str) -> bool) -> String {
    value.split('|').filter(|line| keep(line)).collect::<Vec<_>>().join("|")
}

fn kept_words(value: &str, keep: impl Fn(&str) -> bool) -> String {
    value.split(' ').filter(|word| keep(word)).collect::<Vec<_>>().join(" ")
}

/// What stands in one and not, or otherwise, in the other.
fn differences(one: &Seen, other: &Seen) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let pairs = names.into_iter().map(|name| (name, one.get(name), other.get(name)));
    let short = |value: Option<&String>| {
        value.map_or("nothing", String::as_str).chars().take(600).collect::<String>()
    };
    let differ = pairs.filter(|(_, a, b)| a != b);
    differ.map(|(name, a, b)| format!("{name}\n    {}\n    {}", short(a), short(b))).collect()
}

fn same(what: &str, one: &Seen, other: &Seen) -> Result<(), String> {
    let found = differences(one, other);
    if found.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = found.iter().take(30).map(String::as_str).collect();
    Err(format!("{what}: {} of {} things differ:\n{}", found.len(), one.len(), shown.join("\n")))
}

/// Nothing that a run can observe differs after a run that left marks wherever it could.
///
/// # Errors
/// What differs.
pub fn between_runs(means: &Programs) -> Result<(), String> {
    let slot = Slot::new(means)?;
    slot.look()?;
    let fresh = slot.look()?;
    same("without any mark", &fresh, &slot.look()?)?;
    slot.mark(Some(slot.input()?.into()), None)?;
    same("after marks on files", &fresh, &slot.look()?)?;
    slot.mark(None, None)?;
    same("after marks on /dev/null", &fresh, &slot.look()?)
}

/// All of a file that a run could have changed.
fn state(path: &Path) -> Result<String, String> {
    let s = fs::symlink_metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut names = vec![0u8; 4096];
    let n = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let times = (s.atime(), s.atime_nsec(), s.mtime(), s.mtime_nsec(), s.ctime(), s.ctime_nsec());
    let attributes = String::from_utf8_lossy(&names[..n]).into_owned();
    Ok(format!("{:o} {}:{} {} {times:?} {attributes}", s.mode(), s.uid(), s.gid(), s.size()))
}

/// A run's streams and files stay the caller's: as they were, whatever the run does with them.
///
/// # Errors
/// What was changed.
pub fn streams(means: &Programs) -> Result<(), String> {
    let slot = Slot::new(means)?;
    let at = |name: &str| means.directory.join(name);
    let pipe = at("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .map_err(text)?;
    fs::write(at("private"), "1 2 3\n").map_err(text)?;
    fs::set_permissions(at("private"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(text)?;
    let devices = ["/dev/null", "/dev/zero", "/dev/full"];
    let paths: Vec<PathBuf> =
        ["input", "private", "pipe"].map(at).into_iter().chain(devices.map(PathBuf::from)).collect();
    // A file in memory, and one on disk, that have no path.
    let nameless = [
        File::from(rustix::fs::memfd_create("nameless", rustix::fs::MemfdFlags::CLOEXEC).map_err(text)?),
        tempfile::tempfile_in(&means.directory).map_err(text)?,
    ];
    let facts = |file: &File| file.metadata().map(|s| (s.mode(), s.uid(), s.mtime(), s.ctime_nsec()));
    for path in &paths {
        let before = state(path)?;
        let kind = fs::metadata(path).map_err(text)?.file_type();
        // A pipe opens when both ends are there.
        let both = fs::OpenOptions::new().read(true).write(kind.is_fifo()).open(path).map_err(text)?;
        slot.mark(Some(both.try_clone().map_err(text)?.into()), None)?;
        let after = state(path)?;
        if before != after {
            return Err(format!("{} as standard input: {before}, then {after}", path.display()));
        }
        if !kind.is_file() {
            let output = fs::OpenOptions::new().read(kind.is_fifo()).write(true).open(path).map_err(text)?;
            slot.mark(None, Some(output.into()))?;
            let after = state(path)?;
            if before != after {
                return Err(format!("{} as standard output: {before}, then {after}", path.display()));
            }
        }
        let flags = rustix::fs::fcntl_getfl(&both).map_err(text)?;
        if flags.intersects(rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::APPEND) {
            return Err(format!("{}: the caller's open file has other flags: {flags:?}", path.display()));
        }
    }
    // Landlock has no rules for files in memory, which must not mean that there are no others.
    let in_memory = rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC).map_err(text)?;
    let layers = |seen: Seen| seen.get("count layers").cloned();
    let (on_disk, in_memory) = (layers(slot.look()?), layers(slot.look_into(in_memory.into())?));
    if on_disk != in_memory || on_disk.is_none() {
        return Err(format!("free layers of Landlock: {on_disk:?}, and {in_memory:?} with output in memory"));
    }
    for file in &nameless {
        let before = facts(file).map_err(text)?;
        slot.mark(Some(file.try_clone().map_err(text)?.into()), None)?;
        let after = facts(file).map_err(text)?;
        if before != after {
            return Err(format!("a file without a path as standard input: {before:?}, then {after:?}"));
        }
        let mode = file.metadata().map_err(text)?.mode();
        slot.mark(None, Some(file.try_clone().map_err(text)?.into()))?;
        if file.metadata().map_err(text)?.mode() != mode {
            return Err("a file for output has another mode".into());
        }
    }
    Ok(())
}

/// Kernel memory of the whole host that cannot be reclaimed, in KiB.
fn slab() -> f64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("SUnreclaim:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0.0)
}

/// Has the kernel give back what it only keeps (drop_caches, Documentation/admin-guide/sysctl/vm.rst): security modules attach objects that
/// count as not reclaimable to inodes that are. Where many runs were asked for; it slows everybody for a moment.
fn drop_caches() {
    if std::env::var_os(RUNS).is_some() {
        let _ = fs::write("/proc/sys/vm/drop_caches", "2");
    }
}

/// What these processes have open, once the launcher has done what it puts off until its answer is out.
fn descriptors(pids: &BTreeSet<i32>) -> Vec<String> {
    std::thread::sleep(SETTLED);
    let of = |pid: &i32| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let link = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    let mut open: Vec<String> =
        pids.iter().flat_map(of).filter_map(link).map(|link| link.display().to_string()).collect();
    open.sort();
    open
}

/// Many hostile runs through one launcher leave nothing: nothing to observe, no process, mount or group, no descriptor of
/// the launcher's, and the host's kernel memory as it was.
///
/// # Errors
/// What is left.
pub fn many(means: &Programs) -> Result<String, String> {
    let runs = std::env::var(RUNS).ok().and_then(|n| n.parse().ok()).unwrap_or(FEW);
    let slot = Slot::new(means)?;
    slot.look()?;
    let fresh = slot.look()?;
    for _ in 0..4 {
        slot.mark(Some(slot.input()?.into()), None)?;
    }
    let before = Snapshot::take();
    let pids = crate::leftovers::descendants();
    drop_caches();
    let (files, memory) = (descriptors(&pids), slab());
    let mut drift = 0.0f64;
    for block in 0..BLOCKS {
        let begun = Instant::now();
        for n in (0..runs).skip(block).step_by(BLOCKS) {
            let input = if n % 8 < BLOCKS { Some(slot.input()?.into()) } else { None };
            slot.mark(input, None)?;
        }
        // The control: what others on this machine do to it in as long a time.
        let (took, then) = (begun.elapsed(), slab());
        let quiet = took.min(QUIET);
        std::thread::sleep(quiet);
        drift = drift.max((slab() - then).abs() * took.as_secs_f64() / quiet.as_secs_f64());
    }
    same(&format!("after {runs} hostile runs"), &fresh, &slot.look()?)?;
    before.wait_until_clean(Duration::from_secs(5), Vec::new)?;
    let now = descriptors(&pids);
    if now.len() != files.len() {
        return Err(format!("open in the launcher: {files:?}, and after {runs} runs: {now:?}"));
    }
    drop_caches();
    let (drift, since) = (drift * BLOCKS as f64, Instant::now());
    while slab() > memory * (1.0 + SLAB_SHARE) && since.elapsed() < FREED {
        std::thread::sleep(SETTLED);
    }
    let grown = slab() - memory;
    let told = format!(
        "{runs} hostile runs: {} things observed alike; kernel memory {memory} KiB, grown by {grown} KiB {:.0} s later; {drift:.0} KiB of drift without",
        fresh.len(),
        since.elapsed().as_secs_f64()
    );
    // A few runs are over before the machine's own ups and downs even out.
    let share = if runs > FEW { SLAB_SHARE } else { 5.0 * SLAB_SHARE };
    if grown > memory * share + drift { Err(told) } else { Ok(told) }
}

/// CPU time of children that nobody waits for is reported within 3 %, or the result says that it may be less.
///
/// # Errors
/// It was neither.
pub fn children(means: &Programs) -> Result<String, String> {
    let usual = Counted::default();
    let refused = Counted { time: Events::Refused(13), ..Counted::default() };
    let mut told = Vec::new();
    for counted in [usual, refused] {
        let slot = {
            fs::write(means.directory.join("input"), "1 2 3\n").map_err(text)?;
            Slot::with(means, &LauncherOptions { counted, ..LauncherOptions::default() })?
        };
        let mut output = tempfile::tempfile().map_err(text)?;
        let streams = [None, Some(output.try_clone().map_err(text)?.into()), None];
        let observed = slot.run(&means.children, streams)?;
        let mut printed = String::new();
        output.rewind().and_then(|()| output.read_to_string(&mut printed)).map_err(text)?;
        let truth: f64 = printed.trim().parse().map_err(text)?;
        let share = observed.time.cpu.0 as f64 / truth;
        let warned = observed.evidence.weaker.iter().any(|what| what.starts_with("CPU time may be less"));
        // Beginnings and ends of processes are used, too, and they cannot see those.
        if !((0.97..1.25).contains(&share) || warned && share < 1.25) {
            return Err(format!(
                "{share:.3} of what was used, of {} ms; weaker: {:?}",
                truth / 1e6,
                observed.evidence.weaker
            ));
        }
        told.push(format!(
            "{share:.3} of {:.0} ms{}",
            truth / 1e6,
            if warned { ", and said so" } else { "" }
        ));
    }
    Ok(told.join("; "))
}

/// No run sees a Unix socket of the run before it, on busy CPUs too: not even those that only refer to each other, which the
/// kernel frees late.
///
/// # Errors
/// A run saw some.
pub fn circles(means: &Programs) -> Result<(), String> {
    let slot = Slot::new(means)?;
    let run = || {
        let mut output = tempfile::tempfile().map_err(text)?;
        slot.run(&means.circles, [None, Some(output.try_clone().map_err(text)?.into()), None])?;
        let mut told = String::new();
        output.rewind().and_then(|()| output.read_to_string(&mut told)).map_err(text)?;
        Ok::<_, String>(told)
    };
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let seen = (0..CIRCLES).try_for_each(|n| match run()?.as_str() {
            "0 sockets\n" => Ok(()),
            seen => Err(format!("after {n} runs: {seen}")),
        });
        busy.store(false, Ordering::Relaxed);
        seen
    })
}

/// What lies in a box is told by its kind, whatever a program has put there: a link or a pipe in the place of a file is that
/// program's fault, and must not look as if there were nothing.
///
/// # Errors
/// It was told otherwise.
pub fn boxes(means: &Programs) -> Result<(), String> {
    let slot = Slot::new(means)?;
    let id = slot.launcher.create_box(Bytes::from_mib(4)).map_err(text)?;
    let script = "echo text > file; ln -s file link; ln -s /etc/passwd away; mkfifo pipe; mkdir directory; \
                  truncate -s 1G holes; echo text > locked; chmod 0 locked";
    let mut spec =
        RunSpec { limits: Limits { output: None, ..limits() }, cwd: "/box".into(), ..RunSpec::bare() };
    spec.argv = ["/bin/sh", "-c", script].map(String::from).into();
    spec.boxes = vec![BoxMount { id, at: "/box".into(), writable: true }];
    let observed = slot.launcher.run(&spec, vec![]).map_err(text)?;
    if observed.status(&spec.limits) != Status::Ok {
        return Err(format!("the script: {:?}", observed.exit));
    }
    let kinds = [
        ("file", 'f'),
        ("link", 'o'),
        ("away", 'o'),
        ("pipe", 'o'),
        ("directory", 'o'),
        ("holes", 'f'),
        ("none", 'n'),
    ];
    for (name, wanted) in kinds {
        let kind = match slot.launcher.fetch(id, name).map_err(text)? {
            Found::Nothing => 'n',
            Found::File(_) => 'f',
            Found::Other => 'o',
        };
        if kind != wanted {
            return Err(format!("{name} is told as `{kind}`, not `{wanted}`"));
        }
    }
    slot.launcher.fetch(id, "locked").map(drop).map_err(text)
}

/// A case by its name, and what it has to tell.
///
/// # Errors
/// What it found, or that there is none of this name.
pub fn case(name: &str, means: &Programs) -> Result<String, String> {
    match name {
        "between_runs" => between_runs(means).map(|()| String::new()),
        "streams" => streams(means).map(|()| String::new()),
        "many_runs" => many(means),
        "boxes" => boxes(means).map(|()| String::new()),
        "children" => children(means),
        "circles" => circles(means).map(|()| String::new()),
        other => Err(format!("no case `{other}`")),
    }
}

/// Names of the cases.
pub const CASES: [&str; 6] = ["between_runs", "streams", "many_runs", "children", "circles", "boxes"];
