//! The system calls no safe wrapper covers. The only `unsafe` of the sandbox lives below this module.

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the sandbox knows the system call convention of x86_64 only");

mod child;
mod inherited;
mod kernel;
mod landlock;
mod mounts;
mod pace;
mod perf;
mod perf_ring;
mod probe;
mod raw;
mod tied;

pub(crate) use child::{ChildFailure, InitStack, Op, spawn_init, spawn_program};
pub use inherited::stdout_was_closed;
pub(crate) use kernel::{
    Counts, Death, bounding_set_drop_all, draw_secret, eventfd, fork, install_filter, limits,
    make_undumpable, owned, peek_death, process_cpu_time, reap, reset_signals, secret, wait_for,
};
pub use kernel::{become_fifo, become_round_robin};
pub(crate) use landlock::{Rules, access};
pub(crate) use mounts::{
    MountAttr, attach_tree, clone_tree, detach, mount_bind, mount_proc, mount_setattr, mount_tmpfs,
    mount_tmpfs_for_devices, pivot_here, remount_readonly, setns, unshare,
};
pub use pace::{add, multiply, reaped_cpu_time};
pub(crate) use perf::{
    PerfEventAttr, PerfSampleAttr, perf_event_open, perf_event_open_of, perf_event_open_on,
    perf_event_open_on_cpu,
};
pub(crate) use perf_ring::{Ring, share_output, switch};
#[cfg(test)]
pub(crate) use probe::SLICES;
pub(crate) use probe::{Probed, probe_cpu, ticks_evenly};
pub use tied::tie;
