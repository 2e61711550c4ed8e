//! Users that root becomes before it touches what is theirs.

use crate::terminal::Failure;
use rustix::fs::{Gid, Uid};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

/// The web process's uid and gid where no user is named and none is called `tautochrone`: in a range that systemd leaves unused
/// (<https://systemd.io/UIDS-GIDS/>, "Summary": 60578 to 61183).
const OWN_UID: u32 = 60_780;

/// A user by numbers; written UID:GID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
}

impl User {
    fn new(uid: u32, gid: u32) -> User {
        User { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid) }
    }

    /// Becomes this user for good. Capabilities go with it (capabilities(7), "Effect of user ID changes on capabilities"). To be called
    /// while this process has one thread: others would stay who they are.
    pub(crate) fn take_over(self) -> Result<(), Failure> {
        let fail = |e| Failure::system(format!("becoming user {self}: {e}"));
        rustix::thread::set_thread_groups(&[]).map_err(fail)?;
        rustix::thread::set_thread_res_gid(self.gid, self.gid, self.gid).map_err(fail)?;
        rustix::thread::set_thread_res_uid(self.uid, self.uid, self.uid).map_err(fail)
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uid.as_raw(), self.gid.as_raw())
    }
}

impl FromStr for User {
    type Err = ();

    fn from_str(text: &str) -> Result<User, ()> {
        let (uid, gid) = text.split_once(':').ok_or(())?;
        Ok(User::new(uid.parse().map_err(drop)?, gid.parse().map_err(drop)?))
    }
}

/// Who the web process is to be: the one that is named, or the usual one. `None`: who we are, where that is not root.
pub(crate) fn of_service(named: Option<&str>) -> Result<Option<User>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return match named {
            Some(_) => Err(Failure::usage(
                "--user: only root can become another user\n\
                 hint: leave out --user, or start as root",
            )),
            None => Ok(None),
        };
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = choose(named, &passwd).map_err(Failure::usage)?;
    if found.uid.is_root() || found.gid.is_root() {
        return Err(Failure::usage(
            "--user: the web process must not be root\n\
             hint: name another user; tautochrone is the usual one",
        ));
    }
    Ok(Some(found))
}

fn choose(named: Option<&str>, passwd: &str) -> Result<User, String> {
    let Some(name) = named else {
        return Ok(of_passwd(passwd, "tautochrone").unwrap_or(User::new(OWN_UID, OWN_UID)));
    };
    let by_number = || name.parse().ok().map(|uid| User::new(uid, uid));
    let found = name.parse().ok().or_else(|| of_passwd(passwd, name)).or_else(by_number);
    found.ok_or_else(|| {
        format!("--user {name}: there is no such user\nhint: create it: useradd --system {name}")
    })
}

/// Uid and gid of a user (passwd(5)).
fn of_passwd(passwd: &str, name: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2);
    Some(User::new(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The user that a file belongs to which root is about to use: the owner of the first directory on the way to it that is not root's.
/// Whoever owns a directory decides what lies below it, links to elsewhere included. `None`: all of them are root's.
///
/// # Errors
/// Where the directory is not there.
pub(crate) fn keeper(file: &Path) -> std::io::Result<Option<User>> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The way as it was typed, and where it leads: both may pass through somebody's hands.
    let ways = [std::path::absolute(directory)?, directory.canonicalize()?];
    for way in &ways {
        let mut steps: Vec<&Path> = way.ancestors().collect();
        steps.reverse();
        for step in steps {
            let found = std::fs::symlink_metadata(step)?;
            if found.uid() != 0 {
                return Ok(Some(User::new(found.uid(), found.gid())));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\ntautochrone:x:998:997::/:/bin/false\nbad:x:y:1\n";

    #[test]
    fn users_are_found_by_name_and_number() {
        for (named, found) in [
            (None, Ok("998:997")),
            (Some("tautochrone"), Ok("998:997")),
            (Some("7"), Ok("7:7")),
            (Some("7:8"), Ok("7:8")),
            (Some("bad"), Err("--user bad: there is no such user\nhint: create it: useradd --system bad")),
            (
                Some("tauto"),
                Err("--user tauto: there is no such user\nhint: create it: useradd --system tauto"),
            ),
        ] {
            let expected = found.map(String::from).map_err(String::from);
            assert_eq!(choose(named, PASSWD).map(|user| user.to_string()), expected, "{named:?}");
        }
        assert_eq!(choose(None, ""), Ok(User::new(OWN_UID, OWN_UID)));
    }

    #[test]
    fn what_somebody_can_turn_elsewhere_is_theirs() {
        let directory = tempfile::tempdir().expect("a directory");
        let own = std::fs::metadata(directory.path()).expect("it is there");
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).expect("a directory");
        let found = keeper(&inner.join("judge.db")).expect("its keeper");
        assert_eq!(found, (own.uid() != 0).then(|| User::new(own.uid(), own.gid())));
        if own.uid() == 0 {
            let theirs = User::new(OWN_UID, OWN_UID);
            std::os::unix::fs::chown(&inner, Some(OWN_UID), Some(OWN_UID)).expect("root may");
            assert_eq!(keeper(&inner.join("judge.db")).expect("its keeper"), Some(theirs));
            // A link of theirs to a place of root's is followed as theirs.
            let link = inner.join("link");
            std::os::unix::fs::symlink("/usr", &link).expect("a link");
            assert_eq!(keeper(&link.join("judge.db")).expect("its keeper"), Some(theirs));
        }
        assert!(keeper(&inner.join("nowhere/judge.db")).is_err());
    }
}
