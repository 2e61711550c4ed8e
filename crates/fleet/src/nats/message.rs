//! What workers ask of the servers of a fleet, and what they are answered. Each question is answered by one server, whichever it is,
//! and may be asked again of another one when no answer came: all of them are such that asking twice does no harm.

use crate::{Hello, Lease, Outcome, Probe, Statement, Task, TimeLimit, Timestamp};
use model::{Event, NodeFacts};
use serde::{Deserialize, Serialize};

/// Who asks. Believed from the subject of the message and not from the message itself, since the broker's permissions bind a
/// worker's credentials to subjects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId {
    /// The pool it works for.
    pub pool: String,
    /// Its machine.
    pub node: String,
    /// The number of its slot.
    pub slot: u32,
}

impl WorkerId {
    /// Its name in jobs and logs. A job's pool stands beside it.
    pub fn worker(&self) -> String {
        format!("{}/{}", self.node, self.slot)
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Who it is. First, and every few seconds while it has nothing to do. Answered by [`Reply::Standing`] or [`Reply::Refused`].
    Hello(Box<Greeting>),
    /// What is known of its machine; by one worker of a node. Answered by [`Reply::Heard`].
    Node {
        /// As [`crate::FromWorker::Node`] has them.
        facts: Box<NodeFacts>,
    },
    /// Its index was probed between two tasks. Answered by [`Reply::Heard`].
    Probe {
        /// What came of it.
        probe: Probe,
    },
    /// It took a ticket and wants to begin. Answered by [`Reply::Begun`] or [`Reply::NotBegun`].
    Begin {
        /// The ticket.
        ticket: Lease,
        /// As [`Hello::infers`].
        #[serde(default)]
        infers: bool,
    },
    /// It is at the task. Answered by [`Reply::Heard`] or [`Reply::Cancel`].
    Keep {
        /// Which.
        lease: Lease,
    },
    /// It needs a package that its task names. Answered by [`Reply::Package`] when the object store has it.
    Package {
        /// Its hash.
        hash: String,
        /// What it got from the object store was not of this hash: it is to be put there again.
        damaged: bool,
    },
    /// A worker of the version before found the time limit of the task's package, as [`crate::FromWorker::TimeLimit`]. Answered by
    /// [`Reply::TimeLimit`] or [`Reply::Cancel`].
    TimeLimit {
        /// Which task.
        lease: Lease,
        /// The limit.
        found: TimeLimit,
    },
    /// The task is done. Answered by [`Reply::Heard`] when what came of it is stored or wanted no more.
    Done {
        /// Which.
        lease: Lease,
        /// What came of it: [`Outcome`].
        outcome: Body<Outcome>,
    },
}

/// Who a worker is and how it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Greeting {
    /// Who it is.
    pub hello: Hello,
    /// What its machine states of itself: by one worker of a node, at the start, when something changed, and now and then.
    pub statement: Option<Statement>,
    /// By its own clock.
    pub at: Timestamp,
    /// What keeps it from working, in words, such as a full disk; empty: nothing.
    pub troubles: Vec<String>,
    /// This process has begun no task yet: what a worker of its name had begun ended with that one.
    #[serde(default)]
    pub fresh: bool,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// How its node stands.
    Standing(Standing),
    /// This worker cannot be used: another version, another service.
    Refused {
        /// Why, with the remedy.
        why: String,
    },
    /// It is stored, or wanted no more.
    Heard,
    /// It may begin.
    Begun {
        /// What is to be done: [`Task`].
        task: Body<Task>,
        /// The submission, whose watchers are told of events.
        submission: i64,
    },
    /// It may not begin.
    NotBegun(NotBegun),
    /// The task is to be left as it is.
    Cancel,
    /// The package.
    Package {
        /// Whether it is in the object store now; false: the service has it no more.
        there: bool,
    },
    /// The limit in force.
    TimeLimit {
        /// The limit.
        limit: TimeLimit,
    },
    /// Not now, such as a database that cannot be reached: ask again.
    Unavailable {
        /// Why.
        why: String,
    },
}

/// How a node stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// It gets work.
    Works {
        /// Seconds from one probe of its index to the next; `None`: it is not to be probed.
        probe_every_secs: Option<u32>,
        /// The version that is spoken with it.
        #[serde(default = "crate::message::untold")]
        protocol: u32,
    },
    /// It gets none until something has changed.
    Waits {
        /// Why, in words: not admitted, drained, suspected.
        reasons: Vec<String>,
    },
}

/// Why a worker may not begin with what a ticket is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "not", rename_all = "snake_case")]
pub enum NotBegun {
    /// The job is judged, cancelled, or has another ticket by now: this one is to be thrown away.
    Over,
    /// Another node is to do it, or another one has it as far as is known: the ticket is to be put back for so long.
    Later {
        /// Milliseconds.
        millis: u32,
    },
    /// This node gets no work now: the ticket is to be put back at once.
    Stopped {
        /// Why.
        reasons: Vec<String>,
    },
}

/// What may be too large for a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body<T> {
    /// Here.
    Inline(Box<T>),
    /// As JSON in the object store for bodies.
    Stored {
        /// SHA-256 of the JSON, which is the object's name.
        hash: String,
    },
}

/// A worker that is there, as the bucket of workers has it for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Presence {
    /// Who it is.
    pub hello: Hello,
    /// Since when this process is there, by its own clock.
    pub since: Timestamp,
    /// The submission it is at.
    pub judging: Option<i64>,
    /// Tasks it has finished since then.
    pub finished: u64,
}

/// Something that is told to all servers, for whoever watches a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// By a worker: something happened in a task.
    Event(Box<Event>),
    /// By another server, in the server's own form.
    Live(serde_json::Value),
}
