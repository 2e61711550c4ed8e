//! What documents say there is, is there: commands of `tauto` with their options, and the places that alerts lead to.

use crate::tree::{File, Tree};

/// Without a manual page, since they are hidden.
const HIDDEN: [&str; 3] = ["help", "probe", "xtask"];

/// Commands of `tauto` in code of Markdown pages, and their options, are in the manual pages, which are made from the command line itself. (The
/// page on the architecture tells of what is hidden, too.)
pub fn commands_in_documents_exist(tree: &Tree) -> Vec<String> {
    let pages = tree.files.iter().filter(|f| f.path.ends_with(".md") && f.path != "ARCHITECTURE.md");
    pages
        .flat_map(|page| {
            page.text.lines().flat_map(commands).filter_map(|command| wrong(tree, page, &command))
        })
        .collect()
}

/// The commands of a line: it is indented code, or has code between backquotes.
fn commands(line: &str) -> Vec<String> {
    let code: Vec<&str> = match line.starts_with("    ") {
        true => vec![line],
        false => line.split('`').skip(1).step_by(2).collect(),
    };
    let begins = |code: &str| {
        let text = code.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        text.strip_prefix("tauto ").map(str::to_string)
    };
    code.into_iter().filter_map(begins).collect()
}

fn wrong(tree: &Tree, page: &File, command: &str) -> Option<String> {
    let words: Vec<&str> = command
        .split_whitespace()
        .take_while(|word| !["--", "|", "\\|", "#", ">", "&&", ";"].contains(word))
        .collect();
    let first = words.first()?;
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    if !is_word(first) || HIDDEN.contains(first) {
        return None;
    }
    let manual = |name: &str| tree.file(&format!("docs/man/tauto-{name}.1"));
    let told = |what: &str| Some(format!("{}: `tauto {command}`: no {what}", page.path));
    let Some(mut text) = manual(first) else { return told(&format!("command {first}")) };
    if let Some(second) = words.get(1).filter(|word| is_word(word)) {
        let has_more = tree.files.iter().any(|f| f.path.starts_with(&format!("docs/man/tauto-{first}-")));
        match manual(&format!("{first}-{second}")) {
            Some(more) => text = more,
            None if has_more => return told(&format!("command {first} {second}")),
            None => {}
        }
    }
    let options = words
        .iter()
        .filter_map(|word| word.strip_prefix("--"))
        .map(|option| option.split(['=', '…', '.', ',', ']']).next().unwrap_or(option));
    let known = |option: &str| {
        option.is_empty() || text.text.contains(&format!("\\-\\-{}", option.replace('-', "\\-")))
    };
    let unknown = options.into_iter().find(|option| !known(option));
    unknown.and_then(|option| told(&format!("option --{option}")))
}

/// The runbook has the parts that alerts lead to.
pub fn alerts_lead_somewhere(tree: &Tree) -> Vec<String> {
    const ALERTS: &str = "packaging/alerts/tautochrone.rules.yml";
    let text = |path: &str| tree.file(path).map_or("", |f| f.text.as_str());
    let anchor = |heading: &str| heading.trim().to_lowercase().replace(' ', "-").replace([',', '.', '`'], "");
    let parts: Vec<String> =
        text("docs/runbook.md").lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    let alerts = text(ALERTS).lines().filter(|line| line.trim_start().starts_with("- alert:")).count();
    let leads: Vec<&str> =
        text(ALERTS).lines().filter_map(|line| line.split("docs/runbook.md#").nth(1)).collect();
    let within = text("docs/runbook.md").split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    let mut broken: Vec<String> = leads
        .iter()
        .map(|lead| lead.trim_end_matches('"'))
        .chain(within)
        .filter(|lead| !parts.iter().any(|part| part == lead))
        .map(|lead| format!("docs/runbook.md has no part {lead}"))
        .collect();
    if leads.len() != alerts {
        broken.push(format!("{ALERTS}: {alerts} alerts, and {} lead to the runbook", leads.len()));
    }
    broken
}

/// The book has every page: docs/SUMMARY.md names each of them once, and nothing that is not there.
pub fn the_book_is_whole(tree: &Tree) -> Vec<String> {
    const SUMMARY: &str = "docs/SUMMARY.md";
    let Some(summary) = tree.file(SUMMARY) else { return vec![format!("{SUMMARY} is missing")] };
    let named: Vec<&str> =
        summary.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let page = |path: &'_ str| path.strip_prefix("docs/")?.strip_suffix(".md").map(str::to_string);
    let pages = tree.files.iter().filter_map(|file| page(&file.path)).filter(|page| page != "SUMMARY");
    let count = |page: &str| named.iter().filter(|name| **name == format!("{page}.md")).count();
    let wrong = pages.filter(|page| count(page) != 1);
    wrong.map(|page| format!("{SUMMARY} names {page}.md {} times, not once", count(&page))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_looked_up() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let broken = |text: &str| {
            let files = vec![
                file("docs/man/tauto-node.1", ""),
                file("docs/man/tauto-node-drain.1", "\\fB\\-\\-reason\\fR \\fB\\-\\-at\\-once\\fR"),
                file("docs/man/tauto-run.1", "\\-\\-cpu"),
                file("docs/a.md", text),
            ];
            commands_in_documents_exist(&Tree { root: "/r".into(), files })
        };
        for fine in [
            "    tauto node drain x --reason \"y\"",
            "say `tauto node drain NAME --at-once=3 | cat --odd`",
            "    $ sudo tauto run --cpu 1 -- ls --odd",
            "tauto nod",
            "`tauto probe --odd`",
        ] {
            assert_eq!(broken(fine), Vec::<String>::new(), "{fine}");
        }
        for (odd, told) in [
            ("    tauto nod list", "no command nod"),
            ("`tauto node drop x`", "no command node drop"),
            ("    tauto node drain x --why y", "no option --why"),
        ] {
            assert!(broken(odd)[0].contains(told), "{:?}", broken(odd));
        }
    }

    #[test]
    fn alerts_lead_to_headings() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let tree = |alerts: &str| Tree {
            root: "/r".into(),
            files: vec![
                file("packaging/alerts/tautochrone.rules.yml", alerts),
                file("docs/runbook.md", "# R\n## A node is lost\n[x](#a-node-is-lost)\n"),
            ],
        };
        assert!(
            alerts_lead_somewhere(&tree("- alert: A\n  runbook: \"docs/runbook.md#a-node-is-lost\"\n"))
                .is_empty()
        );
        assert!(
            !alerts_lead_somewhere(&tree("- alert: A\n  runbook: \"docs/runbook.md#a-node\"\n")).is_empty()
        );
        assert!(!alerts_lead_somewhere(&tree("- alert: A\n")).is_empty());
    }
}
