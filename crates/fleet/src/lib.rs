//! Distributing work to judge nodes: tasks, outcomes, and their transport between a service and its workers.
//!
//! A worker connects, identifies itself ([`Hello`]) and requests work. Each connection serves one slot and one task at a time.
//! The worker forwards the events of its task. The service stores the outcome before it confirms it; without a confirmation the
//! worker keeps the outcome and reports it again after it reconnects. So a connection may break at any time on either side.
//! Workers have no database and decide nothing about leases; the service runs no programs.

mod admission;
mod comparison;
mod cross_check;
#[cfg(test)]
mod frozen;
mod health;
mod message;
pub mod nats;
mod policy;
mod pool;
#[cfg(test)]
mod samples;
mod statement;
mod task;
mod wire;
mod worker_state;

pub use admission::{Admission, RECHECK_DAYS, Reason, admit, rechecks};
pub use comparison::{Point, compare};
pub use cross_check::{
    Agreed, CheckReason, CheckedJob, CrossPolicy, Disagreement, Next, NodeAnswer, drawn, next, noise,
};
pub use health::{Chart, ChartState, Condition, Finding, Health, HealthPolicy, Probe, Rates};
pub use message::{FromWorker, Hello, OLDEST, PROTOCOL, SPOKEN, SlotFacts, ToWorker, agreed, says};
pub use model::{JobId, Lease, Timestamp};
pub use policy::{Contest, Destination, Stage, Strictness};
pub use pool::{Definition, MEMORY_TOLERANCE, Norm, Pool, PoolError, PoolKind, is_name};
pub use statement::{
    Feature, STATEMENT_FORM, STATEMENTS, StatedIndex, StatedPart, Statement, StatementError,
};
pub use task::{Mode, Opinions, Outcome, Task, TimeLimit, Work};
pub use wire::{FRAME_LIMIT, Frame, WireError, encode, encode_bytes, header, read_frame, write_frame};
pub use worker_state::{Step, WorkerState};
