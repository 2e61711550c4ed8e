//! Perturbations: a program disturbed on purpose, each trial beside its own controls.

use crate::{BenchEnd, BenchRun, Limits, Reading};
use serde::{Deserialize, Serialize};

/// A way to disturb a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perturbation {
    /// A busy thread on the very CPU the program is bound to.
    SameCpuLoad,
    /// Reads all over the last-level cache.
    CacheLoad,
    /// A busy real-time thread of the program's own priority on its CPU.
    RtLoad,
    /// Somebody lowers the frequency.
    Frequency,
    /// Memory is read and written from the other CPUs.
    MemoryLoad,
    /// A busy thread on the other hyper-thread of the core.
    SiblingLoad,
    /// Interrupts on the program's CPU.
    InterruptLoad,
    /// The page cache is emptied before the run.
    PageCacheDrop,
}

impl Perturbation {
    /// In the order in which they are told.
    pub const ALL: [Perturbation; 8] = [
        Perturbation::SameCpuLoad,
        Perturbation::CacheLoad,
        Perturbation::RtLoad,
        Perturbation::Frequency,
        Perturbation::MemoryLoad,
        Perturbation::SiblingLoad,
        Perturbation::InterruptLoad,
        Perturbation::PageCacheDrop,
    ];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Perturbation::SameCpuLoad => "same_cpu_load",
            Perturbation::CacheLoad => "cache_load",
            Perturbation::RtLoad => "rt_load",
            Perturbation::Frequency => "frequency",
            Perturbation::MemoryLoad => "memory_load",
            Perturbation::SiblingLoad => "sibling_load",
            Perturbation::InterruptLoad => "interrupt_load",
            Perturbation::PageCacheDrop => "page_cache_drop",
        }
    }

    /// What a performance engineer's notebook says of it: the effect on CPU time.
    pub fn published(self) -> Option<&'static str> {
        match self {
            Perturbation::SameCpuLoad => Some("10 %"),
            Perturbation::CacheLoad => Some("20 %"),
            Perturbation::RtLoad => Some("none"),
            Perturbation::Frequency => Some("proportional"),
            _ => None,
        }
    }
}

/// What a perturbation did to one clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Disturbed over undisturbed less one, in percent.
    pub pct: f64,
    /// Where the truth lies in 19 of 20 such experiments.
    pub ci95: Reading<[f64; 2]>,
    /// 0 lies outside of that.
    pub found: Reading<bool>,
    /// The smallest effect that would have been found in 80 % of such experiments.
    pub detectable_pct: Reading<f64>,
}

/// One run of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct PerturbRun {
    /// Which pair it is of, from 1.
    pub pair: usize,
    /// It was disturbed; else it is the control.
    pub disturbed: bool,
    /// What was seen.
    pub run: BenchRun,
}

/// A perturbation and what it did.
#[derive(Clone, Debug, PartialEq)]
pub struct PerturbTrial {
    /// Which.
    pub perturbation: Perturbation,
    /// What it is on this machine, in words; why it cannot be had, where it cannot.
    pub made: Result<String, String>,
    /// Pairs that are complete.
    pub pairs: usize,
    /// On CPU time.
    pub cpu: Reading<Effect>,
    /// On wall time.
    pub wall: Reading<Effect>,
    /// On instructions in user space.
    pub instructions: Reading<Effect>,
    /// Every run, in the order of their pairs.
    pub runs: Vec<PerturbRun>,
}

/// What disturbs a program, and by how much.
#[derive(Clone, Debug, PartialEq)]
pub struct PerturbReport {
    /// The program as it was typed.
    pub command: String,
    /// Each of them.
    pub trials: Vec<PerturbTrial>,
    /// What to know about how it was done on this machine, a sentence each.
    pub notes: Vec<String>,
    /// Limits of each run.
    pub limits: Limits,
    /// How it ended.
    pub end: BenchEnd,
    /// The machine, in words: name and value.
    pub machine: Vec<(String, String)>,
}
