//! `tauto contest`.

use super::{Where, now, table};
use crate::Done;
use crate::options::second_opinion;
use crate::terminal::Failure;
use clap::{Args, Subcommand, ValueEnum};
use fleet::Contest;
use model::SecondOpinions;
use serde::Serialize;
use server::manage::{self, ContestView};

#[derive(Args, Debug)]
pub(crate) struct ContestArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    at: Where,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Strictness {
    /// Only nodes of its pool
    Strict,
    /// Any node
    Relaxed,
    /// Any node; a result over or near a limit is judged again in the pool, and that result counts
    RelaxedThenStrict,
}

impl From<Strictness> for fleet::Strictness {
    fn from(strictness: Strictness) -> fleet::Strictness {
        match strictness {
            Strictness::Strict => fleet::Strictness::Strict,
            Strictness::Relaxed => fleet::Strictness::Relaxed,
            Strictness::RelaxedThenStrict => fleet::Strictness::RelaxedThenStrict,
        }
    }
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the contests
    List,
    /// Show one contest
    Show {
        /// Name of the contest
        name: String,
    },
    /// Create or change a contest; its queued jobs move to the new pool
    Set {
        /// Name of the contest: 1 to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`
        name: String,
        /// Pool of the contest
        #[arg(long, value_name = "POOL")]
        pool: String,
        /// Nodes that may judge its submissions
        #[arg(long, value_enum)]
        strictness: Strictness,
        /// Run at most N of its jobs at a time [default: no limit]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        at_once: Option<u32>,
        /// Results to judge by the reference clock too: open (too close to the limit to be certain), grey (not decided by
        /// one run) or never [default: the setting of the problem, else of the service]
        #[arg(long, value_name = "open|grey|never", value_parser = second_opinion)]
        second_opinion: Option<SecondOpinions>,
    },
    /// Remove a contest that has no submissions
    Remove {
        /// Name of the contest
        name: String,
    },
}

#[derive(Serialize)]
struct ContestsDocument {
    contests: Vec<ContestView>,
}

#[derive(Serialize)]
struct RemovedDocument<'a> {
    removed: &'a str,
}

/// `tauto contest`.
pub(crate) fn contest(args: &ContestArgs) -> Result<Done, Failure> {
    let at = &args.at;
    match &args.action {
        Action::List => {
            let contests = at.with(async |store| manage::contests(store).await)?;
            at.tell(&ContestsDocument { contests: contests.clone() }, || listed(&contests));
        }
        Action::Show { name } => {
            let contest = at.with(async |store| manage::show_contest(store, name).await)?;
            at.tell(&contest, || listed(std::slice::from_ref(&contest)));
        }
        Action::Set { name, pool, strictness, at_once, second_opinion } => {
            let wanted = Contest {
                name: name.clone(),
                pool: pool.clone(),
                strictness: (*strictness).into(),
                at_once: *at_once,
                second_opinion: *second_opinion,
            };
            let set = at.with(async |store| {
                manage::set_contest(store, &wanted, now()).await?;
                manage::show_contest(store, name).await
            })?;
            at.tell(&set, || listed(std::slice::from_ref(&set)));
        }
        Action::Remove { name } => {
            at.with(async |store| manage::remove_contest(store, name).await)?;
            at.tell(&RemovedDocument { removed: name }, || format!("contest {name} is removed\n"));
        }
    }
    Ok(Done::Good)
}

fn listed(contests: &[ContestView]) -> String {
    let row = |contest: &ContestView| {
        let strictness = match contest.strictness {
            fleet::Strictness::Strict => "strict",
            fleet::Strictness::Relaxed => "relaxed",
            fleet::Strictness::RelaxedThenStrict => "relaxed-then-strict",
        };
        let at_once = contest.at_once.map_or("–".to_string(), |most| most.to_string());
        let opinion = contest.second_opinion.map_or("–", SecondOpinions::name).to_string();
        vec![contest.name.clone(), contest.pool.clone(), strictness.to_string(), at_once, opinion]
    };
    let rows: Vec<Vec<String>> = contests.iter().map(row).collect();
    table(&["contest", "pool", "strictness", "at once", "second opinion"], &rows)
}
