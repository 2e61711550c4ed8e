//! Twelve blows of `make service-chaos`, always the same ones.

use e2e::chaos::{Plan, storm};
use e2e::stage;

/// Few blows, over each of both databases.
const PLAN: Plan = Plan { blows: 6, seed: 7, slow: false, waiting: 8, apart: false };

fn nothing_is_lost(plan: Plan) {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::Builder::new().prefix("tauto-chaos-").tempdir().expect("directory");
    let report = storm(data.path(), plan).expect("the service recovers and answers");
    assert!(report.wrong.is_empty(), "{report:#?}");
    assert_eq!(report.blows.values().sum::<usize>(), plan.blows);
    assert!(report.accepted.values().sum::<usize>() > plan.blows, "{report:#?}");
}

#[test]
fn nothing_is_lost_doubled_or_judged_on_leftovers_when_parts_of_the_service_are_killed() {
    nothing_is_lost(PLAN);
}

#[test]
fn nothing_is_lost_or_doubled_when_postgresql_is_killed_and_links_are_cut() {
    // Networks of its own take root.
    if stage::is_root() {
        nothing_is_lost(Plan { apart: true, ..PLAN });
    }
}
