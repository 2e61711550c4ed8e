//! Memory nodes as a machine has them, and masks that say which requests of a core are counted by where they were answered.

use crate::{Bytes, Reading};
use serde::{Deserialize, Serialize};

/// The machine's memory nodes, and what lies in each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumaMap {
    /// By number.
    pub nodes: Vec<NumaNode>,
    /// From each node to each, in the order of `nodes`, as the firmware tells it: 10 is the node itself (ACPI, System Locality
    /// Information Table).
    pub distances: Reading<Vec<Vec<u32>>>,
    /// Physical cores, by their lowest CPU.
    pub cores: Vec<NumaCore>,
    /// CPUs that are there but switched off.
    pub offline: Vec<u32>,
    /// What is worth knowing about it, a sentence each.
    pub notes: Vec<String>,
}

/// A memory node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Its CPUs that are online, ascending; often none where the memory is an expansion or on the package.
    pub cpus: Vec<u32>,
    /// The packages those are in.
    pub packages: Vec<u32>,
    /// Its memory; 0 where it has CPUs only.
    pub memory: Reading<Bytes>,
    /// How much of it is free.
    pub free: Reading<Bytes>,
}

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaCore {
    /// Its hyper-threads that are online.
    pub cpus: Vec<u32>,
    /// The package it is in.
    pub package: u32,
    /// The node whose memory is its own; `None` where the kernel names none.
    pub node: Option<u32>,
    /// Its caches, innermost first.
    pub caches: Vec<NumaCache>,
}

/// A cache of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaCache {
    /// 1, 2, 3 …
    pub level: u32,
    /// Size as the kernel writes it, such as `32K`.
    pub size: String,
    /// CPUs that share it.
    pub cpus: Vec<u32>,
}

/// A mask of an offcore response register (Intel), or an event with its unit mask (AMD), taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffcoreMask {
    /// The mask; for AMD the unit mask in bits 8 to 15 above the event's code, as perf writes raw events.
    pub mask: u64,
    /// The generation's id, such as `nehalem`.
    pub generation: String,
    /// The generation's name for people.
    pub processor: String,
    /// Names of the request bits that are set.
    pub request: Vec<String>,
    /// Names of the response bits that are set.
    pub response: Vec<String>,
    /// A name for the whole where its two parts have one, such as `ANY_REQUEST.REMOTE_DRAM`.
    pub name: Option<String>,
    /// Events by which the vendor publishes exactly this mask.
    pub events: Vec<String>,
    /// Why such a mask counts nothing, or is refused; `None`: it counts.
    pub why: Option<String>,
    /// How perf is told to count it; none where it counts nothing.
    pub perf: Vec<String>,
    /// How LIKWID is told, or why it cannot be.
    pub likwid: Reading<Vec<String>>,
    /// Where the generation's table comes from.
    pub sources: Vec<String>,
}

impl OffcoreMask {
    /// Whether it counts.
    pub fn is_valid(&self) -> bool {
        self.why.is_none()
    }
}
