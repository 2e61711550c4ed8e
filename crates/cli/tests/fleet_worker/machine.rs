//! The machine of a worker: probes, packages, disks; and workers that are not wanted.

use crate::fake_service::{FakeService, FakeServiceState, printed, script};
use fleet::nats::Ask;
use fleet::{Mode, Outcome, TimeLimit, Work};
use model::Nanos;
use sha2::{Digest, Sha256};
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const PROBLEM: &str = "tickets";

/// An example problem as an archive, and its hash.
fn package() -> (String, Vec<u8>) {
    fn add(zip: &mut ZipWriter<Cursor<Vec<u8>>>, directory: &Path, below: &str) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                add(zip, &entry.path(), &format!("{name}/"));
                continue;
            }
            zip.start_file(name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
            zip.write_all(&std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    add(&mut zip, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(PROBLEM), "");
    let bytes = zip.finish().unwrap().into_inner();
    (Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect(), bytes)
}

fn judge(package: &str) -> Work {
    Work::Judge {
        package: package.into(),
        problem: PROBLEM.into(),
        language: None,
        files: Vec::new(),
        jury: Some("submissions/accepted/prefixes.py".into()),
        mode: Mode::StopEarly,
        clock: None,
        time_limit: Some(TimeLimit { limit: Nanos::from_secs(20), source: "told".into() }),
        opinions: None,
    }
}

fn verdict(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Judged { judgement } => judgement.verdict.to_string(),
        other => panic!("{other:?}"),
    }
}

fn damaged(ask: &Ask) -> Option<bool> {
    if let Ask::Package { damaged, .. } = ask { Some(*damaged) } else { None }
}

/// A package that the object store does not have is asked for; one that comes wrong is asked for once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packages_come_by_hash_and_are_verified() {
    let Some(service) = FakeService::open().await else { return };
    let (hash, bytes) = package();
    service.state.lock().unwrap().packages.insert(hash.clone(), vec![bytes, b"wrong".to_vec()]);
    let _worker = service.worker();
    service.job(1, judge(&hash)).await;
    assert_eq!(verdict(&service.outcome(1).await), "AC");
    service.job(2, judge(&hash)).await;
    assert_eq!(verdict(&service.outcome(2).await), "AC");
    let asked: Vec<bool> = service.state.lock().unwrap().asked.iter().filter_map(damaged).collect();
    assert_eq!(asked, [false, true], "and then it is kept");
}

/// Twice wrong: the task goes back, the service is told why, and the worker takes nothing until the package comes right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_package_that_stays_wrong_stops_the_worker_until_it_comes_right() {
    let Some(service) = FakeService::open().await else { return };
    let (hash, bytes) = package();
    service.nats.put_package(&hash, &b"wrong"[..]).await.unwrap();
    service.state.lock().unwrap().packages.insert(hash.clone(), vec![b"wrong, too".to_vec()]);
    let _worker = service.worker();
    service.job(1, judge(&hash)).await;
    let Outcome::Returned { why } = service.outcome(1).await else { panic!("it goes back") };
    assert!(why.starts_with(&format!("package {hash} came as ")), "{why}");
    let told =
        service.until("the trouble is told", |state| state.greetings.last()?.troubles.first().cloned()).await;
    assert_eq!(told, why);
    service.job(2, script("echo 2", Nanos::from_secs(1))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(service.state.lock().unwrap().begun, [1], "nothing is taken");
    service.nats.put_package(&hash, &bytes[..]).await.unwrap();
    assert_eq!(printed(&service.outcome(2).await), "2\n");
    assert!(service.state.lock().unwrap().greetings.last().unwrap().troubles.is_empty());
}

/// A file system of so many bytes at a directory; `None`: we may not.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(at: &Path, size: &str) -> Option<Disk> {
        std::fs::create_dir_all(at).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(at);
        command.output().is_ok_and(|output| output.status.success()).then(|| Disk(at.to_path_buf()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_the_worker_until_there_is_room() {
    let Some(service) = FakeService::open().await else { return };
    let kept = service.data().join("worker-packages");
    let Some(_disk) = Disk::mount(&kept, "64k") else { return };
    std::fs::write(kept.join("filler"), vec![0; 60 << 10]).unwrap();
    let (hash, bytes) = package();
    service.nats.put_package(&hash, &bytes[..]).await.unwrap();
    let _worker = service.worker();
    service.job(1, judge(&hash)).await;
    let Outcome::Returned { why } = service.outcome(1).await else { panic!("it goes back") };
    assert!(why.contains("worker-packages") && why.contains("No space left on device"), "{why}");
    let told =
        service.until("the trouble is told", |state| state.greetings.last()?.troubles.first().cloned()).await;
    assert_eq!(told, why);
    service.job(2, judge(&hash)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(service.state.lock().unwrap().begun, [1], "nothing is taken");
    let larger = ["-o", "remount,size=64m"];
    assert!(Command::new("mount").args(larger).arg(&kept).status().unwrap().success());
    assert_eq!(verdict(&service.outcome(2).await), "AC");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slot_is_probed_between_tasks() {
    let Some(service) = FakeService::open().await else { return };
    service.state.lock().unwrap().probe_every_secs = Some(1);
    let _worker = service.worker();
    // One that was disturbed is dropped: some come through all the same, or this machine could not judge either.
    let probe = |ask: &Ask| if let Ask::Probe { probe } = ask { Some(probe.clone()) } else { None };
    let probe = service.until("a probe", |state| state.asked.iter().find_map(probe)).await;
    assert!(probe.parts.len() >= 3 && probe.parts.iter().all(|(_, value)| *value > 0.0), "{probe:?}");
    service.job(1, script("echo 1", Nanos::from_secs(1))).await;
    assert_eq!(printed(&service.outcome(1).await), "1\n");
}

/// A probe comes though there are always tickets. How far it is put off is a rule of its own (`worker::job_loop::turn`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_is_not_put_off_for_ever() {
    let Some(service) = FakeService::open().await else { return };
    service.state.lock().unwrap().probe_every_secs = Some(2);
    let tasks = 200;
    for job in 1..=tasks {
        service.job(job, script("sleep 0.2", Nanos::from_secs(1))).await;
    }
    let _worker = service.worker();
    let probes =
        |state: &FakeServiceState| state.asked.iter().filter(|ask| matches!(ask, Ask::Probe { .. })).count();
    let left = service
        .until("a second probe", |state| (probes(state) > 1).then_some(tasks - state.begun.len() as i64))
        .await;
    assert!(left > 0, "it came when there was nothing else to do");
}

/// Who is not wanted ends with the exit code of bad usage, and the remedy in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_cannot_be_used_ends() {
    let Some(service) = FakeService::open().await else { return };
    service.state.lock().unwrap().refused = Some("it speaks protocol 9: upgrade the service".into());
    let mut worker = service.worker();
    assert_eq!(worker.ends().await, Some(2), "{}", worker.log());
    assert!(worker.log().contains("it speaks protocol 9: upgrade the service"), "{}", worker.log());
    for (more, part) in [
        (&["--nats-ca", "/missing.pem"][..], "--nats-ca: /missing.pem: "),
        (&["--connect", "/somewhere", "--nats", "nats://a"], "give only one"),
        (&["--nats", "http://a"], "`http` is not a way to NATS"),
    ] {
        let mut worker = service.worker_with(more);
        assert_eq!(worker.ends().await, Some(2), "{}", worker.log());
        assert!(worker.log().contains(part), "{part}: {}", worker.log());
    }
}
