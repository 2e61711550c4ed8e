//! What holds over NATS alone.

use super::end::{End, greeting};
use super::{QUIET, TransportFixture, hello, judged, second_server, until};
use crate::live::LiveEvent;
use crate::timestamp::now;
use fleet::nats::{Ask, Greeting, NatsError, NotBegun, Presence, Reply, Standing, WorkerId};
use fleet::{Lease, Outcome, PROTOCOL, TimeLimit};
use model::{Nanos, Verdict};
use serde_json::json;
use std::time::Duration;
use store::NodeState;

const PATIENCE: Duration = Duration::from_secs(20);

fn worker(node: &str) -> WorkerId {
    WorkerId { pool: "cloud".into(), node: node.into(), slot: 0 }
}

fn waits(reply: &Reply, part: &str) {
    let Reply::Standing(Standing::Waits { reasons }) = reply else { panic!("{reply:?}") };
    assert!(reasons.iter().any(|why| why.contains(part)), "{reasons:?}");
}

/// What a node's page shows.
async fn shown(fixture: &TransportFixture, node: &str) -> String {
    fixture.kit.service.store.node(node).await.unwrap().waits.map(|list| list.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn what_is_wrong_with_a_worker_is_told_and_shown_and_keeps_it_from_work() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    let nats = fixture.broker.as_ref().unwrap().connect().await;
    let from = worker("n");
    let say = async |change: &dyn Fn(&mut Greeting)| {
        let mut said = greeting(&from);
        change(&mut said);
        nats.ask(&from, &Ask::Hello(Box::new(said)), PATIENCE).await.unwrap()
    };
    let other = say(&|said| said.hello.protocol = 99).await;
    assert!(matches!(&other, Reply::Refused { why } if why.contains("upgrade the service")), "{other:?}");
    assert!(shown(&fixture, "n").await.contains("protocol 99"));
    let next = say(&|said| (said.hello.oldest, said.hello.protocol) = (Some(PROTOCOL), PROTOCOL + 1)).await;
    assert!(
        matches!(&next, Reply::Standing(Standing::Works { protocol: PROTOCOL, .. })),
        "one of the next version speaks this one, too: {next:?}"
    );
    waits(&say(&|said| said.at = said.at.plus_secs(42)).await, "ahead of the service's");
    assert!(shown(&fixture, "n").await.contains("its clock is 4"));
    waits(&say(&|said| said.at = said.at.plus_secs(-4200)).await, "s behind the service's");
    waits(&say(&|said| said.troubles = vec!["the disk is full".into()]).await, "slot 0: the disk is full");
    assert!(shown(&fixture, "n").await.contains("the disk is full"));
    // It has a ticket all the same.
    let begin = Ask::Begin { ticket: Lease { job: store::JobId(1), attempt: 1 }, infers: true };
    let begun = nats.ask(&from, &begin, PATIENCE).await.unwrap();
    assert!(matches!(&begun, Reply::NotBegun(NotBegun::Stopped { reasons }) if reasons[0].contains("full")));
    let good = say(&|_| {}).await;
    assert!(matches!(good, Reply::Standing(Standing::Works { .. })), "{good:?}");
    assert_eq!(shown(&fixture, "n").await, "");
    let store = &fixture.kit.service.store;
    store.set_node_state("n", NodeState::Draining, Some("new memory")).await.unwrap();
    waits(&say(&|_| {}).await, "it is being drained: new memory");
    let events = store.node_events("n", 9).await.unwrap();
    assert!(events.iter().any(|event| event.text.contains("full")), "{events:?}");
    // A node of another pool is not to be had by its name.
    let thief = WorkerId { pool: "metal".into(), ..from.clone() };
    let stolen = nats.ask(&thief, &Ask::Hello(Box::new(greeting(&thief))), PATIENCE).await.unwrap();
    waits(&stolen, "belongs to pool cloud");
    let nowhere = WorkerId { pool: "none".into(), ..from.clone() };
    let lost = nats.ask(&nowhere, &Ask::Hello(Box::new(greeting(&nowhere))), PATIENCE).await.unwrap();
    waits(&lost, "no pool none (there are: ");
}

#[tokio::test]
async fn nobody_speaks_for_another_worker_s_job() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    let nats = fixture.broker.as_ref().unwrap().connect().await;
    let id = fixture.practice().await;
    let mut own = fixture.worker("n", 0).await;
    let task = own.task().await;
    for other in
        [worker("m"), WorkerId { slot: 1, ..worker("n") }, WorkerId { pool: "metal".into(), ..worker("n") }]
    {
        let ask = async |ask: Ask| nats.ask(&other, &ask, PATIENCE).await.unwrap();
        assert_eq!(ask(Ask::Keep { lease: task.lease }).await, Reply::Cancel);
        let found = TimeLimit { limit: Nanos(1), source: "false".into() };
        assert_eq!(ask(Ask::TimeLimit { lease: task.lease, found }).await, Reply::Cancel);
        for outcome in [judged(Verdict::WrongAnswer), Outcome::Failed { why: "false".into() }] {
            let outcome = nats.body(&outcome).await.unwrap();
            assert_eq!(ask(Ask::Done { lease: task.lease, outcome }).await, Reply::Heard);
        }
    }
    own.done(task.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(id).await, [Verdict::Accepted]);
}

#[tokio::test]
async fn tickets_wait_in_the_store_and_not_at_the_broker() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    for _ in 0..9 {
        fixture.practice().await;
    }
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    let store = &fixture.kit.service.store;
    let under_way = async || {
        let found = store.in_pool("cloud").await.unwrap();
        (found.tickets, found.running.values().sum::<u64>())
    };
    until("no ticket is ready for the next", async || under_way().await == (1, 1)).await;
    tokio::time::sleep(QUIET).await;
    assert_eq!(under_way().await, (1, 1));
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
}

#[tokio::test]
async fn submissions_are_taken_in_while_brokers_are_away_and_judged_when_they_are_back() {
    let Some(mut fixture) = TransportFixture::nats().await else { return };
    let mut worker = fixture.worker("n", 0).await;
    let first = fixture.practice().await;
    let task = worker.task().await;
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    fixture.broker.as_mut().unwrap().kill();
    let trouble = || fixture.kit.service.brokers.as_ref().unwrap().trouble();
    until("the loss is not noticed", async || trouble().is_some()).await;
    // Those who were there when the brokers went away are thought to be there still.
    fixture.kit.service.workers.set_fleet([("n/0".to_string(), super::worker("n", 0))].into());
    let ready = fixture.kit.send("GET /api/v1/health/ready", &[], "").await;
    assert_eq!(ready.status, 200);
    assert_ne!(ready.json()["brokers"], "connected");
    let second = fixture.practice().await;
    fixture.broker.as_mut().unwrap().run();
    until("they are not back", async || fixture.kit.service.brokers.as_ref().unwrap().trouble().is_none())
        .await;
    // A new one: that the old one's own end comes back is another test's affair.
    let mut worker = fixture.worker("n", 1).await;
    let task = worker.task().await;
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    assert_eq!(fixture.verdicts(first).await, [Verdict::Accepted]);
    assert_eq!(fixture.verdicts(second).await, [Verdict::Accepted]);
}

#[tokio::test]
async fn who_watches_at_another_server_hears_everything_once() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    let other = second_server(&fixture).await;
    let options = fixture.broker.as_ref().unwrap().options();
    let serving = tokio::spawn(super::super::nats::serve(other.clone(), options));
    until("the second server does not start", async || other.brokers.as_ref().unwrap().trouble().is_none())
        .await;
    let id = fixture.practice().await;
    let (_, mut there) = other.live.watch(id);
    let (_, mut here) = fixture.kit.service.live.watch(id);
    let mut worker = fixture.worker("n", 0).await;
    let task = worker.task().await;
    // The second server listens as soon as it has subscribed.
    tokio::time::sleep(Duration::from_millis(200)).await;
    worker.event(task.lease, model::Event::Warning { place: "here".into(), message: "seen".into() }).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    worker.done(task.lease, &judged(Verdict::Accepted)).await;
    for watching in [&mut there, &mut here] {
        let mut heard = Vec::new();
        loop {
            let event = tokio::time::timeout(PATIENCE, watching.recv()).await.expect("no end").unwrap();
            heard.push(serde_json::to_value(&event).unwrap()["event"].as_str().unwrap().to_string());
            if matches!(event, LiveEvent::Judged { .. }) {
                break;
            }
        }
        assert_eq!(heard, ["started", "progress", "judged"]);
        assert!(tokio::time::timeout(QUIET, watching.recv()).await.is_err(), "told twice");
    }
    // Both answer, and both hand out.
    for _ in 0..6 {
        fixture.practice().await;
        let task = worker.task().await;
        worker.done(task.lease, &judged(Verdict::Accepted)).await;
    }
    serving.abort();
}

#[tokio::test]
async fn brokers_of_another_service_are_left_alone() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    until("not reached", async || fixture.kit.service.brokers.as_ref().unwrap().trouble().is_none()).await;
    let options = fixture.broker.as_ref().unwrap().options();
    let other =
        crate::test_service::TestService::with(true, |settings| settings.nats = Some(options.clone())).await;
    let hopeless = super::super::nats::serve(other.service.clone(), options).await;
    assert!(matches!(hopeless, NatsError::WrongCluster { .. }), "{hopeless}");
    assert!(hopeless.to_string().contains("belongs to another service"), "{hopeless}");
}

#[tokio::test]
async fn workers_of_the_fleet_are_shown() {
    let Some(fixture) = TransportFixture::nats().await else { return };
    let End::Nats { nats, from, .. } = fixture.worker("n", 3).await else { return };
    let presence = Presence { hello: hello("n", 3), since: now(), judging: None, finished: 7 };
    nats.be_present(&from, &presence).await.unwrap();
    let workers = &fixture.kit.service.workers;
    until("it is not seen", async || workers.connected().iter().any(|worker| worker.node == "n")).await;
    let node = fixture.kit.send("GET /api/v1/nodes/n", &[], "").await.json();
    assert_eq!((&node["pool"], &node["workers"][0]["finished"]), (&json!("cloud"), &json!(7)));
    assert_eq!(fixture.kit.send("GET /hosts", &[], "").await.status, 200);
}
