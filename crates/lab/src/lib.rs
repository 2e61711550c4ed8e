//! Experiments on what makes time vary, and the disturbance they are made with.

/// The name under which the binary ends at once: what starting a process costs, and nothing else.
pub const NOTHING: &str = "tauto-nothing";

pub mod bench;
pub mod consistency;
mod halves;
pub mod index;
pub mod ladder;
pub mod layout;
pub mod link_order;
pub mod load;
pub mod numa;
pub mod offcore;
pub mod perturb;
pub mod probe;
pub mod record;
pub mod rounds;
pub mod sensitivity;
