//! A node that becomes slower while its level is learned: it would be taken for its level.

use super::baseline::{Baseline, Probe};
use super::{HealthPolicy, Sum};
use crate::Timestamp;
use model::IndexGroup;

/// Probes that tell a level, if badly.
const LEVEL: usize = 8;

/// A group that is not as it was.
pub(super) struct Shift {
    pub(super) group: IndexGroup,
    pub(super) slower: bool,
    pub(super) sum: Sum,
    /// Than when.
    pub(super) than: &'static str,
}

/// Groups whose last few probes are all beyond the ones before, or beyond the level before the node was started again at `started`.
/// Looked at each time that as many probes came, which keeps it cheap.
pub(super) fn shifts(
    probes: &[Probe],
    before: Option<&Baseline>,
    started: Timestamp,
    policy: &HealthPolicy,
) -> Vec<Shift> {
    let fewest = policy.fewest as usize;
    let Some(earlier) = probes.len().checked_sub(fewest).filter(|_| probes.len().is_multiple_of(fewest))
    else {
        return Vec::new();
    };
    let (earlier, last) = probes.split_at(earlier);
    // It may have begun among the few before the last.
    let good = &earlier[..earlier.len().saturating_sub(fewest)];
    let level = (good.len() >= LEVEL).then(|| Baseline::from_probes(good, policy.least));
    let good = good.last().map_or(started, |probe| probe.at);
    let total = |level: &Baseline, group, beyond: &dyn Fn(f64, f64) -> bool| {
        let one = |probe| level.deviation(group, probe).filter(|(by, z)| beyond(*by, *z)).map(|(by, _)| by);
        last.iter().map(one).sum::<Option<f64>>()
    };
    let shift = |group, slower| {
        let sign = if slower { 1.0 } else { -1.0 };
        let than_now = level.as_ref().and_then(|level| total(level, group, &|_, z| sign * z > policy.shift));
        let than_before = || total(before?, group, &|by, _| sign * by > policy.anew.ln_1p());
        let (total, since, than) = match than_now {
            Some(total) => (total, good, super::ADMITTED),
            None => (than_before()?, started, "before it was restarted"),
        };
        let sum = Sum { value: policy.threshold, since, n: policy.fewest, total };
        Some(Shift { group, slower, sum, than })
    };
    let both = IndexGroup::ALL.into_iter().flat_map(|group| [(group, true), (group, false)]);
    both.filter_map(|(group, slower)| shift(group, slower)).collect()
}
