//! A machine's files as one readable text, so that whoever sends one can see what is in it.
//!
//! ```text
//! tauto recording 1
//! /proc/swaps
//! <tab>Filename Type Size
//! /sys/devices/system/cpu/
//! <tab>cpu0
//! /sys/x -> ../y
//! /sys/denied ! 13 Permission denied
//! ```
//!
//! A file is a path and its lines behind a tab; a directory is a path with a slash at its end and its names. A directory
//! that is only implied by longer paths needs no entry.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

const HEAD: &str = "tauto recording 1";

/// Kernel parameters that concern time; others may hold secrets and are left out.
const PARAMETERS: [&str; 34] = [
    "acpi_irq_nobalance",
    "amd_pstate",
    "audit",
    "clocksource",
    "cpuidle.off",
    "default_hugepagesz",
    "hpet",
    "hugepages",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "numa",
    "numa_balancing",
    "processor.max_cstate",
    "psi",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcutree.kthread_prio",
    "skew_tick",
    "transparent_hugepage",
    "tsc",
    "workqueue.unbound_cpus",
];

/// One thing that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Text(String),
    Directory(BTreeSet<String>),
    Link(String),
    Error(i32, String),
}

impl Entry {
    pub(super) fn error(e: &io::Error) -> Entry {
        Entry::Error(e.raw_os_error().unwrap_or(0), e.to_string())
    }
}

/// What was asked for, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recording {
    entries: BTreeMap<String, Entry>,
}

impl Recording {
    pub(super) fn parse(text: &str) -> Result<Recording, String> {
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, head)| head != HEAD) {
            return Err(format!("line 1: not a recording, which begins with `{HEAD}`"));
        }
        let mut recording = Recording::default();
        let mut current: Option<String> = None;
        for (n, line) in lines {
            if let Some(content) = line.strip_prefix('\t') {
                let entry = current.as_ref().and_then(|path| recording.entries.get_mut(path));
                match entry {
                    Some(Entry::Text(text)) => {
                        text.push_str(content);
                        text.push('\n');
                    }
                    Some(Entry::Directory(names)) => drop(names.insert(content.to_string())),
                    _ => return Err(format!("line {}: content without a path above it", n + 1)),
                }
            } else if line.starts_with('/') {
                let (path, entry) = head(line);
                current = Some(path.clone());
                recording.entries.insert(path, entry);
            } else if !line.trim().is_empty() && !line.starts_with('#') {
                return Err(format!("line {}: neither a path nor its content: `{line}`", n + 1));
            }
        }
        for entry in recording.entries.values_mut() {
            if let Entry::Text(text) = entry {
                text.truncate(text.trim_end().len());
            }
        }
        Ok(recording)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        let indented = |text: &mut String, lines: &mut dyn Iterator<Item = &str>| {
            lines.for_each(|line| text.extend(["\t", line, "\n"]));
        };
        for (path, entry) in &self.entries {
            text.push_str(path);
            match entry {
                Entry::Text(content) => {
                    text.push('\n');
                    indented(&mut text, &mut content.lines());
                }
                Entry::Directory(names) => {
                    text.push_str("/\n");
                    indented(&mut text, &mut names.iter().map(String::as_str));
                }
                Entry::Link(to) => text.push_str(&format!(" -> {to}\n")),
                Entry::Error(errno, why) => text.push_str(&format!(" ! {errno} {why}\n")),
            }
        }
        text
    }

    pub(super) fn note(&mut self, path: &str, entry: Entry) {
        let entry = match entry {
            Entry::Text(text) if path == "/proc/cmdline" => Entry::Text(without_secrets(&text)),
            Entry::Text(text) if path == "/proc/cpuinfo" => Entry::Text(without_repetition(&text)),
            Entry::Text(text) if path == "/proc/self/mountinfo" => Entry::Text(without_places(&text)),
            Entry::Text(text)
                if path.starts_with("/proc/") && path.ends_with("/status") && path != "/proc/self/status" =>
            {
                Entry::Text(lines_of(&text, "Cpus_allowed_list:"))
            }
            other => other,
        };
        self.entries.insert(path.trim_end_matches('/').to_string(), entry);
    }

    /// The path after following recorded links in it.
    fn resolve(&self, path: &str) -> io::Result<String> {
        let mut done = String::new();
        let mut ahead: Vec<String> =
            path.split('/').rev().filter(|p| !p.is_empty()).map(String::from).collect();
        for _ in 0..256 {
            let Some(part) = ahead.pop() else { return Ok(done) };
            match &*part {
                "." => {}
                ".." => done.truncate(done.rfind('/').unwrap_or(0)),
                _ => {
                    let next = format!("{done}/{part}");
                    match self.entries.get(&next) {
                        Some(Entry::Link(to)) => {
                            if to.starts_with('/') {
                                done.clear();
                            }
                            ahead.extend(to.split('/').rev().filter(|p| !p.is_empty()).map(String::from));
                        }
                        _ => done = next,
                    }
                }
            }
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    fn entry(&self, path: &str) -> io::Result<Option<&Entry>> {
        match self.entries.get(&self.resolve(path)?) {
            Some(Entry::Error(0, why)) => Err(io::Error::other(why.clone())),
            Some(Entry::Error(errno, _)) => Err(io::Error::from_raw_os_error(*errno)),
            other => Ok(other),
        }
    }

    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        match self.entry(path)? {
            Some(Entry::Text(text)) => Ok(text.clone()),
            Some(_) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let given = match self.entry(path)? {
            Some(Entry::Directory(names)) => names.clone(),
            Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
            None => BTreeSet::new(),
        };
        let prefix = format!("{}/", self.resolve(path)?);
        let below = self.entries.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let implied = below.filter_map(|(path, _)| path[prefix.len()..].split('/').next().map(String::from));
        let names: BTreeSet<String> = given.into_iter().chain(implied).collect();
        let known = !names.is_empty() || matches!(self.entry(path)?, Some(Entry::Directory(_)));
        if known { Ok(names.into_iter().collect()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(super) fn link(&self, path: &str) -> io::Result<String> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.entries.get(&format!("{}/{name}", self.resolve(parent)?)) {
            Some(Entry::Link(to)) => Ok(to.clone()),
            Some(Entry::Error(errno, _)) => Err(io::Error::from_raw_os_error(*errno)),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn head(line: &str) -> (String, Entry) {
    if let Some((path, to)) = line.split_once(" -> ") {
        return (path.to_string(), Entry::Link(to.to_string()));
    }
    if let Some((path, why)) = line.split_once(" ! ") {
        let (errno, why) = why.split_once(' ').unwrap_or((why, ""));
        return (path.to_string(), Entry::Error(errno.parse().unwrap_or(0), why.to_string()));
    }
    match line.strip_suffix('/') {
        Some(path) => (path.to_string(), Entry::Directory(BTreeSet::new())),
        None => (line.to_string(), Entry::Text(String::new())),
    }
}

/// Of a process only what is asked for.
fn lines_of(status: &str, beginning: &str) -> String {
    status.lines().filter(|line| line.starts_with(beginning)).collect::<Vec<_>>().join("\n")
}

/// Of the kernel's parameters those that concern time.
pub(super) fn without_secrets(cmdline: &str) -> String {
    let concerns = |word: &&str| PARAMETERS.contains(&word.split('=').next().unwrap_or(word));
    cmdline.split_whitespace().filter(concerns).collect::<Vec<_>>().join(" ")
}

/// Of /proc/cpuinfo what identifies the processors, and the features of the first: the rest is repeated for each CPU, or
/// changes from reading to reading.
fn without_repetition(cpuinfo: &str) -> String {
    const KEPT: [&str; 7] =
        ["processor", "vendor_id", "cpu family", "model", "model name", "stepping", "microcode"];
    let mut first = true;
    let mut kept = String::new();
    for line in cpuinfo.lines() {
        let key = line.split(':').next().unwrap_or(line).trim();
        let features = matches!(key, "flags" | "Features") && std::mem::take(&mut first);
        if features || KEPT.contains(&key) {
            kept.extend([line, "\n"]);
        }
    }
    kept
}

/// Of the mounts those of the kernel's own file systems, and that others are there of which an audit asks: what is
/// mounted from where is nobody's business.
fn without_places(mountinfo: &str) -> String {
    const KERNEL: [&str; 6] = ["proc", "sysfs", "cgroup", "cgroup2", "resctrl", "fuse.lxcfs"];
    const ASKED: [&str; 2] = ["/etc/hosts", "/etc/resolv.conf"];
    let mut kept = String::new();
    for line in mountinfo.lines() {
        let Some((mount, system)) = line.split_once(" - ") else { continue };
        let fields: Vec<&str> = mount.split(' ').collect();
        let [id, parent, device, _, point, options, ..] = fields[..] else { continue };
        if system.split(' ').next().is_some_and(|kind| KERNEL.contains(&kind)) {
            kept.extend([line, "\n"]);
        } else if ASKED.contains(&point) {
            kept.push_str(&format!("{id} {parent} {device} / {point} {options} - left out out\n"));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_written() {
        let mut recording = Recording::default();
        recording.note("/proc/cmdline", Entry::Text("root=/dev/x isolcpus=1-3 secret=y nosmt".into()));
        recording.note("/sys/a/", Entry::Directory(["n".to_string()].into()));
        recording.note("/sys/a/l", Entry::Link("n".into()));
        recording.note("/sys/b", Entry::Error(13, "Permission denied (os error 13)".into()));
        let text = recording.to_text();
        assert_eq!(
            text,
            "tauto recording 1\n/proc/cmdline\n\tisolcpus=1-3 nosmt\n/sys/a/\n\tn\n/sys/a/l -> n\n\
             /sys/b ! 13 Permission denied (os error 13)\n"
        );
        let again = Recording::parse(&text).unwrap();
        assert_eq!(again, recording);
        assert_eq!(again.read("/sys/b").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(again.list("/sys").unwrap(), ["a", "b"]);
        assert_eq!(again.list("/proc/1").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_concerns_nobody_is_left_out() {
        let kept = |path: &str, text: &str| {
            let mut recording = Recording::default();
            recording.note(path, Entry::Text(text.into()));
            recording.read(path).unwrap()
        };
        assert_eq!(
            kept(
                "/proc/self/mountinfo",
                "30 23 0:28 / /sys ro,nosuid - sysfs sysfs ro\n\
                 31 23 8:1 /home/me/hosts /etc/hosts rw - ext4 /dev/x rw\n\
                 32 23 0:9 / /home rw - nfs server:/home rw\n"
            ),
            "30 23 0:28 / /sys ro,nosuid - sysfs sysfs ro\n31 23 8:1 / /etc/hosts rw - left out out\n"
        );
        assert_eq!(
            kept(
                "/proc/cpuinfo",
                "processor\t: 0\ncpu MHz\t: 1\nflags\t: ht\n\nprocessor\t: 1\nflags\t: ht\nmodel\t: 85\n"
            ),
            "processor\t: 0\nflags\t: ht\nprocessor\t: 1\nmodel\t: 85\n"
        );
    }

    #[test]
    fn what_is_no_recording_is_told_by_line() {
        for (text, line) in
            [("", "line 1"), ("tauto recording 1\n\tx", "line 2"), ("tauto recording 1\n/a\nb", "line 3")]
        {
            assert!(Recording::parse(text).unwrap_err().starts_with(line), "{text}");
        }
    }

    #[test]
    fn links_that_turn_in_circles_are_an_error() {
        let recording = Recording::parse("tauto recording 1\n/a -> /b\n/b -> /a\n").unwrap();
        assert_eq!(
            recording.read("/a/x").unwrap_err().raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error())
        );
    }
}
