//! `tauto node`.

use super::{Where, now, short, table, who};
use crate::Done;
use crate::terminal::Failure;
use clap::{Args, Subcommand};
use model::Reading;
use serde::Serialize;
use server::manage::{self, HealthView, NodeDetails, NodeView, Suspects, TakenView};

/// Measurements and events that are shown on a terminal.
const SHOWN: usize = 12;
/// Suspects that are listed.
const LISTED: usize = 1000;

#[derive(Args, Debug)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    at: Where,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the nodes with their state and its reason
    List,
    /// Show one node: features against its pool's requirements, speed over time, health and history
    Show {
        /// Name of the node
        name: String,
    },
    /// Drain a node: it finishes running jobs and accepts no new ones
    Drain {
        /// Name of the node
        name: String,
        /// Reason, shown with the node
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Return a node to service after it passes admission
    Return {
        /// Name of the node
        name: String,
        /// What was done; recorded in the node's history
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Remove a node that is out of service or was never admitted
    Remove {
        /// Name of the node
        name: String,
    },
    /// List the judgements of a suspect node
    Suspects {
        /// Name of the node
        name: String,
        /// Rejudge all of them
        #[arg(long)]
        rejudge: bool,
    },
}

#[derive(Serialize)]
struct NodesDocument {
    nodes: Vec<NodeView>,
}

#[derive(Serialize)]
struct RemovedDocument<'a> {
    removed: &'a str,
}

#[derive(Serialize)]
struct RejudgedDocument {
    #[serde(flatten)]
    suspects: Suspects,
    rejudging: i64,
    judged_again: usize,
}

/// `tauto node`.
pub(crate) fn node(args: &NodeArgs) -> Result<Done, Failure> {
    let at = &args.at;
    match &args.action {
        Action::List => {
            let nodes = at.with(async |store| manage::nodes(store).await)?;
            at.tell(&NodesDocument { nodes: nodes.clone() }, || listed(&nodes));
        }
        Action::Show { name } => {
            let node = at.with(async |store| manage::details(store, name).await)?;
            at.tell(&node, || shown(&node));
        }
        Action::Drain { name, reason } => {
            let node = at.with(async |store| manage::drain(store, name, reason, &who(), now()).await)?;
            at.tell(&node, || match node.standing {
                "draining" => format!("node {name} finishes its jobs and gets no new ones\n"),
                _ => format!("node {name} is out of service\n"),
            });
        }
        Action::Return { name, reason } => {
            let node =
                at.with(async |store| manage::return_node(store, name, reason, &who(), now()).await)?;
            at.tell(&node, || match node.standing {
                "active" => format!("node {name} is in service\n"),
                _ => format!("node {name} is checked as soon as one of its workers connects\n"),
            });
        }
        Action::Remove { name } => {
            at.with(async |store| manage::remove_node(store, name).await)?;
            at.tell(&RemovedDocument { removed: name }, || format!("node {name} is removed\n"));
        }
        Action::Suspects { name, rejudge } => suspects(at, name, *rejudge)?,
    }
    Ok(Done::Good)
}

fn suspects(at: &Where, name: &str, rejudge: bool) -> Result<(), Failure> {
    let (suspects, again) = at.with(async |store| {
        let suspects = manage::suspects(store, name, LISTED, now()).await?;
        let again = match rejudge {
            true => Some(manage::rejudge_suspects(store, name, None, now()).await?),
            false => None,
        };
        Ok((suspects, again))
    })?;
    match again {
        Some((id, judged_again)) => {
            let document = RejudgedDocument { suspects, rejudging: id.0, judged_again };
            at.tell(&document, || {
                format!("{judged_again} submissions are rejudged: rejudging {}, at /rejudge/{}\n", id.0, id.0)
            });
        }
        None => at.tell(&suspects, || doubted(&suspects)),
    }
    Ok(())
}

fn doubted(suspects: &Suspects) -> String {
    let Some(since) = &suspects.doubted_since else {
        return format!("node {} has no suspect submissions\n", suspects.node);
    };
    let row = |suspect: &manage::SuspectView| {
        let verdict = suspect.verdict.map_or("–", |verdict| verdict.code()).to_string();
        let problem = suspect.problem.clone().unwrap_or_else(|| "–".into());
        let deleted = if suspect.forgotten { "its sources were deleted" } else { "" };
        vec![suspect.submission.to_string(), problem, verdict, short(&suspect.judged), deleted.into()]
    };
    let rows: Vec<Vec<String>> = suspects.submissions.iter().map(row).collect();
    let more = suspects.count.saturating_sub(rows.len() as u64);
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!(
        "{}: {} submissions were judged there since {}\n{}{more}",
        suspects.node,
        suspects.count,
        short(since),
        table(&["submission", "problem", "verdict now", "judged there", ""], &rows)
    )
}

fn health(health: Option<&HealthView>) -> String {
    match health {
        None => "–".into(),
        Some(HealthView { condition, left: Some(left), .. }) => format!("{condition}, {left} probes left"),
        Some(health) => health.condition.into(),
    }
}

fn listed(nodes: &[NodeView]) -> String {
    let row = |node: &NodeView| {
        vec![
            node.name.clone(),
            node.pool.clone(),
            node.standing.to_string(),
            health(node.health.as_ref()),
            short(&node.last_seen),
            node.reasons().join("; "),
        ]
    };
    let rows: Vec<Vec<String>> = nodes.iter().map(row).collect();
    table(&["node", "pool", "state", "health", "last seen", "why"], &rows)
}

fn shown(whole: &NodeDetails) -> String {
    let node = &whole.node;
    let mut text = format!("node {}, pool {}: {}\n", node.name, node.pool, node.standing);
    text += &node.reasons().iter().map(|reason| format!("  {reason}\n")).collect::<String>();
    text += &format!("first seen {}, last seen {}\n", short(&node.first_seen), short(&node.last_seen));
    if let Some(since) = &node.doubted_since {
        text +=
            &format!("judgements since {} are suspect: tauto node suspects {}\n", short(since), node.name);
    }
    text += &format!("\n{}", stated(whole));
    text += &format!("\n{}", tested(node));
    text += &format!("\n{}", power(&whole.index));
    let running = whole.running.iter().map(|job| {
        format!("judges submission {} since {} (job {})\n", job.submission, short(&job.since), job.job)
    });
    text += &format!("\n{}", running.collect::<String>());
    let event = |event: &manage::EventView| {
        let by = event.by.clone().unwrap_or_default();
        vec![short(&event.at), event.kind.clone(), event.text.clone(), by]
    };
    let events: Vec<Vec<String>> = whole.events.iter().take(SHOWN).map(event).collect();
    text + &table(&["when", "what happened", "", "by"], &events)
}

fn stated(whole: &NodeDetails) -> String {
    if whole.points.is_empty() {
        return "no features reported\n".into();
    }
    // Lists of settings are long: each on a line.
    let listed = |text: &str| text.replace("; ", "\n");
    let row = |point: &fleet::Point| {
        let own = match &point.own {
            Reading::Known(own) => listed(own),
            Reading::Unknown(why) => format!("unknown ({why})"),
        };
        let fits = match (point.fits, point.away_pct) {
            (None, _) => "not asked".to_string(),
            (Some(true), None) => "equal".to_string(),
            (Some(false), None) => "NO".to_string(),
            (Some(true), Some(away)) => format!("within ({away:+.1} %)"),
            (Some(false), Some(away)) => format!("NO ({away:+.1} %)"),
        };
        vec![point.about.clone(), own, point.pool.as_deref().map_or("–".into(), listed), fits]
    };
    let rows: Vec<Vec<String>> = whole.points.iter().map(row).collect();
    let known = whole.node.reasons();
    let unmet =
        whole.points.iter().filter_map(|point| Some(format!("{}: {}", point.about, point.why.as_ref()?)));
    let unmet: String = unmet.filter(|why| !known.contains(why)).map(|why| format!("  {why}\n")).collect();
    table(&["", "its own", "the pool's", "fits"], &rows) + &unmet
}

fn tested(node: &NodeView) -> String {
    let Some(tests) = &node.health else { return "health tests start when it is admitted\n".into() };
    let row = |test: &manage::TestView| {
        let since = if test.seen == 0 { String::new() } else { short(&test.since) };
        vec![test.name.clone(), format!("{:.0} %", test.share * 100.0), test.seen.to_string(), since]
    };
    let rows: Vec<Vec<String>> = tests.tests.iter().map(row).collect();
    let findings = tests.findings.iter().map(|finding| format!("  {}\n", finding.reason));
    format!(
        "health: {}\n{}{}",
        health(Some(tests)),
        findings.collect::<String>(),
        table(&["test", "alarm level", "seen", "since"], &rows)
    )
}

fn power(index: &[TakenView]) -> String {
    if index.is_empty() {
        return "power index: not measured yet\n".into();
    }
    let mut parts: Vec<model::IndexPart> =
        index.iter().flat_map(|taken| taken.parts.keys().copied()).collect();
    parts.sort();
    parts.dedup();
    let heads: Vec<&str> = ["taken", ""].into_iter().chain(parts.iter().map(|part| part.name())).collect();
    let row = |taken: &TakenView| {
        let what = if taken.probe { "probe" } else { "index" };
        let value = |part| taken.parts.get(part).map_or("–".to_string(), |value| format!("{value:.2}"));
        [short(&taken.at), what.to_string()].into_iter().chain(parts.iter().map(value)).collect()
    };
    table(&heads, &index.iter().take(SHOWN).map(row).collect::<Vec<_>>())
}
