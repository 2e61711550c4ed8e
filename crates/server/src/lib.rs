//! The service: HTTP in front, judge nodes behind, a store between them.
//!
//! Nothing here runs a program or needs a privilege. A submission is taken in ([`submit`]), stored, handed to a worker
//! ([`work`]) as soon as one is free, and what comes of it is stored before anybody hears of it. Who watches is told on the way
//! ([`live`]). The faces (native API, Judge0, Piston, pages) translate between HTTP and these few functions.

mod accounts;
mod api;
mod connections;
mod errors;
mod guard;
mod headers;
#[cfg(test)]
mod kit;
mod limits;
mod languages;
mod live;
mod metrics;
mod moment;
mod pages;
mod problems;
mod rejudge;
mod secret;
mod service;
mod statement;
mod submit;
mod upkeep;
mod view;
mod waiting;
mod work;

pub use accounts::Access;
pub use limits::{Limits, Rate};
/// The OpenAPI document of the native API.
pub use api::openapi;
pub use service::{Listeners, Settings, Startup, open};
pub use waiting::open_when_possible;

/// How an operation of the service fails before a face has put it into its own form.
pub use errors::Refusal;
