//! What the threads of a load do, in batches of some microseconds.

use crate::disk::Disk;
use crate::pipeline::Pipeline;
use crate::{INTERRUPT_PERIOD, Kind, Load, LoadError, NOTHING};
use sandbox::Interrupts;
use std::hint::black_box;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Of a batch.
const MULTIPLICATIONS: u64 = 1 << 12;
const ACCESSES: u64 = 1 << 9;
const WORDS: usize = 1 << 12;
/// How long a thread that only waits may take to see that it should end.
const NAP: Duration = Duration::from_millis(5);
/// Multiplier and increment of Knuth's MMIX generator (The Art of Computer Programming 2, 3.3.4).
pub(crate) const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
pub(crate) const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// A cache line of 64 bytes, which holds the number of the next one to be read.
#[repr(align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Line(u32);

/// Work and its state.
pub(crate) enum Work {
    Multiply(u64),
    Walk { lines: Vec<Line>, at: u32 },
    Stream { words: Vec<u64>, at: usize },
    Compress(Box<Pipeline>),
    Fork,
    Disk(Box<Disk>),
    Interrupt { interrupts: Interrupts, counted: u64 },
}

impl Work {
    /// For this CPU, with a buffer of so many bytes, touched.
    pub(crate) fn new(load: &Load, cpu: u32, bytes: usize) -> Result<Work, LoadError> {
        let memory = || LoadError::Memory(bytes);
        Ok(match load.kind {
            Kind::Cpu | Kind::Realtime(_) => Work::Multiply(1),
            Kind::Cache => Work::Walk { lines: circle(bytes / size_of::<Line>()).ok_or_else(memory)?, at: 0 },
            Kind::Memory => {
                Work::Stream { words: filled(bytes / size_of::<u64>(), 1).ok_or_else(memory)?, at: 0 }
            }
            Kind::Compress => Work::Compress(Box::new(Pipeline::new(cpu)?)),
            Kind::Fork => Work::Fork,
            Kind::Disk => {
                let disk = Disk::new(&load.directory);
                Work::Disk(Box::new(disk.map_err(|e| LoadError::Directory(load.directory.clone(), e))?))
            }
            Kind::Interrupts => {
                let interrupts =
                    Interrupts::on(cpu, INTERRUPT_PERIOD).map_err(|e| LoadError::interrupts(cpu, e))?;
                Work::Interrupt { interrupts, counted: 0 }
            }
        })
    }

    /// Does one batch, of at most `left` where it only waits, and says how much it was, in the kind's unit.
    pub(crate) fn batch(&mut self, left: Duration) -> io::Result<u64> {
        Ok(match self {
            Work::Multiply(value) => {
                for _ in 0..MULTIPLICATIONS {
                    *value = black_box(value.wrapping_mul(MULTIPLIER));
                }
                MULTIPLICATIONS
            }
            Work::Walk { lines, at } => {
                for _ in 0..ACCESSES {
                    *at = lines[*at as usize].0;
                }
                black_box(*at);
                ACCESSES
            }
            Work::Stream { words, at } => {
                let end = (*at + WORDS).min(words.len());
                let part = &mut words[*at..end];
                part.iter_mut().for_each(|word| *word = word.wrapping_add(1));
                let bytes = 2 * size_of_val(black_box(&*part));
                *at = if end == words.len() { 0 } else { end };
                bytes as u64
            }
            Work::Compress(pipeline) => pipeline.batch()?,
            Work::Fork => start_and_reap().map(|()| 1)?,
            Work::Disk(disk) => disk.batch()?,
            Work::Interrupt { interrupts, counted } => {
                thread::sleep(NAP.min(left));
                let before = std::mem::replace(counted, interrupts.count()?);
                *counted - before
            }
        })
    }

    /// Ends what helps with it, and says how much CPU time that took.
    pub(crate) fn end(self) -> Duration {
        match self {
            Work::Compress(pipeline) => pipeline.end(),
            _ => Duration::ZERO,
        }
    }
}

/// Starts this binary under the name under which it ends at once.
fn start_and_reap() -> io::Result<()> {
    let status = Command::new("/proc/self/exe").arg0(NOTHING).env_clear().status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{NOTHING} ended with {status}"))) }
}

fn filled<T: Clone>(length: usize, value: T) -> Option<Vec<T>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length.max(1)).ok()?;
    buffer.resize(length.max(1), value);
    Some(buffer)
}

/// Lines that lead through all of them in a random order and back to the first: Sattolo's shuffle makes one circle. The
/// order is the same every time.
fn circle(length: usize) -> Option<Vec<Line>> {
    let length = u32::try_from(length).ok()?;
    let mut lines = filled(length as usize, Line(0))?;
    lines.iter_mut().zip(0..).for_each(|(line, number)| line.0 = number);
    let mut random = 1u64;
    for last in (1..lines.len()).rev() {
        random = random.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let other = (random >> 33) as usize % last;
        lines.swap(last, other);
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_through_every_line() {
        for length in [0, 1, 2, 3, 1000] {
            let lines = circle(length).unwrap();
            assert_eq!(lines.len(), length.max(1));
            let mut seen = vec![false; lines.len()];
            let mut at = 0;
            for _ in 0..lines.len() {
                assert!(!seen[at], "{length}: {at} twice");
                seen[at] = true;
                at = lines[at].0 as usize;
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn a_stream_begins_again_at_the_end() {
        let load = Load::new(Kind::Memory, [0].into(), Duration::ZERO);
        let mut work = Work::new(&load, 0, 8 * (WORDS + 1)).unwrap();
        let batches = [(); 3].map(|()| work.batch(Duration::ZERO).unwrap());
        assert_eq!(batches, [16 * WORDS as u64, 16, 16 * WORDS as u64]);
        let Work::Stream { words, .. } = work else { panic!("no stream") };
        assert_eq!((words[0], words[WORDS]), (3, 2));
    }

    #[test]
    fn no_memory_is_no_panic() {
        let load = Load::new(Kind::Memory, [0].into(), Duration::ZERO);
        assert!(matches!(Work::new(&load, 0, usize::MAX / 2), Err(LoadError::Memory(_))));
    }
}
