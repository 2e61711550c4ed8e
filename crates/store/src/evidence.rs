//! The stored forms of what judging leaves behind: JSON with the number of its form beside it, so that a later program
//! knows what it reads.

use crate::Result;
use crate::db::Row;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use model::{Judgement, Observation, TestResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};

/// The form that is written. 1: [`Judgement`] without tests, [`TestResult`] without runs, and the runs of all tests as a list of
/// lists of [`Observation`], compressed by zlib; each as JSON.
pub(crate) const FORM: i64 = 1;

/// A judgement, ready to be stored.
pub(crate) struct Packed {
    /// Without tests.
    pub(crate) body: String,
    /// By test, without runs.
    pub(crate) tests: Vec<String>,
    /// Of all tests.
    pub(crate) runs: Vec<u8>,
}

/// Takes a judgement apart. `Err` says what cannot be written as JSON.
pub(crate) fn pack(judgement: &Judgement) -> std::result::Result<Packed, String> {
    let body = Judgement { tests: Vec::new(), ..judgement.clone() };
    let tests = judgement.tests.iter().map(|test| json(&TestResult { runs: Vec::new(), ..test.clone() }));
    let runs: Vec<&[Observation]> = judgement.tests.iter().map(|test| test.runs.as_slice()).collect();
    Ok(Packed {
        body: json(&body)?,
        tests: tests.collect::<std::result::Result<_, _>>()?,
        runs: deflate(&runs)?,
    })
}

fn json(value: &impl Serialize) -> std::result::Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}

fn deflate(value: &impl Serialize) -> std::result::Result<Vec<u8>, String> {
    deflate_bytes(json(value)?.as_bytes())
}

/// Compresses by zlib.
pub(crate) fn deflate_bytes(bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut compressor = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = compressor.write_all(bytes);
    written.and_then(|()| compressor.finish()).map_err(|e| e.to_string())
}

/// The inverse of [`deflate_bytes`].
pub(crate) fn inflate_bytes(bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut inflated = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut inflated).map_err(|e| e.to_string())?;
    Ok(inflated)
}

/// The JSON in column `body`.
pub(crate) fn body<T: DeserializeOwned>(row: &Row) -> Result<T> {
    known(row)?;
    row.json("body")
}

/// The runs by test in column `bytes`.
pub(crate) fn runs(row: &Row) -> Result<Vec<Vec<Observation>>> {
    known(row)?;
    let bytes: Vec<u8> = row.get("bytes")?;
    inflate(&bytes).map_err(|why| row.damaged(format!("runs: {why}")))
}

fn inflate<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(&inflate_bytes(bytes)?).map_err(|e| e.to_string())
}

/// That the row is of a form this program can read.
pub(crate) fn known(row: &Row) -> Result<()> {
    match row.get("form")? {
        FORM => Ok(()),
        other => Err(row.damaged(format!("form {other} of a judgement, and this program knows {FORM}"))),
    }
}
