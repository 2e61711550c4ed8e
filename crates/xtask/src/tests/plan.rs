//! Which tests belong to which tier, and which of them run beside each other.

use super::Suite;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tier {
    /// Builds all tests and runs none.
    Build,
    /// Builds the binary of `make demo`, with lints, and runs no test.
    Demo,
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
const BRIEF: [Chosen; 5] = [
    ("e2e::hostile", &["root::"]),
    ("e2e::judging", &["every_verdict_is_given", "one_test_leaves_nothing", "three_examples"]),
    ("e2e::api", &["a_submission_is_judged_by_the_service"]),
    ("e2e::audit", &[]),
    ("e2e::docs", &["first: "]),
];

/// Tests that do not drive the binary and take long, for simulations, databases and brokers: not in the short tier.
const LONG: [Chosen; 5] = [
    ("cli::fleet_worker", &[]),
    ("fleet::nats", &[]),
    ("store::contract", &[]),
    ("store::faults", &["(Postgres)"]),
    ("store::killed", &[]),
];

/// Tests in virtual machines. They compute under emulation, in a lane of their own.
const MACHINES: [Chosen; 6] = [
    ("e2e::clocks", &["a_virtual_server_counts_the_same"]),
    ("e2e::docs", &["in a virtual machine"]),
    ("e2e::numa_trace", &["two_nodes"]),
    ("e2e::server", &[]),
    ("e2e::vm", &[]),
    ("e2e::vm_slots", &[]),
];

/// Tests of services and fleets, which judge in slots. A small machine has one, for which they would wait beside each other.
const JUDGING: [Chosen; 9] = [
    ("e2e::api", &[]),
    ("e2e::export", &[]),
    ("e2e::fleet_chaos", &[]),
    ("e2e::fleet_faults", &[]),
    ("e2e::fleet_stage", &[]),
    ("e2e::fleet_versions", &[]),
    ("e2e::judge0", &[]),
    ("e2e::judging", &["example_packages_are_judged_as_they_promise"]),
    ("e2e::service_chaos", &[]),
];

/// Tests that mostly wait, for brokers, databases, browsers and other judges, and can wait for a slot, too.
const WAITING: [Chosen; 10] = [
    ("cli::fleet_worker", &[]),
    ("e2e::judgehost", &[]),
    ("e2e::pages", &[]),
    ("e2e::service_faults", &[]),
    ("e2e::service_operation", &[]),
    ("e2e::shadow", &[]),
    ("fleet::nats", &[]),
    ("store::contract", &[]),
    ("store::faults", &[]),
    ("store::killed", &[]),
];

/// Tests of what is measured, of how fast something is, and of how soon a program is ended. Nothing else runs beside them.
const MEASURING: [Chosen; 11] = [
    ("e2e::bench", &[]),
    ("e2e::disturbance", &[]),
    // It says how many CPUs are busy.
    ("e2e::docs", &["docs/bench.md"]),
    ("e2e::fleet_degraded", &[]),
    ("e2e::fleet_dispatch", &[]),
    ("e2e::hostile", &[]),
    ("e2e::index", &[]),
    ("e2e::lab", &[]),
    ("e2e::load", &[]),
    ("e2e::service_load", &[]),
    ("e2e::sweeps", &[]),
];

/// Suites of the short tier that do not drive the binary and take longest. They start first, so that none is left to run alone at the end.
const LONGEST: [Chosen; 5] =
    [("fleet", &[]), ("lab", &[]), ("lab::against_itself", &[]), ("layouts", &[]), ("server", &[])];

/// All lists.
fn lists() -> impl Iterator<Item = &'static Chosen> {
    let tiers = BRIEF.iter().chain(&LONG);
    tiers.chain(&MACHINES).chain(&JUDGING).chain(&WAITING).chain(&MEASURING).chain(&LONGEST)
}

/// Part of a suite, as one process runs it.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    pub(super) suite: &'a Suite,
    /// Only tests whose names hold one of these; all where there is none.
    pub(super) only: Vec<&'a str>,
    /// Not those whose names hold one of these.
    pub(super) skip: Vec<&'static str>,
    /// Names are matched as a whole.
    pub(super) exact: bool,
}

/// What a lane does next.
pub(super) enum Work<'a> {
    Suite(Part<'a>),
    /// Builds and runs the fuzz targets.
    Fuzzing,
}

/// Work that starts in this order, up to `at_once` at a time.
pub(super) struct Lane<'a> {
    pub(super) work: Vec<Work<'a>>,
    pub(super) at_once: usize,
}

/// Lanes that run at the same time.
pub(super) struct Stage<'a> {
    pub(super) name: &'static str,
    pub(super) lanes: Vec<Lane<'a>>,
}

/// What a tier runs, in order.
///
/// # Errors
/// A list names a suite that does not exist.
pub(super) fn stages(suites: &[Suite], tier: Tier) -> Result<Vec<Stage<'_>>, String> {
    for (name, _) in lists() {
        if !suites.iter().any(|suite| suite.name == *name) {
            return Err(format!("there is no suite {name}: mend the lists in {}", file!()));
        }
    }
    let parts = |tier| suites.iter().filter_map(move |suite| part(suite, tier));
    let stage = |name, lanes| Stage { name, lanes };
    let short = || {
        let (binary, units): (Vec<_>, _) = parts(Tier::Short).partition(|part| drives_the_binary(part.suite));
        let (longest, others) = divided(units, &LONGEST);
        let units = longest.into_iter().chain(others).collect();
        // The first lane mostly waits for programs. The second takes the CPU time that it leaves.
        let lanes = vec![lane(binary), Lane { at_once: 2, ..lane(units) }];
        vec![stage("unit tests, and the binary in brief", lanes)]
    };
    let rest = |tier| {
        let (machines, others) = divided(parts(tier), &MACHINES);
        let (waiting, others) = divided(others, &WAITING);
        let (measuring, others) = divided(others, &MEASURING);
        // Services come first: by the time documents need a slot at once, the waiting lane no longer holds one.
        let (judging, others) = divided(others, &JUDGING);
        let judging = judging.into_iter().chain(others).collect();
        vec![
            stage(
                "all that is not measured",
                vec![
                    lane(judging),
                    lane(waiting),
                    lane(machines),
                    Lane { work: vec![Work::Fuzzing], at_once: 1 },
                ],
            ),
            stage("measurements, one at a time", vec![lane(measuring)]),
        ]
    };
    let stages = match tier {
        Tier::Build | Tier::Demo => vec![],
        Tier::Short => short(),
        Tier::Rest | Tier::All => rest(tier),
    };
    Ok(stages.into_iter().filter(|stage| stage.lanes.iter().any(|lane| !lane.work.is_empty())).collect())
}

fn lane(parts: Vec<Part<'_>>) -> Lane<'_> {
    Lane { work: parts.into_iter().map(Work::Suite).collect(), at_once: 1 }
}

/// Tests of the programs that `e2e` is made of do not.
pub(super) fn drives_the_binary(suite: &Suite) -> bool {
    suite.name.starts_with("e2e::") && !suite.name.starts_with("e2e::bin::")
}

/// Its tests start other processes, which other load may disturb: the binary, databases or brokers.
pub(super) fn starts_others(suite: &Suite) -> bool {
    drives_the_binary(suite) || LONG.iter().any(|(name, _)| suite.name == *name)
}

/// What a list names, and the rest. A suite of which it names some tests is divided.
fn divided<'a>(parts: impl IntoIterator<Item = Part<'a>>, list: &[Chosen]) -> (Vec<Part<'a>>, Vec<Part<'a>>) {
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match list.iter().find(|(name, _)| part.suite.name == *name) {
            None => others.push(part),
            Some((_, [])) => named.push(part),
            Some((_, tests)) => {
                named.push(Part { only: tests.to_vec(), ..part.clone() });
                others.push(Part { skip: [&part.skip, *tests].concat(), ..part });
            }
        }
    }
    (named, others)
}

fn part(suite: &Suite, tier: Tier) -> Option<Part<'_>> {
    let chosen =
        |list: &'static [Chosen]| list.iter().find(|(name, _)| suite.name == *name).map(|(_, tests)| *tests);
    let all = Part { suite, only: vec![], skip: vec![], exact: false };
    let only = |tests: &[&'static str]| Some(Part { only: tests.to_vec(), ..all.clone() });
    let without =
        |tests: &[&'static str]| (!tests.is_empty()).then(|| Part { skip: tests.to_vec(), ..all.clone() });
    match (tier, drives_the_binary(suite)) {
        (Tier::Build | Tier::Demo, _) => None,
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
        let own = ["store", "e2e::bin::bars", "e2e::bench"];
        let named = lists().map(|(name, _)| *name);
        let names: BTreeSet<&str> = own.into_iter().chain(named).collect();
        let suite = |name: &str| Suite {
            name: name.into(),
            executable: "x".into(),
            directory: ".".into(),
            libtest: true,
        };
        names.into_iter().map(suite).collect()
    }

    /// How often a tier runs a test.
    fn runs(tier: Tier, suite: &str, test: &str) -> usize {
        let suites = suites();
        let stages = stages(&suites, tier).expect("the lists name suites that exist");
        let work = stages.iter().flat_map(|stage| &stage.lanes).flat_map(|lane| &lane.work);
        let parts = work.filter_map(|work| match work {
            Work::Suite(part) => Some(part),
            Work::Fuzzing => None,
        });
        let chosen = parts.filter(|part| {
            let within = |names: &[&str]| names.iter().any(|name| test.contains(name));
            part.suite.name == suite && (part.only.is_empty() || within(&part.only)) && !within(&part.skip)
        });
        chosen.count()
    }

    #[test]
    fn short_and_rest_together_are_all_and_nothing_is_run_twice() {
        for suite in suites() {
            let listed = lists().filter(|(name, _)| suite.name == *name).flat_map(|(_, tests)| *tests);
            for test in listed.copied().chain(["any_other"]) {
                let [short, rest, all] =
                    [Tier::Short, Tier::Rest, Tier::All].map(|tier| runs(tier, &suite.name, test));
                assert_eq!((short + rest, all), (1, 1), "{} {test}", suite.name);
                assert_eq!([Tier::Build, Tier::Demo].map(|tier| runs(tier, &suite.name, test)), [0, 0]);
            }
        }
    }

    #[test]
    fn fuzzing_is_of_what_the_short_tier_leaves() {
        for (tier, expected) in [(Tier::Short, 0), (Tier::Rest, 1), (Tier::All, 1)] {
            let suites = suites();
            let stages = stages(&suites, tier).expect("the lists name suites that exist");
            let work = stages.iter().flat_map(|stage| &stage.lanes).flat_map(|lane| &lane.work);
            assert_eq!(work.filter(|work| matches!(work, Work::Fuzzing)).count(), expected, "{tier:?}");
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
