//! `make fleet-sim`: a whole fleet in simulation (docs/scale.md). It ends with failure where a submission was lost, doubled, or judged outside its pool.

#![allow(clippy::print_stdout)]

use clap::Parser;
use serde::Serialize;
use sim::{Detection, Extra, Figures, Percentiles, Queueing, Quiet, Scenario, Urgency, quiet, run};
use std::fmt::Write;

/// Play a whole fleet in simulation: waiting, mishaps, slow nodes
#[derive(Parser, Debug)]
struct Arguments {
    /// How many nodes, all else in proportion to 10000 nodes in 50 pools with 1500000 submissions in 5 hours
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(4..=100_000))]
    nodes: u32,
    /// Submissions, where not in proportion
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000_000))]
    submissions: Option<u32>,
    /// The same seed gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Without cross-checks and draining, to see what they are good for
    #[arg(long)]
    unguarded: bool,
    /// Watch so many node-years in which nothing happens, too, for false alarms
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    quiet_years: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    figures: Figures,
    quiet: Option<Quiet>,
}

fn main() -> Result<(), String> {
    let args = Arguments::parse();
    let proportional = Scenario::of_nodes(args.nodes);
    let scenario = Scenario {
        seed: args.seed,
        guarded: !args.unguarded,
        submissions: args.submissions.unwrap_or(proportional.submissions),
        ..proportional
    };
    if let Some(fault) = scenario.fault() {
        return Err(fault);
    }
    let figures = run(&scenario);
    let quiet = (args.quiet_years > 0).then(|| quiet(10 * args.quiet_years, args.seed));
    let kept = figures.lost == 0 && figures.doubled == 0 && figures.outside_pool == 0;
    println!(
        "{}",
        match args.json {
            true => serde_json::to_string(&Document { figures, quiet }).map_err(|error| error.to_string())?,
            false => text(&figures, quiet.as_ref()),
        }
    );
    if kept { Ok(()) } else { Err("submissions were lost, doubled, or judged outside their pool".into()) }
}

fn text(figures: &Figures, quiet: Option<&Quiet>) -> String {
    let scenario = &figures.scenario;
    let mut text = format!(
        "{} nodes in {} pools ({} relaxed), {} submissions in {:.1} h, slots busy {:.1} %\n\
         lost {}, doubled {}, outside their pool {}\n\
         handed out again {}, results too late {}, repeated {}\n\n",
        scenario.nodes,
        scenario.pools,
        scenario.relaxed_pools,
        scenario.submissions,
        f64::from(scenario.seconds) / 3600.0,
        figures.busy_pct,
        figures.lost,
        figures.doubled,
        figures.outside_pool,
        figures.redelivered,
        figures.too_late,
        figures.repeated,
    );
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    line(format!("{:22}{:>9}{:>9}{:>9}{:>9}", "seconds", "median", "95 %", "99 %", "most"));
    for (urgency, queueing) in &figures.queue {
        let name = match urgency {
            Urgency::Contest => "contest",
            Urgency::Rejudge => "judged again",
            Urgency::Live | Urgency::Background => "practice",
        };
        queue_lines(name, queueing, &mut line);
    }
    queue_lines("last minutes", &figures.burst, &mut line);
    let wrong = &figures.wrong;
    line(format!(
        "\nwrong verdicts {} of {} strict ones beyond doubt (put right by judging again: {}); {} nearer to the limit than 2 %",
        wrong.wrong, wrong.certain, wrong.put_right, wrong.at_limit
    ));
    line(format!(
        "relaxed verdicts unlike those of strict hardware: {} of {}",
        wrong.relaxed_differing, wrong.relaxed
    ));
    line(format!("relaxed-then-strict: {:.1} % reached strict hardware", figures.reached_strict_pct));
    line(format!(
        "second and third judgements took {:.1} % of all node time, confirmations not among them:",
        figures.checks_cost_pct
    ));
    for (why, Extra { judgements, time_pct }) in &figures.checks {
        line(format!("  {why:20}{judgements:>9} judgements{time_pct:>8.2} %"));
    }
    line(format!(
        "\n{:22}{:>9}{:>9}{:>18}{:>18}",
        "nodes slower by", "ailing", "found", "s (median, 95 %)", "jobs"
    ));
    figures.detection.iter().for_each(|one| line(detection_line(one)));
    line(format!(
        "judged again {}, of which {} changed; healthy nodes drained {} in {:.1} node-years, charged {}",
        figures.rejudged, figures.changed, figures.false_alarms, figures.node_years, figures.charged_healthy
    ));
    if let Some(quiet) = quiet {
        line(format!(
            "quiet nodes: {} false alarms in {:.0} node-years, {:.2} in a year; at most {:.0} is allowed",
            quiet.alarms, quiet.node_years, quiet.a_year, quiet.allowed
        ));
    }
    text
}

fn queue_lines(name: &str, queueing: &Queueing, line: &mut impl FnMut(String)) {
    let row = |what: &str, of: &Percentiles| {
        format!(
            "{:22}{:>9.1}{:>9.1}{:>9.1}{:>9.1}",
            format!("{name}, {what}"),
            of.p50,
            of.p95,
            of.p99,
            of.max
        )
    };
    line(row("start", &queueing.start));
    line(row("verdict", &queueing.verdict));
}

fn detection_line(one: &Detection) -> String {
    let pair = |of: &Percentiles| format!("{:.0}, {:.0}", of.p50, of.p95);
    format!(
        "{:22}{:>9}{:>9}{:>18}{:>18}",
        format!("{} %", one.slower_pct),
        one.ailing,
        one.found,
        pair(&one.seconds),
        pair(&one.jobs)
    )
}
