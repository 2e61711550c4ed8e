//! What is submitted, and what befalls nodes.

use super::node::{Ailment, Program};
use super::world::{Event, PRACTICE, Sub, World, measure};
use crate::Urgency;
use fleet::{Health, Stage, Timestamp};
use model::{IndexGroup, Reading, Verdict};

/// Seconds until a node that died has started again.
const RESTART: f64 = 600.0;
/// How long a cut lasts.
const CUT: i64 = 300;
/// Seconds until a drained node was looked after.
const CARE: f64 = 1800.0;

impl World {
    /// Submissions come as in world finals: evenly at first, twice as often in the last hour, and twenty times in the last five minutes.
    pub(super) fn make_submissions(&mut self) {
        let mut moments: Vec<Timestamp> = (0..self.scenario.submissions).map(|_| self.moment()).collect();
        moments.sort_unstable();
        for came in moments {
            let contest = 1 + self.random.below(self.contests.len() - 1) as u32;
            let (contest, urgency) = match self.random.unit() {
                x if x < 0.85 => (contest, Urgency::Contest),
                x if x < 0.9 => (contest, Urgency::Rejudge),
                _ => (PRACTICE, Urgency::Live),
            };
            let author = self.random.below(self.scenario.teams as usize) as u32;
            let program = self.make_program();
            self.subs.push(Sub::new((contest, author), program, came, urgency));
        }
        self.open = self.scenario.submissions;
        self.at(self.subs[0].came, Event::Submit(0));
    }

    fn moment(&mut self) -> Timestamp {
        let seconds = f64::from(self.scenario.seconds);
        let (hour, end) = (0.8 * seconds, seconds * 59.0 / 60.0);
        let weights = [hour, 2.0 * (end - hour), 20.0 * (seconds - end)];
        let at = weights.iter().sum::<f64>() * self.random.unit();
        let came = match at {
            at if at < weights[0] => at,
            at if at < weights[0] + weights[1] => hour + (at - weights[0]) / 2.0,
            at => end + (at - weights[0] - weights[1]) / 20.0,
        };
        Timestamp((came * 1e6) as i64)
    }

    /// A quarter is wrong, one in twenty does not compile, one in ten is about as slow as the limit.
    fn make_program(&mut self) -> Program {
        let random = &mut self.random;
        let rest = self.scenario.job_seconds * random.exponential();
        let kind = random.unit();
        let (ratio, wrong) = match kind {
            x if x < 0.25 => (0.01 + 0.4 * random.unit(), Some(Verdict::WrongAnswer)),
            x if x < 0.3 => (0.0, Some(Verdict::CompileError)),
            x if x < 0.4 => (0.85 + 0.4 * random.unit(), None),
            _ => (0.01 * 1000f64.powf(random.unit()), None),
        };
        Program { ratio, wrong, rest }
    }

    pub(super) fn plan_mishaps(&mut self) {
        let seconds = f64::from(self.scenario.seconds);
        for node in 0..self.nodes.len() as u32 {
            if self.random.unit() < self.scenario.deaths {
                let at = seconds * self.random.unit();
                self.after(at, Event::Die(node));
            }
            let place = node as usize;
            if self.random.unit() < self.scenario.ailing
                && self.nodes[place].admitted
                && self.nodes[place].strict
            {
                let (factor, within) =
                    [(1.02, 0.0), (1.05, 0.0), (1.2, 0.0), (2.0, 0.0), (1.1, 3600.0)][self.random.below(5)];
                // So that there is time to find it.
                let from = Timestamp((0.6 * seconds * self.random.unit() * 1e6) as i64);
                let group = [IndexGroup::Core, IndexGroup::Memory][self.random.below(2)];
                self.nodes[place].ailment = Some(Ailment { from, factor, within, group });
                self.nodes[place].planned = self.nodes[place].ailment;
            }
        }
        for _ in 0..self.scenario.cuts {
            let (at, pool) = (seconds * self.random.unit(), self.random.below(self.pools.len()));
            self.after(at, Event::Cut(pool));
        }
    }

    pub(super) fn die(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        let boot = node.boot;
        node.up = false;
        self.after(RESTART, Event::Start(number));
        self.after(f64::from(self.scenario.lease), Event::GiveUp { node: number, boot });
    }

    /// Its level has to be learned again, and it is looked at as if it were new.
    pub(super) fn start(&mut self, number: u32) {
        self.give_up(number, self.nodes[number as usize].boot);
        let quiet = self.nodes[number as usize].health.quiet_until();
        let node = &mut self.nodes[number as usize];
        (node.up, node.given_up, node.admitted) = (true, false, false);
        node.boot += 1;
        node.statement.boot_id = Reading::Known(format!("{number}-{}", node.boot));
        let health = node.health.clone().again(self.now);
        self.remeasure(number);
        self.nodes[number as usize].health = health;
        self.ask(number);
        let node = &mut self.nodes[number as usize];
        if self.scenario.guarded && !node.admitted {
            let judged = std::mem::take(&mut node.judged);
            judged.iter().filter(|(at, _)| *at >= quiet).for_each(|(_, sub)| self.rejudge(*sub));
        }
    }

    fn remeasure(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        node.health = Health::new(self.now);
        let cost = node.cost * node.slowed(self.now);
        measure(&mut node.statement, cost, &mut self.random);
    }

    pub(super) fn cut(&mut self, pool: usize) {
        let until = self.now.plus_secs(CUT);
        for number in self.pools[pool].nodes.clone().step_by(2) {
            let node = &mut self.nodes[number as usize];
            let boot = node.boot;
            node.cut_until = node.cut_until.max(until);
            self.after(f64::from(self.scenario.lease), Event::GiveUp { node: number, boot });
            self.at(until, Event::Joined(number));
        }
    }

    pub(super) fn joined(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        if !node.reachable(self.now) {
            return;
        }
        // It tells what it has; the rest never reached it.
        let unheard = std::mem::take(&mut node.unheard);
        node.holds.retain(|held| !unheard.contains(held));
        let given_up = node.given_up;
        self.take_back(number, unheard);
        let node = &mut self.nodes[number as usize];
        if !given_up {
            return self.freed(number);
        }
        node.given_up = false;
        if node.admitted && !node.drained {
            self.pools[node.pool].active += 1;
            self.list(number);
            self.offer_to(number);
        }
    }

    /// It was drained and looked after: what ailed it is mended in half of all cases.
    pub(super) fn ask_again(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        if !node.up || node.admitted {
            return;
        }
        if !node.reachable(self.now) || !node.holds.is_empty() {
            return self.after(60.0, Event::Return(number));
        }
        if self.random.unit() < 0.5 {
            self.nodes[number as usize].ailment = None;
        }
        let node = &mut self.nodes[number as usize];
        node.boot += 1;
        self.remeasure(number);
        self.ask(number);
        if !self.nodes[number as usize].admitted {
            self.after(CARE, Event::Return(number));
        }
    }

    /// Like a worker that always has a ticket, a node whose slots are all busy puts a probe off by as long as they are apart, and not again.
    pub(super) fn probe(&mut self, number: u32, life: u32, put_off: bool) {
        let now = self.now;
        let node = &mut self.nodes[number as usize];
        if node.boot != life || !node.up || !node.admitted || node.drained {
            return;
        }
        let policy = node.policy(&self.health);
        if node.listed == 0 && !put_off {
            let later = node.health.next_probe_secs(policy);
            return self.after(f64::from(later), Event::Probe { node: number, life, put_off: true });
        }
        let probe = node.probe(now, &mut self.random);
        node.health.probe(policy, probe);
        let next = node.health.next_probe_secs(policy);
        self.after(f64::from(next), Event::Probe { node: number, life, put_off: false });
        self.drain_if_suspected(number);
    }

    /// Takes a node out of service, and has judged again what it judged since it began.
    pub(super) fn drain_if_suspected(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        if !self.scenario.guarded || node.drained || !node.admitted {
            return;
        }
        let Some(since) = node.health.doubted_since() else { return };
        (node.drained, node.admitted) = (true, false);
        let judged = std::mem::take(&mut node.judged);
        match node.ailment.filter(|ailment| ailment.from <= self.now) {
            Some(ailment) => {
                let jobs = judged.iter().filter(|(at, _)| *at >= ailment.from).count() as u32;
                let percent = (100.0 * (ailment.factor - 1.0)).round() as u32;
                let found = self.counts.found.entry(percent).or_default();
                found.push((self.now.secs_since(ailment.from), jobs));
            }
            None => self.counts.false_alarms += 1,
        }
        if !node.given_up {
            self.pools[node.pool].active -= 1;
        }
        for (_, sub) in judged.iter().filter(|(at, _)| *at >= since) {
            self.rejudge(*sub);
        }
        self.after(CARE, Event::Return(number));
    }

    fn rejudge(&mut self, number: u32) {
        let sub = &mut self.subs[number as usize];
        // One that is being judged anyway is not finished, or is judged again already.
        if sub.finals < sub.rounds {
            return;
        }
        sub.rounds += 1;
        (sub.stage, sub.urgency, sub.why) = (Stage::Usual, Urgency::Rejudge, None);
        self.open += 1;
        self.counts.rejudged += 1;
        self.line_up(number, Vec::new());
    }
}
