//! Bytes from one held descriptor to another.

use rustix::fd::BorrowedFd;
use std::io;

/// Copies a regular file from its start, without moving the position its owner may share.
pub(super) fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let mut at = 0u64;
    loop {
        match rustix::fs::sendfile(to, from, Some(&mut at), 1 << 30) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
