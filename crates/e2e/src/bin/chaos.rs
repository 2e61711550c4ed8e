//! `make service-chaos ROUNDS=200`: kill -9 on parts of a service at random moments while clients submit, half of the rounds over an SQLite file, half
//! over PostgreSQL, which is killed and cut off, too. `chaos ROUNDS [SEED]`.

#![allow(clippy::print_stdout)]

use e2e::chaos::{Plan, Report, storm};
use e2e::stage::is_root;
use e2e::traffic::percentile;
use std::error::Error;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

const ROUNDS: usize = 200;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("chaos: {error}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let blows = words.first().map_or(Ok(ROUNDS), |word| word.parse())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = words.get(1).map_or(Ok(now), |word| word.parse())?;
    println!("{blows} rounds, seed {seed}");
    let mut good = true;
    for (database, blows, apart) in [("SQLite", blows / 2, false), ("PostgreSQL", blows.div_ceil(2), true)] {
        if apart && !is_root() {
            println!("PostgreSQL: left out: it takes root, for networks of its own");
            continue;
        }
        let data = tempfile::Builder::new().prefix("tauto-chaos-").tempdir()?;
        let report = storm(data.path(), Plan { blows, seed, slow: true, waiting: 25, apart });
        if !report.as_ref().is_ok_and(|report| report.wrong.is_empty()) {
            println!("what is left: {}", data.keep().display());
        }
        let report = report?;
        println!("over {database}:");
        print(&report);
        good &= report.wrong.is_empty();
    }
    Ok(good)
}

fn print(report: &Report) {
    let written = |counts: &std::collections::BTreeMap<&str, usize>| {
        let each: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        format!("{} ({})", counts.values().sum::<usize>(), each.join(", "))
    };
    let recovery = |percent| percentile(&report.recoveries, percent).as_secs_f64();
    println!("| blows | {} |", written(&report.blows));
    println!("| accepted, by the verdict to come | {} |", written(&report.accepted));
    println!("| requests repeated, their answer lost or not now | {} |", report.repeated);
    println!(
        "| from a blow to the service whole again | median {:.2} s, most {:.2} s |",
        recovery(50),
        recovery(100)
    );
    println!("| lost, doubled, wrong, left behind | {} |", report.wrong.len());
    report.wrong.iter().take(20).for_each(|wrong| println!("{wrong}"));
}
