//! docs/noise.md and the audit speak of the same things.

use host::audit::IDS;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_page_has_one_row_for_each_id_and_no_other() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/noise.md");
    let page = std::fs::read_to_string(&page).expect("docs/noise.md");
    // Tables of causes begin with this column.
    let tables = page.split("\n| id |").skip(1).map(|table| table.split("\n\n").next().unwrap_or(table));
    let rows: Vec<&str> =
        tables.flat_map(str::lines).filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let (told, explained): (BTreeSet<&str>, BTreeSet<&str>) = (IDS.into(), rows.iter().copied().collect());
    assert_eq!(rows.len(), explained.len(), "docs/noise.md: an id has two rows: {rows:?}");
    let silent: Vec<_> = told.difference(&explained).collect();
    assert!(silent.is_empty(), "docs/noise.md: no row for {silent:?}");
    let idle: Vec<_> = explained.difference(&told).collect();
    assert!(idle.is_empty(), "docs/noise.md: rows for {idle:?}, which no audit tells");
}
