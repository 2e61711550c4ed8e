//! Both ends of the transport at real brokers.

mod away;
mod brokers;
mod cluster;
mod objects;
mod permissions;
mod presence;
mod questions;
mod tickets;
mod trust;
