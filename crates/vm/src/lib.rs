//! Slots that are virtual machines: whatever breaks out of the sandbox breaks into a kernel that is thrown away.
//!
//! # Theory of operation
//!
//! The border is the engine's [`engine::Runner`]: [`Machine`] is one more of them. The host judges; the guest only runs programs. So
//! answers, validators and verdicts never enter a machine, and all that comes out of it is bytes that a program wrote and the
//! observation of a run.
//!
//! 1. **Host** ([`Machine`], in the process that judges): puts files, runs and fetches by messages over one stream, the *port*
//!    ([`frame`], [`Request`](message), [`Response`](message)). It believes nothing: frames are bounded, data are counted against windows and
//!    limits, an observation must be possible in the time that passed here, and whoever is silent for too long is dead. A machine that breaks a rule
//!    is ended, and what was in hand ends as a fault of the system, never as a verdict.
//! 2. **Keeper** ([`KEEPER`]): this binary again, with one thread. It gives up root, makes the image of the guest's file system in memory,
//!    starts QEMU, binds its threads to CPUs, and ends it when the host's end of the port closes, however that came about.
//! 3. **QEMU**: no network, no disk, a filter of system calls; directories of toolchains are shown to the guest read-only.
//! 4. **Guest** ([`GUEST`]): this binary as the first process of Debian's kernel. It lays the same directories under the same names, starts the
//!    ordinary launcher of the sandbox, and hands every request on to it.
//!
//! A machine lives for one submission: when its last box is gone and something ran in it, the next box is made in a fresh one, which was
//! booted meanwhile.

pub mod cpio;
pub mod frame;
mod guest;
mod host;
mod message;
mod parts;
mod port;
mod shares;

pub use guest::guest_main;
pub use host::{KEEPER, KEPT, Machine, Settings, expected, keeper_main, qemu_main};
pub use message::check as check_told;
pub use model::Accelerator;
pub use parts::{Parts, find};
pub use shares::Shares;

/// The name under which the binary is the first process of a guest.
pub const GUEST: &str = "/tauto-guest";
/// The name under which it becomes QEMU.
pub const QEMU: &str = "tauto-vm-qemu";
