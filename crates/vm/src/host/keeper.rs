//! The process between the judge and QEMU: one thread, no privilege, and nothing left when it ends.

use crate::cpio::Image;
use crate::frame::{self, Kind};
use crate::guest::{FILES, MODULES, PLAN, Plan};
use crate::{GUEST, Parts, QEMU, Shares};
use model::{Accelerator, Bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, MemfdFlags, Mode, OFlags, Uid, memfd_create};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getppid, pidfd_open, set_parent_process_death_signal,
    setrlimit,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The name under which the binary is a keeper.
pub const KEEPER: &str = "tauto-vm-keeper";

/// First of the users that root becomes for machines: in a range that systemd leaves unused (<https://systemd.io/UIDS-GIDS/>,
/// "Summary": 60578 to 61183). The keeper's pid is added, so that few machines share one.
const FIRST_UID: u32 = 60_900;
const UIDS: u32 = 256;
/// How long QEMU may take to make its threads.
const THREADS: Duration = Duration::from_secs(10);
/// Between two looks at them.
const STEP: Duration = Duration::from_millis(5);

/// One machine, as the keeper is told of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) parts: Parts,
    pub(super) accelerator: Accelerator,
    pub(super) memory: Bytes,
    /// For each of the guest's CPUs those of the host it is bound to; empty: anywhere.
    pub(super) pins: Vec<Vec<u32>>,
    pub(super) housekeeping: Vec<u32>,
    pub(super) node: Option<u32>,
    pub(super) shares: Shares,
}

/// What the keeper tells of its machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) pid: u32,
    /// Threads that are the guest's CPUs, in their order.
    pub(super) cpus: Vec<u32>,
    /// Why there is none.
    pub(super) failed: Option<String>,
}

/// The process behind the name [`KEEPER`]: standard input is the port, standard output what is told of the machine, standard error
/// the guest's console and QEMU's complaints. It ends when the port's other end is closed, or QEMU ends.
pub fn keeper_main() -> u8 {
    // Out of the caller's terminal and process group: Ctrl-C is the caller's to handle.
    let _ = rustix::process::setsid();
    let (started, qemu) = match start() {
        Ok((started, port, qemu)) => (started, Some((port, qemu))),
        Err(why) => (Started { failed: Some(why), ..Started::default() }, None),
    };
    let text = serde_json::to_vec(&started).unwrap_or_default();
    let told = io::stdout().as_fd().try_clone_to_owned().map(File::from).and_then(|mut out| {
        out.write_all(&text)?;
        out.write_all(b"\n")
    });
    let Some((port, mut qemu)) = qemu else { return 3 };
    if told.is_ok() {
        over(&port, &qemu, None);
    }
    let _ = qemu.kill();
    let _ = qemu.wait();
    0
}

/// Whether the port's other end was closed or QEMU has ended. Waits for that as long; without bound where there is none.
fn over(port: &UnixStream, qemu: &Child, within: Option<Duration>) -> bool {
    let pid = Pid::from_child(qemu);
    let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let within = within.and_then(|within| Timespec::try_from(within).ok());
    loop {
        let mut fds = [PollFd::new(port, PollFlags::RDHUP), PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut fds, within.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => return false,
            _ => return true,
        }
    }
}

fn start() -> Result<(Started, UnixStream, Child), String> {
    let port = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(|e| e.to_string())?;
    let order = match frame::read(&mut &port) {
        Ok(Some(frame)) if frame.kind == Kind::Document => frame.content,
        _ => return Err("no machine was asked for".into()),
    };
    let order: Order = serde_json::from_slice(&order).map_err(|e| e.to_string())?;
    let (image, plan) = (in_memory("image")?, plan(&order.shares));
    write_image(&image, &order, &plan).map_err(|e| format!("making the guest's image: {e}"))?;
    // A copy: the user that QEMU becomes may not be allowed to read it.
    let kernel = in_memory("kernel")?;
    let copied = File::open(&order.parts.kernel).and_then(|mut from| io::copy(&mut from, &mut &kernel));
    copied.map_err(|e| format!("{}: {e}", order.parts.kernel.display()))?;
    // Beyond standard error, as QEMU wants it; it stays open beyond exec.
    let console = rustix::io::dup(io::stderr().as_fd()).map_err(|e| format!("the console: {e}"))?;
    let directories = opened(&order.shares)?;
    let shared: Vec<(String, i32)> =
        directories.iter().map(|(tag, fd)| (tag.clone(), fd.as_raw_fd())).collect();
    become_nobody(order.accelerator)?;
    let arguments =
        arguments(&order, &shared, [&image, &kernel].map(AsRawFd::as_raw_fd), console.as_raw_fd());
    let stream = || port.try_clone().map(OwnedFd::from).map_err(|e| e.to_string());
    let qemu = Command::new("/proc/self/exe")
        .arg0(QEMU)
        .arg(std::process::id().to_string())
        .arg(&order.parts.qemu)
        .args(arguments)
        .env_clear()
        .stdin(stream()?)
        .stdout(stream()?)
        .spawn()
        .map_err(|e| format!("{}: {e}", order.parts.qemu.display()))?;
    let cpus = bind(&qemu, &order, &port);
    Ok((Started { pid: qemu.id(), cpus, failed: None }, port, qemu))
}

/// The process behind the name [`QEMU`]: it becomes QEMU, which dies with the keeper. Arguments: the keeper's pid, the
/// emulator, its arguments.
pub fn qemu_main() -> u8 {
    let mut arguments = std::env::args_os().skip(1);
    let keeper = arguments.next().and_then(|pid| pid.to_str()?.parse().ok());
    let (Some(keeper), Some(emulator)) = (keeper, arguments.next()) else { return 2 };
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err()
        || getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(keeper)
    {
        return 3;
    }
    // It writes no files; what it keeps of a guest's is in memory.
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    let arguments: Vec<OsString> = arguments.collect();
    let failed = Command::new(&emulator).args(arguments).exec();
    let _ = writeln!(io::stderr(), "{}: {failed}", Path::new(&emulator).display());
    3
}

/// A file in memory that is handed on through exec.
fn in_memory(name: &str) -> Result<File, String> {
    memfd_create(name, MemfdFlags::empty()).map(File::from).map_err(|e| format!("a file in memory: {e}"))
}

/// Root becomes a user who owns nothing; whoever else we are, we stay.
fn become_nobody(accelerator: Accelerator) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let own = FIRST_UID + std::process::id() % UIDS;
    let group = match accelerator {
        Accelerator::Kvm => fs::metadata("/dev/kvm").map_or(own, |device| device.gid()),
        Accelerator::Tcg => own,
    };
    let fail = |e| format!("becoming user {own}: {e}");
    let (uid, gid) = (Uid::from_raw(own), Gid::from_raw(group));
    rustix::thread::set_thread_groups(&[]).map_err(fail)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(fail)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(fail)
}

fn tag(n: usize) -> String {
    format!("share{n}")
}

fn plan(shares: &Shares) -> Plan {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    Plan {
        directories: shares.directories.keys().enumerate().map(|(n, at)| (tag(n), at.clone())).collect(),
        files: shares.files.keys().enumerate().map(|(n, at)| (n.to_string(), at.clone())).collect(),
        links: shares.links.iter().map(|(at, target)| (at.clone(), text(target))).collect(),
    }
}

/// The guest's first file system: this binary, what it is linked to, modules, single files, and the plan.
fn write_image(out: &File, order: &Order, plan: &Plan) -> io::Result<()> {
    let mut image = Image::new(io::BufWriter::with_capacity(1 << 20, out));
    for directory in ["dev", "proc", "sys", "new", "lib", "lib64", MODULES, FILES] {
        image.directory(directory)?;
    }
    image.file(GUEST.trim_start_matches('/'), 0o755, &fs::read("/proc/self/exe")?)?;
    for library in libraries(&fs::read_to_string("/proc/self/maps")?) {
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The loader is where the x86-64 ABI has it; it looks for the others in /lib.
        let directory = if name.starts_with("ld-") { "lib64" } else { "lib" };
        image.file(&format!("{directory}/{name}"), 0o755, &fs::read(&library)?)?;
    }
    for (n, module) in order.parts.modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        image.file(&format!("{MODULES}/{n:02}-{name}"), 0o644, &fs::read(module)?)?;
    }
    for (n, file) in order.shares.files.values().enumerate() {
        image.file(&format!("{FILES}/{n}"), 0o644, &fs::read(file)?)?;
    }
    image.file(PLAN, 0o644, &serde_json::to_vec(plan)?)?;
    image.finish()?;
    Ok(())
}

/// Shared libraries of this process, the loader included (proc(5), /proc/pid/maps).
fn libraries(maps: &str) -> BTreeSet<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.splitn(6, ' ').nth(5)).map(str::trim_start);
    let library = |path: &&str| {
        path.starts_with('/') && path.rsplit('/').next().is_some_and(|name| name.contains(".so"))
    };
    paths.filter(library).map(PathBuf::from).collect()
}

fn arguments(
    order: &Order,
    shared: &[(String, i32)],
    [image, kernel]: [i32; 2],
    console: i32,
) -> Vec<String> {
    let mebibytes = order.memory.mib();
    let kvm = order.accelerator == Accelerator::Kvm;
    let mut memory = format!("memory-backend-ram,id=ram,size={mebibytes}M");
    if kvm {
        memory += ",prealloc=on";
    }
    if let Some(node) = order.node {
        memory += &format!(",host-nodes={node},policy=bind");
    }
    let append = format!("rdinit={GUEST} console=ttyS0 quiet loglevel=3 panic=-1 random.trust_cpu=on");
    let mut all: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(ToString::to_string));
    add(&[
        "-name",
        "tauto,debug-threads=on",
        "-machine",
        "pc,usb=off,vmport=off,graphics=off,memory-backend=ram",
    ]);
    add(if kvm {
        &["-accel", "kvm", "-cpu", "host"]
    } else {
        &["-accel", "tcg,thread=multi", "-cpu", "max"]
    });
    add(&["-m", &format!("{mebibytes}M"), "-object", &memory, "-smp", &order.pins.len().to_string()]);
    add(&[
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-nic",
        "none",
        "-monitor",
        "none",
    ]);
    add(&["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]);
    add(&[
        "-add-fd",
        &format!("fd={console},set=1"),
        "-chardev",
        "file,id=console,path=/dev/fdset/1,append=on",
    ]);
    add(&["-serial", "chardev:console", "-chardev", "stdio,id=port,signal=off"]);
    add(&["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port,name=tauto"]);
    for (tag, host) in shared {
        add(&[
            "-fsdev",
            &format!("local,id={tag},path=/proc/self/fd/{host},security_model=none,readonly=on"),
        ]);
        add(&["-device", &format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}")]);
    }
    let fd = |fd: i32| format!("/proc/self/fd/{fd}");
    add(&["-kernel", &fd(kernel), "-initrd", &fd(image), "-append", &append]);
    all
}

/// The shared directories by their tags, opened while we may pass what leads to them: the sandbox shows them to programs of any user, too.
/// They stay open beyond exec.
fn opened(shares: &Shares) -> Result<Vec<(String, OwnedFd)>, String> {
    let open = |(n, host): (usize, &PathBuf)| {
        let fd = rustix::fs::open(host, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
        fd.map(|fd| (tag(n), fd)).map_err(|e| format!("{}: {e}", host.display()))
    };
    shares.directories.values().enumerate().map(open).collect()
}

/// Binds QEMU's threads to CPUs, and gives those that are the guest's CPUs, in their order. A CPU that went offline is no reason to fail.
/// Threads of a machine that nobody wants any more are not waited for.
fn bind(qemu: &Child, order: &Order, port: &UnixStream) -> Vec<u32> {
    let deadline = Instant::now() + THREADS;
    let wanted = order.pins.len();
    let threads = loop {
        let threads = threads(qemu.id());
        let found = threads.iter().filter(|(_, cpu)| cpu.is_some()).count();
        if found >= wanted || Instant::now() > deadline || over(port, qemu, Some(STEP)) {
            break threads;
        }
    };
    let mut cpus = BTreeMap::new();
    for (thread, cpu) in threads {
        let to = match cpu {
            Some(n) => {
                cpus.insert(n, thread);
                order.pins.get(n).cloned().unwrap_or_default()
            }
            None => order.housekeeping.clone(),
        };
        let mut set = CpuSet::new();
        to.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU as u32).for_each(|cpu| set.set(*cpu as usize));
        if let (false, Some(thread)) = (to.is_empty(), Pid::from_raw(thread as i32)) {
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }
    cpus.into_values().collect()
}

/// Threads of a process; which of the guest's CPUs each is. QEMU calls them `CPU 0/KVM` and `CPU 0/TCG`.
fn threads(pid: u32) -> Vec<(u32, Option<usize>)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let thread = |entry: fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let mut name = String::new();
        File::open(entry.path().join("comm")).ok()?.read_to_string(&mut name).ok()?;
        Some((id, cpu_of(&name)))
    };
    entries.filter_map(thread).collect()
}

fn cpu_of(name: &str) -> Option<usize> {
    name.strip_prefix("CPU ")?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0a00000-55d0c0b00000 r--p 00000000 fe:00 1                          /opt/tauto
7f0000000000-7f0000001000 r-xp 00000000 fe:00 2                          /usr/lib/x86_64-linux-gnu/libc.so.6
7f0000002000-7f0000003000 r--p 00000000 fe:00 2                          /usr/lib/x86_64-linux-gnu/libc.so.6
7f0000004000-7f0000005000 r-xp 00000000 fe:00 3                          /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn libraries_of_maps() {
        let found: Vec<PathBuf> = libraries(MAPS).into_iter().collect();
        let wanted = ["ld-linux-x86-64.so.2", "libc.so.6"];
        assert_eq!(found, wanted.map(|name| Path::new("/usr/lib/x86_64-linux-gnu").join(name)));
    }

    #[test]
    fn threads_that_are_processors() {
        for (name, cpu) in [
            ("CPU 0/TCG\n", Some(0)),
            ("CPU 12/KVM\n", Some(12)),
            ("qemu-system-x86\n", None),
            ("CPU x", None),
        ] {
            assert_eq!(cpu_of(name), cpu, "{name}");
        }
    }

    fn order() -> Order {
        Order {
            parts: Parts { qemu: "/q".into(), kernel: "/k".into(), modules: vec![] },
            accelerator: Accelerator::Tcg,
            memory: Bytes::from_mib(512),
            pins: vec![vec![]; 2],
            housekeeping: vec![],
            node: None,
            shares: Shares::default(),
        }
    }

    #[test]
    fn threads_of_a_machine_that_nobody_wants_are_not_waited_for() {
        let mut never_ready = Command::new("sleep").arg("600").spawn().expect("a process");
        let (port, other) = UnixStream::pair().expect("a port");
        drop(other);
        let begun = Instant::now();
        assert!(bind(&never_ready, &order(), &port).is_empty());
        assert!(begun.elapsed() < THREADS / 2, "{:?}", begun.elapsed());
        never_ready.kill().expect("it is there");
        never_ready.wait().expect("it ends");
        let (port, _other) = UnixStream::pair().expect("a port");
        let mut gone = Command::new("true").spawn().expect("a process");
        assert!(bind(&gone, &order(), &port).is_empty() && begun.elapsed() < THREADS);
        gone.wait().expect("it ends");
    }

    #[test]
    fn directories_are_shown_read_only_and_nothing_else_is_attached() {
        let order = order();
        let words = arguments(&order, &[(tag(0), 7)], [3, 4], 5).join(" ");
        assert!(
            words.contains("local,id=share0,path=/proc/self/fd/7,security_model=none,readonly=on"),
            "{words}"
        );
        assert!(words.contains("-nic none") && words.contains("-sandbox on"), "{words}");
        assert!(!words.contains("-drive") && !words.contains("-netdev"), "{words}");
    }

    #[test]
    fn tags_of_the_plan_are_those_of_what_is_opened() {
        let mut shares = Shares::default();
        for (n, host) in (0..12).zip(["/", "/usr", "/etc"].into_iter().cycle()) {
            shares.directories.insert(format!("/d{n:02}"), host.into());
        }
        let opened = opened(&shares).expect("they exist");
        let tags: BTreeSet<&String> = opened.iter().map(|(tag, _)| tag).collect();
        let plan = plan(&shares);
        assert_eq!(tags, plan.directories.keys().collect());
        for ((tag, _), at) in opened.iter().zip(shares.directories.keys()) {
            assert_eq!(plan.directories.get(tag), Some(at));
        }
        shares.directories.insert("/z".into(), "/nowhere/at/all".into());
        assert!(super::opened(&shares).is_err());
    }
}
