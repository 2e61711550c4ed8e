//! A directory as a source: everything is opened beneath one held descriptor.

use super::{CONTROLS, LeftOut, SourceError, SourceLimits};
use judge::filenames::escaped;
use judge::package::{Entry, FileTree};
use os::beneath::{self, Leaving};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A held directory.
pub(super) struct Directory {
    root: OwnedFd,
}

impl Directory {
    /// Opens and lists a directory. Symbolic links that stay inside are followed; the others, special files, and names
    /// that are not UTF-8 or have control characters are left out.
    pub(super) fn open(
        path: &Path,
        limits: SourceLimits,
    ) -> Result<(Directory, FileTree, Vec<LeftOut>), SourceError> {
        let why = |e: Errno| SourceError::Open { path: path.to_owned(), why: e.to_string() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty()).map_err(why)?;
        let identity = identity(&fstat(&root).map_err(why)?);
        let mut walk = Walk {
            root: &root,
            path: path.to_owned(),
            limits,
            tree: FileTree::default(),
            left_out: Vec::new(),
            entries: 0,
            above: vec![identity],
        };
        walk.directory(&root, "")?;
        let (tree, left_out) = (walk.tree, walk.left_out);
        Ok((Directory { root }, tree, left_out))
    }

    /// Opens a regular file beneath the directory.
    pub(super) fn file(&self, path: &str) -> Result<File, SourceError> {
        let why = |why: String| SourceError::Read { file: path.to_owned(), why };
        // Without NONBLOCK a named pipe put there since the listing would block for ever.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = beneath(&self.root, path, flags).map_err(|e| why(e.to_string()))?;
        let stat = fstat(&fd).map_err(|e| why(e.to_string()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(why("is not a regular file".to_owned()));
        }
        Ok(File::from(fd))
    }
}

fn beneath(root: &OwnedFd, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    beneath::open(root, path, flags, Leaving::Refused)
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

struct Walk<'a> {
    root: &'a OwnedFd,
    path: PathBuf,
    limits: SourceLimits,
    tree: FileTree,
    left_out: Vec<LeftOut>,
    entries: usize,
    /// Device and inode of every directory above, so that a link to one of them is no endless descent.
    above: Vec<(u64, u64)>,
}

impl Walk<'_> {
    fn directory(&mut self, fd: &OwnedFd, prefix: &str) -> Result<(), SourceError> {
        let unreadable = |e: Errno| SourceError::Read { file: format!("{prefix}."), why: e.to_string() };
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in Dir::read_from(fd).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        names.sort();
        for name in names {
            self.entries += 1;
            if self.entries > self.limits.entries {
                let why = format!("has more than {} files", self.limits.entries);
                return Err(SourceError::TooMuch { path: self.path.clone(), why });
            }
            match String::from_utf8(name) {
                Ok(name) if name.contains(char::is_control) => self.leave_out(prefix, &name, CONTROLS),
                Ok(name) => self.entry(fd, prefix, &name)?,
                Err(e) => {
                    let name = String::from_utf8_lossy(e.as_bytes()).into_owned();
                    self.leave_out(prefix, &name, "its name is not UTF-8\nhint: rename it");
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, parent: &OwnedFd, prefix: &str, name: &str) -> Result<(), SourceError> {
        let path = format!("{prefix}{name}");
        let unreadable = |e: Errno| SourceError::Read { file: path.clone(), why: e.to_string() };
        let mut stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            match beneath(self.root, &path, OFlags::PATH).and_then(|fd| Ok(fstat(fd)?)) {
                Ok(target) => stat = target,
                Err(e) => {
                    let why = match Errno::from_io_error(&e) {
                        Some(Errno::XDEV) => {
                            "a symbolic link that leaves the package\nhint: put the file itself there"
                        }
                        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                            "a symbolic link that leads nowhere\nhint: remove it, or correct its target"
                        }
                        // Any other fault says nothing about the link, so no test may vanish for it.
                        _ => return Err(SourceError::Read { file: path, why: e.to_string() }),
                    };
                    self.leave_out(prefix, name, why);
                    return Ok(());
                }
            }
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                let executable = stat.st_mode & 0o111 != 0;
                self.tree.files.insert(path, Entry { size, executable, content: None });
                Ok(())
            }
            // Version control holds no part of a package, and its many small files would count.
            FileType::Directory if name == ".git" || name == ".hg" => Ok(()),
            FileType::Directory => self.descend(&path, prefix, name, identity(&stat)),
            _ => {
                self.leave_out(prefix, name, "neither a file nor a directory\nhint: remove it");
                Ok(())
            }
        }
    }

    fn descend(
        &mut self,
        path: &str,
        prefix: &str,
        name: &str,
        identity: (u64, u64),
    ) -> Result<(), SourceError> {
        if self.above.contains(&identity) {
            self.leave_out(prefix, name, "a symbolic link to a directory above it\nhint: remove it");
            return Ok(());
        }
        if self.above.len() > self.limits.depth {
            let why = format!("`{path}` is more than {} directories deep", self.limits.depth);
            return Err(SourceError::TooMuch { path: self.path.clone(), why });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = beneath(self.root, path, flags)
            .map_err(|e| SourceError::Read { file: path.to_owned(), why: e.to_string() })?;
        self.tree.directories.push(path.to_owned());
        self.above.push(identity);
        let done = self.directory(&fd, &format!("{path}/"));
        self.above.pop();
        done
    }

    fn leave_out(&mut self, prefix: &str, name: &str, why: &str) {
        self.left_out.push(LeftOut { path: escaped(&format!("{prefix}{name}")), why: why.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Source, SourceLimits};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn links_that_stay_inside_are_followed_and_the_rest_is_left_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let at = |p: &str| dir.path().join(p);
        fs::create_dir_all(at("data/sample")).unwrap();
        fs::create_dir_all(at(".git/objects")).unwrap();
        fs::write(at("data/sample/1.in"), "1\n").unwrap();
        fs::write(at("problem.yaml"), "name: x\n").unwrap();
        symlink("1.in", at("data/sample/2.in")).unwrap();
        symlink("sample", at("data/again")).unwrap();
        symlink("..", at("data/up")).unwrap();
        symlink(outside.path().join("secret"), at("absolute")).unwrap();
        symlink("../../../../../../etc/passwd", at("relative")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        fs::write(at("a\nhint: b"), "").unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();

        let source = Source::open(dir.path(), SourceLimits::USUAL).unwrap();
        let names: Vec<&str> = source.tree().files.keys().map(String::as_str).collect();
        let expected =
            ["data/again/1.in", "data/again/2.in", "data/sample/1.in", "data/sample/2.in", "problem.yaml"];
        assert_eq!(names, expected);
        assert_eq!(source.tree().directories, ["data", "data/again", "data/sample"]);
        let left_out: Vec<&str> = source.left_out().iter().map(|l| l.path.as_str()).collect();
        assert_eq!(left_out, [r"a\nhint: b", "absolute", "dangling", "data/up", "relative", "socket"]);
        assert_eq!(source.tree().files["problem.yaml"].content.as_deref(), Some(&b"name: x\n"[..]));
        assert_eq!(source.bytes("data/sample/2.in").unwrap(), b"1\n");
        for refused in ["absolute", "relative", "../x", "/etc/passwd", "socket"] {
            assert!(source.file(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn bounds_hold() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        let few = SourceLimits { entries: 2, ..SourceLimits::USUAL };
        let flat = SourceLimits { depth: 2, ..SourceLimits::USUAL };
        for limits in [few, flat] {
            assert!(Source::open(dir.path(), limits).is_err());
        }
        assert!(Source::open(dir.path(), SourceLimits::USUAL).is_ok());
    }
}
