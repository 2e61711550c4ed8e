//! What lies below the kernel and around us: hypervisor, container, processor, kernel, mitigations, firmware.
//!
//! Sources: Documentation/filesystems/proc.rst (cpuinfo, mountinfo), Documentation/ABI/testing/sysfs-hypervisor-xen,
//! sysfs-devices-system-cpu (vulnerabilities), sysfs-class-dmi; user_namespaces(7) for uid_map.

use super::text;
use crate::machine::{Machine, timing_parameters};
use model::{MachineKind, Reading};
use std::collections::BTreeSet;

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";
const DMI: &str = "/sys/class/dmi/id";

/// DMI vendors and products that are hypervisors (what systemd-detect-virt(1) looks for too).
const HYPERVISORS: [&str; 11] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "innotek",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "OpenStack",
    "Virtual Machine",
];

/// What lies below the kernel and around us.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// What shows a hypervisor below the kernel.
    pub guest: Option<String>,
    /// What shows that we see a part of somebody's system only.
    pub container: Option<String>,
    /// `GenuineIntel`, `AuthenticAMD` …
    pub vendor: Reading<String>,
    /// The processor's name.
    pub cpu_model: Reading<String>,
    /// Family, model, stepping, in this order; what of them is told.
    pub cpu_version: String,
    /// Features, as the kernel names them.
    pub features: BTreeSet<String>,
    /// Different microcode revisions among the processors.
    pub microcode: BTreeSet<String>,
    /// The kernel says that the processor's microcode is old (Linux 6.16 and later), by its own words.
    pub old_microcode: Option<Reading<String>>,
    /// Processor weaknesses and what is done against them, by name.
    pub vulnerabilities: Vec<(String, Reading<String>)>,
    /// The kernel's release, such as `6.1.0-18-amd64`.
    pub kernel: Reading<String>,
    /// When and how the kernel was built.
    pub kernel_build: Reading<String>,
    /// Those of its parameters that concern time.
    pub parameters: Reading<String>,
    /// Vendor, version, date of the firmware, product, board; no serial numbers.
    pub firmware: Vec<String>,
}

impl Platform {
    /// Reads it.
    pub fn read(machine: &Machine) -> Platform {
        let cpuinfo = text(machine, "/proc/cpuinfo");
        let firmware: Vec<String> =
            ["bios_vendor", "bios_version", "bios_date", "sys_vendor", "product_name", "board_name"]
                .iter()
                .filter_map(|name| machine.read(&format!("{DMI}/{name}")).ok())
                .collect();
        let info = cpuinfo.known().map_or("", String::as_str);
        let field = |key: &str| fields(info, key).next().map(str::to_string);
        let named = |keys: &[&str]| {
            let value = keys.iter().find_map(|key| field(key));
            let why = || format!("/proc/cpuinfo names no `{}`", keys.join("`, `"));
            cpuinfo.clone().and_then(|_| Reading::from_option(value, why))
        };
        Platform {
            guest: hypervisor(machine, info, &firmware),
            container: container(machine),
            vendor: named(&["vendor_id", "CPU implementer"]),
            cpu_model: named(&["model name", "Model", "CPU part", "cpu"]),
            cpu_version: ["cpu family", "model", "stepping"]
                .iter()
                .filter_map(|key| field(key))
                .collect::<Vec<_>>()
                .join("-"),
            features: ["flags", "Features"]
                .iter()
                .flat_map(|key| fields(info, key).next())
                .flat_map(|features| features.split(' ').map(String::from))
                .collect(),
            microcode: fields(info, "microcode").map(str::to_string).collect(),
            old_microcode: super::text_if_any(machine, &format!("{VULNERABILITIES}/old_microcode")),
            vulnerabilities: vulnerabilities(machine),
            kernel: text(machine, "/proc/sys/kernel/osrelease"),
            kernel_build: text(machine, "/proc/sys/kernel/version"),
            parameters: text(machine, "/proc/cmdline").map(|all| timing_parameters(&all)),
            firmware,
        }
    }

    /// Which rules hold. In a container below which there is a hypervisor [`Platform::guest`] holds too.
    pub fn kind(&self) -> MachineKind {
        match (&self.container, &self.guest) {
            (Some(_), _) => MachineKind::Container,
            (None, Some(_)) => MachineKind::Vm,
            (None, None) => MachineKind::BareMetal,
        }
    }
}

/// Values of a key of /proc/cpuinfo.
fn fields<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(move |(k, _)| k.trim() == key).map(|(_, value)| value.trim())
}

fn hypervisor(machine: &Machine, cpuinfo: &str, firmware: &[String]) -> Option<String> {
    let flag = fields(cpuinfo, "flags").next().is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"));
    if flag {
        return Some("/proc/cpuinfo has the flag `hypervisor`".into());
    }
    let files = ["/sys/hypervisor/type", "/proc/device-tree/hypervisor/compatible"];
    let told = files.iter().find_map(|path| Some(format!("{path} says `{}`", machine.read(path).ok()?)));
    let by_firmware = || {
        let vendor = firmware.iter().find(|text| HYPERVISORS.iter().any(|h| text.contains(h)));
        vendor.map(|vendor| format!("the firmware says `{vendor}`"))
    };
    let by_clock = || {
        let clocks =
            machine.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").ok()?;
        let virtual_clock = |c: &&str| matches!(*c, "kvm-clock" | "xen") || c.starts_with("hyperv_");
        Some(format!("there is the clock source `{}`", clocks.split_whitespace().find(virtual_clock)?))
    };
    told.or_else(by_firmware).or_else(by_clock)
}

/// That a file such as `/.dockerenv` is there proves nothing: images are booted as machines too.
fn container(machine: &Machine) -> Option<String> {
    let told = ["/run/systemd/container", "/run/.containerenv"];
    if let Some(path) = told.iter().find(|path| machine.read(path).is_ok()) {
        return Some(format!("there is {path}"));
    }
    let users = machine.read("/proc/self/uid_map").unwrap_or_default();
    // The first user namespace maps all numbers to themselves.
    if !users.is_empty() && users.split_whitespace().ne(["0", "0", "4294967295"]) {
        return Some("/proc/self/uid_map does not map all users".into());
    }
    let mounts = machine.read("/proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let (mount, system) = line.split_once(" - ")?;
        let fields: Vec<String> = mount.split(' ').map(String::from).collect();
        Some((fields.get(4)?.clone(), fields.get(5)?.clone(), system.split(' ').next()?.to_string()))
    };
    let mounts: Vec<(String, String, String)> = mounts.lines().filter_map(mount).collect();
    let read_only = |at: &str| {
        // Of several mounts at one place the last one counts.
        let last = mounts.iter().rfind(|(point, ..)| point == at);
        last.is_some_and(|(_, options, _)| options.split(',').any(|o| o == "ro"))
    };
    if let Some(at) = ["/sys", "/proc/sys"].into_iter().find(|at| read_only(at)) {
        return Some(format!("{at} is mounted read-only"));
    }
    if let Some((point, ..)) = mounts.iter().find(|(_, _, kind)| kind == "fuse.lxcfs") {
        return Some(format!("{point} is lent by lxcfs"));
    }
    let lent = |at: &str| mounts.iter().any(|(point, ..)| point == at);
    (lent("/etc/hosts") && lent("/etc/resolv.conf"))
        .then(|| "/etc/hosts and /etc/resolv.conf are mounted from outside".into())
}

fn vulnerabilities(machine: &Machine) -> Vec<(String, Reading<String>)> {
    let names = machine.list(VULNERABILITIES).unwrap_or_default();
    let names = names.into_iter().filter(|name| name != "old_microcode");
    names.map(|name| (name.clone(), text(machine, &format!("{VULNERABILITIES}/{name}")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_machines() {
        use MachineKind::{BareMetal, Container, Vm};
        let guest = "/proc/cpuinfo\n\tflags\t\t: fpu ht hypervisor sse\n";
        for (files, kind) in [
            (
                "/proc/cpuinfo\n\tflags\t\t: fpu ht\n/proc/self/uid_map\n\t         0          0 4294967295\n",
                BareMetal,
            ),
            ("", BareMetal),
            // An image of a container booted as a machine.
            (&*format!("{guest}/.dockerenv\n"), Vm),
            ("/sys/class/dmi/id/sys_vendor\n\tQEMU\n", Vm),
            ("/sys/class/dmi/id/sys_vendor\n\tDell Inc.\n", BareMetal),
            ("/sys/hypervisor/type\n\txen\n", Vm),
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource\n\ttsc kvm-clock\n", Vm),
            (
                "/sys/devices/system/clocksource/clocksource0/available_clocksource\n\ttsc hpet acpi_pm\n",
                BareMetal,
            ),
            ("/proc/self/uid_map\n\t0 100000 65536\n", Container),
            (&*format!("{guest}/run/.containerenv\n"), Container),
            ("/proc/self/mountinfo\n\t9 8 0:21 / /sys ro,nosuid - sysfs sysfs ro\n", Container),
            (
                "/proc/self/mountinfo\n\t9 8 0:21 / /sys ro - sysfs sysfs rw\n\t10 8 0:22 / /sys rw - sysfs sysfs rw\n",
                BareMetal,
            ),
            ("/proc/self/mountinfo\n\t9 8 0:21 / /proc/sys ro - proc proc rw\n", Container),
            ("/proc/self/mountinfo\n\t9 8 0:21 / /proc/meminfo rw - fuse.lxcfs lxcfs rw\n", Container),
            (
                "/proc/self/mountinfo\n\t9 8 8:1 / /etc/hosts rw - ext4 x rw\n\t10 8 8:1 / /etc/resolv.conf rw - ext4 x rw\n",
                Container,
            ),
            ("/proc/self/mountinfo\n\t10 8 8:1 / /etc/resolv.conf rw - ext4 x rw\n", BareMetal),
        ] {
            let machine = Machine::parse(&format!("tauto recording 1\n{files}")).unwrap();
            assert_eq!(Platform::read(&machine).kind(), kind, "{files}");
        }
    }

    #[test]
    fn processors() {
        let cpuinfo = "/proc/cpuinfo\n\tprocessor : 0\n\tvendor_id\t: GenuineIntel\n\tcpu family\t: 6\n\tmodel\t\t: 85\n\
                       \tmodel name\t: Xeon\n\tstepping\t: 4\n\tmicrocode\t: 0x1\n\tprocessor : 1\n\tmicrocode\t: 0x2\n\
                       /sys/devices/system/cpu/vulnerabilities/mds\n\tNot affected\n\
                       /sys/devices/system/cpu/vulnerabilities/old_microcode\n\tVulnerable\n";
        let platform = Platform::read(&Machine::parse(&format!("tauto recording 1\n{cpuinfo}")).unwrap());
        assert_eq!(platform.cpu_model, Reading::Known("Xeon".into()));
        assert_eq!(platform.cpu_version, "6-85-4");
        assert_eq!(platform.microcode.iter().collect::<Vec<_>>(), ["0x1", "0x2"]);
        assert_eq!(platform.vulnerabilities, [("mds".into(), Reading::Known("Not affected".into()))]);
        assert_eq!(platform.old_microcode, Some(Reading::Known("Vulnerable".into())));
        assert_eq!(platform.kernel, Reading::unknown("no /proc/sys/kernel/osrelease"));
    }
}
