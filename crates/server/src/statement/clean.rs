//! HTML reduced to what cannot do harm: it is read tag by tag and written anew, with known elements and attributes alone. Text is
//! always escaped, and no element is let through whose content browsers read by other rules, so that what is written here is read
//! by them as it was meant.

use super::escape;

/// Elements of text and of formulas.
const ELEMENTS: [&str; 78] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "math",
    "mi",
    "mn",
    "mo",
    "ms",
    "mtext",
    "mspace",
    "mrow",
    "mfrac",
    "msqrt",
    "mroot",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mmultiscripts",
    "mprescripts",
    "mtable",
    "mtr",
    "mtd",
    "mpadded",
    "mphantom",
];
/// Elements without an end.
const EMPTY: [&str; 5] = ["br", "hr", "img", "col", "mspace"];
/// Elements whose content is left out too.
const DROPPED: [&str; 12] = [
    "script", "style", "title", "iframe", "object", "template", "noscript", "textarea", "svg", "select",
    "xmp", "noembed",
];
/// Attributes that say how, never where to or what to do.
const ATTRIBUTES: [&str; 24] = [
    "alt",
    "title",
    "colspan",
    "rowspan",
    "align",
    "start",
    "lang",
    "dir",
    "width",
    "height",
    "display",
    "stretchy",
    "fence",
    "separator",
    "form",
    "largeop",
    "movablelimits",
    "accent",
    "linethickness",
    "lspace",
    "rspace",
    "mathvariant",
    "displaystyle",
    "scriptlevel",
];

/// The harmless part of some HTML. `picture` gives the address to use for that of an image, or `None` to leave it out.
pub(super) fn clean(html: &str, picture: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(html.len());
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text(&mut out, &rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.find("-->").map_or("", |end| &after[end + 3..]);
            continue;
        }
        let Some((tag, after)) = tag(rest) else {
            out.push_str("&lt;");
            rest = &rest[1..];
            continue;
        };
        rest = after;
        if DROPPED.contains(&tag.name.as_str()) {
            if !tag.end {
                rest = beyond(rest, &tag.name);
            }
            continue;
        }
        if let Some(name) = ELEMENTS.iter().find(|known| **known == tag.name) {
            write(&mut out, &mut open, name, &tag, picture);
        }
    }
    text(&mut out, rest);
    for name in open.iter().rev() {
        out.push_str(&format!("</{name}>"));
    }
    out
}

struct Tag {
    name: String,
    end: bool,
    attributes: Vec<(String, String)>,
}

fn write(
    out: &mut String,
    open: &mut Vec<&'static str>,
    name: &'static str,
    tag: &Tag,
    picture: &dyn Fn(&str) -> Option<String>,
) {
    if tag.end {
        // Only what is open is closed, with all that is in it.
        if let Some(at) = open.iter().rposition(|other| *other == name) {
            for name in open.drain(at..).rev() {
                out.push_str(&format!("</{name}>"));
            }
        }
        return;
    }
    let mut attributes = String::new();
    let mut put = |name: &str, value: &str| attributes.push_str(&format!(" {name}=\"{}\"", escape(value)));
    for (key, value) in &tag.attributes {
        match (name, key.as_str()) {
            ("a", "href") if is_link(value) => {
                put("href", value);
                put("rel", "noopener noreferrer");
            }
            ("img", "src") => match picture(value) {
                Some(place) => put("src", &place),
                None => return,
            },
            (_, key) if ATTRIBUTES.contains(&key) => put(key, value),
            _ => {}
        }
    }
    if name == "img" && !tag.attributes.iter().any(|(key, _)| key == "alt") {
        put("alt", "");
    }
    // In formulas an element ends where it says so (HTML, section "Foreign elements"); elsewhere the slash means nothing.
    let end = if name == "mspace" { "/" } else { "" };
    out.push_str(&format!("<{name}{attributes}{end}>"));
    if !EMPTY.contains(&name) {
        open.push(name);
    }
}

/// To the web, to a place on the page, or a letter; not to a script.
fn is_link(to: &str) -> bool {
    let to = to.trim().to_ascii_lowercase();
    ["https://", "http://", "mailto:", "#"].iter().any(|start| to.starts_with(start))
}

/// Text with its entities left as they are.
fn text(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '>', '"']) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'&' if is_entity(&rest[at..]) => out.push('&'),
            b'&' => out.push_str("&amp;"),
            b'>' => out.push_str("&gt;"),
            _ => out.push_str("&quot;"),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn is_entity(text: &str) -> bool {
    let Some(end) = text.bytes().take(12).position(|b| b == b';') else { return false };
    let name = &text[1..end];
    !name.is_empty()
        && name.bytes().enumerate().all(|(n, b)| b.is_ascii_alphanumeric() || (n == 0 && b == b'#'))
}

/// The tag that a text begins with, and what follows it.
fn tag(text: &str) -> Option<(Tag, &str)> {
    let inside = text.strip_prefix('<')?;
    let (end, inside) = inside.strip_prefix('/').map_or((false, inside), |rest| (true, rest));
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let length = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let name = inside[..length].to_ascii_lowercase();
    let (attributes, rest) = attributes(&inside[length..])?;
    Some((Tag { name, end, attributes }, rest))
}

/// Attributes up to the end of a tag, and what follows it; `None` where it has no end.
fn attributes(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return Some((all, after));
        }
        let length = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/'))?;
        let name = rest[..length].to_ascii_lowercase();
        rest = rest[length..].trim_start();
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let (raw, next) = match after.chars().next()? {
                quote @ ('"' | '\'') => after[1..].split_once(quote)?,
                _ => after.split_at(after.find(|c: char| c.is_ascii_whitespace() || c == '>')?),
            };
            value =
                raw.replace("&amp;", "&").replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
            rest = next;
        }
        // A lone `=` has no name.
        if length == 0 && value.is_empty() {
            rest = &rest[rest.chars().next()?.len_utf8()..];
        }
        all.push((name, value));
    }
}

/// What follows the end of an element that is left out.
fn beyond<'a>(rest: &'a str, name: &str) -> &'a str {
    let lower = rest.to_ascii_lowercase();
    match lower.find(&format!("</{name}")) {
        Some(at) => rest[at..].split_once('>').map_or("", |(_, after)| after),
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(html: &str) -> String {
        clean(html, &|name| (name == "a.png").then(|| "/p/a.png".to_string()))
    }

    #[test]
    fn only_the_harmless_is_left() {
        for (html, want) in [
            ("<p>a &lt; b & c</p>", "<p>a &lt; b &amp; c</p>"),
            ("<P onclick=x Align='left'>a", "<p align=\"left\">a</p>"),
            ("<script>alert(1)</script>b", "b"),
            ("<scr<script>ipt>x", "ipt&gt;x"),
            ("<img src=a.png onerror=x>", "<img src=\"/p/a.png\" alt=\"\">"),
            ("<img src=https://evil/x.png>", ""),
            ("<a href=javascript:x>y</a>", "<a>y</a>"),
            ("<a href=' JaVaScRiPt:x'>y</a>", "<a>y</a>"),
            (
                "<a href=\"https://a.b/?x=1&amp;y\">z</a>",
                "<a href=\"https://a.b/?x=1&amp;y\" rel=\"noopener noreferrer\">z</a>",
            ),
            ("<b><i>x</b>y", "<b><i>x</i></b>y"),
            ("</div>x<br/>y", "x<br>y"),
            ("<!-- <b> -->z", "z"),
            ("<style>p{}</style><svg><p>x</svg>q", "q"),
            (
                "<math><mn>1</mn><mspace width='1em' /><mn>0</mn></math>",
                "<math><mn>1</mn><mspace width=\"1em\"/><mn>0</mn></math>",
            ),
            ("1 < 2 <", "1 &lt; 2 &lt;"),
            (
                "<math display=\"block\"><mi style=\"color:red\" mathvariant=\"normal\">x</mi></math>",
                "<math display=\"block\"><mi mathvariant=\"normal\">x</mi></math>",
            ),
            ("<p title='\"><script>'>x</p>", "<p title=\"&quot;&gt;&lt;script&gt;\">x</p>"),
        ] {
            assert_eq!(cleaned(html), want, "{html}");
        }
    }

    proptest! {
        #[test]
        fn every_tag_that_is_left_is_known(html in "([<>/='\" a-c&;!-]|<script|<svg|<p |onx=|href=|javascript:|</){0,60}") {
            let out = cleaned(&html);
            for part in out.split('<').skip(1) {
                let name: String = part.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                prop_assert!(ELEMENTS.contains(&name.as_str()), "{html:?} became {out:?}");
                prop_assert!(part.contains('>'), "{html:?} became {out:?}");
            }
            prop_assert!(!out.contains("onx=\""), "{out:?}");
            // What was cleaned is clean.
            prop_assert_eq!(cleaned(&out).matches('<').count(), out.matches('<').count());
        }
    }
}
