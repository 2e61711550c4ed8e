//! The least of a client of NATS: enough to look at what the service keeps there, to do what it must not bear, and to try what a user may.
//! The protocol is that of <https://docs.nats.io/reference/reference-protocols/nats-protocol>, without TLS.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// For a broker to take us in, and to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to one broker.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    inbox: String,
    subscriptions: u32,
}

/// What came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Which of our subscriptions it came by, counted from 1.
    pub subscription: u32,
    /// Where it was published.
    pub subject: String,
    /// Where an answer is wanted, or what is to be told that it was done; empty: nowhere.
    pub reply: String,
    /// A status without content, such as 404 (there is none) or 503 (nobody answers there).
    pub status: Option<u16>,
    /// What was published.
    pub payload: Vec<u8>,
}

impl Message {
    /// The payload as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap_or_default()
    }
}

fn told(error: std::io::Error) -> String {
    format!("NATS: {error}")
}

/// The words of a line, and the text after the first of them.
fn words(line: &str) -> (&str, Vec<&str>) {
    let mut words = line.split_ascii_whitespace();
    (words.next().unwrap_or_default(), words.collect())
}

impl Connection {
    /// Connects as a user with a password. Answers come on subjects below `inbox`.
    ///
    /// # Errors
    /// Nobody listens there, or the broker does not take us in: its words.
    pub fn new(address: SocketAddr, user: Option<(&str, &str)>, inbox: &str) -> Result<Connection, String> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        // Two connections of one user must not hear each other's answers.
        let own = stream.local_addr().map_err(told)?.port();
        let (stream, inbox) = (BufReader::new(stream), format!("{inbox}.{}-{own}", std::process::id()));
        let mut own = Connection { stream, inbox, subscriptions: 0 };
        own.line(PATIENCE)?.filter(|line| line.starts_with("INFO ")).ok_or("NATS: no greeting")?;
        let mut who = json!({ "verbose": false, "pedantic": false, "headers": true, "no_responders": true });
        if let Some((user, password)) = user {
            who["user"] = user.into();
            who["pass"] = password.into();
        }
        own.send(&format!("CONNECT {who}\r\n"), b"")?;
        own.flush()?;
        Ok(own)
    }

    fn send(&mut self, line: &str, payload: &[u8]) -> Result<(), String> {
        let end: &[u8] = if line.starts_with("PUB ") { b"\r\n" } else { b"" };
        self.stream.get_mut().write_all(&[line.as_bytes(), payload, end].concat()).map_err(told)
    }

    /// A line, if one begins within this time.
    fn line(&mut self, within: Duration) -> Result<Option<String>, String> {
        let mut line = String::new();
        // A timeout of zero is an error.
        let within = within.max(Duration::from_millis(1));
        self.stream.get_ref().set_read_timeout(Some(within)).map_err(told)?;
        match self.stream.fill_buf() {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
            Err(e) => return Err(told(e)),
            Ok(_) => {}
        }
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).map_err(told)?;
        match self.stream.read_line(&mut line).map_err(told)? {
            0 => Err("NATS: the broker has closed the connection".into()),
            _ => Ok(Some(line.trim_end().into())),
        }
    }

    /// Waits until the broker has done all it was told.
    ///
    /// # Errors
    /// What it refused.
    pub fn flush(&mut self) -> Result<(), String> {
        self.send("PING\r\n", b"")?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.line(PATIENCE)?.as_deref().map(words) {
                Some(("PONG", _)) => return Ok(()),
                Some(("MSG" | "HMSG", _)) => {
                    return Err("NATS: a message came where none was waited for".into());
                }
                Some((first, rest)) => self.other(first, &rest)?,
                None => break,
            }
        }
        Err("NATS: the broker does not answer".into())
    }

    /// Whatever is no message.
    fn other(&mut self, first: &str, rest: &[&str]) -> Result<(), String> {
        match first {
            "PING" => self.send("PONG\r\n", b""),
            "-ERR" => Err(format!("NATS: {}", rest.join(" ").trim_matches('\''))),
            _ => Ok(()),
        }
    }

    /// Publishes; with `reply`, an answer to it is wanted there.
    ///
    /// # Errors
    /// The connection broke. What the broker refuses, the next [`Connection::flush`] tells.
    pub fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) -> Result<(), String> {
        self.send(&format!("PUB {subject} {reply} {}\r\n", payload.len()), payload)
    }

    /// Listens to a subject.
    ///
    /// # Errors
    /// As with publishing.
    pub fn subscribe(&mut self, subject: &str) -> Result<(), String> {
        self.subscriptions += 1;
        let line = format!("SUB {subject} {}\r\n", self.subscriptions);
        self.send(&line, b"")
    }

    /// The next message on any subject we listen to, if one comes within this time.
    ///
    /// # Errors
    /// The connection broke, or the broker refused something.
    pub fn next(&mut self, within: Duration) -> Result<Option<Message>, String> {
        let begun = Instant::now();
        while let Some(line) = self.line(within.saturating_sub(begun.elapsed()))? {
            match words(&line) {
                ("MSG", rest) => return self.message(&rest, false).map(Some),
                ("HMSG", rest) => return self.message(&rest, true).map(Some),
                (first, rest) => self.other(first, &rest)?,
            }
        }
        Ok(None)
    }

    /// `MSG subject sid [reply] bytes`, `HMSG subject sid [reply] bytes-of-headers bytes`.
    fn message(&mut self, words: &[&str], headers: bool) -> Result<Message, String> {
        let broken = || format!("NATS: a message of the form `{}`", words.join(" "));
        let number =
            |back: usize| -> Option<usize> { words.get(words.len().checked_sub(back)?)?.parse().ok() };
        let total = number(1).ok_or_else(broken)?;
        let head = if headers { number(2).filter(|head| *head <= total).ok_or_else(broken)? } else { 0 };
        let mut bytes = vec![0; total + 2];
        self.stream.read_exact(&mut bytes).map_err(told)?;
        let first = String::from_utf8_lossy(&bytes[..head]);
        // `NATS/1.0 404 No Messages`
        let status = first.lines().next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let reply = if words.len() == 4 + usize::from(headers) { words[2] } else { "" };
        Ok(Message {
            subscription: words.get(1).and_then(|sid| sid.parse().ok()).ok_or_else(broken)?,
            subject: words.first().ok_or_else(broken)?.to_string(),
            reply: reply.into(),
            status,
            payload: bytes[head..total].to_vec(),
        })
    }

    /// Asks, and waits for the first answer.
    ///
    /// # Errors
    /// None came in time, or the broker refuses: its words.
    pub fn request(&mut self, subject: &str, payload: &[u8]) -> Result<Message, String> {
        // By the subscription: what a stream hands out comes under the subject it was published to.
        let reply = format!("{}.{}", self.inbox, self.subscriptions + 1);
        self.subscribe(&reply)?;
        let own = self.subscriptions;
        self.publish(subject, &reply, payload)?;
        let begun = Instant::now();
        while let Some(message) = self.next(PATIENCE.saturating_sub(begun.elapsed()))? {
            if message.subscription == own {
                self.send(&format!("UNSUB {own}\r\n"), b"")?;
                return Ok(message);
            }
        }
        Err(format!("NATS: nobody answers on {subject}"))
    }

    /// Asks JetStream for something: `STREAM.CREATE.name`, `CONSUMER.INFO.stream.name`, …
    ///
    /// # Errors
    /// No answer, or its error.
    pub fn jetstream(&mut self, what: &str, asked: &Value) -> Result<Value, String> {
        let asked = if asked.is_null() { String::new() } else { asked.to_string() };
        let answer = self.request(&format!("$JS.API.{what}"), asked.as_bytes())?;
        let document = answer.json();
        match (answer.status, document["error"]["description"].as_str()) {
            (None, None) => Ok(document),
            (Some(status), _) => Err(format!("{what}: status {status}")),
            (_, Some(why)) => Err(format!("{what}: {why}")),
        }
    }

    /// Publishes into a stream, and waits until that has it: its number there.
    ///
    /// # Errors
    /// The stream does not have it.
    pub fn store(&mut self, subject: &str, payload: &[u8]) -> Result<u64, String> {
        let answer = self.request(subject, payload)?.json();
        answer["seq"].as_u64().ok_or_else(|| format!("{subject}: {answer}"))
    }
}
