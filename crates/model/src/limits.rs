//! What a run may use. `None` means: not limited (beyond what the sandbox itself bounds).

use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A bound on elapsed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WallLimit {
    /// The bound itself.
    pub time: Nanos,
    /// Time in which the run was ready but had no CPU does not count (at most nine times `time`), so that
    /// a busy machine never turns into a verdict. A wall limit that the user typed does not excuse it.
    pub excuse_waiting: bool,
}

impl WallLimit {
    /// How often its time may be excused for want of a CPU.
    pub const EXCUSED_AT_MOST: u32 = 9;
}

/// The limits of one run, each for the whole process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPU time: user plus system time.
    pub cpu: Option<Nanos>,
    /// Instructions, under clocks that count them.
    pub instructions: Option<u64>,
    /// Time on the reference machine, under that clock.
    pub reference: Option<Nanos>,
    /// Wall time. Never scored; it ends programs that sleep.
    pub wall: Option<WallLimit>,
    /// Memory including page tables, kernel buffers and in-memory files; swap is off.
    pub memory: Option<Bytes>,
    /// Stack of the main thread; `None` follows `memory`.
    pub stack: Option<Bytes>,
    /// Standard output plus standard error plus files.
    pub output: Option<Bytes>,
    /// Processes and threads at one time.
    pub processes: Option<u32>,
    /// Open file descriptors of each process.
    pub open_files: Option<u32>,
}
