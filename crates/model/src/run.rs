//! The specification of one run: everything that can change its time or its view of the machine.

use crate::Limits;
use serde::{Deserialize, Serialize};

/// A directory of bounded size in memory that belongs to the sandbox and outlives single runs: a compiled
/// program, a validator's feedback directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BoxId(pub u32);

/// Where a box appears in the run's file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxMount {
    /// Which one.
    pub id: BoxId,
    /// Absolute path inside; one component, such as `/program`.
    pub at: String,
    /// The run may write to it.
    pub writable: bool,
}

/// What lies under a name in a box that a program may have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found<T> {
    /// Nothing.
    Nothing,
    /// A regular file.
    File(T),
    /// Something else: a link, a pipe, a directory, or a file that cannot be opened.
    Other,
}

impl<T> Found<T> {
    /// The regular file, if it is one.
    pub fn file(self) -> Option<T> {
        match self {
            Found::File(file) => Some(file),
            Found::Nothing | Found::Other => None,
        }
    }

    /// A version that borrows the file.
    pub fn as_ref(&self) -> Found<&T> {
        match self {
            Found::Nothing => Found::Nothing,
            Found::File(file) => Found::File(file),
            Found::Other => Found::Other,
        }
    }

    /// The same with another value for the file.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Found::Nothing => Found::Nothing,
            Found::File(file) => Found::File(change(file)),
            Found::Other => Found::Other,
        }
    }
}

/// A part of the host shown read-only to a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ViewMount {
    /// Absolute path on the host, of a directory or a file.
    pub host: String,
    /// Absolute path inside, most often the same.
    pub inside: String,
    /// The path may be absent on the host.
    pub optional: bool,
}

/// The read-only part of the file system a run sees, besides /dev, /proc, /tmp and its work directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct View {
    /// A directory with the /usr, /bin, /lib … that the run sees, such as a chroot; the host's own where there is none.
    #[serde(default)]
    pub root: Option<Box<str>>,
    /// In order: a later one may lie inside an earlier one.
    pub mounts: Vec<ViewMount>,
}

/// A single file shown read-only to a run: test data that is too large to be copied into a box. A FIFO is for reading and writing, as
/// its permissions have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMount {
    /// The n-th descriptor handed over with the request: a regular file or a FIFO that is readable for everyone.
    pub fd: u8,
    /// Absolute path inside: a directory of one component and a name, such as `/data/input`.
    pub at: String,
}

/// Where one of the three standard streams goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdio {
    /// /dev/null.
    Null,
    /// The n-th descriptor handed over with the request. A regular file counts as output.
    Fd(u8),
}

/// The scheduling class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sched {
    /// The ordinary class.
    #[default]
    Other,
    /// SCHED_FIFO with this priority, 1 to 99: the CPU is its own until it waits.
    Fifo(u8),
    /// SCHED_RR with this priority, 1 to 99: likewise, but tasks of the same priority take turns (sched(7)).
    RoundRobin(u8),
}

/// On which CPUs and memory the run takes place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// CPUs the run is bound to; empty: wherever the scheduler likes.
    pub cpus: Vec<u32>,
    /// The memory node its pages are bound to.
    pub mem_node: Option<u32>,
    /// The scheduling class.
    pub sched: Sched,
}

/// Address space layout randomisation of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aslr {
    /// Every run at the same addresses: the default, since layout changes time.
    #[default]
    Off,
    /// As the host does it.
    On,
}

/// What else changes the memory layout of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Address space layout randomisation.
    pub aslr: Aslr,
    /// Bytes by which the environment grows: one extra variable, last in the list, whose text and end take exactly so many;
    /// at 1 it is the empty string. The texts of environment and arguments move down by as many; the start of the
    /// stack does so in steps of 16. The step from 0 to 1 adds 8 bytes of the table of pointers as well, as no other does:
    /// sweeps that compare like with like begin at 1.
    pub env_padding: u32,
    /// Bytes by which argv\[0\] grows: by leading slashes, so that it names the same file as long as the kernel takes it for a
    /// path (4095 bytes, PATH_MAX). The file that is executed, and its path, stay the same. What lies below argv\[0\]
    /// moves as for `env_padding`, from 0 on.
    #[serde(default)]
    pub argv0_padding: u32,
    /// Bytes by which the whole initial stack moves down, texts and tables alike: a multiple of [`Layout::STACK_STEP`], exact
    /// for programs (for a script, whose path the kernel writes there twice, it may be up to twice as much).
    ///
    /// What it is above a multiple of 2048 is made of slashes before the path that is executed, which the kernel writes at the
    /// very top of the stack (AT_EXECFN of getauxval(3)); nothing else in the program's sight changes. The multiple of 2048 is
    /// made of two variables at the end of the environment: 16 bytes of pointers and 16 less than that multiple of text.
    #[serde(default)]
    pub stack_padding: u32,
}

impl Layout {
    /// The kernel starts stacks at multiples of it (fs/binfmt_elf.c, `STACK_ROUND`; the x86-64 ABI, 3.4.1).
    pub const STACK_STEP: u32 = 16;
}

/// One run of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The program, an absolute path inside, followed by its arguments. Not empty.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The read-only file system.
    pub view: View,
    /// Boxes of the same sandbox.
    pub boxes: Vec<BoxMount>,
    /// Single files from the caller.
    pub files: Vec<FileMount>,
    /// The working directory: `/w`, the fresh directory of this run, or the path of a box.
    pub cwd: String,
    /// Symbolic links made in `/w` before the start: name, target.
    pub links: Vec<(String, String)>,
    /// Standard input, output and error.
    pub stdio: [Stdio; 3],
    /// What it may use.
    pub limits: Limits,
    /// Where it runs.
    pub placement: Placement,
    /// Its memory layout.
    pub layout: Layout,
    /// The descriptor under which an emulator finds its tally: it gets it as [`RunSpec::TALLY`].
    pub tally: Option<u8>,
    /// Count its instructions in user space by the processor's own counter (perf_event_open(2)), of the whole tree and from
    /// exec on, into [`crate::Observation::instructions`]. With [`Limits::instructions`] the run is ended when it has passed
    /// them, and fails as a fault of the system where they could not be counted to the end; without, the reading is unknown
    /// then. Under an emulator these would be the emulator's own instructions. Cycles are counted beside them, by a counter of
    /// their own, into [`crate::Observation::cycles`]; either is known or unknown by itself.
    pub count_instructions: bool,
}

impl RunSpec {
    /// Where the program has the tally: out of the way of its own descriptors, which are given out from below.
    pub const TALLY: i32 = 200;

    /// A run in its own directory that reads and writes nothing and is not limited. The program is still to be named.
    pub fn bare() -> RunSpec {
        RunSpec {
            argv: Vec::new(),
            env: Vec::new(),
            view: View::default(),
            boxes: Vec::new(),
            files: Vec::new(),
            cwd: "/w".into(),
            links: Vec::new(),
            stdio: [Stdio::Null; 3],
            limits: Limits::default(),
            placement: Placement::default(),
            layout: Layout::default(),
            tally: None,
            count_instructions: false,
        }
    }
}
