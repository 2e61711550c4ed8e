//! Rules about Cargo manifests.

use crate::rules::PURE;
use crate::tree::Tree;
use toml::{Table, Value};

/// Which crate may depend on which (DESIGN, "Workspace"). `None`: on all. A crate that is not named here must be
/// added, with a thought about its place.
const GRAPH: [(&str, Option<&[&str]>); 27] = [
    ("model", Some(&[])),
    ("os", Some(&[])),
    ("stats", Some(&[])),
    ("reference-machine", Some(&[])),
    ("host", Some(&["model", "os"])),
    ("sandbox", Some(&["model", "os"])),
    ("settle", Some(&["model", "stats"])),
    ("judge", Some(&["model", "settle"])),
    ("source", Some(&["judge", "os"])),
    ("engine", Some(&["model", "os", "settle", "judge", "source", "sandbox", "host", "reference-machine"])),
    ("vm", Some(&["model", "engine", "sandbox"])),
    ("loads", Some(&["model", "sandbox", "host"])),
    ("power-index", Some(&["model", "stats", "sandbox", "host", "loads"])),
    ("layouts", Some(&["model", "stats"])),
    ("lab", Some(&["model", "stats", "settle", "sandbox", "host"])),
    ("report", Some(&["model", "stats"])),
    ("store", Some(&["model"])),
    ("fleet", Some(&["model", "stats", "settle"])),
    ("client", Some(&[])),
    ("contest-api", Some(&["model"])),
    ("judgehost", Some(&["model", "os", "judge", "client"])),
    ("sim", Some(&["model", "stats", "settle", "fleet"])),
    ("server", Some(&["model", "stats", "settle", "store", "fleet", "report", "judge", "source"])),
    ("cli", None),
    ("e2e", Some(&["model", "stats", "sandbox"])),
    ("fuzz", Some(&[])),
    ("xtask", Some(&[])),
];

/// The crate that is installed, by `cargo install` too, and the name it has there.
const INSTALLED: (&str, &str) = ("cli", "tautochrone");

/// Packages that bring I/O, clocks, randomness or async: nothing for a pure crate, but for its tests.
const IMPURE: [&str; 8] = ["tokio", "rand", "rustix", "libc", "tempfile", "zip", "jiff", "tracing"];

fn parse(text: &str) -> Table {
    text.parse().unwrap_or_default()
}

/// Name and manifest of every crate.
fn crates(tree: &Tree) -> Vec<(String, Table)> {
    let manifests =
        tree.files.iter().filter(|f| f.path.starts_with("crates/") && f.path.ends_with("/Cargo.toml"));
    manifests.map(|f| (f.crate_name().to_string(), parse(&f.text))).collect()
}

fn names<'a>(manifest: &'a Table, section: &str) -> Vec<&'a str> {
    manifest
        .get(section)
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(|t| t.keys().map(String::as_str))
        .collect()
}

/// Crates depend on each other in one direction, and pure crates on nothing that is not pure.
pub fn crate_graph(tree: &Tree) -> Vec<String> {
    let crates = crates(tree);
    let mut broken = Vec::new();
    for (name, manifest) in &crates {
        let package = manifest.get("package").and_then(|p| p.get("name")).and_then(Value::as_str);
        let wanted = if name == INSTALLED.0 { INSTALLED.1 } else { name };
        if package != Some(wanted) {
            broken.push(format!("crates/{name}: the package must be named {wanted}"));
        }
        let Some((_, allowed)) = GRAPH.iter().find(|(known, _)| known == name) else {
            broken.push(format!("crates/{name}: not in the crate graph of crates/xtask/src/manifests.rs"));
            continue;
        };
        for dependency in names(manifest, "dependencies") {
            let own = crates.iter().any(|(other, _)| other == dependency);
            let above = own && allowed.is_some_and(|allowed| !allowed.contains(&dependency));
            let impure = PURE.contains(&name.as_str()) && IMPURE.contains(&dependency);
            if above || impure {
                broken.push(format!("crates/{name}: must not depend on {dependency}"));
            }
        }
    }
    broken
}

/// ARCHITECTURE.md has a row for every crate, which says what it may depend on.
pub fn graph_is_documented(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.file("ARCHITECTURE.md") else { return vec!["ARCHITECTURE.md is missing".into()] };
    let row = |name: &str, allowed: Option<&[&str]>| {
        let allowed = match allowed {
            None => "all".to_string(),
            Some([]) => "–".to_string(),
            Some(some) => some.iter().map(|d| format!("`{d}`")).collect::<Vec<_>>().join(", "),
        };
        let (start, end) = (format!("| `{name}` |"), format!("| {allowed} |"));
        match page.text.lines().any(|l| l.starts_with(&start) && l.ends_with(&end)) {
            true => None,
            false => Some(format!("ARCHITECTURE.md: no row `{start} … {end}`")),
        }
    };
    let known = |name: &str| GRAPH.iter().find(|(known, _)| *known == name);
    crates(tree).iter().filter_map(|(name, _)| known(name)).filter_map(|(name, a)| row(name, *a)).collect()
}

/// Versions are chosen once, in the root manifest.
pub fn dependencies_of_the_workspace(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, manifest) in crates(tree) {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.get(section).and_then(Value::as_table).cloned().unwrap_or_default();
            let own =
                |(_, value): &(String, Value)| value.get("workspace").and_then(Value::as_bool) != Some(true);
            broken.extend(
                table
                    .into_iter()
                    .filter(own)
                    .map(|(dependency, _)| format!("crates/{name}: {dependency} must be `workspace = true`")),
            );
        }
    }
    broken
}

/// Every crate is held to the lints of the workspace.
pub fn lints_of_the_workspace(tree: &Tree) -> Vec<String> {
    let inherits =
        |m: &Table| m.get("lints").and_then(|l| l.get("workspace")).and_then(Value::as_bool) == Some(true);
    let broken = crates(tree).into_iter().filter(|(_, manifest)| !inherits(manifest));
    broken.map(|(name, _)| format!("crates/{name}: needs `[lints] workspace = true`")).collect()
}

/// Every direct dependency says in the root manifest why it is there.
pub fn dependencies_have_reasons(tree: &Tree) -> Vec<String> {
    let Some(root) = tree.file("Cargo.toml") else { return vec!["Cargo.toml is missing".into()] };
    let section = root.text.lines().skip_while(|l| l.trim() != "[workspace.dependencies]").skip(1);
    let entries =
        section.take_while(|l| !l.starts_with('[')).filter(|l| l.contains('=') && !l.starts_with('#'));
    let unreasoned = entries.filter(|l| !l.contains("path = \"crates/") && !has_reason(l));
    unreasoned.map(|l| format!("Cargo.toml: no reason beside `{l}`")).collect()
}

/// A comment of at least two words behind the entry.
fn has_reason(line: &str) -> bool {
    line.rsplit_once('#').is_some_and(|(_, reason)| reason.split_whitespace().count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| File { path: path.to_string(), text: text.to_string() });
        Tree { root: "/".into(), files: files.collect() }
    }

    #[test]
    fn the_graph_has_a_direction() {
        let model = ("crates/model/Cargo.toml", "[package]\nname = \"model\"");
        let judge = |dependency: &str| {
            format!("[package]\nname = \"judge\"\n[dependencies]\n{dependency}.workspace = true")
        };
        let check =
            |dependency: &str| crate_graph(&tree(&[model, ("crates/judge/Cargo.toml", &judge(dependency))]));
        assert_eq!(check("model"), Vec::<String>::new());
        assert_eq!(check("serde"), Vec::<String>::new());
        assert_eq!(check("tokio"), ["crates/judge: must not depend on tokio"]);
        let upwards = "[package]\nname = \"model\"\n[dependencies]\njudge.workspace = true";
        let files = [
            ("crates/model/Cargo.toml", upwards),
            ("crates/judge/Cargo.toml", "[package]\nname = \"judge\""),
        ];
        assert_eq!(crate_graph(&tree(&files)), ["crates/model: must not depend on judge"]);
        let other = crate_graph(&tree(&[("crates/new/Cargo.toml", "[package]\nname = \"x\"")]));
        assert_eq!(other.len(), 2, "{other:?}");
        let named = |name: &str| crate_graph(&tree(&[("crates/cli/Cargo.toml", name)]));
        assert_eq!(named("[package]\nname = \"tautochrone\""), Vec::<String>::new());
        assert_eq!(named("[package]\nname = \"cli\"").len(), 1);
    }

    #[test]
    fn the_page_shows_the_graph() {
        let manifest = ("crates/judge/Cargo.toml", "[package]\nname = \"judge\"");
        let check = |page: &str| graph_is_documented(&tree(&[manifest, ("ARCHITECTURE.md", page)])).len();
        assert_eq!(check("| `judge` | decides | `model`, `settle` |"), 0);
        assert_eq!(check("| `judge` | decides | `model` |"), 1);
        assert_eq!(graph_is_documented(&tree(&[manifest])).len(), 1);
    }

    #[test]
    fn manifests_are_in_order() {
        let bad = "[dependencies]\nserde = \"1\"\n[dev-dependencies]\nx.workspace = true\n";
        let good = "[dependencies]\nserde.workspace = true\n[lints]\nworkspace = true\n";
        for (text, broken) in [(bad, 1), (good, 0)] {
            let tree = tree(&[("crates/a/Cargo.toml", text)]);
            assert_eq!(dependencies_of_the_workspace(&tree).len(), broken);
            assert_eq!(lints_of_the_workspace(&tree).len(), broken);
        }
        let root = "[workspace.dependencies]\na = { path = \"crates/a\" }\n\nb = \"1\" # wire forms\nc = \"1\" #x\nd = \"1\"\n[x]\ne = 1\n";
        assert_eq!(dependencies_have_reasons(&tree(&[("Cargo.toml", root)])).len(), 2);
        assert_eq!(dependencies_have_reasons(&tree(&[])).len(), 1);
    }
}
