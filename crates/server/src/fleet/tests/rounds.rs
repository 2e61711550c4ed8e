//! On how many nodes a job is judged.

use super::*;
use crate::manage::drain;
use store::JobState;

#[tokio::test]
async fn one_machine_judges_as_ever() {
    let mut world = World::new().await;
    world.kit.service.store.note_node("w", "default", &facts([]), now()).await.unwrap();
    for judgement in [
        judged(Verdict::TimeLimit, 999, Confidence::Settled),
        clear(Verdict::JudgeError, 0),
        clear(Verdict::Accepted, 100),
    ] {
        let verdict = judgement.verdict;
        let id = world.submit(None).await;
        let claim = Claim::local("w/0", now().plus_micros(60_000_000), now());
        let job = world.kit.service.store.claim(claim).await.unwrap().unwrap();
        let outcome = Outcome::Judged { judgement: Box::new(judgement) };
        conclude(&world.kit.service, job.lease(), &outcome).await.unwrap();
        assert_eq!(world.verdict(id).await, Some((verdict, job.id)));
        assert_eq!(world.waiting(id).await, None);
    }
    assert!(world.kit.service.store.node_events("w", 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn strictness_decides_where() {
    let mut world = World::with_fleet().await;
    for (strictness, on_cloud, place) in [
        (Strictness::Strict, false, Some("metal")),
        (Strictness::Relaxed, true, None),
        (Strictness::RelaxedThenStrict, true, None),
    ] {
        let contest = world.contest(strictness).await;
        let id = world.undrawn(Some(contest)).await;
        let job = world.waiting(id).await.unwrap();
        assert_eq!((job.place.as_deref(), job.urgency), (place, Urgency::Contest), "{strictness:?}");
        if !on_cloud {
            assert_eq!(world.takes("c1").await, None, "a strict job stays in its pool");
        }
        let node = if on_cloud { "c1" } else { "m1" };
        let job = world.says(node, clear(Verdict::Accepted, 1)).await;
        assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, job.id)), "{strictness:?}");
    }
}

/// What missed its limit, or may have, on relaxed hardware is judged on strict hardware, and that counts.
#[tokio::test]
async fn relaxed_then_strict_ends_strictly_where_it_matters() {
    let mut world = World::with_fleet().await;
    let contest = world.contest(Strictness::RelaxedThenStrict).await;
    for (relaxed, confirmed) in [
        (clear(Verdict::TimeLimit, 1500), true),
        (judged(Verdict::Accepted, 970, Confidence::Settled), true),
        (clear(Verdict::Accepted, 999), false),
        (clear(Verdict::Accepted, 100), false),
        (clear(Verdict::WrongAnswer, 100), false),
    ] {
        let (verdict, told) = (relaxed.verdict, format!("{relaxed:?}"));
        let id = world.undrawn(Some(contest)).await;
        let first = world.says("c1", relaxed).await;
        if !confirmed {
            assert_eq!(world.verdict(id).await, Some((verdict, first.id)), "{told}");
            continue;
        }
        assert_eq!(world.verdict(id).await, None, "it does not stand: {told}");
        let next = world.waiting(id).await.unwrap();
        assert_eq!((next.place.as_deref(), next.confirm, next.round), (Some("metal"), true, first.id));
        assert_eq!(world.takes("c2").await, None);
        let strict = world.says("m1", clear(Verdict::Accepted, 900)).await;
        assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, strict.id)), "the strict one counts");
        assert_eq!(world.waiting(id).await, None);
    }
}

/// The cloud's memory is half as fast: far below the limit there is not far enough.
#[tokio::test]
async fn a_faster_cloud_node_is_confirmed_sooner() {
    let mut world = World::with_fleet().await;
    let contest = world.contest(Strictness::RelaxedThenStrict).await;
    let fast = slower(statement("c9", "cloud"), 0.5);
    world.states("cloud", fast).await;
    let id = world.undrawn(Some(contest)).await;
    world.says("c9", clear(Verdict::Accepted, 600)).await;
    assert!(world.waiting(id).await.unwrap().confirm, "it may take 1.2 s on metal");
}

#[tokio::test]
async fn what_is_near_the_limit_is_asked_of_a_second_node() {
    let mut world = World::with_fleet().await;
    let contest = world.contest(Strictness::Strict).await;
    let grey = || judged(Verdict::Accepted, 990, Confidence::Settled);
    let id = world.undrawn(Some(contest)).await;
    let first = world.says("m1", grey()).await;
    let next = world.waiting(id).await.unwrap();
    assert_eq!((next.not_on, next.why.as_deref()), (vec!["m1".to_string()], Some("grey")));
    assert_eq!(world.takes("m1").await, None, "not on the same node");
    let second = world.says("m2", judged(Verdict::Accepted, 985, Confidence::Settled)).await;
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, second.id)), "the least time counts");
    let history = world.kit.service.store.history(id).await.unwrap();
    let standing: Vec<_> = history.iter().map(|one| (one.job, one.stands)).collect();
    assert_eq!(standing, [(first.id, false), (second.id, true)]);
    assert_eq!(world.open(id).await, []);
    assert!(world.events("m1").await.iter().all(|kind| kind != "charged"));
}

/// Two differ: a third is asked, and who stands alone is charged. The first answer counts where it has the least time.
#[tokio::test]
async fn the_odd_one_is_charged() {
    let mut world = World::with_fleet().await;
    let contest = world.contest(Strictness::Strict).await;
    let id = world.undrawn(Some(contest)).await;
    let first = world.says("m1", judged(Verdict::Accepted, 500, Confidence::Settled)).await;
    world.says("m2", clear(Verdict::WrongAnswer, 500)).await;
    assert_eq!(world.waiting(id).await.unwrap().why.as_deref(), Some("verdicts"));
    world.says("m3", clear(Verdict::Accepted, 501)).await;
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, first.id)));
    assert_eq!(world.events("m2").await, ["admitted", "charged"]);
    let event = world.kit.service.store.node_events("m2", 1).await.unwrap().remove(0);
    assert_eq!(event.text, format!("job {}: WA where 2 others agree on AC", first.id));
    assert_eq!(world.events("m1").await, ["admitted"]);
    // Where no two agree that is told.
    let id = world.undrawn(Some(contest)).await;
    let first = world.says("m1", judged(Verdict::Accepted, 500, Confidence::Settled)).await;
    world.says("m3", clear(Verdict::WrongAnswer, 500)).await;
    world.says("m2", clear(Verdict::RunTimeError, 500)).await;
    assert_eq!(world.waiting(id).await, None);
    assert_eq!(world.open(id).await, [(first.id, "verdicts".to_string())]);
}

#[tokio::test]
async fn a_fault_of_ours_is_asked_of_another_node() {
    let mut world = World::with_fleet().await;
    let contest = world.contest(Strictness::Strict).await;
    let id = world.undrawn(Some(contest)).await;
    world.says("m1", clear(Verdict::JudgeError, 0)).await;
    assert_eq!(world.waiting(id).await.unwrap().why.as_deref(), Some("failed"));
    let second = world.says("m2", clear(Verdict::Accepted, 100)).await;
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, second.id)));
    // Where all fail it is a fault, once.
    let id = world.undrawn(Some(contest)).await;
    let mut last = None;
    for node in ["m1", "m2", "m3"] {
        last = Some(world.says(node, clear(Verdict::JudgeError, 0)).await.id);
    }
    assert_eq!(world.verdict(id).await, last.map(|last| (Verdict::JudgeError, last)));
    assert_eq!(world.waiting(id).await, None);
}

/// A job that waits for a check when the other nodes go away ends with what there is.
#[tokio::test]
async fn a_check_that_nobody_can_make_is_not_waited_for() {
    let mut world = World::with_fleet().await;
    let service = world.kit.service.clone();
    let contest = world.contest(Strictness::Strict).await;
    let id = world.undrawn(Some(contest)).await;
    let first = world.says("m1", judged(Verdict::Accepted, 990, Confidence::Settled)).await;
    let check = world.waiting(id).await.unwrap().id;
    super::super::watch::look(&service, true).await.unwrap();
    assert_eq!(world.verdict(id).await, None, "others are there");
    for node in ["m2", "m3"] {
        drain(&service.store, node, "gone", "ann", now()).await.unwrap();
    }
    service.fleet.changed();
    super::super::watch::look(&service, true).await.unwrap();
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, first.id)));
    assert!(matches!(service.store.job(check).await.unwrap().state, JobState::Cancelled { .. }));
    assert_eq!(world.open(id).await, [(first.id, "grey".to_string())]);
    // What must be confirmed on strict hardware waits for it, however long.
    let contest = world.contest(Strictness::RelaxedThenStrict).await;
    drain(&service.store, "m1", "gone", "ann", now()).await.unwrap();
    service.fleet.changed();
    let id = world.undrawn(Some(contest)).await;
    world.says("c1", clear(Verdict::TimeLimit, 1500)).await;
    super::super::watch::look(&service, true).await.unwrap();
    assert!(world.waiting(id).await.is_some_and(|job| job.confirm) && world.verdict(id).await.is_none());
    assert_eq!(service.store.check().await.unwrap(), Vec::<String>::new());
}

/// A contest is set, changed, refused where it cannot be judged so, and removed while nothing was submitted for it.
#[tokio::test]
async fn contests_over_the_api() {
    let mut world = World::new().await;
    world.pool("metal", PoolKind::Strict).await;
    world.kit.user("admin", store::Role::Admin).await;
    let session = world.kit.sign_in("admin").await;
    let headers = [session.as_str(), "content-type: application/json", "sec-fetch-site: same-origin"];
    let kit = &world.kit;
    let set = async |body: Json| kit.send("PUT /api/v1/contests/finals", &headers, body.to_string()).await;
    let answer = set(json!({"pool": "default", "strictness": "strict"})).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(answer.text.contains("pool default is relaxed"), "{}", answer.text);
    assert_eq!(set(json!({"pool": "metal", "strictness": "sometimes"})).await.status, 422);
    let answer = set(json!({"pool": "metal", "strictness": "relaxed_then_strict", "at_once": 3})).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["at_once"].clone()),
        (200, json!(3)),
        "{}",
        answer.text
    );
    let listed = kit.send("GET /api/v1/contests", &headers, "").await.json();
    assert_eq!(listed["contests"][0]["strictness"], "relaxed_then_strict");
    let hand_in = async |contest: &str| {
        let body = json!({"problem": "fence", "contest": contest, "files": [{"name": "a.py", "content": "print(1)"}]});
        kit.send("POST /api/v1/submissions", &headers, body.to_string()).await
    };
    let facts = facts([language("python3", "Python 3.11.7")]);
    kit.service.store.note_node("n", "default", &facts, now()).await.unwrap();
    let answer = hand_in("semis").await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(answer.text.contains("contest: no contest of this name"), "{}", answer.text);
    let answer = hand_in("finals").await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = SubmissionId(answer.json()["id"].as_i64().unwrap());
    let job = world.waiting(id).await.unwrap();
    assert_eq!((job.urgency, job.place), (Urgency::Contest, None));
    let kept = kit.send("DELETE /api/v1/contests/finals", &headers, "").await;
    assert_eq!(kept.status, 409, "{}", kept.text);
    // Bound to be judged strictly from now on: what waits moves.
    assert_eq!(set(json!({"pool": "metal"})).await.status, 200);
    assert_eq!(world.waiting(id).await.unwrap().place.as_deref(), Some("metal"));
    let semis = json!({"pool": "metal"}).to_string();
    assert_eq!(kit.send("PUT /api/v1/contests/semis", &headers, semis).await.status, 200);
    assert_eq!(kit.send("DELETE /api/v1/contests/semis", &headers, "").await.status, 204);
    assert_eq!(kit.send("GET /api/v1/contests/semis", &headers, "").await.status, 404);
}
