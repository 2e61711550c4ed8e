//! The order of work of the store (docs/store.md, "Fair order"), in memory, since a database is too slow for millions of jobs. The store is what
//! decides: its tests play the same events here and there, and compare who gets which job.

use fleet::{Pool, PoolKind, Timestamp};
pub use model::Urgency;
use std::collections::{BTreeMap, HashMap};

/// So many of a contest's jobs are looked at for one that is old enough for who helps out.
const LOOK: usize = 32;

/// A request for one judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Of what: for the caller alone.
    pub of: u64,
    /// The pool that must do it; `None`: any.
    pub place: Option<String>,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whose it is; 0: of no contest.
    pub contest: u64,
    /// Whose of that contest; 0: nobody is known.
    pub author: u64,
    /// It begins a round, and does not go on with one.
    pub fresh: bool,
    /// When it was asked for.
    pub since: Timestamp,
    /// Nodes that must not do it.
    pub not_on: Vec<String>,
}

/// Who asks for a job.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// One of these nodes is to have it: one that asks for itself, or all for which a ticket could be.
    pub nodes: &'a [&'a str],
    /// Their pool.
    pub pool: &'a Pool,
}

/// Place of a job among those of its contest in a line: whether it begins a round, its ticket, and its number.
type QueuePosition = (bool, i64, u64);

/// A job that was taken, with its place, to which it can come back.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The job.
    pub job: Job,
    place: QueuePosition,
}

/// A contest in a line.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// Those with the lowest are next; `None`: it had nothing to wait for, and starts again at what was served last.
    tag: Option<i64>,
    /// The highest tickets that were served, of jobs that go on with a round and of those that begin one.
    served: [i64; 2],
    waiting: BTreeMap<QueuePosition, Job>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    /// The highest tag that was served.
    served: i64,
    flows: BTreeMap<u64, Flow>,
    waiting: usize,
}

/// All lines.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// By pool (empty: any) and urgency.
    lines: HashMap<String, [Line; 4]>,
    running: HashMap<u64, u32>,
    bounds: HashMap<u64, u32>,
    pushed: u64,
    waiting: usize,
}

impl Queue {
    /// At most so many jobs of a contest at a time; `None`: no bound.
    pub fn bound(&mut self, contest: u64, at_once: Option<u32>) {
        match at_once {
            Some(bound) => drop(self.bounds.insert(contest, bound)),
            None => drop(self.bounds.remove(&contest)),
        }
    }

    /// A job waits, behind those of its author.
    pub fn push(&mut self, job: Job) {
        self.pushed += 1;
        let number = self.pushed;
        let flow = self.line(&job).flows.entry(job.contest).or_default();
        let like = flow.waiting.range((job.fresh, i64::MIN, 0)..=(job.fresh, i64::MAX, u64::MAX));
        let last =
            like.rev().find(|(_, other)| other.author == job.author).map_or(0, |((_, last, _), _)| *last);
        let ticket = 1 + last.max(flow.served[usize::from(job.fresh)]);
        self.insert((job.fresh, ticket, number), job);
    }

    /// The next job for who asks, which then runs until [`Queue::done`] or [`Queue::put_back`].
    pub fn take(&mut self, asker: Asker<'_>, now: Timestamp) -> Option<Taken> {
        let own = asker.pool.name.as_str();
        let helps = match (asker.pool.kind, asker.pool.helps_after_secs) {
            (PoolKind::Strict, Some(secs)) => Some(now.plus_secs(-i64::from(secs))),
            _ => None,
        };
        let of = |place| Urgency::ALL.map(|urgency| (place, urgency));
        let mut lines = [of(own), of("")].concat();
        match (asker.pool.kind, helps) {
            (PoolKind::Relaxed, _) => lines.sort_by_key(|(_, urgency)| *urgency),
            (PoolKind::Strict, None) => lines.truncate(Urgency::ALL.len()),
            (PoolKind::Strict, Some(_)) => {}
        }
        let (contest, place, line) = lines.into_iter().find_map(|(at, urgency)| {
            let line = &self.lines.get(at)?[urgency as usize];
            let (contest, place) = self.first(line, asker.nodes, helps.filter(|_| at.is_empty()))?;
            Some((contest, place, (at.to_string(), urgency)))
        })?;
        let line = &mut self.lines.get_mut(&line.0)?[line.1 as usize];
        let job = line.serve(contest, place)?;
        self.waiting -= 1;
        *self.running.entry(contest).or_insert(0) += 1;
        Some(Taken { job, place })
    }

    /// A job of a contest that was taken runs no more, and does not come back.
    pub fn done(&mut self, contest: u64) {
        if let Some(running) = self.running.get_mut(&contest) {
            *running = running.saturating_sub(1);
        }
    }

    /// A job that was taken waits again where it did, and its contest has its turn again.
    pub fn put_back(&mut self, taken: Taken) {
        let Taken { job, place } = taken;
        self.done(job.contest);
        let flow = self.line(&job).flows.entry(job.contest).or_default();
        flow.tag = flow.tag.map(|tag| tag - 1);
        self.insert(place, job);
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    fn line(&mut self, job: &Job) -> &mut Line {
        let place = job.place.clone().unwrap_or_default();
        &mut self.lines.entry(place).or_default()[job.urgency as usize]
    }

    fn insert(&mut self, place: QueuePosition, job: Job) {
        self.waiting += 1;
        let line = self.line(&job);
        line.waiting += 1;
        line.flows.entry(job.contest).or_default().waiting.insert(place, job);
    }

    /// The next job of a line that one of these nodes may do; where there is a moment, none that was asked for after it.
    fn first(&self, line: &Line, nodes: &[&str], oldest: Option<Timestamp>) -> Option<(u64, QueuePosition)> {
        if line.waiting == 0 {
            return None;
        }
        let full = |contest: &u64| {
            let running = self.running.get(contest).copied().unwrap_or(0);
            self.bounds.get(contest).is_some_and(|bound| running >= *bound)
        };
        let waits = line.flows.iter().filter(|(contest, flow)| !flow.waiting.is_empty() && !full(contest));
        let mut turns: Vec<_> =
            waits.map(|(contest, flow)| (flow.tag.unwrap_or(line.served), *contest)).collect();
        turns.sort_unstable();
        let may = |job: &Job| {
            job.not_on.is_empty() || nodes.iter().any(|node| !job.not_on.iter().any(|not| not == node))
        };
        turns.into_iter().find_map(|(_, contest)| {
            let mut mine = line.flows[&contest].waiting.iter().filter(|(_, job)| may(job));
            let found = match oldest {
                None => mine.next(),
                Some(oldest) => mine.take(LOOK).find(|(_, job)| job.since <= oldest),
            };
            found.map(|(place, _)| (contest, *place))
        })
    }
}

impl Line {
    /// Takes a job out and counts the turns of its contest and its author.
    fn serve(&mut self, contest: u64, place: QueuePosition) -> Option<Job> {
        let flow = self.flows.get_mut(&contest)?;
        let tag = flow.tag.unwrap_or(self.served);
        flow.tag = Some(tag + 1);
        let served = &mut flow.served[usize::from(place.0)];
        *served = place.1.max(*served);
        self.served = self.served.max(tag);
        // Who has nothing to wait for, and would be behind by now, starts again.
        let idle = self.flows.values_mut().filter(|flow| flow.waiting.is_empty());
        idle.filter(|flow| flow.tag.is_some_and(|tag| tag <= self.served)).for_each(|flow| flow.tag = None);
        self.waiting -= 1;
        self.flows.get_mut(&contest)?.waiting.remove(&place)
    }
}
