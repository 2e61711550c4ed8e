//! Pictures that stand alone: SVG with its own style, readable on light and dark grounds.

mod panel;

use crate::html::escape;
use crate::text::ranges;
use model::{Bytes, NumaCore, NumaMap, NumaNode, Reading};
use panel::{Grid, Panel};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Contrasts of text are at least 4.5 : 1 on both grounds.
const STYLE: &str = "\
svg { --ground: #ffffff; --text: #1c1f23; --dim: #5a626c; --line: #9aa3ad; --package: #f1f3f6; --node: #e3edfb; --cache: #ffffff; --core: #dfe9dc; --memory: #1f5fbf; --free: #c3d3ea; --off: #ececec; }
@media (prefers-color-scheme: dark) { svg { --ground: #15181c; --text: #e7eaee; --dim: #a3acb7; --line: #59636e; --package: #1d2227; --node: #1c2b40; --cache: #15181c; --core: #24352a; --memory: #7db1ff; --free: #33476a; --off: #2b2b2b; } }
text { font: 13px system-ui, sans-serif; fill: var(--text); }
text.title { font-weight: 600; }
text.dim { fill: var(--dim); }
rect { stroke: var(--line); }
.ground { fill: var(--ground); stroke: none; }
.package { fill: var(--package); } .node { fill: var(--node); } .cache { fill: var(--cache); } .core { fill: var(--core); }
.offline { fill: var(--off); stroke-dasharray: 4 3; } .table { fill: none; stroke: none; }
.used { fill: var(--memory); stroke: none; } .free { fill: var(--free); stroke: none; }
.near { fill: var(--core); } .far { fill: var(--free); }
";

/// Room around everything.
const MARGIN: f64 = 16.0;
/// Where panels within a node, and packages within the picture, begin a new row.
const NODE_WIDE: f64 = 620.0;
const WIDE: f64 = 1340.0;

/// The map of memory nodes as a picture: packages, nodes with their memory, caches, cores with their CPUs, distances.
pub fn numa_picture(map: &NumaMap) -> String {
    let whole = machine(map);
    let (width, height) = whole.size();
    let (wide, high) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let label = format!("{} memory nodes with their packages, caches and CPUs", map.nodes.len());
    let mut svg = String::new();
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\" role=\"img\" \
             aria-label=\"{label}\">\n<title>{label}</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"ground\" x=\"0\" y=\"0\" width=\"{wide:.0}\" height=\"{high:.0}\"/>\n"
        ),
    );
    whole.draw(&mut svg, MARGIN, MARGIN);
    svg + "</svg>\n"
}

fn machine(map: &NumaMap) -> Panel {
    let packages: BTreeSet<u32> = map.cores.iter().map(|core| core.package).collect();
    let mut parts: Vec<Panel> = packages.iter().filter_map(|id| package(map, *id)).collect();
    // Nodes that are in no package, or in several.
    parts.extend(map.nodes.iter().filter(|node| node.packages.len() != 1).map(|n| node(map, n)));
    let strays: Vec<&NumaCore> = map.cores.iter().filter(|core| core.node.is_none()).collect();
    if !strays.is_empty() {
        parts.push(Panel::group("package", "CPUs of no node", WIDE, cache_groups(map, &strays)));
    }
    if !map.offline.is_empty() {
        parts.push(Panel::leaf("offline", "switched off", &format!("CPUs {}", ranges(&map.offline))));
    }
    if let Reading::Known(rows) = &map.distances
        && rows.len() > 1
    {
        parts.push(distances(map, rows));
    }
    Panel::group("table", "", WIDE, parts)
}

fn package(map: &NumaMap, id: u32) -> Option<Panel> {
    let nodes: Vec<Panel> =
        map.nodes.iter().filter(|node| node.packages == [id]).map(|n| node(map, n)).collect();
    (!nodes.is_empty()).then(|| Panel::group("package", &format!("package {id}"), WIDE, nodes))
}

fn node(map: &NumaMap, node: &NumaNode) -> Panel {
    let own: Vec<&NumaCore> = map.cores.iter().filter(|core| core.node == Some(node.id)).collect();
    let groups = match node.packages.len() {
        0 | 1 => cache_groups(map, &own),
        _ => node
            .packages
            .iter()
            .map(|id| {
                let cores: Vec<&NumaCore> = own.iter().filter(|core| core.package == *id).copied().collect();
                Panel::group("package", &format!("package {id}"), NODE_WIDE, cache_groups(map, &cores))
            })
            .collect(),
    };
    let mut panel = Panel::group("node", &format!("node {}", node.id), NODE_WIDE, groups);
    let size = |bytes: &Reading<Bytes>| bytes.known().map_or("unknown".to_string(), Bytes::to_string);
    panel.lines.push(match node.memory.known() {
        Some(Bytes(0)) => "no memory".to_string(),
        _ => format!("memory {}, free {}", size(&node.memory), size(&node.free)),
    });
    if node.cpus.is_empty() {
        panel.lines.push("no CPU".into());
    }
    if let (Some(memory), Some(free)) = (node.memory.known(), node.free.known())
        && memory.0 > 0
    {
        panel.used = Some(1.0 - (free.0 as f64 / memory.0 as f64).clamp(0.0, 1.0));
    }
    panel
}

/// Cores by the last cache they share, in the order of their CPUs.
fn cache_groups(map: &NumaMap, cores: &[&NumaCore]) -> Vec<Panel> {
    let shared = |core: &NumaCore| core.caches.last().map(|cache| cache.cpus.clone());
    let mut groups: Vec<(Option<Vec<u32>>, Vec<&NumaCore>)> = Vec::new();
    for core in cores {
        match groups.iter_mut().find(|(key, _)| *key == shared(core)) {
            Some((_, members)) => members.push(core),
            None => groups.push((shared(core), vec![core])),
        }
    }
    groups.into_iter().map(|(key, members)| cache_group(map, key.as_deref(), &members)).collect()
}

fn cache_group(map: &NumaMap, shared: Option<&[u32]>, cores: &[&NumaCore]) -> Panel {
    let panels: Vec<Panel> = cores
        .iter()
        .map(|core| {
            let cpus = core.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            Panel::leaf("core", "", &format!("CPU {cpus}"))
        })
        .collect();
    let caches = cores.first().map_or(&[][..], |core| &core.caches);
    // The outermost first, as the box it is drawn as.
    let names: Vec<String> = caches
        .iter()
        .rev()
        .map(|cache| {
            let cores =
                map.cores.iter().filter(|core| core.cpus.iter().any(|cpu| cache.cpus.contains(cpu))).count();
            let each = if cores > 1 { format!(" for {cores} cores") } else { String::new() };
            format!("L{} {}{each}", cache.level, cache_size(&cache.size))
        })
        .collect();
    let mut panel = Panel::group("cache", "", NODE_WIDE - 40.0, panels);
    panel.lines = if names.is_empty() { vec!["caches not reported".into()] } else { names };
    let inside = |cpu: &u32| cores.iter().any(|core| core.cpus.contains(cpu));
    if let Some(first) = panel.lines.first_mut()
        && shared.is_some_and(|cpus| !cpus.iter().all(inside))
    {
        first.push_str(", reaches beyond this node");
    }
    panel
}

/// `8192K` as `8 MiB`.
fn cache_size(size: &str) -> String {
    let kib = size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok());
    match kib {
        Some(kib) if kib >= 1024 && kib % 1024 == 0 => format!("{} MiB", kib / 1024),
        Some(kib) if kib >= 1024 => format!("{:.2} MiB", kib as f64 / 1024.0),
        Some(kib) => format!("{kib} KiB"),
        None => size.to_string(),
    }
}

fn distances(map: &NumaMap, rows: &[Vec<u32>]) -> Panel {
    let mut panel = Panel::group("table", "distance between nodes", WIDE, Vec::new());
    panel.lines = vec!["reported by the firmware: 10 is a node's own memory".into()];
    panel.grid =
        Some(Grid { heads: map.nodes.iter().map(|node| node.id).collect(), rows: rows.to_vec(), near: 10 });
    panel
}

/// Writing to a string cannot fail.
fn put(svg: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = svg.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn picture() {
        insta::assert_snapshot!(numa_picture(&samples::numa_map()));
    }

    #[test]
    fn every_cpu_is_drawn_once() {
        let mut spanning = samples::numa_map();
        spanning.nodes.truncate(1);
        spanning.nodes[0].packages = vec![0, 1];
        spanning.nodes[0].cpus = vec![0, 1, 2, 3];
        spanning.cores.iter_mut().for_each(|core| core.node = Some(0));
        let mut stray = samples::numa_map();
        stray.cores[3].node = None;
        for map in [samples::numa_map(), spanning, stray] {
            let svg = numa_picture(&map);
            for cpu in 0..4 {
                assert_eq!(svg.matches(&format!(">CPU {cpu}<")).count(), 1, "CPU {cpu} in\n{svg}");
            }
        }
    }

    #[test]
    fn sizes_of_caches() {
        for (size, text) in [("32K", "32 KiB"), ("8192K", "8 MiB"), ("36608K", "35.75 MiB"), ("2M", "2M")] {
            assert_eq!(cache_size(size), text);
        }
    }
}
