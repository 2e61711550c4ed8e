//! One end of the port: documents, and channels of bytes that wait for each other. Both ends are alike; only the host's needs to hold the
//! other to the rules.

use crate::frame::{self, Frame, Kind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most bytes of a channel that are on their way and have not been taken.
pub(crate) const WINDOW: usize = 256 << 10;
const CHUNK: usize = 64 << 10;
/// After a run, its output is dropped if the reader takes nothing for this long.
pub(crate) const UNREAD: Duration = Duration::from_secs(5);
/// Bytes that a writable pipe takes without blocking (PIPE_BUF, pipe(7)).
const AT_ONCE: usize = 4096;
/// How often who waits looks whether it should go on.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct Port {
    out: Mutex<Box<dyn Write + Send>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    incoming: BTreeMap<u8, Incoming>,
    /// Bytes on their way.
    outgoing: BTreeMap<u8, usize>,
    /// Since when the other end is to end its run.
    ending: Option<Instant>,
    closed: Option<String>,
}

struct Incoming {
    to: Sender<Vec<u8>>,
    untaken: usize,
}

impl Port {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Port {
        Port { out: Mutex::new(Box::new(out)), state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn send(&self, kind: Kind, channel: u8, content: &[u8]) -> io::Result<()> {
        if let Some(why) = self.closed() {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, why));
        }
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut *out, kind, channel, content)
    }

    /// Notes that the other end was asked to end its run, or, with `false`, that it was asked for something new.
    pub(crate) fn note_ending(&self, ending: bool) {
        let mut state = self.state();
        state.ending = if ending { state.ending.or_else(|| Some(Instant::now())) } else { None };
    }

    /// Since when it is to end its run, if it is.
    pub(crate) fn ending(&self) -> Option<Instant> {
        self.state().ending
    }

    /// Ends it for whoever uses it: what comes in ends, what goes out fails for this reason, the first that was given.
    pub(crate) fn close(&self, why: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| why.to_string());
        state.incoming.clear();
        self.changed.notify_all();
    }

    /// Why it is closed, if it is.
    pub(crate) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    /// Awaits bytes of a channel, until its end. To be called before the other end can know of it.
    pub(crate) fn open_in(&self, number: u8) -> Receiver<Vec<u8>> {
        let (to, from) = channel();
        let mut state = self.state();
        if state.closed.is_none() {
            state.incoming.insert(number, Incoming { to, untaken: 0 });
        }
        from
    }

    /// Awaits no more of a channel.
    pub(crate) fn shut(&self, number: u8) {
        self.state().incoming.remove(&number);
    }

    /// Lets so many more bytes of a channel come.
    pub(crate) fn taken(&self, number: u8, bytes: usize) {
        if let Some(incoming) = self.state().incoming.get_mut(&number) {
            incoming.untaken = incoming.untaken.saturating_sub(bytes);
        }
        // A port that is closed needs no more.
        let _ = self.send(Kind::Taken, number, &(bytes as u32).to_le_bytes());
    }

    /// Whether something that came waits to be taken on this side.
    pub(crate) fn waits_here(&self) -> bool {
        self.state().incoming.values().any(|incoming| incoming.untaken > 0)
    }

    /// Minds a frame that came; a document is the caller's.
    ///
    /// # Errors
    /// The rule that the other end broke.
    pub(crate) fn mind(&self, frame: Frame) -> Result<Option<Vec<u8>>, String> {
        let number = frame.channel;
        match frame.kind {
            Kind::Document => return Ok(Some(frame.content)),
            Kind::Beat => {}
            Kind::Data => {
                let mut state = self.state();
                if state.closed.is_some() {
                    return Ok(None);
                }
                let incoming =
                    state.incoming.get_mut(&number).ok_or("bytes of a channel that is not open")?;
                incoming.untaken += frame.content.len();
                if incoming.untaken > WINDOW {
                    return Err(format!("{} bytes on a channel for {WINDOW}", incoming.untaken));
                }
                // Whoever does not want them any more has let go of the channel's other half.
                let _ = incoming.to.send(frame.content);
            }
            Kind::End => {
                let mut state = self.state();
                if state.incoming.remove(&number).is_none() && state.closed.is_none() {
                    return Err("the end of a channel that is not open".into());
                }
            }
            Kind::Taken => {
                let bytes =
                    <[u8; 4]>::try_from(frame.content.as_slice()).map_err(|_| "no number of bytes")?;
                if let Some(on_their_way) = self.state().outgoing.get_mut(&number) {
                    *on_their_way = on_their_way.saturating_sub(u32::from_le_bytes(bytes) as usize);
                }
                self.changed.notify_all();
            }
        }
        Ok(None)
    }

    /// Sends a whole file, or a pipe until its end; then the end of the channel. Stops at the deadline, or when `left` returns
    /// true for the time since the last bytes were sent.
    pub(crate) fn pump(
        &self,
        number: u8,
        mut from: &File,
        left: &dyn Fn(Duration) -> bool,
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        self.state().outgoing.insert(number, 0);
        let mut buffer = vec![0; CHUNK];
        let mut sent = Instant::now();
        let result = loop {
            if left(sent.elapsed()) {
                break Ok(());
            }
            if !readable(from)? {
                continue;
            }
            let n = match from.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(n) => n,
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                    continue;
                }
                Err(e) => break Err(e),
            };
            if !self.make_room(number, n, &|| left(sent.elapsed()), deadline)? {
                break Ok(());
            }
            self.send(Kind::Data, number, &buffer[..n])?;
            sent = Instant::now();
        };
        self.state().outgoing.remove(&number);
        self.send(Kind::End, number, &[])?;
        result
    }

    /// Waits until so many bytes may be sent; false: `left`.
    fn make_room(
        &self,
        number: u8,
        bytes: usize,
        left: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> io::Result<bool> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.closed {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, why.clone()));
            }
            if left() {
                return Ok(false);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it takes nothing"));
            }
            let on_their_way = state.outgoing.entry(number).or_default();
            if *on_their_way + bytes <= WINDOW {
                *on_their_way += bytes;
                return Ok(true);
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes what comes on a channel to a file, until its end; more than `most` bytes are a broken rule. A pipe without
    /// a reader takes everything. When the run is `over`, so does one whose reader takes nothing for [`UNREAD`].
    pub(crate) fn collect(
        &self,
        number: u8,
        from: &Receiver<Vec<u8>>,
        to: &File,
        most: u64,
        over: &AtomicBool,
    ) -> io::Result<()> {
        let mut total = 0_u64;
        let mut gone = false;
        for bytes in from {
            total += bytes.len() as u64;
            if total > most {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes")));
            }
            if !gone {
                match written(to, &bytes, over) {
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => gone = true,
                    taken => gone = !taken?,
                }
            }
            self.taken(number, bytes.len());
        }
        match self.closed() {
            Some(why) => Err(io::Error::new(io::ErrorKind::BrokenPipe, why)),
            None => Ok(()),
        }
    }
}

/// Writes all bytes. Returns false if the run is over and the reader takes nothing for [`UNREAD`].
fn written(mut to: &File, mut bytes: &[u8], over: &AtomicBool) -> io::Result<bool> {
    let waits = !to.metadata()?.is_file();
    let mut taken = Instant::now();
    while !bytes.is_empty() {
        if waits && !ready(to, PollFlags::OUT)? {
            if over.load(Ordering::SeqCst) && taken.elapsed() > UNREAD {
                return Ok(false);
            }
            continue;
        }
        let most = if waits { AT_ONCE.min(bytes.len()) } else { bytes.len() };
        match to.write(&bytes[..most]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => (bytes, taken) = (&bytes[n..], Instant::now()),
            Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

/// Whether a read would not wait; looked at for a moment.
fn readable(file: &File) -> io::Result<bool> {
    ready(file, PollFlags::IN)
}

/// Whether a file is ready for `what`; waits for at most [`LOOK`].
fn ready(file: &File, what: PollFlags) -> io::Result<bool> {
    let mut fds = [PollFd::new(file, what)];
    let moment = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    match poll(&mut fds, Some(&moment)) {
        Ok(n) => Ok(n > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::files;
    use std::sync::Arc;

    /// What was written, for the other end to read.
    #[derive(Clone, Default)]
    struct Wire(Arc<Mutex<Vec<u8>>>);

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panicked").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn data(channel: u8, bytes: usize) -> Frame {
        Frame { kind: Kind::Data, channel, content: vec![7; bytes] }
    }

    #[test]
    fn more_than_the_window_is_refused_unless_it_is_taken() {
        let port = Port::new(Wire::default());
        let from = port.open_in(1);
        assert_eq!(port.mind(data(1, WINDOW)), Ok(None));
        assert!(port.waits_here());
        assert!(port.mind(data(1, 1)).is_err(), "it does not wait");
        let port = Port::new(Wire::default());
        let from2 = port.open_in(1);
        assert_eq!(port.mind(data(1, WINDOW)), Ok(None));
        port.taken(1, from2.recv().expect("it came").len());
        assert!(!port.waits_here());
        assert_eq!(port.mind(data(1, WINDOW)), Ok(None));
        drop((from, from2));
    }

    #[test]
    fn channels_that_are_not_open_take_nothing() {
        let port = Port::new(Wire::default());
        assert!(port.mind(data(1, 1)).is_err());
        assert!(port.mind(Frame { kind: Kind::End, channel: 1, content: vec![] }).is_err());
        assert!(port.mind(Frame { kind: Kind::Taken, channel: 1, content: vec![1] }).is_err());
    }

    #[test]
    fn a_file_comes_out_as_it_went_in() {
        let wire = Wire::default();
        let content: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
        let file = files::in_memory_with("content", &content).expect("there is memory");
        Port::new(wire.clone()).pump(4, &file, &|_| false, None).expect("it fits the window");
        let port = Port::new(Wire::default());
        let from = port.open_in(4);
        let bytes = wire.0.lock().expect("nobody panicked").clone();
        let mut bytes = bytes.as_slice();
        while let Some(frame) = frame::read(&mut bytes).expect("frames") {
            port.mind(frame).expect("by the rules");
        }
        let out = files::in_memory("out").expect("there is memory");
        port.collect(4, &from, &out, 200_000, &AtomicBool::new(false)).expect("it is not too much");
        let mut read = Vec::new();
        files::reopen(&out).expect("it opens").read_to_end(&mut read).expect("it reads");
        assert!(read == content);
    }

    /// Otherwise `tauto run` would wait for ever after its wall limit has ended the run.
    #[test]
    fn unread_output_is_dropped_after_the_run() {
        let (unread, pipe) = std::io::pipe().expect("a pipe");
        let port = Port::new(Wire::default());
        let from = port.open_in(1);
        port.mind(data(1, WINDOW)).expect("by the rules");
        port.mind(Frame { kind: Kind::End, channel: 1, content: vec![] }).expect("by the rules");
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        port.collect(1, &from, &pipe, u64::MAX, &AtomicBool::new(true)).expect("it ends");
        drop(unread);
    }

    #[test]
    fn too_much_is_refused_and_a_closed_port_says_why() {
        let port = Port::new(Wire::default());
        let from = port.open_in(0);
        port.mind(data(0, 11)).expect("by the rules");
        port.mind(Frame { kind: Kind::End, channel: 0, content: vec![] }).expect("by the rules");
        let out = files::in_memory("out").expect("there is memory");
        assert!(port.collect(0, &from, &out, 10, &AtomicBool::new(false)).is_err());
        port.close("it panicked");
        port.close("too late");
        let why = port.send(Kind::Beat, 0, &[]).expect_err("it is closed").to_string();
        assert_eq!(why, "it panicked");
    }
}
