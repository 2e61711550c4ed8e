//! Clients of a fleet: programs of known verdicts, submitted to whichever server answers, each until it is accepted.

use super::Fleet;
use crate::chaos::Dice;
use crate::http::Client;
use crate::package::{self, DOUBLE, RIGHT};
use crate::service::submission;
use crate::{tauto, traffic};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long each thinks after it has submitted.
const THINKS: Duration = Duration::from_millis(20);
/// For a submission to be accepted by some server.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(180);
/// For `tauto judge`.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);
/// The problem with a time limit of half a second.
pub(super) const PROBLEM: &str = "double";

/// The contests of these runs: what their verdicts on time are based on, all bound to the strict pool. The last: none, practice.
pub const CONTESTS: [(Option<&str>, u64); 4] =
    [(Some("strict"), 30), (Some("relaxed"), 20), (Some("relaxed-then-strict"), 30), (None, 20)];

/// A program, how many of a hundred submissions it is, and the verdict it must get, to be held against what `tauto judge` says. `None`: it is
/// so near the time limit that a hair decides.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) problem: &'static str,
    pub(super) language: &'static str,
    pub(super) file: &'static str,
    pub(super) source: &'static str,
    pub(super) verdict: Option<&'static str>,
    pub(super) share: u64,
}

/// A right program that takes so much CPU time for one of the tests, in nanoseconds.
macro_rules! near {
    ($file:literal, $time:literal, $share:literal) => {
        Program {
            problem: PROBLEM,
            language: "c",
            file: $file,
            source: concat!(
                "#include <stdio.h>\n#include <time.h>\nint main(void) {\n    int n;\n    struct timespec t;\n",
                "    if (scanf(\"%d\", &n) != 1) return 1;\n    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);\n",
                "    while (n == 21 && t.tv_sec * 1000000000LL + t.tv_nsec < ",
                $time,
                "LL);\n    return printf(\"%d\\n\", 2 * n) < 0;\n}\n"
            ),
            verdict: None,
            share: $share,
        }
    };
}

const fn double(
    language: &'static str,
    file: &'static str,
    source: &'static str,
    verdict: &'static str,
    share: u64,
) -> Program {
    Program { problem: PROBLEM, language, file, source, verdict: Some(verdict), share }
}

pub(super) const PROGRAMS: [Program; 11] = [
    double("c", "right.c", RIGHT, "AC", 22),
    double("python3", "right.py", "print(2 * int(input()))\n", "AC", 14),
    double("python3", "wrong.py", "print(1)\n", "WA", 12),
    double("c", "trap.c", "int main(void) { __builtin_trap(); }\n", "RTE", 12),
    double("c", "no.c", "int main( {\n", "CE", 8),
    double("c", "ever.c", "int main(void) { for (volatile long n = 0;; n++) {} }\n", "TLE", 6),
    Program {
        problem: "snowwall",
        language: "c",
        file: "leftovers.c",
        source: include_str!("../../chaos/leftovers.c"),
        verdict: Some("AC"),
        share: 14,
    },
    near!("below6.c", "470000000", 3),
    near!("below2.c", "490000000", 3),
    near!("above2.c", "510000000", 3),
    near!("above6.c", "530000000", 3),
];

/// A submission that some server has accepted.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) id: i64,
    pub(super) token: String,
    pub(super) program: usize,
    pub(super) contest: Option<&'static str>,
}

/// What clients share.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) seed: u64,
    /// Submissions that are still to be submitted.
    pub(super) left: AtomicUsize,
    /// Submissions of each client that wait at a time.
    pub(super) waiting: usize,
}

fn drawn<T>(dice: &mut Dice, all: impl Iterator<Item = (T, u64)> + Clone) -> Option<T> {
    let mut left = dice.below(all.clone().map(|(_, share)| share).sum());
    for (one, share) in all {
        match left.checked_sub(share) {
            Some(rest) => left = rest,
            None => return Some(one),
        }
    }
    None
}

impl Clients {
    fn take(&self) -> bool {
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// Client number `n`, of these servers: hands in as long as something is left; what was accepted, and requests that had to be repeated.
    pub(super) fn hand_in(&self, n: u64, mut servers: Vec<Client>) -> Result<(Vec<Accepted>, usize), String> {
        let mut dice = Dice(self.seed ^ ((n + 1) << 32));
        let (mut accepted, mut repeated) = (Vec::new(), 0);
        let mut waiting: VecDeque<String> = VecDeque::new();
        loop {
            std::thread::sleep(THINKS);
            let at = usize::try_from(dice.below(servers.len() as u64)).unwrap_or_default();
            if waiting.len() >= self.waiting {
                let first = waiting.front().map(|token| traffic::state(&mut servers[at], token));
                if first.is_some_and(|state| state.is_ok_and(|state| traffic::verdict(&state).is_some())) {
                    waiting.pop_front();
                }
                continue;
            }
            if !self.take() {
                return Ok((accepted, repeated));
            }
            let programs = PROGRAMS.iter().enumerate().map(|(n, program)| (n, program.share));
            let program = drawn(&mut dice, programs).ok_or("no program")?;
            let contest = drawn(&mut dice, CONTESTS.into_iter()).flatten();
            let key = format!("{}-{n}-{}", self.seed, accepted.len());
            let document = document(&PROGRAMS[program], contest);
            let (id, token, again) = insist(&mut servers, at, &key, &document)?;
            repeated += again;
            waiting.push_back(token.clone());
            accepted.push(Accepted { id, token, program, contest });
        }
    }
}

fn document(program: &Program, contest: Option<&str>) -> Value {
    let Program { problem, language, file, source, .. } = program;
    let mut document = submission(problem, language, file, source, false);
    if let Some(contest) = contest {
        document["contest"] = contest.into();
    }
    document
}

/// Hands one in under a key, to this server and then to each in turn, until it is accepted: number, token, and how often in vain.
fn insist(
    servers: &mut [Client],
    first: usize,
    key: &str,
    document: &Value,
) -> Result<(i64, String, usize), String> {
    let begun = Instant::now();
    for again in 0.. {
        let server = (first + again) % servers.len();
        let answer = servers[server].post("/api/v1/submissions", &[("idempotency-key", key)], document);
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        let json = answer.map(|answer| answer.json()).unwrap_or_default();
        match (status, json["id"].as_i64(), json["token"].as_str()) {
            (200 | 201, Some(id), Some(token)) => return Ok((id, token.to_string(), again)),
            (0 | 500.., ..) if begun.elapsed() < ACCEPTED_WITHIN => {
                std::thread::sleep(Duration::from_millis(20));
            }
            _ => return Err(format!("POST under the key {key}: {status}: {json}")),
        }
    }
    Err(format!("POST under the key {key}: never accepted"))
}

/// Gives a fleet the problem and the contests; a token of its admin.
pub(super) fn prepare(fleet: &Fleet, strict: &str) -> Result<String, String> {
    let package = package::zipped(&DOUBLE)?;
    let path = format!("/api/v1/problems?name={PROBLEM}");
    let token = fleet.admin_token()?;
    let bearer = format!("Bearer {token}");
    let header = [("content-type", "application/zip"), ("authorization", bearer.as_str())];
    let added = fleet.client(0).ask("POST", &path, &header, &package);
    let added = added.map_err(|error| format!("POST {path}: {error}"))?;
    if added.status != 201 {
        return Err(format!("POST {path}: {}: {}", added.status, added.text()));
    }
    for contest in CONTESTS.iter().filter_map(|(name, _)| *name) {
        let words = ["contest", "set", contest, "--pool", strict, "--strictness", contest];
        fleet.tauto(&words)?;
    }
    Ok(token)
}

/// What `tauto judge` says of each program, on this machine; of those near the limit nothing is asked.
///
/// # Errors
/// It does not judge one, or not as it is known to be.
pub(super) fn expected(fleet: &Fleet) -> Result<BTreeMap<usize, String>, String> {
    let directory = fleet.data().join("judge");
    package::write(&directory.join("package"), &DOUBLE)?;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = BTreeMap::new();
    for (n, program) in PROGRAMS.iter().enumerate().filter(|(_, program)| program.verdict.is_some()) {
        package::write(&directory, &[(program.file, program.source)])?;
        let of = match program.problem {
            PROBLEM => directory.join("package"),
            other => examples.join(other),
        };
        let mut judge = crate::child::command(tauto::binary()?);
        judge.arg("judge").arg(of).arg(directory.join(program.file)).args(["--json", "--slot", "none"]);
        judge.env("TAUTO_DATA_DIR", fleet.data().join("operator"));
        let ended = tauto::run(&mut judge, false, JUDGED_WITHIN)?;
        let document = ended.document()?;
        let verdict = document["verdict"].as_str().unwrap_or_default().to_string();
        if Some(verdict.as_str()) != program.verdict {
            return Err(format!("tauto judge {}: {verdict}: {document}", program.file));
        }
        all.insert(n, verdict);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_and_contest_is_drawn() {
        let mut dice = Dice(7);
        let programs = || PROGRAMS.iter().enumerate().map(|(n, program)| (n, program.share));
        let mut seen: Vec<usize> = (0..1000).filter_map(|_| drawn(&mut dice, programs())).collect();
        assert_eq!(seen.len(), 1000);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..PROGRAMS.len()).collect::<Vec<_>>());
        assert_eq!(PROGRAMS.iter().map(|program| program.share).sum::<u64>(), 100);
    }
}
