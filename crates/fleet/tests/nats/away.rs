//! Brokers that are away for long.

use crate::brokers::{Brokers, worker};
use fleet::nats::Ask;
use fleet::{JobId, Lease};
use std::time::Duration;

/// More messages than the client library keeps for a broker that is away.
const MANY: u32 = 2200;
/// Each question has so long; asking it once more may take as long as a moment.
const EACH: Duration = Duration::from_millis(1);
const ALL: Duration = Duration::from_secs(60);

/// A worker whose brokers went away could not end: the library had stopped it in the middle of asking for a ticket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_stopped_by_brokers_that_are_away() {
    let Some(mut brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let mut tickets = nats.tickets("metal").await.expect("tickets");
    assert!(tickets.next(EACH).await.expect("no error").is_none());
    brokers.kill(0);
    let ask = Ask::Keep { lease: Lease { job: JobId(1), attempt: 1 } };
    let asking = async {
        for _ in 0..MANY {
            nats.ask(&worker(0), &ask, EACH).await.expect_err("nobody is there");
        }
        tickets.next(Duration::from_secs(3)).await.expect("no error")
    };
    let ticket = tokio::time::timeout(ALL, asking).await.expect("no question stops whoever asks");
    assert!(ticket.is_none());
    brokers.run(0);
    let back = async {
        while nats.publish_ticket("metal", Lease { job: JobId(2), attempt: 1 }).await.is_err() {}
        loop {
            if let Some(ticket) = tickets.next(EACH).await.expect("no error") {
                return ticket.lease.job;
            }
        }
    };
    assert_eq!(tokio::time::timeout(ALL, back).await.expect("it comes back"), JobId(2));
}
