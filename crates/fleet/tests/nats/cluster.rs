//! A cluster that loses brokers.

use crate::brokers::{Brokers, worker};
use fleet::nats::{Ask, Nats, Reply, name};
use fleet::{JobId, Lease};
use futures_util::StreamExt;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

async fn leader(brokers: &Brokers) -> usize {
    let begun = Instant::now();
    loop {
        let raw = brokers.raw().await;
        if let Ok(stream) = async_nats::jetstream::new(raw).get_stream(name::JOBS).await
            && let Some(leader) =
                stream.cached_info().cluster.as_ref().and_then(|cluster| cluster.leader.clone())
        {
            return brokers.number(&leader);
        }
        assert!(begun.elapsed() < LONG, "the stream has no leader");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn replicas(brokers: &Brokers) -> usize {
    let raw = brokers.raw().await;
    let stream = async_nats::jetstream::new(raw).get_stream(name::JOBS).await.expect("the stream");
    stream.cached_info().config.num_replicas
}

fn serve(nats: &Nats) {
    let nats = nats.clone();
    tokio::spawn(async move {
        let mut questions = nats.questions().await.expect("listening");
        while let Some(question) = questions.next().await {
            question.answer(&Reply::Heard).await.expect("a connection");
        }
    });
}

/// Tickets are published and taken, questions asked and answered, while the brokers are killed one after another, the stream's leader
/// first. All tickets come; none for good before it was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_may_die_one_after_another() {
    let Some(mut brokers) = Brokers::three() else { return };
    let server = brokers.ready().await;
    assert_eq!(replicas(&brokers).await, 3, "as many as the cluster bears");
    serve(&server);
    let taking = brokers.connect().await;
    let taker = tokio::spawn(async move {
        let mut tickets = taking.tickets("metal").await.expect("tickets");
        let mut jobs = BTreeSet::new();
        while jobs.len() < 90 {
            let Some(ticket) = tickets.next(LONG).await.expect("the stream is there") else {
                panic!("no ticket for {LONG:?}; {} came", jobs.len());
            };
            let ask = Ask::Begin { ticket: ticket.lease, infers: false };
            let reply = taking.ask(&worker(1), &ask, LONG).await.expect("a server answers");
            assert_eq!(reply, Reply::Heard);
            jobs.insert(ticket.lease.job.0);
            ticket.ack().await.expect("a connection");
        }
        jobs
    });
    let publish = async |jobs: std::ops::Range<i64>| {
        for job in jobs {
            let begun = Instant::now();
            while let Err(error) = server.publish_ticket("metal", Lease { job: JobId(job), attempt: 1 }).await
            {
                assert!(begun.elapsed() < LONG, "{error}");
            }
        }
    };
    publish(0..30).await;
    let first = leader(&brokers).await;
    brokers.kill(first);
    publish(30..60).await;
    brokers.run(first);
    let second = (first + 1) % 3;
    // The one that came back has to be part of the stream again, else two of three are away.
    tokio::time::sleep(Duration::from_secs(2)).await;
    brokers.kill(second);
    publish(60..90).await;
    assert_eq!(taker.await.expect("it took them"), (0..90).collect());
}

/// Who waits for a ticket gets one soon after the stream has a leader again, wherever the leader was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_worker_outlives_the_leader() {
    let Some(mut brokers) = Brokers::three() else { return };
    let server = brokers.ready().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let nats = brokers.connect().await;
        waiting.push(tokio::spawn(async move {
            let mut tickets = nats.tickets("metal").await.expect("tickets");
            let ticket = tickets.next(LONG).await.expect("the stream is there").expect("a ticket");
            ticket.ack().await.expect("a connection");
            ticket_taken()
        }));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let leader = leader(&brokers).await;
    brokers.kill(leader);
    let mut published = Instant::now();
    for job in 0..3 {
        while server.publish_ticket("metal", Lease { job: JobId(job), attempt: 1 }).await.is_err() {}
        published = Instant::now();
    }
    for taken in waiting {
        let taken = taken.await.expect("a ticket");
        // The heartbeat that is missed, and room for machines that do much else.
        let late = taken.saturating_duration_since(published);
        assert!(late < Duration::from_secs(10), "{late:?} after it was there");
    }
}

fn ticket_taken() -> Instant {
    Instant::now()
}
