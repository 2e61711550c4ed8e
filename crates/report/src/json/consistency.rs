//! `tauto lab consistency --json`, which `--compare` reads.

use crate::lab::consistency_findings;
use model::{ConsistencyReport, Form, Forms, Numbered};
use serde::Serialize;

/// The forms that are read.
const FORMS: Forms = Forms::kept("a report of consistency", 1);

#[derive(Serialize)]
struct ConsistencyDocument<'a> {
    #[serde(flatten)]
    report: &'a ConsistencyReport,
    /// What was found, a sentence each.
    found: Vec<String>,
}

/// The document of one machine.
pub fn consistency_text(report: &ConsistencyReport) -> String {
    let document = ConsistencyDocument { report, found: consistency_findings(report) };
    super::to_text(&Numbered { form: FORMS.newest, thing: document })
}

/// Reads such a document.
///
/// # Errors
/// Why it is none, with line and field as far as they are known.
pub fn read_consistency(text: &str) -> Result<ConsistencyReport, String> {
    let Form { form } = serde_json::from_str(text).map_err(|e| e.to_string())?;
    FORMS.read(form)?;
    serde_json::from_str(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::lab::consistency;
    use serde_json::Value;

    #[test]
    fn what_is_written_changes_only_with_its_number_and_is_read() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let kept = include_str!("../../tests/forms/consistency-1.json");
        let written = consistency_text(&consistency("here"));
        FORMS.hold(&value(&written), &[value(kept)], Value::eq);
        assert_eq!(read_consistency(kept), Ok(consistency("here")));
        let later = kept.replacen("\"form\": 1", "\"form\": 2", 1);
        assert!(read_consistency(&later).unwrap_err().contains("upgrade"));
        assert!(read_consistency("[]").is_err() && read_consistency("{}").unwrap_err().contains("name"));
    }
}
