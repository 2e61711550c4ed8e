//! Tickets: each to one worker, and to another one if that one does nothing.

use crate::brokers::{Brokers, SERVICE};
use fleet::nats::{Nats, Ticket, Tickets, Times};
use fleet::{JobId, Lease};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(300);

fn lease(job: i64) -> Lease {
    Lease { job: JobId(job), attempt: 1 }
}

async fn taken(tickets: &mut Tickets) -> Ticket {
    tickets.next(SOON).await.expect("the stream is there").expect("a ticket comes")
}

async fn nothing(tickets: &mut Tickets) -> bool {
    tickets.next(MOMENT).await.expect("the stream is there").is_none()
}

/// A cluster in which a ticket comes to another worker after a second.
async fn quick(brokers: &Brokers) -> Nats {
    let nats = brokers.connect().await;
    let times = Times { ack_wait: Duration::from_secs(1), ..Times::default() };
    nats.provision(SERVICE, None).await.expect("provisioned");
    nats.provision_pool_with("metal", times).await.expect("a pool");
    nats
}

#[tokio::test]
async fn a_ticket_goes_to_one_worker_once() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    nats.provision_pool("other").await.unwrap();
    let (mut tickets, mut others) =
        (nats.tickets("metal").await.unwrap(), nats.tickets("other").await.unwrap());
    for job in [1, 1, 2] {
        nats.publish_ticket("metal", lease(job)).await.unwrap();
    }
    for job in [1, 2] {
        let ticket = taken(&mut tickets).await;
        assert_eq!(ticket.lease, lease(job), "in order");
        ticket.ack().await.unwrap();
    }
    assert!(nothing(&mut tickets).await, "published twice, taken once");
    assert!(nothing(&mut others).await, "another pool gets nothing");
}

#[tokio::test]
async fn a_ticket_comes_back_from_a_worker_that_does_nothing() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = quick(&brokers).await;
    let dying = brokers.connect().await;
    let mut theirs = dying.tickets("metal").await.unwrap();
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    let held = taken(&mut theirs).await;
    let mut tickets = nats.tickets("metal").await.unwrap();
    assert!(nothing(&mut tickets).await, "one has it");
    std::mem::forget(held);
    let again = taken(&mut tickets).await;
    assert_eq!(again.lease, lease(1));
    // Said to be in progress it stays, for longer than the stream waits otherwise.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        again.progress().await.unwrap();
        assert!(nothing(&mut theirs).await, "it is in progress");
    }
    again.ack().await.unwrap();
    assert!(theirs.next(Duration::from_millis(1500)).await.unwrap().is_none(), "it is done");
}

#[tokio::test]
async fn what_a_worker_does_with_a_ticket_is_kept() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let mut tickets = nats.tickets("metal").await.unwrap();
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    taken(&mut tickets).await.later(Duration::ZERO).await.unwrap();
    let begun = Instant::now();
    taken(&mut tickets).await.later(Duration::from_millis(700)).await.unwrap();
    let back = taken(&mut tickets).await;
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    drop(back);
    taken(&mut tickets).await.throw_away().await.unwrap();
    assert!(nothing(&mut tickets).await, "thrown away");
}

/// Whoever gave up waiting holds no ticket, whenever it comes. The stream would wait 15 s for each.
#[tokio::test]
async fn a_worker_that_gave_up_holds_no_ticket() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let begun = Instant::now();
    let mut patient = nats.tickets("metal").await.unwrap();
    for job in 0..40 {
        let mut impatient = nats.tickets("metal").await.unwrap();
        assert!(impatient.next(Duration::from_millis(5)).await.unwrap().is_none());
        let publishing = nats.publish_ticket("metal", lease(job));
        let leaving = async { drop(impatient) };
        tokio::join!(publishing, leaving).0.unwrap();
        let ticket = taken(&mut patient).await;
        assert_eq!(ticket.lease, lease(job));
        ticket.ack().await.unwrap();
    }
    assert!(begun.elapsed() < fleet::nats::ACK_WAIT, "none was held: {:?}", begun.elapsed());
}

/// The request for a ticket outlives one call; what comes between two calls is had by the second.
#[tokio::test]
async fn a_ticket_between_two_calls_is_had_by_the_second() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let mut tickets = nats.tickets("metal").await.unwrap();
    assert!(nothing(&mut tickets).await);
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    tokio::time::sleep(MOMENT).await;
    assert_eq!(taken(&mut tickets).await.lease, lease(1));
}

#[tokio::test]
async fn a_pool_that_comes_later_is_waited_for() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.connect().await;
    let mut tickets = nats.tickets("metal").await.unwrap();
    assert!(nothing(&mut tickets).await, "there is not even a stream");
    nats.provision(SERVICE, None).await.unwrap();
    assert!(nothing(&mut tickets).await, "there is no consumer");
    nats.provision_pool("metal").await.unwrap();
    nats.publish_ticket("metal", lease(1)).await.unwrap();
    assert_eq!(taken(&mut tickets).await.lease, lease(1));
}
