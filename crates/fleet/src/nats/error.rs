//! What goes wrong between this program and the brokers, in words with the remedy. No password is ever part of them.

use async_nats::{ConnectError, ConnectErrorKind};
use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

/// Why something could not be done over NATS.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// An option cannot be used.
    #[error("{name}: {why}")]
    Option {
        /// Which.
        name: String,
        /// Why, with the remedy.
        why: String,
    },
    /// The brokers do not know who we say we are.
    #[error(
        "NATS at {at} refuses the credentials\n\
         hint: check user and password in TAUTO_NATS, or the file of --nats-creds, and the brokers' `authorization`"
    )]
    Credentials {
        /// The brokers.
        at: String,
    },
    /// No encrypted connection can be made.
    #[error(
        "NATS at {at}: TLS: {why}\nhint: check --nats-ca, --nats-cert and --nats-key, and the brokers' `tls`"
    )]
    Tls {
        /// The brokers.
        at: String,
        /// Why.
        why: String,
    },
    /// No broker can be reached.
    #[error(
        "NATS at {at} cannot be reached: {why}\n\
         hint: start the brokers, or correct the address in --nats or TAUTO_NATS"
    )]
    Unreachable {
        /// The brokers.
        at: String,
        /// Why.
        why: String,
    },
    /// The brokers are there, JetStream is not.
    #[error(
        "NATS at {at} has no JetStream\n\
         hint: give the brokers `jetstream {{ store_dir: … }}`, and the account `jetstream: enabled`"
    )]
    NoJetStream {
        /// The brokers.
        at: String,
    },
    /// What lies in the cluster is another service's.
    #[error(
        "the cluster belongs to another service: it says {found}, the database of this one says {own}\n\
         hint: give this service brokers or an account of its own"
    )]
    WrongCluster {
        /// The service's UUID in the cluster.
        found: String,
        /// This one's.
        own: String,
    },
    /// The credentials do not suffice.
    #[error("NATS does not permit this: {0}\nhint: grant the permissions of SECURITY.md")]
    Denied(String),
    /// Nobody listens for questions.
    #[error(
        "no service answers at this cluster\n\
         hint: start `tauto serve --nats URL` at the same brokers and in the same account"
    )]
    NoService,
    /// No answer came.
    #[error("no answer within {} s{}", within.as_secs(), if *away { ": the brokers are away" } else { "" })]
    Silent {
        /// How long it was waited for.
        within: Duration,
        /// Whether there is no connection to a broker.
        away: bool,
    },
    /// It is not stored, or not any more.
    #[error("{what} is not in {bucket}")]
    Missing {
        /// Its name.
        what: String,
        /// Where it should be.
        bucket: &'static str,
    },
    /// It is not what was stored.
    #[error("{what} in {bucket} is damaged: {why}")]
    Damaged {
        /// Its name.
        what: String,
        /// Where it is.
        bucket: &'static str,
        /// How that was noticed.
        why: String,
    },
    /// The one who is to take or give the content here cannot.
    #[error("{0}")]
    Local(std::io::Error),
    /// Anything else; it may go better later.
    #[error("NATS: {what}: {why}")]
    Failed {
        /// What was to be done.
        what: String,
        /// Why it was not.
        why: String,
    },
}

impl NatsError {
    /// Whether trying again is of no use until somebody has changed something.
    pub fn is_lasting(&self) -> bool {
        use NatsError::*;
        matches!(
            self,
            Option { .. }
                | Credentials { .. }
                | Tls { .. }
                | NoJetStream { .. }
                | WrongCluster { .. }
                | Denied(_)
        )
    }

    pub(super) fn failed(what: impl Into<String>) -> impl FnOnce(Failure) -> NatsError {
        |Failure(why)| NatsError::Failed { what: what.into(), why }
    }

    pub(super) fn connecting(at: &str, error: &ConnectError) -> NatsError {
        let (at, why) = (at.to_string(), chain(error));
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                NatsError::Credentials { at }
            }
            ConnectErrorKind::Tls => NatsError::Tls { at, why },
            _ if of_tls(error) => NatsError::Tls { at, why },
            _ => NatsError::Unreachable { at, why },
        }
    }
}

/// An error of the client library, as text.
pub(super) struct Failure(pub(super) String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// A certificate that is not trusted comes as a failed read.
fn of_tls(error: &ConnectError) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = next {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::InvalidData) {
            return true;
        }
        next = error.source();
    }
    false
}

fn chain(error: &ConnectError) -> String {
    error.to_string()
}
