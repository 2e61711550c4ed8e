//! The documents as a site: mdBook builds book.toml, and every link and picture of the site leads to a file and a
//! heading of it. Links that leave the documents are refused: they would work on the repository's site alone.

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// Builds the book outside the repository; the names of its pages.
fn build(site: &Path) -> Vec<PathBuf> {
    let mut book = MDBook::load(super::root()).expect("book.toml and SUMMARY.md");
    book.config.build.build_dir = site.to_path_buf();
    book.build().expect("mdBook builds the book");
    let pages = book.iter().filter_map(|item| match item {
        BookItem::Chapter(chapter) => chapter.path.as_deref().map(page),
        _ => None,
    });
    pages.collect()
}

/// Where mdBook writes a document.
fn page(document: &Path) -> PathBuf {
    let name = if document.ends_with("README.md") { Path::new("index.md") } else { document };
    name.with_extension("html")
}

/// All HTML files below a directory, with their paths in it.
fn html_files(site: &Path) -> io::Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    let mut directories = vec![site.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                let name = path.strip_prefix(site).expect("below the site").to_path_buf();
                files.insert(name, fs::read_to_string(&path)?);
            }
        }
    }
    Ok(files)
}

/// The values that an attribute has in the elements of a page, except `base`: that is where the page lies.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    let elements = html.split('<').filter(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()));
    let elements = elements.filter_map(|rest| rest.split_once('>')).map(|(element, _)| element);
    let elements = elements.filter(|element| !element.starts_with("base "));
    elements.filter_map(|element| element.split_once(&opening)?.1.split('"').next()).collect()
}

/// Where a relative link leads, as a path in the site and a heading; nothing for links to other sites.
fn target(page: &Path, link: &str) -> Option<(PathBuf, String)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return Some((page.to_path_buf(), heading.to_string()));
    }
    let mut found = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            // Above the site there is none of its files.
            Component::ParentDir if !found.pop() => found.push(".."),
            Component::Normal(name) => found.push(name),
            _ => {}
        }
    }
    Some((found, heading.to_string()))
}

/// Links of a site that lead nowhere, and how many there are in all.
fn check(site: &Path, files: &BTreeMap<PathBuf, String>) -> (Vec<String>, usize) {
    let mut broken = Vec::new();
    let mut checked = 0;
    for (page, html) in files {
        for link in attributes(html, "href").into_iter().chain(attributes(html, "src")) {
            let Some((to, heading)) = target(page, link) else { continue };
            checked += 1;
            let there = site.join(&to).is_file()
                && (heading.is_empty()
                    || files.get(&to).is_some_and(|html| attributes(html, "id").contains(&heading.as_str())));
            if !there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    (broken, checked)
}

pub(crate) fn mdbook_builds_the_documents_and_their_links_lead_somewhere() {
    let site = tempfile::tempdir().expect("a directory");
    let pages = build(site.path());
    let files = html_files(site.path()).expect("the site can be read");
    let missing: Vec<_> = pages.iter().filter(|page| !files.contains_key(*page)).collect();
    assert!(missing.is_empty() && pages.len() > 40, "{} pages, without {missing:?}", pages.len());
    let (broken, checked) = check(site.path(), &files);
    assert!(broken.is_empty(), "{} of {checked} links lead nowhere:\n{}", broken.len(), broken.join("\n"));
    assert!(checked > 2000, "only {checked} links were found");
}

pub(crate) fn links_that_lead_nowhere_are_found() {
    let site = tempfile::tempdir().expect("a directory");
    let text = "<h2 id=\"x\">x &lt;a href=&quot;no&quot;&gt;</h2><a href=\"#x\"></a><a class=\"b\" href=\"#y\"></a>\
                <a href=\"../a.html\"></a><a href=\"b/c.html#x\"></a><img src=\"b.png\"><a href=\"https://a.b/c\"></a>";
    fs::create_dir(site.path().join("b")).expect("a directory");
    for (name, text) in [("a.html", text), ("b/c.html", "<a href=\"../a.html#x\"></a><a href=\"./d\"></a>")] {
        fs::write(site.path().join(name), text).expect("a page");
    }
    let (broken, checked) = check(site.path(), &html_files(site.path()).expect("pages"));
    let expected =
        ["a.html: #y", "a.html: ../a.html", "a.html: b/c.html#x", "a.html: b.png", "b/c.html: ./d"];
    assert_eq!((broken, checked), (expected.map(String::from).to_vec(), 7));
}
