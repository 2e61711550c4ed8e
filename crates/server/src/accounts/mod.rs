//! Who is asking, and what they may do.

mod caller;

pub(crate) use caller::{Caller, Right};
