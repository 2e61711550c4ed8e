//! Page faults of a traced program, as many as may be looked at without slowing it down.

use lab::numa::Trace;
use model::{Nanos, Reading, SeenFaults};
use sandbox::{Begin, Fault, Faults};
use std::time::{Duration, Instant};

/// Faults that are looked at in any case, and for each second that has passed. Each costs the program 0.3 µs (measured), beside the microsecond
/// or so that the fault itself takes, and us a third of that: of five seconds all these take 1.6 %.
const ANYWAY: u64 = 100_000;
const PER_SECOND: u64 = 20_000;

/// Faults, or why they cannot be seen.
pub(crate) struct Watched {
    faults: Result<Faults, String>,
    seen: SeenFaults,
    since: Instant,
    /// Since when it is not looked, and for how long it was not altogether.
    away_since: Option<Instant>,
    away: Duration,
    drained: Vec<Fault>,
}

impl Watched {
    pub(crate) fn begin(threads: &[u32], cpus: &[u32], begin: Begin) -> Watched {
        let faults = Faults::watch(threads, cpus, begin);
        let in_system_calls = faults.as_ref().is_ok_and(Faults::in_system_calls);
        let seen = SeenFaults { in_system_calls, ..SeenFaults::default() };
        let since = Instant::now();
        Watched { faults, seen, since, away_since: None, away: Duration::ZERO, drained: Vec::new() }
    }

    /// Adds to the trace what was seen since the last time, and looks away for a while if there is too much of it.
    pub(crate) fn take(&mut self, trace: &mut Trace) {
        let Ok(faults) = &mut self.faults else { return };
        self.drained.clear();
        self.seen.lost += faults.drain(&mut self.drained);
        self.seen.faults += self.drained.len() as u64;
        trace.add_faults(&self.drained);
        let wanted = self.seen.faults <= allowed(self.since.elapsed());
        let gone = match (wanted, self.away_since) {
            (true, Some(since)) => {
                self.away += since.elapsed();
                self.away_since = None;
                faults.switch(true)
            }
            (false, None) => {
                self.away_since = Some(Instant::now());
                faults.switch(false)
            }
            _ => Ok(()),
        };
        if let Err(e) = gone {
            self.faults = Err(format!("the kernel has stopped it: {e}"));
        }
    }

    /// Sleeps so long, or until much is to be taken.
    pub(crate) fn wait(&mut self, most: Duration) {
        match &mut self.faults {
            Ok(faults) => faults.wait(Nanos::from(most)),
            Err(_) => std::thread::sleep(most),
        }
    }

    /// How many there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.seen.faults
    }

    /// What is to be told of it.
    pub(crate) fn told(self) -> Reading<SeenFaults> {
        let away = self.away + self.away_since.map_or(Duration::ZERO, |since| since.elapsed());
        let all = self.since.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let seen = SeenFaults { unwatched_pct: 100.0 * away.as_secs_f64() / all, ..self.seen };
        self.faults.map_or_else(Reading::unknown, |_| Reading::Known(seen))
    }
}

/// So many faults are looked at in a time.
fn allowed(elapsed: Duration) -> u64 {
    ANYWAY + (PER_SECOND as f64 * elapsed.as_secs_f64()) as u64
}
