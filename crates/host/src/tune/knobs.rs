//! Reading and writing what can be changed.

use super::target::{ABSENT, ACTIVE, INACTIVE, OFF, ON, PRESENT, Target};
use super::tasks;
use crate::cpulist;
use crate::machine::{Machine, open_below};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

/// Something whose values can be read and written: a machine, or in tests what behaves like one.
pub trait Knobs {
    /// The present value, in the form of [`super::Change::found`].
    ///
    /// # Errors
    /// As the system says. `NotFound`: it is gone, and so is what was done to it.
    fn read(&self, target: &Target) -> io::Result<String>;

    /// Sets a value.
    ///
    /// # Errors
    /// As the system says; nothing is changed then.
    fn write(&mut self, target: &Target, value: &str) -> io::Result<()>;

    /// Whether a value that was read is the one that was written or noted.
    fn same(&self, target: &Target, read: &str, value: &str) -> bool {
        target.same(read, value)
    }
}

/// This machine, or in tests a directory that looks like one.
pub struct Writer {
    root: OwnedFd,
    machine: Machine,
    /// Tasks and services are those of this machine.
    live: bool,
}

impl Writer {
    /// Everything below `root`; tasks and services only for `/`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn at(root: &Path) -> io::Result<Writer> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(rustix::fs::CWD, root, flags, Mode::empty())?;
        Ok(Writer { root: open, machine: Machine::at(root)?, live: root == Path::new("/") })
    }

    fn text(&self, path: &str, value: &str) -> io::Result<()> {
        let mut file = File::from(open_below(&self.root, path, OFlags::WRONLY | OFlags::TRUNC)?);
        // One call: the kernel takes each write for a whole value.
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// The directory a path lies in, and its name there.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (parent, name) = path.rsplit_once('/').ok_or(Errno::INVAL)?;
        let parent = if parent.is_empty() { "/" } else { parent };
        Ok((open_below(&self.root, parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// Puts a file in place as a whole, or takes it away; on disk when this returns.
    fn whole(&self, path: &str, content: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        if content == ABSENT {
            match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
                Err(Errno::NOENT) => {}
                removed => removed?,
            }
        } else {
            let new = format!(".{name}.new");
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(&parent, &new, flags, Mode::from_raw_mode(0o644))?);
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
            rustix::fs::renameat(&parent, &new, &parent, name)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::fsync(rustix::fs::openat(&parent, ".", flags, Mode::empty())?)?)
    }

    fn directory(&self, path: &str, value: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        let made = match value {
            PRESENT => rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)),
            _ => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR),
        };
        Ok(made?)
    }

    /// A task's number, if it is still the same task.
    fn task(&self, pid: u32, started: u64) -> io::Result<Pid> {
        if !self.live {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "tasks are those of this machine only"));
        }
        let same = tasks::stat(&self.machine, pid).is_some_and(|stat| stat.started == started);
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.filter(|_| same).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Knobs for Writer {
    fn read(&self, target: &Target) -> io::Result<String> {
        let either = |is: bool, yes: &str, no: &str| Ok(if is { yes } else { no }.to_string());
        match target {
            Target::File { path, form } => Ok(form.value(&self.machine.read(path)?)),
            Target::Controller { path, name } => {
                either(self.machine.read(path)?.split_whitespace().any(|word| word == name), ON, OFF)
            }
            Target::Directory(path) => either(self.machine.list(path).is_ok(), PRESENT, ABSENT),
            Target::Whole(path) => match self.machine.read(path) {
                Ok(text) => Ok(format!("{text}\n")),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(ABSENT.into()),
                Err(e) => Err(e),
            },
            Target::Task { pid, started, .. } => {
                self.task(*pid, *started)?;
                tasks::allowed(&self.machine, *pid).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            Target::Service(name) => either(tasks::is_running(&self.machine, name), ACTIVE, INACTIVE),
        }
    }

    /// CPUs that are offline are in a task's list or not as it happens.
    fn same(&self, target: &Target, read: &str, value: &str) -> bool {
        let set = |list: &str| cpulist::parse(list).unwrap_or_default();
        let online = || set(&self.machine.read("/sys/devices/system/cpu/online").unwrap_or_default());
        let shown = |list: &str| set(list).intersection(&online()).copied().collect::<cpulist::Set>();
        let is_task = matches!(target, Target::Task { .. });
        target.same(read, value) || (is_task && shown(read) == shown(value))
    }

    fn write(&mut self, target: &Target, value: &str) -> io::Result<()> {
        match target {
            Target::File { path, .. } => self.text(path, value),
            Target::Controller { path, name } => {
                self.text(path, &format!("{}{name}", if value == ON { '+' } else { '-' }))
            }
            Target::Directory(path) => self.directory(path, value),
            Target::Whole(path) => self.whole(path, value),
            Target::Task { pid, started, .. } => {
                let cpus = cpulist::parse(value).ok_or(Errno::INVAL)?;
                let mut set = CpuSet::new();
                let fitting = cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU);
                fitting.for_each(|cpu| set.set(cpu));
                Ok(rustix::thread::sched_setaffinity(Some(self.task(*pid, *started)?), &set)?)
            }
            Target::Service(name) if self.live => switch(name, value),
            Target::Service(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "services are those of this machine only"))
            }
        }
    }
}

/// Starts or stops a service and waits for it.
fn switch(name: &str, value: &str) -> io::Result<()> {
    let verb = if value == ACTIVE { "start" } else { "stop" };
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(io::Error::other(format!("no systemd here\nhint: {verb} {name} by hand")));
    }
    let output = Command::new("systemctl").args([verb, name]).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("systemctl {verb} {name}: {}", said.lines().next().unwrap_or("failed"))))
}

/// Keeps every CPU out of deep idle states until the file is closed, also by the end of the process: nothing to journal.
/// For who judges, as root (Documentation/power/pm_qos_interface.rst: 0 µs may pass until a CPU is awake).
///
/// # Errors
/// No such device, or no right to it.
pub fn hold_cpu_dma_latency() -> io::Result<File> {
    let mut device = File::options().write(true).open("/dev/cpu_dma_latency")?;
    device.write_all(&0i32.to_ne_bytes())?;
    Ok(device)
}
