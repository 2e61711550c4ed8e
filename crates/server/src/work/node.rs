//! What nodes tell of themselves.

use serde_json::Value;
use store::{Error, Moment, Sample, Store};

/// Keeps what a node tells of itself, and what was measured on it as readings over time.
pub(super) async fn keep(
    store: &Store,
    node: &str,
    pool: &str,
    facts: &Value,
    now: Moment,
) -> Result<(), Error> {
    store.note_node(node, pool, facts, now).await?;
    for (kind, sample) in measured(facts, now) {
        // Nodes repeat themselves.
        let last = store.samples(node, &kind, Moment(0), 1).await?;
        if last.first().is_none_or(|last| last.value != sample.value) {
            store.add_sample(node, &kind, &sample).await?;
        }
    }
    Ok(())
}

/// What was measured: the machine's index, and the noise floor of each slot where one was measured.
fn measured(facts: &Value, now: Moment) -> Vec<(String, Sample)> {
    let index = facts.get("index").filter(|index| index.is_object()).map(|index| {
        // In seconds since 1970.
        let taken =
            index.get("taken_at").and_then(Value::as_i64).map(|seconds| seconds.saturating_mul(1_000_000));
        let at = Moment(taken.unwrap_or(now.0).min(now.0));
        ("index".to_string(), Sample { at, value: index.clone() })
    });
    let slots = facts.pointer("/slots/slots").and_then(Value::as_array);
    let floors = slots.into_iter().flatten().filter_map(|slot| {
        let floor = slot.get("noise_floor").filter(|floor| floor.is_object())?;
        Some((format!("floor/{}", slot.get("id")?), Sample { at: now, value: floor.clone() }))
    });
    index.into_iter().chain(floors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_reading_is_kept_once_however_often_it_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("a.db").display().to_string()).await.unwrap();
        let facts = |taken: i64, tail: f64| {
            json!({
                "index": { "taken_at": taken, "rounds_per_second": { "value": 374.0 } },
                "slots": { "slots": [{ "id": 0 }, { "id": 1, "noise_floor": { "tail": tail } }] },
            })
        };
        let at = |seconds: i64| Moment(seconds * 1_000_000);
        for (told, taken, tail) in [(10, 5, 0.1), (20, 5, 0.1), (30, 25, 0.1), (40, 99, 0.2)] {
            keep(&store, "n", "default", &facts(taken, tail), at(told)).await.unwrap();
        }
        let kept = |kind: &'static str| {
            let store = store.clone();
            async move { store.samples("n", kind, Moment(0), 9).await.unwrap() }
        };
        let moments = |samples: Vec<Sample>| samples.into_iter().map(|sample| sample.at).collect::<Vec<_>>();
        // Nothing is measured in the future.
        assert_eq!(moments(kept("index").await), [at(40), at(25), at(5)]);
        assert_eq!(moments(kept("floor/1").await), [at(40), at(10)]);
        assert!(kept("floor/0").await.is_empty());
        assert_eq!(store.node("n").await.unwrap().last_seen, at(40));
        keep(&store, "n", "default", &json!({ "index": null, "slots": null }), at(50)).await.unwrap();
        assert_eq!(kept("index").await.len(), 3);
    }
}
