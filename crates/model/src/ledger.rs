//! Where the elapsed time of a run went.

use crate::{Nanos, Observation, Reading};
use serde::Serialize;

/// Parts of the elapsed time of a run: wall = CPU + run-queue wait + blocked + steal + unexplained. All are of the main thread,
/// because CPU time and waits are both known for no other thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ledger {
    /// Elapsed time.
    #[serde(rename = "wall_ns")]
    pub wall: Nanos,
    /// CPU time of the main thread.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// Time that the main thread waited for a CPU.
    #[serde(rename = "run_queue_wait_ns")]
    pub run_queue_wait: Reading<Nanos>,
    /// Time that the main thread was blocked: on input, a disk, a lock, another process or a timer. If it blocked at all, this
    /// includes the unexplained time, because the two cannot be told apart.
    #[serde(rename = "blocked_ns")]
    pub blocked: Reading<Nanos>,
    /// Steal time while the main thread neither ran nor waited. Zero on kernels that charge steal time to the running process.
    #[serde(rename = "steal_ns")]
    pub steal: Reading<Nanos>,
    /// Remaining time.
    #[serde(rename = "unexplained_ns")]
    pub unexplained: Nanos,
    /// CPU time of other threads and processes of the run. Not part of the sum.
    #[serde(rename = "others_cpu_ns")]
    pub others_cpu: Reading<Nanos>,
}

impl Ledger {
    /// The ledger of one run. A part never exceeds what those before it have left, so that the parts always sum to the elapsed time.
    pub fn for_run(run: &Observation) -> Ledger {
        let (time, evidence) = (&run.time, &run.evidence);
        let main = evidence.main_cpu.known().copied();
        let cpu = main.unwrap_or(time.cpu).min(time.wall);
        let mut left = time.wall - cpu;
        let mut part = |reading: &Reading<Nanos>| {
            let part = reading.clone().map(|amount| amount.min(left));
            left = left - part.known().copied().unwrap_or_default();
            part
        };
        let run_queue_wait = part(&evidence.run_queue_wait);
        let steal = part(&evidence.steal);
        let blocked = match (&run_queue_wait, &evidence.voluntary_switches) {
            (Reading::Unknown(_), _) => {
                Reading::unknown("it cannot be separated from waiting for a CPU, which is unknown")
            }
            // Its end is one.
            (_, Reading::Known(0 | 1)) => Reading::Known(Nanos::ZERO),
            (_, switches) => switches.clone().map(|_| left),
        };
        Ledger {
            wall: time.wall,
            cpu,
            run_queue_wait,
            steal,
            unexplained: left - blocked.known().copied().unwrap_or_default(),
            blocked,
            others_cpu: evidence.main_cpu.clone().map(|main| time.cpu - main),
        }
    }

    /// Whether other threads or processes used more CPU time than the clocks differ by.
    pub fn has_others(&self) -> bool {
        let apart = Nanos::from_micros(100).max(self.cpu.scale(0.001));
        self.others_cpu.known().is_some_and(|others| *others > apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Evidence, Exit, Isolation, Times};

    const MS: u64 = 1_000_000;

    /// A run of 100 ms: CPU time of the tree and of the main thread, wait, steal in milliseconds, and voluntary switches.
    fn run(cpu: u64, main: Option<u64>, wait: Option<u64>, steal: u64, switches: u64) -> Observation {
        let known = |ms: Option<u64>| {
            Reading::from_option(ms, || "no schedstat".into()).map(|ms: u64| Nanos::from_millis(ms))
        };
        let none = || Reading::unknown("not read");
        let cpu = Nanos::from_millis(cpu);
        Observation {
            exit: Exit::Code(0),
            time: Times { cpu, user: cpu, system: Nanos::ZERO, wall: Nanos::from_millis(100) },
            instructions: Reading::unknown("not counted under the cpu clock"),
            cycles: Reading::unknown("the processor's counters were not asked for"),
            reference: Reading::unknown("not followed under the cpu clock"),
            memory_peak: Reading::Known(Bytes(0)),
            output: Reading::Known(Bytes(0)),
            out_of_memory: false,
            wall_exceeded: false,
            output_cut: false,
            cancelled: false,
            ended: Nanos::ZERO,
            evidence: Evidence {
                isolation: Isolation::Affinity,
                cpus: vec![1],
                cpu_nodes: vec![0],
                mem_nodes: vec![0],
                main_cpu: known(main),
                run_queue_wait: known(wait),
                steal: known(Some(steal)),
                irq: none(),
                foreign: none(),
                throttled: none(),
                migrations: Reading::Known(0),
                voluntary_switches: Reading::Known(switches),
                involuntary_switches: Reading::Known(0),
                minor_faults: Reading::Known(0),
                major_faults: Reading::Known(0),
                swapped_pages: Reading::Known(0),
                ..Evidence::unread("not read")
            },
        }
    }

    /// CPU, wait, blocked, steal, unexplained and others in milliseconds; `None`: not known.
    fn parts(run: &Observation) -> [Option<u64>; 6] {
        let l = Ledger::for_run(run);
        let ms = |r: &Reading<Nanos>| r.known().map(|n| n.0 / MS);
        [
            Some(l.cpu.0 / MS),
            ms(&l.run_queue_wait),
            ms(&l.blocked),
            ms(&l.steal),
            Some(l.unexplained.0 / MS),
            ms(&l.others_cpu),
        ]
    }

    #[test]
    fn every_part_has_its_place() {
        let some = |parts: [u64; 6]| parts.map(Some);
        // One that computes never gives its CPU away but at its end.
        assert_eq!(parts(&run(70, Some(70), Some(20), 0, 1)), some([70, 20, 0, 0, 10, 0]));
        assert_eq!(parts(&run(70, Some(70), Some(20), 4, 1)), some([70, 20, 0, 4, 6, 0]));
        assert_eq!(parts(&run(70, Some(70), Some(20), 4, 2)), some([70, 20, 6, 4, 0, 0]));
        // Three threads.
        assert_eq!(parts(&run(270, Some(90), Some(5), 0, 9)), some([90, 5, 5, 0, 0, 180]));
        // Stolen time that was charged to the run is not counted twice, and clocks that disagree do not break the sum.
        assert_eq!(parts(&run(98, Some(98), Some(1), 30, 1)), some([98, 1, 0, 1, 0, 0]));
        assert_eq!(parts(&run(120, Some(120), Some(30), 0, 1)), some([100, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        assert_eq!(parts(&run(70, None, None, 0, 5)), [Some(70), None, None, Some(0), Some(30), None]);
    }

    #[test]
    fn the_parts_add_up() {
        for n in 0..2000_u64 {
            let run = run(n % 131, Some(n % 97), Some(n % 53), n % 29, n % 3);
            let known = parts(&run).map(Option::unwrap);
            assert_eq!(known[..5].iter().sum::<u64>(), 100, "{known:?}");
        }
    }

    #[test]
    fn differences_of_clocks_are_no_threads() {
        let mut one = run(70, Some(70), Some(0), 0, 1);
        one.time.cpu = Nanos(70_050_000);
        assert!(!Ledger::for_run(&one).has_others());
        assert!(Ledger::for_run(&run(75, Some(70), Some(0), 0, 1)).has_others());
    }
}
