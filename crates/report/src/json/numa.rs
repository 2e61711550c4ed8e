//! `tauto numa … --json`.

use model::{NumaCore, NumaMap, OffcoreMask, Reading};
use serde::Serialize;

/// `tauto numa topology --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopologyDocument<'a> {
    /// By number.
    pub nodes: Vec<NodeDocument<'a>>,
    /// From each node to each, in the order of `nodes`; 10 is the node itself.
    pub distances: &'a Reading<Vec<Vec<u32>>>,
    /// Physical cores with their caches.
    pub cores: &'a [NumaCore],
    /// CPUs that are switched off.
    pub offline_cpus: &'a [u32],
    /// What is worth knowing, a sentence each.
    pub notes: &'a [String],
}

/// A memory node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDocument<'a> {
    /// Its number.
    pub id: u32,
    /// Its CPUs that are online.
    pub cpus: &'a [u32],
    /// The packages those are in.
    pub packages: &'a [u32],
    /// 0: it has CPUs only.
    pub memory_bytes: Reading<u64>,
    /// How much of it is free.
    pub free_bytes: Reading<u64>,
}

impl<'a> TopologyDocument<'a> {
    /// From a map.
    pub fn new(map: &'a NumaMap) -> TopologyDocument<'a> {
        let nodes = map.nodes.iter().map(|node| NodeDocument {
            id: node.id,
            cpus: &node.cpus,
            packages: &node.packages,
            memory_bytes: node.memory.clone().map(|bytes| bytes.0),
            free_bytes: node.free.clone().map(|bytes| bytes.0),
        });
        TopologyDocument {
            nodes: nodes.collect(),
            distances: &map.distances,
            cores: &map.cores,
            offline_cpus: &map.offline,
            notes: &map.notes,
        }
    }
}

/// `tauto numa decode --json`, and of `encode`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffcoreDocument<'a> {
    /// In hexadecimal, with `0x`.
    pub mask: String,
    /// As in `--cpu`.
    pub generation: &'a str,
    /// Request bits that are set.
    pub request: &'a [String],
    /// Response bits that are set.
    pub response: &'a [String],
    /// A name for the whole, where there is one.
    pub name: Option<&'a str>,
    /// It counts something.
    pub valid: bool,
    /// Why it does not.
    pub why: Option<&'a str>,
    /// Events by which the vendor publishes exactly this mask.
    pub events: &'a [String],
    /// The same for perf.
    pub perf: &'a [String],
    /// The same for LIKWID.
    pub likwid: &'a Reading<Vec<String>>,
    /// Where the table comes from.
    pub sources: &'a [String],
}

impl<'a> OffcoreDocument<'a> {
    /// From a mask that was taken apart.
    pub fn new(mask: &'a OffcoreMask) -> OffcoreDocument<'a> {
        OffcoreDocument {
            mask: format!("{:#x}", mask.mask),
            generation: &mask.generation,
            request: &mask.request,
            response: &mask.response,
            name: mask.name.as_deref(),
            valid: mask.is_valid(),
            why: mask.why.as_deref(),
            events: &mask.events,
            perf: &mask.perf,
            likwid: &mask.likwid,
            sources: &mask.sources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use serde_json::json;

    #[test]
    fn topology() {
        let document = serde_json::to_value(TopologyDocument::new(&samples::numa_map())).unwrap();
        let node = &document["nodes"][1];
        assert_eq!(
            *node,
            json!({"id": 1, "cpus": [1, 3], "packages": [1], "memory_bytes": 12_u64 << 30, "free_bytes": {"unknown": "no file"}})
        );
        assert_eq!(document["distances"], json!([[10, 20, 17], [20, 10, 28], [17, 28, 10]]));
        assert_eq!(document["offline_cpus"], json!([4, 5]));
        let cache = json!({"level": 3, "size": "8192K", "cpus": [0, 2]});
        assert_eq!(document["cores"][0]["caches"][1], cache);
    }

    #[test]
    fn masks() {
        let document = serde_json::to_value(OffcoreDocument::new(&samples::mask())).unwrap();
        assert_eq!((&document["mask"], &document["valid"]), (&json!("0x20ff"), &json!(true)));
        assert_eq!((&document["why"], &document["name"]), (&json!(null), &json!("ANY_REQUEST.REMOTE_DRAM")));
        let document = serde_json::to_value(OffcoreDocument::new(&samples::empty_mask())).unwrap();
        assert_eq!((&document["valid"], &document["name"]), (&json!(false), &json!(null)));
        assert_eq!(document["likwid"]["unknown"], "the mask counts nothing");
    }
}
