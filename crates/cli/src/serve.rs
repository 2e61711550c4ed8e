//! `tauto serve`: the service on this machine. This process only starts and watches the others: the web process, which holds no
//! privilege, and one worker for each slot, which hold no database.

pub(crate) mod nursery;
mod web;

use crate::Done;
use crate::config::data_directory;
use crate::log::{LogForm, begin};
use crate::options::SlotChoice;
use crate::terminal::{Failure, print_error};
use crate::worker;
use clap::Args;
use nursery::{Child, Nursery};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::process::Signal;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address and port to serve HTTP on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The database: a file, or postgres://… [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The slots that judge here, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::options::slot_choice)]
    slots: Vec<SlotChoice>,
    /// Judge nothing here; workers connect by the socket in the service's directory
    #[arg(long, conflicts_with = "slots")]
    no_worker: bool,
    /// User that the web process runs as, when started by root [default: tautochrone where there is one, else a number of its own]
    #[arg(long, value_name = "NAME|UID")]
    user: Option<String>,
    /// Everybody must sign in, on the loopback address too
    #[arg(long)]
    accounts: bool,
    /// Where browsers find the service, such as https://judge.example.org [default: the listening address]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    proxy: Vec<IpAddr>,
    /// Print a new one-time link to become an admin, also where there is one
    #[arg(long)]
    admin_link: bool,
    /// Seconds that judging may go on when the service is to end
    #[arg(long, value_name = "N", default_value_t = 20)]
    grace: u64,
    /// How log lines are written
    #[arg(long, value_enum, default_value = "text")]
    log: LogForm,
    /// Languages of your own: a table laid over the shipped one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
    /// Be the web process; the listening socket is standard input
    #[arg(long, hide = true)]
    web: bool,
    /// The service's directory, of the web process
    #[arg(long, hide = true, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// The web process's uid and gid where no user is named and none is called `tautochrone`: in a range that systemd leaves unused
/// (<https://systemd.io/UIDS-GIDS/>, "Summary": 60578 to 61183).
const OWN_UID: u32 = 60_780;

/// Who the web process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WebUser {
    uid: Uid,
    gid: Gid,
}

pub(crate) fn main(args: ServeArgs) -> Result<Done, Failure> {
    begin(args.log);
    if args.web { web::main(&args) } else { supervise(&args) }
}

fn supervise(args: &ServeArgs) -> Result<Done, Failure> {
    let http = TcpListener::bind(args.listen).map_err(|e| {
        Failure::usage(format!(
            "--listen {}: {e}; is another service there? choose another port",
            args.listen
        ))
    })?;
    let address = http.local_addr().map_err(Failure::system)?;
    let user = web_user(args)?;
    let directory = service_directory(&data_directory()?, user)?;
    let slots = match (args.no_worker, args.slots.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => worker::all_slots()?,
        (false, false) => args.slots.clone(),
    };
    let mut children = vec![web_child(args, http, &directory, user)];
    let socket = directory.join(web::SOCKET);
    children.extend(
        slots.iter().map(|slot| worker::child(*slot, &socket, None, args.languages.as_deref(), args.log)),
    );
    let nursery = Nursery::start(children)?;
    print_error(&format!("tauto: serving at http://{address}/ (Ctrl-C ends it)\n"));
    // Workers last: what they are judging is waited for by the web process.
    nursery.attend(|children| {
        let (web, workers): (Vec<_>, Vec<_>) = children.iter().partition(|child| child.name == "web");
        web.iter().for_each(|child| child.tell(Signal::TERM));
        web.iter().for_each(|child| child.wait());
        workers.iter().for_each(|child| child.tell(Signal::TERM));
    })
}

fn web_child(args: &ServeArgs, http: TcpListener, directory: &Path, user: Option<WebUser>) -> Child {
    let mut words: Vec<OsString> =
        vec!["serve".into(), "--web".into(), "--directory".into(), directory.into()];
    words.extend(["--listen".into(), args.listen.to_string().into()]);
    words.extend(["--grace".into(), args.grace.to_string().into()]);
    if let Some(database) = &args.database {
        words.extend(["--database".into(), database.into()]);
    }
    if let Some(user) = user {
        words.extend(["--user".into(), format!("{}:{}", user.uid.as_raw(), user.gid.as_raw()).into()]);
    }
    for (given, word) in [(args.accounts, "--accounts"), (args.admin_link, "--admin-link")] {
        words.extend(given.then(|| word.into()));
    }
    if let Some(url) = &args.public_url {
        words.extend(["--public-url".into(), url.into()]);
    }
    for proxy in &args.proxy {
        words.extend(["--proxy".into(), proxy.to_string().into()]);
    }
    words.extend(["--log".into(), args.log.name().into()]);
    Child { name: "web".into(), args: words, stdin: Some(http.into()) }
}

/// Who the web process is to be; `None`: who we are, where that is not root.
fn web_user(args: &ServeArgs) -> Result<Option<WebUser>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return match &args.user {
            Some(_) => Err(Failure::usage("--user: only root can become another user")),
            None => Ok(None),
        };
    }
    let named = args.user.as_deref();
    let numbers = |uid: u32, gid: u32| WebUser { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid) };
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = match named {
        Some(name) => match name.split_once(':').map(|(uid, gid)| (uid.parse(), gid.parse())) {
            Some((Ok(uid), Ok(gid))) => numbers(uid, gid),
            _ => match (of_passwd(&passwd, name), name.parse()) {
                (Some((uid, gid)), _) => numbers(uid, gid),
                (None, Ok(uid)) => numbers(uid, uid),
                (None, Err(_)) => {
                    return Err(Failure::usage(format!("--user {name}: there is no such user")));
                }
            },
        },
        None => of_passwd(&passwd, "tautochrone")
            .map_or(numbers(OWN_UID, OWN_UID), |(uid, gid)| numbers(uid, gid)),
    };
    if found.uid.is_root() || found.gid.is_root() {
        return Err(Failure::usage("--user: the web process must not be root"));
    }
    Ok(Some(found))
}

/// Uid and gid of a user (passwd(5)).
fn of_passwd(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let line = passwd.lines().map(fields).find(|fields| fields.first().is_some_and(|first| first == name))?;
    Some((line.get(2)?.parse().ok()?, line.get(3)?.parse().ok()?))
}

/// The directory below the data directory that is the web process's alone.
fn service_directory(data: &Path, user: Option<WebUser>) -> Result<PathBuf, Failure> {
    let path = data.join("service");
    let fail = |e: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{}: {e}; set TAUTO_DATA_DIR to a directory that this user may write to",
            path.display()
        ))
    };
    std::fs::create_dir_all(data).map_err(|e| fail(&e))?;
    // By descriptor: what lies in a directory that root made is root's, but its entry `service` is given away below.
    let data =
        rustix::fs::open(data, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| fail(&e))?;
    match rustix::fs::mkdirat(&data, "service", Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(e) => return Err(fail(&e)),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let service = rustix::fs::openat(&data, "service", flags, Mode::empty()).map_err(|e| fail(&e))?;
    if let Some(user) = user {
        let stat = rustix::fs::fstat(&service).map_err(|e| fail(&e))?;
        if stat.st_uid == 0 {
            rustix::fs::fchown(&service, Some(user.uid), Some(user.gid)).map_err(|e| fail(&e))?;
        } else if stat.st_uid != user.uid.as_raw() {
            let why = format!(
                "belongs to user {}, not to {}, who is to run the service; see --user",
                stat.st_uid,
                user.uid.as_raw()
            );
            return Err(fail(&why));
        }
        // The way to it must be passable for that user.
        let passable = rustix::fs::statat(CWD, data_of(&path), AtFlags::empty()).map_err(|e| fail(&e))?;
        if passable.st_mode & 0o001 == 0 && passable.st_uid == 0 {
            rustix::fs::fchmod(&data, Mode::from_raw_mode((passable.st_mode | 0o011) & 0o7777))
                .map_err(|e| fail(&e))?;
        }
    }
    Ok(path)
}

fn data_of(service: &Path) -> &Path {
    service.parent().unwrap_or(service)
}

/// Ends this process with the one that started it, however that ends.
pub(crate) fn die_with_parent() -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\ntautochrone:x:998:997::/:/bin/false\nbad:x:y:1\n";
        assert_eq!(of_passwd(passwd, "tautochrone"), Some((998, 997)));
        assert_eq!(of_passwd(passwd, "root"), Some((0, 0)));
        assert_eq!(of_passwd(passwd, "bad"), None);
        assert_eq!(of_passwd(passwd, "tauto"), None);
    }
}
