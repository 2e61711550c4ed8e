//! One machine that runs.

use super::keeper::{KEEPER, Order, Started};
use crate::frame::{self, Kind};
use crate::message::{self, NumberedRequest, NumberedResponse, Request, Response, Role, VERSION};
use crate::port::Port;
use engine::SystemError;
use model::{Nanos, Reading};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, scope, spawn};
use std::time::{Duration, Instant};

/// A guest says every second that it is there. One that is silent for so long is dead, however slowly it is emulated.
const SILENCE: Duration = Duration::from_secs(30);
/// For any request but a run.
const PATIENCE: Duration = Duration::from_secs(120);
/// For the answer to a run that was ended: the launcher in the guest keeps it from ending for 5 s at most ([`crate::port::UNREAD`]), the rest is
/// for emulation on a busy host. A guest that ignores it would hold back the end of a service.
const ENDING: Duration = Duration::from_secs(20);
/// How often who waits looks whether it should go on.
const LOOK: Duration = Duration::from_millis(50);
/// Of the console so much is kept.
const CONSOLE: usize = 8 << 10;

/// A booted machine. It ends with this.
pub(super) struct Live {
    keeper: Child,
    socket: UnixStream,
    port: Arc<Port>,
    answers: Receiver<NumberedResponse>,
    /// An answer is awaited.
    expecting: Arc<AtomicBool>,
    serial: AtomicU64,
    console: Arc<Mutex<Vec<u8>>>,
    threads: Vec<JoinHandle<()>>,
    /// [`ENDING`].
    ending: Duration,
    started: Started,
    /// What the guest's sandbox lacks, said before anything ran there.
    pub(super) weaker: Vec<String>,
    /// From asking for it until it was ready.
    pub(super) boot: Duration,
}

/// One descriptor of a run, and what it is in the guest.
pub(super) struct Given {
    pub(super) role: Role,
    pub(super) file: File,
    /// Most bytes that may come back.
    pub(super) most: u64,
}

/// How long a run is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as its machine says that it is there: it has no limit.
    Endless,
    /// `least`, and longer by as much as the guest's CPUs were active since a moment at which that time was `before`, up to `most`. The
    /// launcher in the guest excuses time that a run waited for a CPU; where a CPU is waited for, one is active.
    Bounded { least: Duration, most: Duration, before: Nanos },
}

impl Patience {
    /// After how much time the run is late, when so much has passed.
    fn after(&self, passed: Duration, active: impl FnOnce() -> Reading<Nanos>) -> Duration {
        match self {
            Patience::Endless => Duration::from_secs(u64::from(u32::MAX)),
            Patience::Bounded { least, .. } if passed <= *least => *least,
            Patience::Bounded { least, most, before } => match active() {
                Reading::Known(active) => (*least + Duration::from_nanos((active - *before).0)).min(*most),
                Reading::Unknown(_) => *most,
            },
        }
    }
}

impl Live {
    /// Boots a machine within `patience`; it is left when `stop` is set.
    pub(super) fn boot(order: &Order, patience: Duration, stop: &AtomicBool) -> Result<Live, String> {
        let begun = Instant::now();
        let (socket, theirs) = UnixStream::pair().map_err(|e| e.to_string())?;
        let mut keeper = Command::new("/proc/self/exe")
            .arg0(KEEPER)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("starting the keeper: {e}"))?;
        let (told, complaints) = (keeper.stdout.take(), keeper.stderr.take());
        let (sender, answers) = channel();
        let console = Arc::<Mutex<Vec<u8>>>::default();
        let out = socket.try_clone().map_err(|e| e.to_string())?;
        let mut live = Live {
            keeper,
            socket,
            port: Arc::new(Port::new(out)),
            answers,
            expecting: Arc::new(AtomicBool::new(true)),
            serial: AtomicU64::new(0),
            console: console.clone(),
            threads: Vec::new(),
            ending: ENDING,
            started: Started::default(),
            weaker: Vec::new(),
            boot: Duration::ZERO,
        };
        if let Some(from) = complaints {
            live.threads.push(spawn(move || listen(from, &console)));
        }
        live.socket.set_read_timeout(Some(SILENCE.max(patience))).map_err(|e| e.to_string())?;
        live.socket.set_write_timeout(Some(SILENCE)).map_err(|e| e.to_string())?;
        let order = serde_json::to_vec(order).map_err(|e| e.to_string())?;
        live.port.send(Kind::Document, 0, &order).map_err(|e| e.to_string())?;
        let mut line = String::new();
        let told = told.ok_or("the keeper says nothing")?;
        BufReader::new(told.take(64 << 10)).read_line(&mut line).map_err(|e| format!("the keeper: {e}"))?;
        live.started = serde_json::from_str(&line).map_err(|_| live.words("the keeper ended"))?;
        if let Some(why) = live.started.failed.take() {
            return Err(why);
        }
        live.listen(sender)?;
        let ready = live.hear(&|| begun + patience, &|| stop.load(Ordering::SeqCst));
        live.weaker = match ready {
            Ok(NumberedResponse { serial: 0, told: Response::Ready { version: VERSION, weaker } }) => weaker,
            Ok(_) => return Err("the guest is not of this version".into()),
            Err(why) => return Err(why),
        };
        live.boot = begun.elapsed();
        Ok(live)
    }

    /// Reads what comes, from now on.
    fn listen(&mut self, answers: Sender<NumberedResponse>) -> Result<(), String> {
        let stream = self.socket.try_clone().map_err(|e| e.to_string())?;
        let (port, expecting) = (self.port.clone(), self.expecting.clone());
        self.threads.push(spawn(move || {
            let why = hear_all(stream, SILENCE, &port, &expecting, &answers);
            port.close(&why);
        }));
        Ok(())
    }

    /// A handle to end runs with.
    pub(super) fn port(&self) -> Arc<Port> {
        self.port.clone()
    }

    /// Whether it can be spoken to.
    pub(super) fn alive(&self) -> bool {
        self.port.closed().is_none()
    }

    /// Ends it for this reason.
    pub(super) fn close(&self, why: &str) -> String {
        self.port.close(why);
        self.words(why)
    }

    /// The reason, and what the console said last.
    fn words(&self, why: &str) -> String {
        let console = self.console.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text: String = String::from_utf8_lossy(&console)
            .chars()
            .map(|c| {
                if c == '\n' {
                    c
                } else if c.is_control() {
                    ' '
                } else {
                    c
                }
            })
            .collect();
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or(why.to_string(), |last| format!("{why}; last on its console: {last}"))
    }

    fn hear(
        &self,
        deadline: &dyn Fn() -> Instant,
        left: &dyn Fn() -> bool,
    ) -> Result<NumberedResponse, String> {
        let mut least = Instant::now();
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(answered) => return Ok(answered),
                Err(RecvTimeoutError::Disconnected) => {
                    let why = self.port.closed().unwrap_or_else(|| "it ended".into());
                    return Err(self.words(&why));
                }
                Err(RecvTimeoutError::Timeout) if left() => return Err(self.close("it was ended")),
                Err(RecvTimeoutError::Timeout) if self.ignores_its_end() => {
                    return Err(self.close("it did not end its run"));
                }
                // It waits for us.
                Err(RecvTimeoutError::Timeout) if self.port.waits_here() => {
                    least = Instant::now() + SILENCE;
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline().max(least) => {
                    return Err(self.close("it did not answer in time"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn ignores_its_end(&self) -> bool {
        self.port.ending().is_some_and(|since| since.elapsed() > self.ending)
    }

    fn tell(&self, ask: Request) -> Result<u64, SystemError> {
        let serial = self.serial.fetch_add(1, Ordering::SeqCst) + 1;
        let bytes = serde_json::to_vec(&NumberedRequest { serial, ask }).map_err(|e| fault(e.to_string()))?;
        if bytes.len() > frame::MOST {
            let why = "the arguments and environment are too long".into();
            return Err(message::WireBlame::Content.error("request".into(), why));
        }
        self.expecting.store(true, Ordering::SeqCst);
        self.port.note_ending(false);
        self.port.send(Kind::Document, 0, &bytes).map_err(|e| fault(self.close(&e.to_string())))?;
        Ok(serial)
    }

    fn answer(&self, serial: u64, deadline: &dyn Fn() -> Instant) -> Result<Response, SystemError> {
        let answered = self.hear(deadline, &|| false).map_err(fault)?;
        if answered.serial != serial {
            return Err(fault(self.close("it answers what was not asked")));
        }
        match answered.told {
            Response::Failed { what, why, blame } => Err(blame.error(what, why)),
            told => Ok(told),
        }
    }

    /// A request without bytes.
    pub(super) fn ask(&self, ask: Request) -> Result<Response, SystemError> {
        let serial = self.tell(ask)?;
        let deadline = Instant::now() + PATIENCE;
        self.answer(serial, &|| deadline)
    }

    /// A request with a file's content.
    pub(super) fn give(&self, ask: Request, content: &File) -> Result<Response, SystemError> {
        let deadline = Instant::now() + PATIENCE;
        let serial = self.tell(ask)?;
        let sent = self.port.pump(0, content, &|_| false, Some(deadline));
        sent.map_err(|e| fault(self.close(&e.to_string())))?;
        self.answer(serial, &|| deadline)
    }

    /// A request that brings a file's content, at most so many bytes, into `to`.
    pub(super) fn take(&self, ask: Request, to: &File, most: u64) -> Result<Response, SystemError> {
        let port = &*self.port;
        let from = port.open_in(0);
        scope(|threads| {
            let collecting = threads.spawn(move || {
                if let Err(e) = port.collect(0, &from, to, most, &AtomicBool::new(false)) {
                    port.close(&e.to_string());
                }
            });
            let serial = self.tell(ask)?;
            let deadline = Instant::now() + PATIENCE;
            let told = self.answer(serial, &|| deadline);
            self.port.shut(0);
            drop(collecting.join());
            if !self.alive() {
                return Err(fault(self.words(&self.port.closed().unwrap_or_default())));
            }
            told
        })
    }

    /// Runs a program, with bytes to and from its descriptors meanwhile; what came of it, and how long that took here.
    pub(super) fn run(
        &self,
        ask: Request,
        given: Vec<Given>,
        patience: &Patience,
    ) -> Result<(Response, Duration), SystemError> {
        let (port, stop) = (&*self.port, AtomicBool::new(false));
        let mut incoming = Vec::new();
        for (n, one) in (0..).zip(&given) {
            if matches!(one.role, Role::Shared | Role::Gathered | Role::Told) {
                incoming.push((n, self.port.open_in(n)));
            }
        }
        let open: Vec<u8> = incoming.iter().map(|(n, _)| *n).collect();
        let begun = Instant::now();
        let told = scope(|threads| {
            let serial = self.tell(ask)?;
            let mut files: Vec<_> = given.into_iter().map(Some).collect();
            for (n, from) in incoming {
                let Some(one) = files[usize::from(n)].as_ref() else { continue };
                let (role, most) = (one.role, one.most);
                let file = one.file.as_fd().try_clone_to_owned().map(File::from);
                let file = file.map_err(|e| fault(self.close(&e.to_string())))?;
                let over = &stop;
                threads.spawn(move || {
                    // What is shared is written over from its start; outputs go on where they are.
                    let begun = if role == Role::Shared { (&file).rewind() } else { Ok(()) };
                    let written = begun.and_then(|()| port.collect(n, &from, &file, most, over));
                    if let Err(e) = written {
                        port.close(&e.to_string());
                    }
                });
            }
            for (n, one) in (0..).zip(files.drain(..)) {
                let Some(one) = one else { continue };
                // Those that only come back are let go of: a pipe must end here when it ends there.
                if matches!(one.role, Role::Stored { .. } | Role::Shared | Role::Fed) {
                    let stop = &stop;
                    threads.spawn(move || {
                        // After the answer nobody reads any more.
                        if let Err(e) = port.pump(n, &one.file, &|_| stop.load(Ordering::SeqCst), None) {
                            port.close(&e.to_string());
                        }
                    });
                }
            }
            let deadline = || begun + patience.after(begun.elapsed(), || self.active(0));
            let told = self.answer(serial, &deadline);
            stop.store(true, Ordering::SeqCst);
            // All of it came before the answer, unless there was none.
            open.iter().for_each(|n| self.port.shut(*n));
            told
        });
        let elapsed = begun.elapsed();
        match told {
            Ok(_) if !self.alive() => Err(fault(self.words(&self.port.closed().unwrap_or_default()))),
            told => Ok((told?, elapsed)),
        }
    }

    /// Time that the threads which are the guest's CPUs from `first` on were ready and had no CPU of the host.
    pub(super) fn waited(&self, first: usize) -> Reading<Nanos> {
        self.scheduled(first).map(|[_, waited]| waited)
    }

    /// Time that all of these threads computed or were ready to.
    pub(super) fn active(&self, first: usize) -> Reading<Nanos> {
        self.scheduled(first).map(|[computed, waited]| computed + waited)
    }

    /// Time on a CPU and time waiting for one, of the threads that are the guest's CPUs from `first` on (proc(5), schedstat).
    fn scheduled(&self, first: usize) -> Reading<[Nanos; 2]> {
        let mut total = [Nanos::ZERO; 2];
        for thread in self.started.cpus.iter().skip(first) {
            let path = format!("/proc/{}/task/{thread}/schedstat", self.started.pid);
            let text = fs::read_to_string(path).unwrap_or_default();
            let mut fields = text.split_whitespace().map(|field| field.parse().map(Nanos));
            match (fields.next(), fields.next()) {
                (Some(Ok(computed)), Some(Ok(waited))) => {
                    total = [total[0] + computed, total[1] + waited];
                }
                _ => return Reading::unknown("the host's scheduler says nothing of the machine's threads"),
            }
        }
        Reading::Known(total)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.port.close("it is no longer needed");
        // The keeper sees it, ends QEMU, and ends; waiting makes sure that nothing is left.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.keeper.wait();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

pub(super) fn fault(why: impl Into<String>) -> SystemError {
    SystemError::new("the virtual machine", why)
}

/// A stream on which each frame must be complete within `silence`. Without it, a guest that sends a byte now and then would never be silent.
struct Patient {
    stream: UnixStream,
    silence: Duration,
    /// When the last frame was complete.
    since: Instant,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.since.elapsed() > self.silence {
            true => Err(std::io::ErrorKind::WouldBlock.into()),
            false => self.stream.read(buffer),
        }
    }
}

/// Hears the guest until it ends, breaks a rule or sends no complete frame for `silence`, and says why.
fn hear_all(
    stream: UnixStream,
    silence: Duration,
    port: &Port,
    expecting: &AtomicBool,
    answers: &Sender<NumberedResponse>,
) -> String {
    let patient = Patient { stream, silence, since: Instant::now() };
    let mut from = BufReader::with_capacity(128 << 10, patient);
    loop {
        from.get_mut().since = Instant::now();
        let frame = match frame::read(&mut from) {
            Ok(Some(frame)) => frame,
            Ok(None) => return "it ended".into(),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return "it is silent".into(),
            Err(e) => return format!("it broke the protocol: {e}"),
        };
        let answered = match port.mind(frame) {
            Ok(None) => continue,
            Ok(Some(document)) => message::read(&document),
            Err(why) => Err(why),
        };
        match answered {
            Ok(answered) if expecting.swap(false, Ordering::SeqCst) => {
                if answers.send(answered).is_err() {
                    return "nobody listens".into();
                }
            }
            Ok(_) => return "it broke the protocol: an answer to nothing".into(),
            Err(why) => return format!("it broke the protocol: {why}"),
        }
    }
}

/// Keeps the last of what the console says.
fn listen(mut from: ChildStderr, console: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
        console.extend_from_slice(&buffer[..n]);
        let over = console.len().saturating_sub(CONSOLE);
        console.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MOST;
    use std::io::Write;

    /// In place of [`SILENCE`].
    const SILENT: Duration = Duration::from_millis(200);

    /// What is said of a guest that writes this and stays, or ends.
    fn said_of(bytes: &[u8], expecting: bool, stays: bool) -> String {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        ours.set_read_timeout(Some(SILENT)).expect("it takes one");
        let port = Port::new(ours.try_clone().expect("a copy"));
        let (answers, _heard) = channel();
        let bytes = bytes.to_vec();
        let guest = spawn(move || {
            // It may be left in the middle of it.
            let _ = theirs.write_all(&bytes);
            stays.then_some(theirs)
        });
        let why = hear_all(ours, SILENT, &port, &AtomicBool::new(expecting), &answers);
        drop(guest.join());
        why
    }

    #[test]
    fn a_frame_sent_a_byte_at_a_time_is_silence() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        ours.set_read_timeout(Some(SILENT)).expect("it takes one");
        let port = Port::new(ours.try_clone().expect("a copy"));
        let (answers, _heard) = channel();
        let guest = spawn(move || {
            theirs.write_all(&framed(Kind::Document, 0, &[b' '; MOST])[..64]).expect("it is read");
            // Until nobody reads any more; at most this long.
            let begun = Instant::now();
            while begun.elapsed() < SILENT * 20 && theirs.write_all(b" ").is_ok() {
                std::thread::sleep(SILENT / 20);
            }
        });
        let begun = Instant::now();
        let why = hear_all(ours, SILENT, &port, &AtomicBool::new(true), &answers);
        drop(port);
        assert_eq!((&*why, begun.elapsed() < SILENT * 10), ("it is silent", true), "{:?}", begun.elapsed());
        guest.join().expect("it ends");
    }

    #[test]
    fn a_machine_that_idles_is_waited_for_no_longer_than_its_run_may_take() {
        let secs = Duration::from_secs;
        let before = Nanos::from_secs(1000);
        let patience = Patience::Bounded { least: secs(62), most: secs(80), before };
        let unasked = || panic!("asked for before it matters");
        assert_eq!(patience.after(secs(62), unasked), secs(62));
        let active = |by| move || Reading::Known(before + Nanos::from_secs(by));
        let late = [active(0), active(5), active(500)].map(|active| patience.after(secs(63), active));
        assert_eq!(late, [secs(62), secs(67), secs(80)]);
        assert_eq!(patience.after(secs(63), || Reading::unknown("no schedstat")), secs(80));
        assert!(Patience::Endless.after(secs(1_000_000), unasked) > secs(1_000_000));
    }

    #[test]
    fn a_guest_that_does_not_end_its_run_is_given_up() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let out = ours.try_clone().expect("a copy");
        let (sender, answers) = channel();
        let mut live = Live {
            keeper: Command::new("true").spawn().expect("true"),
            socket: ours,
            port: Arc::new(Port::new(out)),
            answers,
            expecting: Arc::default(),
            serial: AtomicU64::new(0),
            console: Arc::default(),
            threads: Vec::new(),
            ending: SILENT,
            started: Started::default(),
            weaker: Vec::new(),
            boot: Duration::ZERO,
        };
        live.listen(sender).expect("a thread");
        // It says that it is there, and answers nothing.
        let guest = spawn(move || {
            while frame::write(&mut theirs, Kind::Beat, 0, b"").is_ok() {
                std::thread::sleep(SILENT / 20);
            }
        });
        let port = live.port();
        let begun = Instant::now();
        let ended = scope(|threads| {
            threads.spawn(|| {
                while begun.elapsed() < SILENT {
                    std::thread::sleep(SILENT / 20);
                }
                port.note_ending(true);
            });
            live.run(Request::DropBox { id: model::BoxId(1) }, Vec::new(), &Patience::Endless)
        });
        let why = ended.expect_err("no answer").to_string();
        assert!(why.contains("did not end its run") && begun.elapsed() >= 2 * SILENT, "{why}");
        drop(live);
        drop(guest.join());
    }

    fn framed(kind: Kind, channel: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, kind, channel, content).expect("memory takes it");
        bytes
    }

    #[test]
    fn guests_that_lie_are_found_out() {
        let done = framed(Kind::Document, 0, b"{\"serial\":1,\"told\":\"done\"}");
        let twice = [done.clone(), done.clone()].concat();
        let verdict = framed(Kind::Document, 0, b"{\"serial\":1,\"told\":{\"verdict\":\"AC\"}}");
        let outside =
            framed(Kind::Document, 0, b"{\"serial\":1,\"told\":{\"files\":[\"../../etc/passwd\"]}}");
        for (bytes, expecting, part) in [
            (b"GET / HTTP/1.1\r\n\r\n".to_vec(), true, "broke the protocol"),
            (vec![0xff; 4096], true, "broke the protocol"),
            (done.clone(), false, "an answer to nothing"),
            (twice, true, "an answer to nothing"),
            (verdict, true, "unknown form"),
            (outside, true, "leads out of its box"),
            (framed(Kind::Data, 9, b"x"), true, "not open"),
            (framed(Kind::Data, 9, &vec![0; MOST]), true, "not open"),
            (framed(Kind::End, 9, b""), true, "not open"),
            (framed(Kind::Taken, 9, b"xx"), true, "no number of bytes"),
            (done[..done.len() - 1].to_vec(), true, "broke the protocol"),
            (Vec::new(), true, "it ended"),
        ] {
            let why = said_of(&bytes, expecting, false);
            assert!(why.contains(part), "{part}: {why}");
        }
        assert_eq!(said_of(&framed(Kind::Beat, 0, b""), true, true), "it is silent");
    }
}
