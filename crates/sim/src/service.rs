//! The simulated service: who gets which job, leases, and messages that are lost, late or repeated.

use super::node::Ran;
use super::world::{Event, World};
use crate::{Asker, Job};
use fleet::{Destination, PoolKind};

impl World {
    /// One submission comes after the other.
    pub(super) fn submit(&mut self, sub: u32) {
        if let Some(next) = self.subs.get(sub as usize + 1) {
            self.at(next.came, Event::Submit(sub + 1));
        }
        self.line_up(sub, Vec::new());
    }

    /// A submission waits for a node, and gets one at once where there is one.
    pub(super) fn line_up(&mut self, number: u32, not_on: Vec<String>) {
        let sub = &self.subs[number as usize];
        let place = match self.contests[sub.contest as usize].0.place(sub.stage) {
            Destination::Pool(pool) => Some(pool),
            Destination::Anywhere => None,
        };
        self.queue.push(Job {
            of: u64::from(number),
            place,
            urgency: sub.urgency,
            contest: u64::from(sub.contest),
            author: u64::from(sub.author),
            fresh: sub.answers.is_empty(),
            since: self.now,
            not_on,
        });
        self.seek(number);
    }

    /// Some idle slot may take a submission that waits.
    fn seek(&mut self, number: u32) {
        let sub = &self.subs[number as usize];
        let (contest, bound) = &self.contests[sub.contest as usize];
        match contest.place(sub.stage) {
            Destination::Pool(_) => drop(self.offer(*bound)),
            Destination::Anywhere => {
                let relaxed = self.scenario.relaxed_pools as usize;
                self.turn = (self.turn + 1) % relaxed;
                let taken = (0..relaxed).any(|n| self.offer((self.turn + n) % relaxed));
                if !taken {
                    self.after(60.0, Event::Help);
                }
            }
        }
    }

    /// An idle slot of a strict pool takes what nobody else took. Where the first of them finds nothing, no other does.
    pub(super) fn help(&mut self) {
        let mut strict = self.scenario.relaxed_pools as usize..self.pools.len();
        if let Some(idle) = strict.find(|pool| !self.pools[*pool].idle.is_empty()) {
            self.offer(idle);
        }
    }

    /// Some idle slot of a pool takes a job; false: none does.
    fn offer(&mut self, pool: usize) -> bool {
        // A node that may not take this job is passed over; four in a row are hardly all of that kind.
        let mut tries = 4;
        while tries > 0
            && let Some(number) = self.pools[pool].idle.pop_front()
        {
            let node = &mut self.nodes[number as usize];
            if node.given_up || !node.admitted || node.drained {
                node.listed -= 1;
                continue;
            }
            tries -= 1;
            if self.take(number) {
                self.nodes[number as usize].listed -= 1;
                return true;
            }
            self.pools[pool].idle.push_back(number);
        }
        false
    }

    /// Its idle slots ask for work, one after the other.
    pub(super) fn offer_to(&mut self, number: u32) {
        let pool = self.nodes[number as usize].pool;
        while self.queue.waiting() > 0 && self.nodes[number as usize].listed > 0 && self.take(number) {
            self.nodes[number as usize].listed -= 1;
            if let Some(at) = self.pools[pool].idle.iter().position(|one| *one == number) {
                self.pools[pool].idle.remove(at);
            }
        }
    }

    /// One of its slots asks for work and is given some; false: there is none for it.
    fn take(&mut self, number: u32) -> bool {
        let node = &self.nodes[number as usize];
        let pool = &self.pools[node.pool];
        let asker = Asker { nodes: &[&node.statement.node], pool: &pool.pool };
        let Some(taken) = self.queue.take(asker, self.now) else { return false };
        let sub = taken.job.of as u32;
        self.taken.insert(sub, taken);
        self.hand(number, sub);
        true
    }

    fn hand(&mut self, number: u32, sub: u32) {
        let latency = self.latency();
        let (now, lease) = (self.now, f64::from(self.scenario.lease));
        let node = &mut self.nodes[number as usize];
        let submission = &mut self.subs[sub as usize];
        submission.attempt += 1;
        submission.on = Some(number);
        let (attempt, boot) = (submission.attempt, node.boot);
        node.holds.push(sub);
        let (contest, bound) = &self.contests[submission.contest as usize];
        let strict = matches!(contest.place(submission.stage), Destination::Pool(_));
        if strict && (*bound != node.pool || self.pools[node.pool].pool.kind != PoolKind::Strict) {
            self.counts.outside_pool += 1;
        }
        if !node.reachable(now) {
            node.unheard.push(sub);
            self.after(lease, Event::GiveUp { node: number, boot });
            return;
        }
        submission.started.get_or_insert(now);
        let ran = node.judge(&submission.program, now, node.policy(&self.health), &mut self.random);
        self.counts.busy += ran.seconds;
        self.after(2.0 * latency + ran.seconds, Event::Deliver { node: number, boot, sub, attempt, ran });
    }

    /// Half to twice the usual one, and a hundred times that now and then.
    fn latency(&mut self) -> f64 {
        let usual = self.scenario.latency_ms / 1e3;
        let rare = if self.random.unit() < 0.001 { 100.0 } else { 1.0 };
        rare * usual * (0.5 + 1.5 * self.random.unit())
    }

    /// What a node found arrives, unless it died before, is cut off, or the message is lost; then it is sent again.
    pub(super) fn deliver(&mut self, number: u32, boot: u32, sub: u32, attempt: u32, ran: Ran) {
        let node = &self.nodes[number as usize];
        let again = Event::Deliver { node: number, boot, sub, attempt, ran };
        // A drained node that was looked after meanwhile has a new number of its start, but has ended its work before.
        if !node.up || node.boot != boot {
            return;
        }
        if node.cut_until > self.now {
            let until = node.cut_until;
            return self.at(until.plus_secs(1), again);
        }
        if self.random.unit() < self.scenario.lost_messages {
            return self.after(1.0, again);
        }
        let submission = &self.subs[sub as usize];
        match submission.attempt == attempt && submission.on == Some(number) {
            true => self.accept(number, sub, ran),
            // Handed to somebody else since, or heard already.
            false if submission.attempt == attempt => self.counts.repeated += 1,
            false => self.counts.too_late += 1,
        }
        let node = &mut self.nodes[number as usize];
        if let Some(at) = node.holds.iter().position(|held| *held == sub) {
            node.holds.remove(at);
        }
        if self.random.unit() < self.scenario.lost_messages {
            self.after(1.0, again);
        }
        self.freed(number);
    }

    /// A slot of it is free.
    pub(super) fn freed(&mut self, number: u32) {
        let node = &self.nodes[number as usize];
        let full = node.holds.len() as u32 + node.listed >= self.scenario.slots;
        if full || node.given_up || !node.admitted || node.drained {
            return;
        }
        if !self.take(number) {
            self.list(number);
        }
    }

    /// The lease of a node's jobs has ended, or it said itself that it lost them.
    pub(super) fn give_up(&mut self, number: u32, boot: u32) {
        let node = &mut self.nodes[number as usize];
        if node.boot != boot || node.reachable(self.now) {
            return;
        }
        let held = std::mem::take(&mut node.holds);
        if !node.given_up {
            node.given_up = true;
            if node.admitted && !node.drained {
                self.pools[node.pool].active -= 1;
            }
        }
        self.take_back(number, held);
    }

    /// Jobs come back from a node.
    pub(super) fn take_back(&mut self, number: u32, held: Vec<u32>) {
        self.nodes[number as usize].unheard.clear();
        for sub in held {
            let submission = &mut self.subs[sub as usize];
            if submission.on != Some(number) {
                continue;
            }
            submission.on = None;
            // Whatever that attempt finds counts no more.
            submission.attempt += 1;
            self.counts.redelivered += 1;
            if let Some(taken) = self.taken.remove(&sub) {
                self.queue.put_back(taken);
                self.seek(sub);
            }
        }
    }
}
