//! Readiness of results between blocks, and how a block changes it.

use super::block::{Block, DONE, LANES, Lanes, PLACES, Step, WIDTH, follow};
use super::{TICKS, cycles};
use std::hash::{Hash, Hasher};

/// Instructions that may be under way: issue waits for the oldest.
const WINDOW: usize = 448;
/// They are counted by fours, which is near enough, and followed in groups of so many fours.
const FOUR: u32 = 4;
const GROUP: u16 = 16;
const GROUPS: usize = WINDOW / (FOUR as usize * GROUP as usize);
/// From the end of a branch that was guessed wrong until the right instructions are issued.
const REFILL: i32 = cycles(13) as i32;

/// Results are never later than so much: issue waits instead. Longer chains of misses fill the window in any case.
const LATEST: i32 = cycles(1000) as i32;

/// A group that leaves by then cannot hold up issue: it takes so long to issue those that fit into the window after it.
const SOON: [i16; GROUPS] = {
    let mut soon = [0; GROUPS];
    let mut n = 0;
    while n < GROUPS {
        soon[n] = (n as u32 * GROUP as u32 * FOUR * TICKS / WIDTH) as i16;
        n += 1;
    }
    soon
};

/// What is under way at a moment: all times in ticks after it, 0 for what is past.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Flow {
    /// When each lane is ready.
    ready: Lanes,
    /// When all of each group of instructions have left, oldest first; they leave in the order of the program.
    groups: [i16; GROUPS],
    /// When the last result so far is ready.
    done: i16,
    /// Fours of slots issued of the group that is being filled.
    fours: u16,
    /// Ticks since the last whole cycle: instructions start at whole cycles.
    phase: i16,
}

impl Hash for Flow {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut words = [0; (LANES + GROUPS + 3).div_ceil(4)];
        let rest = self
            .groups
            .iter()
            .chain([&self.done])
            .map(|at| *at as u16)
            .chain([self.fours, self.phase as u16]);
        for (n, at) in self.ready.iter().map(|at| *at as u16).chain(rest).enumerate() {
            words[n / 4] |= u64::from(at) << (16 * (n % 4));
        }
        words.iter().for_each(|word| hasher.write_u64(*word));
    }
}

/// A load that is late, by instruction of its block.
#[derive(Clone, Copy)]
pub(super) struct Late {
    pub(super) step: u16,
    pub(super) ticks: u32,
}

/// The next whole cycle: a time in ticks after a moment that is so many ticks after one.
#[inline]
fn whole(at: i16, phase: i16) -> i16 {
    let up = ((at + phase + TICKS as i16 - 1) & !(TICKS as i16 - 1)) - phase;
    // What is past stays so.
    if at > 0 { up } else { 0 }
}

impl Flow {
    /// Whether nothing is under way.
    pub(super) fn is_still(&self) -> bool {
        *self == Flow::default()
    }

    /// The usual way through a block: all its loads are in the first cache, and what follows was guessed right. Gives the ticks
    /// it takes.
    pub(super) fn pass(&mut self, block: &Block, stall: u32) -> u32 {
        let mut after = [0; LANES];
        for (n, at) in after.iter_mut().enumerate() {
            *at = self.ready[n].min(block.kept[n]).max(block.own[n]);
        }
        for (lane, path) in &block.paths {
            let from = self.ready[usize::from(*lane) % LANES];
            if from > 0 {
                for (at, path) in after.iter_mut().zip(path) {
                    *at = (*at).max(from.saturating_add(*path));
                }
            }
        }
        let phase = self.phase;
        after.iter_mut().for_each(|at| *at = whole(*at, phase));
        let done = i32::from(std::mem::take(&mut after[DONE]));
        self.ready = after;
        self.advance(block, block.ticks + stall, done)
    }

    /// Through a block step by step.
    pub(super) fn walk(&mut self, block: &Block, late: &[Late], stall: u32, right: bool) -> u32 {
        let mut ready = [0; PLACES];
        for (to, at) in ready.iter_mut().zip(&self.ready) {
            *to = i32::from(*at);
        }
        let extra = |step: &Step| late.iter().find(|l| l.step == step.line).map_or(0, |l| l.ticks as i32);
        let (done, last) = follow(&block.steps, &mut ready, |step| step.at, extra);
        let mut ticks = block.ticks + stall;
        if !right {
            ticks = ticks.max((last + REFILL).unsigned_abs());
        }
        // What is later than can be held is waited for here.
        let wait = (done - LATEST).max(0);
        for (at, from) in self.ready.iter_mut().zip(&ready) {
            *at = whole((*from - wait).clamp(0, LATEST) as i16, self.phase);
        }
        self.groups
            .iter_mut()
            .chain([&mut self.done])
            .for_each(|at| *at = (i32::from(*at) - wait).max(0) as i16);
        let wait = wait.unsigned_abs();
        wait + self.advance(block, ticks.saturating_sub(wait), (done - wait as i32).max(0))
    }

    /// Time goes on; the window may be full.
    #[inline]
    fn advance(&mut self, block: &Block, ticks: u32, done: i32) -> u32 {
        self.done = self.done.max(done as i16);
        self.fours += (block.slots.min(1024) / FOUR).max(1) as u16;
        let mut moved = ticks.max((done - LATEST).max(0).unsigned_abs());
        while self.fours >= GROUP {
            self.fours -= GROUP;
            moved = moved.max(u32::from(self.groups[0].unsigned_abs()));
            self.groups.copy_within(1.., 0);
            self.groups[GROUPS - 1] = self.done;
        }
        let by = i16::try_from(moved).unwrap_or(i16::MAX);
        let mut busy = 0;
        for at in &mut self.ready {
            *at = at.saturating_sub(by).max(0);
            busy |= *at;
        }
        self.phase =
            if busy == 0 { 0 } else { ((u32::from(self.phase.unsigned_abs()) + moved) % TICKS) as i16 };
        self.done = self.done.saturating_sub(by).max(0);
        if self.done <= SOON[GROUPS - 1] {
            // Issue alone takes longer to fill the window.
            (self.done, self.fours, self.groups) = (0, 0, [0; GROUPS]);
        } else {
            for (at, soon) in self.groups.iter_mut().zip(SOON) {
                *at = at.saturating_sub(by);
                *at = if *at <= soon { 0 } else { *at };
            }
        }
        moved
    }
}
