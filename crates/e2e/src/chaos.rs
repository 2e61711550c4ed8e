//! Kills parts of a service and of its database, and cuts the link between them, at random moments while clients submit, and counts what came of it:
//! nothing may be lost, judged twice, or judged on what a killed run left.

use crate::http::Client;
use crate::leftovers::{self, Snapshot};
use crate::network::{Network, Site};
use crate::postgres::Cluster;
use crate::service::{self, Part, Service, submission};
use crate::tauto;
use crate::traffic;
use rustix::process::Pid;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Clients, and how long each thinks after it has submitted.
const CLIENTS: u64 = 4;
const THINKS: Duration = Duration::from_millis(50);
/// A blow falls at any moment from the recovery to this long after.
const LONGEST_PEACE: Duration = Duration::from_millis(1500);
/// The database, or a link, is away for up to this long.
const LONGEST_AWAY: Duration = Duration::from_secs(3);
/// For the service to be whole again.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);
/// For a helper that was killed to be missed: at the latest when the worker needs it the next time.
const MISSED_WITHIN: Duration = Duration::from_secs(5);
/// For what a killed process leaves to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// For a submission to be judged when nobody disturbs any more.
const JUDGED_WITHIN: Duration = Duration::from_secs(300);
/// The problem: shipped with the service.
const PROBLEM: &str = "snowwall";

/// A program, its language and file, the verdict it must get, and how many of a hundred submissions it is.
struct Program {
    language: &'static str,
    file: &'static str,
    source: &'static str,
    verdict: &'static str,
    share: u64,
}

const PROGRAMS: [Program; 6] = [
    Program {
        language: "c",
        file: "leftovers.c",
        source: include_str!("../chaos/leftovers.c"),
        verdict: "AC",
        share: 42,
    },
    Program {
        language: "python3",
        file: "right.py",
        source: include_str!("../../../examples/snowwall/submissions/accepted/integer_root.py"),
        verdict: "AC",
        share: 20,
    },
    Program { language: "python3", file: "wrong.py", source: "print(1)\n", verdict: "WA", share: 14 },
    Program {
        language: "c",
        file: "trap.c",
        source: "int main(void) { __builtin_trap(); }\n",
        verdict: "RTE",
        share: 12,
    },
    Program { language: "c", file: "no.c", source: "int main( {\n", verdict: "CE", share: 10 },
    Program {
        language: "c",
        file: "ever.c",
        source: "int main(void) { for (volatile long n = 0;; n++) {} }\n",
        verdict: "TLE",
        share: 2,
    },
];

/// What came of it all.
#[derive(Debug, Default)]
pub struct Report {
    /// Blows, by part.
    pub blows: BTreeMap<&'static str, usize>,
    /// Submissions that were accepted, by the verdict they must get.
    pub accepted: BTreeMap<&'static str, usize>,
    /// Requests whose answer was lost or that were refused, and were repeated.
    pub repeated: usize,
    /// From a blow to the service being whole, least first.
    pub recoveries: Vec<Duration>,
    /// What is wrong: nothing should be.
    pub wrong: Vec<String>,
}

/// The numbers of splitmix64 (Steele, Lea, Flood 2014): the same for the same seed.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below this one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or_default()]
    }

    fn program(&mut self, slow: bool) -> &'static Program {
        loop {
            let mut left = self.below(PROGRAMS.iter().map(|program| program.share).sum());
            let drawn = PROGRAMS.iter().find(|program| match left.checked_sub(program.share) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            });
            match drawn {
                Some(program) if slow || program.verdict != "TLE" => return program,
                _ => {}
            }
        }
    }
}

/// A submission that the service has accepted.
#[derive(Debug)]
struct Accepted {
    id: i64,
    token: String,
    verdict: &'static str,
}

/// What is done to a service.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Blows.
    pub blows: usize,
    /// Decides where and when they fall, and what is submitted.
    pub seed: u64,
    /// Programs that exceed the time limit are among those submitted: on a busy machine each takes a minute, since it is run again.
    pub slow: bool,
    /// Submissions of each client that wait: no more are submitted until some are judged.
    pub waiting: usize,
    /// The service keeps its things in PostgreSQL, each in a network of its own, and blows fall on PostgreSQL and on both links, too. It takes root.
    pub apart: bool,
}

/// What is taken away where service and database are apart. Each as often as one process is killed.
#[derive(Clone, Copy, Debug)]
enum Away {
    /// PostgreSQL is killed.
    Database,
    /// Its link is cut.
    DatabaseLink,
    /// The link of the service is cut.
    ServiceLink,
}

const AWAY: [Away; 3] = [Away::Database, Away::DatabaseLink, Away::ServiceLink];

/// A database server, and the service that uses it, each at a site of its own.
struct Apart {
    cluster: Cluster,
    url: String,
    database: Site,
    service: Site,
    _network: Network,
}

impl Apart {
    fn new() -> Result<Apart, String> {
        let mut network = Network::new()?;
        let (database, service) = (network.site()?, network.site()?);
        let cluster = Cluster::start_at(database.address(), database.by())?;
        Ok(Apart { url: cluster.make("judge")?, cluster, database, service, _network: network })
    }

    /// Takes one of them away for so long: by what it is called.
    fn strike(&mut self, what: Away, away: Duration) -> Result<&'static str, String> {
        let (name, link) = match what {
            Away::Database => ("PostgreSQL", None),
            Away::DatabaseLink => ("link of PostgreSQL", Some(&self.database)),
            Away::ServiceLink => ("link of the service", Some(&self.service)),
        };
        match link {
            Some(link) => link.cut()?,
            None => self.cluster.kill(),
        }
        std::thread::sleep(away);
        match link {
            Some(link) => link.mend()?,
            None => self.cluster.start_again()?,
        }
        Ok(name)
    }
}

/// A service that is struck.
struct Struck<'a> {
    data: &'a Path,
    service: Service,
    apart: Option<Apart>,
}

/// Blows to a service over this data directory.
///
/// # Errors
/// The service does not recover, or cannot be asked. What it did wrong is in the report.
pub fn storm(data: &Path, plan: Plan) -> Result<Report, String> {
    leftovers::adopt_orphans()?;
    let before = Snapshot::take();
    service::blame_no_job(data)?;
    let apart = plan.apart.then(Apart::new).transpose()?;
    let service = start(data, SocketAddr::from(([127, 0, 0, 1], 0)), apart.as_ref())?;
    let mut report = Report::default();
    let stop = AtomicBool::new(false);
    let clients: Vec<_> = (0..CLIENTS).map(|n| (n, service.client())).collect();
    let mut struck = Struck { data, service, apart };
    let accepted = std::thread::scope(|scope| {
        let hand_in = |(n, client)| hand_in(client, n, plan, &stop);
        let clients: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || hand_in(client))).collect();
        let struck = struck.strike(plan, &mut report);
        stop.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for client in clients {
            let (accepted, repeated) = client.join().map_err(|_| "a client panicked")??;
            all.extend(accepted);
            report.repeated += repeated;
        }
        struck.map(|()| all)
    })?;
    for one in &accepted {
        *report.accepted.entry(one.verdict).or_default() += 1;
    }
    report.recoveries.sort();
    let Struck { service, apart, .. } = struck;
    settle_accounts(&service, &accepted, &mut report)?;
    service.stop()?;
    report.wrong.extend(check_database(data, apart.as_ref())?);
    drop(apart);
    // Where the keeper itself was killed nobody is left to remove its empty cgroups: whoever comes next does.
    before.wait_until_no_processes(GONE_WITHIN)?;
    tauto::run(
        crate::child::command(tauto::binary()?).args(["run", "--", "/bin/true"]),
        false,
        WHOLE_WITHIN,
    )?;
    report.wrong.extend(before.wait_until_clean(GONE_WITHIN, Vec::new).err());
    Ok(report)
}

/// Starts the service, where it belongs.
fn start(data: &Path, address: SocketAddr, apart: Option<&Apart>) -> Result<Service, String> {
    let (site, url) = (apart.map(|apart| &apart.service), apart.map(|apart| apart.url.as_str()));
    let options: Vec<&str> = url.map(|url| ["--database", url]).into_iter().flatten().collect();
    Service::start_of(&tauto::binary()?, site, &[], data, address, &options)
}

impl Struck<'_> {
    /// The blows, one after the other.
    fn strike(&mut self, plan: Plan, report: &mut Report) -> Result<(), String> {
        let mut dice = Dice(plan.seed);
        wait_until_whole(&mut self.service)?;
        for _ in 0..plan.blows {
            std::thread::sleep(moment(&mut dice, LONGEST_PEACE));
            *report.blows.entry(self.blow(&mut dice)?).or_default() += 1;
            let begun = Instant::now();
            // Collects what fell to us.
            leftovers::descendants();
            // One in four falls while the service is still getting up.
            if dice.below(4) > 0 {
                wait_until_whole(&mut self.service)?;
                report.recoveries.push(begun.elapsed());
            }
        }
        wait_until_whole(&mut self.service)
    }

    /// Some blow: what it fell on.
    fn blow(&mut self, dice: &mut Dice) -> Result<&'static str, String> {
        let apart = self.apart.as_ref().map_or(0, |_| AWAY.len());
        let drawn = dice.below((Part::ALL.len() + apart) as u64);
        let drawn = usize::try_from(drawn).unwrap_or_default();
        match (&mut self.apart, drawn.checked_sub(Part::ALL.len()).and_then(|n| AWAY.get(n))) {
            (Some(apart), Some(what)) => apart.strike(*what, moment(dice, LONGEST_AWAY)),
            _ => self.kill(drawn),
        }
    }

    /// Kills this part, or the first after it that is there: its name.
    fn kill(&mut self, from: usize) -> Result<&'static str, String> {
        let there: Vec<Pid> = Part::ALL.iter().filter_map(|part| self.service.process(*part)).collect();
        let mut parts = Part::ALL.into_iter().cycle().skip(from).take(Part::ALL.len());
        let part = parts.find(|part| self.service.kill(*part)).ok_or("no process of the service is there")?;
        if part == Part::Supervisor {
            leftovers::wait_until_gone(&there, GONE_WITHIN)?;
            self.service = start(self.data, self.service.address(), self.apart.as_ref())?;
        }
        Ok(part.name())
    }
}

/// A moment at random, up to this long.
fn moment(dice: &mut Dice, longest: Duration) -> Duration {
    Duration::from_micros(dice.below(longest.as_micros().try_into().unwrap_or(u64::MAX)))
}

/// The worker is connected, and every process is there unless nobody has missed it yet.
fn wait_until_whole(service: &mut Service) -> Result<(), String> {
    service.wait_until_ready()?;
    let (start, mut client) = (Instant::now(), service.client());
    while start.elapsed() < WHOLE_WITHIN {
        let all = Part::ALL.iter().all(|part| service.process(*part).is_some());
        let connected = client.get("/api/v1/queue").is_ok_and(|queue| queue.json()["workers"] == 1);
        if connected && (all || start.elapsed() > MISSED_WITHIN) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("the service is not whole again: {}", last_lines(&service.log())))
}

pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

/// Client number `n`: hands in until it is told to stop, each submission until it is accepted.
fn hand_in(
    mut client: Client,
    n: u64,
    plan: Plan,
    stop: &AtomicBool,
) -> Result<(Vec<Accepted>, usize), String> {
    let mut dice = Dice(plan.seed ^ ((n + 1) << 32));
    let (mut accepted, mut repeated) = (Vec::new(), 0);
    let mut waiting: VecDeque<String> = VecDeque::new();
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(THINKS);
        if waiting.len() >= plan.waiting {
            let judged = waiting.front().map(|token| traffic::state(&mut client, token));
            if judged.is_some_and(|state| state.is_ok_and(|state| traffic::verdict(&state).is_some())) {
                waiting.pop_front();
            }
            continue;
        }
        let program = dice.program(plan.slow);
        let document = submission(PROBLEM, program.language, program.file, program.source, false);
        let key = format!("{}-{n}-{}", plan.seed, accepted.len());
        let (id, token, again) = insist(&mut client, &key, &document)?;
        repeated += again;
        waiting.push_back(token.clone());
        accepted.push(Accepted { id, token, verdict: program.verdict });
    }
    Ok((accepted, repeated))
}

/// Hands one in, again and again under the same key until it is accepted: number, token, and how often in vain.
fn insist(client: &mut Client, key: &str, document: &Value) -> Result<(i64, String, usize), String> {
    let start = Instant::now();
    for again in 0.. {
        let answer = client.post("/api/v1/submissions", &[("idempotency-key", key)], document);
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        let json = answer.map(|answer| answer.json()).unwrap_or_default();
        match (status, json["id"].as_i64(), json["token"].as_str()) {
            (200 | 201, Some(id), Some(token)) => return Ok((id, token.to_string(), again)),
            (0 | 500.., ..) if start.elapsed() < WHOLE_WITHIN * 2 => {
                std::thread::sleep(Duration::from_millis(10));
            }
            _ => return Err(format!("POST under the key {key}: {status}: {json}")),
        }
    }
    Err(format!("POST under the key {key}: never accepted"))
}

/// Waits until everything is judged; then looks at every submission that was accepted.
fn settle_accounts(service: &Service, accepted: &[Accepted], report: &mut Report) -> Result<(), String> {
    let mut client = service.client();
    let last = &PROGRAMS[1];
    let document = submission(PROBLEM, last.language, last.file, last.source, false);
    let (id, token) = traffic::post(&mut client, &document)?;
    let known: BTreeSet<i64> = accepted.iter().map(|one| one.id).chain([id]).collect();
    let stored = traffic::all(&mut client)?;
    if stored != known {
        let lost: Vec<_> = known.difference(&stored).collect();
        let more: Vec<_> = stored.difference(&known).collect();
        report.wrong.push(format!("accepted and not there: {lost:?}; there and not accepted: {more:?}"));
    }
    // Judged last, since it was submitted last.
    traffic::wait_judged(&mut client, &token, JUDGED_WITHIN * 4)?;
    for Accepted { id, token, verdict } in accepted {
        let state = match traffic::wait_judged(&mut client, token, JUDGED_WITHIN) {
            Ok(state) => state,
            Err(lost) => {
                report.wrong.push(lost);
                continue;
            }
        };
        let got = traffic::verdict(&state);
        let path = format!("/api/v1/submissions/{token}/judgements");
        let history = client.get(&path).map_err(|error| format!("GET {path}: {error}"))?.json();
        let all = history["judgements"].as_array().map_or(&[][..], Vec::as_slice);
        let current = all.iter().filter(|judgement| judgement["current"] == true).count();
        if got != Some(verdict) || all.len() != 1 || current != 1 || history["waiting"] != 0 {
            let whole = client.get(&format!("/api/v1/submissions/{token}/judgement"));
            let whole =
                whole.map(|whole| String::from_utf8_lossy(&whole.body).into_owned()).unwrap_or_default();
            let whole: String = whole.chars().take(2000).collect();
            report.wrong.push(format!("submission {id}: {verdict} was to come: {history}; {whole}"));
        }
    }
    Ok(())
}

/// What `tauto database check` finds.
fn check_database(data: &Path, apart: Option<&Apart>) -> Result<Option<String>, String> {
    let _there = apart.map(|apart| apart.service.namespace().enter()).transpose()?;
    let mut command = crate::child::command(tauto::binary()?);
    command.args(["database", "check"]).env("TAUTO_DATA_DIR", data);
    if let Some(apart) = apart {
        command.args(["--database", &apart.url]);
    }
    let ended = tauto::run(&mut command, false, WHOLE_WITHIN)?;
    let said = format!("tauto database check: {}{}", ended.stdout, ended.stderr);
    Ok((ended.code()? != 0).then_some(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_fair_enough_and_the_same_for_the_same_seed() {
        let throw = |seed| {
            let mut dice = Dice(seed);
            (0..1000).map(|_| dice.program(true).verdict).collect::<Vec<_>>()
        };
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
        for program in &PROGRAMS {
            assert!(throw(7).contains(&program.verdict), "{}", program.verdict);
        }
    }
}
