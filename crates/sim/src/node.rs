//! A simulated machine: how long programs take on it, and what its probes read.

use fleet::{Health, HealthPolicy, Probe, Statement, Timestamp};
use model::{Charge, Confidence, IndexGroup, IndexPart, Nanos, Verdict};
use settle::{Decision, Policy, Spread, Step, Timed, settle, stop_at};
use stats::Random;

/// The time limit of every simulated test.
pub(super) const LIMIT: Nanos = Nanos::from_secs(2);
/// Runs in which something disturbs, strict and relaxed; evidence tells.
const DISTURBED: [f64; 2] = [0.01, 0.05];

/// Parts a probe reads, with made-up values.
pub(super) const PARTS: [(IndexPart, f64); 4] = [
    (IndexPart::Rounds, 374.0),
    (IndexPart::Clock, 3.0),
    (IndexPart::Dram, 90.0),
    (IndexPart::Syscall, 120.0),
];

/// A machine that becomes slower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ailment {
    pub(super) from: Timestamp,
    /// How many times as long programs take in the end.
    pub(super) factor: f64,
    /// Seconds until then.
    pub(super) within: f64,
    /// Which parts of the index ail.
    pub(super) group: IndexGroup,
}

/// What running a program came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    pub(super) verdict: Verdict,
    pub(super) time: Nanos,
    pub(super) confidence: Confidence,
    pub(super) disturbed: bool,
    /// The node was under suspicion.
    pub(super) doubted: bool,
    /// How long it took, in seconds.
    pub(super) seconds: f64,
}

/// A program, as far as it matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// The least time of its slowest test on a nominal machine of its contest's pool, over the limit.
    pub(super) ratio: f64,
    /// What is wrong with it apart from time.
    pub(super) wrong: Option<Verdict>,
    /// Seconds that all else takes.
    pub(super) rest: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) statement: Statement,
    pub(super) pool: usize,
    /// How many times as long programs take as on a nominal machine.
    pub(super) cost: f64,
    pub(super) strict: bool,
    pub(super) ailment: Option<Ailment>,
    /// The same after it was mended.
    pub(super) planned: Option<Ailment>,
    pub(super) health: Health,
    /// Which start of it this is.
    pub(super) boot: u32,
    pub(super) up: bool,
    /// No message gets through until then.
    pub(super) cut_until: Timestamp,
    pub(super) admitted: bool,
    /// Suspected: it ends what it has and gets no more.
    pub(super) drained: bool,
    /// The service has given it up, or was told that it is gone.
    pub(super) given_up: bool,
    /// Jobs that were handed to it while it could not be reached: it does not know of them.
    pub(super) unheard: Vec<u32>,
    /// Jobs it has, by the service's books.
    pub(super) holds: Vec<u32>,
    /// Its entries in the list of idle slots.
    pub(super) listed: u32,
    /// What it judged: when, and which.
    pub(super) judged: Vec<(Timestamp, u32)>,
}

impl Node {
    pub(super) fn healthy(statement: Statement, pool: usize, cost: f64, strict: bool) -> Node {
        Node {
            statement,
            pool,
            cost,
            strict,
            ailment: None,
            planned: None,
            health: Health::new(Timestamp(0)),
            boot: 0,
            up: true,
            cut_until: Timestamp(0),
            admitted: false,
            drained: false,
            given_up: false,
            unheard: Vec::new(),
            holds: Vec::new(),
            listed: 0,
            judged: Vec::new(),
        }
    }

    /// That of nodes like this.
    pub(super) fn policy<'a>(&self, policies: &'a [HealthPolicy; 2]) -> &'a HealthPolicy {
        &policies[usize::from(!self.strict)]
    }

    pub(super) fn reachable(&self, now: Timestamp) -> bool {
        self.up && self.cut_until <= now
    }

    /// How many times as long programs take through its ailment.
    pub(super) fn slowed(&self, now: Timestamp) -> f64 {
        let Some(ailment) = &self.ailment else { return 1.0 };
        let passed = now.secs_since(ailment.from);
        match passed {
            p if p < 0.0 => 1.0,
            p if p >= ailment.within => ailment.factor,
            p => 1.0 + (ailment.factor - 1.0) * p / ailment.within,
        }
    }

    /// How far runs vary on it, as its slots' floor says.
    pub(super) fn spread(&self) -> Spread {
        let of = if self.strict { 0.01 } else { 0.03 };
        Spread { median_excess: of, tail_scale: of }
    }

    /// Judges a program by the settle rule.
    pub(super) fn judge(
        &self,
        program: &Program,
        now: Timestamp,
        policy: &HealthPolicy,
        random: &mut Random,
    ) -> Ran {
        let doubted = self.health.is_watched(policy) || self.health.is_suspected();
        let cost = self.cost * self.slowed(now);
        let ran = Ran {
            verdict: program.wrong.unwrap_or(Verdict::Accepted),
            time: LIMIT.scale(program.ratio * cost),
            confidence: Confidence::Clear,
            disturbed: false,
            doubted,
            seconds: program.rest * cost,
        };
        if program.wrong == Some(Verdict::CompileError) {
            return Ran { time: Nanos::ZERO, seconds: 1.0, ..ran };
        }
        let (spread, least) = (self.spread(), ran.time);
        let stop = stop_at(LIMIT, spread, &Policy::PUBLISHED);
        let (mut runs, mut spent, mut disturbed) = (Vec::with_capacity(4), 0.0, false);
        let Decision { passes, confidence, charge, .. } = loop {
            let one = run(least, stop, spread, DISTURBED[usize::from(!self.strict)], random);
            spent += one.charge.as_time().as_secs_f64();
            disturbed |= one.disturbed;
            runs.push(one);
            match settle(Charge::cpu(LIMIT), spread, &Policy::PUBLISHED, &runs) {
                Step::Again => {}
                Step::Decided(decision) => break decision,
            }
        };
        let verdict = if passes { ran.verdict } else { Verdict::TimeLimit };
        Ran { verdict, time: charge.as_time(), confidence, disturbed, seconds: ran.seconds + spent, ..ran }
    }

    /// A probe of its index. What ails shows in its group; programs wait for memory, or compute.
    pub(super) fn probe(&self, now: Timestamp, random: &mut Random) -> Probe {
        let noise = if self.strict { 0.003 } else { 0.01 };
        let slowed = self.slowed(now);
        let parts = PARTS.map(|(part, usual)| {
            let ails = self.ailment.is_some_and(|ailment| ailment.group == part.group());
            let cost = self.cost * if ails { slowed } else { 1.0 } * (noise * random.normal()).exp();
            (part, if part.more_is_better() { usual / cost } else { usual * cost })
        });
        Probe { at: now, parts: parts.to_vec() }
    }
}

/// One run: half of all lie between the least time and the median, the others vary above it as the settle rule takes it;
/// a disturbed one three times as far, of which its evidence explains about as much as it was.
fn run(least: Nanos, stop: Nanos, spread: Spread, disturbed: f64, random: &mut Random) -> Timed {
    let disturbed = random.unit() < disturbed;
    let median = 1.0 + spread.median_excess;
    let quiet = match random.unit() < 0.5 {
        true => 1.0 + spread.median_excess * random.unit(),
        false => median * (1.0 + spread.tail_scale * random.exponential()),
    };
    let more = if disturbed { 3.0 * spread.tail_scale * random.exponential() } else { 0.0 };
    let charge = Charge::cpu(least.scale(quiet + more).min(stop));
    Timed { charge, disturbed, explained: least.scale(more * (0.5 + random.unit())), slow: false }
}
