//! `make vm-chaos SUBMISSIONS=200`: a service judges in virtual machines that are lost at random moments. `vm_chaos SUBMISSIONS`. It takes root.

#![allow(clippy::print_stdout)]

use e2e::lost::{Blows, storm};
use std::collections::BTreeMap;
use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Instant;

const SUBMISSIONS: usize = 200;
/// Four of ten machines are lost. Few fall silent, since each of these costs half a minute, or more if it is still booting.
const BLOWS: [(&str, u32); 9] = [
    ("nothing", 600),
    ("killed", 100),
    ("stopped", 8),
    ("panic", 80),
    ("restart", 40),
    ("off", 40),
    ("hang", 8),
    ("lie", 100),
    ("poke", 24),
];
/// In ms from the guest's start: while it boots, while it waits, while it judges.
const AFTER: [u32; 2] = [500, 12_000];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("vm-chaos: {error}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let submissions = std::env::args().nth(1).map_or(Ok(SUBMISSIONS), |word| word.parse())?;
    let directory = tempfile::Builder::new()
        .prefix("tauto-vm-chaos-")
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()?;
    let begun = Instant::now();
    let report = storm(directory.path(), submissions, &Blows::from(BLOWS), AFTER)?;
    let written = |counts: &BTreeMap<String, usize>| {
        let each: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        format!("{} ({})", counts.values().sum::<usize>(), each.join(", "))
    };
    println!("| machines, by what became of them | {} |", written(&report.drawn));
    println!("| submissions, by verdict | {} |", written(&report.verdicts));
    println!("| minutes | {:.0} |", begun.elapsed().as_secs_f64() / 60.0);
    println!("| lost, doubled, wrong, left behind | {} |", report.wrong.len());
    report.reasons.iter().for_each(|(reason, count)| println!("{count} x {reason}"));
    report.wrong.iter().take(20).for_each(|wrong| println!("{wrong}"));
    Ok(report.wrong.is_empty())
}
