//! Frames on the port: four bytes of length (little endian), a kind, a channel, and so many bytes.

use std::io::{self, Read, Write};

/// Most bytes of one frame's content: a launcher's largest document, 192 KiB, and some more.
pub const MOST: usize = 256 << 10;
const HEAD: usize = 6;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A document: a request or an answer.
    Document = 1,
    /// Bytes of a channel.
    Data = 2,
    /// Nothing more comes on this channel.
    End = 3,
    /// So many bytes of a channel have been taken: four bytes, little endian.
    Taken = 4,
    /// Somebody is there.
    Beat = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [Kind::Document, Kind::Data, Kind::End, Kind::Taken, Kind::Beat]
            .into_iter()
            .find(|k| *k as u8 == byte)
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// The channel, where it belongs to one.
    pub channel: u8,
    /// Its content, at most [`MOST`] bytes.
    pub content: Vec<u8>,
}

/// Writes a frame.
///
/// # Errors
/// The content is too long, or the stream's own.
pub fn write(out: &mut impl Write, kind: Kind, channel: u8, content: &[u8]) -> io::Result<()> {
    if content.len() > MOST {
        return Err(io::Error::new(io::ErrorKind::ArgumentListTooLong, "longer than a frame may be"));
    }
    let mut bytes = Vec::with_capacity(HEAD + content.len());
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[kind as u8, channel]);
    bytes.extend_from_slice(content);
    out.write_all(&bytes)
}

/// The next frame; `None` at the end of the stream between two frames.
///
/// # Errors
/// What comes is no frame, ends within one, or the stream's own error.
pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut head = [0; HEAD];
    let mut got = 0;
    while got < HEAD {
        match from.read(&mut head[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let [a, b, c, d, kind, channel] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let kind = Kind::from_byte(kind).ok_or_else(|| bad(format!("a frame of unknown kind {kind}")))?;
    if length > MOST {
        return Err(bad(format!("a frame of {length} bytes")));
    }
    let mut content = vec![0; length];
    from.read_exact(&mut content)?;
    Ok(Some(Frame { kind, channel, content }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::Data, 3, b"abc").expect("memory takes it");
        write(&mut bytes, Kind::End, 3, b"").expect("memory takes it");
        assert_eq!(
            write(&mut Vec::new(), Kind::Data, 0, &vec![0; MOST + 1]).map_err(|e| e.kind()).err(),
            Some(io::ErrorKind::ArgumentListTooLong)
        );
        let mut from = bytes.as_slice();
        let first = read(&mut from).expect("a frame").expect("not the end");
        assert_eq!(first, Frame { kind: Kind::Data, channel: 3, content: b"abc".to_vec() });
        assert_eq!(read(&mut from).expect("a frame").expect("not the end").kind, Kind::End);
        assert_eq!(read(&mut from).expect("the end"), None);
        // Cut anywhere, it is no frame and no end.
        for cut in 1..9 {
            assert!(read(&mut &bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_before_memory_is_taken() {
        assert!(read(&mut &[0xff, 0xff, 0xff, 0xff, 2, 0][..]).is_err());
        assert!(read(&mut &[0, 0, 0, 0, 9, 0][..]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(frame)) = read(&mut from) {
                prop_assert!(frame.content.len() <= bytes.len());
            }
        }
    }
}
