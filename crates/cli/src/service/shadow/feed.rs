//! Where a contest is, and reading its feed for as long as it takes.

use super::ShadowArgs;
use super::judges::Message;
use crate::terminal::Failure;
use ::client::{Answer, Client, Method, Streamed, segment};
use contest_api::feed::text;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest line: a collection of all submissions of a large contest has a few MiB.
const LONGEST: usize = 16 << 20;
/// Waits between connections, doubled up to the longest.
const TROUBLE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// A connection that lasted so long was a good one.
const LASTING: Duration = Duration::from_secs(5);
/// With `--once`: a feed that says nothing for so long has told all it knows.
const QUIET: Duration = Duration::from_secs(10);
/// With `--once`: connections that fail in a row before the command does.
const TRIES: u32 = 6;
/// As often a wait looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Where a contest is.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Address of the API.
    pub(super) api: String,
    /// The contest's id, as it stands in paths.
    pub(super) contest: String,
    authorization: Option<String>,
}

impl Address {
    /// A path below the contest.
    pub(super) fn path(&self, below: &str) -> String {
        format!("contests/{}/{below}", self.contest)
    }

    /// A client of its API, for a thread of its own.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        super::new_client(&self.api, self.authorization.clone())
    }
}

/// Address of the API, and what stands behind `contests/` in it.
fn parts(url: &str) -> (String, Option<String>) {
    match url.split_once("/contests/") {
        Some((api, rest)) => {
            let id = rest.split('/').next().unwrap_or_default();
            (api.to_owned(), Some(id.to_owned()).filter(|id| !id.is_empty()))
        }
        None => (url.trim_end_matches('/').to_owned(), None),
    }
}

/// The contest that is meant.
pub(super) fn address(args: &ShadowArgs, authorization: Option<String>) -> Result<Address, Failure> {
    let (api, named) = parts(&args.url);
    let named = args.contest.as_deref().map(segment).or(named);
    let contest = named.clone().unwrap_or_default();
    let address = Address { api, contest, authorization };
    // Says what is wrong with the address, whoever needs it first.
    let client = address.client()?;
    if named.is_some() {
        return Ok(address);
    }
    let answer = client.ask(&Method::GET, "contests", None);
    let answer = answer.map_err(|why| Failure::system(format!("{}/contests: {why}", address.api)))?;
    if answer.status != 200 {
        return Err(refused(&address, "contests", &answer));
    }
    let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let ids: Vec<String> = list.as_array().into_iter().flatten().filter_map(|c| text(&c["id"])).collect();
    match &ids[..] {
        [only] => Ok(Address { contest: segment(only), ..address }),
        [] => Err(Failure::usage(format!("{}: this user sees no contest", address.api))),
        _ => Err(Failure::usage(format!(
            "{}: several contests\nhint: give --contest {}",
            address.api,
            ids.join(" or ")
        ))),
    }
}

fn refused(address: &Address, path: &str, answer: &Answer) -> Failure {
    let said: String = String::from_utf8_lossy(&answer.body).chars().take(200).collect();
    let hint = match answer.status {
        401 => "\nhint: give --user and --password-file",
        403 => "\nhint: have an administrator of the contest let this user read it",
        404 => "\nhint: check --url and --contest",
        _ => "",
    };
    Failure::usage(format!("{}/{path}: was answered {}: {}{hint}", address.api, answer.status, said.trim()))
}

/// Who reads the feed.
pub(super) struct Reader<'a> {
    pub(super) address: &'a Address,
    /// From where on.
    pub(super) token: Option<String>,
    pub(super) once: bool,
    /// All has been told, or nobody listens any more.
    pub(super) over: &'a AtomicBool,
    pub(super) ending: &'a AtomicBool,
}

/// How a connection ended.
enum Ended {
    /// Nobody listens any more, or all was told.
    Done,
    /// It is to be tried again.
    Lost(String),
}

impl Reader<'_> {
    /// Reads until nobody listens, or the feed has told all.
    pub(super) fn read(mut self, tell: &SyncSender<Message>) {
        let (mut wait, mut failed) = (TROUBLE.0, 0);
        let client = match self.address.client() {
            Ok(client) => client,
            Err(failure) => return drop(tell.send(Message::Failed(failure))),
        };
        let mut streams = true;
        loop {
            let (mut heard, begun) = (false, Instant::now());
            match self.connect(&client, &mut streams, &mut heard, tell) {
                Ok(Ended::Done) => return drop(tell.send(Message::Over)),
                Ok(Ended::Lost(why)) => {
                    failed = if heard { 0 } else { failed + 1 };
                    // One that ends its connections at once is not asked more and more often.
                    if begun.elapsed() > LASTING {
                        wait = TROUBLE.0;
                    }
                    if self.is_over() {
                        return;
                    }
                    tracing::warn!(why, seconds = wait.as_secs_f64(), "the feed is read again");
                    if self.once && failed >= TRIES {
                        let why = format!("{}: {why}", self.address.api);
                        return drop(tell.send(Message::Failed(Failure::system(why))));
                    }
                }
                Err(failure) => return drop(tell.send(Message::Failed(failure))),
            }
            let until = Instant::now() + wait;
            wait = (wait * 2).min(TROUBLE.1);
            while Instant::now() < until {
                // Whoever listens has gone.
                if self.is_over() || tell.send(Message::Waiting).is_err() {
                    return;
                }
                sleep(LOOK);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst) || self.ending.load(Ordering::SeqCst)
    }

    fn connect(
        &mut self,
        client: &Client,
        streams: &mut bool,
        heard: &mut bool,
        tell: &SyncSender<Message>,
    ) -> Result<Ended, Failure> {
        let token = self.token.as_deref().map(|token| format!("since_token={}", segment(token)));
        let once = (self.once && *streams).then(|| "stream=false".to_owned());
        let query: Vec<String> = token.into_iter().chain(once).collect();
        let path = self.address.path("event-feed");
        let asked = if query.is_empty() { path.clone() } else { format!("{path}?{}", query.join("&")) };
        let (mut last, mut told_all) = (Instant::now(), false);
        let mut known = self.token.clone();
        let streamed = client.lines(&asked, LONGEST, &mut |line| {
            let Some(line) = line else {
                told_all = self.once && last.elapsed() > QUIET;
                return !told_all && !self.is_over() && tell.send(Message::Waiting).is_ok();
            };
            if !*heard {
                *heard = true;
                if tell.send(Message::Connected).is_err() {
                    return false;
                }
            }
            if !line.trim_ascii().is_empty() {
                last = Instant::now();
            }
            known = token_of(line).or_else(|| known.take());
            tell.send(Message::Line(line.to_vec())).is_ok() && !self.is_over()
        });
        self.token = known;
        match streamed {
            Ok(Streamed::Left) => Ok(Ended::Done),
            Ok(Streamed::Ended) if self.once => Ok(Ended::Done),
            Ok(Streamed::Ended) => Ok(Ended::Lost("the server ended the feed".into())),
            Ok(Streamed::Refused(answer)) => match answer.status {
                400 if self.token.take().is_some() => Ok(Ended::Lost(
                    "the server no longer knows this position; reading the feed from the start".into(),
                )),
                400 if std::mem::take(streams) && self.once => {
                    Ok(Ended::Lost("the server does not know `stream=false`".into()))
                }
                408 | 425 | 429 | 500.. => {
                    Ok(Ended::Lost(format!("the feed was answered {}", answer.status)))
                }
                _ => Err(refused(self.address, &path, &answer)),
            },
            Err(why) => Ok(Ended::Lost(why)),
        }
    }
}

/// The token of a line. Found without reading all of it again: most lines are short, and the rest is read once by whoever takes them in.
fn token_of(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Place {
        token: Option<Value>,
    }
    let place: Place = serde_json::from_slice(line).ok()?;
    text(&place.token?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_contests() {
        let of = |url: &str| {
            let (api, id) = parts(url);
            (api, id.unwrap_or_default())
        };
        assert_eq!(of("https://a/api/contests/wf"), ("https://a/api".into(), "wf".into()));
        assert_eq!(of("https://a/api/contests/wf/event-feed"), ("https://a/api".into(), "wf".into()));
        assert_eq!(of("https://a/api/contests/"), ("https://a/api".into(), String::new()));
        assert_eq!(of("https://a/api/v4/"), ("https://a/api/v4".into(), String::new()));
    }

    #[test]
    fn places_in_the_feed() {
        assert_eq!(token_of(br#"{"type":"x","data":{"token":"no"},"token":"7"}"#).as_deref(), Some("7"));
        assert_eq!(token_of(br#"{"token":12}"#).as_deref(), Some("12"));
        assert_eq!((token_of(b""), token_of(br#"{"token":null}"#)), (None, None));
    }
}
