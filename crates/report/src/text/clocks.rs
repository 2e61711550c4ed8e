//! `tauto clocks` for people.

use super::{Paint, Style, harmless};
use crate::ClockStatus;
use model::Reading;

/// A line for each clock.
pub fn clocks_table(clocks: &[ClockStatus], style: Style) -> String {
    let line = |clock: &ClockStatus| {
        let (state, why) = match &clock.by {
            Reading::Known(by) => (style.paint(Paint::Green, "works"), format!(" by {}", harmless(by))),
            Reading::Unknown(why) => {
                (style.paint(Paint::Yellow, "does not work here"), format!(": {}", harmless(why)))
            }
        };
        let mut text = format!("{:<14}{state}{why}\n", clock.name);
        if clock.by.known().is_some() {
            text +=
                &format!("{:<14}exact for: {}; a run takes {} times as long\n", "", clock.exact, clock.cost);
        }
        text
    };
    clocks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ClocksDocument, to_text};

    #[test]
    fn what_works_and_what_is_missing() {
        let clocks = [
            ClockStatus { name: "cpu", by: Reading::Known("the kernel".into()), exact: "none", cost: "1" },
            ClockStatus {
                name: "instructions",
                by: Reading::unknown("install the package x"),
                exact: "c",
                cost: "5",
            },
        ];
        let text = clocks_table(&clocks, Style { colour: false, width: None });
        let wanted = "cpu           works by the kernel\n              exact for: none; a run takes 1 times as long\ninstructions  does not work here: install the package x\n";
        assert_eq!(text, wanted);
        let document = to_text(&ClocksDocument { clocks: &clocks });
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["clocks"][0]["by"], "the kernel");
        assert_eq!(document["clocks"][1]["by"]["unknown"], "install the package x");
    }
}
