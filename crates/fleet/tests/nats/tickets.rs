//! Tickets: each to one worker, again if that one does nothing.

use crate::brokers::Brokers;
use fleet::Lease;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);

fn lease(job: i64) -> Lease {
    Lease { job, attempt: 1 }
}

#[tokio::test]
async fn a_ticket_goes_to_one_worker_once() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let mut tickets = nats.tickets("metal").await.unwrap();
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    nats.publish_ticket("metal", lease(2)).await.unwrap();
    for job in [1, 2] {
        let ticket = tickets.next(SOON).await.unwrap().expect("a ticket");
        assert_eq!(ticket.lease, lease(job));
        ticket.ack().await.unwrap();
    }
    assert!(tickets.next(Duration::from_millis(300)).await.unwrap().is_none(), "published twice, taken once");
}
