//! `tauto lab perturb`: a program disturbed on purpose, each way beside its own controls.

mod trials;

use super::disturber::Disturber;
use super::lines::PerturbLine;
use super::reserved_machine::{ReservedMachine, Watch, in_run, program};
use super::session::{Forms, Session, SessionArgs, outcome};
use super::subject_facts;
use crate::Done;
use crate::interrupt::Interrupt;
use crate::measured_program::{MeasuredProgramArgs, ended_well};
use crate::options::PlacementArgs;
use crate::temporary_changes::TemporaryChanges;
use crate::terminal::{self, Failure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use host::tune::Standing;
use lab::perturb::{self, Step, schedule};
use model::{BenchEnd, Observation, PerturbReport, PerturbTrial, Perturbation, Reading};
use report::csv::perturb_csv;
use report::html::perturb_page;
use report::json::{PerturbDocument, to_text};
use report::text::perturb_report;
use sandbox::Launcher;
use serde_json::json;
use trials::{Method, Trial, trials};

/// Seed of the order of runs.
const SEED: u64 = 20_261_121;
/// What empties the page cache: 1 for clean pages (Documentation/admin-guide/sysctl/vm.rst).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

#[derive(Args, Debug)]
pub(crate) struct PerturbArgs {
    /// Number of pairs of runs in each trial: one disturbed, one control
    #[arg(short = 'n', long, visible_aliases = ["runs"], visible_short_alias = 'r', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Run only these trials (comma-separated)
    #[arg(long, value_name = "TRIALS", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// Skip these trials (comma-separated)
    #[arg(long, value_name = "TRIALS", value_delimiter = ',', value_parser = names(), hide_possible_values = true)]
    skip: Vec<String>,
    /// Number of integers that the built-in sieve covers [default: from cache and memory sizes]
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

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(Perturbation::ALL.map(Perturbation::name))
}

/// The experiment, as far as it has come.
struct Perturb<'a> {
    args: &'a PerturbArgs,
    argv: Vec<String>,
    reserved: ReservedMachine,
    /// Those that were chosen.
    trials: Vec<Trial>,
    /// Places of those that can be had.
    there: Vec<usize>,
    /// Why instructions cannot be counted.
    uncounted: Option<String>,
    order: Vec<Step>,
    runs: Vec<Observation>,
    /// Of the last time runs were made.
    warned: Vec<String>,
}

pub(crate) fn main(args: &PerturbArgs) -> Result<Done, Failure> {
    let (argv, shown) = program(&args.command, args.numbers)?;
    let reserved = ReservedMachine::take(&args.placement)?;
    // What cannot be run is told before anything is.
    args.subject.prepared(&argv, &args.placement.placement(), args.placement.layout())?;
    let chosen = |name: &str| {
        let named = |list: &[String]| list.iter().any(|of| of == name);
        (args.only.is_empty() || named(&args.only)) && !named(&args.skip)
    };
    let trials = trials(&reserved, args.placement.sched, chosen);
    let there: Vec<usize> = (0..trials.len()).filter(|n| trials[*n].method.is_ok()).collect();
    if there.is_empty() {
        let why = trials.iter().filter_map(|trial| {
            Some(format!("{}: {}", trial.perturbation.name(), trial.method.as_ref().err()?))
        });
        let why = why.collect::<Vec<_>>().join("; ");
        return Err(Failure::usage(format!("none of the chosen trials can run here: {why}")));
    }
    let uncounted = sandbox::counters().err();
    let asked = json!({
        "program": subject_facts(&argv, &args.subject)?, "pairs": args.pairs, "layout": args.placement.layout(),
        "trials": there.iter().map(|n| (trials[*n].perturbation, &trials[*n].made)).collect::<Vec<_>>(),
        "placement": trials::placement(&reserved, args.placement.sched), "counted": uncounted.is_none(),
        "machine": super::machine_facts(),
    });
    let (mut session, kept) = Session::open::<PerturbLine>(&args.session, "perturb", asked)?;
    let order = schedule(there.len(), args.pairs as usize, SEED);
    let mut all = Perturb {
        args,
        argv,
        reserved,
        trials,
        there,
        uncounted,
        order,
        runs: Vec::new(),
        warned: Vec::new(),
    };
    all.resume(kept)?;
    if all.left() == 0 && session.again()? {
        all.runs.clear();
    }
    session.tell_resumed(all.runs.len());
    let (watch, before) = (Watch::begin(), all.runs.len());
    let (end, failure) = outcome(all.conduct(&mut session));
    if all.runs.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if all.runs.len() > before {
        all.warned = watch.told(&all.reserved.cpus.iter().copied().collect::<Vec<_>>());
        session.keep(&PerturbLine::Warned(all.warned.clone()))?;
    }
    let report = all.drawn_up(shown, end.clone());
    let forms = Forms {
        json: to_text(&PerturbDocument::new(&report)),
        csv: perturb_csv(&report),
        html: perturb_page(&report),
        text: perturb_report(&report, terminal::style()),
    };
    session.finish(&end, failure, forms)
}

impl Perturb<'_> {
    /// Goes as far as the record does.
    fn resume(&mut self, kept: Vec<PerturbLine>) -> Result<(), Failure> {
        for (n, line) in kept.into_iter().enumerate() {
            let (made, observation) = match line {
                PerturbLine::Run { trial, pair, disturbed, observation } => {
                    ((trial, pair, disturbed), observation)
                }
                PerturbLine::Warned(told) => {
                    self.warned = told;
                    continue;
                }
            };
            let next = self.order.get(self.runs.len());
            if next.map(|step| (self.trial_of(*step).perturbation, step.pair, step.disturbed)) != Some(made) {
                let why = format!(
                    "line {} of the record does not match this experiment\nhint: --fresh restarts from scratch",
                    n + 2
                );
                return Err(Failure::usage(why));
            }
            self.runs.push(*observation);
        }
        Ok(())
    }

    fn trial_of(&self, step: Step) -> &Trial {
        &self.trials[self.there[step.trial]]
    }

    fn left(&self) -> usize {
        self.order.len() - self.runs.len()
    }

    /// Makes the runs that are left.
    fn conduct(&mut self, session: &mut Session) -> Result<BenchEnd, Failure> {
        if self.left() == 0 {
            return Ok(BenchEnd::Complete);
        }
        let launcher = Launcher::start(&self.reserved.reservation.launcher()?)?;
        let interrupt = Interrupt::ending(vec![launcher.ender()])?;
        let mut temporary = TemporaryChanges::new()?;
        session.begin(self.runs.len());
        while let Some(step) = self.order.get(self.runs.len()).copied() {
            let trial = self.trial_of(step).perturbation;
            let role = if step.disturbed { "disturbed" } else { "control" };
            let name = format!("{}, {role}", trial.name());
            session.progress(self.runs.len(), self.left(), &name);
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            let run = self.run(step, &launcher, &mut temporary, &interrupt);
            if interrupt.came() {
                return Ok(BenchEnd::Interrupted);
            }
            let observation = run.map_err(|e| in_run(&e, self.runs.len() + 1, &name))?;
            let boxed = Box::new(observation.clone());
            let line =
                PerturbLine::Run { trial, pair: step.pair, disturbed: step.disturbed, observation: boxed };
            session.keep(&line)?;
            self.runs.push(observation);
        }
        temporary.put_back()?;
        Ok(BenchEnd::Complete)
    }

    /// One run. Whatever disturbs it has begun before, and is gone after.
    fn run(
        &self,
        step: Step,
        launcher: &Launcher,
        temporary: &mut TemporaryChanges,
        interrupt: &Interrupt,
    ) -> Result<Observation, Failure> {
        let trial = self.trial_of(step);
        let (mut spec, fds) =
            self.args.subject.prepared(&self.argv, &trial.placement, self.args.placement.layout())?;
        spec.count_instructions = self.uncounted.is_none() && trial.counted;
        let mut disturber = None;
        match trial.method.as_ref().ok().filter(|_| step.disturbed) {
            Some(Method::Load(load)) => disturber = Some(Disturber::start(load)?),
            Some(Method::Change(change)) => {
                let outcome = temporary.make(std::slice::from_ref(change), &|| interrupt.came())?;
                let failed = outcome.records.iter().find(|record| record.standing != Standing::Verified);
                if let Some(record) = failed {
                    return Err(Failure::system(format!("{}: {:?}", record.change.target, record.standing)));
                }
            }
            Some(Method::DropCaches) => std::fs::write(DROP_CACHES, "1\n")
                .map_err(|e| Failure::system(format!("{DROP_CACHES}: {e}")))?,
            None => {}
        }
        let observation = launcher.run(&spec, fds);
        drop(disturber);
        temporary.put_back()?;
        let observation = observation?;
        ended_well(&observation, &spec.limits)?;
        Ok(observation)
    }

    fn drawn_up(&self, command: String, end: BenchEnd) -> PerturbReport {
        let made = trials::notes(&self.reserved, self.uncounted.as_ref());
        let floor = self.reserved.reservation.floor();
        let one = |(n, trial): (usize, &Trial)| {
            let own = self.order.iter().zip(&self.runs).filter(|(step, _)| self.there[step.trial] == n);
            let runs: Vec<(Step, Observation)> = own.map(|(step, run)| (*step, run.clone())).collect();
            let made = match &trial.method {
                Ok(_) => Ok(trial.made.clone()),
                Err(why) => Err(why.clone()),
            };
            let seen = perturb::trial(trial.perturbation, made, &runs, &floor);
            let why = match &self.uncounted {
                _ if seen.instructions.known().is_some() || seen.pairs == 0 => return seen,
                Some(why) => why.clone(),
                None => "the processor's counters take CPU time of their own beside a real-time load".into(),
            };
            PerturbTrial { instructions: Reading::unknown(why), ..seen }
        };
        PerturbReport {
            command,
            trials: self.trials.iter().enumerate().map(one).collect(),
            notes: self.warned.iter().cloned().chain(made).collect(),
            limits: self.args.subject.limits.limits(),
            end,
            machine: super::machine_facts(),
        }
    }
}
