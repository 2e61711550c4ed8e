//! Kills parts of a fleet and cuts its links at random moments while clients submit: whatever was accepted must have one verdict in the end, the one
//! that this machine comes to alone, from the hardware that its contest asks for.

use super::accounts::{Report, settle};
use super::clients::{Clients, expected, prepare};
use super::{Fleet, PoolSetup, Setup};
use crate::chaos::Dice;
use crate::leftovers::{self, Snapshot};
use crate::network::Site;
use crate::service::Part;
use crate::tauto;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Clients.
const CLIENTS: u64 = 4;
/// Pools: the strict one, which contests are bound to, and the other.
pub(super) const STRICT: &str = "metal";
const RELAXED: &str = "cloud";
/// The stream of tickets.
const TICKETS: &str = "TAUTO_JOBS";
/// For what a killed process leaves to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// What is done to a fleet.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Submissions that are submitted; blows fall as long as there are some left.
    pub submissions: usize,
    /// At most so many blows: on a machine so busy that a worker does not come far between two of them it would never end.
    pub blows: usize,
    /// Decides where and when blows fall, and what is submitted.
    pub seed: u64,
    /// Machines in each of both pools.
    pub workers: usize,
    /// The longest time between two blows.
    pub peace: Duration,
    /// The longest time that something is cut off or away.
    pub away: Duration,
    /// Submissions of each client that wait: no more are submitted until some are judged.
    pub waiting: usize,
    /// What all of them say is kept even where nothing is wrong.
    pub keep_logs: bool,
}

/// What may befall a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    /// A part of some worker is killed.
    Worker(Part),
    /// The link of some worker is cut.
    WorkerCut,
    /// Some broker is killed.
    Broker,
    /// The one that leads the stream of tickets is killed.
    Leader,
    /// The link of some broker is cut.
    BrokerCut,
    /// The links of two brokers are cut: the third one can decide nothing.
    Majority,
    /// A part of some server is killed.
    Server(Part),
    /// The link of some server is cut: it reaches neither its database nor the brokers.
    ServerCut,
    /// PostgreSQL is killed.
    Database,
    /// Its link is cut.
    DatabaseCut,
}

const BLOWS: [Blow; 17] = [
    Blow::Worker(Part::Supervisor),
    Blow::Worker(Part::Worker),
    Blow::Worker(Part::Worker),
    Blow::Worker(Part::Keeper),
    Blow::Worker(Part::Launcher),
    Blow::Worker(Part::Launcher),
    Blow::Worker(Part::Helper),
    Blow::WorkerCut,
    Blow::WorkerCut,
    Blow::Broker,
    Blow::Leader,
    Blow::BrokerCut,
    Blow::Server(Part::Web),
    Blow::Server(Part::Supervisor),
    Blow::ServerCut,
    Blow::Database,
    Blow::DatabaseCut,
];
/// Of so many blows to brokers that are cut one is to two of them.
const MAJORITY: u64 = 3;

/// What has to be put right again, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    StartWorker(usize),
    MendWorker(usize),
    StartBroker(usize),
    MendBroker(usize),
    StartServer(usize),
    MendServer(usize),
    StartDatabase,
    MendDatabase,
}

/// For a server to start: it waits for its database.
const DATABASE: [Remedy; 2] = [Remedy::StartDatabase, Remedy::MendDatabase];

struct Storm<'a> {
    fleet: &'a mut Fleet,
    dice: Dice,
    away: Duration,
    due: Vec<(Instant, Remedy)>,
}

/// Blows to a fleet of its own.
///
/// # Errors
/// It does not start, recover or answer. What it did wrong is in the report.
pub fn storm(plan: Plan) -> Result<Report, String> {
    leftovers::adopt_orphans()?;
    let before = Snapshot::take();
    let pool = |name, strict| PoolSetup { name, strict, workers: plan.workers };
    let pools = vec![pool(STRICT, true), pool(RELAXED, false)];
    let mut fleet = Fleet::start(&Setup {
        brokers: 3,
        servers: 2,
        pools,
        apart: true,
        slots: "none",
        binaries: Vec::new(),
    })?;
    let token = prepare(&fleet, STRICT)?;
    let expected = expected(&fleet)?;
    let clients =
        Clients { seed: plan.seed, left: AtomicUsize::new(plan.submissions), waiting: plan.waiting };
    let begun = Instant::now();
    let mut report = Report::default();
    let accepted = std::thread::scope(|scope| {
        let client = |n, servers| clients.hand_in(n, servers);
        let servers: Vec<_> = (0..CLIENTS).map(|_| fleet.clients()).collect();
        let threads = (0..CLIENTS).zip(servers);
        let threads: Vec<_> = threads.map(|(n, servers)| scope.spawn(move || client(n, servers))).collect();
        let struck = strike(&mut fleet, plan, &clients.left, &mut report);
        // Who still has something to submit is not waited for where the fleet is lost.
        struck.is_err().then(|| clients.left.store(0, Ordering::SeqCst));
        let mut all = Vec::new();
        for thread in threads {
            let (accepted, repeated) = thread.join().map_err(|_| "a client panicked")??;
            all.extend(accepted);
            report.repeated += repeated;
        }
        struck.map(|()| all)
    })?;
    report.stormy = begun.elapsed();
    let settled = settle(&fleet, &token, &accepted, &expected, &mut report);
    report.whole = begun.elapsed();
    if let Err(why) = settled.and_then(|()| fleet.tauto(&["database", "check"]).map(drop)) {
        report.wrong.push(why);
    }
    if plan.keep_logs || !report.wrong.is_empty() {
        report.logs = fleet.keep_logs();
    }
    fleet.stop()?;
    before.wait_until_no_processes(GONE_WITHIN)?;
    // Where a keeper was killed nobody is left to remove its empty cgroups: whoever comes next does.
    tauto::run(crate::child::command(tauto::binary()?).args(["run", "--", "/bin/true"]), false, GONE_WITHIN)?;
    report.wrong.extend(before.wait_until_clean(GONE_WITHIN, Vec::new).err());
    Ok(report)
}

fn strike(fleet: &mut Fleet, plan: Plan, left: &AtomicUsize, report: &mut Report) -> Result<(), String> {
    let mut storm = Storm { fleet, dice: Dice(plan.seed), away: plan.away, due: Vec::new() };
    while left.load(Ordering::SeqCst) > 0 && report.blows.values().sum::<usize>() < plan.blows {
        let next = Instant::now() + storm.moment(plan.peace);
        while Instant::now() < next {
            storm.remedy(Instant::now())?;
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(name) = storm.blow()? {
            *report.blows.entry(name).or_default() += 1;
        }
        // Collects what fell to us.
        leftovers::descendants();
    }
    // Nothing is due later than this.
    storm.remedy(Instant::now() + plan.away)?;
    storm.fleet.wait_until_at_work()
}

impl Storm<'_> {
    fn moment(&mut self, longest: Duration) -> Duration {
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.dice.below(micros.max(1)))
    }

    fn one_of(&mut self, count: usize) -> usize {
        usize::try_from(self.dice.below(count as u64)).unwrap_or_default()
    }

    fn later(&mut self, remedy: Remedy) {
        let when = Instant::now() + self.moment(self.away);
        self.due.push((when, remedy));
    }

    /// Puts right what is due.
    fn remedy(&mut self, now: Instant) -> Result<(), String> {
        let (mut due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.due).into_iter().partition(|(when, _)| *when <= now);
        self.due = later;
        if due.iter().any(|(_, remedy)| matches!(remedy, Remedy::StartServer(_))) {
            due.extend(self.due.extract_if(.., |(_, remedy)| DATABASE.contains(remedy)));
        }
        due.sort_by_key(|(_, remedy)| !DATABASE.contains(remedy));
        for (_, remedy) in due {
            match remedy {
                Remedy::StartWorker(n) => self.fleet.start_worker(n)?,
                Remedy::StartBroker(n) => self.fleet.brokers.start_one(n)?,
                Remedy::StartServer(n) => self.fleet.start_server(n)?,
                Remedy::MendServer(n) => self.fleet.server_site(n).map_or(Ok(()), Site::mend)?,
                Remedy::StartDatabase => self.fleet.cluster.start_again()?,
                Remedy::MendDatabase => self.fleet.database_site().map_or(Ok(()), Site::mend)?,
                Remedy::MendWorker(n) => self.fleet.worker_site(n).map_or(Ok(()), Site::mend)?,
                Remedy::MendBroker(n) => self.fleet.broker_site(n).map_or(Ok(()), Site::mend)?,
            }
        }
        Ok(())
    }

    fn is_due(&self, remedy: Remedy) -> bool {
        self.due.iter().any(|(_, due)| *due == remedy)
    }

    /// Some blow: what it was. `None`: what it was to hit is down already.
    fn blow(&mut self) -> Result<Option<&'static str>, String> {
        let mut blow = BLOWS[self.one_of(BLOWS.len())];
        if blow == Blow::BrokerCut && self.dice.below(MAJORITY) == 0 {
            blow = Blow::Majority;
        }
        match blow {
            Blow::Worker(part) => Ok(self.worker(part)),
            Blow::WorkerCut => {
                let n = self.one_of(self.fleet.workers().len());
                let up = !self.is_due(Remedy::MendWorker(n));
                let Some(site) = self.fleet.worker_site(n).filter(|_| up) else { return Ok(None) };
                site.cut()?;
                self.later(Remedy::MendWorker(n));
                Ok(Some("link of a worker"))
            }
            Blow::Server(_) | Blow::ServerCut => self.server(blow),
            Blow::Database | Blow::DatabaseCut => self.database(blow),
            _ => self.broker(blow),
        }
    }

    fn worker(&mut self, part: Part) -> Option<&'static str> {
        let n = self.one_of(self.fleet.workers().len());
        if !self.fleet.kill_worker(n, part) {
            return None;
        }
        if part == Part::Supervisor {
            self.later(Remedy::StartWorker(n));
        }
        Some(match part {
            Part::Supervisor => "worker's supervisor",
            other => other.name(),
        })
    }

    fn server(&mut self, blow: Blow) -> Result<Option<&'static str>, String> {
        let n = self.one_of(self.fleet.servers());
        // With one of them clients are served.
        let away = |(_, remedy): &(Instant, Remedy)| {
            matches!(remedy, Remedy::StartServer(_) | Remedy::MendServer(_))
        };
        if self.due.iter().any(away) {
            return Ok(None);
        }
        let Blow::Server(part) = blow else {
            self.fleet.server_site(n).map_or(Ok(()), Site::cut)?;
            self.later(Remedy::MendServer(n));
            return Ok(Some("link of a server"));
        };
        if !self.fleet.kill_server(n, part)? {
            return Ok(None);
        }
        if part == Part::Supervisor {
            self.later(Remedy::StartServer(n));
            return Ok(Some("server's supervisor"));
        }
        Ok(Some(part.name()))
    }

    fn database(&mut self, blow: Blow) -> Result<Option<&'static str>, String> {
        if DATABASE.iter().any(|remedy| self.is_due(*remedy)) {
            return Ok(None);
        }
        if blow == Blow::Database {
            self.fleet.cluster.kill();
            self.later(Remedy::StartDatabase);
            return Ok(Some("PostgreSQL"));
        }
        self.fleet.database_site().map_or(Ok(()), Site::cut)?;
        self.later(Remedy::MendDatabase);
        Ok(Some("link of PostgreSQL"))
    }

    /// One at a time, so that it is known who leads.
    fn broker(&mut self, blow: Blow) -> Result<Option<&'static str>, String> {
        let away = |(_, remedy): &(Instant, Remedy)| {
            matches!(remedy, Remedy::StartBroker(_) | Remedy::MendBroker(_))
        };
        if self.due.iter().any(away) {
            return Ok(None);
        }
        let count = self.fleet.brokers.count();
        let n = match blow {
            Blow::Leader => self.fleet.brokers.leader(TICKETS),
            _ => Some(self.one_of(count)),
        };
        let Some(n) = n else { return Ok(None) };
        if matches!(blow, Blow::Broker | Blow::Leader) {
            self.fleet.brokers.kill(n);
            self.later(Remedy::StartBroker(n));
            return Ok(Some(if blow == Blow::Leader { "leading broker" } else { "broker" }));
        }
        let cut = if blow == Blow::Majority { vec![n, (n + 1) % count] } else { vec![n] };
        for n in cut {
            self.fleet.broker_site(n).map_or(Ok(()), Site::cut)?;
            self.later(Remedy::MendBroker(n));
        }
        Ok(Some(if blow == Blow::Majority { "links of two brokers" } else { "link of a broker" }))
    }
}
