//! Requests of workers, which one of the servers answers; and news for all servers.

use super::error::NatsError;
use super::name;
use super::options::{API_WAIT, Nats};
use super::{Ask, News, Reply, WorkerId};
use async_nats::Message;
use async_nats::client::{Request, RequestErrorKind};
use futures_util::{Stream, StreamExt};
use std::time::{Duration, Instant};

/// An answer is waited for so long the first time, and longer later.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// And never longer than that.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// Rest where nobody listens, or the one who does cannot answer now.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// A question that came.
pub struct Question {
    /// Who asks, by the subject.
    pub from: WorkerId,
    /// What; an error says in words why it cannot be read.
    pub ask: Result<Ask, String>,
    nats: Nats,
    reply: async_nats::Subject,
}

impl Question {
    fn from_message(nats: &Nats, message: Message) -> Option<Question> {
        let from = name::asker(&message.subject)?;
        // What the broker delivers from its streams has another one: nobody can have it ask in somebody else's name.
        let reply = message.reply.filter(|reply| reply.starts_with("_INBOX."))?;
        let ask = serde_json::from_slice(&message.payload).map_err(|e| e.to_string());
        Some(Question { from, ask, nats: nats.clone(), reply })
    }

    /// Answers it.
    pub async fn answer(self, reply: &Reply) -> Result<(), NatsError> {
        let failed = || NatsError::failed(format!("answering {}", name::questions(&self.from)));
        let body = serde_json::to_vec(reply).map_err(|e| failed()(e.into()))?;
        // The worker asks again.
        let client = self.nats.client(Duration::ZERO).await?;
        client.publish(self.reply, body.into()).await.map_err(|e| failed()(e.into()))
    }
}

/// What came of asking once.
enum Once {
    Answered(Reply),
    Nobody,
    Silent,
    Again,
    Lasting(NatsError),
}

impl Nats {
    /// The questions of workers that come to this server: of several servers one gets each. It does not end before the program.
    pub async fn questions(&self) -> Result<impl Stream<Item = Question> + Send + Unpin + use<>, NatsError> {
        let nats = self.clone();
        let asked =
            self.client(API_WAIT).await?.queue_subscribe(name::ALL_QUESTIONS, name::SERVERS.into()).await;
        let asked = asked.map_err(|e| NatsError::failed("listening for questions")(e.into()))?;
        self.heard_out().await;
        Ok(Box::pin(
            asked.filter_map(move |message| std::future::ready(Question::from_message(&nats, message))),
        ))
    }

    /// Waits until the broker has taken in what was sent to it: it says that nobody listens on a new subject of ours.
    async fn heard_out(&self) {
        let Ok(client) = self.client(FIRST_WAIT).await else { return };
        let _ = client.send_request(client.new_inbox(), Request::new().timeout(Some(FIRST_WAIT))).await;
    }

    /// Asks the servers, and asks again where none answers, one dies, or one cannot answer now, until patience is over.
    pub async fn ask(&self, from: &WorkerId, ask: &Ask, patience: Duration) -> Result<Reply, NatsError> {
        let body = serde_json::to_vec(ask).map_err(|e| NatsError::failed("a question")(e.into()))?;
        let subject = name::questions(from);
        let begun = Instant::now();
        let (mut wait, mut rest) = (FIRST_WAIT, REST);
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            let last = match self.asked_once(&subject, &body, wait.min(left)).await {
                Once::Answered(Reply::Unavailable { why }) => Ok(Reply::Unavailable { why }),
                Once::Answered(reply) => return Ok(reply),
                Once::Lasting(error) => return Err(error),
                Once::Nobody => Err(NatsError::NoService),
                Once::Silent => {
                    wait = (wait * 2).min(LONGEST_WAIT);
                    Err(NatsError::Silent { within: patience, away: !self.is_connected() })
                }
                Once::Again => continue,
            };
            if begun.elapsed() + rest >= patience {
                return last.map_err(|error| self.or_denied(error));
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(LONGEST_REST);
        }
    }

    async fn asked_once(&self, subject: &str, body: &[u8], wait: Duration) -> Once {
        let mut connections = self.shared.connections.clone();
        connections.mark_unchanged();
        let Ok(client) = self.client(wait).await else { return Once::Silent };
        let request = Request::new().payload(body.to_vec().into()).timeout(Some(wait));
        let answer = tokio::select! {
            answer = client.send_request(subject.to_string(), request) => answer,
            // The question, or its answer, went down with the connection that was there before.
            Ok(()) = connections.changed() => return Once::Again,
        };
        match answer {
            Ok(message) => match serde_json::from_slice(&message.payload) {
                Ok(reply) => Once::Answered(reply),
                Err(error) => Once::Lasting(NatsError::failed("an answer that cannot be read")(error.into())),
            },
            Err(error) => match error.kind() {
                RequestErrorKind::NoResponders => Once::Nobody,
                RequestErrorKind::MaxPayloadExceeded | RequestErrorKind::InvalidSubject => {
                    Once::Lasting(NatsError::failed(format!("asking on {subject}"))(error.into()))
                }
                _ => Once::Silent,
            },
        }
    }

    /// Tells all servers what happened to a submission. Never waits, and is lost where the brokers are away: it is for whoever
    /// watches, nothing hangs on it.
    pub async fn tell(&self, submission: i64, news: &News) -> Result<(), NatsError> {
        let Ok(client) = self.client(Duration::ZERO).await else { return Ok(()) };
        let failed = || NatsError::failed("telling what happened");
        let body = serde_json::to_vec(news).map_err(|e| failed()(e.into()))?;
        client.publish(name::news(submission), body.into()).await.map_err(|e| failed()(e.into()))
    }

    /// What is told of submissions, by this program too. It does not end before the program.
    pub async fn news(&self) -> Result<impl Stream<Item = (i64, News)> + Send + Unpin + use<>, NatsError> {
        let told = self.client(API_WAIT).await?.subscribe(name::ALL_NEWS).await;
        let told = told.map_err(|e| NatsError::failed("listening for news")(e.into()))?;
        self.heard_out().await;
        let one = |message: Message| {
            let submission = name::submission(&message.subject)?;
            Some((submission, serde_json::from_slice(&message.payload).ok()?))
        };
        Ok(Box::pin(told.filter_map(move |message| std::future::ready(one(message)))))
    }
}
