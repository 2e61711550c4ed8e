//! What holds a program: the sandbox, or a virtual machine around it.

use crate::config::{Config, cache_directory};
use crate::reservation::Reservation;
use crate::terminal::Failure;
use clap::{Args, ValueEnum};
use engine::Runner;
use engine::languages::Languages;
use engine::slot::Station;
use model::{Accelerator, Bytes, Isolation, Observation, Reading, RunSpec, Slot};
use sandbox::{Ender, Launcher};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use vm::{Machine, Settings, Shares};

/// What holds a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IsolationMode {
    /// Namespaces, control groups and filters of this machine's kernel.
    #[default]
    Sandbox,
    /// The same in a kernel of its own, in a virtual machine that is thrown away with each submission.
    Vm,
}

impl IsolationMode {
    /// A slot, as it is told where programs are held so.
    pub(crate) fn slot(self, planned: &Slot) -> Slot {
        let isolation = if self == IsolationMode::Vm { Isolation::Vm } else { planned.isolation };
        Slot { isolation, ..planned.clone() }
    }
}

/// How programs are isolated from this machine.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Isolation")]
pub(crate) struct IsolationArgs {
    /// Isolation of programs: sandbox, or vm (the sandbox inside a small virtual machine, discarded after each
    /// submission; see docs/vm.md) [default: `isolation` in the configuration, else sandbox]
    #[arg(long, value_name = "sandbox|vm", hide_possible_values = true)]
    pub(crate) isolation: Option<IsolationMode>,
    /// Memory of the virtual machine, such as 4G; 384M of it are not available to programs [default: 3G]
    #[arg(long, value_name = "SIZE", value_parser = machine_memory, allow_negative_numbers = true)]
    vm_memory: Option<Bytes>,
    /// Accelerator of the virtual machine: kvm (hardware) or tcg (software, many times slower) [default: kvm if it works]
    #[arg(long, value_name = "kvm|tcg")]
    vm_accelerator: Option<Accelerator>,
}

/// Section `[vm]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VmConfig {
    /// The kernel's image, called vmlinuz-VERSION.
    pub(crate) kernel: Option<PathBuf>,
    /// MiB of memory.
    pub(crate) memory: Option<u32>,
    /// What runs them.
    pub(crate) accelerator: Option<Accelerator>,
}

/// Where the kernel's image is, in place of the configuration.
const KERNEL: &str = "TAUTO_VM_KERNEL";
const USUAL_MEMORY: Bytes = Bytes::from_mib(3072);
const LEAST_MEMORY: Bytes = Bytes::from_mib(640);

fn machine_memory(text: &str) -> Result<Bytes, String> {
    match crate::options::size(text)? {
        enough if enough >= LEAST_MEMORY => Ok(enough),
        _ => Err(format!("a machine needs {} MiB", LEAST_MEMORY.mib())),
    }
}

impl VmConfig {
    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.memory {
            Some(memory) if u64::from(memory) < LEAST_MEMORY.mib() => {
                Err(format!("vm.memory: must be at least {} (MiB)", LEAST_MEMORY.mib()))
            }
            _ => Ok(()),
        }
    }

    /// The parts of machines, as wished.
    pub(crate) fn parts(&self) -> Result<vm::Parts, String> {
        let named = std::env::var_os(KERNEL).filter(|value| !value.is_empty()).map(PathBuf::from);
        vm::find(named.or_else(|| self.kernel.clone()).as_deref())
    }
}

impl IsolationArgs {
    /// As it was typed, else the site's.
    pub(crate) fn isolation_mode(&self, config: &Config) -> IsolationMode {
        self.isolation.or(config.isolation).unwrap_or_default()
    }

    /// Has the programs of these reservations held as it was asked for. `shown` are paths of the host that they see besides
    /// those of the system; `ahead`: the next machine of a reservation is booted as soon as one is thrown away.
    pub(crate) fn apply(
        &self,
        reservations: &mut [Reservation],
        ahead: bool,
        shown: impl FnOnce() -> Vec<String>,
    ) -> Result<(), Failure> {
        let config = Config::read()?;
        if self.isolation_mode(&config) == IsolationMode::Sandbox {
            return Ok(());
        }
        let parts = config.vm.parts().map_err(|why| Failure::usage(format!("--isolation vm: {why}")))?;
        let shares =
            Shares::with_paths(shown()).map_err(|why| Failure::usage(format!("--isolation vm: {why}")))?;
        let memory = self.memory(&config);
        for reservation in reservations {
            reservation.hold_in(Settings {
                parts: parts.clone(),
                accelerator: self.vm_accelerator.or(config.vm.accelerator),
                memory,
                cpus: reservation.placement.cpus.clone(),
                housekeeping: reservation.housekeeping().to_vec(),
                node: reservation.placement.mem_node,
                shares: shares.clone(),
                cache: cache_directory(),
                ahead,
            });
        }
        Ok(())
    }

    /// What a node states of it, as text that is compared: `sandbox`, or `vm: tcg, Linux 6.1.0-56-amd64, 3072 MiB`. Not known before the
    /// first boot of a machine has shown what computes.
    pub(crate) fn stated(&self) -> Reading<String> {
        let config = match Config::read() {
            Ok(config) => config,
            Err(error) => return Reading::unknown(error.to_string()),
        };
        if self.isolation_mode(&config) == IsolationMode::Sandbox {
            return Reading::Known("sandbox".into());
        }
        let parts = match config.vm.parts() {
            Ok(parts) => parts,
            Err(why) => return Reading::unknown(why),
        };
        let chosen = self.vm_accelerator.or(config.vm.accelerator);
        let accelerator = chosen.or_else(|| vm::expected(&parts, cache_directory().as_ref()));
        let (release, memory) = (parts.release(), self.memory(&config).mib());
        let words =
            accelerator.map(|accelerator| format!("vm: {accelerator}, Linux {release}, {memory} MiB"));
        Reading::from_option(words, || "no virtual machine was booted yet".into())
    }

    fn memory(&self, config: &Config) -> Bytes {
        let wished = config.vm.memory.map(|mebibytes| Bytes::from_mib(u64::from(mebibytes)));
        self.vm_memory.or(wished).unwrap_or(USUAL_MEMORY)
    }

    /// As a command would have it typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(isolation_mode) =
            self.isolation.and_then(|isolation_mode| isolation_mode.to_possible_value())
        {
            words.extend(["--isolation".to_string(), isolation_mode.get_name().to_string()]);
        }
        if let Some(memory) = self.vm_memory {
            words.extend(["--vm-memory".to_string(), memory.0.to_string()]);
        }
        if let Some(accelerator) = self.vm_accelerator {
            words.extend(["--vm-accelerator".to_string(), accelerator.name().to_string()]);
        }
        words
    }
}

/// What programs of these languages see of the host.
pub(crate) fn shown_to(languages: &Languages) -> Vec<String> {
    let found =
        languages.table().languages().iter().filter_map(|language| languages.toolchain(language).ok());
    let views = found.flat_map(|toolchain| [toolchain.compile_view, toolchain.run_view]);
    let mounts = views.flat_map(|view| view.mounts);
    mounts.map(|mount| mount.host).collect()
}

/// Runs programs without judging them.
#[derive(Clone)]
pub(crate) enum ProgramRunner {
    Sandbox(Arc<Launcher>),
    Vm(Arc<Machine>),
}

/// Ends the run of a program runner from another thread.
#[derive(Clone)]
pub(crate) enum RunEnder {
    Sandbox(Ender),
    Vm(Arc<Machine>),
}

impl ProgramRunner {
    pub(crate) fn take(reservation: &Reservation) -> Result<ProgramRunner, Failure> {
        Ok(match reservation.machine() {
            Some(settings) => ProgramRunner::Vm(Arc::new(Machine::new(settings.clone()))),
            None => ProgramRunner::Sandbox(Arc::new(Launcher::start(&reservation.launcher()?)?)),
        })
    }

    pub(crate) fn run(&self, spec: &RunSpec, fds: Vec<OwnedFd>) -> Result<Observation, Failure> {
        match self {
            ProgramRunner::Sandbox(launcher) => Ok(launcher.run(spec, fds)?),
            ProgramRunner::Vm(machine) => {
                let ran = Runner::run(&**machine, spec, fds);
                ran.map_err(|e| if e.blame == engine::Blame::Machine { e.into() } else { Failure::usage(e) })
            }
        }
    }

    pub(crate) fn ender(&self) -> RunEnder {
        match self {
            ProgramRunner::Sandbox(launcher) => RunEnder::Sandbox(launcher.ender()),
            ProgramRunner::Vm(machine) => RunEnder::Vm(machine.clone()),
        }
    }
}

impl RunEnder {
    pub(crate) fn end_run(&self, output: bool) {
        match self {
            RunEnder::Sandbox(ender) => ender.end_run(output),
            RunEnder::Vm(machine) => Runner::end_run(&**machine, output),
        }
    }
}

impl From<Ender> for RunEnder {
    fn from(ender: Ender) -> RunEnder {
        RunEnder::Sandbox(ender)
    }
}

/// The station for submissions, if the reservation has a virtual machine.
pub(crate) fn station(reservation: &Reservation) -> Option<Station> {
    let machine = Machine::new(reservation.machine()?.clone());
    Some(Station::new(Box::new(machine), reservation.placement.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_need_some_memory() {
        assert_eq!(machine_memory("4G"), Ok(Bytes::from_mib(4096)));
        assert!(machine_memory("256M").is_err_and(|why| why.contains("640")));
        assert!(VmConfig { memory: Some(100), ..VmConfig::default() }.check().is_err());
    }

    #[test]
    fn slots_are_told_with_what_holds_their_programs() {
        let planned = Slot {
            id: 0,
            cpus: vec![1],
            idle_siblings: vec![],
            mem_nodes: vec![],
            package: 0,
            isolation: Isolation::Partition,
        };
        assert_eq!(IsolationMode::Vm.slot(&planned).isolation, Isolation::Vm);
        assert_eq!(IsolationMode::Sandbox.slot(&planned), planned);
        let typed = IsolationArgs { isolation: Some(IsolationMode::Sandbox), ..IsolationArgs::default() };
        assert_eq!(typed.stated(), Reading::Known("sandbox".into()));
    }

    #[test]
    fn typed_words_come_back() {
        let args = IsolationArgs {
            isolation: Some(IsolationMode::Vm),
            vm_memory: Some(Bytes::from_mib(1024)),
            vm_accelerator: Some(Accelerator::Tcg),
        };
        let words = args.words();
        assert_eq!(words, ["--isolation", "vm", "--vm-memory", "1073741824", "--vm-accelerator", "tcg"]);
        assert!(IsolationArgs::default().words().is_empty());
    }
}
