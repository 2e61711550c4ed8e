//! The service's end of work over NATS: tickets go out ([`dispatch`]), questions are answered ([`answer`]), what is told of judgements is
//! passed on ([`news`]), and who is there is looked at ([`presence`]).
//!
//! Several servers do all of this at once. What must happen once is decided by the store: a job is claimed for one ticket, begun by one
//! worker, and stored once. Brokers may be away at any time: then submissions are taken in all the same, and wait.

mod answer;
mod dispatch;
mod news;
mod packages;
mod presence;

use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use fleet::nats::{Nats, NatsError, Options, WorkerId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Brokers that could not be used are tried again after this.
const AGAIN: Duration = Duration::from_secs(2);
/// Who asked something is there for so long, whatever it says of itself: workers say it as often.
const HEARD: Duration = Duration::from_secs(10);

/// What is known of the brokers, and through them.
pub(crate) struct Brokers {
    /// Which server this is: what it tells is not told to it again.
    own: String,
    state: Mutex<State>,
    packages: packages::There,
}

#[derive(Default)]
struct State {
    nats: Option<Nats>,
    /// Why they cannot be used, where that is so.
    trouble: Option<String>,
    /// Workers that said themselves that they are there.
    present: BTreeSet<WorkerId>,
    /// Workers that asked something here of late, and when.
    heard: HashMap<WorkerId, Instant>,
    /// The pools of nodes that get work.
    working: HashMap<String, String>,
    /// Pools whose consumers were made.
    pools: BTreeSet<String>,
}

impl Brokers {
    /// Brokers that nobody has tried to reach yet.
    ///
    /// # Errors
    /// Where there is no randomness.
    pub(crate) fn new() -> Result<Brokers, Refusal> {
        let trouble = Some("not reached yet".to_string());
        let state = State { trouble, ..State::default() };
        Ok(Brokers { own: secret::uuid()?, state: state.into(), packages: packages::There::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why work does not go out, where it does not.
    pub(crate) fn trouble(&self) -> Option<String> {
        let state = self.state();
        let away = state.nats.as_ref().is_some_and(|nats| !nats.is_connected());
        state
            .trouble
            .clone()
            .or_else(|| away.then(|| "the connection to NATS broke; connecting again".into()))
    }

    /// The connection; `None`: there was none yet.
    pub(crate) fn nats(&self) -> Option<Nats> {
        self.state().nats.clone()
    }

    /// Slots that are there and get work, by pool.
    fn slots(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let heard = state.heard.keys().filter(|from| !state.present.contains(from));
        slots(state.present.iter().chain(heard), &state.working)
    }

    /// A worker was heard of that gets work; whether that is news.
    fn works(&self, from: &WorkerId) -> bool {
        let mut state = self.state();
        let known = state.working.insert(from.node.clone(), from.pool.clone());
        let heard = state.heard.insert(from.clone(), Instant::now());
        known.is_none() || heard.is_none()
    }

    /// So it was found: who is there, and which nodes get work.
    fn found(&self, present: BTreeSet<WorkerId>, working: HashMap<String, String>) {
        let mut state = self.state();
        (state.present, state.working) = (present, working);
        state.heard.retain(|_, at| at.elapsed() < HEARD);
    }

    /// Sees to it that the nodes of a pool can get tickets.
    pub(crate) async fn provision_pool(&self, pool: &str) -> Result<(), NatsError> {
        let (nats, made) = {
            let state = self.state();
            (state.nats.clone(), state.pools.contains(pool))
        };
        let Some(nats) = nats.filter(|_| !made) else { return Ok(()) };
        nats.provision_pool(pool).await?;
        self.state().pools.insert(pool.to_string());
        Ok(())
    }

    /// Something is gone that was made at the brokers: it is created again, and what was taken to exist is looked up again.
    async fn provision(&self, service: &Service) -> Result<(), NatsError> {
        let Some(nats) = self.nats() else { return Ok(()) };
        let own = service_id(service).await?;
        nats.provision(&own, None).await?;
        self.packages.forget();
        let pools = std::mem::take(&mut self.state().pools);
        for pool in pools {
            self.provision_pool(&pool).await?;
        }
        Ok(())
    }
}

/// The slots that are there and get work, by pool: those of nodes that do, where they belong.
fn slots<'a>(
    there: impl Iterator<Item = &'a WorkerId>,
    working: &HashMap<String, String>,
) -> BTreeMap<String, u64> {
    let mut slots = BTreeMap::new();
    for from in there.filter(|from| working.get(&from.node) == Some(&from.pool)) {
        *slots.entry(from.pool.clone()).or_default() += 1;
    }
    slots
}

/// Which service this is, among those that a cluster of brokers could belong to: one database is one service, whatever serves it.
async fn service_id(service: &Service) -> Result<String, NatsError> {
    let failed =
        |why: String| NatsError::Failed { what: "asking the database which service this is".into(), why };
    let fresh = secret::uuid().map_err(|e| failed(e.to_string()))?;
    let id = service.store.setting_or("service_id", &fresh.into()).await;
    let id = id.map_err(|e| failed(e.to_string()))?;
    id.as_str().map(String::from).ok_or_else(|| failed("the setting `service_id` is not text".into()))
}

/// Serves the fleet until it is dropped. Returns only where that can never be: the brokers are another service's.
pub(crate) async fn serve(service: Arc<Service>, options: Options) -> NatsError {
    let Some(brokers) = &service.brokers else { return std::future::pending().await };
    let mut tasks = JoinSet::new();
    tasks.spawn(news::pass_on(service.clone()));
    let nats = match connected(&service, brokers, &options).await {
        Ok(nats) => nats,
        Err(hopeless) => return hopeless,
    };
    tasks.spawn(answer::serve(service.clone(), nats.clone()));
    tasks.spawn(news::hear(service.clone(), nats.clone()));
    tasks.spawn(presence::look(service.clone(), nats.clone()));
    tasks.spawn(dispatch::serve(service.clone(), nats));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "serving the fleet");
        }
    }
    std::future::pending().await
}

/// Connects and makes what is needed there, as soon as that can be.
async fn connected(service: &Service, brokers: &Brokers, options: &Options) -> Result<Nats, NatsError> {
    let mut nats = None;
    loop {
        let tried = async {
            let connection = match nats.take() {
                Some(connection) => connection,
                None => fleet::nats::connect(options).await?,
            };
            let connection = nats.insert(connection);
            connection.provision(&service_id(service).await?, None).await
        };
        match (tried.await, &nats) {
            (Ok(()), Some(nats)) => {
                let mut state = brokers.state();
                (state.nats, state.trouble) = (Some(nats.clone()), None);
                tracing::info!(brokers = nats.brokers(), "serving a fleet");
                return Ok(nats.clone());
            }
            (Ok(()), None) => {}
            (Err(hopeless @ NatsError::WrongCluster { .. }), _) => return Err(hopeless),
            (Err(error), _) => {
                let why = model::hint::in_one_line(&error.to_string());
                let before = brokers.state().trouble.replace(why.clone());
                if before.as_ref() != Some(&why) {
                    tracing::error!(why, "no work for the fleet; trying again");
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_count_where_their_node_belongs_and_gets_work() {
        let there = [
            ("metal", "a", 0),
            ("metal", "a", 1),
            ("metal", "waits", 0),
            ("cloud", "a", 7),
            ("cloud", "b", 0),
        ];
        let there = there.map(|(pool, node, slot)| WorkerId { pool: pool.into(), node: node.into(), slot });
        let working = [("a", "metal"), ("b", "cloud"), ("gone", "metal")];
        let working = working.map(|(node, pool)| (node.to_string(), pool.to_string())).into();
        let slots: Vec<(String, u64)> = slots(there.iter(), &working).into_iter().collect();
        assert_eq!(slots, [("cloud".to_string(), 1), ("metal".to_string(), 2)]);
    }
}
