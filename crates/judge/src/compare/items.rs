//! The first difference of two texts that are held in memory: of tokens and line ends in order, of things in any order, of bytes.

use super::number::is_space;
use super::source::{continues, position};
use super::{Difference, DifferenceKind, excerpt};
use std::collections::BTreeMap;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// Where it begins, in bytes.
    pub(super) at: usize,
    /// `None`: a line ends here.
    pub(super) token: Option<&'a [u8]>,
}

/// Each line with the place where it begins; `end` tells the bytes that end lines.
pub(super) fn lines(text: &[u8], end: fn(u8) -> bool) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    text.split(move |byte| end(*byte)).scan(0, |next, line| {
        let at = *next;
        *next += line.len() + 1;
        Some((at, line))
    })
}

/// Each token with the place where it begins.
pub(super) fn tokens(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    lines(text, is_space).filter(|(_, token)| !token.is_empty())
}

/// The tokens of lines, and the end of each line.
pub(super) fn of_tokens<'a>(
    lines: impl Iterator<Item = (usize, &'a [u8])> + Clone,
) -> impl Iterator<Item = Item<'a>> + Clone {
    lines.flat_map(|(start, line)| {
        let inside = tokens(line).map(move |(at, token)| Item { at: start + at, token: Some(token) });
        inside.chain([Item { at: start + line.len(), token: None }])
    })
}

/// Lines, each of which is one token unless it is empty, and their ends.
pub(super) fn of_lines<'a>(
    lines: impl Iterator<Item = (usize, &'a [u8])> + Clone,
) -> impl Iterator<Item = Item<'a>> + Clone {
    lines.flat_map(|(at, line)| {
        let whole = (!line.is_empty()).then_some(Item { at, token: Some(line) });
        whole.into_iter().chain([Item { at: at + line.len(), token: None }])
    })
}

/// Where two tokens differ, in bytes of the output's, and how. `None`: they are equal.
pub(super) fn unlike(expected: &[u8], found: &[u8]) -> Option<(usize, DifferenceKind)> {
    let differs = expected.iter().zip(found).position(|(a, b)| a != b);
    if differs.is_none() && expected.len() == found.len() {
        return None;
    }
    let from = differs.unwrap_or(expected.len().min(found.len()));
    let [expected, found] = [expected, found].map(|token| excerpt(token, from, false));
    Some((from, DifferenceKind::Token { expected, found, at: None }))
}

/// The answer and the output.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) answer: &'a [u8],
    pub(super) output: &'a [u8],
}

impl Texts<'_> {
    fn difference(self, mut output: usize, answer: Option<usize>, kind: DifferenceKind) -> Difference {
        // Characters may differ in a byte that continues them.
        while output > 0 && self.output.get(output).is_some_and(|byte| continues(*byte)) {
            output -= 1;
        }
        let (output_line, output_column) = position(self.output, output);
        let answer_line = answer.map(|at| position(self.answer, at).0);
        Difference { output_line, output_column, answer_line, kind }
    }

    /// The first difference of pieces that must be the same in order; `differ` compares two tokens as [`unlike`] does.
    pub(super) fn in_order<'a>(
        self,
        mut expected: impl Iterator<Item = Item<'a>> + Clone,
        mut found: impl Iterator<Item = Item<'a>> + Clone,
        differ: impl Fn(&[u8], &[u8]) -> Option<(usize, DifferenceKind)>,
    ) -> Option<Difference> {
        const LINE: &str = "the end of the line";
        const OUTPUT: &str = "the end of the output";
        let ends = |expected: &str, found: &str| DifferenceKind::LineEnd {
            expected: expected.to_string(),
            found: found.to_string(),
        };
        let quoted = |token: &[u8]| format!("`{}`", excerpt(token, 0, false));
        let mut empty = true;
        loop {
            let (wanted, given) = (expected.next(), found.next());
            let has_token = |item: Option<Item>| item.is_some_and(|item| item.token.is_some());
            let (wanted, given) = match (wanted, given) {
                // After the last line there is the end of the text.
                (Some(_), Some(_)) if has_token(wanted) && !has_token(given) => {
                    (wanted, given.filter(|_| found.clone().next().is_some()))
                }
                (Some(_), Some(_)) if has_token(given) && !has_token(wanted) => {
                    (wanted.filter(|_| expected.clone().next().is_some()), given)
                }
                (Some(_), None) => (token_from_here(wanted, &expected), None),
                (None, Some(_)) => (None, token_from_here(given, &found)),
                both => both,
            };
            let output = given.map_or(self.output.len(), |item| item.at);
            let answer = wanted.map_or(self.answer.len(), |item| item.at);
            let token = |item: Option<Item<'a>>| item.map(|item| item.token);
            let (inside, kind) = match (token(wanted), token(given)) {
                (None, None) => return None,
                (Some(None), Some(None)) => continue,
                (Some(Some(one)), Some(Some(other))) => match differ(one, other) {
                    Some(difference) => difference,
                    None => {
                        empty = false;
                        continue;
                    }
                },
                (Some(Some(one)), None) => {
                    (0, DifferenceKind::Missing { expected: excerpt(one, 0, false), empty })
                }
                (None, Some(Some(other))) => {
                    (0, DifferenceKind::Trailing { found: excerpt(other, 0, false) })
                }
                (Some(Some(one)), Some(None)) => (0, ends(&quoted(one), LINE)),
                (Some(None), Some(Some(other))) => (0, ends(LINE, &quoted(other))),
                (Some(None), None) => (0, ends(LINE, OUTPUT)),
                (None, Some(None)) => (0, ends(OUTPUT, LINE)),
            };
            return Some(self.difference(output + inside, Some(answer), kind));
        }
    }

    /// The first difference of things that must be the same in any order: what the output has and the answer has not as often, or
    /// else what the output lacks. `shown` gives the bytes of a thing that begins at a place in a text.
    pub(super) fn in_any_order<K: Ord>(
        self,
        expected: impl Iterator<Item = (usize, K)> + Clone,
        found: impl Iterator<Item = (usize, K)> + Clone,
        shown: fn(&[u8], usize) -> &[u8],
    ) -> Option<Difference> {
        let (output, empty) = (self.output.len(), found.clone().next().is_none());
        if let Some(at) = unmatched(expected.clone(), found.clone()) {
            let kind = DifferenceKind::Surplus { found: excerpt(shown(self.output, at), 0, false) };
            return Some(self.difference(at, None, kind));
        }
        let at = unmatched(found, expected)?;
        let kind = DifferenceKind::Missing { expected: excerpt(shown(self.answer, at), 0, false), empty };
        Some(self.difference(output, Some(at), kind))
    }

    /// The first difference of two texts that must be the same byte for byte.
    pub(super) fn of_bytes(self) -> Option<Difference> {
        let Texts { answer, output } = self;
        let differs = answer.iter().zip(output).position(|(a, b)| a != b);
        if differs.is_none() && answer.len() == output.len() {
            return None;
        }
        let at = differs.unwrap_or(answer.len().min(output.len()));
        let start = at - answer[..at].iter().rev().take_while(|byte| !is_space(**byte)).count();
        let [expected, found] = [answer, output].map(|text| token_from(text, start));
        let kind = match (expected, found) {
            ([_, ..], [_, ..]) if expected != found => unlike(expected, found)?.1,
            ([_, ..], []) if at == output.len() => {
                let empty = output.iter().all(|byte| is_space(*byte));
                DifferenceKind::Missing { expected: excerpt(expected, 0, false), empty }
            }
            ([], [_, ..]) if at == answer.len() => {
                DifferenceKind::Trailing { found: excerpt(found, 0, false) }
            }
            _ => {
                let byte = |text: &[u8]| text.get(at).copied();
                DifferenceKind::Space { expected: byte(answer), found: byte(output) }
            }
        };
        Some(self.difference(at, Some(at), kind))
    }
}

/// The first token of an item and what comes after it, which says more than lines without one; the item, where there is none.
fn token_from_here<'a>(
    item: Option<Item<'a>>,
    rest: &(impl Iterator<Item = Item<'a>> + Clone),
) -> Option<Item<'a>> {
    let has_token = |item: &Item| item.token.is_some();
    item.filter(has_token).or_else(|| rest.clone().find(has_token)).or(item)
}

/// The first thing of `these` that `those` have not as often.
fn unmatched<K: Ord>(
    those: impl Iterator<Item = (usize, K)>,
    mut these: impl Iterator<Item = (usize, K)>,
) -> Option<usize> {
    let mut left: BTreeMap<K, usize> = BTreeMap::new();
    those.for_each(|(_, key)| *left.entry(key).or_default() += 1);
    these.find_map(|(at, key)| match left.get_mut(&key) {
        Some(left @ 1..) => {
            *left -= 1;
            None
        }
        _ => Some(at),
    })
}

/// The token of a text from here on.
pub(super) fn token_from(text: &[u8], at: usize) -> &[u8] {
    text[at..].split(|byte| is_space(*byte)).next().unwrap_or_default()
}

/// The character of a text that has a byte here.
pub(super) fn character_at(text: &[u8], at: usize) -> &[u8] {
    let start = (0..=at).rev().find(|at| !continues(text[*at])).unwrap_or(at);
    let end = (at + 1..text.len()).find(|at| !continues(text[*at])).unwrap_or(text.len());
    &text[start..end]
}
