//! Just enough of Markdown to tell running text from code, tables and headings, and to wrap it.

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Lines that stay as they are: code, tables, headings, HTML, blank lines.
    Verbatim(Vec<String>),
    /// Running text: the line it begins in, its lines, what its first line and the others begin with, its words.
    Prose { line: usize, lines: Vec<String>, first: String, rest: String, text: String },
}

impl Block {
    /// Line and text of running text.
    pub(crate) fn prose(self) -> Option<(usize, String)> {
        match self {
            Block::Prose { line, text, .. } => Some((line, text)),
            Block::Verbatim(_) => None,
        }
    }
}

/// The parts of a document, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut content = 0; // columns by which the list item in force is indented
    let mut open = false; // the last block is prose that the next line may continue
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let marker = marker(bare);
        let starts_item = marker > 0 && indent < content + 4;
        if !bare.is_empty() && indent < content && !starts_item && !open {
            content = 0;
        }
        let code = fence.is_some() || (indent >= content + 4 && !open && !starts_item);
        let fenced = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        let verbatim = code
            || fenced.is_some()
            || bare.is_empty()
            || ["#", "|", "<", "![", "[!"].iter().any(|begin| bare.starts_with(begin));
        match (fence, fenced) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(begun), Some(mark)) if begun == mark => fence = None,
            _ => {}
        }
        if verbatim {
            open = false;
            match blocks.last_mut() {
                Some(Block::Verbatim(lines)) => lines.push(line.to_string()),
                _ => blocks.push(Block::Verbatim(vec![line.to_string()])),
            }
        } else if starts_item {
            content = indent + marker;
            let (mark, words) = bare.split_at(marker);
            let first = " ".repeat(indent) + mark;
            let rest = " ".repeat(content);
            let (lines, text) = (vec![line.to_string()], words.trim().into());
            blocks.push(Block::Prose { line: number + 1, lines, first, rest, text });
            open = true;
        } else if let (true, Some(Block::Prose { text, lines, .. })) = (open, blocks.last_mut()) {
            lines.push(line.to_string());
            text.push(' ');
            text.push_str(bare.trim_end());
        } else {
            let first = " ".repeat(indent);
            let (lines, text) = (vec![line.to_string()], bare.trim_end().into());
            blocks.push(Block::Prose { line: number + 1, lines, rest: first.clone(), first, text });
            open = true;
        }
    }
    blocks
}

/// The texts of a document with the lines they begin in: running text as a whole, other lines each.
pub(crate) fn numbered(text: &str) -> Vec<(usize, String)> {
    let mut next = 1;
    let mut all = Vec::new();
    for block in blocks(text) {
        match block {
            Block::Verbatim(lines) => {
                let from = next;
                next += lines.len();
                all.extend(lines.into_iter().enumerate().map(|(n, line)| (from + n, line)));
            }
            Block::Prose { line, lines, text, .. } => {
                next = line + lines.len();
                all.push((line, text));
            }
        }
    }
    all
}

/// Columns of the mark of a list item with its blank; 0 where the line begins with none.
fn marker(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if line.starts_with("- ") || line.starts_with("* ") {
        2
    } else if digits > 0 && digits < 4 && line[digits..].starts_with(". ") {
        digits + 2
    } else {
        0
    }
}

/// Whether a line of running text is too long, and can be wrapped.
pub(crate) fn is_long(line: &str, columns: usize) -> bool {
    line.chars().count() > columns && tokens(line).len() > 1
}

/// The document with its running text wrapped, where a line of it is too long.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = Vec::new();
    for block in blocks(text) {
        match block {
            Block::Verbatim(verbatim) => lines.extend(verbatim),
            Block::Prose { lines: own, .. } if !own.iter().any(|line| is_long(line, columns)) => {
                lines.extend(own)
            }
            Block::Prose { first, rest, text, .. } => lines.extend(fill(&first, &rest, &text, columns)),
        }
    }
    lines.join("\n") + "\n"
}

fn fill(first: &str, rest: &str, text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_string();
    let mut empty = true;
    for word in tokens(text) {
        let too_long = line.chars().count() + 1 + word.chars().count() > columns;
        if !empty && too_long && !begins_a_block(word) {
            lines.push(std::mem::replace(&mut line, rest.to_string()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// Words; what stands between backquotes is one with what touches it, so that code is never divided.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut begin, mut in_code) = (None, false);
    for (at, c) in text.char_indices() {
        in_code ^= c == '`';
        match (c.is_whitespace() && !in_code, begin) {
            (true, Some(from)) => {
                tokens.push(&text[from..at]);
                begin = None;
            }
            (false, None) => begin = Some(at),
            _ => {}
        }
    }
    tokens.extend(begin.map(|from| &text[from..]));
    tokens
}

/// At the beginning of a line it would be a list, a heading, a quotation or a table.
fn begins_a_block(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    ["-", "*", "+", "|", "#", ">", "=", "<", "```", "!["].iter().any(|mark| word.starts_with(mark))
        || (digits > 0 && word[digits..].starts_with(['.', ')']) && word.len() == digits + 1)
}

/// Text without code between backquotes, names of JSON fields, and addresses of links.
pub(crate) fn bare(text: &str) -> String {
    let outside: Vec<&str> = text.split('`').step_by(2).collect();
    let mut text = outside.join("X");
    while let Some(at) = text.find("](") {
        let end = text[at..].find(')').map_or(text.len(), |end| at + end + 1);
        text.replace_range(at..end, "]");
    }
    let mut parts: Vec<&str> = text.split("\":").collect();
    let last = parts.pop().unwrap_or_default().to_string();
    let before = parts.iter().map(|part| part.rsplit_once('"').map_or(*part, |(before, _)| before));
    before.collect::<Vec<_>>().join(" ") + &last
}

/// The sentences of a text, and what colons and semicolons divide them into, as words. What stands in parentheses is
/// left out.
pub(crate) fn sentences(text: &str) -> Vec<Vec<&str>> {
    let mut sentences = vec![Vec::new()];
    let mut depth = 0_usize;
    for word in text.split_whitespace() {
        if depth == 0 && !word.starts_with('(') {
            sentences.last_mut().expect("there is one at least").push(word);
        }
        depth = (depth + word.matches('(').count()).saturating_sub(word.matches(')').count());
        let end = word.trim_end_matches(['"', '*', ')', '_', ']']);
        if depth == 0 && end.ends_with(['.', ':', ';', '?', '!']) {
            sentences.push(Vec::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_is_wrapped_and_the_rest_is_not() {
        let text = "# A heading that is longer than the columns\n\none two three `four five` six - seven\neight\n\nshort\nlines stay\n\n- one two three four five six\n  seven eight\n\n      code in the item stays as it is here\n\n1. one\n2. two three four five six seven\n\nText:\n\n    code stays as it is, however long\n\n```\nso does this, however long it is, too\n```\n\n| a | b | c | d | e | f | g |\n";
        let expected = "# A heading that is longer than the columns\n\none two three\n`four five` six -\nseven eight\n\nshort\nlines stay\n\n- one two three four\n  five six seven\n  eight\n\n      code in the item stays as it is here\n\n1. one\n2. two three four\n   five six seven\n\nText:\n\n    code stays as it is, however long\n\n```\nso does this, however long it is, too\n```\n\n| a | b | c | d | e | f | g |\n";
        let once = wrapped(text, 20);
        assert_eq!(once, expected);
        assert_eq!(wrapped(&once, 20), once, "wrapping twice changes nothing");
    }

    #[test]
    fn sentences_are_told_apart() {
        let count = |text: &str| sentences(text).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(count("One two. Three (and four. Five) six; seven"), [2, 2, 1]);
        assert_eq!(bare("a `b c` [d](e.md#f) \"g\": h"), "a X [d]  h");
    }
}
