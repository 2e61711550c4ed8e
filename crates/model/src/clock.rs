//! What a program's time is measured by.

use serde::{Deserialize, Serialize};

/// A clock. All but the first count what a program does and are equal on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// User and system time of the process tree, by the kernel.
    #[default]
    Cpu,
    /// Instructions in user space of the process tree; 1 000 000 000 make a second.
    Instructions,
    /// Time on the reference machine.
    Reference,
}

impl Clock {
    /// All, as users name them.
    pub const ALL: [Clock; 3] = [Clock::Cpu, Clock::Instructions, Clock::Reference];

    /// As users name it.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Cpu => "cpu",
            Clock::Instructions => "instructions",
            Clock::Reference => "reference",
        }
    }
}
