//! Networks of a test's own: a hub, sites that hang on it by one link each, and links that can be cut. Each is a network namespace
//! that only this process holds: nothing of it is to be seen on the host, and the kernel removes it when the last process
//! in it and this value are gone, however the test ends.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Stdio;
use std::sync::Arc;

/// Where the hub is reached from every site.
pub const HUB: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// A network namespace. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// A process makes it, and we hold it when that process is gone.
    fn new() -> Result<Namespace, String> {
        let mut maker = crate::child::command("unshare");
        maker.args(["--net", "sh", "-c", "echo made; read _"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut maker = maker.spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut made = [0; 5];
        let said = maker.stdout.take().map(|mut said| said.read_exact(&mut made));
        let path = format!("/proc/{}/ns/net", maker.id());
        let held = File::open(&path).map_err(|error| format!("{path}: {error}"));
        drop(maker.stdin.take());
        drop(maker.wait());
        match said {
            Some(Ok(())) => held.map(|held| Namespace(Arc::new(held))),
            _ => Err("a network namespace cannot be made: run this as root".into()),
        }
    }

    /// One with nobody else in it, in which the loopback interface has these addresses, too.
    ///
    /// # Errors
    /// This user cannot make namespaces, or there is no `ip`.
    pub fn with(addresses: &[Ipv4Addr]) -> Result<Namespace, String> {
        let made = Namespace::new()?;
        let more: String =
            addresses.iter().map(|address| format!("addr add {address}/32 dev lo\n")).collect();
        made.ip(&format!("link set lo up\n{more}"))?;
        Ok(made)
    }

    /// A path by which other processes find it as long as we hold it.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Words that, put before a command, run it in here.
    fn by(&self) -> [String; 3] {
        ["nsenter".into(), format!("--net={}", self.path()), "--".into()]
    }

    /// Carries out commands of `ip`, one a line, in here.
    fn ip(&self, commands: &str) -> Result<(), String> {
        let [enter, rest @ ..] = self.by();
        let mut ip = crate::child::command(enter);
        ip.args(rest).args(["ip", "-batch", "-"]);
        ip.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut ip = ip.spawn().map_err(|error| format!("nsenter: {error}"))?;
        let written = ip.stdin.take().map(|mut to| to.write_all(commands.as_bytes()));
        let ended = ip.wait_with_output().map_err(|error| format!("ip: {error}"))?;
        match (written, ended.status.success()) {
            (Some(Ok(())), true) => Ok(()),
            _ => Err(format!("ip: `{commands}`: {}", String::from_utf8_lossy(&ended.stderr).trim())),
        }
    }

    /// Moves this thread in here.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> Result<Inside, String> {
        let path = "/proc/thread-self/ns/net";
        let outside = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        let network = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(self.0.as_fd(), network).map_err(|error| format!("setns: {error}"))?;
        Ok(Inside { outside, _here: std::marker::PhantomData })
    }
}

/// A hub with its sites.
#[derive(Debug)]
pub struct Network {
    hub: Namespace,
    sites: u8,
}

/// A namespace that reaches the others over the hub, by one link.
#[derive(Debug)]
pub struct Site {
    inside: Namespace,
    hub: Namespace,
    number: u8,
}

/// As long as this lives, its thread, and what it starts, is in a namespace.
#[derive(Debug)]
pub struct Inside {
    outside: File,
    /// It is the thread that moved: nobody else may be moved back.
    _here: std::marker::PhantomData<*const ()>,
}

impl Network {
    /// A hub without sites.
    ///
    /// # Errors
    /// This user cannot make namespaces, or there is no `ip`.
    pub fn new() -> Result<Network, String> {
        let hub = Namespace::new()?;
        hub.ip(&format!(
            "link set lo up\nlink add hub type bridge\naddr add {HUB}/24 dev hub\nlink set hub up\n"
        ))?;
        Ok(Network { hub, sites: 0 })
    }

    /// One more site. At most 250.
    ///
    /// # Errors
    /// There are too many, or the kernel refuses.
    pub fn site(&mut self) -> Result<Site, String> {
        let number = self.sites + 1;
        if number > 250 {
            return Err("a hub has room for 250 sites".into());
        }
        let inside = Namespace::new()?;
        let site = Site { inside, hub: self.hub.clone(), number };
        let (link, address) = (site.link(), site.address());
        self.hub.ip(&format!(
            "link add {link} type veth peer name uplink netns {}\nlink set {link} master hub up\n",
            site.inside.path()
        ))?;
        site.inside.ip(&format!("link set lo up\naddr add {address}/24 dev uplink\nlink set uplink up\n"))?;
        self.sites = number;
        Ok(site)
    }

    /// Moves this thread to the hub, where it reaches all sites.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> Result<Inside, String> {
        self.hub.enter()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // What this process has left it may enter again, unless it has given up its rights: then it stays.
        let _ = move_into_link_name_space(self.outside.as_fd(), Some(LinkNameSpaceType::Network));
    }
}

impl Site {
    /// Its address on the hub.
    pub fn address(&self) -> Ipv4Addr {
        let [a, b, c, _] = HUB.octets();
        Ipv4Addr::new(a, b, c, self.number + 1)
    }

    fn link(&self) -> String {
        format!("site{}", self.number)
    }

    /// Words that, put before a command, run it here.
    pub fn by(&self) -> Vec<OsString> {
        self.inside.by().into_iter().map(OsString::from).collect()
    }

    /// Its namespace: whoever is in it reaches what listens there alone.
    pub fn namespace(&self) -> Namespace {
        self.inside.clone()
    }

    fn set(&self, state: &str) -> Result<(), String> {
        self.hub.ip(&format!("link set {} {state}\n", self.link()))
    }

    /// Cuts its link: what is sent either way is lost without a word.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn cut(&self) -> Result<(), String> {
        self.set("down")
    }

    /// Mends its link.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn mend(&self) -> Result<(), String> {
        self.set("up")
    }
}
