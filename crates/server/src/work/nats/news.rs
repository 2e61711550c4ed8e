//! What happens in judgements, told between servers, so that whoever watches hears it at any of them.

use crate::live::LiveEvent;
use crate::service::Service;
use fleet::nats::{Nats, News};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::SubmissionId;

/// What a server tells the others.
#[derive(Serialize, Deserialize)]
struct ServerNews {
    /// Which server.
    by: String,
    event: LiveEvent,
}

/// Tells other servers what is told here. While the brokers are away it is lost: who watches there reads the store.
pub(super) async fn pass_on(service: Arc<Service>) {
    let (Some(brokers), Some(mut told)) = (&service.brokers, service.live.outlet()) else { return };
    while let Some((submission, event)) = told.recv().await {
        let Some(nats) = brokers.nats() else { continue };
        let Ok(news) = serde_json::to_value(ServerNews { by: brokers.own.clone(), event }) else { continue };
        if let Err(error) = nats.tell(submission.0, &News::Live(news)).await {
            tracing::debug!(%error, "telling other servers");
        }
    }
}

/// Tells watchers here what workers and other servers tell.
pub(super) async fn hear(service: Arc<Service>, nats: Nats) {
    let Some(brokers) = &service.brokers else { return };
    loop {
        match nats.news().await {
            Ok(mut news) => {
                while let Some((submission, news)) = news.next().await {
                    if let Some(event) = event(news, &brokers.own) {
                        service.live.hear(SubmissionId(submission), event);
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "hearing news"),
        }
        tokio::time::sleep(super::AGAIN).await;
    }
}

/// What watchers here are to hear of it: nothing that was told here.
fn event(news: News, own: &str) -> Option<LiveEvent> {
    match news {
        News::Event(progress) => Some(LiveEvent::Progress { progress }),
        News::Live(json) => {
            let told: ServerNews = serde_json::from_value(json).ok()?;
            (told.by != own).then_some(told.event)
        }
    }
}
