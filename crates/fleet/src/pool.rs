//! A pool: nodes whose times are comparable. In what its members must be equal, and how closely.

use crate::health::cost;
use crate::statement::{Feature, StatedPart, Statement};
use model::{IndexGroup, IndexPart, Reading};
use serde::{Deserialize, Serialize};
use stats::median;
use std::collections::BTreeMap;

/// How equal the members of a pool are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// Equal hardware and equal measured power: verdicts on time count.
    Strict,
    /// Any machine: the cloud.
    Relaxed,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name: 1 to 32 of a–z, 0–9, `-`, since it becomes part of a subject of the message system.
    pub name: String,
    /// How equal its members are.
    pub kind: PoolKind,
    /// Seconds after which a strict pool's idle nodes take relaxed work that nobody else has taken; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helps_after_secs: Option<u32>,
    /// What its members must be like; `None`: as the first one that is admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
}

/// Requirements for members of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PoolDefinition))]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Accepted values by feature. A feature that is absent may have any value. Usually there is one value each; add the new version
    /// or kernel before an upgrade.
    #[serde(default)]
    pub equal: BTreeMap<Feature, Vec<String>>,
    /// Memory size of a member in bytes, within 2 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Required power index of a member, by part.
    #[serde(default)]
    pub index: BTreeMap<IndexPart, Norm>,
    /// Features that the first members could not report, and why. They are not checked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unchecked: BTreeMap<Feature, String>,
}

/// Required value of a part of the power index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = IndexNorm))]
#[serde(deny_unknown_fields)]
pub struct Norm {
    /// Value, in the part's unit.
    pub value: f64,
    /// Tolerance in percent of the time that the part takes, in both directions.
    pub tolerance_pct: f64,
}

/// Equal memory modules leave slightly different sizes, by what firmware and kernel keep for themselves (proc_meminfo(5),
/// MemTotal); one module more or less is at least a sixteenth.
pub const MEMORY_TOLERANCE: f64 = 0.02;
/// The tolerance of a part in robust deviations of its founders' turns. Indices of one machine vary about as much as the
/// turns of one of them, bandwidth twice (docs/power-index.md, "How far it repeats").
const DEVIATIONS: f64 = 4.0;
/// Tolerances are at least this, in percent: what the settle rule's reach takes for nothing on a quiet server, and what
/// the kernel's parts vary by from boot to boot.
const fn least_tolerance(group: IndexGroup) -> f64 {
    match group {
        IndexGroup::Core => 1.0,
        IndexGroup::Memory => 2.0,
        IndexGroup::Kernel => 5.0,
    }
}
/// And at most this: beyond, a pool's members are not equal, whatever the noise.
pub(crate) const MOST_TOLERANCE: f64 = 10.0;

/// An error in the text of a pool.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// It is no TOML of this form; the text names the place.
    #[error("{0}")]
    Text(String),
    /// A field has an impossible value.
    #[error("{field}: {why}")]
    Field {
        /// The field.
        field: String,
        /// What is wrong with it, and what would be right.
        why: String,
    },
}

impl Pool {
    /// A pool whose first member defines it.
    pub fn new(name: &str, kind: PoolKind) -> Result<Pool, PoolError> {
        Pool { name: name.into(), kind, helps_after_secs: None, definition: None }.checked()
    }

    /// Reads a pool from its file.
    pub fn parse(text: &str) -> Result<Pool, PoolError> {
        toml::from_str::<Pool>(text).map_err(|e| PoolError::Text(e.to_string().trim().into()))?.checked()
    }

    /// Writes a pool as its file.
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    fn checked(self) -> Result<Pool, PoolError> {
        let wrong = |field: &str, why: &str| PoolError::Field { field: field.into(), why: why.into() };
        if !is_name(&self.name) {
            return Err(wrong("name", "1 to 32 of a-z, 0-9 and -"));
        }
        if self.kind == PoolKind::Relaxed && self.helps_after_secs.is_some() {
            return Err(wrong(
                "helps_after_secs",
                "is for strict pools: a relaxed one takes relaxed work anyway",
            ));
        }
        for (part, norm) in self.definition.iter().flat_map(|definition| &definition.index) {
            let field = || format!("definition.index.{}", part.name());
            if cost(*part, norm.value).is_none() {
                return Err(wrong(&field(), "value must be above 0"));
            }
            if !(norm.tolerance_pct > 0.0 && norm.tolerance_pct <= 100.0) {
                return Err(wrong(&field(), "tolerance_pct must be above 0 and at most 100"));
            }
        }
        for (feature, accepted) in self.definition.iter().flat_map(|definition| &definition.equal) {
            if accepted.is_empty() {
                return Err(wrong(
                    &format!("definition.equal.{feature}"),
                    "has no value\nhint: name at least one value, or leave it out",
                ));
            }
        }
        Ok(self)
    }
}

/// That a node has no power index, and what measures it.
pub(crate) fn no_index(node: &str) -> String {
    format!("node {node} has no power index; `tauto index` on {node} measures it")
}

/// Whether a text can be a token of a subject (NATS: no space, dot, `*` or `>`): names of pools.
pub fn is_name(name: &str) -> bool {
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(fine)
}

impl Definition {
    /// As a strict pool's first members are, who must be equal: everything they can tell, and the median of their indices.
    ///
    /// # Errors
    /// The statements lack something that a definition needs; the text says what.
    pub fn founded_by(founders: &[&Statement]) -> Result<Definition, String> {
        let Some(first) = founders.first() else {
            return Err("a pool is founded by one node at least".into());
        };
        for founder in founders {
            if founder.index.is_none() {
                return Err(no_index(&founder.node));
            }
            if founder.slots.is_empty() {
                return Err(format!("{}: no slots: nothing can be judged there", founder.node));
            }
        }
        let mut definition =
            Definition { memory_bytes: first.memory_bytes.known().copied(), ..Definition::default() };
        for feature in Feature::ALL {
            let told = first.feature(feature);
            if let Some(other) = founders.iter().find(|other| other.feature(feature).known() != told.known())
            {
                return Err(format!(
                    "{} and {} differ in {feature}: they cannot form a pool",
                    first.node, other.node
                ));
            }
            match told {
                Reading::Known(value) => drop(definition.equal.insert(feature, vec![value])),
                Reading::Unknown(why) => drop(definition.unchecked.insert(feature, why.into())),
            }
        }
        let parts: Vec<&StatedPart> =
            founders.iter().flat_map(|founder| founder.index.iter().flat_map(|index| &index.parts)).collect();
        definition.index = IndexPart::ALL
            .into_iter()
            .filter_map(|part| Some((part, Norm::from_founders(part, &parts)?)))
            .collect();
        Ok(definition)
    }

    /// How many times as long a program may take here as on a node with that index, at most: programs are mixtures of what
    /// the parts measure, so no more than by the part that is worst in comparison. At least 1; `None` where no part of core
    /// or memory is known of both. Parts of the kernel are left out: judged programs hardly use it.
    pub fn slower_at_most(&self, than: &[StatedPart]) -> Option<f64> {
        let ratio = |part: &StatedPart| {
            let norm = self.index.get(&part.part).filter(|_| part.part.group() != IndexGroup::Kernel)?;
            Some((cost(part.part, norm.value)? - cost(part.part, part.value)?).exp())
        };
        than.iter().filter_map(ratio).reduce(f64::max).map(|most| most.max(1.0))
    }
}

impl Norm {
    /// The median of what founders can do.
    fn from_founders(part: IndexPart, founders: &[&StatedPart]) -> Option<Norm> {
        let of = |read: fn(&StatedPart) -> f64| {
            median(&founders.iter().filter(|one| one.part == part).map(|one| read(one)).collect::<Vec<_>>())
        };
        let value = of(|one| one.value).filter(|value| cost(part, *value).is_some())?;
        let deviation = of(|one| one.repeatability_pct)?;
        let tolerance_pct = (DEVIATIONS * deviation).clamp(least_tolerance(part.group()), MOST_TOLERANCE);
        Some(Norm { value, tolerance_pct })
    }

    /// How far a value is away, in percent of what it costs; above 0 is slower.
    pub(crate) fn difference_pct(&self, part: IndexPart, value: f64) -> Option<f64> {
        Some(100.0 * (cost(part, value)? - cost(part, self.value)?).exp_m1())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{parts, statement, with_part};

    #[test]
    fn a_pool_is_kept_as_a_file() {
        let definition = Definition::founded_by(&[&statement("a")]).unwrap();
        let pool = Pool { definition: Some(definition), ..Pool::new("metal", PoolKind::Strict).unwrap() };
        assert_eq!(Pool::parse(&pool.to_text()), Ok(pool.clone()), "{}", pool.to_text());
        let short = Pool::parse("name = \"cloud\"\nkind = \"relaxed\"\n").unwrap();
        assert_eq!(short, Pool::new("cloud", PoolKind::Relaxed).unwrap());
        let file = "name = \"m\"\nkind = \"strict\"\n[definition.equal]\ncpu_model = [\"Xeon\"]\n\
                    [definition.index.dram_ns]\nvalue = 90\ntolerance_pct = 3.0\n";
        let norm = Pool::parse(file).unwrap().definition.unwrap().index[&IndexPart::Dram];
        assert_eq!(norm, Norm { value: 90.0, tolerance_pct: 3.0 });
    }

    #[track_caller]
    fn check_refused(text: &str, told: &str) {
        let error = Pool::parse(text).unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_field() {
        check_refused("name = \"Metal.1\"\nkind = \"strict\"", "name: 1 to 32 of");
        check_refused("name = \"m\"\nkind = \"loose\"", "loose");
        check_refused("name = \"m\"\nkind = \"strict\"\nhelp = 1", "help");
        check_refused(
            "name = \"m\"\nkind = \"relaxed\"\nhelps_after_secs = 1",
            "helps_after_secs: is for strict",
        );
        let index = "name = \"m\"\nkind = \"strict\"\n[definition.index.dram_ns]\n";
        check_refused(&format!("{index}value = 0.0\ntolerance_pct = 1.0"), "definition.index.dram_ns: value");
        check_refused(&format!("{index}value = 9.0\ntolerance_pct = 0.0"), "dram_ns: tolerance_pct");
        check_refused(
            "name = \"m\"\nkind = \"strict\"\n[definition.equal]\nkernel = []",
            "definition.equal.kernel",
        );
    }

    #[test]
    fn a_founder_tells_what_it_can() {
        let mut founder = statement("a");
        founder.microcode = Reading::unknown("not reported");
        let definition = Definition::founded_by(&[&founder]).unwrap();
        assert_eq!(definition.unchecked, BTreeMap::from([(Feature::Microcode, "not reported".to_string())]));
        assert_eq!(definition.equal.len(), Feature::ALL.len() - 1);
        let tolerance = |part| definition.index[&part].tolerance_pct;
        assert_eq!(tolerance(IndexPart::Clock), 1.0, "the least of the core");
        assert_eq!(tolerance(IndexPart::Bandwidth), 6.0, "four deviations");
        let three = ["a", "b", "c"].map(statement);
        let three = [&with_part(three[0].clone(), IndexPart::Dram, 1.1), &three[1], &three[2]];
        assert_eq!(Definition::founded_by(&three).unwrap().index[&IndexPart::Dram].value, 90.0, "the median");
        let told = Definition::founded_by(&[&statement("b"), &founder]).unwrap_err();
        assert_eq!(told, "b and a differ in microcode: they cannot form a pool");
        founder.index = None;
        assert!(Definition::founded_by(&[&founder]).unwrap_err().contains("tauto index"));
    }

    #[test]
    fn programs_are_slower_by_the_worst_part_at_most() {
        let definition = Definition::founded_by(&[&statement("a")]).unwrap();
        let mut cloud = parts();
        assert_eq!(definition.slower_at_most(&cloud), Some(1.0));
        cloud[0].value *= 1.3;
        cloud[2].value *= 2.0;
        cloud[4].value /= 9.0;
        let most = definition.slower_at_most(&cloud).unwrap();
        assert!((most - 1.3).abs() < 1e-9, "{most}");
        assert_eq!(definition.slower_at_most(&cloud[4..]), None);
    }
}
