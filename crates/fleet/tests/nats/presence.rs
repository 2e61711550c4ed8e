//! Which workers are there.

use crate::brokers::{Brokers, SERVICE, worker};
use fleet::nats::{Presence, Times};
use fleet::{Hello, PROTOCOL, SlotFacts, Timestamp};
use std::time::{Duration, Instant};

fn presence(finished: u64) -> Presence {
    let slot = SlotFacts { id: 1, cpus: vec![2, 3], plan: model::not_told(), floor: model::not_told() };
    let hello = Hello {
        protocol: PROTOCOL,
        oldest: None,
        version: "1".into(),
        node: "n1".into(),
        slot,
        holding: None,
        infers: true,
    };
    Presence { hello, since: Timestamp(7), judging: Some(42), finished }
}

#[tokio::test]
async fn a_worker_is_there_while_it_says_so() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.connect().await;
    let times = Times { presence: Duration::from_millis(1500), ..Times::default() };
    nats.provision_with(SERVICE, None, times).await.unwrap();
    assert_eq!(nats.present().await.unwrap(), []);
    for (slot, finished) in [(2, 0), (1, 0), (1, 1)] {
        nats.be_present(&worker(slot), &presence(finished)).await.unwrap();
    }
    let present = nats.present().await.unwrap();
    assert_eq!(present, [(worker(1), presence(1)), (worker(2), presence(0))], "the last word of each");
    nats.be_gone(&worker(2)).await.unwrap();
    assert_eq!(nats.present().await.unwrap(), [(worker(1), presence(1))]);
    let begun = Instant::now();
    while !nats.present().await.unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "they went long ago");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
