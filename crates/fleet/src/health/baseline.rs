//! What a node's probes are set against: its own level after it was admitted.

use crate::Timestamp;
use model::{IndexGroup, IndexPart};
use serde::{Deserialize, Serialize};
use stats::{Fleet, median};

/// Probes of one batch; see [`Baseline::from_probes`].
const BATCH: usize = 8;
/// A deviation from 64 values is known to about a tenth (1/√128); twice that is allowed for.
const UNCERTAIN: f64 = 1.2;

/// A short measurement of the power index between jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// When.
    pub at: Timestamp,
    /// Parts that were measured, in their units.
    pub parts: Vec<(IndexPart, f64)>,
}

/// A part's value as the logarithm of what it costs; `None` where the value is none.
pub(crate) fn cost(part: IndexPart, value: f64) -> Option<f64> {
    let cost = if part.more_is_better() { -value.ln() } else { value.ln() };
    cost.is_finite().then_some(cost)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Level {
    centre: f64,
    /// One deviation towards slower.
    above: f64,
    /// One towards faster.
    below: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Baseline {
    /// The usual cost of each part.
    parts: Vec<(IndexPart, f64)>,
    /// Of the groups' mean deviations from those, in the order of [`IndexGroup::ALL`].
    groups: [Option<Level>; 3],
}

impl Baseline {
    /// From probes in order of time; a deviation is at least `least`.
    ///
    /// Probes that follow each other are alike where a machine varies for minutes, and sums of such values vary farther
    /// than those of independent ones. So the deviation is the greater of the robust one of single probes and that of the
    /// means of batches, times the root of their size (the method of batch means; Law and Kelton, "Simulation Modeling and
    /// Analysis", 2000, 9.5.3).
    pub(super) fn from_probes(probes: &[Probe], least: f64) -> Baseline {
        let parts: Vec<(IndexPart, f64)> = IndexPart::ALL
            .into_iter()
            .filter_map(|part| {
                let costs: Vec<f64> = probes.iter().filter_map(|probe| cost_of(probe, part)).collect();
                Some((part, median(&costs)?))
            })
            .collect();
        let groups = IndexGroup::ALL.map(|group| {
            let scores: Vec<f64> = probes.iter().filter_map(|probe| score(&parts, group, probe)).collect();
            Level::from_scores(&scores, least)
        });
        Baseline { parts, groups }
    }

    /// How far a group's parts are from usual: as a logarithm of costs, and in standard deviations; above 0 is slower.
    pub(super) fn deviation(&self, group: IndexGroup, probe: &Probe) -> Option<(f64, f64)> {
        let at = IndexGroup::ALL.iter().position(|one| *one == group)?;
        let level = self.groups[at].as_ref()?;
        let difference = score(&self.parts, group, probe)? - level.centre;
        let deviation = if difference > 0.0 { level.above } else { level.below };
        Some((difference, difference / deviation))
    }
}

impl Level {
    fn from_scores(scores: &[f64], least: f64) -> Option<Level> {
        let fleet = Fleet::from_values(scores, least / UNCERTAIN)?;
        let means: Vec<f64> =
            scores.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
        let centre = means.iter().sum::<f64>() / means.len().max(1) as f64;
        let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
        let varying = match means.len() {
            0..4 => 0.0,
            n => (squares / (n - 1) as f64 * BATCH as f64).sqrt(),
        };
        let deviation = |own: f64| UNCERTAIN * own.max(varying);
        Some(Level { centre: fleet.centre, above: deviation(fleet.above), below: deviation(fleet.below) })
    }
}

fn cost_of(probe: &Probe, part: IndexPart) -> Option<f64> {
    let (_, value) = probe.parts.iter().find(|(one, _)| *one == part)?;
    cost(part, *value)
}

/// The mean deviation of the group's parts from their usual costs.
fn score(usual: &[(IndexPart, f64)], group: IndexGroup, probe: &Probe) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for (part, usual) in usual.iter().filter(|(part, _)| part.group() == group) {
        if let Some(cost) = cost_of(probe, *part) {
            (sum, n) = (sum + cost - usual, n + 1.0);
        }
    }
    (n > 0.0).then(|| sum / n)
}
