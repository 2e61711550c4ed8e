//! What a set-associative cache holds, replaced by true least-recent use.

/// Tags of a cache of so many ways, set by set, those used last first.
pub(super) struct Tags<const WAYS: usize> {
    sets: Vec<[u32; WAYS]>,
    /// Bits of a line's number that choose its set.
    bits: u32,
}

impl<const WAYS: usize> Tags<WAYS> {
    /// An empty cache of so many sets, a power of two.
    pub(super) fn new(sets: usize) -> Tags<WAYS> {
        Tags { sets: vec![[0; WAYS]; sets], bits: sets.trailing_zeros() }
    }

    #[inline]
    fn place(&self, line: u64) -> (usize, u32) {
        let set = line as usize & (self.sets.len() - 1);
        // Never 0, which means nothing. What is cut off is beyond any address space of one program.
        (set, (line >> self.bits) as u32 | 1 << 31)
    }

    /// Whether the line is the one of its set that was used last.
    #[inline]
    pub(super) fn is_latest(&self, line: u64) -> bool {
        let (at, tag) = self.place(line);
        self.sets.get(at).is_some_and(|set| set[0] == tag)
    }

    /// Uses a line: whether it was there. It is afterwards.
    #[inline]
    pub(super) fn take(&mut self, line: u64) -> bool {
        let (at, tag) = self.place(line);
        let Some(set) = self.sets.get_mut(at) else { return false };
        if set[0] == tag {
            return true;
        }
        // All are compared, which is quicker than to stop at the right one.
        let found =
            set.iter().enumerate().fold(0u32, |found, (n, held)| found | u32::from(*held == tag) << n);
        if found == 0 {
            set.copy_within(..WAYS - 1, 1);
        } else {
            set.copy_within(..found.trailing_zeros() as usize, 1);
        }
        set[0] = tag;
        found != 0
    }

    /// Forgets a line.
    pub(super) fn drop(&mut self, line: u64) {
        let (at, tag) = self.place(line);
        self.sets[at].iter_mut().filter(|held| **held == tag).for_each(|held| *held = 0);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.sets.fill([0; WAYS]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_used_longest_ago_makes_room() {
        let mut tags = Tags::<2>::new(2);
        assert!(!tags.take(0) && !tags.take(2) && tags.take(0));
        // Another line of the same set: 2 goes, 0 stays; the other set is not touched.
        assert!(!tags.take(4) && tags.take(0) && !tags.take(2));
        assert!(!tags.take(1) && tags.take(1) && tags.is_latest(1));
        tags.drop(1);
        assert!(!tags.take(1));
        tags.clear();
        assert!(!tags.take(0));
    }
}
