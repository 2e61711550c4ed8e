//! What a node tells of itself, by one worker of it, between tasks: everything here but the languages' versions is read from /proc and
//! /sys and takes a tenth of a second.

use crate::config::{cache_directory, data_directory};
use crate::isolation::IsolationMode;
use crate::reservation::slots_config;
use crate::{index, languages, slots, tune};
use engine::languages::Languages;
use host::facts::Facts;
use host::machine::Machine;
use host::{audit, identity};
use model::{HostLanguages, NodeFacts, Reading, SlotPlan};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// As often it is told again.
const EVERY: Duration = Duration::from_secs(600);
/// As often it is looked whether something has changed that is shown.
const LOOK: Duration = Duration::from_secs(5);
/// Seconds after which the versions of toolchains are asked for again, even where nothing seems to have changed.
const VERSIONS_FOR: u64 = 86_400;

/// Tells the service the facts of this node. One worker of each node does.
pub(super) struct FactsReporter {
    /// The site's table of languages.
    table: Option<PathBuf>,
    isolation_mode: IsolationMode,
    told: Option<Instant>,
    looked: Instant,
    seen: String,
}

impl FactsReporter {
    pub(super) fn new(table: Option<PathBuf>, isolation_mode: IsolationMode) -> FactsReporter {
        FactsReporter { table, isolation_mode, told: None, looked: Instant::now(), seen: String::new() }
    }

    /// What is to be told now, if anything is.
    pub(super) fn news(&mut self, known: &Languages) -> Option<Box<NodeFacts>> {
        if self.told.is_some_and(|told| told.elapsed() < EVERY) {
            if self.looked.elapsed() < LOOK {
                return None;
            }
            self.looked = Instant::now();
            if kept_files() == self.seen {
                return None;
            }
        }
        self.seen = kept_files();
        let languages = versions(known, self.table.as_deref());
        self.told = Some(Instant::now());
        Some(Box::new(facts(languages, self.isolation_mode)))
    }
}

/// What cannot be read says why.
fn facts(languages: HostLanguages, isolation_mode: IsolationMode) -> NodeFacts {
    let machine = Reading::from_result(Machine::this());
    let read = machine.as_ref().and_then(|machine| Reading::from_result(Facts::gather(machine)));
    let slots_config = Reading::from_result(slots_config(None));
    let plan = read.as_ref().and_then(|read| {
        slots_config
            .as_ref()
            .map(|slots_config| host::slots::plan_with(&read.topology, &read.cgroups, slots_config))
    });
    let assess = |read: &Facts| plan.as_ref().map(|plan| audit::assess(read, plan));
    NodeFacts {
        version: Reading::Known(crate::VERSION.into()),
        languages: Reading::Known(languages),
        slots: plan.as_ref().map(|plan| {
            let slots = plan.slots.iter().map(|slot| isolation_mode.slot(slot)).collect();
            slots::measured(&SlotPlan { slots, ..plan.clone() }, true)
        }),
        audit: read.as_ref().and_then(assess),
        tuning: Reading::from_result(tune::present()),
        index: index::kept(),
        fingerprint: read.as_ref().map(identity::fingerprint),
        kernel: read.as_ref().and_then(|read| read.platform.kernel.clone()),
        memory_bytes: machine.as_ref().and_then(|machine| identity::memory(machine).1),
    }
}

/// Sizes and times of the files that other commands leave and this one shows: equal as long as none of them was changed.
fn kept_files() -> String {
    let Ok(data) = data_directory() else { return String::new() };
    stamp([
        data.join(index::KEPT),
        data.join("floors"),
        cache_directory().unwrap_or_default().join(vm::KEPT),
        host::tune::Journal::path_in(&tune::data_directory()),
    ])
}

fn stamp(paths: impl IntoIterator<Item = PathBuf>) -> String {
    let one = |path: PathBuf| {
        let about = std::fs::metadata(&path).ok().and_then(|it| Some((it.len(), it.modified().ok()?)));
        format!("{}: {about:?}\n", path.display())
    };
    paths.into_iter().map(one).collect()
}

/// The document of the languages as it was kept, and what it was made of.
#[derive(Serialize, Deserialize)]
struct Versions {
    of: String,
    at: u64,
    document: HostLanguages,
}

/// Asking some dozens of toolchains for their versions takes seconds and every CPU's caches: the answers are kept until a program was
/// put into or taken out of a directory of the search path.
fn versions(known: &Languages, table: Option<&Path>) -> HostLanguages {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut made_of: Vec<PathBuf> = std::env::split_paths(&search).collect();
    made_of.extend(table.map(Path::to_path_buf));
    made_of.push("/proc/self/exe".into());
    let of = stamp(made_of);
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let file = data_directory().map(|data| data.join("worker-languages.json"));
    let kept = file.as_ref().ok().and_then(|file| std::fs::read(file).ok());
    let kept = kept.and_then(|text| serde_json::from_slice::<Versions>(&text).ok());
    if let Some(kept) = kept.filter(|kept| kept.of == of && at.abs_diff(kept.at) < VERSIONS_FOR) {
        return kept.document;
    }
    let fresh = Versions { of, at, document: languages::found(known) };
    if let (Ok(file), Ok(text)) = (file, serde_json::to_vec(&fresh))
        && let Err(error) = index::replace(&file, &text)
    {
        tracing::debug!(%error, "versions of toolchains are not kept");
    }
    fresh.document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_seen() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("index.json");
        let now = || stamp([file.clone()]);
        let absent = now();
        assert_eq!(absent, now());
        std::fs::write(&file, "{}").expect("a file");
        let first = now();
        assert_ne!(absent, first);
        std::fs::write(&file, "{ }").expect("a file");
        assert_ne!(first, now());
    }
}
