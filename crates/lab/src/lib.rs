//! Experiments on what makes time wander, and the disturbance they are made with.

pub mod bench;
pub mod index;
pub mod load;
pub mod probe;
