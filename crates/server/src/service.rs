//! The service as a whole: what its parts share, how it starts and how it ends.

use crate::accounts::{Access, Accounts};
use crate::callbacks::{self, CallbackSender};
use crate::connections::Bounds;
use crate::errors::Refusal;
use crate::faces::{self, judge0};
use crate::fleet::{self, Fleet};
use crate::live::Live;
use crate::metrics::{self, Metrics, Readiness};
use crate::problems::{Packages, install_examples};
use crate::toolchains::Toolchains;
use crate::{accounts, api, connections, guard, pages, upkeep, work};
use ::fleet::nats::Options as NatsOptions;
use axum::routing::get;
use axum::{Router, middleware};
use model::SecondOpinions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

/// What a site decides about its service.
#[derive(Clone)]
pub struct Settings {
    /// The service's own directory: nothing else is written.
    pub directory: PathBuf,
    /// Address of the database, as [`Store::open`] takes it.
    pub database: String,
    /// The brokers by which work goes to a fleet; `None`: to this machine's workers alone.
    pub nats: Option<NatsOptions>,
    /// Without signing in everybody may submit and see; right only where nobody else can connect.
    pub anonymous: bool,
    /// How it is reached, and what one caller may ask of it.
    pub access: Access,
    /// How long work may go on after the service was told to end.
    pub grace: Duration,
    /// The number of workers that may fail at a job, or die of it, before it gets the verdict JE.
    pub attempts: u64,
    /// Which results the reference clock judges too, where neither the contest nor the problem says so. `Never`: none, whatever problems say.
    pub second_opinion: SecondOpinions,
    /// How long sources, runs and outputs of submissions are kept, and samples of nodes; `None`: for good.
    pub retention: Option<Duration>,
    /// Where callbacks may go.
    pub callbacks: callbacks::Allowed,
}

/// Where the service is reached. Bound by the caller, which may have a right that the service has not.
#[derive(Debug)]
pub struct Listeners {
    /// By HTTP.
    pub http: std::net::TcpListener,
    /// By workers.
    pub work: std::os::unix::net::UnixListener,
}

/// A service that is ready to serve.
pub struct Startup {
    pub(crate) service: Arc<Service>,
}

/// What the parts of the service share.
pub(crate) struct Service {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) live: Live,
    pub(crate) packages: Packages,
    /// The languages of the nodes.
    pub(crate) toolchains: Toolchains,
    /// What Judge0's clients are told about numbers.
    pub(crate) statistics: judge0::Statistics,
    /// How much they have queued.
    pub(crate) waiting: judge0::Waiting,
    pub(crate) accounts: Accounts,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    /// A job was queued.
    pub(crate) work_came: work::WorkCame,
    /// The brokers, where there is a fleet.
    pub(crate) brokers: Option<work::nats::Brokers>,
    /// What is remembered of the nodes of a fleet.
    pub(crate) fleet: Fleet,
    /// The workers that are connected.
    pub(crate) workers: work::Workers,
    /// Set when the service is to end.
    pub(crate) ending: watch::Sender<bool>,
}

/// Opens the database and what else the service needs.
///
/// # Errors
/// [`Refusal::Unavailable`] with the remedy where the database cannot be had.
pub async fn open(settings: Settings) -> Result<Startup, Refusal> {
    let store = Store::open(&settings.database).await?;
    let packages = Packages::new(settings.directory.join("packages"));
    let accounts = Accounts::new(&settings.access);
    let brokers = settings.nats.as_ref().map(|_| work::nats::Brokers::new()).transpose()?;
    let service = Service {
        settings,
        accounts,
        store,
        live: Live::default(),
        packages,
        toolchains: Toolchains::default(),
        statistics: judge0::Statistics::default(),
        waiting: judge0::Waiting::default(),
        metrics: Metrics::default(),
        readiness: Readiness::default(),
        work_came: work::WorkCame::default(),
        brokers,
        fleet: Fleet::default(),
        workers: work::Workers::default(),
        ending: watch::Sender::new(false),
    };
    if let Err(error) = fleet::local_pool(&service).await {
        tracing::error!(%error, "making the pool of this machine's workers");
    }
    if let Err(error) = install_examples(&service).await {
        tracing::error!(%error, "installing the example problems");
    }
    Ok(Startup { service: Arc::new(service) })
}

impl Startup {
    /// A link by which the first admin is made, where there is none yet; below the address under which the service is reached. It is good once,
    /// and for a day; the one of an earlier start is not good any more.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn admin_link(&self) -> Result<Option<String>, Refusal> {
        match accounts::has_admin(&self.service).await? {
            true => Ok(None),
            false => accounts::new_admin_link(&self.service).await.map(Some),
        }
    }

    /// Another such link, for an admin who cannot sign in any more.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn new_admin_link(&self) -> Result<String, Refusal> {
        accounts::new_admin_link(&self.service).await
    }

    /// Serves until `stop` is done, then ends: no new work is given out, what is being judged is waited for as long as the
    /// settings say, then given back.
    ///
    /// # Errors
    /// [`Refusal::Fault`] where a listener fails; [`Refusal::Bad`] for what will not change by itself, such as brokers of another service.
    pub async fn serve(
        self,
        listeners: Listeners,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Refusal> {
        let service = self.service;
        let (http, workers) =
            bound(&service.settings, listeners).map_err(|e| Refusal::Fault(format!("listening: {e}")))?;
        let working = tokio::spawn(work::serve(service.clone(), workers));
        let reaping = tokio::spawn(work::take_back_lost(service.clone()));
        let upkeep = tokio::spawn(upkeep::serve(service.clone()));
        let looking = tokio::spawn(fleet::serve(service.clone()));
        let sender = CallbackSender::of_system(service.settings.callbacks.clone());
        let delivering = tokio::spawn(callbacks::deliver(service.clone(), sender, callbacks::HOLD));
        let options = service.settings.nats.clone();
        let fleet = options.map(|options| tokio::spawn(serve_fleet(service.clone(), options)));
        let ending = service.clone();
        tokio::spawn(async move {
            stop.await;
            ending.ending.send_replace(true);
        });
        let stopped = ended(service.ending.subscribe());
        let bounds = Bounds::for_access(&service.settings.access, service.settings.grace);
        connections::serve(http, router(service.clone()), bounds, stopped).await;
        drop(working.await);
        reaping.abort();
        // In the middle of a step nothing is lost: a step is done or not.
        upkeep.abort();
        looking.abort();
        delivering.abort();
        let hopeless = match fleet {
            Some(fleet) if fleet.is_finished() => fleet.await.ok(),
            Some(fleet) => {
                fleet.abort();
                None
            }
            None => None,
        };
        service.store.close().await;
        hopeless.map_or(Ok(()), Err)
    }
}

/// Serves the fleet until it is dropped. Where that can never be, the service ends, and this says why.
async fn serve_fleet(service: Arc<Service>, options: NatsOptions) -> Refusal {
    let hopeless = work::nats::serve(service.clone(), options).await;
    service.ending.send_replace(true);
    Refusal::Bad(hopeless.to_string())
}

/// The listeners, as they are served.
fn bound(settings: &Settings, listeners: Listeners) -> std::io::Result<(TcpListener, UnixListener)> {
    let listening = listeners.http.local_addr()?;
    settings.access.check(settings.anonymous, listening).map_err(std::io::Error::other)?;
    listeners.http.set_nonblocking(true)?;
    listeners.work.set_nonblocking(true)?;
    Ok((TcpListener::from_std(listeners.http)?, UnixListener::from_std(listeners.work)?))
}

/// Waits until the service is to end.
pub(crate) async fn ended(mut ending: watch::Receiver<bool>) {
    while !*ending.borrow_and_update() {
        if ending.changed().await.is_err() {
            return;
        }
    }
}

pub(crate) fn router(service: Arc<Service>) -> Router {
    let routes = Router::new()
        .nest("/api/v1", api::router())
        .route("/metrics", get(api::operation::metrics))
        .merge(pages::router(&service));
    guard::guarded(faces::mounted(routes), &service)
        .layer(middleware::map_request(faces::with_token))
        .layer(middleware::from_fn_with_state(service.clone(), metrics::count))
        .with_state(service)
}
