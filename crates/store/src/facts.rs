//! The stored forms of what nodes tell of themselves: JSON with the number of its form in it.

use model::{Form, Forms, NodeFacts, Numbered};

/// The forms of what nodes tell; `tests/forms` has facts in each of them.
///
/// 1: what a worker told, as it came, without a number. 2: [`NodeFacts`] as JSON, and `form`.
const FORMS: Forms = Forms::kept("what a node told", 2);

/// The JSON of facts.
pub(crate) fn written(facts: &NodeFacts) -> serde_json::Result<String> {
    serde_json::to_string(&Numbered { form: FORMS.newest, thing: facts })
}

/// The facts in JSON of any form.
pub(crate) fn read(text: &str) -> serde_json::Result<NodeFacts> {
    match FORMS.read(serde_json::from_str::<Form>(text)?.form) {
        Ok(_) => serde_json::from_str(text),
        // They come again within minutes: not worth a page that cannot be shown.
        Err(why) => Ok(NodeFacts::unknown(&why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Reading;
    use serde_json::{Value, json};

    const KEPT: [&str; 2] =
        [include_str!("../tests/forms/facts-1.json"), include_str!("../tests/forms/facts-2.json")];

    fn value(facts: &NodeFacts) -> Value {
        serde_json::from_str(&written(facts).unwrap()).unwrap()
    }

    /// With something in every part: what a worker told when form 1 was written, and what came since.
    fn now() -> NodeFacts {
        NodeFacts {
            memory_bytes: Reading::unknown("/proc/meminfo has no MemTotal"),
            ..read(KEPT[0]).unwrap()
        }
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let kept = KEPT.map(|text| serde_json::from_str(text).unwrap());
        FORMS.hold(&value(&now()), &kept, Value::eq);
    }

    #[test]
    fn every_form_there_was_is_read_whole() {
        for text in KEPT {
            let mut told: Value = serde_json::from_str(text).unwrap();
            told["form"] = json!(FORMS.newest);
            assert_eq!(value(&read(text).unwrap()), told);
        }
    }

    #[test]
    fn facts_of_a_later_form_are_unknown() {
        let later = read(r#"{"form": 3, "kernel": "6.18", "audit": 7}"#).unwrap();
        assert_eq!(
            later.kernel,
            Reading::unknown("form 3 of what a node told, and this version knows 1 to 2; upgrade tauto here")
        );
        assert_eq!(read("{}").unwrap(), NodeFacts::unknown("not reported"));
        assert!(read("7").is_err());
    }
}
