//! Work on NATS JetStream: names, messages, and both ends of the transport. No database here, and no decision.
//!
//! The queue is the store's. What lies in JetStream are tickets: a job and an attempt. A worker takes one from its pool's consumer,
//! begins by asking a server, keeps both alive while it judges, and acknowledges the ticket when a server has stored what came of it.

mod message;
pub mod name;

pub use message::{Ask, Body, Greeting, News, NotBegun, Presence, Reply, Standing, WorkerId};
