//! The plain comparison of services without validators: line by line, white space at their ends aside.

/// The first line, from 1, at which two texts differ; `None` where they are equal.
///
/// White space at the end of each line and of the whole text does not count, and neither do zero bytes there: Judge0's
/// rule (`strip` in app/jobs/isolate_job.rb, by Ruby's `rstrip`). Everything else does, white space at the beginning and within
/// lines, letter case and the form of numbers included. Lines end with a line feed.
pub fn first_different_line(expected: &[u8], output: &[u8]) -> Option<u64> {
    let (mut expected, mut output) = (lines(expected), lines(output));
    let mut line = 1;
    loop {
        match (expected.next(), output.next()) {
            (None, None) => return None,
            (one, other) if one != other => return Some(line),
            _ => line += 1,
        }
    }
}

/// The lines of a text up to the last that is not blank, without their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = strip_end(text);
    // A text that is empty has no line, where `split` sees an empty one.
    let count = if text.is_empty() { 0 } else { usize::MAX };
    text.split(|byte| *byte == b'\n').map(strip_end).take(count)
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
        for (expected, output, line) in [
            ("", "", None),
            ("", " \n\t\n", None),
            ("1 2\n3", "1 2 \r\n3\t\n\n \n", None),
            ("a\0\n\x0b\x0c", "a", None),
            ("1\n\n2", "1\n \n2\n", None),
            ("1 2", "1  2", Some(1)),
            ("1", " 1", Some(1)),
            ("1", "\n1", Some(1)),
            ("a\nb", "a\nB", Some(2)),
            ("1.0", "1", Some(1)),
            ("a\nb\nc", "a\nb", Some(3)),
            ("a", "a\n\nb", Some(2)),
            ("x", "", Some(1)),
            ("", "x", Some(1)),
            ("a\rb", "a\nb", Some(1)),
        ] {
            assert_eq!(
                first_different_line(expected.as_bytes(), output.as_bytes()),
                line,
                "{expected:?} {output:?}"
            );
            assert_eq!(
                first_different_line(output.as_bytes(), expected.as_bytes()),
                line,
                "{output:?} {expected:?}"
            );
        }
        assert_eq!(first_different_line(b"\xff\n", b"\xff"), None);
        assert_eq!(first_different_line(b"\xff", b"\xfe"), Some(1));
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
            let equal = first_different_line(one.as_bytes(), other.as_bytes()).is_none();
            prop_assert_eq!(equal, stripped(&one) == stripped(&other));
        }
    }
}
