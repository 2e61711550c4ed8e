//! `tauto load --json`.

use serde::Serialize;

/// What a load has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadDocument {
    /// `cpu`, `cache`, `memory`, `rt`, `compress`, `fork`, `io` or `irq`.
    pub kind: String,
    /// The CPUs that were kept busy, ascending.
    pub cpus: Vec<u32>,
    /// How long it lasted.
    pub wall_ns: u64,
    /// What work is counted in: `multiplications`, `accesses`, `bytes`, `processes` or `interrupts`.
    pub unit: String,
    /// One for each CPU.
    pub workers: Vec<WorkerDocument>,
}

/// What was done on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerDocument {
    /// Which one.
    pub cpu: u32,
    /// CPU time of the threads that were bound there.
    pub cpu_ns: u64,
    /// In the document's unit.
    pub work: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;

    #[test]
    fn load() {
        let workers = vec![
            WorkerDocument { cpu: 1, cpu_ns: 1_995_000_000, work: 2_400_000_000 },
            WorkerDocument { cpu: 2, cpu_ns: 1_990_000_000, work: 2_390_000_000 },
        ];
        let document = LoadDocument {
            kind: "cpu".into(),
            cpus: vec![1, 2],
            wall_ns: 2_000_100_000,
            unit: "multiplications".into(),
            workers,
        };
        insta::assert_snapshot!("load", to_text(&document));
    }
}
