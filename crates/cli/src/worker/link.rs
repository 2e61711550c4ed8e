//! The connection to the service.

use fleet::{Frame, FromWorker, Hello, ToWorker, WireError};
use rustix::fs::{Mode, OFlags};
use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A service that takes nothing for this long is as good as gone.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Link {
    from: UnixStream,
    to: Mutex<UnixStream>,
}

/// Why work does not go on over this connection.
#[derive(Debug)]
pub(super) enum Broken {
    /// Another one may do.
    Connection(String),
    /// The service does not want this worker.
    Refused(String),
    /// This process is not to be trusted any more.
    Worker(String),
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

impl Link {
    /// Connects and says who we are.
    pub(super) fn connect(path: &Path, hello: &Hello) -> Result<Link, Broken> {
        let from = to_owner(path).map_err(|e| Broken::Connection(format!("{}: {e}", path.display())))?;
        from.set_read_timeout(Some(PATIENCE))?;
        let to = from.try_clone()?;
        to.set_write_timeout(Some(PATIENCE))?;
        let link = Link { from, to: Mutex::new(to) };
        link.say(&FromWorker::Hello(hello.clone()))?;
        match link.hear()? {
            ToWorker::Welcome => Ok(link),
            ToWorker::Refused { why } => Err(Broken::Refused(why)),
            other => Err(Broken::Connection(format!("the service answered the greeting with {other:?}"))),
        }
    }

    /// Says something.
    pub(super) fn say(&self, message: &FromWorker) -> Result<(), Broken> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fleet::write_frame(&mut *to, message)?)
    }

    /// The next message, waited for.
    pub(super) fn hear(&self) -> Result<ToWorker, Broken> {
        match fleet::read_frame(&mut &self.from)? {
            Frame::Message(message) => Ok(message),
            Frame::Bytes(_) => Err(Broken::Connection("bytes where a message was expected".into())),
        }
    }

    /// The next message, if one begins within this time.
    pub(super) fn hear_within(&self, time: Duration) -> Result<Option<ToWorker>, Broken> {
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

    /// The content that was announced, in so many bytes.
    pub(super) fn bytes(
        &self,
        size: u64,
        mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Broken> {
        let mut left = size;
        while left > 0 {
            match fleet::read_frame::<ToWorker>(&mut &self.from)? {
                Frame::Bytes(bytes) if bytes.len() as u64 <= left && !bytes.is_empty() => {
                    left -= bytes.len() as u64;
                    take(&bytes).map_err(|e| Broken::Connection(format!("keeping a package: {e}")))?;
                }
                _ => return Err(Broken::Connection("a package ended early".into())),
            }
        }
        Ok(())
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
