//! Tickets: published by servers, taken by workers.

use super::error::NatsError;
use super::name;
use super::options::{ACK_WAIT, API_WAIT, Nats};
use crate::{JobId, Lease};
use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::{Message, StatusCode, Subject, Subscriber};
use futures_util::StreamExt;
use std::time::{Duration, Instant};

/// A pull lasts so long, and is followed by another one.
const PULL: Duration = Duration::from_secs(30);
/// The stream says as often that it still knows of the pull.
const HEARTBEAT: Duration = Duration::from_millis(750);
/// Without a word for so long the pull is taken for lost, with the broker that had it.
const SILENCE: Duration = Duration::from_millis(1700);
/// Rest before a pull that follows one which was refused.
const REST: Duration = Duration::from_millis(100);
/// How often a ticket is published that the stream does not confirm.
const ATTEMPTS: u32 = 4;

impl Nats {
    /// Publishes a ticket for the nodes of a pool. After an error it may have been published all the same. A ticket that is
    /// published twice exists once.
    pub async fn publish_ticket(&self, pool: &str, ticket: Lease) -> Result<(), NatsError> {
        let body = serde_json::to_vec(&ticket).map_err(|e| NatsError::failed("a ticket")(e.into()))?;
        let id = format!("{}.{}", ticket.job, ticket.attempt);
        let mut why = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(REST).await;
            }
            let message = async_nats::jetstream::message::PublishMessage::build();
            let message = message.payload(body.clone().into()).message_id(&id);
            let sent = match self.stream(ACK_WAIT).await {
                Ok(stream) => stream.send_publish(name::tickets(pool), message).await,
                Err(away) => {
                    why = away.to_string();
                    continue;
                }
            };
            match async { sent?.await }.await {
                Ok(_) => return Ok(()),
                Err(error) => why = error.to_string(),
            }
            if self.denied().is_some() {
                break;
            }
        }
        Err(self.or_denied(NatsError::Failed { what: "publishing a ticket".into(), why }))
    }

    /// The worker's end: takes tickets of its pool.
    pub async fn tickets(&self, pool: &str) -> Result<Tickets, NatsError> {
        Ok(Tickets { nats: self.clone(), pool: pool.into(), pull: None, waiting: None })
    }
}

/// Where a worker takes tickets. A ticket comes within a millisecond of its publishing to one who waits. Dropped, it puts back
/// at once what still comes.
pub struct Tickets {
    nats: Nats,
    pool: String,
    pull: Option<Pull>,
    /// No pull before that.
    waiting: Option<Instant>,
}

/// A request for one ticket that the stream has not answered yet.
struct Pull {
    inbox: Subscriber,
    /// It is over by then.
    ends: Instant,
    /// The last word of the stream.
    heard: Instant,
    /// Which connection it was made over.
    connection: u64,
}

impl Tickets {
    /// The next ticket; `None`: none came within that time. The request stays open, so that the next call gets a ticket that
    /// came in between at once.
    pub async fn next(&mut self, within: Duration) -> Result<Option<Ticket>, NatsError> {
        let until = Instant::now() + within;
        loop {
            if let Some(rest) = self.waiting {
                tokio::time::sleep_until(rest.min(until).into()).await;
                if rest > until {
                    return Ok(None);
                }
                self.waiting = None;
            }
            if self.pull.is_none() {
                let left = until.saturating_duration_since(Instant::now());
                match self.nats.pull(&self.pool, left).await {
                    Ok(pull) => self.pull = Some(pull),
                    Err(NatsError::Silent { away: true, .. }) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            let Some(pull) = &mut self.pull else { continue };
            match pull.answer(&self.nats, until).await {
                Answer::Ticket(message) => {
                    self.pull = None;
                    match Ticket::from_message(&self.nats, message) {
                        Ok(ticket) => return Ok(Some(ticket)),
                        Err(error) => tracing::warn!(%error, "a ticket that cannot be read is thrown away"),
                    }
                }
                Answer::NotYet => {
                    return self.nats.denied().map_or(Ok(None), |why| Err(NatsError::Denied(why)));
                }
                Answer::Over => self.give_up(),
                Answer::Refused => {
                    self.give_up();
                    self.waiting = Some(Instant::now() + REST);
                }
            }
        }
    }

    /// Leaves a pull. A ticket that comes all the same is put back at once.
    fn give_up(&mut self) {
        let Some(mut pull) = self.pull.take() else { return };
        let nats = self.nats.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // A pull cannot be taken back, and without a subscription a ticket that is on its way would be held until the stream
            // asks for it. So whatever comes until the end of the pull is put back.
            let end = tokio::time::Instant::from(pull.ends + SILENCE);
            while let Ok(Some(message)) = tokio::time::timeout_at(end, pull.inbox.next()).await {
                match (message.status, ticket_subject(&message)) {
                    (None, Some(ticket)) => drop(nats.say(ticket, AckKind::Nak(None)).await),
                    (Some(StatusCode::IDLE_HEARTBEAT), _) => continue,
                    _ => {}
                }
                break;
            }
        });
    }
}

impl Drop for Tickets {
    fn drop(&mut self) {
        self.give_up();
    }
}

enum Answer {
    Ticket(Message),
    NotYet,
    /// The time of the pull is up, or it is lost.
    Over,
    /// There is nobody who could answer now.
    Refused,
}

impl Pull {
    /// What the stream says to it before that moment.
    async fn answer(&mut self, nats: &Nats, until: Instant) -> Answer {
        let mut connections = nats.shared.connections.clone();
        loop {
            let quiet = (self.heard + SILENCE).min(self.ends + SILENCE);
            let next = tokio::select! {
                biased;
                message = self.inbox.next() => message,
                () = tokio::time::sleep_until(quiet.min(until).into()) => {
                    return if quiet <= until { Answer::Over } else { Answer::NotYet };
                }
                _ = connections.wait_for(|now| *now != self.connection) => return Answer::Over,
            };
            let Some(message) = next else { return Answer::Refused };
            match message.status {
                None => return Answer::Ticket(message),
                Some(StatusCode::IDLE_HEARTBEAT) => self.heard = Instant::now(),
                Some(StatusCode::TIMEOUT) => return Answer::Over,
                Some(_) => return Answer::Refused,
            }
        }
    }
}

impl Nats {
    /// Asks the stream for a ticket of a pool. Fails if there is no connection within that time.
    async fn pull(&self, pool: &str, within: Duration) -> Result<Pull, NatsError> {
        let client = self.client(within).await?;
        let connection = *self.shared.connections.borrow();
        let failed = || NatsError::failed(format!("asking for a ticket of pool {pool}"));
        let inbox: Subject = client.new_inbox().into();
        let subscriber = client.subscribe(inbox.clone()).await.map_err(|e| failed()(e.into()))?;
        let wish = BatchConfig {
            batch: 1,
            expires: Some(PULL),
            idle_heartbeat: HEARTBEAT,
            ..BatchConfig::default()
        };
        let wish = serde_json::to_vec(&wish).map_err(|e| failed()(e.into()))?;
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", name::JOBS, name::consumer(pool));
        let sent = client.publish_with_reply(subject, inbox, wish.into()).await;
        sent.map_err(|e| failed()(e.into()))?;
        let now = Instant::now();
        Ok(Pull { inbox: subscriber, ends: now + PULL, heard: now, connection })
    }

    /// Says to the stream what becomes of a ticket.
    async fn say(&self, ticket: Subject, what: AckKind) -> Result<(), NatsError> {
        let said = self.client(API_WAIT).await?.publish(ticket, what.into()).await;
        said.map_err(|e| NatsError::failed("acknowledging a ticket")(e.into()))
    }
}

/// Where it is told what becomes of a ticket; `None`: the message is none.
fn ticket_subject(message: &Message) -> Option<Subject> {
    message.reply.clone().filter(|_| message.status.is_none())
}

/// A ticket that was taken. Unless one of the ends here comes, it goes to another worker; dropped, it does so at once.
pub struct Ticket {
    /// The job and attempt that it is for.
    pub lease: Lease,
    nats: Nats,
    subject: Option<Subject>,
}

impl Ticket {
    fn from_message(nats: &Nats, message: Message) -> Result<Ticket, NatsError> {
        let subject = ticket_subject(&message);
        let lease = serde_json::from_slice(&message.payload);
        let mut ticket = Ticket { lease: Lease { job: JobId(0), attempt: 0 }, nats: nats.clone(), subject };
        match lease {
            Ok(lease) => {
                ticket.lease = lease;
                Ok(ticket)
            }
            Err(error) => {
                ticket.end(AckKind::Term);
                Err(NatsError::failed("a ticket")(error.into()))
            }
        }
    }

    /// Acknowledges it: the job is done.
    pub async fn ack(mut self) -> Result<(), NatsError> {
        self.finish(AckKind::Ack).await
    }

    /// Extends it: the job is in work, and no other worker gets the ticket for now.
    pub async fn progress(&self) -> Result<(), NatsError> {
        match &self.subject {
            Some(subject) => self.nats.say(subject.clone(), AckKind::Progress).await,
            None => Ok(()),
        }
    }

    /// Puts it back for another worker, after that time.
    pub async fn later(mut self, after: Duration) -> Result<(), NatsError> {
        self.finish(AckKind::Nak((!after.is_zero()).then_some(after))).await
    }

    /// Discards it.
    pub async fn throw_away(mut self) -> Result<(), NatsError> {
        self.finish(AckKind::Term).await
    }

    async fn finish(&mut self, how: AckKind) -> Result<(), NatsError> {
        match self.subject.take() {
            Some(subject) => self.nats.say(subject, how).await,
            None => Ok(()),
        }
    }

    fn end(&mut self, how: AckKind) {
        let (Some(subject), Ok(runtime)) = (self.subject.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let nats = self.nats.clone();
        runtime.spawn(async move { nats.say(subject, how).await });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(AckKind::Nak(None));
    }
}
