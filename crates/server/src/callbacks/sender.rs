//! One PUT to an address that was checked.

use super::address::{Allowed, Target, Undeliverable, check};
use axum::http::{Method, Request, header};
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A try from its beginning to the status of the answer (Judge0: `callbacks_timeout`).
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds the addresses of a name.
pub(crate) type Resolve = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Delivers callbacks.
pub(crate) struct CallbackSender {
    allowed: Allowed,
    resolve: Resolve,
    tls: TlsConnector,
}

impl CallbackSender {
    /// By the system's resolver and certificate authorities.
    pub(crate) fn of_system(allowed: Allowed) -> CallbackSender {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "reading certificate authorities");
        }
        let (_, unusable) = roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            tracing::warn!(unusable, "no certificate authorities: callbacks by https will fail");
        }
        let resolve = |name: String| -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(async move {
                // The port is of no consequence for what is found.
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        };
        CallbackSender::new(allowed, Arc::new(resolve), roots)
    }

    /// By these.
    pub(crate) fn new(allowed: Allowed, resolve: Resolve, roots: RootCertStore) -> CallbackSender {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap_or_else(|_| unreachable!("the provider has the protocol versions that rustls has"))
            .with_root_certificates(roots)
            .with_no_client_auth();
        CallbackSender { allowed, resolve, tls: TlsConnector::from(Arc::new(config)) }
    }

    /// Puts a JSON document to an address. Done is whatever answers with a status of success.
    pub(crate) async fn put(&self, url: &str, body: Vec<u8>) -> Result<(), Undeliverable> {
        let sent = tokio::time::timeout(PATIENCE, self.send(url, body)).await;
        sent.unwrap_or_else(|_| {
            Err(Undeliverable::Failed(format!("no answer within {} s", PATIENCE.as_secs())))
        })
    }

    async fn send(&self, url: &str, body: Vec<u8>) -> Result<(), Undeliverable> {
        let target = check(url, &self.allowed)?;
        let stream = self.connect(&target).await?;
        let status = if target.secure {
            let name = ServerName::try_from(target.host.clone()).map_err(|e| failed(&e))?;
            let stream = self.tls.connect(name, stream).await.map_err(|e| failed(&e))?;
            exchange(stream, &target, body).await?
        } else {
            exchange(stream, &target, body).await?
        };
        match status {
            200..=299 => Ok(()),
            300..=399 => {
                Err(Undeliverable::Failed(format!("it answered {status}; redirects are not followed")))
            }
            _ => Err(Undeliverable::Failed(format!("it answered {status}"))),
        }
    }

    /// Connects to an address that was checked. The name is resolved here and nowhere else.
    async fn connect(&self, target: &Target) -> Result<TcpStream, Undeliverable> {
        let addresses = match target.host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = (self.resolve)(target.host.clone()).await;
                found.map_err(|e| Undeliverable::Name(target.host.clone(), e.to_string()))?
            }
        };
        // A name that has one closed address among open ones is up to something.
        addresses.iter().try_for_each(|address| self.allowed.address(*address))?;
        let mut last = Undeliverable::Name(target.host.clone(), "it has no address".to_owned());
        for address in addresses {
            match TcpStream::connect(SocketAddr::new(address, target.port)).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = failed(&error),
            }
        }
        Err(last)
    }
}

fn failed(error: &dyn std::error::Error) -> Undeliverable {
    Undeliverable::Failed(error.to_string())
}

/// Sends the request and takes the status of the answer; the rest of it is not read.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    target: &Target,
    body: Vec<u8>,
) -> Result<u16, Undeliverable> {
    let request = Request::builder()
        .method(Method::PUT)
        .uri(&target.path)
        .header(header::HOST, &target.authority)
        .header(header::USER_AGENT, concat!("tautochrone/", env!("CARGO_PKG_VERSION")))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| failed(&e))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
    let mut answer = std::pin::pin!(sender.send_request(request));
    let mut connection = std::pin::pin!(connection);
    let answer = tokio::select! {
        answer = &mut answer => answer,
        // Where the connection ends first, what was said last is still there.
        ended = &mut connection => {
            ended.map_err(|e| failed(&e))?;
            answer.await
        }
    };
    answer.map(|answer| answer.status().as_u16()).map_err(|e| failed(&e))
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
