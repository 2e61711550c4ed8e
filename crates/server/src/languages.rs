//! Which languages there are: as the workers say, and as they are shipped.

use crate::errors::Refusal;
use crate::service::Service;
use judge::language::Table;
use model::{HostLanguage, NodeFacts};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The shipped table.
pub(crate) static SHIPPED: LazyLock<Table> = LazyLock::new(Table::shipped);

/// A language, and where programs in it can be judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// Its id.
    pub(crate) id: String,
    /// Its name for people.
    pub(crate) name: String,
    /// File name extensions, without the dot.
    pub(crate) extensions: Vec<String>,
    /// What each node says of it, by the node's name.
    pub(crate) nodes: BTreeMap<String, HostLanguage>,
}

impl Known {
    /// Some node can judge it.
    pub(crate) fn available(&self) -> bool {
        self.nodes.values().any(|node| node.available)
    }
}

/// Every language, in the table's order; those that only nodes know come last.
pub(crate) async fn all(service: &Service) -> Result<Vec<Known>, Refusal> {
    let shipped = SHIPPED.languages().iter().map(|language| Known {
        id: language.id.clone(),
        name: language.name.clone(),
        extensions: language.extensions.clone(),
        nodes: BTreeMap::new(),
    });
    let mut all: Vec<Known> = shipped.collect();
    for (node, facts) in service.store.nodes_with_facts().await? {
        add(&mut all, &node.name, &facts);
    }
    Ok(all)
}

fn add(all: &mut Vec<Known>, node: &str, facts: &NodeFacts) {
    for language in facts.languages() {
        let at = all.iter().position(|known| known.id == language.id).unwrap_or_else(|| {
            all.push(Known {
                id: language.id.clone(),
                name: language.name.clone(),
                extensions: language.extensions.clone(),
                nodes: BTreeMap::new(),
            });
            all.len() - 1
        });
        all[at].nodes.insert(node.to_string(), language.clone());
    }
}

/// The id of the language that is meant, or that the files are of.
///
/// # Errors
/// [`Refusal::Bad`] where there is none of this name, or the files do not tell.
pub(crate) async fn detect(
    service: &Service,
    named: Option<&str>,
    files: &[(String, Vec<u8>)],
) -> Result<String, Refusal> {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    match (SHIPPED.detect(&files, named), named) {
        (Ok(language), _) => Ok(language.id.clone()),
        // A node may have languages of its own.
        (Err(error), Some(name)) => {
            let known = all(service).await?.iter().any(|known| known.id == name);
            if known { Ok(name.to_string()) } else { Err(Refusal::Bad(format!("language: {error}"))) }
        }
        (Err(error), None) => Err(Refusal::Bad(format!("language: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service::{facts, language};

    #[test]
    fn what_nodes_say_is_put_together() {
        let mut all = Vec::new();
        let without = HostLanguage { available: false, ..language("cpp", "") };
        let zig = HostLanguage { available: false, ..language("zig", "") };
        add(&mut all, "a", &facts([without]));
        add(&mut all, "b", &facts([language("cpp", "g++ 12.2"), zig]));
        add(&mut all, "c", &NodeFacts::unknown("not reported"));
        assert_eq!(all.iter().map(|known| known.id.as_str()).collect::<Vec<_>>(), ["cpp", "zig"]);
        assert_eq!((all[0].nodes.len(), all[0].available(), all[1].available()), (2, true, false));
    }
}
