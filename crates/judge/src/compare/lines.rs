//! The plain comparison of services without validators: line by line, white space at their ends aside.

use super::Difference;
use super::items::{self, Texts, of_lines, unlike};

/// The first difference of two texts, compared line by line; `None` where they are equal.
///
/// White space at the end of each line and of the whole text does not count, and neither do zero bytes there: Judge0's
/// rule (`strip` in app/jobs/isolate_job.rb, by Ruby's `rstrip`). Everything else does, white space at the beginning and within
/// lines, letter case and the form of numbers included. Lines end with a line feed.
pub fn compare_lines(answer: &[u8], output: &[u8]) -> Option<Difference> {
    Texts { answer, output }.in_order(of_lines(lines(answer)), of_lines(lines(output)), unlike)
}

/// The lines of a text up to the last that is not blank, without their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let text = strip_end(text);
    // A text that is empty has no line, where `split` sees an empty one.
    let count = if text.is_empty() { 0 } else { usize::MAX };
    items::lines(text, |byte| byte == b'\n').map(|(at, line)| (at, strip_end(line))).take(count)
}

fn strip_end(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | 0);
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn white_space_at_ends_does_not_count() {
        for (expected, output, at) in [
            ("", "", None),
            ("", " \n\t\n", None),
            ("1 2\n3", "1 2 \r\n3\t\n\n \n", None),
            ("a\0\n\x0b\x0c", "a", None),
            ("1\n\n2", "1\n \n2\n", None),
            ("1 2", "1  2", Some((1, 3))),
            ("1", " 1", Some((1, 1))),
            ("1", "\n1", Some((1, 1))),
            ("a\nb", "a\nB", Some((2, 1))),
            ("1.0", "1", Some((1, 2))),
            ("a\nb\nc", "a\nb", Some((2, 2))),
            ("a", "a\n\nb", Some((3, 1))),
            ("x", "", Some((1, 1))),
            ("", "x", Some((1, 1))),
            ("a\rb", "a\nb", Some((1, 2))),
        ] {
            let (expected, output) = (expected.as_bytes(), output.as_bytes());
            let place = compare_lines(expected, output).map(|found| (found.output_line, found.output_column));
            assert_eq!(place, at, "{expected:?} {output:?}");
            assert_eq!(compare_lines(output, expected).is_none(), at.is_none(), "{output:?} {expected:?}");
        }
        assert_eq!(compare_lines(b"\xff\n", b"\xff"), None);
        assert!(compare_lines(b"\xff", b"\xfe").is_some());
    }

    /// The rule as it is said: both sides stripped, then compared.
    fn stripped(text: &str) -> String {
        let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b' || c == '\0';
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches(blank)).collect();
        lines.join("\n").trim_end_matches(blank).to_owned()
    }

    proptest! {
        #[test]
        fn it_is_what_stripping_both_sides_gives(one in "[ab \\n\\r\0]{0,12}", other in "[ab \\n\\r\0]{0,12}") {
            let equal = compare_lines(one.as_bytes(), other.as_bytes()).is_none();
            prop_assert_eq!(equal, stripped(&one) == stripped(&other));
        }
    }
}
