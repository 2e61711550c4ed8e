//! `make fleet-chaos SUBMISSIONS=2000`: kill -9 on workers, brokers and servers, and links cut, at random moments while clients submit.
//! `fleet_chaos SUBMISSIONS [SEED [logs]]`; with `logs` what all of them say is kept.

#![allow(clippy::print_stdout)]

use e2e::fleet::accounts::Report;
use e2e::fleet::storm::{Plan, storm};
use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SUBMISSIONS: usize = 2000;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("fleet-chaos: {error}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let submissions = words.first().map_or(Ok(SUBMISSIONS), |word| word.parse())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = words.get(1).map_or(Ok(now), |word| word.parse())?;
    println!("{submissions} submissions, seed {seed}");
    let (peace, away) = (Duration::from_secs(4), Duration::from_secs(8));
    let keep_logs = words.get(2).is_some_and(|word| word == "logs");
    let blows = submissions;
    let report = storm(Plan { submissions, blows, seed, workers: 3, peace, away, waiting: 10, keep_logs })?;
    print(&report);
    Ok(report.wrong.is_empty())
}

fn written<T: Display>(counts: &std::collections::BTreeMap<T, usize>) -> String {
    let each: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("{} ({})", counts.values().sum::<usize>(), each.join(", "))
}

fn print(report: &Report) {
    let Report { confirmed, relaxed_then_strict, near, stormy, whole, .. } = report;
    let share = 100.0 * *confirmed as f64 / (*relaxed_then_strict).max(1) as f64;
    println!("| blows | {} |", written(&report.blows));
    println!("| accepted, by contest | {} |", written(&report.accepted));
    println!("| verdicts | {} |", written(&report.verdicts));
    println!("| requests repeated, their answer lost or not now | {} |", report.repeated);
    println!("| judgements, by node | {} |", written(&report.judged));
    println!("| other nodes asked, by reason | {} |", written(&report.asked));
    println!("| judgements that were a fault of the judge | {} |", report.faults);
    println!(
        "| relaxed-then-strict that reached strict hardware | {confirmed} of {relaxed_then_strict} ({share:.1} %) |"
    );
    println!("| near the limit, and of these to be confirmed | {}, {} |", near.0, near.1);
    println!(
        "| blows fell for, all judged after | {:.0} s, {:.0} s |",
        stormy.as_secs_f64(),
        whole.as_secs_f64()
    );
    println!("| lost, doubled, wrong, left behind | {} |", report.wrong.len());
    report.wrong.iter().take(20).for_each(|wrong| println!("{wrong}"));
    report.logs.iter().for_each(|logs| println!("what all of them said: {}", logs.display()));
}
