//! Brokers of a test: real ones, on free ports, with directories of their own.

use fleet::nats::{Nats, Options, WorkerId, connect};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The UUID of the service of these tests.
pub(crate) const SERVICE: &str = "5c0f6f3e-6f3b-4a39-9c2e-2d6e6c1e6f10";

/// Some brokers. They end with this value.
pub(crate) struct Brokers {
    _directory: TempDir,
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    configuration: PathBuf,
    process: Option<Child>,
}

/// The program; `None`: it is not installed, and the tests have nothing to do.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/bin")]);
    let found = there.map(|directory| directory.join("nats-server")).find(|path| path.exists());
    if found.is_none() {
        // As the harness does: past its capture of what a test prints.
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: nats-server is not installed (Debian: nats-server)");
    }
    found
}

/// A port that nobody has, and that neither another test of this process nor one of another process is likely to be given: below those
/// that the kernel gives away, beginning at a place that is this process's.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(131);
    loop {
        let place = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 22_000;
        let port = 10_000 + u16::try_from(place).expect("it is below 22 000");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

impl Brokers {
    /// One broker, with these lines in its configuration; `None`: there is no nats-server here.
    pub(crate) fn one(lines: &str) -> Option<Brokers> {
        Brokers::start(1, lines)
    }

    /// A cluster of three.
    pub(crate) fn three() -> Option<Brokers> {
        Brokers::start(3, "")
    }

    fn start(count: usize, lines: &str) -> Option<Brokers> {
        program()?;
        let directory = TempDir::new().expect("a directory");
        let routes: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let nodes = (0..count).map(|n| node(directory.path(), n, &routes, lines)).collect();
        let mut brokers = Brokers { _directory: directory, nodes };
        (0..count).for_each(|n| brokers.run(n));
        Some(brokers)
    }

    /// Starts one, and waits until it takes connections.
    pub(crate) fn run(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        let mut command = Command::new(program().expect("it was there"));
        let log = std::fs::File::create(node.configuration.with_extension("log")).expect("a file");
        command.arg("-c").arg(&node.configuration).stdout(Stdio::null()).stderr(log);
        node.process = Some(command.spawn().expect("it starts"));
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, node.port)).is_err() {
            let log =
                || std::fs::read_to_string(node.configuration.with_extension("log")).unwrap_or_default();
            assert!(Instant::now() < until, "a broker does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = node.process.as_mut().and_then(|process| process.try_wait().expect("it is ours"));
        assert_eq!(ended, None, "another one has its port");
    }

    /// Ends one as power failures do.
    pub(crate) fn kill(&mut self, n: usize) {
        if let Some(mut process) = self.nodes[n].process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it ends");
        }
    }

    /// Which of them is called so.
    pub(crate) fn number(&self, name: &str) -> usize {
        name.strip_prefix('n').and_then(|n| n.parse().ok()).expect("a broker of ours")
    }

    /// The address of all of them, for such a user: empty, or `user:password@`.
    pub(crate) fn url(&self, user: &str) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("nats://{user}{}", hosts.join(","))
    }

    /// A connection without anything of ours.
    pub(crate) async fn raw(&self) -> async_nats::Client {
        let url = self.url("");
        let hosts =
            url.trim_start_matches("nats://").split(',').map(|host| host.parse().expect("an address"));
        async_nats::connect(hosts.collect::<Vec<async_nats::ServerAddr>>()).await.expect("a broker")
    }

    pub(crate) async fn connect(&self) -> Nats {
        self.connect_as("").await
    }

    pub(crate) async fn connect_as(&self, user: &str) -> Nats {
        let options = Options { url: self.url(user), name: "test".into(), ..Options::default() };
        connect(&options).await.expect("the brokers take us")
    }

    /// A connection to a cluster in which everything is made for pool `metal`.
    pub(crate) async fn ready(&self) -> Nats {
        let nats = self.connect().await;
        nats.provision(SERVICE, None).await.expect("provisioned");
        nats.provision_pool("metal").await.expect("a pool");
        nats
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|n| self.kill(n));
    }
}

fn node(directory: &Path, n: usize, routes: &[u16], lines: &str) -> Node {
    let port = free_port();
    let mut text = format!(
        "server_name: n{n}\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\n{lines}\n",
        directory.join(format!("js{n}")).display()
    );
    if routes.len() > 1 {
        let all: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        writeln!(text, "cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: {all:?} }}", routes[n])
            .expect("text");
    }
    let configuration = directory.join(format!("n{n}.conf"));
    std::fs::write(&configuration, text).expect("it can be written");
    Node { port, configuration, process: None }
}

/// A worker of pool `metal`.
pub(crate) fn worker(slot: u32) -> WorkerId {
    WorkerId { pool: "metal".into(), node: "n1".into(), slot }
}
