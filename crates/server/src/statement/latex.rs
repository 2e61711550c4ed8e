//! The part of LaTeX that statements are written in, as HTML. What is not known is left out, with its text kept: a statement that is
//! shown a little plainly can be read, and one that is not shown cannot.

use super::{escape, math};

/// Environments that become an element.
const LISTS: [(&str, &str); 6] = [
    ("itemize", "ul"),
    ("enumerate", "ol"),
    ("description", "dl"),
    ("quote", "blockquote"),
    ("quotation", "blockquote"),
    ("center", "center"),
];
/// Environments of formulas: what is in them is one, on a line of its own.
const FORMULAS: [&str; 8] =
    ["equation", "equation*", "align", "align*", "displaymath", "math", "gather", "gather*"];
/// Commands whose argument becomes an element.
const STYLES: [(&str, &str); 14] = [
    ("textbf", "strong"),
    ("emph", "em"),
    ("textit", "em"),
    ("textsl", "em"),
    ("texttt", "code"),
    ("underline", "u"),
    ("textsuperscript", "sup"),
    ("textsubscript", "sub"),
    ("section", "h2"),
    ("subsection", "h3"),
    ("subsubsection", "h4"),
    ("paragraph", "strong"),
    ("caption", "figcaption"),
    ("footnote", "small"),
];
/// Commands that stand for text.
const SIGNS: [(&str, &str); 14] = [
    ("ldots", "…"),
    ("dots", "…"),
    ("textellipsis", "…"),
    ("textbackslash", "\\"),
    ("textasciitilde", "~"),
    ("textasciicircum", "^"),
    ("LaTeX", "LaTeX"),
    ("TeX", "TeX"),
    ("quad", "\u{2003}"),
    ("qquad", "\u{2003}\u{2003}"),
    ("textendash", "–"),
    ("textemdash", "—"),
    ("ss", "ß"),
    ("euro", "€"),
];
/// Commands that say nothing here, each with how many arguments go with it.
const SILENT: [(&str, usize); 17] = [
    ("label", 1),
    ("vspace", 1),
    ("hspace", 1),
    ("setlength", 2),
    ("usepackage", 1),
    ("documentclass", 1),
    ("input", 1),
    ("nextsample", 0),
    ("remainingsamples", 0),
    ("sampleinteraction", 2),
    ("centering", 0),
    ("noindent", 0),
    ("hline", 0),
    ("cline", 1),
    ("ref", 1),
    ("newcommand", 2),
    ("pagestyle", 1),
];
/// How deep groups may lie in each other.
const DEEPEST: usize = 40;

/// A text as HTML, which is not safe yet, and its title, where it has one.
pub(super) fn html(text: &str) -> (String, Option<String>) {
    let text = without_comments(text);
    let body = text.split_once("\\begin{document}").map_or(text.as_str(), |(_, body)| body);
    let body = body.split("\\end{document}").next().unwrap_or_default();
    let mut reader = Reader::new(body, 0);
    reader.read(None);
    (paragraphs(&reader.out), reader.title.filter(|title| !title.is_empty()))
}

/// The text of some HTML, on one line.
fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    for (n, part) in html.split('<').enumerate() {
        text.push_str(if n == 0 { part } else { part.split_once('>').map_or("", |(_, after)| after) });
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How wide a picture is to be, as the attribute of an image: a part of the line (`0.3`, `.5\\textwidth`) in percent, a length in pixels.
fn width(text: &str) -> Option<String> {
    const LINES: [&str; 4] = ["\\textwidth", "\\linewidth", "\\columnwidth", "\\hsize"];
    const UNITS: [(&str, f64); 7] =
        [("cm", 37.8), ("mm", 3.78), ("in", 96.0), ("pt", 1.33), ("em", 16.0), ("ex", 8.0), ("px", 1.0)];
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    if let Some((length, pixels)) = UNITS.iter().find_map(|(unit, px)| Some((text.strip_suffix(unit)?, px))) {
        return number(length).map(|length| format!("{:.0}", (length * pixels).clamp(1.0, 4000.0)));
    }
    let part = LINES.iter().find_map(|line| text.strip_suffix(line)).unwrap_or(text).trim();
    let part = if part.is_empty() { Some(1.0) } else { number(part) }?;
    Some(format!("{:.0}%", (part * 100.0).clamp(1.0, 100.0)))
}

fn without_comments(text: &str) -> String {
    let line = |line: &str| {
        let bytes = line.as_bytes();
        let comment = (0..bytes.len()).find(|at| bytes[*at] == b'%' && (*at == 0 || bytes[at - 1] != b'\\'));
        comment.map_or(line, |at| &line[..at]).to_string() + "\n"
    };
    text.lines().map(line).collect()
}

/// Marks the end of a paragraph until [`paragraphs`].
const BREAK: char = '\u{1}';

/// Wraps what stands between breaks, but for blocks, which stand alone.
fn paragraphs(html: &str) -> String {
    const BLOCKS: [&str; 12] =
        ["<h", "</", "<ul", "<ol", "<dl", "<li", "<d", "<table", "<t", "<pre", "<blockquote", "<center"];
    let part = |part: &str| {
        let part = part.trim();
        match () {
            () if part.is_empty() => String::new(),
            () if BLOCKS.iter().any(|block| part.starts_with(block)) || part.starts_with("<figure") => {
                format!("{part}\n")
            }
            () => format!("<p>{part}</p>\n"),
        }
    };
    html.split(BREAK).map(part).collect()
}

struct Reader<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
    /// What `\\problemname` says.
    title: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(rest: &'a str, depth: usize) -> Reader<'a> {
        Reader { rest, out: String::new(), depth, title: None }
    }

    /// Reads up to `\end{…}` of an environment, or to the end of the text.
    fn read(&mut self, environment: Option<&str>) {
        while let Some(at) = self.rest.find(['\\', '$', '{', '}', '~', '`', '\'', '-', '&', '<', '>', '\n']) {
            let (before, after) = self.rest.split_at(at);
            self.out.push_str(before);
            self.rest = after;
            if let Some(environment) = environment
                && let Some(after) = self.rest.strip_prefix(&format!("\\end{{{environment}}}"))
            {
                self.rest = after;
                return;
            }
            self.one();
        }
        self.out.push_str(self.rest);
        self.rest = "";
    }

    /// One thing that is not plain text.
    fn one(&mut self) {
        const PLAIN: [(&str, &str); 11] = [
            ("---", "—"),
            ("--", "–"),
            ("-", "-"),
            ("``", "“"),
            ("''", "”"),
            ("`", "‘"),
            ("'", "’"),
            ("~", "\u{a0}"),
            ("&", "&amp;"),
            ("<", "&lt;"),
            (">", "&gt;"),
        ];
        if let Some((text, sign)) = PLAIN.iter().find(|(text, _)| self.rest.starts_with(text)) {
            self.out.push_str(sign);
            self.rest = &self.rest[text.len()..];
        } else if self.rest.starts_with("\n") {
            let lines = self.rest.len() - self.rest.trim_start().len();
            let blank = self.rest[..lines].matches('\n').count() > 1;
            self.out.push(if blank { BREAK } else { '\n' });
            self.rest = &self.rest[lines..];
        } else if let Some(rest) = self.rest.strip_prefix("$$") {
            let formula = self.upto(rest, "$$");
            self.out.push_str(&math::display(formula));
        } else if let Some(rest) = self.rest.strip_prefix('$') {
            let formula = self.formula(rest);
            self.out.push_str(&math::inline(formula));
        } else if self.rest.starts_with('\\') {
            self.command();
        } else {
            // Braces alone only group.
            self.rest = &self.rest[1..];
        }
    }

    /// What stands before `end`, which is passed.
    fn upto(&mut self, rest: &'a str, end: &str) -> &'a str {
        let (inside, after) = rest.split_once(end).unwrap_or((rest, ""));
        self.rest = after;
        inside
    }

    /// A formula up to the dollar that is not escaped.
    fn formula(&mut self, rest: &'a str) -> &'a str {
        let bytes = rest.as_bytes();
        let end = (0..bytes.len()).find(|at| bytes[*at] == b'$' && (*at == 0 || bytes[at - 1] != b'\\'));
        let end = end.unwrap_or(rest.len());
        self.rest = rest.get(end + 1..).unwrap_or_default();
        &rest[..end]
    }

    fn command(&mut self) {
        let after = &self.rest[1..];
        let length = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let name = &after[..length];
        if length == 0 {
            let sign = after.chars().next().unwrap_or(' ');
            self.rest = &after[after.chars().next().map_or(0, char::len_utf8)..];
            return self.sign(sign);
        }
        self.rest = after[length..].strip_prefix('*').unwrap_or(&after[length..]);
        // The space behind a command's name belongs to it.
        if length > 0 && self.rest.starts_with(' ') {
            self.rest = &self.rest[1..];
        }
        self.named(name);
    }

    /// A command of one sign.
    fn sign(&mut self, sign: char) {
        match sign {
            '\\' => {
                self.argument('[', ']');
                self.out.push_str("<br>");
            }
            '[' => {
                let formula = self.upto(self.rest, "\\]");
                self.out.push_str(&math::display(formula));
            }
            '(' => {
                let formula = self.upto(self.rest, "\\)");
                self.out.push_str(&math::inline(formula));
            }
            ',' | ';' | ':' | ' ' => self.out.push('\u{2009}'),
            '-' | '/' | '!' => {}
            other => self.out.push_str(&escape(&other.to_string())),
        }
    }

    fn named(&mut self, name: &str) {
        if let Some((_, element)) = STYLES.iter().find(|(known, _)| *known == name) {
            self.argument('[', ']');
            let inside = self.inner();
            let block = element.starts_with('h') || *element == "figcaption";
            let ends = if block { BREAK.to_string() } else { String::new() };
            self.out.push_str(&format!("{ends}<{element}>{inside}</{element}>{ends}"));
            return;
        }
        if let Some((_, sign)) = SIGNS.iter().find(|(known, _)| *known == name) {
            return self.out.push_str(&escape(sign));
        }
        if let Some((_, arguments)) = SILENT.iter().find(|(known, _)| *known == name) {
            self.argument('[', ']');
            for _ in 0..*arguments {
                self.argument('{', '}');
            }
            return;
        }
        match name {
            "begin" => self.environment(),
            "end" => {
                self.argument('{', '}');
            }
            "problemname" => {
                let title = plain(&self.inner());
                self.title.get_or_insert(title);
            }
            "par" => self.out.push(BREAK),
            "verb" => self.verb(),
            "url" => {
                let to = escape(self.argument('{', '}').unwrap_or_default());
                self.out.push_str(&format!("<a href=\"{to}\">{to}</a>"));
            }
            "href" => {
                let to = escape(self.argument('{', '}').unwrap_or_default());
                let inside = self.inner();
                self.out.push_str(&format!("<a href=\"{to}\">{inside}</a>"));
            }
            "includegraphics" => {
                let options = self.argument('[', ']').unwrap_or_default().split(',');
                let wide = options.filter_map(|option| option.split_once('='));
                let wide =
                    wide.filter(|(name, _)| name.trim() == "width").find_map(|(_, value)| width(value));
                let image = self.image(wide);
                self.out.push_str(&image);
            }
            // Kattis: width, file, caption.
            "illustration" => {
                let wide = self.argument('{', '}').and_then(width);
                let image = self.image(wide);
                let caption = match self.inner() {
                    caption if caption.trim().is_empty() => String::new(),
                    caption => format!("<figcaption>{caption}</figcaption>"),
                };
                self.out.push_str(&format!("{BREAK}<figure>{image}{caption}</figure>{BREAK}"));
            }
            // Its arguments are groups, which are shown.
            _ => {}
        }
    }

    /// The picture that the next argument names.
    fn image(&mut self, wide: Option<String>) -> String {
        let from = escape(self.argument('{', '}').unwrap_or_default());
        let wide = wide.map_or(String::new(), |wide| format!(" width=\"{wide}\""));
        format!("<img src=\"{from}\" alt=\"\"{wide}>")
    }

    /// The next argument of a command as it is written, where there is one.
    fn argument(&mut self, open: char, close: char) -> Option<&'a str> {
        let inside = self.rest.trim_start().strip_prefix(open)?;
        let (mut depth, mut escaped) = (0usize, false);
        for (at, c) in inside.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == close && depth == 0 => {
                    self.rest = &inside[at + 1..];
                    return Some(&inside[..at]);
                }
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    /// The next argument of a command, read.
    fn inner(&mut self) -> String {
        let argument = self.argument('{', '}').unwrap_or_default();
        self.nested(argument)
    }

    fn nested(&self, text: &str) -> String {
        if self.depth >= DEEPEST {
            return escape(text);
        }
        let mut inside = Reader::new(text, self.depth + 1);
        inside.read(None);
        inside.out
    }

    fn verb(&mut self) {
        let Some(quote) = self.rest.chars().next() else { return };
        let inside = self.upto(&self.rest[quote.len_utf8()..], &quote.to_string());
        self.out.push_str(&format!("<code>{}</code>", escape(inside)));
    }

    fn environment(&mut self) {
        let Some(name) = self.argument('{', '}') else { return };
        let inside = self.upto(self.rest, &format!("\\end{{{name}}}"));
        // One of the same name may lie in it.
        let (mut inside, begin) = (inside.to_string(), format!("\\begin{{{name}}}"));
        while inside.matches(&begin).count() > inside.matches(&format!("\\end{{{name}}}")).count()
            && !self.rest.is_empty()
        {
            let more = self.upto(self.rest, &format!("\\end{{{name}}}"));
            inside = format!("{inside}\\end{{{name}}}{more}");
        }
        let html = if FORMULAS.contains(&name) {
            let aligned = name.starts_with("align") || name.starts_with("gather");
            let formula =
                if aligned { format!("\\begin{{aligned}}{inside}\\end{{aligned}}") } else { inside };
            math::display(&formula)
        } else if name.starts_with("tabular") {
            self.table(&inside)
        } else if name == "verbatim" || name == "lstlisting" {
            format!("{BREAK}<pre>{}</pre>{BREAK}", escape(inside.trim_matches('\n')))
        } else if let Some((_, element)) = LISTS.iter().find(|(known, _)| *known == name) {
            format!("{BREAK}<{element}>{}</{element}>{BREAK}", self.items(&inside, element))
        } else {
            self.nested(&inside)
        };
        self.out.push_str(&html);
    }

    fn items(&self, inside: &str, element: &str) -> String {
        if matches!(element, "blockquote" | "center") {
            return joined(&self.nested(inside));
        }
        let mut parts = outer_items(inside).into_iter();
        parts.next();
        let item = |part: &str| {
            let mut reader = Reader::new(part, self.depth);
            let term = reader.argument('[', ']').map(|term| self.nested(term));
            let text = joined(&self.nested(reader.rest));
            match (element, term) {
                ("dl", term) => format!("<dt>{}</dt><dd>{text}</dd>", term.unwrap_or_default()),
                (_, Some(term)) => format!("<li>{term} {text}</li>"),
                (_, None) => format!("<li>{text}</li>"),
            }
        };
        parts.map(item).collect()
    }

    fn table(&self, inside: &str) -> String {
        let mut reader = Reader::new(inside, self.depth);
        reader.argument('{', '}');
        let row = |row: &str| {
            let cells = row.replace("\\&", "\u{2}");
            let cell =
                |cell: &str| format!("<td>{}</td>", joined(&self.nested(&cell.replace('\u{2}', "\\&"))));
            format!("<tr>{}</tr>", cells.split('&').map(cell).collect::<String>())
        };
        let text = reader.rest.replace("\\hline", "");
        let rows: String = text.split("\\\\").filter(|text| !text.trim().is_empty()).map(row).collect();
        format!("{BREAK}<table><tbody>{rows}</tbody></table>{BREAK}")
    }
}

/// Text whose paragraphs are lines of one element.
fn joined(text: &str) -> String {
    text.trim_matches(|c: char| c == BREAK || c.is_whitespace()).replace(BREAK, "<br>")
}

/// A list cut at its own `\item`, not at those of lists in it.
fn outer_items(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from, mut at) = (Vec::new(), 0usize, 0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let rest = &text[at..];
        if rest.starts_with("\\begin{") {
            depth += 1;
        } else if rest.starts_with("\\end{") {
            depth = depth.saturating_sub(1);
        } else if depth == 0
            && rest.starts_with("\\item")
            && !rest[5..].starts_with(|c: char| c.is_ascii_alphabetic())
        {
            parts.push(&text[from..at]);
            from = at + 5;
        }
        at += 1;
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_become_html() {
        for (tex, want) in [
            ("\\problemname{X}\nOne.\n\nTwo -- ``three''.", "<p>One.</p>\n<p>Two – “three”.</p>\n"),
            (
                "\\section*{Input}\nA \\textbf{bold \\emph{one}} 50\\%.",
                "<h2>Input</h2>\n<p>A <strong>bold <em>one</em></strong> 50%.</p>\n",
            ),
            ("a % comment\nb < c & d", "<p>a \nb &lt; c &amp; d</p>\n"),
            (
                "\\begin{itemize}\\item one \\item two \\begin{enumerate}\\item x\\end{enumerate}\\end{itemize}",
                "<ul><li>one</li><li>two <br><ol><li>x</li></ol></li></ul>\n",
            ),
            (
                "\\begin{tabular}{|l|r|}\n\\hline\na & \\textit{b}\\\\ \\hline 1 & 2 \\\\\\end{tabular}",
                "<table><tbody><tr><td>a</td><td><em>b</em></td></tr><tr><td>1</td><td>2</td></tr></tbody></table>\n",
            ),
            ("\\begin{verbatim}\n<a>  b\n\\end{verbatim}", "<pre>&lt;a&gt;  b</pre>\n"),
            ("\\verb|x_1| \\unknown{kept}", "<p><code>x_1</code> kept</p>\n"),
        ] {
            assert_eq!(html(tex).0, want, "{tex}");
        }
        assert!(html("$n \\le 3$").0.contains("<math") && html("\\[x\\]").0.contains("display=\"block\""));
    }

    #[test]
    fn the_title_is_told_and_not_shown_twice() {
        for (tex, title) in [
            ("\\problemname{A \\& B}\nText", Some("A & B")),
            ("\\problemname{The \\emph{old}\n one}", Some("The old one")),
            ("\\problemname{  }", None),
            ("Text", None),
        ] {
            let (html, found) = html(tex);
            assert_eq!(found.as_deref(), title, "{tex}");
            assert!(!html.contains("old") && !html.contains('&'), "{html}");
        }
    }

    #[test]
    fn pictures_are_as_wide_as_asked() {
        for (tex, want) in [
            (
                "\\illustration{0.3}{a.png}{A \\emph{cat}}",
                "<figure><img src=\"a.png\" alt=\"\" width=\"30%\"><figcaption>A <em>cat</em></figcaption></figure>\n",
            ),
            ("\\illustration{.5}{a.png}{}", "<figure><img src=\"a.png\" alt=\"\" width=\"50%\"></figure>\n"),
            (
                "\\includegraphics[width=0.25\\textwidth]{a}",
                "<p><img src=\"a\" alt=\"\" width=\"25%\"></p>\n",
            ),
            (
                "\\includegraphics[angle=90, width=\\linewidth]{a}",
                "<p><img src=\"a\" alt=\"\" width=\"100%\"></p>\n",
            ),
            ("\\includegraphics[width=5cm]{a}", "<p><img src=\"a\" alt=\"\" width=\"189\"></p>\n"),
            ("\\includegraphics[scale=2]{a}", "<p><img src=\"a\" alt=\"\"></p>\n"),
            ("\\illustration{wide\"x}{a}{}", "<figure><img src=\"a\" alt=\"\"></figure>\n"),
        ] {
            assert_eq!(html(tex).0, want, "{tex}");
        }
        for (text, wide) in
            [("9", Some("100%")), ("-1", None), ("0", None), ("NaN", None), ("1e300cm", Some("4000"))]
        {
            assert_eq!(width(text).as_deref(), wide, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_breaks_it(text in "(\\\\(begin|end)\\{(itemize|tabular|a)\\}|\\\\item|\\\\[a-z]{1,4}|[{}$&\\[\\] \n%a~é]){0,40}") {
            html(&text);
        }
    }
}
