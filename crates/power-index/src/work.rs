//! What the slices of each part do.
//!
//! A slice takes a millisecond or less. It is discarded where more time passed than its thread had CPU time: somebody else had
//! the CPU, a task, the hypervisor, or (where the kernel keeps their account) an interrupt. In the others both times are the
//! same, and the one that passed is taken: reading it takes some ten nanoseconds, and no system call.

use crate::IndexOptions;
use crate::walk::Walk;
use host::facts::Topology;
use loads::cache_bytes;
use model::{IndexPart, Reading};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Iterations of a round.
const ITERATIONS: u32 = 100_000;
/// Multiplications of a slice, and additions beside them: 27 and 18 µs at 3.6 GHz. So short that some slices have neither a tick nor
/// a neighbour in them: while one used the core's other thread (a virtual machine), no slice in twenty of 0.16 ms was whole in some
/// turns, of 0.02 ms half of them. So long that the 10 ns to which some counters tell the time are 0.04 %.
const MULTIPLICATIONS: u64 = 32_000;
const ADDITIONS: u64 = 64_000;
/// Reads of a slice by level 1, 2, 3 and memory.
const READS: [usize; 4] = [300_000, 100_000, 40_000, 8_000];
/// Bytes of a slice of streaming.
const STREAM: usize = 16 << 20;
/// Branches of each half of a slice.
const BRANCHES: u32 = 60_000;
/// Pages of a slice.
const PAGES: usize = 512;
/// Bytes of the mapping of which the pages are: above 32 MiB the C library takes each from the kernel and gives it back
/// (mallopt(3), M_MMAP_THRESHOLD), so that no page was touched before.
const MAPPING: usize = 64 << 20;
const PAGE: usize = 4096;
/// System calls of a slice.
const CALLS: u32 = 4000;
/// Memory is walked through in a buffer of so many times the last cache, if there is so much memory.
const BEYOND_CACHE: usize = 8;
/// But of no more than this, in bytes, and this share of the memory that is available.
const MOST_BUFFER: usize = 2 << 30;
const SHARE_OF_MEMORY: usize = 4;
/// Taken for the last cache where the kernel names none, in bytes.
const USUAL_CACHE: usize = 32 << 20;
/// Time passed may be above CPU time by this share, and this many ns more.
const WAITED_SHARE: f64 = 0.002;
const WAITED: f64 = 1000.0;
/// For starting a program: the kernel wakes us and the program in turn, which is part of what is measured.
const WAITED_SHARE_OF_STARTS: f64 = 0.10;

/// What one slice came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slice {
    /// In the part's unit.
    Value(f64),
    /// Somebody else had the CPU.
    Discarded,
}

/// Everything that slices work on.
pub(crate) struct Bench {
    table: Vec<u64>,
    /// Cycles of a multiplication.
    latency: Reading<u32>,
    /// The clock by multiplications over that by additions, for each slice of the clock.
    controls: Vec<f64>,
    /// By level 1, 2, 3 and memory.
    walks: [Reading<Walk>; 4],
    /// The word streaming goes on at.
    stream: usize,
    /// States of the generators of rounds and of branches.
    rounds: u64,
    random: u64,
    program: PathBuf,
}

/// ns of time passed, by a clock that is not steered (NTP), and around it of CPU time of this thread.
#[derive(Clone, Copy, Debug)]
struct Timed {
    wall: f64,
    cpu: f64,
}

impl Timed {
    fn undisturbed(self) -> bool {
        self.wall - self.cpu <= self.wall * WAITED_SHARE + WAITED
    }
}

fn timed(work: impl FnOnce()) -> Timed {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    let wall = clock_gettime(ClockId::MonotonicRaw);
    work();
    let wall = since(wall, ClockId::MonotonicRaw);
    Timed { wall, cpu: since(cpu, ClockId::ThreadCPUTime) }
}

/// In whole numbers: a double has no place for the nanoseconds of a machine that has been up for long.
fn since(then: rustix::time::Timespec, clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    (now.tv_sec - then.tv_sec) as f64 * 1e9 + (now.tv_nsec - then.tv_nsec) as f64
}

impl Bench {
    /// For the CPU that the calling thread is on.
    pub(crate) fn new(asked: &IndexOptions) -> Bench {
        Bench::for_sizes(asked, sizes(asked.topology, asked.cpu, asked.available))
    }

    /// The same with no buffer above so many bytes, and memory's twice the last cache.
    pub(crate) fn small(asked: &IndexOptions, most: usize) -> Bench {
        let available = asked.available.min(SHARE_OF_MEMORY * most);
        let sizes = sizes(asked.topology, asked.cpu, available);
        let last = last_cache(asked.topology, asked.cpu);
        Bench::for_sizes(asked, sizes.map(|size| size.map(|bytes| bytes.min(2 * last))))
    }

    fn for_sizes(asked: &IndexOptions, sizes: [Result<usize, String>; 4]) -> Bench {
        let walk = |size: Result<usize, String>| {
            let walk = size.and_then(|bytes| {
                Walk::new(bytes).ok_or_else(|| format!("no memory for a buffer of {bytes} bytes"))
            });
            Reading::from_result(walk)
        };
        let mut random = stats::Random::new(1);
        Bench {
            table: (0..1024).map(|_| random.bits()).collect(),
            latency: Reading::from_result(latency()),
            controls: Vec::new(),
            walks: sizes.map(walk),
            stream: 0,
            rounds: 1,
            random: 88_172_645_463_325_252,
            program: asked.program.clone(),
        }
    }

    /// What is done for a part, in words; or why it cannot be.
    pub(crate) fn how(&self, part: IndexPart) -> Reading<String> {
        let size = |walk: &Walk| match walk.bytes() {
            bytes if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
            bytes => format!("{} MiB", bytes >> 20),
        };
        let known = |how: String| Reading::Known(how);
        if let Some(level) = level(part) {
            return self.walks[level].as_ref().map(|walk| format!("random walk through {}", size(walk)));
        }
        match part {
            IndexPart::Clock => self.latency.as_ref().map(|cycles| {
                format!("dependent multiplications of {cycles} cycles, what one slice in 20 reaches")
            }),
            IndexPart::Bandwidth => {
                self.walks[3].as_ref().map(|walk| format!("reading {} from end to end", size(walk)))
            }
            IndexPart::Rounds => known(format!("rounds of {ITERATIONS} iterations")),
            IndexPart::Mispredict => known("random against constant branches".into()),
            IndexPart::PageFault => known("first writes to fresh pages of 4 KiB".into()),
            IndexPart::Syscall => known("getppid(2)".into()),
            _ => known("this program, started and reaped".into()),
        }
    }

    /// What a part was held against, if it was: the middle ratio.
    pub(crate) fn control(&self, part: IndexPart) -> Option<f64> {
        stats::median(&self.controls).filter(|_| part == IndexPart::Clock)
    }

    /// Brings back into the caches what the others have driven out.
    pub(crate) fn warm(&mut self, part: IndexPart) {
        match level(part) {
            Some(level @ 0..=2) => {
                if let Reading::Known(walk) = &mut self.walks[level] {
                    black_box(sum(walk.words()));
                    walk.steps(walk.once().min(4 * READS[level]));
                }
            }
            _ => drop(self.slice(part)),
        }
    }

    /// One slice. Of a part whose [`Bench::how`] is unknown it is discarded.
    pub(crate) fn slice(&mut self, part: IndexPart) -> Slice {
        let per = |timed: Timed, of: f64| match timed.undisturbed() {
            true => Slice::Value(timed.wall / of),
            false => Slice::Discarded,
        };
        let inverse = |slice: Slice, by: f64| match slice {
            Slice::Value(time) => Slice::Value(by / time),
            Slice::Discarded => Slice::Discarded,
        };
        if let Some(level) = level(part) {
            let Reading::Known(walk) = &mut self.walks[level] else { return Slice::Discarded };
            return per(timed(|| walk.steps(READS[level])), READS[level] as f64);
        }
        match part {
            IndexPart::Rounds => {
                let table: &[u64; 1024] = self.table.first_chunk().expect("it has 1024 numbers");
                inverse(per(timed(|| self.rounds = round(table, self.rounds)), 1.0), 1e9)
            }
            IndexPart::Clock => {
                let Reading::Known(cycles) = self.latency else { return Slice::Discarded };
                let multiply = timed(|| sandbox::pace::multiply(MULTIPLICATIONS));
                let add = timed(|| sandbox::pace::add(ADDITIONS));
                if multiply.undisturbed() && add.undisturbed() {
                    let cycles = f64::from(cycles) * MULTIPLICATIONS as f64 / ADDITIONS as f64;
                    self.controls.push(cycles * add.wall / multiply.wall);
                }
                inverse(per(multiply, MULTIPLICATIONS as f64), f64::from(cycles))
            }
            IndexPart::Bandwidth => self.streaming(),
            IndexPart::Mispredict => self.mispredictions(),
            IndexPart::PageFault => {
                let mut pages = vec![0u8; MAPPING];
                // The first may have been touched by the C library.
                let touch = || (1..=PAGES).for_each(|page| pages[page * PAGE] = 1);
                let slice = per(timed(touch), PAGES as f64);
                black_box(&pages);
                slice
            }
            IndexPart::Syscall => {
                let calls = || (0..CALLS).for_each(|_| _ = black_box(rustix::process::getppid()));
                per(timed(calls), f64::from(CALLS))
            }
            _ => start(&self.program),
        }
    }

    fn streaming(&mut self) -> Slice {
        let Reading::Known(walk) = &self.walks[3] else { return Slice::Discarded };
        let words = walk.words();
        let from = if self.stream < words.len() { self.stream } else { 0 };
        let part = &words[from..words.len().min(from + STREAM / 8)];
        self.stream = from + part.len();
        let timed = timed(|| _ = black_box(sum(part)));
        if timed.undisturbed() {
            Slice::Value(size_of_val(part) as f64 / timed.wall)
        } else {
            Slice::Discarded
        }
    }

    /// The same branches twice, once going a random way and once always the same. Half of the random ones are guessed
    /// wrongly, whatever the processor does.
    fn mispredictions(&mut self) -> Slice {
        let mut half = |mask| timed(|| self.random = branches(black_box(self.random), black_box(mask)));
        let (random, constant) = (half(1 << 33), half(0));
        match random.undisturbed() && constant.undisturbed() {
            true => Slice::Value((random.wall - constant.wall) / (f64::from(BRANCHES) / 2.0)),
            false => Slice::Discarded,
        }
    }
}

/// The walk of a part that is one.
fn level(part: IndexPart) -> Option<usize> {
    [IndexPart::L1, IndexPart::L2, IndexPart::L3, IndexPart::Dram].iter().position(|walk| *walk == part)
}

/// Bytes of the last cache of a CPU.
fn last_cache(topology: &Topology, cpu: Option<u32>) -> usize {
    let cpu = cpu.and_then(|cpu| topology.cpus.get(&cpu)).or_else(|| topology.cpus.values().next());
    cpu.and_then(|cpu| cpu.caches.last()).and_then(cache_bytes).unwrap_or(USUAL_CACHE)
}

/// Bytes of the four walks: half of what a core has of each cache, and far more than the last one.
fn sizes(topology: &Topology, cpu: Option<u32>, available: usize) -> [Result<usize, String>; 4] {
    let cpu = cpu.and_then(|cpu| topology.cpus.get(&cpu)).or_else(|| topology.cpus.values().next());
    let cache = |level: u32| {
        let cache = cpu.and_then(|cpu| cpu.caches.iter().find(|cache| cache.level == level))?;
        let cores = topology.cores().iter().filter(|core| !core.is_disjoint(&cache.shared)).count();
        Some((cache_bytes(cache)?, cores.max(1)))
    };
    let none = |level: u32| format!("the kernel names no cache of level {level}");
    let half = |level: u32| {
        let (bytes, cores) = cache(level).ok_or_else(|| none(level))?;
        // Where many share it, half a share may be no more than the cache below has.
        let below = cache(level - 1).map_or(0, |(bytes, _)| 4 * bytes);
        let walked = (bytes / cores / 2).max(below).min(bytes / 2);
        match cache(level - 1) {
            Some((smaller, _)) if walked < 2 * smaller && level > 1 => Err(format!(
                "the cache of level {level} is too small relative to that of level {} to be distinguished",
                level - 1
            )),
            _ => Ok(walked),
        }
    };
    let last = (1..=4).rev().find_map(cache).map_or(USUAL_CACHE, |(bytes, _)| bytes);
    let far = (last * BEYOND_CACHE).min(MOST_BUFFER).min(available / SHARE_OF_MEMORY);
    let far = if far >= 2 * last {
        Ok(far)
    } else {
        Err(format!(
            "a buffer twice as large as the last cache would be more than a quarter of the {available} bytes of memory that are available"
        ))
    };
    [half(1), half(2), half(3), far]
}

/// Cycles of a multiplication: as many as additions, of one cycle each, that take as long.
fn latency() -> Result<u32, String> {
    let mut ratio = 0.0;
    for _ in 0..10 {
        // In turn, so that what disturbs for a while disturbs both.
        let both = (0..30).map(|_| {
            let multiply = timed(|| sandbox::pace::multiply(100_000)).wall;
            (multiply, timed(|| sandbox::pace::add(100_000)).wall)
        });
        let (multiply, add) =
            both.fold((f64::MAX, f64::MAX), |least, now| (least.0.min(now.0), least.1.min(now.1)));
        ratio = multiply / add;
        let whole = ratio.round();
        if (ratio - whole).abs() < 0.03 * whole && (1.0..=16.0).contains(&whole) {
            return Ok(whole as u32);
        }
    }
    Err(format!("a multiplication takes {ratio:.2} times as long as an addition, no whole number of cycles"))
}

/// 100 000 times: two multiplications, a rotation, a look into a table of 8 KiB, and a branch of which one in eight goes the
/// rarer way, to a division, at random. Returns what the next round begins with: each takes other ways, or processors
/// would learn them. The measure of [`IndexPart::Rounds`]: changing it makes indices incomparable.
#[inline(never)]
fn round(table: &[u64; 1024], mut x: u64) -> u64 {
    let (mut y, mut z) = (1u64, 0u64);
    for _ in 0..ITERATIONS {
        // Knuth's MMIX generator (The Art of Computer Programming 2, 3.3.4).
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        y = (y ^ table[(x >> 54) as usize]).rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if y >> 61 == 0 {
            z = black_box(z ^ (y / (x >> 40 | 1)));
        }
    }
    black_box(y ^ z);
    x
}

/// Branches on a bit of a generator (xorshift64; Marsaglia, 2003): a random way for a mask with one bit, always the same
/// for 0. The arms are opaque, so that they stay branches.
#[inline(never)]
fn branches(mut x: u64, mask: u64) -> u64 {
    let (mut a, mut b) = (0u64, 0u64);
    for _ in 0..BRANCHES {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if x & mask == 0 {
            a = black_box(a + 1);
        } else {
            b = black_box(b + 3);
        }
    }
    black_box(a ^ b);
    x
}

#[inline(never)]
fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// Starts this program under a name by which it ends at once, and reaps it. By time passed: it is mostly the child's.
fn start(program: &Path) -> Slice {
    let mut command = Command::new(program);
    command.arg0(loads::NOTHING).env_clear();
    let children = || sandbox::pace::reaped_cpu_time().map_or(Duration::ZERO, |time| time);
    let before = children();
    let mut well = false;
    let timed = timed(|| well = command.status().is_ok_and(|status| status.success()));
    let used = timed.cpu + (children().saturating_sub(before)).as_nanos() as f64;
    match well && timed.wall - used <= timed.wall * WAITED_SHARE_OF_STARTS {
        true => Slice::Value(timed.wall),
        false => Slice::Discarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::facts::{Cache, Cpu};

    const MIB: usize = 1 << 20;

    fn topology(sizes: &[(&str, u32)]) -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            siblings: [id / 2 * 2, id / 2 * 2 + 1].into(),
            package: 0,
            node: None,
            capacity: None,
            caches: (1..)
                .zip(sizes)
                .map(|(level, (size, sharing))| Cache {
                    level,
                    size: size.to_string(),
                    shared: (id / sharing * sharing..id / sharing * sharing + sharing).collect(),
                })
                .collect(),
        };
        Topology { cpus: (0..8).map(|id| (id, cpu(id))).collect(), ..Topology::default() }
    }

    #[test]
    fn walks_are_half_of_what_a_core_has() {
        let usual = topology(&[("48K", 2), ("1024K", 2), ("32768K", 8)]);
        let of = |topology: &Topology, available| sizes(topology, Some(3), available).map(|size| size.ok());
        assert_eq!(of(&usual, 8 << 30), [Some(24 << 10), Some(512 << 10), Some(4 * MIB), Some(256 * MIB)]);
        // A share of the last cache that is hardly more than the one below, and memory for 4 caches.
        let shared = topology(&[("48K", 2), ("2M", 2), ("12M", 8)]);
        assert_eq!(of(&shared, 192 * MIB)[2..], [Some(6 * MIB), Some(48 * MIB)]);
        let why = sizes(&shared, Some(3), 32 * MIB)[3].clone().unwrap_err();
        assert!(why.contains("more than a quarter of the 33554432 bytes"), "{why}");
        let small = topology(&[("48K", 2), ("4M", 2), ("8M", 8)]);
        assert!(sizes(&small, Some(3), 1 << 30)[2].clone().unwrap_err().contains("distinguished"));
        let unnamed = sizes(&topology(&[]), None, 4 << 30);
        assert_eq!(unnamed[0], Err("the kernel names no cache of level 1".into()));
        assert_eq!(unnamed[3], Ok(256 * MIB));
    }

    #[test]
    fn a_multiplication_takes_a_whole_number_of_cycles() {
        // Under heavy load it may not be found out, but never wrongly.
        match latency() {
            Ok(cycles) => assert!((3..=5).contains(&cycles), "{cycles}"),
            Err(why) => assert!(why.contains("no whole number"), "{why}"),
        }
    }

    #[test]
    fn wrong_guesses_cost() {
        let least = |mask: u64| {
            let once = || timed(|| _ = black_box(branches(black_box(12345), black_box(mask)))).wall;
            (0..20).map(|_| once()).fold(f64::MAX, f64::min)
        };
        // The random half is the same path with half its branches guessed wrongly: several cycles for some of one.
        let (random, constant) = (least(1 << 33), least(0));
        assert!(random > 1.3 * constant, "{random} {constant}");
    }

    #[test]
    fn rounds_take_other_ways_each_time() {
        let mut random = stats::Random::new(1);
        let table: [u64; 1024] = std::array::from_fn(|_| random.bits());
        let next = round(&table, 1);
        assert!(next != 1 && next == round(&table, 1) && round(&table, next) != next);
    }

    #[test]
    fn what_waited_is_void() {
        assert!(Timed { wall: 1_000_000.0, cpu: 997_500.0 }.undisturbed());
        assert!(!Timed { wall: 1_000_000.0, cpu: 990_000.0 }.undisturbed());
        assert!(Timed { wall: 1000.0, cpu: 500.0 }.undisturbed());
        assert!(matches!(start(Path::new("/bin/false")), Slice::Discarded));
        assert!(matches!(start(Path::new("/nowhere/at/all")), Slice::Discarded));
    }
}
