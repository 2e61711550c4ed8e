//! A process that hands in, judges and rejudges is killed at any moment, again and again. What it was told is done is done,
//! and nothing is there by half.

mod common;

use common::cluster::Cluster;
use common::samples::{AGAIN, at, claim, judge_all, judgement, lease, submission, submit};
use common::{Database, Engine, run};
use libtest_mimic::{Arguments, Failed, Trial};
use model::Verdict;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write, stdout};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use store::{Conclusion, Store, SubmissionId};

/// Names the database to the process that is killed.
const DATABASE: &str = "STORE_TEST_DATABASE";
/// Begins the names of its submissions.
const ROUND: &str = "STORE_TEST_ROUND";

const ROUNDS: usize = 12;

/// What the process said before it was killed.
#[derive(Debug, Default)]
struct Said {
    accepted: BTreeSet<String>,
    judged: BTreeSet<(i64, u64)>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["accepted", token] => assert!(self.accepted.insert(token.into()), "{token} twice"),
            ["judged", submission, number] => {
                let judged = (submission.parse().unwrap(), number.parse().unwrap());
                assert!(self.judged.insert(judged), "{judged:?} twice");
            }
            // The last line may be cut short; it was then not said.
            _ => {}
        }
    }
}

/// What the process does until it is killed: two submit and have judged again, two judge, and one takes back.
fn work() {
    let url = std::env::var(DATABASE).expect("a database");
    let round = std::env::var(ROUND).expect("a round");
    run(async {
        let store = Store::open(&url).await.expect("the database opens");
        let tasks = [
            tokio::spawn(hand_in(store.clone(), format!("{round}-a"))),
            tokio::spawn(hand_in(store.clone(), format!("{round}-b"))),
            tokio::spawn(judge(store.clone())),
            tokio::spawn(judge(store.clone())),
        ];
        for task in tasks {
            task.await.expect("it goes on until it is killed");
        }
    });
}

fn say(line: &str) {
    stdout().write_all(format!("{line}\n").as_bytes()).expect("somebody listens");
}

async fn hand_in(store: Store, prefix: String) {
    for n in 0.. {
        let token = format!("{prefix}-{n}");
        let id = submit(&store, &token).await;
        say(&format!("accepted {token}"));
        if n % 3 == 0 {
            store.rejudge(id, AGAIN).await.expect("it is asked for");
        }
    }
}

async fn judge(store: Store) {
    for n in 0.. {
        let Some(job) = claim(&store, "w").await else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        if n % 5 == 4 {
            store.give_back(lease(&job), "tired").await.expect("it is taken back");
            continue;
        }
        store
            .finish(lease(&job), &judgement(Verdict::Accepted), None, at(1), Conclusion::stands())
            .await
            .expect("it is stored");
        say(&format!("judged {} {}", job.submission, job.id));
    }
}

/// Lets the process work until it has said so many lines, kills it, and adds what it said.
fn kill_after(lines: usize, round: usize, url: &str, said: &mut Said) {
    let own = std::env::current_exe().expect("the own path");
    let child =
        Command::new(own).env(DATABASE, url).env(ROUND, round.to_string()).stdout(Stdio::piped()).spawn();
    let mut child: Child = child.expect("it starts");
    let mut heard = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for line in heard.by_ref().take(lines) {
        said.hear(&line.expect("a line"));
    }
    child.kill().expect("it is killed");
    let status = child.wait().expect("it has ended");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9),
        "it ended by itself: {status}"
    );
    heard.for_each(|line| said.hear(&line.expect("a line")));
}

/// Everything that was said is so.
async fn all_is_there(store: &Store, said: &Said) {
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    for token in &said.accepted {
        let found = store.submission_of_token(token).await.unwrap_or_else(|e| panic!("accepted, but {e}"));
        assert_eq!(store.files(found.id).await.unwrap().len(), 1);
    }
    for (submission, job) in &said.judged {
        let history = store.history(SubmissionId(*submission)).await.unwrap();
        assert!(
            history.iter().any(|j| j.job.0 as u64 == *job),
            "job {job} was judged, and its judgement is gone"
        );
    }
}

fn killed_again_and_again(database: &Database) {
    let mut said = Said::default();
    for round in 0..ROUNDS {
        // Also before the first word, and at many places of a round.
        kill_after(round * 7 % 40 + usize::from(round > 0), round, &database.url, &mut said);
        run(async {
            let store = database.open().await;
            all_is_there(&store, &said).await;
            store.reap(at(1000)).await.unwrap();
            store.close().await;
        });
    }
    run(async {
        let store = database.open().await;
        judge_all(&store, Verdict::WrongAnswer).await;
        all_is_there(&store, &said).await;
        let counts = store.counts().await.unwrap();
        let verdicts: u64 = counts.verdicts.iter().map(|(_, n)| n).sum();
        assert_eq!((verdicts, counts.live, counts.background, counts.claimed), (counts.submissions, 0, 0, 0));
        assert!(
            said.accepted.len() > ROUNDS && said.judged.len() > ROUNDS,
            "too little was done to tell: {said:?}"
        );
        assert!(store.submit(&submission("after")).await.is_ok());
    });
}

fn main() -> ExitCode {
    if std::env::var_os(DATABASE).is_some() {
        work();
        return ExitCode::FAILURE;
    }
    let arguments = Arguments::from_args();
    // By this thread, with which the server would end.
    let server = if arguments.list { Err("not to be run".to_string()) } else { Cluster::start() };
    let server = Arc::new(server);
    let trial = |engine: Engine| {
        let server = Arc::clone(&server);
        Trial::test(format!("killed again and again ({engine:?})"), move || {
            let database = match engine {
                Engine::Sqlite => Database::sqlite(),
                Engine::Postgres => Database::postgres(server.as_ref().as_ref().map_err(Failed::from)?),
            };
            killed_again_and_again(&database);
            Ok(())
        })
    };
    let conclusion = libtest_mimic::run(&arguments, vec![trial(Engine::Sqlite), trial(Engine::Postgres)]);
    // The last reference: the server ends here, not with the process.
    drop(server);
    conclusion.exit_code()
}
