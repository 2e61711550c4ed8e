//! A worker by a service's socket: what it has is left when the service wants that, and outlives the connection.

use crate::fake_service::{printed, script};
use fleet::{Frame, FromWorker, JobId, Lease, Outcome, Task, ToWorker};
use model::Nanos;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Everything here happens within that, on machines that do much else, too.
const LONG: Duration = Duration::from_secs(60);

struct Service {
    listener: UnixListener,
    data: TempDir,
}

struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Service {
    fn open() -> Service {
        let data = TempDir::new().unwrap();
        Service { listener: UnixListener::bind(data.path().join("work.sock")).unwrap(), data }
    }

    fn worker(&self) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tauto"));
        command.args(["worker", "--single", "--slots", "none", "--node", "n1", "--connect"]);
        command.arg(self.data.path().join("work.sock")).env("TAUTO_DATA_DIR", self.data.path());
        let log = std::fs::File::create(self.data.path().join("worker.log")).unwrap();
        Worker(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("it starts"))
    }

    /// A worker connects and is greeted: what it holds still.
    fn greet(&self) -> (UnixStream, Option<Lease>) {
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let FromWorker::Hello(hello) = hear(&stream) else { panic!("no greeting") };
        say(&stream, &ToWorker::Welcome { protocol: fleet::PROTOCOL });
        (stream, hello.holding)
    }
}

fn hear(from: &UnixStream) -> FromWorker {
    loop {
        match fleet::read_frame(&mut { from }).expect("it says something") {
            Frame::Message(FromWorker::Event { .. }) => {}
            Frame::Message(message) => return message,
            Frame::Bytes(_) => panic!("bytes"),
        }
    }
}

fn say(to: &UnixStream, message: &ToWorker) {
    fleet::write_frame(&mut { to }, message).unwrap();
}

/// The worker is free, and gets a script to run.
fn hand_out(to: &UnixStream, job: i64, text: &str, cpu: u64) -> Lease {
    assert_eq!(hear(to), FromWorker::Ready);
    let lease = Lease { job: JobId(job), attempt: 1 };
    let (name, work) = (format!("job {job}"), script(text, Nanos::from_secs(cpu)));
    say(to, &ToWorker::Task(Box::new(Task { lease, name, work, may_be_postponed: true })));
    lease
}

/// The worker tells what came of that job.
fn outcome(from: &UnixStream, of: Lease) -> Outcome {
    let FromWorker::Done { lease, outcome } = hear(from) else { panic!("it is not done") };
    assert_eq!(lease, of);
    outcome
}

/// The run has begun: earlier it would be left for another reason.
fn begun() {
    std::thread::sleep(Duration::from_secs(1));
}

#[test]
fn a_task_is_left_when_the_service_wants_that() {
    let service = Service::open();
    let _worker = service.worker();
    let (stream, holding) = service.greet();
    assert_eq!(holding, None);
    let lease = hand_out(&stream, 1, "while :; do :; done", 600);
    begun();
    say(&stream, &ToWorker::Cancel { lease });
    let Outcome::Returned { why } = outcome(&stream, lease) else { panic!("it was left") };
    assert_eq!(why, "the service wanted it to be left");
    say(&stream, &ToWorker::Heard { lease });
    let next = hand_out(&stream, 2, "echo 2", 1);
    assert_eq!(printed(&outcome(&stream, next)), "2\n");
}

#[test]
fn what_came_of_a_task_is_told_over_the_next_connection() {
    let service = Service::open();
    let _worker = service.worker();
    let (stream, _) = service.greet();
    let lease = hand_out(&stream, 1, "sleep 2; echo 1", 5);
    begun();
    drop(stream);
    let (stream, holding) = service.greet();
    assert_eq!(holding, Some(lease));
    assert_eq!(printed(&outcome(&stream, lease)), "1\n");
    // It is not heard, and told until it is.
    drop(stream);
    let (stream, holding) = service.greet();
    assert_eq!(holding, Some(lease));
    assert_eq!(printed(&outcome(&stream, lease)), "1\n");
    say(&stream, &ToWorker::Heard { lease });
    let next = hand_out(&stream, 2, "echo 2", 1);
    assert_eq!(printed(&outcome(&stream, next)), "2\n");
}
