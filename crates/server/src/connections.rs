//! The connections of clients: how many there may be, and how long one may dawdle.

use crate::accounts::Access;
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt;

/// How long a client may take over the head of a request, the pause before it included: who sends a byte a minute is done with then, and so is
/// who does nothing.
const HEAD: Duration = Duration::from_secs(30);

/// Lines in the head of a request, and its size in bytes.
const HEAD_LINES: usize = 64;
const HEAD_BYTES: usize = 16 << 10;

/// What is kept for a connection while its requests are read, in bytes.
const BUFFER: usize = 64 << 10;

/// How many connections each address has open.
type Open = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// One of an address's places; given back when dropped.
struct ConnectionSlot {
    open: Open,
    address: IpAddr,
}

impl ConnectionSlot {
    /// A place for one more connection of this address, where it has fewer than `most`.
    fn take(open: &Open, address: IpAddr, most: usize) -> Option<ConnectionSlot> {
        let mut all = open.lock().unwrap_or_else(PoisonError::into_inner);
        let has = all.entry(address).or_default();
        if *has >= most {
            return None;
        }
        *has += 1;
        Some(ConnectionSlot { open: open.clone(), address })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(has) = all.get_mut(&self.address) {
            *has -= 1;
            if *has == 0 {
                all.remove(&self.address);
            }
        }
    }
}

/// What connections are held to.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Open ones in all.
    pub(crate) connections: usize,
    /// Of one address that is neither this machine nor a proxy of the site's.
    pub(crate) of_address: usize,
    /// Addresses that may have as many as there are.
    pub(crate) proxies: Vec<IpAddr>,
    /// How long the head of a request may take, the pause before it included.
    pub(crate) head: Duration,
    /// How long answers may go on after the service was told to end.
    pub(crate) grace: Duration,
}

impl Bounds {
    /// As a site has decided.
    pub(crate) fn for_access(access: &Access, grace: Duration) -> Bounds {
        Bounds {
            connections: access.limits.connections,
            of_address: access.limits.connections_of_address,
            proxies: access.proxies.clone(),
            head: HEAD,
            grace,
        }
    }
}

/// Serves connections until `stop` is done, then lets what is being answered be finished.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(bounds.connections));
    let open = Open::default();
    let ending = tokio::sync::watch::Sender::new(false);
    let mut tasks = JoinSet::new();
    let accepting = async {
        loop {
            // Who comes when all places are taken waits in the system's line.
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let Some((stream, peer)) = accept(&listener).await else { continue };
            let address = peer.ip().to_canonical();
            let known = address.is_loopback() || bounds.proxies.contains(&address);
            let most = if known { usize::MAX } else { bounds.of_address };
            let Some(own) = ConnectionSlot::take(&open, address, most) else { continue };
            let (routes, ending, head) = (routes.clone(), ending.subscribe(), bounds.head);
            tasks.spawn(async move {
                attend(stream, peer, routes, head, ending).await;
                drop((place, own));
            });
            while tasks.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    ending.send_replace(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(bounds.grace, all).await.is_err() {
        tracing::warn!(connections = tasks.len(), "connections were cut off");
    }
    tasks.shutdown().await;
}

async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            // Out of descriptors, most likely (accept(2)); others must end first. What belongs to one connection is no matter.
            if error.raw_os_error().is_some_and(|errno| {
                errno == rustix::io::Errno::MFILE.raw_os_error()
                    || errno == rustix::io::Errno::NFILE.raw_os_error()
            }) {
                tracing::error!(%error, "no more connections");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            None
        }
    }
}

/// Serves one connection to its end.
async fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    routes: Router,
    head: Duration,
    mut ending: tokio::sync::watch::Receiver<bool>,
) {
    // Answers are written whole; waiting for more to send would only make them late.
    drop(stream.set_nodelay(true));
    let service = routes.map_request(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        Request::from(request.map(axum::body::Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_headers(HEAD_LINES)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    loop {
        tokio::select! {
            done = connection.as_mut() => {
                if let Err(error) = done {
                    tracing::debug!(%error, %peer, "a connection ended");
                }
                return;
            }
            changed = ending.changed() => {
                if changed.is_err() || *ending.borrow() {
                    connection.as_mut().graceful_shutdown();
                    break;
                }
            }
        }
    }
    drop(connection.await);
}

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Enough for a busy machine; nothing waits so long where all is well.
    const LONG: Duration = Duration::from_secs(30);

    /// Serves what `slow` takes a while over, and lets `clients` do as they please.
    async fn with_server<F: Future<Output = ()>>(
        connections: usize,
        head: Duration,
        clients: impl FnOnce(SocketAddr) -> F,
    ) {
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            "slow"
        };
        let routes = Router::new()
            .route(
                "/",
                axum::routing::get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move {
                    peer.ip().to_string()
                }),
            )
            .route("/slow", axum::routing::get(slow));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bounds = Bounds { connections, of_address: 1, proxies: Vec::new(), head, grace: LONG };
        let clients = clients(address);
        tokio::time::timeout(LONG, serve(listener, routes, bounds, clients)).await.expect("it ends");
    }

    async fn said(stream: &mut TcpStream) -> String {
        let mut text = Vec::new();
        let end = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.expect("it closes");
        // One that is closed with something unread is reset.
        drop(end);
        String::from_utf8_lossy(&text).into_owned()
    }

    async fn ask(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn who_dawdles_is_cut_off_and_others_are_served() {
        with_server(64, Duration::from_millis(300), async |address| {
            let mut silent = ask(address, "").await;
            let mut half = ask(address, "GET / HTTP/1.1\r\nHost: a\r\nX-").await;
            let mut good = ask(address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
            assert!(said(&mut good).await.ends_with("127.0.0.1"));
            assert!(!said(&mut silent).await.contains("200"));
            assert!(!said(&mut half).await.contains("200"));
            let mut idle = ask(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(said(&mut idle).await.contains("200"), "and is closed after a pause");
        })
        .await;
    }

    #[tokio::test]
    async fn heads_are_bounded() {
        with_server(64, LONG, async |address| {
            let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES));
            let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(HEAD_LINES + 1));
            for text in [long, many] {
                let answer = said(&mut ask(address, &text).await).await;
                assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn those_who_come_when_all_places_are_taken_wait() {
        with_server(1, LONG, async |address| {
            let first = ask(address, "").await;
            let mut second = ask(address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
            let early = tokio::time::timeout(Duration::from_millis(200), second.readable()).await;
            assert!(early.is_err(), "it was served");
            drop(first);
            assert!(said(&mut second).await.contains("200"));
        })
        .await;
    }

    #[tokio::test]
    async fn what_is_being_answered_at_the_end_is_finished() {
        let (hear, told) = tokio::sync::oneshot::channel();
        with_server(64, LONG, async |address| {
            let mut stream = ask(address, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
            tokio::spawn(async move { hear.send(said(&mut stream).await) });
            tokio::time::sleep(Duration::from_millis(100)).await;
        })
        .await;
        assert!(told.await.unwrap().ends_with("slow"));
    }

    #[test]
    fn an_address_has_so_many_places() {
        let open = Open::default();
        let (a, b): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let first = ConnectionSlot::take(&open, a, 2);
        let second = ConnectionSlot::take(&open, a, 2);
        assert!(first.is_some() && second.is_some() && ConnectionSlot::take(&open, a, 2).is_none());
        assert!(ConnectionSlot::take(&open, b, 2).is_some());
        drop(first);
        assert!(ConnectionSlot::take(&open, a, 2).is_some());
        drop(second);
        assert!(open.lock().unwrap().is_empty());
    }
}
