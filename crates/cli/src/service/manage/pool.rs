//! `tauto pool`.

use super::{Where, now, read_file, table};
use crate::Done;
use crate::terminal::{Failure, print};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use fleet::{Definition, Feature, Pool, PoolKind};
use serde::Serialize;
use server::manage::{self, PoolView};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct PoolArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    at: Where,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Equal hardware and equal power index; verdicts on time count
    Strict,
    /// Any machine
    Relaxed,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the pools, their members and contests
    List,
    /// Show one pool: requirements, members and queued jobs
    Show {
        /// Name of the pool
        name: String,
        /// Print its requirements as a file for `tauto pool set`
        #[arg(long, conflicts_with = "json")]
        as_file: bool,
    },
    /// Create a pool; its first member defines its requirements unless --file is given
    Add {
        /// Name of the pool: 1 to 32 of a-z, 0-9 and -
        name: String,
        /// How similar its members must be
        #[arg(long, value_enum, required_unless_present = "file")]
        kind: Option<Kind>,
        /// File with the requirements of its members (docs/fleet.md)
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Seconds after which idle nodes of a strict pool take waiting relaxed jobs [default: never]
        #[arg(long, value_name = "SECONDS")]
        helps_after: Option<u32>,
    },
    /// Change the requirements of a pool
    Set {
        /// Name of the pool
        name: String,
        /// File with the requirements of its members (docs/fleet.md)
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// Accept an additional value of a feature, such as a new kernel before an upgrade
    Accept {
        /// Name of the pool
        name: String,
        /// Feature of a node
        #[arg(long, value_name = "FEATURE", value_parser = PossibleValuesParser::new(Feature::ALL.map(Feature::name)))]
        feature: String,
        /// Value to accept, as `tauto node show` prints it
        #[arg(long, value_name = "VALUE")]
        value: String,
    },
    /// Remove a pool that no node, contest or job uses
    Remove {
        /// Name of the pool
        name: String,
    },
}

#[derive(Serialize)]
struct PoolsDocument {
    pools: Vec<PoolView>,
}

#[derive(Serialize)]
struct RemovedDocument<'a> {
    removed: &'a str,
}

/// `tauto pool`.
pub(crate) fn pool(args: &PoolArgs) -> Result<Done, Failure> {
    let at = &args.at;
    match &args.action {
        Action::List => {
            let pools = at.with(async |store| manage::pools(store).await)?;
            at.tell(&PoolsDocument { pools: pools.clone() }, || listed(&pools));
        }
        Action::Show { name, as_file } => {
            let pool = at.with(async |store| manage::show_pool(store, name).await)?;
            match as_file {
                true => print(&form(&pool)?.to_text()),
                false => at.tell(&pool, || shown(&pool)),
            }
        }
        Action::Add { name, kind, file, helps_after } => {
            let pool = wanted(name, *kind, file.as_deref(), *helps_after)?;
            change(at, &pool, true)?;
        }
        Action::Set { name, file } => {
            at.with(async |store| manage::show_pool(store, name).await)?;
            change(at, &from_file(name, file)?, false)?;
        }
        Action::Accept { name, feature, value } => accept(at, name, feature, value)?,
        Action::Remove { name } => {
            at.with(async |store| manage::remove_pool(store, name).await)?;
            at.tell(&RemovedDocument { removed: name }, || format!("pool {name} is removed\n"));
        }
    }
    Ok(Done::Good)
}

fn from_file(name: &str, file: &Path) -> Result<Pool, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", file.display()));
    let pool = Pool::parse(&read_file(file)?).map_err(|e| wrong(&e))?;
    match pool.name == name {
        true => Ok(pool),
        false => Err(wrong(&format!("name: the file is of pool {}, not {name}", pool.name))),
    }
}

fn wanted(
    name: &str,
    kind: Option<Kind>,
    file: Option<&Path>,
    helps_after_secs: Option<u32>,
) -> Result<Pool, Failure> {
    let kind = kind.map(|kind| match kind {
        Kind::Strict => PoolKind::Strict,
        Kind::Relaxed => PoolKind::Relaxed,
    });
    let pool = match file {
        Some(file) => from_file(name, file)?,
        None => Pool::new(name, kind.unwrap_or(PoolKind::Strict)).map_err(Failure::usage)?,
    };
    if kind.is_some_and(|kind| kind != pool.kind) {
        return Err(Failure::usage(
            "--kind: the file has another kind\n\
             hint: leave out --kind, or change `kind` in the file",
        ));
    }
    Ok(Pool { helps_after_secs: helps_after_secs.or(pool.helps_after_secs), ..pool })
}

fn change(at: &Where, pool: &Pool, new: bool) -> Result<(), Failure> {
    let shown = at.with(async |store| {
        match new {
            true => manage::add_pool(store, pool, now()).await?,
            false => manage::put_pool(store, pool, now()).await?,
        }
        manage::show_pool(store, &pool.name).await
    })?;
    let next = match (&shown.definition, shown.kind) {
        (None, PoolKind::Strict) => "; the first node defines its requirements".to_string(),
        _ => String::new(),
    };
    let done = if new { "is made" } else { "is changed" };
    at.tell(&shown, || format!("pool {} {done}{next}\n", shown.name));
    Ok(())
}

fn accept(at: &Where, name: &str, feature: &str, value: &str) -> Result<(), Failure> {
    let known = Feature::ALL.into_iter().find(|known| known.name() == feature);
    let feature = known.ok_or_else(|| Failure::usage(format!("--feature: {feature} is unknown")))?;
    let (news, pool) = at.with(async |store| {
        let news = manage::accept(store, name, feature, value, now()).await?;
        Ok((news, manage::show_pool(store, name).await?))
    })?;
    let already = if news { "now" } else { "already" };
    at.tell(&pool, || format!("pool {name} {already} accepts {feature} {value}\n"));
    Ok(())
}

fn kind(kind: PoolKind) -> String {
    match kind {
        PoolKind::Strict => "strict".into(),
        PoolKind::Relaxed => "relaxed".into(),
    }
}

fn listed(pools: &[PoolView]) -> String {
    let row = |pool: &PoolView| {
        let active = pool.members.iter().filter(|member| member.standing == "active").count();
        let defined = match (&pool.definition, pool.kind) {
            (Some(_), _) => "yes",
            (None, PoolKind::Strict) => "by the first node",
            (None, PoolKind::Relaxed) => "–",
        };
        let members = format!("{active} of {}", pool.members.len());
        let contests = if pool.contests.is_empty() { "–".into() } else { pool.contests.join(", ") };
        vec![pool.name.clone(), kind(pool.kind), defined.into(), members, pool.waiting.to_string(), contests]
    };
    table(
        &["pool", "kind", "defined", "nodes in service", "waiting jobs", "contests"],
        &pools.iter().map(row).collect::<Vec<_>>(),
    )
}

/// As its file.
fn form(pool: &PoolView) -> Result<Pool, Failure> {
    let definition: Option<Definition> =
        pool.definition.clone().map(serde_json::from_value).transpose().map_err(Failure::system)?;
    let (name, kind, helps_after_secs) = (pool.name.clone(), pool.kind, pool.helps_after_secs);
    Ok(Pool { name, kind, helps_after_secs, definition })
}

fn shown(pool: &PoolView) -> String {
    let mut text = format!("pool {}: {}\n", pool.name, kind(pool.kind));
    if let Some(secs) = pool.helps_after_secs {
        text += &format!("idle nodes take relaxed jobs that have waited for {secs} s\n");
    }
    match (form(pool).ok().and_then(|form| form.definition), pool.kind) {
        (Some(definition), _) => {
            let equal = definition.equal.iter();
            let mut rows: Vec<Vec<String>> =
                equal.map(|(feature, accepted)| vec![feature.name().into(), accepted.join(" or ")]).collect();
            rows.extend(definition.memory_bytes.map(|bytes| {
                vec!["memory_bytes".into(), format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30))]
            }));
            rows.extend(definition.index.iter().map(|(part, norm)| {
                let Norms(value) = Norms::new(norm.value, part.unit(), norm.tolerance_pct);
                vec![part.name().into(), value]
            }));
            rows.extend(
                definition
                    .unchecked
                    .iter()
                    .map(|(feature, why)| vec![feature.name().into(), format!("not checked: {why}")]),
            );
            text += &format!("\n{}", table(&["asks for", "value"], &rows));
        }
        (None, PoolKind::Strict) => text += "the first node defines its requirements\n",
        (None, PoolKind::Relaxed) => text += "no requirements\n",
    }
    let member = |member: &manage::MemberView| {
        let health = member.health.unwrap_or("–").to_string();
        vec![member.name.clone(), member.standing.into(), health, member.reasons.join("; ")]
    };
    let members: Vec<Vec<String>> = pool.members.iter().map(member).collect();
    match members.is_empty() {
        true => text += &format!("\nno nodes\nhint: tauto worker --pool {} --nats URL\n", pool.name),
        false => text += &format!("\n{}", table(&["node", "state", "health", "why"], &members)),
    }
    let bound = if pool.contests.is_empty() { "none".into() } else { pool.contests.join(", ") };
    text + &format!("\ncontests: {bound}; waiting jobs: {}\n", pool.waiting)
}

/// A part's value with its tolerance, in words.
struct Norms(String);

impl Norms {
    fn new(value: f64, unit: &str, tolerance_pct: f64) -> Norms {
        Norms(format!("{value:.2} {unit} ± {tolerance_pct:.1} %"))
    }
}
