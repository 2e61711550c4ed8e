//! Virtual machines for what this host cannot show: another kernel, another cgroup layout, more sockets
//! and memory nodes.
//!
//! QEMU in software emulation, Debian's cloud kernel, and a file system in memory with `tauto`, busybox and whatever a
//! test takes along. It boots in a few seconds and computes ten to twenty times slower than the host. The first serial
//! line is the kernel's console, kept in a log; the second carries the command's output.

mod guest;
mod image;
mod shape;

pub use shape::Shape;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const QEMU: &str = "qemu-system-x86_64";
const BUSYBOX: [&str; 2] = ["/bin/busybox", "/usr/bin/busybox"];
const REMEDY: &str = "run scripts/setup";
/// Of a machine, in MiB.
const MEMORY: u32 = 2048;
/// Until the command begins; five seconds are usual, but emulation beside noisy neighbours has taken ten times that.
const START: Duration = Duration::from_secs(90);
/// How often a machine that does not start is started.
const BOOTS: u32 = 3;

/// The control groups that are mounted in a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Cgroups {
    /// Version 2 on /sys/fs/cgroup.
    V2,
    /// None at all.
    None,
}

/// A machine and what it is started for.
#[derive(Clone, Debug)]
pub struct Vm {
    /// The binary; the shared libraries it needs come along.
    pub tauto: PathBuf,
    /// Files to be found in the directory /vm, executable.
    pub files: Vec<PathBuf>,
    /// What is mounted.
    pub cgroups: Cgroups,
    /// Its processors and memory nodes.
    pub shape: Shape,
    /// Size of an empty disk, /dev/nvme0n1, in MiB; 0: none.
    pub disk: u64,
    /// More kernel parameters.
    pub append: String,
    /// The command, run as root.
    pub command: Vec<String>,
    /// So long after the command's beginning the machine is ended.
    pub patience: Duration,
}

/// What a machine is made from.
#[derive(Clone, Debug)]
struct Parts {
    kernel: PathBuf,
    busybox: PathBuf,
}

/// Why no machine can be had here, if so: the missing part and the remedy.
pub fn lacks() -> Option<String> {
    parts().err()
}

/// Boots the machine, writes the command's output (both streams) to `out` as it comes, and returns its exit code.
///
/// # Errors
/// A missing part, a machine that does not start, or none that comes to an end in time; with the console's last lines.
pub fn boot(vm: &Vm, out: &mut dyn Write) -> Result<u8, String> {
    let parts = parts()?;
    let scratch =
        tempfile::Builder::new().prefix("xtask-vm-").tempdir().map_err(|e| format!("scratch: {e}"))?;
    let initramfs = scratch.path().join("initramfs");
    let image = guest::image(vm, &parts.busybox)?;
    std::fs::write(&initramfs, image.into_bytes()).map_err(|e| format!("{}: {e}", initramfs.display()))?;
    // Emulated processors now and then stop for good while the kernel starts. Nothing of ours has run by then.
    for _ in 1..BOOTS {
        match attempt(vm, &parts, scratch.path(), out)? {
            Attempt::Ended(code) => return Ok(code),
            Attempt::NeverBegan(_) => {}
        }
    }
    match attempt(vm, &parts, scratch.path(), out)? {
        Attempt::Ended(code) => Ok(code),
        Attempt::NeverBegan(why) => Err(why),
    }
}

/// How a machine ended.
enum Attempt {
    /// The command did, with this exit code.
    Ended(u8),
    /// It was not reached, and why.
    NeverBegan(String),
}

fn attempt(vm: &Vm, parts: &Parts, scratch: &Path, out: &mut dyn Write) -> Result<Attempt, String> {
    let [initramfs, console, complaints] =
        ["initramfs", "console", "complaints"].map(|name| scratch.join(name));
    // It warns of every processor feature it cannot emulate.
    let stderr = File::create(&complaints).map_err(|e| format!("{}: {e}", complaints.display()))?;
    let disk = disk(vm.disk, scratch)?;
    let mut qemu = qemu(vm, &parts.kernel, &initramfs, &console)
        .args(disk)
        .stderr(stderr)
        .spawn()
        .map_err(|e| format!("{QEMU}: {e}; {REMEDY}"))?;
    let lines = lines_of(&mut qemu);
    let ended = begun(&lines).map(|()| follow(&lines, vm.patience, out));
    let _ = qemu.kill();
    let _ = qemu.wait();
    let with_logs = |why: String| {
        format!("{why}\nlast of {QEMU}:\n{}\nlast of the console:\n{}", tail(&complaints), tail(&console))
    };
    match ended {
        Ok(ended) => ended.map(Attempt::Ended).map_err(with_logs),
        Err(why) => Ok(Attempt::NeverBegan(with_logs(why))),
    }
}

/// Arguments for a disk of so many MiB. Debian's cloud kernel has the driver of this kind built in.
fn disk(size: u64, scratch: &Path) -> Result<Vec<String>, String> {
    if size == 0 {
        return Ok(vec![]);
    }
    let path = scratch.join("disk");
    let made = File::create(&path).and_then(|file| file.set_len(size << 20));
    made.map_err(|e| format!("{}: {e}", path.display()))?;
    let drive = format!("file={},if=none,id=disk,format=raw", path.display());
    Ok(["-drive", &drive, "-device", "nvme,drive=disk,serial=disk"].map(String::from).to_vec())
}

fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn parts() -> Result<Parts, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the machines are x86_64, and what is built here is not".into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join(QEMU).is_file()) {
        return Err(format!("no {QEMU}; {REMEDY}"));
    }
    Ok(Parts { kernel: kernel()?, busybox: busybox()? })
}

fn busybox() -> Result<PathBuf, String> {
    let found = BUSYBOX.into_iter().map(PathBuf::from).find(|p| p.is_file());
    found.ok_or_else(|| format!("no busybox; {REMEDY}"))
}

/// `$TAUTO_VM_KERNEL`, else the newest of the images that setup has laid below `target/vm`.
fn kernel() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("TAUTO_VM_KERNEL") {
        return Ok(PathBuf::from(named));
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm");
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let images = entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")));
    images.max().ok_or_else(|| format!("no kernel image in target/vm; {REMEDY}"))
}

fn qemu(vm: &Vm, kernel: &Path, initramfs: &Path, console: &Path) -> Command {
    let mut qemu = Command::new(QEMU);
    // Hardware virtualisation is not to be relied on where virtual machines are nested.
    qemu.args(["-accel", "tcg,thread=multi", "-cpu", "Skylake-Server-v4"]);
    qemu.args(vm.shape.arguments(MEMORY));
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none"]);
    qemu.arg("-serial").arg(format!("file:{}", console.display())).args(["-serial", "stdio"]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(initramfs);
    qemu.arg("-append").arg(format!("console=ttyS0 panic=-1 mitigations=off {}", vm.append));
    qemu.stdin(Stdio::null()).stdout(Stdio::piped());
    qemu
}

/// Waits for the guest's first line.
fn begun(lines: &Receiver<String>) -> Result<(), String> {
    match lines.recv_timeout(START) {
        Ok(line) if line == guest::BEGINS => Ok(()),
        Ok(line) => Err(format!("the guest began with `{}`", line.trim())),
        Err(RecvTimeoutError::Timeout) => Err(format!("the machine did not start in {} s", START.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err("the machine ended before the command began".into()),
    }
}

/// Passes the output on until the guest says how the command ended.
fn follow(lines: &Receiver<String>, patience: Duration, out: &mut dyn Write) -> Result<u8, String> {
    let deadline = Instant::now() + patience;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => match line.strip_prefix(guest::ENDS) {
                Some(code) => {
                    return code.trim().parse().map_err(|_| format!("the guest said `{}`", line.trim()));
                }
                None => out.write_all(line.as_bytes()).map_err(|e| format!("output: {e}"))?,
            },
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("the command was not done after {} s", patience.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err("the machine ended before the command".into()),
        }
    }
}

fn lines_of(qemu: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let stdout = qemu.stdout.take();
    std::thread::spawn(move || {
        let Some(mut stream) = stdout.map(BufReader::new) else { return };
        let mut line = Vec::new();
        while let Ok(1..) = stream.read_until(b'\n', &mut line) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}
