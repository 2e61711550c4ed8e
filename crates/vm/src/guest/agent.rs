//! Hands the host's requests to the launcher.

use crate::frame::{self, Kind};
use crate::message::{NumberedRequest, NumberedResponse, Request, Response, Role, VERSION};
use crate::port::{Port, UNREAD};
use engine::{Runner, SystemError, files};
use model::{Nanos, RunSpec};
use rustix::fs::{Mode, fchmod};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Launcher, LauncherOptions};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// How often the host is told that somebody is there.
const BEAT: Duration = Duration::from_secs(1);

/// Channels whose bytes come with a request.
type Channels = BTreeMap<u8, Receiver<Vec<u8>>>;

/// Serves until the port ends.
pub(super) fn serve(file: File) -> Result<(), String> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // The first one is for everything but runs.
    let housekeeping = if cpus > 1 { vec![0] } else { vec![] };
    let options = LauncherOptions { housekeeping, ..LauncherOptions::default() };
    let launcher = Arc::new(Launcher::start(&options).map_err(|e| e.to_string())?);
    let out = file.try_clone().map_err(|e| e.to_string())?;
    let port = Arc::new(Port::new(out));
    let weaker = launcher.capabilities().weaker.clone();
    answer(&port, 0, Response::Ready { version: VERSION, weaker });
    let beating = port.clone();
    spawn(move || {
        while beating.send(Kind::Beat, 0, &[]).is_ok() {
            std::thread::sleep(BEAT);
        }
    });
    let (requests, mine) = channel::<(NumberedRequest, Channels)>();
    let worker = (port.clone(), launcher.clone());
    spawn(move || {
        let (port, launcher) = worker;
        let mut fed = Vec::new();
        for (NumberedRequest { serial, ask }, channels) in mine {
            // What the last run did not read is still on its way.
            fed.drain(..).for_each(|thread: JoinHandle<()>| drop(thread.join()));
            let told = handle(&port, &launcher, ask, channels, &mut fed);
            let failed =
                |e: SystemError| Response::Failed { what: e.what, why: e.why, blame: e.blame.into() };
            answer(&port, serial, told.unwrap_or_else(failed));
        }
    });
    let ender = launcher.ender();
    let mut from = BufReader::new(file);
    while let Some(frame) = frame::read(&mut from).map_err(|e| e.to_string())? {
        let Some(document) = port.mind(frame)? else { continue };
        let asked: NumberedRequest = serde_json::from_slice(&document).map_err(|e| e.to_string())?;
        if let Request::EndRun { output } = asked.ask {
            ender.end_run(output);
            continue;
        }
        // Before the next frame is read, which may be the first of these.
        let channels = comes_with(&asked.ask).into_iter().map(|n| (n, port.open_in(n))).collect();
        if requests.send((asked, channels)).is_err() {
            break;
        }
    }
    Ok(())
}

fn comes_with(ask: &Request) -> Vec<u8> {
    match ask {
        Request::Put { .. } => vec![0],
        Request::Run { fds, .. } => {
            let comes = |role: &Role| matches!(role, Role::Stored { .. } | Role::Shared | Role::Fed);
            (0..).zip(fds).filter(|(_, role)| comes(role)).map(|(n, _)| n).collect()
        }
        _ => Vec::new(),
    }
}

fn answer(port: &Port, serial: u64, told: Response) {
    let bytes = serde_json::to_vec(&NumberedResponse { serial, told }).unwrap_or_default();
    if port.send(Kind::Document, 0, &bytes).is_err() {
        // Too long, such as a list of very many files.
        let (what, why) = ("answering the host".into(), "longer than an answer may be".into());
        let told = Response::Failed { what, why, blame: crate::message::WireBlame::Machine };
        let bytes = serde_json::to_vec(&NumberedResponse { serial, told }).unwrap_or_default();
        let _ = port.send(Kind::Document, 0, &bytes);
    }
}

fn fault(what: &str) -> impl Fn(std::io::Error) -> SystemError {
    move |e| SystemError::new(what, e.to_string())
}

fn handle(
    port: &Arc<Port>,
    launcher: &Launcher,
    ask: Request,
    mut channels: Channels,
    fed: &mut Vec<JoinHandle<()>>,
) -> Result<Response, SystemError> {
    let runner: &dyn Runner = launcher;
    Ok(match ask {
        Request::CreateBox { size } => Response::Box(runner.create_box(size)?),
        Request::Put { id, path, executable } => {
            let content = stored(port, 0, channels.remove(&0))?;
            runner.put(id, &path, executable, &content)?;
            Response::Done
        }
        Request::Fetch { id, path } => {
            let found = runner.fetch(id, &path)?;
            let answer = found.as_ref().map(|_| ());
            if let Some(file) = found.file() {
                give(port, 0, &file)?;
            }
            Response::File(answer)
        }
        Request::List { id } => Response::Files(runner.list(id)?),
        Request::Remove { id, path } => {
            runner.remove(id, &path)?;
            Response::Done
        }
        Request::DropBox { id } => {
            runner.drop_box(id)?;
            Response::Done
        }
        Request::Run { spec, fds } => run(port, runner, &spec, &fds, channels, fed)?,
        Request::EndRun { .. } => Response::Done,
    })
}

/// What comes on a channel, in memory, to be read from its start.
fn stored(port: &Port, number: u8, from: Option<Receiver<Vec<u8>>>) -> Result<File, SystemError> {
    const WHAT: &str = "taking a file from the host";
    let mut file = files::in_memory("from the host")?;
    if let Some(from) = from {
        port.collect(number, &from, &file, u64::MAX, &AtomicBool::new(false)).map_err(fault(WHAT))?;
    }
    file.seek(SeekFrom::Start(0)).map_err(fault(WHAT))?;
    Ok(file)
}

/// Sends a file from its start.
fn give(port: &Port, number: u8, mut file: &File) -> Result<(), SystemError> {
    const WHAT: &str = "giving a file to the host";
    file.seek(SeekFrom::Start(0)).map_err(fault(WHAT))?;
    port.pump(number, file, &|_| false, None).map_err(fault(WHAT))
}

fn run(
    port: &Arc<Port>,
    runner: &dyn Runner,
    spec: &RunSpec,
    roles: &[Role],
    mut channels: Channels,
    fed: &mut Vec<JoinHandle<()>>,
) -> Result<Response, SystemError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| SystemError::new("making a pipe", e.to_string()));
    let over = Arc::new(AtomicBool::new(false));
    let copy = |file: &File| file.try_clone().map_err(fault("duplicating a descriptor"));
    let (mut fds, mut back, mut telling) = (Vec::<OwnedFd>::new(), Vec::new(), Vec::new());
    for (n, role) in (0..).zip(roles) {
        let fd: OwnedFd = match role {
            Role::Stored { mode } => {
                let file = stored(port, n, channels.remove(&n))?;
                fchmod(&file, Mode::from_raw_mode(mode & 0o777))
                    .map_err(|e| fault("setting a mode")(e.into()))?;
                file.into()
            }
            Role::Shared => {
                let file = stored(port, n, channels.remove(&n))?;
                back.push((n, copy(&file)?));
                file.into()
            }
            Role::Gathered => {
                let file = files::in_memory("output")?;
                back.push((n, copy(&file)?));
                file.into()
            }
            Role::Fed => {
                let (read, write) = pipe()?;
                if let Some(from) = channels.remove(&n) {
                    let (port, write) = (port.clone(), File::from(write));
                    fed.push(spawn(move || {
                        drop(port.collect(n, &from, &write, u64::MAX, &AtomicBool::new(false)))
                    }));
                }
                read
            }
            Role::Told => {
                let (read, write) = pipe()?;
                let (port, read, over) = (port.clone(), File::from(read), over.clone());
                telling.push(spawn(move || {
                    let left = |still| over.load(Ordering::SeqCst) && still > UNREAD;
                    drop(port.pump(n, &read, &left, None));
                }));
                write
            }
            Role::Same(other) => {
                let other = fds.get(usize::from(*other));
                let other =
                    other.ok_or_else(|| SystemError::new("a run's descriptors", "they refer to none"))?;
                other.try_clone().map_err(fault("duplicating a descriptor"))?
            }
        };
        fds.push(fd);
    }
    let observed = runner.run(spec, fds);
    over.store(true, Ordering::SeqCst);
    // These end: nobody writes any more, and unread output is dropped.
    telling.into_iter().for_each(|thread| drop(thread.join()));
    for (n, file) in back {
        give(port, n, &file)?;
    }
    let observation = Box::new(observed?);
    let now = clock_gettime(ClockId::Monotonic);
    let now = Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
    Ok(Response::Observed { age: now - observation.ended, observation })
}
