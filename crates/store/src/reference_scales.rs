//! What limits of CPU time are in reference time, for each version and pool: found as time limits are ([`crate::time_limits`]), but nobody
//! waits for it. The stored forms: 1 is a [`model::InferredScales`].

use crate::db::{Row, values};
use crate::time_limits::{Found, stored_by};
use crate::{LimitOf, Result, Store, SubmissionId, VersionId};
use model::{Forms, InferredScales};

const FORMS: Forms = Forms::kept("reference scales", 1);
pub(crate) const FORM: i64 = FORMS.newest as i64;

/// How the scales of a version in a pool stand.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredScales {
    /// Whose they are.
    pub of: LimitOf,
    /// What infers them.
    pub submission: Option<SubmissionId>,
    /// Those in force, where they are there.
    pub found: Option<Found<InferredScales>>,
}

pub(crate) fn written(scales: &InferredScales) -> serde_json::Result<String> {
    serde_json::to_string(scales)
}

fn read(form: i64, body: &str) -> std::result::Result<InferredScales, String> {
    FORMS.read(form)?;
    serde_json::from_str(body).map_err(|e| e.to_string())
}

fn stored(row: &Row) -> Result<StoredScales> {
    let (of, submission, found) = stored_by(row, read)?;
    Ok(StoredScales { of, submission, found })
}

impl Store {
    /// The scales of a version, by pool; of what is of no contest first.
    pub async fn all_scales(&self, version: VersionId) -> Result<Vec<StoredScales>> {
        let mut tx = self.db.read().await?;
        let all = "SELECT * FROM reference_scales WHERE version = $1 ORDER BY pool";
        tx.rows(all, values![version]).await?.iter().map(stored).collect()
    }

    /// Those for one pool; `None`: nobody has asked for them.
    pub async fn scales(&self, of: &LimitOf) -> Result<Option<StoredScales>> {
        let mut tx = self.db.read().await?;
        let one = "SELECT * FROM reference_scales WHERE version = $1 AND pool = $2";
        tx.row(one, values![of.version, of.pool.as_deref().unwrap_or("")])
            .await?
            .as_ref()
            .map(stored)
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Nanos, ReferenceScale};
    use serde_json::Value;

    fn sample() -> InferredScales {
        let scale = ReferenceScale {
            language: "python3".into(),
            submission: "submissions/accepted/a.py".into(),
            test: "secret/1".into(),
            cpu: Nanos(400_000_000),
            reference: Nanos(300_000_000),
            counted_by: "reference machine 1 in an emulator".into(),
        };
        InferredScales { scales: vec![scale], warnings: vec!["java: is not accepted in the emulator".into()] }
    }

    #[test]
    fn what_is_written_changes_only_with_the_number_of_its_form() {
        let kept = include_str!("../tests/forms/scales-1.json");
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        FORMS.hold(&value(&written(&sample()).unwrap()), &[value(kept)], Value::eq);
        assert_eq!(read(1, kept), Ok(sample()));
        assert!(read(2, kept).is_err());
    }
}
