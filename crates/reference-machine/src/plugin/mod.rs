//! The foreign border: what QEMU calls, and what we call of it (plugin interface version 1, `qemu-plugin.h` of QEMU 7.2 and
//! docs/devel/tcg-plugins.rst there).
//!
//! Everything here runs inside the emulator, on the threads of the program. `unsafe` stands for two promises: QEMU keeps its
//! interface, and the mapping made in `install` stays for the life of the process.

mod count;
mod exec;
mod timed;

use count::Counter;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Version of the interface.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is QEMU's")]
pub(crate) static qemu_plugin_version: c_int = 1;

/// A block of translated code, QEMU's.
#[repr(C)]
pub(crate) struct Block {
    _private: [u8; 0],
}

/// An instruction of a block, QEMU's.
#[repr(C)]
pub(crate) struct Instruction {
    _private: [u8; 0],
}

/// `QEMU_PLUGIN_CB_NO_REGS`: the callback reads no registers.
const NO_REGISTERS: c_int = 0;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, call: extern "C" fn(u64, *mut Block));
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        call: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_tb_get_insn(block: *const Block, n: usize) -> *mut Instruction;
    fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const c_void;
    fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        call: extern "C" fn(c_uint, u32, u64, *mut c_void),
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_init_cb(id: u64, call: extern "C" fn(u64, c_uint));
    fn qemu_plugin_register_vcpu_syscall_ret_cb(id: u64, call: extern "C" fn(u64, c_uint, i64, i64));
    fn qemu_plugin_register_atexit_cb(id: u64, call: extern "C" fn(u64, *mut c_void), data: *mut c_void);
    #[allow(clippy::type_complexity, reason = "the type is QEMU's")]
    fn qemu_plugin_register_vcpu_syscall_cb(
        id: u64,
        call: extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64),
    );
}

/// How the emulator was started, so that programs that the program starts are started in it too.
struct Start {
    /// The emulator with its options, up to the program.
    words: Vec<Vec<u8>>,
}

static COUNTER: OnceLock<Counter> = OnceLock::new();
static START: OnceLock<Start> = OnceLock::new();

/// Called once by the emulator, before the program. Words: `tally=FD`,
/// `clock=instructions` or `clock=reference`, `emulator=PATH`, `plugin=PATH`, `cpu=MODEL`. Anything else
/// than 0 ends the emulator.
///
/// # Safety
/// `words` are `count` texts that end with a zero byte.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _info: *const c_void,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    // SAFETY: promised by the caller.
    let word = |n: c_int| unsafe { CStr::from_ptr(*words.add(n as usize)) }.to_bytes().to_vec();
    let words: Vec<Vec<u8>> = (0..count).map(word).collect();
    let Some(clock) = install(&words) else { return 1 };
    // SAFETY: the functions live as long as the plugin, which is never unloaded.
    unsafe {
        match clock {
            Clock::Instructions => qemu_plugin_register_vcpu_tb_trans_cb(id, translated),
            Clock::Reference => timed::register(id),
        }
        qemu_plugin_register_atexit_cb(id, process_ends, std::ptr::null_mut());
        qemu_plugin_register_vcpu_syscall_cb(id, system_call);
    }
    0
}

/// The emulator holds some bytes for each page of address space that a program reserves, used or not; runtimes that would
/// reserve a terabyte (GHC's) take less where less is to be had.
const ADDRESS_SPACE: libc::rlim_t = 32 << 30;

fn bound_address_space() {
    let bound = libc::rlimit { rlim_cur: ADDRESS_SPACE, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure lives during the call. Where there is a lower bound already, it stays.
    unsafe {
        let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_AS, &raw mut found) == 0 && found.rlim_cur > ADDRESS_SPACE {
            libc::setrlimit(libc::RLIMIT_AS, &libc::rlimit { rlim_max: found.rlim_max, ..bound });
        }
    }
}

/// What is counted.
enum Clock {
    Instructions,
    Reference,
}

fn install(words: &[Vec<u8>]) -> Option<Clock> {
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name.as_bytes()));
    let tally = value("tally=")?;
    let fd: c_int = std::str::from_utf8(tally).ok()?.parse().ok()?;
    let name = value("clock=")?;
    let clock = match name {
        b"instructions" => Clock::Instructions,
        b"reference" => Clock::Reference,
        _ => return None,
    };
    let (emulator, plugin, cpu) = (value("emulator=")?, value("plugin=")?, value("cpu=")?);
    // A comma would end a word (QEMU doubles it).
    let doubled =
        cpu.iter().flat_map(|c| if *c == b',' { vec![b',', b','] } else { vec![*c] }).collect::<Vec<_>>();
    let option = [
        plugin,
        b",tally=",
        tally,
        b",clock=",
        name,
        b",emulator=",
        emulator,
        b",plugin=",
        plugin,
        b",cpu=",
        &doubled,
    ]
    .concat();
    let words = [emulator, b"-seed", b"1", b"-cpu", cpu, b"-plugin", &option].map(<[u8]>::to_vec).to_vec();
    START.set(Start { words }).ok()?;
    bound_address_space();
    COUNTER.set(Counter::map(fd)?).ok()?;
    Some(clock)
}

extern "C" fn translated(_id: u64, block: *mut Block) {
    // SAFETY: the block is QEMU's and lives during this call.
    unsafe {
        let instructions = qemu_plugin_tb_n_insns(block);
        // The number travels as the pointer that QEMU passes on unseen.
        qemu_plugin_register_vcpu_tb_exec_cb(block, entered, NO_REGISTERS, instructions as *mut c_void);
    }
}

extern "C" fn entered(thread: c_uint, instructions: *mut c_void) {
    if let Some(counter) = COUNTER.get() {
        counter.add(thread as usize, instructions as u64);
    }
}

extern "C" fn process_ends(_id: u64, _data: *mut c_void) {
    if let Some(counter) = COUNTER.get() {
        counter.give_back();
    }
}

#[allow(clippy::too_many_arguments, reason = "the signature is QEMU's")]
extern "C" fn system_call(
    _id: u64,
    thread: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    _f: u64,
    _g: u64,
    _h: u64,
) {
    let (Some(counter), Some(start)) = (COUNTER.get(), START.get()) else { return };
    timed::system_call_begins(thread, [a, b]);
    exec::before(counter, &start.words, number, [a, b, c, d, e]);
}
