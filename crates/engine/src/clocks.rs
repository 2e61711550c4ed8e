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
    emulator_in(&PLACES)
}

fn emulator_in(places: &[&str]) -> Result<Emulator, String> {
    let found = places.iter().map(|place| Path::new(place).join(EMULATOR)).find(|path| path.is_file());
    let missing = || format!("no {EMULATOR} in {}: install the package {PACKAGE}", places.join(" or "));
    let path = found.ok_or_else(missing)?;
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
    emulator: Emulator,
}

/// Makes a run one that is counted, and ended at so many instructions: `spec.limits.cpu`, taken as seconds of this clock.
///
/// # Errors
/// The program is none that the emulator can load.
pub fn count(
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
    emulator_used: Emulator,
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
    let emulator = emulator_used.path.display();
    let options =
        format!("{PLUGIN_AT},tally={},emulator={emulator},plugin={PLUGIN_AT},cpu={CPU}", RunSpec::TALLY);
    let front = [emulator.to_string(), "-cpu".into(), CPU.into(), "-plugin".into(), options];
    spec.argv.splice(0..0, front);
    Ok(Counted { tally, emulator: emulator_used })
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
        stack: typed.stack.or(typed.memory),
        memory: typed.memory.map(|memory| Bytes(memory.0.saturating_add(ALLOWANCE.0))),
        ..typed
    }
}

impl Counted {
    /// What counts.
    pub fn emulator(&self) -> &Emulator {
        &self.emulator
    }

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
        let instructions = Reading::Known(tally.instructions);
        let mut counted = Observation { instructions, ..observation };
        counted.evidence.weaker.push("memory and CPU time are those of program and emulator together".into());
        Ok(counted)
    }
}

/// Whether the emulator can load this program: scripts are for their interpreters.
pub fn is_program(file: &File) -> bool {
    let mut magic = [0; 4];
    file.try_clone().is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Exit;

    #[test]
    fn a_missing_emulator_is_told_with_the_package() {
        let why = emulator_in(&["/nowhere", "/nor here"]).unwrap_err();
        assert_eq!(why, "no qemu-x86_64 in /nowhere or /nor here: install the package qemu-user");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EMULATOR);
        std::fs::copy("/bin/true", &path).unwrap();
        let other = emulator_in(&[&dir.path().display().to_string()]).unwrap_err();
        assert!(other.ends_with("it does not tell its version"), "{other}");
    }

    fn counted() -> (RunSpec, Vec<OwnedFd>, Counted) {
        let limits =
            Limits { cpu: Some(Nanos::from_millis(500)), memory: Some(Bytes(64 << 20)), ..Limits::default() };
        let mut spec = RunSpec { argv: vec!["/bin/true".into(), "x".into()], limits, ..RunSpec::bare() };
        let mut fds = Vec::new();
        let emulator = Emulator { path: "/usr/bin/qemu-x86_64".into(), version: "qemu-x86_64 9".into() };
        let counted = count(&mut spec, &mut fds, emulator).unwrap();
        (spec, fds, counted)
    }

    #[test]
    fn the_program_is_started_in_the_emulator() {
        let (spec, fds, _) = counted();
        assert_eq!(spec.argv[0], "/usr/bin/qemu-x86_64");
        assert_eq!(spec.argv[5..], ["/bin/true", "x"]);
        assert!(spec.argv[4].starts_with("/clock/plugin.so,tally=200,"), "{}", spec.argv[4]);
        assert_eq!((fds.len(), spec.files.len(), spec.tally), (2, 1, Some(1)));
        assert_eq!(spec.limits.instructions, Some(500_000_000));
        assert_eq!(spec.limits.cpu, Some(Nanos::from_secs(26)));
        assert_eq!(spec.limits.memory, Some(Bytes(320 << 20)));
    }

    #[test]
    fn what_cannot_be_counted_is_a_fault_and_no_count() {
        let (_, _, counted) = counted();
        let run = || Observation::unread(Exit::Code(0), Nanos::from_secs(1), "not read");
        assert_eq!(counted.told(run()).unwrap().instructions, Reading::Known(0));
        let write = |word: u64, value: u64| counted.tally.write_at(&value.to_ne_bytes(), 8 * word).unwrap();
        // The first thread's count.
        write(8, 1234);
        assert_eq!(counted.told(run()).unwrap().instructions, Reading::Known(1234));
        // The word that says why it ended, and the one that says what this is.
        write(4, 3);
        assert!(counted.told(run()).unwrap_err().why.contains("cannot be counted"));
        write(0, 0);
        assert!(counted.told(run()).unwrap_err().why.contains("wrote into its count"));
    }
}
