//! `tauto doctor`: is everything here that judging needs? Each check names what it found and the command that mends it.

use crate::Done;
use crate::config::{Config, data_directory};
use crate::isolation::{IsolationArgs, IsolationMode};
use crate::languages;
use crate::reservation::{Reservation, planned};
use crate::run::command::environment;
use crate::service;
use crate::terminal::{self, Failure, print};
use clap::Args;
use engine::clocks::{self, CLOCK_METHODS, Counter};
use host::audit;
use host::facts::Facts;
use host::machine::Machine;
use model::{Accelerator, Audit, Clock, FindingState, Isolation, RunSpec, SlotPlan, Status};
use report::json::to_text;
use report::text::doctor_lines;
use report::{Check, CheckState, DoctorDocument};
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use sandbox::{Launcher, LauncherOptions};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Merge this language table over the built-in one
    #[arg(long, value_name = "FILE", env = "TAUTO_LANGUAGES")]
    languages: Option<PathBuf>,
}

/// Less than this, in bytes, and packages or outputs may soon find no room.
const LITTLE_ROOM: u64 = 1 << 30;
/// Less than this, in bytes, and a compilation may fail.
const NO_ROOM: u64 = 100 << 20;

pub(crate) fn main(args: DoctorArgs) -> Result<Done, Failure> {
    // The first launcher is started while this process has no threads.
    let mut checks = vec![sandbox()];
    checks.extend(machine());
    checks.push(toolchains(args.languages.as_ref()));
    checks.push(counting());
    checks.push(virtual_machines());
    checks.extend(site());
    let document = DoctorDocument::new(&checks);
    match args.json {
        true => print(&to_text(&document)),
        false => print(&doctor_lines(&checks, terminal::style())),
    }
    Ok(if document.ok { Done::Good } else { Done::Bad })
}

/// Runs one program as a submission is run.
fn sandbox() -> Check {
    const ID: &str = "sandbox";
    let bad = |why: &dyn Display| {
        let remedy = "run `tauto doctor` as root; in a container see docs/containers.md";
        Check::not(CheckState::Bad, ID, format!("no program can be run: {why}"), remedy)
    };
    let launcher = match Launcher::start(&LauncherOptions::default()) {
        Ok(launcher) => launcher,
        Err(e) => return bad(&e),
    };
    let spec = RunSpec { argv: vec!["/bin/true".into()], env: environment(&[]), ..RunSpec::bare() };
    let status = match launcher.run(&spec, vec![]) {
        Ok(observed) => observed.status(&spec.limits),
        Err(e) => return bad(&e),
    };
    if status != Status::Ok {
        return bad(&format!("/bin/true ended with {status:?}"));
    }
    let can = launcher.capabilities();
    let who = match can.privileged {
        true => format!("as root; programs run as user {}", can.uid),
        false => "in a user namespace; programs run as the caller".into(),
    };
    let lacks = [
        (!can.memory_of_tree, "memory is limited per process, not for the whole process tree"),
        (!can.cpu_of_tree, "CPU time of processes that a program leaves behind is not counted"),
    ];
    let lacks = lacks.iter().filter(|(lacks, _)| *lacks).map(|(_, what)| *what);
    let weaker: Vec<&str> = lacks.chain(can.weaker.iter().map(String::as_str)).collect();
    if weaker.is_empty() {
        return Check::ok(ID, format!("works {who}, at full strength"));
    }
    let found = format!("works {who}; weaker: {}", weaker.join("; "));
    let remedy = match (can.privileged, can.memory_of_tree && can.cpu_of_tree) {
        (true, true) => {
            "SECURITY.md says what each protection is for; in a container grant what is missing, such as --cap-add SYS_RESOURCE"
        }
        (true, false) => "run `tauto audit`: its row cgroup_layout has the command",
        (false, _) => "run as root, or as a user whose control group is delegated (systemd: Delegate=yes)",
    };
    Check::not(CheckState::Weaker, ID, found, remedy)
}

/// What the machine is, and how well its CPUs can be kept for runs.
fn machine() -> Vec<Check> {
    let unknown = |why: &dyn Display| {
        vec![Check::not(CheckState::Unknown, "machine", why.to_string(), "run `tauto audit`")]
    };
    let machine = match Machine::this() {
        Ok(machine) => machine,
        Err(e) => return unknown(&e),
    };
    let facts = match Facts::gather(&machine) {
        Ok(facts) => facts,
        Err(e) => return unknown(&e),
    };
    // A configuration that cannot be read has a check of its own.
    let slots_config = Config::read().map(|config| config.slots).unwrap_or_default();
    let plan = match planned(&machine, &slots_config) {
        Ok(plan) => plan,
        Err(e) => return unknown(&e),
    };
    let audit = audit::assess(&facts, &plan);
    let state_of = |id: &str| audit.findings.iter().find(|finding| finding.id == id);
    let quota =
        state_of("quota_throttling").filter(|finding| finding.state == FindingState::Bad).map(|finding| {
            let found =
                format!("a quota of CPU time stops programs while they are measured: {}", finding.observed);
            let remedy =
                finding.remedy.as_ref().map_or("give whole CPUs in place of a quota", |r| &r.command);
            Check::not(CheckState::Weaker, "cpu_quota", found, remedy)
        });
    let bad = audit.findings.iter().filter(|finding| finding.state == FindingState::Bad).count();
    let noise = match bad {
        0 => Check::ok("noise", "no source of noise found"),
        _ => {
            let found = format!("{bad} sources of noise; times vary more than necessary");
            Check::not(CheckState::Weaker, "noise", found, "tauto audit; as root: tauto tune apply")
        }
    };
    container(&audit).into_iter().chain(quota).chain([slots(&plan), noise]).collect()
}

/// Whether slots can be virtual machines: boots one where the site wants them, else looks for the parts alone.
fn virtual_machines() -> Check {
    const ID: &str = "vm";
    let config = Config::read().unwrap_or_default();
    let wanted = config.isolation == Some(IsolationMode::Vm);
    let not = |found: String, remedy: &str| {
        // Nobody misses what nobody wants.
        let state = if wanted { CheckState::Bad } else { CheckState::Unknown };
        Check::not(state, ID, found, remedy)
    };
    if let Err(why) = config.vm.parts() {
        return not(
            format!("no slot can be a virtual machine: {why}"),
            "apt install qemu-system-x86 linux-image-amd64",
        );
    }
    if !wanted {
        return Check::ok(
            ID,
            "slots can be virtual machines (--isolation vm); none was booted because the configuration does not enable them",
        );
    }
    match boot_one() {
        Ok((Accelerator::Kvm, took)) => Check::ok(
            ID,
            format!(
                "a virtual machine was ready after {:.1} s, run by the processor (kvm)",
                took.as_secs_f64()
            ),
        ),
        Ok((Accelerator::Tcg, took)) => {
            let found = format!(
                "a virtual machine was ready after {:.1} s, emulated in software (tcg): times are many times longer",
                took.as_secs_f64()
            );
            Check::not(
                CheckState::Weaker,
                ID,
                found,
                "give this user /dev/kvm (usermod -aG kvm USER), on a host that allows nested machines",
            )
        }
        Err(e) => not(format!("no virtual machine boots: {e}"), "see docs/vm.md, \"When it does not start\""),
    }
}

fn boot_one() -> Result<(Accelerator, Duration), Failure> {
    let mut reservations = vec![Reservation::default()];
    IsolationArgs::default().apply(&mut reservations, false, Vec::new)?;
    let settings = reservations.pop().and_then(|reservation| reservation.machine().cloned());
    let settings = settings.ok_or_else(|| Failure::system("the configuration does not enable them"))?;
    Ok(vm::Machine::new(settings).ready()?)
}

fn slots(plan: &SlotPlan) -> Check {
    const ID: &str = "slots";
    let isolated = |wanted| plan.slots.iter().filter(|slot| slot.isolation == wanted).count();
    let (all, none) = (plan.slots.len(), isolated(Isolation::None));
    let found = match all {
        1 => "1 program can be measured at a time".to_string(),
        _ => format!("{all} programs can be measured at a time"),
    };
    match (all, none) {
        (0, _) => Check::not(
            CheckState::Weaker,
            ID,
            "no CPU can be reserved for a program",
            "give this machine two cores or more",
        ),
        (_, 0) => Check::ok(ID, found),
        _ => Check::not(
            CheckState::Weaker,
            ID,
            format!("{found}, {none} of them on CPUs that other processes use too"),
            "run `tauto slots` and `tauto audit`; slots need a cpuset that this user may write, and two cores or more",
        ),
    }
}

/// The audit's words on the container; nothing outside of one.
fn container(audit: &Audit) -> Option<Check> {
    let finding = audit.findings.iter().find(|finding| finding.id == "container")?;
    let state = match finding.state {
        FindingState::NotApplicable => return None,
        FindingState::Ok => return Some(Check::ok("container", &finding.observed)),
        FindingState::Bad => CheckState::Weaker,
        FindingState::Unknown => CheckState::Unknown,
    };
    let remedy = finding.remedy.as_ref().map_or("see docs/containers.md", |remedy| &remedy.command);
    Some(Check::not(state, "container", &finding.observed, remedy))
}

/// Languages that most contests offer, and the Debian packages that have them.
const EXPECTED: [(&str, &str); 4] =
    [("c", "gcc"), ("cpp", "g++"), ("java", "default-jdk-headless"), ("python3", "python3")];

fn toolchains(own: Option<&PathBuf>) -> Check {
    const ID: &str = "toolchains";
    let all = match crate::judging::languages(own) {
        Ok(table) => languages::found(&table).languages,
        Err(e) => return Check::not(CheckState::Bad, ID, e.to_string(), "correct the table of languages"),
    };
    let there: BTreeSet<&str> =
        all.iter().filter(|language| language.available).map(|language| &*language.id).collect();
    let found = format!("{} of {} languages", there.len(), all.len());
    let missing = EXPECTED.iter().filter(|(id, _)| !there.contains(id));
    let missing: Vec<(&str, &str)> =
        missing.filter(|(id, _)| all.iter().any(|language| language.id == *id)).copied().collect();
    let install = |packages: Vec<&str>| format!("apt install {}", packages.join(" "));
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    match (there.is_empty(), missing.is_empty()) {
        (true, _) => Check::not(CheckState::Bad, ID, "no compiler and no interpreter", install(packages)),
        (_, true) => Check::ok(ID, found),
        _ => {
            let names: Vec<&str> = missing.iter().map(|(id, _)| *id).collect();
            let found = format!("{found}; without {}", names.join(", "));
            Check::not(CheckState::Weaker, ID, found, install(packages))
        }
    }
}

fn counting() -> Check {
    const ID: &str = "clocks";
    let missing: Vec<(Clock, String)> = CLOCK_METHODS
        .iter()
        .filter(|way| way.counter != Counter::Processor)
        .filter_map(|way| clocks::meter(way.clock, way.counter).err().map(|why| (way.clock, why)))
        .collect();
    let Some((_, why)) = missing.first() else {
        return Check::ok(ID, Clock::ALL.map(Clock::name).join(", "));
    };
    let names: Vec<&str> = missing.iter().map(|(clock, _)| clock.name()).collect();
    Check::not(
        CheckState::Weaker,
        ID,
        format!("without {}: {why}", names.join(" and ")),
        "apt install qemu-user",
    )
}

/// Checks the configuration, the data directory and the service.
fn site() -> Vec<Check> {
    let config = match Config::read() {
        Ok(config) => config,
        Err(e) => {
            return vec![Check::not(
                CheckState::Bad,
                "configuration",
                e.to_string(),
                "correct the file; packaging/tautochrone.toml has every key",
            )];
        }
    };
    let mut checks = vec![Check::ok("configuration", crate::settings::origin())];
    let data = data_directory();
    checks.push(directory(&data));
    checks.extend(data.as_ref().ok().map(|data| room(data)));
    checks.extend(service::checks(&config));
    checks
}

/// The directory itself, or the nearest one above it that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

fn directory(data: &Result<PathBuf, Failure>) -> Check {
    const ID: &str = "data";
    let remedy = "set TAUTO_DATA_DIR to a directory that this user may write to";
    let data = match data {
        Ok(data) => data,
        Err(e) => return Check::not(CheckState::Weaker, ID, e.to_string(), remedy),
    };
    let place = existing(data);
    match accessat(CWD, place, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) if place == data => Check::ok(ID, data.display().to_string()),
        Ok(()) => Check::ok(ID, format!("{}, created on first use", data.display())),
        Err(e) => Check::not(CheckState::Weaker, ID, format!("{}: {e}", place.display()), remedy),
    }
}

fn room(data: &Path) -> Check {
    const ID: &str = "disk";
    let places = [existing(data).to_path_buf(), std::env::temp_dir()];
    let free = |path: &PathBuf| {
        let facts = statvfs(path).ok()?;
        Some((facts.f_bavail.saturating_mul(facts.f_frsize), path.display().to_string()))
    };
    let Some((bytes, place)) = places.iter().filter_map(free).min() else {
        return Check::not(CheckState::Unknown, ID, "the free space is unknown", "run `df`");
    };
    let found = format!("{:.1} GiB free at {place}", bytes as f64 / (1u64 << 30) as f64);
    let remedy = "free disk space, or set TAUTO_DATA_DIR or TMPDIR to another disk";
    match bytes {
        NO_ROOM.. if bytes >= LITTLE_ROOM => Check::ok(ID, found),
        NO_ROOM.. => Check::not(CheckState::Weaker, ID, found, remedy),
        _ => Check::not(CheckState::Bad, ID, found, remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_below_one_that_is_missing_is_judged_by_what_is_there() {
        assert_eq!(existing(Path::new("/proc/self/nothing/at/all")), Path::new("/proc/self"));
    }
}
