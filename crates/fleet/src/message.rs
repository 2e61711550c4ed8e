//! Messages between worker and service over the socket.

use crate::{Lease, Outcome, StatementError, Task, TimeLimit};
use model::{Event, Forms, NodeFacts, NoiseFloor, Reading, Slot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these messages. A service and a worker speak the newest that both know.
pub const PROTOCOL: u32 = 2;
/// The oldest version that is still understood: usually the previous one, so that a fleet can be upgraded while it works.
pub const OLDEST: u32 = 2;
/// The versions that this program understands.
pub const SPOKEN: Forms = Forms { what: "the protocol of workers", oldest: OLDEST, newest: PROTOCOL };

/// The version that a service with the versions `here` and this worker use: the newest that both understand.
///
/// # Errors
/// They have no version in common; the error says which side to upgrade.
pub fn agreed(here: Forms, hello: &Hello) -> Result<u32, StatementError> {
    let (oldest, found) = (hello.oldest.unwrap_or(hello.protocol), hello.protocol);
    let newest = found.min(here.newest);
    let unlike = || StatementError::Protocol { oldest, found, version: hello.version.clone(), here };
    (newest >= oldest.max(here.oldest)).then_some(newest).ok_or_else(unlike)
}

/// The version of services that do not state one.
pub(crate) fn untold() -> u32 {
    2
}

/// Who a worker is: the first message of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the worker.
    pub protocol: u32,
    /// [`OLDEST`] of the worker; `None`: as `protocol`.
    #[serde(default)]
    pub oldest: Option<u32>,
    /// Version of its program.
    pub version: String,
    /// Name of the machine.
    pub node: String,
    /// The slot it serves.
    pub slot: SlotFacts,
    /// A task from before the connection broke that it still judges, or whose outcome it still has.
    pub holding: Option<Lease>,
    /// It can infer time limits ([`crate::Work::Infer`]); older workers do not state it.
    #[serde(default)]
    pub infers: bool,
}

/// A slot, for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotFacts {
    /// Its number on the machine.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// How it is kept from other work, and its memory nodes; unknown where there is no slot.
    #[serde(default = "model::not_told", deserialize_with = "model::told")]
    pub plan: Reading<Slot>,
    /// The noise floor in use there.
    #[serde(default = "model::not_told", deserialize_with = "model::told")]
    pub floor: Reading<NoiseFloor>,
}

/// A message from a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromWorker {
    /// Who it is.
    Hello(Box<Hello>),
    /// What is known of its machine. Sent after the greeting by one worker of a node, and when it changes.
    Node {
        /// Languages, slots, audit, index and the like.
        facts: Box<NodeFacts>,
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
    /// It waits for a calm machine during a task that may be postponed ([`Task::may_be_postponed`]). Repeated every few seconds while it
    /// waits. The service answers only if other jobs go first, with [`ToWorker::Cancel`].
    Waits {
        /// Which task.
        lease: Lease,
    },
    /// A worker of the version before found the time limit of the task's package, having begun it under a server before. Answered by
    /// [`ToWorker::TimeLimit`] or [`ToWorker::Cancel`].
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
        /// Its outcome.
        outcome: Outcome,
    },
}

/// A message from the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ToWorker {
    /// The greeting was understood.
    Welcome {
        /// The version that is spoken from here on.
        #[serde(default = "untold")]
        protocol: u32,
    },
    /// This worker cannot be used.
    Refused {
        /// Why.
        why: String,
    },
    /// Something to do. Only after [`FromWorker::Ready`].
    Task(Box<Task>),
    /// The requested package follows as frames of `bytes` bytes in all. The worker checks them against the hash.
    Package {
        /// Its hash.
        hash: String,
        /// Its size in bytes; `None`: the service no longer has it.
        bytes: Option<u64>,
    },
    /// The limit in force.
    TimeLimit {
        /// Which task.
        lease: Lease,
        /// The limit.
        limit: TimeLimit,
    },
    /// The outcome is stored, or no longer needed. The worker may forget it.
    Heard {
        /// Which.
        lease: Lease,
    },
    /// The worker must abandon the task.
    Cancel {
        /// Which.
        lease: Lease,
    },
}

/// Whether a message says all that another one says: fields may be added where nobody depends on them.
pub fn says(sent: &Value, frozen: &Value) -> bool {
    match (sent, frozen) {
        (Value::Object(sent), Value::Object(frozen)) => {
            frozen.iter().all(|(name, value)| sent.get(name).is_some_and(|sent| says(sent, value)))
        }
        (Value::Array(sent), Value::Array(frozen)) => {
            sent.len() >= frozen.len() && sent.iter().zip(frozen).all(|(sent, frozen)| says(sent, frozen))
        }
        // What was not known then may be told now, or why it is not.
        (sent, frozen) => frozen.is_null() || sent == frozen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::not_told;
    use serde_json::json;

    fn read(message: Value) -> FromWorker {
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn what_both_speak_is_spoken() {
        let spoken = |oldest, newest| Forms { oldest, newest, ..SPOKEN };
        let hello = |oldest, protocol| {
            let slot = json!({"id": 1, "cpus": []});
            let hello =
                json!({"protocol": protocol, "oldest": oldest, "version": "9", "node": "n", "slot": slot});
            serde_json::from_value::<Hello>(hello).unwrap()
        };
        let speak =
            |here, oldest, protocol| agreed(here, &hello(oldest, protocol)).map_err(|e| e.to_string());
        // The version after this one, with workers of each.
        let next = spoken(2, 3);
        assert_eq!(speak(next, Some(2), 3), Ok(3));
        assert_eq!(speak(next, None, 2), Ok(2), "a worker of before, which tells one number");
        assert_eq!(
            speak(next, Some(1), 1).unwrap_err(),
            format!(
                "the node speaks protocol 1 (tauto 9), and tauto {} speaks 2 to 3 here\nhint: upgrade the node",
                env!("CARGO_PKG_VERSION")
            )
        );
        // This one, with workers after it.
        assert_eq!(speak(spoken(1, 2), Some(2), 3), Ok(2));
        let later = speak(spoken(1, 2), Some(3), 4).unwrap_err();
        assert!(
            later.starts_with("the node speaks protocol 3 to 4 (") && later.ends_with("the service"),
            "{later}"
        );
        assert!(SPOKEN.read(untold()).is_ok());
    }

    #[test]
    fn workers_of_other_versions_are_understood() {
        let told: Value = serde_json::from_str(include_str!("../../store/tests/forms/facts-1.json")).unwrap();
        let slot = &told["slots"]["slots"][0];
        let hello = |plan: &Value, floor: &Value| {
            let slot = json!({"id": 1, "cpus": [2], "plan": plan, "floor": floor, "colour": "blue"});
            let hello =
                json!({"say": "hello", "protocol": PROTOCOL, "version": "0", "node": "n", "slot": slot});
            let FromWorker::Hello(hello) = read(hello) else { panic!("no greeting") };
            hello.slot
        };
        let known = hello(slot, &slot["noise_floor"]);
        assert_eq!(serde_json::to_value(&known.floor).unwrap(), slot["noise_floor"]);
        assert_eq!(known.plan.known().map(|plan| plan.cpus.clone()), Some(vec![1]));
        let bare = hello(&Value::Null, &json!({"compute": 7}));
        assert_eq!((bare.plan, bare.floor.known()), (not_told(), None));
        let FromWorker::Node { facts } = read(json!({"say": "node", "facts": told, "more": 1})) else {
            panic!("no facts")
        };
        assert_eq!(serde_json::to_value(facts).unwrap(), told);
    }
}
