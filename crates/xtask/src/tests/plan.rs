//! Which tests belong to which tier, and which of them run beside each other.

use super::Suite;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tier {
    /// What a change is checked with while it is made: all fast tests, and the binary from outside in brief.
    Short,
    /// What `all` adds to `short`.
    Rest,
    /// Everything.
    All,
}

/// A suite, or some of its tests.
type Chosen = (&'static str, &'static [&'static str]);

/// Tests that drive the binary and belong to the short tier. Names are matched in part, as by `cargo test NAME`.
const BRIEF: [Chosen; 4] = [
    ("e2e::hostile", &["root::"]),
    ("e2e::judging", &["every_verdict_is_given", "one_test_leaves_nothing", "three_examples"]),
    ("e2e::api", &["a_submission_is_judged_by_the_service"]),
    ("e2e::audit", &[]),
];

/// Tests that do not drive the binary and take long, for simulations, databases and brokers: not in the short tier.
const LONG: [Chosen; 4] =
    [("fleet::nats", &[]), ("store::contract", &[]), ("store::killed", &[]), ("cli::fleet_worker", &[])];

/// Suites in virtual machines. They compute under emulation, in a lane of their own.
const MACHINES: [&str; 2] = ["e2e::vm", "e2e::server"];

/// Suites that mostly wait, for services, brokers, databases and browsers; they run beside those in virtual machines.
const WAITING: [&str; 15] = [
    "cli::fleet_worker",
    "e2e::api",
    "e2e::fleet_chaos",
    "e2e::fleet_faults",
    "e2e::fleet_stage",
    "e2e::fleet_versions",
    "e2e::judge0",
    "e2e::judgehost",
    "e2e::pages",
    "e2e::service_chaos",
    "e2e::service_faults",
    "e2e::service_operation",
    "fleet::nats",
    "store::contract",
    "store::killed",
];

/// Part of a suite, as one process runs it.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    pub(super) suite: &'a Suite,
    /// Only tests whose names hold one of these; all where there is none.
    pub(super) only: Vec<&'static str>,
    /// Not those whose names hold one of these.
    pub(super) skip: Vec<&'static str>,
}

/// Parts that run at the same time as others: `lanes` beside each other, what is in a lane one after the other.
pub(super) struct Stage<'a> {
    pub(super) name: &'static str,
    pub(super) lanes: Vec<Vec<Part<'a>>>,
}

/// What a tier runs, in order.
///
/// # Errors
/// A list names a suite that does not exist.
pub(super) fn stages(suites: &[Suite], tier: Tier) -> Result<Vec<Stage<'_>>, String> {
    let named = BRIEF.iter().chain(&LONG).map(|(name, _)| *name).chain(MACHINES).chain(WAITING);
    for name in named {
        if !suites.iter().any(|suite| suite.name == name) {
            return Err(format!("there is no suite {name}: mend the lists in {}", file!()));
        }
    }
    let parts = |tier| suites.iter().filter_map(move |suite| part(suite, tier));
    let one = |name, parts: Vec<_>| Stage { name, lanes: vec![parts] };
    let short = || {
        let (inside, outside) = parts(Tier::Short).partition(|part| !drives_the_binary(part.suite));
        vec![one("unit tests", inside), one("the binary, in brief", outside)]
    };
    let rest = |tier| {
        let within = |list: &[&str], part: &Part<'_>| list.contains(&part.suite.name.as_str());
        let (machines, others): (Vec<_>, Vec<_>) = parts(tier).partition(|part| within(&MACHINES, part));
        let (waiting, alone) = others.into_iter().partition(|part| within(&WAITING, part));
        let beside = Stage { name: "virtual machines and services", lanes: vec![waiting, machines] };
        vec![beside, one("one at a time", alone)]
    };
    let stages = match tier {
        Tier::Short => short(),
        Tier::Rest | Tier::All => rest(tier),
    };
    Ok(stages.into_iter().filter(|stage| stage.lanes.iter().any(|lane| !lane.is_empty())).collect())
}

/// Tests of the programs that `e2e` is made of do not.
fn drives_the_binary(suite: &Suite) -> bool {
    suite.name.starts_with("e2e::") && !suite.name.starts_with("e2e::bin::")
}

fn part(suite: &Suite, tier: Tier) -> Option<Part<'_>> {
    let chosen =
        |list: &'static [Chosen]| list.iter().find(|(name, _)| suite.name == *name).map(|(_, tests)| *tests);
    let all = Part { suite, only: vec![], skip: vec![] };
    let only = |tests: &[&'static str]| Some(Part { only: tests.to_vec(), ..all.clone() });
    let without =
        |tests: &[&'static str]| (!tests.is_empty()).then(|| Part { skip: tests.to_vec(), ..all.clone() });
    match (tier, drives_the_binary(suite)) {
        (Tier::All, _) => Some(all),
        (Tier::Short, true) => chosen(&BRIEF).and_then(only),
        (Tier::Rest, true) => chosen(&BRIEF).map_or(Some(all.clone()), without),
        (Tier::Short, false) => chosen(&LONG).map_or(Some(all.clone()), without),
        (Tier::Rest, false) => chosen(&LONG).and_then(only),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn suites() -> Vec<Suite> {
        let own = ["store", "e2e::hostile", "e2e::bin::bars", "e2e::vm", "e2e::server", "e2e::bench"];
        let named = BRIEF.iter().chain(&LONG).map(|(name, _)| *name).chain(WAITING);
        let names: BTreeSet<&str> = own.into_iter().chain(named).collect();
        let suite = |name: &str| Suite {
            name: name.into(),
            executable: "x".into(),
            directory: ".".into(),
            libtest: true,
        };
        names.into_iter().map(suite).collect()
    }

    /// What runs of a suite, told by its filters.
    fn ran(tier: Tier) -> Vec<(String, Vec<&'static str>, Vec<&'static str>)> {
        let suites = suites();
        let stages = stages(&suites, tier).expect("the lists name suites that exist");
        let parts = stages.into_iter().flat_map(|stage| stage.lanes).flatten();
        parts.map(|part| (part.suite.name.clone(), part.only, part.skip)).collect()
    }

    #[test]
    fn short_and_rest_together_are_all_and_nothing_is_run_twice() {
        let (short, rest, all) = (ran(Tier::Short), ran(Tier::Rest), ran(Tier::All));
        for suite in suites() {
            let of = |parts: &[(String, Vec<&'static str>, Vec<&'static str>)]| {
                parts.iter().find(|(name, ..)| *name == suite.name).cloned()
            };
            assert_eq!(
                of(&all).map(|(_, only, skip)| (only, skip)),
                Some((vec![], vec![])),
                "{}",
                suite.name
            );
            match (of(&short), of(&rest)) {
                (Some((_, only, skip)), None) | (None, Some((_, only, skip))) => {
                    assert!(only.is_empty() && skip.is_empty(), "{}", suite.name);
                }
                (Some((_, only, skip)), Some((_, others, left))) => {
                    assert_eq!((only, skip), (left, others), "{}", suite.name);
                }
                (None, None) => panic!("{} is never run", suite.name),
            }
        }
    }

    #[test]
    fn a_suite_that_is_gone_is_named() {
        let mut suites = suites();
        suites.retain(|suite| suite.name != "e2e::vm");
        let error = stages(&suites, Tier::Short).err().expect("an error");
        assert!(error.contains("e2e::vm"), "{error}");
    }
}
