//! How far each test of a node is from an alarm, for people who look at it.

use super::{Chart, Health, HealthPolicy, Sum};
use crate::Timestamp;
use model::IndexGroup;
use serde::Serialize;

/// How far a test is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChartState {
    /// What it looks at.
    #[serde(flatten)]
    pub chart: Chart,
    /// Its sum, as a part of what would alarm: watched from 0.5 on, an alarm beyond 1.
    pub share: f64,
    /// When the sum was last 0.
    pub since: Timestamp,
    /// Probes, cross-checks or jobs since then.
    pub seen: u32,
}

impl ChartState {
    /// Its name in words, such as `core slower`.
    pub fn name(&self) -> String {
        match self.chart {
            Chart::Power { group, slower } => {
                format!("{} {}", group.name(), if slower { "slower" } else { "faster" })
            }
            Chart::Charges => "charges".into(),
            Chart::Disturbed => "disturbed jobs".into(),
        }
    }
}

impl Health {
    /// All eight tests.
    pub fn charts(&self, policy: &HealthPolicy) -> Vec<ChartState> {
        let state = |chart, sum: &Sum, threshold: f64| ChartState {
            chart,
            share: sum.value / threshold,
            since: sum.since,
            seen: sum.n,
        };
        let power = IndexGroup::ALL.into_iter().zip(&self.power).flat_map(|(group, sums)| {
            let both = sums.iter().zip([true, false]);
            both.map(move |(sum, slower)| state(Chart::Power { group, slower }, sum, policy.threshold))
        });
        let charges = state(Chart::Charges, &self.charges, policy.charges.threshold.into());
        let voids = state(Chart::Disturbed, &self.voids, policy.voids.threshold.into());
        power.chain([charges, voids]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolKind;

    #[test]
    fn a_charge_shows_in_its_chart() {
        let policy = HealthPolicy::published(PoolKind::Strict);
        let mut health = Health::new(Timestamp(0));
        health.checked(&policy, Timestamp(5), true);
        let charts = health.charts(&policy);
        let names: Vec<String> = charts.iter().map(ChartState::name).collect();
        assert_eq!(names[..2], ["core slower", "core faster"]);
        assert_eq!(names[6..], ["charges", "disturbed jobs"]);
        assert!(charts[6].share > 0.25 && charts[6].share < 0.3 && charts[6].seen == 1, "{:?}", charts[6]);
        assert!(charts.iter().filter(|chart| chart.chart != Chart::Charges).all(|chart| chart.share == 0.0));
    }
}
