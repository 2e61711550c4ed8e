//! A cache of what tools report, from one command to the next: running some twenty of them takes seconds.
//!
//! An answer holds as long as the tool is the same file, unchanged, and is asked under the same circumstances: the
//! variables and files by which shims (pyenv, rustup, …) choose what they start. What a stamp cannot see is bounded by age.
//!
//! Answers become mounts and commands of runs, of root's too. So nothing is believed that another user could have
//! written: directory and file must be this user's, and writable by nobody else.

use super::Host;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const FILE: &str = "toolchains.toml";
/// Most of the file that is read.
const MOST_BYTES: u64 = 1 << 20;
/// Most answers that are kept; the oldest go first.
const MOST_ANSWERS: usize = 400;
/// Seconds for which an answer holds.
const HOLDS: u64 = 24 * 60 * 60;

/// Variables that may change what a tool answers: those that begin so. `HOME` does by the files in it.
const VARIABLES: &[&str] = &[
    "ASDF",
    "CARGO",
    "CONDA",
    "GHC",
    "GO",
    "JAVA",
    "JDK",
    "KOTLIN",
    "LANG",
    "LC_",
    "LD_",
    "LUA",
    "MISE",
    "MONO",
    "NODE",
    "NVM",
    "OCAML",
    "OPAM",
    "PATH",
    "PERL",
    "PHP",
    "PYENV",
    "PYPY",
    "PYTHON",
    "RBENV",
    "RUBY",
    "RUST",
    "SDKMAN",
    "VIRTUAL_ENV",
    "_JAVA",
];

/// Where shims write down what they start, below a home or `/` (questions are asked there).
const CHOICES: &[&str] = &[
    ".asdfrc",
    ".config/go/env",
    ".config/mise/config.toml",
    ".pyenv/version",
    ".pyenv/versions",
    ".python-version",
    ".rustup/settings.toml",
    ".rustup/toolchains",
    ".sdkman/candidates",
    ".tool-versions",
    "opt/pyenv/version",
    "opt/pyenv/versions",
    "usr/local/rustup/settings.toml",
];

/// Answers of tools.
#[derive(Debug, Default)]
pub struct Answers {
    /// Where they are kept; nowhere without it.
    directory: Option<PathBuf>,
    kept: Mutex<Option<AnswersFile>>,
}

/// What the file holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersFile {
    /// By circumstances and question.
    #[serde(default)]
    answers: BTreeMap<String, Answer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The tool's file.
    stamp: String,
    /// When it was asked, in seconds of the epoch.
    at: u64,
    answer: String,
}

impl Answers {
    /// A cache in this directory, created if absent. If it is not writable, nothing is cached.
    pub fn kept_in(directory: PathBuf) -> Answers {
        Answers { directory: Some(directory), kept: Mutex::default() }
    }

    /// The answer to a question, from `ask` unless it is known. `kind` tells questions apart that differ in what they take
    /// for the answer. Failures are not kept.
    pub(super) fn get(
        &self,
        host: &Host,
        kind: &str,
        argv: &[String],
        ask: impl FnOnce(&[String]) -> Result<String, String>,
    ) -> Result<String, String> {
        let Some(directory) = &self.directory else { return ask(argv) };
        let Some(stamp) = argv.first().and_then(|tool| stamp(Path::new(tool))) else { return ask(argv) };
        let key = format!("{:016x} {kind} {argv:?}", circumstances(host));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get_or_insert_with(|| read(directory).unwrap_or_default());
        if let Some(known) = known.answers.get(&key)
            && known.stamp == stamp
            && now.abs_diff(known.at) < HOLDS
        {
            return Ok(known.answer.clone());
        }
        let answer = ask(argv)?;
        // Another command may have written meanwhile.
        let mut all = read(directory).unwrap_or_default();
        all.answers.insert(key, Answer { stamp, at: now, answer: answer.clone() });
        while all.answers.len() > MOST_ANSWERS {
            let oldest = all.answers.iter().min_by_key(|(_, answer)| answer.at).map(|(key, _)| key.clone());
            oldest.map(|key| all.answers.remove(&key));
        }
        // What cannot be kept is asked again.
        let _ = write(directory, &all);
        *kept = Some(all);
        Ok(answer)
    }
}

/// What tells one state of a file from another, and the file it really is.
fn stamp(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    let m = std::fs::metadata(&real).ok()?;
    Some(format!(
        "{} {}:{} {} {}.{:09} {}.{:09}",
        real.display(),
        m.dev(),
        m.ino(),
        m.size(),
        m.mtime(),
        m.mtime_nsec(),
        m.ctime(),
        m.ctime_nsec()
    ))
}

fn circumstances(host: &Host) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| {
            VARIABLES.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes()))
        })
        .collect();
    variables.sort_unstable();
    variables.hash(&mut hasher);
    let pyenv = std::env::var_os("PYENV_ROOT").map(|root| Path::new(&root).join("version"));
    let places = host.homes.iter().map(PathBuf::as_path).chain([host.root.as_path()]);
    let choices = places.flat_map(|place| CHOICES.iter().map(|choice| place.join(choice)));
    for path in choices.chain(pyenv) {
        stamp(&path).hash(&mut hasher);
    }
    hasher.finish()
}

/// The directory, if nobody else can have written there.
fn open(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    own(openat(CWD, directory, flags, Mode::empty())?, FileType::Directory)
}

/// The descriptor, if it is this user's alone to write.
fn own(fd: OwnedFd, kind: FileType) -> io::Result<OwnedFd> {
    let stat = fstat(&fd)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0;
    match ours && FileType::from_raw_mode(stat.st_mode) == kind {
        true => Ok(fd),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn read(directory: &Path) -> io::Result<AnswersFile> {
    let directory = open(directory)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = own(openat(&directory, FILE, flags, Mode::empty())?, FileType::RegularFile)?;
    let mut text = String::new();
    File::from(file).take(MOST_BYTES).read_to_string(&mut text)?;
    toml::from_str(&text).map_err(io::Error::other)
}

/// Puts the file in place as a whole.
fn write(path: &Path, kept: &AnswersFile) -> io::Result<()> {
    let text = toml::to_string(kept).map_err(io::Error::other)?;
    let directory = match open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            mkdirat(CWD, path, Mode::from_raw_mode(0o700))?;
            open(path)?
        }
        opened => opened?,
    };
    let new = format!(".{FILE}.{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Left by a process of this number that was killed while it wrote.
    let _ = unlinkat(&directory, &new, AtFlags::empty());
    let mut file = File::from(openat(&directory, &new, flags, Mode::from_raw_mode(0o600))?);
    file.write_all(text.as_bytes())?;
    Ok(renameat(&directory, &new, &directory, FILE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Kit {
        directory: tempfile::TempDir,
        host: Host,
        asked: Cell<usize>,
    }

    impl Kit {
        fn new() -> Kit {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().to_owned();
            fs::write(root.join("tool"), "1").unwrap();
            let host = Host { homes: vec![root.join("home")], path: Vec::new(), root };
            Kit { directory, host, asked: Cell::new(0) }
        }

        fn cache(&self) -> PathBuf {
            self.directory.path().join("some/cache")
        }

        /// Asks as a new command would; whether the tool was asked.
        fn asks(&self) -> bool {
            let before = self.asked.get();
            let argv = [self.directory.path().join("tool").display().to_string(), "--version".into()];
            let answers = Answers::kept_in(self.cache());
            for _ in 0..2 {
                let answer = answers.get(&self.host, "any", &argv, |_| {
                    self.asked.set(self.asked.get() + 1);
                    Ok("\"7\"\n8".to_owned())
                });
                assert_eq!(answer, Ok("\"7\"\n8".to_owned()));
            }
            self.asked.get() > before
        }
    }

    #[test]
    fn a_tool_is_asked_again_when_it_or_what_chooses_it_has_changed() {
        let kit = Kit::new();
        assert!(kit.asks() && !kit.asks());
        fs::write(kit.directory.path().join("tool"), "22").unwrap();
        assert!(kit.asks() && !kit.asks());
        // The same bytes in another file, as after an upgrade and back.
        fs::write(kit.directory.path().join("new"), "22").unwrap();
        fs::rename(kit.directory.path().join("new"), kit.directory.path().join("tool")).unwrap();
        assert!(kit.asks() && !kit.asks());
        fs::create_dir_all(kit.directory.path().join("home/.pyenv")).unwrap();
        fs::write(kit.directory.path().join("home/.pyenv/version"), "3.12\n").unwrap();
        assert!(kit.asks() && !kit.asks());
        let mut old = read(&kit.cache()).unwrap();
        old.answers.values_mut().for_each(|answer| answer.at -= HOLDS);
        write(&kit.cache(), &old).unwrap();
        assert!(kit.asks() && !kit.asks());
    }

    #[test]
    fn failures_and_other_questions_are_not_mixed_up() {
        let kit = Kit::new();
        let tool = kit.directory.path().join("tool").display().to_string();
        let answers = Answers::kept_in(kit.cache());
        let get =
            |kind, word: &str, answer| answers.get(&kit.host, kind, &[tool.clone(), word.into()], |_| answer);
        assert_eq!(get("a", "x", Err("no".into())), Err("no".into()));
        assert_eq!(get("a", "x", Ok("1".into())), Ok("1".into()));
        assert_eq!(get("b", "x", Ok("2".into())), Ok("2".into()));
        assert_eq!(get("a", "y", Ok("3".into())), Ok("3".into()));
        assert_eq!(get("a", "x", Err("asked again".into())), Ok("1".into()));
    }

    #[test]
    fn nothing_is_believed_that_another_user_could_have_written() {
        let kit = Kit::new();
        assert!(kit.asks() && !kit.asks());
        let (directory, file) = (kit.cache(), kit.cache().join(FILE));
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        mode(&file, 0o666);
        assert!(kit.asks() && !kit.asks(), "a file that others may write");
        for (broad, narrow) in [(0o777, 0o700), (0o770, 0o755)] {
            mode(&directory, broad);
            assert!(kit.asks() && kit.asks(), "a directory that others may write");
            mode(&directory, narrow);
            assert!(!kit.asks());
        }
        fs::rename(&file, kit.directory.path().join("elsewhere")).unwrap();
        symlink(kit.directory.path().join("elsewhere"), &file).unwrap();
        assert!(kit.asks() && !kit.asks(), "a link");
        assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
            assert!(kit.asks() && !kit.asks(), "another user's file");
            std::os::unix::fs::chown(&directory, Some(65534), None).unwrap();
            assert!(kit.asks() && kit.asks(), "another user's directory");
            std::os::unix::fs::chown(&directory, Some(0), None).unwrap();
        }
        for garbage in ["", "x", "[answers]\nx = 1\n", &text[..text.len() / 2]] {
            fs::write(&file, garbage).unwrap();
            assert!(kit.asks() && !kit.asks(), "{garbage}");
        }
    }
}
