//! Certificates for a test's own brokers, made by `openssl`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where they lie, as PEM.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The certificate of who has signed the other.
    pub authority: PathBuf,
    /// The certificate of whoever has these addresses.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

fn openssl(words: &[&str], directory: &Path) -> Result<(), String> {
    let done = crate::child::command("openssl").args(words).current_dir(directory).output();
    let done = done.map_err(|error| format!("openssl: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(format!("openssl {}: {said}", words.join(" "))) }
}

/// Makes an authority and one certificate for all these names, as `subjectAltName` has them (`IP:10.0.0.1`, `DNS:host`), for a day.
///
/// # Errors
/// There is no `openssl`, or no room.
pub fn make(directory: &Path, names: &[String]) -> Result<Certificates, String> {
    let names = format!("subjectAltName={}\n", names.join(","));
    let extensions = directory.join("names");
    fs::write(&extensions, &names).map_err(|error| format!("{}: {error}", extensions.display()))?;
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let authority =
        ["req", "-x509", "-subj", "/CN=authority", "-days", "1", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(&[&authority[..], &key].concat(), directory)?;
    let request = ["req", "-subj", "/CN=broker", "-keyout", "broker.key", "-out", "broker.csr"];
    openssl(&[&request[..], &key].concat(), directory)?;
    let by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
    let signing = ["x509", "-req", "-in", "broker.csr", "-days", "1", "-out", "broker.pem"];
    openssl(&[&signing[..], &by].concat(), directory)?;
    Ok(Certificates {
        authority: directory.join("ca.pem"),
        certificate: directory.join("broker.pem"),
        key: directory.join("broker.key"),
    })
}
