//! One core: it follows a thread from block to block.
//!
//! What is under way when a block is entered ([`Flow`]) comes back in every loop, so what follows from it is kept: a *state* is a
//! block with what is under way when it is entered, and leads to others. Only what has not been seen is computed; the result
//! is the same as if all were.

use super::block::{Block, End, Site};
use super::branch::Predictor;
use super::flow::{Flow, Late};
use super::memory::{Memory, Miss};
use super::mixer::Mixer;
use super::{cycles, nanoseconds};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The kernel's work for a system call.
const SYSTEM_CALL: u32 = nanoseconds(150);
/// States that are kept at one time.
const STATES: usize = 1 << 16;
/// Transitions that are kept beside those in the states.
const OTHERS: usize = 1 << 14;
/// After so many states in a row that were not known, nothing is likely to come back soon.
const FUTILE: u32 = 32;
/// Blocks that are followed without looking for a state then; more each time.
const PAUSE: u32 = 32;
const LONGEST_PAUSE: u32 = 4096;
/// No state: what is under way is held by itself.
const NONE: u32 = u32::MAX;

/// Where a state leads when a block is entered.
#[derive(Clone, Copy, Default)]
struct Next {
    /// Twice the number of the block, and 1 if that was guessed right; 0: none.
    block: u32,
    state: u32,
    ticks: u32,
}

/// Transitions of a state: the two that were computed last.
#[derive(Clone, Copy, Default)]
struct State {
    next: [Next; 2],
}

/// What can happen in a state.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Event {
    /// Steps of late loads, and how late they were; 0: none.
    late: u64,
    from: u32,
    /// As in [`Next`].
    next: u32,
}

impl Event {
    fn place(self) -> usize {
        let words = self.late ^ u64::from(self.from) << 32 ^ u64::from(self.next);
        (words.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize % OTHERS
    }
}

/// Where any state leads.
#[derive(Clone, Copy, Default)]
struct Other {
    event: Event,
    to: u32,
    ticks: u32,
}

/// A block of which it is not known how long it took: whether what follows was guessed right.
pub(crate) struct Unknown {
    block: &'static Block,
    right: bool,
}

/// One core.
pub(crate) struct Core {
    /// Time of issue, in ticks since its start.
    now: u64,
    current: Option<&'static Block>,
    /// The state, or [`NONE`].
    state: u32,
    /// Whether the next block cannot simply be looked up: there is no state, or a load was late.
    unusual: bool,
    /// What is under way, where there is no state.
    flow: Flow,
    /// Blocks until a state is looked for again, and how many it will be next time.
    rest: u32,
    pause: u32,
    /// States in a row that had not been seen before.
    new_states: u32,
    late: Vec<Late>,
    stall: u32,
    states: Vec<State>,
    flows: Vec<Flow>,
    known: HashMap<(u32, Flow), u32, BuildHasherDefault<Mixer>>,
    /// States of blocks that are entered when nothing is under way, and 1.
    still: Vec<u32>,
    others: Vec<Other>,
    memory: Memory,
    predictor: Predictor,
}

impl Core {
    pub(crate) fn new() -> Core {
        Core {
            now: 0,
            current: None,
            state: NONE,
            unusual: true,
            flow: Flow::default(),
            rest: 0,
            pause: PAUSE,
            new_states: 0,
            late: Vec::new(),
            stall: 0,
            states: Vec::new(),
            flows: Vec::new(),
            known: HashMap::default(),
            still: Vec::new(),
            others: vec![Other::default(); OTHERS],
            memory: Memory::new(),
            predictor: Predictor::new(),
        }
    }

    /// A block is entered, so the one before it is done: how many ticks that took, if it is known; else
    /// [`Core::compute`] finds out.
    #[inline(always)]
    pub(crate) fn enter(&mut self, next: &'static Block) -> Result<u64, Unknown> {
        let Some(block) = self.current.replace(next) else { return Ok(0) };
        let right = match block.end {
            End::Known => true,
            End::Conditional(not_taken) => self.predictor.conditional(block.key, next.start != not_taken),
            End::Indirect => self.predictor.indirect(block.key, next.start),
        };
        let unknown = Unknown { block, right };
        if !right || self.unusual {
            return Err(unknown);
        }
        let Some(state) = self.states.get(self.state as usize) else { return Err(unknown) };
        let wanted = next.number << 1 | 1;
        for known in &state.next {
            if known.block == wanted {
                self.state = known.state;
                self.now += u64::from(known.ticks);
                return Ok(u64::from(known.ticks));
            }
        }
        Err(unknown)
    }

    /// The ticks that the block before took.
    #[inline(never)]
    pub(crate) fn compute(&mut self, next: &'static Block, unknown: Unknown) -> u64 {
        let Unknown { block, right } = unknown;
        let event = if self.state == NONE { None } else { self.event(next, right) };
        if let Some(event) = event {
            let other = &self.others[event.place()];
            if other.event == event {
                let ticks = u64::from(other.ticks);
                self.state = other.to;
                self.now += ticks;
                self.late.clear();
                self.unusual = false;
                return ticks;
            }
        }
        if let Some(flow) = self.flows.get(self.state as usize) {
            self.flow.clone_from(flow);
        }
        let from = self.state;
        let ticks = self.follow(block, right);
        let room = self.states.len() < STATES;
        self.state = if self.flow.is_still() {
            self.still_state(next)
        } else if self.rest > 0 {
            self.rest -= 1;
            NONE
        } else {
            self.state_of(next)
        };
        self.unusual = self.state == NONE;
        if let (Some(event), true) = (event, room && !self.unusual) {
            self.others[event.place()] = Other { event, to: self.state, ticks };
            if right && event.late == 0 {
                let state = &mut self.states[from as usize];
                state.next = [Next { block: event.next, state: self.state, ticks }, state.next[0]];
            }
        }
        u64::from(ticks)
    }

    /// Follows the block before, whose loads and successor are known now.
    fn follow(&mut self, block: &Block, right: bool) -> u32 {
        let stall = std::mem::take(&mut self.stall);
        let ticks = if right && self.late.is_empty() {
            self.flow.pass(block, stall)
        } else {
            self.flow.walk(block, &self.late, stall, right)
        };
        self.late.clear();
        self.now += u64::from(ticks);
        ticks
    }

    /// What happened in the block before, if few words can tell it.
    fn event(&self, next: &Block, right: bool) -> Option<Event> {
        let mut late = 0;
        for Late { step, ticks } in &self.late {
            if late >> 42 != 0 || *step >= 1 << 7 || *ticks >= 1 << 14 {
                return None;
            }
            late = late << 21 | u64::from(*step) << 14 | u64::from(*ticks);
        }
        (self.stall == 0).then_some(Event {
            late,
            from: self.state,
            next: next.number << 1 | u32::from(right),
        })
    }

    fn still_state(&mut self, next: &Block) -> u32 {
        let at = next.number as usize;
        if self.still.len() <= at {
            self.still.resize(2 * at + 1, 0);
        }
        if self.still[at] == 0 {
            self.still[at] = self.add_state() + 1;
        }
        self.still[at] - 1
    }

    fn state_of(&mut self, next: &Block) -> u32 {
        let key = (next.number, self.flow.clone());
        if let Some(state) = self.known.get(&key) {
            (self.new_states, self.pause) = (0, PAUSE);
            return *state;
        }
        self.new_states += 1;
        if self.new_states >= FUTILE {
            self.new_states = 0;
            self.rest = self.pause;
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        }
        let state = self.add_state();
        self.known.insert(key, state);
        state
    }

    fn add_state(&mut self) -> u32 {
        if self.states.len() >= STATES {
            self.states.clear();
            self.flows.clear();
            self.known.clear();
            self.still.fill(0);
            self.others.fill(Other::default());
        }
        self.states.push(State::default());
        self.flows.push(self.flow.clone());
        (self.states.len() - 1) as u32
    }

    /// An access to memory of the current block.
    #[inline]
    pub(crate) fn access(&mut self, address: u64, site: Site) {
        if !self.memory.is_hit(address) {
            self.look(address, site);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, address: u64, site: Site) {
        let Some(Miss { late, stall }) = self.memory.access(address, site.id, self.now) else { return };
        self.stall += stall;
        if !site.store {
            self.late.push(Late { step: site.step, ticks: late });
        }
        self.unusual |= !site.store || stall > 0;
    }

    /// A system call has returned: what it gave, by its number and arguments.
    pub(crate) fn system_call(&mut self, number: i64, arguments: [u64; 2], result: i64) {
        self.stall += SYSTEM_CALL;
        self.unusual = true;
        match number {
            libc::SYS_munmap | libc::SYS_madvise => self.memory.forget(arguments[0], arguments[1]),
            libc::SYS_mmap if result > 0 => self.memory.forget(result as u64, arguments[1]),
            libc::SYS_read | libc::SYS_write if result > 0 => {
                self.stall += cycles((result as u32).div_ceil(16))
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_changes_nothing() {
        // table[(x ^ *p++) & 255] ^ x >> 8, and a loop of multiplications, as blocks that follow themselves.
        let code: &[&[u8]] = &[
            &[0x48, 0x0f, 0xaf, 0xc3],
            &[0x0f, 0xb6, 0x16],
            &[0x31, 0xc2],
            &[0x33, 0x04, 0x97],
            &[0x48, 0x83, 0xc6, 0x01],
            &[0x48, 0x39, 0xce],
            &[0x75, 0xea],
        ];
        let block: &'static Block = Box::leak(Box::new(Block::decode(1, 0x1000, code)));
        let other: &'static Block = Box::leak(Box::new(Block::decode(2, 0x2000, &code[2..])));
        let run = |forget: bool| {
            let mut core = Core::new();
            let mut times = Vec::new();
            for n in 0..3000u32 {
                if forget && core.state != NONE {
                    core.flow = core.flows[core.state as usize].clone();
                    core.state = NONE;
                    core.unusual = true;
                }
                core.rest = if forget { 10 } else { core.rest };
                let next = if n % 7 < 5 { block } else { other };
                times.push(match core.enter(next) {
                    Ok(ticks) => ticks,
                    Err(unknown) => core.compute(next, unknown),
                });
                if n % 11 == 3 {
                    core.late.push(Late { step: 1, ticks: 160 });
                    core.unusual = true;
                }
            }
            times
        };
        assert_eq!(run(false), run(true));
    }
}
