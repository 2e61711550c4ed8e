//! In which order the runs of several conditions are made: in rounds, each of which has every condition once, in an order of
//! its own. Whatever changes with time meets all conditions alike.
//!
//! The order follows from the seed and from what became of the runs before, and from nothing else: an experiment that is
//! started again on its record comes to the same order.

use crate::Random;

/// Conditions and how often each has been run.
#[derive(Clone, Debug)]
pub struct Rounds {
    seed: u64,
    target: usize,
    /// Runs that count and all runs, of each condition.
    made: Vec<[usize; 2]>,
    /// What is left of this round, the next one last.
    queue: Vec<usize>,
    round: u64,
}

impl Rounds {
    /// So many conditions, each of which is to have `target` runs that count.
    pub fn new(conditions: usize, target: usize, seed: u64) -> Rounds {
        let mut rounds = Rounds { seed, target, made: vec![[0; 2]; conditions], queue: vec![], round: 0 };
        rounds.fill();
        rounds
    }

    /// The condition that is run next; `None`: each has its runs.
    pub fn next(&self) -> Option<usize> {
        self.queue.last().copied()
    }

    /// Notes that the next one was run. `counts`: it needs no repeating.
    pub fn put(&mut self, counts: bool) {
        let Some(condition) = self.queue.pop() else { return };
        let [counted, all] = &mut self.made[condition];
        *counted += usize::from(counts);
        *all += 1;
        if self.queue.is_empty() {
            self.fill();
        }
    }

    /// Runs that are still to be made if all of them count.
    pub fn left(&self) -> usize {
        let wanted = |[counted, all]: &[usize; 2]| {
            (self.target - (*counted).min(self.target)).min((2 * self.target).saturating_sub(*all))
        };
        self.made.iter().map(wanted).sum()
    }

    /// A condition has at most twice the runs that were asked for: more discarded ones are no bad luck.
    fn wants(&self, condition: usize) -> bool {
        let [counted, all] = self.made[condition];
        counted < self.target && all < 2 * self.target
    }

    fn fill(&mut self) {
        self.queue = (0..self.made.len()).filter(|condition| self.wants(*condition)).collect();
        Random::new(self.seed.wrapping_add(self.round.wrapping_mul(0x9e37_79b9))).shuffle(&mut self.queue);
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(conditions: usize, target: usize, void: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut rounds = Rounds::new(conditions, target, 7);
        let mut made = Vec::new();
        while let Some(next) = rounds.next() {
            let before = made.iter().filter(|n| **n == next).count();
            made.push(next);
            rounds.put(!void(next, before));
            assert!(made.len() <= 2 * conditions * target);
        }
        assert_eq!(rounds.left(), 0);
        made
    }

    #[test]
    fn every_round_has_every_condition_once() {
        let made = order(5, 4, |_, _| false);
        let mut orders: Vec<Vec<usize>> = made.chunks(5).map(<[usize]>::to_vec).collect();
        for round in &orders {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        orders.dedup();
        assert!(orders.len() > 1, "the order changes");
        assert!(order(0, 4, |_, _| false).is_empty());
    }

    #[test]
    fn void_runs_are_made_again_within_bounds() {
        let count = |made: &[usize], n| made.iter().filter(|m| **m == n).count();
        let made = order(3, 4, |condition, run| condition == 1 && run < 2);
        assert_eq!([0, 1, 2].map(|n| count(&made, n)), [4, 6, 4]);
        let made = order(3, 4, |condition, _| condition == 2);
        assert_eq!([0, 1, 2].map(|n| count(&made, n)), [4, 4, 8]);
    }
}
