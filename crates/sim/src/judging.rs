//! What nodes found, and what it comes to.

use super::node::{LIMIT, Ran};
use super::world::World;
use fleet::{Agreed, CheckedJob, Destination, Next, NodeAnswer, Stage, Strictness, next, noise};

impl World {
    /// A result counts: it is stored, and decides, or asks for more.
    pub(super) fn accept(&mut self, number: u32, sub: u32, ran: Ran) {
        let answer = self.answer(number, sub, &ran);
        self.count(sub, &ran);
        let now = self.now;
        let node = &mut self.nodes[number as usize];
        let policy = node.policy(&self.health);
        node.health.judged(policy, now, ran.disturbed);
        node.judged.push((now, sub));
        let submission = &mut self.subs[sub as usize];
        submission.on = None;
        submission.answers.push(answer);
        self.queue.done(u64::from(submission.contest));
        self.taken.remove(&sub);
        self.decide(sub);
        self.drain_if_suspected(number);
    }

    fn answer(&self, number: u32, sub: u32, ran: &Ran) -> NodeAnswer {
        let node = &self.nodes[number as usize];
        let bound = self.contests[self.subs[sub as usize].contest as usize].1;
        let definition = self.pools[bound].pool.definition.as_ref();
        let index = node.statement.index.as_ref();
        let slower = || definition?.slower_at_most(&index?.parts);
        NodeAnswer {
            node: node.statement.node.clone(),
            // Of another pool than the contest's a strict node is as foreign as any.
            strict: node.pool == bound && node.strict,
            verdict: ran.verdict,
            time: ran.time,
            confidence: ran.confidence,
            noise: noise(node.spread()),
            // Or has been since it began.
            doubted: ran.doubted || node.drained || node.health.is_watched(node.policy(&self.health)),
            slower_at_most: if node.pool == bound { None } else { slower() },
        }
    }

    fn count(&mut self, sub: u32, ran: &Ran) {
        self.counts.judgements += 1;
        self.counts.node_seconds += ran.seconds;
        let submission = &self.subs[sub as usize];
        if submission.rounds == 1
            && let Some(why) = submission.why
        {
            let confirms =
                submission.stage == Stage::Confirm && !submission.answers.iter().any(|one| one.strict);
            let sum = self.counts.checks.entry(if confirms { "confirm" } else { why.name() }).or_default();
            *sum = (sum.0 + 1, sum.1 + ran.seconds);
        }
    }

    /// The next step by the answers so far.
    fn decide(&mut self, sub: u32) {
        let submission = &self.subs[sub as usize];
        let (contest, bound) = &self.contests[submission.contest as usize];
        let active = |pool: usize| self.pools[pool].active as usize;
        let own = submission.answers.iter().any(|answer| answer.strict);
        let all = match contest.place(submission.stage) {
            _ if own && contest.strictness != Strictness::Relaxed => active(*bound),
            Destination::Pool(_) => active(*bound),
            Destination::Anywhere => (0..self.scenario.relaxed_pools as usize).map(active).sum(),
        };
        let others = if self.scenario.guarded { all.saturating_sub(submission.answers.len()) } else { 0 };
        let job = sub.to_string();
        let asked = CheckedJob { job: &job, strictness: contest.strictness, limit: LIMIT, others };
        let confirmable =
            contest.strictness == Strictness::RelaxedThenStrict && submission.stage == Stage::Usual;
        if confirmable && submission.answers.len() == 1 && submission.rounds == 1 {
            self.counts.confirm.0 += 1;
        }
        let (not_on, why) = match next(&self.cross, &asked, &submission.answers) {
            Next::Final(agreed) => return self.finish(sub, &agreed),
            Next::NeedSecond { not_on, stage, why } | Next::NeedThird { not_on, stage, why } => {
                self.subs[sub as usize].stage = stage;
                (not_on, why)
            }
            Next::ConfirmStrict { why } => {
                let submission = &mut self.subs[sub as usize];
                submission.stage = Stage::Confirm;
                self.counts.confirm.1 += u64::from(submission.rounds == 1);
                (Vec::new(), why)
            }
        };
        self.subs[sub as usize].why = Some(why);
        self.line_up(sub, not_on);
    }

    fn finish(&mut self, sub: u32, agreed: &Agreed) {
        let submission = &mut self.subs[sub as usize];
        submission.finals += 1;
        if submission.finals > submission.rounds {
            self.counts.doubled += 1;
        }
        submission.first.get_or_insert((self.now, agreed.verdict));
        if submission.verdict.is_some_and(|before| before != agreed.verdict) {
            self.counts.changed += 1;
        }
        submission.verdict = Some(agreed.verdict);
        submission.answers = Vec::new();
        self.open -= 1;
        if !self.scenario.guarded {
            return;
        }
        for name in &agreed.compared {
            let charged = agreed.charged.iter().any(|charge| charge.node == *name);
            let Some(number) = name.strip_prefix('n').and_then(|number| number.parse::<u32>().ok()) else {
                continue;
            };
            let now = self.now;
            let node = &mut self.nodes[number as usize];
            let policy = node.policy(&self.health);
            node.health.checked(policy, now, charged);
            let well = node.slowed(now) == 1.0;
            self.counts.charged_healthy += u64::from(charged && well);
            self.drain_if_suspected(number);
        }
    }
}
