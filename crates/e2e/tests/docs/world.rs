//! What runs beside the commands of a page, in a network of the page's own.

use crate::page::World;
use e2e::certificates::{self, Certificates};
use e2e::network::{Inside, Namespace};
use e2e::postgres::Cluster;
use e2e::service::Service;
use e2e::stage::Workspace;
use e2e::{child, tauto};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Machines that documents name. The page itself is on `judge7`.
const NAMES: [(&str, Ipv4Addr); 4] = [
    ("broker1", Ipv4Addr::new(10, 78, 0, 1)),
    ("broker2", Ipv4Addr::new(10, 78, 0, 2)),
    ("broker3", Ipv4Addr::new(10, 78, 0, 3)),
    ("db", Ipv4Addr::new(10, 78, 0, 4)),
];
/// How brokers find each other: outside the page they have no names.
const ROUTES: [(&str, Ipv4Addr); 3] =
    [("broker1:6222", NAMES[0].1), ("broker2:6222", NAMES[1].1), ("broker3:6222", NAMES[2].1)];
/// Where `tauto serve` listens.
const USUAL: ([u8; 4], u16) = ([127, 0, 0, 1], 8080);
/// For brokers and nodes to be there.
const SOON: Duration = Duration::from_secs(60);

/// What runs. Ended when dropped, in this order.
pub(crate) struct Running {
    /// Variables of the page's commands.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The certificate of the authority that the page's machine trusts.
    pub(crate) authority: Option<PathBuf>,
    _service: Option<Service>,
    _brokers: Vec<Ended>,
    _database: Option<Cluster>,
    _inside: Inside,
}

/// A process that is asked to end, waited for, and gone after that.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        drop(tauto::wait(&mut self.0, SOON));
    }
}

/// The file of names that a page sees as `/etc/hosts`.
pub(crate) fn hosts() -> String {
    let names = NAMES.iter().map(|(name, address)| format!("{address} {name}\n"));
    names.chain(["127.0.0.1 localhost judge7\n".into()]).collect()
}

/// The configuration of a service of the fleet, as docs/build-a-fleet.md has it.
pub(crate) fn configuration() -> String {
    let page = include_str!("../../../../docs/build-a-fleet.md");
    let block = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    block.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

/// Starts what a page needs. The calling thread is in the page's network as long as it runs.
///
/// # Errors
/// A part is missing, or does not start.
pub(crate) fn start(world: World, place: &Workspace<'_>) -> Result<Running, String> {
    let addresses = NAMES.map(|(_, address)| address);
    let inside = Namespace::with(&addresses)?.enter()?;
    let mut running = Running {
        variables: vec![],
        authority: None,
        _service: None,
        _brokers: vec![],
        _database: None,
        _inside: inside,
    };
    let data = place.path("data");
    let usual = SocketAddr::from(USUAL);
    match world {
        World::Alone | World::Machine => {}
        World::Service => {
            let service = Service::start(&data, usual, &[])?;
            running.variables.push(("TOKEN", service.admin_token()?));
            until("a worker that has told its languages", || {
                service.client().get("/judge0/languages").is_ok_and(|answer| answer.text().contains("Python"))
            })?;
            running._service = Some(service);
        }
        World::Brokers | World::Fleet => {
            let database = Cluster::start_at(NAMES[3].1, vec!["env".into()])?;
            database.make("judge")?;
            running._database = Some(database);
            let directory = place.path("brokers");
            fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
            let names: Vec<String> = NAMES.iter().map(|(name, _)| format!("DNS:{name}")).collect();
            let certificates = certificates::make(&directory, &names)?;
            for n in 0..3 {
                running._brokers.push(broker(n, &directory, &certificates)?);
            }
            running._brokers.iter().enumerate().try_for_each(|(n, _)| up(NAMES[n].1))?;
            running.authority = Some(certificates.authority);
        }
    }
    Ok(running)
}

/// A broker as packaging/nats-server.conf has it, but for its place.
fn broker(n: usize, directory: &Path, certificates: &Certificates) -> Result<Ended, String> {
    let (name, address) = NAMES[n];
    let store = directory.join(name);
    let text = include_str!("../../../../packaging/nats-server.conf");
    let text = [
        ("server_name: broker1", format!("server_name: {name}")),
        ("0.0.0.0", address.to_string()),
        ("/var/lib/nats", store.display().to_string()),
        ("/etc/nats/broker.pem", certificates.certificate.display().to_string()),
        ("/etc/nats/broker-key.pem", certificates.key.display().to_string()),
        ("64G", "1G".into()),
    ]
    .into_iter()
    .chain(ROUTES.map(|(name, address)| (name, format!("{address}:6222"))))
    .fold(text.to_string(), |text, (from, to)| text.replace(from, &to));
    let file = directory.join(format!("{name}.conf"));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let log = File::create(directory.join(format!("{name}.log"))).map_err(|error| error.to_string())?;
    let mut server = child::command("nats-server");
    server.arg("--config").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    server.spawn().map(Ended).map_err(|error| format!("nats-server: {error}"))
}

fn up(address: Ipv4Addr) -> Result<(), String> {
    until("a broker", || std::net::TcpStream::connect((address, 4222)).is_ok())
}

fn until(what: &str, there: impl Fn() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !there() {
        if begun.elapsed() > SOON {
            return Err(format!("{what} is not there after {} s", SOON.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
