//! Where a pass of the suite takes place: as which user, with which copy of the binary, in which directories.

use crate::leftovers::{self, Snapshot};
use crate::tauto::{self, Ended};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Only reached by a `tauto` that hangs.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Where runs of a suite that take place one at a time meet ([`alone`]).
#[macro_export]
macro_rules! scratch {
    () => {
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile")
    };
}

/// A variable of the caller's environment that no run may ever see.
pub const SECRET: (&str, &str) = ("TAUTO_E2E_SECRET", "TAUTO_E2E_SECRET");

/// As which user `tauto` is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Root.
    Root,
    /// An ordinary user: a throw-away one when the suite runs as root, else the caller.
    User,
}

/// The throw-away user and group.
const NOBODY_IN_PARTICULAR: u32 = 65533;

/// Whether the suite itself runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Pass {
    /// The passes that are possible for whoever runs the suite.
    pub fn possible() -> Vec<Pass> {
        if is_root() { vec![Pass::Root, Pass::User] } else { vec![Pass::User] }
    }

    /// A word for names of tests.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Root => "root",
            Pass::User => "user",
        }
    }

    /// The user to change to, when that is needed.
    fn change_to(self) -> Option<u32> {
        (self == Pass::User && is_root()).then_some(NOBODY_IN_PARTICULAR)
    }

    /// Whether this user can have a memory cgroup: root where a hierarchy with a memory controller is mounted, an
    /// ordinary user where a cgroup with that controller was delegated to it.
    pub fn has_memory_group(self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let unified = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        let uid = self.change_to().unwrap_or(rustix::process::geteuid().as_raw());
        mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).any(|fields| {
            let [_, at, kind, options, ..] = fields[..] else { return false };
            let group = Path::new(at).join(unified.trim_start_matches('/'));
            let controllers = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
            let v1 = kind == "cgroup" && options.split(',').any(|option| option == "memory");
            let v2 = kind == "cgroup2" && controllers.split_whitespace().any(|name| name == "memory");
            let delegated = fs::metadata(group.join("cgroup.procs")).is_ok_and(|facts| facts.uid() == uid);
            (v1 && self == Pass::Root) || (v2 && (self == Pass::Root || delegated))
        })
    }

    /// Why a test with these needs cannot take place, if so.
    pub fn lacks(self, needs: &[String]) -> Option<String> {
        let missing = |need: &&String| match need.as_str() {
            "root" => self != Pass::Root,
            "memory_group" => !self.has_memory_group(),
            "python3" => !Path::new("/usr/bin/python3").exists(),
            // Virtual machines lack it; see the suite `hostile`.
            "sandbox" => false,
            "ipcmk" => !Path::new("/usr/bin/ipcmk").exists(),
            other => match other.strip_prefix("cpus=").and_then(|number| number.parse::<usize>().ok()) {
                Some(number) => std::thread::available_parallelism().map_or(1, usize::from) < number,
                None => true,
            },
        };
        needs.iter().find(missing).map(|need| format!("needs {need}"))
    }
}

/// Name of the directory below a stage where another user than root keeps answers of toolchains.
const CACHE: &str = "cache";

/// One pass: a directory all users can enter, with a copy of the binary.
#[derive(Debug)]
pub struct Stage {
    /// As which user.
    pub pass: Pass,
    directory: TempDir,
}

fn text(error: std::io::Error, path: &Path) -> String {
    format!("{}: {error}", path.display())
}

impl Stage {
    /// Sets the stage.
    ///
    /// # Errors
    /// No binary, or no room for the copy.
    pub fn new(pass: Pass) -> Result<Stage, String> {
        let directory = tempfile::Builder::new()
            .prefix("e2e-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .map_err(|error| format!("temporary directory: {error}"))?;
        let copy = directory.path().join("tauto");
        copy_program(&tauto::binary()?, &copy)?;
        fs::set_permissions(&copy, Permissions::from_mode(0o755)).map_err(|error| text(error, &copy))?;
        let stage = Stage { pass, directory };
        stage.make_directory(&stage.path().join(CACHE))?;
        Ok(stage)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a directory of the pass's user below the stage.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_directory(&self, path: &Path) -> Result<(), String> {
        fs::create_dir_all(path).map_err(|error| text(error, path))?;
        self.give(path)
    }

    /// Gives a file to the pass's user.
    ///
    /// # Errors
    /// It cannot be given away.
    pub fn give(&self, path: &Path) -> Result<(), String> {
        match self.pass.change_to() {
            Some(id) => chown(path, Some(id), Some(id)).map_err(|error| text(error, path)),
            None => Ok(()),
        }
    }

    /// A fresh place for one test.
    ///
    /// # Errors
    /// Its directories cannot be made.
    pub fn place(&self, name: &str) -> Result<Workspace<'_>, String> {
        let root = self.path().join(name.replace('/', "-"));
        let place = Workspace { stage: self, root };
        for part in ["", "tmp", "out", "home", "data"] {
            self.make_directory(&place.root.join(part))?;
        }
        Ok(place)
    }
}

/// The directories of one test, removed with it.
#[derive(Debug)]
pub struct Workspace<'a> {
    stage: &'a Stage,
    root: PathBuf,
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.root));
    }
}

impl Workspace<'_> {
    /// A path within; the place itself for an empty name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Copies an executable here; with `setuid` it gets that bit (and, as root, belongs to root).
    ///
    /// # Errors
    /// It cannot be copied.
    pub fn install(&self, executable: &Path, setuid: bool) -> Result<PathBuf, String> {
        let target = self.root.join(executable.file_name().unwrap_or_default());
        copy_program(executable, &target)?;
        let mode = if setuid { 0o4755 } else { 0o755 };
        fs::set_permissions(&target, Permissions::from_mode(mode)).map_err(|error| text(error, &target))?;
        Ok(target)
    }

    /// Gives a file to the pass's user.
    ///
    /// # Errors
    /// It cannot be given away.
    pub fn give_away(&self, path: &Path) -> Result<(), String> {
        self.stage.give(path)
    }

    /// `tauto`, as the user of this pass, in an environment of its own.
    pub fn tauto(&self) -> Command {
        self.command(&self.stage.path().join("tauto"))
    }

    /// Runs `tauto` with these words to its end.
    ///
    /// # Errors
    /// It cannot be started, or hangs.
    pub fn run(&self, words: &[&str]) -> Result<Ended, String> {
        tauto::run(self.tauto().args(words), false, HANGS_AFTER)
    }

    /// `tauto load` in a session of its own. Where sessions are scheduling groups (sched_autogroup), one with threads that
    /// never sleep on several CPUs and a harness that polls gets new weights with every tick, and Linux 6.18 then lets
    /// its neighbours wait for seconds.
    pub fn load(&self) -> Command {
        let mut command = self.command(Path::new("setsid"));
        command.arg(self.stage.path().join("tauto")).arg("load");
        command
    }

    /// Any command, the same way.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = crate::child::command(program);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env(SECRET.0, SECRET.1);
        command.env(crate::child::WEAK_ISOLATION.0, crate::child::WEAK_ISOLATION.1);
        command.env("TMPDIR", self.path("tmp")).env("HOME", self.path("home"));
        command.env("TAUTO_DATA_DIR", self.path("data")).current_dir(&self.root);
        // Toolchains are not asked, and standard libraries not compiled, again for each place: another user has one cache for the whole stage,
        // root its usual one.
        if !self.is_root() {
            command.env("TAUTO_CACHE_DIR", self.stage.path().join(CACHE));
        }
        if let Some(id) = self.stage.pass.change_to() {
            command.gid(id).uid(id);
        }
        command
    }

    /// See [`Pass::has_memory_group`].
    pub fn has_memory_group(&self) -> bool {
        self.stage.pass.has_memory_group()
    }

    /// Whether `tauto` is started as root here.
    pub fn is_root(&self) -> bool {
        self.stage.pass == Pass::Root
    }

    /// What is left in the directory for temporary files.
    pub fn temporaries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("tmp")).into_iter().flatten().flatten();
        entries.map(|entry| format!("temporary file {}", entry.path().display())).collect()
    }
}

/// Copies a program, by another process: a child that another thread forks meanwhile would hold a descriptor of ours open for writing, and
/// the copy could not be executed as long as it does (ETXTBSY, execve(2)).
///
/// # Errors
/// It cannot be copied.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    let copied = Command::new("cp").arg(from).arg(to).status().map_err(|error| text(error, to))?;
    if copied.success() { Ok(()) } else { Err(format!("{}: not copied", to.display())) }
}

/// Holds the suite to one run at a time, over all its processes, until it is dropped.
///
/// # Errors
/// The lock file cannot be opened.
pub fn alone(directory: &Path) -> Result<File, String> {
    fs::create_dir_all(directory).map_err(|error| text(error, directory))?;
    let path = directory.join("one-at-a-time.lock");
    let file = File::create(&path).map_err(|error| text(error, &path))?;
    file.lock().map_err(|error| text(error, &path))?;
    Ok(file)
}

/// Holds tests in virtual machines to one at a time, until it is dropped. Other suites judge meanwhile.
///
/// # Errors
/// The lock file cannot be opened.
pub fn machine(directory: &Path) -> Result<File, String> {
    alone(&directory.join("machines"))
}

/// For what ends with `tauto` to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Runs a body for each user the suite can be, alone, and sees to it that nothing is left afterwards.
///
/// # Panics
/// The body fails, something is left, or there is no room for the stage.
#[track_caller]
pub fn for_each_user(scratch: &Path, name: &str, body: impl Fn(&Workspace<'_>) -> Result<(), String>) {
    let _alone = alone(scratch).expect("the lock of the suite");
    leftovers::adopt_orphans().expect("a subreaper");
    for pass in Pass::possible() {
        let stage = Stage::new(pass).expect("a stage");
        let place = stage.place(name).expect("a place");
        let before = Snapshot::take();
        let result = body(&place);
        let clean = before.wait_until_clean(GONE_WITHIN, || place.temporaries());
        if let Err(error) = result.and(clean) {
            panic!("as {}: {error}", pass.name());
        }
    }
}
