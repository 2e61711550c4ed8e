//! Jobs that wait, and who gets the next one: by priority, then by turns between contests, then by time.
//!
//! Turns are start-time fair queueing (Goyal, Vin and Cheng, 1996) with jobs of one size: each contest has a tag that goes up by one with each of its
//! jobs that is taken, and the least tag is next. A contest that comes back after it had nothing to do starts at the tag that was served
//! last, so that nobody saves up turns.

use crate::Moment;
use crate::policy::{Line, Place};
use crate::pool::Pool;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

/// So many of a contest's jobs, the oldest, are looked at for one that the asker may do: long lines need not be searched, since
/// the oldest are soon taken by somebody else.
const LOOK: usize = 32;

/// A job as it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting<C> {
    /// Its number.
    pub job: u64,
    /// Whose it is.
    pub contest: C,
    /// Since when: in the order of the line, but for jobs that came back, which keep their own.
    pub since: Moment,
    /// Nodes that must not do it, since they have already.
    pub not_on: Vec<String>,
}

/// Who asks for a job.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// A node.
    pub node: &'a str,
    /// Its pool.
    pub pool: &'a Pool,
    /// [`crate::lines`] of that pool.
    pub lines: &'a [Line],
}

#[derive(Clone, Debug)]
struct Turns<C> {
    waiting: BTreeMap<C, VecDeque<Waiting<C>>>,
    /// Contests that wait, by their tags.
    order: BTreeSet<(u64, C)>,
    tags: HashMap<C, u64>,
    served: u64,
}

/// All lines.
#[derive(Clone, Debug)]
pub struct Queue<C> {
    lines: HashMap<Line, Turns<C>>,
    running: HashMap<C, u32>,
    bounds: HashMap<C, u32>,
    waiting: usize,
}

impl<C: Clone + Ord + Hash> Default for Queue<C> {
    fn default() -> Queue<C> {
        Queue { lines: HashMap::new(), running: HashMap::new(), bounds: HashMap::new(), waiting: 0 }
    }
}

impl<C: Clone + Ord + Hash> Queue<C> {
    /// At most so many jobs of a contest at a time; `None`: no bound.
    pub fn bound(&mut self, contest: C, at_once: Option<u32>) {
        match at_once {
            Some(bound) => drop(self.bounds.insert(contest, bound)),
            None => drop(self.bounds.remove(&contest)),
        }
    }

    /// A job waits. One that comes back because its node was lost is put before its contest's others (`again`).
    pub fn push(&mut self, line: Line, job: Waiting<C>, again: bool) {
        self.lines.entry(line).or_default().push(job, again);
        self.waiting += 1;
    }

    /// The next job for a node that has a free slot; it counts as running until [`Queue::done`].
    pub fn take(&mut self, asker: Asker<'_>, now: Moment) -> Option<Waiting<C>> {
        let job = asker.lines.iter().find_map(|line| {
            let own = matches!(&line.place, Place::Pool(_)) || asker.pool.kind == crate::PoolKind::Relaxed;
            let patience = if own { 0 } else { asker.pool.helps_after_secs? };
            let waited = now.plus_secs(-i64::from(patience));
            let turns = self.lines.get_mut(line)?;
            turns.take(asker.node, waited, |contest| {
                let running = self.running.get(contest).copied().unwrap_or(0);
                self.bounds.get(contest).is_none_or(|bound| running < *bound)
            })
        })?;
        self.waiting -= 1;
        *self.running.entry(job.contest.clone()).or_insert(0) += 1;
        Some(job)
    }

    /// A job that was taken runs no more: it is done, or was put back.
    pub fn done(&mut self, contest: &C) {
        if let Some(running) = self.running.get_mut(contest) {
            *running = running.saturating_sub(1);
        }
    }

    /// A job is wanted no more; whether it was waiting.
    pub fn cancel(&mut self, job: u64) -> bool {
        let found = self.lines.values_mut().any(|turns| turns.remove(job));
        self.waiting -= usize::from(found);
        found
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many of a contest's run.
    pub fn running(&self, contest: &C) -> u32 {
        self.running.get(contest).copied().unwrap_or(0)
    }
}

impl<C: Clone + Ord + Hash> Default for Turns<C> {
    fn default() -> Turns<C> {
        Turns { waiting: BTreeMap::new(), order: BTreeSet::new(), tags: HashMap::new(), served: 0 }
    }
}

impl<C: Clone + Ord + Hash> Turns<C> {
    fn push(&mut self, job: Waiting<C>, again: bool) {
        let contest = job.contest.clone();
        if !self.waiting.contains_key(&contest) {
            let tag = self.tags.entry(contest.clone()).or_insert(0);
            *tag = (*tag).max(self.served);
            self.order.insert((*tag, contest.clone()));
        }
        let jobs = self.waiting.entry(contest).or_default();
        if again { jobs.push_front(job) } else { jobs.push_back(job) }
    }

    fn take(&mut self, node: &str, waited: Moment, may: impl Fn(&C) -> bool) -> Option<Waiting<C>> {
        let fits = |jobs: &VecDeque<Waiting<C>>| {
            let mut old = jobs.iter().take(LOOK).take_while(|job| job.since <= waited);
            old.position(|job| !job.not_on.iter().any(|other| other == node))
        };
        let (tag, contest, at) = self.order.iter().find_map(|(tag, contest)| {
            let jobs = self.waiting.get(contest).filter(|_| may(contest))?;
            Some((*tag, contest.clone(), fits(jobs)?))
        })?;
        let job = self.waiting.get_mut(&contest)?.remove(at);
        self.served = self.served.max(tag);
        self.order.remove(&(tag, contest.clone()));
        self.tags.insert(contest.clone(), tag + 1);
        self.order.insert((tag + 1, contest.clone()));
        self.forget_empty(&contest);
        job
    }

    fn remove(&mut self, job: u64) -> bool {
        let place = |jobs: &VecDeque<Waiting<C>>| jobs.iter().position(|waiting| waiting.job == job);
        let found = self.waiting.iter().find_map(|(contest, jobs)| Some((contest.clone(), place(jobs)?)));
        let Some((contest, at)) = found else { return false };
        self.waiting.get_mut(&contest).map(|jobs| jobs.remove(at));
        self.forget_empty(&contest);
        true
    }

    /// A contest without waiting jobs has no turn; its tag is kept.
    fn forget_empty(&mut self, contest: &C) {
        if self.waiting.get(contest).is_some_and(VecDeque::is_empty) {
            self.waiting.remove(contest);
            let tag = self.tags.get(contest).copied().unwrap_or(0);
            self.order.remove(&(tag, contest.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PoolKind, Priority, lines};
    use proptest::prelude::*;

    fn line(pool: Option<&str>, priority: Priority) -> Line {
        Line { place: pool.map_or(Place::Anywhere, |pool| Place::Pool(pool.into())), priority }
    }

    fn pool(name: &str, kind: PoolKind, helps_after_secs: Option<u32>) -> Pool {
        Pool { helps_after_secs, ..Pool::new(name, kind).unwrap() }
    }

    fn push(queue: &mut Queue<&'static str>, job: u64, contest: &'static str, line: Line, not_on: &[&str]) {
        let not_on = not_on.iter().map(|node| node.to_string()).collect();
        queue.push(line, Waiting { job, contest, since: Moment(0), not_on }, false);
    }

    /// The jobs a node gets, one after the other, until there is none.
    fn taken(queue: &mut Queue<&'static str>, node: &str, pool: &Pool, secs: i64) -> Vec<u64> {
        let lines = lines(pool);
        let mut take = || queue.take(Asker { node, pool, lines: &lines }, Moment(0).plus_secs(secs));
        std::iter::from_fn(|| take().map(|job| job.job)).collect()
    }

    #[test]
    fn contests_before_rejudging_before_practice() {
        let mut queue = Queue::default();
        let metal = pool("metal", PoolKind::Strict, Some(30));
        push(&mut queue, 1, "a", line(Some("metal"), Priority::Practice), &[]);
        push(&mut queue, 2, "a", line(Some("metal"), Priority::Rejudge), &[]);
        push(&mut queue, 3, "b", line(None, Priority::Contest), &[]);
        push(&mut queue, 4, "b", line(Some("metal"), Priority::Contest), &[]);
        push(&mut queue, 5, "b", line(Some("other"), Priority::Contest), &[]);
        assert_eq!(taken(&mut queue, "n", &metal, 29), [4, 2, 1]);
        assert_eq!(taken(&mut queue, "n", &metal, 30), [3], "what nobody else took");
        assert_eq!(queue.waiting(), 1);
        let cloud = pool("cloud", PoolKind::Relaxed, None);
        assert!(taken(&mut queue, "n", &cloud, 99).is_empty(), "strict work stays in its pool");
        assert!(queue.cancel(5) && !queue.cancel(5) && queue.waiting() == 0);
    }

    #[test]
    fn contests_take_turns_and_save_up_nothing() {
        let mut queue = Queue::default();
        let metal = pool("metal", PoolKind::Strict, None);
        let contest = || line(Some("metal"), Priority::Contest);
        (0..6).for_each(|job| push(&mut queue, job, "a", contest(), &[]));
        let lines = lines(&metal);
        let asker = Asker { node: "n", pool: &metal, lines: &lines };
        let next = |queue: &mut Queue<&'static str>| queue.take(asker, Moment(0)).unwrap().job;
        assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [0, 1, 2]);
        (10..13).for_each(|job| push(&mut queue, job, "b", contest(), &[]));
        let rest: Vec<u64> = (0..6).map(|_| next(&mut queue)).collect();
        assert_eq!(rest, [10, 3, 11, 4, 12, 5], "no three turns at once for who came late");
    }

    #[test]
    fn bounds_and_exclusions_are_kept() {
        let mut queue = Queue::default();
        let metal = pool("metal", PoolKind::Strict, None);
        let contest = || line(Some("metal"), Priority::Contest);
        queue.bound("a", Some(2));
        (0..4).for_each(|job| push(&mut queue, job, "a", contest(), &[]));
        push(&mut queue, 9, "b", contest(), &["n"]);
        assert_eq!(taken(&mut queue, "n", &metal, 0), [0, 1]);
        assert_eq!(taken(&mut queue, "m", &metal, 0), [9]);
        queue.done(&"a");
        assert_eq!((taken(&mut queue, "n", &metal, 0), queue.running(&"a")), (vec![2], 2));
        queue.done(&"a");
        queue.push(contest(), Waiting { job: 2, contest: "a", since: Moment(0), not_on: vec![] }, true);
        assert_eq!(taken(&mut queue, "n", &metal, 0), [2], "what came back comes first");
    }

    proptest! {
        /// Every job is given once, to a node that may do it, and no bound is passed.
        #[test]
        fn nothing_is_lost_or_doubled(
            jobs in proptest::collection::vec((0usize..3, 0usize..3, any::<bool>(), 0usize..4), 0..60), bound in 1u32..4,
        ) {
            const CONTESTS: [&str; 3] = ["a", "b", "c"];
            let pools = [pool("metal", PoolKind::Strict, None), pool("cloud", PoolKind::Relaxed, None)];
            let mut queue = Queue::default();
            queue.bound("a", Some(bound));
            for (job, (contest, priority, strict, not_on)) in jobs.iter().enumerate() {
                let line = line(strict.then_some("metal"), Priority::ALL[*priority]);
                let not_on = if *not_on < 2 { vec![format!("n{not_on}")] } else { vec![] };
                queue.push(line, Waiting { job: job as u64, contest: CONTESTS[*contest], since: Moment(0), not_on }, false);
            }
            let mut given = Vec::new();
            for turn in 0..400 {
                let (node, pool) = (format!("n{}", turn % 4), &pools[turn / 2 % 2]);
                let lines = lines(pool);
                if let Some(job) = queue.take(Asker { node: &node, pool, lines: &lines }, Moment(0)) {
                    prop_assert!(!job.not_on.contains(&node));
                    prop_assert!(queue.running(&"a") <= bound);
                    prop_assert!(!jobs[job.job as usize].2 || pool.name == "metal");
                    given.push(job.job);
                    queue.done(&job.contest);
                }
            }
            given.sort_unstable();
            // n0 and n1 are of the strict pool: what is strict and not for n0 is for n1, and the other way round.
            prop_assert_eq!(given, (0..jobs.len() as u64).collect::<Vec<_>>());
            prop_assert_eq!(queue.waiting(), 0);
        }
    }
}
