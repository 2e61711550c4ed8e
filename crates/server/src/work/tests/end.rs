//! A worker's end of each transport, as far as the service sees it.

use super::hello;
use fleet::nats::{
    Ask, Greeting, Nats, News, NotBegun, Presence, Reply, Standing, Ticket, Tickets, WorkerId,
};
use fleet::{Frame, FromWorker, Hello, Lease, Outcome, Statement, Task, TimeLimit, ToWorker};
use model::{Event, Reading};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A worker's end.
#[expect(clippy::large_enum_variant, reason = "a test has a few of them")]
pub(crate) enum End {
    Socket(UnixStream),
    Nats {
        nats: Nats,
        from: WorkerId,
        infers: bool,
        tickets: Tickets,
        ticket: Option<Ticket>,
        submission: i64,
    },
}

impl End {
    /// By the socket: connected and greeted.
    pub(crate) async fn socket(path: &Path, hello: Hello) -> End {
        let mut end = End::Socket(UnixStream::connect(path).await.unwrap());
        end.say(&FromWorker::Hello(Box::new(hello))).await;
        assert_eq!(end.hear().await, ToWorker::Welcome { protocol: fleet::PROTOCOL });
        end.say(&FromWorker::Ready).await;
        end
    }

    /// By the socket, with another protocol: what is spoken, or why it is refused.
    pub(crate) async fn spoken(path: &Path, oldest: Option<u32>, protocol: u32) -> Result<u32, String> {
        let mut end = End::Socket(UnixStream::connect(path).await.unwrap());
        let hello = fleet::Hello { protocol, oldest, ..hello("n", 0) };
        end.say(&FromWorker::Hello(Box::new(hello))).await;
        match end.hear().await {
            ToWorker::Welcome { protocol } => Ok(protocol),
            ToWorker::Refused { why } => Err(why),
            other => panic!("no answer to a greeting: {other:?}"),
        }
    }

    /// Over NATS: admitted.
    pub(crate) async fn nats(nats: Nats, pool: &str, own: Hello) -> End {
        let infers = own.infers;
        let from = WorkerId { pool: pool.into(), node: own.node.clone(), slot: own.slot.id };
        let greeting = greeting(&from);
        let hello = Ask::Hello(Box::new(greeting));
        let stands = nats.ask(&from, &hello, PATIENCE).await.unwrap();
        assert!(matches!(stands, Reply::Standing(Standing::Works { .. })), "{stands:?}");
        let since = crate::timestamp::now();
        let presence = Presence { hello: own, since, judging: None, finished: 0 };
        nats.be_present(&from, &presence).await.unwrap();
        let tickets = nats.tickets(pool).await.unwrap();
        End::Nats { nats, from, infers, tickets, ticket: None, submission: 0 }
    }

    async fn say(&mut self, message: &FromWorker) {
        let End::Socket(stream) = self else { panic!("by the socket") };
        stream.write_all(&fleet::encode(message).unwrap()).await.unwrap();
    }

    async fn frame(&mut self) -> Frame<ToWorker> {
        let End::Socket(stream) = self else { panic!("by the socket") };
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        let (kind, length) = fleet::header(head).unwrap();
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        Frame::decode(kind, body).unwrap()
    }

    async fn hear(&mut self) -> ToWorker {
        match self.frame().await {
            Frame::Message(message) => message,
            Frame::Bytes(_) => panic!("bytes where a message was expected"),
        }
    }

    /// A process without a past makes itself known.
    pub(crate) async fn greet_first(&self) {
        if let End::Nats { from, .. } = self {
            let first = Greeting { fresh: true, ..greeting(from) };
            self.ask(Ask::Hello(Box::new(first))).await;
        }
    }

    async fn ask(&self, ask: Ask) -> Reply {
        let End::Nats { nats, from, .. } = self else { panic!("over NATS") };
        nats.ask(from, &ask, PATIENCE).await.unwrap()
    }

    /// The next task; there must be one.
    pub(crate) async fn task(&mut self) -> Task {
        tokio::time::timeout(PATIENCE, self.next()).await.expect("no task")
    }

    /// Nothing comes for a while.
    pub(crate) async fn nothing(&mut self, within: Duration) {
        let came = tokio::time::timeout(within, self.next()).await;
        assert!(came.is_err(), "a task came: {came:?}");
    }

    async fn next(&mut self) -> Task {
        match self {
            End::Socket(_) => match self.hear().await {
                ToWorker::Task(task) => *task,
                other => panic!("no task: {other:?}"),
            },
            End::Nats { nats, from, infers, tickets, ticket, submission } => loop {
                let Some(next) = tickets.next(PATIENCE).await.unwrap() else { continue };
                let begin = Ask::Begin { ticket: next.lease, infers: *infers };
                match nats.ask(from, &begin, PATIENCE).await.unwrap() {
                    Reply::Begun { task, submission: whose } => {
                        (*ticket, *submission) = (Some(next), whose);
                        return nats.read_body(task).await.unwrap();
                    }
                    Reply::NotBegun(NotBegun::Over) => next.throw_away().await.unwrap(),
                    Reply::NotBegun(NotBegun::Later { millis }) => {
                        next.later(Duration::from_millis(millis.into())).await.unwrap();
                    }
                    other => panic!("not begun: {other:?}"),
                }
            },
        }
    }

    /// Something happens in the task.
    pub(crate) async fn event(&mut self, lease: Lease, event: Event) {
        match self {
            End::Socket(_) => self.say(&FromWorker::Event { lease, event: Box::new(event) }).await,
            End::Nats { nats, submission, .. } => {
                nats.tell(*submission, &News::Event(Box::new(event))).await.unwrap();
            }
        }
    }

    /// It found a limit, as workers of the version before did; the one in force, or `None`: it is to leave the task.
    pub(crate) async fn limit(&mut self, lease: Lease, found: TimeLimit) -> Option<TimeLimit> {
        match self {
            End::Socket(_) => {
                self.say(&FromWorker::TimeLimit { lease, found }).await;
                let left = match self.hear().await {
                    ToWorker::TimeLimit { limit, .. } => return Some(limit),
                    ToWorker::Cancel { .. } => self.hear().await,
                    other => panic!("no limit: {other:?}"),
                };
                assert!(matches!(left, ToWorker::TimeLimit { .. }), "every question is answered: {left:?}");
                None
            }
            End::Nats { .. } => match self.ask(Ask::TimeLimit { lease, found }).await {
                Reply::TimeLimit { limit } => Some(limit),
                Reply::Cancel => None,
                other => panic!("no limit: {other:?}"),
            },
        }
    }

    /// A package, and how many times it had to be asked for by name.
    pub(crate) async fn package(&mut self, hash: &str) -> Vec<u8> {
        if let End::Nats { nats, .. } = self {
            let mut bytes = Vec::new();
            nats.get_package(hash, &mut bytes).await.unwrap();
            return bytes;
        }
        self.say(&FromWorker::NeedPackage { hash: hash.into() }).await;
        let ToWorker::Package { bytes: Some(size), .. } = self.hear().await else { panic!("no package") };
        let mut all = Vec::new();
        while (all.len() as u64) < size {
            match self.frame().await {
                Frame::Bytes(bytes) => all.extend(bytes),
                other => panic!("no bytes: {other:?}"),
            }
        }
        all
    }

    /// The task is done, and more is wanted.
    pub(crate) async fn done(&mut self, lease: Lease, outcome: &Outcome) {
        self.tell_done(lease, outcome).await;
        match self {
            End::Socket(_) => self.say(&FromWorker::Ready).await,
            End::Nats { ticket, .. } => {
                if let Some(ticket) = ticket.take() {
                    ticket.ack().await.unwrap();
                }
            }
        }
    }

    /// The task is done; heard.
    pub(crate) async fn tell_done(&mut self, lease: Lease, outcome: &Outcome) {
        match self {
            End::Socket(_) => {
                self.say(&FromWorker::Done { lease, outcome: outcome.clone() }).await;
                assert_eq!(self.hear().await, ToWorker::Heard { lease });
            }
            End::Nats { nats, .. } => {
                let outcome = nats.body(outcome).await.unwrap();
                assert_eq!(self.ask(Ask::Done { lease, outcome }).await, Reply::Heard);
            }
        }
    }

    /// It waits for a calm machine; whether it is to leave the task.
    pub(crate) async fn waits(&mut self, lease: Lease) -> bool {
        if let End::Nats { .. } = self {
            return self.ask(Ask::Waits { lease }).await == Reply::Cancel;
        }
        self.say(&FromWorker::Waits { lease }).await;
        // That is always answered, and after what comes before.
        self.say(&FromWorker::NeedPackage { hash: "none".into() }).await;
        match self.hear().await {
            ToWorker::Package { .. } => false,
            left => {
                assert_eq!(left, ToWorker::Cancel { lease });
                assert!(matches!(self.hear().await, ToWorker::Package { .. }));
                true
            }
        }
    }

    /// Waits until it is told to leave the task.
    pub(crate) async fn cancelled(&mut self, lease: Lease) {
        let told = async {
            match self {
                End::Socket(_) => assert_eq!(self.hear().await, ToWorker::Cancel { lease }),
                End::Nats { .. } => {
                    while self.ask(Ask::Keep { lease }).await != Reply::Cancel {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("it is not cancelled");
    }
}

/// What a worker says of itself.
pub(crate) fn greeting(from: &WorkerId) -> Greeting {
    let at = crate::timestamp::now();
    let hello = hello(&from.node, from.slot);
    Greeting { hello, statement: Some(statement(from)), at, troubles: Vec::new(), fresh: false }
}

fn statement(from: &WorkerId) -> Statement {
    let known = |text: &str| Reading::Known(text.to_string());
    Statement {
        form: fleet::STATEMENT_FORM,
        node: from.node.clone(),
        pool: from.pool.clone(),
        version: "1.0.0".into(),
        protocol: fleet::PROTOCOL,
        at: crate::timestamp::now(),
        boot_id: known("b0"),
        fingerprint: "0123456789abcdef".into(),
        kind: known("bare_metal"),
        cpu_model: known("made up"),
        cpu_version: known("6/85/7"),
        microcode: known("0x1"),
        topology: known("1 × 2 cores"),
        memory_bytes: Reading::Known(1 << 33),
        kernel: known("6.12"),
        mitigations: [].into(),
        tuning: [].into(),
        isolation: known("sandbox"),
        slots: vec![super::slot(from.slot)],
        index: None,
    }
}
