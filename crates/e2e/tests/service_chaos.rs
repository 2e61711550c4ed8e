//! Twelve blows of `make service-chaos`, always the same ones.

use e2e::chaos::{Plan, storm};
use e2e::stage;

#[test]
fn nothing_is_lost_doubled_or_judged_on_leftovers_when_parts_of_the_service_are_killed() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::Builder::new().prefix("tauto-chaos-").tempdir().expect("directory");
    let plan = Plan { blows: 12, seed: 7, slow: false, waiting: 8 };
    let report = storm(data.path(), plan).expect("the service recovers and answers");
    assert!(report.wrong.is_empty(), "{report:#?}");
    assert_eq!(report.blows.values().sum::<usize>(), plan.blows);
    assert!(report.accepted.values().sum::<usize>() > plan.blows, "{report:#?}");
}
