//! What only the next start of the system can bring: a kernel command line, and a drop-in for the boot loader.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt; update-grub(8) and Debian's grub-mkconfig, which read
//! /etc/default/grub.d/*.cfg; kernel-install(8) for /etc/kernel/cmdline.

use super::plan::{View, change};
use super::target::{ABSENT, PRESENT};
use super::{Change, Target, TuneConfig};
use crate::cpulist;
use crate::machine::Machine;
use model::SlotPlan;

const DIRECTORY: &str = "/etc/default/grub.d";
const DROP_IN: &str = "/etc/default/grub.d/50-tautochrone.cfg";

/// What to do for the next start of the system.
pub use model::BootPlan as Boot;

/// The kernel command line for these slots, as far as chosen, and how to install it here.
pub fn boot(machine: &Machine, slots: &SlotPlan, config: &TuneConfig) -> Boot {
    told(&View::new(machine, slots, config))
}

fn told(view: &View<'_>) -> Boot {
    let parameters = parameters(view);
    let mut advice = Vec::new();
    let grub = has_grub(view);
    if parameters.is_empty() {
        advice.push("no slot can be isolated here, so no kernel parameters are needed".to_string());
    } else if grub {
        advice
            .push(format!("`tauto tune apply --boot` writes {DROP_IN}; then run `update-grub` and restart"));
    }
    let exists = |path: &str| view.machine.read(path).is_ok() || view.machine.list(path).is_ok();
    if !parameters.is_empty() && (exists("/etc/kernel/cmdline") || exists("/boot/loader/entries")) {
        advice.push(
            "systemd-boot: append the parameters to /etc/kernel/cmdline, run `kernel-install add-all` and restart"
                .to_string(),
        );
    }
    if !parameters.is_empty() && exists("/etc/kernel/cmdline.d") {
        advice.push(
            "unified kernel images: put the parameters into /etc/kernel/cmdline.d/50-tautochrone.conf, build the image \
             again and restart"
                .to_string(),
        );
    }
    if !parameters.is_empty() && advice.is_empty() {
        advice.push("unknown boot loader: add the parameters to this machine's kernel command line".into());
    }
    Boot { drop_in: (grub && !parameters.is_empty()).then(|| drop_in(&parameters)), parameters, advice }
}

/// The drop-in, where the boot loader reads one and it stands otherwise.
pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    let Some(want) = told(view).drop_in else { return Vec::new() };
    let found = view.machine.read(DROP_IN).map_or_else(|_| ABSENT.to_string(), |text| text + "\n");
    let mut changes = Vec::new();
    if view.machine.list(DIRECTORY).is_err() {
        changes.push(change("isolated_cpus", Target::Directory(DIRECTORY.into()), ABSENT, PRESENT));
    }
    if found != want {
        changes.push(change("isolated_cpus", Target::Whole(DROP_IN.into()), &found, &want));
    }
    changes
}

fn has_grub(view: &View<'_>) -> bool {
    view.machine.read("/etc/default/grub").is_ok() || view.machine.list(DIRECTORY).is_ok()
}

fn drop_in(parameters: &str) -> String {
    format!(
        "# Written by tauto tune apply --boot; tauto tune undo removes it.\n\
         GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameters}\"\n"
    )
}

/// Each parameter is a matter of its own id.
fn parameters(view: &View<'_>) -> String {
    if view.quiet.is_empty() {
        return String::new();
    }
    let (slots, others) = (cpulist::to_list(&view.quiet), cpulist::to_list(&view.housekeeping));
    let chosen = |id: &str| view.config.chosen(id);
    let flags = [("managed_irq", "managed_irq,"), ("isolated_cpus", "domain,")];
    let flags: String = flags.iter().filter(|(id, _)| chosen(id)).map(|(_, flag)| *flag).collect();
    let parameters = [
        (!flags.is_empty()).then(|| format!("isolcpus={flags}{slots}")),
        chosen("nohz_full").then(|| format!("nohz_full={slots}")),
        chosen("rcu_nocbs").then(|| format!("rcu_nocbs={slots}")),
        chosen("irq_affinity").then(|| format!("irqaffinity={others}")),
        (view.config.boot_nosmt && chosen("smt")).then(|| "nosmt".to_string()),
    ];
    parameters.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
