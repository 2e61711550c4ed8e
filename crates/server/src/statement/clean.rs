//! HTML reduced to what cannot do harm: read as browsers read it, and written again with known elements and attributes alone.

use ammonia::Builder;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

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

/// The harmless part of some HTML. `pictures` are those that it may show: what each is called, and its address.
pub(super) fn clean(html: &str, pictures: &BTreeMap<String, String>) -> String {
    let pictures = pictures.clone();
    let reduced = Builder::default()
        .tags(ELEMENTS.into())
        .clean_content_tags(DROPPED.into())
        .tag_attributes(HashMap::from([("a", ["href"].into()), ("img", ["src"].into())]))
        .generic_attributes(ATTRIBUTES.into())
        .url_schemes(["http", "https", "mailto"].into())
        .link_rel(Some("noopener noreferrer"))
        .attribute_filter(move |element, attribute, value| match (element, attribute) {
            ("a", "href") => is_link(value).then_some(Cow::Borrowed(value)),
            ("img", "src") => {
                let name = value.strip_prefix("./").unwrap_or(value);
                pictures.get(name).map(|place| Cow::Owned(place.clone()))
            }
            _ => Some(Cow::Borrowed(value)),
        })
        .clean(html)
        .to_string();
    images(&reduced)
}

/// To the web, to a place on the page, or a letter.
fn is_link(to: &str) -> bool {
    let to = to.trim().to_ascii_lowercase();
    ["https://", "http://", "mailto:", "#"].iter().any(|start| to.starts_with(start))
}

/// Of what was reduced, so that every `<` in it begins a tag: images without a place are left out, and others have a text.
fn images(html: &str) -> String {
    let mut parts = html.split("<img");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (attributes, after) = part.split_once('>').unwrap_or((part, ""));
        if attributes.contains(" src=\"") {
            let alt = if attributes.contains(" alt=\"") { "" } else { " alt=\"\"" };
            out.push_str(&format!("<img{attributes}{alt}>"));
        }
        out.push_str(after);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(html: &str) -> String {
        clean(html, &BTreeMap::from([("a.png".to_string(), "/p/a.png".to_string())]))
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
            ("<a href=javascript:x>y</a>", "<a rel=\"noopener noreferrer\">y</a>"),
            ("<a href=' JaVaScRiPt:x'>y</a>", "<a rel=\"noopener noreferrer\">y</a>"),
            (
                "<a href=\"https://a.b/?x=1&amp;y\">z</a>",
                "<a href=\"https://a.b/?x=1&amp;y\" rel=\"noopener noreferrer\">z</a>",
            ),
            ("<b><i>x</b>y", "<b><i>x</i></b><i>y</i>"),
            ("</div>x<br/>y", "x<br>y"),
            ("<!-- <b> -->z", "z"),
            ("<style>p{}</style><svg><p>x</svg>q", "<p>xq</p>"),
            (
                "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=x&gt;'>",
                "<math><mtext><table></table></mtext></math>",
            ),
            (
                "<math><mn>1</mn><mspace width='1em' /><mn>0</mn></math>",
                "<math><mn>1</mn><mspace width=\"1em\"></mspace><mn>0</mn></math>",
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
                let tag = part.split_once('>').map(|(tag, _)| tag);
                prop_assert!(tag.is_some_and(|tag| !tag.contains("onx=\"")), "{html:?} became {out:?}");
            }
            // What was cleaned is clean.
            prop_assert_eq!(cleaned(&out).matches('<').count(), out.matches('<').count());
        }
    }
}
