//! Which problem is which package, and which language is which of ours.

use crate::inputs;
use crate::judging::{Opened, open};
use crate::terminal::{Failure, tell_warning};
use contest_api::contest::Problem;
use engine::languages::Languages;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most entries of a directory of packages.
const MOST: usize = 10_000;

/// A table of names: strict TOML.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    /// Packages by a problem's id, label or name; paths are beside the table.
    problems: BTreeMap<String, PathBuf>,
    /// Languages of ours by a contest's language id.
    languages: BTreeMap<String, String>,
}

/// The packages there are.
pub(super) struct Packages {
    opened: Vec<Opened>,
    /// Of each its path.
    paths: Vec<PathBuf>,
    /// Problems that a table names.
    named: BTreeMap<String, usize>,
    languages: BTreeMap<String, String>,
}

impl Packages {
    /// Reads what was given: packages, directories of packages, tables.
    pub(super) fn read(given: &[PathBuf], languages: &Languages) -> Result<Packages, Failure> {
        let mut all = Packages {
            opened: Vec::new(),
            paths: Vec::new(),
            named: BTreeMap::new(),
            languages: BTreeMap::new(),
        };
        for path in given {
            let bad = |why: String| Failure::usage(format!("--packages {}: {why}", path.display()));
            let facts = std::fs::metadata(path).map_err(|e| bad(e.to_string()))?;
            if path.extension().is_some_and(|end| end == "toml") {
                all.table(path, languages)?;
            } else if facts.is_dir() && !is_package(path) {
                all.directory(path)?;
            } else {
                all.add(path)?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, path: &Path) -> Result<usize, Failure> {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(known) = self.paths.iter().position(|known| *known == real) {
            return Ok(known);
        }
        self.opened.push(open(path)?);
        self.paths.push(real);
        Ok(self.opened.len() - 1)
    }

    fn table(&mut self, path: &Path, languages: &Languages) -> Result<(), Failure> {
        let bad = |why: String| Failure::usage(format!("--packages {}: {why}", path.display()));
        let text = inputs::text(path).map_err(|e| bad(e.to_string()))?;
        let table: Table = toml::from_str(&text).map_err(|e| bad(e.to_string().trim_end().to_owned()))?;
        for (id, ours) in table.languages {
            languages.table().named(&ours).map_err(|e| bad(format!("languages.{id}: {e}")))?;
            self.languages.insert(id, ours);
        }
        let beside = path.parent().unwrap_or(Path::new(""));
        for (name, package) in table.problems {
            let at = self.add(&beside.join(package))?;
            self.named.insert(name, at);
        }
        Ok(())
    }

    fn directory(&mut self, path: &Path) -> Result<(), Failure> {
        let bad = |why: String| Failure::usage(format!("--packages {}: {why}", path.display()));
        let entries = std::fs::read_dir(path).map_err(|e| bad(e.to_string()))?.take(MOST).flatten();
        let mut there: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        there.sort();
        let before = self.opened.len();
        for one in there {
            let hidden = one.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if hidden || !(one.is_dir() || one.extension().is_some_and(|end| end == "zip")) {
                continue;
            }
            if let Err(why) = self.add(&one) {
                tell_warning(model::hint::with_detail(&why.to_string(), ", left out"));
            }
        }
        match self.opened.len() > before {
            true => Ok(()),
            false => Err(bad("no package is in this directory".into())),
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Opened> {
        self.opened.iter()
    }

    /// One of them.
    pub(super) fn get(&self, at: usize) -> Option<&Opened> {
        self.opened.get(at)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.opened.len()
    }

    /// The package of a problem: the one that a table names, else the one whose name is an id, a label or a name of it.
    pub(super) fn index_for(&self, problem: &Problem) -> Result<usize, String> {
        if let Some(at) = problem.names.iter().find_map(|name| self.named.get(name)) {
            return Ok(*at);
        }
        for name in &problem.names {
            let called = |(_, opened): &(usize, &Opened)| {
                let package = &opened.package;
                [&package.short_name, &package.title].iter().any(|own| own.eq_ignore_ascii_case(name))
            };
            let found: Vec<usize> = self.opened.iter().enumerate().filter(called).map(|(at, _)| at).collect();
            match found[..] {
                [] => {}
                [only] => return Ok(only),
                _ => {
                    return Err(format!(
                        "{} packages are called `{name}`\n\
                         hint: name one in a table of --packages",
                        found.len()
                    ));
                }
            }
        }
        let names = problem.names.join("`, `");
        Err(format!(
            "no package is called `{names}`\n\
             hint: name one in a table of --packages: [problems] `ID` = `PATH`"
        ))
    }

    /// The language of ours for a contest's.
    pub(super) fn language(
        &self,
        languages: &Languages,
        id: &str,
        name: Option<&str>,
    ) -> Result<String, String> {
        if let Some(ours) = self.languages.get(id) {
            return Ok(ours.clone());
        }
        let named = |name: &str| languages.table().named(name).ok().map(|language| language.id.clone());
        let called = || {
            let wanted = name?;
            let all = languages.table().languages().iter();
            let mut found = all.filter(|language| language.name.eq_ignore_ascii_case(wanted));
            found.next().map(|language| language.id.clone())
        };
        named(id).or_else(|| named(&id.to_ascii_lowercase())).or_else(called).ok_or_else(|| {
            format!(
                "no language is called `{id}` here\n\
                 hint: name one in a table of --packages: [languages] `{id}` = `ID`"
            )
        })
    }
}

/// Whether a directory is a package itself, of any format.
fn is_package(path: &Path) -> bool {
    open(path).is_ok() || path.join("problem.yaml").exists()
}
