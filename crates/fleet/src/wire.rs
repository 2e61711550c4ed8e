//! Frames: a big-endian length of four bytes, a byte that says what follows, and that: JSON, or bytes as they are.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Bytes a frame may have. A judgement with thousands of runs stays below a tenth of it.
pub const FRAME_LIMIT: u32 = 256 << 20;

const JSON: u8 = 0;
const BYTES: u8 = 1;

/// What a frame carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame<T> {
    /// A message.
    Message(T),
    /// A part of some content.
    Bytes(Vec<u8>),
}

/// An error in reading a frame.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection broke.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// The bytes are no frame of this protocol.
    #[error("not a message of this version: {0}")]
    Form(String),
}

/// A message as a frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, WireError> {
    let body = serde_json::to_vec(message).map_err(|e| WireError::Form(e.to_string()))?;
    framed(JSON, &body)
}

/// Bytes as a frame.
pub fn encode_bytes(bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    framed(BYTES, bytes)
}

fn framed(kind: u8, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= FRAME_LIMIT);
    let length = length.ok_or_else(|| WireError::Form(format!("{} bytes are too many", body.len())))?;
    let mut frame = Vec::with_capacity(body.len() + 5);
    frame.extend(length.to_be_bytes());
    frame.push(kind);
    frame.extend(body);
    Ok(frame)
}

/// The five bytes before a frame's body: its kind and length.
pub fn header(bytes: [u8; 5]) -> Result<(u8, usize), WireError> {
    let [a, b, c, d, kind] = bytes;
    let length = u32::from_be_bytes([a, b, c, d]);
    if length > FRAME_LIMIT {
        return Err(WireError::Form(format!("a frame of {length} bytes, more than {FRAME_LIMIT}")));
    }
    Ok((kind, length as usize))
}

impl<T: DeserializeOwned> Frame<T> {
    /// The frame of this kind with this body.
    pub fn decode(kind: u8, body: Vec<u8>) -> Result<Frame<T>, WireError> {
        match kind {
            JSON => {
                serde_json::from_slice(&body).map(Frame::Message).map_err(|e| WireError::Form(e.to_string()))
            }
            BYTES => Ok(Frame::Bytes(body)),
            other => Err(WireError::Form(format!("a frame of kind {other}"))),
        }
    }
}

/// Reads one frame, waiting for it.
pub fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> Result<Frame<T>, WireError> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let (kind, length) = header(head)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Frame::decode(kind, body)
}

/// Writes one message.
pub fn write_frame(to: &mut impl Write, message: &impl Serialize) -> Result<(), WireError> {
    to.write_all(&encode(message)?)?;
    Ok(to.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromWorker, JobId, Lease, Outcome};

    #[test]
    fn frames_come_back_as_they_were_sent() {
        let done = FromWorker::Done {
            lease: Lease { job: JobId(7), attempt: 2 },
            outcome: Outcome::Failed { why: "the launcher is gone".into() },
        };
        let mut sent = encode(&done).unwrap();
        sent.extend(encode_bytes(b"zip").unwrap());
        let mut from = &sent[..];
        assert_eq!(read_frame::<FromWorker>(&mut from).unwrap(), Frame::Message(done));
        assert_eq!(read_frame::<FromWorker>(&mut from).unwrap(), Frame::Bytes(b"zip".to_vec()));
        assert!(matches!(read_frame::<FromWorker>(&mut from), Err(WireError::Io(_))), "the end");
    }

    #[test]
    fn what_is_no_frame_is_refused_before_memory_is_taken_for_it() {
        let refused =
            |bytes: &[u8]| matches!(read_frame::<FromWorker>(&mut { bytes }), Err(WireError::Form(_)));
        assert!(refused(&[0xff, 0xff, 0xff, 0xff, 0]), "too long");
        assert!(refused(&[0, 0, 0, 1, 0, b'{']), "no JSON");
        assert!(refused(&[0, 0, 0, 1, 9, b'x']), "of no kind");
    }
}
