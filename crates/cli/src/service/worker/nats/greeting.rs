//! Telling the service who this worker is, and everybody that it is there. In the background, so that neither delays a task.

use super::shared::Shared;
use crate::service::worker::statement::now;
use crate::service::worker::transport::WorkerStanding;
use fleet::nats::{Ask, Greeting, Presence, Reply, Standing};
use std::sync::Arc;
use std::time::Duration;

/// A worker without a task greets as often.
const IDLE: Duration = Duration::from_secs(2);
/// One with a task.
const BUSY: Duration = Duration::from_secs(10);
/// A server answers within that, or another greeting is made: it has the time by this machine's clock in it, which the service holds
/// against its own, to 5 s.
const PATIENCE: Duration = Duration::from_secs(4);
/// What is known of a machine may be much, and go to a database.
const FACTS: Duration = Duration::from_secs(30);
/// It is said as often that this worker is there, and not more often than that.
const PRESENT: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(500));

/// Greets, now and whenever there is something new, and makes known how this worker stands.
pub(super) async fn greet(shared: Arc<Shared>) {
    let (mut told, mut fresh) = (String::new(), true);
    loop {
        let (greeting, statement) = {
            let hello = shared.hello();
            let state = shared.state();
            let (statement, troubles) = (state.statement.clone(), state.troubles.clone());
            let greeting = Greeting { hello, statement: statement.clone(), at: now(), troubles, fresh };
            (greeting, statement)
        };
        let ask = Ask::Hello(Box::new(greeting));
        let trouble = match shared.nats.ask(&shared.from, &ask, PATIENCE).await {
            Ok(Reply::Standing(standing)) => {
                shared.stated(statement.as_ref());
                // Tasks come from here on.
                fresh = false;
                note(&shared, standing);
                tell_facts(&shared).await;
                String::new()
            }
            Ok(Reply::Refused { why }) => {
                shared.standing.send_replace(WorkerStanding::Refused(why));
                return;
            }
            Ok(Reply::Unavailable { why }) => why,
            Ok(other) => format!("the service answered the greeting with {other:?}"),
            Err(error) => error.to_string(),
        };
        if trouble != told {
            match trouble.is_empty() {
                true => tracing::info!("the service answers again"),
                false => tracing::warn!(why = trouble, "the service does not answer; retrying"),
            }
            told = trouble;
        }
        let rest = if shared.state().judging.is_some() { BUSY } else { IDLE };
        let _ = tokio::time::timeout(rest, shared.news.notified()).await;
    }
}

fn note(shared: &Shared, standing: Standing) {
    let stands = WorkerStanding::Told(standing);
    shared.standing.send_if_modified(|before| {
        let changed = *before != stands;
        if changed {
            match &stands {
                WorkerStanding::Told(Standing::Waits { reasons }) => {
                    tracing::warn!(reasons = reasons.join("; "), "this worker gets no work");
                }
                _ => tracing::info!("this worker gets work"),
            }
            *before = stands;
        }
        changed
    });
}

/// What is known of the machine, after the service knows the node.
async fn tell_facts(shared: &Shared) {
    let Some(facts) = shared.state().facts.take() else { return };
    let ask = Ask::Node { facts };
    if let Err(error) = shared.nats.ask(&shared.from, &ask, FACTS).await {
        tracing::warn!(%error, "facts of this machine were not reported");
        if let Ask::Node { facts } = ask {
            shared.state().facts.get_or_insert(facts);
        }
    }
}

/// Says that this worker is there, as long as it is.
pub(super) async fn be_present(shared: Arc<Shared>) {
    loop {
        let presence = {
            let hello = shared.hello();
            let state = shared.state();
            Presence { hello, since: shared.since, judging: state.judging, finished: state.finished }
        };
        if let Err(error) = shared.nats.be_present(&shared.from, &presence).await {
            tracing::debug!(%error, "the presence of this worker was not reported");
        }
        tokio::time::sleep(PRESENT.1).await;
        let _ = tokio::time::timeout(PRESENT.0 - PRESENT.1, shared.change.notified()).await;
    }
}
