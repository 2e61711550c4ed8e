//! YAML as a tree of raw scalars with line numbers.
//!
//! A tree and not a serde type, because problem packages are untidy: a memory limit may be quoted, a name
//! may be a number, and every complaint must name file, line and field. This is the only module that knows
//! the YAML library. Hostile text is bounded in depth, in nodes and in what aliases may expand to.

use model::hint;
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, ScanError};
use std::collections::HashMap;
use std::fmt;

/// Deepest nesting that is read. No problem package needs more than five levels.
const DEPTH_LIMIT: usize = 64;
/// Most nodes of a document, aliases counted as often as they are used.
const NODE_LIMIT: usize = 20_000;

/// A value and the line it begins on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Line, from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

/// What stands at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// Any scalar, as written and without its quotes.
    Scalar(String),
    /// A sequence.
    List(Vec<Node>),
    /// A map, in the order of the file. A key that occurs twice has its last value.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The scalar's text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The scalar as a number; `None` for anything else, and for what is not finite.
    pub fn number(&self) -> Option<f64> {
        self.text()?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The scalar as a truth value, in the spellings of YAML 1.1.
    pub fn flag(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar(_) => "a scalar",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// Text that is no YAML, or more of it than is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for YamlError {}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> YamlError {
        YamlError { line: error.marker().line(), message: format!("not readable as yaml: {}", error.info()) }
    }
}

/// A document that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its root; `Null` when the text is empty.
    pub root: Node,
    /// Keys that occur more than once in a map, with the line of the repetition.
    pub repeated: Vec<(usize, String)>,
}

/// Reads the first document of a text.
pub fn parse(text: &str) -> Result<Document, YamlError> {
    // Long blocks of comments are usual in packages; as events they would count against a buffer.
    let options = granit_parser::options! { emit_comments: false };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event?;
        if builder.take(event, span.start.line())? == Taken::Last {
            break;
        }
    }
    let root = builder.root.unwrap_or(Node { line: 1, value: Value::Null });
    Ok(Document { root, repeated: builder.repeated })
}

#[derive(PartialEq)]
enum Taken {
    More,
    Last,
}

/// A collection that is not closed yet.
struct Open {
    line: usize,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { entries: Vec<(String, Node)>, key: Option<String> },
}

/// Builds the tree from events without recursion, so that depth costs no stack.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
    repeated: Vec<(usize, String)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<Taken, YamlError> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let absent =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                // Errors quote values; none may add a hint to them.
                let value = match absent {
                    true => Value::Null,
                    false => Value::Scalar(hint::disarmed(text.into_owned())),
                };
                self.place(Node { line, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(line, anchor, Items::List(Vec::new()))?,
            Event::MappingStart(_, anchor, _) => {
                self.open(line, anchor, Items::Map { entries: Vec::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = match open.items {
                        Items::List(items) => Value::List(items),
                        Items::Map { entries, .. } => Value::Map(entries),
                    };
                    self.place(Node { line: open.line, value }, open.anchor)?;
                }
            }
            Event::Alias(anchor) => {
                // An alias inside its own anchor has no node yet.
                let node = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or_else(|| YamlError { line, message: "an alias refers to itself".to_string() })?;
                self.count(size(&node), line)?;
                self.place(node, 0)?;
            }
            Event::DocumentEnd => return Ok(Taken::Last),
            _ => {}
        }
        Ok(Taken::More)
    }

    fn open(&mut self, line: usize, anchor: usize, items: Items) -> Result<(), YamlError> {
        if self.open.len() >= DEPTH_LIMIT {
            return Err(YamlError { line, message: format!("nested more than {DEPTH_LIMIT} levels deep") });
        }
        self.open.push(Open { line, anchor, items });
        Ok(())
    }

    fn count(&mut self, nodes: usize, line: usize) -> Result<(), YamlError> {
        self.nodes += nodes;
        if self.nodes > NODE_LIMIT {
            return Err(YamlError { line, message: format!("more than {NODE_LIMIT} values") });
        }
        Ok(())
    }

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.count(1, node.line)?;
        if anchor != 0 {
            self.count(size(&node), node.line)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map { entries, key }) => match key.take() {
                None => *key = Some(key_text(&node)?),
                Some(name) => insert(entries, &mut self.repeated, name, node),
            },
        }
        Ok(())
    }
}

fn key_text(node: &Node) -> Result<String, YamlError> {
    match &node.value {
        Value::Scalar(text) => Ok(text.clone()),
        Value::Null => Ok("null".to_string()),
        _ => Err(YamlError { line: node.line, message: format!("{} is used as a key", node.kind()) }),
    }
}

fn insert(entries: &mut Vec<(String, Node)>, repeated: &mut Vec<(usize, String)>, name: String, node: Node) {
    if name == "<<" {
        merge(entries, node);
    } else if let Some(old) = entries.iter_mut().find(|(key, _)| *key == name) {
        repeated.push((node.line, name));
        old.1 = node;
    } else {
        entries.push((name, node));
    }
}

/// `<<: *defaults`: what the map does not say itself. Keys that follow in the map still win.
fn merge(entries: &mut Vec<(String, Node)>, node: Node) {
    let sources = match node.value {
        Value::List(items) => items,
        _ => vec![node],
    };
    for source in sources {
        if let Value::Map(defaults) = source.value {
            let new: Vec<_> = defaults
                .into_iter()
                .filter(|(key, _)| !entries.iter().any(|(have, _)| have == key))
                .collect();
            entries.extend(new);
        }
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|(_, node)| size(node)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Value {
        parse(text).unwrap().root.value
    }

    fn scalar(line: usize, text: &str) -> Node {
        Node { line, value: Value::Scalar(text.to_string()) }
    }

    #[test]
    fn scalars_stay_as_they_were_written() {
        let text = "a: 1.0\nb: '007'\nc: ~\nd:\ne: \"null\"\nf: [x, 2]\n";
        let expected = vec![
            ("a".to_string(), scalar(1, "1.0")),
            ("b".to_string(), scalar(2, "007")),
            ("c".to_string(), Node { line: 3, value: Value::Null }),
            ("d".to_string(), Node { line: 4, value: Value::Null }),
            ("e".to_string(), scalar(5, "null")),
            ("f".to_string(), Node { line: 6, value: Value::List(vec![scalar(6, "x"), scalar(6, "2")]) }),
        ];
        assert_eq!(root(text), Value::Map(expected));
        assert_eq!(root("# only a comment\n"), Value::Null);
        assert_eq!(root(""), Value::Null);
    }

    #[test]
    fn long_comment_blocks_are_read() {
        let text = format!("{}a: 1\n{}", "# comment\n".repeat(500), "# comment\n".repeat(500));
        assert_eq!(root(&text), Value::Map(vec![("a".to_string(), scalar(501, "1"))]));
    }

    #[test]
    fn the_last_of_repeated_keys_wins_and_is_told() {
        let document = parse("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!(document.repeated, [(3, "a".to_string())]);
        let Value::Map(entries) = document.root.value else { panic!() };
        assert_eq!(entries[0].1.text(), Some("3"));
    }

    #[test]
    fn aliases_and_merges_expand() {
        let text = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n";
        let Value::Map(entries) = root(text) else { panic!() };
        let Value::Map(used) = &entries[1].1.value else { panic!() };
        let used: Vec<_> = used.iter().map(|(k, v)| (k.as_str(), v.text().unwrap())).collect();
        assert_eq!(used, [("x", "1"), ("y", "3")]);
    }

    #[test]
    fn bad_text_is_refused_with_its_line() {
        let bomb = (0..40).fold("a0: &a0 [x, x]\n".to_string(), |text, i| {
            text + &format!("a{}: &a{} [*a{i}, *a{i}]\n", i + 1, i + 1)
        });
        let deep = "[".repeat(5_000);
        let table: [(&str, usize); 5] =
            [("a: 1\nb: [1\nc: 2", 3), ("a: b: c", 1), (&deep, 1), ("a: *none\n", 1), ("x: &x [*x]\n", 1)];
        for (text, line) in table {
            assert_eq!(parse(text).unwrap_err().line, line, "{}", &text[..text.len().min(40)]);
        }
        assert!(parse(&bomb).unwrap_err().message.contains("more than"));
    }

    #[test]
    fn numbers_and_flags() {
        for (text, number) in
            [("5", Some(5.0)), (" 1e3 ", Some(1000.0)), (".5", Some(0.5)), ("+2", Some(2.0))]
        {
            assert_eq!(scalar(1, text).number(), number, "{text}");
        }
        for text in ["nan", ".nan", "inf", "-inf", "1e999", "", "2 GB"] {
            assert_eq!(scalar(1, text).number(), None, "{text}");
        }
        assert_eq!(scalar(1, "Yes").flag(), Some(true));
        assert_eq!(scalar(1, "0").flag(), None);
    }
}
