//! Does a program work on its own node's memory? Looks at a running program, folded into what its threads and mappings did,
//! and what follows from that.

pub mod counters;
mod fold;
mod look;
mod verdict;

pub use fold::{Trace, Watched};
pub use look::{Look, Mapping, Process, Thread, allocations, look, parse_mappings, parse_thread, tree};
pub use verdict::{Facts, traced};
