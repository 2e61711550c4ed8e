//! Whether a pool admits a node, by its statement and its measured index, with every reason.

use crate::Timestamp;
use crate::pool::{Definition, MEMORY_TOLERANCE, Norm, Pool, PoolKind, no_index};
use crate::statement::{Feature, StatedPart, Statement};
use model::{IndexPart, Reading};
use serde::{Deserialize, Serialize};

/// Days after which a node is looked at again: once a week a machine that varies slowly is measured in full.
pub const RECHECK_DAYS: i64 = 7;
/// A part whose turns vary by more than this share of its tolerance was not measured well enough to be compared.
const WELL_MEASURED: f64 = 0.5;

/// The result of an admission check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "admission", rename_all = "snake_case")]
pub enum Admission {
    /// It is a member.
    Admitted {
        /// What could not be checked, in words.
        notes: Vec<String>,
    },
    /// It is the first member and defines the pool.
    Founds {
        /// The definition of the pool.
        definition: Box<Definition>,
        /// What could not be read, in words.
        notes: Vec<String>,
    },
    /// It waits until these reasons are remedied.
    Waits {
        /// Every reason.
        reasons: Vec<Reason>,
    },
}

/// Why a node waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Its subject: a feature, an index part, `memory_bytes`, `index`, `slots`, `pool`, `node`.
    pub about: String,
    /// In words: lower case, no full stop.
    pub why: String,
    /// Whether a new measurement may remedy it; otherwise the machine or the pool must change.
    pub measure_again: bool,
}

fn reason(about: impl ToString, why: String) -> Reason {
    Reason { about: about.to_string(), why, measure_again: false }
}

/// Whether `statement`'s node is a member of `pool`, whose members are `members` (their last statements).
pub fn admit(pool: &Pool, members: &[&Statement], statement: &Statement) -> Admission {
    let mut reasons = Vec::new();
    if statement.pool != pool.name {
        reasons
            .push(reason("pool", format!("it asks for pool {}, and this is {}", statement.pool, pool.name)));
    }
    if statement.slots.is_empty() && pool.kind == PoolKind::Strict {
        reasons.push(reason("slots", "it has no slots: nothing can be judged strictly on it".into()));
    }
    if let Some(twin) = members.iter().find(|member| is_twin(member, statement)) {
        let why = "another machine of this name is a member: give one of them another name";
        reasons.push(reason("node", format!("{why} (boot ids {} and {})", boot(twin), boot(statement))));
    }
    let (notes, founded) = match (&pool.definition, pool.kind) {
        (Some(definition), _) => (against(definition, statement, &mut reasons), None),
        (None, PoolKind::Relaxed) => (Vec::new(), None),
        (None, PoolKind::Strict) => match Definition::founded_by(&[statement]) {
            Ok(definition) => (unchecked(&definition), Some(Box::new(definition))),
            Err(why) => {
                reasons.push(reason("index", why));
                (Vec::new(), None)
            }
        },
    };
    match founded {
        _ if !reasons.is_empty() => Admission::Waits { reasons },
        Some(definition) => Admission::Founds { definition, notes },
        None => Admission::Admitted { notes },
    }
}

/// A member of the same name that is on another machine: another fingerprint and another start of the system at once. (A machine
/// that was changed was started again, too, but has left then; the caller leaves out members that are gone.)
fn is_twin(member: &Statement, statement: &Statement) -> bool {
    let differs = |a: &Reading<String>, b: &Reading<String>| matches!((a, b), (Reading::Known(a), Reading::Known(b)) if a != b);
    member.node == statement.node
        && member.fingerprint != statement.fingerprint
        && differs(&member.boot_id, &statement.boot_id)
}

fn boot(statement: &Statement) -> &str {
    statement.boot_id.known().map_or("unknown", String::as_str)
}

fn unchecked(definition: &Definition) -> Vec<String> {
    definition.unchecked.iter().map(|(feature, why)| format!("{feature} is not checked: {why}")).collect()
}

/// Adds every way in which a node is not as it should be; returns what was not checked.
fn against(definition: &Definition, statement: &Statement, reasons: &mut Vec<Reason>) -> Vec<String> {
    for (feature, accepted) in &definition.equal {
        reasons.extend(unequal(*feature, accepted, &statement.feature(*feature)));
    }
    reasons.extend(definition.memory_bytes.and_then(|bytes| memory(bytes, &statement.memory_bytes)));
    let parts = statement.index.as_ref().map_or(&[][..], |index| &index.parts);
    match statement.index.is_some() || definition.index.is_empty() {
        true => reasons.extend(definition.index.iter().filter_map(|(part, norm)| beyond(*part, norm, parts))),
        false => reasons.push(reason("index", no_index(&statement.node))),
    }
    let unasked = parts.iter().filter(|part| !definition.index.contains_key(&part.part));
    let unasked = unasked.map(|part| format!("{} is not checked: the pool names no value", part.part.name()));
    unchecked(definition).into_iter().chain(unasked).collect()
}

pub(crate) fn unequal(feature: Feature, accepted: &[String], stated: &Reading<String>) -> Option<Reason> {
    let wanted = || match accepted {
        [one] => format!("the pool's is {one}"),
        some => format!("the pool accepts {}", some.join(" or ")),
    };
    match stated {
        Reading::Known(value) if accepted.contains(value) => None,
        Reading::Known(value) => {
            Some(reason(feature, format!("{}, and {}", differing(value, accepted), wanted())))
        }
        Reading::Unknown(why) => Some(reason(feature, format!("not known ({why}), and {}", wanted()))),
    }
}

/// Of a list of settings only those that differ from the first accepted list, since lists are long.
fn differing(value: &str, accepted: &[String]) -> String {
    let entries = |text: &str| text.split("; ").map(String::from).collect::<Vec<_>>();
    let (own, wanted) = (entries(value), entries(accepted.first().map_or("", String::as_str)));
    let odd: Vec<String> = own.iter().filter(|entry| !wanted.contains(entry)).cloned().collect();
    match own.len() > 1 && !odd.is_empty() {
        true => format!("it has {}", odd.join("; ")),
        false => format!("it is {value}"),
    }
}

pub(crate) fn memory(wanted: u64, stated: &Reading<u64>) -> Option<Reason> {
    let gib = |bytes: u64| bytes as f64 / f64::from(1u32 << 30);
    let why = match stated {
        Reading::Known(bytes) if (gib(*bytes) / gib(wanted) - 1.0).abs() <= MEMORY_TOLERANCE => return None,
        Reading::Known(bytes) => {
            format!("{:.1} GiB, and the pool's members have {:.1} GiB", gib(*bytes), gib(wanted))
        }
        Reading::Unknown(why) => {
            format!("not known ({why}), and the pool's members have {:.1} GiB", gib(wanted))
        }
    };
    Some(reason("memory_bytes", why))
}

pub(crate) fn beyond(part: IndexPart, norm: &Norm, parts: &[StatedPart]) -> Option<Reason> {
    let again = |why: String| Some(Reason { measure_again: true, ..reason(part.name(), why) });
    let measured = |part: &&StatedPart| norm.difference_pct(part.part, part.value).is_some();
    let Some(stated) = parts.iter().filter(|one| one.part == part).find(measured) else {
        return again("it was not measured, and the pool names a value".into());
    };
    let difference = norm.difference_pct(part, stated.value)?;
    let Norm { value: wanted, tolerance_pct } = norm;
    if difference.abs() > *tolerance_pct {
        let way = if difference > 0.0 { "slower" } else { "faster" };
        let unit = part.unit();
        return again(format!(
            "{:.2} {unit} is {:.1} % {way} than the pool's {wanted:.2} {unit}, beyond its tolerance of {tolerance_pct:.1} % by {:.1} %",
            stated.value,
            difference.abs(),
            difference.abs() - tolerance_pct
        ));
    }
    if stated.repeatability_pct > WELL_MEASURED * tolerance_pct {
        return again(format!(
            "its turns vary by {:.1} %, too much to compare to {tolerance_pct:.1} %: make the machine quiet and measure again",
            stated.repeatability_pct
        ));
    }
    None
}

/// Why a member must be checked again, in words; empty: it need not. `admitted` is its statement at the last check.
pub fn rechecks(admitted: Option<&Statement>, now_stated: &Statement, now: Timestamp) -> Vec<String> {
    let Some(last) = admitted else { return vec!["it starts".into()] };
    let mut why = Vec::new();
    let mut changed = |what: &str, before: &Reading<String>, after: &Reading<String>| {
        if before != after {
            let told = |reading: &Reading<String>| reading.known().cloned().unwrap_or("unknown".into());
            why.push(format!("{what} changed from {} to {}", told(before), told(after)));
        }
    };
    changed("its boot id", &last.boot_id, &now_stated.boot_id);
    changed("memory", &size(&last.memory_bytes), &size(&now_stated.memory_bytes));
    for feature in Feature::ALL {
        changed(feature.name(), &last.feature(feature), &now_stated.feature(feature));
    }
    if last.at.plus_secs(RECHECK_DAYS * 86_400) <= now {
        why.push(format!("it was looked at {:.0} days ago", now.secs_since(last.at) / 86_400.0));
    }
    why
}

fn size(bytes: &Reading<u64>) -> Reading<String> {
    bytes.clone().map(|bytes| format!("{bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{statement, with_part};
    use proptest::prelude::*;

    fn metal() -> Pool {
        let definition = Definition::founded_by(&[&statement("a")]).unwrap();
        Pool { definition: Some(definition), ..Pool::new("metal", PoolKind::Strict).unwrap() }
    }

    /// `reasons`: each as `about: why`, of which only the beginning is compared.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Statement), reasons: &[&str]) {
        let mut node = statement("b");
        change(&mut node);
        let told = match admit(&metal(), &[&statement("a")], &node) {
            Admission::Waits { reasons } => {
                reasons.iter().map(|r| format!("{}: {}", r.about, r.why)).collect()
            }
            Admission::Admitted { .. } => Vec::new(),
            founds => panic!("{founds:?}"),
        };
        assert_eq!(told.len(), reasons.len(), "{told:?}");
        for (told, expected) in told.iter().zip(reasons) {
            assert!(told.starts_with(expected), "{told}\nexpected: {expected}");
        }
    }

    fn times(part: IndexPart, factor: f64) -> impl FnOnce(&mut Statement) {
        move |node| *node = with_part(node.clone(), part, factor)
    }

    #[test]
    fn equal_machines_are_admitted() {
        check(|_| {}, &[]);
        check(|node| node.memory_bytes = Reading::Known((256 << 30) - (3 << 30)), &[]);
        check(times(IndexPart::Dram, 1.019), &[]);
        check(times(IndexPart::Dram, 0.981), &[]);
        check(
            |node| node.mitigations.values_mut().for_each(|m| *m = m.replace("disabled", "vulnerable")),
            &[],
        );
    }

    #[test]
    fn each_difference_has_its_reason() {
        let known = |text: &str| Reading::Known(text.to_string());
        check(
            |node| node.microcode = known("0x5003303"),
            &["microcode: it is 0x5003303, and the pool's is 0x5003604"],
        );
        check(
            |node| node.kernel = Reading::unknown("no /proc/sys/kernel/osrelease"),
            &["kernel: not known (no /proc/sys/kernel/osrelease), and the pool's is 6.12.48"],
        );
        check(
            |node| node.isolation = known("vm: tcg, Linux 6.1.0, 3072 MiB"),
            &["isolation: it is vm: tcg, Linux 6.1.0, 3072 MiB, and the pool's is sandbox"],
        );
        check(
            |node| drop(node.tuning.insert("turbo".into(), "on".into())),
            &["tuning: it has turbo: on, and the pool's is governor: performance; turbo: off"],
        );
        check(|node| drop(node.slots.pop()), &["slots: it is 1 of 1 CPU + 1 idle siblings, partition, and"]);
        check(|node| node.slots.clear(), &["slots: it has no slots", "slots: not known"]);
        check(
            |node| node.memory_bytes = Reading::Known(240 << 30),
            &["memory_bytes: 240.0 GiB, and the pool's members have 256.0 GiB"],
        );
        check(
            |node| node.index = None,
            &["index: node b has no power index; `tauto index` on b measures it"],
        );
        check(
            times(IndexPart::Dram, 1.05),
            &[
                "dram_ns: 94.50 ns is 5.0 % slower than the pool's 90.00 ns, beyond its tolerance of 2.0 % by 3.0 %",
            ],
        );
        check(
            times(IndexPart::Clock, 1.25),
            &["clock_ghz: 3.75 GHz is 20.0 % faster than the pool's 3.00 GHz"],
        );
        check(
            |node| node.index.as_mut().unwrap().parts[1].repeatability_pct = 0.8,
            &["clock_ghz: its turns vary by 0.8 %, too much to compare to 1.0 %"],
        );
        check(|node| node.index.as_mut().unwrap().parts.truncate(4), &["syscall_ns: it was not measured"]);
        check(times(IndexPart::Dram, f64::NAN), &["dram_ns: it was not measured"]);
        check(|node| node.pool = "cloud".into(), &["pool: it asks for pool cloud, and this is metal"]);
        check(
            |node| (node.microcode, node.version) = (known("0x1"), "2.0.0".into()),
            &["microcode: it is 0x1", "version: it is 2.0.0"],
        );
    }

    #[test]
    fn two_machines_of_one_name_are_noticed() {
        let other = |fingerprint: &str, boot: &str| {
            let boot_id = Reading::Known(boot.into());
            Statement { fingerprint: fingerprint.into(), boot_id, ..statement("a") }
        };
        let waits =
            |node: &Statement| matches!(admit(&metal(), &[&statement("a")], node), Admission::Waits { .. });
        assert!(waits(&other("ffff", "b1")));
        assert!(!waits(&other("0123456789abcdef", "b1")), "it was started anew");
        assert!(!waits(&other("ffff", "b0")), "something was changed on it");
    }

    #[test]
    fn the_first_member_founds_the_pool() {
        let empty = Pool::new("metal", PoolKind::Strict).unwrap();
        let mut first = statement("a");
        first.microcode = Reading::unknown("hidden by the host");
        let Admission::Founds { definition, notes } = admit(&empty, &[], &first) else { panic!("founds") };
        assert_eq!(notes, ["microcode is not checked: hidden by the host"]);
        let pool = Pool { definition: Some(*definition), ..empty.clone() };
        assert_eq!(admit(&pool, &[&first], &statement("b")), Admission::Admitted { notes });
        first.index = None;
        assert!(matches!(admit(&empty, &[], &first), Admission::Waits { .. }));
        let cloud = Pool::new("cloud", PoolKind::Relaxed).unwrap();
        let any = Statement { pool: "cloud".into(), index: None, ..first };
        assert_eq!(admit(&cloud, &[], &any), Admission::Admitted { notes: vec![] });
    }

    #[test]
    fn members_are_looked_at_anew() {
        let (member, now) = (statement("a"), Timestamp(2_000_000));
        assert_eq!(rechecks(None, &member, now), ["it starts"]);
        assert_eq!(rechecks(Some(&member), &member, now), Vec::<String>::new());
        let mut changed = member.clone();
        changed.boot_id = Reading::Known("b1".into());
        changed.kernel = Reading::Known("6.12.50".into());
        assert_eq!(
            rechecks(Some(&member), &changed, now),
            ["its boot id changed from b0 to b1", "kernel changed from 6.12.48 to 6.12.50"]
        );
        let later = now.plus_secs(8 * 86_400);
        assert_eq!(rechecks(Some(&member), &member, later), ["it was looked at 8 days ago"]);
    }

    proptest! {
        /// Within the tolerance it is admitted and beyond it waits, whichever way; a definition from a member admits it.
        #[test]
        fn tolerances_hold(part in 0usize..5, percent in -20.0f64..20.0) {
            let founder = statement("a");
            let stated = founder.index.as_ref().unwrap().parts[part];
            let norm = metal().definition.unwrap().index[&stated.part];
            prop_assume!((percent.abs() - norm.tolerance_pct).abs() > 1e-6);
            let cost = 1.0 + percent / 100.0;
            let factor = if stated.part.more_is_better() { 1.0 / cost } else { cost };
            let node = with_part(statement("b"), stated.part, factor);
            let admitted = matches!(admit(&metal(), &[], &node), Admission::Admitted { .. });
            prop_assert_eq!(admitted, percent.abs() <= norm.tolerance_pct);
            let own = Pool { definition: Definition::founded_by(&[&node]).ok(), ..metal() };
            prop_assert_eq!(admit(&own, &[], &node), Admission::Admitted { notes: vec![] });
        }
    }
}
