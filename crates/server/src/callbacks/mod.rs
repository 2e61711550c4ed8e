//! Callbacks: whoever asked for it is told of a result by a PUT to an address of theirs, at least once, across restarts.
//!
//! The address comes from strangers, so this is where a service could be made to reach what only it can reach. Therefore:
//! only http and https; a name is resolved once, every address of it is held against [`Allowed`], and the connection goes to
//! an address that was checked, so that a name that resolves differently the second time changes nothing; no redirect is
//! followed; little is sent, in little time, and nothing of the answer but its status is used.

mod address;
mod sender;

pub(crate) use address::check;
pub use address::{Allowed, Network, NoNetwork};
pub(crate) use sender::CallbackSender;

use crate::errors::Refusal;
use crate::faces::judge0;
use crate::service::Service;
use crate::timestamp::now;
use std::sync::Arc;
use std::time::Duration;
use store::{Callback, Timestamp};
use tokio::task::JoinSet;

/// How often callbacks that are due are looked for.
const LOOK: Duration = Duration::from_millis(500);
/// How many are on their way at one time.
const AT_ONCE: usize = 16;
/// Waits after the first try and after the second; after the third it is given up.
const WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(15)];

/// How long a callback that is on its way is nobody else's: well over what a try may take. Servers on one database share the work, and what
/// one had under way when it ended is due again after this.
pub(crate) const HOLD: Duration = Duration::from_secs(15);

/// Delivers what is due, until it is dropped.
pub(crate) async fn deliver(service: Arc<Service>, sender: CallbackSender, hold: Duration) {
    let sender = Arc::new(sender);
    let mut tasks = JoinSet::new();
    let mut every = tokio::time::interval(LOOK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
        }
        let room = AT_ONCE.saturating_sub(tasks.len());
        let due = service.store.due_callbacks(now(), u32::try_from(room).unwrap_or(1)).await;
        let due =
            due.inspect_err(|error| tracing::error!(%error, "looking for callbacks")).unwrap_or_default();
        for callback in due {
            let until = now().plus_micros(i64::try_from(hold.as_micros()).unwrap_or(i64::MAX));
            match service.store.take_callback(&callback, until).await {
                Ok(true) => drop(tasks.spawn(one(service.clone(), sender.clone(), callback))),
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "taking a callback"),
            }
        }
    }
}

/// One try.
async fn one(service: Arc<Service>, sender: Arc<CallbackSender>, callback: Callback) {
    let sent = match body(&service, &callback).await {
        Ok(body) => sender.put(&callback.url, body).await.map_err(|error| error.to_string()),
        Err(refusal) => Err(refusal.to_string()),
    };
    let noted = match &sent {
        Ok(()) => service.store.callback_done(callback.id).await,
        Err(why) => {
            let next = next_try(callback.attempts, now());
            tracing::info!(
                callback = callback.id.0,
                why,
                again = next.is_some(),
                "a callback was not delivered"
            );
            service.store.callback_failed(callback.id, why, next).await
        }
    };
    if let Err(error) = noted {
        // It stays due, and is delivered again.
        tracing::error!(%error, callback = callback.id.0, "noting a callback");
    }
}

async fn body(service: &Service, callback: &Callback) -> Result<Vec<u8>, Refusal> {
    let submission = service.store.submission(callback.submission).await?;
    judge0::callback_body(service, submission).await
}

/// When it is tried again after it failed, having failed this often before.
fn next_try(failed: u64, now: Timestamp) -> Option<Timestamp> {
    let wait = WAITS.get(usize::try_from(failed).ok()?)?;
    Some(Timestamp(now.0.saturating_add(i64::try_from(wait.as_micros()).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service::TestService;
    use model::Verdict;
    use std::sync::Mutex;
    use store::CallbackState;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn a_callback_is_tried_three_times_with_growing_waits() {
        let tries: Vec<_> = (0..3).map(|failed| next_try(failed, Timestamp(5))).collect();
        assert_eq!(tries, [Some(Timestamp(2_000_005)), Some(Timestamp(15_000_005)), None]);
        assert_eq!(next_try(u64::MAX, Timestamp(5)), None);
    }

    /// Counts connections, keeps what they say, and answers all but the first.
    async fn listener() -> (u16, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind(("127.0.0.2", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = heard.clone();
        tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut said = Vec::new();
                while !said.ends_with(b"}}") && stream.read_buf(&mut said).await.unwrap_or(0) > 0 {}
                let first = {
                    let mut keep = keep.lock().unwrap();
                    keep.push(String::from_utf8_lossy(&said).into_owned());
                    keep.len() == 1
                };
                if first {
                    held.push(stream);
                } else {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                }
            }
        });
        (port, heard)
    }

    async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
        for _ in 0..500 {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}");
    }

    #[tokio::test]
    async fn a_callback_that_was_under_way_when_the_service_ended_is_delivered_again() {
        let (port, heard) = listener().await;
        let allowed = Allowed { networks: vec!["127.0.0.2".parse().unwrap()], ..Allowed::default() };
        let kit = TestService::with(true, |settings| settings.callbacks = allowed.clone()).await;
        let id = judge0::tests::judged_with_callback(
            &kit,
            &format!("http://127.0.0.2:{port}/x"),
            Verdict::WrongAnswer,
        )
        .await;
        let deliver_now = || {
            tokio::spawn(deliver(
                kit.service.clone(),
                CallbackSender::of_system(allowed.clone()),
                Duration::from_secs(1),
            ))
        };
        let first = deliver_now();
        until("no first try", async || !heard.lock().unwrap().is_empty()).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let state = async || kit.service.store.callbacks(id).await.unwrap()[0].state;
        assert_eq!(state().await, CallbackState::Due);
        let second = deliver_now();
        until("no second try", async || state().await == CallbackState::Done).await;
        second.abort();
        let heard = heard.lock().unwrap().clone();
        assert_eq!(heard.len(), 2);
        assert!(heard.iter().all(|put| put.contains("\"description\":\"Wrong Answer\"")), "{heard:?}");
    }
}
