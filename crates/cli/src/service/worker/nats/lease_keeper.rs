//! Looking after a task while it is being done, and telling what came of it. In the background: the next task may have begun.

use super::shared::Shared;
use fleet::Outcome;
use fleet::nats::{Ask, Reply, Ticket};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// A task is kept as often.
const EVERY: Duration = Duration::from_secs(3);
/// An outcome is told within that, or told again. Shorter than the stream waits for a sign of its ticket.
const TELLING: Duration = Duration::from_secs(6);
/// Rest before an outcome is told again.
const REST: Duration = Duration::from_millis(200);

/// A task that is looked after.
pub(super) struct LeaseKeeper {
    outcome: oneshot::Sender<Outcome>,
    told: oneshot::Receiver<()>,
}

/// An outcome on its way.
pub(super) struct OutcomeDelivery(oneshot::Receiver<()>);

impl LeaseKeeper {
    /// Begins to look after a task.
    pub(super) fn begin(shared: &Arc<Shared>, ticket: Ticket) -> LeaseKeeper {
        let ((outcome, comes), (tell, told)) = (oneshot::channel(), oneshot::channel());
        let shared = shared.clone();
        tokio::spawn(async move {
            let Some(outcome) = keep(&shared, &ticket, comes).await else { return };
            conclude(&shared, ticket, outcome).await;
            let _ = tell.send(());
        });
        LeaseKeeper { outcome, told }
    }

    /// It is done.
    pub(super) fn done(self, outcome: Outcome) -> OutcomeDelivery {
        let _ = self.outcome.send(outcome);
        OutcomeDelivery(self.told)
    }
}

impl OutcomeDelivery {
    /// Whether it has arrived within that time. Not to be asked again then.
    pub(super) async fn arrives(&mut self, within: Duration) -> bool {
        tokio::time::timeout(within, &mut self.0).await.is_ok()
    }
}

/// Keeps ticket and lease until there is an outcome. `None`: there will be none.
async fn keep(
    shared: &Arc<Shared>,
    ticket: &Ticket,
    mut comes: oneshot::Receiver<Outcome>,
) -> Option<Outcome> {
    let lease = ticket.lease;
    loop {
        tokio::select! {
            biased;
            outcome = &mut comes => return outcome.ok(),
            () = tokio::time::sleep(EVERY) => {}
        }
        let keeping = async {
            let _ = ticket.progress().await;
            shared.nats.ask(&shared.from, &Ask::Keep { lease }, EVERY).await
        };
        tokio::select! {
            biased;
            outcome = &mut comes => return outcome.ok(),
            reply = keeping => match reply {
                Ok(Reply::Cancel) => shared.worker_state.lose(lease),
                Ok(_) => {}
                Err(error) => tracing::debug!(job = lease.job.0, %error, "a task was not kept"),
            },
        }
    }
}

/// Tells what came of a task until a server has heard it, for as long as that takes, and acknowledges the ticket.
async fn conclude(shared: &Shared, ticket: Ticket, outcome: Outcome) {
    let lease = ticket.lease;
    let mut told = String::new();
    loop {
        let why = match shared.nats.body(&outcome).await {
            Ok(outcome) => {
                match shared.nats.ask(&shared.from, &Ask::Done { lease, outcome }, TELLING).await {
                    Ok(Reply::Heard | Reply::Cancel) => break,
                    Ok(other) => format!("{other:?}"),
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        if why != told {
            tracing::warn!(job = lease.job.0, why, "an outcome is not acknowledged; sending it again");
            told = why;
        }
        let _ = ticket.progress().await;
        // The object store may be away alone.
        let _ = shared.nats.ask(&shared.from, &Ask::Keep { lease }, REST).await;
        tokio::time::sleep(REST).await;
    }
    if let Err(error) = ticket.ack().await {
        tracing::debug!(job = lease.job.0, %error, "a ticket was not acknowledged; it will be delivered again and discarded");
    }
    shared.worker_state.state().heard(lease);
}
