//! What each kind of instruction costs: how long its result takes, and which part of the core it keeps busy.
//!
//! Latencies and units are those of current server cores as measured by Agner Fog (Instruction tables) and uops.info.

use super::{TICKS, cycles};
use iced_x86::{Instruction, Mnemonic, OpKind};

/// Parts of the core, by how many instructions of a kind they take in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nothing but issue: moves between registers, no-ops.
    None,
    /// Integer arithmetic: 6 a cycle.
    Alu,
    /// Integer multiplication: 2 a cycle.
    Multiply,
    /// Vector and floating point: 4 a cycle.
    Vector,
    /// Floating point multiplication: 2 a cycle.
    Float,
    /// Busy until done.
    Busy(u32),
}

impl Unit {
    /// Ticks that an instruction keeps its unit from others.
    pub(crate) fn ticks(self) -> u32 {
        match self {
            Unit::None => 0,
            // Sixteen is no multiple of six; what is lost is a hundredth of a cycle.
            Unit::Alu => 3,
            Unit::Multiply | Unit::Float => TICKS / 2,
            Unit::Vector => TICKS / 4,
            Unit::Busy(ticks) => ticks,
        }
    }
}

/// Loads of a cycle.
pub(crate) const LOADS: u32 = 4;
/// Stores of a cycle.
pub(crate) const STORES: u32 = 2;
/// A load that the first cache has.
pub(crate) const LOAD: u32 = cycles(4);
/// The same into a vector register.
pub(crate) const LOAD_VECTOR: u32 = cycles(6);
/// A locked instruction: it waits for all stores before it.
const LOCKED: u32 = cycles(16);

/// Cost of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Slots of issue it takes.
    pub(crate) slots: u32,
    /// From its operands to its result, in ticks, without its load.
    pub(crate) latency: u32,
    /// What it keeps busy.
    pub(crate) unit: Unit,
}

const fn cost(slots: u32, latency: u32, unit: Unit) -> Cost {
    Cost { slots, latency: cycles(latency), unit }
}

const fn busy(slots: u32, latency: u32, every: u32) -> Cost {
    Cost { slots, latency: cycles(latency), unit: Unit::Busy(cycles(every)) }
}

/// Ticks that an element of a repeated string instruction takes: copies and fills move up to 32 bytes a cycle, comparisons an
/// element in two.
pub(crate) fn element(instruction: &Instruction) -> u32 {
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq | M::Scasb | M::Scasw | M::Scasd | M::Scasq => cycles(2),
        _ => (instruction.memory_size().size() as u32 * TICKS / 32).max(1),
    }
}

/// The cost of an instruction.
pub(crate) fn cost_of(instruction: &Instruction) -> Cost {
    if instruction.has_lock_prefix() {
        return Cost { slots: 4, latency: LOCKED, unit: Unit::Busy(LOCKED) };
    }
    by_mnemonic(instruction)
}

fn by_mnemonic(instruction: &Instruction) -> Cost {
    use Mnemonic as M;
    let wide = instruction.op_count() > 0 && instruction.op_register(0).size() == 8;
    let between_registers = instruction.op_kinds().all(|kind| kind == OpKind::Register);
    match instruction.mnemonic() {
        M::Nop | M::Endbr64 | M::Pause | M::Fnop => cost(1, 0, Unit::None),
        M::Mov
        | M::Movaps
        | M::Movups
        | M::Movdqa
        | M::Movdqu
        | M::Movapd
        | M::Movupd
        | M::Vmovaps
        | M::Vmovups
        | M::Vmovdqa
        | M::Vmovdqu
        | M::Vmovapd
        | M::Vmovupd => cost(1, 0, Unit::None),
        M::Call | M::Ret => cost(2, 1, Unit::None),
        M::Push | M::Pop => cost(1, 0, Unit::None),
        M::Xchg if between_registers => cost(2, 1, Unit::None),
        M::Xchg => Cost { slots: 4, latency: LOCKED, unit: Unit::Busy(LOCKED) },
        M::Lea => cost(1, 1, Unit::Alu),
        M::Imul | M::Mul | M::Mulx => {
            cost(if instruction.op_count() == 1 { 2 } else { 1 }, 3, Unit::Multiply)
        }
        M::Div | M::Idiv
            if wide || instruction.op0_kind() == OpKind::Memory && instruction.memory_size().size() == 8 =>
        {
            busy(2, 14, 8)
        }
        M::Div | M::Idiv => busy(2, 10, 6),
        M::Bsf | M::Bsr => cost(1, 2, Unit::Alu),
        M::Shld | M::Shrd => cost(3, 3, Unit::Alu),
        M::Rcl | M::Rcr => cost(4, 4, Unit::Alu),
        M::Crc32 | M::Pdep | M::Pext => cost(1, 3, Unit::Multiply),
        M::Cpuid => busy(30, 100, 100),
        M::Rdtsc | M::Rdtscp | M::Rdrand | M::Rdseed => busy(20, 40, 40),
        M::Xgetbv | M::Xsave | M::Xsavec | M::Xrstor | M::Fxsave | M::Fxrstor => busy(40, 60, 60),
        M::Mfence | M::Lfence | M::Sfence => busy(2, 20, 20),
        M::Divss | M::Divps | M::Vdivss | M::Vdivps => busy(1, 10, 3),
        M::Divsd | M::Divpd | M::Vdivsd | M::Vdivpd => busy(1, 13, 5),
        M::Sqrtss | M::Sqrtps | M::Vsqrtss | M::Vsqrtps => busy(1, 14, 5),
        M::Sqrtsd | M::Sqrtpd | M::Vsqrtsd | M::Vsqrtpd => busy(1, 20, 9),
        M::Fdiv | M::Fdivp | M::Fdivr | M::Fdivrp | M::Fidiv | M::Fidivr => busy(1, 15, 6),
        M::Fsqrt => busy(1, 22, 10),
        M::Fsin
        | M::Fcos
        | M::Fsincos
        | M::Fptan
        | M::Fpatan
        | M::F2xm1
        | M::Fyl2x
        | M::Fyl2xp1
        | M::Fprem
        | M::Fprem1
        | M::Fscale => busy(40, 80, 60),
        M::Addss
        | M::Addsd
        | M::Addps
        | M::Addpd
        | M::Subss
        | M::Subsd
        | M::Subps
        | M::Subpd
        | M::Vaddss
        | M::Vaddsd
        | M::Vaddps
        | M::Vaddpd
        | M::Vsubss
        | M::Vsubsd
        | M::Vsubps
        | M::Vsubpd => cost(1, 3, Unit::Float),
        M::Minss
        | M::Minsd
        | M::Maxss
        | M::Maxsd
        | M::Minps
        | M::Minpd
        | M::Maxps
        | M::Maxpd
        | M::Vminsd
        | M::Vmaxsd
        | M::Vminss
        | M::Vmaxss => cost(1, 2, Unit::Float),
        M::Mulss | M::Mulsd | M::Mulps | M::Mulpd | M::Vmulss | M::Vmulsd | M::Vmulps | M::Vmulpd => {
            cost(1, 3, Unit::Float)
        }
        M::Comiss
        | M::Comisd
        | M::Ucomiss
        | M::Ucomisd
        | M::Vcomiss
        | M::Vcomisd
        | M::Vucomiss
        | M::Vucomisd => cost(2, 5, Unit::Float),
        M::Cvtsi2sd | M::Cvtsi2ss | M::Vcvtsi2sd | M::Vcvtsi2ss => cost(2, 7, Unit::Float),
        M::Cvttsd2si
        | M::Cvtsd2si
        | M::Cvttss2si
        | M::Cvtss2si
        | M::Vcvttsd2si
        | M::Vcvtsd2si
        | M::Vcvttss2si => cost(2, 7, Unit::Float),
        M::Cvtss2sd | M::Cvtsd2ss | M::Cvtdq2pd | M::Cvtdq2ps | M::Cvttpd2dq | M::Cvttps2dq => {
            cost(1, 4, Unit::Float)
        }
        M::Movd | M::Movq | M::Vmovd | M::Vmovq if between_registers => match crosses(instruction) {
            true => cost(1, 2, Unit::Vector),
            false => cost(1, 1, Unit::Vector),
        },
        M::Pmovmskb | M::Movmskps | M::Movmskpd | M::Vpmovmskb | M::Ptest | M::Vptest => {
            cost(2, 4, Unit::Vector)
        }
        M::Pextrb | M::Pextrw | M::Pextrd | M::Pextrq | M::Pinsrb | M::Pinsrw | M::Pinsrd | M::Pinsrq => {
            cost(2, 4, Unit::Vector)
        }
        M::Pmulld
        | M::Vpmulld
        | M::Pmuludq
        | M::Pmullw
        | M::Pmulhw
        | M::Pmaddwd
        | M::Vpmuludq
        | M::Vpmullw
        | M::Vpmaddwd
        | M::Pmulhuw
        | M::Pmuldq
        | M::Vpmuldq => cost(1, 3, Unit::Float),
        mnemonic => match format!("{mnemonic:?}") {
            // The floating point stack.
            name if name.starts_with('F') => cost(1, 5, Unit::Float),
            name if name.starts_with("Vfm") || name.starts_with("Vfnm") => cost(1, 4, Unit::Float),
            name if name.starts_with("Aes") || name.starts_with("Sha") || name.starts_with("Pclmul") => {
                cost(1, 4, Unit::Float)
            }
            _ if touches_vectors(instruction) => cost(1, 1, Unit::Vector),
            _ => cost(1, 1, Unit::Alu),
        },
    }
}

fn crosses(instruction: &Instruction) -> bool {
    instruction.op_register(0).is_gpr() != instruction.op_register(1).is_gpr()
}

pub(crate) fn touches_vectors(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|n| {
        instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_vector_register()
    })
}
