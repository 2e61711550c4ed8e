//! The judgehost's side of DOMjudge's protocol, as its versions 8.3 and 9.0 and its main branch speak it: what a server hands out
//! ([`task`], [`files`]), what it is told ([`report`]), what is remembered of that across any end of this process ([`journal`]), and the
//! requests themselves ([`server`]). Nothing here runs a program.

pub mod credentials;
pub mod files;
pub mod journal;
pub mod report;
pub mod server;
pub mod task;
