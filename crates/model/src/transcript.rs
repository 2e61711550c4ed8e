//! What a program and its interactor write to each other.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// Transcript of an interactive run: `{"turns": [{"from": "program", "at_ns": 1, "text": "4\n"}], "left_out_bytes": 0}`. It is
/// recorded in one more run after the verdict, for the first test that a submission fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Transcript {
    /// Turns, in order: at most 200, with at most 4096 bytes.
    pub turns: Vec<Turn>,
    /// Number of bytes that were written after these turns.
    pub left_out_bytes: u64,
}

/// What one side writes until the other writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turn {
    /// Side that writes.
    pub from: Speaker,
    /// Time of its first byte since the start.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Text. Bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Side of an interactive run: `program` (the submission) or `interactor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The submission.
    Program,
    /// The package's program.
    Interactor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_the_published_one() {
        let turn = Turn { from: Speaker::Interactor, at: Nanos(5), text: "4\n".into() };
        let transcript = Transcript { turns: vec![turn], left_out_bytes: 7 };
        let written = serde_json::to_string(&transcript).unwrap();
        let expected = r#"{"turns":[{"from":"interactor","at_ns":5,"text":"4\n"}],"left_out_bytes":7}"#;
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_str::<Transcript>(&written).unwrap(), transcript);
    }
}
