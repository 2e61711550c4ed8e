//! How far the times and verdicts of a machine can be believed: what runs of several programs under several loads come to. Pure.

use model::{Charge, Clock, ConsistencyCell, ConsistencyVerdicts, Nanos, Policy, Reading, Spread};
use settle::{Step, Timed, settle};

/// So far above the usual time limits are put, in percent.
pub const ABOVE: [f64; 3] = [5.0, 10.0, 20.0];
/// The load that is none.
pub const IDLE: &str = "idle";

/// A run, as far as verdicts look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// In the clock's unit.
    pub amount: u64,
    /// Its evidence names a disturbance.
    pub disturbed: bool,
    /// What that can have cost at most.
    pub explained: Nanos,
}

/// The runs of one program under one load by one clock, in the order in which they were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The program.
    pub program: String,
    /// What went on beside it.
    pub load: String,
    /// The clock.
    pub clock: Clock,
    /// The runs.
    pub runs: Vec<Run>,
}

/// What all series come to on a machine whose runs vary like this. Those without a run are left out.
pub fn cells(series: &[Series], spread: Spread) -> Vec<ConsistencyCell> {
    series.iter().filter_map(|one| cell(one, usual(series, one)?, spread)).collect()
}

/// The median of the same program by the same clock with nothing beside it.
fn usual(all: &[Series], of: &Series) -> Option<u64> {
    let same = || {
        all.iter().filter(|one| one.program == of.program && one.clock == of.clock && !one.runs.is_empty())
    };
    median(same().find(|one| one.load == IDLE).or_else(|| same().next())?)
}

fn amounts(series: &Series) -> Vec<f64> {
    series.runs.iter().map(|run| run.amount as f64).collect()
}

fn median(series: &Series) -> Option<u64> {
    Some(stats::median(&amounts(series))?.round() as u64)
}

fn cell(series: &Series, usual: u64, spread: Spread) -> Option<ConsistencyCell> {
    let (amounts, median) = (amounts(series), median(series)?);
    let [least, most] = [f64::min, f64::max].map(|pick| amounts.iter().copied().reduce(pick));
    let n = amounts.len() as f64;
    let mean = amounts.iter().sum::<f64>() / n;
    let variance = amounts.iter().map(|amount| (amount - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let cv = (amounts.len() > 1 && mean > 0.0).then(|| 100.0 * variance.sqrt() / mean);
    Some(ConsistencyCell {
        program: series.program.clone(),
        load: series.load.clone(),
        clock: series.clock,
        runs: series.runs.iter().map(|run| run.amount).collect(),
        median,
        usual,
        spread_pct: 100.0 * (most? - least?) / (median as f64).max(1.0),
        cv_pct: Reading::from_option(cv, || "one run has no deviation".into()),
        verdicts: ABOVE.map(|above| verdicts(series, usual, above, spread)).to_vec(),
    })
}

/// Each run is the first one of a judgement; what the settle rule repeats are the runs after it, behind the last the first again.
fn verdicts(series: &Series, usual: u64, above_pct: f64, spread: Spread) -> ConsistencyVerdicts {
    let amount = (usual as f64 * (1.0 + above_pct / 100.0)).round() as u64;
    let limit = Charge { clock: series.clock, amount };
    let runs: Vec<Timed> = series.runs.iter().map(|run| timed(run, series.clock)).collect();
    let percent = |failed: usize| 100.0 * failed as f64 / runs.len().max(1) as f64;
    let fails = |first: &usize| {
        let mut seen = Vec::new();
        for n in 0..Policy::PUBLISHED.runs as usize {
            seen.push(runs[(first + n) % runs.len()]);
            if let Step::Decided(decision) = settle(limit, spread, &Policy::PUBLISHED, &seen) {
                return !decision.passes;
            }
        }
        true
    };
    ConsistencyVerdicts {
        above_pct,
        single_pct: percent(runs.iter().filter(|run| run.charge > limit).count()),
        settled_pct: percent((0..runs.len()).filter(fails).count()),
    }
}

fn timed(run: &Run, clock: Clock) -> Timed {
    let charge = Charge { clock, amount: run.amount };
    let varies = clock.varies();
    Timed {
        charge,
        disturbed: varies && run.disturbed,
        explained: if varies { run.explained } else { Nanos::ZERO },
        slow: false,
    }
}

/// Times of another judge: comma-separated text whose first line names its columns, `program`, `load` and `time` among them; times are in
/// seconds. Nothing is known of what disturbed them.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn read_times(text: &str) -> Result<Vec<Series>, (usize, String)> {
    let mut lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim_end()));
    let (_, head) = lines.next().ok_or((1, "is empty; the first line is program,load,time".to_string()))?;
    let head: Vec<&str> = head.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
    let column = |name: &str| {
        let at = head.iter().position(|column| *column == name);
        at.ok_or_else(|| (1, format!("no column {name}; the first line is program,load,time")))
    };
    let (program, load, time) = (column("program")?, column("load")?, column("time")?);
    let mut series: Vec<Series> = Vec::new();
    for (n, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != head.len() {
            return Err((n, format!("{} fields, and the first line has {}", fields.len(), head.len())));
        }
        let seconds = fields[time].parse::<f64>().ok().filter(|time| (0.0..=1e6).contains(time));
        let bad = || (n, format!("time: `{}` is not a number of seconds from 0 to 1000000", fields[time]));
        let run = Run {
            amount: (seconds.ok_or_else(bad)? * 1e9).round() as u64,
            disturbed: false,
            explained: Nanos::ZERO,
        };
        let same = series.iter_mut().find(|one| one.program == fields[program] && one.load == fields[load]);
        match same {
            Some(one) => one.runs.push(run),
            None => series.push(Series {
                program: fields[program].into(),
                load: fields[load].into(),
                clock: Clock::Cpu,
                runs: vec![run],
            }),
        }
    }
    match series.is_empty() {
        true => Err((1, "has no run".into())),
        false => Ok(series),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Spread = Spread { median_excess: 0.01, tail_scale: 0.01 };

    fn series(load: &str, clock: Clock, ms: &[u64]) -> Series {
        let run = |ms: &u64| Run { amount: ms * 1_000_000, disturbed: false, explained: Nanos::ZERO };
        Series { program: "p".into(), load: load.into(), clock, runs: ms.iter().map(run).collect() }
    }

    #[test]
    fn limits_lie_above_the_idle_median_and_settled_verdicts_flip_less() {
        let loaded = [1000, 1080, 1000, 1000, 1130, 1000, 1000, 1000, 1000, 1000];
        let all = [series("cpu", Clock::Cpu, &loaded), series(IDLE, Clock::Cpu, &[1000; 10])];
        let cells = cells(&all, SPREAD);
        let of = |cell: &ConsistencyCell| -> Vec<[f64; 2]> {
            cell.verdicts.iter().map(|v| [v.single_pct, v.settled_pct]).collect()
        };
        // 1130 is 6.6 tails above a limit of 5 %: by itself it decides nothing, and the next run keeps the limit.
        assert_eq!(of(&cells[0]), [[20.0, 0.0], [10.0, 0.0], [0.0, 0.0]]);
        assert_eq!(of(&cells[1]), [[0.0; 2]; 3]);
        assert_eq!((cells[0].usual, cells[0].median), (1_000_000_000, 1_000_000_000));
        assert!((cells[0].spread_pct - 13.0).abs() < 1e-9);
        let cv = cells[0].cv_pct.known().unwrap();
        assert!((cv - 4.489).abs() < 0.01, "{cv}");
    }

    #[test]
    fn what_counts_needs_no_repeat_and_one_run_has_no_deviation() {
        let all = [series(IDLE, Clock::Reference, &[100, 100]), series("cpu", Clock::Reference, &[111])];
        let cells = cells(&all, SPREAD);
        assert_eq!((cells[0].spread_pct, cells[0].cv_pct.known()), (0.0, Some(&0.0)));
        assert!(cells[1].cv_pct.known().is_none());
        assert_eq!((cells[1].verdicts[1].single_pct, cells[1].verdicts[1].settled_pct), (100.0, 100.0));
        assert_eq!(super::cells(&[series(IDLE, Clock::Cpu, &[])], SPREAD), []);
    }

    #[test]
    fn times_of_others_are_read_or_refused_with_their_line() {
        let read =
            read_times("time,host,program,load\n0.5,a,sieve,idle\n\n0.625,b,sieve,idle\n1,a,sieve,cpu\n");
        let read = read.unwrap();
        let seen: Vec<(&str, Vec<u64>)> =
            read.iter().map(|one| (&*one.load, one.runs.iter().map(|run| run.amount).collect())).collect();
        assert_eq!(seen, [("idle", vec![500_000_000, 625_000_000]), ("cpu", vec![1_000_000_000])]);
        for (text, line, part) in [
            ("", 1, "empty"),
            ("program,load,time\n", 1, "no run"),
            ("program,time\n", 1, "no column load"),
            ("program,load,time\na,idle\n", 2, "2 fields"),
            ("program,load,time\na,idle,1\na,idle,x\n", 3, "`x`"),
            ("program,load,time\na,idle,-1\n", 2, "`-1`"),
            ("program,load,time\na,idle,NaN\n", 2, "`NaN`"),
            ("program,load,time\na,idle,inf\n", 2, "`inf`"),
        ] {
            let (at, why) = read_times(text).unwrap_err();
            assert!(at == line && why.contains(part), "{text:?}: {at}: {why}");
        }
    }
}
