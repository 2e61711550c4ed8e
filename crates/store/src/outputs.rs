//! What a judged program and its compiler wrote, where it is to be kept: the clients of other judges' interfaces ask for it.

use crate::db::{Tx, values};
use crate::evidence::{FORM, deflate_bytes, inflate_bytes, known};
use crate::{JudgementId, Result, Store};
use serde_json::Value as Json;

/// What came out of a judgement beside its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// What the program wrote.
    pub stdout: Vec<u8>,
    /// What the program wrote to its other stream.
    pub stderr: Vec<u8>,
    /// Whatever else the one who stores it wants to know later.
    pub details: Json,
}

/// An output, ready to be stored.
pub(crate) struct Packed {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    details: Vec<u8>,
}

/// Compresses an output. `Err` says what cannot be.
pub(crate) fn pack(output: &Output) -> std::result::Result<Packed, String> {
    Ok(Packed {
        stdout: deflate_bytes(&output.stdout)?,
        stderr: deflate_bytes(&output.stderr)?,
        details: deflate_bytes(output.details.to_string().as_bytes())?,
    })
}

pub(crate) async fn insert(tx: &mut Tx, judgement: JudgementId, packed: Packed) -> Result<()> {
    let statement =
        "INSERT INTO outputs (judgement, form, stdout, stderr, details) VALUES ($1, $2, $3, $4, $5)";
    let values = values![judgement, FORM, packed.stdout, packed.stderr, packed.details];
    tx.run(statement, values).await.map(drop)
}

impl Store {
    /// The output that was stored with a judgement; `None` where there was none, or it was deleted ([`Store::forget`]).
    pub async fn output(&self, judgement: JudgementId) -> Result<Option<Output>> {
        let mut tx = self.db.read().await?;
        let statement = "SELECT form, stdout, stderr, details FROM outputs WHERE judgement = $1";
        let Some(row) = tx.row(statement, values![judgement]).await? else { return Ok(None) };
        known(&row)?;
        let damaged = |why| row.damaged(format!("output of judgement {judgement}: {why}"));
        let bytes = |name| inflate_bytes(&row.get::<Vec<u8>>(name)?).map_err(damaged);
        let details = serde_json::from_slice(&bytes("details")?).map_err(|e| damaged(e.to_string()))?;
        Ok(Some(Output { stdout: bytes("stdout")?, stderr: bytes("stderr")?, details }))
    }
}
