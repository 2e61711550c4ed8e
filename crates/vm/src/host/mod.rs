//! On the host: starting machines, speaking with them, and the runner that the engine sees.

mod accelerator;
mod keeper;
mod live;
mod runner;

pub use accelerator::{KEPT, expected};
pub use keeper::{KEEPER, keeper_main, qemu_main};
pub use runner::Machine;

use crate::{Parts, Shares};
use keeper::Order;
use model::{Accelerator, Bytes};
use std::path::PathBuf;

/// What a slot's machines are like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What they are made from.
    pub parts: Parts,
    /// What computes; `None`: the processor where it works, else software.
    pub accelerator: Option<Accelerator>,
    /// Memory of each.
    pub memory: Bytes,
    /// CPUs of the slot, one for each of the guest's but its first; empty: two of the guest's, bound to nothing.
    pub cpus: Vec<u32>,
    /// Where the guest's first CPU and QEMU's other threads stay; empty: anywhere.
    pub housekeeping: Vec<u32>,
    /// The memory node.
    pub node: Option<u32>,
    /// What of the host is shown to it.
    pub shares: Shares,
    /// A directory in which is kept whether the processor's way works here.
    pub cache: Option<PathBuf>,
    /// The next machine is booted as soon as one is thrown away; else when it is needed.
    pub ahead: bool,
}

impl Settings {
    /// CPUs of a guest that are for runs.
    fn cpus_for_runs(&self) -> u32 {
        self.cpus.len().max(1) as u32
    }

    fn order(&self, accelerator: Accelerator) -> Order {
        let pinned = |cpus: &Vec<u32>| cpus.iter().map(|cpu| vec![*cpu]).collect::<Vec<_>>();
        let pins = match self.cpus.is_empty() {
            true => vec![Vec::new(); 2],
            false => [vec![self.housekeeping.clone()], pinned(&self.cpus)].concat(),
        };
        Order {
            parts: self.parts.clone(),
            accelerator,
            memory: self.memory,
            pins,
            housekeeping: self.housekeeping.clone(),
            node: self.node,
            shares: self.shares.clone(),
        }
    }
}
