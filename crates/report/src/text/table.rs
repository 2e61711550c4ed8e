//! Plain tables for people.

use super::{Style, harmless};
use comfy_table::{ContentArrangement, Table, presets};

/// A table without lines, as wide as the terminal at most. Ends with a line end. What is in it comes from elsewhere and cannot steer
/// the terminal.
pub fn plain_table(head: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = style.width {
        table.set_width(width);
    }
    if !head.is_empty() {
        table.set_header(head);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| harmless(cell)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_below_their_heads() {
        let rows = vec![vec!["metal".to_string(), "strict\u{1b}[2J".to_string()]];
        let table = plain_table(&["pool", "kind"], &rows, Style::default());
        assert_eq!(table, " pool   kind\n metal  strict·[2J\n");
        let narrow = Style { colour: false, width: Some(20) };
        let wrapped = plain_table(&["a"], &[vec!["many words that have to be wrapped".into()]], narrow);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 20), "{wrapped}");
    }
}
