//! Made-up nodes for tests.

use crate::statement::{STATEMENT_FORM, StatedIndex, StatedPart, Statement};
use crate::{PROTOCOL, Timestamp};
use model::{IndexPart, Isolation, Reading, Slot};

/// A server as it should be.
pub(crate) fn statement(node: &str) -> Statement {
    let known = |text: &str| Reading::Known(text.to_string());
    let slot = |id| Slot {
        id,
        cpus: vec![2 + id],
        idle_siblings: vec![22 + id],
        mem_nodes: vec![0],
        package: 0,
        isolation: Isolation::Partition,
    };
    let entry = |name: &str, value: &str| (name.to_string(), value.to_string());
    Statement {
        form: STATEMENT_FORM,
        node: node.into(),
        pool: "metal".into(),
        version: "1.0.0".into(),
        protocol: PROTOCOL,
        at: Timestamp(1_000_000),
        boot_id: known("b0"),
        fingerprint: "0123456789abcdef".into(),
        kind: known("bare_metal"),
        cpu_model: known("Xeon Gold 6248R"),
        cpu_version: known("6/85/7"),
        microcode: known("0x5003604"),
        topology: known("2 × 24 cores × 2, L1 32K L2 1024K L3 36608K"),
        memory_bytes: Reading::Known(256 << 30),
        kernel: known("6.12.48"),
        mitigations: [entry("mds", "Mitigation: Clear CPU buffers; SMT disabled")].into(),
        tuning: [entry("turbo", "off"), entry("governor", "performance")].into(),
        isolation: known("sandbox"),
        slots: vec![slot(0), slot(1)],
        index: Some(StatedIndex { taken_at: Timestamp(900_000), parts: parts().to_vec() }),
    }
}

/// Its index.
pub(crate) fn parts() -> [StatedPart; 5] {
    let part = |part, value, repeatability_pct| StatedPart { part, value, repeatability_pct };
    [
        part(IndexPart::Rounds, 374.0, 0.2),
        part(IndexPart::Clock, 3.0, 0.05),
        part(IndexPart::Dram, 90.0, 0.4),
        part(IndexPart::Bandwidth, 12.0, 1.5),
        part(IndexPart::Syscall, 120.0, 1.7),
    ]
}

/// The same with one part's value multiplied.
pub(crate) fn with_part(mut statement: Statement, part: IndexPart, factor: f64) -> Statement {
    let index = statement.index.as_mut().expect("a sample has an index");
    index.parts.iter_mut().filter(|one| one.part == part).for_each(|one| one.value *= factor);
    statement
}
