//! Who is let in, and who is not.

use crate::brokers::{Brokers, SERVICE, worker};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fleet::nats::{Ask, NatsError, Options, connect};
use fleet::{JobId, Lease};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use std::time::Duration;

async fn refused(options: Options) -> NatsError {
    connect(&options).await.map(|_| ()).expect_err("it is not let in")
}

#[tokio::test]
async fn wrong_credentials_are_told_without_the_password() {
    let lines = "authorization { user: tauto, password: right }";
    let Some(brokers) = Brokers::one(lines) else { return };
    brokers.connect_as("tauto:right@").await;
    for user in ["tauto:wrong@", "", "token@"] {
        let error = refused(Options { url: brokers.url(user), ..Options::default() }).await;
        assert!(matches!(error, NatsError::Credentials { .. }), "{error}");
        assert!(error.is_lasting());
        let text = error.to_string();
        assert!(text.contains("refuses the credentials") && !text.contains("wrong"), "{text}");
    }
}

#[tokio::test]
async fn where_nobody_listens_trying_again_may_help() {
    let Some(mut brokers) = Brokers::one("") else { return };
    let url = brokers.url("u:secret@");
    brokers.kill(0);
    let error = refused(Options { url, ..Options::default() }).await;
    assert!(matches!(error, NatsError::Unreachable { .. }), "{error}");
    assert!(!error.is_lasting() && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn another_service_s_cluster_is_left_alone() {
    let Some(brokers) = Brokers::one("") else { return };
    let nats = brokers.ready().await;
    nats.provision(SERVICE, None).await.expect("as often as servers start");
    let error = nats.provision("another", None).await.unwrap_err();
    let NatsError::WrongCluster { found, own } = &error else { panic!("{error}") };
    assert_eq!((found.as_str(), own.as_str()), (SERVICE, "another"));
    assert!(error.is_lasting() && error.to_string().contains("brokers or an account of its own"), "{error}");
}

#[tokio::test]
async fn brokers_without_jetstream_are_told() {
    // The last line of a configuration counts.
    let Some(brokers) = Brokers::one("jetstream: disabled") else { return };
    let nats = brokers.connect().await;
    let error = nats.provision(SERVICE, None).await.unwrap_err();
    assert!(matches!(error, NatsError::NoJetStream { .. }), "{error}");
}

#[tokio::test]
async fn what_is_not_permitted_is_told() {
    let lines = "authorization { users: [
        { user: server, password: s }
        { user: worker, password: w, permissions: { publish: [\"tauto.ask.metal.>\"], subscribe: [\"_INBOX.>\"] } }
    ] }";
    let Some(brokers) = Brokers::one(lines) else { return };
    let nats = brokers.connect_as("worker:w@").await;
    let within = Duration::from_secs(2);
    let ask = Ask::Keep { lease: Lease { job: JobId(1), attempt: 1 } };
    let error = nats.ask(&worker(1), &ask, within).await.unwrap_err();
    assert!(matches!(error, NatsError::NoService), "its own pool: {error}");
    let other = fleet::nats::WorkerId { pool: "other".into(), ..worker(1) };
    let error = nats.ask(&other, &ask, within).await.unwrap_err();
    assert!(matches!(error, NatsError::Denied(_)), "another pool: {error}");
    assert!(error.to_string().contains("tauto.ask.other"), "{error}");
}

#[tokio::test]
async fn options_that_cannot_be_used_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("nothing.pem");
    std::fs::write(&file, "nothing").unwrap();
    let missing = directory.path().join("missing");
    let base = || Options { url: "nats://localhost:1".into(), ..Options::default() };
    for (options, part) in [
        (Options { creds: Some(missing.clone()), ..base() }, "--nats-creds: "),
        (Options { creds: Some(file.clone()), ..base() }, "it is not a file of credentials"),
        (Options { ca: Some(file.clone()), ..base() }, "there is no PEM CERTIFICATE in it"),
        (Options { cert: Some(file.clone()), ..base() }, "give --nats-key as well"),
        (Options { key: Some(file.clone()), ..base() }, "give --nats-cert as well"),
        (Options { url: "http://localhost".into(), ..base() }, "`http` is not a way to NATS"),
    ] {
        let error = refused(options).await;
        assert!(error.is_lasting() && error.to_string().contains(part), "{part}: {error}");
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(der))
}

/// Writes a CA, and a certificate of it for a broker on this machine.
fn certificates(directory: &Path, name: &str) -> PathBuf {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()]).unwrap();
    let certificate = params.signed_by(&key, &ca).unwrap();
    let write = |what: &str, text: String| {
        let path = directory.join(format!("{name}-{what}.pem"));
        std::fs::write(&path, text).unwrap();
        path
    };
    write("cert", pem("CERTIFICATE", certificate.der()));
    write("key", pem("PRIVATE KEY", &key.serialize_der()));
    write("ca", pem("CERTIFICATE", ca.der()))
}

#[tokio::test]
async fn connections_are_encrypted_to_brokers_that_are_trusted() {
    let files = tempfile::tempdir().unwrap();
    let ca = certificates(files.path(), "ours");
    let other = certificates(files.path(), "other");
    let path = |name: &str| files.path().join(name);
    let lines = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {ca:?}, verify: true }}",
        path("ours-cert.pem"),
        path("ours-key.pem")
    );
    let Some(brokers) = Brokers::one(&lines) else { return };
    let with = |ca: &Path, cert: Option<&str>| Options {
        url: brokers.url("").replace("nats://", "tls://"),
        ca: Some(ca.to_path_buf()),
        cert: cert.map(|name| path(&format!("{name}-cert.pem"))),
        key: cert.map(|name| path(&format!("{name}-key.pem"))),
        ..Options::default()
    };
    let nats = connect(&with(&ca, Some("ours"))).await.expect("trusted on both sides");
    nats.provision(SERVICE, None).await.expect("it works");
    let error = refused(with(&other, Some("ours"))).await;
    assert!(matches!(error, NatsError::Tls { .. }) && error.is_lasting(), "{error}");
    assert!(error.to_string().contains("--nats-ca"), "{error}");
    // A broker that does not trust us ends the connection, sooner or later.
    let error = refused(with(&ca, Some("other"))).await;
    assert!(matches!(error, NatsError::Tls { .. } | NatsError::Unreachable { .. }), "{error}");
    let error = refused(Options { ca: None, cert: None, key: None, ..with(&ca, None) }).await;
    assert!(matches!(error, NatsError::Tls { .. }), "the system does not know this CA: {error}");
}
