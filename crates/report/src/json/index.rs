//! Indices that were saved by `tauto index --json`, of this version of the program or another.

use super::to_text;
use model::{Form, Forms, Index, IndexPart, Numbered, SavedIndex};
use serde_json::{Map, Value};

/// The forms of an index; `tests/forms` has one in each of them.
///
/// 1: [`Index`] without a number. 2: with `form`.
const FORMS: Forms = Forms::kept("an index", 2);

/// An index as `tauto index --json` prints it and as it is kept.
pub fn index_text(index: &Index) -> String {
    to_text(&Numbered { form: FORMS.newest, thing: index })
}

/// The inverse of [`index_text`], for all forms there were.
///
/// # Errors
/// What is wrong with it.
pub fn read_kept_index(text: &str) -> Result<Index, String> {
    let wrong = |e: serde_json::Error| e.to_string();
    FORMS.read(serde_json::from_str::<Form>(text).map_err(wrong)?.form)?;
    serde_json::from_str(text).map_err(wrong)
}

/// Reads what a comparison needs of a saved index. `file` is its name, which stands for the machine where none is named.
///
/// # Errors
/// The field that is missing or wrong, and what it should be.
pub fn read_index(file: &str, text: &str) -> Result<SavedIndex, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON document: {e}"))?;
    let document = document.as_object().ok_or("no JSON object, as `tauto index --json` prints it")?;
    let form = document.get("form").map_or(Some(1), Value::as_i64).ok_or("form: must be a number")?;
    FORMS.read(form).map_err(|why| format!("form: {why}"))?;
    let fingerprint = text_of(document, "fingerprint")?.ok_or(
        "fingerprint: missing, so this is not an index\n\
         hint: name a file that `tauto index --json` wrote",
    )?;
    let parts = document.get("parts").ok_or(
        "parts: missing, so this is not an index\n\
         hint: name a file that `tauto index --json` wrote",
    )?;
    let parts = parts.as_object().ok_or("parts: must be an object")?;
    let mut values = Vec::new();
    for part in IndexPart::ALL {
        let (place, at) = match part {
            IndexPart::Rounds => (part.name().to_string(), document.get(part.name())),
            _ => (format!("parts.{}", part.name()), parts.get(part.name())),
        };
        let at = match at {
            // Not recorded then.
            None if form < i64::from(FORMS.newest) => continue,
            at => at.ok_or_else(|| format!("{place}: missing"))?,
        };
        values.extend(value_of(at).map_err(|why| format!("{place}{why}"))?.map(|value| (part, value)));
    }
    let unknown: Vec<&String> =
        parts.keys().filter(|name| IndexPart::ALL.iter().all(|part| part.name() != *name)).collect();
    if let Some(name) = unknown.first() {
        return Err(format!(
            "parts.{name}: no such part, so it is from another version of tauto\n\
             hint: measure both machines with the same version"
        ));
    }
    Ok(SavedIndex {
        file: file.into(),
        machine: text_of(document, "machine")?.unwrap_or_else(|| file.into()),
        model: text_of(document, "cpu_model")?.unwrap_or(fingerprint),
        boot: text_of(document, "boot_id")?,
        taken_at: match document.get("taken_at") {
            None => None,
            Some(time) => Some(time.as_u64().ok_or("taken_at: must be whole seconds since 1970")?),
        },
        version: text_of(document, "tauto")?,
        values,
    })
}

/// A text that may be missing or unknown.
fn text_of(document: &Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match document.get(field) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(unknown) if is_unknown(unknown) => Ok(None),
        Some(other) => Err(format!("{field}: must be text, is {}", short(other))),
    }
}

/// The value of a part that may be unknown. The error goes on where the field's name ends.
fn value_of(part: &Value) -> Result<Option<f64>, String> {
    if is_unknown(part) {
        return Ok(None);
    }
    let value = part.get("value").ok_or_else(|| format!(": must have a value, is {}", short(part)))?;
    match value.as_f64() {
        Some(number) if number > 0.0 && number.is_finite() => Ok(Some(number)),
        _ => Err(format!(".value: must be a number above 0, is {}", short(value))),
    }
}

fn is_unknown(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.get("unknown").is_some_and(Value::is_string))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let index = samples::index::index();
        let text = index_text(&index);
        let read = read_index("a.json", &text).unwrap();
        assert_eq!((&*read.file, &*read.machine, &*read.model), ("a.json", "5f1e", "AMD EPYC"));
        assert_eq!((read.boot.as_deref(), read.taken_at), (Some("b00t"), Some(1_795_271_405)));
        let known = index.figures().filter_map(|(part, figure)| Some((part, figure.known()?.value)));
        assert_eq!(read.values, known.collect::<Vec<_>>());
        // Nothing but what the contract names.
        let parts: String = IndexPart::ALL[2..]
            .iter()
            .map(|part| format!(", \"{}\": {{\"value\": 2}}", part.name()))
            .collect();
        let least = format!(
            "{{\"fingerprint\": \"f\", \"rounds_per_second\": {{\"unknown\": \"why\"}}, \"parts\": {{\"clock_ghz\": {{\"value\": 3.5}}{parts}}}}}"
        );
        let read = read_index("b.json", &least).unwrap();
        assert_eq!((&*read.machine, &*read.model, read.values.len()), ("b.json", "f", 10));
    }

    const KEPT: [&str; 2] =
        [include_str!("../../tests/forms/index-1.json"), include_str!("../../tests/forms/index-2.json")];

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let now = index_text(&samples::index::index());
        FORMS.hold(&now, &KEPT.map(String::from), String::eq);
    }

    #[test]
    fn every_form_there_was_is_read() {
        for text in KEPT {
            assert_eq!(read_kept_index(text), Ok(samples::index::index()));
            assert_eq!(read_index("a", text).unwrap(), read_index("a", KEPT[1]).unwrap());
        }
        assert!(read_kept_index(r#"{"form": 3}"#).unwrap_err().ends_with("upgrade tauto here"));
    }

    /// What a part is that was not measured then.
    #[test]
    fn parts_that_came_later_are_unknown() {
        let mut old: Value = serde_json::from_str(KEPT[0]).unwrap();
        old["parts"].as_object_mut().unwrap().remove("syscall_ns");
        let old = old.to_string();
        assert_eq!(
            read_index("a", &old).unwrap().values.len(),
            read_index("a", KEPT[0]).unwrap().values.len() - 1
        );
        let old = read_kept_index(&old).unwrap();
        let figure = old.figures().find(|(part, _)| *part == IndexPart::Syscall).unwrap().1;
        assert_eq!(*figure, model::not_recorded());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_field() {
        let good = index_text(&samples::index::index());
        let with = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            good.replacen(from, to, 1)
        };
        for (text, says) in [
            ("".to_string(), "no JSON document"),
            ("[]".into(), "no JSON object"),
            ("{}".into(), "fingerprint: missing"),
            (
                with("\"form\": 2", "\"form\": 3"),
                "form: form 3 of an index, and this version knows 1 to 2\nhint: upgrade",
            ),
            (with("\"form\": 2", "\"form\": \"2\""), "form: must be a number"),
            (with("\"fingerprint\": \"dfee\"", "\"fingerprint\": 7"), "fingerprint: must be text, is `7`"),
            (with("\"parts\"", "\"part\""), "parts: missing"),
            (with("\"clock_ghz\"", "\"clock\""), "parts.clock_ghz: missing"),
            (
                with("\"value\": 3.5926", "\"value\": \"fast\""),
                "parts.clock_ghz.value: must be a number above 0, is `\"fast\"`",
            ),
            (with("\"value\": 3.5926", "\"value\": -1"), "parts.clock_ghz.value: must be a number above 0"),
            (with("\"value\": 3.5926", "\"values\": 1"), "parts.clock_ghz: must have a value"),
            (with("\"rounds_per_second\"", "\"rounds\""), "rounds_per_second: missing"),
            (with("\"taken_at\": 1795271405", "\"taken_at\": \"today\""), "taken_at: must be whole seconds"),
            (with("\"clock_ghz\": {", "\"warp_ns\": 1, \"clock_ghz\": {"), "parts.warp_ns: no such part"),
        ] {
            let why = read_index("x.json", &text).unwrap_err();
            assert!(why.starts_with(says), "{says}: {why}");
        }
    }
}
