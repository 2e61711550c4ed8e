//! Memory nodes and masks the tests of this crate show.

use model::{Bytes, NumaCache, NumaCore, NumaMap, NumaNode, OffcoreMask, Reading};

/// Two packages with their nodes, and a node of memory only.
pub(crate) fn numa_map() -> NumaMap {
    let gib = |n: u64| Reading::Known(Bytes(n << 30));
    let node = |id, cpus: &[u32], packages: &[u32], memory, free| NumaNode {
        id,
        cpus: cpus.into(),
        packages: packages.into(),
        memory,
        free,
    };
    let core = |cpu: u32| NumaCore {
        cpus: vec![cpu],
        package: cpu % 2,
        node: Some(cpu % 2),
        caches: vec![
            NumaCache { level: 1, size: "32K".into(), cpus: vec![cpu] },
            NumaCache { level: 3, size: "8192K".into(), cpus: vec![cpu % 2, cpu % 2 + 2] },
        ],
    };
    NumaMap {
        nodes: vec![
            node(0, &[0, 2], &[0], gib(12), gib(9)),
            node(1, &[1, 3], &[1], gib(12), Reading::unknown("no file")),
            node(2, &[], &[], gib(64), gib(64)),
        ],
        distances: Reading::Known(vec![vec![10, 20, 17], vec![20, 10, 28], vec![17, 28, 10]]),
        cores: (0..4).map(core).collect(),
        offline: vec![4, 5],
        notes: vec!["node 2 has memory and no CPU".into(), "CPUs 4-5 are switched off".into()],
    }
}

pub(crate) fn mask() -> OffcoreMask {
    let words = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
    OffcoreMask {
        mask: 0x20ff,
        generation: "nehalem".into(),
        processor: "Nehalem".into(),
        request: words("DEMAND_DATA_RD DEMAND_RFO"),
        response: words("REMOTE_DRAM"),
        name: Some("ANY_REQUEST.REMOTE_DRAM".into()),
        events: words("OFFCORE_RESPONSE_0.ANY_REQUEST.REMOTE_DRAM"),
        why: None,
        perf: words("cpu/event=0xb7,umask=0x1,offcore_rsp=0x20ff/ cpu/config=0x1b7,config1=0x20ff/"),
        likwid: Reading::Known(words("OFFCORE_RESPONSE_0_OPTIONS:PMC0:MATCH0=0xff:MATCH1=0x20")),
        sources: vec!["a manual".into()],
    }
}

pub(crate) fn empty_mask() -> OffcoreMask {
    OffcoreMask {
        mask: 0xff,
        response: Vec::new(),
        name: None,
        events: Vec::new(),
        why: Some("it has no response bit, so it counts nothing".into()),
        perf: Vec::new(),
        likwid: Reading::unknown("the mask counts nothing"),
        ..mask()
    }
}
