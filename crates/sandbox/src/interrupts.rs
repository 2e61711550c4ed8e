//! Interrupts made on purpose, for experiments: no task of ours runs on the CPU that gets them.

use crate::counter::{Count, read_count};
use crate::sys::{self, PerfEventAttr};
use model::Nanos;
use rustix::fd::OwnedFd;
use std::io;

/// A CPU interrupts itself at a steady rate as long as this lives; however its process ends, the kernel stops it.
///
/// It is a counter of the kernel's clock on that CPU (perf_event_open(2), PERF_COUNT_SW_CPU_CLOCK) that asks for attention after every
/// period, and gets a few hundred nanoseconds of the kernel each time.
#[derive(Debug)]
pub struct Interrupts {
    clock: OwnedFd,
    period: Nanos,
}

impl Interrupts {
    /// The shortest period that is kept to: the kernel takes 10 µs for less (kernel/events/core.c, `perf_swevent_start_hrtimer`).
    pub const SHORTEST: Nanos = Nanos(10_000);

    /// Begins: one interrupt of this CPU in each period, which is at least [`Interrupts::SHORTEST`].
    ///
    /// # Errors
    /// EACCES or EPERM without CAP_PERFMON (or root), unless kernel.perf_event_paranoid is 0 or less; ENODEV or EINVAL where there is no
    /// such CPU online.
    pub fn on(cpu: u32, period: Nanos) -> io::Result<Interrupts> {
        let period = period.max(Interrupts::SHORTEST);
        let clock = sys::perf_event_open_on_cpu(&PerfEventAttr::interrupts(period.0), cpu)?;
        Ok(Interrupts { clock, period })
    }

    /// How many there were so far, by the time that the CPU's clock has counted.
    ///
    /// # Errors
    /// The kernel gives no reading.
    pub fn count(&self) -> io::Result<u64> {
        let Count { value, .. } = read_count(&self.clock)?;
        Ok(value / self.period.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_come_at_their_rate_where_they_are_allowed() {
        let begun = std::time::Instant::now();
        match Interrupts::on(0, Nanos(20_000)) {
            Ok(interrupts) => {
                std::thread::sleep(std::time::Duration::from_millis(50));
                let count = interrupts.count().unwrap();
                let most = begun.elapsed().as_nanos() as u64 / 20_000;
                assert!((1..=most).contains(&count), "{count} of {most}");
            }
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::PermissionDenied, "{e}"),
        }
    }

    #[test]
    fn there_is_no_such_cpu() {
        assert!(Interrupts::on(100_000, Nanos(20_000)).is_err());
    }
}
