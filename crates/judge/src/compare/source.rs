//! One side of a comparison, and the fast way over equal stretches.

use super::number::is_space;
use super::{TOKEN_KEPT, Token};
use std::io::{self, BufRead};

/// A reader that counts lines, and characters in the line.
pub(super) struct Source<R> {
    reader: R,
    newlines: u64,
    characters: u64,
}

impl<R: BufRead> Source<R> {
    pub(super) fn new(reader: R) -> Source<R> {
        Source { reader, newlines: 0, characters: 0 }
    }

    /// The line of the next byte, from 1.
    pub(super) fn line(&self) -> u64 {
        self.newlines + 1
    }

    /// The column of the next byte, in characters from 1.
    pub(super) fn column(&self) -> u64 {
        self.characters + 1
    }

    /// Bytes that lie ready; none at the end only.
    fn ready(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.reader.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                // Asked again, since a borrow cannot be returned from within a loop.
                Ok(_) => return self.reader.fill_buf(),
            }
        }
    }

    /// Consumes buffered bytes: `newlines` counts their line ends, `characters` the characters after the last of them.
    fn consume(&mut self, length: usize, newlines: u64, characters: u64) {
        self.reader.consume(length);
        self.newlines += newlines;
        self.characters = if newlines == 0 { self.characters + characters } else { characters };
    }

    /// The next byte.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.ready()?.first().copied())
    }

    /// Steps over the byte that was peeked.
    pub(super) fn bump(&mut self) {
        // After a peek this gives what lies ready without reading.
        let (newline, characters) = match self.reader.fill_buf() {
            Ok([b'\n', ..]) => (true, 0),
            Ok([byte, ..]) => (false, characters(&[*byte])),
            _ => (false, 0),
        };
        self.consume(1, u64::from(newline), characters);
    }

    pub(super) fn skip_space(&mut self) -> io::Result<()> {
        loop {
            let ready = self.ready()?;
            let spaces = ready.iter().take_while(|b| is_space(**b)).count();
            let (newlines, more) = (count_newlines(&ready[..spaces]), spaces > 0 && spaces == ready.len());
            let last = characters(last_line(&ready[..spaces]));
            self.consume(spaces, newlines, last);
            if !more {
                return Ok(());
            }
        }
    }

    /// Appends to `token` until it ends or is full.
    pub(super) fn read_token(&mut self, token: &mut Token) -> io::Result<()> {
        loop {
            let ready = self.ready()?;
            let length = ready.iter().take_while(|b| !is_space(**b)).count();
            let taken = length.min(TOKEN_KEPT - token.kept.len());
            token.kept.extend_from_slice(&ready[..taken]);
            let ended = length < ready.len() || ready.is_empty();
            if taken < length {
                token.longer = true;
            }
            let new = characters(&ready[..taken]);
            self.consume(taken, 0, new);
            if ended || token.longer {
                return Ok(());
            }
        }
    }
}

/// What [`skip_equal`] went over.
pub(super) struct Skipped {
    /// Length of the token in which the equal stretch ended; 0 between tokens.
    pub(super) length: u64,
    /// There was a token, or part of one.
    pub(super) any_token: bool,
}

/// Steps over everything that is equal byte for byte. `token` becomes the beginning of the token in which
/// the equal stretch ended, empty when it ended between tokens.
pub(super) fn skip_equal<A: BufRead, B: BufRead>(
    a: &mut Source<A>,
    b: &mut Source<B>,
    token: &mut Token,
) -> io::Result<Skipped> {
    token.restart(&[], false);
    let mut skipped = Skipped { length: 0, any_token: false };
    loop {
        let (left, right) = (a.ready()?, b.ready()?);
        let shared = left.len().min(right.len());
        let equal = equal_prefix(&left[..shared], &right[..shared]);
        let stretch = &left[..equal];
        let tail = match stretch.iter().rposition(|b| is_space(*b)) {
            Some(at) => {
                token.restart(&[], false);
                skipped.any_token |= skipped.length > 0 || stretch.iter().any(|b| !is_space(*b));
                skipped.length = 0;
                &stretch[at + 1..]
            }
            None => stretch,
        };
        let kept = tail.len().min(TOKEN_KEPT - token.kept.len());
        token.kept.extend_from_slice(&tail[..kept]);
        token.longer |= kept < tail.len();
        skipped.length += tail.len() as u64;
        let newlines = count_newlines(stretch);
        let last = characters(last_line(stretch));
        a.consume(equal, newlines, last);
        b.consume(equal, newlines, last);
        if equal < shared || shared == 0 {
            skipped.any_token |= skipped.length > 0;
            return Ok(skipped);
        }
    }
}

/// Length of the common beginning of two slices of one length.
fn equal_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    // Whole blocks are compared by the machine's fastest means; the block that differs, byte by byte.
    let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK)).take_while(|(a, b)| a == b).count();
    let start = (blocks * BLOCK).min(a.len());
    start + a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b).count()
}

/// Whether a byte continues a character of UTF-8. In a text that is not UTF-8 every other byte is a character.
pub(super) fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// How many characters begin in a text.
pub(super) fn characters(text: &[u8]) -> u64 {
    // In chunks that a byte can count, as below: long lines stay cheap.
    text.chunks(255).map(|c| u64::from(c.iter().map(|b| u8::from(!continues(*b))).sum::<u8>())).sum()
}

/// Line and column of a place in a text, from 1; columns in characters.
pub(super) fn position(text: &[u8], at: usize) -> (u64, u64) {
    let before = &text[..at];
    (count_newlines(before) + 1, characters(last_line(before)) + 1)
}

/// The text after the last line end.
fn last_line(text: &[u8]) -> &[u8] {
    text.iter().rposition(|byte| *byte == b'\n').map_or(text, |end| &text[end + 1..])
}

fn count_newlines(bytes: &[u8]) -> u64 {
    // Sums of single bytes are what compilers turn into vector code; 255 of them cannot overflow.
    bytes.chunks(255).map(|c| u64::from(c.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>())).sum()
}
