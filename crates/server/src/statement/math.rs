//! Formulas as MathML, which browsers draw themselves.

use super::escape;
use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};

/// Longer formulas are shown as they are written.
const LONGEST: usize = 4000;

/// What could define commands, and so grow without end.
const DEFINING: [&str; 9] = [
    "\\def",
    "\\gdef",
    "\\edef",
    "\\xdef",
    "\\let",
    "\\futurelet",
    "\\newcommand",
    "\\renewcommand",
    "\\providecommand",
];

/// A formula in a line of text.
pub(super) fn inline(formula: &str) -> String {
    mathml(formula, DisplayMode::Inline)
}

/// A formula on a line of its own.
pub(super) fn display(formula: &str) -> String {
    mathml(formula, DisplayMode::Block)
}

fn mathml(formula: &str, display_mode: DisplayMode) -> String {
    let plain = || format!("<code>{}</code>", escape(formula.trim()));
    if formula.len() > LONGEST || DEFINING.iter().any(|command| formula.contains(command)) {
        return plain();
    }
    let drawn = std::panic::catch_unwind(|| {
        let storage = Storage::new();
        let events: Result<Vec<_>, _> = Parser::new(formula, &storage).collect();
        let events = events.ok()?;
        let mut html = String::new();
        let config = RenderConfig { display_mode, ..RenderConfig::default() };
        push_mathml(&mut html, events.into_iter().map(Ok::<_, std::convert::Infallible>), config).ok()?;
        Some(html)
    });
    drawn.ok().flatten().unwrap_or_else(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_drawn_is_text() {
        for (formula, want) in [
            ("n \\le 10^{15}", "<msup>"),
            ("1\\,000", "<mn>1</mn>"),
            ("\\frac{a}{b}", "<mfrac"),
            ("\\def\\a{\\a}\\a", "<code>"),
            ("\\nosuchcommand{x", "<code>\\nosuchcommand{x</code>"),
            ("a<b", "<math"),
        ] {
            let html = inline(formula);
            assert!(html.contains(want), "{formula}: {html}");
        }
    }
}
