//! Comparisons that other formats have built in, besides the default output validator of Kattis' formats.

use super::items::{self, Texts, character_at, of_lines, of_tokens, token_from, tokens, unlike};
use super::number::is_space;
use super::{Difference, DifferenceKind, excerpt, unlike_numbers};

/// How an output is compared with the answer where the package brings no program for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BuiltIn {
    /// By the default output validator, whose flags the test case has.
    #[default]
    Kattis,
    /// Tokens; between two of them there is a line's end in both or in neither (DMOJ `standard`).
    Lines,
    /// Lines of tokens, with empty lines in the middle; blank ones at the end do not count (CMS "white diff").
    WhiteDiff,
    /// The multiset of characters without white space, letters in either case (DMOJ `easy`).
    Characters,
    /// Lines of tokens; where the answer has a number, so has the output, nearly the same (DMOJ `floats`).
    Floats {
        /// 10 to the power of minus the precision.
        tolerance: f64,
        /// Which error counts.
        error: FloatError,
    },
    /// Byte by byte (DMOJ `identical`).
    Identical,
    /// The share of lines that are alike, white space at both ends left out (DMOJ `linecount`).
    LineCount,
    /// The share of lines that are the same, each with its weight (DMOJ `linematches`).
    LineMatches {
        /// Weight of each line of the answer.
        weights: Vec<f64>,
        /// There must be as many lines as in the answer.
        same_count: bool,
    },
    /// Lines without white space at their ends (DMOJ `rstripped`).
    EndsStripped {
        /// Empty lines do not count.
        without_empty: bool,
    },
    /// The multiset of lines, each a list of tokens (DMOJ `sorted`).
    SortedLines,
    /// The multiset of tokens (DMOJ `sorted` by white space, `unordered`).
    SortedTokens,
}

/// Which error of a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatError {
    /// The smaller of both.
    Either,
    /// The difference.
    Absolute,
    /// The difference over the answer.
    Relative,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Share of the points, 0 to 1. 1: it is right.
    pub share: f64,
    /// Why it is not, for the jury, with line and column of the first difference.
    pub message: String,
}

impl Compared {
    fn by(difference: Option<Difference>) -> Compared {
        Compared {
            share: if difference.is_none() { 1.0 } else { 0.0 },
            message: difference.map(|difference| difference.to_string()).unwrap_or_default(),
        }
    }

    /// With the first difference after what is said.
    fn partly(share: f64, said: String, difference: Option<Difference>) -> Compared {
        let message = match difference {
            None => said,
            Some(difference) => format!("{said}; {difference}"),
        };
        Compared { share, message }
    }
}

impl BuiltIn {
    /// Compares an output with the answer. [`BuiltIn::Kattis`] compares by tokens here: its flags are for
    /// [`super::compare`].
    ///
    /// # Errors
    /// The comparison does not fit the answer, which is the package's fault.
    pub fn compare(&self, answer: &[u8], output: &[u8]) -> Result<Compared, String> {
        let texts = Texts { answer, output };
        Ok(Compared::by(match self {
            BuiltIn::Kattis | BuiltIn::Lines => {
                texts.in_order(of_tokens(told_lines(answer)), of_tokens(told_lines(output)), unlike)
            }
            BuiltIn::WhiteDiff => {
                texts.in_order(of_tokens(white_lines(answer)), of_tokens(white_lines(output)), unlike)
            }
            BuiltIn::Characters => texts.in_any_order(characters(answer), characters(output), character_at),
            BuiltIn::Floats { tolerance, error } => {
                let differ = |one: &[u8], other: &[u8]| unlike_floats(one, other, *tolerance, *error);
                texts.in_order(of_tokens(full_lines(answer)), of_tokens(full_lines(output)), differ)
            }
            BuiltIn::Identical => texts.of_bytes(),
            BuiltIn::LineCount => return Ok(line_count(texts)),
            BuiltIn::LineMatches { weights, same_count } => return line_matches(texts, weights, *same_count),
            BuiltIn::EndsStripped { without_empty } => {
                let of = |text| of_lines(stripped(text, *without_empty));
                texts.in_order(of(answer), of(output), unlike)
            }
            BuiltIn::SortedLines => texts.in_any_order(lists(answer), lists(output), |text, at| {
                lines(&text[at..]).next().map_or(&[], |(_, line)| line.trim_ascii_end())
            }),
            BuiltIn::SortedTokens => texts.in_any_order(tokens(answer), tokens(output), token_from),
        }))
    }
}

/// All lines, the empty one after the last end of line included.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    items::lines(text, |byte| matches!(byte, b'\n' | b'\r'))
}

/// Lines that hold anything.
fn full_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    lines(text).filter(|(_, line)| !line.is_empty())
}

/// Lines that hold a token.
fn told_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    lines(text).filter(|(_, line)| tokens(line).next().is_some())
}

/// Lines up to the last that holds a token; they end at a line feed alone (cms/grading/steps/whitediff.py).
fn white_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1);
    items::lines(&text[..end], |byte| byte == b'\n')
}

/// Characters that are no white space, in lower case.
fn characters(text: &[u8]) -> impl Iterator<Item = (usize, u8)> + Clone {
    let all = text.iter().enumerate().filter(|(_, byte)| !is_space(**byte));
    all.map(|(at, byte)| (at, byte.to_ascii_lowercase()))
}

/// Lines as lists of tokens; each is where its first token is.
fn lists(text: &[u8]) -> impl Iterator<Item = (usize, Vec<&[u8]>)> + Clone {
    full_lines(text).map(|(at, line)| {
        let first = tokens(line).next().map_or(0, |(first, _)| first);
        (at + first, tokens(line).map(|(_, token)| token).collect())
    })
}

/// Lines without white space at their ends.
fn stripped(text: &[u8], without_empty: bool) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let kept = lines(text).filter(move |(_, line)| !without_empty || !line.is_empty());
    kept.map(|(at, line)| (at, line.trim_ascii_end()))
}

fn number(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// As [`unlike`], with numbers by their values.
fn unlike_floats(
    expected: &[u8],
    found: &[u8],
    tolerance: f64,
    error: FloatError,
) -> Option<(usize, DifferenceKind)> {
    let Some(wanted) = number(expected) else { return unlike(expected, found) };
    let texts = || (excerpt(expected, 0, false), excerpt(found, 0, false));
    let near = |value| near(wanted, value, tolerance, error);
    unlike_numbers(wanted, number(found), near, texts).map(|kind| (0, kind))
}

/// Whether the error is small. NaN never is.
fn near(expected: f64, found: f64, tolerance: f64, error: FloatError) -> bool {
    match error {
        FloatError::Absolute => (found - expected).abs() <= tolerance,
        FloatError::Relative => {
            let (one, other) = (expected * (1.0 - tolerance), expected * (1.0 + tolerance));
            (one.min(other)..=one.max(other)).contains(&found)
        }
        FloatError::Either => {
            (found - expected).abs() <= tolerance
                || (expected.abs() >= tolerance && (1.0 - found / expected).abs() <= tolerance)
        }
    }
}

/// How many lines there are, where that is what is wrong.
fn other_count(expected: usize, found: usize, difference: Option<Difference>) -> Compared {
    Compared::partly(0.0, format!("expected {expected} lines, found {found}"), difference)
}

fn line_count(texts: Texts) -> Compared {
    let (expected, found) = (trimmed(texts.answer), trimmed(texts.output));
    let difference = texts.in_order(of_lines(expected.clone()), of_lines(found.clone()), unlike);
    let (all, given) = (expected.clone().count(), found.clone().count());
    if given > all {
        return other_count(all, given, difference);
    }
    if all == 0 {
        return Compared::by(None);
    }
    let same = expected.zip(found).filter(|((_, one), (_, other))| one == other).count();
    Compared::partly(same as f64 / all as f64, format!("{same} of {all} lines are right"), difference)
}

/// Lines that hold anything, without white space at both ends.
fn trimmed(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    full_lines(text).map(|(at, line)| (at + line.len() - line.trim_ascii_start().len(), line.trim_ascii()))
}

fn line_matches(texts: Texts, weights: &[f64], same_count: bool) -> Result<Compared, String> {
    let (expected, found) = (full_lines(texts.answer), full_lines(texts.output));
    let (all, given) = (expected.clone().count(), found.clone().count());
    if all != weights.len() {
        return Err(format!("the answer has {all} lines, but point_distribution {}", weights.len()));
    }
    let difference = texts.in_order(of_lines(expected.clone()), of_lines(found.clone()), unlike);
    if same_count && given != all {
        return Ok(other_count(all, given, difference));
    }
    let right = expected.zip(found).zip(weights).filter(|(((_, one), (_, other)), _)| one == other);
    let (total, earned) = (weights.iter().sum::<f64>(), right.map(|(_, weight)| weight).sum::<f64>());
    if total <= 0.0 {
        return Err("the sum of point_distribution must be above 0".to_string());
    }
    Ok(Compared::partly(earned / total, format!("{earned} of {total}"), difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_comparison_by_its_rule() {
        let floats = |error| BuiltIn::Floats { tolerance: 0.01, error };
        let (either, absolute, relative) =
            (floats(FloatError::Either), floats(FloatError::Absolute), floats(FloatError::Relative));
        let matches = BuiltIn::LineMatches { weights: vec![1.0, 3.0], same_count: false };
        let strict = BuiltIn::LineMatches { weights: vec![1.0, 3.0], same_count: true };
        let stripped = BuiltIn::EndsStripped { without_empty: false };
        for (comparison, answer, output, share) in [
            (&BuiltIn::Lines, "1 2\n3\n", " 1  2 \n\n3", 1.0),
            (&BuiltIn::Lines, "1 2\n3\n", "1\n2\n3\n", 0.0),
            (&BuiltIn::Lines, "a", "A", 0.0),
            (&BuiltIn::Lines, "a", "a b", 0.0),
            (&BuiltIn::Lines, "", "\n", 1.0),
            (&BuiltIn::WhiteDiff, "1\n2\n", "1 \n2\n\n\n", 1.0),
            (&BuiltIn::WhiteDiff, "1\n2\n", "1\n\n2\n", 0.0),
            (&BuiltIn::Characters, "Ab c", "cba", 1.0),
            (&BuiltIn::Characters, "ab", "abb", 0.0),
            (&either, "100 x\n", "100.5 x\n", 1.0),
            (&either, "100 x\n", "100.5 y\n", 0.0),
            (&either, "100\n", "102\n", 0.0),
            (&either, "nan\n", "nan\n", 0.0),
            (&absolute, "100\n", "100.5\n", 0.0),
            (&absolute, "1\n", "1.005\n", 1.0),
            (&relative, "0.001\n", "0.005\n", 0.0),
            (&relative, "-100\n", "-100.5\n", 1.0),
            (&BuiltIn::Identical, "a\n", "a\n", 1.0),
            (&BuiltIn::Identical, "a\n", "a", 0.0),
            (&BuiltIn::LineCount, "a\nb\nc\nd\n", "a\nx\nc\n", 0.5),
            (&BuiltIn::LineCount, "a\n", "a\nb\n", 0.0),
            (&BuiltIn::LineCount, "", "", 1.0),
            (&matches, "a\nb\n", "x\nb\nc\n", 0.75),
            (&strict, "a\nb\n", "x\nb\nc\n", 0.0),
            (&stripped, "a \nb", "a\nb\t", 1.0),
            (&stripped, "a\nb", "a\n b", 0.0),
            (&stripped, "a\n", "a\n\n", 0.0),
            (&BuiltIn::SortedLines, "a  b\nc\n", "c\na b\n", 1.0),
            (&BuiltIn::SortedLines, "a b\nc\n", "c a\nb\n", 0.0),
            (&BuiltIn::SortedTokens, "a b\nc\n", "c a\nb\n", 1.0),
        ] {
            let compared = comparison.compare(answer.as_bytes(), output.as_bytes()).unwrap();
            assert_eq!(compared.share, share, "{comparison:?} {answer:?} {output:?} {}", compared.message);
        }
        assert!(matches.compare(b"a\n", b"a\n").is_err());
    }

    #[test]
    fn each_comparison_tells_where_the_output_differs() {
        let floats = BuiltIn::Floats { tolerance: 0.01, error: FloatError::Either };
        let matches = BuiltIn::LineMatches { weights: vec![1.0, 3.0], same_count: true };
        let ends = BuiltIn::EndsStripped { without_empty: false };
        let full = BuiltIn::EndsStripped { without_empty: true };
        for (comparison, answer, output, message) in [
            (&BuiltIn::Lines, "1 23\n", "1 24\n", "1:4 (1): expected `23`, found `24`"),
            (&BuiltIn::Lines, "1 2\n3\n", "1\n2\n3\n", "1:2 (1): expected `2`, found the end of the line"),
            (&BuiltIn::Lines, "1\n2\n", "1 2\n", "1:3 (1): expected the end of the line, found `2`"),
            (&BuiltIn::Lines, "1\n2\n", "1\n", "2:1 (2): expected `2`, found the end of the output"),
            (&BuiltIn::Lines, "1 2\n", "1\n", "2:1 (1): expected `2`, found the end of the output"),
            (&BuiltIn::Lines, "1\n", " \n", "2:1 (1): expected `1`, but the output is empty"),
            (&BuiltIn::Lines, "1\n", "1\n\n  é", "3:3 (2): expected the end of the output, found `é`"),
            (&BuiltIn::Lines, "é è", "é ê", "1:3 (1): expected `è`, found `ê`"),
            (&BuiltIn::WhiteDiff, "1\n2\n", "1\n\n2\n", "2:1 (2): expected `2`, found the end of the line"),
            (&BuiltIn::WhiteDiff, "1 2\n\n", "1 3\n", "1:3 (1): expected `2`, found `3`"),
            (&BuiltIn::WhiteDiff, "1\n", "1\n2\n", "2:1 (2): expected the end of the output, found `2`"),
            (&BuiltIn::WhiteDiff, "1\n", "1\n\n2", "3:1 (2): expected the end of the output, found `2`"),
            (&BuiltIn::WhiteDiff, "1\n\n2", "1\n", "2:1 (3): expected `2`, found the end of the output"),
            (&BuiltIn::WhiteDiff, "", "2", "1:1 (1): expected the end of the output, found `2`"),
            (&BuiltIn::Characters, "ab", "a\nBB", "2:2: the answer has no further `B`"),
            (&BuiltIn::Characters, "é", "è", "1:1: the answer has no further `è`"),
            (&BuiltIn::Characters, "a\nbc", "CA", "1:3 (2): expected `b`, found the end of the output"),
            (&floats, "1 x\n", "1 y\n", "1:3 (1): expected `x`, found `y`"),
            (
                &floats,
                "1\n2 4\n",
                "1\n2 5\n",
                "2:3 (2): expected `4`, found `5`: absolute error 1e0, relative error 2.5e-1",
            ),
            (&floats, "1\n", "x\n", "1:1 (1): expected the number `1`, found `x`"),
            (&floats, "1 2\n3\n", "1\n3\n", "1:2 (1): expected `2`, found the end of the line"),
            (&floats, "1\n", "1\n1\n", "2:1 (2): expected the end of the output, found `1`"),
            (&BuiltIn::Identical, "a b\n", "a c\n", "1:3 (1): expected `b`, found `c`"),
            (&BuiltIn::Identical, "ab", "a", "1:2 (1): expected `ab`, found `a`"),
            (&BuiltIn::Identical, "a", "", "1:1 (1): expected `a`, but the output is empty"),
            (&BuiltIn::Identical, "a ", "a b", "1:3 (1): expected the end of the output, found `b`"),
            (
                &BuiltIn::Identical,
                "a\n",
                "a",
                "1:2 (1): white space differs: expected the end of the line, found the end",
            ),
            (
                &BuiltIn::LineCount,
                "a\nb\nc\n",
                "a\n xb\nc",
                "2 of 3 lines are right; 2:2 (2): expected `b`, found `xb`",
            ),
            (
                &BuiltIn::LineCount,
                "a\n",
                "a\nb\n",
                "expected 1 lines, found 2; 2:1 (2): expected the end of the output, found `b`",
            ),
            (&matches, "a\nb\n", "x\nb\n", "3 of 4; 1:1 (1): expected `a`, found `x`"),
            (
                &matches,
                "a\nb\n",
                "a\n",
                "expected 2 lines, found 1; 2:1 (2): expected `b`, found the end of the output",
            ),
            (&ends, "a\nb", "a\n b", "2:1 (2): expected `b`, found ` b`"),
            (&ends, "a\n", "a\n\n", "3:1 (2): expected the end of the output, found the end of the line"),
            (&ends, "a\n\n", "a\n", "2:1 (3): expected the end of the line, found the end of the output"),
            (&full, "a\n\nb", "a\nc", "2:1 (3): expected `b`, found `c`"),
            (&BuiltIn::SortedLines, "a b\nc\n", "c\n  a c \n", "2:3: the answer has no further `a c`"),
            (
                &BuiltIn::SortedLines,
                "a b\nc\n",
                "c\n",
                "2:1 (1): expected `a b`, found the end of the output",
            ),
            (&BuiltIn::SortedTokens, "a b c\n", "c b\nb\n", "2:1: the answer has no further `b`"),
            (&BuiltIn::SortedTokens, "a\nb\n", "", "1:1 (1): expected `a`, but the output is empty"),
        ] {
            let compared = comparison.compare(answer.as_bytes(), output.as_bytes()).unwrap();
            // `line 2, column 3 of the output (line 1 of the answer)` is short for a table as `2:3 (1)`.
            let (place, said) = compared.message.split_once(": ").unwrap();
            let place = place.replace("line ", "").replace(", column ", ":");
            let place = place.replace(" of the output", "").replace(" of the answer", "");
            let found = format!("{place}: {said}");
            assert_eq!(found, message, "{comparison:?} {answer:?} {output:?}");
        }
    }

    /// What a comparison said before there was a place in it: the multisets and lists themselves.
    fn equal(comparison: &BuiltIn, answer: &[u8], output: &[u8]) -> bool {
        let split = |text: &[u8], end: fn(&u8) -> bool| -> Vec<Vec<u8>> {
            text.split(end).map(<[u8]>::to_vec).collect()
        };
        let words = |line: &Vec<u8>| -> Vec<Vec<u8>> {
            split(line, |byte| is_space(*byte)).into_iter().filter(|token| !token.is_empty()).collect()
        };
        let list = |text: &[u8]| -> Vec<Vec<Vec<u8>>> {
            let ends: fn(&u8) -> bool = match comparison {
                BuiltIn::WhiteDiff => |byte| *byte == b'\n',
                _ => |byte| matches!(byte, b'\n' | b'\r'),
            };
            let mut lines = split(text, ends);
            if *comparison == BuiltIn::SortedLines {
                lines.retain(|line| !line.is_empty());
            }
            let mut lists: Vec<_> = match comparison {
                BuiltIn::EndsStripped { without_empty } => {
                    let kept = lines.iter().filter(|line| !without_empty || !line.is_empty());
                    kept.map(|line| vec![line.trim_ascii_end().to_vec()]).collect()
                }
                BuiltIn::SortedTokens => vec![words(&text.to_vec())],
                _ => lines.iter().map(words).collect(),
            };
            match comparison {
                BuiltIn::Lines => lists.retain(|line| !line.is_empty()),
                BuiltIn::WhiteDiff => {
                    while lists.last().is_some_and(Vec::is_empty) {
                        lists.pop();
                    }
                }
                BuiltIn::SortedLines => lists.sort(),
                BuiltIn::SortedTokens => lists[0].sort(),
                _ => {}
            }
            lists
        };
        list(answer) == list(output)
    }

    proptest! {
        #[test]
        fn there_is_a_place_where_and_only_where_the_texts_differ(answer in "[ab \\n\r]{0,9}", output in "[ab \\n\r]{0,9}") {
            for comparison in [
                BuiltIn::Lines,
                BuiltIn::WhiteDiff,
                BuiltIn::EndsStripped { without_empty: false },
                BuiltIn::EndsStripped { without_empty: true },
                BuiltIn::SortedLines,
                BuiltIn::SortedTokens,
            ] {
                let (answer, output) = (answer.as_bytes(), output.as_bytes());
                let compared = comparison.compare(answer, output).unwrap();
                prop_assert_eq!(compared.share == 1.0, equal(&comparison, answer, output), "{:?}", comparison);
                prop_assert_eq!(compared.share == 1.0, compared.message.is_empty());
            }
            let same = BuiltIn::Identical.compare(answer.as_bytes(), output.as_bytes()).unwrap();
            prop_assert_eq!(same.share == 1.0, answer == output);
        }
    }
}
