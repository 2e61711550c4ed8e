//! The memory in which a run is counted: 64-bit words in the byte order of the machine, in a file that the emulator maps.
//!
//! A head, then cache lines. Each thread that is counted has a line and adds to it alone, so that counts are exact without
//! locks. Whoever has a line next adds to what stands there.

/// Marks the layout below.
const MAGIC: u64 = 0x7461_7574_6f63_0001;
/// Words of a cache line.
const LINE: usize = 8;
/// Threads that can be counted at one time.
pub(crate) const LINES: usize = 1024;

/// Words of the head.
pub(crate) mod head {
    pub(crate) const MAGIC: usize = 0;
    /// The count after which the run is ended; all ones: never.
    pub(crate) const LIMIT: usize = 1;
    /// Of the limit, what has been given out to threads to use up.
    pub(crate) const GIVEN: usize = 2;
    /// Where the next thread looks for a line first.
    pub(crate) const NEXT: usize = 3;
    /// Why the run was ended: see [`super::End`].
    pub(crate) const END: usize = 4;
}

/// Words of a thread's line.
pub(crate) mod line {
    /// In the units of the clock.
    pub(crate) const COUNT: usize = 0;
    /// 1 while the line is somebody's.
    pub(crate) const TAKEN: usize = 1;
    /// The count up to which its thread may go on without asking.
    pub(crate) const ALLOWED: usize = 2;
    /// Instructions, where the clock counts something else.
    pub(crate) const INSTRUCTIONS: usize = 3;
}

/// Bytes of the mapping.
pub const SIZE: usize = 8 * LINE * (1 + LINES);

/// Where the words of a thread's line begin.
pub(crate) fn line_at(n: usize) -> usize {
    LINE * (1 + n)
}

/// Why a run was ended by the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum End {
    /// It was not; it ended by itself or by somebody else.
    ByItself = 0,
    /// It reached the limit.
    Limit = 1,
    /// It had more than 1024 threads at one time.
    Threads = 2,
    /// It started a program that cannot be counted.
    Exec = 3,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What the clock counted for all threads of all processes: instructions in user space, or ticks of the reference
    /// machine.
    pub count: u64,
    /// Instructions, where the clock counts ticks; else 0.
    pub instructions: u64,
    /// Why the run was ended.
    pub end: End,
}

/// A mapping before the run, that ends it when the clock has counted so much.
pub fn fresh(limit: Option<u64>) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    bytes[8 * head::MAGIC..][..8].copy_from_slice(&MAGIC.to_ne_bytes());
    bytes[8 * head::LIMIT..][..8].copy_from_slice(&limit.unwrap_or(u64::MAX).to_ne_bytes());
    bytes
}

/// Reads a mapping; `None` where it is none.
pub fn read(bytes: &[u8]) -> Option<Tally> {
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect();
    if bytes.len() != SIZE || words[head::MAGIC] != MAGIC {
        return None;
    }
    let sum = |word: usize| (0..LINES).map(|n| words[line_at(n) + word]).fold(0, u64::saturating_add);
    let end = match words[head::END] {
        0 => End::ByItself,
        1 => End::Limit,
        2 => End::Threads,
        3 => End::Exec,
        _ => return None,
    };
    Some(Tally { count: sum(line::COUNT), instructions: sum(line::INSTRUCTIONS), end })
}

/// Writes what one thread counts, as a run without an emulator does that is only played.
///
/// # Errors
/// The file cannot be written.
pub fn count(file: &std::fs::File, count: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(
        file,
        &count.to_ne_bytes(),
        (8 * (line_at(0) + line::COUNT)) as u64,
    )
}

/// Whether this is a mapping of ours.
pub(crate) fn is_ours(magic: u64) -> bool {
    magic == MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(bytes: &mut [u8], word: usize, value: u64) {
        bytes[8 * word..][..8].copy_from_slice(&value.to_ne_bytes());
    }

    #[test]
    fn what_all_threads_counted_is_summed() {
        let mut bytes = fresh(Some(1000));
        assert_eq!(read(&bytes), Some(Tally { count: 0, instructions: 0, end: End::ByItself }));
        set(&mut bytes, line_at(0) + line::COUNT, 30);
        set(&mut bytes, line_at(LINES - 1) + line::COUNT, 200);
        set(&mut bytes, line_at(5) + line::INSTRUCTIONS, 7);
        set(&mut bytes, head::END, End::Limit as u64);
        assert_eq!(read(&bytes), Some(Tally { count: 230, instructions: 7, end: End::Limit }));
        assert_eq!(SIZE, 8 * (line_at(LINES - 1) + LINE));
    }

    #[test]
    fn what_a_program_wrote_there_is_no_tally() {
        assert_eq!(read(&[0; SIZE]), None);
        let mut bytes = fresh(None);
        assert_eq!(read(&bytes[8..]), None);
        set(&mut bytes, head::END, 77);
        assert_eq!(read(&bytes), None);
    }
}
