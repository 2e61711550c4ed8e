//! The best score there is.

use super::legacy::ignores_sample;
use super::{Member, legacy_grading, members};
use crate::package::{Grading, GroupSettings, Package, ScoreMode, TestGroup};

/// The best score a submission can have, where the package tells: the highest, or the lowest where low
/// scores are good. `None` in pass-fail problems and where there is no bound.
///
/// 2025-09: `max_score` of `secret`. Legacy: the bound of the range of the test data; without one, what the
/// grader makes of the best of its members, a test case being worth its `accept_score` unless scores come
/// from the validator (`own_scores`).
pub fn max_score(package: &Package, own_scores: bool) -> Option<f64> {
    if !package.scoring {
        return None;
    }
    if legacy_grading(package) {
        return best(package, &package.data, own_scores);
    }
    package.data.groups.iter().find(|g| g.name == "secret")?.settings.max_score
}

/// The best score a test group can have, where the package tells.
pub(super) fn group_max(package: &Package, group: &TestGroup, own_scores: bool) -> Option<f64> {
    if legacy_grading(package) { best(package, group, own_scores) } else { group.settings.max_score }
}

fn best(package: &Package, group: &TestGroup, own_scores: bool) -> Option<f64> {
    let bound = group.settings.range.map(|(low, high)| if package.maximise { high } else { low });
    if let Some(bound) = bound.filter(|b| b.is_finite()) {
        return Some(bound);
    }
    let skips_sample = group.name.is_empty() && ignores_sample(&group.settings);
    let parts = members(group).into_iter().filter(|m| !(skips_sample && m.name() == "sample"));
    let scores: Vec<f64> = parts
        .filter(|m| !matches!(m, Member::Group(inner) if inner.all_cases().is_empty()))
        .map(|m| match m {
            Member::Case(_) if own_scores => None,
            Member::Case(_) => Some(group.settings.accept_score),
            Member::Group(inner) => best(package, inner, own_scores),
        })
        .collect::<Option<_>>()?;
    combine(&group.settings, &scores)
}

fn combine(settings: &GroupSettings, scores: &[f64]) -> Option<f64> {
    let Grading::LegacyDefault { score, .. } = &settings.grading else { return None };
    match score {
        ScoreMode::Sum => Some(scores.iter().sum()),
        ScoreMode::Average if scores.is_empty() => None,
        ScoreMode::Average => Some(scores.iter().sum::<f64>() / scores.len() as f64),
        ScoreMode::Min => scores.iter().copied().reduce(f64::min),
        ScoreMode::Max => scores.iter().copied().reduce(f64::max),
    }
}
