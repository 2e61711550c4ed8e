//! Statements of problems, as packages have them, as HTML that can do no harm.
//!
//! Markdown, LaTeX (the part of it that statements use) and HTML are each turned into HTML, and whatever came of that goes
//! through `clean`, which lets only known elements and attributes through. So nothing here has to trust a package.

mod clean;
mod latex;
mod math;

use crate::errors::Refusal;
use crate::problems::Opened;
use pulldown_cmark::{Event, Options, Parser};
use std::collections::BTreeMap;

/// Where packages keep statements: 2025-09, legacy.
const DIRECTORIES: [&str; 2] = ["statement", "problem_statement"];
/// Larger ones are not shown. Text of a few pages has some kilobytes.
const LARGEST: u64 = 1 << 20;

/// A statement in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// What it calls the problem, where it says so itself.
    pub(crate) title: Option<String>,
    /// HTML.
    pub(crate) body: String,
    /// Code of the language, where the file says it.
    pub(crate) language: Option<String>,
    /// Codes of all languages there are statements in.
    pub(crate) languages: Vec<String>,
    /// The file that is a PDF, where there is one.
    pub(crate) pdf: Option<String>,
}

/// One way of writing a statement, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Markdown,
    Latex,
    Html,
    Pdf,
}

struct File<'a> {
    path: &'a str,
    form: Form,
    language: Option<&'a str>,
}

/// The statement of a package in a language, else in English, else in any. Blocks: call it where blocking is allowed.
pub(crate) fn statement(opened: &Opened, problem: &str, wish: Option<&str>) -> Result<Statement, Refusal> {
    let files = files(opened);
    let mut languages: Vec<String> =
        files.iter().filter_map(|file| Some(file.language?.to_string())).collect();
    languages.sort();
    languages.dedup();
    let rank = |file: &&File| {
        let by_wish = wish.is_none_or(|wish| file.language != Some(wish));
        let by_default = !matches!(file.language, Some("en") | None);
        (by_wish, by_default, file.language.map(str::to_string), file.form)
    };
    let text = files.iter().filter(|file| file.form != Form::Pdf).min_by_key(rank);
    let language = text.and_then(|file| file.language);
    let pdf = files
        .iter()
        .filter(|file| file.form == Form::Pdf)
        .min_by_key(|file| (file.language != language, rank(file)));
    let (body, title) = match text {
        Some(file) => body(opened, problem, file)?,
        None => (String::new(), None),
    };
    let name = |file: &File| file.path.rsplit('/').next().unwrap_or_default().to_string();
    Ok(Statement { title, body, language: language.map(str::to_string), languages, pdf: pdf.map(name) })
}

fn files(opened: &Opened) -> Vec<File<'_>> {
    let of = |path: &'_ str| -> Option<(Form, Option<(usize, usize)>)> {
        let (directory, name) = path.split_once('/')?;
        let rest = name.strip_prefix("problem.").filter(|_| DIRECTORIES.contains(&directory))?;
        let (language, extension) = rest.rsplit_once('.').map_or((None, rest), |(l, e)| (Some(l), e));
        let form = match extension {
            "md" => Form::Markdown,
            "tex" => Form::Latex,
            "html" | "htm" => Form::Html,
            "pdf" => Form::Pdf,
            _ => return None,
        };
        let from = path.len() - rest.len();
        Some((form, language.map(|language| (from, from + language.len()))))
    };
    let tree = opened.source.tree();
    let known = tree.files.iter().filter(|(_, entry)| entry.size <= LARGEST || entry.size <= 16 * LARGEST);
    known
        .filter_map(|(path, _)| {
            let (form, language) = of(path)?;
            Some(File { path, form, language: language.map(|(from, to)| &path[from..to]) })
        })
        .collect()
}

fn body(opened: &Opened, problem: &str, file: &File) -> Result<(String, Option<String>), Refusal> {
    if opened.source.tree().files.get(file.path).is_none_or(|entry| entry.size > LARGEST) {
        return Err(Refusal::Bad(format!(
            "{}: a statement of more than {LARGEST} bytes is not shown",
            file.path
        )));
    }
    let bytes = opened.source.bytes(file.path).map_err(|e| Refusal::Fault(e.to_string()))?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    for (name, value) in &opened.package.constants {
        text = text.replace(&format!("{{{{{name}}}}}"), value);
    }
    // A macro of the format that stands for the name in problem.yaml.
    let text = text.replace("\\problemyamlname", &opened.package.title);
    let (html, title) = match file.form {
        Form::Markdown => (markdown(&text), None),
        Form::Latex => latex::html(&text),
        Form::Html | Form::Pdf => (text, None),
    };
    Ok((clean::clean(&html, &pictures(opened, problem)), title))
}

/// The addresses of the pictures that lie beside a statement, by their names, with and without what tells their form.
fn pictures(opened: &Opened, problem: &str) -> BTreeMap<String, String> {
    let files = opened.source.tree().files.keys();
    let beside = |path: &'_ str| {
        let (directory, name) = path.split_once('/')?;
        (DIRECTORIES.contains(&directory) && picture_form(name).is_some()).then(|| name.to_string())
    };
    let names: Vec<String> = files.filter_map(|path| beside(path)).collect();
    let mut pictures = BTreeMap::new();
    // Where a name could mean several, the last one is it.
    for form in [".jpeg", ".jpg", ".png", ".svg", ""] {
        let called = names.iter().filter_map(|name| Some((name.strip_suffix(form)?, name)));
        pictures.extend(
            called.map(|(called, name)| (called.to_string(), format!("/problems/{problem}/files/{name}"))),
        );
    }
    pictures
}

/// Where a file of the statement lies in the package.
pub(crate) fn picture_path(opened: &Opened, name: &str) -> Option<String> {
    let files = &opened.source.tree().files;
    DIRECTORIES.iter().map(|directory| format!("{directory}/{name}")).find(|path| files.contains_key(path))
}

/// The content type of a file that statements may show; nothing else is served.
pub(crate) fn picture_form(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "svg" => Some("image/svg+xml"),
        "pdf" => Some("application/pdf"),
        _ => None,
    }
}

fn markdown(text: &str) -> String {
    // Where samples are to stand: they stand below the statement.
    let own = ["{{nextsample}}", "{{remainingsamples}}"];
    let text = own.iter().fold(text.to_string(), |text, place| text.replace(place, ""));
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_MATH;
    let events = Parser::new_ext(&text, options).map(|event| match event {
        Event::InlineMath(formula) => Event::InlineHtml(math::inline(&formula).into()),
        Event::DisplayMath(formula) => Event::Html(math::display(&formula).into()),
        other => other,
    });
    let mut html = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut html, events);
    html
}

/// Text as HTML shows it.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        clean::clean(&markdown(text), &BTreeMap::new())
    }

    #[test]
    fn markdown_has_tables_formulas_and_no_scripts() {
        let html = shown(
            "## Input\n\n| a | b |\n|---|---|\n| 1 | $x_1^2 \\le 10^6$ |\n\n<script>alert(1)</script> {{nextsample}}",
        );
        assert!(html.contains("<h2>Input</h2>") && html.contains("<table>"), "{html}");
        assert!(html.contains("<math") && html.contains("<msubsup>"), "{html}");
        assert!(!html.contains("<script") && !html.contains("nextsample"), "{html}");
    }

    #[test]
    fn forms_of_pictures() {
        assert_eq!(picture_form("a.svg"), Some("image/svg+xml"));
        assert_eq!(picture_form("a.html"), None);
        assert_eq!(picture_form("png"), None);
    }
}
