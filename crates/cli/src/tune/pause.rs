//! Stopping in the middle of a change, so that a test can kill the process exactly there.

use host::tune::{Knobs, Target};
use rustix::process::{Signal, getpid, kill_process};
use std::io;

/// Passes everything on, and stops this process at the N-th half of a change.
pub(super) struct PauseAt {
    knobs: Box<dyn Knobs>,
    /// Halves still to come.
    left: u64,
}

impl PauseAt {
    pub(super) fn new(knobs: Box<dyn Knobs>, at: u64) -> PauseAt {
        PauseAt { knobs, left: at }
    }

    fn half(&mut self) {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            // Whoever asked for it kills or continues us.
            let _ = kill_process(getpid(), Signal::STOP);
        }
    }
}

impl Knobs for PauseAt {
    fn read(&self, target: &Target) -> io::Result<String> {
        self.knobs.read(target)
    }

    fn same(&self, target: &Target, read: &str, value: &str) -> bool {
        self.knobs.same(target, read, value)
    }

    fn write(&mut self, target: &Target, value: &str) -> io::Result<()> {
        self.half();
        let written = self.knobs.write(target, value);
        self.half();
        written
    }
}
