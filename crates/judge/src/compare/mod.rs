//! The default output validator: output against answer, token by token ("Default output validator
//! specification" of both formats).
//!
//! Both sides are streamed. Equal stretches are compared as blocks; only where they differ does the comparison
//! look at tokens, of which it keeps at most [`TOKEN_KEPT`] bytes: enough for a number and for a message.

mod built_in;
mod items;
mod lines;
mod number;
mod options;
mod source;
#[cfg(test)]
mod tests;

pub use built_in::{BuiltIn, Compared, FloatError};
pub use lines::compare_lines;
pub use options::{CompareFlagError, CompareOptions};

use source::Source;
use std::fmt;
use std::io::{self, BufRead};

/// Bytes of a token that are kept. A longer token is compared byte by byte and never taken for a number.
pub const TOKEN_KEPT: usize = 1024;

/// The first difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Line of the output, from 1.
    pub output_line: u64,
    /// Column of the output, in characters from 1: of the first character that differs, of the beginning of a token that is
    /// compared as a number or that nothing was expected in place of, or of the end of the output.
    pub output_column: u64,
    /// Line of the answer, from 1. `None`: what the output has is nowhere in the answer.
    pub answer_line: Option<u64>,
    /// What differs there.
    pub kind: DifferenceKind,
}

/// What differs. Texts are clipped and made printable.
#[derive(Clone, Debug, PartialEq)]
pub enum DifferenceKind {
    /// The output ends where the answer goes on.
    Missing {
        /// The answer's next token.
        expected: String,
        /// The output holds no token at all.
        empty: bool,
    },
    /// The output goes on where the answer ends.
    Trailing {
        /// The output's next token.
        found: String,
    },
    /// Two tokens differ.
    Token {
        /// The answer's.
        expected: String,
        /// The output's.
        found: String,
        /// Where they first differ, in bytes from 0, when that lies beyond what is shown.
        at: Option<u64>,
    },
    /// The answer has a number, the output something else.
    NoNumber {
        /// The answer's.
        expected: String,
        /// The output's.
        found: String,
    },
    /// Two numbers differ by more than the tolerance.
    Number {
        /// The answer's.
        expected: String,
        /// The output's.
        found: String,
        /// |output − answer|.
        absolute: f64,
        /// The same over |answer|; `None` where that is 0.
        relative: Option<f64>,
    },
    /// White space differs, where that matters.
    Space {
        /// The answer's next byte; `None`: end or another token.
        expected: Option<u8>,
        /// The output's.
        found: Option<u8>,
    },
    /// A line ends on one side only. Both are in words: a quoted token or an end.
    LineEnd {
        /// The answer's.
        expected: String,
        /// The output's.
        found: String,
    },
    /// The output has something more often than the answer, where the order does not count.
    Surplus {
        /// What it has.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { output_line, output_column, answer_line, .. } = self;
        write!(f, "line {output_line}, column {output_column} of the output")?;
        answer_line.map_or(Ok(()), |line| write!(f, " (line {line} of the answer)"))?;
        write!(f, ": ")?;
        match &self.kind {
            DifferenceKind::Missing { expected, empty: true } => {
                write!(f, "expected `{expected}`, but the output is empty")
            }
            DifferenceKind::Missing { expected, empty: false } => {
                write!(f, "expected `{expected}`, found the end of the output")
            }
            DifferenceKind::Trailing { found } => {
                write!(f, "expected the end of the output, found `{found}`")
            }
            DifferenceKind::Token { expected, found, at: None } => {
                write!(f, "expected `{expected}`, found `{found}`")
            }
            DifferenceKind::Token { expected, found, at: Some(at) } => {
                write!(f, "expected `{expected}`, found `{found}`, which differs from byte {at} of the token")
            }
            DifferenceKind::NoNumber { expected, found } => {
                write!(f, "expected the number `{expected}`, found `{found}`")
            }
            DifferenceKind::Number { expected, found, absolute, relative } => {
                write!(f, "expected `{expected}`, found `{found}`: absolute error {absolute:e}")?;
                relative.map_or(Ok(()), |r| write!(f, ", relative error {r:e}"))
            }
            DifferenceKind::Space { expected, found } => {
                write!(f, "white space differs: expected {}, found {}", space(*expected), space(*found))
            }
            DifferenceKind::LineEnd { expected, found } => write!(f, "expected {expected}, found {found}"),
            DifferenceKind::Surplus { found } => write!(f, "the answer has no further `{found}`"),
        }
    }
}

fn space(byte: Option<u8>) -> String {
    match byte {
        None => "the end".into(),
        Some(b' ') => "a space".into(),
        Some(b'\n') => "the end of the line".into(),
        Some(b'\t') => "a tab".into(),
        Some(b'\r') => "a carriage return".into(),
        Some(other) => format!("`{}`", other.escape_ascii()),
    }
}

/// Compares; `None` means equal. Errors are those of reading.
///
/// By default white space (six ASCII characters) only parts tokens, and letters A–Z equal a–z. Where a
/// tolerance is set, every answer token that is a number is compared as one: it must be followed by a number
/// within the absolute or the relative tolerance. Numbers are what C's `strtod` takes, finite ones only.
pub fn compare(
    answer: impl BufRead,
    output: impl BufRead,
    options: &CompareOptions,
) -> io::Result<Option<Difference>> {
    let mut comparison = Comparison {
        answer: Source::new(answer),
        output: Source::new(output),
        options: *options,
        expected: Token::default(),
        found: Token::default(),
        tokens_seen: false,
        column: 1,
    };
    let kind = comparison.first_difference()?;
    Ok(kind.map(|kind| Difference {
        output_line: comparison.output.line(),
        output_column: comparison.column,
        answer_line: Some(comparison.answer.line()),
        kind,
    }))
}

/// The beginning of a token.
#[derive(Default)]
struct Token {
    kept: Vec<u8>,
    /// There is more than was kept.
    longer: bool,
}

impl Token {
    fn restart(&mut self, kept: &[u8], longer: bool) {
        self.kept.clear();
        self.kept.extend_from_slice(kept);
        self.longer = longer;
    }

    fn number(&self) -> Option<f64> {
        if self.longer { None } else { number::parse(&self.kept) }
    }

    fn shown(&self, from: usize) -> String {
        excerpt(&self.kept, from, self.longer)
    }
}

struct Comparison<A, O> {
    answer: Source<A>,
    output: Source<O>,
    options: CompareOptions,
    expected: Token,
    found: Token,
    tokens_seen: bool,
    /// Where the output differs.
    column: u64,
}

impl<A: BufRead, O: BufRead> Comparison<A, O> {
    fn first_difference(&mut self) -> io::Result<Option<DifferenceKind>> {
        loop {
            // What both sides share of the token in which the equal stretch ends.
            let common = source::skip_equal(&mut self.answer, &mut self.output, &mut self.expected)?;
            self.tokens_seen |= common.any_token;
            if self.expected.kept.is_empty() {
                if let Some(difference) = self.white_space()? {
                    return Ok(Some(difference));
                }
                match (self.answer.peek()?, self.output.peek()?) {
                    (None, None) => return Ok(None),
                    (Some(_), None) => return self.missing().map(Some),
                    (None, Some(_)) => return self.trailing().map(Some),
                    (Some(_), Some(_)) => {}
                }
            }
            self.tokens_seen = true;
            if let Some(difference) = self.token(common.length)? {
                return Ok(Some(difference));
            }
        }
    }

    fn white_space(&mut self) -> io::Result<Option<DifferenceKind>> {
        if !self.options.space_change_sensitive {
            self.answer.skip_space()?;
            self.output.skip_space()?;
            return Ok(None);
        }
        loop {
            let is_space = |b: &u8| number::is_space(*b);
            let (expected, found) = (self.answer.peek()?, self.output.peek()?);
            match (expected.filter(is_space), found.filter(is_space)) {
                (None, None) => return Ok(None),
                (a, o) if a == o => {
                    self.answer.bump();
                    self.output.bump();
                }
                _ => {
                    self.column = self.output.column();
                    return Ok(Some(DifferenceKind::Space { expected, found }));
                }
            }
        }
    }

    fn missing(&mut self) -> io::Result<DifferenceKind> {
        self.column = self.output.column();
        self.expected.restart(&[], false);
        self.answer.read_token(&mut self.expected)?;
        Ok(DifferenceKind::Missing { expected: self.expected.shown(0), empty: !self.tokens_seen })
    }

    fn trailing(&mut self) -> io::Result<DifferenceKind> {
        self.column = self.output.column();
        self.found.restart(&[], false);
        self.output.read_token(&mut self.found)?;
        Ok(DifferenceKind::Trailing { found: self.found.shown(0) })
    }

    /// Compares one token; `expected` holds what both sides have already given of it, of length `common`.
    fn token(&mut self, common: u64) -> io::Result<Option<DifferenceKind>> {
        self.found.restart(&self.expected.kept, self.expected.longer);
        // What was kept of the common part is all of it, or the token differs beyond what is kept.
        let start = self.output.column() - source::characters(&self.expected.kept);
        self.answer.read_token(&mut self.expected)?;
        self.output.read_token(&mut self.found)?;
        let (expected, found) = (&self.expected, &self.found);
        if self.options.tolerant()
            && let Some(wanted) = expected.number()
        {
            self.column = start;
            return Ok(self.number(wanted));
        }
        let same = |a: &u8, b: &u8| self.options.same(*a, *b);
        let differs = expected.kept.iter().zip(&found.kept).position(|(a, b)| !same(a, b));
        let equal_so_far = differs.is_none() && expected.kept.len() == found.kept.len();
        if equal_so_far && !expected.longer && !found.longer {
            return Ok(None);
        }
        let from = differs.unwrap_or(expected.kept.len().min(found.kept.len()));
        let texts = (expected.shown(from), found.shown(from));
        let token = |at| DifferenceKind::Token { expected: texts.0, found: texts.1, at };
        if !equal_so_far {
            // Characters may differ in a byte that continues them.
            let inside = found.kept.get(from).is_some_and(|byte| source::continues(*byte));
            self.column = start + source::characters(&found.kept[..from]).saturating_sub(u64::from(inside));
            return Ok(Some(token(None)));
        }
        // Both are kept up to the same byte, and at least one goes on.
        let kept = common.max(expected.kept.len() as u64);
        Ok(self.rest(kept)?.map(|at| token(Some(at))))
    }

    /// Compares the rest of two long tokens; returns where they differ.
    fn rest(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        loop {
            let in_token = |b: &u8| !number::is_space(*b);
            match (self.answer.peek()?.filter(in_token), self.output.peek()?.filter(in_token)) {
                (None, None) => return Ok(None),
                (Some(a), Some(o)) if self.options.same(a, o) => {
                    self.answer.bump();
                    self.output.bump();
                    at += 1;
                }
                (_, found) => {
                    let inside = found.is_some_and(source::continues);
                    self.column = self.output.column().saturating_sub(u64::from(inside)).max(1);
                    return Ok(Some(at));
                }
            }
        }
    }

    fn number(&self, wanted: f64) -> Option<DifferenceKind> {
        let near = |value: f64| {
            let absolute = (wanted - value).abs();
            let within = |bound: Option<f64>| bound.is_some_and(|bound| absolute <= bound);
            within(self.options.absolute)
                || within(self.options.relative.map(|epsilon| epsilon * wanted.abs()))
        };
        let texts = || (self.expected.shown(0), self.found.shown(0));
        unlike_numbers(wanted, self.found.number(), near, texts)
    }
}

/// How the output's token differs from a number of the answer; `texts` shows both tokens.
fn unlike_numbers(
    wanted: f64,
    given: Option<f64>,
    near: impl Fn(f64) -> bool,
    texts: impl Fn() -> (String, String),
) -> Option<DifferenceKind> {
    let Some(value) = given else {
        let (expected, found) = texts();
        return Some(DifferenceKind::NoNumber { expected, found });
    };
    if near(value) {
        return None;
    }
    let (expected, found) = texts();
    let absolute = (wanted - value).abs();
    let relative = (wanted != 0.0).then(|| absolute / wanted.abs());
    Some(DifferenceKind::Number { expected, found, absolute, relative })
}

/// A printable piece of a token around byte `from`.
fn excerpt(token: &[u8], from: usize, longer: bool) -> String {
    const BEFORE: usize = 12;
    const SHOWN: usize = 40;
    let start = if from > SHOWN / 2 { from - BEFORE } else { 0 };
    let end = token.len().min(start + SHOWN);
    let text: String = String::from_utf8_lossy(&token[start..end])
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < token.len() || longer { "…" } else { "" };
    format!("{before}{text}{after}")
}
