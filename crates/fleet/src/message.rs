//! What worker and service say to each other.

use crate::{Lease, Outcome, Task, TimeLimit};
use model::Event;
use serde::{Deserialize, Serialize};

/// The version of these messages. A service and a worker of different versions do not work together.
pub const PROTOCOL: u32 = 2;

/// Who a worker is: the first message of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the worker.
    pub protocol: u32,
    /// Version of its program.
    pub version: String,
    /// Name of the machine.
    pub node: String,
    /// The slot it serves.
    pub slot: SlotFacts,
    /// A task whose outcome it still has or still works at, from before the connection broke.
    pub holding: Option<Lease>,
}

/// A slot, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotFacts {
    /// Its number on the machine.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// How it is kept from other work, and its memory nodes: `model::Slot` as JSON; null where there is no slot.
    pub plan: serde_json::Value,
    /// The noise floor in use there: `settle::Floor` as JSON.
    pub floor: serde_json::Value,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromWorker {
    /// Who it is.
    Hello(Hello),
    /// What is known of its machine. Sent after the greeting by one worker of a node, and when it changes.
    Node {
        /// Languages, audit, index, topology: by name, each as the command of that name prints it with `--json`.
        facts: serde_json::Value,
    },
    /// It is free.
    Ready,
    /// It needs a package that the task names.
    NeedPackage {
        /// Its hash.
        hash: String,
    },
    /// Something happened in the task.
    Event {
        /// Which.
        lease: Lease,
        /// What.
        event: Box<Event>,
    },
    /// It found the time limit of the task's package. Answered by [`ToWorker::TimeLimit`].
    TimeLimit {
        /// Which task.
        lease: Lease,
        /// The limit.
        found: TimeLimit,
    },
    /// The task is done.
    Done {
        /// Which.
        lease: Lease,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What the service says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ToWorker {
    /// The greeting was understood.
    Welcome,
    /// This worker cannot be used.
    Refused {
        /// Why.
        why: String,
    },
    /// Something to do. Only after [`FromWorker::Ready`].
    Task(Box<Task>),
    /// The package that was asked for follows as frames of bytes, so many in all. Checked by the worker against its hash.
    Package {
        /// Its hash.
        hash: String,
        /// Its size; `None`: the service has it no more.
        bytes: Option<u64>,
    },
    /// The limit in force: the one that was found first.
    TimeLimit {
        /// Which task.
        lease: Lease,
        /// The limit.
        limit: TimeLimit,
    },
    /// What came of the task is stored, or is wanted no more. The worker may forget it.
    Heard {
        /// Which.
        lease: Lease,
    },
    /// The task is to be left as it is.
    Cancel {
        /// Which.
        lease: Lease,
    },
}
