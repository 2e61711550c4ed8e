//! The caller's handle on a launcher.

use crate::cgroup::Layout;
use crate::error::During;
use crate::message::{self, Answer, Capabilities, Request};
use crate::{ARGV0, Counted, ErrorKind, SandboxError};
use model::{BoxId, Bytes, Found, Observation, RunSpec, Slot};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How to start a launcher.
#[derive(Debug, Default)]
pub struct LauncherOptions {
    /// CPUs the launcher itself stays on, away from its slot; empty: anywhere.
    pub housekeeping: Vec<u32>,
    /// The slot it serves: runs get the best isolation that is to be had on its CPUs. Runs are placed on them by their
    /// own [`model::Placement`]. `None`: no slot, and no isolation beyond that placement.
    pub slot: Option<Slot>,
    /// Held until nothing of the slot is left, however the caller ends: its locks. At most 32.
    pub held: Vec<OwnedFd>,
    /// What is counted where a run asks for it; anything but the default is for tests.
    pub counted: Counted,
}

/// One launcher process and the slot it serves. Calls take turns; [`Ender`] may be used at any time.
pub struct Launcher {
    socket: Arc<OwnedFd>,
    turn: Mutex<Vec<u8>>,
    serial: Arc<AtomicU64>,
    child: Child,
    capabilities: Capabilities,
}

/// Ends the run in progress from another thread.
#[derive(Clone)]
pub struct Ender {
    socket: Arc<OwnedFd>,
    serial: Arc<AtomicU64>,
}

impl Ender {
    /// Ends the run in progress, if any. `output`: because it wrote too much.
    pub fn end_run(&self, output: bool) {
        let request = Request::EndRun { serial: self.serial.load(Ordering::SeqCst), output };
        // A launcher that is gone has ended its run.
        let _ = message::send(&*self.socket, &request, &[]);
    }
}

impl Launcher {
    /// Starts a launcher: this executable again, under the name [`ARGV0`], which must call
    /// [`crate::launcher_main`] first thing.
    pub fn start(options: &LauncherOptions) -> Result<Launcher, SandboxError> {
        let starting = || "starting the launcher".to_string();
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .during(starting)?;
        // Room for the largest document, whatever the host's default is.
        for end in [&ours, &theirs] {
            let _ = rustix::net::sockopt::set_socket_send_buffer_size(end, 2 * message::PACKET);
        }
        let child = Command::new("/proc/self/exe")
            .arg0(ARGV0)
            .env_clear()
            .stdin(theirs)
            .stdout(Stdio::null())
            .spawn()
            .during(starting)?;
        let mut launcher = Launcher {
            socket: Arc::new(ours),
            turn: Mutex::new(vec![0; message::PACKET]),
            serial: Arc::default(),
            child,
            capabilities: Capabilities::default(),
        };
        let hello = Request::Hello {
            housekeeping: options.housekeeping.clone(),
            slot: options.slot.clone(),
            counted: options.counted.clone(),
        };
        let held: Vec<BorrowedFd<'_>> = options.held.iter().map(AsFd::as_fd).collect();
        match launcher.ask(&hello, &held)?.0 {
            Answer::Ready(c) => launcher.capabilities = c,
            other => return Err(unexpected(&other)),
        }
        Ok(launcher)
    }

    /// What it can do here.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// A handle to end runs with.
    pub fn ender(&self) -> Ender {
        Ender { socket: self.socket.clone(), serial: self.serial.clone() }
    }

    /// Makes an empty box of bounded size.
    pub fn create_box(&self, size: Bytes) -> Result<BoxId, SandboxError> {
        match self.ask(&Request::CreateBox { size }, &[])?.0 {
            Answer::Box(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    /// Writes a file into a box. `path` is relative, without `..`.
    pub fn put(&self, id: BoxId, path: &str, executable: bool, content: &File) -> Result<(), SandboxError> {
        let request = Request::Put { id, path: path.to_string(), executable };
        self.done(&request, &[content.as_fd()])
    }

    /// Opens a regular file of a box for reading.
    pub fn fetch(&self, id: BoxId, path: &str) -> Result<Found<File>, SandboxError> {
        match self.ask(&Request::Fetch { id, path: path.to_string() }, &[])? {
            (Answer::File(Found::Nothing), _) => Ok(Found::Nothing),
            (Answer::File(Found::Other), _) => Ok(Found::Other),
            (answer @ Answer::File(Found::File(())), mut fds) => {
                fds.pop().map(|fd| Found::File(File::from(fd))).ok_or_else(|| unexpected(&answer))
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Names of all regular files of a box, sorted.
    pub fn list(&self, id: BoxId) -> Result<Vec<String>, SandboxError> {
        match self.ask(&Request::List { id }, &[])?.0 {
            Answer::Files(names) => Ok(names),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes a regular file from a box, if it is there.
    pub fn remove(&self, id: BoxId, path: &str) -> Result<(), SandboxError> {
        self.done(&Request::Remove { id, path: path.to_string() }, &[])
    }

    /// Removes a box.
    pub fn drop_box(&self, id: BoxId) -> Result<(), SandboxError> {
        self.done(&Request::DropBox { id }, &[])
    }

    /// Runs a program to its end. The descriptors are closed here as soon as the launcher has them.
    pub fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, SandboxError> {
        let mut buffer = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let serial = self.serial.fetch_add(1, Ordering::SeqCst) + 1;
        let request = Request::Run { serial, spec: Box::new(spec.clone()) };
        let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        self.tell(&request, &borrowed)?;
        drop(borrowed);
        drop(fds);
        match self.hear(&mut buffer)?.0 {
            Answer::Observed(o) => Ok(*o),
            other => Err(unexpected(&other)),
        }
    }

    fn done(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        match self.ask(request, fds)?.0 {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(Answer, Vec<OwnedFd>), SandboxError> {
        let mut buffer = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.tell(request, fds)?;
        self.hear(&mut buffer)
    }

    fn tell(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        message::send(&*self.socket, request, fds).map_err(|e| match e.kind() {
            std::io::ErrorKind::ArgumentListTooLong | std::io::ErrorKind::InvalidInput => {
                SandboxError::content("request", e)
            }
            _ => gone(e),
        })
    }

    fn hear(&self, buffer: &mut [u8]) -> Result<(Answer, Vec<OwnedFd>), SandboxError> {
        match message::receive(&*self.socket, buffer).map_err(gone)? {
            Some((Answer::Failed(e), _)) => Err(e),
            Some(answer) => Ok(answer),
            None => Err(gone("it ended")),
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // Closing our end tells it to clean up; waiting makes sure that it has.
        let _ = rustix::net::shutdown(&*self.socket, rustix::net::Shutdown::Both);
        let clean = self.child.wait().is_ok_and(|status| status.code().is_some());
        if !clean && let Ok(layout) = Layout::of_self(Path::new("/proc")) {
            layout.remove_groups_of(self.child.id());
        }
    }
}

fn gone(why: impl std::fmt::Display) -> SandboxError {
    SandboxError { kind: ErrorKind::LauncherGone, what: "launcher".into(), why: why.to_string(), errno: None }
}

fn unexpected(answer: &Answer) -> SandboxError {
    SandboxError::system("launcher", format!("unexpected answer {answer:?}"))
}
