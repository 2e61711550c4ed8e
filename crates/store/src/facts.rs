//! The stored forms of what nodes tell of themselves: JSON with the number of its form in it.

use model::NodeFacts;
use serde::{Deserialize, Serialize};

/// The form that is written. All forms from 1 to this are read for ever: what one did not have is a reading that is unknown.
/// `tests/forms` has facts in each of them.
///
/// 1: what a worker told, as it came, without a number. 2: [`NodeFacts`] as JSON, and `form`.
const FORM: u32 = 2;

/// The JSON of facts.
pub(crate) fn written(facts: &NodeFacts) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Written<'a> {
        form: u32,
        #[serde(flatten)]
        facts: &'a NodeFacts,
    }
    serde_json::to_string(&Written { form: FORM, facts })
}

/// The facts in JSON of any form.
pub(crate) fn read(text: &str) -> serde_json::Result<NodeFacts> {
    #[derive(Deserialize)]
    struct Kept {
        form: Option<u32>,
        #[serde(flatten)]
        facts: NodeFacts,
    }
    let Kept { form, facts } = serde_json::from_str(text)?;
    Ok(match form.unwrap_or(1) {
        1..=FORM => facts,
        // They come anew within minutes: not worth a page that cannot be shown.
        other => NodeFacts::unknown(&format!("kept in form {other}, and this version knows 1 to {FORM}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Reading;
    use serde_json::{Value, json};
    use std::path::Path;

    fn kept(form: u32) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/forms/facts-{form}.json"));
        let why = || format!("{}: is missing; write this there:\n{:#}", path.display(), value(&now()));
        std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", why()))
    }

    fn value(facts: &NodeFacts) -> Value {
        serde_json::from_str(&written(facts).unwrap()).unwrap()
    }

    /// With something in every part: what a worker told when form 1 was written, and what came since.
    fn now() -> NodeFacts {
        NodeFacts {
            memory_bytes: Reading::unknown("/proc/meminfo has no MemTotal"),
            ..read(&kept(1)).unwrap()
        }
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let kept: Value = serde_json::from_str(&kept(FORM)).unwrap();
        assert_eq!(value(&now()), kept, "raise FORM, say what changed, and add a file to tests/forms");
    }

    #[test]
    fn every_form_there_was_is_read_whole() {
        for form in 1..=FORM {
            let text = kept(form);
            let mut told: Value = serde_json::from_str(&text).unwrap();
            told["form"] = json!(FORM);
            assert_eq!(value(&read(&text).unwrap()), told, "form {form}");
        }
    }

    #[test]
    fn facts_of_a_later_form_are_unknown() {
        let later = read(r#"{"form": 3, "kernel": "6.18", "audit": 7}"#).unwrap();
        assert_eq!(later.kernel, Reading::unknown("kept in form 3, and this version knows 1 to 2"));
        assert_eq!(read("{}").unwrap(), NodeFacts::unknown("not told"));
        assert!(read("7").is_err());
    }
}
