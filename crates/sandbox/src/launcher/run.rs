//! One run, from the request to the observation.

use super::evidence::{Counted, CpuTimes, Finished, Schedstat, since, uncharged};
use super::frequency::ClockSample;
use super::privilege::read_at;
use super::streams::Output;
use super::supervise::{Ended, Watched, monotonic};
use super::{Launcher, view};
use crate::counter::{Begin, Counter, Events};
use crate::error::During;
use crate::plan::{Plan, PlanInputs, Readings, Step, nth};
use crate::sys::{self, ChildFailure, Death, MountAttr, Rules, access};
use crate::{ErrorKind, SandboxError, ulimits};
use model::{Bytes, Evidence, Nanos, NodePages, Observation, Reading, RunSpec, Stdio, Times};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How long the kernel may take to free a run's sockets. It takes milliseconds, on busy CPUs too.
const SOCKETS_FREED: Duration = Duration::from_secs(10);
/// Time between two looks whether it has.
const SOCKETS_POLL: Duration = Duration::from_micros(200);

/// Size of a run's file system when its output is not limited.
const RUN_SIZE: Bytes = Bytes::from_mib(1024);

/// A started run.
struct Started {
    pid: u32,
    pidfd: OwnedFd,
    init: OwnedFd,
    readings: Box<Readings>,
    before: io::Result<CpuTimes>,
    throttled: io::Result<Nanos>,
    counted: Counted,
    cpus: Vec<u32>,
    /// What counts for it, where that was asked for.
    counters: Option<Counters>,
    /// What counts the CPU time of its processes where no group does, or why nothing does.
    clock: Option<Result<Counter, String>>,
    /// Run-queue wait of its main thread, if waits are excused and no group counts them.
    waits: Option<Schedstat>,
    /// Time spent on evidence so far.
    cost: Nanos,
    /// What it was started without.
    forgone: Vec<&'static str>,
}

/// The counters a program is cloned with, or why there are none.
struct Counters {
    instructions: Result<Counter, String>,
    cycles: Result<Counter, String>,
}

impl Launcher {
    /// Runs a program to its end and leaves the slot empty, whatever happens. The launcher is left in the run's mount
    /// namespace.
    pub(super) fn run(
        &mut self,
        serial: u64,
        spec: &RunSpec,
        fds: Vec<OwnedFd>,
    ) -> Result<Observation, SandboxError> {
        let fds: Vec<Option<OwnedFd>> = fds.into_iter().map(Some).collect();
        let stdio = self.stdio(spec, &fds).during(|| "standard streams".into())?;
        let before = output_sizes(spec, &fds);
        let outputs = outputs(spec, &fds).map(Output::before).collect::<io::Result<Vec<_>>>();
        let outputs = outputs.during(|| "standard output".into())?;
        self.enter_file_system(spec, &fds)?;
        let landlock = self.landlock(spec, &stdio);
        // Before anything of the run is counted.
        let (before_run, looking) = timed(|| self.look_at_clock(spec));
        self.groups.prepare(&spec.limits).during(|| "preparing the run's cgroup".into())?;
        let tally = spec.tally.map(|n| nth(&fds, n)).transpose().during(|| "the tally".into())?;
        let streams = stdio.each_ref().map(AsFd::as_fd);
        let started = self.spawn(spec, streams, tally, landlock.as_ref().map(AsFd::as_fd))?;
        drop((stdio, landlock));
        // A pipe must end when the program ends, so our copies go now; files are kept to be measured.
        let fds: Vec<Option<OwnedFd>> = fds.into_iter().map(|fd| fd.filter(is_file)).collect();
        let observed = self.finish(serial, spec, started);
        outputs.iter().try_for_each(Output::restore).during(|| "standard output".into())?;
        let mut observed = observed?;
        // After everything of it is gone, or its own processes would be in the way.
        let (after_run, looking_again) = timed(|| self.look_at_clock(spec));
        observed.evidence.frequency_ratio = self.frequency.ratio(&before_run, &after_run);
        observed.evidence.cost = observed.evidence.cost + looking + looking_again;
        let streams = Bytes(output_sizes(spec, &fds).saturating_sub(before));
        Ok(Observation { output: observed.output.map(|files| files + streams), ..observed })
    }

    fn look_at_clock(&mut self, spec: &RunSpec) -> ClockSample {
        self.frequency.look(&spec.placement, self.stacks.program, self.groups.clone_into())
    }

    fn stdio(&mut self, spec: &RunSpec, fds: &[Option<OwnedFd>]) -> io::Result<[OwnedFd; 3]> {
        let streams = &mut self.streams;
        let mut one = |n: usize| match spec.stdio[n] {
            Stdio::Null => streams.null(),
            Stdio::Fd(fd) if n == 0 => streams.input(nth(fds, fd)?),
            Stdio::Fd(fd) => streams.output(nth(fds, fd)?),
        };
        Ok([one(0)?, one(1)?, one(2)?])
    }

    /// Enters a copy of the view and adds what belongs to this run alone.
    fn enter_file_system(&mut self, spec: &RunSpec, fds: &[Option<OwnedFd>]) -> Result<(), SandboxError> {
        let mut points = BTreeSet::new();
        let mut attached = Vec::new();
        for b in &spec.boxes {
            points.insert(point(&b.at, "box")?);
            let tree = self.boxes.mount_of(b.id)?;
            if !b.writable {
                let readonly = MountAttr { set: libc::MOUNT_ATTR_RDONLY, propagation: 0 };
                sys::mount_setattr(tree.as_fd(), readonly).during(|| format!("showing a box at {}", b.at))?;
            }
            attached.push((tree, b.at.clone()));
        }
        let mut single = Vec::new();
        for f in &spec.files {
            let dir = f.at.rsplit_once('/').map_or("", |(d, _)| d);
            points.insert(point(dir, "file")?);
            let fd = nth(fds, f.fd).during(|| f.at.clone())?;
            single.push((view::tree_of_file(self.host.proc(), fd), fd, f.at.clone(), dir.to_string()));
        }
        self.views.enter_run(&spec.view, points, spec.limits.output.unwrap_or(RUN_SIZE))?;
        let what = || "the run's own file system".to_string();
        for (tree, at) in &attached {
            sys::attach_tree(tree.as_fd(), at).during(|| format!("showing a box at {at}"))?;
        }
        let dirs: BTreeSet<String> = single.iter().map(|(_, _, _, dir)| dir.clone()).collect();
        for dir in &dirs {
            sys::mount_tmpfs(dir, "mode=0755").during(what)?;
        }
        for (tree, fd, at, _) in &mut single {
            view::attach_file(tree.take(), *fd, at).during(|| format!("showing a file at {at}"))?;
        }
        for dir in dirs {
            sys::remount_readonly(&dir).during(what)?;
        }
        for (name, target) in &spec.links {
            rustix::fs::symlink(&**target, format!("/w/{name}")).during(|| format!("linking {name}"))?;
        }
        Ok(())
    }

    /// File access rules, as far as this kernel has them: a second lock behind the mounts.
    fn landlock(&self, spec: &RunSpec, stdio: &[OwnedFd; 3]) -> Option<OwnedFd> {
        let make = || -> io::Result<OwnedFd> {
            let rules = Rules::new()?;
            let allow = |at: &str, allowed: u64| -> io::Result<()> {
                let fd = rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                rules.allow(fd.as_fd(), allowed)
            };
            allow("/", access::READ)?;
            allow("/dev", access::READ | access::WRITE_FILE | access::IOCTL_DEV)?;
            allow("/proc", access::READ | access::WRITE_FILE)?;
            for (_, at) in view::RUN_PARTS {
                allow(at, access::ALL)?;
            }
            for b in spec.boxes.iter().filter(|b| b.writable) {
                allow(&b.at, access::ALL)?;
            }
            for f in &spec.files {
                let stat = rustix::fs::stat(f.at.as_str())?;
                if FileType::from_raw_mode(stat.st_mode) == FileType::Fifo {
                    allow(&f.at, access::READ_FILE | access::WRITE_FILE)?;
                }
            }
            for (n, fd) in stdio.iter().enumerate().filter(|(_, fd)| self.has_rules(fd)) {
                let allowed = if n == 0 { access::READ_FILE } else { access::OF_FILES };
                rules.allow(fd.as_fd(), allowed)?;
            }
            Ok(rules.into_fd())
        };
        // A kernel without Landlock gives no ruleset; the mounts and the uid hold all the same.
        make().ok()
    }

    /// A stream that Landlock has to be told of.
    fn has_rules(&self, fd: &OwnedFd) -> bool {
        rustix::fs::fstat(fd).is_ok_and(|stat| is_regular(&stat) && self.streams.on_mount(&stat))
    }

    fn spawn(
        &mut self,
        spec: &RunSpec,
        stdio: [BorrowedFd<'_>; 3],
        tally: Option<BorrowedFd<'_>>,
        landlock: Option<BorrowedFd<'_>>,
    ) -> Result<Started, SandboxError> {
        let inputs = PlanInputs {
            stdio,
            tally,
            uid: self.privilege.uid(),
            gid: self.privilege.uid(),
            privileged: self.privilege.is_root(),
            mount_proc: true,
            landlock,
            cpu_stat: self.groups.cpu_stat(),
            memory_by_group: self.groups.limits_memory(),
            processes_by_group: self.groups.limits_processes(),
        };
        ulimits::check(spec, &inputs)?;
        let plan = Plan::new(spec, &inputs).map_err(|e| SandboxError::content("command", e))?;
        let cpus = self.host.cpus_of(&spec.placement);
        let counters = self.counters(spec)?;
        let clock = self.clock();
        let ((throttled, counted), mut cost) = timed(|| (self.groups.throttled(), self.host.counted()));
        let excused = spec.limits.wall.is_some_and(|w| w.excuse_waiting);
        let pressure = excused.then(|| self.pressure()).flatten();
        self.pressure_before = pressure.unwrap_or_default();
        let mut failure = ChildFailure::default();
        // Our next child is pid 1 of the new namespace; the one after it is its neighbour and our own child.
        sys::unshare(libc::CLONE_NEWPID).during(|| "making the run's pid namespace".into())?;
        let born = sys::spawn_init(self.stacks.init).map(|(_, init)| {
            let program =
                sys::spawn_program(&plan.ops, self.stacks.program, self.groups.clone_into(), &mut failure);
            (init, program)
        });
        sys::setns(self.pid_namespace.as_fd(), libc::CLONE_NEWPID)
            .during(|| "leaving the run's pid namespace".into())?;
        let (init, program) = born.during(|| "starting the run's init".into())?;
        let (pid, pidfd) = match program.during(|| "starting the program".into()) {
            Ok(started) => started,
            Err(e) => {
                end_init(init.as_fd()).during(|| "ending the run's init".into())?;
                return Err(e);
            }
        };
        if failure.errno != 0 {
            sys::reap(pidfd.as_fd())
                .and_then(|()| end_init(init.as_fd()))
                .during(|| "ending a failed start".into())?;
            return Err(start_failure(spec, failure));
        }
        // Not earlier: until exec it may have waited for its CPU, which is nobody's doing but ours. What the program does before
        // this reading is microseconds, and the unit is a tick.
        let (before, reading) = timed(|| self.host.cpu_times(&cpus));
        cost = cost + reading;
        let waits = (excused && pressure.is_none()).then(|| self.host.open_schedstat(pid).ok()).flatten();
        // Now, while the run cannot have filled its memory yet (CgroupFile::read_once).
        let _ = waits.as_ref().map(Schedstat::read);
        Ok(Started {
            pid,
            pidfd,
            init,
            readings: plan.readings,
            before,
            throttled,
            counted,
            cpus,
            counters,
            clock,
            waits,
            cost,
            forgone: Step::forgone(&failure).map(Step::words).collect(),
        })
    }

    /// Where no group counts CPU time: the time of a process whose parent ignores its end (SIGCHLD) is added to nobody's, but
    /// a counter that it inherited has it.
    fn clock(&self) -> Option<Result<Counter, String>> {
        let paranoid = || read_at(self.host.proc(), "sys/kernel/perf_event_paranoid");
        let uncounted = self.groups.cpu_stat().is_none();
        uncounted.then(|| Counter::open(&self.counted.time, Begin::Exec, paranoid))
    }

    /// Why CPU time may be less than what was used, if it may. Only a process that is not the program's first can have gone unseen.
    fn unseen_time(&self, s: &Started) -> Option<String> {
        let why = match s.clock.as_ref()? {
            Ok(clock) => clock.read().err()?.to_string(),
            Err(why) => why.clone(),
        };
        let alone = self.host.last_pid().is_ok_and(|last| last == s.pid);
        (!alone).then(|| {
            format!("CPU time may be less than was used: that of processes without a waiting parent is not counted ({why})")
        })
    }

    /// Opens what the program is cloned with. A run that is held to a number of instructions is none without it; for others the
    /// count is one reading among many.
    fn counters(&self, spec: &RunSpec) -> Result<Option<Counters>, SandboxError> {
        if !spec.count_instructions {
            return Ok(None);
        }
        let paranoid = || read_at(self.host.proc(), "sys/kernel/perf_event_paranoid");
        let open = |events: &Events| Counter::open(events, Begin::Exec, paranoid);
        match open(&self.counted.instructions) {
            Err(why) if spec.limits.instructions.is_some() => Err(uncounted(why)),
            instructions => Ok(Some(Counters { instructions, cycles: open(&self.counted.cycles) })),
        }
    }

    fn finish(&mut self, serial: u64, spec: &RunSpec, s: Started) -> Result<Observation, SandboxError> {
        let watched = Watched {
            serial,
            pid: s.pid,
            pidfd: s.pidfd.as_fd(),
            init: s.init.as_fd(),
            limits: &spec.limits,
            start: &s.readings,
            cpus: s.cpus.len().max(1) as u64,
            counter: s.counters.as_ref().and_then(|counters| counters.instructions.as_ref().ok()),
            clock: s.clock.as_ref().and_then(|clock| clock.as_ref().ok()),
            waits: s.waits.as_ref(),
        };
        let ended = self.supervise(&watched).during(|| "watching the run".into());
        if ended.is_err() {
            self.kill_tree(&watched);
        }
        let observed = self.observe(spec, &s, ended);
        // The whole tree is reaped before the answer: the main process first, since init waits for it.
        sys::reap(s.pidfd.as_fd())
            .and_then(|()| end_init(s.init.as_fd()))
            .during(|| "ending the run".into())?;
        if !self.groups.is_empty().during(|| "proving the slot empty".into())? {
            return Err(SandboxError::system("proving the slot empty", "a process is left in its cgroup"));
        }
        wait_for_sockets(self.host.proc()).during(|| "proving the slot empty".into())?;
        let files = used_by_files().during(|| "measuring the run's files".into())?;
        observed.map(|o| Observation { output: Reading::Known(files), ..o })
    }

    /// Reads everything while the main process is a zombie.
    fn observe(
        &self,
        spec: &RunSpec,
        s: &Started,
        ended: Result<Ended, SandboxError>,
    ) -> Result<Observation, SandboxError> {
        let wall = monotonic() - s.readings.monotonic();
        let ended = ended?;
        let death = sys::peek_death(s.pidfd.as_fd()).during(|| "reading how the program ended".into())?;
        let death = death
            .ok_or_else(|| SandboxError::system("reading how the program ended", "it is still alive"))?;
        let time = self.times(s, &death, &ended, wall);
        let instructions = instructions(spec, s, &ended, time.user)?;
        let cycles = s.counters.as_ref().map(|counters| counted(&counters.cycles, time.user));
        let (memory_peak, killed_for_memory) = self.memory(spec, &death, &ended)?;
        let (mut evidence, reading) = timed(|| self.evidence(spec, s, &death, &ended.pages, time.cpu));
        evidence.weaker.extend(s.forgone.iter().map(|what| format!("the run started without: {what}")));
        evidence.weaker.extend(uncharged(ended.kernel_grown(), &memory_peak));
        evidence.weaker.extend(self.unseen_time(s));
        Ok(Observation {
            exit: death.exit,
            time,
            instructions,
            cycles: cycles.unwrap_or(Reading::unknown("the processor's counters were not asked for")),
            reference: Reading::unknown("not followed under the cpu clock"),
            memory_peak,
            output: Reading::Known(Bytes(0)),
            out_of_memory: ended.out_of_memory || killed_for_memory,
            wall_exceeded: ended.wall,
            output_cut: ended.output,
            cancelled: ended.cancelled,
            ended: s.readings.monotonic() + wall,
            evidence: Evidence { cost: s.cost + reading, ..evidence },
        })
    }

    fn evidence(
        &self,
        spec: &RunSpec,
        s: &Started,
        death: &Death,
        pages: &[NodePages],
        cpu: Nanos,
    ) -> Evidence {
        self.host.evidence(&Finished {
            pid: s.pid,
            placement: &spec.placement,
            isolation: self.groups.isolation(&spec.placement.cpus),
            cpus: &s.cpus,
            before: &s.before,
            cpu,
            process: s.readings.process(),
            counts: death.counts.since(s.readings.counts()),
            schedstat: s.readings.schedstat(),
            throttled: since(&s.throttled, self.groups.throttled(), |now, then| now - then),
            counted: &s.counted,
            tells_nodes: self.groups.tells_nodes(),
            pages,
            weaker: &self.weaker,
        })
    }

    fn times(&self, s: &Started, death: &Death, ended: &Ended, wall: Nanos) -> Times {
        let by_group = self.groups.cpu_stat().and_then(|fd| self.usage_since(fd, &s.readings));
        match by_group {
            Some([cpu, _, system]) => {
                let system = system.min(cpu);
                Times { cpu, user: cpu - system, system, wall }
            }
            None => {
                // What the child used before exec is ours.
                let counted = s.clock.as_ref().and_then(|clock| clock.as_ref().ok()?.read().ok());
                let counted = counted.map_or(Nanos::ZERO, |count| Nanos(count.value));
                let cpu =
                    ((death.user + death.system) - s.readings.process()).max(ended.cpu_seen).max(counted);
                let system = death.system.min(cpu);
                Times { cpu, user: cpu - system, system, wall }
            }
        }
    }

    fn memory(
        &self,
        spec: &RunSpec,
        death: &Death,
        ended: &Ended,
    ) -> Result<(Reading<Bytes>, bool), SandboxError> {
        match self.groups.memory_use() {
            None => Ok((Reading::Known(Bytes::from_kib(death.max_rss_kib).max(ended.memory_seen)), false)),
            Some(Err(e)) => Ok((Reading::unknown(e.to_string()), false)),
            Some(Ok(used)) if used.killed && !(used.at_limit && spec.limits.memory.is_some()) => {
                Err(SandboxError::system(
                    "memory",
                    "the machine or an outer group ran out of memory and the kernel killed the run",
                ))
            }
            Some(Ok(used)) => Ok((used.peak, used.killed)),
        }
    }
}

/// Instructions of a run that is over.
///
/// # Errors
/// It was held to a number of them, and nobody knows whether it kept to it.
fn instructions(
    spec: &RunSpec,
    s: &Started,
    ended: &Ended,
    user: Nanos,
) -> Result<Reading<u64>, SandboxError> {
    let Some(counters) = &s.counters else {
        return Ok(Reading::unknown("not counted under the cpu clock"));
    };
    let reading = match &ended.uncounted {
        Some(why) => Reading::unknown(why.clone()),
        None => counted(&counters.instructions, user),
    };
    match reading {
        Reading::Unknown(why) if spec.limits.instructions.is_some() => Err(uncounted(why)),
        reading => Ok(reading),
    }
}

/// What a counter says of a run that is over and took so much user time.
fn counted(opened: &Result<Counter, String>, user: Nanos) -> Reading<u64> {
    match opened {
        Err(why) => Reading::unknown(why.clone()),
        Ok(counter) => Reading::from_result(counter.read()).and_then(|count| count.judge(user)),
    }
}

fn uncounted(why: impl std::fmt::Display) -> SandboxError {
    SandboxError::system("counting instructions", why)
}

/// What something took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Nanos) {
    let begun = monotonic();
    let done = work();
    (done, monotonic() - begun)
}

fn start_failure(spec: &RunSpec, failure: ChildFailure) -> SandboxError {
    let step = Step::from_failure(&failure);
    let why = io::Error::from_raw_os_error(failure.errno);
    let program = spec.argv.first().map_or("", String::as_str);
    match step {
        Step::Exec => SandboxError {
            // Arguments that no program can be given are not the program's fault (execve(2)).
            kind: if failure.errno == Errno::TOOBIG.raw_os_error() {
                ErrorKind::Content
            } else {
                ErrorKind::CannotExec
            },
            what: format!("executing {program}"),
            why: why.to_string(),
            errno: Some(failure.errno),
        },
        Step::Affinity | Step::MemoryPolicy | Step::Scheduler | Step::WorkingDirectory => {
            let (what, hint) = asked(step, spec);
            let why = format!("{why}{hint}");
            SandboxError { errno: Some(failure.errno), ..SandboxError::bad_request(what, why) }
        }
        _ => SandboxError { errno: Some(failure.errno), ..SandboxError::system(step.words(), why) },
    }
}

/// What of a spec a step does, with its value, and what it needs.
fn asked(step: Step, spec: &RunSpec) -> (String, &'static str) {
    let place = &spec.placement;
    match step {
        Step::Affinity => {
            let cpus = place.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            (format!("binding to CPU {cpus}"), ": not online, or outside the cpuset of this process")
        }
        Step::MemoryPolicy => (
            format!("binding to memory node {}", place.mem_node.unwrap_or_default()),
            ": without memory, or outside the cpuset of this process",
        ),
        Step::Scheduler => (
            format!("scheduling class {:?}", place.sched),
            "\nhint: start as root, or raise the limit of real-time priority (ulimit -r)",
        ),
        _ => (format!("{} {}", step.words(), spec.cwd), ""),
    }
}

fn end_init(init: BorrowedFd<'_>) -> io::Result<()> {
    let _ = rustix::process::pidfd_send_signal(init, rustix::process::Signal::KILL);
    sys::reap(init)
}

/// Waits until no Unix socket is left in the slot's network namespace. The kernel frees sockets that only refer to each other in
/// a worker. Closing a socket starts that worker, but not while it is at work (`unix_schedule_gc`, net/unix/garbage.c). Until then
/// the next run sees them, and the descriptors in transit count towards its limit, which is one of its user.
fn wait_for_sockets(proc: BorrowedFd<'_>) -> io::Result<()> {
    // A heading, then a line for each socket. A kernel without Unix sockets has no such file.
    let left = || read_at(proc, "self/net/unix").is_ok_and(|text| text.lines().count() > 1);
    let since = Instant::now();
    while left() {
        if since.elapsed() > SOCKETS_FREED {
            return Err(io::Error::other("a Unix socket is left in its network namespace"));
        }
        drop(rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None));
        thread::sleep(SOCKETS_POLL);
    }
    Ok(())
}

/// A mount point must be one directory below the root that the view does not use itself.
fn point(at: &str, what: &str) -> Result<String, SandboxError> {
    let name = at.strip_prefix('/').unwrap_or("");
    let taken = [
        "", "dev", "etc", "proc", "run", "tmp", "w", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32",
    ];
    if name.contains('/') || name == "." || name == ".." || taken.contains(&name) {
        return Err(SandboxError::bad_request(
            format!("{what} at `{at}`"),
            "must be a directory of its own below /",
        ));
    }
    Ok(at.to_string())
}

fn is_file(fd: &OwnedFd) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| is_regular(&stat))
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// The regular files behind standard output and error.
fn outputs<'a>(spec: &RunSpec, fds: &'a [Option<OwnedFd>]) -> impl Iterator<Item = BorrowedFd<'a>> {
    let [_, output, error] = spec.stdio;
    [output, error].into_iter().filter_map(|stream| match stream {
        Stdio::Fd(n) => fds.get(usize::from(n))?.as_ref().filter(|fd| is_file(fd)).map(AsFd::as_fd),
        Stdio::Null => None,
    })
}

/// Bytes in these files; one that serves both counts once.
fn output_sizes(spec: &RunSpec, fds: &[Option<OwnedFd>]) -> u64 {
    let stats = outputs(spec, fds).filter_map(|fd| rustix::fs::fstat(fd).ok());
    let sizes: BTreeMap<(u64, u64), u64> =
        stats.map(|stat| ((stat.st_dev, stat.st_ino), stat.st_size as u64)).collect();
    sizes.values().sum()
}

/// What the run's own file system holds, in whole blocks.
pub(super) fn used_by_files() -> io::Result<Bytes> {
    let fs = rustix::fs::statvfs(view::RUN_PARTS[0].1)?;
    Ok(Bytes((fs.f_blocks - fs.f_bfree) * fs.f_frsize))
}
