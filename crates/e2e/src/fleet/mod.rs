//! A fleet of a test's own: brokers, a database, servers, and workers by pools. Each part is killed and started again as a test wants it.

pub mod accounts;
pub mod clients;
pub mod storm;

use crate::brokers::{self, Brokers, Host, SERVERS, user_of};
use crate::http::Client;
use crate::leftovers;
use crate::network::{Inside, Network, Site};
use crate::postgres::Cluster;
use crate::service::{Part, Service};
use crate::tauto;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For what must come about, on a busy machine.
const SOON: Duration = Duration::from_secs(90);
/// Has what comes after it end with the thread that starts it, however that ends.
const BOUND: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];
/// What a worker keeps of the versions of all toolchains, which take many seconds to ask for.
const VERSIONS: &str = "worker-languages.json";

/// A pool and who is in it.
#[derive(Clone, Debug)]
pub struct PoolSetup {
    /// Its name.
    pub name: &'static str,
    /// Strict: its members must have this kernel; of their power nothing is asked, since they share one machine. Else relaxed.
    pub strict: bool,
    /// How many machines.
    pub workers: usize,
}

/// What the fleet is like.
#[derive(Clone, Debug)]
pub struct Setup {
    /// One or three.
    pub brokers: usize,
    /// Each with its own address, over one database.
    pub servers: usize,
    /// Made before the first worker comes.
    pub pools: Vec<PoolSetup>,
    /// Each of its parts is in a network of its own, with a link that can be cut; this thread is moved to the hub of these. Clients of a server are
    /// where it is.
    pub apart: bool,
    /// The slots that workers serve, such as `none`.
    pub slots: &'static str,
    /// The binary of servers, then those of the workers, in turn. Empty: the one under test.
    pub binaries: Vec<PathBuf>,
}

/// A machine that judges.
#[derive(Debug)]
pub struct Worker {
    /// Its name in the service.
    pub node: String,
    /// Its pool.
    pub pool: &'static str,
    /// Its data directory; what it says is in `log` there.
    pub data: PathBuf,
    process: Option<Child>,
}

/// A server, running or not.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    data: PathBuf,
    service: Option<Service>,
}

/// A running fleet. Ended when dropped.
pub struct Fleet {
    // In the order in which they are to go.
    workers: Vec<Worker>,
    servers: Vec<Server>,
    /// Its brokers.
    pub brokers: Brokers,
    database: String,
    /// What the database is in.
    pub cluster: Cluster,
    _here: Option<Inside>,
    /// Of the brokers, then of the workers, then of the servers, then of the database.
    sites: Vec<Site>,
    _network: Option<Network>,
    slots: &'static str,
    binaries: Vec<PathBuf>,
    data: TempDir,
}

/// Waits until something holds.
///
/// # Errors
/// It does not, or cannot be told.
pub fn soon(what: &str, mut holds: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let begun = Instant::now();
    while !holds()? {
        if begun.elapsed() > SOON {
            return Err(format!("{what}: not within {} s", SOON.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A directory that other users may read.
fn directory() -> Result<TempDir, String> {
    let permissions = fs::Permissions::from_mode(0o755);
    let made = tempfile::Builder::new().prefix("fleet-").permissions(permissions).tempdir();
    made.map_err(|error| format!("temporary directory: {error}"))
}

/// What is read of a worker that ends at once.
fn last_words(worker: &Worker) -> String {
    crate::chaos::last_lines(&fs::read_to_string(worker.data.join("log")).unwrap_or_default())
}

impl Fleet {
    /// Starts all of it and waits until every worker gets work. All of it ends with the thread that calls this.
    ///
    /// # Errors
    /// Something of it cannot be started; what it said.
    pub fn start(setup: &Setup) -> Result<Fleet, String> {
        let data = directory()?;
        let mut network = setup.apart.then(Network::new).transpose()?;
        let workers: usize = setup.pools.iter().map(|pool| pool.workers).sum();
        let count = setup.brokers + workers + setup.servers + 1;
        let sites: Vec<Site> = match &mut network {
            Some(network) => (0..count).map(|_| network.site()).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let cluster = match sites.last() {
            Some(site) => Cluster::start_at(site.address(), site.by()),
            None => Cluster::start(),
        }?;
        let database = cluster.make("judge")?;
        let here = network.as_ref().map(Network::enter).transpose()?;
        let hosts = match sites.is_empty() {
            true => vec![Host::here(); setup.brokers],
            false => sites[..setup.brokers].iter().map(Host::from).collect(),
        };
        let pools = setup.pools.iter().map(|pool| pool.name.to_string()).collect();
        let brokers = Brokers::start(brokers::Setup { hosts, pools, ..brokers::Setup::default() })?;
        let workers = setup.pools.iter().flat_map(|pool| {
            let data = &data;
            (0..pool.workers).map(move |n| {
                let node = format!("{}{n}", pool.name);
                Worker { data: data.path().join(&node), node, pool: pool.name, process: None }
            })
        });
        let servers = (0..setup.servers).map(|n| Server {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data: data.path().join(format!("server{n}")),
            service: None,
        });
        let mut fleet = Fleet {
            workers: workers.collect(),
            servers: servers.collect(),
            brokers,
            database,
            cluster,
            _here: here,
            sites,
            _network: network,
            slots: setup.slots,
            binaries: setup.binaries.clone(),
            data,
        };
        for n in 0..fleet.servers.len() {
            fs::create_dir(&fleet.servers[n].data).map_err(|error| format!("server {n}: {error}"))?;
            crate::service::blame_no_job(&fleet.servers[n].data)?;
            fleet.start_server(n)?;
        }
        setup.pools.iter().try_for_each(|pool| fleet.make_pool(pool))?;
        fleet.start_workers()?;
        Ok(fleet)
    }

    fn make_pool(&self, pool: &PoolSetup) -> Result<(), String> {
        if !pool.strict {
            return self.tauto(&["pool", "add", pool.name, "--kind", "relaxed"]).map(drop);
        }
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(|e| format!("kernel: {e}"))?;
        let (name, kernel) = (pool.name, kernel.trim());
        let text =
            format!("name = \"{name}\"\nkind = \"strict\"\n[definition.equal]\nkernel = [\"{kernel}\"]\n");
        let path = self.data.path().join(format!("{name}.toml"));
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = path.display().to_string();
        self.tauto(&["pool", "add", name, "--kind", "strict", "--file", &path]).map(drop)
    }

    /// The first alone: the others find the versions of the toolchains beside it.
    fn start_workers(&mut self) -> Result<(), String> {
        for n in 0..self.workers.len() {
            let own = self.workers[n].data.clone();
            fs::create_dir(&own).map_err(|error| format!("{}: {error}", own.display()))?;
            let versions = self.workers[0].data.join(VERSIONS);
            if n == 1 {
                soon("versions of toolchains", || Ok(versions.is_file()))?;
            }
            if n > 0 {
                fs::copy(&versions, own.join(VERSIONS)).map_err(|error| format!("{VERSIONS}: {error}"))?;
            }
            self.start_worker(n)?;
        }
        self.wait_until_at_work()
    }

    /// Waits until every node gets work.
    ///
    /// # Errors
    /// One does not: what it is told, and what it says.
    pub fn wait_until_at_work(&self) -> Result<(), String> {
        let mut client = self.client(0);
        let mut seen = Value::Null;
        let at_work = |nodes: &Value, worker: &Worker| {
            let nodes = nodes["nodes"].as_array().map_or(&[][..], Vec::as_slice);
            let own = nodes.iter().find(|node| node["name"] == worker.node.as_str());
            own.is_some_and(|node| {
                node["standing"] == "active"
                    && node["workers"].as_array().is_some_and(|workers| !workers.is_empty())
            })
        };
        let waited = soon("all workers get work", || {
            seen = client.get("/api/v1/nodes").map(|answer| answer.json()).unwrap_or_default();
            let workers = client.get("/api/v1/queue").map(|answer| answer.json()).unwrap_or_default();
            let there = workers["workers"].as_u64().and_then(|count| usize::try_from(count).ok());
            Ok(self.workers.iter().all(|worker| at_work(&seen, worker)) && there >= Some(self.workers.len()))
        });
        waited.map_err(|why| {
            let words: Vec<String> = self.workers.iter().map(last_words).collect();
            format!("{why}: {seen}: {}", words.join("\n"))
        })
    }

    /// How many servers there are, running or not.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// The machines that judge.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// A client of a server.
    pub fn client(&self, server: usize) -> Client {
        let site = self.server_site(server).map(Site::namespace);
        Client::new(self.servers[server].address).from(site)
    }

    /// A client of each server.
    pub fn clients(&self) -> Vec<Client> {
        (0..self.servers.len()).map(|n| self.client(n)).collect()
    }

    /// Makes the first admin, by the link that the last server has said, which took the place of the others'; a token of theirs that may do everything.
    ///
    /// # Errors
    /// It is away, said no link, or does not take it.
    pub fn admin_token(&self) -> Result<String, String> {
        let service = self.servers.last().and_then(|server| server.service.as_ref());
        service.ok_or("the last server is away")?.admin_token()
    }

    /// The database of the servers.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// What a server has said so far, in all its lives.
    pub fn server_log(&self, server: usize) -> String {
        fs::read_to_string(self.servers[server].data.join("service.log")).unwrap_or_default()
    }

    /// A directory of this fleet's own, gone with it.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// What servers are, and what changes their database.
    fn binary(&self) -> Result<PathBuf, String> {
        self.binaries.first().map_or_else(tauto::binary, |binary| Ok(binary.clone()))
    }

    fn worker_binary(&self, n: usize) -> Result<PathBuf, String> {
        let workers = self.binaries.get(1..).unwrap_or_default();
        workers.iter().cycle().nth(n).map_or_else(tauto::binary, |binary| Ok(binary.clone()))
    }

    /// Runs `tauto` with these words on the database, to success: what it printed.
    ///
    /// # Errors
    /// It failed: what it said.
    pub fn tauto(&self, words: &[&str]) -> Result<String, String> {
        let mut command = crate::child::command(self.binary()?);
        command.args(words).args(["--database", &self.database]);
        command.env("TAUTO_DATA_DIR", self.data.path().join("operator"));
        let ended = tauto::run(&mut command, false, SOON)?;
        match ended.code()? {
            0 => Ok(ended.stdout),
            code => Err(format!("tauto {}: {code}: {}{}", words.join(" "), ended.stdout, ended.stderr)),
        }
    }

    /// Copies what all of them have said to a directory that is not removed; where that is.
    pub fn keep_logs(&self) -> Option<PathBuf> {
        let kept = tempfile::Builder::new().prefix("fleet-logs-").tempdir().ok()?.keep();
        let servers = self.servers.iter().map(|server| server.data.join("service.log"));
        let workers = self.workers.iter().map(|worker| worker.data.join("log"));
        let brokers = (0..self.brokers.count()).map(|n| self.brokers.directory().join(format!("b{n}.log")));
        for log in servers.chain(workers).chain(brokers) {
            let name: Vec<_> = log.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
            drop(fs::copy(&log, kept.join(format!("{}-{}", name[1], name[0]))));
        }
        Some(kept)
    }

    /// Starts a server that is not there, and waits until it answers.
    ///
    /// # Errors
    /// It does not.
    pub fn start_server(&mut self, n: usize) -> Result<(), String> {
        let (url, binary) = (self.brokers.url(SERVERS), self.binary()?);
        let site = self.sites.get(self.brokers.count() + self.workers.len() + n);
        let server = &mut self.servers[n];
        let options = ["--no-worker", "--database", &self.database, "--nats", &url];
        let service = Service::start_of(&binary, site, &BOUND, &server.data, server.address, &options)?;
        server.address = service.address();
        server.service = Some(service);
        Ok(())
    }

    /// Kills a part of a server; whether it was there. Where that is the supervisor the server has to be started again.
    ///
    /// # Errors
    /// The web process does not end with the supervisor.
    pub fn kill_server(&mut self, n: usize, part: Part) -> Result<bool, String> {
        let Some(service) = &mut self.servers[n].service else { return Ok(false) };
        let web = service.process(Part::Web);
        let killed = service.kill(part);
        if killed && part == Part::Supervisor {
            self.servers[n].service = None;
            leftovers::wait_until_gone(web.as_slice(), SOON)?;
        }
        Ok(killed)
    }

    /// Starts a worker that is not there.
    ///
    /// # Errors
    /// It is there, or cannot be started.
    pub fn start_worker(&mut self, n: usize) -> Result<(), String> {
        self.start_worker_by(n, &[])
    }

    /// The same, by another program that becomes `tauto`.
    ///
    /// # Errors
    /// It is there, or cannot be started.
    pub fn start_worker_by(&mut self, n: usize, by: &[OsString]) -> Result<(), String> {
        if self.workers[n].process.is_some() {
            return Err(format!("worker {n} is there already"));
        }
        let (url, worker) = (self.brokers.url(&user_of(self.workers[n].pool)), &self.workers[n]);
        let site = self.worker_site(n).map(Site::by).unwrap_or_default();
        let mut words = site.into_iter().chain(by.iter().cloned()).chain(BOUND.map(OsString::from));
        let mut command = crate::child::command(words.next().unwrap_or_default());
        command.args(words).arg(self.worker_binary(n)?);
        command.args(["worker", "--slots", self.slots, "--node", &worker.node, "--pool", worker.pool]);
        let path = worker.data.join("log");
        let log = File::options().create(true).append(true).open(&path);
        let log = log.map_err(|error| format!("{}: {error}", path.display()))?;
        // The password is nobody's business.
        command.env("TAUTO_NATS", url).env("TAUTO_DATA_DIR", &worker.data);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        self.workers[n].process = Some(process);
        Ok(())
    }

    /// The process that is a part of a worker, if it is there now.
    pub fn worker_process(&self, n: usize, part: Part) -> Option<Pid> {
        let process = self.workers[n].process.as_ref()?;
        part.below(i32::try_from(process.id()).ok()?)
    }

    /// Kills a part of a worker; whether it was there. Where that is the supervisor the worker has to be started again.
    pub fn kill_worker(&mut self, n: usize, part: Part) -> bool {
        let killed = self.worker_process(n, part).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        if part == Part::Supervisor
            && let Some(mut process) = self.workers[n].process.take()
        {
            drop(process.wait());
        }
        killed
    }

    /// Ends a worker in good order.
    ///
    /// # Errors
    /// It does not end; it is killed.
    pub fn stop_worker(&mut self, n: usize) -> Result<(), String> {
        let Some(mut process) = self.workers[n].process.take() else { return Ok(()) };
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&process), Signal::TERM);
        let ended = tauto::wait(&mut process, SOON).map(drop);
        ended.map_err(|why| format!("worker {n}: {why}: {}", last_words(&self.workers[n])))
    }

    /// The link of a broker, where it has one.
    pub fn broker_site(&self, n: usize) -> Option<&Site> {
        self.sites.get(..self.brokers.count())?.get(n)
    }

    /// The link of a worker, where it has one.
    pub fn worker_site(&self, n: usize) -> Option<&Site> {
        self.sites.get(self.brokers.count()..)?.get(n)
    }

    /// The link of a server, where it has one.
    pub fn server_site(&self, n: usize) -> Option<&Site> {
        self.sites.get(self.brokers.count() + self.workers.len() + n)
    }

    /// The link of the database, where it has one.
    pub fn database_site(&self) -> Option<&Site> {
        self.sites.last()
    }

    /// Ends all in good order: workers, then servers, then the rest.
    ///
    /// # Errors
    /// What did not end; it is killed.
    pub fn stop(mut self) -> Result<(), String> {
        let workers: Vec<_> = (0..self.workers.len()).map(|n| self.stop_worker(n)).collect();
        let servers = self.servers.iter_mut().filter_map(|server| server.service.take());
        let servers: Vec<_> = servers.map(|service| service.stop().map(drop)).collect();
        workers.into_iter().chain(servers).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &self.workers {
            if let Some(process) = &worker.process {
                // All at once, so that one does not wait for the other.
                let _ = kill_process(Pid::from_child(process), Signal::TERM);
            }
        }
        for n in 0..self.workers.len() {
            drop(self.stop_worker(n));
        }
    }
}
