//! The service at the other side of the brokers, as a task sees it.

use super::shared::Shared;
use crate::service::worker::transport::{TaskService, TransportError};
use fleet::Lease;
use fleet::nats::{Ask, NatsError, News, Reply};
use model::Event;
use std::fs::File;
use std::io::{Seek, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::AsyncWrite;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// A service that cannot be asked for so long is as good as gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// It is looked as often whether the task is to be left.
const LOOK: Duration = Duration::from_secs(2);
/// Rest before a package is asked for again that broke off.
const REST: Duration = Duration::from_millis(300);
/// Events that may wait for their turn; more are dropped.
const EVENTS: usize = 1024;

/// What a task asks.
pub(super) struct Asking {
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: Handle,
    pub(super) events: Events,
    /// The submission that is being judged.
    pub(super) submission: i64,
}

/// The way events go.
pub(super) struct Events(mpsc::Sender<(i64, News)>);

impl Events {
    /// Begins to tell them, in order.
    pub(super) fn begin(shared: &Arc<Shared>) -> Events {
        let (send, mut take) = mpsc::channel::<(i64, News)>(EVENTS);
        let shared = shared.clone();
        tokio::spawn(async move {
            while let Some((submission, news)) = take.recv().await {
                if let Err(error) = shared.nats.tell(submission, &news).await {
                    tracing::debug!(%error, "an event was not published");
                }
            }
        });
        Events(send)
    }
}

impl Asking {
    /// Asks until there is an answer, the task is to be left, or patience is over.
    fn ask(&self, ask: &Ask) -> Result<Reply, TransportError> {
        let begun = Instant::now();
        loop {
            let why = match self.runtime.block_on(self.shared.nats.ask(&self.shared.from, ask, LOOK)) {
                Ok(Reply::Unavailable { why }) => why,
                Ok(reply) => return Ok(reply),
                Err(error) => error.to_string(),
            };
            self.go_on(begun, &why)?;
        }
    }

    fn go_on(&self, begun: Instant, why: &str) -> Result<(), TransportError> {
        match self.shared.worker_state.is_vain() || begun.elapsed() > PATIENCE {
            true => Err(TransportError::Connection(why.into())),
            false => Ok(()),
        }
    }

    fn asked_for(&self, hash: &str, damaged: bool) -> Result<bool, TransportError> {
        match self.ask(&Ask::Package { hash: hash.into(), damaged })? {
            Reply::Package { there } => Ok(there),
            other => Err(TransportError::Connection(format!("the service answered with {other:?}"))),
        }
    }
}

impl TaskService for Asking {
    fn event(&self, _: Lease, event: Event) {
        // Those that find no room are lost: nothing hangs on them.
        let _ = self.events.0.try_send((self.submission, News::Event(Box::new(event))));
    }

    fn waits(&self, lease: Lease) {
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            match shared.nats.ask(&shared.from, &Ask::Waits { lease }, LOOK).await {
                Ok(Reply::Cancel) => shared.worker_state.lose(lease),
                Ok(_) => {}
                Err(error) => tracing::debug!(job = lease.job.0, %error, "a wait was not reported"),
            }
        });
    }

    fn package(&self, hash: &str, to: &mut File) -> Result<bool, TransportError> {
        let begun = Instant::now();
        loop {
            let here = |e: std::io::Error| TransportError::Here(e.to_string());
            to.set_len(0).and_then(|()| to.rewind()).map_err(here)?;
            let mut file = Blocking(&mut *to);
            let why = match self.runtime.block_on(self.shared.nats.get_package(hash, &mut file)) {
                Ok(()) => return Ok(true),
                // As far as it came: that it is another one is seen by whoever keeps it.
                Err(NatsError::Damaged { .. }) => return Ok(true),
                Err(NatsError::Local(error)) => return Err(here(error)),
                // Its credentials are this machine's own.
                Err(error @ NatsError::Denied(_)) => return Err(TransportError::Here(error.to_string())),
                Err(NatsError::Missing { .. }) => match self.asked_for(hash, false)? {
                    true => "it is put into the object store".into(),
                    false => return Ok(false),
                },
                Err(error) => error.to_string(),
            };
            self.go_on(begun, &why)?;
            std::thread::sleep(REST);
        }
    }

    fn damaged(&self, hash: &str, _: &str) -> Result<(), TransportError> {
        match self.asked_for(hash, true)? {
            true => Ok(()),
            false => Err(TransportError::Connection(format!("the service has no package {hash} any more"))),
        }
    }
}

/// A file written where nothing else waits meanwhile.
struct Blocking<'a>(&'a mut File);

impl AsyncWrite for Blocking<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
