//! Page faults, kept by where they were, so that each mapping's first writers can be told at the end. Pure.
//!
//! A page is placed when it is first written, and again when it comes back after it was given away; so of several faults of a page
//! the last one counts. Where the kernel takes pages away for a moment to see who uses them (kernel.numa_balancing), those faults
//! come later than the first write, and the first one counts.
//!
//! A fault tells no size. Where a huge page of 2 MiB came with it there are no others around; so where few faults were, they share what
//! of the mapping the others do not account for.
//!
//! What is kept is bounded: in blocks of sixteen parts, a page each at first, and twice as many pages whenever there are too many blocks.

use model::Nanos;
use sandbox::Fault;
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages of a part, as a power of two, before anything is joined: 4 KiB.
const PAGE: u32 = 12;
/// Parts of a block, as a power of two.
const PARTS: u32 = 4;
/// Blocks that are kept: 8 GiB by pages, and some 20 MB of ours.
const MOST: usize = 1 << 17;
/// Addresses of a huge page, as a power of two (x86-64), and faults that may be of one: several threads may have had it at the same time.
const HUGE: u32 = 21;
const FEW: u64 = 8;
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
    /// Bytes by thread and CPU.
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

    /// What was touched in `range` of a process, of which `bytes` came to be in memory.
    pub(super) fn range_of(&self, pid: u32, range: Range<u64>, bytes: u64) -> TouchedRange {
        let huge_pages = self.by_huge_page(pid, range);
        let faults = |touches: &Vec<Touched>| -> u64 { touches.iter().map(|touched| touched.parts).sum() };
        let few = |touches: &Vec<Touched>| faults(touches) <= FEW;
        let part = (1u64 << self.part) as f64;
        let known: f64 =
            huge_pages.values().filter(|all| !few(all)).map(|all| faults(all) as f64 * part).sum();
        let others = huge_pages.values().filter(|all| few(all)).count().max(1) as f64;
        let of_few = ((bytes as f64 - known) / others).clamp(part, part.max((1u64 << HUGE) as f64));
        let size = |touches: &Vec<Touched>| if few(touches) { of_few / faults(touches) as f64 } else { part };
        let sum: f64 = huge_pages.values().map(|all| faults(all) as f64 * size(all)).sum();
        let (mut by, mut code, mut first) = (BTreeMap::new(), BTreeMap::new(), None);
        for touches in huge_pages.values() {
            let size = size(touches) * bytes as f64 / sum;
            for Touched { touch, parts } in touches {
                *by.entry((touch.tid, touch.cpu)).or_insert(0.0) += *parts as f64 * size;
                *code.entry(touch.code).or_insert(0.0) += *parts as f64 * size;
                first = Some(first.map_or(touch.time, |first: Nanos| first.min(touch.time)));
            }
        }
        TouchedRange { by: whole(by), code: whole(code), first }
    }

    /// Touches in `range`, by what would be one huge page, or a block where that is more.
    fn by_huge_page(&self, pid: u32, range: Range<u64>) -> BTreeMap<u64, Vec<Touched>> {
        let mut found: BTreeMap<u64, Vec<Touched>> = BTreeMap::new();
        let shift = self.part + PARTS;
        let last = range.end.saturating_sub(1).max(range.start);
        for ((_, block), touches) in self.blocks.range((pid, range.start >> shift)..=(pid, last >> shift)) {
            let inside = (0..1 << PARTS)
                .filter(|n| {
                    let from = (block << shift) + (n << self.part);
                    from < range.end && from + (1 << self.part) > range.start
                })
                .fold(0u16, |all, n| all | 1 << n);
            for touch in touches.iter().filter(|touch| touch.parts & inside != 0) {
                let parts = u64::from((touch.parts & inside).count_ones());
                let huge_page = (block << shift) >> HUGE.max(shift);
                found.entry(huge_page).or_default().push(Touched { touch: *touch, parts });
            }
        }
        found
    }
}

/// So many parts of a touch.
struct Touched {
    touch: Touch,
    parts: u64,
}

fn whole<Who: Ord>(amounts: BTreeMap<Who, f64>) -> BTreeMap<Who, u64> {
    amounts.into_iter().map(|(who, bytes)| (who, bytes.round() as u64)).collect()
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
        range.by.iter().map(|((tid, _), bytes)| (*tid, *bytes)).collect()
    }

    /// The same in pages, of so many in all.
    fn pages(touches: &Touches, range: Range<u64>, pages: u64) -> Vec<(u32, u64)> {
        by_thread(&touches.range_of(1, range, pages << 12))
            .into_iter()
            .map(|(tid, bytes)| (tid, bytes >> 12))
            .collect()
    }

    #[test]
    fn faults_belong_to_the_range_they_are_in() {
        let page = |n: u64| 0x7000_0000 + n * 4096 + 123;
        let faults: Vec<Fault> =
            (0..64).map(|n| fault(if n < 40 { 7 } else { 8 }, page(n), 100 + n)).collect();
        let touches = touches(Counts::Last, &faults);
        let all = touches.range_of(1, 0x7000_0000..0x7004_0000, 64);
        assert_eq!((by_thread(&all), all.first), (vec![(7, 40), (8, 24)], Some(Nanos(100))));
        assert_eq!(all.code, [(0x1007, 40), (0x1008, 24)].into());
        assert_eq!(pages(&touches, page(39) - 123..page(42) - 123, 3), [(7, 1), (8, 2)]);
        for (pid, range) in [(2, 0x7000_0000..0x7004_0000), (1, 0x7004_0000..0x7005_0000), (1, 5..5)] {
            assert_eq!(touches.range_of(pid, range, 64), TouchedRange::default());
        }
        assert_eq!(pages(&touches, 0..u64::MAX, 64), [(7, 40), (8, 24)]);
    }

    #[test]
    fn of_several_faults_of_a_page_one_counts() {
        let faults = [fault(7, 0x5000, 10), fault(8, 0x5000, 20), fault(7, 0x6000, 30)];
        for (counts, wanted) in [(Counts::Last, vec![(7, 1), (8, 1)]), (Counts::First, vec![(7, 2)])] {
            assert_eq!(pages(&touches(counts, &faults), 0x5000..0x7000, 2), wanted);
            // The order in which they are told does not matter: CPUs are drained one after another.
            let turned: Vec<Fault> = faults.iter().rev().copied().collect();
            assert_eq!(pages(&touches(counts, &turned), 0x5000..0x7000, 2), wanted);
        }
    }

    /// Thread 7 has `huge` huge pages, thread 8 `small` small ones in front of them; and one of the former two threads wanted.
    #[test]
    fn a_huge_page_is_as_many_as_it_holds() {
        const BEGIN: u64 = 0x7000_0000 - (400 << 12);
        for (huge, small) in [(4, 400), (4, 0), (0, 400), (1, 3)] {
            let pages_of_7 = (0..huge).map(|n| fault(7, 0x7000_0000 + (n << HUGE) + 0x5000 * n, n));
            let pages_of_8 = (0..small).map(|n| fault(8, BEGIN + (n << 12), n));
            let mut faults: Vec<Fault> = pages_of_7.chain(pages_of_8).collect();
            faults.extend((huge > 1).then(|| fault(9, 0x7000_0000 + 0x9000, 5)));
            let found = pages(&touches(Counts::Last, &faults), BEGIN..0x8000_0000, huge * 512 + small);
            let shared = if huge > 1 { 256 } else { 0 };
            let wanted = [(7, huge * 512 - shared), (8, small), (9, shared)];
            let wanted: Vec<(u32, u64)> = wanted.into_iter().filter(|(_, pages)| *pages > 0).collect();
            let near = |(a, b): (&(u32, u64), &(u32, u64))| a.0 == b.0 && a.1.abs_diff(b.1) <= 1;
            // Few small pages beside one huge one cannot be told from it.
            let told = found.len() == wanted.len() && found.iter().zip(&wanted).all(near);
            assert_eq!(told, (huge, small) != (1, 3), "{found:?} {wanted:?}");
        }
    }

    /// Pages of a hash table: nothing else is in memory, so they are no huge ones.
    #[test]
    fn pages_here_and_there_are_small() {
        let far = (0..100).map(|n| fault(7, 0x7000_0000 + (n << 24), n));
        let near = (0..300).map(|n| fault(8, 0x6000_0000 + (n << 12), n));
        let touches = touches(Counts::Last, &far.chain(near).collect::<Vec<_>>());
        assert_eq!(pages(&touches, 0..u64::MAX, 400), [(7, 100), (8, 300)]);
    }

    #[test]
    fn the_kernels_code_is_one_place() {
        let faults =
            [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0040].map(|code| Fault { code, ..fault(7, 0x5000, 1) });
        assert_eq!(
            touches(Counts::Last, &faults).range_of(1, 0..0x1_0000, 1).code,
            [(SYSTEM_CALL, 1)].into()
        );
    }

    proptest! {
        #[test]
        fn however_coarse_parts_are_of_whom_they_were(pages in 1u64..2000, most in 2usize..40) {
            let mut touches = Touches { most, ..Touches::new(Counts::Last) };
            for n in 0..pages {
                touches.add(&fault(if n < pages / 2 { 7 } else { 8 }, n * 4096, n));
            }
            prop_assert!(touches.blocks.len() <= most);
            let range = touches.range_of(1, 0..pages * 4096, pages << 12);
            let sum: u64 = range.by.values().sum();
            prop_assert!(sum.abs_diff(pages << 12) <= 2, "{sum} of {pages}");
            // Two parts in the middle and one at the end may count for more than they hold.
            let first = range.by.get(&(7, 3)).copied().unwrap_or(0) >> 12;
            let coarse = 3 * (1 << (touches.part - PAGE)) + 1;
            prop_assert!(first.abs_diff(pages / 2) <= coarse, "{first} of {sum}, by {coarse}");
            prop_assert_eq!(range.first.is_some(), true);
        }
    }
}
