//! What was seen of one run. Never a verdict.

use crate::{Bytes, Charge, Clock, Limits, Nanos, Reading};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code, 0 to 255.
    Code(i32),
    /// This signal ended it; ours, when a limit was passed.
    Signal(i32),
}

/// Times of the process tree, from exec to the end of the main process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunTime))]
pub struct Times {
    /// CPU time: user plus system.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// CPU time in user space.
    #[serde(rename = "user_ns")]
    pub user: Nanos,
    /// CPU time in the kernel.
    #[serde(rename = "system_ns")]
    pub system: Nanos,
    /// Elapsed time.
    #[serde(rename = "wall_ns")]
    pub wall: Nanos,
}

/// Isolation of a run. `none`: not pinned. `affinity`: pinned to its CPUs, which others can use as well. `cpuset`: a cpuset of
/// its own. `partition`: an isolated partition of cgroup v2. `vm`: a virtual machine whose CPUs are pinned to those of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Not pinned.
    None,
    /// Pinned to its CPUs, which others can use as well.
    Affinity,
    /// A cpuset of its own.
    Cpuset,
    /// An isolated partition of cgroup v2.
    Partition,
    /// A virtual machine whose CPUs are pinned to those of the slot.
    Vm,
}

/// What executes the instructions of a virtual machine. `kvm`: the host's processor. `tcg`: an emulator in software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// The host's processor, by KVM.
    Kvm,
    /// An emulator in software.
    Tcg,
}

impl Accelerator {
    /// Name, as written in options and documents.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Accelerator {
    type Err = String;

    fn from_str(text: &str) -> Result<Accelerator, String> {
        let all = [Accelerator::Kvm, Accelerator::Tcg];
        all.into_iter().find(|one| one.name() == text).ok_or_else(|| "must be kvm or tcg".into())
    }
}

/// Evidence of a run in a virtual machine, from host and guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MachineEvidence {
    /// What executed the instructions.
    pub accelerator: Accelerator,
    /// Time that the virtual CPUs of the run waited for a CPU of the host, as measured by the host.
    #[serde(rename = "host_wait_ns")]
    pub host_wait: Reading<Nanos>,
    /// Steal time that the guest's kernel reports.
    #[serde(rename = "guest_steal_ns")]
    pub guest_steal: Reading<Nanos>,
}

/// Evidence of a run: what could have disturbed it, and which protections were not in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Evidence {
    /// Isolation of the run.
    pub isolation: Isolation,
    /// CPUs that the run was allowed to use.
    pub cpus: Vec<u32>,
    /// Memory nodes of those CPUs.
    pub cpu_nodes: Vec<u32>,
    /// Memory nodes that the run was allowed to use.
    pub mem_nodes: Vec<u32>,
    /// CPU time of the main thread.
    #[serde(rename = "main_cpu_ns")]
    pub main_cpu: Reading<Nanos>,
    /// Time that the main thread waited for a CPU.
    #[serde(rename = "run_queue_wait_ns")]
    pub run_queue_wait: Reading<Nanos>,
    /// Steal time of these CPUs: the hypervisor ran something else.
    #[serde(rename = "steal_ns")]
    pub steal: Reading<Nanos>,
    /// Interrupt and softirq time on these CPUs.
    #[serde(rename = "irq_ns")]
    pub irq: Reading<Nanos>,
    /// Time that these CPUs spent on other work.
    #[serde(rename = "foreign_ns")]
    pub foreign: Reading<Nanos>,
    /// Time that a CPU quota throttled the run.
    #[serde(rename = "throttled_ns")]
    pub throttled: Reading<Nanos>,
    /// Number of migrations between CPUs.
    pub migrations: Reading<u64>,
    /// Number of voluntary context switches.
    pub voluntary_switches: Reading<u64>,
    /// Number of involuntary context switches.
    pub involuntary_switches: Reading<u64>,
    /// Number of page faults served without I/O.
    pub minor_faults: Reading<u64>,
    /// Number of page faults served from a disk.
    pub major_faults: Reading<u64>,
    /// CPU frequency around the run, relative to the slot's usual one.
    pub frequency_ratio: Reading<f64>,
    /// Time of a memory-bound control program right after the run, relative to its fastest known run in this slot. Measured only
    /// if it can affect the decision.
    pub slowdown: Reading<f64>,
    /// Number of pages that the machine read back from swap during the run.
    pub swapped_pages: Reading<u64>,
    /// Pages of the run by memory node, when they were last read.
    pub pages_by_node: Reading<Vec<NodePages>>,
    /// Time spent on collecting this evidence.
    #[serde(rename = "cost_ns")]
    pub cost: Nanos,
    /// Protections and measurements that were not in force, as text. Omitted if all were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// For a run in a virtual machine: the parts of `steal`, and the accelerator. Omitted for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineEvidence>,
}

/// Pages of a process on a memory node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NodePages {
    /// Number of the node.
    pub node: u32,
    /// Number of pages.
    pub pages: u64,
}

/// How a run ended. `ok`: exit code 0, within all limits. `nonzero_exit`: another exit code. `signalled`: ended by a signal that
/// tauto did not send. `cpu_time_limit`, `wall_time_limit`, `memory_limit`, `output_limit`: the limit was exceeded.
/// `system_error`: a judge error, which says nothing about the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunStatus))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exit code 0, within all limits.
    Ok,
    /// Another exit code.
    NonzeroExit,
    /// Ended by a signal that tauto did not send.
    Signalled,
    /// CPU time limit exceeded.
    CpuTimeLimit,
    /// Wall time limit exceeded.
    WallTimeLimit,
    /// Memory limit exceeded.
    MemoryLimit,
    /// Output limit exceeded.
    OutputLimit,
    /// A judge error, which says nothing about the program.
    SystemError,
}

/// The facts of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// How the main process ended.
    pub exit: Exit,
    /// Time used.
    pub time: Times,
    /// Instructions in user space, of the whole tree, where they were counted.
    pub instructions: Reading<u64>,
    /// Clock cycles of the processor in user space, of the whole tree, counted beside its instructions by the processor's own
    /// counter ([`crate::RunSpec::count_instructions`]).
    pub cycles: Reading<u64>,
    /// Time on the reference machine, of the whole tree, where it was followed.
    #[serde(rename = "reference_ns")]
    pub reference: Reading<Nanos>,
    /// Most memory in use at one time.
    #[serde(rename = "memory_peak_bytes")]
    pub memory_peak: Reading<Bytes>,
    /// Standard output, standard error (where they are files) and files left in the work directory.
    #[serde(rename = "output_bytes")]
    pub output: Reading<Bytes>,
    /// The kernel refused memory to the tree and killed for it.
    pub out_of_memory: bool,
    /// The wall limit passed (after what it excuses).
    pub wall_exceeded: bool,
    /// Whoever read the output ended the run because it was too much.
    pub output_cut: bool,
    /// Whoever asked for the run ended it.
    pub cancelled: bool,
    /// When the main process was seen dead: CLOCK_MONOTONIC. Of two runs that talk to each other it tells which
    /// ended first.
    #[serde(rename = "ended_ns")]
    pub ended: Nanos,
    /// What could have disturbed it.
    pub evidence: Evidence,
}

impl Evidence {
    /// Evidence of which nothing could be read, for this reason.
    pub fn unread(why: &'static str) -> Evidence {
        fn none<T>(why: &'static str) -> Reading<T> {
            Reading::unknown(why)
        }
        Evidence {
            isolation: Isolation::None,
            cpus: Vec::new(),
            cpu_nodes: Vec::new(),
            mem_nodes: Vec::new(),
            run_queue_wait: none(why),
            steal: none(why),
            irq: none(why),
            foreign: none(why),
            throttled: none(why),
            migrations: none(why),
            voluntary_switches: none(why),
            involuntary_switches: none(why),
            minor_faults: none(why),
            major_faults: none(why),
            frequency_ratio: none(why),
            slowdown: none(why),
            swapped_pages: none(why),
            pages_by_node: none(why),
            main_cpu: none(why),
            cost: Nanos::ZERO,
            weaker: Vec::new(),
            machine: None,
        }
    }
}

impl Observation {
    /// A run of which only this is known: how it ended, and how much CPU time it used, without waiting.
    pub fn unread(exit: Exit, cpu: Nanos, why: &'static str) -> Observation {
        Observation {
            exit,
            time: Times { cpu, user: cpu, system: Nanos::ZERO, wall: cpu },
            instructions: Reading::unknown("not counted under the cpu clock"),
            cycles: Reading::unknown("the processor's counters were not asked for"),
            reference: Reading::unknown("not followed under the cpu clock"),
            memory_peak: Reading::unknown(why),
            output: Reading::unknown(why),
            out_of_memory: false,
            wall_exceeded: false,
            output_cut: false,
            cancelled: false,
            ended: Nanos::ZERO,
            evidence: Evidence::unread(why),
        }
    }

    /// The clock whose charge is above its limit; of several the one that counts, since CPU time is then only bounded beside it.
    pub fn over(&self, limits: &Limits) -> Option<Clock> {
        let over = |clock: &Clock| {
            let limit = Charge::limit(*clock, limits);
            limit.is_some_and(|limit| Charge::measured(*clock, self).known() > Some(&limit))
        };
        Clock::ALL.into_iter().rev().find(over)
    }

    /// The one-word status: the first that holds, in this order.
    ///
    /// 1. memory limit: the kernel killed for memory, or the peak lies above the limit
    /// 2. the charge of a clock above its limit ([`Observation::over`])
    /// 3. output above its limit, cut by its reader, or ended by SIGXFSZ
    /// 4. wall time limit
    /// 5. ended by a signal
    /// 6. exit code other than 0
    /// 7. ok
    pub fn status(&self, limits: &Limits) -> Status {
        const SIGXFSZ: i32 = 25;
        let over = |reading: &Reading<Bytes>, limit: Option<Bytes>| match (reading.known(), limit) {
            (Some(used), Some(limit)) => *used > limit,
            _ => false,
        };
        if self.out_of_memory || over(&self.memory_peak, limits.memory) {
            Status::MemoryLimit
        } else if self.over(limits).is_some() {
            Status::CpuTimeLimit
        } else if self.output_cut
            || over(&self.output, limits.output)
            || (limits.output.is_some() && self.exit == Exit::Signal(SIGXFSZ))
        {
            Status::OutputLimit
        } else if self.wall_exceeded {
            Status::WallTimeLimit
        } else {
            match self.exit {
                Exit::Signal(_) => Status::Signalled,
                Exit::Code(0) => Status::Ok,
                Exit::Code(_) => Status::NonzeroExit,
            }
        }
    }
}
