//! Clocks that count what a program does, equal on every machine: instructions by the processor's own counter, or
//! instructions and time on the reference machine in QEMU's user-mode emulator, with a plugin of ours.

use crate::{SystemError, files};
use model::hint;
use model::{Bytes, Charge, Clock, Exit, FileMount, Limits, Nanos, Observation, Reading, RunSpec, WallLimit};
use reference_machine::machine::{TICKS_PER_SECOND, VERSION};
use reference_machine::tally::{self, End};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The plugin, built with this program.
const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));
/// Where a run sees it.
const PLUGIN_AT: &str = "/clock/plugin.so";
/// What the emulator is called, and the package that has it.
const EMULATOR: &str = "qemu-x86_64";
const PACKAGE: &str = "qemu-user";
/// Directories that runs see.
const PLACES: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
/// The processor that programs see: everything this emulator can do, whatever the host's can, so that libraries choose the
/// same code everywhere; but no fast string instructions, which the emulator does element by element.
const CPU: &str = "max,-erms,-fsrm";
/// The emulator's own memory: its code, its tables, and translated code; and what the reference machine remembers.
const ALLOWANCE: Bytes = Bytes(256 << 20);
const REFERENCE_ALLOWANCE: Bytes = Bytes(512 << 20);
/// Most stack that the emulator is given: it maps all of it, low in the address space, where some runtimes (Mono) want their code.
const STACK: Bytes = Bytes(1 << 30);
/// CPU time after which an emulated program is ended, in units of the time its limit stands for: emulation costs up to
/// fifteen times the time where it counts and a hundred times where it follows, and its start 0.1 s.
const SLOWER: u64 = 50;
const REFERENCE_SLOWER: u64 = 250;

/// An emulator that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// Where.
    pub path: PathBuf,
    /// What it says of itself: counts hold for this version.
    pub version: String,
}

/// The emulator of this machine.
///
/// # Errors
/// No emulator was found; the text names the package to install.
pub fn emulator() -> Result<&'static Emulator, String> {
    static FOUND: OnceLock<Result<Emulator, String>> = OnceLock::new();
    FOUND.get_or_init(|| emulator_in(&PLACES)).as_ref().map_err(Clone::clone)
}

fn emulator_in(places: &[&str]) -> Result<Emulator, String> {
    let found = places.iter().map(|place| Path::new(place).join(EMULATOR)).find(|path| path.is_file());
    let missing = || format!("no {EMULATOR} in {}\nhint: apt install {PACKAGE}", places.join(" or "));
    let path = found.ok_or_else(missing)?;
    let output =
        Command::new(&path).arg("--version").output().map_err(|e| format!("{}: {e}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().next().unwrap_or_default().trim().to_string();
    if !version.starts_with(EMULATOR) {
        return Err(format!("{}: does not report its version", path.display()));
    }
    Ok(Emulator { path, version })
}

/// How a clock is read on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meter {
    /// The kernel's account of CPU time.
    #[default]
    Kernel,
    /// Instructions by the processor's own counter.
    Processor,
    /// Instructions by the emulator.
    Emulator(&'static Emulator),
    /// Time on the reference machine, in the emulator.
    Reference(&'static Emulator),
}

/// What counts instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// The emulator, whose counts are the same on every machine; the processor's counter if there is no emulator.
    #[default]
    Best,
    /// The emulator.
    Emulator,
    /// The processor's own counter: as fast as without, and equal to a few dozen instructions on one machine. Processors count
    /// some interrupts and page faults, and libraries choose other code on others.
    Processor,
}

/// A clock and a counter for it, with measured figures (docs/clocks.md).
#[derive(Clone, Copy, Debug)]
pub struct ClockMethod {
    /// The clock.
    pub clock: Clock,
    /// The counter.
    pub counter: Counter,
    /// Languages whose counts are equal to the last digit on every run.
    pub exact: &'static str,
    /// Time of a run relative to one without counting.
    pub cost: &'static str,
}

const EXACT: &str = "c, cpp, pascal, ocaml, haskell, cpython3, perl, php; rust but for hash seeds; others nearly: docs/clocks.md";

/// Every clock with every counter.
pub const CLOCK_METHODS: [ClockMethod; 4] = [
    ClockMethod { clock: Clock::Cpu, counter: Counter::Best, exact: "none", cost: "1" },
    ClockMethod {
        clock: Clock::Instructions,
        counter: Counter::Emulator,
        exact: EXACT,
        cost: "3 to 6 (interpreters 10 to 25)",
    },
    ClockMethod {
        clock: Clock::Instructions,
        counter: Counter::Processor,
        exact: "none; within a few dozen instructions for compiled languages",
        cost: "1",
    },
    ClockMethod {
        clock: Clock::Reference,
        counter: Counter::Best,
        exact: EXACT,
        cost: "5 to 30 (interpreters 50)",
    },
];

/// The meter for a clock on this machine.
///
/// # Errors
/// The clock is not available; the text says what is missing.
pub fn meter(clock: Clock, counter: Counter) -> Result<Meter, String> {
    match (clock, counter) {
        (Clock::Cpu, _) => Ok(Meter::Kernel),
        (Clock::Instructions, Counter::Processor) => sandbox::counters().map(|()| Meter::Processor),
        (Clock::Instructions, Counter::Emulator) => emulator().map(Meter::Emulator),
        (Clock::Instructions, Counter::Best) => emulator().map(Meter::Emulator).or_else(|missing| {
            let also =
                |why: String| hint::with_detail(&missing, &format!("; and {}", hint::in_one_line(&why)));
            sandbox::counters().map(|()| Meter::Processor).map_err(also)
        }),
        (Clock::Reference, _) => emulator().map(Meter::Reference),
    }
}

impl Meter {
    /// The clock.
    pub fn clock(self) -> Clock {
        match self {
            Meter::Kernel => Clock::Cpu,
            Meter::Processor | Meter::Emulator(_) => Clock::Instructions,
            Meter::Reference(_) => Clock::Reference,
        }
    }

    /// The counter and its version, if they can change a result.
    pub fn versions(self) -> Option<String> {
        match self {
            Meter::Kernel => None,
            Meter::Processor => Some("the processor's own counter".into()),
            Meter::Emulator(emulator) => Some(emulator.version.clone()),
            Meter::Reference(emulator) => {
                Some(format!("reference machine {VERSION} in {}", emulator.version))
            }
        }
    }

    fn emulator(self) -> Option<&'static Emulator> {
        match self {
            Meter::Emulator(emulator) | Meter::Reference(emulator) => Some(emulator),
            Meter::Kernel | Meter::Processor => None,
        }
    }

    /// Limits by which an observation of such a run is judged, given those of the program: its CPU time is taken as time of this
    /// clock, and the kernel's becomes a bound for what the clock does not see. The emulator's own memory is not the program's.
    pub fn judged_by(self, typed: Limits) -> Limits {
        if self == Meter::Kernel {
            return typed;
        }
        let factor = if matches!(self, Meter::Reference(_)) { REFERENCE_SLOWER } else { SLOWER };
        let slower = |time: Nanos| Nanos(time.0.saturating_mul(factor)) + Nanos::from_secs(1);
        let limits = Limits {
            cpu: typed.cpu.map(slower),
            wall: typed.wall.map(|wall| WallLimit { time: slower(wall.time), ..wall }),
            memory: typed.memory.map(|memory| memory + self.allowance()),
            ..typed
        };
        typed.cpu.map_or(limits, |time| Charge::for_time(self.clock(), time).limiting(limits))
    }

    fn allowance(self) -> Bytes {
        match self {
            Meter::Kernel | Meter::Processor => Bytes(0),
            Meter::Emulator(_) => ALLOWANCE,
            Meter::Reference(_) => REFERENCE_ALLOWANCE,
        }
    }

    /// Limits of the run itself.
    fn limits(self, typed: Limits) -> Limits {
        let limits = self.judged_by(typed);
        if self.emulator().is_some() { emulated(limits, typed) } else { limits }
    }

    /// Makes a run one that this clock counts, and that ends when it has counted `spec.limits.cpu`.
    ///
    /// # Errors
    /// The emulator could not be given what it needs.
    pub fn begin(self, spec: &mut RunSpec, fds: &mut Vec<OwnedFd>) -> Result<Counting, SystemError> {
        let typed = spec.limits;
        spec.limits = self.limits(typed);
        let tally = match self {
            Meter::Kernel => None,
            Meter::Processor => {
                spec.count_instructions = true;
                None
            }
            Meter::Emulator(emulator) => {
                Some(emulate(emulator, Clock::Instructions, spec.limits.instructions, spec, fds)?)
            }
            Meter::Reference(emulator) => {
                Some(emulate(emulator, Clock::Reference, typed.cpu.map(ticks), spec, fds)?)
            }
        };
        Ok(Counting { meter: self, tally })
    }

    /// What this clock charges for a run.
    ///
    /// # Errors
    /// It was not counted.
    pub fn charge(self, run: &Observation) -> Result<Charge, SystemError> {
        let charge = Charge::measured(self.clock(), run).known().copied();
        charge.ok_or_else(|| SystemError::new("counting", "the run was not counted"))
    }
}

/// What an emulator takes besides: a thread in each process, and its own stack in place of the program's.
fn emulated(limits: Limits, typed: Limits) -> Limits {
    Limits {
        stack: typed.stack.or(typed.memory).map(|stack| stack.min(STACK)),
        processes: typed.processes.map(|processes| processes.saturating_mul(2)),
        ..limits
    }
}

fn emulate(
    emulator: &Emulator,
    clock: Clock,
    limit: Option<u64>,
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
) -> Result<File, SystemError> {
    let fault =
        |e: io::Error| SystemError::new(format!("preparing the clock {}", clock.name()), e.to_string());
    let plugin = files::on_disk(&mut &PLUGIN[..], PLUGIN.len() as u64).map_err(fault)?;
    let tally = files::in_memory_with("tally", &tally::fresh(limit))?;
    let mut add = |file: OwnedFd| {
        fds.push(file);
        (fds.len() - 1) as u8
    };
    spec.files.push(FileMount { fd: add(plugin.into()), at: PLUGIN_AT.into() });
    spec.tally = Some(add(tally.try_clone().map_err(fault)?.into()));
    let emulator = emulator.path.display();
    let options = format!(
        "{PLUGIN_AT},tally={},clock={},emulator={emulator},plugin={PLUGIN_AT},cpu={}",
        RunSpec::TALLY,
        clock.name(),
        // A comma would end the word.
        CPU.replace(',', ",,"),
    );
    // The seed is of what the kernel gives a program to be random by (AT_RANDOM).
    let words = [&emulator.to_string(), "-seed", "1", "-cpu", CPU, "-plugin", &options].map(String::from);
    spec.argv.splice(0..0, words);
    Ok(tally)
}

/// Ticks of the reference machine in a time.
fn ticks(time: Nanos) -> u64 {
    u64::try_from(u128::from(time.0) * u128::from(TICKS_PER_SECOND) / 1_000_000_000).unwrap_or(u64::MAX - 1)
}

/// Time that ticks make up; a part of a nanosecond counts as one, so that what is above a limit stays there.
fn time_of(ticks: u64) -> Nanos {
    let time = (u128::from(ticks) * 1_000_000_000).div_ceil(u128::from(TICKS_PER_SECOND));
    Nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

/// A run that is counted.
pub struct Counting {
    meter: Meter,
    tally: Option<File>,
}

impl Counting {
    /// The run with its count.
    ///
    /// # Errors
    /// The program did what cannot be counted.
    pub fn end(&self, observation: Observation) -> Result<Observation, SystemError> {
        let Some(file) = &self.tally else { return Ok(observation) };
        let mut bytes = vec![0; tally::SIZE];
        let fault = |why: &str| SystemError::new("counting instructions", why);
        file.read_exact_at(&mut bytes, 0).map_err(|e| fault(&e.to_string()))?;
        let tally = tally::read(&bytes).ok_or_else(|| fault("the program wrote into its count"))?;
        match tally.end {
            End::ByItself | End::Limit => {}
            End::Threads => return Err(fault("it had more threads at one time than can be counted, 1024")),
            End::Exec => return Err(fault("it started a program in a way that cannot be counted")),
        }
        if tally.count == 0 && matches!(observation.exit, Exit::Code(_)) {
            return Err(fault("the emulator could not load the program"));
        }
        let mut counted = observation;
        match self.meter.clock() {
            Clock::Reference => {
                counted.instructions = Reading::Known(tally.instructions);
                counted.reference = Reading::Known(time_of(tally.count));
            }
            Clock::Cpu | Clock::Instructions => counted.instructions = Reading::Known(tally.count),
        }
        counted.evidence.weaker.push("memory and CPU time are those of program and emulator together".into());
        Ok(counted)
    }
}

/// Whether the emulator can load this program: scripts are for their interpreters.
pub fn is_program(file: &File) -> bool {
    let mut magic = [0; 4];
    file.try_clone().is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == *b"\x7fELF"
}

/// A program of the host that a run is to begin with, where the clock cannot count it: why.
pub fn uncountable(meter: Meter, program: &Path) -> Option<String> {
    meter.emulator()?;
    let file = File::open(program).ok()?;
    let why = "is not a program that the emulator can load\n\
               hint: name the interpreter of a script before it, as in python3 a.py";
    (!is_program(&file)).then(|| format!("{}: {why}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_emulator_is_told_with_the_package() {
        let why = emulator_in(&["/nowhere", "/nor here"]).unwrap_err();
        assert_eq!(why, "no qemu-x86_64 in /nowhere or /nor here\nhint: apt install qemu-user");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EMULATOR);
        std::fs::copy("/bin/true", &path).unwrap();
        let other = emulator_in(&[&dir.path().display().to_string()]).unwrap_err();
        assert!(other.ends_with("does not report its version"), "{other}");
    }

    fn an_emulator() -> &'static Emulator {
        static SOME: OnceLock<Emulator> = OnceLock::new();
        SOME.get_or_init(|| Emulator {
            path: "/usr/bin/qemu-x86_64".into(),
            version: "qemu-x86_64 version 9".into(),
        })
    }

    fn begun(meter: Meter) -> (RunSpec, Vec<OwnedFd>, Counting) {
        let limits = Limits {
            cpu: Some(Nanos::from_millis(500)),
            memory: Some(Bytes(64 << 20)),
            processes: Some(4),
            ..Limits::default()
        };
        let mut spec = RunSpec { argv: vec!["/bin/true".into(), "x".into()], limits, ..RunSpec::bare() };
        let mut fds = Vec::new();
        let counting = meter.begin(&mut spec, &mut fds).unwrap();
        (spec, fds, counting)
    }

    #[test]
    fn the_program_is_started_in_the_emulator() {
        let (spec, fds, _) = begun(Meter::Emulator(an_emulator()));
        assert_eq!(spec.argv[0], "/usr/bin/qemu-x86_64");
        assert_eq!(spec.argv[7..], ["/bin/true", "x"]);
        let options = &spec.argv[6];
        assert!(options.starts_with("/clock/plugin.so,tally=200,clock=instructions,"), "{options}");
        assert!(options.ends_with(",cpu=max,,-erms,,-fsrm"), "{options}");
        assert_eq!((fds.len(), spec.files.len(), spec.tally), (2, 1, Some(1)));
        assert_eq!((spec.limits.instructions, spec.limits.reference), (Some(500_000_000), None));
        assert_eq!(spec.limits.cpu, Some(Nanos::from_secs(26)));
        assert_eq!((spec.limits.memory, spec.limits.processes), (Some(Bytes(320 << 20)), Some(8)));
    }

    #[test]
    fn the_reference_machine_has_a_limit_in_its_own_time() {
        let (spec, _, counting) = begun(Meter::Reference(an_emulator()));
        assert_eq!((spec.limits.instructions, spec.limits.reference), (None, Some(Nanos::from_millis(500))));
        assert!(spec.argv[6].contains(",clock=reference,"), "{}", spec.argv[6]);
        let tally = counting.tally.as_ref().unwrap();
        let word = |n: u64| {
            let mut bytes = [0; 8];
            tally.read_exact_at(&mut bytes, 8 * n).unwrap();
            u64::from_ne_bytes(bytes)
        };
        // The limit, in ticks: 64 a nanosecond.
        assert_eq!(word(1), 500_000_000 * 64);
        tally.write_at(&(64_u64 * 7 + 1).to_ne_bytes(), 8 * 8).unwrap();
        tally.write_at(&55_u64.to_ne_bytes(), 8 * 11).unwrap();
        let run = Observation::unread(Exit::Code(0), Nanos::from_secs(1), "not read");
        let told = counting.end(run).unwrap();
        assert_eq!((told.instructions.known(), told.reference.known()), (Some(&55), Some(&Nanos(8))));
        assert_eq!(counting.meter.charge(&told).unwrap(), Charge { clock: Clock::Reference, amount: 8 });
        assert_eq!(told.time.cpu, Nanos::from_secs(1), "what was seen stays as it is");
    }

    #[test]
    fn the_processor_counts_for_itself() {
        let (spec, fds, counting) = begun(Meter::Processor);
        assert!(spec.count_instructions && spec.tally.is_none() && fds.is_empty());
        assert_eq!((spec.argv.len(), spec.limits.instructions), (2, Some(500_000_000)));
        assert_eq!((spec.limits.memory, spec.limits.processes), (Some(Bytes(64 << 20)), Some(4)));
        let run = Observation::unread(Exit::Code(0), Nanos::from_secs(1), "not read");
        assert!(Meter::Processor.charge(&counting.end(run).unwrap()).is_err(), "nothing was counted");
    }

    #[test]
    fn what_cannot_be_counted_is_a_fault_and_no_count() {
        let (_, _, counting) = begun(Meter::Emulator(an_emulator()));
        let run = || Observation::unread(Exit::Code(0), Nanos::from_secs(1), "not read");
        assert!(counting.end(run()).unwrap_err().why.contains("could not load"));
        let tally = counting.tally.as_ref().unwrap();
        let write = |word: u64, value: u64| tally.write_at(&value.to_ne_bytes(), 8 * word).unwrap();
        // The first thread's count.
        write(8, 1234);
        assert_eq!(counting.end(run()).unwrap().instructions, Reading::Known(1234));
        // The word that says why it ended, and the one that says what this is.
        write(4, 3);
        assert!(counting.end(run()).unwrap_err().why.contains("cannot be counted"));
        write(0, 0);
        assert!(counting.end(run()).unwrap_err().why.contains("wrote into its count"));
    }
}
