//! The example of a configuration lets servers and workers do what they have to, and workers nothing else.

use crate::brokers::{Brokers, SERVICE, worker};
use fleet::nats::{Ask, Body, Nats, NatsError, News, Options, Presence, Reply, WorkerId, connect};
use fleet::{Hello, JobId, Lease, PROTOCOL, SlotFacts, Timestamp};
use futures_util::StreamExt;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(3);

/// The example without what belongs to its machines.
fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/nats-server.conf");
    let text = std::fs::read_to_string(path).expect("the example is there");
    let at = text.find("# What a worker of pool").expect("permissions come last");
    text[at..].to_string()
}

async fn joined(brokers: &Brokers, user: &str, inbox: Option<&str>) -> Nats {
    let (url, inbox) = (brokers.url(user), inbox.map(String::from));
    connect(&Options { url, name: "test".into(), inbox, ..Options::default() })
        .await
        .expect("the brokers take us")
}

fn lease() -> Lease {
    Lease { job: JobId(1), attempt: 1 }
}

fn presence() -> Presence {
    let slot = SlotFacts { id: 1, cpus: Vec::new(), plan: model::not_told(), floor: model::not_told() };
    let hello = Hello {
        protocol: PROTOCOL,
        oldest: None,
        version: "1".into(),
        node: "n1".into(),
        slot,
        holding: None,
        infers: true,
    };
    Presence { hello, since: Timestamp(7), judging: None, finished: 0 }
}

fn is_denied<T>(done: Result<T, NatsError>) -> bool {
    match done {
        Ok(_) => false,
        Err(NatsError::Denied(why)) => {
            assert!(why.contains("tauto") || why.contains("TAUTO"), "{why}");
            true
        }
        Err(error) => panic!("another error: {error}"),
    }
}

#[tokio::test]
async fn a_worker_may_do_its_work_and_nothing_else() {
    let Some(brokers) = Brokers::one(&example()) else { return };
    let server = joined(&brokers, "servers:CHANGE-ME-SERVERS@", None).await;
    server.provision(SERVICE, None).await.unwrap();
    server.provision_pool("metal").await.unwrap();
    server.provision_pool("other").await.unwrap();
    let mut questions = server.questions().await.unwrap();
    tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            question.answer(&Reply::Heard).await.expect("answered");
        }
    });
    let mut news = server.news().await.unwrap();
    let package = vec![7; 300_000];
    server.put_package("a-package", &package[..]).await.unwrap();
    server.publish_ticket("metal", lease()).await.unwrap();
    server.publish_ticket("other", lease()).await.unwrap();

    let may = joined(&brokers, "pool_metal:CHANGE-ME-METAL@", Some("_INBOX.pool_metal")).await;
    let ticket = may.tickets("metal").await.unwrap().next(SOON).await.unwrap().expect("its ticket");
    ticket.progress().await.unwrap();
    ticket.ack().await.unwrap();
    let keep = Ask::Keep { lease: lease() };
    assert_eq!(may.ask(&worker(1), &keep, SOON).await.unwrap(), Reply::Heard);
    may.be_present(&worker(1), &presence()).await.unwrap();
    assert_eq!(server.present().await.unwrap().len(), 1);
    may.tell(3, &News::Live(1.into())).await.unwrap();
    assert_eq!(news.next().await, Some((3, News::Live(1.into()))));
    let mut got = Vec::new();
    may.get_package("a-package", &mut got).await.unwrap();
    assert_eq!(got, package);
    let large = may.body(&"x".repeat(2 << 20)).await.unwrap();
    assert_eq!(server.read_body(large).await.unwrap().len(), 2 << 20);
    let large: Body<String> = server.body(&"y".repeat(2 << 20)).await.unwrap();
    assert_eq!(may.read_body(large).await.unwrap().len(), 2 << 20);
    may.be_gone(&worker(1)).await.unwrap();

    let not = async || joined(&brokers, "pool_metal:CHANGE-ME-METAL@", Some("_INBOX.pool_metal")).await;
    let elsewhere = WorkerId { pool: "other".into(), ..worker(1) };
    // Each waits for an answer that does not come, so all do at once.
    tokio::join!(
        async {
            assert!(
                is_denied(not().await.ask(&elsewhere, &keep, SOON).await),
                "asking in another pool's name"
            )
        },
        async {
            assert!(
                is_denied(not().await.be_present(&elsewhere, &presence()).await),
                "being there in another pool"
            )
        },
        async {
            let mut others = not().await.tickets("other").await.unwrap();
            assert!(is_denied(others.next(SOON).await), "another pool's tickets");
        },
        async { assert!(is_denied(not().await.publish_ticket("metal", lease()).await), "making tickets") },
        async {
            let wrong = not().await.put_package("a-package", &b"wrong"[..]).await;
            assert!(is_denied(wrong), "changing packages");
        },
        async { assert!(is_denied(not().await.provision_pool("metal").await), "changing what is there") },
    );
    let listening = not().await;
    let mut questions = listening.questions().await.unwrap();
    assert!(
        tokio::time::timeout(SOON, async {
            let asked = joined(&brokers, "pool_metal:CHANGE-ME-METAL@", Some("_INBOX.pool_metal")).await;
            for _ in 0..20 {
                asked.ask(&worker(1), &keep, SOON).await.expect("a server answers");
            }
        })
        .await
        .is_ok()
    );
    let heard = tokio::time::timeout(Duration::from_millis(100), questions.next()).await;
    assert!(!matches!(heard, Ok(Some(_))), "answering questions");
}
