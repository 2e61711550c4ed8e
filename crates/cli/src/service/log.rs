//! The log of processes that stay: lines on standard error.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

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
        LogForm::Text => log.fmt_fields(debug_fn(on_one_line).delimited(" ")).init(),
        LogForm::Json => log.json().init(),
    }
}

/// A field as usual, with errors and their hints on the event's line: whoever reads a log searches it by lines.
fn on_one_line(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    // A text is quoted and its line end escaped; an error shown by `%` is not.
    let value = format!("{value:?}").replace("\\nhint: ", "; ");
    let value = model::hint::in_one_line(&value);
    match field.name() {
        "message" => write!(to, "{value}"),
        name => write!(to, "{}={value}", name.trim_start_matches("r#")),
    }
}
