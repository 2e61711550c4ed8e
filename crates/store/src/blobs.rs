//! Content by its hash: packages and sources. The same content is kept once, however often it is submitted.

use crate::db::{Tx, Value, values};
use crate::{Error, Result, Store};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Content is kept in pieces of so many bytes, the last one shorter, so that a large package need not be in memory at
/// once to be read.
pub const PIECE: usize = 1 << 20;

/// The SHA-256 of some content, in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Hash(String);

impl Hash {
    /// The hash of this content.
    pub fn digest(bytes: &[u8]) -> Hash {
        Hash::finish(Sha256::new_with_prefix(bytes))
    }

    pub(crate) fn finish(hasher: Sha256) -> Hash {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = hasher.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Hash(digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect())
    }

    /// Its 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Hash {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Hash, String> {
        let digits = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() == 64 && digits {
            Ok(Hash(text.to_string()))
        } else {
            Err(format!("`{text}` is no SHA-256 in lower-case hexadecimal"))
        }
    }
}

impl From<&Hash> for Value {
    fn from(hash: &Hash) -> Value {
        Value::from(hash.0.as_str())
    }
}

impl Store {
    /// The content of this hash, whole.
    ///
    /// # Errors
    /// [`Error::NotFound`], and [`Error::Damaged`] where what is stored is not what it was.
    pub async fn blob(&self, hash: &Hash) -> Result<Vec<u8>> {
        let mut tx = self.db.read().await?;
        let size = size(&mut tx, hash).await?;
        let rows =
            tx.rows("SELECT bytes FROM blob_pieces WHERE hash = $1 ORDER BY piece", values![hash]).await?;
        let mut whole = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        for row in &rows {
            whole.extend(row.get::<Vec<u8>>("bytes")?);
        }
        if Hash::digest(&whole) == *hash {
            return Ok(whole);
        }
        let why = format!("content {hash} has changed");
        Err(Error::Damaged { place: self.place().to_string(), why })
    }

    /// The size of the content of this hash, in bytes.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn blob_size(&self, hash: &Hash) -> Result<u64> {
        size(&mut self.db.read().await?, hash).await
    }

    /// Piece number `piece`, from 0, of the content of this hash: [`PIECE`] bytes or what is left; nothing behind the end.
    /// That the whole is what it was is not checked.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn blob_piece(&self, hash: &Hash, piece: u32) -> Result<Vec<u8>> {
        let mut tx = self.db.read().await?;
        size(&mut tx, hash).await?;
        let found = tx
            .row("SELECT bytes FROM blob_pieces WHERE hash = $1 AND piece = $2", values![hash, piece])
            .await?;
        found.map_or_else(|| Ok(Vec::new()), |row| row.get("bytes"))
    }
}

async fn size(tx: &mut Tx, hash: &Hash) -> Result<u64> {
    let row = tx.row("SELECT size FROM blobs WHERE hash = $1", values![hash]).await?;
    row.ok_or_else(|| Error::NotFound(format!("content {hash}")))?.count("size")
}

/// Keeps this content. Where it is kept already its row is held, so that retention cannot take it away meanwhile.
pub(crate) async fn keep(tx: &mut Tx, hash: &Hash, bytes: &[u8]) -> Result<()> {
    tx.run(
        "INSERT INTO blobs (hash, size) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET size = excluded.size",
        values![hash, bytes.len() as u64],
    )
    .await?;
    let first = tx.row("SELECT piece FROM blob_pieces WHERE hash = $1 LIMIT 1", values![hash]).await?;
    if first.is_some() {
        return Ok(());
    }
    for (piece, bytes) in (0u32..).zip(bytes.chunks(PIECE)) {
        tx.run(
            "INSERT INTO blob_pieces (hash, piece, bytes) VALUES ($1, $2, $3)",
            values![hash, piece, bytes.to_vec()],
        )
        .await?;
    }
    Ok(())
}

/// Deletes this content unless something still refers to it.
pub(crate) async fn drop_unused(tx: &mut Tx, hash: &str) -> Result<u64> {
    tx.run(
        "DELETE FROM blobs WHERE hash = $1
         AND NOT EXISTS (SELECT 1 FROM files WHERE files.hash = blobs.hash)
         AND NOT EXISTS (SELECT 1 FROM problem_versions WHERE package = blobs.hash)",
        values![hash],
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_everyone() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::digest(b"abc").as_str(), abc);
        assert_eq!(abc.parse::<Hash>(), Ok(Hash::digest(b"abc")));
        for bad in ["", "BA", &abc.to_uppercase(), &abc[1..], &format!("{abc}0")] {
            assert!(bad.parse::<Hash>().is_err(), "{bad}");
        }
    }
}
