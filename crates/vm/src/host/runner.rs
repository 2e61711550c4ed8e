//! The machine of a slot, as the engine sees it: a runner whose boxes vanish with each submission's machine.

use super::Settings;
use super::accelerator::{expected, found_with, remember};
use super::live::{Given, Live, Patience, fault};
use crate::frame::Kind;
use crate::message::NumberedRequest;
use crate::message::{Request, Response, Role, WireBlame, possible};
use crate::port::Port;
use engine::{Runner, SystemError, files};
use model::{
    Accelerator, BoxId, Bytes, Found, Isolation, Limits, MachineEvidence, Nanos, Observation, Reading,
    RunSpec, Stdio, WallLimit,
};
use rustix::fs::{FileType, fstat};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Until a guest is ready where the processor runs it. One that hangs is taken for a machine on which none works.
const KVM: Duration = Duration::from_secs(20);
/// The same where it is emulated: five to ten seconds are usual.
const TCG: Duration = Duration::from_secs(90);
/// How often a machine that does not start is started: nothing of a submission's has run by then.
const BOOTS: u32 = 3;
/// What a run may take beyond its limit, to begin and to end, and for bytes on their way.
const BEYOND: Duration = Duration::from_secs(60);
/// Of the guest's memory this is not for programs: kernel, launcher, this binary.
const OWN: Bytes = Bytes::from_mib(384);

/// Why it was stopped while it was booted.
const ENDED: &str = "ended before it was ready";

/// The machine of one slot, and the one after it. See the crate's documentation.
pub struct Machine {
    shared: Arc<Shared>,
    turn: Mutex<Turn>,
    /// Of the machine in use, to end runs by.
    port: Mutex<Option<Arc<Port>>>,
}

struct Shared {
    settings: Settings,
    /// A machine that is being booted is to be left.
    stop: AtomicBool,
    /// Which accelerator is used, once it is known.
    accelerator: Mutex<Option<Accelerator>>,
}

#[derive(Default)]
struct Turn {
    live: Option<Live>,
    next: Option<JoinHandle<Result<Live, String>>>,
    /// Boxes by the numbers that the engine has of them: the guest's, and their size.
    boxes: BTreeMap<u32, (BoxId, Bytes)>,
    last: u32,
    /// Something ran in it.
    used: bool,
}

impl Machine {
    /// Begins to boot the first machine.
    pub fn new(settings: Settings) -> Machine {
        let shared =
            Shared { accelerator: Mutex::new(settings.accelerator), settings, stop: AtomicBool::new(false) };
        let machine = Machine { shared: Arc::new(shared), turn: Mutex::default(), port: Mutex::default() };
        machine.turn().next = Some(machine.boot());
        machine
    }

    /// Waits until it is ready, and says what computes and how long it took to boot.
    ///
    /// # Errors
    /// Why there is no machine.
    pub fn ready(&self) -> Result<(Accelerator, Duration), SystemError> {
        let mut turn = self.turn();
        let boot = self.live(&mut turn)?.boot;
        Ok((self.accelerator(), boot))
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accelerator(&self) -> Accelerator {
        self.shared.accelerator.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Accelerator::Tcg)
    }

    fn boot(&self) -> JoinHandle<Result<Live, String>> {
        let shared = self.shared.clone();
        spawn(move || shared.boot())
    }

    /// The machine in use; a dead one is replaced when nothing of it is needed any more.
    fn live<'a>(&self, turn: &'a mut Turn) -> Result<&'a Live, SystemError> {
        if turn.live.as_ref().is_some_and(|live| !live.alive()) {
            self.throw_away(turn);
        }
        if turn.live.is_none() {
            let booting = turn.next.take().unwrap_or_else(|| self.boot());
            let live = booting.join().map_err(|_| fault("booting it failed"))?.map_err(fault)?;
            *self.port.lock().unwrap_or_else(PoisonError::into_inner) = Some(live.port());
            turn.used = false;
            turn.live = Some(live);
        }
        turn.live.as_ref().ok_or_else(|| fault("there is none"))
    }

    fn throw_away(&self, turn: &mut Turn) {
        *self.port.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let old = turn.live.take();
        turn.boxes.clear();
        if !self.shared.settings.ahead {
            return;
        }
        let shared = self.shared.clone();
        turn.next = Some(spawn(move || {
            drop(old);
            shared.boot()
        }));
    }

    /// The guest's number of a box.
    fn inner(turn: &Turn, id: BoxId) -> Result<(BoxId, Bytes), SystemError> {
        turn.boxes.get(&id.0).copied().ok_or_else(|| fault("the box was lost with the machine it was in"))
    }

    /// Asks for something about a box.
    fn about(&self, id: BoxId, ask: impl FnOnce(BoxId) -> Request) -> Result<Response, SystemError> {
        let mut turn = self.turn();
        let (inner, _) = Machine::inner(&turn, id)?;
        self.live(&mut turn)?;
        Machine::inner(&turn, id)?;
        self.live(&mut turn)?.ask(ask(inner))
    }

    /// What the guest says of a run, held against what was seen here.
    fn believed(
        &self,
        live: &Live,
        observation: Observation,
        age: Nanos,
        elapsed: Duration,
        waited: [Reading<Nanos>; 2],
    ) -> Result<Observation, SystemError> {
        let settings = &self.shared.settings;
        let passed = Nanos(elapsed.as_nanos() as u64);
        let cpus = if settings.cpus.is_empty() { 2 } else { settings.cpus_for_runs() };
        possible(&observation, age, passed, cpus)
            .map_err(|why| fault(live.close(&format!("it tells of {why}"))))?;
        let [before, after] = waited;
        let waited = match (before, after) {
            (Reading::Known(before), Reading::Known(after)) => Reading::Known(after - before),
            (Reading::Unknown(why), _) | (_, Reading::Unknown(why)) => Reading::Unknown(why),
        };
        let now = clock_gettime(ClockId::Monotonic);
        let now = Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
        let accelerator = self.accelerator();
        let mut observation = Observation { ended: now - age, ..observation };
        let evidence = &mut observation.evidence;
        let stolen = evidence.steal.clone();
        // The kernel's own account of it is the wait of these threads, where the guest is told of it at all (kvm_steal_time).
        evidence.steal = match (&stolen, &waited) {
            (Reading::Known(guest), Reading::Known(host)) => Reading::Known(*guest.max(host)),
            (Reading::Unknown(_), host) => host.clone(),
            (guest, Reading::Unknown(_)) => guest.clone(),
        };
        evidence.isolation = Isolation::Vm;
        evidence.cpus = settings.cpus.clone();
        evidence.cpu_nodes = settings.node.into_iter().collect();
        evidence.mem_nodes = settings.node.into_iter().collect();
        evidence.weaker = live.weaker.clone();
        if accelerator == Accelerator::Tcg {
            let weak =
                "the virtual machine is emulated in software: times are many times longer and vary more";
            evidence.weaker.push(weak.into());
        }
        evidence.machine = Some(MachineEvidence { accelerator, host_wait: waited, guest_steal: stolen });
        Ok(observation)
    }
}

impl Shared {
    fn boot(&self) -> Result<Live, String> {
        let mut why = String::new();
        for _ in 0..BOOTS {
            match self.boot_once() {
                Ok(live) => return Ok(live),
                Err(e) => why = e,
            }
            if self.stop.load(Ordering::SeqCst) {
                return Err(ENDED.into());
            }
        }
        Err(why)
    }

    fn boot_once(&self) -> Result<Live, String> {
        let of = found_with(&self.settings.parts);
        let cache = self.settings.cache.as_ref();
        let chosen = *self.accelerator.lock().unwrap_or_else(PoisonError::into_inner);
        let accelerator = match chosen.or_else(|| expected(&self.settings.parts, cache)) {
            Some(accelerator) => accelerator,
            None => match Live::boot(&self.settings.order(Accelerator::Kvm), KVM, &self.stop) {
                Ok(live) => {
                    remember(cache, &of, Accelerator::Kvm);
                    self.choose(Accelerator::Kvm);
                    return Ok(live);
                }
                Err(_) if self.stop.load(Ordering::SeqCst) => return Err(ENDED.into()),
                Err(_) => {
                    remember(cache, &of, Accelerator::Tcg);
                    Accelerator::Tcg
                }
            },
        };
        self.choose(accelerator);
        let patience = if accelerator == Accelerator::Kvm { KVM } else { TCG };
        Live::boot(&self.settings.order(accelerator), patience, &self.stop)
    }

    fn choose(&self, accelerator: Accelerator) {
        *self.accelerator.lock().unwrap_or_else(PoisonError::into_inner) = Some(accelerator);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let next = self.turn().next.take();
        if let Some(next) = next {
            drop(next.join());
        }
    }
}

impl Runner for Machine {
    fn create_box(&self, size: Bytes) -> Result<BoxId, SystemError> {
        let mut turn = self.turn();
        let told = self.live(&mut turn)?.ask(Request::CreateBox { size })?;
        let Response::Box(inner) = told else { return Err(self.odd(&turn)) };
        turn.last += 1;
        let id = turn.last;
        turn.boxes.insert(id, (inner, size));
        Ok(BoxId(id))
    }

    fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SystemError> {
        let mut turn = self.turn();
        let (inner, _) = Machine::inner(&turn, id)?;
        let content =
            files::reopen(content).map_err(|e| SystemError::new("opening a file again", e.to_string()))?;
        let ask = Request::Put { id: inner, path: path.to_string(), executable };
        match self.live(&mut turn)?.give(ask, &content)? {
            Response::Done => Ok(()),
            _ => Err(self.odd(&turn)),
        }
    }

    fn fetch(&self, id: BoxId, path: &str) -> Result<Found<File>, SystemError> {
        let mut turn = self.turn();
        let (inner, size) = Machine::inner(&turn, id)?;
        let file = files::in_memory("from a virtual machine")?;
        let ask = Request::Fetch { id: inner, path: path.to_string() };
        match self.live(&mut turn)?.take(ask, &file, size.0)? {
            Response::File(found) => {
                let again = || {
                    files::reopen(&file).map_err(|e| SystemError::new("opening a file again", e.to_string()))
                };
                Ok(match found {
                    Found::Nothing => Found::Nothing,
                    Found::Other => Found::Other,
                    Found::File(()) => Found::File(again()?),
                })
            }
            _ => Err(self.odd(&turn)),
        }
    }

    fn list(&self, id: BoxId) -> Result<Vec<String>, SystemError> {
        match self.about(id, |id| Request::List { id })? {
            Response::Files(mut names) => {
                names.sort();
                names.dedup();
                Ok(names)
            }
            _ => Err(self.odd(&self.turn())),
        }
    }

    fn remove(&self, id: BoxId, path: &str) -> Result<(), SystemError> {
        match self.about(id, |id| Request::Remove { id, path: path.to_string() })? {
            Response::Done => Ok(()),
            _ => Err(self.odd(&self.turn())),
        }
    }

    fn drop_box(&self, id: BoxId) -> Result<(), SystemError> {
        let mut turn = self.turn();
        let (inner, _) = Machine::inner(&turn, id)?;
        turn.boxes.remove(&id.0);
        // The last one of a submission: all of it goes.
        if turn.boxes.is_empty() && turn.used {
            self.throw_away(&mut turn);
            return Ok(());
        }
        match self.live(&mut turn)?.ask(Request::DropBox { id: inner })? {
            Response::Done => Ok(()),
            _ => Err(self.odd(&turn)),
        }
    }

    fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SystemError> {
        let settings = &self.shared.settings;
        let room = Bytes(settings.memory.0.saturating_sub(OWN.0));
        if let Some(limit) = spec.limits.memory.filter(|limit| *limit > room) {
            return Err(fault(format!(
                "a memory limit of {} MiB, when a machine of {} MiB has {} MiB for programs\n\
                 hint: give it more with --vm-memory or `vm.memory`",
                limit.mib(),
                settings.memory.mib(),
                room.mib()
            )));
        }
        let mut turn = self.turn();
        let mut spec = spec.clone();
        for mount in &mut spec.boxes {
            mount.id = Machine::inner(&turn, mount.id)?.0;
        }
        spec.placement.mem_node = None;
        spec.placement.cpus =
            if settings.cpus.is_empty() { vec![] } else { (1..=settings.cpus_for_runs()).collect() };
        let given = roles(&spec, fds, settings.memory)?;
        let roles = given.iter().map(|one| one.role).collect();
        let had = !turn.boxes.is_empty();
        let live = self.live(&mut turn)?;
        let first = usize::from(!settings.cpus.is_empty());
        let before = live.waited(first);
        if had && turn.boxes.is_empty() {
            return Err(fault("the box was lost with the machine it was in"));
        }
        turn.used = true;
        let live = self.live(&mut turn)?;
        let patience = patience(&spec.limits, live.active(0));
        let (told, elapsed) =
            live.run(Request::Run { spec: Box::new(spec), fds: roles }, given, &patience)?;
        let after = live.waited(first);
        match told {
            Response::Observed { observation, age } => {
                self.believed(live, *observation, age, elapsed, [before, after])
            }
            _ => Err(self.odd(&turn)),
        }
    }

    fn end_run(&self, output: bool) {
        let port = self.port.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match port {
            // A machine that is gone has ended its run.
            Some(port) => {
                port.note_ending(true);
                let asked = NumberedRequest { serial: 0, ask: Request::EndRun { output } };
                let _ = port.send(Kind::Document, 0, &serde_json::to_vec(&asked).unwrap_or_default());
            }
            None => self.shared.stop.store(true, Ordering::SeqCst),
        }
    }

    fn throws_away(&self) -> bool {
        true
    }
}

impl Machine {
    /// An answer to something else.
    fn odd(&self, turn: &Turn) -> SystemError {
        let why = "it broke the protocol: an answer of another kind";
        fault(turn.live.as_ref().map_or(why.to_string(), |live| live.close(why)))
    }
}

/// How long a run is waited for, whose machine's CPUs have been active for so long.
fn patience(limits: &Limits, before: Reading<Nanos>) -> Patience {
    let Some(wall) = limits.wall else { return Patience::Endless };
    let time = Duration::from_nanos(wall.time.max(limits.cpu.unwrap_or_default()).0);
    let excused = if wall.excuse_waiting { WallLimit::EXCUSED_AT_MOST } else { 0 };
    let least = time + BEYOND;
    let most = least + time.saturating_mul(excused);
    Patience::Bounded { least, most, before: before.known().copied().unwrap_or_default() }
}

/// What each of a run's descriptors is in the guest.
fn roles(spec: &RunSpec, fds: Vec<OwnedFd>, memory: Bytes) -> Result<Vec<Given>, SystemError> {
    let refused = |why: &str| WireBlame::Content.error("a run's descriptors".into(), why.into());
    let stdio = |n: usize| match spec.stdio[n] {
        Stdio::Fd(fd) => Some(usize::from(fd)),
        Stdio::Null => None,
    };
    let most = spec.limits.output.map_or(memory.0, |output| output.0.saturating_add(1 << 20).min(memory.0));
    let mut all: Vec<Given> = Vec::new();
    let mut seen: Vec<(u64, u64)> = Vec::new();
    for (n, fd) in fds.into_iter().enumerate() {
        let facts = fstat(&fd).map_err(|e| SystemError::new("looking at a descriptor", e.to_string()))?;
        let regular = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        let identity = (facts.st_dev, facts.st_ino);
        let written = stdio(1) == Some(n) || stdio(2) == Some(n);
        let tally = spec.tally.map(usize::from) == Some(n);
        let role = match (written, tally, regular) {
            (true, _, _) => {
                let is_written = |given: &Given| matches!(given.role, Role::Gathered | Role::Told);
                let same =
                    seen.iter().zip(&all).position(|(other, given)| *other == identity && is_written(given));
                match same {
                    Some(other) => Role::Same(other as u8),
                    None if regular => Role::Gathered,
                    None => Role::Told,
                }
            }
            (_, true, _) => Role::Shared,
            (_, _, true) => Role::Stored { mode: facts.st_mode & 0o777 },
            _ => Role::Fed,
        };
        if all.len() == usize::from(u8::MAX) {
            return Err(refused("there are too many"));
        }
        seen.push(identity);
        // What is stored is read from where the run would begin to read; single files and the tally whole.
        let whole = tally || spec.files.iter().any(|file| usize::from(file.fd) == n);
        let file = File::from(fd);
        let file = match role {
            Role::Stored { .. } | Role::Shared if whole => reopened(file, tally)?,
            _ => file,
        };
        all.push(Given { role, file, most: if tally { memory.0 } else { most } });
    }
    Ok(all)
}

/// The same file at its start.
fn reopened(file: File, written: bool) -> Result<File, SystemError> {
    if written {
        use std::io::Seek;
        (&file).rewind().map_err(|e| SystemError::new("rewinding a file", e.to_string()))?;
        return Ok(file);
    }
    files::reopen(&file).map_err(|e| SystemError::new("opening a file again", e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_become_what_they_are_used_for() {
        let pipe = std::io::pipe().expect("a pipe");
        let (output, script, tally) = (files::in_memory("o"), files::in_memory("s"), files::in_memory("t"));
        let (output, script, tally) =
            (output.expect("memory"), script.expect("memory"), tally.expect("memory"));
        let spec = RunSpec {
            stdio: [Stdio::Fd(0), Stdio::Fd(1), Stdio::Fd(2)],
            files: vec![model::FileMount { fd: 3, at: "/script/a".into() }],
            tally: Some(4),
            ..RunSpec::bare()
        };
        let again = output.try_clone().expect("a descriptor");
        let fds = vec![pipe.0.into(), output.into(), again.into(), script.into(), tally.into()];
        let given = roles(&spec, fds, Bytes::from_mib(1)).expect("they have roles");
        let found: Vec<Role> = given.iter().map(|one| one.role).collect();
        assert_eq!(
            found,
            [Role::Fed, Role::Gathered, Role::Same(1), Role::Stored { mode: 0o777 }, Role::Shared]
        );
        let spec = RunSpec { stdio: [Stdio::Null, Stdio::Fd(0), Stdio::Null], ..RunSpec::bare() };
        let given = roles(&spec, vec![pipe.1.into()], Bytes::from_mib(1)).expect("they have roles");
        assert_eq!(given[0].role, Role::Told);
    }

    #[test]
    fn runs_without_limits_are_waited_for() {
        let before = || Reading::Known(Nanos(7));
        assert_eq!(patience(&Limits::default(), before()), Patience::Endless);
        let bounded = |time, excuse_waiting| {
            let wall = Some(WallLimit { time: Nanos::from_secs(time), excuse_waiting });
            patience(&Limits { cpu: Some(Nanos::from_secs(3)), wall, ..Limits::default() }, before())
        };
        let of = |least, most| Patience::Bounded {
            least: Duration::from_secs(least),
            most: Duration::from_secs(most),
            before: Nanos(7),
        };
        assert_eq!([bounded(5, true), bounded(2, false)], [of(65, 110), of(63, 63)]);
    }
}
