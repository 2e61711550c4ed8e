//! The connection to the service.

use fleet::{Frame, FromWorker, Hello, ToWorker, WireError};
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
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

impl Link {
    /// Connects and says who we are.
    pub(super) fn connect(path: &Path, hello: &Hello) -> Result<Link, Broken> {
        let from =
            UnixStream::connect(path).map_err(|e| Broken::Connection(format!("{}: {e}", path.display())))?;
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
                    take(&bytes).map_err(|e| Broken::Worker(format!("keeping a package: {e}")))?;
                }
                _ => return Err(Broken::Connection("a package ended early".into())),
            }
        }
        Ok(())
    }
}
