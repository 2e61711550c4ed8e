//! Content by its hash.

use crate::brokers::Brokers;
use fleet::nats::{Body, NatsError};
use sha2::{Digest, Sha256};

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes that no compressor makes fewer, and no two parts of which are equal.
fn bytes(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..size).map(|_| next()).collect()
}

#[tokio::test]
async fn small_values_travel_in_the_message_large_ones_beside_it() {
    let Some(brokers) = Brokers::one("") else { return };
    let (nats, other) = (brokers.ready().await, brokers.connect().await);
    for size in [0, 1000, 500 << 10, 600 << 10, 3 << 20] {
        let value = "x".repeat(size);
        let body = nats.body(&value).await.unwrap();
        assert_eq!(matches!(body, Body::Inline(_)), size < 512 << 10, "{size}");
        let sent: Body<String> = serde_json::from_str(&serde_json::to_string(&body).unwrap()).unwrap();
        assert_eq!(other.read_body(sent).await.unwrap(), value, "{size}");
        assert_eq!(nats.body(&value).await.unwrap(), body, "stored again by the same name");
    }
    let error = nats.read_body::<String>(Body::Stored { hash: hash(b"other") }).await.unwrap_err();
    assert!(matches!(error, NatsError::Missing { bucket: "tauto_bodies", .. }), "{error}");
}

#[tokio::test]
async fn a_value_that_is_not_of_its_hash_is_refused() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let raw = async_nats::jetstream::new(brokers.raw().await);
    let store = raw.get_object_store(fleet::nats::name::BODIES).await.unwrap();
    let name = hash(b"\"right\"");
    store.put(name.as_str(), &mut &b"\"wrong\""[..]).await.unwrap();
    let error = nats.read_body::<String>(Body::Stored { hash: name }).await.unwrap_err();
    assert!(matches!(error, NatsError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn packages_are_put_got_and_bounded() {
    let Some(brokers) = Brokers::one("") else { return };
    let (nats, worker) = (brokers.ready().await, brokers.connect().await);
    let packages: Vec<Vec<u8>> = (0..3).map(|n| bytes(700_000 + n, n as u64)).collect();
    let names: Vec<String> = packages.iter().map(|package| hash(package)).collect();
    for (name, package) in names.iter().zip(&packages) {
        assert!(!nats.has_package(name).await.unwrap());
        nats.put_package(name, &package[..]).await.unwrap();
        assert!(nats.has_package(name).await.unwrap());
        let mut got = Vec::new();
        worker.get_package(name, &mut got).await.unwrap();
        assert_eq!(&got, package);
    }
    // The oldest goes; one that is needed stays, were it the oldest.
    nats.bound_packages(1_500_000, &names[0]).await.unwrap();
    let there = async |name: &String| nats.has_package(name).await.unwrap();
    assert_eq!([there(&names[0]).await, there(&names[1]).await, there(&names[2]).await], [true, false, true]);
    let error = worker.get_package(&names[1], &mut Vec::new()).await.unwrap_err();
    assert!(matches!(error, NatsError::Missing { bucket: "tauto_packages", .. }), "{error}");
    nats.put_package(&names[1], &packages[1][..]).await.unwrap();
    assert!(there(&names[1]).await, "it can come back");
}

/// Content of another hash comes as it is, for the worker to see; putting the right one there mends it.
#[tokio::test]
async fn a_wrong_package_is_replaced() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    let right = bytes(300_000, 1);
    nats.put_package(&hash(&right), &bytes(200_000, 2)[..]).await.unwrap();
    let mut got = Vec::new();
    nats.get_package(&hash(&right), &mut got).await.unwrap();
    assert_ne!(hash(&got), hash(&right));
    nats.put_package(&hash(&right), &right[..]).await.unwrap();
    let mut got = Vec::new();
    nats.get_package(&hash(&right), &mut got).await.unwrap();
    assert_eq!(got, right);
}

#[tokio::test]
async fn an_empty_package_comes_to_its_end() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    nats.put_package(&hash(b""), &b""[..]).await.unwrap();
    let mut got = Vec::new();
    nats.get_package(&hash(b""), &mut got).await.unwrap();
    assert!(got.is_empty());
}
