//! The connections of clients: how many there may be, and how long one may dawdle.

use crate::limits::Limits;
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
struct Place {
    open: Open,
    address: IpAddr,
}

impl Place {
    /// A place for one more connection of this address, where it has fewer than `most`.
    fn take(open: &Open, address: IpAddr, most: usize) -> Option<Place> {
        let mut all = open.lock().unwrap_or_else(PoisonError::into_inner);
        let has = all.entry(address).or_default();
        if *has >= most {
            return None;
        }
        *has += 1;
        Some(Place { open: open.clone(), address })
    }
}

impl Drop for Place {
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

/// Serves connections until `stop` is done, then lets what is being answered go on for `grace` at most.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    proxies: &[IpAddr],
    grace: Duration,
    stop: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let open = Open::default();
    let ending = tokio::sync::watch::Sender::new(false);
    let mut tasks = JoinSet::new();
    let accepting = async {
        loop {
            // Who comes when all places are taken waits in the system's line.
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let Some((stream, peer)) = accept(&listener).await else { continue };
            let address = peer.ip().to_canonical();
            let known = address.is_loopback() || proxies.contains(&address);
            let most = if known { usize::MAX } else { limits.connections_of_address };
            let Some(own) = Place::take(&open, address, most) else { continue };
            let (routes, ending) = (routes.clone(), ending.subscribe());
            tasks.spawn(async move {
                attend(stream, peer, routes, ending).await;
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
    if tokio::time::timeout(grace, all).await.is_err() {
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
        .header_read_timeout(HEAD)
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

    #[test]
    fn an_address_has_so_many_places() {
        let open = Open::default();
        let (a, b): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let first = Place::take(&open, a, 2);
        let second = Place::take(&open, a, 2);
        assert!(first.is_some() && second.is_some() && Place::take(&open, a, 2).is_none());
        assert!(Place::take(&open, b, 2).is_some());
        drop(first);
        assert!(Place::take(&open, a, 2).is_some());
        drop(second);
        assert!(open.lock().unwrap().is_empty());
    }
}
