//! The transport over NATS JetStream: names, messages, and both of its ends. It has no database and decides nothing.
//!
//! The queue is in the store. JetStream holds tickets: a job and an attempt. A worker takes a ticket from its pool's consumer and
//! requests the task from a server. It keeps both alive while it judges, and acknowledges the ticket once a server has stored the
//! outcome.

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
