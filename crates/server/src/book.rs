//! The documents as a book: the files of docs/, in the order of docs/SUMMARY.md, as HTML. They are part of the binary,
//! so that a service shows the documents of its own version.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Names of documents without `.md`, and their texts: those of docs/, and those beside README.md.
const DOCUMENTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/documents.rs"));
/// Names and contents of the pictures of documents.
const PICTURES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/pictures.rs"));
/// The document at the address of the book itself.
const FRONT: &str = "README";

/// A document as it is shown.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its first heading.
    pub(crate) title: String,
    /// Its text.
    pub(crate) html: String,
}

/// A line of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The heading of a part.
    Part(String),
    /// A document: what it is called there, and its address.
    Page(String, String),
}

/// All documents.
#[derive(Debug)]
pub(crate) struct Book {
    /// The table of contents.
    pub(crate) contents: Vec<Entry>,
    pages: BTreeMap<&'static str, Page>,
}

/// The book, made when the first of its pages is asked for.
pub(crate) static BOOK: LazyLock<Book> = LazyLock::new(|| Book {
    contents: contents(text("SUMMARY").unwrap_or_default()),
    pages: DOCUMENTS.iter().map(|(name, text)| (*name, page(text))).collect(),
});

impl Book {
    /// The document of that name; the empty name is the first page.
    pub(crate) fn page(&self, name: &str) -> Option<&Page> {
        self.pages.get(if name.is_empty() { FRONT } else { name })
    }

    /// The documents before and after an address: what they are called, and their addresses.
    pub(crate) fn beside(&self, address: &str) -> [Option<(&str, &str)>; 2] {
        let pages: Vec<(&str, &str)> = self.contents.iter().filter_map(Entry::page).collect();
        let Some(at) = pages.iter().position(|(_, to)| *to == address) else { return [None, None] };
        [at.checked_sub(1).and_then(|at| pages.get(at)).copied(), pages.get(at + 1).copied()]
    }
}

impl Entry {
    fn page(&self) -> Option<(&str, &str)> {
        match self {
            Entry::Page(title, to) => Some((title, to)),
            Entry::Part(_) => None,
        }
    }
}

/// A picture of the documents.
pub(crate) fn picture(name: &str) -> Option<&'static [u8]> {
    PICTURES.iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
}

fn text(name: &str) -> Option<&'static str> {
    DOCUMENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The address of a document.
fn address(name: &str) -> String {
    if name == FRONT { "/docs".into() } else { format!("/docs/{name}") }
}

/// Headings and links of the summary.
fn contents(summary: &str) -> Vec<Entry> {
    let entry = |line: &str| match line.strip_prefix("# ") {
        Some("Summary") => None,
        Some(part) => Some(Entry::Part(part.to_string())),
        None => {
            let (title, rest) = line.trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
            Some(Entry::Page(title.to_string(), address(rest.strip_suffix(".md)")?)))
        }
    };
    summary.lines().filter_map(entry).collect()
}

/// Where a link of a document leads; nowhere, if it is to a file of the repository that is no part of the book.
fn place(target: &str) -> Option<String> {
    if target.starts_with('#') || target.contains("://") {
        return Some(target.to_string());
    }
    let (path, part) = target.split_at(target.find('#').unwrap_or(target.len()));
    let path = path.trim_start_matches("../");
    let path = path.strip_prefix("docs/").unwrap_or(path);
    if let Some(name) = path.strip_suffix(".md") {
        text(name)?;
        return Some(address(name) + part);
    }
    picture(path.strip_prefix("pictures/")?)?;
    Some(format!("/docs/{path}"))
}

/// A document as HTML: headings have names, links lead within the book.
fn page(text: &str) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut title = None;
    let mut links = Vec::new();
    let mut shown = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let heading = heading(&events[at..]);
                let mut id = slug(&heading);
                let before = names.entry(id.clone()).or_default();
                if *before > 0 {
                    id += &format!("-{before}");
                }
                *before += 1;
                title.get_or_insert(heading);
                let (classes, attrs) = (classes.clone(), attrs.clone());
                shown.push(Event::Start(Tag::Heading { level: *level, id: Some(id.into()), classes, attrs }));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let to = place(dest_url);
                links.push(to.is_some());
                if let Some(to) = to {
                    let (dest_url, title, id) = (to.into(), title.clone(), id.clone());
                    shown.push(Event::Start(Tag::Link { link_type: *link_type, dest_url, title, id }));
                }
            }
            Event::End(TagEnd::Link) if links.pop() == Some(false) => {}
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = place(dest_url).map_or_else(|| dest_url.clone(), CowStr::from);
                let (title, id) = (title.clone(), id.clone());
                shown.push(Event::Start(Tag::Image { link_type: *link_type, dest_url, title, id }));
            }
            other => shown.push(other.clone()),
        }
    }
    let mut html = String::with_capacity(text.len() * 2);
    html::push_html(&mut html, shown.into_iter());
    // Wide tables and code are scrolled, by keyboards too.
    let html = html.replace("<table>", "<table tabindex=\"0\">").replace("<pre>", "<pre tabindex=\"0\">");
    Page { title: title.unwrap_or_default(), html }
}

/// The text of the heading that the events begin with.
fn heading(events: &[Event<'_>]) -> String {
    let within = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    within
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect()
}

/// The name of a heading in addresses, as code hosts make it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
        let opening = format!(" {name}=\"");
        html.split(&opening).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_link_of_the_book_leads_to_a_page_and_a_heading_of_it() {
        let mut broken = Vec::new();
        let mut checked = 0;
        for (name, page) in &BOOK.pages {
            let own = address(name);
            for to in attributes(&page.html, "href").into_iter().chain(attributes(&page.html, "src")) {
                if to.contains("://") {
                    continue;
                }
                checked += 1;
                let (path, part) = to.split_once('#').unwrap_or((to, ""));
                let path = if path.is_empty() { own.as_str() } else { path };
                let found = match path.strip_prefix("/docs/pictures/") {
                    Some(name) => picture(name).is_some(),
                    None => path
                        .strip_prefix("/docs")
                        .and_then(|rest| BOOK.page(rest.trim_start_matches('/')))
                        .is_some_and(|page| part.is_empty() || attributes(&page.html, "id").contains(&part)),
                };
                if !found {
                    broken.push(format!("{name}.md: {to}"));
                }
            }
        }
        assert!(broken.is_empty(), "{}", broken.join("\n"));
        assert!(checked > 200, "{checked} links were found");
    }

    #[test]
    fn the_contents_name_pages_that_are_there_once() {
        let pages: Vec<&str> = BOOK.contents.iter().filter_map(Entry::page).map(|(_, to)| to).collect();
        assert_eq!(pages.first(), Some(&"/docs"));
        assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), pages.len());
        for to in pages {
            assert!(BOOK.page(to.trim_start_matches("/docs").trim_start_matches('/')).is_some(), "{to}");
        }
        assert!(BOOK.contents.contains(&Entry::Part("Explanation".into())));
        let [before, after] = BOOK.beside("/docs/tasks");
        assert_eq!(before.map(|(_, to)| to), Some("/docs"));
        assert!(after.is_some());
    }

    #[test]
    fn headings_have_names_and_foreign_files_no_links() {
        let page = page("# A `b`, c!\n\n## A\n\n## A\n\n[x](../packaging/none.toml) [y](../README.md#z)\n");
        assert_eq!(page.title, "A b, c!");
        assert_eq!(attributes(&page.html, "id"), ["a-b-c", "a", "a-1"]);
        assert_eq!(attributes(&page.html, "href"), ["/docs#z"]);
    }
}
