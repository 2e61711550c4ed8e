//! Memory nodes of recorded machines.

use host::cpulist;
use host::facts::{Nodes, Topology};
use host::machine::Machine;
use host::numa;
use model::{NumaMap, Reading};

const ALTERNATING: &str = include_str!("../machines/numa/two-nodes-alternating.txt");
const EIGHT: &str = include_str!("../machines/numa/eight-packages.txt");
const CLUSTERS: &str = include_str!("../machines/numa/sub-clusters.txt");
const MEMORY_ONLY: &str = include_str!("../machines/numa/memory-only-node.txt");
const OFFLINE: &str = include_str!("../machines/numa/offline-cpus.txt");

fn map(recording: &str) -> NumaMap {
    let machine = Machine::parse(recording).expect("a recording");
    let topology = Topology::read(&machine).expect("processors");
    numa::map(&topology, &Nodes::read(&machine), None)
}

/// `id: CPUs @ packages, GiB of which free`, a line for each node; then distances, then notes.
fn shown(map: &NumaMap) -> String {
    let list = |numbers: &[u32]| cpulist::to_list(&numbers.iter().copied().collect());
    let gib = |bytes: &Reading<model::Bytes>| bytes.known().map_or("?".into(), |b| (b.0 >> 30).to_string());
    let mut text = String::new();
    for node in &map.nodes {
        let (cpus, packages) = (list(&node.cpus), list(&node.packages));
        let (memory, free) = (gib(&node.memory), gib(&node.free));
        text.push_str(&format!("{}: {cpus} @ {packages}, {memory} of which {free}\n", node.id));
    }
    match &map.distances {
        Reading::Known(rows) => rows.iter().for_each(|row| text.push_str(&format!("{row:?}\n"))),
        Reading::Unknown(why) => text.push_str(&format!("{why}\n")),
    }
    map.notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
    text
}

#[test]
fn cpus_numbered_alternately() {
    let map = map(ALTERNATING);
    assert_eq!(
        shown(&map),
        "0: 0,2,4,6 @ 0, 12 of which 9\n1: 1,3,5,7 @ 1, 12 of which 11\n[10, 20]\n[20, 10]\n"
    );
    let core = &map.cores[3];
    assert_eq!((&core.cpus[..], core.package, core.node), (&[3][..], 1, Some(1)));
    let last = core.caches.last().expect("caches");
    assert_eq!((last.level, &*last.size, &last.cpus[..]), (3, "8192K", &[1, 3, 5, 7][..]));
}

#[test]
fn eight_packages() {
    let map = map(EIGHT);
    assert_eq!(map.nodes.len(), 8);
    assert_eq!(map.nodes[5].cpus, [10, 11, 26, 27]);
    let rows = map.distances.known().expect("distances");
    assert_eq!(rows[0], [10, 21, 21, 31, 21, 31, 31, 21]);
    assert!((0..8).all(|a| rows[a][a] == 10 && (0..8).all(|b| rows[a][b] == rows[b][a])));
    assert_eq!(map.notes, Vec::<String>::new());
}

#[test]
fn packages_of_several_nodes() {
    let map = map(CLUSTERS);
    assert_eq!(
        shown(&map),
        "0: 0-1,8-9 @ 0, 96 of which 90\n1: 2-3,10-11 @ 0, 96 of which 90\n2: 4-5,12-13 @ 1, 96 of which 90\n\
         3: 6-7,14-15 @ 1, 96 of which 90\n[10, 12, 20, 20]\n[12, 10, 20, 20]\n[20, 20, 10, 12]\n[20, 20, 12, 10]\n\
         - packages are divided (sub-NUMA clusters, or nodes per socket): package 0 is nodes 0-1; package 1 is nodes 2-3\n"
    );
    assert!(map.cores.iter().all(|core| core.cpus.len() == 2 && core.node == Some(core.cpus[0] / 2)));
}

#[test]
fn nodes_without_memory_or_cpus() {
    let map = map(MEMORY_ONLY);
    assert_eq!(
        shown(&map),
        "0: 0-1 @ 0, 128 of which 100\n1: 2-3 @ 1, 0 of which 0\n3:  @ , 256 of which 256\n\
         [10, 21, 14]\n[21, 10, 24]\n[14, 24, 10]\n\
         - node 1 has CPUs and no memory: programs that run there have all their memory on other nodes, nearest is node 0 at 21\n\
         - node 3 has memory and no CPU, as expansion memory, memory on the package or persistent memory have: it is remote to \
         every program, nearest is node 0 at 14\n"
    );
}

/// The row of a node has a number for the node without memory too.
#[test]
fn distances_are_those_of_their_nodes() {
    let machine = Machine::parse(MEMORY_ONLY).expect("a recording");
    let topology = Topology::read(&machine).expect("processors");
    assert_eq!(topology.nodes.keys().copied().collect::<Vec<_>>(), [0, 3]);
    assert_eq!((topology.distance(0, 3), topology.distance(3, 0)), (Some(14), Some(14)));
    assert_eq!((topology.distance(3, 3), topology.distance(0, 1)), (Some(10), None));
}

#[test]
fn one_node_is_nothing_to_diagnose() {
    let map = map(OFFLINE);
    assert_eq!(
        shown(&map),
        "0: 0-2 @ 0, 32 of which 20\n[10]\n\
         - one memory node: every access is to own memory, there is nothing to diagnose\n- CPUs 3-7 are switched off\n"
    );
    let last: Vec<&[u32]> = map.cores.iter().map(|core| &core.caches[2].cpus[..]).collect();
    assert_eq!(last, [&[0, 1][..], &[0, 1], &[2]]);
}

#[test]
fn a_kernel_without_nodes_has_one() {
    let files = "tauto recording 1\n/sys/devices/system/cpu/online\n\t0-1\n/proc/meminfo\n\tMemTotal: 4194304 kB\n\tMemFree: 1048576 kB\n";
    assert_eq!(
        shown(&map(files)),
        "0: 0-1 @ 0, 4 of which 1\nno /sys/devices/system/node/online\n\
         - the kernel reports no memory nodes (no /sys/devices/system/node/online); all memory counts as one node\n\
         - one memory node: every access is to own memory, there is nothing to diagnose\n"
    );
}

#[test]
fn what_cannot_be_read_is_not_zero() {
    let without = |text: &str, path: &str| {
        let mut keep = true;
        let kept = |line: &&str| {
            if !line.starts_with('\t') {
                keep = !line.starts_with(path);
            }
            keep
        };
        text.lines().filter(kept).map(|line| format!("{line}\n")).collect::<String>()
    };
    let blind = map(&without(ALTERNATING, "/sys/devices/system/node/node1/meminfo"));
    assert_eq!(blind.nodes[1].memory, Reading::unknown("no /sys/devices/system/node/node1/meminfo"));
    assert_eq!(blind.notes, Vec::<String>::new());
    let lost = map(&without(ALTERNATING, "/sys/devices/system/node/node1/distance"));
    assert!(lost.distances.known().is_none());
    // A row of another length belongs to no columns.
    let short = map(&ALTERNATING.replace("\t10 20\n", "\t10\n"));
    assert!(short.distances.known().is_none());
}

#[test]
fn what_a_guest_is_shown_may_not_be_so() {
    let machine = Machine::parse(ALTERNATING).expect("a recording");
    let topology = Topology::read(&machine).expect("processors");
    let map = numa::map(&topology, &Nodes::read(&machine), Some("/proc/cpuinfo has the flag `hypervisor`"));
    assert!(
        matches!(&map.notes[..], [note] if note.contains("hypervisor says which nodes")),
        "{:?}",
        map.notes
    );
}

/// Interleaved memory: one node for two packages.
#[test]
fn a_node_may_span_packages() {
    let all = ALTERNATING
        .replace("/node/online\n\t0-1", "/node/online\n\t0")
        .replace("/node/has_memory\n\t0-1", "/node/has_memory\n\t0")
        .replace("node0/cpulist\n\t0,2,4,6", "node0/cpulist\n\t0-7")
        .replace("\t10 20\n", "\t10\n");
    let map = map(&all);
    assert_eq!(map.nodes[0].packages, [0, 1]);
    assert!(map.notes.iter().any(|note| note.starts_with("node 0 spans packages 0-1")), "{:?}", map.notes);
}
