//! A node's statement compared with its pool's requirements, point by point, for display.

use crate::admission::{beyond, memory, unequal};
use crate::pool::Definition;
use crate::statement::{Feature, Statement};
use model::{IndexPart, Reading};
use serde::{Deserialize, Serialize};

/// One point of a statement, with the pool's requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// A feature, an index part, or `memory_bytes`.
    pub about: String,
    /// What the node states.
    pub own: Reading<String>,
    /// What the pool asks for, in words; `None`: nothing.
    pub pool: Option<String>,
    /// Whether it meets the requirement; `None`: the pool has none.
    pub fits: Option<bool>,
    /// How far an index part is from the pool's, in percent of what it costs; above 0 is slower.
    pub away_pct: Option<f64>,
    /// Why it does not fit, in words.
    pub why: Option<String>,
}

/// Every point that the node states or the pool asks for: features, memory, parts of the index.
pub fn compare(definition: Option<&Definition>, statement: &Statement) -> Vec<Point> {
    let none = Definition::default();
    let definition = definition.unwrap_or(&none);
    let features = Feature::ALL.into_iter().map(|feature| feature_point(definition, statement, feature));
    let memory = memory_point(definition, statement);
    let parts = IndexPart::ALL.into_iter().filter_map(|part| part_point(definition, statement, part));
    features.chain([memory]).chain(parts).collect()
}

fn feature_point(definition: &Definition, statement: &Statement, feature: Feature) -> Point {
    let own = statement.feature(feature);
    let accepted = definition.equal.get(&feature);
    let why = accepted.and_then(|accepted| unequal(feature, accepted, &own)).map(|reason| reason.why);
    let pool = accepted.map(|accepted| accepted.join(" or "));
    let fits = pool.is_some().then_some(why.is_none());
    Point { about: feature.name().into(), own, pool, fits, away_pct: None, why }
}

fn memory_point(definition: &Definition, statement: &Statement) -> Point {
    let gib = |bytes: &u64| format!("{:.1} GiB", *bytes as f64 / f64::from(1u32 << 30));
    let own = match &statement.memory_bytes {
        Reading::Known(bytes) => Reading::Known(gib(bytes)),
        Reading::Unknown(why) => Reading::Unknown(why.clone()),
    };
    let pool = definition.memory_bytes.as_ref().map(gib);
    let wrong = definition.memory_bytes.and_then(|bytes| memory(bytes, &statement.memory_bytes));
    let fits = pool.is_some().then_some(wrong.is_none());
    let why = wrong.map(|reason| reason.why);
    Point { about: "memory_bytes".into(), own, pool, fits, away_pct: None, why }
}

/// `None`: neither of both knows of it.
fn part_point(definition: &Definition, statement: &Statement, part: IndexPart) -> Option<Point> {
    let unit = part.unit();
    let parts = statement.index.as_ref().map_or(&[][..], |index| &index.parts);
    let stated = parts.iter().find(|stated| stated.part == part);
    let norm = definition.index.get(&part);
    if stated.is_none() && norm.is_none() {
        return None;
    }
    let own = match stated {
        Some(stated) => {
            Reading::Known(format!("{:.2} {unit} ± {:.1} %", stated.value, stated.repeatability_pct))
        }
        None => Reading::unknown("not measured"),
    };
    let pool = norm.map(|norm| format!("{:.2} {unit} ± {:.1} %", norm.value, norm.tolerance_pct));
    let why = norm.and_then(|norm| beyond(part, norm, parts)).map(|reason| reason.why);
    let fits = norm.is_some().then_some(why.is_none());
    let away_pct = norm.zip(stated).and_then(|(norm, stated)| norm.difference_pct(part, stated.value));
    Some(Point { about: part.name().into(), own, pool, fits, away_pct, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{statement, with_part};

    #[test]
    fn every_point_is_set_beside_the_pools() {
        let definition = Definition::founded_by(&[&statement("a")]).unwrap();
        let fine = compare(Some(&definition), &statement("b"));
        assert!(fine.iter().all(|point| point.fits == Some(true) && point.why.is_none()), "{fine:?}");
        let mut other = with_part(statement("b"), IndexPart::Dram, 1.05);
        other.microcode = Reading::Known("0x1".into());
        other.memory_bytes = Reading::unknown("hidden");
        let points = compare(Some(&definition), &other);
        let odd: Vec<&str> =
            points.iter().filter(|point| point.fits == Some(false)).map(|point| &*point.about).collect();
        assert_eq!(odd, ["microcode", "memory_bytes", "dram_ns"]);
        let dram = points.iter().find(|point| point.about == "dram_ns").unwrap();
        assert_eq!(dram.pool.as_deref(), Some("90.00 ns ± 2.0 %"));
        assert!((dram.away_pct.unwrap() - 5.0).abs() < 1e-9);
        assert!(dram.why.as_deref().unwrap().contains("5.0 % slower"));
    }

    #[test]
    fn nothing_is_asked_without_a_definition() {
        let points = compare(None, &statement("a"));
        assert!(points.iter().all(|point| point.fits.is_none() && point.pool.is_none()), "{points:?}");
        assert_eq!(points.len(), Feature::ALL.len() + 1 + statement("a").index.unwrap().parts.len());
    }
}
