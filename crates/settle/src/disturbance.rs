//! The disturbances that the evidence of a run shows, and the most CPU time that each can have cost.

use model::{Cause, Disturbance, Nanos, NoiseFloor, Observation, Reading};

/// Unit of what /proc/stat counts: one tick of USER_HZ (proc(5)). A reading may be off by one at each end.
const TICK: f64 = 0.01;
/// What an interrupted program can lose of its caches: 1 MiB filled again at 10 GB/s.
const REFILL: Nanos = Nanos(100_000);
/// CPU time of a page fault that reads from disk or swap: reading itself is waiting.
const FAULT: Nanos = Nanos(50_000);
/// Memory of another node takes about twice as long (noise floor of the reference, row 31): half of such a time is too much.
const REMOTE: f64 = 0.5;
/// How far below its usual clock a run may be before it counts. Clocks of shared hosts vary by one or two percent all the time,
/// as that of the machine in docs/benchmarks.md does; the loss of a turbo step or of heat is more.
const SLOWER: f64 = 0.03;

/// The disturbances of a run: readings above those of quiet runs on this slot. An unknown reading adds none.
pub fn disturbances(run: &Observation, floor: &NoiseFloor) -> Vec<Cause> {
    let evidence = &run.evidence;
    let wall = run.time.wall.0 as f64 / 1e9;
    let cpu = run.time.cpu;
    let mut causes = Vec::new();
    let mut name = |name, bound: Nanos| causes.push(Cause { name, bound: bound.min(cpu) });
    let beyond = |reading: &Reading<Nanos>, per_second: f64, unit: f64| {
        let amount = reading.known()?.0 as f64 / 1e9;
        (amount > unit + 2.0 * per_second * wall).then_some(Nanos((amount * 1e9) as u64))
    };
    let quiet = &floor.quiet;
    let switches = evidence.involuntary_switches.known().copied().unwrap_or(0);
    if let Some(steal) = beyond(&evidence.steal, quiet.steal_per_second, 2.0 * TICK) {
        name(Disturbance::Steal, steal);
    }
    if let Some(irq) = beyond(&evidence.irq, quiet.irq_per_second, 2.0 * TICK) {
        name(Disturbance::Irq, irq);
    }
    if beyond(&evidence.run_queue_wait, quiet.wait_per_second, 0.002).is_some() {
        name(Disturbance::RunQueueWait, times(REFILL, switches));
    }
    if beyond(&evidence.foreign, quiet.foreign_per_second, 2.0 * TICK).is_some() {
        name(Disturbance::Foreign, times(REFILL, switches));
    }
    if evidence.throttled.known().is_some_and(|time| *time > Nanos::ZERO) {
        name(Disturbance::Throttled, times(REFILL, switches));
    }
    let switched = switches as f64 > 2.0 + 2.0 * quiet.switches_per_second * wall;
    if switched {
        name(Disturbance::InvoluntarySwitches, times(REFILL, switches));
    }
    if let Some(moves) = evidence.migrations.known().filter(|moves| **moves > 1 && evidence.cpus.len() > 1) {
        name(Disturbance::Migrations, times(REFILL, 2 * moves));
    }
    if let Some(faults) = evidence.major_faults.known().filter(|faults| **faults > 0) {
        name(Disturbance::MajorFaults, times(FAULT, *faults));
    }
    if let Some(ratio) = evidence.frequency_ratio.known().filter(|ratio| **ratio < 1.0 - SLOWER) {
        name(Disturbance::Frequency, cpu.scale(1.0 - ratio.max(0.0)));
    }
    if let Some(slowdown) = evidence.slowdown.known().filter(|slowdown| **slowdown > floor.slow_from()) {
        name(Disturbance::SlowMachine, cpu.scale(1.0 - 1.0 / slowdown));
    }
    if let Some(pages) = evidence.swapped_pages.known().filter(|pages| **pages > 0) {
        name(Disturbance::Swap, times(FAULT, *pages));
    }
    if let Some(share) = remote_share(run) {
        name(Disturbance::RemoteMemory, cpu.scale(REMOTE * share));
    }
    causes
}

/// The most CPU time that all causes together can have cost. Causes that stem from the same switches count once, by the
/// greatest of them.
pub fn explained(causes: &[Cause]) -> Nanos {
    let (shared, own): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().partition(|cause| cause.name.is_by_switches());
    let most = shared.iter().map(|cause| cause.bound).max().unwrap_or_default();
    own.iter().fold(most, |sum, cause| sum + cause.bound)
}

/// The share of a run's pages on other memory nodes than those of its CPUs, where that is more than one in a hundred.
fn remote_share(run: &Observation) -> Option<f64> {
    let pages = run.evidence.pages_by_node.known()?;
    let all: u64 = pages.iter().map(|on| on.pages).sum();
    let elsewhere = pages.iter().filter(|on| !run.evidence.cpu_nodes.contains(&on.node));
    let away: u64 = elsewhere.map(|on| on.pages).sum();
    let share = away as f64 / all.max(1) as f64;
    (share > 0.01).then_some(share)
}

fn times(each: Nanos, n: u64) -> Nanos {
    Nanos(each.0.saturating_mul(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Evidence, Exit, NodePages};

    /// A second of computing on CPU 4 of node 1, undisturbed but for what is changed.
    fn names(change: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
        let mut run = Observation::unread(Exit::Code(0), Nanos::from_secs(1), "not read");
        run.evidence.cpus = vec![4];
        run.evidence.cpu_nodes = vec![1];
        run.evidence.mem_nodes = vec![0, 1];
        change(&mut run.evidence);
        disturbances(&run, &NoiseFloor::assumed()).iter().map(|cause| cause.name.name()).collect()
    }

    #[test]
    fn each_disturbance_has_its_name() {
        let ms = |n| Reading::Known(Nanos::from_millis(n));
        assert!(names(|_| {}).is_empty());
        assert_eq!(names(|e| e.steal = ms(60)), ["steal"]);
        assert_eq!(names(|e| e.irq = ms(60)), ["irq"]);
        assert_eq!(names(|e| e.foreign = ms(80)), ["foreign"]);
        assert_eq!(names(|e| e.run_queue_wait = ms(60)), ["run_queue_wait"]);
        assert_eq!(names(|e| e.throttled = ms(1)), ["throttled"]);
        assert_eq!(names(|e| e.involuntary_switches = Reading::Known(100)), ["involuntary_switches"]);
        assert_eq!(names(|e| e.major_faults = Reading::Known(1)), ["major_faults"]);
        assert_eq!(names(|e| e.swapped_pages = Reading::Known(9)), ["swap"]);
        assert_eq!(names(|e| e.frequency_ratio = Reading::Known(0.9)), ["frequency"]);
        assert_eq!(names(|e| e.slowdown = Reading::Known(1.1)), ["slow_machine"]);
        // Moves count where there is somewhere to go.
        assert!(names(|e| e.migrations = Reading::Known(9)).is_empty());
        assert_eq!(
            names(|e| {
                e.cpus.push(6);
                e.migrations = Reading::Known(9);
            }),
            ["migrations"]
        );
        let pages = |node| Reading::Known(vec![NodePages { node, pages: 500 }]);
        assert!(names(|e| e.pages_by_node = pages(1)).is_empty());
        assert_eq!(names(|e| e.pages_by_node = pages(0)), ["remote_memory"]);
    }

    #[test]
    fn causes_by_the_same_switches_count_once() {
        let cause = |name, ms| Cause { name, bound: Nanos::from_millis(ms) };
        let shared = [cause(Disturbance::RunQueueWait, 3), cause(Disturbance::Foreign, 5)];
        let own = [cause(Disturbance::Steal, 10), cause(Disturbance::Irq, 2)];
        assert_eq!(explained(&[]), Nanos::ZERO);
        assert_eq!(explained(&shared), Nanos::from_millis(5));
        assert_eq!(explained(&own), Nanos::from_millis(12));
        assert_eq!(explained(&[shared, own].concat()), Nanos::from_millis(17));
    }

    #[test]
    fn what_quiet_runs_show_is_no_disturbance() {
        let ms = |n| Reading::Known(Nanos::from_millis(n));
        assert!(names(|e| e.steal = ms(30)).is_empty());
        assert!(names(|e| e.run_queue_wait = ms(30)).is_empty());
        assert!(names(|e| e.frequency_ratio = Reading::Known(0.98)).is_empty());
        assert!(names(|e| e.slowdown = Reading::Known(1.06)).is_empty());
        assert!(names(|e| e.involuntary_switches = Reading::Known(20)).is_empty());
    }
}
