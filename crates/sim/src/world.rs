//! The simulated world: pools, nodes, contests, submissions, and the events between them.

use super::node::{Node, PARTS, Program, Ran};
use super::scenario::Scenario;
use crate::{Queue, Taken, Urgency};
use fleet::{
    Admission, CheckReason, Contest, CrossPolicy, HealthPolicy, NodeAnswer, PROTOCOL, Pool, PoolKind,
    STATEMENT_FORM, Stage, StatedIndex, StatedPart, Statement, Strictness, Timestamp, admit,
};
use model::{Isolation, Reading, Slot, Verdict};
use stats::Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// What happens at a moment.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A submission comes.
    Submit(u32),
    /// What a node found comes to the service; `boot` tells which start of it did the work.
    Deliver { node: u32, boot: u32, sub: u32, attempt: u32, ran: Ran },
    /// A node that was not heard of is given up, unless it was.
    GiveUp { node: u32, boot: u32 },
    /// A node dies.
    Die(u32),
    /// It starts again.
    Start(u32),
    /// Half of a pool is cut off.
    Cut(usize),
    /// A node can be reached again.
    Joined(u32),
    /// A node probes itself; `life` ends with its boot or admission.
    Probe { node: u32, life: u32, put_off: bool },
    /// Strict pools that help may look for relaxed work.
    Help,
    /// A drained node was looked after, and asks for admission.
    Return(u32),
}

/// A submission.
#[derive(Clone, Debug)]
pub(super) struct Sub {
    pub(super) contest: u32,
    /// Who of the contest.
    pub(super) author: u32,
    pub(super) program: Program,
    pub(super) came: Timestamp,
    pub(super) stage: Stage,
    pub(super) urgency: Urgency,
    /// How often it was handed to a node: what an older attempt found counts no more.
    pub(super) attempt: u32,
    pub(super) on: Option<u32>,
    pub(super) why: Option<CheckReason>,
    pub(super) answers: Vec<NodeAnswer>,
    pub(super) started: Option<Timestamp>,
    /// When its first verdict came, and that.
    pub(super) first: Option<(Timestamp, Verdict)>,
    pub(super) verdict: Option<Verdict>,
    /// How often judging it was asked for, and verdicts stored: equal in the end.
    pub(super) rounds: u32,
    pub(super) finals: u32,
}

impl Sub {
    pub(super) fn new(
        (contest, author): (u32, u32),
        program: Program,
        came: Timestamp,
        urgency: Urgency,
    ) -> Sub {
        Sub {
            contest,
            author,
            program,
            came,
            stage: Stage::Usual,
            urgency,
            attempt: 0,
            on: None,
            why: None,
            answers: Vec::new(),
            started: None,
            first: None,
            verdict: None,
            rounds: 1,
            finals: 0,
        }
    }
}

pub(super) struct SimPool {
    pub(super) pool: Pool,
    /// Idle slots, by node; those of nodes that are gone are passed over.
    pub(super) idle: VecDeque<u32>,
    /// Nodes that may be given work.
    pub(super) active: u32,
    pub(super) nodes: std::ops::Range<u32>,
}

/// The first of the contests: what is of none, which is judged anywhere.
pub(super) const PRACTICE: u32 = 0;

/// What is counted while it goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) outside_pool: u64,
    pub(super) doubled: u64,
    pub(super) too_late: u64,
    pub(super) repeated: u64,
    pub(super) redelivered: u64,
    pub(super) judgements: u64,
    pub(super) node_seconds: f64,
    /// Judgements and their seconds by why they were made; the first one of a submission is not among them.
    pub(super) checks: BTreeMap<&'static str, (u64, f64)>,
    pub(super) waits: BTreeMap<String, u64>,
    pub(super) rejudged: u64,
    pub(super) changed: u64,
    pub(super) false_alarms: u64,
    pub(super) charged_healthy: u64,
    /// By factor of the ailment in percent: seconds and judgements from its beginning until the node was drained.
    pub(super) found: BTreeMap<u32, Vec<(f64, u32)>>,
    pub(super) busy: f64,
    pub(super) events: u64,
    pub(super) confirm: (u64, u64),
}

type Timed = (Timestamp, u64);

pub(super) struct World {
    pub(super) scenario: Scenario,
    /// Of strict and relaxed pools.
    pub(super) health: [HealthPolicy; 2],
    pub(super) cross: CrossPolicy,
    pub(super) pools: Vec<SimPool>,
    pub(super) nodes: Vec<Node>,
    pub(super) contests: Vec<(Contest, usize)>,
    pub(super) subs: Vec<Sub>,
    pub(super) queue: Queue,
    /// What nodes have, by submission.
    pub(super) taken: HashMap<u32, Taken>,
    events: BinaryHeap<Reverse<(Timed, usize)>>,
    /// Events by place, and places that are free.
    stored: Vec<Option<Event>>,
    free: Vec<usize>,
    sequence: u64,
    pub(super) open: u32,
    pub(super) now: Timestamp,
    pub(super) random: Random,
    pub(super) counts: Counts,
    /// The relaxed pool that is offered work first.
    pub(super) turn: usize,
}

/// How long after the last submission a fleet may take.
const AFTERWARDS: i64 = 4 * 3600;

impl World {
    pub(super) fn new(scenario: &Scenario) -> World {
        let mut world = World {
            scenario: scenario.clone(),
            health: [PoolKind::Strict, PoolKind::Relaxed].map(HealthPolicy::published),
            cross: CrossPolicy::PUBLISHED,
            pools: Vec::new(),
            nodes: Vec::new(),
            contests: Vec::new(),
            subs: Vec::new(),
            queue: Queue::default(),
            taken: HashMap::new(),
            events: BinaryHeap::new(),
            stored: Vec::new(),
            free: Vec::new(),
            sequence: 0,
            open: 0,
            now: Timestamp(0),
            random: Random::new(scenario.seed),
            counts: Counts::default(),
            turn: 0,
        };
        world.make_pools();
        world.make_submissions();
        world.plan_mishaps();
        world
    }

    /// Something will happen.
    pub(super) fn at(&mut self, moment: Timestamp, event: Event) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.stored.push(None);
            self.stored.len() - 1
        });
        self.stored[place] = Some(event);
        self.sequence += 1;
        self.events.push(Reverse(((moment, self.sequence), place)));
    }

    pub(super) fn after(&mut self, seconds: f64, event: Event) {
        self.at(Timestamp(self.now.0 + (seconds * 1e6) as i64), event);
    }

    pub(super) fn play(&mut self) {
        let end = Timestamp(0).plus_secs(i64::from(self.scenario.seconds));
        while let Some(Reverse(((moment, _), place))) = self.events.pop() {
            let Some(event) = self.stored[place].take() else { continue };
            self.free.push(place);
            if moment > end && self.open == 0 || moment > end.plus_secs(AFTERWARDS) {
                break;
            }
            self.now = moment;
            self.counts.events += 1;
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Submit(sub) => self.submit(sub),
            Event::Deliver { node, boot, sub, attempt, ran } => self.deliver(node, boot, sub, attempt, ran),
            Event::GiveUp { node, boot } => self.give_up(node, boot),
            Event::Die(node) => self.die(node),
            Event::Start(node) => self.start(node),
            Event::Cut(pool) => self.cut(pool),
            Event::Joined(node) => self.joined(node),
            Event::Probe { node, life, put_off } => self.probe(node, life, put_off),
            Event::Help => self.help(),
            Event::Return(node) => self.ask_again(node),
        }
    }

    fn make_pools(&mut self) {
        let Scenario { nodes, pools, relaxed_pools, .. } = self.scenario;
        for n in 0..pools {
            let kind = if n < relaxed_pools { PoolKind::Relaxed } else { PoolKind::Strict };
            let helps_after_secs = (kind == PoolKind::Strict).then_some(60);
            let pool = Pool { name: format!("pool-{n}"), kind, helps_after_secs, definition: None };
            let range = n * nodes / pools..(n + 1) * nodes / pools;
            self.pools.push(SimPool { pool, idle: VecDeque::new(), active: 0, nodes: range.clone() });
            for node in range {
                let made = self.make_node(node, n as usize, kind);
                self.nodes.push(made);
                self.ask(node);
            }
        }
        let practice = Contest {
            name: "practice".into(),
            pool: "pool-0".into(),
            strictness: Strictness::Relaxed,
            at_once: None,
            second_opinion: None,
        };
        self.contests.push((practice, 0));
        for (at, n) in
            (relaxed_pools..pools).flat_map(|n| (0..self.scenario.contests_per_pool).map(move |at| (at, n)))
        {
            let strictness =
                [Strictness::Strict, Strictness::RelaxedThenStrict, Strictness::Relaxed][at as usize % 3];
            let contest = Contest {
                name: format!("c{n}-{at}"),
                pool: format!("pool-{n}"),
                strictness,
                at_once: None,
                second_opinion: None,
            };
            self.contests.push((contest, n as usize));
        }
    }

    /// Equal nodes differ by a fifth of a percent; in a cloud they cost up to 1.3 times as much, or 0.9 times.
    fn make_node(&mut self, number: u32, pool: usize, kind: PoolKind) -> Node {
        let strict = kind == PoolKind::Strict;
        let random = &mut self.random;
        let first = number == self.pools[pool].nodes.start;
        let mut cost = match strict {
            true => 1.0 + 0.002 * random.normal(),
            false => 0.9 + 0.4 * random.unit(),
        };
        let mut statement = statement(number, pool);
        if !first && strict && random.unit() < self.scenario.odd {
            match random.below(2) {
                0 => statement.microcode = Reading::Known("0x1".into()),
                _ => cost *= 1.05,
            }
        }
        measure(&mut statement, cost, random);
        let mut node = Node::healthy(statement, pool, cost, strict);
        // It has been a member for some hours already: its level is known.
        let policy = &self.health[usize::from(!strict)];
        let past = i64::from(policy.learn * policy.every);
        for n in 0..i64::from(policy.learn) {
            let at = Timestamp(0).plus_secs(n * i64::from(policy.every) - past);
            let probe = node.probe(at, &mut self.random);
            node.health.probe(policy, probe);
        }
        node
    }

    /// A node asks for admission.
    pub(super) fn ask(&mut self, number: u32) {
        let node = &self.nodes[number as usize];
        let place = node.pool;
        match admit(&self.pools[place].pool, &[], &node.statement) {
            Admission::Waits { reasons } => {
                reasons
                    .iter()
                    .for_each(|reason| *self.counts.waits.entry(reason.about.clone()).or_default() += 1);
                return;
            }
            Admission::Founds { definition, .. } => self.pools[place].pool.definition = Some(*definition),
            Admission::Admitted { .. } => {}
        }
        let node = &mut self.nodes[number as usize];
        (node.admitted, node.drained) = (true, false);
        self.pools[place].active += 1;
        self.list(number);
        let node = &self.nodes[number as usize];
        let life = node.boot;
        let every = node.health.next_probe_secs(node.policy(&self.health));
        let first = f64::from(every) * self.random.unit();
        self.after(first, Event::Probe { node: number, life, put_off: false });
    }

    /// Its free slots are idle.
    pub(super) fn list(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        let free = self.scenario.slots.saturating_sub(node.holds.len() as u32 + node.listed);
        node.listed += free;
        let idle = &mut self.pools[node.pool].idle;
        (0..free).for_each(|_| idle.push_back(number));
    }
}

pub(super) fn statement(number: u32, pool: usize) -> Statement {
    let known = |text: String| Reading::Known(text);
    let model = pool % 7;
    Statement {
        form: STATEMENT_FORM,
        node: format!("n{number}"),
        pool: format!("pool-{pool}"),
        version: "1.0.0".into(),
        protocol: PROTOCOL,
        at: Timestamp(0),
        boot_id: known(format!("{number}-0")),
        fingerprint: format!("{model:016x}"),
        kind: known("bare_metal".into()),
        cpu_model: known(format!("model {model}")),
        cpu_version: known(format!("6/{model}/1")),
        microcode: known("0x2".into()),
        topology: known("1 × 4 cores".into()),
        memory_bytes: Reading::Known(64 << 30),
        kernel: known("6.12".into()),
        mitigations: BTreeMap::new(),
        tuning: BTreeMap::new(),
        isolation: known("sandbox".into()),
        slots: vec![Slot {
            id: 0,
            cpus: vec![1],
            idle_siblings: vec![],
            mem_nodes: vec![0],
            package: 0,
            isolation: Isolation::Partition,
        }],
        index: None,
    }
}

/// Measures the index in full: its median repeats to a tenth of a percent.
pub(super) fn measure(statement: &mut Statement, cost: f64, random: &mut Random) {
    let parts = PARTS.map(|(part, usual)| {
        let cost = cost * (1.0 + 0.001 * random.normal());
        let value = if part.more_is_better() { usual / cost } else { usual * cost };
        StatedPart { part, value, repeatability_pct: 0.3 }
    });
    statement.index = Some(StatedIndex { taken_at: Timestamp(0), parts: parts.to_vec() });
}
