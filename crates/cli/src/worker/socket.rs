//! Work over a service's socket on the same machine.

use super::link::{Broken, Service};
use super::{Worker, task};
use crate::Done;
use crate::terminal::Failure;
use crate::worker::facts::Speaker;
use fleet::{Frame, FromWorker, Hello, Lease, Outcome, TimeLimit, ToWorker, WireError};
use model::Event;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A service that takes nothing for this long is as good as gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shortest and the longest wait between attempts to connect.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A conversation that lasted this long was none that fails at once.
const LIVED: Duration = Duration::from_secs(2);
/// Rest after a task that could not be done for a reason that may pass, such as a full disk.
const REST: Duration = Duration::from_secs(1);

struct Link {
    from: UnixStream,
    to: Mutex<UnixStream>,
}

impl From<WireError> for Broken {
    fn from(error: WireError) -> Broken {
        Broken::Connection(error.to_string())
    }
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Broken {
        Broken::Connection(error.to_string())
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
            "everybody may write to its directory; name the socket in the service's own",
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

impl Worker {
    /// Connects, and connects again, until this process is to end.
    pub(super) fn work(&mut self, path: &Path) -> Result<Done, Failure> {
        let mut held: Option<(Lease, Outcome)> = None;
        let mut told = String::new();
        let mut wait = SHORTEST_WAIT;
        loop {
            if self.ending() {
                return Ok(Done::Interrupted);
            }
            self.hello.holding = held.as_ref().map(|(lease, _)| *lease);
            match Link::connect(path, &self.hello) {
                Ok(link) => {
                    told.clear();
                    let begun = Instant::now();
                    match self.converse(&link, &mut held) {
                        Ok(done) => return Ok(done),
                        Err(Broken::Connection(why)) => {
                            tracing::info!(why, "the service is gone; connecting again");
                            // One whose database is full ends every conversation as soon as it hears of a result.
                            wait = if begun.elapsed() > LIVED { SHORTEST_WAIT } else { wait };
                            self.pause(&mut wait);
                        }
                        Err(Broken::Refused(why)) => return Err(Failure::usage(why)),
                        Err(Broken::Worker(why) | Broken::Here(why)) => return Err(Failure::system(why)),
                    }
                }
                Err(Broken::Refused(why)) => return Err(Failure::usage(why)),
                Err(Broken::Connection(why) | Broken::Worker(why) | Broken::Here(why)) => {
                    if why != told {
                        tracing::info!(why, "no service yet; trying on");
                        told = why;
                    }
                    self.pause(&mut wait);
                }
            }
        }
    }

    /// Waits, longer each time, and no longer than this process is to live.
    fn pause(&self, wait: &mut Duration) {
        let until = Instant::now() + *wait;
        while Instant::now() < until && !self.ending() {
            std::thread::sleep(SHORTEST_WAIT);
        }
        *wait = (*wait * 2).min(LONGEST_WAIT);
    }

    fn converse(&mut self, link: &Link, held: &mut Option<(Lease, Outcome)>) -> Result<Done, Broken> {
        self.speaker.iter_mut().for_each(Speaker::begin);
        loop {
            if let Some((lease, outcome)) = held.as_ref() {
                link.say(&FromWorker::Done { lease: *lease, outcome: outcome.clone() })?;
                while link.hear()? != (ToWorker::Heard { lease: *lease }) {}
                let failed = match held.take() {
                    Some((_, Outcome::Failed { why })) => Some(why),
                    Some((lease, Outcome::Returned { why })) => {
                        tracing::warn!(job = lease.job.0, why, "a task was given back");
                        self.pause(&mut REST.clone());
                        None
                    }
                    _ => None,
                };
                // What failed may be this process itself; a new one is started in its place.
                if let Some(why) = failed {
                    return Err(Broken::Worker(why));
                }
            }
            if self.ending() {
                return Ok(Done::Interrupted);
            }
            self.tell_of_node(link)?;
            link.say(&FromWorker::Ready)?;
            match self.next_task(link)? {
                Some(task) => {
                    let outcome = task::perform(self, link, &task);
                    *held = Some((task.lease, outcome));
                }
                None => return Ok(Done::Interrupted),
            }
        }
    }

    /// Waits for a task. `None`: this process is to end.
    fn next_task(&mut self, link: &Link) -> Result<Option<fleet::Task>, Broken> {
        loop {
            match link.hear_within(Duration::from_millis(200))? {
                Some(ToWorker::Task(task)) => return Ok(Some(*task)),
                // Too late: nothing is being done.
                Some(_) => {}
                None if self.ending() => return Ok(None),
                None => self.tell_of_node(link)?,
            }
        }
    }

    /// Tells of the machine, if it is time to. Nothing runs in this slot meanwhile.
    fn tell_of_node(&mut self, link: &Link) -> Result<(), Broken> {
        match self.speaker.as_mut().and_then(|speaker| speaker.news(&self.languages)) {
            Some(facts) => link.say(&FromWorker::Node { facts }),
            None => Ok(()),
        }
    }
}

impl Link {
    /// Connects and says who we are.
    fn connect(path: &Path, hello: &Hello) -> Result<Link, Broken> {
        let from = to_owner(path).map_err(|e| Broken::Connection(format!("{}: {e}", path.display())))?;
        from.set_read_timeout(Some(PATIENCE))?;
        let to = from.try_clone()?;
        to.set_write_timeout(Some(PATIENCE))?;
        let link = Link { from, to: Mutex::new(to) };
        link.say(&FromWorker::Hello(Box::new(hello.clone())))?;
        match link.hear()? {
            ToWorker::Welcome => Ok(link),
            ToWorker::Refused { why } => Err(Broken::Refused(why)),
            other => Err(Broken::Connection(format!("the service answered the greeting with {other:?}"))),
        }
    }

    /// Says something.
    fn say(&self, message: &FromWorker) -> Result<(), Broken> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fleet::write_frame(&mut *to, message)?)
    }

    /// The next message, waited for.
    fn hear(&self) -> Result<ToWorker, Broken> {
        match fleet::read_frame(&mut &self.from)? {
            Frame::Message(message) => Ok(message),
            Frame::Bytes(_) => Err(Broken::Connection("bytes where a message was expected".into())),
        }
    }

    /// The next message, if one begins within this time.
    fn hear_within(&self, time: Duration) -> Result<Option<ToWorker>, Broken> {
        self.from.set_read_timeout(Some(time))?;
        let mut first = [0];
        let read = (&self.from).read(&mut first);
        self.from.set_read_timeout(Some(PATIENCE))?;
        match read {
            Ok(0) => Err(Broken::Connection("closed".into())),
            Ok(_) => {
                let mut rest = first.as_slice().chain(&self.from);
                match fleet::read_frame(&mut rest)? {
                    Frame::Message(message) => Ok(Some(message)),
                    Frame::Bytes(_) => Err(Broken::Connection("bytes where a message was expected".into())),
                }
            }
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(e.into()),
        }
    }
}

impl Service for Link {
    fn event(&self, lease: Lease, event: Event) {
        // As long as somebody listens.
        drop(self.say(&FromWorker::Event { lease, event: Box::new(event) }));
    }

    fn time_limit(&self, lease: Lease, found: TimeLimit) -> Result<TimeLimit, Broken> {
        self.say(&FromWorker::TimeLimit { lease, found })?;
        loop {
            if let ToWorker::TimeLimit { lease: of, limit } = self.hear()?
                && of == lease
            {
                return Ok(limit);
            }
        }
    }

    fn package(&self, hash: &str, to: &mut File) -> Result<bool, Broken> {
        self.say(&FromWorker::NeedPackage { hash: hash.to_string() })?;
        let size = loop {
            match self.hear()? {
                ToWorker::Package { hash: sent, bytes } if sent == hash => break bytes,
                _ => {}
            }
        };
        let Some(mut left) = size else { return Ok(false) };
        while left > 0 {
            match fleet::read_frame::<ToWorker>(&mut &self.from)? {
                Frame::Bytes(bytes) if bytes.len() as u64 <= left && !bytes.is_empty() => {
                    left -= bytes.len() as u64;
                    // The rest would come as answers to other questions: this connection goes with the task.
                    to.write_all(&bytes)
                        .map_err(|e| Broken::Connection(format!("keeping a package: {e}")))?;
                }
                _ => return Err(Broken::Connection("a package ended early".into())),
            }
        }
        Ok(true)
    }

    fn damaged(&self, hash: &str, found: &str) -> Result<(), Broken> {
        Err(Broken::Worker(format!("package {hash} came as {found}")))
    }
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
        refused(&ours.join("work.sock"), "everybody may write");
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        if rustix::process::geteuid().is_root() {
            symlink(ours.join("work.sock"), theirs.join("work.sock")).expect("a link");
            chown(&theirs, Some(60_780), Some(60_780)).expect("root may");
            refused(&theirs.join("work.sock"), "user 0 listens there");
        }
    }
}
