//! Caches, their prefetchers, address translation and main memory, as one core sees them.

use super::mixer::Mixer;
use super::tags::Tags;
use super::{cycles, nanoseconds};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Beyond a load that the first cache has: the second has it.
const SECOND: u32 = cycles(10);
/// The third has it.
const THIRD: u32 = cycles(44);
/// Main memory has it.
const MAIN: u32 = nanoseconds(100);
/// Main memory gives a line of a stream each so often, for which its rows are open,
const BETWEEN_NEAR_LINES: u32 = nanoseconds(3);
/// and one anywhere each so often.
const BETWEEN_LINES: u32 = nanoseconds(5);
/// The third cache gives a line each so often.
const BETWEEN_THIRD: u32 = cycles(4);
/// A translation that the first-level buffer does not have but the second.
const SECOND_TRANSLATION: u32 = cycles(7);
/// Lines that may be asked for before issue waits.
const QUEUE: u32 = 32;
/// A page that the second-level translation buffer does not know.
const WALK: u32 = cycles(30);
/// The kernel's work for a page that is touched first.
const FAULT: u32 = nanoseconds(300);
/// The next line but so many is still a stream.
const NEAR: i64 = 2;
/// Farthest stride that is foreseen, in lines.
const FARTHEST: i64 = 32;

/// A run through memory that the prefetcher follows.
#[derive(Clone, Copy, Default)]
struct Stream {
    key: u64,
    last: i64,
    step: i64,
    sure: u8,
}

/// What an access beyond the first cache costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Miss {
    /// Its data is so many ticks later.
    pub(super) late: u32,
    /// Issue waits for so many ticks.
    pub(super) stall: u32,
}

/// The memory that a core sees.
pub(super) struct Memory {
    first: Tags<12>,
    second: Tags<16>,
    third: Tags<16>,
    near_translations: Tags<16>,
    translations: Tags<16>,
    pages: HashMap<u64, [u64; 8], BuildHasherDefault<Mixer>>,
    streams: [Stream; 64],
    strides: [Stream; 256],
    /// When the third cache and main memory can give the next line.
    third_free: u64,
    free: u64,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory {
            first: Tags::new(64),
            second: Tags::new(1024),
            third: Tags::new(32768),
            near_translations: Tags::new(4),
            translations: Tags::new(256),
            pages: HashMap::default(),
            streams: [Stream::default(); 64],
            strides: [Stream::default(); 256],
            third_free: 0,
            free: 0,
        }
    }

    /// Whether an access needs no further look: its line is the one of its set that was used last.
    #[inline]
    pub(super) fn is_hit(&self, address: u64) -> bool {
        self.first.is_latest(address >> 6)
    }

    /// An access at that time, by the access of the program that has this number; `None`: the first cache has it.
    pub(super) fn access(&mut self, address: u64, site: u32, now: u64) -> Option<Miss> {
        let line = address >> 6;
        if self.first.take(line) {
            return None;
        }
        let page = address >> 12;
        let mut miss = Miss::default();
        if !self.near_translations.take(page) {
            miss.late += SECOND_TRANSLATION;
            if !self.translations.take(page) {
                miss.late += WALK;
                miss.stall += self.touch(page);
            }
        }
        let foreseen = self.foreseen(line as i64, site);
        if self.second.take(line) {
            miss.late += SECOND;
            return Some(miss);
        }
        let own = if self.third.take(line) {
            miss.late += queue(&mut self.third_free, now, BETWEEN_THIRD, &mut miss.stall);
            THIRD
        } else {
            let between = if foreseen { BETWEEN_NEAR_LINES } else { BETWEEN_LINES };
            miss.late += queue(&mut self.free, now, between, &mut miss.stall);
            MAIN
        };
        miss.late += if foreseen { SECOND } else { own };
        Some(miss)
    }

    /// Ticks of the kernel for a page, if it is touched first.
    fn touch(&mut self, page: u64) -> u32 {
        let words = self.pages.entry(page >> 9).or_default();
        let word = &mut words[(page >> 6 & 7) as usize];
        let known = *word >> (page & 63) & 1 == 1;
        *word |= 1 << (page & 63);
        if known { 0 } else { FAULT }
    }

    /// Whether a prefetcher had asked for the line.
    fn foreseen(&mut self, line: i64, site: u32) -> bool {
        let page = (line >> 6) as u64;
        let by_line = self.stream(page, line);
        let stride = &mut self.strides[site as usize % 256];
        by_line | follow(stride, u64::from(site), line, FARTHEST)
    }

    fn stream(&mut self, page: u64, line: i64) -> bool {
        let at = (page % 64) as usize;
        if self.streams[at].key != page {
            // It goes on in the next page.
            let before = [page.wrapping_sub(1), page + 1].map(|near| self.streams[(near % 64) as usize]);
            let going = before.iter().find(|stream| {
                stream.sure >= 2
                    && (stream.key == page - 1 || stream.key == page + 1)
                    && (line - stream.last).abs() <= NEAR
            });
            self.streams[at] = going.map_or(Stream { key: page, last: line, step: 0, sure: 0 }, |stream| {
                Stream { key: page, ..*stream }
            });
        }
        let stream = &mut self.streams[at];
        let step = line - stream.last;
        if step == 0 {
            return stream.sure >= 2;
        }
        if step.abs() <= NEAR && (stream.sure == 0 || step.signum() == stream.step.signum()) {
            stream.sure = (stream.sure + 1).min(3);
        } else {
            stream.sure = 0;
        }
        (stream.last, stream.step) = (line, step);
        stream.sure >= 2
    }

    /// Pages are no longer the program's, or empty again.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let (from, to) = (address >> 12, address.saturating_add(bytes).div_ceil(4096));
        if to - from > 4096 {
            self.pages.retain(|at, _| !(from..to).contains(&(at << 9)));
            self.translations.clear();
        }
        for page in from..to.min(from + (1 << 16)) {
            if let Some(words) = self.pages.get_mut(&(page >> 9)) {
                words[(page >> 6 & 7) as usize] &= !(1 << (page & 63));
                self.translations.drop(page);
            }
        }
    }
}

/// Waits for what gives a line each so often: ticks until it does. Issue waits as well when too many are asked for.
fn queue(free: &mut u64, now: u64, between: u32, stall: &mut u32) -> u32 {
    let start = (*free).max(now);
    *free = start + u64::from(between);
    // In whole cycles by eights, so that what happens comes back.
    let waits = ((start - now) as u32).next_multiple_of(cycles(8));
    *stall += waits.saturating_sub(between * QUEUE);
    waits
}

/// Follows equal steps of one access.
fn follow(stream: &mut Stream, key: u64, line: i64, farthest: i64) -> bool {
    if stream.key != key {
        *stream = Stream { key, last: line, step: 0, sure: 0 };
        return false;
    }
    let step = line - stream.last;
    stream.last = line;
    if step == stream.step && step != 0 && step.abs() <= farthest {
        stream.sure = (stream.sure + 1).min(3);
    } else {
        stream.step = step;
        stream.sure = 0;
    }
    stream.sure >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_where_it_was_left() {
        let mut memory = Memory::new();
        let first = memory.access(1 << 30, 1, 0).unwrap();
        assert_eq!(first, Miss { late: SECOND_TRANSLATION + WALK + MAIN, stall: FAULT });
        assert!(memory.is_hit((1 << 30) + 63) && memory.access(1 << 30, 1, 0).is_none());
        // Thirteen lines of the same set do not fit into the first cache, but into the second.
        for n in 1..13 {
            memory.access((1 << 30) + n * 4096, 1, 1 << 40);
        }
        assert_eq!(memory.access(1 << 30, 1, 1 << 41), Some(Miss { late: SECOND, stall: 0 }));
        memory.forget(1 << 30, 4096);
        assert_eq!(memory.touch(1 << 18), FAULT);
        assert_eq!(memory.touch(1 << 18), 0);
    }

    #[test]
    fn streams_and_strides_are_foreseen() {
        let mut memory = Memory::new();
        let mut late = |address: u64, site: u32, n: u64| memory.access(address, site, n << 32).unwrap().late;
        let (near, far): (Vec<u32>, Vec<u32>) =
            (0..10).map(|n| (late((1 << 30) + 64 * n, 1, n), late((1 << 32) + 1024 * n, 2, n))).unzip();
        assert!(near[0] >= MAIN && near[5] == SECOND, "{near:?}");
        assert!(far[0] >= MAIN && far[9] < MAIN, "{far:?}");
        // Neither near nor at equal steps.
        let wild: Vec<u32> = (1..10).map(|n| late((1 << 34) + n * n * 40960, 3, 20 + n)).collect();
        assert!(wild.iter().all(|late| *late >= MAIN), "{wild:?}");
    }
}
