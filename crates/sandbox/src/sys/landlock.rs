//! File access rules, landlock(7). Programs are refused the calls (`seccomp`): only a control group would hold the rules they
//! make.

use super::mounts::call;
use super::owned;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// What a rule can allow, bits of `struct landlock_ruleset_attr` (linux/landlock.h).
pub(crate) mod access {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
    pub(crate) const IOCTL_DEV: u64 = 1 << 15;
    /// All, up to the sixth version.
    pub(crate) const ALL: u64 = (1 << 16) - 1;
    /// Reading and executing, of files and directories.
    pub(crate) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    /// What a rule for a single file may have.
    pub(crate) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
}

/// Abstract sockets and signals, from the sixth version on (Linux 6.12).
const SCOPES: u64 = 0b11;
const CREATE_RULESET_VERSION: usize = 1;
const RULE_PATH_BENEATH: usize = 1;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

/// Accesses that a kernel of this version knows, each with the version it came with.
fn known(version: usize) -> u64 {
    let later = [(2, 1 << 13), (3, access::TRUNCATE), (5, access::IOCTL_DEV)];
    later.into_iter().filter(|(since, _)| version < *since).fold(access::ALL, |all, (_, bit)| all & !bit)
}

/// Rules in the making: what none of them allows is denied.
#[derive(Debug)]
pub(crate) struct Rules {
    fd: OwnedFd,
    handled: u64,
}

impl Rules {
    /// The version of the kernel's Landlock.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn version() -> io::Result<usize> {
        // SAFETY: with this flag the kernel takes no pointer.
        unsafe { call(libc::SYS_landlock_create_ruleset, [0, 0, CREATE_RULESET_VERSION, 0, 0]) }
    }

    /// No rule yet, over all that this kernel can deny.
    pub(crate) fn new() -> io::Result<Rules> {
        let version = Rules::version()?;
        let handled = known(version);
        let scoped = if version >= 6 { SCOPES } else { 0 };
        // Kernels that know a shorter structure take this one, since what they do not know is zero.
        let attr = RulesetAttr { handled_access_fs: handled, handled_access_net: 0, scoped };
        let (at, size) = (&raw const attr as usize, size_of::<RulesetAttr>());
        // SAFETY: a live structure of that size.
        let fd = unsafe { call(libc::SYS_landlock_create_ruleset, [at, size, 0, 0, 0]) }?;
        Ok(Rules { fd: owned(fd as i32), handled })
    }

    /// Allows accesses to a file, or to all beneath a directory.
    pub(crate) fn allow(&self, beneath: BorrowedFd<'_>, allowed: u64) -> io::Result<()> {
        let attr = PathBeneathAttr { allowed_access: allowed & self.handled, parent_fd: beneath.as_raw_fd() };
        let (fd, at) = (self.fd.as_raw_fd() as usize, &raw const attr as usize);
        // SAFETY: a live structure of the kind that the second argument names.
        unsafe { call(libc::SYS_landlock_add_rule, [fd, RULE_PATH_BENEATH, at, 0, 0]) }.map(drop)
    }

    /// The descriptor that a process restricts itself with.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_version_knows_is_handled() {
        assert_eq!(known(1), (1 << 13) - 1);
        assert_eq!(known(4), (1 << 15) - 1);
        assert_eq!(known(5), access::ALL);
        assert_eq!(known(9), access::ALL);
    }
}
