//! Those who judge: a thread for each slot, which fetches a submission's files and judges them as `tauto judge` does.

use super::ShadowArgs;
use super::feed::Address;
use super::packages::Packages;
use crate::clocks;
use crate::judging::{Opened, Site, opinions, options};
use crate::terminal::Failure;
use ::client::{Client, Method};
use engine::job::{Job, Options};
use engine::languages::Languages;
use engine::limit_cache::LimitCache;
use engine::opinion::Opinions;
use engine::prepared_slot::{PreparedSlot, Programs};
use engine::slot::Slot;
use engine::submission::{Submission, judge_submission};
use engine::timelimit::{TimeLimitInUse, time_limit};
use engine::{Blame, Fault, LoadedFile};
use judge::scoring::JudgeMode;
use model::{Charge, Judgement, Nanos, Ours, Verdict};
use settle::NoiseFloor;
use source::{UnpackLimits, unpack};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most bytes of a submission's archive.
const ARCHIVE: usize = 16 << 20;
/// What is taken of it.
const FILES: UnpackLimits = UnpackLimits { entries: 1000, total_size: 64 << 20, depth: 16 };

/// What the one who keeps the journal is told.
pub(super) enum Message {
    /// A line of the feed.
    Line(Vec<u8>),
    /// The feed speaks.
    Connected,
    /// The feed is silent.
    Waiting,
    /// The feed has told all.
    Over,
    /// All is to end.
    Failed(Failure),
    /// What came of a submission.
    Outcome(Box<(Order, Outcome)>),
}

/// A submission to be judged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    /// Its id.
    pub(super) submission: String,
    /// Its problem, language and entry point in the contest.
    pub(super) problem: String,
    pub(super) language: String,
    pub(super) entry: Option<String>,
    /// The package, by its number.
    pub(super) package: usize,
    /// The contest's limit.
    pub(super) limit: Option<Nanos>,
    /// Our language.
    pub(super) ours: String,
    /// Where its files are.
    pub(super) path: String,
}

/// What came of it.
pub(super) enum Outcome {
    Judged(Ours),
    /// It cannot be judged, for this reason.
    Not(String),
    /// Its files could not be had; they may be later.
    Later(String),
}

/// What the judges share.
pub(super) struct Judges<'a> {
    address: &'a Address,
    packages: &'a Packages,
    languages: &'a Languages,
    /// How submissions of each package are judged, by its number.
    manners: Vec<(Options, Opinions)>,
    /// Time limits that were found, by package; whoever looks for one holds it.
    limits: Vec<Mutex<Option<TimeLimitInUse>>>,
    cancel: &'a AtomicBool,
    work: Mutex<Work>,
    more: Condvar,
}

#[derive(Default)]
struct Work {
    orders: VecDeque<Order>,
    busy: usize,
    over: bool,
}

/// Ends the judges when it is dropped.
pub(super) struct End<'a>(&'a Judges<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.work().over = true;
        self.0.more.notify_all();
    }
}

impl<'a> Judges<'a> {
    pub(super) fn new(
        args: &ShadowArgs,
        address: &'a Address,
        packages: &'a Packages,
        languages: &'a Languages,
        site: &'a Site,
        floor: NoiseFloor,
    ) -> Result<Judges<'a>, Failure> {
        let manner = |opened: &Opened| {
            let meter = clocks::meter(args.clock, opened.clock)?;
            let options = options(&args.limits, &args.placement, JudgeMode::StopEarly, floor, meter);
            Ok((options, opinions(args.opinion, opened)?))
        };
        Ok(Judges {
            address,
            packages,
            languages,
            manners: packages.all().map(manner).collect::<Result<_, Failure>>()?,
            limits: (0..packages.len()).map(|_| Mutex::default()).collect(),
            cancel: &site.cancel,
            work: Mutex::default(),
            more: Condvar::new(),
        })
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a submission judged.
    pub(super) fn order(&self, order: Order) {
        self.work().orders.push_back(order);
        self.more.notify_one();
    }

    /// Whether nobody judges, and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        let work = self.work();
        work.busy == 0 && work.orders.is_empty()
    }

    pub(super) fn ending(&self) -> End<'_> {
        End(self)
    }

    /// Judges what is ordered, until all is over.
    pub(super) fn serve(&'a self, slot: &'a Slot, tell: &SyncSender<Message>) {
        let client = match self.address.client() {
            Ok(client) => client.at_most(ARCHIVE),
            Err(failure) => return drop(tell.send(Message::Failed(failure))),
        };
        let mut programs = BTreeMap::new();
        loop {
            let order = {
                let mut work = self.work();
                loop {
                    if work.over {
                        return;
                    }
                    if let Some(order) = work.orders.pop_front() {
                        work.busy += 1;
                        break order;
                    }
                    work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                }
            };
            let message = match self.perform(&order, slot, &client, &mut programs) {
                Ok(outcome) => Some(Message::Outcome(Box::new((order, outcome)))),
                // Whoever interrupted knows.
                Err(Fault::Cancelled) => None,
                Err(fault) => Some(Message::Failed(Failure::system(fault))),
            };
            let heard = message.is_none_or(|message| tell.send(message).is_ok());
            // Only when it was told: whoever looks whether all is done looks at this first.
            self.work().busy -= 1;
            if !heard || self.cancel.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    fn perform(
        &'a self,
        order: &Order,
        slot: &'a Slot,
        client: &Client,
        programs: &mut BTreeMap<usize, Arc<Programs<'a>>>,
    ) -> Result<Outcome, Fault> {
        let parts = match parts(client, &order.path) {
            Ok(parts) => parts,
            Err(outcome) => return Ok(outcome),
        };
        match self.judge(order, parts, slot, programs) {
            Ok(judgement) => Ok(told(&judgement)),
            Err(fault @ Fault::Cancelled) => Err(fault),
            Err(Fault::System(error)) if error.blame != Blame::Content => Err(Fault::System(error)),
            // The submission's, or the package's.
            Err(fault) => Ok(Outcome::Not(fault.to_string())),
        }
    }

    fn judge(
        &'a self,
        order: &Order,
        parts: Vec<LoadedFile>,
        slot: &'a Slot,
        programs: &mut BTreeMap<usize, Arc<Programs<'a>>>,
    ) -> Result<Judgement, Fault> {
        let gone = || Fault::Input { place: order.problem.clone(), why: "has no package".into() };
        let opened = self.packages.get(order.package).ok_or_else(gone)?;
        let (options, opinions) = &self.manners[order.package];
        let mut options = *options;
        options.overrides.cpu = options.overrides.cpu.or(order.limit);
        let job = Job {
            package: &opened.package,
            source: &opened.source,
            languages: self.languages,
            options,
            opinions,
            limit_cache: LimitCache::NOWHERE,
            cancel: self.cancel,
            emit: &|_| {},
        };
        let compiled = match programs.get(&order.package) {
            Some(known) => known.clone(),
            None => {
                let compiled = Arc::new(Programs::compile(&job, slot, self.cancel)?);
                programs.insert(order.package, compiled.clone());
                compiled
            }
        };
        let bench = PreparedSlot::with(job, slot, compiled);
        let limit = match options.overrides.cpu {
            Some(_) => time_limit(&job, std::slice::from_ref(&bench))?.time,
            None => {
                let mut found = self.limits[order.package].lock().unwrap_or_else(PoisonError::into_inner);
                match &*found {
                    Some(known) => known.clone(),
                    None => found.insert(time_limit(&job, std::slice::from_ref(&bench))?.time).clone(),
                }
            }
        };
        let submission = Submission {
            name: order.submission.clone(),
            parts,
            language: Some(order.ours.clone()),
            entry: order.entry.clone(),
            of_jury: false,
        };
        Ok(judge_submission(&bench, &submission, &limit, JudgeMode::StopEarly)?.judgement)
    }
}

/// The files of a submission.
fn parts(client: &Client, path: &str) -> Result<Vec<LoadedFile>, Outcome> {
    let later = |why: String| Outcome::Later(format!("its files cannot be fetched: {why}"));
    let answer = client.ask(&Method::GET, path, None).map_err(later)?;
    match answer.status {
        200 => {}
        408 | 425 | 429 | 500.. => return Err(later(format!("{path} was answered {}", answer.status))),
        status => return Err(Outcome::Not(format!("its files: {path} was answered {status}"))),
    }
    let files = unpack(&answer.body, FILES).map_err(|why| Outcome::Not(format!("its files: {why}")))?;
    judge::filenames::check(files.iter().map(|file| file.name.as_str()))
        .map_err(|bad| Outcome::Not(format!("its files: {bad}")))?;
    if files.is_empty() {
        return Err(Outcome::Not("its archive has no files".into()));
    }
    let part = |file: source::UnpackedFile| LoadedFile {
        name: file.name,
        executable: file.executable,
        content: file.content,
    };
    Ok(files.into_iter().map(part).collect())
}

fn told(judgement: &Judgement) -> Outcome {
    if judgement.verdict == Verdict::JudgeError {
        let why = judgement.fault.clone().unwrap_or_default();
        return Outcome::Not(format!("judge error: {why}"));
    }
    Outcome::Judged(Ours {
        verdict: judgement.verdict,
        time: judgement.slowest().map(Charge::as_time),
        limit: judgement.time_limit,
        memory: judgement.memory_peak(),
        score: judgement.score,
        confidence: judgement.settled.confidence,
        runs: judgement.settled.runs,
    })
}
