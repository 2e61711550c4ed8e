//! Page faults, kept by where they were, so that each mapping's first writers can be told at the end. Pure.
//!
//! A page is placed when it is first written, and again when it comes back after it was given away; so of several faults of a page
//! the last one counts. Where the kernel takes pages away for a moment to see who uses them (kernel.numa_balancing), those faults
//! come later than the first write, and the first one counts.
//!
//! What is kept is bounded: in blocks of sixteen parts, a page each at first, and twice as many pages whenever there are too many blocks.

use model::Nanos;
use sandbox::Fault;
use std::collections::BTreeMap;

/// Pages of a part, as a power of two, before anything is joined: 4 KiB.
const PAGE: u32 = 12;
/// Parts of a block, as a power of two.
const PARTS: u32 = 4;
/// Blocks that are kept: 8 GiB by pages, and some 20 MB of ours.
const MOST: usize = 1 << 17;
/// From here on addresses are the kernel's.
const KERNEL: u64 = 1 << 63;

/// Where in the code addresses of the kernel stand for: all its addresses are told as this one.
pub const SYSTEM_CALL: u64 = u64::MAX;

/// Which of several faults of a page counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
}

/// Faults of one thread on one CPU by one instruction in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touch {
    tid: u32,
    cpu: u32,
    code: u64,
    time: Nanos,
    parts: u16,
}

/// Faults of some processes.
#[derive(Clone, Debug)]
pub(super) struct Touches {
    counts: Counts,
    most: usize,
    /// Addresses of one part, as a power of two.
    part: u32,
    /// By process and address, the latter without the bits of its block.
    blocks: BTreeMap<(u32, u64), Vec<Touch>>,
}

impl Default for Touches {
    fn default() -> Touches {
        Touches::new(Counts::default())
    }
}

/// What is known of a range of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TouchedRange {
    /// Parts by thread and CPU.
    pub(super) by: BTreeMap<(u32, u32), u64>,
    /// The same by the instruction that touched them.
    pub(super) code: BTreeMap<u64, u64>,
    /// When the first was.
    pub(super) first: Option<Nanos>,
}

impl Touches {
    pub(super) fn new(counts: Counts) -> Touches {
        Touches { counts, most: MOST, part: PAGE, blocks: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, fault: &Fault) {
        let block = fault.address >> (self.part + PARTS);
        let part = 1 << (fault.address >> self.part & ((1 << PARTS) - 1));
        let code = if fault.code >= KERNEL { SYSTEM_CALL } else { fault.code };
        let touch = Touch { tid: fault.tid, cpu: fault.cpu, code, time: fault.time, parts: part };
        join(self.blocks.entry((fault.pid, block)).or_default(), touch, self.counts);
        while self.blocks.len() > self.most && self.part < u64::BITS - 2 * PARTS {
            self.coarsen();
        }
    }

    /// Two blocks become one, and two parts one.
    fn coarsen(&mut self) {
        self.part += 1;
        for ((pid, block), touches) in std::mem::take(&mut self.blocks) {
            let into = self.blocks.entry((pid, block / 2)).or_default();
            for touch in touches {
                let halved =
                    (0..8).filter(|n| touch.parts >> (2 * n) & 3 != 0).fold(0, |all, n| all | 1 << n);
                let parts = if block % 2 == 1 { halved << 8 } else { halved };
                join(into, Touch { parts, ..touch }, self.counts);
            }
        }
    }

    /// What was touched in `range` of a process.
    pub(super) fn of(&self, pid: u32, range: std::ops::Range<u64>) -> TouchedRange {
        let mut found = TouchedRange::default();
        if range.is_empty() {
            return found;
        }
        let block = |address: u64| address >> (self.part + PARTS);
        let blocks = self.blocks.range((pid, block(range.start))..=(pid, block(range.end - 1)));
        for ((_, block), touches) in blocks {
            let begin = block << (self.part + PARTS);
            let inside = (0..1 << PARTS)
                .filter(|n| {
                    let part = begin + (n << self.part);
                    part < range.end && part + (1 << self.part) > range.start
                })
                .fold(0u16, |all, n| all | 1 << n);
            for touch in touches.iter().filter(|touch| touch.parts & inside != 0) {
                let parts = u64::from((touch.parts & inside).count_ones());
                *found.by.entry((touch.tid, touch.cpu)).or_default() += parts;
                *found.code.entry(touch.code).or_default() += parts;
                found.first = Some(found.first.map_or(touch.time, |first| first.min(touch.time)));
            }
        }
        found
    }
}

/// Adds a touch to those of its block: each part is one's alone.
fn join(touches: &mut Vec<Touch>, mut touch: Touch, counts: Counts) {
    // Of the same part, the earlier or the later one is left out.
    for other in touches.iter_mut() {
        let both = other.parts & touch.parts;
        match (counts, touch.time < other.time) {
            (Counts::First, false) | (Counts::Last, true) => touch.parts &= !both,
            (Counts::First, true) | (Counts::Last, false) => other.parts &= !both,
        }
    }
    touches.retain(|other| other.parts != 0);
    if touch.parts == 0 {
        return;
    }
    let same = |other: &&mut Touch| (other.tid, other.cpu, other.code) == (touch.tid, touch.cpu, touch.code);
    match touches.iter_mut().find(same) {
        Some(other) => {
            other.parts |= touch.parts;
            other.time = other.time.min(touch.time);
        }
        None => touches.push(touch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(tid: u32, address: u64, time: u64) -> Fault {
        Fault { pid: 1, tid, cpu: tid % 4, address, code: 0x1000 + u64::from(tid), time: Nanos(time) }
    }

    fn touches(counts: Counts, faults: &[Fault]) -> Touches {
        let mut touches = Touches::new(counts);
        faults.iter().for_each(|fault| touches.add(fault));
        touches
    }

    fn by_thread(range: &TouchedRange) -> Vec<(u32, u64)> {
        range.by.iter().map(|((tid, _), parts)| (*tid, *parts)).collect()
    }

    #[test]
    fn faults_belong_to_the_range_they_are_in() {
        let page = |n: u64| 0x7000_0000 + n * 4096 + 123;
        let faults: Vec<Fault> =
            (0..64).map(|n| fault(if n < 40 { 7 } else { 8 }, page(n), 100 + n)).collect();
        let touches = touches(Counts::Last, &faults);
        let all = touches.of(1, 0x7000_0000..0x7004_0000);
        assert_eq!((by_thread(&all), all.first), (vec![(7, 40), (8, 24)], Some(Nanos(100))));
        assert_eq!(all.code, [(0x1007, 40), (0x1008, 24)].into());
        let some = touches.of(1, 0x7000_0000 + 39 * 4096..0x7000_0000 + 42 * 4096);
        assert_eq!(by_thread(&some), [(7, 1), (8, 2)]);
        for (pid, range) in [(2, 0x7000_0000..0x7004_0000), (1, 0x7004_0000..0x7005_0000), (1, 5..5)] {
            assert_eq!(touches.of(pid, range), TouchedRange::default());
        }
        assert_eq!(by_thread(&touches.of(1, 0..u64::MAX)), [(7, 40), (8, 24)]);
    }

    #[test]
    fn of_several_faults_of_a_page_one_counts() {
        let faults = [fault(7, 0x5000, 10), fault(8, 0x5000, 20), fault(7, 0x6000, 30)];
        for (counts, wanted) in [(Counts::Last, vec![(7, 1), (8, 1)]), (Counts::First, vec![(7, 2)])] {
            assert_eq!(by_thread(&touches(counts, &faults).of(1, 0x5000..0x7000)), wanted);
            // The order in which they are told does not matter: CPUs are drained one after another.
            let turned: Vec<Fault> = faults.iter().rev().copied().collect();
            assert_eq!(by_thread(&touches(counts, &turned).of(1, 0x5000..0x7000)), wanted);
        }
    }

    #[test]
    fn the_kernels_code_is_one_place() {
        let faults = [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0040]
            .map(|code| Fault { code, ..fault(7, code & 0xffff, 1) });
        assert_eq!(touches(Counts::Last, &faults).of(1, 0..0x1_0000).code, [(SYSTEM_CALL, 1)].into());
    }

    proptest! {
        #[test]
        fn however_coarse_parts_are_of_whom_they_were(pages in 1u64..2000, most in 2usize..40) {
            let mut touches = Touches { most, ..Touches::new(Counts::Last) };
            for n in 0..pages {
                touches.add(&fault(if n < pages / 2 { 7 } else { 8 }, n * 4096, n));
            }
            prop_assert!(touches.blocks.len() <= most);
            let range = touches.of(1, 0..pages * 4096);
            let sum: u64 = range.by.values().sum();
            prop_assert!(sum <= pages && sum > 0);
            // One part in the middle may belong to either.
            let first = range.by.get(&(7, 3)).copied().unwrap_or(0);
            prop_assert!((2 * first).abs_diff(sum) <= 3, "{first} of {sum}");
            prop_assert_eq!(range.first, Some(Nanos(if first > 0 { 0 } else { pages / 2 })));
        }
    }
}
