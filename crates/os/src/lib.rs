//! System calls that need care wherever they are made: opening a path beneath a directory, and repeating a call that the
//! kernel refuses only for a moment.

pub mod beneath;
pub mod moment;
