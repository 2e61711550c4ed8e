//! Following a program on the reference machine.

use super::count::Line;
use super::{COUNTER, NO_REGISTERS};
use crate::machine::{self, Core, Unknown};
use crate::tally::line;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Threads of one process at one time.
const THREADS: usize = super::count::THREADS;
/// `QEMU_PLUGIN_MEM_RW`: loads and stores. QEMU 7.2 takes one for the other where only one is asked for (op_rw in
/// accel/tcg/plugin-gen.c).
const ACCESSES: c_int = 3;

/// A thread's core, and where its time is counted.
struct Seat {
    core: Core,
    line: Option<&'static Line>,
}

/// Each thread's. Only its thread uses it.
static SEATS: [AtomicPtr<Seat>; THREADS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; THREADS];

/// Blocks by address and code: the emulator translates them again and again.
type Blocks = HashMap<(u64, Vec<u8>), &'static machine::Block>;
static BLOCKS: Mutex<Option<Blocks>> = Mutex::new(None);

/// A system call's number and first arguments, until it returns.
static CALLS: [[std::sync::atomic::AtomicU64; 2]; THREADS] =
    [const { [const { std::sync::atomic::AtomicU64::new(0) }; 2] }; THREADS];

/// Asks QEMU for what the machine needs to see.
///
/// # Safety
/// Called while the plugin is installed.
pub(super) unsafe fn register(id: u64) {
    // SAFETY: promised by the caller; the functions live as long as the plugin.
    unsafe {
        super::qemu_plugin_register_vcpu_init_cb(id, thread_begins);
        super::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        super::qemu_plugin_register_vcpu_syscall_ret_cb(id, system_call_returned);
    }
}

/// A thread begins, on a core of its own. The number may have been that of another, which has ended.
extern "C" fn thread_begins(_id: u64, thread: c_uint) {
    let Some(place) = SEATS.get(thread as usize) else { return };
    let seat = Seat { core: Core::new(), line: None };
    let before = place.swap(Box::into_raw(Box::new(seat)), Ordering::Relaxed);
    if !before.is_null() {
        // SAFETY: it was made here, and its thread has ended.
        drop(unsafe { Box::from_raw(before) });
    }
}

/// In a process that was forked: the lines are its parent's.
pub(super) fn forked() {
    for place in &SEATS {
        // SAFETY: made in `thread_begins`; the threads were left behind.
        if let Some(seat) = unsafe { place.load(Ordering::Relaxed).as_mut() } {
            seat.line = None;
        }
    }
}

#[inline]
fn seat(thread: c_uint) -> Option<&'static mut Seat> {
    let at = SEATS.get(thread as usize)?.load(Ordering::Relaxed);
    // SAFETY: made in `thread_begins`; only this thread uses it.
    unsafe { at.as_mut() }
}

extern "C" fn translated(_id: u64, block: *mut super::Block) {
    // SAFETY: the block and its instructions are QEMU's and live during this call.
    unsafe {
        let n = super::qemu_plugin_tb_n_insns(block);
        let instructions: Vec<_> = (0..n).map(|n| super::qemu_plugin_tb_get_insn(block, n)).collect();
        let code: Vec<&[u8]> = (instructions.iter())
            .map(|instruction| {
                let data: *const u8 = super::qemu_plugin_insn_data(*instruction).cast();
                std::slice::from_raw_parts(data, super::qemu_plugin_insn_size(*instruction))
            })
            .collect();
        let decoded = decoded(super::qemu_plugin_tb_vaddr(block), &code);
        let data = std::ptr::from_ref(decoded).cast_mut().cast();
        super::qemu_plugin_register_vcpu_tb_exec_cb(block, entered, NO_REGISTERS, data);
        for (instruction, site) in instructions.iter().zip(&decoded.sites) {
            let Some(site) = site else { continue };
            let data = std::ptr::from_ref(site).cast_mut().cast();
            super::qemu_plugin_register_vcpu_mem_cb(*instruction, accessed, NO_REGISTERS, ACCESSES, data);
        }
    }
}

fn decoded(start: u64, code: &[&[u8]]) -> &'static machine::Block {
    let mut blocks = BLOCKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let blocks = blocks.get_or_insert_default();
    let number = blocks.len() as u32 + 1;
    let make =
        || -> &'static machine::Block { Box::leak(Box::new(machine::Block::decode(number, start, code))) };
    blocks.entry((start, code.concat())).or_insert_with(make)
}

extern "C" fn entered(thread: c_uint, block: *mut c_void) {
    // SAFETY: blocks are never freed.
    let block: &'static machine::Block = unsafe { &*block.cast() };
    let Some(seat) = seat(thread) else { return };
    let Some(line) = seat.line else { return begin(thread, seat, block) };
    match seat.core.enter(block) {
        Ok(ticks) => add(line, ticks, block),
        Err(unknown) => compute(seat, line, block, unknown),
    }
}

/// The first block of a thread, or of a process that was forked.
#[cold]
#[inline(never)]
fn begin(thread: c_uint, seat: &mut Seat, block: &'static machine::Block) {
    let Some(counter) = COUNTER.get() else { return };
    let line = counter.line(thread as usize);
    seat.line = Some(line);
    // Now that it has a line.
    entered(thread, std::ptr::from_ref(block).cast_mut().cast());
}

#[inline(never)]
fn compute(seat: &mut Seat, line: &Line, block: &'static machine::Block, unknown: Unknown) {
    add(line, seat.core.compute(block, unknown), block);
}

/// Adds a block to a line. Nobody else writes to it.
#[inline]
fn add(line: &Line, ticks: u64, block: &machine::Block) {
    let instructions = line[line::INSTRUCTIONS].load(Ordering::Relaxed) + u64::from(block.instructions);
    line[line::INSTRUCTIONS].store(instructions, Ordering::Relaxed);
    let count = line[line::COUNT].load(Ordering::Relaxed) + ticks;
    line[line::COUNT].store(count, Ordering::Relaxed);
    if count > line[line::ALLOWED].load(Ordering::Relaxed) {
        ask(line, count);
    }
}

#[cold]
#[inline(never)]
fn ask(line: &Line, count: u64) {
    COUNTER.get().into_iter().for_each(|counter| counter.ask(line, count));
}

extern "C" fn accessed(thread: c_uint, _info: u32, address: u64, site: *mut c_void) {
    // SAFETY: sites live in blocks, which are never freed.
    let site: &'static machine::Site = unsafe { &*site.cast() };
    if let Some(seat) = seat(thread) {
        seat.core.access(address, *site);
    }
}

/// Remembers the arguments of a system call.
pub(super) fn system_call_begins(thread: c_uint, arguments: [u64; 2]) {
    if let Some(call) = CALLS.get(thread as usize) {
        call.iter().zip(arguments).for_each(|(place, value)| place.store(value, Ordering::Relaxed));
    }
}

extern "C" fn system_call_returned(_id: u64, thread: c_uint, number: i64, result: i64) {
    let (Some(seat), Some(call)) = (seat(thread), CALLS.get(thread as usize)) else { return };
    seat.core.system_call(number, call.each_ref().map(|word| word.load(Ordering::Relaxed)), result);
}
