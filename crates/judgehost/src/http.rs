//! One request to the server, over a connection of its own: one that is used again may have been closed meanwhile, and what was asked by it
//! is then in doubt.

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, Uri, header};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// For a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// For an answer, from the request to its last byte: a server takes a minute for a large test under load.
const ANSWER: Duration = Duration::from_secs(300);
/// Most bytes of an answer: a test of 384 MiB, since it travels in base64.
const MOST: usize = 512 << 20;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

/// Where a server is, and the means to ask it.
pub struct Client {
    secure: bool,
    host: String,
    port: u16,
    authority: String,
    /// Path of the API, without a slash at its end.
    base: String,
    authorization: String,
    agent: String,
    tls: Option<TlsConnector>,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// A client of the server whose API is at `url`, such as `https://judge.example.org/api/v4`.
    ///
    /// # Errors
    /// It is no such address, or this machine has no means to ask there.
    pub fn new(url: &str, authorization: String, agent: String) -> Result<Client, String> {
        let bad =
            |why: &str| format!("--url {url}: {why}; give one such as https://judge.example.org/api/v4");
        let uri: Uri = url.parse().map_err(|_| bad("is no address"))?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("is neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| bad("has no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(bad("has more than host and path"));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Client {
            secure,
            host,
            port,
            authority: authority.to_string(),
            base: uri.path().trim_end_matches('/').to_owned(),
            authorization,
            agent,
            tls: secure.then(connector),
            runtime: runtime.map_err(|e| e.to_string())?,
        })
    }

    /// Asks. `path` is below the API; `form` is the body, urlencoded.
    ///
    /// # Errors
    /// There was no whole answer; whether the server took the request is not known.
    pub fn ask(&self, method: &Method, path: &str, form: Option<String>) -> Result<Answer, String> {
        self.runtime.block_on(async {
            let asked = tokio::time::timeout(ANSWER, self.exchange(method, path, form)).await;
            asked.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER.as_secs())))
        })
    }

    async fn exchange(&self, method: &Method, path: &str, form: Option<String>) -> Result<Answer, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}/{path}", self.base))
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, &self.agent)
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::ACCEPT, "application/json")
            .header(header::CONNECTION, "close");
        if form.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let body = Full::new(Bytes::from(form.unwrap_or_default()));
        let request = request.body(body).map_err(|e| e.to_string())?;
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = tokio::time::timeout(CONNECT, connecting).await;
        let stream = stream.map_err(|_| format!("no connection within {} s", CONNECT.as_secs()))?;
        let stream = stream.map_err(|e| format!("connecting to {}: {e}", self.authority))?;
        // A small request is not to wait for more to be said.
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        match &self.tls {
            Some(tls) if self.secure => {
                let name = ServerName::try_from(self.host.clone()).map_err(|e| e.to_string())?;
                send(tls.connect(name, stream).await.map_err(|e| format!("TLS: {e}"))?, request).await
            }
            _ => send(stream, request).await,
        }
    }
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, String> {
    let said = |e: hyper::Error| e.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(said)?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(said)?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), MOST).collect().await;
    connection.abort();
    let body = body.map_err(|e| format!("reading the answer: {e}"))?.to_bytes();
    Ok(Answer { status, body: body.into() })
}

/// TLS by the system's certificate authorities.
fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "reading certificate authorities");
    }
    let (_, unusable) = roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!(unusable, "no certificate authorities: a server behind https cannot be trusted");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap_or_else(|_| unreachable!("the provider has the protocol versions that rustls has"))
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let of = |url| Client::new(url, String::new(), String::new()).map(|c| (c.host, c.port, c.base));
        assert_eq!(of("https://a.b/api/v4"), Ok(("a.b".into(), 443, "/api/v4".into())));
        assert_eq!(of("http://[::1]:8080/api/"), Ok(("::1".into(), 8080, "/api".into())));
        for wrong in ["a.b", "ftp://a.b/", "https:///api", "http://u:p@a.b/api", "http://a.b/?x=1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
