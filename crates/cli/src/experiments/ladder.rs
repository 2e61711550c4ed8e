//! `tauto lab ladder`: one stage after another of what makes a program's time steady, each idle and under load.

mod rung_setups;

use super::disturber::Disturber;
use super::lines::LadderLine;
use super::reserved_machine::{ReservedMachine, Watch, in_run, program};
use super::session::{Forms, Session, SessionArgs, outcome};
use super::subject_facts;
use crate::Done;
use crate::interrupt::Interrupt;
use crate::isolation::RunEnder;
use crate::measured_program::{MeasuredProgramArgs, ended_well};
use crate::options::PlacementArgs;
use crate::temporary_changes::TemporaryChanges;
use crate::terminal::{self, Failure};
use clap::Args;
use lab::ladder::{self, Planned, Stage, rung_of, schedule};
use model::{BenchEnd, LadderLoad, LadderReport, Observation};
use report::csv::ladder_csv;
use report::html::ladder_page;
use report::json::{LadderDocument, to_text};
use report::text::ladder_report;
use rung_setups::{RungSetup, setups};
use sandbox::{Launcher, LauncherOptions};
use serde_json::json;

/// Seed of the order of runs.
const SEED: u64 = 20_261_121;

#[derive(Args, Debug)]
pub(crate) struct LadderArgs {
    /// Number of runs of each stage
    #[arg(short = 'n', long, visible_short_alias = 'r', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Number of integers that the built-in sieve covers [default: from cache and memory sizes; 500000000 in the
    /// published experiment]
    #[arg(long, value_name = "N", conflicts_with = "command", value_parser = clap::value_parser!(u64).range(1000..=1 << 32))]
    numbers: Option<u64>,
    /// Command, as for `tauto run` [default: a sieve of Eratosthenes]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
    #[command(flatten)]
    pub(super) session: SessionArgs,
    // Last, since their headings hold for what comes after them too.
    #[command(flatten)]
    subject: MeasuredProgramArgs,
    #[command(flatten)]
    placement: PlacementArgs,
}

/// A climb, as far as it has come.
struct Climb<'a> {
    args: &'a LadderArgs,
    argv: Vec<String>,
    reserved: ReservedMachine,
    setups: Vec<RungSetup>,
    planned: Vec<Planned>,
    order: Vec<Stage>,
    runs: Vec<(Stage, Observation)>,
    /// Of the last time runs were made.
    warned: Vec<String>,
}

pub(crate) fn main(args: &LadderArgs) -> Result<Done, Failure> {
    let (argv, shown) = program(&args.command, args.numbers)?;
    let reserved = ReservedMachine::take(&args.placement)?;
    // What cannot be run is told before anything is.
    args.subject.prepared(&argv, &args.placement.placement(), args.placement.layout())?;
    let (setups, planned) = setups(&reserved, args.placement.sched);
    let asked = json!({
        "program": subject_facts(&argv, &args.subject)?, "runs": args.runs, "layout": args.placement.layout(),
        "stages": planned.iter().map(|rung| (rung.rung, rung.phase, &rung.made)).collect::<Vec<_>>(),
        "placements": setups.iter().map(|setup| &setup.placement).collect::<Vec<_>>(), "machine": super::machine_facts(),
    });
    let (mut session, kept) = Session::open::<LadderLine>(&args.session, "ladder", asked)?;
    let order = schedule(&planned, args.runs as usize, SEED);
    let mut climb =
        Climb { args, argv, reserved, setups, planned, order, runs: Vec::new(), warned: Vec::new() };
    let as_planned = (climb.planned.clone(), climb.order.clone());
    climb.resume(kept)?;
    if climb.left() == 0 && session.again()? {
        (climb.planned, climb.order) = as_planned;
        climb.runs.clear();
    }
    session.tell_resumed(climb.runs.len());
    let (watch, before) = (Watch::begin(), climb.runs.len());
    let (end, failure) = outcome(climb.conduct(&mut session));
    if climb.runs.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if climb.runs.len() > before {
        climb.warned = watch.told(&climb.reserved.cpus.iter().copied().collect::<Vec<_>>());
        session.keep(&LadderLine::Warned(climb.warned.clone()))?;
    }
    let report = climb.drawn_up(shown, end.clone());
    let forms = Forms {
        json: to_text(&LadderDocument::new(&report)),
        csv: ladder_csv(&report),
        html: ladder_page(&report),
        text: ladder_report(&report, terminal::style()),
    };
    session.finish(&end, failure, forms)
}

impl Climb<'_> {
    /// Goes as far as the record does.
    fn resume(&mut self, kept: Vec<LadderLine>) -> Result<(), Failure> {
        for (n, line) in kept.into_iter().enumerate() {
            match line {
                LadderLine::Run { stage, observation } if self.order.get(self.runs.len()) == Some(&stage) => {
                    self.runs.push((stage, *observation));
                }
                LadderLine::Warned(told) => self.warned = told,
                LadderLine::Refused { rung, why } if rung < self.planned.len() => self.refuse(rung, why),
                _ => {
                    let why = format!(
                        "line {} of the record does not match this experiment\nhint: --fresh restarts from scratch",
                        n + 2
                    );
                    return Err(Failure::usage(why));
                }
            }
        }
        Ok(())
    }

    /// A rung that the machine refuses has no runs.
    fn refuse(&mut self, rung: usize, why: String) {
        let mut later = self.order.split_off(self.runs.len());
        later.retain(|stage| rung_of(*stage).0 != rung);
        self.order.extend(later);
        self.planned[rung].made = Err(why);
    }

    fn left(&self) -> usize {
        self.order.len() - self.runs.len()
    }

    /// Makes the runs that are left, phase after phase. What was changed for them is put back at the end.
    fn conduct(&mut self, session: &mut Session) -> Result<BenchEnd, Failure> {
        if self.left() == 0 {
            return Ok(BenchEnd::Complete);
        }
        let interrupt = Interrupt::ending(Vec::<RunEnder>::new())?;
        let mut temporary = TemporaryChanges::new()?;
        session.begin(self.runs.len());
        let mut tuned = vec![false; self.setups.len()];
        while let Some(stage) = self.order.get(self.runs.len()) {
            let phase = self.planned[rung_of(*stage).0].phase;
            if !self.prepare(phase, &mut tuned, &mut temporary, session, &interrupt)? {
                return Ok(BenchEnd::Interrupted);
            }
            if !self.climb(phase, session, &interrupt)? {
                return Ok(BenchEnd::Interrupted);
            }
        }
        temporary.put_back()?;
        Ok(BenchEnd::Complete)
    }

    /// Changes what the rungs up to this phase need. `false`: interrupted.
    fn prepare(
        &mut self,
        phase: usize,
        tuned: &mut [bool],
        temporary: &mut TemporaryChanges,
        session: &mut Session,
        interrupt: &Interrupt,
    ) -> Result<bool, Failure> {
        for (rung, tuned) in tuned.iter_mut().enumerate() {
            let due = self.planned[rung].phase <= phase && !*tuned && self.planned[rung].made.is_ok();
            if !due || self.setups[rung].changes.is_empty() {
                continue;
            }
            *tuned = true;
            let outcome = temporary.make(&self.setups[rung].changes, &|| interrupt.came())?;
            if outcome.stopped {
                return Ok(false);
            }
            let refused = rung_setups::refused(&outcome);
            let none_made = refused.len() == outcome.records.len();
            self.setups[rung].refused = refused;
            // A slot is one without a partition too.
            if none_made && self.setups[rung].needs_changes {
                let why = format!("the machine refused it: {}", self.setups[rung].refused.join("; "));
                session.keep(&LadderLine::Refused { rung, why: why.clone() })?;
                self.refuse(rung, why);
            }
        }
        Ok(true)
    }

    /// Makes the runs of one phase. `false`: interrupted.
    fn climb(&mut self, phase: usize, session: &mut Session, interrupt: &Interrupt) -> Result<bool, Failure> {
        // Both before the first run: no stage starts anything that others do not.
        let mut options = self.reserved.reservation.launcher()?;
        // Memory is bound by the placement of a run, on the rung that is about that, and not by the slot's group.
        options.slot.iter_mut().for_each(|slot| slot.mem_nodes.clear());
        let slotted = Launcher::start(&options)?;
        let free = Launcher::start(&LauncherOptions::default())?;
        interrupt.now_ends(vec![slotted.ender(), free.ender()]);
        while let Some(stage) = self.order.get(self.runs.len()).copied() {
            let (rung, load) = rung_of(stage);
            if self.planned[rung].phase != phase {
                return Ok(true);
            }
            let name = named(&self.planned[rung], load);
            session.progress(self.runs.len(), self.left(), &name);
            if interrupt.came() {
                return Ok(false);
            }
            let launcher = if self.setups[rung].in_slot { &slotted } else { &free };
            let run = self.run(rung, load, launcher);
            if interrupt.came() {
                return Ok(false);
            }
            let observation = run.map_err(|e| in_run(&e, self.runs.len() + 1, &name))?;
            session.keep(&LadderLine::Run { stage, observation: Box::new(observation.clone()) })?;
            self.runs.push((stage, observation));
        }
        Ok(true)
    }

    fn run(&self, rung: usize, load: LadderLoad, launcher: &Launcher) -> Result<Observation, Failure> {
        let setup = &self.setups[rung];
        // As whoever judges in a slot.
        let _awake = setup.in_slot.then(|| host::tune::hold_cpu_dma_latency().ok());
        let load = (load == LadderLoad::Cpu).then_some(&setup.load);
        let _load = load.map(Disturber::start).transpose()?;
        let (spec, fds) =
            self.args.subject.prepared(&self.argv, &setup.placement, self.args.placement.layout())?;
        let observation = launcher.run(&spec, fds)?;
        ended_well(&observation, &spec.limits)?;
        Ok(observation)
    }

    fn drawn_up(&self, command: String, end: BenchEnd) -> LadderReport {
        let made = rung_setups::notes(&self.reserved, &self.setups, &self.planned);
        let stages = ladder::stages(&self.planned, &self.runs, &self.reserved.reservation.floor());
        LadderReport {
            command,
            steps: ladder::steps(&stages),
            whole: ladder::whole(&stages),
            stages,
            notes: self.warned.iter().cloned().chain(made).collect(),
            limits: self.args.subject.limits.limits(),
            end,
            machine: super::machine_facts(),
        }
    }
}

fn named(rung: &Planned, load: LadderLoad) -> String {
    let load = if load == LadderLoad::Cpu { "loaded" } else { "idle" };
    format!("{}, {load}", rung.rung.name())
}
