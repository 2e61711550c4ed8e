//! What pages of different kinds have in common.

use super::escape;
use model::{BenchEnd, Nanos};

/// Milliseconds to the nanosecond: the very numbers of the JSON.
pub(super) fn ms(time: Nanos) -> String {
    format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000)
}

pub(super) fn table(head: &[&str], rows: impl Iterator<Item = String>) -> String {
    let head: String = head.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows.collect::<String>()
    )
}

pub(super) fn row(class: &str, cells: &[String]) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
    format!("<tr{class}>{cells}</tr>\n")
}

/// How it ended, where that was before its time.
pub(super) fn end(end: &BenchEnd) -> Option<String> {
    match end {
        BenchEnd::Complete => None,
        BenchEnd::Interrupted => Some("Interrupted: these are the runs until then.".into()),
        BenchEnd::Failed(why) => {
            Some(format!("Ended by a run that failed ({why}): these are the runs before it."))
        }
    }
}

pub(super) fn warning(text: &str) -> String {
    format!("<p class=\"warning\">{}</p>\n", escape(text))
}

/// The machine's fingerprint.
pub(super) fn machine(facts: &[(String, String)]) -> String {
    let rows = facts.iter().map(|(name, value)| {
        format!("<tr><td>{}</td><td class=\"text\">{}</td></tr>\n", escape(name), escape(value))
    });
    format!(
        "<h2>The machine</h2>\n<div class=\"wide\"><table><tbody>\n{}</tbody></table></div>\n",
        rows.collect::<String>()
    )
}
