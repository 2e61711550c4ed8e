//! Calls that only the launcher may make: the filter that it and its children live under lets them through by a secret.

use super::raw;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Makes a call with the launcher's secret in the sixth argument, which none of these calls uses.
///
/// # Safety
/// The first five arguments must be valid for this system call.
pub(super) unsafe fn call(nr: i64, args: [usize; 5]) -> io::Result<usize> {
    let [a, b, c, d, e] = args;
    // SAFETY: the caller vouches for the arguments; the sixth register is ignored by the kernel.
    let ret = unsafe { raw::syscall(nr, &[a, b, c, d, e, super::secret()]) };
    if ret < 0 { Err(io::Error::from_raw_os_error(-ret as i32)) } else { Ok(ret as usize) }
}

fn text(s: &CStr) -> usize {
    s.as_ptr() as usize
}

fn number(fd: BorrowedFd<'_>) -> usize {
    fd.as_raw_fd() as usize
}

fn c(s: &str) -> io::Result<CString> {
    CString::new(s).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a path with a zero byte"))
}

fn mount(source: &str, at: &str, kind: &str, flags: libc::c_ulong, options: &str) -> io::Result<()> {
    let (source, at, kind, options) = (c(source)?, c(at)?, c(kind)?, c(options)?);
    // SAFETY: live C strings.
    unsafe { call(libc::SYS_mount, [text(&source), text(&at), text(&kind), flags as usize, text(&options)]) }
        .map(drop)
}

/// Mounts a fresh tmpfs, without set-uid programs and devices.
pub(crate) fn mount_tmpfs(at: &str, options: &str) -> io::Result<()> {
    mount("tmpfs", at, "tmpfs", libc::MS_NOSUID | libc::MS_NODEV, options)
}

/// Mounts a fresh tmpfs that device files may be attached to.
pub(crate) fn mount_tmpfs_for_devices(at: &str, options: &str) -> io::Result<()> {
    mount("tmpfs", at, "tmpfs", libc::MS_NOSUID, options)
}

/// Mounts the /proc of this process's pid namespace.
pub(crate) fn mount_proc(at: &str) -> io::Result<()> {
    mount("proc", at, "proc", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, "")
}

/// Shows a directory at a second place.
pub(crate) fn mount_bind(from: &str, at: &str) -> io::Result<()> {
    mount(from, at, "", libc::MS_BIND, "")
}

/// Makes a mount point read-only.
pub(crate) fn remount_readonly(at: &str) -> io::Result<()> {
    mount("", at, "", libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | libc::MS_NOSUID, "")
}

/// Lets a mount vanish from the tree, umount2(2) with MNT_DETACH.
pub(crate) fn detach(at: &str) -> io::Result<()> {
    let at = c(at)?;
    // SAFETY: a live C string.
    unsafe { call(libc::SYS_umount2, [text(&at), libc::MNT_DETACH as usize, 0, 0, 0]) }.map(drop)
}

/// Makes the current directory the root and covers it with the old one, pivot_root(2), "pivot_root(".", ".")".
pub(crate) fn pivot_here() -> io::Result<()> {
    // SAFETY: live C strings.
    unsafe { call(libc::SYS_pivot_root, [text(c"."), text(c"."), 0, 0, 0]) }.map(drop)
}

/// A detached copy of the mounts at `path` (empty: of `dir` itself) and below, open_tree(2).
pub(crate) fn clone_tree(dir: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let path = c(path)?;
    let flags = libc::OPEN_TREE_CLONE as usize
        | libc::OPEN_TREE_CLOEXEC as usize
        | libc::AT_RECURSIVE as usize
        | libc::AT_EMPTY_PATH as usize;
    // SAFETY: a live C string; the result is a new descriptor.
    unsafe {
        call(libc::SYS_open_tree, [number(dir), text(&path), flags, 0, 0])
            .map(|fd| OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Attaches a detached mount at a path that exists, move_mount(2).
pub(crate) fn attach_tree(tree: BorrowedFd<'_>, at: &str) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: usize = 4;
    let (at, cwd) = (c(at)?, libc::AT_FDCWD as usize);
    // SAFETY: live C strings.
    unsafe { call(libc::SYS_move_mount, [number(tree), text(c""), cwd, text(&at), MOVE_MOUNT_F_EMPTY_PATH]) }
        .map(drop)
}

/// What to change on a mount, mount_setattr(2).
#[derive(Clone, Copy, Default)]
pub(crate) struct MountAttr {
    pub(crate) set: u64,
    pub(crate) propagation: u64,
}

/// Applies attributes to the mount at `fd` and all mounts below it.
pub(crate) fn mount_setattr(fd: BorrowedFd<'_>, attr: MountAttr) -> io::Result<()> {
    let a = libc::mount_attr { attr_set: attr.set, attr_clr: 0, propagation: attr.propagation, userns_fd: 0 };
    let flags = (libc::AT_EMPTY_PATH | libc::AT_RECURSIVE) as usize;
    let size = size_of::<libc::mount_attr>();
    // SAFETY: an empty C string and a live structure of this size.
    unsafe { call(libc::SYS_mount_setattr, [number(fd), text(c""), flags, &raw const a as usize, size]) }
        .map(drop)
}

/// Moves this (single-threaded) process into the namespaces of `flags` that `fd` refers to.
pub(crate) fn setns(fd: BorrowedFd<'_>, flags: i32) -> io::Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(libc::SYS_setns, [number(fd), flags as usize, 0, 0, 0]) }.map(drop)
}

/// Gives this (single-threaded) process new namespaces.
pub(crate) fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: takes integers only. CLONE_FILES and CLONE_FS are not among the flags used here, so no other
    // code's assumption about shared descriptors changes.
    unsafe { call(libc::SYS_unshare, [flags as usize, 0, 0, 0, 0]) }.map(drop)
}
