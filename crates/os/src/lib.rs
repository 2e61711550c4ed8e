//! System calls that need care wherever they are made: opening a path beneath a directory, repeating a call that the
//! kernel refuses only for a moment, and a file of lines that outlives its writer.

pub mod beneath;
pub mod journal;
pub mod retry;
