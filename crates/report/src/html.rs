//! Pages: one file each, with everything in it, and no script.

mod bench;
mod chart;
mod consistency;
mod index;
mod ladder;
mod layout;
mod limits;
mod link_order;
mod perturb;
mod plots;
mod power;
mod runs;
mod shadow;
mod tables;
mod trace;

pub use bench::bench_page;
pub use consistency::consistency_page;
pub use index::{comparison_page, index_page};
pub use ladder::ladder_page;
pub use layout::layout_page;
pub use limits::limits_page;
pub use link_order::link_order_page;
pub use perturb::perturb_page;
pub use power::{PowerCurve, power_chart};
pub use runs::{ChartedRun, RunsChart, runs_chart};
pub use shadow::shadow_page;
pub use trace::trace_page;

/// Text as HTML shows it, in elements and in quoted attributes. What would turn or steer text is shown as `·`.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in crate::text::harmless(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Sentences, one below the other.
pub(crate) fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// A whole page. `title` is text, `body` is HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Contrasts are at least 4.5 : 1 on both grounds.
const STYLE: &str = "\
:root { color-scheme: light dark; --ground: #ffffff; --text: #1c1f23; --dim: #5a626c; --line: #d3d8de; --dot: #1f5fbf; --void: #b3261e; --mark: #8a5a00; --box: #fdf3dc;
  --c0: #1f5fbf; --c1: #b3471e; --c2: #23783a; --c3: #7a3fa8; --c4: #8a5a00; --c5: #00737a; }
@media (prefers-color-scheme: dark) { :root { --ground: #15181c; --text: #e7eaee; --dim: #a3acb7; --line: #3a424b; --dot: #7db1ff; --void: #ff9b91; --mark: #f0c060; --box: #33290f;
  --c0: #7db1ff; --c1: #ff9d73; --c2: #7fd494; --c3: #cfa3f2; --c4: #f0c060; --c5: #67d3da; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin-top: 2.5rem; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.dim { color: var(--dim); }
.warning { background: var(--box); border-left: 4px solid var(--mark); padding: .5rem .75rem; margin: .5rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .75rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; }
td.text { white-space: normal; min-width: 11rem; overflow-wrap: anywhere; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
tr.void td { color: var(--void); }
summary { cursor: pointer; padding: .4rem 0; }
svg { display: block; width: 100%; min-width: 720px; height: auto; }
svg text { font: 14px system-ui, sans-serif; fill: var(--text); }
svg .tick { fill: var(--dim); }
svg .axis { stroke: var(--dim); }
svg .grid { stroke: var(--line); }
svg .limit { stroke: var(--mark); stroke-dasharray: 6 4; }
svg .limit-text { fill: var(--mark); }
svg .dot { fill: var(--dot); }
svg .whisker { stroke: var(--dot); stroke-width: 2; }
svg .cross { stroke: var(--void); stroke-width: 2; fill: none; }
svg .void-text { fill: var(--void); }
svg.bar { width: 15rem; min-width: 0; height: .9rem; }
svg .here { fill: var(--c0); }
svg .away { fill: var(--c1); }
svg .curve { fill: none; stroke-width: 1.5; }
svg .band { opacity: .22; }
svg .beyond { stroke: none; }
svg .box { fill-opacity: .14; stroke-width: 1.2; }
svg circle.c0, svg .beyond.c0, svg .band.c0, svg .box.c0 { fill: var(--c0); } svg .curve.c0, svg .box.c0 { stroke: var(--c0); }
svg circle.c1, svg .beyond.c1, svg .band.c1, svg .box.c1 { fill: var(--c1); } svg .curve.c1, svg .box.c1 { stroke: var(--c1); }
svg circle.c2, svg .beyond.c2, svg .band.c2, svg .box.c2 { fill: var(--c2); } svg .curve.c2, svg .box.c2 { stroke: var(--c2); }
svg circle.c3, svg .beyond.c3, svg .band.c3, svg .box.c3 { fill: var(--c3); } svg .curve.c3, svg .box.c3 { stroke: var(--c3); }
svg circle.c4, svg .beyond.c4, svg .band.c4, svg .box.c4 { fill: var(--c4); } svg .curve.c4, svg .box.c4 { stroke: var(--c4); }
svg circle.c5, svg .beyond.c5, svg .band.c5, svg .box.c5 { fill: var(--c5); } svg .curve.c5, svg .box.c5 { stroke: var(--c5); }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("<b a='\"'>&\u{202e}\u{1b}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;··");
        let page = page("</title><script>", "<p>x</p>");
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;</title>") && !page.contains("<script"));
    }
}
