//! A submission judged many times: how far its times vary.

use super::filters;
use super::submission::{found, home};
use super::{Frame, Refused, show};
use crate::accounts::Right;
use crate::api::judgements::may_try;
use crate::errors::Refusal;
use crate::rejudge::{self, Ask};
use crate::service::Service;
use crate::view::{Series, SeriesTest, series};
use askama::Template;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use model::{Charge, Clock, Nanos};
use report::html::{ChartedRun, RunsChart, runs_chart};
use serde::Deserialize;
use std::sync::Arc;
use store::{Purpose, Submission};

/// What changes while the trials go on.
struct TrialsProgress {
    token: String,
    series: Series,
    /// The name of the test whose runs are drawn, and the picture.
    drawn: Option<(String, String)>,
}

impl TrialsProgress {
    fn asked(&self) -> u64 {
        self.series.judgements.len() as u64 + self.series.waiting
    }

    fn time(&self, ns: &u64) -> String {
        Charge { clock: self.series.clock, amount: *ns }.to_string()
    }

    fn percent(&self, percent: &f64) -> String {
        format!("{percent:.2} %")
    }
}

#[derive(Template)]
#[template(path = "consistency_part.html")]
struct PartPage {
    part: TrialsProgress,
}

#[derive(Template)]
#[template(path = "consistency.html")]
struct ConsistencyPage {
    frame: Frame,
    submission: Submission,
    /// Of its problem; empty where it has none.
    title: String,
    /// The name of the problem whose page leads here.
    home: Option<String>,
    part: TrialsProgress,
    may_try: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    /// The test whose runs are drawn.
    test: Option<String>,
}

/// `GET /submissions/{token}/consistency`.
pub(super) async fn page(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
    Query(which): Query<Which>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    let (home, title) = home(&service, &submission).await?;
    let part = part(&service, &submission, which.test.as_deref()).await?;
    let may_try =
        submission.forgotten.is_none() && may_try(&service, &frame.caller, &submission, 1).await.is_ok();
    Ok(show(&ConsistencyPage { frame, submission, title, home, part, may_try }))
}

/// `GET /submissions/{token}/consistency/part`: what changes.
pub(super) async fn part_alone(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
    Query(which): Query<Which>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    let part = part(&service, &submission, which.test.as_deref()).await?;
    let stands = if part.series.waiting == 0 { "done" } else { "going" };
    let mut response = show(&PartPage { part });
    response.headers_mut().insert(HeaderName::from_static("x-tauto-live"), HeaderValue::from_static(stands));
    Ok(response)
}

async fn part(
    service: &Service,
    submission: &Submission,
    test: Option<&str>,
) -> Result<TrialsProgress, Refusal> {
    let series = series(service, submission, None).await?;
    let named = test.and_then(|name| series.tests.iter().find(|test| test.name == name));
    let slowest =
        || series.tests.iter().max_by_key(|test| test.settled.as_ref().map(|spread| spread.median_ns));
    let drawn = named.or_else(slowest).map(|test| (test.name.clone(), chart(test, series.clock)));
    Ok(TrialsProgress { token: submission.token.clone(), drawn, series })
}

/// Every run of a test through the trials.
fn chart(test: &SeriesTest, clock: Clock) -> String {
    let mut numbers: Vec<u64> = test.points.iter().map(|point| point.judgement).collect();
    numbers.dedup();
    let column = |number: u64| numbers.iter().position(|known| *known == number).unwrap_or(0);
    let run = |point: &crate::view::Point| {
        let why = if point.disturbed.is_empty() {
            String::new()
        } else {
            format!(", disturbed by {}", point.disturbed.join(", "))
        };
        let void = if point.void { ", discarded" } else { "" };
        let time = Charge { clock, amount: point.time_ns };
        let title = format!("trial {}, run {}: {time}{void}{why}", column(point.judgement) + 1, point.run);
        ChartedRun { column: column(point.judgement), time: Nanos(point.time_ns), void: point.void, title }
    };
    let lines = test
        .runs
        .iter()
        .flat_map(|spread| [("min", spread.min_ns), ("median", spread.median_ns), ("max", spread.max_ns)]);
    runs_chart(&RunsChart {
        title: format!("{} of every run of {} through the trials", clock.label(), test.name),
        clock,
        x_label: "trial".into(),
        columns: Vec::new(),
        runs: test.points.iter().map(run).collect(),
        limit: None,
        band: None,
        from_zero: false,
        lines: lines.map(|(name, ns)| (name.to_string(), Nanos(ns))).collect(),
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct Ordered {
    times: u32,
}

/// `POST /submissions/{token}/consistency`.
pub(super) async fn order(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
    Form(ordered): Form<Ordered>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    may_try(&service, &frame.caller, &submission, ordered.times).await?;
    let ask = Ask::new(Purpose::Trial, ordered.times, "run-to-run variation", frame.caller.id());
    rejudge::again(&service, &[submission.id], ask).await?;
    Ok(Redirect::to(&format!("/submissions/{token}/consistency")).into_response())
}

/// `POST /submissions/{token}/rejudge`: one more judgement, which counts.
pub(super) async fn again(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(token): Path<String>,
) -> Result<Response, Refused> {
    let submission = found(&service, &frame.caller, &token).await?;
    frame.caller.must(Right::Rejudge)?;
    let urgency = store::Urgency::Live;
    let ask = Ask { urgency, ..Ask::new(Purpose::Verdict, 1, "requested on its page", frame.caller.id()) };
    rejudge::again(&service, &[submission.id], ask).await?;
    Ok(Redirect::to(&format!("/submissions/{token}")).into_response())
}
