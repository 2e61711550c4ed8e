//! Opening a path beneath a held directory, whoever changes the tree meanwhile.
//!
//! openat2(2) resolves `..` below a directory only as long as nothing on the whole machine is mounted or renamed; then it
//! fails with EAGAIN, as often as that happens. So links are read and `..` is resolved here: it leads back to the
//! directory that was passed on the way, whose descriptor is held. Each name is opened alone and never through a link, so
//! every directory reached was reached by its names from the root.

use crate::retry::{OPENING, PATIENCE, repeat};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use std::io;

/// As many symbolic links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// What becomes of `..` in the directory itself, and of absolute links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// They are refused (EXDEV).
    Refused,
    /// The directory is the root: `..` stays in it and absolute links begin there.
    StaysAtRoot,
}

/// Opens `path` beneath `root`. With `O_NOFOLLOW` the last name is not followed if it is a link; all others are.
///
/// # Errors
/// As open(2), and `EXDEV` for what leaves the directory.
pub fn open(root: impl AsFd, path: &str, flags: OFlags, leaving: Leaving) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let mut walk = Walk { root: root.as_fd(), passed: Vec::new(), ahead: Vec::new(), links: 0, leaving };
    walk.face(path.as_bytes())?;
    while let Some(name) = walk.ahead.pop() {
        match &*name {
            b"" | b"." => {}
            b".." => walk.up()?,
            _ if walk.ahead.is_empty() => {
                let here = walk.here();
                // Before it is opened: with O_PATH a link can be opened like anything else.
                let followed = if flags.contains(OFlags::NOFOLLOW) { None } else { link(here, &name)? };
                match followed {
                    Some(target) => walk.follow(&target)?,
                    None => return at(here, &name, flags | OFlags::NOFOLLOW),
                }
            }
            _ => walk.down(&name)?,
        }
    }
    at(walk.here(), b".", flags)
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    /// The directories passed, from the root down.
    passed: Vec<OwnedFd>,
    /// The names that are left, the next one last.
    ahead: Vec<Vec<u8>>,
    links: usize,
    leaving: Leaving,
}

impl Walk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.passed.last().map_or(self.root, AsFd::as_fd)
    }

    /// Puts a path in front of what is left.
    fn face(&mut self, path: &[u8]) -> io::Result<()> {
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if path[0] == b'/' {
            match self.leaving {
                Leaving::Refused => return Err(Errno::XDEV.into()),
                Leaving::StaysAtRoot => self.passed.clear(),
            }
        }
        self.ahead.extend(path.split(|b| *b == b'/').rev().map(<[u8]>::to_vec));
        Ok(())
    }

    fn up(&mut self) -> io::Result<()> {
        match (self.passed.pop(), self.leaving) {
            (None, Leaving::Refused) => Err(Errno::XDEV.into()),
            _ => Ok(()),
        }
    }

    fn down(&mut self, name: &[u8]) -> io::Result<()> {
        match at(self.here(), name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC) {
            Ok(directory) => {
                self.passed.push(directory);
                Ok(())
            }
            // No directory: a link, or something that ends the way here.
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => match link(self.here(), name)? {
                Some(target) => self.follow(&target),
                None => Err(e),
            },
            Err(e) => Err(e),
        }
    }

    fn follow(&mut self, target: &[u8]) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        self.face(target)
    }
}

/// Opens one name.
fn at(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    repeat(OPENING, PATIENCE, || Ok(openat(directory, name, flags, Mode::empty())?))
}

/// Where a link leads; `None` for what is no link.
fn link(directory: BorrowedFd<'_>, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    match readlinkat(directory, name, Vec::new()) {
        Ok(target) => Ok(Some(target.into_bytes())),
        Err(Errno::INVAL) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Leaving::{Refused, StaysAtRoot};
    use rustix::fs::{CWD, FileType, ResolveFlags, fstat, openat2};
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    fn root(path: &Path) -> OwnedFd {
        openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    fn made() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |p: &str| dir.path().join(p);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir_all(at("c")).unwrap();
        fs::write(at("a/b/f"), "f").unwrap();
        fs::write(at("c/g"), "g").unwrap();
        for (target, name) in [
            ("../../c/g", "a/b/g"),
            ("../c", "a/c"),
            ("/c/g", "a/absolute"),
            ("../../c/g", "c/out"),
            ("..", "up"),
            ("round", "round"),
            ("a/b/f/", "slash"),
            ("nowhere", "dangling"),
        ] {
            symlink(target, at(name)).unwrap();
        }
        dir
    }

    fn read(root: &OwnedFd, path: &str, leaving: Leaving) -> Result<String, Option<Errno>> {
        let file = open(root, path, OFlags::RDONLY, leaving).map_err(|e| Errno::from_io_error(&e))?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).map_err(|e| Errno::from_io_error(&e))?;
        Ok(text)
    }

    #[test]
    fn paths_lead_where_the_kernel_says() {
        let dir = made();
        let root = root(dir.path());
        for (path, refused, at_root) in [
            ("a/b/f", Ok("f"), Ok("f")),
            ("a/b/g", Ok("g"), Ok("g")),
            ("a/c/g", Ok("g"), Ok("g")),
            ("./a//b/../b/f", Ok("f"), Ok("f")),
            ("/c/g", Err(Errno::XDEV), Ok("g")),
            ("a/absolute", Err(Errno::XDEV), Ok("g")),
            ("c/out", Err(Errno::XDEV), Ok("g")),
            ("../c/g", Err(Errno::XDEV), Ok("g")),
            ("up/c/g", Err(Errno::XDEV), Ok("g")),
            ("round", Err(Errno::LOOP), Err(Errno::LOOP)),
            ("round/x", Err(Errno::LOOP), Err(Errno::LOOP)),
            ("slash", Err(Errno::NOTDIR), Err(Errno::NOTDIR)),
            ("a/b/f/x", Err(Errno::NOTDIR), Err(Errno::NOTDIR)),
            ("dangling", Err(Errno::NOENT), Err(Errno::NOENT)),
            ("a/none/../b/f", Err(Errno::NOENT), Err(Errno::NOENT)),
            ("", Err(Errno::NOENT), Err(Errno::NOENT)),
            ("a", Err(Errno::ISDIR), Err(Errno::ISDIR)),
        ] {
            let expected = |r: Result<&str, Errno>| r.map(String::from).map_err(Some);
            assert_eq!(read(&root, path, Refused), expected(refused), "{path}");
            assert_eq!(read(&root, path, StaysAtRoot), expected(at_root), "{path}");
        }
    }

    #[test]
    fn the_last_link_is_itself_where_it_is_not_to_be_followed() {
        let dir = made();
        let kind = |path: &str, flags| {
            let fd = open(root(dir.path()), path, OFlags::PATH | flags, Refused).unwrap();
            FileType::from_raw_mode(fstat(fd).unwrap().st_mode)
        };
        assert_eq!(kind("a/c", OFlags::NOFOLLOW), FileType::Symlink);
        assert_eq!(kind("a/c", OFlags::empty()), FileType::Directory);
        assert_eq!(kind("a/b/..", OFlags::NOFOLLOW), FileType::Directory);
    }

    /// A thread renames in a loop; openat2(2) beside it is the control. The test goes on until the
    /// control was refused, because the thread may start late.
    #[test]
    fn renames_on_the_machine_disturb_no_link() {
        let dir = made();
        let beside = tempfile::tempdir().unwrap();
        let over = AtomicBool::new(false);
        let (one, two) = (beside.path().join("1"), beside.path().join("2"));
        fs::write(&one, "").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    fs::rename(&one, &two).unwrap();
                    fs::rename(&two, &one).unwrap();
                }
            });
            let root = root(dir.path());
            let beneath = ResolveFlags::BENEATH;
            let (mut failed, mut control, mut tries) = (Vec::new(), 0, 0);
            let start = Instant::now();
            while tries < 2000 || (control == 0 && start.elapsed() < Duration::from_secs(20)) {
                tries += 1;
                failed.extend(read(&root, "a/b/g", Refused).err());
                let opened = openat2(&root, "a/b/g", OFlags::RDONLY, Mode::empty(), beneath);
                control += usize::from(opened.is_err_and(|e| e == Errno::AGAIN));
            }
            over.store(true, Ordering::Relaxed);
            assert!(failed.is_empty(), "{} of {tries}: {:?}", failed.len(), failed[0]);
            assert!(control > 0, "openat2 was never disturbed, so nothing was tried");
        });
    }
}
