//! `tauto index` for people.

use super::{Paint, Style, harmless};
use crate::index::{conditions, date, digits, machine, percent, stolen, title, with_unit};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use model::{Index, Reading};

/// An index as a table. Ends with a line end.
pub fn index_table(index: &Index, style: Style) -> String {
    let mut text = format!("{}\n", style.rest(0, &machine(index)));
    text += &format!(
        "taken {} UTC in {:.1} s; conditions: {}\n",
        date(index.taken_at),
        index.seconds,
        conditions(index)
    );
    for lack in &index.conditions.lacks {
        text += &style.paint(Paint::Dim, &style.rest(0, &format!("missing: {lack}")));
        text.push('\n');
    }
    if let Some(stolen) = stolen(index) {
        text += &format!("{}\n", style.paint(Paint::Yellow, &stolen));
    }
    let mut rows = table(style);
    rows.set_header(["part", "value", "95 % interval", "turns vary by", "slices", "discarded", ""]);
    for (part, figure) in index.figures() {
        match figure {
            Reading::Known(figure) => rows.add_row([
                title(part).to_string(),
                with_unit(part, figure.value),
                match &figure.ci95 {
                    Reading::Known([low, high]) => interval(part, *low, *high),
                    Reading::Unknown(why) => format!("unknown ({why})"),
                },
                percent(figure.repeatability_pct),
                figure.n.to_string(),
                figure.voided.to_string(),
                figure.how.clone(),
            ]),
            Reading::Unknown(why) => {
                let mut row = [title(part), "unknown", "", "", "", "", ""].map(String::from);
                row[6] = harmless(why);
                rows.add_row(row)
            }
        };
    }
    for column in 1..6 {
        rows.column_mut(column).into_iter().for_each(|column| {
            column.set_cell_alignment(CellAlignment::Right);
        });
    }
    text + "\n" + &lines(&rows)
}

fn interval(part: model::IndexPart, low: f64, high: f64) -> String {
    let scale = if part.unit() == "ns" && low >= 10_000.0 { 1000.0 } else { 1.0 };
    format!("{} … {}", digits(low / scale), digits(high / scale))
}

/// A table without lines.
pub(super) fn table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = style.width {
        table.set_width(width);
    }
    table
}

pub(super) fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn indices() {
        insta::assert_snapshot!(index_table(&samples::index::index(), Style::default()));
    }
}
