//! What speaks against a node, and what follows.

use super::super::health::judged as note_judged;
use super::*;
use crate::manage::{rejudge_suspects, suspects};
use store::NodeState;

/// Charged four times in a row, a node is drained with the reason in words; what it judged since is listed, and judged again.
#[tokio::test]
async fn a_node_that_is_charged_again_and_again_is_drained() {
    let mut world = World::with_fleet().await;
    let service = world.kit.service.clone();
    let contest = world.contest(Strictness::Strict).await;
    let before = world.undrawn(Some(contest)).await;
    world.says("m2", clear(Verdict::Accepted, 100)).await;
    let mut wrong = Vec::new();
    for n in 0..4 {
        if n == 1 {
            // Nobody else has looked at this one.
            wrong.push(world.undrawn(Some(contest)).await);
            world.says("m2", clear(Verdict::Accepted, 100)).await;
        }
        let id = world.undrawn(Some(contest)).await;
        world.says("m1", judged(Verdict::Accepted, 500, Confidence::Settled)).await;
        world.says("m2", clear(Verdict::WrongAnswer, 500)).await;
        world.says("m3", clear(Verdict::Accepted, 501)).await;
        wrong.push(id);
    }
    let node = world.node("m2").await;
    assert_eq!(node.state, NodeState::Draining);
    let reason = "odd one out in 4 of 4 cross-checks; a healthy node is in one of 200";
    assert_eq!(node.reason.as_deref(), Some(reason));
    let events = world.events("m2").await;
    assert_eq!(events, ["admitted", "charged", "charged", "charged", "suspected"]);
    assert_eq!(world.node("m1").await.state, NodeState::Active);
    let listed = suspects(&service.store, "m2", 99, now()).await.unwrap();
    let listed: Vec<_> = listed.submissions.iter().map(|one| SubmissionId(one.submission)).collect();
    assert_eq!(listed, wrong, "and not {before}, from before the first charge");
    let (id, _) = rejudge_suspects(&service.store, "m2", None, now()).await.unwrap();
    let (rejudging, _) = service.store.rejudging(id).await.unwrap();
    assert_eq!(rejudging.submissions, 5);
    assert!(rejudging.reason.contains("m2") && rejudging.reason.ends_with(reason), "{}", rejudging.reason);
    for id in &wrong {
        assert_eq!(world.waiting(*id).await.unwrap().urgency, Urgency::Rejudge);
    }
    // Measured again it comes back, but not before nothing rests on it.
    super::super::watch::look(&service, false).await.unwrap();
    assert_eq!(world.node("m2").await.state, NodeState::Drained);
    let told = world.says_hello("m2", "metal").await;
    assert_eq!(told, [format!("it is out of service: {reason}")]);
    for _ in &wrong {
        world.says("m1", clear(Verdict::Accepted, 500)).await;
    }
    assert_eq!(world.says_hello("m2", "metal").await, Vec::<String>::new());
    assert_eq!(suspects(&service.store, "m1", 99, now()).await.unwrap().count, 0);
    assert!(rejudge_suspects(&service.store, "m1", None, now()).await.is_err());
}

/// Answers of a node that fell under suspicion while their round is open are doubted.
#[tokio::test]
async fn what_a_doubted_node_says_is_asked_of_another() {
    let mut world = World::with_fleet().await;
    let service = world.kit.service.clone();
    let contest = world.contest(Strictness::Strict).await;
    let id = world.undrawn(Some(contest)).await;
    let job = world.takes("m2").await.unwrap();
    for _ in 0..8 {
        note_judged(&service, "m2", now(), Some(&["throttled"])).await.unwrap();
    }
    let node = world.node("m2").await;
    assert_eq!(node.state, NodeState::Draining);
    let reason = node.reason.unwrap();
    assert!(
        reason.starts_with("disturbed in ")
            && reason.ends_with("a healthy node is in one of 33; the last job by: throttled"),
        "{reason}"
    );
    let outcome = Outcome::Judged { judgement: Box::new(clear(Verdict::Accepted, 100)) };
    conclude(&service, job.lease(), &outcome).await.unwrap();
    let check = world.waiting(id).await.unwrap();
    assert_eq!((check.why.as_deref(), check.not_on), (Some("doubted"), vec!["m2".to_string()]));
    world.says("m3", clear(Verdict::Accepted, 101)).await;
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, job.id)));
}

/// Quiet jobs are told together with findings against a node, and count.
#[tokio::test]
async fn quiet_jobs_are_told_with_the_next_that_is_not() {
    let world = World::with_fleet().await;
    let service = world.kit.service.clone();
    let revision = world.node("m1").await.revision;
    let mut disturbed = 0;
    for n in 0..400 {
        let disturbs = n % 33 == 0;
        disturbed += u64::from(disturbs);
        let by: &[&str] = if disturbs { &["throttled"] } else { &[] };
        note_judged(&service, "m1", now(), Some(by)).await.unwrap();
    }
    let node = world.node("m1").await;
    assert_eq!(node.state, NodeState::Active, "one of 33 is usual");
    assert_eq!(node.revision - revision, disturbed, "nothing is written for quiet jobs");
    note_judged(&service, "m1", now(), None).await.unwrap();
    note_judged(&service, "nobody", now(), Some(&["throttled"])).await.unwrap();
}

/// Half of a pool stays in service, whatever is found: what befalls all of them is nothing that a node ails.
#[tokio::test]
async fn a_pool_does_not_drain_itself() {
    let mut world = World::with_fleet().await;
    let service = world.kit.service.clone();
    for node in ["m1", "m2", "m3"] {
        for _ in 0..8 {
            note_judged(&service, node, now(), Some(&["throttled"])).await.unwrap();
        }
    }
    let mut states = Vec::new();
    for node in ["m1", "m2", "m3"] {
        let node = world.node(node).await;
        states.push(node.state == NodeState::Active);
        assert!(node.doubted_since.is_some());
    }
    assert_eq!(states, [false, true, true]);
    assert_eq!(world.events("m3").await, ["admitted", "suspected"]);
    let event = service.store.node_events("m3", 1).await.unwrap().remove(0);
    assert!(event.text.ends_with("look at the pool"), "{}", event.text);
    // They judge on, and everything they say is checked.
    let contest = world.contest(Strictness::Strict).await;
    let id = world.undrawn(Some(contest)).await;
    world.says("m2", clear(Verdict::Accepted, 100)).await;
    assert_eq!(world.waiting(id).await.unwrap().why.as_deref(), Some("doubted"));
}
