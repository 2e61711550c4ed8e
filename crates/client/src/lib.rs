//! Asking somebody else's server: each request over a connection of its own, since one that is used again may have been closed meanwhile, and
//! what was asked by it is then in doubt. Answers are taken whole, or line by line as they come, both under bounds.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full, Limited};
pub use hyper::Method;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response, Uri, header};
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
/// Most bytes of an answer where nothing else is said: a test of 384 MiB, since it travels in base64.
const MOST: usize = 512 << 20;
/// Most bytes of an answer that is not the one that was asked for.
const REFUSAL: usize = 64 << 10;
/// As often whoever reads a stream is asked whether to go on while nothing comes.
const LOOK: Duration = Duration::from_millis(200);

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

/// How a stream of lines ended.
#[derive(Clone, Debug)]
pub enum Streamed {
    /// The server ended it.
    Ended,
    /// The reader left it.
    Left,
    /// There is no stream but this answer.
    Refused(Answer),
}

/// The header of HTTP's basic authentication (RFC 7617).
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A part of a path, escaped (RFC 3986, section 2).
pub fn segment(text: &str) -> String {
    let dots = text.bytes().all(|byte| byte == b'.');
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_~".contains(byte) || (*byte == b'.' && !dots);
    let escape = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

/// Where a server is, and the means to ask it.
pub struct Client {
    secure: bool,
    host: String,
    port: u16,
    authority: String,
    /// Path of the API, without a slash at its end.
    base: String,
    authorization: Option<String>,
    agent: String,
    most: usize,
    tls: Option<TlsConnector>,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// A client of the server whose API is at `url`, such as `https://judge.example.org/api/v4`; `authorization` is the header of that name.
    ///
    /// # Errors
    /// It is no such address, or this machine has no means to ask there.
    pub fn new(url: &str, authorization: Option<String>, agent: String) -> Result<Client, String> {
        let bad =
            |why: &str| format!("--url {url}: {why}\nhint: write it as https://judge.example.org/api/v4");
        let uri: Uri = url.parse().map_err(|_| bad("is not an address"))?;
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
            most: MOST,
            tls: secure.then(connector),
            runtime: runtime.map_err(|e| e.to_string())?,
        })
    }

    /// The same, taking answers of at most so many bytes.
    #[must_use]
    pub fn at_most(self, most: usize) -> Client {
        Client { most, ..self }
    }

    /// Where a link of the server's leads, for [`Client::ask`]: an address on the same server, or a path that is below the API unless it
    /// begins with a slash. Password and user are for this server alone.
    ///
    /// # Errors
    /// It leads to another server.
    pub fn path_of(&self, link: &str) -> Result<String, String> {
        let Some((scheme, rest)) = link.split_once("://") else { return Ok(link.to_owned()) };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let own = if self.secure { "https" } else { "http" };
        match scheme.eq_ignore_ascii_case(own) && authority.eq_ignore_ascii_case(&self.authority) {
            true => Ok(if path.is_empty() { "/".to_owned() } else { path.to_owned() }),
            false => Err(format!("{link}: is on another server than {own}://{}", self.authority)),
        }
    }

    /// Asks. `path` is below the API, or begins with a slash; `form` is the body, urlencoded.
    ///
    /// # Errors
    /// There was no whole answer; whether the server took the request is not known.
    pub fn ask(&self, method: &Method, path: &str, form: Option<String>) -> Result<Answer, String> {
        self.runtime.block_on(async {
            let asked = tokio::time::timeout(ANSWER, async {
                let (response, connection) = self.begin(method, path, form).await?;
                let answer = whole(response, self.most).await;
                connection.abort();
                answer
            });
            asked.await.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER.as_secs())))
        })
    }

    /// Reads an answer line by line for as long as it comes. `each` takes a line without its end, or `None` where nothing has come for a
    /// moment, and says whether to go on. What stands behind the last line end is a line too.
    ///
    /// # Errors
    /// The connection broke, or a line has more than `longest` bytes.
    pub fn lines(
        &self,
        path: &str,
        longest: usize,
        each: &mut dyn FnMut(Option<&[u8]>) -> bool,
    ) -> Result<Streamed, String> {
        self.runtime.block_on(async {
            let begun = tokio::time::timeout(ANSWER, self.begin(&Method::GET, path, None)).await;
            let (response, connection) =
                begun.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER.as_secs())))?;
            let streamed = match response.status().as_u16() {
                200 => split(response.into_body(), longest, each).await,
                _ => whole(response, REFUSAL).await.map(Streamed::Refused),
            };
            connection.abort();
            streamed
        })
    }

    async fn begin(
        &self,
        method: &Method,
        path: &str,
        form: Option<String>,
    ) -> Result<(Response<Incoming>, Connection), String> {
        let uri = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.base) };
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, &self.agent)
            .header(header::ACCEPT, "application/json, */*")
            .header(header::CONNECTION, "close");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
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

/// What moves the bytes of an answer.
type Connection = tokio::task::JoinHandle<Result<(), hyper::Error>>;

async fn send(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Connection), String> {
    let said = |e: hyper::Error| e.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(said)?;
    let connection = tokio::spawn(connection);
    Ok((sender.send_request(request).await.map_err(said)?, connection))
}

async fn whole(response: Response<Incoming>, most: usize) -> Result<Answer, String> {
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), most).collect().await;
    let body = body.map_err(|e| format!("reading the answer: {e}"))?.to_bytes();
    Ok(Answer { status, body: body.into() })
}

async fn split(
    mut body: Incoming,
    longest: usize,
    each: &mut dyn FnMut(Option<&[u8]>) -> bool,
) -> Result<Streamed, String> {
    let mut line: Vec<u8> = Vec::new();
    loop {
        let Ok(frame) = tokio::time::timeout(LOOK, body.frame()).await else {
            if !each(None) {
                return Ok(Streamed::Left);
            }
            continue;
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|e| format!("reading the answer: {e}"))?;
        let Ok(bytes) = frame.into_data() else { continue };
        let mut parts = bytes.split(|byte| *byte == b'\n');
        let mut part = parts.next().unwrap_or_default();
        loop {
            if line.len() + part.len() > longest {
                return Err(format!("a line has more than {longest} bytes"));
            }
            line.extend_from_slice(part);
            let Some(next) = parts.next() else { break };
            if !each(Some(&line)) {
                return Ok(Streamed::Left);
            }
            line.clear();
            part = next;
        }
    }
    match line.is_empty() || each(Some(&line)) {
        true => Ok(Streamed::Ended),
        false => Ok(Streamed::Left),
    }
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
        tracing::warn!(
            unusable,
            "no certificate authorities: a server behind https cannot be trusted\n\
             hint: apt install ca-certificates"
        );
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
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn client(url: &str) -> Result<Client, String> {
        Client::new(url, Some(basic("u", "p")), "test".into())
    }

    #[test]
    fn addresses() {
        let of = |url| client(url).map(|c| (c.host, c.port, c.base));
        assert_eq!(of("https://a.b/api/v4"), Ok(("a.b".into(), 443, "/api/v4".into())));
        assert_eq!(of("http://[::1]:8080/api/"), Ok(("::1".into(), 8080, "/api".into())));
        for wrong in ["a.b", "ftp://a.b/", "https:///api", "http://u:p@a.b/api", "http://a.b/?x=1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn links_stay_on_their_server() {
        let client = client("http://a.b:81/api").unwrap();
        assert_eq!(client.path_of("contests/x").as_deref(), Ok("contests/x"));
        assert_eq!(client.path_of("/api/y").as_deref(), Ok("/api/y"));
        assert_eq!(client.path_of("HTTP://A.b:81/z?q").as_deref(), Ok("/z?q"));
        for other in ["http://a.b/z", "https://a.b:81/z", "http://a.b:81.c/z", "http://u@a.b:81/z"] {
            assert!(client.path_of(other).unwrap_err().contains("another server"), "{other}");
        }
    }

    /// A server that answers every request with this.
    fn answering(answer: &'static str) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        format!("http://{address}/api")
    }

    #[test]
    fn lines_as_they_come() {
        let read = |answer, longest| {
            let mut lines = Vec::new();
            let client = client(&answering(answer)).unwrap();
            let streamed = client.lines("feed", longest, &mut |line| {
                lines.extend(line.map(|line| String::from_utf8_lossy(line).into_owned()));
                lines.len() < 3
            });
            (streamed, lines)
        };
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\n\ntwo";
        let (streamed, lines) = read(head, 9);
        assert!(matches!(streamed, Ok(Streamed::Left)) && lines == ["one", "", "two"], "{lines:?}");
        assert!(read(head, 2).0.is_err());
        let refusal = "HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno";
        assert!(matches!(read(refusal, 9).0, Ok(Streamed::Refused(Answer { status: 400, .. }))));
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n3\r\nb\nc\r\n0\r\n\r\n";
        let (streamed, lines) = read(chunked, 9);
        assert!(matches!(streamed, Ok(Streamed::Left)) && lines == ["a", "b", "c"], "{lines:?}");
        // Cut in the middle of a chunk.
        let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na\nb";
        let (streamed, lines) = read(cut, 9);
        assert!(streamed.is_err() && lines == ["a"], "{lines:?}");
    }
}
