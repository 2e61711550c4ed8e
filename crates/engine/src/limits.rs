//! The limits in force: what the user typed, else what the package states, else the defaults, which are all here.

use judge::package::Package;
use model::{Bytes, Limits, Nanos, WallLimit};

/// Memory where the package states none: what DOMjudge and the legacy specification ("typical") give.
pub(crate) const MEMORY: Bytes = Bytes::from_mib(2048);
/// Output where the package states none: the same sources.
const OUTPUT: Bytes = Bytes::from_mib(8);
/// Processes and threads, as DOMjudge gives: far more than a program needs, far less than a fork bomb wants.
const PROCESSES: u32 = 64;
/// Total size of a submission's sources: twice what the legacy specification calls typical, as DOMjudge gives.
const CODE: Bytes = Bytes::from_kib(256);
/// CPU time of a validator run ("typical" in the legacy specification).
const VALIDATION_TIME: Nanos = Nanos::from_secs(60);
/// Memory of a validator run (the same).
const VALIDATION_MEMORY: Bytes = Bytes::from_mib(2048);
/// Output of a validator run (the same).
const VALIDATION_OUTPUT: Bytes = Bytes::from_mib(8);
/// CPU time of a test while the time limit is not yet known: the slowest solution that a jury waits for.
pub const WHILE_INFERRING: Nanos = Nanos::from_secs(60);
/// Elapsed time beyond twice the CPU time, for start-up and slow input.
const WALL_GRACE: Nanos = Nanos::from_secs(1);
/// The same for interactive runs, where each side waits for the other to start.
const INTERACTIVE_GRACE: Nanos = Nanos::from_secs(4);
/// Most that a compiled program, its sources included, may take.
pub(crate) const PROGRAM_BOX: Bytes = Bytes::from_mib(512);

/// Limits that the user typed; they win over the package's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// CPU time of a test, before language factors.
    pub cpu: Option<Nanos>,
    /// Elapsed time of a test. Exactly this: waiting for a busy machine is not excused.
    pub wall: Option<Nanos>,
    /// Memory of a test.
    pub memory: Option<Bytes>,
    /// Stack of the main thread.
    pub stack: Option<Bytes>,
    /// Output of a test.
    pub output: Option<Bytes>,
    /// Processes and threads of a test.
    pub processes: Option<u32>,
    /// Open file descriptors of each process of a test.
    pub open_files: Option<u32>,
}

/// What a language's runtime needs beyond the program itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Memory.
    pub memory: Bytes,
    /// Processes and threads.
    pub processes: u32,
    /// The time limit is multiplied by this.
    pub time_factor: f64,
}

impl Allowance {
    /// Nothing: for programs that bring their own start script.
    pub const NONE: Allowance = Allowance { memory: Bytes(0), processes: 0, time_factor: 1.0 };
}

/// The limits of a package's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Memory of the program itself, without the language's allowance.
    pub memory: Bytes,
    /// Memory of a validator or grader, without the language's allowance.
    pub validation_memory: Bytes,
    /// Total size of a submission's sources.
    pub code: Bytes,
    /// CPU time of a compilation; `None`: the language's.
    pub compilation_time: Option<Nanos>,
    /// Memory of a compilation; `None`: the language's.
    pub compilation_memory: Option<Bytes>,
    output: Bytes,
    processes: u32,
    stack: Option<Bytes>,
    open_files: Option<u32>,
    wall: Option<Nanos>,
    interactive: bool,
    validation_time: Nanos,
    validation_output: Bytes,
}

impl Settings {
    /// The limits in force for a package.
    pub fn new(package: &Package, typed: Overrides) -> Settings {
        let stated = &package.limits;
        Settings {
            memory: typed.memory.or(stated.memory).unwrap_or(MEMORY),
            validation_memory: stated.validation_memory.unwrap_or(VALIDATION_MEMORY),
            code: stated.code.unwrap_or(CODE),
            compilation_time: stated.compilation_time,
            compilation_memory: stated.compilation_memory,
            output: typed.output.or(stated.output).unwrap_or(OUTPUT),
            processes: typed.processes.unwrap_or(PROCESSES),
            stack: typed.stack,
            open_files: typed.open_files,
            wall: typed.wall,
            interactive: package.interactive,
            validation_time: stated.validation_time.unwrap_or(VALIDATION_TIME),
            validation_output: stated.validation_output.unwrap_or(VALIDATION_OUTPUT),
        }
    }

    /// Of one run of a submission whose CPU time limit, language factor included, is `cpu`.
    pub fn submission(&self, cpu: Nanos, allowance: Allowance) -> Limits {
        let wall = match self.wall {
            Some(time) => WallLimit { time, excuse_waiting: false },
            None => self.wall(cpu),
        };
        Limits {
            cpu: Some(cpu),
            wall: Some(wall),
            memory: Some(self.memory + allowance.memory),
            stack: self.stack,
            output: Some(self.output),
            processes: Some(self.processes.saturating_add(allowance.processes)),
            open_files: self.open_files,
            ..Limits::default()
        }
    }

    /// Of one run of a validator or grader.
    pub fn validation(&self, allowance: Allowance) -> Limits {
        Limits {
            cpu: Some(self.validation_time),
            wall: Some(self.wall(self.validation_time)),
            memory: Some(self.validation_memory + allowance.memory),
            output: Some(self.validation_output),
            processes: Some(PROCESSES.saturating_add(allowance.processes)),
            ..Limits::default()
        }
    }

    /// Of an interactor beside a submission: waiting for the submission is not its own time, so its wall limit
    /// lies beyond the submission's.
    pub fn interactor(&self, allowance: Allowance, submission: &Limits) -> Limits {
        let validation = self.validation(allowance);
        let beside = submission.wall.map_or(Nanos::ZERO, |wall| wall.time);
        let wall = validation.wall.map(|wall| WallLimit { time: wall.time + beside, ..wall });
        Limits { wall, ..validation }
    }

    fn wall(&self, cpu: Nanos) -> WallLimit {
        let grace = if self.interactive { INTERACTIVE_GRACE } else { WALL_GRACE };
        WallLimit { time: cpu.scale(2.0) + grace, excuse_waiting: true }
    }
}
