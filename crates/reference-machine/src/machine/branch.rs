//! The branch predictor: two-bit counters chosen by address and global history (McFarling, Combining Branch Predictors, 1993,
//! "gshare"); targets of indirect jumps by address and path.

/// Outcomes that the global history remembers, and bits of an index.
const HISTORY: u32 = 14;
/// Entries of the tables; powers of two.
const COUNTERS: usize = 1 << HISTORY;
const TARGETS: usize = 1 << 12;

/// What a counter becomes when the branch is not taken, and when it is.
const STEP: [[u8; 4]; 2] = [[0, 0, 1, 2], [1, 2, 3, 3]];

/// Tables of counters and targets.
pub(super) struct Predictor {
    counters: Box<[u8; COUNTERS]>,
    targets: Vec<u64>,
    history: u64,
    path: u64,
}

impl Predictor {
    pub(super) fn new() -> Predictor {
        Predictor { counters: Box::new([1; COUNTERS]), targets: vec![0; TARGETS], history: 0, path: 0 }
    }

    /// A conditional branch, by its key: whether it was guessed right.
    #[inline]
    pub(super) fn conditional(&mut self, key: u64, taken: bool) -> bool {
        let counter = &mut self.counters[(key ^ self.history) as usize % COUNTERS];
        let guess = *counter >= 2;
        *counter = STEP[usize::from(taken)][usize::from(*counter & 3)];
        self.history = (self.history << 1) | u64::from(taken);
        guess == taken
    }

    /// A jump whose target is in a register or memory: whether it was guessed right.
    pub(super) fn indirect(&mut self, key: u64, target: u64) -> bool {
        let key = key ^ self.path ^ (self.history << 3);
        let entry = &mut self.targets[(key ^ (key >> 12)) as usize % TARGETS];
        let right = *entry == target;
        *entry = target;
        self.path = (self.path << 5) ^ target;
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_guessed() {
        let mut predictor = Predictor::new();
        let mut wrong = |taken: &dyn Fn(u64) -> bool, from: u64| {
            (from..from + 4000).filter(|n| !predictor.conditional(0x1234, taken(*n))).count()
        };
        // A loop of five, again and again.
        wrong(&|n| n % 5 != 4, 0);
        assert_eq!(wrong(&|n| n % 5 != 4, 0), 0);
        // What nobody can guess.
        let coin = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n << 7).count_ones() % 2 == 1;
        assert!(wrong(&coin, 0) > 1000);
        let mut jumps = |from: u64| (from..from + 300).filter(|n| !predictor.indirect(7, n % 3)).count();
        jumps(0);
        assert_eq!(jumps(0), 0);
    }
}
