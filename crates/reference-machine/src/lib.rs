//! Clocks that count instead of measuring: the plugin that QEMU's user-mode emulator loads, and the memory it counts in.
//!
//! The emulator translates a program block by block; whenever a block is entered, the number of its instructions is added to
//! the count of the thread. The counts of all threads and processes of a run lie in one mapping that whoever started it
//! made and reads ([`tally`]).

pub mod machine;
mod plugin;
pub mod tally;
