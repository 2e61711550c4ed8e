//! The little XML that package descriptions are made of: elements, attributes and text, with line numbers. No entities of a
//! document's own, no namespaces. Hostile text is bounded in depth and in elements.

use model::hint::{disarmed, escaped};
use std::iter::once;

/// Deepest nesting that is read.
const DEPTH: usize = 32;
/// Most elements of a document.
const ELEMENTS: usize = 200_000;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    /// Line it begins on, from 1.
    pub(super) line: usize,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    /// Its text, that of all pieces together.
    text: String,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first child of that name.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The element that a path of names leads to, such as `assets/checker`.
    pub(super) fn at(&self, path: &str) -> Option<&Element> {
        path.split('/').try_fold(self, |element, name| element.child(name))
    }

    /// Children of the element that a path leads to, those of one name.
    pub(super) fn all<'a>(&'a self, path: &str, name: &'a str) -> impl Iterator<Item = &'a Element> {
        let children = self.at(path).map(|element| element.children.as_slice()).unwrap_or_default();
        children.iter().filter(move |child| child.name == name)
    }

    /// Its text without white space at the ends.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }
}

/// Reads a document; the error tells line and reason.
pub(super) fn parse(text: &str) -> Result<Element, (usize, String)> {
    let mut reader = Reader { text, at: 0, elements: 0 };
    let mut open: Vec<Element> = Vec::new();
    loop {
        let rest = reader.rest();
        let Some(start) = rest.find('<') else {
            let why = if open.is_empty() { "has no element" } else { "ends inside an element" };
            return Err(reader.wrong(why));
        };
        if let Some(element) = open.last_mut() {
            let text = unescaped(&rest[..start]).map_err(|why| reader.wrong(why))?;
            element.text.push_str(&text);
        } else if !rest[..start].trim().is_empty() {
            return Err(reader.wrong("has text outside of elements"));
        }
        reader.at += start;
        let rest = reader.rest();
        if let Some(done) =
            [("<!--", "-->"), ("<?", "?>")].into_iter().find(|(from, _)| rest.starts_with(from))
        {
            let end = rest.find(done.1).ok_or_else(|| reader.wrong("has a comment that does not end"))?;
            reader.at += end + done.1.len();
        } else if let Some(inside) = rest.strip_prefix("<![CDATA[") {
            let end =
                inside.find("]]>").ok_or_else(|| reader.wrong("has a CDATA section that does not end"))?;
            let element = open.last_mut().ok_or_else(|| reader.wrong("has text outside of elements"))?;
            element.text.push_str(&inside[..end]);
            reader.at += end + "<![CDATA[".len() + "]]>".len();
        } else if rest.starts_with("<!") {
            let end = rest.find('>').ok_or_else(|| reader.wrong("has a declaration that does not end"))?;
            if rest[..end].contains('[') {
                return Err(reader.wrong("declares entities, which are not read"));
            }
            reader.at += end + 1;
        } else if let Some(inside) = rest.strip_prefix("</") {
            let end = inside.find('>').ok_or_else(|| reader.wrong("has an end tag that does not end"))?;
            let name = inside[..end].trim();
            let element = open.pop().filter(|element| element.name == name);
            let mut element = element
                .ok_or_else(|| reader.wrong(format!("`</{}>` closes what is not open", escaped(name))))?;
            // Errors quote texts; none may add a hint to them.
            element.text = disarmed(element.text);
            reader.at += end + "</>".len();
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => return Ok(element),
            }
        } else {
            let (element, closed) = reader.tag()?;
            if open.len() >= DEPTH {
                return Err(reader.wrong(format!("is nested more than {DEPTH} deep")));
            }
            match (closed, open.last_mut()) {
                (false, _) => open.push(element),
                (true, Some(parent)) => parent.children.push(element),
                (true, None) => return Ok(element),
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    elements: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        1 + self.text[..self.at].bytes().filter(|byte| *byte == b'\n').count()
    }

    fn wrong(&self, why: impl Into<String>) -> (usize, String) {
        (self.line(), why.into())
    }

    fn word(&mut self) -> Option<String> {
        let end = self.rest().find(|c: char| c.is_whitespace() || "=/><\"'".contains(c))?;
        let word = self.rest()[..end].to_string();
        self.at += end;
        (!word.is_empty()).then_some(word)
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// A start tag, and whether it is an end tag as well.
    fn tag(&mut self) -> Result<(Element, bool), (usize, String)> {
        self.elements += 1;
        if self.elements > ELEMENTS {
            return Err(self.wrong(format!("has more than {ELEMENTS} elements")));
        }
        let line = self.line();
        self.at += 1;
        let name = self.word().ok_or_else(|| self.wrong("has a tag without a name"))?;
        let mut attributes = Vec::new();
        loop {
            self.skip_space();
            for (end, closed) in [("/>", true), (">", false)] {
                if self.rest().starts_with(end) {
                    self.at += end.len();
                    let (children, text) = (Vec::new(), String::new());
                    return Ok((Element { name, line, attributes, children, text }, closed));
                }
            }
            let unfinished =
                |reader: &Reader| reader.wrong(format!("`<{name}` has an attribute that is none"));
            let key = self.word().ok_or_else(|| unfinished(self))?;
            self.skip_space();
            let value = self.rest().strip_prefix('=').map(str::trim_start).ok_or_else(|| unfinished(self))?;
            let quote =
                value.chars().next().filter(|c| ['"', '\''].contains(c)).ok_or_else(|| unfinished(self))?;
            let inside = &value[1..];
            let end = inside.find(quote).ok_or_else(|| unfinished(self))?;
            attributes.push((key, unescaped(&inside[..end]).map_err(|why| self.wrong(why))?));
            self.at = self.text.len() - inside.len() + end + 1;
        }
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut pieces = text.split('&');
    let first = pieces.next().unwrap_or_default().to_string();
    let rest = pieces.map(|piece| {
        let (name, rest) = piece.split_once(';').ok_or("has `&` that begins no entity")?;
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let found = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => name
                .strip_prefix("#x")
                .and_then(|hex| number(hex, 16))
                .or_else(|| name.strip_prefix('#').and_then(|digits| number(digits, 10))),
        };
        Ok(format!("{}{rest}", found.ok_or_else(|| format!("has an unknown entity `&{};`", escaped(name)))?))
    });
    once(Ok(first)).chain(rest).collect::<Result<String, _>>().map(disarmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_tree() {
        let text = "<?xml version='1.0'?>\n<!-- c -->\n<a x=\"1 &amp; 2\" y = 'é'>\n t<b/><c>&lt;<![CDATA[<&]]></c> u\n</a>\n";
        let root = parse(text).unwrap();
        assert_eq!((root.name.as_str(), root.line, root.text()), ("a", 3, "t u"));
        assert_eq!(
            (root.attribute("x"), root.attribute("y"), root.attribute("z")),
            (Some("1 & 2"), Some("é"), None)
        );
        assert_eq!((root.at("c").unwrap().text(), root.children.len()), ("<<&", 2));
    }

    #[test]
    fn what_is_no_document_is_told_with_its_line() {
        let deep = "<a>".repeat(DEPTH + 1);
        for (text, line, why) in [
            ("", 1, "has no element"),
            ("\nx<a/>", 1, "has text outside"),
            ("<a>\n<b>\n</a>", 3, "`</a>` closes"),
            ("<a>&x\nhint: y;</a>", 1, r"has an unknown entity `&x\nhint: y;`"),
            ("<a", 1, "has a tag without"),
            ("<a x>", 1, "`<a` has an attribute"),
            ("<a x=1/>", 1, "`<a` has an attribute"),
            ("<a x='1/>", 1, "`<a` has an attribute"),
            ("<a>&nope;</a>", 1, "has an unknown entity"),
            ("<a>& </a>", 1, "has `&` that"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", 1, "declares entities"),
            ("<a><!-- </a>", 1, "has a comment"),
            ("<a>", 1, "ends inside"),
            (&deep, 1, "is nested"),
        ] {
            let (at, said) = parse(text).unwrap_err();
            assert!(at == line && said.starts_with(why), "{text}: {at} {said}");
        }
    }
}
