use super::*;
use crate::package::Format;
use proptest::prelude::*;
use std::io::BufReader;

fn options(flags: &str) -> CompareOptions {
    let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
    CompareOptions::parse(&flags, Format::Legacy).unwrap()
}

fn difference(flags: &str, answer: &[u8], output: &[u8]) -> Option<Difference> {
    // Tiny unequal buffers, so that everything crosses a border.
    let reader = |size, bytes| BufReader::with_capacity(size, bytes);
    let small = compare(reader(3, answer), reader(5, output), &options(flags)).unwrap();
    let whole = compare(answer, output, &options(flags)).unwrap();
    assert_eq!(
        small,
        whole,
        "buffers change the result of {:?} {:?}",
        answer.escape_ascii(),
        output.escape_ascii()
    );
    whole
}

#[track_caller]
fn equal(flags: &str, answer: &str, output: &str) {
    assert_eq!(difference(flags, answer.as_bytes(), output.as_bytes()), None);
}

#[track_caller]
fn differs(flags: &str, answer: &str, output: &str, expected: &str) {
    let found = difference(flags, answer.as_bytes(), output.as_bytes()).expect("they are equal");
    assert_eq!(found.to_string(), expected);
}

#[test]
fn tokens_are_compared_whatever_the_space_between_them() {
    equal("", "", "");
    equal("", "", " \n\t\x0b\x0c\r");
    equal("", "a b\nc\n", "  A\r\nB\x0bC");
    equal("case_sensitive", "Yes no", "Yes\nno\n");
    differs(
        "",
        "a b",
        "ab",
        "line 1, column 2 of the output (line 1 of the answer): expected `a`, found `ab`",
    );
    differs(
        "case_sensitive",
        "Yes",
        "yes",
        "line 1, column 1 of the output (line 1 of the answer): expected `Yes`, found `yes`",
    );
    differs("", "é", "É", "line 1, column 1 of the output (line 1 of the answer): expected `é`, found `É`");
    differs(
        "",
        "1\n2\n3 4",
        "1 2\n3 5",
        "line 2, column 3 of the output (line 3 of the answer): expected `4`, found `5`",
    );
    differs(
        "",
        "1.0",
        "1.00",
        "line 1, column 4 of the output (line 1 of the answer): expected `1.0`, found `1.00`",
    );
}

#[test]
fn ends_are_told_apart() {
    differs(
        "",
        "x y",
        "x\n",
        "line 2, column 1 of the output (line 1 of the answer): expected `y`, found the end of the output",
    );
    differs(
        "",
        "x",
        " \n",
        "line 2, column 1 of the output (line 1 of the answer): expected `x`, but the output is empty",
    );
    differs(
        "",
        "x",
        "x\ny z",
        "line 2, column 1 of the output (line 1 of the answer): expected the end of the output, found `y`",
    );
}

#[test]
fn tolerance_holds_for_every_number_of_the_answer() {
    equal("float_tolerance 1e-6", "0.0314 x 5", "3.14000000e-2 X 5.000001");
    equal("float_absolute_tolerance 0.5", "10", "1.05e1");
    equal("float_relative_tolerance 0.1", "100", "90");
    equal("float_relative_tolerance 0.1 float_absolute_tolerance 1", "1 1000", "2 1100");
    equal("float_tolerance 0", "-0 .5 5.", "0 0.5 +5");
    equal("float_tolerance 0", "16 0x1.8p1", "0x10 3");
    equal("float_tolerance 1e-6", "inf nan 1e999", "INF NaN 1E999");
    differs(
        "float_tolerance 1e-6",
        "7",
        "seven",
        "line 1, column 1 of the output (line 1 of the answer): expected the number `7`, found `seven`",
    );
    differs(
        "float_tolerance 1e-6",
        "1e999",
        "2e999",
        "line 1, column 1 of the output (line 1 of the answer): expected `1e999`, found `2e999`",
    );
    differs(
        "float_absolute_tolerance 0.25",
        "2",
        "2.5",
        "line 1, column 1 of the output (line 1 of the answer): expected `2`, found `2.5`: absolute error 5e-1, relative error 2.5e-1",
    );
    differs(
        "float_relative_tolerance 0.5",
        "0",
        "1",
        "line 1, column 1 of the output (line 1 of the answer): expected `0`, found `1`: absolute error 1e0",
    );
}

#[test]
fn space_changes_matter_when_asked() {
    equal("space_change_sensitive", " a\tb\n", " A\tb\n");
    equal("space_change_sensitive float_tolerance 1", "1 2\n", "2.0 3\n");
    let at = |column| {
        format!(
            "line 1, column {column} of the output (line 1 of the answer): white space differs: expected "
        )
    };
    differs("space_change_sensitive", "a b", "a  b", &format!("{}`b`, found a space", at(3)));
    differs("space_change_sensitive", "a b", "a\tb", &format!("{}a space, found a tab", at(2)));
    differs("space_change_sensitive", "a\n", "a", &format!("{}the end of the line, found the end", at(2)));
    differs("space_change_sensitive", "a", "a\r\n", &format!("{}the end, found a carriage return", at(2)));
    differs("space_change_sensitive", "a", " a", &format!("{}`a`, found a space", at(1)));
}

#[test]
fn long_tokens_are_compared_to_their_end_and_shown_clipped() {
    let long = |end: &str| format!("{}{end}", "7".repeat(5000));
    equal("float_tolerance 1", &long("a"), &long("A"));
    differs(
        "",
        &long("a"),
        &long("b"),
        &format!(
            "line 1, column 5001 of the output (line 1 of the answer): expected `{0}`, found `{0}`, which differs from byte 5000 of the token",
            format_args!("…{}…", "7".repeat(12)),
        ),
    );
    let shown =
        difference("", "x".repeat(900).as_bytes(), "y\u{7}".repeat(450).as_bytes()).unwrap().to_string();
    assert!(shown.len() < 250 && shown.contains("y\\u{7}y") && shown.contains('…'), "{shown}");
    // A number too long to be kept is no number.
    let zeros = format!("1.{}", "0".repeat(TOKEN_KEPT));
    assert!(difference("float_tolerance 1", zeros.as_bytes(), b"1").is_some());
    assert!(difference("float_tolerance 1", b"1", zeros.as_bytes()).is_some());
}

#[test]
fn flags_are_strict() {
    let parse = |flags: &str, format| {
        let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
        CompareOptions::parse(&flags, format)
    };
    for format in [Format::Legacy, Format::V2025_09] {
        for (flags, part) in [
            ("case_insensitive", "unknown output validator flag `case_insensitive`"),
            ("float_tolerance", "needs a tolerance after it"),
            ("float_tolerance case_sensitive", "`case_sensitive` is not a tolerance"),
            ("float_tolerance -1", "`-1` is not a tolerance"),
            ("float_tolerance inf", "`inf` is not a tolerance"),
        ] {
            let text = parse(flags, format).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
    }
    let later = parse("float_tolerance 1 float_absolute_tolerance 2", Format::Legacy).unwrap();
    assert_eq!((later.absolute, later.relative), (Some(2.0), Some(1.0)));
    for flags in [
        "float_tolerance 1 float_relative_tolerance 1",
        "float_absolute_tolerance 1 float_absolute_tolerance 1",
    ] {
        assert!(matches!(parse(flags, Format::V2025_09), Err(CompareFlagError::Repeated(_))));
    }
    let both = parse(
        "float_absolute_tolerance 1 float_relative_tolerance 2 case_sensitive case_sensitive",
        Format::V2025_09,
    );
    assert!(both.unwrap().case_sensitive);
}

#[test]
fn numbers_are_those_of_strtod() {
    for (text, value) in [
        ("1e5", Some(1e5)),
        ("+1E+5", Some(1e5)),
        ("-.5", Some(-0.5)),
        ("5.", Some(5.0)),
        ("0x1.8p3", Some(12.0)),
        ("-0XfF", Some(-255.0)),
        ("0x.8p-1", Some(0.25)),
        ("1e-999", Some(0.0)),
    ] {
        assert_eq!(number::parse(text.as_bytes()), value, "{text}");
    }
    for text in [
        "",
        ".",
        "+",
        "1e",
        "1e+",
        "e5",
        "0x",
        "0x.p1",
        "0x1p",
        "0x1.2.3",
        "1,5",
        "1_0",
        "--1",
        "inf",
        "nan",
        "-infinity",
        "1e999",
        "0x1p9999",
        "1f",
    ] {
        assert_eq!(number::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn errors_of_reading_are_passed_on() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    assert!(compare(BufReader::new(Broken), &b"a"[..], &options("")).is_err());
}

/// The whole in memory, by the words of the specification.
fn oracle(options: &CompareOptions, answer: &[u8], output: &[u8]) -> bool {
    type Parts<'a> = (Vec<&'a [u8]>, Vec<&'a [u8]>);
    fn parts(bytes: &[u8]) -> Parts<'_> {
        let space = |b: &u8| number::is_space(*b);
        let mut runs: Vec<&[u8]> = bytes.chunk_by(|a, b| space(a) == space(b)).collect();
        if runs.first().is_some_and(|r| !space(&r[0])) {
            runs.insert(0, b"");
        }
        let spaces = runs.iter().step_by(2).copied().collect();
        (spaces, runs.into_iter().skip(1).step_by(2).collect())
    }
    let (spaces_a, tokens_a) = parts(answer);
    let (spaces_o, tokens_o) = parts(output);
    let token = |a: &[u8], o: &[u8]| match number::parse(a).filter(|_| options.tolerant()) {
        Some(a) => number::parse(o).is_some_and(|o| {
            options.absolute.is_some_and(|e| (a - o).abs() <= e)
                || options.relative.is_some_and(|e| (a - o).abs() <= e * a.abs())
        }),
        None if options.case_sensitive => a == o,
        None => a.eq_ignore_ascii_case(o),
    };
    tokens_a.len() == tokens_o.len()
        && tokens_a.iter().zip(&tokens_o).all(|(a, o)| token(a, o))
        && (!options.space_change_sensitive || spaces_a == spaces_o)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("a"),
        Just("A"),
        Just("ab"),
        Just(" "),
        Just("\n"),
        Just("  "),
        Just("\t"),
        Just("1"),
        Just("1.0"),
        Just("2"),
        Just("1e0"),
        Just("0.5"),
        Just("-"),
        Just("x1"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

fn any_options() -> impl Strategy<Value = CompareOptions> {
    let tolerance = || prop_oneof![Just(None), Just(Some(0.0)), Just(Some(0.6))];
    (any::<bool>(), any::<bool>(), tolerance(), tolerance()).prop_map(
        |(case_sensitive, space_change_sensitive, absolute, relative)| CompareOptions {
            case_sensitive,
            space_change_sensitive,
            absolute,
            relative,
        },
    )
}

/// Pairs that are often nearly equal.
fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    (text(), text(), text(), prop::bool::weighted(0.3)).prop_map(|(head, middle, tail, other)| {
        let left = [head.clone(), middle.clone(), tail.clone()].concat();
        let right =
            if other { [head, tail].concat() } else { [head, middle.to_ascii_uppercase(), tail].concat() };
        (left, right)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn agrees_with_the_oracle(options in any_options(), (answer, output) in pair(), sizes in (1usize..9, 1usize..9)) {
        let found = compare(
            BufReader::with_capacity(sizes.0, &answer[..]),
            BufReader::with_capacity(sizes.1, &output[..]),
            &options,
        ).unwrap();
        prop_assert_eq!(found.is_none(), oracle(&options, &answer, &output), "{:?}", found);
    }
}

#[test]
fn endless_tokens_and_spaces_are_not_kept() {
    // Made on the fly; the sides differ in case, so that the slow way is taken too.
    for (answer, output) in [(b'x', b'x'), (b' ', b' '), (b'x', b'X'), (b' ', b'\t')] {
        let stream =
            |byte| Source::new(BufReader::with_capacity(1 << 16, io::Read::take(io::repeat(byte), 1 << 20)));
        let mut comparison = Comparison {
            answer: stream(answer),
            output: stream(output),
            options: options("float_tolerance 1"),
            expected: Token::default(),
            found: Token::default(),
            tokens_seen: false,
            column: 1,
        };
        assert_eq!(comparison.first_difference().unwrap(), None);
        let kept = comparison.expected.kept.capacity() + comparison.found.kept.capacity();
        assert!(kept <= 4 * TOKEN_KEPT, "{kept}");
    }
}

/// Line and column at which an output differs.
fn place(flags: &str, answer: &[u8], output: &[u8]) -> (u64, u64) {
    let difference = difference(flags, answer, output).expect("they differ");
    (difference.output_line, difference.output_column)
}

#[test]
fn columns_count_characters_from_1() {
    const SPACE: &str = "space_change_sensitive";
    let long = [b"1 ", vec![b'x'; 5000].as_slice()].concat();
    for (what, flags, answer, output, at) in [
        ("the start", "", &b"5\n"[..], &b"4\n"[..], (1, 1)),
        ("the middle of a line", "", b"1 2 3\n", b"1 2 4\n", (1, 5)),
        ("the middle of a token", "", b"a\nabcd\n", b"a\nabXd\n", (2, 3)),
        ("letters of other case before", "", b"x ABcd", b"x abce", (1, 6)),
        ("other spaces before", "", b"1 2", b"1   3", (1, 5)),
        ("a shorter token", "", b"abcd", b"ab", (1, 3)),
        ("a missing line", "", b"1\n2\n", b"1\n", (2, 1)),
        ("a missing token", "", b"1 2\n", b"1", (1, 2)),
        ("no output", "", b"1\n", b"", (1, 1)),
        ("an extra token", "", b"1\n", b"1 27\n", (1, 3)),
        ("an extra line", "", b"1\n", b"1\n27\n", (2, 1)),
        ("white space only", SPACE, b"1 2\n", b"1\t2\n", (1, 2)),
        ("white space at the end", SPACE, b"1\n", b"1 \n", (1, 2)),
        ("a missing end of line", SPACE, b"1\n", b"1", (1, 2)),
        ("a number, from its start", "float_tolerance 1e-3", b"1 3.14", b"1 3.24", (1, 3)),
        ("characters of several bytes before", "", "éé x".as_bytes(), "éé y".as_bytes(), (1, 4)),
        ("a character in its second byte", "", "aé".as_bytes(), "aè".as_bytes(), (1, 2)),
        ("bytes that are not UTF-8", "", b"\xff\xfe 1", b"\xff\xfe 2", (1, 4)),
        ("a byte that is not UTF-8", "", b"ab", b"a\xff", (1, 2)),
        ("a long token", "", &[long.as_slice(), b"y"].concat(), &[long.as_slice(), b"z"].concat(), (1, 5003)),
    ] {
        assert_eq!(place(flags, answer, output), at, "{what}");
    }
}
