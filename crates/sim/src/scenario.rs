//! What is simulated: sizes, rates and mishaps.

use serde::Serialize;

/// A scenario. Shares are 0 to 1, times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Everything made up comes from it.
    pub seed: u64,
    /// Nodes in all.
    pub nodes: u32,
    /// Pools in all, of nodes in equal numbers.
    pub pools: u32,
    /// How many of them are relaxed.
    pub relaxed_pools: u32,
    /// Slots of a node.
    pub slots: u32,
    /// For how long submissions come.
    pub seconds: u32,
    /// How many come.
    pub submissions: u32,
    /// Contests bound to each strict pool: by turns strict, relaxed-then-strict, and relaxed.
    pub contests_per_pool: u32,
    /// Authors of each contest, of whom all submit equally often.
    pub teams: u32,
    /// Time of a job besides the test that decides about its time.
    pub job_seconds: f64,
    /// Seconds after which a node that is not heard of is given up, and its jobs come back.
    pub lease: u32,
    /// One way of a message: most of the time between half and twice this, in milliseconds.
    pub latency_ms: f64,
    /// Messages that are lost, and sent again after a second.
    pub lost_messages: f64,
    /// Nodes that die while submissions come, and start again ten minutes later.
    pub deaths: f64,
    /// Cuts of the network, each of half a pool for five minutes.
    pub cuts: u32,
    /// Nodes that become slower at some time: by 2, 5, 20 and 100 % at once, and by 10 % within an hour.
    pub ailing: f64,
    /// Nodes that are not as they should be when they ask for admission.
    pub odd: f64,
    /// Cross-checks and draining are on.
    pub guarded: bool,
}

impl Scenario {
    /// 10,000 nodes in 50 pools, and a burst as at the end of world finals.
    pub fn big() -> Scenario {
        Scenario {
            seed: 1,
            nodes: 10_000,
            pools: 50,
            relaxed_pools: 10,
            slots: 2,
            seconds: 5 * 3600,
            submissions: 1_500_000,
            contests_per_pool: 3,
            teams: 100,
            job_seconds: 20.0,
            lease: 30,
            latency_ms: 2.0,
            lost_messages: 1e-4,
            deaths: 0.02,
            cuts: 20,
            ailing: 0.02,
            odd: 0.01,
            guarded: true,
        }
    }

    /// The same with so many nodes, and all else in proportion.
    pub fn of_nodes(nodes: u32) -> Scenario {
        let big = Scenario::big();
        let part = |n: u32| (u64::from(n) * u64::from(nodes) / u64::from(big.nodes)) as u32;
        let pools = part(big.pools).max(2);
        Scenario {
            nodes: nodes.max(2 * pools),
            pools,
            relaxed_pools: part(big.relaxed_pools).max(1),
            submissions: part(big.submissions).max(1),
            cuts: part(big.cuts).max(1),
            ..big
        }
    }

    /// Why it cannot be played; `None`: it can.
    pub fn fault(&self) -> Option<String> {
        if self.pools < 2 || self.relaxed_pools == 0 || self.relaxed_pools >= self.pools {
            return Some("a fleet needs a strict and a relaxed pool".into());
        }
        if self.nodes < 2 * self.pools || self.slots == 0 {
            return Some(format!("{} pools need {} nodes with a slot at least", self.pools, 2 * self.pools));
        }
        (self.seconds == 0 || self.submissions == 0)
            .then(|| "nothing happens without time and submissions".into())
    }
}
