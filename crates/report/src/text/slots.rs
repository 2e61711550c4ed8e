//! `tauto slots` for people.

use super::{Style, count};
use comfy_table::{ContentArrangement, Table, presets};
use model::{Isolation, SlotPlan};

/// A table of the planned slots, with what was measured in each, if anything. Ends with a line end.
pub fn slots_table(plan: &SlotPlan, measured: &[Option<String>], style: Style) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = style.width {
        table.set_width(width);
    }
    table.set_header(["slot", "CPUs", "left empty", "memory node", "package", "isolation"]);
    for slot in &plan.slots {
        let or_none = |list: String| if list.is_empty() { "–".to_string() } else { list };
        table.add_row([
            slot.id.to_string(),
            list(&slot.cpus),
            or_none(list(&slot.idle_siblings)),
            or_none(list(&slot.mem_nodes)),
            slot.package.to_string(),
            rung(slot.isolation).to_string(),
        ]);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_string()).collect();
    let slots = count(plan.slots.len(), "slot");
    let floor = |(slot, floor): (&model::Slot, &Option<String>)| match floor {
        Some(floor) => format!("noise floor of slot {}: {floor}\n", slot.id),
        None => format!("noise floor of slot {}: assumed; `tauto slots --measure` measures it\n", slot.id),
    };
    let floors: String = plan.slots.iter().zip(measured).map(floor).collect();
    format!("{}\n{slots}; everything else on CPU {}\n{floors}", lines.join("\n"), list(&plan.housekeeping))
}

fn rung(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Vm => "vm",
        Isolation::Partition => "partition",
        Isolation::Cpuset => "cpuset",
        Isolation::Affinity => "affinity",
        Isolation::None => "none: there is only one core",
    }
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Slot;

    #[test]
    fn slots() {
        let slot = |id, cpus: &[u32], siblings: &[u32], isolation| Slot {
            id,
            cpus: cpus.into(),
            idle_siblings: siblings.into(),
            mem_nodes: vec![1],
            package: 1,
            isolation,
        };
        let slots = vec![slot(0, &[4], &[5], Isolation::Partition), slot(1, &[6], &[], Isolation::Affinity)];
        let plan = SlotPlan { housekeeping: vec![0, 1], slots };
        insta::assert_snapshot!(slots_table(&plan, &[Some("quiet".into()), None], Style::default()));
        let alone = SlotPlan { housekeeping: vec![0], slots: vec![slot(0, &[0], &[], Isolation::None)] };
        assert!(slots_table(&alone, &[], Style::default()).contains("only one core"));
    }
}
