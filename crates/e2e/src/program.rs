//! The hostile programs: where they are and what their head comments ask for.
//!
//! A head is a run of comment lines `KEY: VALUE` at the top of the file (after `#!`), introduced by `//` or `#`:
//!
//! | key | value |
//! |---|---|
//! | `run` | limit and placement options, over the defaults of [`Program::options`] |
//! | `args` | arguments of the program; each such line is one run, in order; `{name}` stands for a bait |
//! | `expect` | the status that must come, alternatives with a bar between them |
//! | `bare` | the same where no memory cgroup can be had (an ordinary user to whom none is delegated) |
//! | `check` | a condition on the JSON document, any number of them |
//! | `host` | how far the kernel's memory of the whole machine may grow at any time of the run, such as `48M` |
//! | `bare_host` | the same where no memory cgroup can be had: what numbers of objects bound, not bytes |
//! | `needs` | features without which it is skipped: `root`, `memory_group`, `python3`, `ipcmk`, `cpus=N`, `sandbox` (not in a virtual machine) |
//! | `stdio` | `file` (default), `pipe`, `unread` (a pipe nobody reads), `inherit` (files, and more descriptors open) |
//! | `setuid` | `yes`: the file is owned by root and has the setuid bit |
//! | `why` | the attack in one line |

use crate::condition::{Condition, limit_value};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the streams of a run go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// Two files named on the command line.
    #[default]
    File,
    /// A pipe that is emptied.
    Pipe,
    /// A pipe that is not emptied.
    Unread,
    /// Files, while `tauto` itself is given more open descriptors than the three.
    Inherit,
}

/// One hostile program.
#[derive(Clone, Debug)]
pub struct Program {
    /// `group/name`, without the ending.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// All options of the run, defaults included.
    pub options: Vec<(String, String)>,
    /// One list of arguments for each run.
    pub runs: Vec<Vec<String>>,
    /// Statuses of which one must come.
    pub expect: Vec<String>,
    /// The same where no memory cgroup can be had; none: the same.
    pub bare: Option<Vec<String>>,
    /// Conditions on the document.
    pub checks: Vec<Condition>,
    /// How far the kernel's memory of the machine may grow, in bytes.
    pub host: Option<u64>,
    /// The same where no memory cgroup can be had; none: the same.
    pub bare_host: Option<u64>,
    /// Features without which it is skipped.
    pub needs: Vec<String>,
    /// Where the streams go.
    pub streams: Streams,
    /// It is installed as a setuid file of root's.
    pub setuid: bool,
}

/// Runs of one program that are repeated in virtual machines, at most.
const MACHINES: usize = 8;

const STATUSES: [&str; 8] = [
    "ok",
    "nonzero_exit",
    "signalled",
    "cpu_time_limit",
    "wall_time_limit",
    "memory_limit",
    "output_limit",
    "system_error",
];

/// No hostile program is ever without limits, whatever its head leaves out.
const DEFAULTS: [(&str, &str); 5] = [
    ("--cpu-time", "2"),
    ("--wall-time", "6"),
    ("--memory", "256M"),
    ("--processes", "32"),
    ("--output", "16M"),
];

fn statuses(text: &str) -> Result<Vec<String>, String> {
    let list: Vec<String> = text.split('|').map(|word| word.trim().to_string()).collect();
    match list.iter().find(|word| !STATUSES.contains(&word.as_str())) {
        Some(word) => Err(format!("`{word}` is not a status")),
        None => Ok(list),
    }
}

fn options(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = DEFAULTS.map(|(name, value)| (name.into(), value.into())).to_vec();
    for pair in text.split_whitespace().collect::<Vec<_>>().chunks(2) {
        let [name, value] = pair else { return Err(format!("option {} has no value", pair[0])) };
        if !name.starts_with("--") {
            return Err(format!("`{name}` is not an option"));
        }
        all.retain(|(other, _)| other != name);
        all.push((name.to_string(), value.to_string()));
    }
    Ok(all)
}

impl Program {
    /// Reads the head of a program.
    ///
    /// # Errors
    /// A malformed line, an unknown key, or no `expect` or `why`; with the name of the program.
    pub fn parse(name: &str, source: &Path, text: &str) -> Result<Program, String> {
        Program::read_head(name, source, text).map_err(|error| format!("{name}: {error}"))
    }

    fn read_head(name: &str, source: &Path, text: &str) -> Result<Program, String> {
        let mut program = Program {
            name: name.to_string(),
            source: source.to_path_buf(),
            options: options("")?,
            runs: Vec::new(),
            expect: Vec::new(),
            bare: None,
            checks: Vec::new(),
            host: None,
            bare_host: None,
            needs: Vec::new(),
            streams: Streams::File,
            setuid: false,
        };
        let mut why = "";
        for line in text.lines().filter(|line| !line.starts_with("#!")) {
            let Some(line) = line.strip_prefix("// ").or_else(|| line.strip_prefix("# ")) else { break };
            let (key, value) =
                line.split_once(": ").ok_or_else(|| format!("head line `{line}` has no key"))?;
            match key {
                "run" => program.options = options(value)?,
                "args" => program.runs.push(value.split_whitespace().map(String::from).collect()),
                "expect" => program.expect = statuses(value)?,
                "bare" => program.bare = Some(statuses(value)?),
                "check" => program.checks.push(Condition::parse(value)?),
                "host" => program.host = Some(size(value)?),
                "bare_host" => program.bare_host = Some(size(value)?),
                "needs" => program.needs.extend(value.split_whitespace().map(String::from)),
                "stdio" => program.streams = streams(value)?,
                "setuid" => program.setuid = value == "yes",
                "why" => why = value,
                _ => return Err(format!("unknown key `{key}` in the head")),
            }
        }
        if program.expect.is_empty() || why.is_empty() {
            return Err("the head has no `expect` or no `why`".into());
        }
        if program.runs.is_empty() {
            program.runs.push(Vec::new());
        }
        Ok(program)
    }

    /// The same program for a virtual machine, which may be emulated: ten times the time limits unless a time limit ends it, and no
    /// checks of readings. The expected status may be that of any kind of groups. The kernel's memory is not watched, since it
    /// is the guest's.
    #[must_use]
    pub fn in_a_machine(mut self) -> Program {
        let ends_by_time = self.expect.iter().any(|status| status.ends_with("_time_limit"));
        for (_, value) in self.options.iter_mut().filter(|(name, _)| name.ends_with("-time") && !ends_by_time)
        {
            if let Ok(seconds) = value.parse::<f64>() {
                *value = (10.0 * seconds).to_string();
            }
        }
        self.expect.extend(self.bare.take().into_iter().flatten());
        self.runs.truncate(MACHINES);
        self.checks.clear();
        (self.host, self.bare_host) = (None, None);
        self
    }

    /// How far the kernel's memory of the machine may grow, in bytes; none: it is not looked at.
    pub fn host_bound(&self, memory_group: bool) -> Option<u64> {
        if memory_group { self.host } else { self.bare_host.or(self.host) }
    }

    /// The statuses of which one must come.
    pub fn expected(&self, memory_group: bool) -> &[String] {
        match &self.bare {
            Some(bare) if !memory_group => bare,
            _ => &self.expect,
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    limit_value("", text).map(|bytes| bytes as u64).ok_or_else(|| format!("`{text}` is not a size"))
}

fn streams(text: &str) -> Result<Streams, String> {
    match text {
        "file" => Ok(Streams::File),
        "pipe" => Ok(Streams::Pipe),
        "unread" => Ok(Streams::Unread),
        "inherit" => Ok(Streams::Inherit),
        _ => Err(format!("`{text}` is not a kind of stdio")),
    }
}

/// The directory of the programs.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// All programs of all groups, sorted by name.
///
/// # Errors
/// An unreadable directory or file, or a malformed head.
pub fn discover() -> Result<Vec<Program>, String> {
    let list = |path: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut programs = Vec::new();
    for group in list(&directory())?.into_iter().filter(|path| path.is_dir()) {
        for source in list(&group)? {
            let text =
                fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
            let part = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let ending = source.extension().unwrap_or_default().to_string_lossy().into_owned();
            let ending = if ending == "c" { String::new() } else { format!("_{ending}") };
            programs.push(Program::parse(
                &format!("{}/{}{ending}", part(&group), part(&source)),
                &source,
                &text,
            )?);
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        let text = "#!/bin/sh\n# run: --memory 64M --cpu-time 1\n# args: a b\n# args: c\n# expect: ok|memory_limit\n\
                    # bare: ok\n# check: signal == 9\n# host: 48M\n# needs: root ipcmk\n# stdio: pipe\n# why: to see\nexit 0\n";
        let program = Program::parse("group/name", Path::new("name.sh"), text).expect("well formed");
        assert_eq!(program.runs, [vec!["a".to_string(), "b".into()], vec!["c".into()]]);
        assert_eq!(program.expected(true), ["ok", "memory_limit"]);
        assert_eq!(program.expected(false), ["ok"]);
        assert_eq!(program.needs, ["root", "ipcmk"]);
        assert_eq!((program.host_bound(true), program.host_bound(false)), (Some(48 << 20), Some(48 << 20)));
        assert_eq!(program.streams, Streams::Pipe);
        assert!(program.options.contains(&("--memory".into(), "64M".into())));
        assert!(program.options.contains(&("--wall-time".into(), "6".into())));
        assert_eq!(program.options.iter().filter(|(name, _)| name == "--cpu-time").count(), 1);
    }

    #[test]
    fn malformed_heads_are_refused() {
        for bad in [
            "",
            "// expect: ok\n",
            "// why: no status\n",
            "// expect: fine\n// why: x\n",
            "// expect: ok\n// wye: x\n",
            "// expect: ok\n// why: x\n// run: --memory\n",
            "// expect: ok\n// why: x\n// run: memory 3\n",
            "// expect: ok\n// why: x\n// stdio: radio\n",
            "// expect: ok\n// why: x\n// host: much\n",
        ] {
            assert!(Program::parse("group/name", Path::new("name.c"), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_program_has_a_head() {
        let programs = discover().expect("all heads are well formed");
        assert!(programs.len() >= 60, "{} programs", programs.len());
        assert!(programs.windows(2).all(|pair| pair[0].name != pair[1].name), "two programs of one name");
    }
}
