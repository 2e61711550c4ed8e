//! Does a program work on its own node's memory? Looks at a running program, folded into what its threads and mappings did,
//! and what follows from that.

mod advice;
mod code;
pub mod counters;
mod fold;
mod snapshot;
mod touch;
mod verdict;

pub use code::named;
pub use fold::{Touched, Trace, Watched};
pub use snapshot::{
    Code, Mapping, Maps, Process, ProcessSnapshot, Thread, allocations, parse_maps, parse_thread, snapshot,
    tree,
};
pub use touch::{Counts, SYSTEM_CALL};
pub use verdict::{Facts, traced};
