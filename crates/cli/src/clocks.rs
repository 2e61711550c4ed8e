//! Runs by another clock than the kernel's, and `tauto clocks`.

use crate::Done;
use crate::config::Config;
use crate::options::ClockArgs;
use crate::run::command;
use crate::terminal::{self, Failure, print};
use clap::Args;
use engine::clocks::{self, CLOCK_METHODS, ClockMethod, Counter, Meter};
use model::{Clock, Reading};
use report::ClockStatus;
use report::json::{ClocksDocument, to_text};
use report::text::clocks_table;

/// What measures CPU time.
const KERNEL: &str = "CPU time of the process tree, as the kernel counts it";

#[derive(Args, Debug)]
pub(crate) struct ClocksArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(args: &ClocksArgs) -> Result<Done, Failure> {
    let all = CLOCK_METHODS.map(|ClockMethod { clock, counter, exact, cost }| {
        let by = match clocks::meter(clock, counter) {
            Ok(meter) => Reading::Known(meter.versions().unwrap_or_else(|| KERNEL.into())),
            Err(why) => Reading::unknown(why),
        };
        let counter = match (clock, counter) {
            (Clock::Instructions, Counter::Emulator) => Some("emulator"),
            (Clock::Instructions, Counter::Processor) => Some("processor"),
            _ => None,
        };
        ClockStatus { name: clock.name(), counter, by, exact, cost }
    });
    match args.json {
        true => print(&to_text(&ClocksDocument { clocks: &all })),
        false => print(&clocks_table(&all, terminal::style())),
    }
    Ok(Done::Good)
}

/// How the clock in use counts here: what the command asks for, else the package, else the site.
pub(crate) fn meter(asked: ClockArgs, of_package: Option<Clock>) -> Result<Meter, Failure> {
    let clock = match asked.clock.or(of_package) {
        Some(clock) => clock,
        None => Config::read()?.clock.unwrap_or_default(),
    };
    let why = match (clock, asked.counter) {
        (Clock::Cpu, Some(_)) => Some("the clock cpu counts nothing\nhint: add --clock instructions"),
        (Clock::Reference, Some(Counter::Processor)) => {
            Some("the clock reference counts in the emulator\nhint: give --clock instructions")
        }
        _ => None,
    };
    if let Some(why) = why {
        return Err(Failure::usage(format!("--counter has no effect: {why}")));
    }
    clocks::meter(clock, asked.counter.unwrap_or_default())
        .map_err(|why| Failure::system(format!("the clock {}: {why}", clock.name())))
}

/// Refuses a command that the clock cannot count.
pub(crate) fn check(meter: Meter, program: &str) -> Result<(), Failure> {
    let path = command::find_program(program)?;
    clocks::uncountable(meter, &path).map_or(Ok(()), |why| Err(Failure::usage(why)))
}
