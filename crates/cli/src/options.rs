//! Options several commands share: what may be used, and where it runs. As typed here; resolved by the commands.

use crate::terminal::Failure;
use clap::{Args, ValueEnum};
use engine::clocks::Counter;
use model::{
    Aslr, Bytes, Clock, Layout, Limits, Nanos, Placement, Sched, SecondOpinions, WallLimit, cpulist,
};

/// Limits of a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Maximum CPU time in seconds (user + system, whole process tree)
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) cpu_time: Option<Nanos>,
    /// Maximum elapsed time in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) wall_time: Option<Nanos>,
    /// Maximum memory of the whole process tree, such as 256M
    #[arg(long, value_name = "SIZE", value_parser = memory, allow_negative_numbers = true)]
    pub(crate) memory: Option<Bytes>,
    /// Maximum stack of the main thread [default: same as --memory]
    #[arg(long, value_name = "SIZE", value_parser = stack, allow_negative_numbers = true)]
    pub(crate) stack: Option<Bytes>,
    /// Maximum size of standard output, standard error and files together
    #[arg(long, value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    pub(crate) output: Option<Bytes>,
    /// Maximum number of simultaneous processes and threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
    /// Maximum number of open files of each process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..))]
    pub(crate) open_files: Option<u32>,
}

impl LimitArgs {
    /// The limits as typed. A CPU limit without a wall limit gets one that ends sleepers but excuses waiting for a CPU.
    pub(crate) fn limits(&self) -> Limits {
        let typed = self.wall_time.map(|time| WallLimit { time, excuse_waiting: false });
        let implied = self
            .cpu_time
            .map(|cpu| WallLimit { time: cpu + cpu + Nanos::from_secs(1), excuse_waiting: true });
        Limits {
            cpu: self.cpu_time,
            wall: typed.or(implied),
            memory: self.memory,
            stack: self.stack,
            output: self.output,
            processes: self.processes,
            open_files: self.open_files,
            ..Limits::default()
        }
    }
}

/// What a program's time is measured by.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Clock")]
pub(crate) struct ClockArgs {
    /// Clock: cpu (CPU time, as the kernel counts it), instructions (in user space; 1 000 000 000 count as a second) or
    /// reference (time on a published simulated machine). The last two give the same result on every machine
    #[arg(long, value_name = "cpu|instructions|reference", value_parser = clock)]
    pub(crate) clock: Option<Clock>,
    /// Instruction counter: emulator (the same count on every machine) or processor (the processor's own counter: faster,
    /// almost the same count) [default: emulator, or processor if there is no emulator]
    #[arg(long, value_name = "emulator|processor", value_parser = counter)]
    pub(crate) counter: Option<Counter>,
}

/// What is done with what was measured before.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct KeepArgs {
    /// Measure the times for inferred time limits again, ignoring those stored on this machine
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// Who is asked where CPU time decides nothing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OpinionArgs {
    /// Results to judge by the reference clock too, which then decides: open (too close to the limit to be certain), grey
    /// (not decided by one run) or never [default: open]
    #[arg(long, value_name = "open|grey|never", value_parser = second_opinion)]
    pub(crate) second_opinion: Option<SecondOpinions>,
}

pub(crate) fn second_opinion(text: &str) -> Result<SecondOpinions, String> {
    let names = SecondOpinions::ALL.map(SecondOpinions::name).join(", ");
    let found = SecondOpinions::ALL.into_iter().find(|opinions| opinions.name() == text);
    found.ok_or_else(|| format!("must be one of {names}"))
}

pub(crate) fn counter(text: &str) -> Result<Counter, String> {
    match text {
        "emulator" => Ok(Counter::Emulator),
        "processor" => Ok(Counter::Processor),
        _ => Err("must be emulator or processor".into()),
    }
}

pub(crate) fn clock(text: &str) -> Result<Clock, String> {
    let names = Clock::ALL.map(Clock::name).join(", ");
    Clock::ALL.into_iter().find(|clock| clock.name() == text).ok_or_else(|| format!("must be one of {names}"))
}

/// Of the real-time classes, where none is named.
const USUAL_PRIORITY: u8 = 50;

/// Where and how a run takes place.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Placement")]
pub(crate) struct PlacementArgs {
    /// Slot to run in: auto (the first free slot), none, or a slot number [default: auto for judge and verify, none for
    /// run and with --cpu]
    #[arg(long, value_name = "auto|none|N", value_parser = slot_choice)]
    pub(crate) slot: Option<SlotChoice>,
    /// CPUs to bind to, such as 1 or 2-3,6; unlike slots, they are not locked
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub(crate) cpu: Option<CpuList>,
    /// NUMA node to allocate memory from
    #[arg(long, value_name = "N")]
    pub(crate) mem_node: Option<u32>,
    /// Scheduling class: other, fifo, rr, fifo:PRIORITY or rr:PRIORITY, with a priority of 1 to 99
    #[arg(long, value_name = "CLASS", value_parser = sched, default_value = "other")]
    pub(crate) sched: Sched,
    /// Address space layout randomisation
    #[arg(long, value_enum, default_value = "off")]
    pub(crate) aslr: OnOff,
    /// Bytes to add to the environment
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65536))]
    pub(crate) env_padding: u32,
    /// Bytes to add to argv[0], as leading slashes
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65536))]
    pub(crate) argv0_padding: u32,
    /// Bytes to move the stack down by, a multiple of 16
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = stack_padding)]
    pub(crate) stack_padding: u32,
}

impl PlacementArgs {
    pub(crate) fn placement(&self) -> Placement {
        let cpus = self.cpu.clone().map_or_else(Vec::new, |l| l.0);
        Placement { cpus, mem_node: self.mem_node, sched: self.sched }
    }

    /// The slot that is asked for.
    pub(crate) fn slot_choice(&self, usual: SlotChoice) -> Result<SlotChoice, Failure> {
        match (self.slot, &self.cpu) {
            (None, Some(_)) => Ok(SlotChoice::None),
            (None, None) => Ok(usual),
            (Some(SlotChoice::None), _) | (Some(_), None) => Ok(self.slot.unwrap_or(usual)),
            (Some(_), Some(_)) => Err(Failure::usage(
                "--cpu and --slot: a slot has CPUs of its own\n\
                 hint: give only one of the two options",
            )),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        let aslr = if self.aslr == OnOff::On { Aslr::On } else { Aslr::Off };
        Layout {
            aslr,
            env_padding: self.env_padding,
            argv0_padding: self.argv0_padding,
            stack_padding: self.stack_padding,
        }
    }
}

/// Which slot a run takes place in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotChoice {
    /// The first that is free.
    Auto,
    /// In none.
    None,
    /// This one.
    Number(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    On,
    #[default]
    Off,
}

/// CPUs, ascending, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<u32>);

pub(crate) fn seconds(text: &str) -> Result<Nanos, String> {
    let value: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    match Nanos::from_secs_f64(value) {
        Some(n) if n > Nanos::ZERO => Ok(n),
        _ => Err("must be a positive number of seconds".into()),
    }
}

pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "not a size (a whole number with K, M or G)".to_string())?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if (1..=1 << 50).contains(&bytes) => Ok(Bytes(bytes)),
        _ => Err("must be positive and below a pebibyte".into()),
    }
}

/// No program starts in less: what the kernel needs for a process alone is more.
const LEAST_MEMORY: Bytes = Bytes::from_kib(64);
/// The kernel puts a program's arguments there before it starts.
const LEAST_STACK: Bytes = Bytes::from_kib(16);

fn memory(text: &str) -> Result<Bytes, String> {
    at_least(text, LEAST_MEMORY, "64M")
}

fn stack(text: &str) -> Result<Bytes, String> {
    at_least(text, LEAST_STACK, "8M")
}

fn at_least(text: &str, least: Bytes, usual: &str) -> Result<Bytes, String> {
    match size(text)? {
        enough if enough >= least => Ok(enough),
        _ => Err(format!(
            "no program starts in less than {}K\nhint: give more, such as {usual}",
            least.0 >> 10
        )),
    }
}

pub(crate) fn cpu_list(text: &str) -> Result<CpuList, String> {
    let cpus = cpulist::parse(text).filter(|cpus| cpus.last().is_some_and(|last| *last < 4096));
    let cpus = cpus.ok_or_else(|| format!("`{text}` is not a list of CPUs\nhint: write one as 0-3,8"))?;
    Ok(CpuList(cpus.into_iter().collect()))
}

pub(crate) fn slot_choice(text: &str) -> Result<SlotChoice, String> {
    match text {
        "auto" => Ok(SlotChoice::Auto),
        "none" => Ok(SlotChoice::None),
        number => {
            number.parse().map(SlotChoice::Number).map_err(|_| "must be auto, none or a slot's number".into())
        }
    }
}

fn sched(text: &str) -> Result<Sched, String> {
    let (class, priority) = text.split_once(':').map_or((text, None), |(class, p)| (class, Some(p)));
    let class = match class {
        "other" if priority.is_none() => return Ok(Sched::Other),
        "fifo" => Sched::Fifo,
        "rr" => Sched::RoundRobin,
        _ => return Err("must be other, fifo, fifo:PRIORITY, rr or rr:PRIORITY".into()),
    };
    match priority.map_or(Ok(USUAL_PRIORITY), str::parse) {
        Ok(priority @ 1..=99) => Ok(class(priority)),
        _ => Err("the priority must be 1 to 99".into()),
    }
}

fn stack_padding(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 0..=65536_u32) if bytes.is_multiple_of(Layout::STACK_STEP) => Ok(bytes),
        _ => Err(format!("must be a multiple of {}, at most 65536", Layout::STACK_STEP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_checked() {
        for (text, bytes) in
            [("1", 1), ("2K", 2048), ("256M", 256 << 20), ("1GiB", 1 << 30), ("3mb", 3 << 20)]
        {
            assert_eq!(size(text), Ok(Bytes(bytes)), "{text}");
        }
        for bad in ["", "0", "-1", "1T", "K", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_in_which_nothing_starts_are_refused() {
        assert_eq!((memory("64K"), stack("16K")), (Ok(LEAST_MEMORY), Ok(LEAST_STACK)));
        for why in [memory("1K"), memory("65535"), stack("1K")] {
            assert!(why.clone().is_err_and(|why| why.contains("no program starts")), "{why:?}");
        }
    }

    #[test]
    fn real_time_classes_have_priorities() {
        for (text, class) in [
            ("other", Sched::Other),
            ("fifo", Sched::Fifo(50)),
            ("fifo:1", Sched::Fifo(1)),
            ("rr", Sched::RoundRobin(50)),
            ("rr:99", Sched::RoundRobin(99)),
        ] {
            assert_eq!(sched(text), Ok(class), "{text}");
        }
        for bad in ["", "batch", "other:1", "rr:", "rr:0", "fifo:100", "fifo:x"] {
            assert!(sched(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn stacks_move_in_steps() {
        for (text, bytes) in [("0", 0), ("16", 16), ("65536", 65536)] {
            assert_eq!(stack_padding(text), Ok(bytes));
        }
        for bad in ["", "8", "-16", "65552", "x"] {
            assert!(stack_padding(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cpu_lists_are_sets() {
        assert_eq!(cpu_list("3,1-2,2"), Ok(CpuList(vec![1, 2, 3])));
        for bad in ["", "a", "2-1", "1,", "5000"] {
            assert!(cpu_list(bad).is_err(), "{bad}");
        }
    }
}
