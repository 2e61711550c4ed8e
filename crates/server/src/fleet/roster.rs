//! What the rules look at, as it was a moment ago: pools, contests and nodes. Every job asks for it, and it changes rarely.

use super::clocks::Clocks;
use crate::timestamp::now;
use ::fleet::{Contest, Health, HealthPolicy, Pool, PoolKind, Statement};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::{ContestId, Error, Node, NodeState, Store};

/// How old it may be.
const FRESH: Duration = Duration::from_secs(1);
/// Starts of a machine's system that are remembered.
const BOOTS: usize = 8;
/// For how long two machines of one name are told of after they were noticed: each states itself in less than that.
const TWINS: Duration = Duration::from_secs(900);
/// A node that was heard of so lately is there, in microseconds.
const LATELY_US: i64 = 30_000_000;

/// What a server remembers of a fleet, besides the store. All of it may be lost.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    roster: Mutex<Option<(Instant, Arc<Roster>)>>,
    quiet: Mutex<HashMap<String, Quiet>>,
    boots: Mutex<HashMap<String, Boots>>,
    pub(super) clocks: Clocks,
}

/// Jobs that had nothing against a node. They are told to its tests when there is something else to tell, since each telling is a
/// transaction, and most jobs are so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quiet {
    /// Jobs that were not disturbed.
    pub(super) judged: u32,
    /// Cross-checks without a charge.
    pub(super) checked: u32,
}

#[derive(Debug, Default)]
struct Boots {
    /// The last one last.
    seen: Vec<String>,
    twin: Option<(Instant, String)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    /// What there is.
    pub(super) async fn roster(&self, store: &Store) -> Result<Arc<Roster>, Error> {
        let known = locked(&self.roster).clone();
        if let Some((at, roster)) = known
            && at.elapsed() < FRESH
        {
            return Ok(roster);
        }
        let at = Instant::now();
        let last = locked(&self.roster).as_ref().map(|(_, roster)| roster.clone()).unwrap_or_default();
        let roster = Arc::new(Roster::read(store, &last).await?);
        *locked(&self.roster) = Some((at, roster.clone()));
        Ok(roster)
    }

    /// Something was changed here.
    pub(super) fn changed(&self) {
        if let Some((at, _)) = &mut *locked(&self.roster) {
            *at = at.checked_sub(FRESH).unwrap_or(*at);
        }
    }

    pub(super) fn count_quiet(&self, node: &str, count: impl FnOnce(&mut Quiet)) {
        count(locked(&self.quiet).entry(node.to_string()).or_default());
    }

    pub(super) fn quiet(&self, node: &str) -> Quiet {
        locked(&self.quiet).get(node).copied().unwrap_or_default()
    }

    /// These were told.
    pub(super) fn told(&self, node: &str, told: Quiet) {
        self.count_quiet(node, |quiet| {
            quiet.judged = quiet.judged.saturating_sub(told.judged);
            quiet.checked = quiet.checked.saturating_sub(told.checked);
        });
    }

    /// A machine of this name stated this start of its system: why it is taken for two machines, if so. A start never comes back, so that one that
    /// does after another one is that of another machine.
    pub(super) fn twin(&self, node: &str, stated: Option<&str>) -> Option<String> {
        let mut all = locked(&self.boots);
        let boots = all.entry(node.to_string()).or_default();
        if let Some(boot) = stated {
            let last = boots.seen.last().cloned();
            if let Some(other) = last.filter(|last| last != boot) {
                if let Some(at) = boots.seen.iter().position(|seen| seen == boot) {
                    boots.seen.remove(at);
                    let why = "another machine uses this name: rename one of them";
                    boots.twin = Some((Instant::now(), format!("{why} (boot ids {boot} and {other})")));
                }
                boots.seen.push(boot.to_string());
            } else if boots.seen.is_empty() {
                boots.seen.push(boot.to_string());
            }
            let more = boots.seen.len().saturating_sub(BOOTS);
            boots.seen.drain(..more);
        }
        boots.twin.as_ref().filter(|(at, _)| at.elapsed() < TWINS).map(|(_, why)| why.clone())
    }
}

/// A node, without its facts, with what its documents say.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) node: Node,
    pub(super) statement: Option<Arc<Statement>>,
    pub(super) health: Option<Arc<Health>>,
}

impl Known {
    /// Where nothing was changed since, what its documents said before is what they say.
    fn from_node(node: Node, last: Option<&Known>) -> Known {
        let unchanged =
            |last: &&Known| (last.node.revision, last.node.first_seen) == (node.revision, node.first_seen);
        match last.filter(unchanged) {
            Some(last) => Known { statement: last.statement.clone(), health: last.health.clone(), node },
            None => {
                Known { statement: statement(&node).map(Arc::new), health: health(&node).map(Arc::new), node }
            }
        }
    }
}

/// What a node has stated.
pub(super) fn statement(node: &Node) -> Option<Statement> {
    serde_json::from_value(node.statement.clone()?).ok()
}

/// What its tests have come to. Those of a node that was admitted.
pub(super) fn health(node: &Node) -> Option<Health> {
    node.admitted.as_ref()?;
    serde_json::from_value(node.health.clone()?).ok()
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) pools: BTreeMap<String, Pool>,
    pub(super) contests: BTreeMap<ContestId, Contest>,
    pub(super) nodes: BTreeMap<String, Known>,
}

impl Roster {
    async fn read(store: &Store, last: &Roster) -> Result<Roster, Error> {
        let pools = store.pools().await?.into_iter();
        let contests = store.contests().await?.into_iter();
        let nodes = store.nodes().await?.into_iter();
        Ok(Roster {
            pools: pools
                .filter_map(|pool| Some((pool.name, serde_json::from_value(pool.form).ok()?)))
                .collect(),
            contests: contests
                .filter_map(|contest| Some((contest.id, serde_json::from_value(contest.policy).ok()?)))
                .collect(),
            nodes: nodes
                .map(|node| {
                    let last = last.nodes.get(&node.name);
                    (node.name.clone(), Known::from_node(node, last))
                })
                .collect(),
        })
    }

    /// A pool that is not known is taken for a relaxed one: nothing is promised there.
    pub(super) fn kind(&self, pool: &str) -> PoolKind {
        self.pools.get(pool).map_or(PoolKind::Relaxed, |pool| pool.kind)
    }

    /// Whether a pool's nodes take what may be judged anywhere.
    pub(super) fn takes_any(&self, pool: &str) -> bool {
        self.pools
            .get(pool)
            .is_none_or(|pool| pool.kind == PoolKind::Relaxed || pool.helps_after_secs.is_some())
    }

    /// Whether what a node says is doubted.
    pub(super) fn doubts(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|known| {
            let health = known.health.as_ref();
            let policy = policy(self.kind(&known.node.pool));
            known.node.doubted_since.is_some()
                || health.is_some_and(|health| health.is_watched(policy) || health.is_suspected())
        })
    }

    /// Nodes that get work and are there: of `connected`, which have a worker that is connected, and those that were heard of lately.
    pub(super) fn at_work<'a>(
        &'a self,
        connected: &'a BTreeSet<String>,
    ) -> impl Iterator<Item = &'a Known> + 'a {
        let now = now();
        let there = move |known: &&Known| {
            let node = &known.node;
            node.gets_work() && (connected.contains(&node.name) || now.0 - node.last_seen.0 < LATELY_US)
        };
        self.nodes.values().filter(there)
    }

    /// Whether a node may be taken out of its pool by itself: so that half of those that are admitted remain. Where more than that are suspected
    /// it is more likely that something befell all of them, and a person has to decide.
    pub(super) fn may_go(&self, node: &Node) -> bool {
        let members =
            self.nodes.values().filter(|one| one.node.pool == node.pool && one.node.waits.is_none());
        let (mut all, mut active) = (0, 0);
        for one in members {
            all += 1;
            active += u32::from(one.node.state == NodeState::Active && one.node.name != node.name);
        }
        2 * active >= all
    }
}

/// The numbers by which nodes of such a pool are looked at. They are reckoned once.
pub(super) fn policy(kind: PoolKind) -> &'static HealthPolicy {
    static POLICIES: OnceLock<[HealthPolicy; 2]> = OnceLock::new();
    let both = POLICIES.get_or_init(|| [PoolKind::Strict, PoolKind::Relaxed].map(HealthPolicy::published));
    &both[usize::from(kind == PoolKind::Relaxed)]
}
