//! Questions: answered by one of the servers, and by another one where one dies.

use crate::brokers::{Brokers, worker};
use fleet::nats::{Ask, Nats, NatsError, News, Question, Reply};
use fleet::{JobId, Lease};
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);

fn keep(job: i64) -> Ask {
    Ask::Keep { lease: Lease { job: JobId(job), attempt: 1 } }
}

/// A server that does this with the questions it gets.
async fn server<F>(
    nats: &Nats,
    mut answer: impl FnMut(Question) -> F + Send + 'static,
) -> tokio::task::JoinHandle<()>
where
    F: Future<Output = ()> + Send,
{
    let mut questions = nats.questions().await.expect("listening");
    tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            answer(question).await;
        }
    })
}

#[tokio::test]
async fn a_question_is_answered_by_one_of_two_servers() {
    let Some(brokers) = Brokers::one("") else { return };
    let asked: [Arc<AtomicU32>; 2] = Default::default();
    let mut ends = Vec::new();
    for count in &asked {
        let nats = brokers.connect().await;
        let count = count.clone();
        let answer = move |question: Question| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                assert_eq!((&question.from, question.ask.clone()), (&worker(3), Ok(keep(7))));
                question.answer(&Reply::Heard).await.expect("answered");
            }
        };
        ends.push((server(&nats, answer).await, nats));
    }
    let nats = brokers.connect().await;
    for _ in 0..40 {
        assert_eq!(nats.ask(&worker(3), &keep(7), PATIENCE).await.unwrap(), Reply::Heard);
    }
    let counts = asked.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts.iter().sum::<u32>(), 40, "each once");
    assert!(counts.iter().all(|count| *count > 0), "by both: {counts:?}");
    // One goes away with a question it took; the other one answers it.
    ends.pop().expect("two").0.abort();
    assert_eq!(nats.ask(&worker(3), &keep(7), PATIENCE).await.unwrap(), Reply::Heard);
}

#[tokio::test]
async fn who_cannot_answer_now_is_asked_again() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.connect().await;
    let mut times = 0;
    let answer = move |question: Question| {
        times += 1;
        let reply = match times {
            1 => Some(Reply::Unavailable { why: "the database is away".into() }),
            // Died.
            2 => None,
            _ => Some(Reply::Cancel),
        };
        async move {
            if let Some(reply) = reply {
                question.answer(&reply).await.expect("answered");
            }
        }
    };
    let _serving = server(&nats, answer).await;
    assert_eq!(nats.ask(&worker(0), &keep(1), PATIENCE).await.unwrap(), Reply::Cancel);
}

#[tokio::test]
async fn where_no_service_answers_that_is_told() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.connect().await;
    let begun = Instant::now();
    let error = nats.ask(&worker(0), &keep(1), Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(error, NatsError::NoService), "{error}");
    assert!(error.to_string().contains("hint: start `tauto serve --nats URL`"), "{error}");
    assert!(begun.elapsed() < PATIENCE, "patience was a second");
    let unwilling = |question: Question| async move {
        question.answer(&Reply::Unavailable { why: "no".into() }).await.expect("answered");
    };
    let _serving = server(&nats, unwilling).await;
    let reply = nats.ask(&worker(0), &keep(1), Duration::from_secs(1)).await.unwrap();
    assert_eq!(
        reply,
        Reply::Unavailable { why: "no".into() },
        "the last word of a server, when patience is over"
    );
}

#[tokio::test]
async fn what_cannot_be_read_reaches_the_server_as_such() {
    let Some(brokers) = Brokers::one("") else { return };
    let (nats, raw) = (brokers.connect().await, brokers.raw().await);
    let mut questions = nats.questions().await.unwrap();
    let other = "tauto.ask.metal.n1.x";
    let this = "tauto.ask.metal.n1.4";
    let sing = "{\"ask\": \"sing\"}";
    for (subject, reply, body) in
        [(other, "_INBOX.here", "{}"), (this, "elsewhere", "{}"), (this, "_INBOX.here", sing)]
    {
        raw.publish_with_reply(subject, reply, body.into()).await.unwrap();
    }
    let within = Duration::from_secs(20);
    let question = tokio::time::timeout(within, questions.next()).await.expect("in time").expect("one comes");
    assert_eq!(
        question.from,
        worker(4),
        "that without a slot is none, and none is from elsewhere than a worker"
    );
    assert!(question.ask.unwrap_err().contains("sing"));
}

#[tokio::test]
async fn news_reach_all_servers() {
    let Some(brokers) = Brokers::one("") else { return };
    let (a, b) = (brokers.connect().await, brokers.connect().await);
    let (mut at_a, mut at_b) = (a.news().await.unwrap(), b.news().await.unwrap());
    let news = News::Live(serde_json::json!({"finished": 3}));
    a.tell(42, &news).await.unwrap();
    assert_eq!(at_a.next().await, Some((42, news.clone())));
    assert_eq!(at_b.next().await, Some((42, news)));
}
