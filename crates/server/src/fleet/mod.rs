//! What makes many machines judge as one: who is admitted, on how many nodes a job is judged, findings against a node. The rules are
//! those of crate `fleet`, pure; here they meet what the store knows.

mod admission;
mod clocks;
mod health;
mod roster;
mod rounds;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use admission::{local_pool, refuse, standing, stopped};
pub(crate) use health::probed;
pub(crate) use roster::Fleet;
pub(crate) use rounds::{Concluded, after, concluded, open_rounds};
pub(crate) use watch::serve;

/// A node changes while it is looked at; it is looked at again so often.
const TRIES: u32 = 8;
