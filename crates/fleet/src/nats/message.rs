//! Requests of workers to the servers of a fleet, and their replies. Any server answers a request. A worker may repeat one that
//! got no reply: all requests are idempotent.

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
        /// Its result.
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
    /// It is still judging the task. Answered by [`Reply::Heard`] or [`Reply::Cancel`].
    Keep {
        /// Which.
        lease: Lease,
    },
    /// It waits for a calm machine, as [`crate::FromWorker::Waits`]. Answered by [`Reply::Heard`], or by [`Reply::Cancel`] if others
    /// go first.
    Waits {
        /// Which task.
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
    /// The task is done. Answered by [`Reply::Heard`] when its outcome is stored or no longer needed.
    Done {
        /// Which.
        lease: Lease,
        /// Its [`Outcome`].
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
    /// What keeps it from working, such as a full disk; empty: nothing.
    pub troubles: Vec<String>,
    /// This process has begun no task yet: what a worker of its name had begun ended with that one.
    #[serde(default)]
    pub fresh: bool,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The standing of its node.
    Standing(Standing),
    /// This worker cannot be used: another version, another service.
    Refused {
        /// Why, with the remedy.
        why: String,
    },
    /// It is stored, or no longer needed.
    Heard,
    /// It may begin.
    Begun {
        /// The [`Task`].
        task: Body<Task>,
        /// The submission that its events belong to.
        submission: i64,
    },
    /// It may not begin.
    NotBegun(NotBegun),
    /// The worker must abandon the task.
    Cancel,
    /// The package.
    Package {
        /// Whether it is in the object store now; false: the service no longer has it.
        there: bool,
    },
    /// The limit in force.
    TimeLimit {
        /// The limit.
        limit: TimeLimit,
    },
    /// The service cannot answer now, for example because its database is unreachable: repeat the request.
    Unavailable {
        /// Why.
        why: String,
    },
}

/// Whether a node gets work.
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
    /// It gets no work until something changes.
    Waits {
        /// Why, in words: not admitted, drained, suspected.
        reasons: Vec<String>,
    },
}

/// Why a worker may not begin the job of a ticket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "not", rename_all = "snake_case")]
pub enum NotBegun {
    /// The job is judged, cancelled or has another ticket: discard this one.
    Over,
    /// Another node must do it, or seems to have it: put the ticket back for this long.
    Later {
        /// Milliseconds.
        millis: u32,
    },
    /// This node gets no work now: put the ticket back at once.
    Stopped {
        /// Why.
        reasons: Vec<String>,
    },
}

/// A value that may be too large for a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body<T> {
    /// In the message.
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
    /// When this process started, by its own clock.
    pub since: Timestamp,
    /// The submission it judges.
    pub judging: Option<i64>,
    /// Tasks it has finished since its start.
    pub finished: u64,
}

/// News for all servers, for those who watch a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// By a worker: something happened in a task.
    Event(Box<Event>),
    /// By another server, in the server's own form.
    Live(serde_json::Value),
}
