//! `tauto numa` for people.

use super::{Paint, Style, count, harmless};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use model::{Bytes, NumaMap, OffcoreMask, Reading};
use std::collections::BTreeSet;

/// A table of the nodes, one of the distances, and what is worth knowing.
pub fn topology_table(map: &NumaMap, style: Style) -> String {
    let packages: BTreeSet<u32> = map.cores.iter().map(|core| core.package).collect();
    let cpus: usize = map.cores.iter().map(|core| core.cpus.len()).sum();
    let mut text = format!(
        "{}, {}, {}, {} online\n\n",
        count(map.nodes.len(), "memory node"),
        count(packages.len(), "package"),
        count(map.cores.len(), "core"),
        count(cpus, "CPU")
    );
    text.push_str(&nodes(map, style));
    match &map.distances {
        Reading::Known(rows) if rows.len() > 1 => text.push_str(&distances(map, rows)),
        Reading::Unknown(why) if map.nodes.len() > 1 => {
            text.push_str(&format!("\ndistances: unknown ({})\n", harmless(why)));
        }
        _ => {}
    }
    if !map.notes.is_empty() {
        text.push('\n');
    }
    text.extend(map.notes.iter().map(|note| format!("{}\n", harmless(note))));
    text
}

fn nodes(map: &NumaMap, style: Style) -> String {
    let mut table = plain();
    if let Some(width) = style.width {
        table.set_width(width);
    }
    table.set_header(["node", "package", "memory", "free", "CPUs"]);
    let size = |bytes: &Reading<Bytes>| bytes.known().map_or("unknown".to_string(), Bytes::to_string);
    for node in &map.nodes {
        table.add_row([
            node.id.to_string(),
            or_none(ranges(&node.packages)),
            size(&node.memory),
            size(&node.free),
            or_none(ranges(&node.cpus)),
        ]);
    }
    for column in [2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines(&table)
}

fn distances(map: &NumaMap, rows: &[Vec<u32>]) -> String {
    let mut table = plain();
    let ids = map.nodes.iter().map(|node| node.id.to_string());
    table.set_header(["from \\ to".to_string()].into_iter().chain(ids));
    for (node, row) in map.nodes.iter().zip(rows) {
        table.add_row([node.id.to_string()].into_iter().chain(row.iter().map(u32::to_string)));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("\ndistances as the firmware reports them; 10 is a node's own memory\n{}", lines(&table))
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn or_none(list: String) -> String {
    if list.is_empty() { "–".to_string() } else { list }
}

/// `0-3,8`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let follows = |a: &u32, b: &u32| a.checked_add(1) == Some(*b);
    let range = |part: &[u32]| match part {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    };
    numbers.chunk_by(follows).map(range).collect::<Vec<_>>().join(",")
}

/// A mask taken apart.
pub fn mask_lines(mask: &OffcoreMask, style: Style) -> String {
    let title = match &mask.name {
        Some(name) => format!("{:#x} on {}: {name}", mask.mask, mask.processor),
        None => format!("{:#x} on {}", mask.mask, mask.processor),
    };
    let mut text = format!("{title}\n");
    if let Some(why) = &mask.why {
        text.push_str(&format!("  {}  {why}\n", style.paint(Paint::Red, "not valid")));
    }
    let mut line = |name: &str, values: &[String], joint: &str| {
        let values = if values.is_empty() { "–".to_string() } else { values.join(joint) };
        text.push_str(&format!("  {name:<9}  {values}\n"));
    };
    line("request", &mask.request, ", ");
    line("response", &mask.response, ", ");
    if mask.is_valid() {
        let below = "\n             ";
        match mask.events.is_empty() {
            false => line("event", &mask.events, below),
            true => line("event", &["the vendor publishes none with exactly this mask".into()], below),
        }
        line("perf", &mask.perf, below);
        match &mask.likwid {
            Reading::Known(notations) => line("LIKWID", notations, below),
            Reading::Unknown(why) => line("LIKWID", &[format!("– ({why})")], below),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn topology() {
        insta::assert_snapshot!(topology_table(&samples::numa_map(), Style::default()));
        let mut one = samples::numa_map();
        one.nodes.truncate(1);
        one.distances = Reading::unknown("no file");
        one.notes = vec!["nothing to diagnose".into()];
        let text = topology_table(&one, Style::default());
        assert!(!text.contains("distances") && text.ends_with("\nnothing to diagnose\n"), "{text}");
    }

    #[test]
    fn masks() {
        insta::assert_snapshot!("mask", mask_lines(&samples::mask(), Style::default()));
        insta::assert_snapshot!("empty_mask", mask_lines(&samples::empty_mask(), Style::default()));
    }

    #[test]
    fn lists_of_cpus() {
        for (numbers, list) in [
            (&[][..], ""),
            (&[3], "3"),
            (&[0, 1, 2], "0-2"),
            (&[0, 2, 4, 6], "0,2,4,6"),
            (&[0, 1, 16, 17], "0-1,16-17"),
            (&[u32::MAX], "4294967295"),
        ] {
            assert_eq!(ranges(numbers), list);
        }
    }
}
