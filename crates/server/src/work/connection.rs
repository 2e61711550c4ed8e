//! A worker by the Unix socket: a connection, a slot, one task at a time. The connection is its sign of life: as long as it stands the service
//! keeps the worker's job for it.

use super::{LEASE, LOCAL_POOL, Worker, worker_messages};
use crate::errors::Refusal;
use crate::live::LiveEvent;
use crate::service::Service;
use crate::timestamp::now;
use fleet::nats::WorkerId;
use fleet::{Frame, FromWorker, Hello, ToWorker, WireError};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use store::{Job, Lease};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// An idle worker looks for work this often even when nobody tells it: another service may have queued it.
const IDLE_LOOK: Duration = Duration::from_millis(500);

/// Whether the other end may be a worker: of root, or of the user the service runs as. Judgements are believed.
pub(super) fn is_trusted(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == own)
}

struct Connection {
    service: Arc<Service>,
    from: WorkerId,
    to: OwnedWriteHalf,
    /// What the worker is at.
    doing: Option<Job>,
    ready: bool,
    /// It infers time limits.
    infers: bool,
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{0}")]
    Protocol(&'static str),
    #[error("the service: {0}")]
    Service(#[from] Refusal),
    /// The service ends and this worker has nothing to do.
    #[error("the service is ending")]
    Ending,
}

impl From<std::io::Error> for End {
    fn from(error: std::io::Error) -> End {
        End::Wire(error.into())
    }
}

/// Serves a worker until one side ends it, and gives back what it had not finished.
pub(super) async fn serve(service: Arc<Service>, stream: UnixStream) {
    let (from, mut to) = stream.into_split();
    let (tx, mut said) = mpsc::channel(64);
    let reading = tokio::spawn(listen(from, tx));
    let hello = match greeted(&mut said, &mut to).await {
        Ok(hello) => hello,
        Err(error) => {
            tracing::warn!(%error, "a worker was refused");
            reading.abort();
            return;
        }
    };
    let from = WorkerId { pool: LOCAL_POOL.into(), node: hello.node.clone(), slot: hello.slot.id };
    let name = from.worker();
    tracing::info!(worker = name, version = hello.version, "worker connected");
    let since = now();
    service.workers.enter(
        &name,
        Worker {
            node: hello.node.clone(),
            slot: hello.slot.clone(),
            version: hello.version.clone(),
            since,
            judging: None,
            finished: 0,
        },
    );
    let mut connection =
        Connection { service: service.clone(), from, to, doing: None, ready: false, infers: hello.infers };
    let end = connection.run(hello, &mut said).await;
    reading.abort();
    service.workers.leave(&name, since);
    let why = match &end {
        Err(error) => error.to_string(),
        Ok(()) => "it left".to_string(),
    };
    tracing::info!(worker = name, why, "worker disconnected");
    // What this side could not do says nothing about the job.
    let innocent = matches!(end, Err(End::Ending | End::Service(_)));
    connection.put_back(&format!("worker {name}: {why}"), innocent).await;
}

/// Reads frames into a channel, so that waiting for one can be given up without losing half of it.
async fn listen(mut from: OwnedReadHalf, to: mpsc::Sender<Result<FromWorker, WireError>>) {
    loop {
        let message = read(&mut from).await;
        let broken = message.is_err();
        if to.send(message).await.is_err() || broken {
            return;
        }
    }
}

async fn read(from: &mut OwnedReadHalf) -> Result<FromWorker, WireError> {
    let mut head = [0; 5];
    from.read_exact(&mut head).await?;
    let (kind, length) = fleet::header(head)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    match Frame::decode(kind, body)? {
        Frame::Message(message) => Ok(message),
        Frame::Bytes(_) => Err(WireError::Form("bytes where a message was expected".into())),
    }
}

async fn greeted(
    said: &mut mpsc::Receiver<Result<FromWorker, WireError>>,
    to: &mut OwnedWriteHalf,
) -> Result<Hello, End> {
    let first = tokio::time::timeout(LEASE, said.recv()).await;
    let hello = match first {
        Ok(Some(Ok(FromWorker::Hello(hello)))) => *hello,
        Ok(Some(Err(error))) => return Err(error.into()),
        _ => return Err(End::Protocol("no greeting")),
    };
    let spoken = worker_messages::spoken(&hello);
    let answer = match spoken.clone() {
        Ok(protocol) => ToWorker::Welcome { protocol },
        Err(why) => ToWorker::Refused { why },
    };
    to.write_all(&fleet::encode(&answer)?).await?;
    spoken.map(|_| hello).map_err(|_| End::Protocol("another version"))
}

impl Connection {
    async fn say(&mut self, message: &ToWorker) -> Result<(), End> {
        Ok(self.to.write_all(&fleet::encode(message)?).await?)
    }

    async fn run(
        &mut self,
        hello: Hello,
        said: &mut mpsc::Receiver<Result<FromWorker, WireError>>,
    ) -> Result<(), End> {
        if let Some(holding) = hello.holding {
            self.resume(holding).await;
        }
        let mut ending = self.service.ending.subscribe();
        let mut beat = tokio::time::interval(LEASE / 3);
        let mut grace = pin!(tokio::time::sleep(Duration::MAX));
        let mut told = false;
        let service = self.service.clone();
        loop {
            let waiting = self.ready && self.doing.is_none();
            if *ending.borrow() && !told {
                told = true;
                grace.as_mut().reset(tokio::time::Instant::now() + service.settings.grace);
            }
            if told && self.doing.is_none() {
                return Err(End::Ending);
            }
            if waiting && self.assign().await? {
                continue;
            }
            tokio::select! {
                message = said.recv() => match message {
                    Some(message) => self.hear(message?).await?,
                    None => return Ok(()),
                },
                () = service.work_came.here(), if waiting => {}
                () = tokio::time::sleep(IDLE_LOOK), if waiting => {}
                _ = ending.changed(), if !told => {}
                () = &mut grace, if told => return Err(End::Ending),
                _ = beat.tick(), if self.doing.is_some() => self.keep().await?,
            }
        }
    }

    /// A worker that was at something when the connection broke goes on with it, if nobody else has it now.
    async fn resume(&mut self, lease: Lease) {
        if let Ok(Some(job)) = worker_messages::keep(&self.service, &self.from, lease).await {
            self.note(Some(job));
        }
    }

    /// The worker is at this from now on.
    fn note(&mut self, doing: Option<Job>) {
        let submission = doing.as_ref().map(|job| job.submission);
        self.doing = doing;
        self.service.workers.change(&self.from.worker(), |worker| worker.judging = submission);
    }

    /// What the worker is at, if that is the job of this lease.
    fn at(&self, lease: Lease) -> Option<&Job> {
        self.doing.as_ref().filter(|job| job.lease() == lease)
    }

    /// Gives the worker the next job, if there is one.
    async fn assign(&mut self) -> Result<bool, End> {
        let job = match worker_messages::next(&self.service, &self.from, self.infers).await {
            Ok(Some(job)) => job,
            Ok(None) => return Ok(false),
            // A full or busy database hands out nothing for a while.
            Err(error) => {
                tracing::error!(%error, "claiming a job");
                tokio::time::sleep(IDLE_LOOK).await;
                return Ok(false);
            }
        };
        self.note(Some(job.clone()));
        match worker_messages::begin(&self.service, &self.from, &job).await? {
            Some(task) => {
                self.ready = false;
                self.say(&ToWorker::Task(Box::new(task))).await?;
            }
            None => self.note(None),
        }
        Ok(true)
    }

    /// Keeps the job for the worker.
    async fn keep(&mut self) -> Result<(), End> {
        let Some(lease) = self.doing.as_ref().map(Job::lease) else { return Ok(()) };
        match worker_messages::keep(&self.service, &self.from, lease).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => self.cancel(lease).await,
            // The database may be back before the lease is over.
            Err(error) => {
                tracing::error!(%error, "keeping a job");
                Ok(())
            }
        }
    }

    /// The worker is to leave a job that is not its own any more.
    async fn cancel(&mut self, lease: Lease) -> Result<(), End> {
        if self.at(lease).is_some() {
            self.note(None);
        }
        self.say(&ToWorker::Cancel { lease }).await
    }

    async fn hear(&mut self, message: FromWorker) -> Result<(), End> {
        match message {
            FromWorker::Hello(_) => Err(End::Protocol("a second greeting")),
            FromWorker::Ready => {
                self.ready = true;
                Ok(())
            }
            FromWorker::Node { facts } => {
                if let Err(error) = worker_messages::node(&self.service, &self.from, &facts).await {
                    tracing::error!(%error, node = self.from.node, "noting a node");
                }
                Ok(())
            }
            FromWorker::NeedPackage { hash } => self.send_package(&hash).await,
            FromWorker::Event { lease, event } => {
                if let Some(job) = self.at(lease) {
                    self.service.live.tell(job.submission, LiveEvent::Progress { progress: event });
                }
                Ok(())
            }
            FromWorker::Waits { lease } => {
                match worker_messages::waits(&self.service, &self.from, lease).await {
                    Ok(Some(_)) => Ok(()),
                    Ok(None) => self.cancel(lease).await,
                    // It waits in its slot.
                    Err(error) => {
                        tracing::error!(%error, "postponing a job");
                        Ok(())
                    }
                }
            }
            FromWorker::TimeLimit { lease, found } => {
                let limit = worker_messages::time_limit(&self.service, &self.from, lease).await?;
                if limit.is_none() {
                    self.cancel(lease).await?;
                }
                // Every question is answered: it is waited for.
                self.say(&ToWorker::TimeLimit { lease, limit: limit.unwrap_or(found) }).await
            }
            FromWorker::Done { lease, outcome } => {
                let done = worker_messages::done(&self.service, &self.from, lease, &outcome).await;
                if self.at(lease).is_some() {
                    self.note(None);
                }
                done?;
                self.service.workers.change(&self.from.worker(), |worker| worker.finished += 1);
                self.say(&ToWorker::Heard { lease }).await
            }
        }
    }

    async fn send_package(&mut self, hash: &str) -> Result<(), End> {
        let known = hash.parse::<store::Hash>().ok();
        let size = match &known {
            Some(known) => self.service.store.blob_size(known).await.ok(),
            None => None,
        };
        self.say(&ToWorker::Package { hash: hash.to_string(), bytes: size }).await?;
        let (Some(hash), Some(size)) = (known, size) else { return Ok(()) };
        let pieces = size.div_ceil(store::PIECE as u64);
        for piece in 0..u32::try_from(pieces).unwrap_or(u32::MAX) {
            let bytes = self.service.store.blob_piece(&hash, piece).await.map_err(Refusal::from)?;
            self.to.write_all(&fleet::encode_bytes(&bytes)?).await?;
        }
        Ok(())
    }

    /// Puts back what the worker had not finished. A worker that went away by itself may have been ended by the job.
    async fn put_back(&mut self, why: &str, innocent: bool) {
        let Some(doing) = self.doing.take() else { return };
        worker_messages::put_back(&self.service, doing.lease(), doing.submission, why, innocent).await;
    }
}
