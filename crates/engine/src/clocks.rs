//! Clocks that count what a program does, equal on every machine: the program runs in QEMU's user-mode emulator, and a
//! plugin of ours counts its instructions.

use crate::{SystemError, files};
use model::{Bytes, FileMount, Limits, Nanos, Observation, Reading, RunSpec, WallLimit};
use reference_machine::tally::{self, End};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
/// same code everywhere.
const CPU: &str = "max";
/// Instructions that make up a second under this clock.
pub const RATE: u64 = 1_000_000_000;
/// The emulator's own memory: its code, its tables, and translated code.
const ALLOWANCE: Bytes = Bytes(256 << 20);
/// CPU time after which an emulated program is ended, in units of the time its limit stands for: emulation costs up to
/// fifteen times the time, and its start 0.1 s.
const SLOWER: u64 = 50;

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
/// There is none, with the package to install.
pub fn emulator() -> Result<Emulator, String> {
    let found = PLACES.iter().map(|place| Path::new(place).join(EMULATOR)).find(|path| path.is_file());
    let path = found
        .ok_or_else(|| format!("no {EMULATOR} in {}: install the package {PACKAGE}", PLACES.join(" or ")))?;
    let output =
        Command::new(&path).arg("--version").output().map_err(|e| format!("{}: {e}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().next().unwrap_or_default().trim().to_string();
    if !version.starts_with(EMULATOR) {
        return Err(format!("{}: it does not tell its version", path.display()));
    }
    Ok(Emulator { path, version })
}

/// A run that is counted.
pub struct Counted {
    tally: File,
}

/// Makes a run one that is counted, and ended at so many instructions: `spec.limits.cpu`, taken as seconds of this clock.
///
/// # Errors
/// The program is none that the emulator can load.
pub fn count(
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
    emulator: &Emulator,
) -> Result<Counted, SystemError> {
    let fault = |e: io::Error| SystemError::new("preparing the instruction clock", e.to_string());
    let limit = spec.limits.cpu.map(instructions);
    spec.limits = limits(spec.limits, limit);
    let plugin = files::on_disk(&mut &PLUGIN[..], PLUGIN.len() as u64).map_err(fault)?;
    let tally = files::in_memory_with("tally", &tally::fresh(limit))?;
    let mut add = |file: OwnedFd| {
        fds.push(file);
        (fds.len() - 1) as u8
    };
    spec.files.push(FileMount { fd: add(plugin.into()), at: PLUGIN_AT.into() });
    spec.tally = Some(add(tally.try_clone().map_err(fault)?.into()));
    let emulator = emulator.path.display();
    let options =
        format!("{PLUGIN_AT},tally={},emulator={emulator},plugin={PLUGIN_AT},cpu={CPU}", RunSpec::TALLY);
    let front = [emulator.to_string(), "-cpu".into(), CPU.into(), "-plugin".into(), options];
    spec.argv.splice(0..0, front);
    Ok(Counted { tally })
}

/// Instructions that a time stands for.
fn instructions(time: Nanos) -> u64 {
    u64::try_from(u128::from(time.0) * u128::from(RATE) / 1_000_000_000).unwrap_or(u64::MAX - 1)
}

fn limits(typed: Limits, limit: Option<u64>) -> Limits {
    let slower = |time: Nanos| Nanos(time.0.saturating_mul(SLOWER)) + Nanos::from_secs(1);
    let wall = |wall: WallLimit| WallLimit { time: slower(wall.time), ..wall };
    Limits {
        cpu: typed.cpu.map(slower),
        instructions: limit,
        wall: typed.wall.map(wall),
        memory: typed.memory.map(|memory| Bytes(memory.0.saturating_add(ALLOWANCE.0))),
        ..typed
    }
}

impl Counted {
    /// The run with its count.
    ///
    /// # Errors
    /// The program did what cannot be counted.
    pub fn told(&self, observation: Observation) -> Result<Observation, SystemError> {
        let mut bytes = vec![0; tally::SIZE];
        let fault = |why: &str| SystemError::new("counting instructions", why);
        self.tally.read_exact_at(&mut bytes, 0).map_err(|e| fault(&e.to_string()))?;
        let tally = tally::read(&bytes).ok_or_else(|| fault("the program wrote into its count"))?;
        match tally.end {
            End::ByItself | End::Limit => {}
            End::Threads => return Err(fault("it had more threads at one time than can be counted, 1024")),
            End::Exec => return Err(fault("it started a program in a way that cannot be counted")),
        }
        Ok(Observation { instructions: Reading::Known(tally.instructions), ..observation })
    }
}

/// Whether the emulator can load this program: scripts are for their interpreters.
pub fn is_program(file: &File) -> bool {
    let mut magic = [0; 4];
    file.try_clone().is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == *b"\x7fELF"
}
