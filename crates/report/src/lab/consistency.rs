//! How far a machine can be believed, in words.

use model::{Clock, ConsistencyCell, ConsistencyReport};

/// What was found, a sentence each.
pub(crate) fn consistency_findings(report: &ConsistencyReport) -> Vec<String> {
    let mut found = Vec::new();
    let of = |clock: Clock| report.cells.iter().filter(move |cell| cell.clock == clock);
    found.extend(varies(of(Clock::Cpu)));
    let lines = of(Clock::Cpu).next().map(|cell| cell.verdicts.len()).unwrap_or_default();
    for n in 0..lines {
        let all: Vec<_> = of(Clock::Cpu).filter_map(|cell| cell.verdicts.get(n)).collect();
        let mean = |part: fn(&model::ConsistencyVerdicts) -> f64| {
            all.iter().map(|verdicts| part(verdicts)).sum::<f64>() / all.len().max(1) as f64
        };
        if let Some(first) = all.first() {
            found.push(format!(
                "With a limit {:.0} % above the usual time, {:.1} of 100 verdicts flip if a single run decides, and {:.1} if repeats settle the time.",
                first.above_pct,
                mean(|verdicts| verdicts.single_pct),
                mean(|verdicts| verdicts.settled_pct)
            ));
        }
    }
    found.extend(
        [Clock::Instructions, Clock::Reference].into_iter().filter_map(|clock| counted(clock, of(clock))),
    );
    found
}

fn varies<'a>(cells: impl Iterator<Item = &'a ConsistencyCell>) -> Option<String> {
    let known = cells.filter_map(|cell| Some((*cell.cv_pct.known()?, cell)));
    let (cv, cell) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "CPU time varies most of {} ({}): coefficient of variation {cv:.2} %, range {:.1} %.",
        cell.program, cell.load, cell.spread_pct
    ))
}

/// Of a clock that counts: which programs come to the same, whatever goes on beside them.
fn counted<'a>(clock: Clock, cells: impl Iterator<Item = &'a ConsistencyCell>) -> Option<String> {
    let mut programs: Vec<(&str, [u64; 2])> = Vec::new();
    for cell in cells {
        let (least, most) = (*cell.runs.iter().min()?, *cell.runs.iter().max()?);
        match programs.iter_mut().find(|(program, _)| *program == cell.program) {
            Some((_, range)) => *range = [range[0].min(least), range[1].max(most)],
            None => programs.push((&cell.program, [least, most])),
        }
    }
    let percent = |[least, most]: [u64; 2]| 100.0 * (most - least) as f64 / (least as f64).max(1.0);
    let (same, others): (Vec<_>, Vec<_>) = programs.iter().partition(|(_, range)| range[0] == range[1]);
    let names: Vec<&str> = same.iter().map(|(name, _)| *name).collect();
    let others: Vec<String> =
        others.iter().map(|(name, range)| format!("{name} by {:.4} %", percent(*range))).collect();
    let said = match (names.is_empty(), others.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("all runs of {} give the same count", names.join(", ")),
        (true, false) => format!("runs differ: {}", others.join(", ")),
        (false, false) => {
            format!(
                "all runs of {} give the same count; others differ: {}",
                names.join(", "),
                others.join(", ")
            )
        }
    };
    Some(format!("By the clock {}, {said}, under every load.", clock.name()))
}
