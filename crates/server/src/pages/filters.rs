//! Names that others chose, as pages show them: a name must not change how the rest of its line reads.
//!
//! Characters that steer the direction of text (U+202A to U+202E, U+2066 to U+2069; Unicode Standard Annex 9) reach beyond the name they stand in. They
//! are shown as `�`. What is written from right to left without them stays as it is, in an element of its own.

#![expect(unreachable_pub, reason = "the macro of the filters makes them so")]

use askama::filters::Safe;
use std::fmt::Display;

/// Whether a character steers the direction of what follows it.
pub(crate) fn steers(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without what steers others: for attributes, titles and charts, which hold no elements.
pub(crate) fn flattened(text: &str) -> String {
    text.replace(steers, "\u{fffd}")
}

/// A name in an element: isolated from the text around it.
#[askama::filter_fn]
pub(crate) fn name(value: impl Display, _: &dyn askama::Values) -> askama::Result<Safe<String>> {
    let text = flattened(&value.to_string());
    Ok(Safe(format!("<bdi>{}</bdi>", crate::statement::escape(&text))))
}

/// A name in an attribute, a title or an option.
#[askama::filter_fn]
pub(crate) fn flat(value: impl Display, _: &dyn askama::Values) -> askama::Result<String> {
    Ok(flattened(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_what_follows() {
        for (text, flat) in [
            ("a\u{202e}gpj.exe", "a\u{fffd}gpj.exe"),
            ("\u{2067}\u{2069}", "\u{fffd}\u{fffd}"),
            ("\u{5d0}\u{5d1} \u{200f}1 <b>", "\u{5d0}\u{5d1} \u{200f}1 <b>"),
        ] {
            assert_eq!(flattened(text), flat);
        }
    }
}
