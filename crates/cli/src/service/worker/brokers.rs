//! The brokers of a fleet, as options.

use crate::terminal::Failure;
use clap::Args;
use fleet::nats::Options;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where a URL with a password is out of other users' sight.
const VARIABLE: &str = "TAUTO_NATS";

#[derive(Args, Debug)]
pub(super) struct BrokerArgs {
    /// Take jobs of a fleet from these NATS brokers: nats://HOST:PORT or tls://…, comma-separated. Use the variable
    /// TAUTO_NATS if the URL has a password
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// Pool to join (with --nats)
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Credentials file (.creds) for the brokers
    #[arg(long, value_name = "FILE")]
    nats_creds: Option<PathBuf>,
    /// PEM file with the trusted certificate authorities of the brokers [default: the system's]
    #[arg(long, value_name = "FILE")]
    nats_ca: Option<PathBuf>,
    /// PEM file with the client certificate for the brokers
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    nats_cert: Option<PathBuf>,
    /// PEM file with the key of the client certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    nats_key: Option<PathBuf>,
}

/// Brokers, and what we are to them.
pub(crate) struct Brokers {
    url: String,
    /// By option, and so seen by everybody anyway.
    typed: bool,
    pub(super) pool: String,
    creds: Option<PathBuf>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl BrokerArgs {
    /// The brokers that were typed; `None`: none were.
    pub(super) fn wanted(&self) -> Result<Option<Brokers>, Failure> {
        self.nats.clone().map(|url| self.with(url, true)).transpose()
    }

    /// Those of the environment.
    pub(super) fn of_environment(&self) -> Result<Option<Brokers>, Failure> {
        let url = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
        url.map(|url| self.with(url, false)).transpose()
    }

    fn with(&self, url: String, typed: bool) -> Result<Brokers, Failure> {
        let pool = self.pool.clone().ok_or_else(|| Failure::usage("--nats: no pool given\n\
                                                                   hint: give --pool NAME; `tauto pool list` on the \
                                                                   service lists them"))?;
        if !fleet::is_name(&pool) {
            let form = "the name of a pool has 1 to 32 of a-z, 0-9 and -";
            return Err(Failure::usage(format!("--pool `{pool}`: {form}")));
        }
        let (creds, ca) = (self.nats_creds.clone(), self.nats_ca.clone());
        let (cert, key) = (self.nats_cert.clone(), self.nats_key.clone());
        Ok(Brokers { url, typed, pool, creds, ca, cert, key })
    }
}

impl Brokers {
    /// How to connect to them, as `name`.
    pub(super) fn options(&self, name: String) -> Options {
        Options {
            url: self.url.clone(),
            creds: self.creds.clone(),
            ca: self.ca.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
            name,
            // What permissions of a pool's user are for; see SECURITY.md.
            inbox: Some(format!("_INBOX.pool_{}", self.pool)),
        }
    }

    /// Arguments for the processes of slots. A URL of the environment is theirs, too.
    pub(super) fn args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--pool".into(), self.pool.clone().into()];
        if self.typed {
            args.extend(["--nats".into(), self.url.clone().into()]);
        }
        let files = [
            ("--nats-creds", &self.creds),
            ("--nats-ca", &self.ca),
            ("--nats-cert", &self.cert),
            ("--nats-key", &self.key),
        ];
        for (name, file) in files {
            args.extend(file.iter().flat_map(|file| [name.into(), file.into()]));
        }
        args
    }
}
