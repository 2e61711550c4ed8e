//! In which pools a job may be judged.

use crate::pool::{Pool, PoolKind};
use model::SecondOpinions;
use serde::{Deserialize, Serialize};

/// What a job's verdict on time must be based on. A property of the contest, and so of its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    /// Judged in the contest's own pool, never elsewhere.
    #[default]
    Strict,
    /// Judged anywhere.
    Relaxed,
    /// Judged anywhere, and again in the contest's own pool where it missed a limit or came near one; the latter counts.
    RelaxedThenStrict,
}

/// How a contest is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contest {
    /// Its name; no other contest has it.
    pub name: String,
    /// The pool it is bound to: what is strict is judged there.
    pub pool: String,
    /// What its verdicts are based on.
    #[serde(default)]
    pub strictness: Strictness,
    /// The most of its jobs that are judged at a time, 1 or more; `None`: no bound.
    #[serde(default)]
    pub at_once: Option<u32>,
    /// Which results the reference clock also judges; `None`: as the problem or the service states.
    #[serde(default)]
    pub second_opinion: Option<SecondOpinions>,
}

/// The nodes that a job waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// Nodes of this pool.
    Pool(String),
    /// Any node.
    Anywhere,
}

/// The stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The first judgement, or a check of it on another node.
    Usual,
    /// Confirmation on strict hardware.
    Confirm,
}

impl Contest {
    /// The nodes that a job of this contest waits for.
    pub fn place(&self, stage: Stage) -> Destination {
        match (self.strictness, stage) {
            (Strictness::Strict, _) | (Strictness::RelaxedThenStrict, Stage::Confirm) => {
                Destination::Pool(self.pool.clone())
            }
            (Strictness::Relaxed, _) | (Strictness::RelaxedThenStrict, Stage::Usual) => Destination::Anywhere,
        }
    }

    /// Why the contest cannot be judged with these pools; `None`: it can.
    pub fn fault(&self, pools: &[&Pool]) -> Option<String> {
        let Some(pool) = pools.iter().find(|pool| pool.name == self.pool) else {
            let known: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
            return Some(format!(
                "contest {}: no pool {}\nhint: the pools are: {}",
                self.name,
                self.pool,
                known.join(", ")
            ));
        };
        if self.strictness != Strictness::Relaxed && pool.kind != PoolKind::Strict {
            return Some(format!(
                "contest {}: pool {} is relaxed, and strict judging needs a strict one",
                self.name, self.pool
            ));
        }
        if self.at_once == Some(0) {
            return Some(format!("contest {}: at_once must be 1 at least, or left out", self.name));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(strictness: Strictness) -> Contest {
        Contest {
            name: "finals".into(),
            pool: "metal".into(),
            strictness,
            at_once: None,
            second_opinion: None,
        }
    }

    #[test]
    fn strictness_decides_the_place() {
        let metal = || Destination::Pool("metal".into());
        for (strictness, usual, confirm) in [
            (Strictness::Strict, metal(), metal()),
            (Strictness::Relaxed, Destination::Anywhere, Destination::Anywhere),
            (Strictness::RelaxedThenStrict, Destination::Anywhere, metal()),
        ] {
            let of = |stage| contest(strictness).place(stage);
            assert_eq!((of(Stage::Usual), of(Stage::Confirm)), (usual, confirm), "{strictness:?}");
        }
    }

    #[test]
    fn contests_are_bound_to_a_pool_that_can_judge_them() {
        let (metal, cloud) = (Pool::new("metal", PoolKind::Strict), Pool::new("cloud", PoolKind::Relaxed));
        let (metal, cloud) = (metal.unwrap(), cloud.unwrap());
        let pools = [&metal, &cloud];
        assert_eq!(contest(Strictness::Strict).fault(&pools), None);
        let bound = |pool: &str, strictness| Contest { pool: pool.into(), ..contest(strictness) };
        assert_eq!(bound("cloud", Strictness::Relaxed).fault(&pools), None);
        for (contest, told) in [
            (bound("iron", Strictness::Strict), "no pool iron\nhint: the pools are: metal, cloud"),
            (bound("cloud", Strictness::RelaxedThenStrict), "pool cloud is relaxed"),
            (Contest { at_once: Some(0), ..contest(Strictness::Strict) }, "at_once must be 1"),
        ] {
            let fault = contest.fault(&pools).unwrap();
            assert!(fault.contains(told), "{fault}");
        }
    }
}
