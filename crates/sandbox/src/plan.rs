//! The way from clone to exec as data: a flat list of system calls, with the buffers they refer to.

use crate::sys::{ChildFailure, Counts, Op};
use crate::ulimits;
use model::{Aslr, Layout, Nanos, RunSpec, Sched};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What a call of the plan is for; named in the error when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Priority,
    Session,
    MountProc,
    Exposure,
    Stdio,
    Affinity,
    Scheduler,
    MemoryPolicy,
    ResourceLimit,
    Personality,
    WorkingDirectory,
    NoNewPrivileges,
    Landlock,
    Identity,
    Capabilities,
    Descriptors,
    Readings,
    Exec,
}

impl Step {
    const ALL: [Step; 18] = [
        Step::Priority,
        Step::Session,
        Step::MountProc,
        Step::Exposure,
        Step::Stdio,
        Step::Affinity,
        Step::Scheduler,
        Step::MemoryPolicy,
        Step::ResourceLimit,
        Step::Personality,
        Step::WorkingDirectory,
        Step::NoNewPrivileges,
        Step::Landlock,
        Step::Identity,
        Step::Capabilities,
        Step::Descriptors,
        Step::Readings,
        Step::Exec,
    ];

    /// The step a child's failure record names.
    pub(crate) fn from_failure(failure: &ChildFailure) -> Step {
        Step::ALL[usize::from(failure.step).min(Step::ALL.len() - 1)]
    }

    /// The steps that the program started without.
    pub(crate) fn forgone(failure: &ChildFailure) -> impl Iterator<Item = Step> {
        let bits = failure.forgone;
        Step::ALL.into_iter().filter(move |step| bits & (1 << *step as u8) != 0)
    }

    /// In words, for an error message.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Step::Priority => "ordinary priority",
            Step::Session => "new session",
            Step::MountProc => "mount of /proc in the run's namespace",
            Step::Exposure => "being killed first where memory runs out",
            Step::Stdio => "standard streams",
            Step::Affinity => "binding to the CPUs asked for",
            Step::Scheduler => "scheduling class",
            Step::MemoryPolicy => "binding to the memory node",
            Step::ResourceLimit => "resource limits",
            Step::Personality => "address space layout",
            Step::WorkingDirectory => "working directory",
            Step::NoNewPrivileges => "no-new-privileges flag",
            Step::Landlock => "Landlock rules",
            Step::Identity => "change to the run's user",
            Step::Capabilities => "dropping capabilities",
            Step::Descriptors => "closing our descriptors",
            Step::Readings => "readings before exec",
            Step::Exec => "exec",
        }
    }
}

/// The number of the descriptor that the child opens for a reading: the lowest behind the standard streams.
const OPENED: i32 = 3;

/// The readings the child takes right before exec.
#[repr(C)]
pub(crate) struct Readings {
    cpu_stat: [u8; 512],
    schedstat: [u8; 64],
    /// `struct rusage`, as words.
    usage: [u64; size_of::<libc::rusage>() / 8],
    monotonic: libc::timespec,
    process: libc::timespec,
}

impl Readings {
    /// The text of `cpu.stat`.
    pub(crate) fn cpu_stat(&self) -> String {
        text(&self.cpu_stat)
    }

    /// What stood in the process's own schedstat; empty where it was not read.
    pub(crate) fn schedstat(&self) -> String {
        text(&self.schedstat)
    }

    /// What the child's way to exec counted.
    pub(crate) fn counts(&self) -> Counts {
        let count = |at: usize| self.usage.get(at / 8).copied().unwrap_or_default();
        Counts {
            minor_faults: count(std::mem::offset_of!(libc::rusage, ru_minflt)),
            major_faults: count(std::mem::offset_of!(libc::rusage, ru_majflt)),
            voluntary_switches: count(std::mem::offset_of!(libc::rusage, ru_nvcsw)),
            involuntary_switches: count(std::mem::offset_of!(libc::rusage, ru_nivcsw)),
        }
    }

    /// CLOCK_MONOTONIC.
    pub(crate) fn monotonic(&self) -> Nanos {
        nanos(self.monotonic)
    }

    /// CPU time of the process before exec, ours.
    pub(crate) fn process(&self) -> Nanos {
        nanos(self.process)
    }
}

fn text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

fn nanos(t: libc::timespec) -> Nanos {
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Everything the plan needs besides the spec.
pub(crate) struct PlanInputs<'a> {
    pub(crate) stdio: [BorrowedFd<'a>; 3],
    /// What an emulator counts in.
    pub(crate) tally: Option<BorrowedFd<'a>>,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Root's privilege, which is given up by taking another uid.
    pub(crate) privileged: bool,
    pub(crate) mount_proc: bool,
    pub(crate) landlock: Option<BorrowedFd<'a>>,
    pub(crate) cpu_stat: Option<BorrowedFd<'a>>,
    /// Memory is limited by a cgroup; otherwise per process.
    pub(crate) memory_by_group: bool,
    /// Processes are counted by a cgroup; otherwise per user.
    pub(crate) processes_by_group: bool,
}

/// The calls and what they point to.
pub(crate) struct Plan {
    pub(crate) ops: Vec<Op>,
    pub(crate) readings: Box<Readings>,
    // Referred to by address from `ops`; never touched again.
    strings: Vec<CString>,
    pointers: Vec<Box<[usize]>>,
}

impl Plan {
    /// Prepares the plan. Fails on an argument with a zero byte.
    pub(crate) fn new(spec: &RunSpec, inputs: &PlanInputs<'_>) -> io::Result<Plan> {
        let mut plan = Plan {
            ops: Vec::with_capacity(64),

            readings: Box::new(Readings {
                cpu_stat: [0; 512],
                schedstat: [0; 64],
                usage: [0; size_of::<libc::rusage>() / 8],
                monotonic: libc::timespec { tv_sec: 0, tv_nsec: 0 },
                process: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            }),
            strings: vec![],
            pointers: vec![],
        };
        // The launcher may be favoured; the program never is. Before the session: its scheduling group (sched_autogroup)
        // would begin with the weight of the launcher, and on a busy CPU get a tenth of its share (seen on 6.18).
        plan.attempt(Step::Priority, libc::SYS_setpriority, &[libc::PRIO_PROCESS as usize, 0, 0]);
        plan.call(Step::Session, libc::SYS_setsid, &[]);
        if inputs.mount_proc {
            plan.mount_proc()?;
        }
        plan.first_to_go(inputs)?;
        plan.stdio(&inputs.stdio);
        if let Some(tally) = inputs.tally {
            let at = RunSpec::TALLY as usize;
            plan.call(Step::Stdio, libc::SYS_dup3, &[tally.as_raw_fd() as usize, at, 0]);
        }
        plan.placement(spec);
        plan.resource_limits(spec, inputs);
        plan.personality(spec.layout.aslr);
        plan.working_directory(&spec.cwd)?;
        plan.give_up_privilege(inputs);
        plan.close_but(inputs.tally.map(|_| RunSpec::TALLY as usize));
        plan.readings(spec, inputs)?;
        plan.exec(spec)?;
        Ok(plan)
    }

    fn call(&mut self, step: Step, nr: i64, args: &[usize]) {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        if args.len() < 6 {
            // The child is under the filter already; see `seccomp`.
            all[5] = crate::sys::secret();
        }
        self.ops.push(Op { step: step as u8, optional: false, nr, args: all });
    }

    fn attempt(&mut self, step: Step, nr: i64, args: &[usize]) {
        self.call(step, nr, args);
        self.ops.last_mut().expect("just pushed").optional = true;
    }

    fn string(&mut self, s: &str) -> io::Result<usize> {
        let c = CString::new(s).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` has a zero byte", s.escape_debug()))
        })?;
        let at = c.as_ptr() as usize;
        self.strings.push(c);
        Ok(at)
    }

    fn words(&mut self, words: Vec<usize>) -> usize {
        let boxed = words.into_boxed_slice();
        let at = boxed.as_ptr() as usize;
        self.pointers.push(boxed);
        at
    }

    /// The run's own /proc, without what no namespace separates: keyrings of the caller's session, and how many processes hold each
    /// (keyrings(7)).
    fn mount_proc(&mut self) -> io::Result<()> {
        let (kind, at) = (self.string("proc")?, self.string("/proc")?);
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        self.call(Step::MountProc, libc::SYS_mount, &[kind, at, kind, flags as usize, 0]);
        // Absent without CONFIG_KEYS.
        let nothing = self.string("/dev/null")?;
        for keys in ["/proc/keys", "/proc/key-users"] {
            let at = self.string(keys)?;
            self.attempt(Step::MountProc, libc::SYS_mount, &[nothing, at, kind, libc::MS_BIND as usize, 0]);
        }
        Ok(())
    }

    /// Lets exec close all descriptors but the standard streams and this one.
    fn close_but(&mut self, kept: Option<usize>) {
        let (cloexec, last) = (libc::CLOSE_RANGE_CLOEXEC as usize, u32::MAX as usize);
        let mut from = 3;
        if let Some(kept) = kept {
            self.call(Step::Descriptors, libc::SYS_close_range, &[from, kept - 1, cloexec]);
            from = kept + 1;
        }
        self.call(Step::Descriptors, libc::SYS_close_range, &[from, last, cloexec]);
    }

    fn stdio(&mut self, fds: &[BorrowedFd<'_>; 3]) {
        for (n, fd) in fds.iter().enumerate() {
            self.call(Step::Stdio, libc::SYS_dup3, &[fd.as_raw_fd() as usize, n, 0]);
        }
    }

    /// Where memory runs out the program and its children go, not the launcher, whose group they share on some layouts. Not later than this:
    /// children have the weight that their parent has when it forks.
    fn first_to_go(&mut self, inputs: &PlanInputs<'_>) -> io::Result<()> {
        let (own, most) = (self.string("/proc/self/oom_score_adj")?, self.string("1000")?);
        let (at, flags) = (libc::AT_FDCWD as usize, libc::O_WRONLY as usize);
        let dumpable = |yes: bool| [libc::PR_SET_DUMPABLE as usize, usize::from(yes), 0, 0, 0];
        // The next file opened gets the lowest number that is free. Standard input takes that place at once.
        self.call(Step::Exposure, libc::SYS_close, &[0]);
        // Until exec its memory is the launcher's, which is not dumpable: then its files here belong to root outside, whom a user namespace
        // does not have (proc_pid(5)). No other process of this user that is not trusted can see the launcher meanwhile.
        if !inputs.privileged {
            self.call(Step::Exposure, libc::SYS_prctl, &dumpable(true));
        }
        self.attempt(Step::Exposure, libc::SYS_openat, &[at, own, flags, 0]);
        if !inputs.privileged {
            self.call(Step::Exposure, libc::SYS_prctl, &dumpable(false));
        }
        self.attempt(Step::Exposure, libc::SYS_write, &[0, most, 4]);
        Ok(())
    }

    fn placement(&mut self, spec: &RunSpec) {
        let p = &spec.placement;
        if !p.cpus.is_empty() {
            let mask = self.words(bitmask(&p.cpus));
            let bytes = bitmask(&p.cpus).len() * size_of::<usize>();
            self.call(Step::Affinity, libc::SYS_sched_setaffinity, &[0, bytes, mask]);
        }
        let class = match p.sched {
            Sched::Other => None,
            Sched::Fifo(priority) => Some((libc::SCHED_FIFO, priority)),
            Sched::RoundRobin(priority) => Some((libc::SCHED_RR, priority)),
        };
        if let Some((policy, priority)) = class {
            let parameter = self.words(vec![usize::from(priority)]);
            self.call(Step::Scheduler, libc::SYS_sched_setscheduler, &[0, policy as usize, parameter]);
        }
        if let Some(node) = p.mem_node {
            let mask = bitmask(&[node]);
            // One more than the highest bit, set_mempolicy(2).
            let bits = mask.len() * 64 + 1;
            let at = self.words(mask);
            self.call(Step::MemoryPolicy, libc::SYS_set_mempolicy, &[libc::MPOL_BIND as usize, at, bits]);
        }
    }

    fn resource_limits(&mut self, spec: &RunSpec, inputs: &PlanInputs<'_>) {
        for (resource, value) in ulimits::of_run(spec, inputs) {
            let at = self.words(vec![value as usize, value as usize]);
            self.call(Step::ResourceLimit, libc::SYS_prlimit64, &[0, resource as usize, at, 0]);
        }
    }

    fn personality(&mut self, aslr: Aslr) {
        let persona = match aslr {
            Aslr::Off => libc::ADDR_NO_RANDOMIZE as usize,
            Aslr::On => 0,
        };
        self.call(Step::Personality, libc::SYS_personality, &[persona]);
    }

    fn working_directory(&mut self, cwd: &str) -> io::Result<()> {
        let at = self.string(cwd)?;
        self.call(Step::WorkingDirectory, libc::SYS_chdir, &[at]);
        self.call(Step::WorkingDirectory, libc::SYS_umask, &[0o022]);
        Ok(())
    }

    fn give_up_privilege(&mut self, inputs: &PlanInputs<'_>) {
        self.call(Step::NoNewPrivileges, libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1]);
        if let Some(ruleset) = inputs.landlock {
            self.call(Step::Landlock, libc::SYS_landlock_restrict_self, &[ruleset.as_raw_fd() as usize, 0]);
        }
        if inputs.privileged {
            let (uid, gid) = (inputs.uid as usize, inputs.gid as usize);
            self.call(Step::Identity, libc::SYS_setgroups, &[0, 0]);
            self.call(Step::Identity, libc::SYS_setresgid, &[gid, gid, gid]);
            self.call(Step::Identity, libc::SYS_setresuid, &[uid, uid, uid]);
        }
        // capset(2): version 3, this thread; no effective, permitted or inheritable capability.
        const LINUX_CAPABILITY_VERSION_3: usize = 0x2008_0522;
        let header = self.words(vec![LINUX_CAPABILITY_VERSION_3]);
        let none = self.words(vec![0; 3]);
        self.call(Step::Capabilities, libc::SYS_capset, &[header, none]);
    }

    fn readings(&mut self, spec: &RunSpec, inputs: &PlanInputs<'_>) -> io::Result<()> {
        let r: *mut Readings = &raw mut *self.readings;
        let offset = |o: usize| r as usize + o;
        let monotonic = offset(std::mem::offset_of!(Readings, monotonic));
        let process = offset(std::mem::offset_of!(Readings, process));
        let stat = offset(std::mem::offset_of!(Readings, cpu_stat));
        // A run that is bound has waited for its CPU already, on the way from ours to there.
        let spared = inputs.cpu_stat.is_none_or(|fd| fd.as_raw_fd() != OPENED);
        if !spec.placement.cpus.is_empty() && spared {
            let own = self.string("/proc/self/schedstat")?;
            let (at, flags) = (libc::AT_FDCWD as usize, (libc::O_RDONLY | libc::O_CLOEXEC) as usize);
            let buffer = offset(std::mem::offset_of!(Readings, schedstat));
            // What it held is of no more use to the child; the next file opened gets the lowest number that is free.
            self.attempt(Step::Readings, libc::SYS_close, &[OPENED as usize]);
            self.attempt(Step::Readings, libc::SYS_openat, &[at, own, flags, 0]);
            self.attempt(Step::Readings, libc::SYS_pread64, &[OPENED as usize, buffer, 63, 0]);
        }
        let usage = offset(std::mem::offset_of!(Readings, usage));
        self.call(Step::Readings, libc::SYS_getrusage, &[libc::RUSAGE_SELF as usize, usage]);
        if let Some(fd) = inputs.cpu_stat {
            self.call(Step::Readings, libc::SYS_pread64, &[fd.as_raw_fd() as usize, stat, 511, 0]);
        }
        self.call(
            Step::Readings,
            libc::SYS_clock_gettime,
            &[libc::CLOCK_PROCESS_CPUTIME_ID as usize, process],
        );
        self.call(Step::Readings, libc::SYS_clock_gettime, &[libc::CLOCK_MONOTONIC as usize, monotonic]);
        Ok(())
    }

    fn exec(&mut self, spec: &RunSpec) -> io::Result<()> {
        let first = spec
            .argv
            .first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
        let layout = &spec.layout;
        let (slashes, variables) = stack_padding(layout.stack_padding)?;
        let path = self.string(&format!("{}{first}", "/".repeat(slashes)))?;
        let mut argv = vec![self.string(&format!("{}{first}", "/".repeat(layout.argv0_padding as usize)))?];
        for word in &spec.argv[1..] {
            argv.push(self.string(word)?);
        }
        argv.push(0);
        let mut env = Vec::new();
        for (k, v) in &spec.env {
            env.push(self.string(&format!("{k}={v}"))?);
        }
        for variable in variables {
            env.push(self.string(&variable)?);
        }
        if layout.env_padding > 0 {
            env.push(self.string(&padding(layout.env_padding))?);
        }
        env.push(0);
        let (argv, env) = (self.words(argv), self.words(env));
        // Six arguments: the secret stays behind.
        self.call(Step::Exec, libc::SYS_execve, &[path, argv, env, 0, 0, 0]);
        Ok(())
    }
}

/// A variable that takes exactly `bytes` in the environment, its terminating zero included.
fn padding(bytes: u32) -> String {
    let name = "TAUTO_PAD=";
    let text = bytes as usize - 1;
    if text < name.len() { "P".repeat(text) } else { format!("{name}{}", "x".repeat(text - name.len())) }
}

/// What moves a stack down by so many bytes, whatever else lies on it: slashes before the path, and variables.
///
/// The kernel writes from the top down: path, environment, arguments; aligns; writes the tables of pointers; aligns
/// (fs/exec.c, `do_execveat_common`; fs/binfmt_elf.c, `create_elf_tables`). So text and tables must each grow by a multiple of 16.
fn stack_padding(bytes: u32) -> io::Result<(usize, Vec<String>)> {
    // Half of the longest path, so that there is room for the path itself.
    const BY_PATH: u32 = 2048;
    // Of the end of an empty variable.
    const EMPTY: u32 = 1;
    if !bytes.is_multiple_of(Layout::STACK_STEP) {
        let why = format!("stack padding of {bytes} bytes: must be a multiple of {}", Layout::STACK_STEP);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let slashes = bytes % BY_PATH;
    // Two pointers take one step.
    let variables = match bytes - slashes {
        0 => vec![],
        rest => vec![String::new(), padding(rest - Layout::STACK_STEP - EMPTY)],
    };
    Ok((slashes as usize, variables))
}

fn bitmask(bits: &[u32]) -> Vec<usize> {
    let words = bits.iter().max().map_or(1, |m| *m as usize / 64 + 1);
    let mut mask = vec![0; words];
    bits.iter().for_each(|b| mask[*b as usize / 64] |= 1 << (b % 64));
    mask
}

/// The number of a received descriptor, checked.
pub(crate) fn nth(fds: &[Option<OwnedFd>], n: u8) -> io::Result<BorrowedFd<'_>> {
    fds.get(usize::from(n)).and_then(Option::as_ref).map(AsFd::as_fd).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("descriptor {n} was not handed over"))
    })
}

#[cfg(test)]
mod tests;
