//! The log of processes that stay: lines on standard error.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogForm {
    /// Lines of text.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogForm {
    /// As it is typed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            LogForm::Text => "text",
            LogForm::Json => "json",
        }
    }
}

/// Begins it, once in a process. `TAUTO_LOG` says what is told, such as `warn` or `server=debug`.
pub(crate) fn begin(form: LogForm) {
    let filter =
        EnvFilter::try_from_env("TAUTO_LOG").unwrap_or_else(|_| EnvFilter::new("info,async_nats=warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    match form {
        LogForm::Text => log.init(),
        LogForm::Json => log.json().init(),
    }
}
