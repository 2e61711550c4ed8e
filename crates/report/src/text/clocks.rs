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
        format!("{:<14}{state}{why}\n", clock.name)
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
            ClockStatus { name: "cpu", by: Reading::Known("the kernel".into()) },
            ClockStatus { name: "instructions", by: Reading::unknown("install the package x") },
        ];
        let text = clocks_table(&clocks, Style { colour: false, width: None });
        let wanted =
            "cpu           works by the kernel\ninstructions  does not work here: install the package x\n";
        assert_eq!(text, wanted);
        let document = to_text(&ClocksDocument { clocks: &clocks });
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["clocks"][0]["by"], "the kernel");
        assert_eq!(document["clocks"][1]["by"]["unknown"], "install the package x");
    }
}
