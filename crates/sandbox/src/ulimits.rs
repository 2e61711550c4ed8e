//! Resource limits, setrlimit(2): what the caller came with must not decide about a run.
//!
//! One table says for each limit what a run gets. Before that the caller's own are lifted as far as the kernel lets us: as root all
//! the way, else to the hard limit. A hard limit below what a run may use is refused by name; it would end runs that keep
//! to their limits, with a signal that looks like the program's own fault.

use crate::SandboxError;
use crate::plan::PlanInputs;
use model::{RunSpec, Sched};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// Not limited.
const NONE: u64 = libc::RLIM_INFINITY;

/// One of the kernel's limits.
struct Ulimit {
    resource: Resource,
    /// Its number in a system call.
    number: u32,
    /// In words.
    name: &'static str,
    /// Its letter with the shell's `ulimit`.
    letter: char,
    /// What `ulimit` counts in: bytes, seconds or pieces.
    unit: u64,
    /// What `tauto` itself needs.
    least: u64,
    /// What `tauto` takes, so that its own work is never ended by it.
    enough: u64,
}

const fn ulimit(
    resource: Resource,
    number: u32,
    words: (&'static str, char),
    unit: u64,
    own: [u64; 2],
) -> Ulimit {
    let (name, letter) = words;
    let [least, enough] = own;
    Ulimit { resource, number, name, letter, unit, least, enough }
}

/// Queued signals and timers of a run, which kernels before 5.15 charge to no group.
const SIGNALS: u64 = 4096;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// All that can end a run or make its calls fail.
const ALL: [Ulimit; 8] = [
    ulimit(Resource::Cpu, libc::RLIMIT_CPU, ("CPU time", 't'), 1, [60, NONE]),
    ulimit(Resource::Fsize, libc::RLIMIT_FSIZE, ("file size", 'f'), KIB, [256 * MIB, NONE]),
    ulimit(Resource::Data, libc::RLIMIT_DATA, ("data segment", 'd'), KIB, [256 * MIB, NONE]),
    ulimit(Resource::Stack, libc::RLIMIT_STACK, ("stack", 's'), KIB, [MIB, 8 * MIB]),
    ulimit(Resource::As, libc::RLIMIT_AS, ("address space", 'v'), KIB, [1024 * MIB, NONE]),
    ulimit(Resource::Nofile, libc::RLIMIT_NOFILE, ("open files", 'n'), 1, [64, 4096]),
    ulimit(Resource::Nproc, libc::RLIMIT_NPROC, ("processes", 'u'), 1, [16, NONE]),
    ulimit(Resource::Rttime, libc::RLIMIT_RTTIME, ("real-time run time", 'R'), 1, [0, NONE]),
];

/// Lifts the limits of this process as far as it may, for itself and what it starts. To be called first of all.
///
/// # Errors
/// One is too low for `tauto` itself and cannot be raised.
pub fn lift() -> Result<(), SandboxError> {
    for limit in &ALL {
        let found = getrlimit(limit.resource);
        let wanted = lifted(found, limit.enough);
        if wanted != found && setrlimit(limit.resource, wanted).is_err() {
            // The hard limit is root's to raise.
            let current = Some(value(wanted.current).min(value(found.maximum)));
            let _ = setrlimit(limit.resource, finite(Rlimit { current, maximum: found.maximum }));
        }
        let hard = value(getrlimit(limit.resource).maximum);
        if hard < limit.least {
            return Err(limit.refusal(hard, limit.least, "tauto itself needs"));
        }
    }
    Ok(())
}

/// Both limits at least `enough`, and no lower than they were.
fn lifted(found: Rlimit, enough: u64) -> Rlimit {
    let at_least = |limit: Option<u64>| Some(value(limit).max(enough));
    finite(Rlimit { current: at_least(found.current), maximum: at_least(found.maximum) })
}

fn value(limit: Option<u64>) -> u64 {
    limit.unwrap_or(NONE)
}

fn finite(limit: Rlimit) -> Rlimit {
    let known = |limit: Option<u64>| limit.filter(|value| *value != NONE);
    Rlimit { current: known(limit.current), maximum: known(limit.maximum) }
}

impl Ulimit {
    fn refusal(&self, found: u64, needed: u64, who: &str) -> SandboxError {
        let shown = |value: u64| match (value, self.unit) {
            (NONE, _) => "unlimited".to_string(),
            (value, 1) => value.to_string(),
            (value, unit) => format!("{} KiB", value.div_ceil(unit)),
        };
        let (letter, needs) = (self.letter, shown(needed));
        let raised = if needed == NONE { needs.clone() } else { needed.div_ceil(self.unit).to_string() };
        SandboxError::bad_request(
            format!("the caller's limit on {} (ulimit -{letter})", self.name),
            format!(
                "{} is less than {who} ({needs}), and only root may raise it\n\
                 hint: ulimit -H{letter} {raised} in a shell that may, limits.conf(5), or start as root",
                shown(found)
            ),
        )
    }
}

/// What a run gets where that is not what it inherits, by the number of the limit: what it asks for, or what the caller has where
/// that is less and it asks for nothing.
pub(crate) fn of_run(spec: &RunSpec, inputs: &PlanInputs<'_>) -> Vec<(u32, u64)> {
    let given = wanted(spec, inputs).into_iter().map(|w| (w.number, w.value.min(own(w.number)[1])));
    given.filter(|(number, value)| own(*number) != [*value; 2]).collect()
}

/// Refuses a run that the caller's limits would end.
pub(crate) fn check(spec: &RunSpec, inputs: &PlanInputs<'_>) -> Result<(), SandboxError> {
    for wanted in wanted(spec, inputs).iter().filter(|wanted| wanted.needed) {
        let [_, found] = own(wanted.number);
        let limit = ALL.iter().find(|limit| limit.number == wanted.number);
        if let Some(limit) = limit.filter(|_| found < wanted.value) {
            return Err(limit.refusal(found, wanted.value, "the run may use"));
        }
    }
    Ok(())
}

struct Wanted {
    number: u32,
    value: u64,
    /// Less would be another run.
    needed: bool,
}

fn wanted(spec: &RunSpec, inputs: &PlanInputs<'_>) -> Vec<Wanted> {
    let limits = &spec.limits;
    let stack = limits.stack.or(limits.memory).map_or(NONE, |b| b.0);
    let processes = limits.processes.map_or(2048, u64::from);
    let realtime = spec.placement.sched != Sched::Other;
    // Private writable memory (setrlimit(2): since Linux 4.7 mmap counts), touched or not: with much room above
    // the limit, which sampling holds; this bounds what can happen between two samples. Threads have stacks as large as the first.
    // An emulator has a stack of its own for each thread of the program, as large as the program's.
    let room = if inputs.tally.is_some() { 16 } else { 4 };
    let data = limits.memory.filter(|_| !inputs.memory_by_group).map_or(NONE, |memory| {
        let stacks = stack.saturating_mul(processes);
        memory.0.saturating_mul(room).saturating_add(1 << 30).saturating_add(stacks)
    });
    let all = [
        (libc::RLIMIT_CORE, 0, false),
        (libc::RLIMIT_MSGQUEUE, 0, false),
        (libc::RLIMIT_MEMLOCK, 64 << 10, false),
        (libc::RLIMIT_SIGPENDING, SIGNALS, false),
        // A foreign limit of CPU time must lie beyond the run's own, at which the run is ended.
        (
            libc::RLIMIT_CPU,
            NONE,
            limits.cpu.is_none_or(|cpu| own(libc::RLIMIT_CPU)[1] < cpu.0 / 1_000_000_000 + 2),
        ),
        (libc::RLIMIT_AS, NONE, true),
        (libc::RLIMIT_DATA, data, true),
        (libc::RLIMIT_STACK, stack, true),
        // One byte more than allowed, so that having passed the limit can be seen from the size.
        (libc::RLIMIT_FSIZE, limits.output.map_or(NONE, |b| b.0.saturating_add(1)), true),
        (libc::RLIMIT_NOFILE, limits.open_files.map_or(256, u64::from), true),
        (libc::RLIMIT_RTTIME, NONE, realtime),
        // Where a group counts them, what the user has elsewhere is no matter of the run's.
        (
            libc::RLIMIT_NPROC,
            if inputs.processes_by_group { NONE } else { processes },
            limits.processes.is_some() && !inputs.processes_by_group,
        ),
    ];
    all.into_iter().map(|(number, value, needed)| Wanted { number, value, needed }).collect()
}

/// The limits of this process, soft and hard: read once, since nothing changes them after [`lift`].
fn own(number: u32) -> [u64; 2] {
    static OWN: OnceLock<Vec<[u64; 2]>> = OnceLock::new();
    let read = |number| crate::sys::limits(number).unwrap_or([NONE; 2]);
    let all = OWN.get_or_init(|| (0..=libc::RLIMIT_RTTIME).map(read).collect());
    all.get(number as usize).copied().unwrap_or([NONE; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_lifted_and_never_lowered() {
        let lift = |found: [Option<u64>; 2], enough| {
            let [current, maximum] = found;
            let lifted = lifted(Rlimit { current, maximum }, enough);
            [lifted.current, lifted.maximum]
        };
        assert_eq!(lift([Some(5), Some(9)], NONE), [None, None]);
        assert_eq!(lift([Some(5), Some(9)], 7), [Some(7), Some(9)]);
        assert_eq!(lift([Some(5), None], 3), [Some(5), None]);
    }

    #[test]
    fn a_refusal_names_limit_value_and_remedy() {
        let error = ALL[1].refusal(102_400, 256 * MIB, "the run may use").to_string();
        assert_eq!(
            error,
            "the caller's limit on file size (ulimit -f): 100 KiB is less than the run may use (262144 KiB), and \
             only root may raise it\n\
             hint: ulimit -Hf 262144 in a shell that may, limits.conf(5), or start as root"
        );
        let error = ALL[0].refusal(1, NONE, "the run may use").to_string();
        assert!(
            error.contains("1 is less than the run may use (unlimited)")
                && error.contains("ulimit -Ht unlimited"),
            "{error}"
        );
    }
}
