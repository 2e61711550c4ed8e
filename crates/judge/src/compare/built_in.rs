//! Comparisons that other formats have built in, besides the default output validator of Kattis' formats.

use std::collections::BTreeMap;

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
    /// Why it is not, for the jury.
    pub message: String,
}

impl Compared {
    fn right() -> Compared {
        Compared { share: 1.0, message: String::new() }
    }

    fn wrong(message: impl Into<String>) -> Compared {
        Compared { share: 0.0, message: message.into() }
    }

    fn when(holds: bool, message: &str) -> Compared {
        if holds { Compared::right() } else { Compared::wrong(message) }
    }
}

impl BuiltIn {
    /// Compares an output with the answer. [`BuiltIn::Kattis`] compares by tokens here: its flags are for
    /// [`super::compare`].
    ///
    /// # Errors
    /// The comparison does not fit the answer, which is the package's fault.
    pub fn compare(&self, answer: &[u8], output: &[u8]) -> Result<Compared, String> {
        Ok(match self {
            BuiltIn::Kattis | BuiltIn::Lines => lines_of_tokens(answer, output),
            BuiltIn::WhiteDiff => white_diff(answer, output),
            BuiltIn::Characters => {
                Compared::when(characters(answer) == characters(output), "other characters")
            }
            BuiltIn::Floats { tolerance, error } => floats(answer, output, *tolerance, *error),
            BuiltIn::Identical => identical(answer, output),
            BuiltIn::LineCount => line_count(answer, output),
            BuiltIn::LineMatches { weights, same_count } => {
                line_matches(answer, output, weights, *same_count)?
            }
            BuiltIn::EndsStripped { without_empty } => ends_stripped(answer, output, *without_empty),
            BuiltIn::SortedLines => {
                let sorted = |text| {
                    let mut lines: Vec<Vec<&[u8]>> =
                        full_lines(text).map(|line| tokens(line).collect()).collect();
                    lines.sort();
                    lines
                };
                Compared::when(sorted(answer) == sorted(output), "other lines, in any order")
            }
            BuiltIn::SortedTokens => {
                let sorted = |text| {
                    let mut all: Vec<&[u8]> = tokens(text).collect();
                    all.sort();
                    all
                };
                Compared::when(sorted(answer) == sorted(output), "other tokens, in any order")
            }
        })
    }
}

/// White space of C's `isspace`.
fn white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| white(*byte)).filter(|token| !token.is_empty())
}

/// All lines, the empty one after the last end of line included.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Lines that hold anything.
fn full_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(text).filter(|line| !line.is_empty())
}

/// Each token, and whether a line ends before it.
fn lined_tokens(text: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    let full = lines(text).filter(|line| tokens(line).next().is_some());
    full.flat_map(|line| tokens(line).enumerate().map(|(n, token)| (n == 0, token)))
}

fn lines_of_tokens(answer: &[u8], output: &[u8]) -> Compared {
    first_difference(lined_tokens(answer), lined_tokens(output))
}

fn first_difference<'a>(
    mut expected: impl Iterator<Item = (bool, &'a [u8])>,
    mut found: impl Iterator<Item = (bool, &'a [u8])>,
) -> Compared {
    for n in 1.. {
        let why = match (expected.next(), found.next()) {
            (None, None) => break,
            (Some(expected), Some(found)) if expected == found => continue,
            (Some((_, expected)), Some((_, found))) if expected == found => {
                format!("token {n}, `{}`, is on another line", shown(found))
            }
            (Some((_, expected)), Some((_, found))) => {
                format!("token {n}: expected `{}`, found `{}`", shown(expected), shown(found))
            }
            (Some((_, expected)), None) => {
                format!("token {n}: expected `{}`, found the end of the output", shown(expected))
            }
            (None, Some((_, found))) => {
                format!("token {n}: expected the end of the output, found `{}`", shown(found))
            }
        };
        return Compared::wrong(why);
    }
    Compared::right()
}

fn shown(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(&token[..token.len().min(200)]);
    let clipped: String = text.chars().take(40).flat_map(char::escape_default).collect();
    if token.len() > 40 { format!("{clipped}…") } else { clipped }
}

/// Lines end at a line feed alone (cms/grading/steps/whitediff.py).
fn white_diff(answer: &[u8], output: &[u8]) -> Compared {
    let lists = |text| {
        let split = |text: &'_ [u8]| -> Vec<Vec<Vec<u8>>> {
            let line = |line: &[u8]| tokens(line).map(<[u8]>::to_vec).collect::<Vec<_>>();
            text.split(|byte| *byte == b'\n').map(line).collect()
        };
        let mut lines = split(text);
        while lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        lines
    };
    let (answer, output) = (lists(answer), lists(output));
    match answer.iter().zip(&output).position(|(expected, found)| expected != found) {
        Some(line) => Compared::wrong(format!("line {} differs", line + 1)),
        None => Compared::when(answer.len() == output.len(), "the number of lines differs"),
    }
}

fn characters(text: &[u8]) -> BTreeMap<u8, usize> {
    let mut counts = BTreeMap::new();
    for byte in text.iter().filter(|byte| !white(**byte)) {
        *counts.entry(byte.to_ascii_lowercase()).or_default() += 1;
    }
    counts
}

fn number(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

fn floats(answer: &[u8], output: &[u8], tolerance: f64, error: FloatError) -> Compared {
    let (expected, found): (Vec<_>, Vec<_>) = (full_lines(answer).collect(), full_lines(output).collect());
    if expected.len() != found.len() {
        return Compared::wrong(format!("expected {} lines, found {}", expected.len(), found.len()));
    }
    for (n, (expected, found)) in (1..).zip(expected.into_iter().zip(found)) {
        let (expected, found): (Vec<_>, Vec<_>) = (tokens(expected).collect(), tokens(found).collect());
        let differs = expected.len() != found.len()
            || expected.iter().zip(&found).any(|(expected, found)| match number(expected) {
                None => expected != found,
                Some(expected) => !number(found).is_some_and(|found| near(expected, found, tolerance, error)),
            });
        if differs {
            return Compared::wrong(format!("line {n} differs"));
        }
    }
    Compared::right()
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

fn identical(answer: &[u8], output: &[u8]) -> Compared {
    if answer == output {
        return Compared::right();
    }
    let only_space = lines_of_tokens(answer, output).share == 1.0;
    Compared::wrong(if only_space { "white space differs" } else { "the bytes differ" })
}

fn line_count(answer: &[u8], output: &[u8]) -> Compared {
    let (expected, found): (Vec<_>, Vec<_>) = (full_lines(answer).collect(), full_lines(output).collect());
    if found.len() > expected.len() {
        return Compared::wrong(format!("expected {} lines, found {}", expected.len(), found.len()));
    }
    if expected.is_empty() {
        return Compared::right();
    }
    let same =
        expected.iter().zip(&found).filter(|(one, other)| one.trim_ascii() == other.trim_ascii()).count();
    let message = format!("{same} of {} lines are right", expected.len());
    Compared { share: same as f64 / expected.len() as f64, message }
}

fn line_matches(answer: &[u8], output: &[u8], weights: &[f64], same_count: bool) -> Result<Compared, String> {
    let (expected, found): (Vec<_>, Vec<_>) = (full_lines(answer).collect(), full_lines(output).collect());
    if expected.len() != weights.len() {
        return Err(format!(
            "the answer has {} lines, but point_distribution {}",
            expected.len(),
            weights.len()
        ));
    }
    if same_count && found.len() != expected.len() {
        return Ok(Compared::wrong(format!("expected {} lines, found {}", expected.len(), found.len())));
    }
    let right = expected.iter().zip(&found).zip(weights).filter(|((one, other), _)| one == other);
    let (total, earned) = (weights.iter().sum::<f64>(), right.map(|(_, weight)| weight).sum::<f64>());
    if total <= 0.0 {
        return Err("the sum of point_distribution must be above 0".to_string());
    }
    Ok(Compared { share: earned / total, message: format!("{earned} of {total}") })
}

fn ends_stripped(answer: &[u8], output: &[u8], without_empty: bool) -> Compared {
    let stripped = |text| -> Vec<&[u8]> {
        let all = lines(text).filter(|line| !without_empty || !line.is_empty());
        all.map(<[u8]>::trim_ascii_end).collect()
    };
    let (expected, found) = (stripped(answer), stripped(output));
    match expected.iter().zip(&found).position(|(expected, found)| expected != found) {
        Some(line) => Compared::wrong(format!("line {} differs", line + 1)),
        None => Compared::when(expected.len() == found.len(), "the number of lines differs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
