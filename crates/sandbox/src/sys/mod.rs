//! The system calls no safe wrapper covers. The only `unsafe` of the sandbox lives below this module.

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the sandbox knows the system call convention of x86_64 only");

mod child;
mod kernel;
mod raw;

pub(crate) use child::{ChildFailure, InitStack, Op, spawn_init, spawn_program};
pub(crate) use kernel::{
    Death, MountAttr, SockFprog, bounding_set_drop_all, eventfd, fork, hard_limit, make_undumpable,
    mount_setattr, owned, peek_death, process_cpu_time, reap, reset_signals, setns, unshare, wait_for,
};
