//! A few jobs of `make fleet-dispatch`: what is promised of work over brokers, loosely and as ratios, since other work on this machine comes and goes.

use e2e::dispatch::{Both, Way};
use e2e::stage;
use stats::quantile;

const BLOCKS: usize = 2;
const JOBS: usize = 8;

#[test]
fn brokers_cost_little_beside_a_task() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let both = Both::start().expect("two services, with PostgreSQL and three brokers");
    let (mut waits, mut tasks, mut idle) = (vec![], vec![], vec![]);
    for _ in 0..BLOCKS {
        both.alone(Way::Socket, 2).expect("jobs by the socket");
        waits.extend(both.alone(Way::Brokers, JOBS).expect("jobs by the brokers"));
        let full = both.full(Way::Brokers, JOBS).expect("a full queue");
        tasks.push(full.task);
        idle.push(full.idle);
    }
    let task = quantile(&tasks, 0.5).expect("tasks");
    // Of an idle dispatcher that only looks now and then this would be most of a task.
    assert!(
        quantile(&waits, 0.5).is_some_and(|wait| wait < 0.5 * task),
        "{waits:?} s beside tasks of {task} s"
    );
    let least = idle.iter().copied().fold(1.0, f64::min);
    assert!(least < 0.2, "idle with a full queue: {idle:?}");
}
