//! The black-box suite: drives the binary `tauto` and looks at what it says and at what it leaves behind.
//!
//! The hostile programs lie in `programs/GROUP/NAME.{c,py,sh}`; the comment at the head of each says how it is run and
//! what must come of it ([`program`]). They are run as root and as an ordinary user ([`stage::Pass`]); after every run
//! the host must be as it was before ([`leftovers`]), and what was laid out on the host to be reached must not have
//! been ([`bait`]). Runs of this suite take place one at a time, so that whatever is left has one author.

pub mod bait;
pub mod brokers;
pub mod browser;
pub mod certificates;
pub mod chaos;
pub mod child;
pub mod compile;
pub mod condition;
pub mod dispatch;
pub mod domserver;
pub mod faces;
pub mod fleet;
pub mod http;
pub mod judge_node;
pub mod kernel_memory;
pub mod leftovers;
pub mod lost;
pub mod machine;
pub mod marks;
pub mod nats;
pub mod network;
pub mod npm;
pub mod package;
/// The PostgreSQL server that the tests of the store use.
#[path = "../../store/tests/common/cluster.rs"]
pub mod postgres;
pub mod primary;
pub mod program;
pub mod python;
pub mod queue;
pub mod service;
pub mod stage;
pub mod tauto;
pub mod traffic;
