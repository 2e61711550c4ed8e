//! The launcher process: one slot, one run at a time.

mod boxes;
mod evidence;
mod files;
mod frequency;
mod privilege;
mod run;
mod streams;
mod supervise;
mod tree;
mod view;

use crate::cgroup::{Groups, Layout, Places};
use crate::error::During;
use crate::message::{self, Answer, Capabilities, Request};
use crate::sys::{self, InitStack};
use crate::{Counted, SandboxError, seccomp, ulimits};
use boxes::Boxes;
pub use view::covered;

use evidence::Host;
use frequency::Frequency;
use model::{Nanos, Slot};
use privilege::Privilege;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::num::NonZeroU64;
use std::path::Path;
use streams::Streams;
use view::Views;

/// The name under which the binary is a launcher.
pub const ARGV0: &str = "tauto-launcher";

struct Launcher {
    socket: OwnedFd,
    streams: Streams,
    host: Host,
    privilege: Privilege,
    groups: Groups,
    views: Views,
    boxes: Boxes,
    stacks: Stacks,
    frequency: Frequency,
    /// What is counted for runs that ask for it.
    counted: Counted,
    weaker: Vec<String>,
    pid_namespace: OwnedFd,
    /// The group's CPU pressure when the run began.
    pressure_before: Nanos,
}

/// Stacks of the two children of a run. One run at a time uses them.
struct Stacks {
    init: &'static mut InitStack,
    program: &'static mut InitStack,
}

/// The process behind the name [`ARGV0`]. It becomes the *keeper*: forks the launcher into a pid namespace of its own,
/// waits for its end, however that comes about, and removes its cgroups. Returns the exit code.
pub fn launcher_main() -> u8 {
    sys::reset_signals();
    // Out of the caller's terminal and process group: Ctrl-C is the caller's to handle.
    let _ = rustix::process::setsid();
    let Ok(socket) = take_over_stdio() else { return 3 };
    let mut buffer = vec![0; message::PACKET];
    // `_held` lives as long as this process, which outlives all others of the slot.
    let Ok(Some((Request::Hello { housekeeping, slot, counted }, _held))) =
        message::receive(&socket, &mut buffer)
    else {
        return 3;
    };
    let places = Layout::of_self(Path::new("/proc")).map(|l| l.places(std::process::id(), slot.as_ref()));
    let begun = places.during(|| "reading the cgroup layout".into()).and_then(|places| {
        ulimits::lift()?;
        let privilege = Privilege::acquire()?;
        Ok((places, privilege, sys::fork().during(|| "forking the launcher".into())?))
    });
    match begun {
        Ok((places, privilege, None)) => {
            let found = Foundation::lay(&places, privilege, &housekeeping);
            launch(socket, found, slot.as_ref(), counted, &mut buffer)
        }
        Ok((places, _, Some(launcher))) => {
            drop(socket);
            let status = sys::wait_for(launcher);
            places.remove();
            status
        }
        Err(e) => {
            let _ = message::send(&socket, &Answer::Failed(e), &[]);
            3
        }
    }
}

/// Serves the caller until it closes its end of the socket.
fn launch(
    socket: OwnedFd,
    foundation: Result<Foundation, SandboxError>,
    slot: Option<&Slot>,
    counted: Counted,
    buffer: &mut [u8],
) -> u8 {
    match foundation {
        Ok(foundation) => {
            let mut launcher = Launcher::new(socket, foundation, slot, counted);
            launcher.answer(&Answer::Ready(launcher.capabilities()), None);
            launcher.serve(buffer);
            0
        }
        Err(e) => {
            let _ = message::send(&socket, &Answer::Failed(e), &[]);
            3
        }
    }
}

/// Moves the socket away from descriptor 0 and leaves /dev/null there.
fn take_over_stdio() -> rustix::io::Result<OwnedFd> {
    let stdin = sys::owned(0);
    let socket = rustix::io::fcntl_dupfd_cloexec(&stdin, 3)?;
    drop(stdin);
    // The lowest free number is 0 now; it stays taken so that nothing of ours ever lands there.
    std::mem::forget(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?);
    Ok(socket)
}

/// What the launcher stands on: acquired once, in this order.
struct Foundation {
    host: Host,
    groups: Groups,
    privilege: Privilege,
    views: Views,
    streams: Streams,
    pid_namespace: OwnedFd,
}

impl Foundation {
    fn lay(places: &Places, privilege: Privilege, housekeeping: &[u32]) -> Result<Foundation, SandboxError> {
        // First, while the cgroup file systems can still be reached by the caller's paths and our pid is known there.
        let mut groups = Groups::create(places);
        privilege.enter_slot()?;
        let host = Host::open().during(|| "opening /proc".into())?;
        let pid_namespace =
            rustix::fs::openat(host.proc(), "self/ns/pid", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .during(|| "opening our pid namespace".into())?;
        let views = Views::new(host.proc(), privilege.uid())?;
        host.bound_control_data();
        let streams = Streams::new(host.proc(), &privilege).during(|| "opening /dev/null".into())?;
        if let Err(e) = host.exempt_from_oom() {
            groups.not_exempt(&e);
        }
        settle_down(housekeeping)?;
        Ok(Foundation { host, groups, privilege, views, streams, pid_namespace })
    }
}

impl Launcher {
    fn new(socket: OwnedFd, f: Foundation, slot: Option<&Slot>, counted: Counted) -> Launcher {
        let stacks = Stacks { init: InitStack::leaked(), program: InitStack::leaked() };
        let frequency = Frequency::for_slot(slot, stacks.program, f.groups.clone_into());
        let weaker = f.groups.weaker.iter().cloned().chain(f.privilege.weaker()).collect();
        Launcher {
            socket,
            streams: f.streams,
            weaker,
            boxes: Boxes::new(&f.privilege),
            host: f.host,
            privilege: f.privilege,
            groups: f.groups,
            views: f.views,
            stacks,
            frequency,
            counted,
            pid_namespace: f.pid_namespace,
            pressure_before: Nanos::ZERO,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            privileged: self.privilege.is_root(),
            uid: self.privilege.uid_on_host(),
            memory_of_tree: self.groups.limits_memory(),
            cpu_of_tree: self.groups.cpu_stat().is_some(),
            weaker: self.weaker.clone(),
        }
    }

    fn serve(&mut self, buffer: &mut [u8]) {
        while let Ok(Some((request, fds))) = message::receive(&self.socket, buffer) {
            match self.handle(request, fds) {
                Ok(Some((answer, fd))) => self.answer(&answer, fd),
                Ok(None) => {}
                Err(e) => self.answer(&Answer::Failed(e), None),
            }
            // After the answer, since letting go of a run's mounts takes as long as starting a process.
            self.streams.tidy();
            if self.views.tidy().is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, answer: &Answer, fd: Option<OwnedFd>) {
        let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
        if let Err(e) = message::send(&self.socket, answer, &fds) {
            // Too long for a packet, such as a list of very many files. A closed socket ends `serve` by itself.
            let failed = Answer::Failed(SandboxError::system("answering the caller", e));
            let _ = message::send(&self.socket, &failed, &[]);
        }
    }

    fn handle(
        &mut self,
        request: Request,
        fds: Vec<OwnedFd>,
    ) -> Result<Option<(Answer, Option<OwnedFd>)>, SandboxError> {
        let answer = match request {
            Request::Hello { .. } => Answer::Ready(self.capabilities()),
            Request::CreateBox { size } => Answer::Box(self.boxes.create(size)?),
            Request::Put { id, path, executable } => {
                let content =
                    fds.first().ok_or_else(|| SandboxError::bad_request(&*path, "no content handed over"))?;
                self.boxes.put(id, &path, executable, content.as_fd())?;
                Answer::Done
            }
            Request::Fetch { id, path } => {
                let found = self.boxes.fetch(id, &path)?;
                let (answer, file) = (Answer::File(found.as_ref().map(|_| ())), found.file());
                return Ok(Some((answer, file)));
            }
            Request::List { id } => Answer::Files(self.boxes.list(id)?),
            Request::Remove { id, path } => {
                self.boxes.unlink(id, &path)?;
                Answer::Done
            }
            Request::DropBox { id } => {
                self.boxes.remove(id)?;
                Answer::Done
            }
            Request::Run { serial, spec } => Answer::Observed(Box::new(self.run(serial, &spec, fds)?)),
            // It came too late: that run is over.
            Request::EndRun { .. } => return Ok(None),
        };
        Ok(Some((answer, None)))
    }
}

/// Gives up what the launcher does not need and takes the place it serves from.
fn settle_down(housekeeping: &[u32]) -> Result<(), SandboxError> {
    sys::bounding_set_drop_all().during(|| "dropping capabilities".into())?;
    if !housekeeping.is_empty() {
        let mut set = CpuSet::new();
        housekeeping.iter().filter(|c| **c < CpuSet::MAX_CPU as u32).for_each(|c| set.set(*c as usize));
        // A CPU that went offline meanwhile is no reason to fail.
        let _ = sched_setaffinity(None, &set);
    }
    // Exact wake-ups: the default slack of 50 µs is for saving power (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // So that a full machine does not delay the end of a run. Refused to ordinary users.
    let _ = rustix::process::setpriority_process(None, -20);
    sys::make_undumpable();
    let filter = seccomp::program(sys::draw_secret().during(|| "drawing a secret".into())?);
    sys::install_filter(&filter).during(|| "installing the system call filter".into())
}
