//! The thresholds by which a node counts as degraded, and where they come from.

use crate::PoolKind;
use crate::pool::MOST_TOLERANCE;
use stats::{EventCusum, threshold_for};

/// Seconds of a year of 365 days.
const YEAR: f64 = 365.0 * 86_400.0;
/// Tests that run on a node: three groups both ways, charges, discarded runs.
const TESTS: f64 = 8.0;

/// Observations in a node-year. More of them give more false alarms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Cross-checks.
    pub checks: f64,
    /// Jobs.
    pub jobs: f64,
}

/// The parameters of the tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthPolicy {
    /// Seconds between probes.
    pub every: u32,
    /// Seconds between probes while a test is half way to an alarm, and while the level is learned.
    pub watched_every: u32,
    /// The number of probes from which a node's level is learned.
    pub learn: u32,
    /// The least standard deviation, as a fraction of the value: participants do not notice less.
    pub least: f64,
    /// What a deviation of one probe must be beyond, in standard deviations, to speak against the node.
    pub allowance: f64,
    /// How much of [`HealthPolicy::allowance`] is for what the level is known by: 64 probes leave it uncertain by a sixth of
    /// a deviation, so that a half is three times that.
    pub uncertain: f64,
    /// The sum from which a test alarms.
    pub threshold: f64,
    /// The fewest probes that can cause an alarm.
    pub fewest: u32,
    /// While the level is learned: so many standard deviations must each of the last [`HealthPolicy::fewest`] probes be beyond the
    /// ones before. A median of eight is known to half a deviation and a deviation from eight to a third, so that this is
    /// three deviations at worst, four times in a row and one way.
    pub shift: f64,
    /// How far the level of a restarted node may be from its old one, as a fraction of it: the tolerance of its pool.
    pub anew: f64,
    /// The share of cross-checks in which a healthy node disagrees.
    pub usual_charges: f64,
    /// The test against a node that disagrees in a tenth of them.
    pub charges: EventCusum,
    /// The share of a healthy node's jobs that are disturbed.
    pub usual_voids: f64,
    /// The test against a share of disturbed jobs of 1/5; 2/5 in relaxed pools.
    pub voids: EventCusum,
    /// False alarms in a node-year, all tests together.
    pub false_alarms: f64,
    /// The assumed rates.
    pub rates: Rates,
}

/// A node that does a job every 15 seconds the whole year; two in a hundred and the doubtful ones are cross-checked.
const USUAL: Rates = Rates { checks: 100_000.0, jobs: 2_000_000.0 };
/// A cross-check charges a healthy node when the other one was disturbed and a third, too, or the program decides by lot.
const USUAL_CHARGES: f64 = 0.005;
/// One that is slower than the pool's tolerance is charged by each job it shows in.
const BAD_CHARGES: f64 = 0.1;
/// Usual and bad shares of disturbed jobs. docs/settling.md, "What it costs": far from the limit recorded noise took 1 to 2 % more runs on an
/// idle slot, 10 to 11 % on one of a loaded machine.
const fn disturbed(kind: PoolKind) -> (f64, f64) {
    match kind {
        PoolKind::Strict => (0.03, 0.2),
        PoolKind::Relaxed => (0.15, 0.4),
    }
}

impl HealthPolicy {
    /// The published parameters for nodes of pools of this kind: at most one false alarm in a node-year.
    pub fn published(kind: PoolKind) -> HealthPolicy {
        HealthPolicy::for_pool(kind, 300, USUAL, 1.0)
    }

    /// Parameters for a probe every `every` seconds, at these rates, with at most `false_alarms` in a node-year.
    pub fn for_pool(kind: PoolKind, every: u32, rates: Rates, false_alarms: f64) -> HealthPolicy {
        let (usual_voids, bad_voids) = disturbed(kind);
        let (allowance, uncertain) = (1.0, 0.5);
        // One test may alarm once in so many years.
        let years = TESTS / false_alarms;
        let probes = YEAR / f64::from(every);
        HealthPolicy {
            every,
            watched_every: (every / 5).max(1),
            learn: 64,
            least: 0.005,
            allowance,
            uncertain,
            threshold: threshold_for(allowance - uncertain, years * probes),
            fewest: 4,
            shift: 6.0,
            anew: MOST_TOLERANCE / 100.0,
            usual_charges: USUAL_CHARGES,
            charges: EventCusum::for_rates(USUAL_CHARGES, BAD_CHARGES, years * rates.checks),
            usual_voids,
            voids: EventCusum::for_rates(usual_voids, bad_voids, years * rates.jobs),
            false_alarms,
            rates,
        }
    }

    /// What one probe can add to a sum: so that no alarm is made by fewer than [`HealthPolicy::fewest`].
    pub(super) fn most_step(&self) -> f64 {
        self.threshold / (f64::from(self.fewest) - 0.5)
    }
}
