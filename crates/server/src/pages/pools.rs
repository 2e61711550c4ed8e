//! Pools: what their members must be like, who they are, and which contests are bound to them.

use super::filters;
use super::{Frame, Refused, show};
use crate::accounts::Right;
use crate::manage::{self, ContestView, PoolView};
use crate::service::Service;
use ::fleet::{Definition, PoolKind, Strictness};
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// A pool, as it is shown.
struct Shown {
    pool: PoolView,
    /// What it asks for, and the value.
    asks: Vec<(String, String)>,
    contests: Vec<ContestView>,
}

impl Shown {
    fn kind(&self) -> &'static str {
        match self.pool.kind {
            PoolKind::Strict => "strict",
            PoolKind::Relaxed => "relaxed",
        }
    }
}

#[derive(Template)]
#[template(path = "pools.html")]
struct PoolsPage {
    frame: Frame,
    pools: Vec<Shown>,
}

impl PoolsPage {
    fn strictness(&self, contest: &ContestView) -> &'static str {
        match contest.strictness {
            Strictness::Strict => "strict",
            Strictness::Relaxed => "relaxed",
            Strictness::RelaxedThenStrict => "relaxed, then strict",
        }
    }
}

/// The class of a tag for how a node stands.
pub(super) fn class(standing: &str) -> &'static str {
    match standing {
        "active" => "good",
        "drained" => "bad",
        _ => "mark",
    }
}

/// How a node stands, in words.
pub(super) fn standing_words(standing: &str) -> &'static str {
    match standing {
        "active" => "in service",
        "waiting" => "waiting for admission",
        "draining" => "draining",
        _ => "out of service",
    }
}

/// What a definition asks for.
fn asks(definition: &Definition) -> Vec<(String, String)> {
    let equal =
        definition.equal.iter().map(|(feature, some)| (feature.name().to_string(), some.join(" or ")));
    let memory = definition.memory_bytes.map(|bytes| {
        ("memory_bytes".to_string(), format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30)))
    });
    let index = definition.index.iter().map(|(part, norm)| {
        let value = format!("{:.2} {} ± {:.1} %", norm.value, part.unit(), norm.tolerance_pct);
        (part.name().to_string(), value)
    });
    let unchecked = definition
        .unchecked
        .iter()
        .map(|(feature, why)| (feature.name().to_string(), format!("not checked: {why}")));
    equal.chain(memory).chain(index).chain(unchecked).collect()
}

/// `GET /pools`.
pub(super) async fn page(State(service): State<Arc<Service>>, frame: Frame) -> Result<Response, Refused> {
    frame.caller.must(Right::Watch)?;
    let contests = manage::contests(&service.store).await?;
    let shown = |pool: PoolView| {
        let definition: Option<Definition> =
            pool.definition.clone().and_then(|definition| serde_json::from_value(definition).ok());
        let bound = contests.iter().filter(|contest| contest.pool == pool.name).cloned();
        Shown { asks: definition.as_ref().map_or(Vec::new(), asks), contests: bound.collect(), pool }
    };
    let pools = manage::pools(&service.store).await?.into_iter().map(shown).collect();
    Ok(show(&PoolsPage { frame, pools }))
}
