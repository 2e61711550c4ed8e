//! Experiments on what makes time wander, and the disturbance they are made with.

pub mod bench;
pub mod layout;
pub mod link_order;
pub mod load;
pub mod probe;
pub mod record;
pub mod rounds;
pub mod sensitivity;
