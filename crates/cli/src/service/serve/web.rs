//! The web process: gives up what it can, then serves.

use super::config::{NatsSettings, ServeSettings};
use super::user::User;
use super::{ServeArgs, die_with_parent};
use crate::Done;
use crate::reservation::{planned, slots_config};
use crate::terminal::{Failure, print_error, tell_error};
use host::machine::Machine;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr,
};
use rustix::fs::{MemfdFlags, Mode, memfd_create};
use rustix::thread::{CpuSet, sched_setaffinity};
use server::Settings;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The database, where no other is named, in the service's directory.
pub(crate) const DATABASE: &str = "tautochrone.db";
/// The socket for workers, in the service's directory.
pub(crate) const SOCKET: &str = "work.sock";

pub(super) fn main(args: &ServeArgs, wanted: ServeSettings) -> Result<Done, Failure> {
    let directory = args.directory.clone().ok_or_else(|| Failure::usage("--directory: missing"))?;
    keep_house()?;
    shrink_bounding_set();
    // While it may read as much as whoever started it.
    let nats = wanted.nats.as_ref().map(brokers).transpose()?;
    if let Some(user) = &args.user {
        let bad = |()| Failure::usage(format!("--user {user}: of the web process it is UID:GID"));
        user.parse::<User>().map_err(bad)?.take_over()?;
    }
    // After the change of user, which clears it.
    die_with_parent(args.parent)?;
    give_up_privileges()?;
    // Its files are nobody else's.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    confine(&directory);
    // What is unpacked lies where this process may write.
    tempfile::env::override_temp_dir(&directory)
        .map_err(|other| Failure::system(format!("unnamed files are made in {}", other.display())))?;
    let stdin = std::io::stdin();
    let http = stdin.as_fd().try_clone_to_owned().map_err(Failure::system)?;
    let http = TcpListener::from(http);
    let address = http.local_addr().map_err(Failure::system)?;
    let database = wanted.database.unwrap_or_else(|| directory.join(DATABASE).display().to_string());
    let settings = Settings {
        directory,
        database,
        nats,
        // Where something stands in front, loopback is not this machine's user.
        anonymous: address.ip().is_loopback()
            && !wanted.accounts
            && wanted.access.public_url.is_none()
            && wanted.access.proxies.is_empty(),
        grace: wanted.grace,
        attempts: wanted.attempts,
        second_opinion: wanted.second_opinion,
        retention: wanted.retention,
        access: wanted.access,
        callbacks: wanted.callbacks,
    };
    settings
        .access
        .check(settings.anonymous, address)
        .map_err(|why| Failure::usage(format!("serve: {why}")))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::system)?;
    let base = settings.access.public_url.clone().unwrap_or_else(|| format!("http://{}", reached(address)));
    runtime.block_on(serve(settings, http, &base, args.admin_link))
}

/// How the brokers are reached. Files with secrets are carried along in memory: this process becomes a user who may not read them, and is
/// confined to its own directory.
fn brokers(wanted: &NatsSettings) -> Result<server::NatsOptions, Failure> {
    let carried = |path: &Option<PathBuf>| path.as_deref().map(carried).transpose();
    Ok(server::NatsOptions {
        url: wanted.url.clone(),
        creds: carried(&wanted.creds)?,
        ca: carried(&wanted.ca)?,
        cert: carried(&wanted.cert)?,
        key: carried(&wanted.key)?,
        name: "tauto serve".into(),
        inbox: None,
    })
}

/// A file's content in memory, under a name that this process can open whoever it becomes (proc_pid_fd(5); Landlock's rules do not reach
/// file systems that are mounted nowhere).
fn carried(path: &Path) -> Result<PathBuf, Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::usage(format!("{}: {e}", path.display()));
    let content = std::fs::read(path).map_err(|e| fail(&e))?;
    let file = memfd_create("secret", MemfdFlags::CLOEXEC).map_err(|e| fail(&e))?;
    let mut file = std::fs::File::from(file);
    file.write_all(&content).map_err(|e| fail(&e))?;
    // Open as long as this process lives.
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()).into())
}

/// Where a listener is found from this machine.
fn reached(listening: SocketAddr) -> SocketAddr {
    let here = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(here, listening.port())
}

/// `base` is the address under which the service is reached.
async fn serve(settings: Settings, http: TcpListener, base: &str, new_link: bool) -> Result<Done, Failure> {
    let socket = settings.directory.join(SOCKET);
    let mut stop = Box::pin(told_to_end());
    let (startup, listeners) = tokio::select! {
        opened = server::open_when_possible(&settings, http, || work_socket(&socket)) => opened.map_err(Failure::system)?,
        () = &mut stop => return Ok(Done::Good),
    };
    let link = match new_link {
        true => startup.new_admin_link().await.map(Some),
        false => startup.admin_link().await,
    };
    match link {
        Ok(Some(path)) => {
            print_error(&format!(
                "tauto: to become the admin, open {base}{path} (works once, for one day)\n"
            ));
        }
        Ok(None) => {}
        // A full disk, most likely; the service says so to everybody, and serves what it can.
        Err(error) => tracing::error!(%error, "no link for an admin: `tauto serve --admin-link` makes one"),
    }
    startup.serve(listeners, stop).await.map_err(|refusal| match refusal {
        // Starting again is no use.
        server::Refusal::Bad(why) => Failure::usage(why),
        other => Failure::system(other),
    })?;
    Ok(Done::Good)
}

async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut term) = signal(SignalKind::terminate()) else {
        tell_error("cannot hear SIGTERM");
        return std::future::pending().await;
    };
    // Ctrl-C reaches every process of the terminal; whoever started us decides what it means.
    let interrupt = signal(SignalKind::interrupt());
    term.recv().await;
    drop(interrupt);
}

/// Stays off the CPUs of slots, where there are others: what is measured there is not to be disturbed by requests.
fn keep_house() -> Result<(), Failure> {
    let machine = Machine::this().map_err(Failure::system)?;
    let plan = planned(&machine, &slots_config(None)?)?;
    let mut cpus = CpuSet::new();
    plan.housekeeping.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).for_each(|cpu| cpus.set(cpu));
    if plan.slots.is_empty() || cpus.count() == 0 {
        return Ok(());
    }
    if let Err(error) = sched_setaffinity(None, &cpus) {
        tracing::warn!(%error, "the web process may run on the slots' CPUs");
    }
    Ok(())
}

/// No program that is started from here gets a capability: capabilities(7), "Capability bounding set".
fn shrink_bounding_set() {
    for bit in 0..u64::BITS {
        // Without CAP_SETPCAP nothing can be taken from this set, and with no_new_privs nothing comes of it. Bits without a meaning
        // are refused.
        let capability = rustix::thread::CapabilitySet::from_bits_retain(1 << bit);
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
}

/// No capability, now or later.
fn give_up_privileges() -> Result<(), Failure> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let fail = |e| Failure::system(format!("giving up privileges: {e}"));
    rustix::thread::set_no_new_privs(true).map_err(fail)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(fail)
}

/// Writing is possible beneath the service's directory alone, where the kernel has Landlock; reading where names, certificates and
/// time zones are.
fn confine(directory: &Path) -> bool {
    const READ: [&str; 6] = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/run"];
    let all = AccessFs::from_all(ABI::V5);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let confined = || -> Result<_, Box<dyn std::error::Error>> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .create()?
            .add_rule(PathBeneath::new(PathFd::new(directory)?, all & !AccessFs::Execute))?;
        for path in READ {
            if let Ok(fd) = PathFd::new(path) {
                rules = rules.add_rule(PathBeneath::new(fd, read))?;
            }
        }
        for path in ["/dev/null", "/dev/urandom"] {
            if let Ok(fd) = PathFd::new(path) {
                let rights = AccessFs::ReadFile | AccessFs::WriteFile;
                rules = rules.add_rule(PathBeneath::new(fd, rights))?;
            }
        }
        Ok(rules.restrict_self()?.ruleset)
    };
    match confined() {
        Ok(landlock::RulesetStatus::NotEnforced) => {
            tracing::warn!("no Landlock: the web process is confined by its user alone");
            false
        }
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(%error, "the web process is confined by its user alone");
            false
        }
    }
}

/// A new socket: the one of an earlier process is dead.
fn work_socket(path: &Path) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    UnixListener::bind(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::process::Command;

    /// Landlock holds the thread that asks for it, and what comes of it.
    #[test]
    fn a_confined_process_writes_its_own_directory_and_starts_nothing() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = other.path().join("secret");
        fs::write(&secret, "x").unwrap();
        let brought = carried(&secret).unwrap();
        std::thread::spawn(move || {
            if !confine(own.path()) {
                assert!(
                    !Path::new("/sys/kernel/security/lsm").exists()
                        || !fs::read_to_string("/sys/kernel/security/lsm").unwrap().contains("landlock"),
                    "there is Landlock, and it is not in force"
                );
                return;
            }
            // What was carried along is there.
            assert_eq!(fs::read_to_string(&brought).unwrap(), "x");
            let file = own.path().join("file");
            fs::write(&file, "mine").unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
            assert!(fs::read("/etc/passwd").is_ok());
            for denied in [
                fs::write(other.path().join("new"), "x"),
                fs::write(&secret, "y"),
                fs::read(&secret).map(drop),
                fs::remove_file(&secret),
                fs::rename(&secret, own.path().join("taken")),
                fs::hard_link(&secret, own.path().join("linked")),
                Command::new("/bin/true").status().map(drop),
            ] {
                // Between directories of different rights nothing is moved or linked: to Landlock they are different devices.
                let kind = denied.unwrap_err().kind();
                assert!(matches!(kind, ErrorKind::PermissionDenied | ErrorKind::CrossesDevices), "{kind}");
            }
        })
        .join()
        .unwrap();
    }
}
