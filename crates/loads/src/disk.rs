//! A file without a name that is written, synchronised and read back.

use crate::work::{INCREMENT, MULTIPLIER};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes the file grows to, and is overwritten from the start.
pub(crate) const SIZE: u64 = 64 << 20;
/// Bytes between two synchronisations.
const BLOCK: u64 = 256 << 10;

/// The file and its state.
pub(crate) struct Disk {
    file: File,
    /// What is written, which no file system can make smaller.
    noise: Vec<u8>,
    read: Vec<u8>,
    at: u64,
}

impl Disk {
    /// In this directory, under no name: it vanishes with this process, however that ends.
    pub(crate) fn new(directory: &Path) -> io::Result<Disk> {
        let mut random = 1u64;
        let next = |_| {
            random = random.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
            (random >> 56) as u8
        };
        let noise: Vec<u8> = (0..BLOCK).map(next).collect();
        Ok(Disk { file: tempfile::tempfile_in(directory)?, read: noise.clone(), noise, at: 0 })
    }

    /// Writes a block, waits until it is on the disk, has the kernel forget it and reads it; the bytes of both ways.
    pub(crate) fn batch(&mut self) -> io::Result<u64> {
        self.file.write_all_at(&self.noise, self.at)?;
        self.file.sync_data()?;
        // Where the kernel keeps it all the same, less is read from the disk.
        let _ = fadvise(&self.file, self.at, NonZeroU64::new(BLOCK), Advice::DontNeed);
        self.file.read_exact_at(&mut self.read, self.at)?;
        self.at = (self.at + BLOCK) % SIZE;
        Ok(2 * BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stays_bounded_and_nameless() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::new(directory.path()).unwrap();
        disk.at = SIZE - BLOCK;
        assert_eq!((disk.batch().unwrap(), disk.at), (2 * BLOCK, 0));
        assert_eq!((disk.batch().unwrap(), disk.at), (2 * BLOCK, BLOCK));
        assert_eq!(disk.read, disk.noise);
        assert_eq!(disk.file.metadata().unwrap().len(), SIZE);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(Disk::new(Path::new("/nonexistent")).is_err());
    }
}
