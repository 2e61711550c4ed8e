//! Lays out the guest's file system, under the names that the host has.

use super::{FILES, MODULES, PLAN, Plan};
use rustix::fs::{Mode, OFlags, symlink};
use rustix::mount::{MountFlags, mount, mount_move};
use std::ffi::CStr;
use std::fs::{self, File, create_dir_all};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const NEW: &str = "/new";
const PORT: &str = "/dev/vport0p1";
/// How long devices of the machine may take to be found.
const FOUND: Duration = Duration::from_secs(20);
/// Modules may be compressed, and the kernel sees it (init_module(2), MODULE_INIT_COMPRESSED_FILE).
const COMPRESSED: i32 = 4;

/// Makes the root and gives the port.
pub(super) fn begin() -> Result<File, String> {
    let none = MountFlags::empty();
    let quiet = MountFlags::NOSUID | MountFlags::NODEV;
    mounted("proc", "/proc", "proc", none, None)?;
    mounted("sysfs", "/sys", "sysfs", none, None)?;
    mounted("devtmpfs", "/dev", "devtmpfs", none, None)?;
    load_modules()?;
    let plan = fs::read(Path::new("/").join(PLAN)).map_err(|e| format!("{PLAN}: {e}"))?;
    let plan: Plan = serde_json::from_slice(&plan).map_err(|e| format!("{PLAN}: {e}"))?;
    // The first root of a machine cannot be left by pivot_root(2), which the sandbox needs.
    mounted("root", NEW, "tmpfs", MountFlags::NOSUID, Some(c"mode=0755"))?;
    for (tag, at) in &plan.directories {
        // Nobody writes on the host's side while it is read here; what changes there is seen by the next machine.
        let options = c"trans=virtio,version=9p2000.L,cache=loose,msize=524288,access=any";
        mounted(tag, &inside(at), "9p", quiet | MountFlags::RDONLY, Some(options))?;
    }
    for (name, at) in &plan.files {
        let to = inside(at);
        above(&to)?;
        fs::copy(Path::new("/").join(FILES).join(name), &to).map_err(|e| format!("{at}: {e}"))?;
    }
    for (at, target) in &plan.links {
        above(&inside(at))?;
        symlink(target, inside(at)).map_err(|e| format!("{at}: {e}"))?;
    }
    mounted("proc", &inside("/proc"), "proc", none, None)?;
    mounted("sysfs", &inside("/sys"), "sysfs", none, None)?;
    mounted("devtmpfs", &inside("/dev"), "devtmpfs", none, None)?;
    mounted("pts", &inside("/dev/pts"), "devpts", none, None)?;
    mounted("shm", &inside("/dev/shm"), "tmpfs", quiet, Some(c"mode=1777"))?;
    mounted("tmp", &inside("/tmp"), "tmpfs", quiet, Some(c"mode=1777"))?;
    mounted("cgroup", &inside("/sys/fs/cgroup"), "cgroup2", none, None)?;
    let fail = |e: rustix::io::Errno| format!("changing the root: {e}");
    std::env::set_current_dir(NEW).map_err(|e| format!("{NEW}: {e}"))?;
    mount_move(NEW, "/").map_err(fail)?;
    rustix::process::chroot(".").map_err(fail)?;
    rustix::process::chdir("/").map_err(fail)?;
    port()
}

fn inside(path: &str) -> String {
    format!("{NEW}{path}")
}

fn above(path: &str) -> Result<(), String> {
    let directory = Path::new(path).parent().unwrap_or(Path::new("/"));
    create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))
}

fn mounted(
    source: &str,
    at: &str,
    kind: &str,
    flags: MountFlags,
    options: Option<&CStr>,
) -> Result<(), String> {
    create_dir_all(at).map_err(|e| format!("{at}: {e}"))?;
    mount(source, at, kind, flags, options).map_err(|e| format!("mounting {source} at {at}: {e}"))
}

/// Loads all modules, in the order of their names.
fn load_modules() -> Result<(), String> {
    let entries = fs::read_dir(Path::new("/").join(MODULES)).map_err(|e| format!("{MODULES}: {e}"))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.display().to_string();
        let file = File::open(&path).map_err(|e| format!("{name}: {e}"))?;
        let flags = if path.extension().is_some_and(|end| end == "ko") { 0 } else { COMPRESSED };
        match rustix::system::finit_module(&file, c"", flags) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(format!("{name}: {e}")),
        }
    }
    Ok(())
}

fn port() -> Result<File, String> {
    let deadline = Instant::now() + FOUND;
    loop {
        match rustix::fs::open(PORT, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Ok(port) => return Ok(port.into()),
            Err(e) if Instant::now() > deadline => return Err(format!("{PORT}: {}", io::Error::from(e))),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
