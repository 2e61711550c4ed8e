//! The memory through which the kernel hands over samples, perf_event_open(2), "MMAP layout".

use super::kernel::check;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets in `struct perf_event_mmap_page` (include/uapi/linux/perf_event.h).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const PAGE: usize = 4096;

/// `_IO('$', 0)`, `_IO('$', 1)`, `_IO('$', 5)`: the argument of the latter is a descriptor.
const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
const PERF_EVENT_IOC_DISABLE: libc::c_ulong = 0x2401;
const PERF_EVENT_IOC_SET_OUTPUT: libc::c_ulong = 0x2405;

/// The samples of one event, and of those that write to the same place. The kernel never overwrites what was not read: it drops
/// newer ones and says how many.
#[derive(Debug)]
pub(crate) struct Ring {
    /// A page of positions, then `size` bytes of records.
    base: NonNull<u8>,
    size: usize,
}

impl Ring {
    /// Maps the records of an event: `size` bytes, a power of two of at least a page.
    pub(crate) fn map(event: &OwnedFd, size: usize) -> io::Result<Ring> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = event.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that is there.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), PAGE + size, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Ring { base, size })
    }

    /// Moves all that is there to the end of `to`.
    pub(crate) fn take(&mut self, to: &mut Vec<u8>) {
        // All that the kernel wrote before it moved the head is seen from here on; nobody else moves the tail.
        let head = self.position(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.position(DATA_TAIL).load(Ordering::Relaxed);
        for span in spans(self.size, tail, head) {
            // SAFETY: the span lies in the `size` bytes behind the first page, which stay mapped while this lives; the kernel writes
            // none of it before the tail is moved below.
            let records =
                unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(PAGE + span.start), span.len()) };
            to.extend_from_slice(records);
        }
        // The kernel may write there only after all was read.
        self.position(DATA_TAIL).store(head, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of the first page, which stays mapped while this lives; the kernel and we change it as a whole.
        unsafe { &*self.base.as_ptr().add(offset).cast::<AtomicU64>() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, of this length, and nothing borrowed from it outlives `take`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), PAGE + self.size) };
    }
}

/// Where in a ring of `size` bytes the bytes from `tail` to `head` lie, both counted from the beginning of time: in one piece,
/// or in two where they go over the end.
fn spans(size: usize, tail: u64, head: u64) -> [Range<usize>; 2] {
    let length = (head.wrapping_sub(tail) as usize).min(size);
    let from = (tail % size as u64) as usize;
    let first = length.min(size - from);
    [from..from + first, 0..length - first]
}

/// Switches an event, and all that inherited it, on or off.
pub(crate) fn switch(event: &OwnedFd, on: bool) -> io::Result<()> {
    let request = if on { PERF_EVENT_IOC_ENABLE } else { PERF_EVENT_IOC_DISABLE };
    // SAFETY: integers only.
    check(unsafe { libc::ioctl(event.as_raw_fd(), request, 0) }.into()).map(drop)
}

/// Has an event write its records to where another one of the same CPU does.
pub(crate) fn share_output(event: &OwnedFd, with: &OwnedFd) -> io::Result<()> {
    // SAFETY: integers only.
    check(unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, with.as_raw_fd()) }.into())
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_the_end_is_found_at_the_beginning() {
        for (tail, head, found) in [
            (0, 0, [0..0, 0..0]),
            (0, 40, [0..40, 0..0]),
            (24, 64, [24..64, 0..0]),
            (40, 80, [40..64, 0..16]),
            (64 * 7 + 60, 64 * 8 + 10, [60..64, 0..10]),
            (64, 128, [0..64, 0..0]),
            (10, 74, [10..64, 0..10]),
            // More than there is room for is nothing the kernel does; no byte beyond the ring is named.
            (0, 1000, [0..64, 0..0]),
            (u64::MAX - 3, 4, [60..64, 0..4]),
        ] {
            assert_eq!(spans(64, tail, head), found, "{tail} {head}");
        }
    }
}
