//! Finding, starting and watching the binary.

use std::env;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a reader of `tauto`'s own streams is waited for after its end: they end with it unless something
/// that was left behind holds them.
const STREAMS_END_WITHIN: Duration = Duration::from_secs(5);

/// Kept of each stream.
const KEPT: usize = 1 << 20;

/// The binary under test: `$TAUTO_BIN`, else the workspace's own, built as the tests are.
///
/// # Errors
/// It cannot be built, or is not there.
pub fn binary() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(find_or_build).clone()
}

fn find_or_build() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("TAUTO_BIN").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(format!("TAUTO_BIN: no file {}", path.display())) };
    }
    let own = env::current_exe().map_err(|error| format!("own path: {error}"))?;
    // target/PROFILE/deps/test-binary
    let profile = own.ancestors().nth(2).ok_or("the tests lie in no target directory")?;
    let mut build = crate::child::command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--workspace", "--bin", "tauto", "--manifest-path"]);
    build.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    if let Some(target) = profile.parent() {
        build.arg("--target-dir").arg(target);
    }
    let output = build.output().map_err(|error| format!("cargo build: {error}"))?;
    let path = profile.join("tauto");
    if output.status.success() && path.is_file() {
        Ok(path)
    } else {
        Err(format!("cargo build --workspace --bin tauto: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// How an invocation ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// Its standard output, the first MiB.
    pub stdout: String,
    /// Its standard error, the first MiB.
    pub stderr: String,
}

impl Ended {
    /// The exit code; a signal is a failure.
    ///
    /// # Errors
    /// It was ended by a signal.
    pub fn code(&self) -> Result<i32, String> {
        self.status
            .code()
            .ok_or_else(|| format!("tauto was ended by signal {:?}: {}", self.status.signal(), self.stderr))
    }

    /// Standard output as exactly one JSON document.
    ///
    /// # Errors
    /// It is none.
    pub fn document(&self) -> Result<serde_json::Value, String> {
        serde_json::from_str(&self.stdout).map_err(|error| {
            format!("stdout is not one JSON document: {error}: `{}`; stderr: {}", self.stdout, self.stderr)
        })
    }
}

fn collect(mut stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut kept, mut block) = (Vec::new(), vec![0; 65536]);
        while let Some(Ok(count @ 1..)) = stream.as_mut().map(|stream| stream.read(&mut block)) {
            let room = KEPT.saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(&block[..room]);
        }
        drop(sender.send(String::from_utf8_lossy(&kept).into_owned()));
    });
    receiver
}

/// Waits for a child, and no longer than `patience`.
///
/// # Errors
/// It has not ended by then; it is killed.
pub fn wait(child: &mut Child, patience: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < patience => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                drop(child.kill());
                drop(child.wait());
                return Err(format!("tauto had not ended after {} s", patience.as_secs()));
            }
            Err(error) => return Err(format!("wait: {error}")),
        }
    }
}

/// Runs a command to its end. Its standard input is empty; standard output and, unless the caller has sent it
/// elsewhere (`own_stderr`), standard error are collected.
///
/// # Errors
/// It cannot be started, does not end within `patience`, or something keeps its streams open after its end.
pub fn run(command: &mut Command, own_stderr: bool, patience: Duration) -> Result<Ended, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if !own_stderr {
        command.stderr(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = wait(&mut child, patience);
    let read = |stream: Receiver<String>, name: &str| {
        stream
            .recv_timeout(STREAMS_END_WITHIN)
            .map_err(|_| format!("{name} of tauto is still held open after its end"))
    };
    let (stdout, stderr) = (read(stdout, "stdout"), read(stderr, "stderr"));
    Ok(Ended {
        status: status.map_err(|error| format!("{error}: {}", stderr.clone().unwrap_or_default()))?,
        stdout: stdout?,
        stderr: stderr?,
    })
}
