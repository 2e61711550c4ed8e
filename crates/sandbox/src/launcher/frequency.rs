//! Whether the slot's CPU ran at its usual clock: by its own counters during a run where they can be read, else by probes
//! before and after; both against the launcher's earlier ones.

use crate::sys::{self, InitStack, Probed};
use model::{Placement, Reading, Slot};
use rustix::fd::BorrowedFd;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Probes of each kind when the launcher starts.
const FIRST: usize = 7;
/// Slices of a warm-up: about as long as a short run.
const WARM_UP: u32 = 60;
/// How many of its last probes a launcher compares with.
const MEMORY: usize = 101;
/// A quarter of the slices may be longer than the fastest by more than this, but no more: something else was at work there.
const SLICES_AGREE: f64 = 0.03;
/// Probes that usually differ by more than this cannot tell a drop of one in a hundred, from which on runs are disturbed.
const PROBES_AGREE: f64 = 0.005;

/// Counters of cycles while the CPU is not idle, at the clock of its time stamps and at the real one (IA32_MPERF and
/// IA32_APERF: Intel SDM volume 3, "Hardware Feedback"; AMD APM volume 2, "Effective Frequency").
const MPERF: u64 = 0xE7;
const APERF: u64 = 0xE8;

/// Readings of both counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cycles {
    steady: u64,
    real: u64,
}

impl Cycles {
    /// From /dev/cpu/N/msr, where a register's number is its offset (msr(4)).
    fn read(registers: &File) -> io::Result<Cycles> {
        let read = |number| {
            let mut bytes = [0; 8];
            registers.read_exact_at(&mut bytes, number).map(|()| u64::from_le_bytes(bytes))
        };
        Ok(Cycles { steady: read(MPERF)?, real: read(APERF)? })
    }

    /// Real cycles for a thousand thousand steady ones since then; `None` where the CPU was idle all the while.
    fn clock_since(self, then: Cycles) -> Option<u64> {
        let (steady, real) = (self.steady.wrapping_sub(then.steady), self.real.wrapping_sub(then.real));
        let millionths = u128::from(real) * 1_000_000 / u128::from(steady.max(1));
        (steady > 0).then(|| u64::try_from(millionths).ok()).flatten()
    }
}

/// What was seen of the CPU at one moment.
pub(super) enum ClockSample {
    /// Its counters.
    Cycles(Cycles),
    /// A probe.
    Pace(Pace),
}

/// One side of a run: its probes have one usual value. The CPU comes out of idleness before a run and out of work after it.
#[derive(Debug, Default)]
struct Side(VecDeque<u64>);

/// Ticks for a slice, or why there are none.
pub(super) type Pace = Result<u64, Cow<'static, str>>;

/// The probes of one launcher.
#[derive(Debug)]
pub(super) struct Frequency {
    /// The slot's CPU; or why nothing is probed.
    cpu: Result<u32, Cow<'static, str>>,
    /// The CPU's registers, where they can be read.
    registers: Option<File>,
    /// Clocks during the last runs, by the counters.
    during: Side,
    before: Side,
    after: Side,
}

impl Frequency {
    /// Probes a slot's CPU often enough to know its usual clock: some milliseconds. Nothing is done without a slot.
    pub(super) fn for_slot(
        slot: Option<&Slot>,
        stack: &mut InitStack,
        group: Option<BorrowedFd<'_>>,
    ) -> Frequency {
        let cpu = match slot.map(|slot| &slot.cpus[..]) {
            None => Err("clocks are probed in slots only".into()),
            Some([cpu]) if sys::ticks_evenly() => Ok(*cpu),
            Some([_]) => Err("the time stamp counter of this CPU does not tick evenly".into()),
            Some(_) => Err("the slot has several CPUs".into()),
        };
        let registers = cpu.as_ref().ok().and_then(|cpu| File::open(format!("/dev/cpu/{cpu}/msr")).ok());
        let mut frequency = Frequency {
            cpu,
            // A hypervisor may show the file and not the registers.
            registers: registers.filter(|registers| Cycles::read(registers).is_ok()),
            during: Side::default(),
            before: Side::default(),
            after: Side::default(),
        };
        if let (Ok(cpu), Some(registers)) = (&frequency.cpu, &frequency.registers) {
            for _ in 0..FIRST {
                let then = Cycles::read(registers);
                let busy = sys::probe_cpu(*cpu, WARM_UP, stack, group);
                if let (Ok(then), Ok(now), true) = (then, Cycles::read(registers), busy.is_ok()) {
                    frequency.during.add(now.clock_since(then));
                }
            }
        } else if let Ok(cpu) = frequency.cpu {
            for _ in 0..FIRST {
                // One that fails is seen by the first run, whose own will.
                frequency.before.add(pace(sys::probe_cpu(cpu, 0, stack, group)).ok());
                frequency.after.add(pace(sys::probe_cpu(cpu, WARM_UP, stack, group)).ok());
            }
        }
        frequency
    }

    /// Looks at the CPU of a run now.
    pub(super) fn look(
        &self,
        placement: &Placement,
        stack: &mut InitStack,
        group: Option<BorrowedFd<'_>>,
    ) -> ClockSample {
        let cpu = match &self.cpu {
            Ok(cpu) if placement.cpus == [*cpu] => *cpu,
            Ok(cpu) => {
                return ClockSample::Pace(Err(format!(
                    "the run was not bound to CPU {cpu}, which is watched"
                )
                .into()));
            }
            Err(why) => return ClockSample::Pace(Err(why.clone())),
        };
        match self.registers.as_ref().map(Cycles::read) {
            Some(Ok(cycles)) => ClockSample::Cycles(cycles),
            _ => ClockSample::Pace(pace(sys::probe_cpu(cpu, 0, stack, group))),
        }
    }

    /// The clock of a run over the usual one, and remembers it.
    pub(super) fn ratio(&mut self, before: &ClockSample, after: &ClockSample) -> Reading<f64> {
        match (before, after) {
            (ClockSample::Cycles(before), ClockSample::Cycles(after)) => {
                let clock = after.clock_since(*before);
                let usual = self.during.usual();
                self.during.add(clock);
                let ratio = |clock: u64| Ok(clock as f64 / usual?.max(1) as f64);
                Reading::from_result(clock.ok_or(Cow::from("the CPU was idle")).and_then(ratio))
            }
            (ClockSample::Pace(before), ClockSample::Pace(after)) => self.ratio_of_probes(before, after),
            _ => Reading::unknown("the CPU's counters could not be read both times"),
        }
    }

    fn ratio_of_probes(&mut self, before: &Pace, after: &Pace) -> Reading<f64> {
        let ratios = [self.before.ratio(before), self.after.ratio(after)];
        self.before.add(before.as_ref().ok().copied());
        self.after.add(after.as_ref().ok().copied());
        match ratios {
            [Ok(before), Ok(after)] => Reading::Known((before + after) / 2.0),
            [Ok(one), Err(_)] | [Err(_), Ok(one)] => Reading::Known(one),
            [Err(why), Err(_)] => Reading::Unknown(why),
        }
    }
}

impl Side {
    fn add(&mut self, value: Option<u64>) {
        self.0.extend(value);
        if self.0.len() > MEMORY {
            self.0.pop_front();
        }
    }

    /// The middle one, if they agree.
    fn usual(&self) -> Result<u64, Cow<'static, str>> {
        let usual = middle(self.0.iter().copied()).ok_or("no probe went well before this run")?;
        let apart = middle(self.0.iter().map(|value| value.abs_diff(usual))).unwrap_or_default();
        let apart = apart as f64 / usual.max(1) as f64;
        if apart > PROBES_AGREE {
            return Err(format!("probes of this CPU usually differ by {:.1} %", 100.0 * apart).into());
        }
        Ok(usual)
    }

    /// More ticks for the same work: a slower clock.
    fn ratio(&self, pace: &Pace) -> Result<f64, Cow<'static, str>> {
        let ticks = *pace.as_ref().map_err(Clone::clone)?;
        Ok(self.usual()? as f64 / ticks.max(1) as f64)
    }
}

/// Ticks of the middle slice, if the slices agree.
fn pace(probed: std::io::Result<Probed>) -> Pace {
    let probed = probed.map_err(|e| format!("the probe failed: {e}"))?;
    let mut ticks = probed.ticks;
    ticks.sort_unstable();
    let [least, upper] = [ticks[0], ticks[ticks.len() * 3 / 4]];
    if probed.switches > 0 || upper as f64 > least as f64 * (1.0 + SLICES_AGREE) {
        return Err("the probe was disturbed".into());
    }
    Ok(ticks[ticks.len() / 2])
}

/// The middle one; of two, the lower.
fn middle(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::SLICES;

    fn probed(ticks: impl Fn(usize) -> u64, switches: u64) -> std::io::Result<Probed> {
        Ok(Probed { ticks: std::array::from_fn(ticks), switches })
    }

    fn known(paces: &[u64]) -> Frequency {
        let side = || Side(paces.iter().copied().collect());
        Frequency { cpu: Ok(1), registers: None, during: Side::default(), before: side(), after: side() }
    }

    #[test]
    fn a_probe_tells_when_it_was_disturbed() {
        assert_eq!(pace(probed(|_| 1000, 0)), Ok(1000));
        // An interrupt in some slices is nothing; in a quarter of them, or a switch, is.
        assert_eq!(pace(probed(|n| if n < SLICES / 4 - 1 { 9000 } else { 1000 }, 0)), Ok(1000));
        assert!(pace(probed(|n| if n < SLICES / 4 { 9000 } else { 1000 }, 0)).is_err());
        assert!(pace(probed(|_| 1000, 1)).is_err());
        assert!(pace(Err(std::io::Error::from_raw_os_error(22))).unwrap_err().contains("failed"));
    }

    #[test]
    fn slower_is_below_one() {
        let ratio = |before, after| known(&[1000, 1001, 999]).ratio_of_probes(&before, &after);
        assert_eq!(ratio(Ok(1000), Ok(1000)), Reading::Known(1.0));
        assert_eq!(ratio(Ok(2000), Ok(2000)), Reading::Known(0.5));
        assert_eq!(ratio(Ok(1000), Ok(2000)), Reading::Known(0.75));
        assert_eq!(ratio(Err("no".into()), Ok(2000)), Reading::Known(0.5));
        assert_eq!(ratio(Err("no".into()), Err("nor".into())), Reading::unknown("no"));
    }

    #[test]
    fn counters_tell_the_clock_of_the_run_itself() {
        let at = |steady, real| ClockSample::Cycles(Cycles { steady, real });
        let mut frequency = known(&[]);
        frequency.during = Side([1_200_000, 1_201_000, 1_199_000].into());
        assert_eq!(frequency.ratio(&at(1000, 5000), &at(2000, 6200)), Reading::Known(1.0));
        // From a turbo step of 1.2 to one of 0.9, over the end of both counters.
        let slow = frequency.ratio(&at(u64::MAX - 499, u64::MAX - 99), &at(500, 800));
        assert_eq!(slow, Reading::Known(0.75));
        assert_eq!(frequency.ratio(&at(7, 7), &at(7, 7)), Reading::unknown("the CPU was idle"));
        assert_eq!(frequency.during.0.len(), 5);
        assert!(frequency.ratio(&at(1, 1), &ClockSample::Pace(Ok(1000))).known().is_none());
        let file = tempfile::tempfile().unwrap();
        assert!(Cycles::read(&file).is_err());
    }

    #[test]
    fn probes_that_stray_say_nothing() {
        let mut strays = known(&[1000, 1020, 980, 1040, 960]);
        assert!(strays.ratio_of_probes(&Ok(1000), &Ok(1000)).known().is_none());
        assert!(known(&[]).ratio_of_probes(&Ok(1000), &Ok(1000)).known().is_none());
    }

    #[test]
    fn the_usual_clock_is_that_of_the_last_probes() {
        let mut frequency = known(&[1000; FIRST]);
        for _ in 0..2 * MEMORY {
            frequency.ratio_of_probes(&Ok(2000), &Ok(2000));
        }
        assert_eq!(frequency.before.0.len(), MEMORY);
        assert_eq!(frequency.ratio_of_probes(&Ok(2000), &Ok(2000)), Reading::Known(1.0));
    }
}
