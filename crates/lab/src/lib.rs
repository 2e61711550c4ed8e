//! Experiments on what makes time vary.

pub mod bench;
pub mod consistency;
mod halves;
pub mod ladder;
pub mod link_order;
pub mod numa;
pub mod offcore;
pub mod perturb;
pub mod record;
