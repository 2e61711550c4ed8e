//! A block of code, decoded once: what entering it costs, and how results flow through it.

use super::TICKS;
use super::costs::{self, Unit, cost_of};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use std::collections::HashMap;

/// Registers whose readiness is followed from block to block: sixteen general ones, sixteen of vectors.
pub(crate) const LANES: usize = 32;
/// The lane of the stack pointer, which is always ready: here it tells when the last result of a block is.
pub(crate) const DONE: usize = 4;
/// The flags: followed within a block only, as compilers use them.
const FLAGS: usize = 32;
/// All places of results within a block.
pub(crate) const PLACES: usize = 33;
/// No path.
pub(crate) const NEVER: i16 = i16::MIN;
/// Instructions issued in a cycle.
pub(super) const WIDTH: u32 = 8;
/// Blocks that end with a branch: two in a cycle.
const BRANCH: u32 = TICKS / 2;
/// Bytes of a cache line; accesses this near to another by the same registers are taken to be in its line.
const LINE: i64 = 64;

/// Readiness of the lanes, in ticks after the time of issue.
pub(crate) type Lanes = [i16; LANES];

/// One instruction, for following a block step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Issued so many ticks after the block.
    pub(crate) at: i32,
    /// Places its address comes from.
    pub(crate) address: Box<[u8]>,
    /// Places its operands come from.
    pub(crate) sources: Box<[u8]>,
    /// Places of its results.
    pub(crate) results: Box<[u8]>,
    /// Time of its load, if it has one.
    pub(crate) load: i32,
    /// The step whose access is simulated for it: its own, or an earlier one to the same line.
    pub(crate) line: u16,
    /// From operands to results.
    pub(crate) latency: i32,
}

/// An access to memory that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// Which instruction of its block.
    pub(crate) step: u16,
    /// It writes and does not read.
    pub(crate) store: bool,
    /// Tells it from others.
    pub(crate) id: u32,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where it goes on is known before.
    Known,
    /// A conditional branch; this is the address when it is not taken.
    Conditional(u64),
    /// A jump or call through a register or memory.
    Indirect,
}

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// Tells it from others; from 1.
    pub(crate) number: u32,
    /// Its address.
    pub(crate) start: u64,
    /// What the branch predictor knows it by.
    pub(crate) key: u64,
    /// Instructions.
    pub(crate) instructions: u32,
    /// Slots of issue.
    pub(crate) slots: u32,
    /// Ticks that issuing it takes.
    pub(crate) ticks: u32,
    pub(crate) end: End,
    /// Lanes that it leaves alone pass, others do not: a minimum with the readiness before it.
    pub(crate) kept: Lanes,
    /// Readiness after it where nothing before it is waited for.
    pub(crate) own: Lanes,
    /// For each lane that it reads: how much later its results are than that.
    pub(crate) paths: Box<[(u8, Lanes)]>,
    pub(crate) steps: Box<[Step]>,
    /// Simulated accesses, by instruction.
    pub(crate) sites: Box<[Option<Site>]>,
}

impl Block {
    /// Decodes a block: its number, its address, and the bytes of each instruction.
    pub(crate) fn decode(number: u32, start: u64, instructions: &[&[u8]]) -> Block {
        let mut builder = Builder::new();
        let mut at = start;
        let mut last = Instruction::default();
        for bytes in instructions {
            let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
            last = decoder.decode();
            builder.add(&last);
            at += bytes.len() as u64;
        }
        builder.finish(number, start, end_of(&last, at))
    }
}

fn end_of(last: &Instruction, next: u64) -> End {
    match last.flow_control() {
        FlowControl::ConditionalBranch => End::Conditional(next),
        FlowControl::IndirectBranch | FlowControl::IndirectCall => End::Indirect,
        _ => End::Known,
    }
}

/// Places of a register; `None`: not followed, or always ready.
fn place(register: Register) -> Option<u8> {
    let full = register.full_register();
    if full.is_gpr() {
        let n = full.number();
        return (n != DONE).then_some(n as u8);
    }
    (register.is_vector_register() && full.number() < 16).then(|| 16 + full.number() as u8)
}

/// What tells addresses from each other: registers with how often each was written, and the scale.
type Address = (Register, u32, Register, u32, u32);

struct Builder {
    info: InstructionInfoFactory,
    steps: Vec<Step>,
    sites: Vec<Option<Site>>,
    slots: u32,
    /// Ticks that each kind of unit is busy.
    busy: HashMap<&'static str, u32>,
    written: [u32; 16],
    /// How far the stack pointer was moved by pushes and pops.
    pushed: i64,
    /// Displacements that are simulated.
    seen: HashMap<Address, Vec<(i64, u16)>>,
    fused: bool,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            info: InstructionInfoFactory::new(),
            steps: Vec::new(),
            sites: Vec::new(),
            slots: 0,
            busy: HashMap::new(),
            written: [0; 16],
            pushed: 0,
            seen: HashMap::new(),
            fused: false,
        }
    }

    fn keep_busy(&mut self, unit: &'static str, ticks: u32) {
        *self.busy.entry(unit).or_default() += ticks;
    }

    fn add(&mut self, instruction: &Instruction) {
        if instruction.is_string_instruction() && has_repeat(instruction) {
            return self.add_repeated(instruction);
        }
        let cost = cost_of(instruction);
        let conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
        // A comparison and the branch on it are one.
        let slots = if conditional && self.fused { 0 } else { cost.slots };
        self.fused = matches!(
            instruction.mnemonic(),
            Mnemonic::Cmp
                | Mnemonic::Test
                | Mnemonic::Sub
                | Mnemonic::Add
                | Mnemonic::And
                | Mnemonic::Dec
                | Mnemonic::Inc
        );
        let at = (self.slots * TICKS / WIDTH) as i32;
        self.slots += slots;
        match cost.unit {
            Unit::None => {}
            Unit::Alu => self.keep_busy("alu", cost.unit.ticks() * slots.min(1)),
            Unit::Multiply => self.keep_busy("multiply", cost.unit.ticks()),
            Unit::Vector => self.keep_busy("vector", cost.unit.ticks()),
            Unit::Float => {
                self.keep_busy("float", cost.unit.ticks());
                self.keep_busy("vector", TICKS / 4);
            }
            Unit::Busy(ticks) => self.keep_busy("busy", ticks),
        }
        let mut step = self.step(instruction, at, cost.latency as i32);
        let site = self.site(instruction, &mut step);
        self.note_writes(instruction);
        self.steps.push(step);
        self.sites.push(site);
    }

    /// A repeated string instruction: each element is a block of its own. Nothing waits for it but the memory it reads.
    fn add_repeated(&mut self, instruction: &Instruction) {
        let at = (self.slots * TICKS / WIDTH) as i32;
        self.keep_busy("busy", costs::element(instruction));
        let nothing: Box<[u8]> = Box::default();
        let mut step = Step {
            at,
            address: nothing.clone(),
            sources: nothing.clone(),
            results: nothing,
            load: 0,
            line: u16::MAX,
            latency: 0,
        };
        let site = self.site(instruction, &mut step);
        self.note_writes(instruction);
        self.steps.push(step);
        self.sites.push(site);
    }

    /// What the instruction waits for, and what for it.
    fn step(&mut self, instruction: &Instruction, at: i32, latency: i32) -> Step {
        let idiom = is_zeroing(instruction);
        let info = self.info.info(instruction);
        let mut address = Vec::new();
        let (mut sources, mut results) = (Vec::new(), Vec::new());
        for memory in info.used_memory() {
            address.extend([memory.base(), memory.index()].into_iter().filter_map(place));
        }
        let add = |list: &mut Vec<u8>, place: u8| {
            if !list.contains(&place) {
                list.push(place);
            }
        };
        for used in info.used_registers() {
            let Some(at) = place(used.register()) else { continue };
            let reads = matches!(
                used.access(),
                OpAccess::Read
                    | OpAccess::CondRead
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
                    | OpAccess::CondWrite
            );
            let writes = matches!(
                used.access(),
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            // A part of a register that is written joins the rest of it.
            let part = writes && at < 16 && used.register().size() < 4;
            let of_address = address.contains(&at) && !is_operand(instruction, used.register());
            if (reads || part) && !idiom && !of_address {
                add(&mut sources, at);
            }
            if writes {
                add(&mut results, at);
            }
        }
        if instruction.rflags_read() != 0 {
            add(&mut sources, FLAGS as u8);
        }
        if instruction.rflags_modified() != 0 {
            add(&mut results, FLAGS as u8);
        }
        let latency = if idiom { 0 } else { latency };
        Step {
            at,
            address: address.into(),
            sources: sources.into(),
            results: results.into(),
            load: 0,
            line: u16::MAX,
            latency,
        }
    }

    /// The instruction's access to memory: loads take time, and one access of those to the same line is simulated.
    fn site(&mut self, instruction: &Instruction, step: &mut Step) -> Option<Site> {
        let info = self.info.info(instruction);
        let accesses: Vec<_> = (info.used_memory().iter())
            .filter(|memory| memory.access() != OpAccess::NoMemAccess)
            .map(|memory| {
                (memory.base(), memory.index(), memory.scale(), memory.displacement() as i64, memory.access())
            })
            .collect();
        let mut simulated = None;
        for (base, index, scale, displacement, access) in accesses {
            let reads = !matches!(access, OpAccess::Write | OpAccess::CondWrite);
            if reads {
                self.keep_busy("load", TICKS / costs::LOADS);
                let load = if costs::touches_vectors(instruction) { costs::LOAD_VECTOR } else { costs::LOAD };
                step.load = load as i32;
            }
            if access != OpAccess::Read && access != OpAccess::CondRead {
                self.keep_busy("store", TICKS / costs::STORES);
            }
            let moved = if base == Register::RSP { self.pushed } else { 0 };
            let displacement = displacement + moved;
            let version = |register: Register| match register.full_register() {
                full if full.is_gpr() && full != Register::RSP => self.written[full.number()],
                _ => 0,
            };
            let address = (base, version(base), index, version(index), scale);
            let near = self.seen.entry(address).or_default();
            let own = self.steps.len() as u16;
            let same = near.iter().find(|(seen, _)| (seen - displacement).abs() < LINE);
            match same {
                Some((_, earlier)) if !instruction.is_string_instruction() => step.line = *earlier,
                // A string instruction comes back for its next element.
                _ => {
                    near.push((displacement, own));
                    step.line = own;
                    simulated = Some(reads);
                }
            }
        }
        let reads = simulated?;
        Some(Site { step: self.steps.len() as u16, store: !reads, id: instruction.ip() as u32 })
    }

    fn note_writes(&mut self, instruction: &Instruction) {
        if instruction.is_stack_instruction() {
            self.pushed += i64::from(instruction.stack_pointer_increment());
        }
        let info = self.info.info(instruction);
        for used in info.used_registers() {
            let full = used.register().full_register();
            let writes =
                !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            if !writes || !full.is_gpr() {
                continue;
            }
            if full != Register::RSP {
                self.written[full.number()] += 1;
            } else if !instruction.is_stack_instruction() {
                match (instruction.mnemonic(), instruction.try_immediate(1)) {
                    (Mnemonic::Sub, Ok(by)) => self.pushed -= by as i64,
                    (Mnemonic::Add, Ok(by)) => self.pushed += by as i64,
                    // Somewhere else.
                    _ => self.seen.retain(|address, _| address.0 != Register::RSP),
                }
            }
        }
    }

    fn finish(self, number: u32, start: u64, end: End) -> Block {
        let issue = self.slots * TICKS / WIDTH;
        let busiest = self.busy.values().copied().max().unwrap_or(0);
        let branch = if end == End::Known { 0 } else { BRANCH };
        let steps: Box<[Step]> = self.steps.into();
        let written: Vec<usize> =
            steps.iter().flat_map(|step| step.results.iter().map(|at| *at as usize)).collect();
        let mut kept = [i16::MAX; LANES];
        kept[DONE] = NEVER;
        written.iter().filter(|at| **at < LANES).for_each(|at| kept[*at] = NEVER);
        let read = live_in(&steps);
        let paths: Box<[(u8, Lanes)]> =
            (read.iter()).map(|lane| (*lane, only_results(follow_from(&steps, *lane), &kept))).collect();
        let own = only_results(follow_alone(&steps), &kept);
        Block {
            number,
            key: start ^ (start >> 15),
            start,
            instructions: steps.len() as u32,
            slots: self.slots,
            ticks: issue.max(busiest).max(branch),
            end,
            kept,
            own,
            paths,
            steps,
            sites: self.sites.into(),
        }
    }
}

fn has_repeat(instruction: &Instruction) -> bool {
    instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

fn is_operand(instruction: &Instruction, register: Register) -> bool {
    (0..instruction.op_count()).any(|n| {
        instruction.op_kind(n) == iced_x86::OpKind::Register
            && instruction.op_register(n).full_register() == register.full_register()
    })
}

/// Results that do not depend on their operands (`xor eax, eax`).
fn is_zeroing(instruction: &Instruction) -> bool {
    let of_itself = match instruction.op_count() {
        2 => instruction.op_register(0) == instruction.op_register(1),
        3 => instruction.op_register(1) == instruction.op_register(2),
        _ => return false,
    };
    let kinds = instruction.op_kinds().all(|kind| kind == iced_x86::OpKind::Register);
    of_itself
        && kinds
        && matches!(
            instruction.mnemonic(),
            Mnemonic::Xor
                | Mnemonic::Sub
                | Mnemonic::Pxor
                | Mnemonic::Xorps
                | Mnemonic::Xorpd
                | Mnemonic::Vpxor
                | Mnemonic::Vxorps
                | Mnemonic::Vxorpd
                | Mnemonic::Psubb
                | Mnemonic::Psubd
        )
}

/// Lanes that are read before they are written.
fn live_in(steps: &[Step]) -> Vec<u8> {
    let (mut written, mut read) = ([false; PLACES], Vec::new());
    for step in steps {
        for at in step.address.iter().chain(&step.sources) {
            if !written[*at as usize] && (*at as usize) < LANES && !read.contains(at) {
                read.push(*at);
            }
        }
        step.results.iter().for_each(|at| written[*at as usize] = true);
    }
    read
}

/// Far in the past, and still no overflow.
const PAST: i32 = -1_000_000;

/// Follows a block step by step. `issue` tells when a step is issued, `late` how much longer its load takes. Leaves the
/// readiness of all places, and tells when the last result is ready and when that of the last step.
#[inline]
pub(crate) fn follow(
    steps: &[Step],
    ready: &mut [i32; PLACES],
    issue: impl Fn(&Step) -> i32,
    late: impl Fn(&Step) -> i32,
) -> (i32, i32) {
    let (mut done, mut last) = (PAST, PAST);
    for step in steps {
        let mut at = issue(step);
        for from in &step.address {
            at = at.max(ready[*from as usize]);
        }
        if step.load > 0 {
            at += step.load + late(step);
        }
        for from in &step.sources {
            at = at.max(ready[*from as usize]);
        }
        at += step.latency;
        for to in &step.results {
            ready[*to as usize] = at;
        }
        done = done.max(at);
        last = at;
    }
    (done, last)
}

/// Results when nothing but this lane is waited for.
fn follow_from(steps: &[Step], lane: u8) -> [i32; PLACES] {
    let mut ready = [PAST; PLACES];
    ready[lane as usize] = 0;
    let (done, _) = follow(steps, &mut ready, |_| PAST, |_| 0);
    ready[DONE] = done;
    ready
}

/// Results when nothing is waited for but issue.
fn follow_alone(steps: &[Step]) -> [i32; PLACES] {
    let mut ready = [PAST; PLACES];
    let (done, _) = follow(steps, &mut ready, |step| step.at, |_| 0);
    ready[DONE] = done;
    ready
}

fn only_results(ready: [i32; PLACES], kept: &Lanes) -> Lanes {
    let mut lanes = [NEVER; LANES];
    for (n, lane) in lanes.iter_mut().enumerate() {
        if kept[n] == NEVER && ready[n] > PAST / 2 {
            *lane = ready[n].clamp(i32::from(NEVER), i32::from(i16::MAX)) as i16;
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAX: usize = 0;
    const RBX: usize = 3;

    #[test]
    fn a_chain_is_as_long_as_its_latencies() {
        // imul rax, rbx; add rax, [rbx]; jne
        let code: &[&[u8]] = &[&[0x48, 0x0f, 0xaf, 0xc3], &[0x48, 0x03, 0x03], &[0x75, 0xf7]];
        let block = Block::decode(1, 0x1000, code);
        assert_eq!((block.instructions, block.end), (3, End::Conditional(0x1009)));
        let from = |lane: usize| block.paths.iter().find(|(at, _)| usize::from(*at) == lane).unwrap().1;
        // Three cycles for the product and one for the sum; the load of the address takes four before that.
        assert_eq!(from(RAX)[RAX], 64);
        assert_eq!(from(RBX)[RAX], 80);
        assert_eq!((block.kept[RAX], block.kept[RBX]), (NEVER, i16::MAX));
        let site = Site { step: 1, store: false, id: 0x1004 };
        assert_eq!(block.sites[..], [None, Some(site), None]);
    }

    #[test]
    fn one_access_of_a_line_is_simulated() {
        // mov rax, [rbx]; mov [rbx+8], rcx; add rbx, 64; mov rdx, [rbx]
        let code: &[&[u8]] =
            &[&[0x48, 0x8b, 0x03], &[0x48, 0x89, 0x4b, 0x08], &[0x48, 0x83, 0xc3, 0x40], &[0x48, 0x8b, 0x13]];
        let block = Block::decode(1, 0, code);
        let simulated: Vec<bool> = block.sites.iter().map(Option::is_some).collect();
        assert_eq!(simulated, [true, false, false, true]);
        assert_eq!(block.steps[1].line, 0);
    }

    #[test]
    fn nothing_is_waited_for_by_what_only_makes_zero() {
        // xor eax, eax
        let block = Block::decode(1, 0, &[&[0x31, 0xc0]]);
        assert!(block.paths.is_empty());
        assert_eq!(block.own[RAX], 0);
    }
}
