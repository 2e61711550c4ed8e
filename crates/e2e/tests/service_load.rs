//! A few hundred submissions of `make service-load`: what is promised of ten thousand, as ratios.

use e2e::queue::{ANYWHERE, Sources, housekeeping, restart, turn, web_memory};
use e2e::service::Service;
use e2e::stage;
use e2e::traffic::{self, percentile};
use serde_json::Value;

const CONNECTIONS: usize = 4;
/// The first and the last so many are compared.
const SOME: usize = 100;
const ALL: usize = 400;
/// Judged by the service and by `tauto verify`.
const JUDGED: usize = 12;

#[test]
fn a_full_queue_slows_nothing_down_and_is_there_after_a_restart() {
    let _alone = stage::alone(&e2e::scratch!()).expect("lock");
    let data = tempfile::Builder::new().prefix("tauto-load-").tempdir().expect("directory");
    let sources = Sources::read().expect("sources");
    let house = housekeeping().expect("slots");
    let service = Service::start(data.path(), ANYWHERE, &[]).expect("a service");
    let hand_in = |numbers: std::ops::Range<usize>| {
        let some: Vec<Value> = numbers.map(|n| sources.submission(n)).collect();
        traffic::post_all(service.address(), &some, CONNECTIONS, &house).expect("all are accepted")
    };
    let first = hand_in(0..SOME);
    let memory = web_memory(&service);
    let middle = hand_in(SOME..ALL - SOME);
    let last = hand_in(ALL - SOME..ALL);
    let grown = web_memory(&service);
    service.stop().expect("the service ends");

    // A wait that grows with what waits already would be four to eight times as long here.
    let [before, after] = [&first, &last].map(|posted| percentile(&posted.waits, 50));
    assert!(after < before * 3, "handing in took {before:?} at first and {after:?} at last");
    assert!(grown < memory * 2, "memory of the web process: {memory} at first and {grown} at last");

    let tokens = [first.tokens, middle.tokens, last.tokens].concat();
    for kill in [false, true] {
        let done = restart(data.path(), &tokens, kill).expect("every submission is there");
        assert_eq!(done.after.0 + done.after.1, ALL, "{done:?}");
        assert!(done.after.0 >= done.before.0, "a verdict is lost: {done:?}");
    }
    let turn = turn(data.path(), &sources, &tokens, JUDGED).expect("the service judges");
    // Loose: other work on this machine comes and goes between the two.
    assert!(turn.served < turn.alone * 2.0, "{turn:?}");
}
