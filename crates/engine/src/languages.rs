//! The language table, with the tools of this host.

use crate::toolchain::{Absent, Answers, Host, Toolchain, find, find_usable, version};
use judge::language::{CompileLimits, Language, Table};
use model::{Bytes, Nanos, Reading};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A language and its tools.
#[derive(Clone, Debug)]
struct Found {
    /// Id of the language that is used.
    language: String,
    toolchain: Toolchain,
    stands_in: Option<String>,
}

/// The languages and their tools. Tools are searched once, when a program first needs them.
pub struct Languages {
    table: Table,
    host: Host,
    answers: Answers,
    found: Mutex<BTreeMap<String, Result<Found, Absent>>>,
}

/// A language that can be used here.
#[derive(Clone, Debug)]
pub struct Usable<'a> {
    /// The language that is used.
    pub language: &'a Language,
    /// Its tools.
    pub toolchain: Toolchain,
    /// Why it stands in for the requested language, if it does.
    pub stands_in: Option<String>,
}

impl Languages {
    /// The languages of a table on a host.
    pub fn new(table: Table, host: Host) -> Languages {
        Languages { table, host, answers: Answers::default(), found: Mutex::default() }
    }

    /// Adds the cached answers of tools.
    pub fn knowing(self, answers: Answers) -> Languages {
        Languages { answers, ..self }
    }

    /// Adds known toolchains, which are not searched.
    pub fn with_toolchains(self, toolchains: Vec<Toolchain>) -> Languages {
        let known = toolchains.into_iter().map(|toolchain| {
            let language = toolchain.language.clone();
            (language.clone(), Ok(Found { language, toolchain, stands_in: None }))
        });
        let found = Mutex::new(known.collect());
        Languages { found, ..self }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The tools of a language itself, whatever may stand in for it.
    pub fn toolchain(&self, language: &Language) -> Result<Toolchain, Absent> {
        find(&self.host, &self.answers, language)
    }

    /// The version that a toolchain reports of itself.
    pub fn version(&self, language: &Language, toolchain: &Toolchain) -> Reading<String> {
        version(&self.host, &self.answers, language, toolchain)
    }

    /// The language with its tools, or the one that stands in for it.
    pub fn usable<'a>(&'a self, language: &'a Language) -> Result<Usable<'a>, Absent> {
        // What a panicking thread left is a complete map all the same.
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(language.id.clone()).or_insert_with(|| {
            let usable = find_usable(&self.host, &self.answers, &self.table, language)?;
            let language = usable.language.id.clone();
            Ok(Found { language, toolchain: usable.toolchain, stands_in: usable.stands_in })
        });
        let found = found.clone()?;
        let language = self.table.get(&found.language).unwrap_or(language);
        Ok(Usable { language, toolchain: found.toolchain, stands_in: found.stands_in })
    }
}

/// The environment of build scripts and of what they build.
pub(crate) fn script_env() -> Vec<(String, String)> {
    let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TZ", "UTC")];
    env.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// What build scripts may use: "typical" values of the legacy specification.
pub(crate) const SCRIPT_LIMITS: CompileLimits = CompileLimits {
    cpu: Nanos::from_secs(60),
    memory: Bytes::from_mib(2048),
    processes: 256,
    output: Bytes::from_mib(256),
};
