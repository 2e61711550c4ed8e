//! A real worker at real brokers, before a service that is played.

#[path = "../../../fleet/tests/nats/brokers.rs"]
#[allow(dead_code)] // What the transport's own tests need more.
mod brokers;
mod fake_service;
mod machine;
mod socket;
mod tasks;
