//! A [`Runner`] without processes: a function plays every run, boxes live in memory. The test double of the
//! sandbox, for everything that drives runs.

use crate::{Blame, Runner, SystemError, files};
use model::{BoxId, Bytes, Exit, Found, Nanos, Observation, Reading, RunSpec, Stdio};
use reference_machine::machine::TICKS_PER_SECOND;
use reference_machine::tally;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Simulates one run: reads and writes through the [`Stage`] and returns the observation.
pub type Play = dyn Fn(&mut Stage) -> Result<Observation, SystemError> + Send + Sync;

type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// The simulated runner.
pub struct Simulated {
    play: Box<Play>,
    state: Mutex<State>,
    changed: Condvar,
    throws_away: bool,
}

#[derive(Default)]
struct State {
    boxes: BTreeMap<BoxId, (Bytes, Files)>,
    made: u32,
    running: bool,
    /// Set by [`Runner::end_run`]: whether it was for too much output.
    ended: Option<bool>,
    specs: Vec<RunSpec>,
}

impl Simulated {
    /// A runner whose runs are simulated by this function.
    pub fn new(
        play: impl Fn(&mut Stage) -> Result<Observation, SystemError> + Send + Sync + 'static,
    ) -> Simulated {
        Simulated {
            play: Box::new(play),
            state: Mutex::default(),
            changed: Condvar::new(),
            throws_away: false,
        }
    }

    /// The same, as a virtual machine: see [`Runner::throws_away`].
    pub fn thrown_away(self) -> Simulated {
        Simulated { throws_away: true, ..self }
    }

    /// The specifications of all runs so far, in order.
    pub fn specs(&self) -> Vec<RunSpec> {
        self.state().specs.clone()
    }

    /// The number of boxes that were created and not removed.
    pub fn boxes(&self) -> usize {
        self.state().boxes.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A play that panicked is a failed test; what it left is still worth looking at.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_box<T>(&self, id: BoxId, f: impl FnOnce(&mut Bytes, &mut Files) -> T) -> Result<T, SystemError> {
        let mut state = self.state();
        let (size, files) = state
            .boxes
            .get_mut(&id)
            .ok_or_else(|| SystemError::new(format!("box {}", id.0), "there is no such box"))?;
        Ok(f(size, files))
    }
}

impl Runner for Simulated {
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError> {
        let mut state = self.state();
        state.made += 1;
        let id = BoxId(state.made);
        state.boxes.insert(id, (size, Files::new()));
        Ok(id)
    }

    fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SystemError> {
        let fault = |why: String| SystemError::new(format!("writing `{path}` into box {}", id.0), why);
        let mut bytes = Vec::new();
        files::reopen(content)
            .and_then(|mut f| f.read_to_end(&mut bytes))
            .map_err(|e| fault(e.to_string()))?;
        self.with_box(id, |size, files| {
            let used: usize = files.values().map(|(content, _)| content.len()).sum();
            if (used + bytes.len()) as u64 > size.0 {
                return Err(SystemError { blame: Blame::Content, ..fault("the box is full".to_owned()) });
            }
            files.insert(path.to_owned(), (bytes, executable));
            Ok(())
        })?
    }

    fn fetch(&self, id: BoxId, path: &str) -> Result<Found<File>, SystemError> {
        let content = self.with_box(id, |_, files| files.get(path).map(|(content, _)| content.clone()))?;
        let file = content.map(|content| files::in_memory_with(path, &content)).transpose()?;
        Ok(file.map_or(Found::Nothing, Found::File))
    }

    fn list(&self, id: BoxId) -> Result<Vec<String>, SystemError> {
        self.with_box(id, |_, files| files.keys().cloned().collect())
    }

    fn remove(&self, id: BoxId, path: &str) -> Result<(), SystemError> {
        self.with_box(id, |_, files| files.remove(path).map_or((), drop))
    }

    fn drop_box(&self, id: BoxId) -> Result<(), SystemError> {
        self.with_box(id, |_, _| ())?;
        self.state().boxes.remove(&id);
        Ok(())
    }

    fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SystemError> {
        {
            let mut state = self.state();
            if state.running {
                return Err(SystemError::new("starting a run", "another one is in progress on this runner"));
            }
            state.running = true;
            state.ended = None;
            state.specs.push(spec.clone());
        }
        let fds = fds.into_iter().map(File::from).collect();
        let mut stage = Stage { runner: self, spec, fds };
        let observation = (self.play)(&mut stage);
        let now = clock_gettime(ClockId::Monotonic);
        // Only now do pipes end for whoever is at their other ends.
        drop(stage);
        let mut state = self.state();
        state.running = false;
        let ended = state.ended.take();
        observation.map(|o| Observation {
            cancelled: o.cancelled || ended == Some(false),
            output_cut: o.output_cut || ended == Some(true),
            ended: Nanos::from_secs(now.tv_sec as u64) + Nanos(now.tv_nsec as u64),
            ..o
        })
    }

    fn end_run(&self, output: bool) {
        let mut state = self.state();
        if state.running && state.ended.is_none() {
            state.ended = Some(output);
            self.changed.notify_all();
        }
    }

    fn throws_away(&self) -> bool {
        self.throws_away
    }
}

/// What a played run sees.
pub struct Stage<'a> {
    runner: &'a Simulated,
    spec: &'a RunSpec,
    fds: Vec<File>,
}

impl Stage<'_> {
    /// The specification of the run.
    pub fn spec(&self) -> &RunSpec {
        self.spec
    }

    /// Everything on standard input.
    pub fn read_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(mut file) = self.stream(0) {
            file.read_to_end(&mut all).unwrap_or_default();
        }
        all
    }

    /// The next line of standard input without its end; `None` at the end of input.
    pub fn read_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        let mut file = self.stream(0)?;
        while let Ok(1) = file.read(&mut byte) {
            if byte == *b"\n" {
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            line.push(byte[0]);
        }
        (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned())
    }

    /// Writes to standard output.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.stream(1).map_or(Ok(()), |mut file| file.write_all(text.as_bytes()))
    }

    /// Writes to standard error.
    pub fn write_error(&mut self, text: &str) -> io::Result<()> {
        self.stream(2).map_or(Ok(()), |mut file| file.write_all(text.as_bytes()))
    }

    /// The content of a file that the run sees: in a box, or mounted by itself.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(mount) = self.spec.files.iter().find(|mount| mount.at == path) {
            let mut content = Vec::new();
            files::reopen(self.fds.get(usize::from(mount.fd))?).ok()?.read_to_end(&mut content).ok()?;
            return Some(content);
        }
        let (id, name, _) = self.boxed(path)?;
        self.runner.with_box(id, |_, files| files.get(&name).map(|(content, _)| content.clone())).ok()?
    }

    /// Writes a file of a box that the run may write to; whether it could.
    pub fn put(&self, path: &str, content: &[u8]) -> bool {
        match self.boxed(path) {
            Some((id, name, true)) => {
                let entry = (content.to_vec(), true);
                self.runner.with_box(id, |_, files| files.insert(name, entry)).is_ok()
            }
            _ => false,
        }
    }

    /// What the reference machine says of the run: its time there.
    pub fn follow(&mut self, reference: Nanos) -> io::Result<()> {
        let Some(tally) = self.spec.tally.and_then(|fd| self.fds.get(usize::from(fd))) else { return Ok(()) };
        let ticks = reference.0.saturating_mul(TICKS_PER_SECOND / 1_000_000_000);
        tally::count(tally, ticks)
    }

    /// Waits until someone ends the run.
    pub fn wait_for_end(&self) {
        let mut state = self.runner.state();
        while state.ended.is_none() {
            state = self.runner.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stream(&self, n: usize) -> Option<&File> {
        match self.spec.stdio[n] {
            Stdio::Null => None,
            Stdio::Fd(fd) => self.fds.get(usize::from(fd)),
        }
    }

    fn boxed(&self, path: &str) -> Option<(BoxId, String, bool)> {
        self.spec.boxes.iter().find_map(|mount| {
            let name = path.strip_prefix(&mount.at)?.strip_prefix('/')?;
            Some((mount.id, name.to_owned(), mount.writable))
        })
    }
}

/// What is observed of an undisturbed run that ended so and used so much CPU time.
pub fn observation(exit: Exit, cpu: Nanos) -> Observation {
    let mut observation = Observation::unread(exit, cpu, "a simulated run has no machine");
    observation.memory_peak = Reading::Known(Bytes::from_mib(1));
    observation.output = Reading::Known(Bytes(0));
    observation
}
