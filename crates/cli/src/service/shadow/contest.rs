//! Following a contest: what it tells is written down, what is new is ordered, what came of it is written down and compared.

use super::feed::Address;
use super::journal::{Judged, ShadowJournal};
use super::judges::{Judges, Order, Outcome};
use super::packages::Packages;
use crate::terminal::Failure;
use ::client::{Client, segment};
use contest_api::contest::{Contest, Submission};
use contest_api::feed::Notice;
use engine::languages::Languages;
use model::{Agreement, Shadow, ShadowRow};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Waits before files that could not be fetched are asked for again, doubled up to the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// As often they are asked for, until the feed is connected again; with `--once`, until the end.
const TRIES: [u32; 2] = [12, 4];
/// As often a place in the feed is noted that brought nothing new.
const PLACE: Duration = Duration::from_secs(30);
/// Lines of a feed that cannot be read and are told of.
const TOLD: u32 = 10;

/// Why a submission cannot be judged.
struct Not {
    why: String,
    /// It was tried: the same would come of it again.
    tried: bool,
}

pub(super) struct Following<'a> {
    contest: Contest,
    /// What was judged here.
    judged: BTreeMap<String, Judged>,
    /// What cannot be, and why.
    not: BTreeMap<String, Not>,
    /// What is being judged.
    out: BTreeSet<String>,
    /// What is to be tried again, and when.
    later: BTreeMap<String, Instant>,
    /// How often files were asked for in vain.
    tried: BTreeMap<String, u32>,
    journal: ShadowJournal,
    packages: &'a Packages,
    languages: &'a Languages,
    client: &'a Client,
    address: &'a Address,
    /// Submissions whose line may have changed.
    touched: BTreeSet<String>,
    /// What was told of each.
    shown: BTreeMap<String, (Agreement, String, String)>,
    noted: Instant,
    unread: u32,
}

impl<'a> Following<'a> {
    pub(super) fn new(
        (journal, contest, judged): (ShadowJournal, Contest, BTreeMap<String, Judged>),
        packages: &'a Packages,
        languages: &'a Languages,
        client: &'a Client,
        address: &'a Address,
    ) -> Following<'a> {
        let touched = contest.submissions.keys().cloned().collect();
        Following {
            contest,
            judged,
            not: BTreeMap::new(),
            out: BTreeSet::new(),
            later: BTreeMap::new(),
            tried: BTreeMap::new(),
            journal,
            packages,
            languages,
            client,
            address,
            touched,
            shown: BTreeMap::new(),
            noted: Instant::now(),
            unread: 0,
        }
    }

    pub(super) fn token(&self) -> Option<String> {
        self.journal.token()
    }

    /// The contest says that nothing will change any more.
    pub(super) fn has_ended(&self) -> bool {
        self.contest.ended
    }

    /// Nothing is being judged, or to be.
    pub(super) fn is_done(&self) -> bool {
        self.out.is_empty() && self.later.is_empty()
    }

    /// Takes in a line of the feed. Whether anything changed.
    pub(super) fn take(&mut self, line: &[u8], judges: &Judges) -> Result<bool, Failure> {
        let notice = match Notice::read(line) {
            Ok(Some(notice)) => notice,
            Ok(None) => return Ok(false),
            Err(why) => {
                self.unread += 1;
                if self.unread <= TOLD {
                    tracing::warn!(why, "a line of the feed is ignored");
                }
                return Ok(false);
            }
        };
        let changed = self.contest.apply(&notice).map_err(Failure::system)?;
        let kept = match changed.kept {
            Some(serde_json::Value::Array(kept)) => kept,
            _ => Vec::new(),
        };
        let any = !kept.is_empty();
        if any || (notice.token.is_some() && self.noted.elapsed() > PLACE) {
            self.journal.told(kept, notice.token)?;
            self.noted = Instant::now();
        }
        for id in changed.submissions {
            if notice.kind == "submissions" {
                self.not.remove(&id);
            }
            self.consider(&id, judges);
        }
        // It may be what a submission was waiting for.
        if any && matches!(notice.kind.as_str(), "problems" | "languages") {
            self.order_all(judges);
        }
        Ok(any)
    }

    /// Orders everything that is to be judged.
    pub(super) fn order_all(&mut self, judges: &Judges) {
        let mut all: Vec<(usize, String)> =
            self.contest.submissions.iter().map(|(id, s)| (s.number, id.clone())).collect();
        all.sort_unstable();
        all.into_iter().for_each(|(_, id)| self.consider(&id, judges));
    }

    /// Orders a submission where it is to be judged.
    fn consider(&mut self, id: &str, judges: &Judges) {
        self.touched.insert(id.to_owned());
        let Some(submission) = self.contest.submissions.get(id) else { return };
        let done = self.judged.get(id).is_some_and(|judged| judged.is_of(submission));
        let tried = self.not.get(id).is_some_and(|not| not.tried);
        if done || tried || self.out.contains(id) || self.later.contains_key(id) {
            return;
        }
        match self.order(id, submission) {
            // The feed has yet to tell of its problem.
            None => {}
            Some(Ok(order)) => {
                // As other than it was: what came of that is of no use.
                self.judged.remove(id);
                self.not.remove(id);
                self.out.insert(id.to_owned());
                judges.order(order);
            }
            Some(Err(why)) => {
                let why = model::hint::in_one_line(&why);
                self.not.insert(id.to_owned(), Not { why, tried: false });
            }
        }
    }

    fn order(&self, id: &str, submission: &Submission) -> Option<Result<Order, String>> {
        let problem = self.contest.problems.get(&submission.problem)?;
        let made = || {
            let name = self.contest.languages.get(&submission.language).map(String::as_str);
            let path = match &submission.files {
                Some(link) => self.client.path_of(link)?,
                None => self.address.path(&format!("submissions/{}/files", segment(id))),
            };
            Ok(Order {
                submission: id.to_owned(),
                problem: submission.problem.clone(),
                language: submission.language.clone(),
                entry: submission.entry.clone(),
                package: self.packages.index_for(problem)?,
                limit: problem.time_limit,
                ours: self.packages.language(self.languages, &submission.language, name)?,
                path,
            })
        };
        Some(made())
    }

    /// Takes in what came of a submission.
    pub(super) fn outcome(
        &mut self,
        order: Order,
        outcome: Outcome,
        once: bool,
        judges: &Judges,
    ) -> Result<(), Failure> {
        let id = order.submission;
        self.out.remove(&id);
        match outcome {
            Outcome::Judged(ours) => {
                let (problem, language, entry) = (order.problem, order.language, order.entry);
                let judged = Judged { problem, language, entry, ours };
                self.journal.judged(&id, &judged)?;
                self.judged.insert(id.clone(), judged);
                self.tried.remove(&id);
                // It may be another one by now.
                self.consider(&id, judges);
            }
            Outcome::Not(why) => {
                let why = model::hint::in_one_line(&why);
                self.not.insert(id.clone(), Not { why, tried: true });
            }
            Outcome::Later(why) => {
                let tried = self.tried.entry(id.clone()).or_default();
                *tried += 1;
                if *tried >= TRIES[usize::from(once)] {
                    self.not.insert(id.clone(), Not { why, tried: true });
                } else {
                    tracing::warn!(submission = id, why, "retrying");
                    let wait = (AGAIN.0 * 2u32.saturating_pow(*tried - 1)).min(AGAIN.1);
                    self.later.insert(id.clone(), Instant::now() + wait);
                }
            }
        }
        self.touched.insert(id);
        Ok(())
    }

    /// Tries again what is due.
    pub(super) fn retry(&mut self, judges: &Judges) {
        let now = Instant::now();
        let due: Vec<String> =
            self.later.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
        for id in due {
            self.later.remove(&id);
            self.consider(&id, judges);
        }
    }

    /// The feed speaks (again): what could not be fetched may be there.
    pub(super) fn connected(&mut self, judges: &Judges) {
        for (id, _) in std::mem::take(&mut self.tried) {
            if self.not.remove(&id).is_some() {
                self.consider(&id, judges);
            }
        }
    }

    fn row(&self, id: &str) -> Option<ShadowRow> {
        let judged = self.judged.get(id).map(|judged| Ok(&judged.ours));
        let not = || self.not.get(id).map(|not| Err(not.why.as_str()));
        self.contest.row(id, judged.or_else(not))
    }

    /// Rows whose state is another one since they were last told.
    pub(super) fn lines(&mut self) -> Vec<ShadowRow> {
        let touched = std::mem::take(&mut self.touched);
        let rows: Vec<ShadowRow> = touched.iter().filter_map(|id| self.row(id)).collect();
        let settled = |row: &ShadowRow| !matches!(row.state, Agreement::Pending | Agreement::Waiting);
        rows.into_iter().filter(|row| settled(row) && self.is_new(row)).collect()
    }

    fn is_new(&mut self, row: &ShadowRow) -> bool {
        let theirs = row.theirs.as_ref().map(|theirs| theirs.kind.clone()).unwrap_or_default();
        let ours = row.ours.as_ref().map(|ours| ours.verdict.code().to_owned()).unwrap_or_default();
        let now = (row.state, theirs, ours);
        self.shown.insert(row.submission.clone(), now.clone()) != Some(now)
    }

    /// All of it, in the order in which submissions came.
    pub(super) fn shadow(&self, address: &Address) -> Shadow {
        let mut all: Vec<(usize, &String)> =
            self.contest.submissions.iter().map(|(id, s)| (s.number, id)).collect();
        all.sort_unstable();
        let rows = all.into_iter().filter_map(|(_, id)| self.row(id)).collect();
        Shadow::new(&address.contest, &address.api, self.contest.ended, rows)
    }
}

impl Judged {
    /// Whether it is of the submission as it is now.
    fn is_of(&self, submission: &Submission) -> bool {
        self.problem == submission.problem
            && self.language == submission.language
            && self.entry == submission.entry
    }
}
