use super::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The loopback address that stands for a public one in these tests.
const OPEN: &str = "127.0.0.2";

fn allowed() -> Allowed {
    Allowed { networks: vec![OPEN.parse().unwrap()], ..Allowed::default() }
}

/// A resolver that gives these answers one after the other, then none.
fn answering(answers: Vec<Vec<&'static str>>) -> (Resolve, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, answers) = (asked.clone(), Arc::new(answers));
    let resolve = move |_: String| -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let answer = answers.get(count.fetch_add(1, Ordering::SeqCst)).cloned().unwrap_or_default();
        Box::pin(async move { Ok(answer.iter().map(|address| address.parse().unwrap()).collect()) })
    };
    (Arc::new(resolve), asked)
}

fn sender(resolve: Resolve) -> CallbackSender {
    CallbackSender::new(allowed(), resolve, RootCertStore::empty())
}

/// A server that answers every connection with this, and keeps what it was sent.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

async fn server(address: &str, answer: &'static str) -> Server {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = heard.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let said = converse(stream, answer).await;
            keep.lock().unwrap().push(said);
        }
    });
    Server { port, heard }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &str) -> String {
    let mut said = Vec::new();
    // Each body of these tests ends so.
    while !said.ends_with(b"}") {
        if stream.read_buf(&mut said).await.unwrap_or(0) == 0 {
            break;
        }
    }
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_callback_arrives_as_judge0_sends_it() {
    let server = server(OPEN, "HTTP/1.1 204 No Content\r\n\r\n").await;
    let (resolve, _) = answering(vec![vec![OPEN]]);
    let url = format!("http://judge.example:{}/done?id=1", server.port);
    sender(resolve).put(&url, b"{\"token\":1}".to_vec()).await.unwrap();
    let heard = server.heard.lock().unwrap().join("");
    assert!(heard.starts_with("PUT /done?id=1 HTTP/1.1\r\n"), "{heard}");
    assert!(heard.ends_with("\r\n\r\n{\"token\":1}"), "{heard}");
    for header in [
        "content-type: application/json",
        &format!("host: judge.example:{}", server.port),
        "content-length: 11",
    ] {
        assert!(heard.to_lowercase().contains(header), "{header}: {heard}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_reaches_nothing_else() {
    let (public, secret) = (
        server(OPEN, "HTTP/1.1 200 OK\r\n\r\n").await,
        // On the port of the other: only the address differs.
        TcpListener::bind(("127.0.0.1", 0)).await.unwrap(),
    );
    let port = secret.local_addr().unwrap().port();
    // First answer public, every later one loopback: what is checked is what is connected to.
    let (resolve, asked) = answering(vec![vec![OPEN], vec!["127.0.0.1"], vec!["127.0.0.1"]]);
    let sender = sender(resolve);
    sender.put(&format!("http://rebind.example:{}/", public.port), b"{}".to_vec()).await.unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), public.heard.lock().unwrap().len()), (1, 1));
    // The second try sees the second answer, and goes nowhere.
    let why = sender.put(&format!("http://rebind.example:{port}/"), b"{}".to_vec()).await.unwrap_err();
    assert!(matches!(why, Undeliverable::Address(address) if address.is_loopback()), "{why}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let nobody = tokio::time::timeout(Duration::from_millis(100), secret.accept()).await;
    assert!(nobody.is_err(), "loopback was reached");
}

#[tokio::test]
async fn one_closed_address_closes_a_name() {
    let server = server(OPEN, "HTTP/1.1 200 OK\r\n\r\n").await;
    for (answer, says) in [
        (vec![OPEN, "10.0.0.1"], "10.0.0.1 is not public"),
        (vec!["::ffff:127.0.0.2"], "is not public"),
        (vec!["169.254.169.254"], "169.254.169.254 is not public"),
        (vec![], "has no address"),
    ] {
        let (resolve, _) = answering(vec![answer]);
        let url = format!("http://mixed.example:{}/", server.port);
        let why = sender(resolve).put(&url, b"{}".to_vec()).await.unwrap_err().to_string();
        assert!(why.contains(says), "{says}: {why}");
    }
    assert_eq!(server.heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn redirects_are_not_followed_and_refusals_count_as_failures() {
    for (answer, says) in [
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", "redirects are not followed"),
        ("HTTP/1.1 500 Oh\r\n\r\n", "it answered 500"),
        ("nonsense\r\n\r\n", ""),
        ("", ""),
    ] {
        let server = server(OPEN, answer).await;
        let (resolve, asked) = answering(vec![vec![OPEN]]);
        let url = format!("http://judge.example:{}/", server.port);
        let why = sender(resolve).put(&url, b"{}".to_vec()).await.unwrap_err().to_string();
        assert!(why.contains(says), "{says}: {why}");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn an_endless_answer_is_not_read() {
    let listener = TcpListener::bind((OPEN, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sending = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n").await.unwrap();
        while stream.write_all(&[b'x'; 65536]).await.is_ok() {}
    });
    let (resolve, _) = answering(vec![vec![OPEN]]);
    sender(resolve).put(&format!("http://judge.example:{port}/"), b"{}".to_vec()).await.unwrap();
    // The connection was closed, else this never ends.
    tokio::time::timeout(Duration::from_secs(5), sending).await.expect("still connected").unwrap();
}

#[tokio::test]
async fn over_tls_the_name_must_be_certified() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["judge.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((OPEN, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                converse(stream, "HTTP/1.1 200 OK\r\n\r\n").await;
            }
        }
    });
    let put = async |roots: RootCertStore, name: &str| {
        let (resolve, _) = answering(vec![vec![OPEN]]);
        CallbackSender::new(allowed(), resolve, roots)
            .put(&format!("https://{name}:{port}/"), b"{}".to_vec())
            .await
    };
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    put(roots.clone(), "judge.example").await.unwrap();
    let why = put(roots, "other.example").await.unwrap_err().to_string();
    assert!(why.contains("certificate"), "{why}");
    let why = put(RootCertStore::empty(), "judge.example").await.unwrap_err().to_string();
    assert!(why.contains("certificate"), "{why}");
}
