//! What pages of different kinds have in common.

use super::escape;
use model::{BenchEnd, Nanos};

/// Milliseconds to the microsecond, below which no time of a process says anything; documents have the nanoseconds.
pub(super) fn ms(time: Nanos) -> String {
    let micros = time.0.saturating_add(500) / 1000;
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// A number with three digits that say something, and all of a larger whole part.
pub(super) fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        size if size < 1e-4 => 6,
        size => (2 - size.log10().floor() as i32).clamp(0, 6),
    };
    format!("{value:.*}", decimals as usize)
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
    let cell = |cell: &String| match is_prose(cell) {
        true => format!("<td class=\"text\">{}</td>", escape(cell)),
        false => format!("<td>{}</td>", escape(cell)),
    };
    let cells: String = cells.iter().map(cell).collect();
    format!("<tr{class}>{cells}</tr>\n")
}

/// Words, which may be folded so that the numbers beside them stay on the screen.
fn is_prose(cell: &str) -> bool {
    let words = cell.split(' ').filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
    cell.chars().count() > 20 && words.count() > 2
}

/// How it ended, where that was before its time.
pub(super) fn end(end: &BenchEnd) -> Option<String> {
    match end {
        BenchEnd::Complete => None,
        BenchEnd::Interrupted => Some("Interrupted: results of the runs so far.".into()),
        BenchEnd::Failed(why) => {
            Some(format!("Stopped by a failed run ({why}): results of the runs before it."))
        }
    }
}

pub(super) fn warning(text: &str) -> String {
    format!("<p class=\"warning\">{}</p>\n", escape(text))
}

/// What was said of other work on the machine, as banners: sentences that begin with `Warning: `.
pub(super) fn banners(told: &[String]) -> String {
    told.iter().filter(|text| is_warning(text)).map(|text| warning(text)).collect()
}

/// Whether a sentence is one for [`banners`].
pub(super) fn is_warning(text: &str) -> bool {
    text.starts_with("Warning: ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_say_something() {
        for (value, shown) in [
            (0.0, "0"),
            (-0.300_000_000_000_000_04, "-0.300"),
            (3.574_999_999, "3.57"),
            (104.0, "104"),
            (526_612.3, "526612"),
            (0.001_234, "0.00123"),
            (0.000_012, "0.000012"),
        ] {
            assert_eq!(digits(value), shown);
        }
        assert_eq!([Nanos(12_345_678), Nanos(999_500), Nanos(0)].map(ms), ["12.346", "1.000", "0.000"]);
    }

    #[test]
    fn words_fold_and_numbers_do_not() {
        let html =
            row("", &["95.500 … 100.500".into(), "unknown (the processor has no counter here)".into()]);
        assert_eq!(html.matches("class=\"text\"").count(), 1);
        assert!(html.contains("<td>95.500 … 100.500</td>"), "{html}");
    }
}
