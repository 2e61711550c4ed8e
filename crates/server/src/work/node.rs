//! What nodes tell of themselves.

use model::{Index, NodeFacts, Reading, not_told, told};
use serde_json::Value;
use store::{Error, Sample, Store, Timestamp};

/// Keeps what a node tells of itself, and what was measured on it as readings over time.
pub(super) async fn keep(
    store: &Store,
    node: &str,
    pool: &str,
    facts: &NodeFacts,
    now: Timestamp,
) -> Result<(), Error> {
    store.note_node(node, pool, facts, now).await?;
    for (kind, sample) in measured(facts, now) {
        // Nodes repeat themselves.
        let last = store.samples(node, &kind, Timestamp(0), 1).await?;
        if last.first().is_none_or(|last| last.value != sample.value) {
            store.add_sample(node, &kind, &sample).await?;
        }
    }
    Ok(())
}

/// What was measured: the machine's index, and the noise floor of each slot where one was measured.
fn measured(facts: &NodeFacts, now: Timestamp) -> Vec<(String, Sample)> {
    let sample = |kind: String, at: Timestamp, value: serde_json::Result<Value>| {
        Some((kind, Sample { at, value: value.ok()? }))
    };
    let index = facts.index.known().and_then(|index| {
        let taken = i64::try_from(index.taken_at).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        sample("index".into(), Timestamp(taken.min(now.0)), serde_json::to_value(index))
    });
    let slots = facts.slots.known().into_iter().flat_map(|slots| &slots.slots);
    let floors = slots.filter_map(|slot| {
        sample(format!("floor/{}", slot.slot.id), now, serde_json::to_value(slot.noise_floor.as_ref()?))
    });
    index.into_iter().chain(floors).collect()
}

/// A node's power index over time: when it was taken and what it came to, newest first.
pub(crate) async fn indices(
    store: &Store,
    node: &str,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<(Timestamp, Reading<Index>)>, Error> {
    let samples = store.samples(node, "index", since, limit).await?;
    let index = |value: Value| told(value).unwrap_or_else(|_| not_told());
    Ok(samples.into_iter().map(|sample| (sample.at, index(sample.value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_reading_is_kept_once_however_often_it_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("a.db").display().to_string()).await.unwrap();
        let older: Value =
            serde_json::from_str(include_str!("../../../store/tests/forms/facts-1.json")).unwrap();
        let facts = |taken: i64, tail: f64| -> NodeFacts {
            let mut facts = older.clone();
            facts["index"]["taken_at"] = json!(taken);
            let slots = facts["slots"]["slots"].as_array_mut().unwrap();
            slots.push(slots[0].clone());
            slots[0].as_object_mut().unwrap().remove("noise_floor");
            slots[1]["id"] = json!(1);
            slots[1]["noise_floor"]["memory"]["stray"]["tail"] = json!(tail);
            serde_json::from_value(facts).unwrap()
        };
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        for (told, taken, tail) in [(10, 5, 0.1), (20, 5, 0.1), (30, 25, 0.1), (40, 99, 0.2)] {
            keep(&store, "n", "default", &facts(taken, tail), at(told)).await.unwrap();
        }
        let kept = |kind: &'static str| {
            let store = store.clone();
            async move { store.samples("n", kind, Timestamp(0), 9).await.unwrap() }
        };
        let moments = |samples: Vec<Sample>| samples.into_iter().map(|sample| sample.at).collect::<Vec<_>>();
        // Nothing is measured in the future.
        assert_eq!(moments(kept("index").await), [at(40), at(25), at(5)]);
        assert_eq!(moments(kept("floor/1").await), [at(40), at(10)]);
        assert!(kept("floor/0").await.is_empty());
        assert_eq!(store.node("n").await.unwrap().last_seen, at(40));
        keep(&store, "n", "default", &NodeFacts::unknown("not reported"), at(50)).await.unwrap();
        assert_eq!(kept("index").await.len(), 3);
        // A sample that nobody can read is not passed off as an index.
        let odd = Sample { at: at(60), value: json!({"rounds": 374}) };
        store.add_sample("n", "index", &odd).await.unwrap();
        let indices = indices(&store, "n", at(25), 9).await.unwrap();
        assert_eq!(
            indices.iter().map(|(at, index)| (*at, index.known().is_some())).collect::<Vec<_>>(),
            [(at(60), false), (at(40), true), (at(25), true)]
        );
    }
}
