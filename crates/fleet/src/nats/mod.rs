//! Work on NATS JetStream: names, messages, and both ends of the transport. No database here, and no decision.
//!
//! The queue is the store's. What lies in JetStream are tickets: a job and an attempt. A worker takes one from its pool's consumer,
//! begins by asking a server, keeps both alive while it judges, and acknowledges the ticket when a server has stored what came of it.

mod error;
mod message;
pub mod name;
mod objects;
mod options;
mod presence;
mod provision;
mod questions;
mod tickets;

pub use error::NatsError;
pub use message::{Ask, Body, Greeting, News, NotBegun, Presence, Reply, Standing, WorkerId};
pub use objects::PACKAGES_BYTES;
pub use options::{Nats, Options, connect};
pub use provision::{ACK_WAIT, PRESENCE_FOR, Times};
pub use questions::Question;
pub use tickets::{Ticket, Tickets};
