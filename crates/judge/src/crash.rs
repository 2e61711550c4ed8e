//! Which line of what a crashed program printed says what happened.

/// Beginnings of lines in which a runtime says why it ends a program; the last such line tells most.
const SAYS: [&str; 5] =
    ["panic: ", "fatal error: ", "Exception in thread ", "Unhandled exception. ", "Caused by: "];
/// Beginnings of lines that say where it happened, or nothing: frames, and words around them.
const FRAMES: [&str; 14] = [
    "at ",
    "from ",
    "note: ",
    "Node.js v",
    "goroutine ",
    "exit status ",
    "Stack trace:",
    "Stacktrace:",
    "stack traceback:",
    "stack backtrace:",
    "CallStack ",
    "in expression starting at",
    "[C]: ",
    "...",
];
/// Most characters of it.
const MOST: usize = 200;

/// The line that says what happened: the exception with its message, wherever its runtime prints it. Else the last line that is no
/// place in a program; empty where there is none.
pub fn telling_line(printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    let line =
        (raised(&lines).or_else(|| last(&lines)).or_else(|| lines.last().map(|line| line.trim().to_owned())))
            .unwrap_or_default();
    line.chars().take(MOST).collect()
}

/// What a runtime says in a form of its own.
fn raised(lines: &[&str]) -> Option<String> {
    let at = lines.iter().rposition(|line| says(line))?;
    let (line, next) = (lines[at].trim(), lines.get(at + 1).map(|line| line.trim()));
    // Rust: "thread 'main' panicked at PLACE:", and the message on the next line.
    if line.contains("panicked at ") && line.ends_with(':') {
        return Some(format!("panicked: {}", next.unwrap_or_default()));
    }
    // C++: "terminate called after throwing an instance of 'TYPE'", and the message on the next line.
    if let Some(class) = line.strip_prefix("terminate called after throwing an instance of ") {
        let message = next.and_then(|next| next.strip_prefix("what():")).map(str::trim);
        let class = class.trim_matches('\'');
        return Some(message.map_or_else(|| class.to_owned(), |message| format!("{class}: {message}")));
    }
    Some(line.to_owned())
}

fn says(line: &str) -> bool {
    SAYS.iter().any(|start| line.starts_with(start))
        || line.contains(" panicked at ")
        || line.starts_with("terminate called after throwing")
        || names_exception(line)
}

/// `Error: why`, `java.lang.ArithmeticException: why`, `ValueError`: a class of that kind, at the begin of a line.
fn names_exception(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let class = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '_');
    let rest = &line[name.len()..];
    class
        && (name.ends_with("Error") || name.ends_with("Exception"))
        && (rest.is_empty() || rest.starts_with(':'))
}

/// The last line that is no frame.
fn last(lines: &[&str]) -> Option<String> {
    let frame = |line: &str| {
        let inside = line.trim_start();
        let numbered = inside
            .strip_prefix(['#', '['])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let indented = inside.len() < line.len();
        numbered
            || FRAMES.iter().any(|start| inside.starts_with(start))
            || (indented && inside.starts_with("thrown in "))
    };
    let kept = |line: &&&str| !frame(line);
    // What is set in below a line belongs to it, unless all is set in.
    let outer = lines.iter().rev().filter(kept).find(|line| !line.starts_with([' ', '\t']));
    outer.or_else(|| lines.iter().rev().find(kept)).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the runtimes print it.
    #[test]
    fn the_line_that_says_what_happened() {
        let table = [
            (
                "Exception in thread \"main\" java.lang.ArithmeticException: / by zero\n\tat Main.f(Main.java:7)\n\tat Main.main(Main.java:12)\n",
                "Exception in thread \"main\" java.lang.ArithmeticException: / by zero",
            ),
            (
                "debug\nException in thread \"main\" java.lang.RuntimeException: outer\n\tat Main.main(Main.java:3)\nCaused by: java.io.IOException: inner\n\t... 1 more\n",
                "Caused by: java.io.IOException: inner",
            ),
            (
                "/w/main.js:3\nthrow new Error(\"no\");\n^\n\nError: no\n    at Object.<anonymous> (/w/main.js:3:7)\n    at node:internal/main/run_main_module:28:49\n\nNode.js v20.11.0\n",
                "Error: no",
            ),
            (
                "node:fs:1\nError: ENOENT: no such file\n    at open (node:fs:1) {\n  errno: -2,\n  code: 'ENOENT'\n}\n\nNode.js v18.19.0\n",
                "Error: ENOENT: no such file",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\n    f()\nZeroDivisionError: division by zero\n",
                "ZeroDivisionError: division by zero",
            ),
            (
                "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/a.go:5 +0x1d\nexit status 2\n",
                "panic: runtime error: index out of range [5] with length 3",
            ),
            (
                "\nthread 'main' (7) panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                "panicked: index out of bounds: the len is 3 but the index is 5",
            ),
            (
                "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check\n",
                "std::out_of_range: vector::_M_range_check",
            ),
            (
                "Unhandled exception. System.DivideByZeroException: Attempted to divide by zero.\n   at Program.Main()\n",
                "Unhandled exception. System.DivideByZeroException: Attempted to divide by zero.",
            ),
            (
                "main.rb:1:in `/': divided by 0 (ZeroDivisionError)\n\tfrom main.rb:1:in `<main>'\n",
                "main.rb:1:in `/': divided by 0 (ZeroDivisionError)",
            ),
            (
                "PHP Fatal error:  Uncaught Exception: no in /w/a.php:3\nStack trace:\n#0 {main}\n  thrown in /w/a.php on line 3\n",
                "PHP Fatal error:  Uncaught Exception: no in /w/a.php:3",
            ),
            (
                "Main: Prelude.head: empty list\nCallStack (from HasCallStack):\n  error, called at a.hs:1\n",
                "Main: Prelude.head: empty list",
            ),
            (
                "lua: a.lua:1: no\nstack traceback:\n\t[C]: in function 'error'\n\ta.lua:1: in main chunk\n\t[C]: in ?\n",
                "lua: a.lua:1: no",
            ),
            (
                "Unhandled exception:\nRangeError (length): no\n#0      main (file:///w/a.dart:1:2)\n",
                "RangeError (length): no",
            ),
            (
                "ERROR: LoadError: no\nStacktrace:\n [1] top-level scope\nin expression starting at /w/a.jl:1\n",
                "ERROR: LoadError: no",
            ),
            ("first\nassertion failed\n\n", "assertion failed"),
            ("  only this\n", "only this"),
            ("\tat a\n", "at a"),
            ("", ""),
        ];
        for (printed, expected) in table {
            assert_eq!(telling_line(printed), expected, "{printed}");
        }
        assert_eq!(telling_line(&"é".repeat(900)).chars().count(), MOST);
    }
}
