//! The languages that the judge nodes have, as the faces list them.

use crate::errors::Refusal;
use model::{HostLanguage, NodeFacts};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{NodeState, Store};

/// A language for which a node has every tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// Language id.
    pub(crate) id: String,
    /// Name of the executable that says its version, such as `g++`.
    pub(crate) tool: String,
    /// Its version: the number in what it prints; `None` where that tells none.
    pub(crate) version: Option<String>,
    /// The command that compiles, as a template; empty where nothing is compiled.
    pub(crate) compile: Vec<String>,
    /// The command that runs, as a template.
    pub(crate) run: Vec<String>,
}

/// How long what was read is believed.
const FRESH: Duration = Duration::from_secs(5);

/// What the nodes were last known to have.
#[derive(Debug, Default)]
pub(crate) struct Toolchains {
    known: Mutex<Option<(Instant, Arc<Vec<Toolchain>>)>>,
}

impl Toolchains {
    /// The languages that any active node has, each once, in the order of the nodes' tables.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] while no node has told yet.
    pub(crate) async fn get(&self, store: &Store) -> Result<Arc<Vec<Toolchain>>, Refusal> {
        if let Some((read, known)) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner)
            && read.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        let nodes = store.nodes_with_facts().await?;
        let active = nodes.iter().filter(|(node, _)| node.state == NodeState::Active);
        let mut all: Vec<Toolchain> = Vec::new();
        for toolchain in active.flat_map(|(_, facts)| of_facts(facts)) {
            if all.iter().all(|known| known.id != toolchain.id) {
                all.push(toolchain);
            }
        }
        if all.is_empty() {
            let why = "no judge node has reported its languages yet";
            return Err(Refusal::Unavailable(why.to_owned()));
        }
        let all = Arc::new(all);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), all.clone()));
        Ok(all)
    }
}

/// The languages for which a node has every tool.
fn of_facts(facts: &NodeFacts) -> Vec<Toolchain> {
    let toolchain = |told: &HostLanguage| {
        let speaks = told.tools.iter().find(|tool| tool.version.known().is_some()).or(told.tools.first());
        let path = speaks.map(|tool| tool.path.as_str()).unwrap_or_default();
        let says = speaks.and_then(|tool| tool.version.known()).map(String::as_str).unwrap_or_default();
        Toolchain {
            id: told.id.clone(),
            tool: path.rsplit('/').next().unwrap_or_default().to_owned(),
            version: number(says).map(str::to_owned),
            compile: told.compile.clone().unwrap_or_default(),
            run: told.run.clone(),
        }
    };
    facts.languages().iter().filter(|told| told.available).map(toolchain).collect()
}

/// The first number with a dot in a text; else its first number, where the text says little more than that.
fn number(says: &str) -> Option<&str> {
    let numbers = || {
        says.split(|c: char| !c.is_ascii_digit() && c != '.')
            .map(|part| part.trim_matches('.'))
            .filter(|part| !part.is_empty())
    };
    let short = || numbers().next().filter(|_| says.len() <= 40);
    numbers().find(|part| part.contains('.')).or_else(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_tools_print() {
        for (says, version) in [
            ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", Some("12.2.0")),
            ("openjdk version \"17.0.13\" 2024-10-15", Some("17.0.13")),
            ("go version go1.22.1 linux/amd64", Some("1.22.1")),
            ("v20.11.0", Some("20.11.0")),
            ("GNU bash, version 5.2.15(1)-release", Some("5.2.15")),
            ("Ends. With 3.1.", Some("3.1")),
            ("SWI-Prolog version 9", Some("9")),
            ("64-Bit Server VM warning: some option was deprecated in JDK 13", None),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(number(says), version, "{says}");
        }
    }

    #[test]
    fn only_what_a_node_has_is_listed() {
        let told = |text: &str| of_facts(&serde_json::from_str(text).unwrap());
        let older = told(include_str!("../../store/tests/forms/facts-1.json"));
        let cpp = older.iter().find(|toolchain| toolchain.id == "cpp").unwrap();
        assert_eq!((cpp.tool.as_str(), cpp.version.as_deref()), ("g++", Some("12.2.0")));
        assert!(cpp.compile.len() > 1 && cpp.run.len() == 1, "{cpp:?}");
        // A tool that would not say its version is there all the same.
        let bash = older.iter().find(|toolchain| toolchain.id == "bash").unwrap();
        assert_eq!((bash.tool.as_str(), &bash.version), ("bash", &None));
        assert!(older.iter().all(|toolchain| toolchain.id != "prolog"), "{older:?}");
        for other in ["{}", r#"{"languages": null}"#, r#"{"languages": {"languages": [{"id": 7}]}}"#] {
            assert_eq!(told(other), []);
        }
    }
}
