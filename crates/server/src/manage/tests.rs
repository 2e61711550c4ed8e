//! Pools, nodes and contests over a real store.

use super::*;
use crate::test_service::accepted;
use crate::timestamp::now;
use ::fleet::{
    Contest, Definition, Feature, Health, HealthPolicy, Pool, PoolKind, Probe, Strictness, Timestamp as At,
};
use model::IndexPart;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use store::{
    Claim, Conclusion, Lease, NewSubmission, NodeChange, NodeState, Sample, Store, Timestamp, Urgency,
};

struct Bench {
    store: Store,
    _directory: tempfile::TempDir,
}

async fn bench() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("a.db").display().to_string()).await.unwrap();
    let bench = Bench { store, _directory: directory };
    let definition = Definition {
        equal: BTreeMap::from([(Feature::Kernel, vec!["6.12.48".to_string()])]),
        ..Definition::default()
    };
    let metal = Pool { definition: Some(definition), ..Pool::new("metal", PoolKind::Strict).unwrap() };
    add_pool(&bench.store, &metal, now()).await.unwrap();
    add_pool(&bench.store, &Pool::new("cloud", PoolKind::Relaxed).unwrap(), now()).await.unwrap();
    bench
}

fn statement(node: &str, pool: &str) -> Json {
    let known = |text: &str| json!(text);
    json!({"form": ::fleet::STATEMENT_FORM, "node": node, "pool": pool, "version": "1.0.0", "protocol": ::fleet::PROTOCOL, "at": 0,
        "boot_id": known("b0"), "fingerprint": "0123456789abcdef", "kind": known("bare_metal"), "cpu_model": known("Xeon"),
        "cpu_version": known("6/85/7"), "microcode": known("0x1"), "topology": known("1 × 2"), "memory_bytes": 1u64 << 33,
        "kernel": known("6.12.50"), "mitigations": {}, "tuning": {}, "slots": [],
        "index": {"taken_at": 0, "parts": [{"part": "dram_ns", "value": 90.0, "repeatability_pct": 0.1}]}})
}

impl Bench {
    async fn node(&self, name: &str, admitted: bool) {
        let node = self.store.state_node(name, "metal", &statement(name, "metal"), now()).await.unwrap();
        let health = Some(serde_json::to_value(Health::new(At(now().0))).unwrap());
        let waits = (!admitted).then(|| json!([{"about": "kernel", "why": "it is 6.12.50", "measure_again": false}, "slot 0: no compiler"]));
        let change = NodeChange { waits, health, ..NodeChange::none(&node) };
        assert!(self.store.change_node(&node, &change, now()).await.unwrap());
    }

    async fn judged(&self, token: &str, node: &str, at: Timestamp) {
        let new = NewSubmission {
            token,
            version: None,
            author: None,
            language: "c",
            files: vec![("main.c", b"int main() {}")],
            details: json!({}),
            created: at,
            urgency: Urgency::Live,
            contest: None,
            origin: store::PARTICIPANT,
            visitor: None,
            callback: None,
        };
        self.store.submit(&new).await.unwrap();
        let job = self.claim(node, at).await;
        let lease = Lease { job: job.id, attempt: job.attempt };
        self.store.finish(lease, &accepted(), None, at, Conclusion::stands()).await.unwrap();
    }

    async fn claim(&self, node: &str, at: Timestamp) -> store::Job {
        let claim =
            Claim { node: Some(node), pool: "metal", ..Claim::local("w", at.plus_micros(60_000_000), at) };
        self.store.claim(claim).await.unwrap().unwrap()
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn pools_are_made_changed_and_removed() {
    let bench = bench().await;
    let store = &bench.store;
    refused(show_pool(store, "iron").await, &["pool iron", "cloud, metal"]);
    refused(add_pool(store, &Pool::new("metal", PoolKind::Strict).unwrap(), now()).await, &["exists since"]);
    assert!(accept(store, "metal", Feature::Kernel, "6.12.50", now()).await.unwrap());
    assert!(!accept(store, "metal", Feature::Kernel, "6.12.50", now()).await.unwrap());
    refused(accept(store, "metal", Feature::Microcode, "0x2", now()).await, &["does not require microcode"]);
    refused(accept(store, "cloud", Feature::Kernel, "6.12.50", now()).await, &["does not require kernel"]);
    let metal = show_pool(store, "metal").await.unwrap();
    assert_eq!(metal.definition.unwrap()["equal"]["kernel"], json!(["6.12.48", "6.12.50"]));
    let wrong = Pool { helps_after_secs: Some(1), ..Pool::new("cloud", PoolKind::Relaxed).unwrap() };
    refused(put_pool(store, &wrong, now()).await, &["helps_after_secs"]);
    bench.node("a", true).await;
    refused(remove_pool(store, "metal").await, &["node a uses it"]);
    assert_eq!(show_pool(store, "metal").await.unwrap().members[0].standing, "active");
    remove_pool(store, "cloud").await.unwrap();
    refused(remove_pool(store, "cloud").await, &["pool cloud was not found\nhint: the pools are: metal"]);
}

#[tokio::test]
async fn contests_are_bound_to_pools_that_can_judge_them() {
    let bench = bench().await;
    let store = &bench.store;
    let bound = |pool: &str, strictness| Contest {
        name: "finals".into(),
        pool: pool.into(),
        strictness,
        at_once: Some(3),
        second_opinion: Some(model::SecondOpinions::Grey),
    };
    refused(set_contest(store, &bound("iron", Strictness::Strict), now()).await, &["no pool iron"]);
    refused(set_contest(store, &bound("cloud", Strictness::Strict), now()).await, &["is relaxed"]);
    set_contest(store, &bound("metal", Strictness::RelaxedThenStrict), now()).await.unwrap();
    let shown = show_contest(store, "finals").await.unwrap();
    assert_eq!((shown.strictness, shown.at_once), (Strictness::RelaxedThenStrict, Some(3)));
    assert_eq!(shown.second_opinion, Some(model::SecondOpinions::Grey));
    assert_eq!(store.contest("finals").await.unwrap().usual, None);
    set_contest(store, &bound("metal", Strictness::Strict), now()).await.unwrap();
    assert_eq!(store.contest("finals").await.unwrap().usual.as_deref(), Some("metal"));
    refused(
        put_pool(store, &Pool::new("metal", PoolKind::Relaxed).unwrap(), now()).await,
        &["finals", "is relaxed"],
    );
    let odd = Contest { name: "a b".into(), ..bound("metal", Strictness::Strict) };
    refused(set_contest(store, &odd, now()).await, &["name: 1 to 64"]);
    remove_contest(store, "finals").await.unwrap();
    refused(
        show_contest(store, "finals").await,
        &["contest finals was not found\nhint: there is no contest yet"],
    );
}

#[tokio::test]
async fn a_node_is_drained_and_comes_back() {
    let bench = bench().await;
    let store = &bench.store;
    bench.node("a", true).await;
    refused(drain(store, "b", "why", "root", now()).await, &["node b was not found\nhint: the nodes are: a"]);
    refused(drain(store, "a", " \n", "root", now()).await, &["reason: is required"]);
    refused(return_node(store, "a", "", "root", now()).await, &["is not drained"]);
    refused(remove_node(store, "a").await, &["drain it first"]);
    let drained = drain(store, "a", "new  memory", "root", now()).await.unwrap();
    assert_eq!((drained.standing, drained.reasons()), ("drained", vec!["new memory".to_string()]));
    refused(
        drain(store, "a", "again", "root", now()).await,
        &["node a: drained since 20", "by root: new memory"],
    );
    let node = store.node("a").await.unwrap();
    let doubts = NodeChange { doubted_since: Some(Timestamp(1)), ..NodeChange::none(&node) };
    store.change_node(&node, &doubts, now()).await.unwrap();
    let back = return_node(store, "a", "done", "root", now()).await.unwrap();
    assert_eq!((back.standing, back.doubted_since), ("waiting", None));
    let told = events(store, "a", 9).await.unwrap();
    let kinds: Vec<&str> = told.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, ["returned", "drained"]);
    assert!(told[0].text.starts_with("done; judgements since 1970"), "{}", told[0].text);
    drain(store, "a", "away", "root", now()).await.unwrap();
    remove_node(store, "a").await.unwrap();
    assert!(store.nodes().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_node_that_judges_ends_that_first() {
    let bench = bench().await;
    let store = &bench.store;
    bench.node("a", true).await;
    bench.judged("1", "a", now()).await;
    suspects(store, "a", 9, now()).await.unwrap();
    store
        .rejudge(
            store::SubmissionId(1),
            store::Rejudge {
                version: None,
                purpose: store::Purpose::Verdict,
                times: 1,
                urgency: Urgency::Live,
                created: now(),
            },
        )
        .await
        .unwrap();
    let job = bench.claim("a", now()).await;
    let node = drain(store, "a", "why", "root", now()).await.unwrap();
    assert_eq!(node.state, NodeState::Draining);
    let whole = details(store, "a").await.unwrap();
    assert_eq!((whole.running.len(), whole.running[0].job), (1, job.id.0));
    refused(remove_node(store, "a").await, &["it is at job"]);
    let lines = queue(store, now()).await.unwrap();
    let metal = lines.pools.iter().find(|pool| pool.pool == "metal").unwrap();
    assert_eq!(metal.running, BTreeMap::from([("a".to_string(), 1)]));
    assert_eq!((lines.done[0].finished, lines.done[0].confirmed_share), (1, Some(0.0)));
}

#[tokio::test]
async fn everything_is_told_of_a_node() {
    let bench = bench().await;
    let store = &bench.store;
    bench.node("a", false).await;
    let whole = details(store, "a").await.unwrap();
    assert_eq!(whole.node.reasons(), ["kernel: it is 6.12.50", "slot 0: no compiler"]);
    let odd: Vec<_> = whole.points.iter().filter(|point| point.fits == Some(false)).collect();
    assert_eq!((odd.len(), &*odd[0].about), (1, "kernel"));
    let index = json!({"rounds_per_second": {"value": 374.0}, "parts": {"dram_ns": {"value": 90.5}, "l1_ns": {"unknown": "x"}}});
    store.add_sample("a", "index", &Sample { at: Timestamp(5), value: index }).await.unwrap();
    let probe = serde_json::to_value(Probe { at: At(7), parts: vec![(IndexPart::Dram, 91.0)] }).unwrap();
    store.add_sample("a", "probe", &Sample { at: Timestamp(7), value: probe }).await.unwrap();
    let taken = details(store, "a").await.unwrap().index;
    assert_eq!((taken[0].probe, taken[0].parts[&IndexPart::Dram]), (true, 91.0));
    let both = BTreeMap::from([(IndexPart::Rounds, 374.0), (IndexPart::Dram, 90.5)]);
    assert_eq!((taken[1].probe, &taken[1].parts), (false, &both));
    let health = whole.node.health.unwrap();
    let left = HealthPolicy::published(PoolKind::Strict).learn;
    assert_eq!((health.condition, health.left, health.tests.len()), ("learning", Some(left), 8));
}

#[tokio::test]
async fn what_a_doubted_node_judged_is_judged_again() {
    let bench = bench().await;
    let store = &bench.store;
    bench.node("a", true).await;
    bench.node("b", true).await;
    let begin = now().0 - 1_000_000;
    for (second, (token, node)) in [("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")].into_iter().enumerate() {
        bench.judged(token, node, Timestamp(begin + second as i64)).await;
    }
    refused(rejudge_suspects(store, "a", None, now()).await, &["has no suspect submissions"]);
    let node = store.node("a").await.unwrap();
    let doubts = NodeChange { doubted_since: Some(Timestamp(begin + 1)), ..NodeChange::none(&node) };
    store.change_node(&node, &doubts, now()).await.unwrap();
    let listed = suspects(store, "a", 1, now()).await.unwrap();
    assert_eq!((listed.count, listed.submissions.len(), &*listed.submissions[0].token), (2, 1, "2"));
    let (id, count) = rejudge_suspects(store, "a", None, now()).await.unwrap();
    let (rejudging, of) = store.rejudging(id).await.unwrap();
    assert_eq!((count, of.len()), (2, 2));
    let since = crate::timestamp::in_words(Timestamp(begin + 1));
    assert_eq!(rejudging.reason, format!("judged on a, suspect since {since}"));
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
