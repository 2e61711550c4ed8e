//! `tauto clocks` for people.

use super::{Paint, Style, harmless};
use crate::ClockStatus;
use model::Reading;

/// The clocks, each with its counters.
pub fn clocks_table(clocks: &[ClockStatus], style: Style) -> String {
    let line = |(n, clock): (usize, &ClockStatus)| {
        // A clock is named once, however many counters it has.
        let again = n > 0 && clocks[n - 1].name == clock.name;
        let name = if again { "" } else { clock.name };
        let with = clock.counter.map_or(String::new(), |counter| format!("--counter {counter}: "));
        let (state, why) = match &clock.by {
            Reading::Known(by) => (style.paint(Paint::Green, "works"), format!(" by {}", harmless(by))),
            Reading::Unknown(why) => {
                (style.paint(Paint::Yellow, "does not work here"), format!(": {}", harmless(why)))
            }
        };
        let mut text = format!("{name:<14}{with}{state}{why}\n");
        if clock.by.known().is_some() {
            text +=
                &format!("{:<14}exact for: {}; a run takes {} times as long\n", "", clock.exact, clock.cost);
        }
        text
    };
    clocks.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ClocksDocument, to_text};

    #[test]
    fn what_works_and_what_is_missing() {
        let clocks = [
            ClockStatus {
                name: "cpu",
                counter: None,
                by: Reading::Known("the kernel".into()),
                exact: "none",
                cost: "1",
            },
            ClockStatus {
                name: "instructions",
                counter: Some("emulator"),
                by: Reading::unknown("install the package x"),
                exact: "c",
                cost: "5",
            },
            ClockStatus {
                name: "instructions",
                counter: Some("processor"),
                by: Reading::Known("it".into()),
                exact: "c",
                cost: "1",
            },
        ];
        let text = clocks_table(&clocks, Style { colour: false, width: None });
        let wanted = "cpu           works by the kernel\n              exact for: none; a run takes 1 times as long\ninstructions  --counter emulator: does not work here: install the package x\n              --counter processor: works by it\n              exact for: c; a run takes 1 times as long\n";
        assert_eq!(text, wanted);
        let document = to_text(&ClocksDocument { clocks: &clocks });
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["clocks"][0]["by"], "the kernel");
        assert_eq!(document["clocks"][1]["by"]["unknown"], "install the package x");
    }
}
