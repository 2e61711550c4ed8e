//! A real broker for a test.

use fleet::nats::{Nats, Options, connect};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A broker on a free port, with a directory of its own. It ends with this value.
pub(crate) struct Broker {
    directory: TempDir,
    port: u16,
    process: Option<Child>,
}

/// The program; `None`: it is not installed, and the tests have nothing to do.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/bin")]);
    let found = there.map(|directory| directory.join("nats-server")).find(|path| path.exists());
    if found.is_none() {
        // Past the harness's capture of what a test prints.
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: nats-server is not installed (Debian: nats-server)");
    }
    found
}

impl Broker {
    /// One that runs; `None`: there is no nats-server here.
    pub(crate) fn start() -> Option<Broker> {
        program()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut broker = Broker { directory: TempDir::new().unwrap(), port, process: None };
        broker.run();
        Some(broker)
    }

    /// Starts it, with what it had stored.
    pub(crate) fn run(&mut self) {
        let mut command = Command::new(program().unwrap());
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--jetstream", "--store_dir"]);
        command.arg(self.directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(Instant::now() < until, "the broker does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as power failures do.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// How it is reached.
    pub(crate) fn options(&self) -> Options {
        Options { url: format!("nats://127.0.0.1:{}", self.port), name: "test".into(), ..Options::default() }
    }

    /// A connection to it.
    pub(crate) async fn connect(&self) -> Nats {
        connect(&self.options()).await.unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
