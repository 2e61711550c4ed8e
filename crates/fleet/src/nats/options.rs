//! Which brokers, who we are to them, and the connection.

use super::error::NatsError;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{Context, object_store::ObjectStore};
use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError, ServerInfo};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// How to reach the brokers.
#[derive(Clone, Default)]
pub struct Options {
    /// `nats://user:password@host:4222,host2:4222`, or `tls://…`; one port is 4222, user and password hold for all hosts, and
    /// a user alone is a token.
    pub url: String,
    /// A file of credentials (JWT and seed), as `nsc` writes it.
    pub creds: Option<PathBuf>,
    /// Certificate authorities that are trusted for the brokers, as PEM; `None`: the system's.
    pub ca: Option<PathBuf>,
    /// Our certificate, as PEM, where brokers ask for one.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// How this connection is called in the brokers' lists.
    pub name: String,
    /// First part of the subjects on which answers come, such as `_INBOX.pool_metal`, where permissions tell users apart;
    /// `None`: `_INBOX`.
    pub inbox: Option<String>,
}

/// A broker that stays silent for two of these is left for another one.
const PING: Duration = Duration::from_secs(2);
/// Interval at which the connection is checked.
const LOOK: Duration = Duration::from_millis(20);
/// The longest wait between attempts to connect again.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// JetStream answers within that, or is asked again.
pub(super) const API_WAIT: Duration = Duration::from_secs(5);
/// The stream tells that it has a ticket within that, or the ticket is published again.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(2);
/// A denial is taken as the reason for what fails within that time after it.
const DENIED_FOR: Duration = Duration::from_secs(10);

/// A connection to the brokers, which comes back by itself. Cheap to clone.
#[derive(Clone)]
pub struct Nats {
    /// See [`Nats::client`].
    client: Client,
    /// See [`Nats::stream`].
    stream: Context,
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// The brokers, without secrets.
    pub(super) at: String,
    /// Goes up whenever a connection was made.
    pub(super) connections: watch::Receiver<u64>,
    denied: Mutex<Option<(Instant, String)>>,
    pub(super) packages: OnceCell<ObjectStore>,
    pub(super) bodies: OnceCell<ObjectStore>,
}

/// What a URL says.
#[derive(Debug, PartialEq)]
struct Address {
    hosts: Vec<String>,
    user: Option<(String, Option<String>)>,
}

fn wrong(name: &str, why: impl Into<String>) -> NatsError {
    NatsError::Option { name: name.into(), why: why.into() }
}

/// Takes a URL apart. Errors do not repeat it, since it may hold a password.
fn address(url: &str) -> Result<Address, NatsError> {
    let form = "\nhint: write it as nats://user:password@host:4222,host2:4222 or tls://…";
    let (scheme, rest) = url.trim().split_once("://").unwrap_or(("nats", url.trim()));
    if !["nats", "tls"].contains(&scheme) {
        return Err(wrong("--nats", format!("`{scheme}` is not a way to NATS{form}")));
    }
    let (user, hosts) = match rest.split_once('@') {
        None => (None, rest),
        Some((user, hosts)) => {
            let decoded = |text: &str| {
                decoded(text).ok_or_else(|| wrong("--nats", format!("a % in it begins no %XX{form}")))
            };
            let (user, password) = match user.split_once(':') {
                Some((user, password)) => (decoded(user)?, Some(decoded(password)?)),
                None => (decoded(user)?, None),
            };
            (Some((user, password)), hosts)
        }
    };
    let hosts = hosts.trim_end_matches('/').split(',').map(str::trim);
    // Each may be a URL of its own.
    let host = |host: &str| {
        host.rsplit_once("://").map_or(host, |(_, host)| host).rsplit('@').next().unwrap_or(host).to_string()
    };
    let hosts: Vec<String> = hosts.map(host).collect();
    if hosts.iter().any(String::is_empty) {
        return Err(wrong("--nats", format!("a host is missing{form}")));
    }
    let hosts = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
    Ok(Address { hosts, user })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Connects. The first attempt is the only one: whether another one is of use, [`NatsError::is_lasting`] tells. A connection
/// that was made comes back by itself, at any of the brokers of the cluster, however long they were away.
pub async fn connect(options: &Options) -> Result<Nats, NatsError> {
    let Address { hosts, user } = address(&options.url)?;
    let at = hosts.join(",");
    let addresses = hosts.iter().map(|host| host.parse::<ServerAddr>());
    let addresses: Vec<ServerAddr> =
        addresses.collect::<Result<_, _>>().map_err(|e| wrong("--nats", format!("{at}: {e}")))?;
    let (connected, connections) = watch::channel(0);
    let shared = Arc::new(Shared {
        at: at.clone(),
        connections,
        denied: Mutex::new(None),
        packages: OnceCell::new(),
        bodies: OnceCell::new(),
    });
    let watcher = Arc::downgrade(&shared);
    let connected = Arc::new(connected);
    let asked = secured(with_user(ConnectOptions::new(), user), options)?
        .name(&options.name)
        .ping_interval(PING)
        .custom_inbox_prefix(options.inbox.as_deref().unwrap_or("_INBOX"))
        .reconnect_delay_callback(|attempt| match attempt {
            0 | 1 => Duration::ZERO,
            n => Duration::from_millis(1 << n.min(10)).min(LONGEST_WAIT),
        })
        .event_callback(move |event| {
            match &event {
                Event::Connected => connected.send_modify(|count| *count += 1),
                Event::ServerError(ServerError::Other(why)) => {
                    if let Some(shared) = watcher.upgrade() {
                        *shared.denied.lock().unwrap_or_else(PoisonError::into_inner) =
                            Some((Instant::now(), why.clone()));
                    }
                }
                _ => {}
            }
            async move { note(&event) }
        });
    let client = asked.connect(addresses).await.map_err(|e| NatsError::connecting(&at, &e))?;
    // The event of this very connection; later ones tell that another was made.
    let _ = tokio::time::timeout(PING, shared.connections.clone().wait_for(|made| *made > 0)).await;
    let stream = ContextBuilder::new().timeout(API_WAIT).ack_timeout(ACK_WAIT).build(client.clone());
    Ok(Nats { client, stream, shared })
}

fn note(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        Event::Disconnected => tracing::warn!("the connection to NATS broke; connecting again"),
        Event::ServerError(_) | Event::SlowConsumer(_) => tracing::warn!(%event, "NATS"),
        other => tracing::debug!(event = %other, "NATS"),
    }
}

fn with_user(options: ConnectOptions, user: Option<(String, Option<String>)>) -> ConnectOptions {
    match user {
        Some((user, Some(password))) => options.user_and_password(user, password),
        Some((token, None)) => options.token(token),
        None => options,
    }
}

/// With the files that prove who somebody is. They are looked at here, since the client library tells less of what is wrong.
fn secured(mut asked: ConnectOptions, options: &Options) -> Result<ConnectOptions, NatsError> {
    let read = |name: &str, path: &Path| {
        std::fs::read_to_string(path).map_err(|e| wrong(name, format!("{}: {e}", path.display())))
    };
    let pem = |name: &str, path: &Path, what: &str| {
        let text = read(name, path)?;
        let there = text.lines().any(|line| line.starts_with("-----BEGIN") && line.contains(what));
        there
            .then_some(())
            .ok_or_else(|| wrong(name, format!("{}: there is no PEM {what} in it", path.display())))
    };
    if let Some(path) = &options.creds {
        let text = read("--nats-creds", path)?;
        asked = asked.credentials(&text).map_err(|_| {
            wrong(
                "--nats-creds",
                format!(
                    "{}: it is not a file of credentials\n\
                     hint: write one with `nsc generate creds`",
                    path.display()
                ),
            )
        })?;
    }
    if let Some(path) = &options.ca {
        pem("--nats-ca", path, "CERTIFICATE")?;
        asked = asked.add_root_certificates(path.clone()).require_tls(true);
    }
    match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => {
            pem("--nats-cert", cert, "CERTIFICATE")?;
            pem("--nats-key", key, "KEY")?;
            asked = asked.add_client_certificate(cert.clone(), key.clone());
        }
        (None, None) => {}
        (Some(_), None) => {
            return Err(wrong("--nats-cert", "its key is missing\nhint: give --nats-key as well"));
        }
        (None, Some(_)) => {
            return Err(wrong("--nats-key", "its certificate is missing\nhint: give --nats-cert as well"));
        }
    }
    Ok(asked)
}

impl Nats {
    /// The brokers as they were given, without user and password.
    pub fn brokers(&self) -> &str {
        &self.shared.at
    }

    /// Whether there is a connection now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// The client, once it is connected; everything is sent by it. Without a connection the library queues messages, sends them much
    /// too late, and blocks senders when it holds 2048 (`client_capacity` of its options).
    ///
    /// # Errors
    /// There is no connection within that time.
    pub(super) async fn client(&self, within: Duration) -> Result<&Client, NatsError> {
        let connected = async {
            while !self.is_connected() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let connected = tokio::time::timeout(within, connected).await;
        connected.map(|()| &self.client).map_err(|_| NatsError::Silent { within, away: true })
    }

    /// The client of JetStream, once it is connected; see [`Nats::client`].
    pub(super) async fn stream(&self, within: Duration) -> Result<&Context, NatsError> {
        self.client(within).await.map(|_| &self.stream)
    }

    /// What the broker told about itself on connecting.
    pub(super) fn broker(&self) -> ServerInfo {
        self.client.server_info()
    }

    /// Waits until what was said so far has left for the broker.
    pub async fn flush(&self) -> Result<(), NatsError> {
        self.client(API_WAIT).await?.flush().await.map_err(|e| NatsError::failed("sending")(e.into()))
    }

    /// What a broker said lately that we may not do.
    pub(super) fn denied(&self) -> Option<String> {
        let denied = self.shared.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, why) = denied.as_ref()?;
        (at.elapsed() < DENIED_FOR && why.to_ascii_lowercase().contains("permission")).then(|| why.clone())
    }

    /// An error as it is, or the denial that lies behind it.
    pub(super) fn or_denied(&self, error: NatsError) -> NatsError {
        match self.denied() {
            Some(why) => NatsError::Denied(why),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_hosts_and_user() {
        let hosts = |hosts: &[&str]| hosts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let user = |user: &str, password: Option<&str>| Some((user.to_string(), password.map(String::from)));
        for (url, all, who) in [
            ("localhost", hosts(&["nats://localhost"]), None),
            ("nats://a:1,b:2", hosts(&["nats://a:1", "nats://b:2"]), None),
            ("nats://u:p%40:x@a:1,b/", hosts(&["nats://a:1", "nats://b"]), user("u", Some("p@:x"))),
            ("tls://token@a", hosts(&["tls://a"]), user("token", None)),
            ("nats://u:p@a,nats://u:p@b", hosts(&["nats://a", "nats://b"]), user("u", Some("p"))),
        ] {
            assert_eq!(address(url).unwrap(), Address { hosts: all, user: who }, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_its_password() {
        for url in ["http://u:secret@a", "nats://u:secret@", "nats://u:secret%zz@a", "nats://u:secret@a,,b"] {
            let why = address(url).unwrap_err().to_string();
            assert!(why.starts_with("--nats: ") && !why.contains("secret"), "{why}");
        }
    }
}
