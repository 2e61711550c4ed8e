//! Both ends of the transport at real brokers.

mod brokers;
mod tickets;
