//! Brokers of a test's own: one `nats-server`, or a cluster of them, each killed and started again as a test wants it.

use crate::certificates::{self, Certificates};
use crate::http::Client;
use crate::nats::Connection;
use crate::network::Site;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// For brokers to find each other and agree on who leads.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// The user that servers are, who may everything.
pub const SERVERS: &str = "servers";

/// Where a broker is.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its address.
    pub address: Ipv4Addr,
    /// Words that, put before a command, run it there.
    pub by: Vec<OsString>,
}

impl Host {
    /// This machine, by the loopback interface.
    pub fn here() -> Host {
        Host { address: Ipv4Addr::LOCALHOST, by: Vec::new() }
    }
}

impl From<&Site> for Host {
    fn from(site: &Site) -> Host {
        Host { address: site.address(), by: site.by() }
    }
}

/// What the brokers are like.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// One broker for each.
    pub hosts: Vec<Host>,
    /// Pools whose workers are a user of their own, who may no more than they need. None: whoever comes may everything.
    pub pools: Vec<String>,
    /// Whether clients must speak TLS, and show a certificate of the same authority as the brokers'.
    pub tls: bool,
    /// Whether they keep nothing: brokers that a service cannot use.
    pub no_jetstream: bool,
}

#[derive(Debug)]
struct Broker {
    host: Host,
    clients: SocketAddr,
    monitor: SocketAddr,
    routes: SocketAddr,
    process: Option<Child>,
}

/// Running brokers. Ended when dropped, and with the thread that has started them.
#[derive(Debug)]
pub struct Brokers {
    setup: Setup,
    all: Vec<Broker>,
    certificates: Option<Certificates>,
    directory: TempDir,
}

/// The password of a user.
fn password(user: &str) -> String {
    format!("word-of-{user}")
}

/// The user that workers of a pool are.
pub fn user_of(pool: &str) -> String {
    format!("pool_{pool}")
}

/// First part of the subjects on which answers to a user come: nobody may listen to those to another.
pub fn inbox_of(user: &str) -> String {
    format!("_INBOX.{user}")
}

/// What a worker of this pool may: what the example that is shipped says of a pool `metal`.
fn permissions(pool: &str) -> String {
    let example = include_str!("../../../packaging/nats-server.conf");
    let begun = example.split_once("\nMETAL = ").map_or("", |(_, rest)| rest);
    let block = begun.split_once("\n}\n").map_or("", |(block, _)| block);
    let own = block.replace("pool_metal", &user_of(pool)).replace(".metal.", &format!(".{pool}."));
    format!("{own}\n}}")
}

/// A free port of this machine; elsewhere `usual`, since nobody else is there.
fn place(host: &Host, usual: u16) -> Result<SocketAddr, String> {
    let address = IpAddr::V4(host.address);
    if !address.is_loopback() {
        return Ok(SocketAddr::new(address, usual));
    }
    let listener = TcpListener::bind((address, 0)).map_err(|error| format!("a free port: {error}"))?;
    listener.local_addr().map_err(|error| format!("a free port: {error}"))
}

impl Brokers {
    /// Starts brokers and waits until they work together. They end with the thread that calls this.
    ///
    /// # Errors
    /// There is no `nats-server`, or they do not come to agree.
    pub fn start(setup: Setup) -> Result<Brokers, String> {
        let directory = TempDir::with_prefix("brokers-").map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for host in &setup.hosts {
            let (clients, monitor, routes) = (place(host, 4222)?, place(host, 8222)?, place(host, 6222)?);
            all.push(Broker { host: host.clone(), clients, monitor, routes, process: None });
        }
        let names: Vec<String> = setup.hosts.iter().map(|host| format!("IP:{}", host.address)).collect();
        let certificates = setup.tls.then(|| certificates::make(directory.path(), &names)).transpose()?;
        let mut brokers = Brokers { setup, all, certificates, directory };
        for n in 0..brokers.all.len() {
            let path = brokers.directory.path().join(format!("b{n}.conf"));
            fs::write(&path, brokers.configuration(n)).map_err(|e| format!("{}: {e}", path.display()))?;
            brokers.start_one(n)?;
        }
        brokers.wait_until_whole()?;
        Ok(brokers)
    }

    fn configuration(&self, n: usize) -> String {
        let Broker { clients, monitor, routes, .. } = &self.all[n];
        let store = self.directory.path().join(format!("b{n}"));
        let mut text = format!("server_name: b{n}\nlisten: \"{clients}\"\nhttp: \"{monitor}\"\n");
        if !self.setup.no_jetstream {
            text += &format!("jetstream {{ store_dir: \"{}\", max_file: 4G }}\n", store.display());
        }
        if self.all.len() > 1 {
            let others = self.all.iter().map(|broker| format!("\"nats://{}\"", broker.routes));
            let others = others.collect::<Vec<_>>().join(", ");
            text += &format!("cluster {{ name: tauto, listen: \"{routes}\", routes: [{others}] }}\n");
        }
        if let Some(Certificates { authority, certificate, key }) = &self.certificates {
            text += &format!(
                "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}\n",
                certificate.display(),
                key.display(),
                authority.display()
            );
        }
        if !self.setup.pools.is_empty() {
            let user = |name: &str, may: &str| {
                format!("  {{ user: \"{name}\", password: \"{}\"{may} }}\n", password(name))
            };
            let mut users = user(SERVERS, "");
            for pool in &self.setup.pools {
                users += &user(&user_of(pool), &format!(", permissions: {}", permissions(pool)));
            }
            text += &format!("authorization {{ users: [\n{users}] }}\n");
        }
        text
    }

    /// Starts one that was killed, in its old place with what it had. It ends with this thread.
    ///
    /// # Errors
    /// It is there already, or cannot be started.
    pub fn start_one(&mut self, n: usize) -> Result<(), String> {
        let path = self.directory.path().join(format!("b{n}.log"));
        let log = File::options().create(true).append(true).open(&path);
        let log = log.map_err(|error| format!("{}: {error}", path.display()))?;
        let broker = &mut self.all[n];
        if broker.process.is_some() {
            return Err(format!("broker {n} is there already"));
        }
        let words = ["setpriv", "--pdeathsig", "KILL", "--", "nats-server", "--config"];
        let mut words = broker.host.by.iter().cloned().chain(words.into_iter().map(OsString::from));
        let mut command = crate::child::command(words.next().unwrap_or_default());
        command.args(words).arg(self.directory.path().join(format!("b{n}.conf")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        broker.process = Some(process);
        Ok(())
    }

    /// How many there are, running or not.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether this one was started and not killed.
    pub fn is_up(&self, n: usize) -> bool {
        self.all[n].process.is_some()
    }

    /// Kills one, as `kill -9` does; whether it was there.
    pub fn kill(&mut self, n: usize) -> bool {
        let Some(mut process) = self.all[n].process.take() else { return false };
        let killed = process.kill().is_ok();
        drop(process.wait());
        killed
    }

    /// What one says of itself on its monitoring port; null where it does not answer.
    pub fn ask(&self, n: usize, path: &str) -> Value {
        let answer = self.is_up(n).then(|| Client::new(self.all[n].monitor).get(path));
        answer.and_then(Result::ok).map(|answer| answer.json()).unwrap_or_default()
    }

    fn is_whole(&self) -> bool {
        let up: Vec<usize> = (0..self.count()).filter(|n| self.is_up(*n)).collect();
        // Not with all that is kept: 2.9.10 holds a consumer for behind, after its broker was started again, until somebody uses it.
        let well = |n: &usize| self.ask(*n, "/healthz?js-server-only=true")["status"] == "ok";
        let kept = |n: &usize| {
            let state = self.ask(*n, "/jsz");
            let alone = self.count() == 1;
            self.setup.no_jetstream
                || (state["disabled"] != true
                    && (alone || state["meta_cluster"]["leader"].as_str().is_some_and(|who| !who.is_empty())))
        };
        up.iter().all(|n| well(n) && kept(n))
    }

    /// Waits until all that are up have what they must have, and agree on who leads.
    ///
    /// # Errors
    /// They do not; the log of one of them.
    pub fn wait_until_whole(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while !self.is_whole() {
            for n in 0..self.count() {
                let ended = self.all[n].process.as_mut().is_some_and(|it| !matches!(it.try_wait(), Ok(None)));
                if ended {
                    return Err(format!("broker {n} has ended: {}", self.log(n)));
                }
            }
            if begun.elapsed() > WHOLE_WITHIN {
                return Err(format!("the brokers do not come to agree: {}", self.log(0)));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Which of them leads a stream; `None`: nobody now, or there is no such stream.
    pub fn leader(&self, stream: &str) -> Option<usize> {
        let leads = |n: &usize| {
            let state = self.ask(*n, "/jsz?accounts=true&streams=true");
            let accounts = state["account_details"].as_array().cloned().unwrap_or_default();
            let streams = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
            let mut own = streams.filter(|detail| detail["name"] == stream);
            // A broker without a cluster does not say who leads.
            own.any(|detail| self.count() == 1 || detail["cluster"]["leader"] == format!("b{n}"))
        };
        (0..self.count()).find(leads)
    }

    /// The last lines that one has written.
    pub fn log(&self, n: usize) -> String {
        let bytes = fs::read(self.directory.path().join(format!("b{n}.log"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// All of them as `tauto` is told, for a user: [`SERVERS`] or that of a pool. Where there are no users, its name does not matter.
    pub fn url(&self, user: &str) -> String {
        let scheme = if self.setup.tls { "tls" } else { "nats" };
        let hosts: Vec<String> = self.all.iter().map(|broker| broker.clients.to_string()).collect();
        let who =
            if self.setup.pools.is_empty() { String::new() } else { format!("{user}:{}@", password(user)) };
        format!("{scheme}://{who}{}", hosts.join(","))
    }

    /// By which they are known, and clients may be, where they speak TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// A connection to one of them, for a user as in [`Brokers::url`]; not where they speak TLS.
    ///
    /// # Errors
    /// It is not there, or does not take us in.
    pub fn connect(&self, n: usize, user: &str) -> Result<Connection, String> {
        let (password, known) = (password(user), !self.setup.pools.is_empty());
        let who = known.then_some((user, password.as_str()));
        Connection::new(self.all[n].clients, who, &inbox_of(user))
    }

    /// Where one takes clients.
    pub fn address(&self, n: usize) -> SocketAddr {
        self.all[n].clients
    }

    /// Where they keep what they have.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        for n in 0..self.count() {
            self.kill(n);
        }
    }
}
