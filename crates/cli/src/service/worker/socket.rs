//! The way by a service's socket on the same machine: frames, one conversation at a time. As long as a connection stands the service keeps this
//! worker's job. A second thread hears what the service says, so that a task can be left while it is done.

use super::job_loop::run_jobs;
use super::transport::{ClaimedJob, TaskService, Transport, TransportError, WorkerStanding};
use super::worker_state::SharedWorkerState;
use super::{Cpus, Worker};
use crate::Done;
use crate::terminal::Failure;
use fleet::nats::Standing;
use fleet::{Frame, FromWorker, Hello, Lease, Outcome, PROTOCOL, ToWorker, WireError};
use model::{Event, NodeFacts};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A service that takes nothing for this long is as good as gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shortest and the longest wait between attempts to connect.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A conversation that lasted this long was none that fails at once.
const LIVED: Duration = Duration::from_secs(2);
/// A task that is on its way to a worker which leaves has come within that.
const MOMENT: Duration = Duration::from_millis(50);
/// Frames that may wait to be read: parts of a package are large.
const FRAMES: usize = 8;

/// What was said.
type Said = Result<Frame<ToWorker>, WireError>;

/// A connection.
struct Link {
    to: Mutex<UnixStream>,
    said: Mutex<Receiver<Said>>,
    since: Instant,
    /// The version of the messages.
    protocol: u32,
}

impl From<WireError> for TransportError {
    fn from(error: WireError) -> TransportError {
        TransportError::Connection(error.to_string())
    }
}

impl From<std::io::Error> for TransportError {
    fn from(error: std::io::Error) -> TransportError {
        TransportError::Connection(error.to_string())
    }
}

/// Connects to a socket of whoever owns the directory it is in. Whoever that is could also have put a link there to somebody else's
/// socket, whose owner would then hear root: the kernel says who listens (unix(7), SO_PEERCRED), and it must be the owner. The
/// directory must be no link and not everybody's to write.
fn to_owner(path: &Path) -> std::io::Result<UnixStream> {
    let named = || Some((path.parent()?, path.file_name()?));
    let (parent, name) = named().ok_or_else(|| std::io::Error::other("no path of a socket"))?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let directory = rustix::fs::open(parent, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&directory)?;
    if stat.st_mode & 0o002 != 0 {
        return Err(std::io::Error::other(
            "every user may write to its directory\nhint: name the socket in the service's own directory",
        ));
    }
    // By descriptor: what was looked at is what is connected to, and the path is never too long for an address.
    let held = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let stream = UnixStream::connect(held.join(name))?;
    let peer = rustix::net::sockopt::socket_peercred(&stream)?.uid.as_raw();
    if peer != stat.st_uid {
        let why = format!(
            "user {peer} listens there, and its directory is of user {}; nothing was said",
            stat.st_uid
        );
        return Err(std::io::Error::other(why));
    }
    Ok(stream)
}

/// Works until this process is to end.
pub(super) fn work(worker: &mut Worker, path: &Path, cpus: &Cpus) -> Result<Done, Failure> {
    let worker_state = SharedWorkerState::for_worker(worker);
    let mut transport = Socket {
        path,
        hello: worker.hello.clone(),
        worker_state: worker_state.clone(),
        link: None,
        refused: None,
        claiming: false,
        outcome: None,
        facts: None,
        told: String::new(),
        wait: SHORTEST_WAIT,
    };
    run_jobs(worker, &mut transport, &worker_state, cpus.first)
}

struct Socket<'a> {
    path: &'a Path,
    hello: Hello,
    worker_state: Arc<SharedWorkerState>,
    link: Option<Link>,
    refused: Option<String>,
    /// It was said over this connection that this worker is free, and no task came yet.
    claiming: bool,
    /// Not heard yet.
    outcome: Option<(Lease, Outcome)>,
    /// As they were told last: whoever listens after this connection has not heard them.
    facts: Option<Box<NodeFacts>>,
    /// What was said last of why there is no connection.
    told: String,
    wait: Duration,
}

impl Socket<'_> {
    /// Connects and says what is to be said first.
    fn connect(&mut self) {
        self.hello.holding = self.worker_state.state().holding();
        match Link::connect(self.path, &self.hello, &self.worker_state) {
            Ok(link) => {
                self.told.clear();
                (self.link, self.claiming) = (Some(link), false);
                self.say_outcome();
                if let Some(facts) = self.facts.clone() {
                    self.say(&FromWorker::Node { facts });
                }
            }
            Err(TransportError::Refused(why)) => self.refused = Some(why),
            Err(broken) => {
                let why = broken.why();
                if why != self.told {
                    tracing::info!(why, "no service yet; retrying");
                    self.told = why;
                }
                self.rest();
            }
        }
    }

    /// Waits, longer each time, and no longer than this process is to live.
    fn rest(&mut self) {
        let until = Instant::now() + self.wait;
        while Instant::now() < until && !self.worker_state.is_ending() {
            std::thread::sleep(SHORTEST_WAIT);
        }
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }

    /// What was had over this connection, if it holds; else the next one is made when it is needed.
    fn over<T>(&mut self, done: Result<T, TransportError>) -> Option<T> {
        match done {
            Ok(done) => Some(done),
            Err(broken) => {
                tracing::info!(why = broken.why(), "connection to the service lost; reconnecting");
                // One whose database is full ends every conversation as soon as it hears of a result.
                if self.link.take().is_some_and(|link| link.since.elapsed() > LIVED) {
                    self.wait = SHORTEST_WAIT;
                }
                self.rest();
                None
            }
        }
    }

    /// Says something, if there is somebody.
    fn say(&mut self, message: &FromWorker) {
        if let Some(said) = self.link.as_ref().map(|link| link.say(message)) {
            self.over(said);
        }
    }

    fn say_outcome(&mut self) {
        if let Some((lease, outcome)) = self.outcome.clone() {
            self.say(&FromWorker::Done { lease, outcome });
        }
    }

    /// The next task, if one comes before that moment. Without waiting for one, as soon as the outcome that is told was heard.
    fn hear(&mut self, until: Instant, task: bool) -> Option<Box<fleet::Task>> {
        while task || self.outcome.is_some() {
            let link = self.link.as_ref()?;
            let heard = link.message(until.saturating_duration_since(Instant::now()));
            match self.over(heard)?? {
                ToWorker::Task(task) => {
                    self.claiming = false;
                    return Some(task);
                }
                ToWorker::Heard { lease } => {
                    self.outcome.take_if(|(of, _)| *of == lease);
                    self.worker_state.state().heard(lease);
                }
                // Answers that nobody waits for any more.
                _ => {}
            }
        }
        None
    }

    /// A task that came too late.
    fn give_back(&mut self, task: &fleet::Task) {
        let why = "the worker was asked to stop".to_string();
        self.say(&FromWorker::Done { lease: task.lease, outcome: Outcome::Returned { why } });
    }
}

impl Transport for Socket<'_> {
    fn stands(&mut self) -> WorkerStanding {
        if self.link.is_none() && self.refused.is_none() {
            self.connect();
        }
        match (&self.refused, &self.link) {
            (Some(why), _) => WorkerStanding::Refused(why.clone()),
            (None, Some(link)) => {
                WorkerStanding::Told(Standing::Works { probe_every_secs: None, protocol: link.protocol })
            }
            (None, None) => WorkerStanding::Unknown,
        }
    }

    fn claim(&mut self, within: Duration) -> Option<ClaimedJob> {
        if !std::mem::replace(&mut self.claiming, true) {
            self.say(&FromWorker::Ready);
        }
        let task = self.hear(Instant::now() + within, true)?;
        self.worker_state.state().claimed(task.lease);
        Some(ClaimedJob { lease: task.lease, task: Ok(*task) })
    }

    fn service(&self) -> &dyn TaskService {
        &self.link
    }

    fn tell(&mut self, lease: Lease, outcome: Outcome) {
        self.outcome = Some((lease, outcome));
        self.say_outcome();
    }

    /// The service is on this machine: when it is gone while this worker is to end, it ends as well.
    fn attend(&mut self, within: Duration) -> bool {
        if let Some(task) = self.hear(Instant::now() + within, false) {
            self.give_back(&task);
        }
        self.link.is_some()
    }

    fn node(&mut self, facts: Box<NodeFacts>) {
        self.say(&FromWorker::Node { facts: facts.clone() });
        self.facts = Some(facts);
    }

    fn leave(&mut self) {
        if self.claiming
            && let Some(task) = self.hear(Instant::now() + MOMENT, true)
        {
            self.give_back(&task);
        }
    }
}

impl Link {
    /// Connects and says who we are.
    fn connect(
        path: &Path,
        hello: &Hello,
        worker_state: &Arc<SharedWorkerState>,
    ) -> Result<Link, TransportError> {
        let to =
            to_owner(path).map_err(|e| TransportError::Connection(format!("{}: {e}", path.display())))?;
        to.set_write_timeout(Some(PATIENCE))?;
        let from = to.try_clone()?;
        let (send, said) = sync_channel(FRAMES);
        let worker_state = worker_state.clone();
        // It ends with the connection.
        std::thread::Builder::new().name("service".into()).spawn(move || {
            loop {
                let frame: Said = fleet::read_frame(&mut &from);
                if let Ok(Frame::Message(ToWorker::Cancel { lease })) = &frame {
                    worker_state.lose(*lease);
                }
                let broken = frame.is_err();
                if send.send(frame).is_err() || broken {
                    return;
                }
            }
        })?;
        let mut link =
            Link { to: Mutex::new(to), said: Mutex::new(said), since: Instant::now(), protocol: PROTOCOL };
        link.say(&FromWorker::Hello(Box::new(hello.clone())))?;
        match link.hear()? {
            ToWorker::Welcome { protocol } => {
                link.protocol = protocol;
                Ok(link)
            }
            ToWorker::Refused { why } => Err(TransportError::Refused(why)),
            other => {
                Err(TransportError::Connection(format!("the service answered the greeting with {other:?}")))
            }
        }
    }

    /// Says something.
    fn say(&self, message: &FromWorker) -> Result<(), TransportError> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fleet::write_frame(&mut *to, message)?)
    }

    /// The next frame, if one comes within this time.
    fn frame(&self, within: Duration) -> Result<Option<Frame<ToWorker>>, TransportError> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match said.recv_timeout(within) {
            Ok(frame) => Ok(Some(frame?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(TransportError::Connection("closed".into())),
        }
    }

    /// The next message, if one comes within this time.
    fn message(&self, within: Duration) -> Result<Option<ToWorker>, TransportError> {
        match self.frame(within)? {
            Some(Frame::Message(message)) => Ok(Some(message)),
            Some(Frame::Bytes(_)) => {
                Err(TransportError::Connection("bytes where a message was expected".into()))
            }
            None => Ok(None),
        }
    }

    /// The next message, waited for.
    fn hear(&self) -> Result<ToWorker, TransportError> {
        self.message(PATIENCE)?.ok_or_else(|| TransportError::Connection("the service is silent".into()))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let to = self.to.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The thread that hears holds it open otherwise.
        let _ = to.shutdown(Shutdown::Both);
    }
}

impl TaskService for Option<Link> {
    fn event(&self, lease: Lease, event: Event) {
        // As long as somebody listens.
        let said = self.as_ref().map(|link| link.say(&FromWorker::Event { lease, event: Box::new(event) }));
        drop(said);
    }

    /// The thread that hears ends the task's runs, should the service want that.
    fn waits(&self, lease: Lease) {
        let said = self.as_ref().map(|link| link.say(&FromWorker::Waits { lease }));
        drop(said);
    }

    fn package(&self, hash: &str, to: &mut File) -> Result<bool, TransportError> {
        let link = there(self)?;
        link.say(&FromWorker::NeedPackage { hash: hash.to_string() })?;
        let size = loop {
            match link.hear()? {
                ToWorker::Package { hash: sent, bytes } if sent == hash => break bytes,
                _ => {}
            }
        };
        let Some(mut left) = size else { return Ok(false) };
        let mut kept = Ok(());
        while left > 0 {
            match link.frame(PATIENCE)? {
                Some(Frame::Bytes(bytes)) if bytes.len() as u64 <= left && !bytes.is_empty() => {
                    left -= bytes.len() as u64;
                    // Heard to its end, or the rest would be taken for answers to other questions.
                    kept = kept.and_then(|()| to.write_all(&bytes));
                }
                _ => return Err(TransportError::Connection("a package ended early".into())),
            }
        }
        kept.map(|()| true).map_err(|error| TransportError::Here(error.to_string()))
    }

    fn damaged(&self, hash: &str, found: &str) -> Result<(), TransportError> {
        Err(TransportError::Worker(format!("package {hash} came as {found}")))
    }
}

fn there(link: &Option<Link>) -> Result<&Link, TransportError> {
    link.as_ref().ok_or_else(|| TransportError::Connection("connection to the service lost".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_spoken_to_only_where_its_directory_s_owner_listens() {
        let top = tempfile::tempdir().expect("a directory");
        let (ours, theirs) = (top.path().join("ours"), top.path().join("theirs"));
        std::fs::create_dir(&ours).expect("a directory");
        std::fs::create_dir(&theirs).expect("a directory");
        let _listening = UnixListener::bind(ours.join("work.sock")).expect("a socket");
        assert!(to_owner(&ours.join("work.sock")).is_ok());
        let refused = |path: &Path, part: &str| {
            let why = to_owner(path).expect_err("refused").to_string();
            assert!(why.contains(part), "{why}");
        };
        refused(&theirs.join("work.sock"), "No such file");
        symlink(&ours, top.path().join("link")).expect("a link");
        // A link in the place of the directory: ENOTDIR, since it is not followed.
        refused(&top.path().join("link/work.sock"), "Not a directory");
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
        refused(&ours.join("work.sock"), "every user may write");
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        if rustix::process::geteuid().is_root() {
            symlink(ours.join("work.sock"), theirs.join("work.sock")).expect("a link");
            chown(&theirs, Some(60_780), Some(60_780)).expect("root may");
            refused(&theirs.join("work.sock"), "user 0 listens there");
        }
    }
}
