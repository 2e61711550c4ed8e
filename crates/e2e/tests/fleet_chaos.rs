//! A short `make fleet-chaos`, always with the same blows.

use e2e::fleet::storm::{Plan, storm};
use e2e::stage;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use std::time::Duration;

fn nothing_is_lost_doubled_or_judged_elsewhere_when_parts_of_a_fleet_are_killed_and_cut_off() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let (peace, away) = (Duration::from_millis(1500), Duration::from_secs(4));
    let plan =
        Plan { submissions: 40, blows: 14, seed: 7, workers: 2, peace, away, waiting: 3, keep_logs: false };
    let report = storm(plan).expect("the fleet recovers and answers");
    assert!(report.wrong.is_empty(), "{report:#?}");
    assert_eq!(report.accepted.values().sum::<usize>(), plan.submissions);
    assert!(report.blows.values().sum::<usize>() > 4, "{report:#?}");
    assert!(report.near.1 > 0 && report.confirmed > 0, "{report:#?}");
}

fn main() -> ExitCode {
    let body = || {
        nothing_is_lost_doubled_or_judged_elsewhere_when_parts_of_a_fleet_are_killed_and_cut_off();
        Ok(())
    };
    let trial = Trial::test(
        "nothing_is_lost_doubled_or_judged_elsewhere_when_parts_of_a_fleet_are_killed_and_cut_off",
        body,
    );
    let trial = match stage::is_root() {
        true => trial,
        false => trial.with_kind("skipped: it takes root, for networks of its own").with_ignored_flag(true),
    };
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
