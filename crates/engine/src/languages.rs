//! The language table together with what this host has of it.

use judge::language::{CompileLimits, Language, Mount, Paths, Table};
use model::{Bytes, Nanos, View, ViewMount};
use std::collections::BTreeMap;

/// Where a language's tools are on this host, and what its stages must see of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// Tools and roots by name.
    pub paths: Paths,
    /// What compiling sees.
    pub compile_view: View,
    /// What running sees.
    pub run_view: View,
}

/// The languages and their tools.
#[derive(Clone, Debug)]
pub struct Languages {
    table: Table,
    found: BTreeMap<String, Result<Tools, String>>,
}

/// A language that can be used here.
#[derive(Clone, Copy, Debug)]
pub struct Usable<'a> {
    /// The language, or the one that stands in for it.
    pub language: &'a Language,
    /// Its tools.
    pub tools: &'a Tools,
}

impl Languages {
    /// The languages of a table with what was found for each, by id: its tools, or what is missing.
    pub fn new(table: Table, found: BTreeMap<String, Result<Tools, String>>) -> Languages {
        Languages { table, found }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The language with its tools, or the one that stands in for it, or what is missing for the language itself.
    pub fn usable<'a>(&'a self, language: &'a Language) -> Result<Usable<'a>, String> {
        let mut missing = None;
        let mut candidate = Some(language);
        // A ring of fallbacks ends after as many steps as there are languages.
        for _ in 0..=self.table.languages().len() {
            let Some(language) = candidate else { break };
            match self.found.get(&language.id) {
                Some(Ok(tools)) => return Ok(Usable { language, tools }),
                Some(Err(why)) => missing = missing.or(Some(why.clone())),
                None => missing = missing.or(Some("it was not looked for".to_owned())),
            }
            candidate = language.fallback.as_deref().and_then(|id| self.table.get(id));
        }
        Err(missing.unwrap_or_default())
    }

    /// Everything that any language sees while compiling, for build scripts, which may call any tool.
    pub(crate) fn whole_view(&self) -> View {
        let mut mounts = view(self.table.system_mounts()).mounts;
        for tools in self.found.values().flatten() {
            for mount in &tools.compile_view.mounts {
                if !mounts.iter().any(|other| other.inside == mount.inside) {
                    mounts.push(mount.clone());
                }
            }
        }
        View { mounts }
    }

    /// The environment of build scripts.
    pub(crate) fn script_env(&self) -> Vec<(String, String)> {
        let mut path: Vec<String> = vec!["/usr/local/bin".into(), "/usr/bin".into(), "/bin".into()];
        for tool in self.found.values().flatten().flat_map(|tools| tools.paths.values()) {
            match tool.rsplit_once('/') {
                Some((directory, _)) if !path.iter().any(|p| p == directory) && directory.ends_with("/bin") => {
                    path.push(directory.to_owned());
                }
                _ => {}
            }
        }
        vec![("PATH".into(), path.join(":")), ("LANG".into(), "C.UTF-8".into()), ("TZ".into(), "UTC".into())]
    }

    /// What build scripts may use: "typical" values of the legacy specification.
    pub(crate) fn script_limits(&self) -> CompileLimits {
        CompileLimits {
            cpu: Nanos::from_secs(60),
            memory: Bytes::from_mib(2048),
            processes: 256,
            output: Bytes::from_mib(256),
        }
    }
}

/// Mounts whose paths need no expansion.
fn view(mounts: &[Mount]) -> View {
    let mount = |m: &Mount| ViewMount { host: m.path.clone(), inside: m.path.clone(), optional: m.optional };
    View { mounts: mounts.iter().map(mount).collect() }
}
