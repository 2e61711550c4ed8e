//! The service: HTTP in front, judge nodes behind, a store between them.
//!
//! Nothing here runs a program or needs a privilege. A submission is taken in ([`submit`]), stored, handed to a worker
//! ([`work`]) as soon as one is free, and what comes of it is stored before anybody hears of it. Who watches is told on the way
//! ([`live`]). The faces (native API, Judge0, Piston, pages) translate between HTTP and these few functions.

#[cfg(test)]
mod access_table;
mod accounts;
mod api;
mod archive;
mod book;
mod callbacks;
mod connections;
mod errors;
mod execution;
mod faces;
mod fleet;
mod guard;
mod headers;
mod languages;
mod limits;
mod live;
pub mod manage;
mod metrics;
mod pages;
mod problems;
mod rejudge;
mod secret;
mod service;
mod statement;
mod submit;
#[cfg(test)]
mod test_service;
mod timestamp;
mod toolchains;
mod upkeep;
mod view;
mod waiting;
mod work;

/// The brokers of a fleet, and who the service is to them.
pub use ::fleet::nats::Options as NatsOptions;
pub use accounts::Access;
/// The OpenAPI document of the native API.
pub use api::openapi;
pub use callbacks::{Allowed as AllowedCallbacks, Network, NoNetwork};
pub use limits::{Limits, Rate};
pub use service::{Listeners, Settings, Startup, open};
pub use waiting::open_when_possible;
/// How many workers may fail at a job before it is set aside.
pub use work::ATTEMPTS;

/// How an operation of the service fails before a face has put it into its own form.
pub use errors::Refusal;
