//! Counting, exactly and without locks, and ending the run at its limit.

use crate::tally::{self, End, head, line};
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Threads of one process that can be told apart by QEMU's number for them.
pub(super) const THREADS: usize = 4096;
/// What a thread is given of the limit at a time, as a part of the limit: so close is the end met, whatever the number of
/// threads.
const PART: u64 = 20_000;
/// But no less than this, so that short limits are not asked about at each block.
const LEAST: u64 = 500;

/// A thread's line.
pub(super) type Line = [AtomicU64; 4];

/// The mapping, and which line of it each thread of this process has.
pub(super) struct Counter {
    words: *const AtomicU64,
    lines: [AtomicPtr<AtomicU64>; THREADS],
}

// SAFETY: the mapping is only ever used as atomic words.
unsafe impl Send for Counter {}
// SAFETY: likewise.
unsafe impl Sync for Counter {}

impl Counter {
    /// Maps what the descriptor refers to; `None` where that is no tally.
    pub(super) fn map(fd: c_int) -> Option<Counter> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of which nobody else knows.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), tally::SIZE, access, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        let lines = [const { AtomicPtr::new(std::ptr::null_mut()) }; THREADS];
        let counter = Counter { words: at.cast(), lines };
        // A process that was forked has the lines of its parent until it takes its own.
        // SAFETY: the function is there for the life of the process.
        let told = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        (told == 0 && tally::is_ours(counter.word(head::MAGIC).load(Ordering::Relaxed))).then_some(counter)
    }

    fn word(&self, n: usize) -> &AtomicU64 {
        debug_assert!(n < tally::SIZE / 8);
        // SAFETY: within the mapping, which is never unmapped.
        unsafe { &*self.words.add(n) }
    }

    /// Adds to the count of a thread. Hot: one addition and one comparison where all is well.
    #[inline]
    pub(super) fn add(&self, thread: usize, n: u64) {
        let line = self.line(thread);
        // Nobody else writes to it.
        let count = line[line::COUNT].load(Ordering::Relaxed) + n;
        line[line::COUNT].store(count, Ordering::Relaxed);
        if count > line[line::ALLOWED].load(Ordering::Relaxed) {
            self.ask(line, count);
        }
    }

    #[inline]
    pub(super) fn line(&self, thread: usize) -> &Line {
        let Some(place) = self.lines.get(thread) else { self.end(End::Threads) };
        let mut at = place.load(Ordering::Relaxed);
        if at.is_null() {
            at = self.take();
            place.store(at, Ordering::Relaxed);
        }
        // SAFETY: it points to a line of the mapping.
        unsafe { &*at.cast() }
    }

    /// Takes a line that is nobody's: the one that was given back longest ago, since its last owner may be about to end
    /// and not have ended.
    #[cold]
    fn take(&self) -> *mut AtomicU64 {
        for _ in 0..tally::LINES {
            let n = self.word(head::NEXT).fetch_add(1, Ordering::Relaxed) as usize % tally::LINES;
            let taken = self.word(tally::line_at(n) + line::TAKEN);
            if taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return std::ptr::from_ref(self.word(tally::line_at(n))).cast_mut();
            }
        }
        self.end(End::Threads)
    }

    /// Leaves the lines of this process to others, which add to what stands there. Not when a thread ends: QEMU tells that
    /// when its number may be another's already.
    pub(super) fn give_back(&self) {
        for place in &self.lines {
            let at = place.swap(std::ptr::null_mut(), Ordering::Relaxed);
            if !at.is_null() {
                // SAFETY: as in `line`.
                let words: &Line = unsafe { &*at.cast() };
                words[line::TAKEN].store(0, Ordering::Release);
            }
        }
    }

    /// A thread has used up what it was given.
    #[cold]
    pub(super) fn ask(&self, words: &Line, count: u64) {
        let limit = self.word(head::LIMIT).load(Ordering::Relaxed);
        if limit == u64::MAX {
            words[line::ALLOWED].store(u64::MAX, Ordering::Relaxed);
            return;
        }
        let part = (limit / PART).max(LEAST);
        let given = self.word(head::GIVEN).fetch_add(part, Ordering::Relaxed);
        if given.saturating_add(part) <= limit {
            words[line::ALLOWED].fetch_add(part, Ordering::Relaxed);
            return;
        }
        // All is given out, though others may never use what they have: what counts is what was counted.
        let total = self.total();
        if total > limit {
            self.end(End::Limit);
        }
        let step = part.min(limit - total);
        words[line::ALLOWED].store(count + step, Ordering::Relaxed);
    }

    fn total(&self) -> u64 {
        let running =
            (0..tally::LINES).map(|n| self.word(tally::line_at(n) + line::COUNT).load(Ordering::Relaxed));
        running.fold(0, u64::saturating_add)
    }

    /// Ends the run: all processes that this one may end, and itself. The first reason stands.
    pub(super) fn end(&self, why: End) -> ! {
        let end = self.word(head::END);
        let _ = end.compare_exchange(0, why as u64, Ordering::Relaxed, Ordering::Relaxed);
        // SAFETY: no memory is concerned.
        unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::_exit(137)
        }
    }
}

extern "C" fn forked() {
    if let Some(counter) = super::COUNTER.get() {
        counter.lines.iter().for_each(|line| line.store(std::ptr::null_mut(), Ordering::Relaxed));
        super::timed::forked();
    }
}
