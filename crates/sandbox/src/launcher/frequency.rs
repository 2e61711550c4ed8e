//! Whether the slot's CPU ran at its usual clock around a run: probes before and after, against the launcher's own.

use crate::sys::{self, InitStack, Probed};
use model::{Placement, Reading, Slot};
use rustix::fd::BorrowedFd;
use std::borrow::Cow;
use std::collections::VecDeque;

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
    before: Side,
    after: Side,
}

impl Frequency {
    /// Probes a slot's CPU often enough to know its usual clock: some milliseconds. Nothing is done without a slot.
    pub(super) fn of(slot: Option<&Slot>, stack: &mut InitStack, group: Option<BorrowedFd<'_>>) -> Frequency {
        let cpu = match slot.map(|slot| &slot.cpus[..]) {
            None => Err("clocks are probed in slots only".into()),
            Some([cpu]) if sys::ticks_evenly() => Ok(*cpu),
            Some([_]) => Err("the time stamp counter of this CPU does not tick evenly".into()),
            Some(_) => Err("the slot has several CPUs".into()),
        };
        let mut frequency = Frequency { cpu, before: Side::default(), after: Side::default() };
        if let Ok(cpu) = frequency.cpu {
            for _ in 0..FIRST {
                // One that fails is seen by the first run, whose own will.
                frequency.before.add(&pace(sys::probe_cpu(cpu, 0, stack, group)));
                frequency.after.add(&pace(sys::probe_cpu(cpu, WARM_UP, stack, group)));
            }
        }
        frequency
    }

    /// Probes the CPU of a run now.
    pub(super) fn probe(
        &self,
        placement: &Placement,
        stack: &mut InitStack,
        group: Option<BorrowedFd<'_>>,
    ) -> Pace {
        let cpu = self.cpu.clone()?;
        if placement.cpus != [cpu] {
            return Err(format!("the run was not bound to CPU {cpu}, which is probed").into());
        }
        pace(sys::probe_cpu(cpu, 0, stack, group))
    }

    /// The clock around a run over the usual one, and remembers both probes.
    pub(super) fn ratio(&mut self, before: &Pace, after: &Pace) -> Reading<f64> {
        let ratios = [self.before.ratio(before), self.after.ratio(after)];
        self.before.add(before);
        self.after.add(after);
        match ratios {
            [Ok(before), Ok(after)] => Reading::Known((before + after) / 2.0),
            [Ok(one), Err(_)] | [Err(_), Ok(one)] => Reading::Known(one),
            [Err(why), Err(_)] => Reading::Unknown(why),
        }
    }
}

impl Side {
    fn add(&mut self, pace: &Pace) {
        if let Ok(ticks) = pace {
            self.0.push_back(*ticks);
            if self.0.len() > MEMORY {
                self.0.pop_front();
            }
        }
    }

    /// More ticks for the same work: a slower clock.
    fn ratio(&self, pace: &Pace) -> Result<f64, Cow<'static, str>> {
        let ticks = *pace.as_ref().map_err(Clone::clone)?;
        let usual = middle(self.0.iter().copied()).ok_or("no probe went well before this run")?;
        let apart = middle(self.0.iter().map(|ticks| ticks.abs_diff(usual))).unwrap_or_default();
        let apart = apart as f64 / usual.max(1) as f64;
        if apart > PROBES_AGREE {
            return Err(format!("probes of this CPU usually differ by {:.1} %", 100.0 * apart).into());
        }
        Ok(usual as f64 / ticks.max(1) as f64)
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
        Frequency { cpu: Ok(1), before: side(), after: side() }
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
        let ratio = |before, after| known(&[1000, 1001, 999]).ratio(&before, &after);
        assert_eq!(ratio(Ok(1000), Ok(1000)), Reading::Known(1.0));
        assert_eq!(ratio(Ok(2000), Ok(2000)), Reading::Known(0.5));
        assert_eq!(ratio(Ok(1000), Ok(2000)), Reading::Known(0.75));
        assert_eq!(ratio(Err("no".into()), Ok(2000)), Reading::Known(0.5));
        assert_eq!(ratio(Err("no".into()), Err("nor".into())), Reading::unknown("no"));
    }

    #[test]
    fn probes_that_stray_say_nothing() {
        let mut strays = known(&[1000, 1020, 980, 1040, 960]);
        assert!(strays.ratio(&Ok(1000), &Ok(1000)).known().is_none());
        assert!(known(&[]).ratio(&Ok(1000), &Ok(1000)).known().is_none());
    }

    #[test]
    fn the_usual_clock_is_that_of_the_last_probes() {
        let mut frequency = known(&[1000; FIRST]);
        for _ in 0..2 * MEMORY {
            frequency.ratio(&Ok(2000), &Ok(2000));
        }
        assert_eq!(frequency.before.0.len(), MEMORY);
        assert_eq!(frequency.ratio(&Ok(2000), &Ok(2000)), Reading::Known(1.0));
    }
}
