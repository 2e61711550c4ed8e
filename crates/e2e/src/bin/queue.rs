//! `make service-load`: a service whose queue is full. Ten thousand submissions are submitted over eight connections while a slot judges;
//! then it judges in turn with `tauto verify` on the same programs and tests; it is ended and killed with the queue full and
//! must have lost nothing. `queue N BLOCKS`: so many submissions, so many blocks.

#![allow(clippy::print_stdout)]

use e2e::dispatch::machine;
use e2e::queue::{ANYWHERE, Sources, housekeeping, restart, turn, web_memory};
use e2e::service::Service;
use e2e::traffic::{self, percentile};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SUBMISSIONS: usize = 10_000;
const CONNECTIONS: usize = 8;
/// Blocks of the service, and as many of `tauto verify` between them.
const BLOCKS: usize = 4;
/// Submissions judged in a block.
const OF_A_BLOCK: usize = 60;
/// For the first to be judged.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let number = |n, usual| std::env::args().nth(n).map_or(Ok(usual), |word| word.parse());
    let done = match (number(1, SUBMISSIONS), number(2, BLOCKS)) {
        (Ok(wanted), Ok(blocks)) => measure(wanted, blocks),
        (Err(error), _) | (_, Err(error)) => Err(format!("how many submissions and blocks: {error}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("queue: {error}");
            ExitCode::from(3)
        }
    }
}

fn measure(wanted: usize, blocks: usize) -> Outcome<()> {
    let data = tempfile::Builder::new().prefix("tauto-queue-").tempdir()?;
    let sources = Sources::read()?;
    println!("{}\n\n| figure | measured | bar |\n|---|---|---|", machine());
    let (tokens, posting) = fill(data.path(), &sources, wanted)?;
    let working = work_off(data.path(), &sources, &tokens, blocks)?;
    let most = posting.max(working) as f64 / 1048576.0;
    row("most memory of the web process", &format!("{most:.1} MiB"), "bounded");
    for (name, kill) in [("SIGTERM", false), ("kill -9", true)] {
        let done = restart(data.path(), &tokens, kill)?;
        let ((judged, waiting), (then, still)) = (done.before, done.after);
        let lost = (judged + waiting).abs_diff(then + still);
        let counts = format!("{judged} judged and {waiting} waiting, then {then} and {still}: {lost} lost");
        row(&format!("{name} with the queue full"), &counts, "0 lost");
        if lost > 0 || then < judged {
            return Err(format!("{name} lost something").into());
        }
    }
    Ok(())
}

/// Hands in while the slot judges: tokens, and the most memory of the web process.
fn fill(data: &Path, sources: &Sources, wanted: usize) -> Outcome<(Vec<String>, u64)> {
    let all: Vec<Value> = (0..wanted).map(|n| sources.submission(n)).collect();
    let service = Service::start(data, ANYWHERE, &[])?;
    let mut client = service.client();
    let (_, first) = traffic::post(&mut client, &sources.submission(0))?;
    traffic::wait_judged(&mut client, &first, PATIENCE)?;
    let begun = Instant::now();
    let posted = traffic::post_all(service.address(), &all, CONNECTIONS, &housekeeping()?)?;
    let took = begun.elapsed().as_secs_f64();
    let judged = traffic::judged(&mut client, &posted.tokens)?;
    let millis = |percent| percentile(&posted.waits, percent).as_secs_f64() * 1e3;
    row(
        &format!("POST of {wanted} submissions over {CONNECTIONS} connections while the slot judges"),
        &format!(
            "median {:.1} ms, 99 % within {:.1} ms, most {:.1} ms; {:.0} a second; {judged} judged meanwhile, {:.2} a second",
            millis(50),
            millis(99),
            millis(100),
            wanted as f64 / took,
            judged as f64 / took,
        ),
        "99 % within 25 ms",
    );
    let memory = web_memory(&service);
    service.stop()?;
    Ok((posted.tokens, memory))
}

/// `tauto verify`, service, verify, service …: how fast each judges the same programs.
fn work_off(data: &Path, sources: &Sources, tokens: &[String], blocks: usize) -> Outcome<u64> {
    let turns =
        (0..blocks).map(|_| turn(data, sources, tokens, OF_A_BLOCK)).collect::<Result<Vec<_>, _>>()?;
    if turns.is_empty() {
        return Ok(0);
    }
    let (mut alone, mut served, mut ratios) = (vec![], vec![], vec![]);
    for turn in &turns {
        alone.push(1.0 / turn.alone);
        served.push(1.0 / turn.served);
        ratios.push(100.0 * turn.alone / turn.served);
    }
    let written = |all: &[f64]| all.iter().map(|one| format!("{one:.1}")).collect::<Vec<_>>().join(", ");
    row("`tauto verify`, submissions a second, by block", &written(&alone), "");
    row("the service with its queue full, by block", &written(&served), "");
    let by_block = written(&ratios);
    ratios.sort_by(f64::total_cmp);
    let middle = (ratios[(blocks - 1) / 2] + ratios[blocks / 2]) / 2.0;
    let both = format!("{middle:.1} % (median of {by_block})");
    row("throughput of the service ÷ that of `tauto verify`", &both, "≥ 95 %");
    Ok(turns.iter().map(|turn| turn.memory).max().unwrap_or_default())
}

fn row(what: &str, measured: &str, bar: &str) {
    println!("| {what} | {measured} | {bar} |");
}
