//! The service, as far as a worker sees it; and a worker.

use crate::brokers::Brokers;
use fleet::nats::{Ask, Greeting, Nats, News, NotBegun, Question, Reply, Standing};
use fleet::{JobId, Lease, Outcome, Task, Work};
use futures_util::StreamExt;
use model::{Bytes, Execution, Limits, Nanos, ProgramFile, ProgramKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Everything here happens within that, on machines that do much else, too.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a service does, and what it was told.
#[derive(Default)]
pub(crate) struct FakeServiceState {
    pub(crate) waits: Option<String>,
    pub(crate) refused: Option<String>,
    pub(crate) probe_every_secs: Option<u32>,
    pub(crate) tasks: BTreeMap<i64, Task>,
    /// Jobs that are to be left.
    pub(crate) cancelled: BTreeSet<i64>,
    /// So many outcomes are not heard.
    pub(crate) deaf: u32,
    /// By its hash, what is put into the object store where it is asked for: the last one first.
    pub(crate) packages: BTreeMap<String, Vec<Vec<u8>>>,
    pub(crate) greetings: Vec<Greeting>,
    pub(crate) begun: Vec<i64>,
    pub(crate) asked: Vec<Ask>,
    pub(crate) outcomes: Vec<(i64, Outcome)>,
}

/// A service.
pub(crate) struct FakeService {
    pub(crate) brokers: Brokers,
    pub(crate) nats: Nats,
    pub(crate) state: Arc<Mutex<FakeServiceState>>,
    pub(crate) news: Arc<Mutex<Vec<(i64, News)>>>,
    data: TempDir,
}

/// A worker. It ends with this value.
pub(crate) struct Worker {
    process: Child,
    log: PathBuf,
}

impl FakeService {
    /// Opens it; `None`: there are no brokers here.
    pub(crate) async fn open() -> Option<FakeService> {
        let brokers = Brokers::one("")?;
        let nats = brokers.ready().await;
        let (state, news) = (Arc::<Mutex<FakeServiceState>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (mut questions, mut told) = (nats.questions().await.unwrap(), nats.news().await.unwrap());
        let (own, notes) = (state.clone(), nats.clone());
        tokio::spawn(async move {
            while let Some(question) = questions.next().await {
                answer(&own, &notes, question).await;
            }
        });
        let heard = news.clone();
        tokio::spawn(async move {
            while let Some(one) = told.next().await {
                heard.lock().unwrap().push(one);
            }
        });
        Some(FakeService { brokers, nats, state, news, data: TempDir::new().unwrap() })
    }

    /// Where the worker keeps packages.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    pub(crate) fn worker(&self) -> Worker {
        self.worker_with(&[])
    }

    pub(crate) fn worker_with(&self, more: &[&str]) -> Worker {
        let log = self.data.path().join("worker.log");
        let out = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tauto"));
        command.args([
            "worker",
            "--single",
            "--slots",
            "none",
            "--speaker",
            "--node",
            "n1",
            "--pool",
            "metal",
        ]);
        command.args(more).env("TAUTO_NATS", self.brokers.url("")).env("TAUTO_DATA_DIR", self.data.path());
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out).spawn().expect("it starts");
        Worker { process, log }
    }

    /// Hands out a job.
    pub(crate) async fn job(&self, job: i64, work: Work) {
        let lease = Lease { job: JobId(job), attempt: 1 };
        let task = Task { lease, name: format!("job {job}"), work, may_be_postponed: true };
        self.state.lock().unwrap().tasks.insert(job, task);
        self.nats.publish_ticket("metal", lease).await.unwrap();
    }

    /// Waits until the book says something.
    pub(crate) async fn until<T>(&self, what: &str, says: impl Fn(&FakeServiceState) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            let said = says(&self.state.lock().unwrap());
            if let Some(said) = said {
                return said;
            }
            if begun.elapsed() > LONG {
                let log = std::fs::read_to_string(self.data.path().join("worker.log")).unwrap_or_default();
                let state = self.state.lock().unwrap();
                panic!(
                    "{what}: not within {LONG:?}; begun {:?}, outcomes {:?}\n{log}",
                    state.begun, state.outcomes
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The outcome of a job.
    pub(crate) async fn outcome(&self, job: i64) -> Outcome {
        let of = |state: &FakeServiceState| {
            state.outcomes.iter().find(|(of, _)| *of == job).map(|(_, outcome)| outcome.clone())
        };
        self.until(&format!("the outcome of job {job}"), of).await
    }

    pub(crate) async fn greeted(&self) {
        self.until("a greeting", |state| (!state.greetings.is_empty()).then_some(())).await;
    }
}

async fn answer(state: &Mutex<FakeServiceState>, nats: &Nats, question: Question) {
    let ask = question.ask.clone().expect("it can be read");
    let reply = match ask {
        Ask::Begin { ticket, .. } => {
            let job = ticket.job.0;
            let task = {
                let mut state = state.lock().unwrap();
                let ended = state.outcomes.iter().any(|(of, _)| *of == job);
                (!ended).then(|| {
                    state.begun.push(job);
                    state.tasks[&job].clone()
                })
            };
            match task {
                Some(task) => Reply::Begun { task: nats.body(&task).await.unwrap(), submission: 1000 + job },
                // A broker that is killed forgets what it handed out last, and hands out the ticket again.
                None => Reply::NotBegun(NotBegun::Over),
            }
        }
        Ask::Done { lease, outcome } => {
            let outcome = nats.read_body(outcome).await.unwrap();
            let mut state = state.lock().unwrap();
            if state.deaf > 0 {
                state.deaf -= 1;
                return;
            }
            state.outcomes.push((lease.job.0, outcome));
            Reply::Heard
        }
        Ask::Package { ref hash, .. } => {
            let content = {
                let mut state = state.lock().unwrap();
                state.asked.push(ask.clone());
                state.packages.get_mut(hash).and_then(Vec::pop)
            };
            if let Some(content) = &content {
                nats.put_package(hash, &content[..]).await.unwrap();
            }
            Reply::Package { there: content.is_some() }
        }
        other => noted(&mut state.lock().unwrap(), other),
    };
    question.answer(&reply).await.unwrap();
}

fn noted(state: &mut FakeServiceState, ask: Ask) -> Reply {
    let reply = match &ask {
        Ask::Hello(greeting) => {
            state.greetings.push((**greeting).clone());
            match (&state.refused, &state.waits) {
                (Some(why), _) => Reply::Refused { why: why.clone() },
                (_, Some(why)) => Reply::Standing(Standing::Waits { reasons: vec![why.clone()] }),
                _ if !greeting.troubles.is_empty() => {
                    Reply::Standing(Standing::Waits { reasons: greeting.troubles.clone() })
                }
                _ => Reply::Standing(Standing::Works {
                    probe_every_secs: state.probe_every_secs,
                    protocol: fleet::PROTOCOL,
                }),
            }
        }
        Ask::Keep { lease } if state.cancelled.contains(&lease.job.0) => Reply::Cancel,
        Ask::TimeLimit { found, .. } => Reply::TimeLimit { limit: found.clone() },
        _ => Reply::Heard,
    };
    state.asked.push(ask);
    reply
}

impl Worker {
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Waits for its end, and gives its exit code.
    pub(crate) async fn ends(&mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < LONG {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not end: {}", self.log());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a shell script.
pub(crate) fn script(text: &str, cpu: Nanos) -> Work {
    Work::Execute(Box::new(Execution {
        program: ProgramKind::Language("bash".into()),
        files: vec![ProgramFile { name: "main.sh".into(), content: text.into(), executable: false }],
        entry: None,
        compiler_options: Vec::new(),
        args: Vec::new(),
        stdin: "".into(),
        expected: None,
        limits: Limits { cpu: Some(cpu), ..Limits::default() },
        compile_limits: Limits::default(),
        runs: 1,
        redirect_stderr: false,
        keep_output: Bytes(4 << 20),
    }))
}

/// What a script printed.
pub(crate) fn printed(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Executed { executed } => executed.stdout.content.text(),
        other => panic!("{other:?}"),
    }
}
