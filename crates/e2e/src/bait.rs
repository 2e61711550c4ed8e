//! What is laid out on the host for hostile programs to reach, and whether they did.

use crate::stage::Stage;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;

/// Servers, files, a process and System V objects.
#[derive(Debug)]
pub struct Bait {
    names: BTreeMap<String, String>,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    unix: Vec<UnixListener>,
    victim: Mutex<Child>,
    files: Vec<PathBuf>,
    objects: Vec<(&'static str, String)>,
}

fn system_v(kind: &'static str, arguments: &[&str]) -> Option<(&'static str, String)> {
    let output =
        crate::child::command("/usr/bin/ipcmk").args(arguments).args(["-p", "0666"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some((kind, text.trim().rsplit(' ').next()?.to_string()))
}

/// A process whose number no process of a run has: in a container, too, numbers begin at 1 (pid_namespaces(7)).
fn numbered_beyond_a_run(start: impl Fn() -> std::io::Result<Child>) -> std::io::Result<Child> {
    loop {
        let mut started = start()?;
        if started.id() > 100 {
            return Ok(started);
        }
        started.kill()?;
        started.wait()?;
    }
}

impl Bait {
    /// Lays it out. What the host cannot offer (IPv6, `ipcmk`) is left out; its name then stands for a value that
    /// reaches nothing.
    ///
    /// # Errors
    /// Anything else that cannot be laid out.
    pub fn lay(stage: &Stage) -> Result<Bait, String> {
        Bait::try_lay(stage).map_err(|error| format!("bait: {error}"))
    }

    fn try_lay(stage: &Stage) -> std::io::Result<Bait> {
        let other = std::io::Error::other;
        let tag = format!("e2e-bait-{}-{}", std::process::id(), stage.pass.name());
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        let abstract_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&tag)?)?;
        let socket_file = stage.path().join("socket");
        let socket = UnixListener::bind(&socket_file)?;
        fs::set_permissions(&socket_file, Permissions::from_mode(0o777))?;

        let secret = stage.path().join("secret");
        let files = [("/tmp", "tmp_file"), ("/dev/shm", "shm_file"), ("/var/tmp", "var_tmp_file")]
            .map(|(directory, name)| (name, Path::new(directory).join(&tag)));
        for (path, mode) in files.iter().map(|(_, path)| (path, 0o666)).chain([(&secret, 0o600)]) {
            fs::write(path, "breach")?;
            fs::set_permissions(path, Permissions::from_mode(mode))?;
            stage.give(path).map_err(other)?;
        }
        let place = stage.place("victim").map_err(other)?;
        let victim = numbered_beyond_a_run(|| place.command(Path::new("sleep")).arg("100000").spawn())?;
        let objects: Vec<_> = [("shm", ["-M", "4096"].as_slice()), ("msg", &["-Q"]), ("sem", &["-S", "1"])]
            .into_iter()
            .filter_map(|(kind, arguments)| system_v(kind, arguments))
            .collect();

        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port().to_string());
        let mut names = BTreeMap::from([
            ("tcp_port".to_string(), port(&tcp)?),
            ("tcp6_port".into(), tcp6.as_ref().map_or(Ok("1".into()), port)?),
            ("udp_port".into(), udp.local_addr()?.port().to_string()),
            ("abstract".into(), tag),
            ("socket_file".into(), socket_file.display().to_string()),
            ("secret".into(), secret.display().to_string()),
            ("host_pid".into(), victim.id().to_string()),
        ]);
        names.extend(files.iter().map(|(name, path)| ((*name).to_string(), path.display().to_string())));
        names.extend(objects.iter().map(|(kind, id)| (format!("{kind}_id"), id.clone())));
        let tcp: Vec<_> = [Some(tcp), tcp6].into_iter().flatten().collect();
        let unix = vec![abstract_name, socket];
        tcp.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        unix.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        udp.set_nonblocking(true)?;
        let files = files.into_iter().map(|(_, path)| path).collect();
        Ok(Bait { names, tcp, udp, unix, victim: Mutex::new(victim), files, objects })
    }

    /// Puts the values of this bait in place of `{name}`.
    ///
    /// # Errors
    /// A name that is none.
    pub fn fill(&self, argument: &str) -> Result<String, String> {
        match argument.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => self.names.get(name).cloned().ok_or_else(|| format!("no bait is named {name}")),
            None => Ok(argument.to_string()),
        }
    }

    /// What was reached, in words.
    pub fn taken(&self) -> Vec<String> {
        let mut found = Vec::new();
        found.extend(
            self.tcp
                .iter()
                .filter(|l| l.accept().is_ok())
                .map(|_| "a TCP server of the host was reached".into()),
        );
        found.extend(
            self.unix
                .iter()
                .filter(|l| l.accept().is_ok())
                .map(|_| "a UNIX server of the host was reached".into()),
        );
        if self.udp.recv(&mut [0; 16]).is_ok() {
            found.push("a UDP server of the host was reached".into());
        }
        let victim = self.victim.lock().map(|mut child| child.try_wait());
        if !matches!(victim, Ok(Ok(None))) {
            found.push("a process of the host was ended".into());
        }
        for path in &self.files {
            if fs::read(path).ok().as_deref() != Some(b"breach") {
                found.push(format!("{} was changed", path.display()));
            }
        }
        found
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        if let Ok(mut child) = self.victim.lock() {
            drop(child.kill());
            drop(child.wait());
        }
        for path in &self.files {
            drop(fs::remove_file(path));
        }
        for (kind, id) in &self.objects {
            let flag = match *kind {
                "shm" => "-m",
                "msg" => "-q",
                _ => "-s",
            };
            drop(crate::child::command("ipcrm").args([flag, id]).status());
        }
    }
}
