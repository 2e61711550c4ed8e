//! Errors between this program and the brokers, with the remedy. They never contain a password.

use async_nats::{ConnectError, ConnectErrorKind};
use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

/// An error of an operation over NATS.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// An option is invalid.
    #[error("{name}: {why}")]
    Option {
        /// Which.
        name: String,
        /// Why, with the remedy.
        why: String,
    },
    /// The brokers reject our credentials.
    #[error(
        "NATS at {at} refuses the credentials\n\
         hint: check user and password in TAUTO_NATS, or the file of --nats-creds, and the brokers' `authorization`"
    )]
    Credentials {
        /// The brokers.
        at: String,
    },
    /// The encrypted connection fails.
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
    /// The brokers run without JetStream.
    #[error(
        "NATS at {at} has no JetStream\n\
         hint: give the brokers `jetstream {{ store_dir: … }}`, and the account `jetstream: enabled`"
    )]
    NoJetStream {
        /// The brokers.
        at: String,
    },
    /// The cluster belongs to another service.
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
    /// The credentials lack a permission.
    #[error("NATS does not permit this: {0}\nhint: grant the permissions of SECURITY.md")]
    Denied(String),
    /// No server answers requests.
    #[error(
        "no service answers at this cluster\n\
         hint: start `tauto serve --nats URL` at the same brokers and in the same account"
    )]
    NoService,
    /// No answer came in time.
    #[error("no answer within {} s{}", within.as_secs(), if *away { ": the brokers are away" } else { "" })]
    Silent {
        /// The time waited.
        within: Duration,
        /// Whether there is no connection to a broker.
        away: bool,
    },
    /// The object is not stored, or no longer.
    #[error("{what} is not in {bucket}")]
    Missing {
        /// Its name.
        what: String,
        /// Where it should be.
        bucket: &'static str,
    },
    /// The object is damaged.
    #[error("{what} in {bucket} is damaged: {why}")]
    Damaged {
        /// Its name.
        what: String,
        /// Where it is.
        bucket: &'static str,
        /// How that was noticed.
        why: String,
    },
    /// The content cannot be read or written on this machine.
    #[error("{0}")]
    Local(std::io::Error),
    /// Any other error; a later attempt may succeed.
    #[error("NATS: {what}: {why}")]
    Failed {
        /// The operation.
        what: String,
        /// Why it failed.
        why: String,
    },
}

impl NatsError {
    /// Whether a retry is useless until an operator changes something.
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
