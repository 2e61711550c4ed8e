//! A short `make fleet-chaos`, always with the same blows.

use e2e::fleet::storm::{Plan, storm};
use e2e::stage;
use std::path::Path;
use std::time::Duration;

#[test]
fn nothing_is_lost_doubled_or_judged_elsewhere_when_parts_of_a_fleet_are_killed_and_cut_off() {
    if !stage::is_root() {
        return;
    }
    let _alone = stage::alone(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")).expect("lock");
    let (peace, away) = (Duration::from_millis(1500), Duration::from_secs(4));
    let plan =
        Plan { submissions: 50, blows: 16, seed: 7, workers: 2, peace, away, waiting: 3, keep_logs: false };
    let report = storm(plan).expect("the fleet recovers and answers");
    assert!(report.wrong.is_empty(), "{report:#?}");
    assert_eq!(report.accepted.values().sum::<usize>(), plan.submissions);
    assert!(report.blows.values().sum::<usize>() > 4, "{report:#?}");
    assert!(report.near.1 > 0 && report.confirmed > 0, "{report:#?}");
}
