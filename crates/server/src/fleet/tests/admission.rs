//! Who is admitted.

use super::*;
use crate::fleet::{probed, stopped};
use crate::manage::{drain, return_node};
use ::fleet::Probe;
use store::NodeState;

#[tokio::test]
async fn the_first_member_founds_a_pool_and_others_are_held_to_it() {
    let mut world = World::new().await;
    world.pool("metal", PoolKind::Strict).await;
    assert_eq!(world.says_hello("a", "metal").await, Vec::<String>::new());
    let pool = Pool::parse(&toml_of(&world, "metal").await).unwrap();
    assert_eq!(pool.definition.unwrap().index[&IndexPart::Dram].value, 90.0);
    assert_eq!(world.states("metal", statement("b", "metal")).await, Vec::<String>::new());
    let slow = slower(statement("c", "metal"), 1.05);
    let told = world.states("metal", slow).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("dram_ns: 94.50 ns is 5.0 % slower than the pool's"), "{told:?}");
    assert_eq!(stopped(&world.kit.service, &from("c", "metal")).await.unwrap(), told);
    assert!(!world.node("c").await.gets_work());
    // The same again is no news, and what is remedied is.
    let greeting = greeting(None, "c");
    assert_eq!(world.greets(&from("c", "metal"), &greeting).await, told);
    assert_eq!(world.events("c").await, ["waits"]);
    assert_eq!(world.says_hello("c", "metal").await, Vec::<String>::new());
    assert_eq!(world.events("c").await, ["waits", "admitted"]);
    assert!(world.node("c").await.gets_work());
}

async fn toml_of(world: &World, pool: &str) -> String {
    let form = world.kit.service.store.pool(pool).await.unwrap().form;
    serde_json::from_value::<Pool>(form).unwrap().to_text()
}

/// Of two who found at once one does, and the other is held to it.
#[tokio::test]
async fn two_founders_at_once_do_not_found_two_pools() {
    for round in 0..5 {
        let mut world = World::new().await;
        world.pool("metal", PoolKind::Strict).await;
        let (one, other) = (statement("a", "metal"), slower(statement("b", "metal"), 1.5));
        let (a, b) = tokio::join!(world.states("metal", one), world.states("metal", other));
        assert_ne!(a.is_empty(), b.is_empty(), "{round}: {a:?} {b:?}");
        assert!([a, b].concat()[0].starts_with("dram_ns: "));
    }
}

#[tokio::test]
async fn every_reason_is_told_at_once() {
    let mut world = World::new().await;
    world.pool("metal", PoolKind::Strict).await;
    world.says_hello("a", "metal").await;
    let mut other = slower(statement("b", "metal"), 1.5);
    other.kernel = Reading::Known("6.1".into());
    let away = now().plus_micros(42_500_000);
    let troubles = vec!["no space is left in its directory".to_string()];
    let greeting = Greeting { at: away, troubles, ..greeting(Some(other), "b") };
    let told = world.greets(&from("b", "metal"), &greeting).await;
    let beginnings =
        ["kernel: it is 6.1", "dram_ns: ", "its clock is 42 s ahead of the service's", "slot 0: no space"];
    assert_eq!(told.len(), 4, "{told:?}");
    for (told, beginning) in told.iter().zip(beginnings) {
        assert!(told.starts_with(beginning), "{told}");
    }
    // As long as the clock is wrong that is no news; another slot of the node says nothing of this one's troubles.
    world.greets(&from("b", "metal"), &greeting).await;
    assert_eq!(world.events("b").await, ["waits"]);
    let fine = super::greeting(Some(statement("b", "metal")), "b");
    let other_slot = WorkerId { slot: 1, ..from("b", "metal") };
    let full = ["slot 0: no space is left in its directory"];
    assert_eq!(world.greets(&other_slot, &fine).await, full);
    assert_eq!(world.greets(&from("b", "metal"), &fine).await, Vec::<String>::new());
    // Until that slot's worker is gone for good.
    let troubles = vec!["no space is left in its directory".to_string()];
    world.greets(&from("b", "metal"), &Greeting { troubles, ..fine.clone() }).await;
    world.connected(&[from("b", "metal"), other_slot.clone()]);
    assert_eq!(world.greets(&other_slot, &fine).await, full);
    world.connected(std::slice::from_ref(&other_slot));
    assert_eq!(world.greets(&other_slot, &fine).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_greeting_that_was_held_up_is_no_wrong_clock() {
    let mut world = World::new().await;
    world.pool("metal", PoolKind::Strict).await;
    world.says_hello("a", "metal").await;
    let sent = |micros| {
        let at = now().plus_micros(micros);
        Greeting { at, ..greeting(None, "a") }
    };
    let a = from("a", "metal");
    // From before a link was cut for eight seconds, and from while it was.
    for greeting in [sent(-8_000_000), sent(-8_000_000), sent(-6_000_000)] {
        assert_eq!(world.greets(&a, &greeting).await, Vec::<String>::new());
    }
    assert_eq!(world.events("a").await, ["admitted"]);
    // Behind by as much each time, two seconds later by its own clock.
    let (first, mut second) = (sent(-62_000_000), sent(-62_000_000));
    second.at = second.at.plus_secs(2);
    let came = now();
    assert_eq!(world.greeting_came(&a, &first, came).await, Vec::<String>::new());
    let told = world.greeting_came(&a, &second, came.plus_secs(2)).await;
    assert!(told[0].starts_with("its clock is 62 s behind the service's"), "{told:?}");
}

#[tokio::test]
async fn a_database_that_is_away_for_as_long_each_time_makes_no_wrong_clock() {
    let mut world = World::new().await;
    world.pool("metal", PoolKind::Strict).await;
    world.says_hello("a", "metal").await;
    let a = from("a", "metal");
    for sent in [now().plus_secs(-20), now().plus_secs(-10)] {
        let late = Greeting { at: sent, ..greeting(None, "a") };
        let told = world.greeting_came(&a, &late, sent.plus_micros(1000)).await;
        assert_eq!(told, Vec::<String>::new(), "it is answered long after it came");
    }
    assert_eq!(world.events("a").await, ["admitted"]);
}

#[tokio::test]
async fn a_worker_of_no_pool_or_of_another_version_is_told_the_remedy() {
    let world = World::new().await;
    let told = world.says_hello("a", "steel").await;
    assert_eq!(
        told,
        ["pool: no pool steel (there are: default): `tauto pool add steel --kind strict` makes it"]
    );
    assert_eq!(world.node("a").await.waits, Some(json!(told)), "its page shows it");
    let mut strange = greeting(Some(statement("a", "steel")), "a");
    strange.hello.protocol = 0;
    let told = world.greets(&from("a", "steel"), &strange).await;
    assert!(told[0].starts_with("refused: ") && told[0].ends_with("upgrade the node"), "{told:?}");
    assert!(world.node("a").await.waits.unwrap().to_string().contains("upgrade the node"));
    let mut strange = statement("b", "steel");
    strange.form = 9;
    let told = world.states("steel", strange).await;
    assert!(told[0].ends_with("upgrade tauto here"), "{told:?}");
    assert_eq!(world.events("b").await, ["refused"]);
    let silent = world.greets(&from("c", "steel"), &greeting(None, "c")).await;
    assert_eq!(silent, ["its machine has not stated yet what it is"]);
}

#[tokio::test]
async fn a_member_is_looked_at_anew_when_it_changed() {
    let world = World::with_fleet().await;
    assert!(world.node("m2").await.health.is_some());
    let started = |factor: f64| {
        let boot_id = Reading::Known("another start".to_string());
        slower(Statement { boot_id, ..statement("m2", "metal") }, factor)
    };
    assert_eq!(world.states("metal", started(1.0)).await, Vec::<String>::new());
    assert_eq!(world.events("m2").await, ["admitted", "rechecked"]);
    // What it judged since nothing spoke against it may have been judged by a slow machine.
    let told = world.states("metal", started(1.2)).await;
    assert_eq!(told, Vec::<String>::new(), "its index is looked at when there is a reason to");
    let boot_id = Reading::Known("a third".to_string());
    let told = world.states("metal", Statement { boot_id, ..started(1.2) }).await;
    assert!(told[0].starts_with("dram_ns: "), "{told:?}");
    let node = world.node("m2").await;
    assert!(node.doubted_since.is_some() && node.health.is_none(), "{node:?}");
    assert_eq!(world.states("metal", started(1.0)).await.len(), 1, "the start before: two machines");
}

#[tokio::test]
async fn two_machines_of_one_name_are_told_apart() {
    let world = World::with_fleet().await;
    let other = || Statement { boot_id: Reading::Known("other".into()), ..statement("m1", "metal") };
    assert_eq!(world.states("metal", other()).await, Vec::<String>::new(), "it may have been started anew");
    let told = world.says_hello("m1", "metal").await;
    assert!(told[0].starts_with("node: another machine uses this name"), "{told:?}");
    let told = world.says_hello("m1", "cloud").await;
    assert!(told[0].starts_with("a node m1 belongs to pool metal"), "{told:?}");
}

#[tokio::test]
async fn a_drained_node_ends_what_it_has_and_comes_back_anew() {
    let mut world = World::with_fleet().await;
    let metal = world.contest(Strictness::Strict).await;
    let service = world.kit.service.clone();
    let id = world.undrawn(Some(metal)).await;
    let job = world.takes("m1").await.unwrap();
    drain(&service.store, "m1", "new memory", "ann", now()).await.unwrap();
    let told = world.greets(&from("m1", "metal"), &greeting(None, "m1")).await;
    assert_eq!(told, ["it is being drained: new memory"]);
    super::super::watch::look(&service, true).await.unwrap();
    assert_eq!(world.node("m1").await.state, NodeState::Draining, "it still has a job");
    let outcome = Outcome::Judged { judgement: Box::new(clear(Verdict::Accepted, 100)) };
    conclude(&service, job.lease(), &outcome).await.unwrap();
    assert_eq!(world.verdict(id).await, Some((Verdict::Accepted, job.id)));
    service.fleet.changed();
    super::super::watch::look(&service, false).await.unwrap();
    assert_eq!(world.node("m1").await.state, NodeState::Drained);
    // A person drained it: being as its pool is brings it back no more than a new start does.
    let boot_id = Reading::Known("another".into());
    let told = world.states("metal", Statement { boot_id, ..statement("m1", "metal") }).await;
    assert_eq!(told, ["it is out of service: new memory"]);
    return_node(&service.store, "m1", "done", "ann", now()).await.unwrap();
    assert_eq!(world.node("m1").await.waits, Some(json!([])), "to be looked at");
    assert_eq!(world.greets(&from("m1", "metal"), &greeting(None, "m1")).await, Vec::<String>::new());
    let events = ["admitted", "drained", "out_of_service", "rechecked", "returned", "admitted"];
    assert_eq!(world.events("m1").await, events);
}

#[tokio::test]
async fn probes_are_told_to_the_node_s_tests() {
    let world = World::with_fleet().await;
    let service = &world.kit.service;
    let probe = |dram: f64| Probe { at: ::fleet::Timestamp(0), parts: vec![(IndexPart::Dram, dram)] };
    for n in 0..16 {
        probed(service, &from("m3", "metal"), &probe(90.0 + f64::from(n % 3) * 0.1)).await.unwrap();
    }
    assert!(world.node("m3").await.gets_work());
    let standing = crate::fleet::standing(service, &from("m3", "metal"), &greeting(None, "m3"), now()).await;
    let works = Reply::Standing(Standing::Works { probe_every_secs: Some(60), protocol: fleet::PROTOCOL });
    assert_eq!(standing.unwrap(), works, "while its level is learned");
    for _ in 0..4 {
        probed(service, &from("m3", "metal"), &probe(110.0)).await.unwrap();
    }
    let node = world.node("m3").await;
    assert_eq!(node.state, NodeState::Draining);
    let reason = node.reason.unwrap();
    assert!(reason.starts_with("memory: 22.") && reason.contains("slower than"), "{reason}");
    assert_eq!(service.store.samples("m3", "probe", store::Timestamp(0), 99).await.unwrap().len(), 20);
    // Measured in full after it was found, it is as its pool is again.
    super::super::watch::look(service, false).await.unwrap();
    assert_eq!(world.node("m3").await.state, NodeState::Drained);
    assert_eq!(world.says_hello("m3", "metal").await, Vec::<String>::new());
    let node = world.node("m3").await;
    assert_eq!((node.state, node.reason, node.doubted_since), (NodeState::Active, None, None));
    assert_eq!(world.events("m3").await, ["admitted", "suspected", "out_of_service", "admitted"]);
}
