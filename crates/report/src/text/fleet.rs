//! `tauto index --compare` for people.

use super::index::{lines, table};
use super::{Paint, Style, count, harmless};
use crate::index::{by_group, percent, reach, title, with_unit};
use comfy_table::CellAlignment;
use model::{ComparedModel, IndexComparison, Reading};

/// Machines that are listed with all their ratios, at most.
const IN_FULL: usize = 4;

/// A comparison as tables. Ends with a line end.
pub fn comparison_table(comparison: &IndexComparison, style: Style) -> String {
    let mut text = String::new();
    for note in &comparison.notes {
        text += &format!("{}\n", style.paint(Paint::Yellow, &harmless(note)));
    }
    for model in &comparison.models {
        text += &one_model(model, style);
    }
    let machines: usize = comparison.models.iter().map(|model| model.machines.len()).sum();
    let mut strays: Vec<&str> = comparison.strays.iter().map(|stray| &*stray.machine).collect();
    strays.sort_unstable();
    strays.dedup();
    let summary = format!(
        "{}, {}: {}",
        count(machines, "machine"),
        count(comparison.readings, "reading"),
        match strays.len() {
            0 => "no outlier".to_string(),
            1 => "1 outlier".to_string(),
            n => format!("{n} outliers"),
        }
    );
    if strays.is_empty() {
        return text + &style.paint(Paint::Green, &summary) + "\n";
    }
    let mut rows = table(style);
    rows.set_header(["machine", "in", "by", "z", "", "also in", "file"]);
    for (stray, within) in by_group(comparison) {
        rows.add_row([
            harmless(&stray.machine),
            stray.subject.name().to_string(),
            reach(stray),
            format!("{:.1}", stray.robust_z),
            if stray.weaker { "weaker" } else { "stronger" }.to_string(),
            within,
            harmless(&stray.file),
        ]);
    }
    text + &style.paint(Paint::Red, &summary) + "\n" + &lines(&rows)
}

fn one_model(model: &ComparedModel, style: Style) -> String {
    let mut text = format!("{}: {}\n", harmless(&model.model), count(model.machines.len(), "machine"));
    for note in &model.notes {
        text += &format!("{}\n", style.paint(Paint::Dim, &harmless(note)));
    }
    if let Some(z) = model.level_z {
        text += &format!("a machine is an outlier beyond |z| = {z:.1}");
        text += &model.trend_z.map_or("\n".into(), |z| format!(", its trend beyond {z:.1}\n"));
    }
    let few = model.machines.len() <= IN_FULL;
    let mut rows = table(style);
    let mut head = vec!["part".to_string(), "median".into()];
    match few {
        true => head.extend(model.machines.iter().map(|machine| harmless(&machine.name))),
        false => {
            head.extend(["least", "most", "deviation", "of machines", "boots", "runs"].map(String::from))
        }
    }
    let columns = head.len();
    rows.set_header(head);
    for part in &model.parts {
        let mut row = vec![title(part.part).to_string(), with_unit(part.part, part.median)];
        if few {
            row.extend((0..model.machines.len()).map(|machine| {
                let value = part.machines.iter().find(|value| value.machine == machine);
                value.map_or("unknown".into(), |value| format!("× {:.4}", value.ratio))
            }));
        } else {
            let ratios = part.machines.iter().map(|value| value.ratio);
            let ends = ratios.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
            let share = |of: &Reading<f64>| of.known().map_or("?".into(), |share| format!("{share:.0} %"));
            row.extend([
                format!("× {:.4}", ends.0),
                format!("× {:.4}", ends.1),
                part.deviation_pct.known().map_or("?".into(), |deviation| percent(*deviation)),
                share(&part.variance.machine_pct),
                share(&part.variance.boot_pct),
                share(&part.variance.run_pct),
            ]);
        }
        rows.add_row(row);
    }
    for column in 1..columns {
        rows.column_mut(column).into_iter().for_each(|column| {
            column.set_cell_alignment(CellAlignment::Right);
        });
    }
    text + &lines(&rows) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn comparisons() {
        insta::assert_snapshot!(comparison_table(&samples::index::comparison(), Style::default()));
        let mut quiet = samples::index::comparison();
        quiet.strays.clear();
        quiet.notes.clear();
        quiet.models[0].machines.truncate(2);
        for part in &mut quiet.models[0].parts {
            part.machines.truncate(2);
        }
        insta::assert_snapshot!("few_machines", comparison_table(&quiet, Style::default()));
    }
}
