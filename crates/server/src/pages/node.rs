//! One node: what it states beside what its pool asks for, its power over time, its health, what happened to it; and what can be done with it.

use super::filters;
use super::lists::encoded;
use super::pools::{class, standing_words};
use super::{Frame, Refused, show};
use crate::accounts::Right;
use crate::api::fleet::{again, who};
use crate::manage::{self, NodeDetails, Suspects, TakenView};
use crate::service::Service;
use crate::timestamp::now;
use ::fleet::Point;
use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use model::{IndexGroup, IndexPart, Reading};
use report::html::{PowerCurve, power_chart};
use serde::Deserialize;
use std::sync::Arc;
use store::Timestamp;

/// Suspects that are listed.
const LISTED: usize = 200;
/// Measurements in the table; the chart has them all.
const ROWS: usize = 25;

/// A group of the index, drawn.
struct Drawn {
    name: &'static str,
    chart: String,
}

#[derive(Template)]
#[template(path = "node.html")]
struct NodePage {
    frame: Frame,
    whole: NodeDetails,
    suspects: Suspects,
    charts: Vec<Drawn>,
    parts: Vec<IndexPart>,
}

impl NodePage {
    fn administers(&self) -> bool {
        self.frame.caller.may(Right::Administer)
    }

    fn rejudges(&self) -> bool {
        self.frame.caller.may(Right::Rejudge)
    }

    fn own(&self, point: &Point) -> String {
        match &point.own {
            Reading::Known(own) => own.clone(),
            Reading::Unknown(why) => format!("unknown ({why})"),
        }
    }

    /// Whether it fits, as a tag.
    fn fits(&self, point: &Point) -> (&'static str, String) {
        let away = point.away_pct.map_or(String::new(), |away| format!(" ({away:+.1} %)"));
        match point.fits {
            None => ("", "not required".into()),
            Some(true) if point.away_pct.is_some() => ("good", format!("within{away}")),
            Some(true) => ("good", "equal".into()),
            Some(false) => ("bad", format!("no{away}")),
        }
    }

    fn percent(&self, share: &f64) -> String {
        format!("{:.0} %", share * 100.0)
    }

    fn rows(&self) -> &[TakenView] {
        &self.whole.index[..self.whole.index.len().min(ROWS)]
    }

    fn value(&self, taken: &TakenView, part: &IndexPart) -> String {
        taken.parts.get(part).map_or("–".into(), |value| format!("{value:.2}"))
    }

    /// The name of a part where it may be broken, so that all of them have room beside each other.
    fn head(&self, part: &IndexPart) -> String {
        part.name().replace('_', "_<wbr>")
    }

    fn failed(&self) -> u64 {
        self.whole.points.iter().filter(|point| point.fits == Some(false)).count() as u64
    }
}

/// `GET /nodes/{name}`.
pub(super) async fn page(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Watch)?;
    let mut whole = manage::details(&service.store, &name).await?;
    // What keeps it out of its pool comes first, what nobody requires last.
    whole.points.sort_by_key(|point| match point.fits {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    });
    let suspects = manage::suspects(&service.store, &name, LISTED, now()).await?;
    let charts = charts(&whole.index, now());
    let mut parts: Vec<IndexPart> =
        whole.index.iter().flat_map(|taken| taken.parts.keys().copied()).collect();
    parts.sort();
    parts.dedup();
    Ok(show(&NodePage { frame, whole, suspects, charts, parts }))
}

/// A chart for each group that was measured more than once: how much slower than the median each part was.
fn charts(index: &[TakenView], now: Timestamp) -> Vec<Drawn> {
    let drawn = |group: IndexGroup| {
        let parts = IndexPart::ALL.into_iter().filter(|part| part.group() == group);
        let curves: Vec<PowerCurve> = parts.filter_map(|part| curve(part, index, now)).collect();
        let title = format!("Parts of {} over time, against their median", group.name());
        (!curves.is_empty()).then(|| Drawn { name: group.name(), chart: power_chart(&title, &curves) })
    };
    IndexGroup::ALL.into_iter().filter_map(drawn).collect()
}

/// `None`: it was measured less than twice.
fn curve(part: IndexPart, index: &[TakenView], now: Timestamp) -> Option<PowerCurve> {
    let taken = index.iter().rev().filter_map(|taken| Some((taken.moment, *taken.parts.get(&part)?)));
    let taken: Vec<(Timestamp, f64)> = taken.filter(|(_, value)| *value > 0.0).collect();
    let usual = stats::median(&taken.iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
    let slower = |value: f64| if part.more_is_better() { usual / value - 1.0 } else { value / usual - 1.0 };
    let hours = |at: Timestamp| at.0.saturating_sub(now.0) as f64 / 3.6e9;
    let points: Vec<(f64, f64)> =
        taken.iter().map(|(at, value)| (hours(*at), 100.0 * slower(*value))).collect();
    (points.len() > 1).then(|| PowerCurve { name: part.name().into(), points })
}

#[derive(Deserialize)]
pub(super) struct Why {
    #[serde(default)]
    reason: String,
}

fn back(name: &str) -> Response {
    Redirect::to(&format!("/nodes/{}", encoded(name))).into_response()
}

/// `POST /nodes/{name}/drain`.
pub(super) async fn drain(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    Form(why): Form<Why>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Administer)?;
    manage::drain(&service.store, &name, &why.reason, &who(&frame.caller), now()).await?;
    Ok(back(&name))
}

/// `POST /nodes/{name}/return`.
pub(super) async fn give_back(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
    Form(why): Form<Why>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Administer)?;
    manage::return_node(&service.store, &name, &why.reason, &who(&frame.caller), now()).await?;
    Ok(back(&name))
}

/// `POST /nodes/{name}/rejudge`.
pub(super) async fn rejudge(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    frame.caller.must(Right::Rejudge)?;
    let id = again(&service, &frame.caller, &name).await?;
    Ok(Redirect::to(&format!("/rejudge/{id}")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn slower_is_up_whichever_way_a_part_is_measured() {
        let taken = |hours: i64, clock: f64, dram: f64| TakenView {
            at: String::new(),
            moment: Timestamp(hours * 3_600_000_000),
            probe: true,
            parts: BTreeMap::from([(IndexPart::Clock, clock), (IndexPart::Dram, dram)]),
        };
        let index = [taken(9, 2.0, 110.0), taken(8, 4.0, 100.0), taken(7, 4.0, 100.0)];
        let now = Timestamp(10 * 3_600_000_000);
        let of = |part| curve(part, &index, now).map(|curve| curve.points);
        assert_eq!(of(IndexPart::Clock).unwrap(), [(-3.0, 0.0), (-2.0, 0.0), (-1.0, 100.0)]);
        let dram = of(IndexPart::Dram).unwrap();
        assert!((dram[2].1 - 10.0).abs() < 1e-9, "{dram:?}");
        assert_eq!(of(IndexPart::L1), None);
        let names: Vec<_> = charts(&index, now).iter().map(|drawn| drawn.name).collect();
        assert_eq!(names, ["core", "memory"]);
        assert!(charts(&index[..1], now).is_empty());
    }
}
