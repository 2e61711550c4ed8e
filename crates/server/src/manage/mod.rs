//! Management of a fleet: pools, nodes and contests. These functions use the store alone, so that the command line
//! works without a running server; servers read the store again within a second or two.

mod contests;
mod nodes;
mod pools;
mod queue;
mod suspects;
#[cfg(test)]
mod tests;

pub use contests::{ContestView, contests, remove_contest, set_contest, show_contest};
pub use nodes::{
    EventView, FindingView, HealthView, NodeDetails, NodeView, RunningView, TakenView, TestView, details,
    drain, events, nodes, remove_node, return_node, show_node,
};
pub use pools::{MemberView, PoolView, accept, add_pool, pools, put_pool, remove_pool, show_pool};
pub use queue::{Done, LineView, Lines, PoolWork, queue};
pub use suspects::{SuspectView, Suspects, rejudge_suspects, suspects};

use crate::errors::Refusal;
use store::{Error, Store};

/// Attempts at a change while others change the same node.
const TRIES: u32 = 5;
/// Maximum size of a reason, in bytes.
const MOST_REASON: usize = 1000;

/// A reason as it is stored: one line of limited length.
fn reason(text: &str) -> Result<String, Refusal> {
    if text.len() > MOST_REASON {
        return Err(Refusal::Bad(format!("reason: at most {MOST_REASON} bytes")));
    }
    if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return Err(Refusal::Bad("reason: control characters are not allowed".into()));
    }
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An error for a missing object, with the names of the existing ones.
fn with_names(error: Error, what: &str, name: &str, names: &[String]) -> Refusal {
    match error {
        Error::NotFound(_) => {
            let there = match names {
                [] => format!("there is no {what} yet"),
                names => format!("the {what}s are: {}", names.join(", ")),
            };
            Refusal::NotFound(format!("{}\nhint: {there}", Refusal::missing(format_args!("{what} {name}"))))
        }
        error => error.into(),
    }
}

async fn pool_named(store: &Store, name: &str) -> Result<store::Pool, Refusal> {
    match store.pool(name).await {
        Ok(pool) => Ok(pool),
        Err(error) => {
            let names: Vec<String> = store.pools().await?.into_iter().map(|pool| pool.name).collect();
            Err(with_names(error, "pool", name, &names))
        }
    }
}

async fn node_named(store: &Store, name: &str) -> Result<store::Node, Refusal> {
    match store.node(name).await {
        Ok(node) => Ok(node),
        Err(error) => {
            let names: Vec<String> = store.nodes().await?.into_iter().map(|node| node.name).collect();
            Err(with_names(error, "node", name, &names))
        }
    }
}
