//! How busy the CPUs of a machine were between two looks, and how much of that was not our own doing.

use crate::machine::Machine;
use model::{CpuLoad, HostLoad, Nanos, Reading};
use std::collections::BTreeMap;
use std::io;

/// Unit of the times in /proc/stat and /proc/PID/stat: USER_HZ, which is 100 on every architecture we run on (proc(5)).
const TICK: u64 = 10_000_000;

/// One look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusySnapshot {
    /// Time each CPU was not idle, since the start of the machine.
    busy: BTreeMap<u32, u64>,
    /// CPU time of a process and everything it started, as far as it is still known.
    own: u64,
    load_average: Result<String, String>,
}

/// Looks at the machine's CPUs, and at what process `own` and its descendants have used.
///
/// # Errors
/// /proc/stat cannot be read.
pub fn snapshot(machine: &Machine, own: u32) -> io::Result<BusySnapshot> {
    let stat =
        machine.read("/proc/stat").map_err(|e| io::Error::new(e.kind(), format!("/proc/stat: {e}")))?;
    let load = machine.read("/proc/loadavg").map_err(|e| format!("/proc/loadavg: {e}"));
    Ok(BusySnapshot {
        busy: stat.lines().filter_map(busy).collect(),
        own: used(machine, own),
        load_average: load,
    })
}

/// Work of others on each CPU between two looks that lie `elapsed` apart. What we did ourselves is taken from `ours`, the CPUs
/// we worked on, first, and what is left of it from the others.
pub fn between(before: &BusySnapshot, after: &BusySnapshot, elapsed: Nanos, ours: &[u32]) -> HostLoad {
    let mut own = after.own.saturating_sub(before.own);
    let mut other: BTreeMap<u32, u64> = after
        .busy
        .iter()
        .map(|(cpu, busy)| (*cpu, busy.saturating_sub(before.busy.get(cpu).copied().unwrap_or(*busy))))
        .collect();
    for first in [true, false] {
        let mut part: Vec<&mut u64> =
            other.iter_mut().filter(|(cpu, _)| ours.contains(cpu) == first).map(|(_, ticks)| ticks).collect();
        // Nobody knows where among them it was: an equal share, and what one cannot take goes to the next larger.
        part.sort();
        let mut left = part.len() as u64;
        for ticks in part {
            let taken = (*ticks).min(own.div_ceil(left));
            *ticks -= taken;
            own -= taken;
            left -= 1;
        }
    }
    // A tick at each end is the unit of the reading, no work.
    let share = |ticks: u64| 100.0 * (ticks.saturating_sub(2) * TICK) as f64 / elapsed.0.max(1) as f64;
    let load = after.load_average.clone().and_then(|text| {
        let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
        first.ok_or_else(|| format!("/proc/loadavg holds `{text}`"))
    });
    HostLoad {
        cpus: other.iter().map(|(cpu, t)| CpuLoad { cpu: *cpu, busy_pct: share(*t).min(100.0) }).collect(),
        load_average: Reading::from_result(load),
    }
}

/// `cpuN user nice system idle iowait irq softirq steal …` (proc(5)): ticks that were neither idle nor stolen.
fn busy(line: &str) -> Option<(u32, u64)> {
    let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
    let ticks: Vec<u64> = ticks.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|n| ticks.get(*n)).sum();
    Some((cpu.parse().ok()?, busy))
}

/// Ticks of a process, the children it has waited for, and its living descendants (/proc/PID/stat, fields 14 to 17).
fn used(machine: &Machine, pid: u32) -> u64 {
    let (mut sum, mut pids, mut next) = (0, vec![pid], 0);
    while let Some(pid) = pids.get(next).copied() {
        next += 1;
        let Ok(stat) = machine.read(&format!("/proc/{pid}/stat")) else { continue };
        // The name, in parentheses, may hold anything.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields = after_name.split_whitespace().skip(11).take(4);
        sum += fields.filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
        for task in machine.list(&format!("/proc/{pid}/task")).unwrap_or_default() {
            let children = machine.read(&format!("/proc/{pid}/task/{task}/children")).unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at a machine with these busy ticks on each CPU; process 9 and its child 12 have used so many.
    fn seen(cpus: [u64; 3], own: u64, child: u64) -> BusySnapshot {
        let cpu = |(n, busy): (usize, &u64)| format!("\tcpu{n} {busy} 0 0 500 7 0 0 30 0 0\n");
        let text = format!(
            "tauto recording 1\n/proc/stat\n\tcpu  1 1 1 1 1 1 1 1 0 0\n{}\tintr 5\n/proc/loadavg\n\t2.50 1.0 0.5 2/99 1234\n\
             /proc/9/stat\n\t9 (a) b) S 1 9 9 0 -1 4 0 0 0 0 {own} 0 0 0 20 0\n/proc/9/task/9/children\n\t12\n\
             /proc/12/stat\n\t12 (c) S 9 9 9 0 -1 4 0 0 0 0 0 0 {child} 0 20 0\n",
            cpus.iter().enumerate().map(cpu).collect::<String>()
        );
        snapshot(&Machine::parse(&text).unwrap(), 9).unwrap()
    }

    fn check(after: [u64; 3], own: (u64, u64), ours: &[u32], expected: [f64; 3]) {
        let load = between(&seen([0, 0, 0], 0, 0), &seen(after, own.0, own.1), Nanos::from_secs(10), ours);
        let seen: Vec<f64> = load.cpus.iter().map(|cpu| cpu.busy_pct.round()).collect();
        assert_eq!(seen, expected, "{after:?} {own:?} {ours:?}");
        assert_eq!(load.load_average, Reading::Known(2.5));
    }

    #[test]
    fn our_own_work_is_no_load() {
        check([0, 1000, 0], (0, 1000), &[1], [0.0, 0.0, 0.0]);
        // Two ticks are the unit of the reading.
        check([1002, 1002, 2], (0, 500), &[1], [100.0, 50.0, 0.0]);
        check([200, 900, 0], (100, 1000), &[1], [0.0, 0.0, 0.0]);
        check([300, 602, 900], (0, 1800), &[0, 1, 2], [0.0, 0.0, 0.0]);
        check([602, 602, 602], (0, 600), &[0, 1, 2], [40.0, 40.0, 40.0]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let e = snapshot(&Machine::parse("tauto recording 1\n").unwrap(), 1).unwrap_err();
        assert!(e.to_string().starts_with("/proc/stat: "), "{e}");
    }
}
