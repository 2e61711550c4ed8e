//! Tasks: done, told, left, given back.

use crate::fake_service::{FakeService, printed, script};
use fleet::nats::{Ask, News};
use fleet::{JobId, Lease, Outcome};
use model::Nanos;
use std::time::Duration;

const SECOND: Nanos = Nanos::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_done_one_after_another_and_told() {
    let Some(service) = FakeService::open().await else { return };
    let _worker = service.worker();
    service.greeted().await;
    for job in 1..=3 {
        service.job(job, script(&format!("echo {job}"), SECOND)).await;
    }
    for job in 1..=3 {
        assert_eq!(printed(&service.outcome(job).await), format!("{job}\n"));
    }
    let (workers, news) = (service.nats.present().await.unwrap(), service.news.lock().unwrap().clone());
    assert_eq!(workers.len(), 1);
    assert_eq!(
        (workers[0].0.pool.as_str(), workers[0].0.node.as_str(), workers[0].0.slot),
        ("metal", "n1", 0)
    );
    assert!(news.iter().any(|(of, news)| *of == 1002 && matches!(news, News::Event(_))), "{news:?}");
    {
        let state = service.state.lock().unwrap();
        let stated =
            state.greetings.iter().filter_map(|greeting| greeting.statement.as_ref()).collect::<Vec<_>>();
        assert_eq!(stated.len(), 1, "once, until something changes");
        assert_eq!((stated[0].pool.as_str(), stated[0].node.as_str()), ("metal", "n1"));
        assert!(state.greetings[0].statement.is_some(), "with the first greeting");
        assert!(state.asked.iter().any(|ask| matches!(ask, Ask::Node { .. })));
    }
    // The tickets are done with: they do not come again.
    let mut tickets = service.nats.tickets("metal").await.unwrap();
    assert!(tickets.next(Duration::from_secs(1)).await.unwrap().is_none());
}

/// An outcome that is not heard is told again, and does not keep the next task from beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_told_until_it_is_heard() {
    let Some(service) = FakeService::open().await else { return };
    service.state.lock().unwrap().deaf = 2;
    let _worker = service.worker();
    service.job(1, script("echo 1", SECOND)).await;
    service.job(2, script("echo 2", SECOND)).await;
    assert_eq!(printed(&service.outcome(1).await), "1\n");
    assert_eq!(printed(&service.outcome(2).await), "2\n");
}

/// More than a message may have comes by the object store, both ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_tasks_and_outcomes_come_whole() {
    let Some(service) = FakeService::open().await else { return };
    let _worker = service.worker();
    let text = format!("# {}\nhead -c 1500000 /dev/zero | tr '\\0' x\n", "y".repeat(1_500_000));
    service.job(1, script(&text, Nanos::from_secs(5))).await;
    assert_eq!(printed(&service.outcome(1).await).len(), 1_500_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_cancelled_is_left_and_the_next_one_done() {
    let Some(service) = FakeService::open().await else { return };
    let _worker = service.worker();
    service.job(1, script("while :; do :; done", Nanos::from_secs(600))).await;
    service.until("it has begun", |state| state.begun.contains(&1).then_some(())).await;
    service.state.lock().unwrap().cancelled.insert(1);
    let Outcome::Returned { why } = service.outcome(1).await else { panic!("it was left") };
    assert_eq!(why, "the service wanted it to be left");
    service.job(2, script("echo 2", SECOND)).await;
    assert_eq!(printed(&service.outcome(2).await), "2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_ended_gives_its_task_back() {
    let Some(service) = FakeService::open().await else { return };
    let mut worker = service.worker();
    service.job(1, script("while :; do :; done", Nanos::from_secs(600))).await;
    service.until("it has begun", |state| state.begun.contains(&1).then_some(())).await;
    // Until the run has begun, or it would be given back for being asked before.
    tokio::time::sleep(Duration::from_secs(1)).await;
    worker.terminate();
    let Outcome::Returned { why } = service.outcome(1).await else { panic!("it was given back") };
    assert_eq!(why, "the worker was asked to stop");
    worker.ends().await;
    assert!(service.nats.present().await.unwrap().is_empty(), "it said that it leaves");
    let mut tickets = service.nats.tickets("metal").await.unwrap();
    assert!(tickets.next(Duration::from_secs(1)).await.unwrap().is_none(), "its ticket is done with");
}

/// The broker is killed while a task is being done, and comes back: the task is done all the same, and told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_outlives_its_broker() {
    let Some(mut service) = FakeService::open().await else { return };
    let _worker = service.worker();
    service.job(1, script("sleep 8; echo done", Nanos::from_secs(60))).await;
    // Before it is kept, an answer may be lost on its way and asked for again, which is another matter.
    let kept = |asked: &Ask| matches!(asked, Ask::Keep { lease } if lease.job == JobId(1));
    service.until("it is kept", |state| state.asked.iter().any(kept).then_some(())).await;
    service.brokers.kill(0);
    tokio::time::sleep(Duration::from_secs(3)).await;
    service.brokers.run(0);
    assert_eq!(printed(&service.outcome(1).await), "done\n");
    service.job(2, script("echo 2", SECOND)).await;
    assert_eq!(printed(&service.outcome(2).await), "2\n");
    let begun = service.state.lock().unwrap().begun.clone();
    assert_eq!(begun.iter().filter(|job| **job == 1).count(), 1, "once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_waits_takes_no_ticket() {
    let Some(service) = FakeService::open().await else { return };
    service.state.lock().unwrap().waits = Some("not admitted".into());
    let worker = service.worker();
    service.greeted().await;
    service.job(1, script("echo 1", SECOND)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut tickets = service.nats.tickets("metal").await.unwrap();
    let ticket = tickets.next(Duration::from_secs(5)).await.unwrap().expect("it is there still");
    assert_eq!(ticket.lease, Lease { job: JobId(1), attempt: 1 });
    assert!(worker.log().contains("not admitted"), "{}", worker.log());
    ticket.later(Duration::ZERO).await.unwrap();
    drop(tickets);
    service.state.lock().unwrap().waits = None;
    assert_eq!(printed(&service.outcome(1).await), "1\n", "it is admitted");
}
