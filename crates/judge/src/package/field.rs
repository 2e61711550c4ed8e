//! Typed access to the maps of a package's YAML files, with complaints that name file, line and field.

use super::{FileTree, PackageError, Warning};
use crate::nearest::nearest;
use crate::yaml::{self, Node, Value};

/// A map of a YAML file, such as `limits` of `problem.yaml`.
pub(super) struct Section<'a> {
    file: &'a str,
    /// Names of the maps around this one, each with a dot behind it.
    prefix: String,
    /// Line where it begins.
    line: usize,
    entries: &'a [(String, Node)],
}

/// The range a number must lie in. `above` excludes its end, `most` includes it.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) least: f64,
    pub(super) above: f64,
    pub(super) most: f64,
}

impl Range {
    pub(super) const fn above_zero(most: f64) -> Range {
        Range { least: f64::NEG_INFINITY, above: 0.0, most }
    }

    pub(super) const fn at_least(least: f64, most: f64) -> Range {
        Range { least, above: f64::NEG_INFINITY, most }
    }
}

impl<'a> Section<'a> {
    /// The root of a file; an empty file is an empty map.
    pub(super) fn root(file: &'a str, root: &'a Node) -> Result<Section<'a>, PackageError> {
        Section::new(file, String::new(), root)
    }

    pub(super) fn new(file: &'a str, prefix: String, node: &'a Node) -> Result<Section<'a>, PackageError> {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Null => &[],
            _ => {
                let place = place(file, Some(node.line), prefix.trim_end_matches('.'));
                return Err(PackageError::new(place, format!("must be a map, not {}", node.kind())));
            }
        };
        Ok(Section { file, prefix, line: node.line, entries })
    }

    /// The same map once more.
    pub(super) fn again(&self) -> Section<'a> {
        Section { file: self.file, prefix: self.prefix.clone(), line: self.line, entries: self.entries }
    }

    pub(super) fn entries(&self) -> &'a [(String, Node)] {
        self.entries
    }

    /// The value of a key; `None` too when nothing stands there.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
            .filter(|n| n.value != Value::Null)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// `file:line: field` of a key, whether it is there or not.
    pub(super) fn place(&self, key: &str) -> String {
        let line = self.get(key).map_or(self.line, |node| node.line);
        place(self.file, Some(line), &format!("{}{key}", self.prefix))
    }

    pub(super) fn error(&self, key: &str, message: impl Into<String>) -> PackageError {
        PackageError::new(self.place(key), message)
    }

    pub(super) fn warning(&self, key: &str, message: impl Into<String>) -> Warning {
        Warning::new(self.place(key), message)
    }

    /// The map at a key; empty when there is none.
    pub(super) fn section(&self, key: &str) -> Result<Section<'a>, PackageError> {
        match self.get(key) {
            Some(node) => Section::new(self.file, format!("{}{key}.", self.prefix), node),
            None => Ok(Section {
                file: self.file,
                prefix: format!("{}{key}.", self.prefix),
                line: self.line,
                entries: &[],
            }),
        }
    }

    /// The text at a key.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, PackageError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        node.text().map(Some).ok_or_else(|| self.error(key, format!("must be text, not {}", node.kind())))
    }

    /// The number at a key, refused outside of its range and when it is not finite.
    pub(super) fn number(&self, key: &str, range: Range) -> Result<Option<f64>, PackageError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let found = node.text().unwrap_or(node.kind());
        let number =
            node.number().ok_or_else(|| self.error(key, format!("must be a number, not `{found}`")))?;
        if number > range.above && number >= range.least && number <= range.most {
            return Ok(Some(number));
        }
        let least = match range.above {
            above if above.is_finite() => format!("above {above}"),
            _ => format!("at least {}", range.least),
        };
        Err(self.error(key, format!("must be {least} and at most {}, not {found}", range.most)))
    }

    /// The truth value at a key.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, PackageError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let found = node.text().unwrap_or(node.kind());
        node.flag().map(Some).ok_or_else(|| self.error(key, format!("must be true or false, not `{found}`")))
    }

    /// The words at a key: a list of scalars as they are, or a scalar split at white space.
    pub(super) fn words(&self, key: &str) -> Result<Option<Vec<String>>, PackageError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let words = match &node.value {
            Value::Scalar(text) => Some(text.split_whitespace().map(str::to_string).collect()),
            Value::List(items) => items.iter().map(|item| item.text().map(str::to_string)).collect(),
            _ => None,
        };
        words.map(Some).ok_or_else(|| self.error(key, "must be text or a list of text"))
    }

    /// Warns of every key that is neither in `known` nor in `foreign`, with the nearest known name, and of every
    /// key in `foreign` with the format it belongs to.
    pub(super) fn unknown(&self, known: &[&str], foreign: &[(&str, &str)], warnings: &mut Vec<Warning>) {
        for (key, node) in self.entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let place = place(self.file, Some(node.line), &format!("{}{key}", self.prefix));
            let message = match foreign.iter().find(|(name, _)| name == key) {
                Some((_, why)) => format!("belongs to another format; {why}"),
                None => match nearest(key, known.iter().copied()) {
                    Some(name) => format!("unknown key, ignored\nhint: did you mean `{name}`?"),
                    None => "unknown key, ignored".to_string(),
                },
            };
            warnings.push(Warning::new(place, message));
        }
    }
}

/// `file:line: field`, as far as they are known.
pub(super) fn place(file: &str, line: Option<usize>, field: &str) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let field = if field.is_empty() { String::new() } else { format!(": {field}") };
    format!("{file}{line}{field}")
}

/// The text of a file of the package, if it is there. What is not UTF-8 is replaced, with a warning.
pub(super) fn text(
    tree: &FileTree,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<String>, PackageError> {
    let Some(entry) = tree.files.get(path) else { return Ok(None) };
    let Some(content) = &entry.content else {
        let message = format!("is larger than {} bytes, the most that is read", FileTree::CONTENT_LIMIT);
        return Err(PackageError::new(path, message));
    };
    let text = match std::str::from_utf8(content) {
        Ok(text) => text.to_string(),
        Err(_) => {
            warnings.push(Warning::new(path, "is not utf-8; the offending bytes were replaced"));
            String::from_utf8_lossy(content).into_owned()
        }
    };
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)))
}

/// The YAML document of a file of the package, if it is there.
pub(super) fn document(
    tree: &FileTree,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Node>, PackageError> {
    let Some(text) = text(tree, path, warnings)? else { return Ok(None) };
    let document = match yaml::parse(&text) {
        Ok(document) => document,
        // YAML forbids tabs as indentation, authors do not.
        Err(error) => match yaml::parse(&untab(&text)) {
            Ok(document) if text.contains('\t') => {
                let place = place(path, Some(error.line), "");
                warnings
                    .push(Warning::new(place, "indented with tabs, which yaml forbids\nhint: use spaces"));
                document
            }
            _ => return Err(PackageError::new(place(path, Some(error.line), ""), error.message)),
        },
    };
    for (line, key) in &document.repeated {
        warnings.push(Warning::new(
            place(path, Some(*line), key),
            "appears more than once; the last one is used",
        ));
    }
    Ok(Some(document.root))
}

/// The JSON document of a file of the package, if it is there. JSON is YAML but for tabs, which it only has between values.
pub(super) fn json(
    tree: &FileTree,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Node>, PackageError> {
    let Some(text) = text(tree, path, warnings)? else { return Ok(None) };
    let wrong = |error: yaml::YamlError| {
        let message = error.message.replace("not readable as yaml", "not readable as json");
        PackageError::new(place(path, Some(error.line), ""), message)
    };
    let document = yaml::parse(&text.replace('\t', " ")).map_err(wrong)?;
    Ok(Some(document.root))
}

fn untab(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let body = line.trim_start_matches([' ', '\t']);
        format!("{}{body}\n", line[..line.len() - body.len()].replace('\t', "    "))
    });
    lines.collect()
}

/// The first of some names, and how many there are.
pub(super) fn some_of(names: &[String]) -> String {
    let more = if names.len() > 3 { format!(", … {} in all", names.len()) } else { String::new() };
    format!("{}{more}", names[..names.len().min(3)].join(", "))
}
