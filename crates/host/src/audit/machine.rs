//! What makes machines unequal: mitigations and microcode.

use super::{Judged, Seen, at_boot, finding, unless_hidden};
use model::{Finding, Reading, Severity};

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Ok means: told and nothing more. Mitigations are a bias between machines, equal on all machines of a pool.
pub(super) fn mitigations(seen: &Seen) -> Finding {
    let f = finding(
        "mitigations",
        Severity::Low,
        "machines with different mitigations differ in speed, mainly in system calls and page faults",
    )
    .read_from(format!("{VULNERABILITIES}/*"));
    let known: Vec<(&str, &str)> = seen
        .facts
        .platform
        .vulnerabilities
        .iter()
        .filter_map(|(name, state)| Some((&**name, state.known()?.as_str())))
        .collect();
    if known.is_empty() {
        return f.unknown(format!("nothing can be read in {VULNERABILITIES}"));
    }
    let count = |prefix: &str| known.iter().filter(|(_, state)| state.starts_with(prefix)).count();
    let shown = format!(
        "{} mitigated, {} vulnerable, {} not affected, of {}; they are part of the fingerprint",
        count("Mitigation"),
        count("Vulnerable"),
        count("Not affected"),
        known.len()
    );
    // What a host does against them for its guests is not seen in the guest.
    unless_hidden(seen, f.ok(shown))
}

/// One revision on all processors, and none the kernel knows to be old.
pub(super) fn microcode(seen: &Seen) -> Finding {
    let platform = &seen.facts.platform;
    let f = finding(
        "microcode",
        Severity::Low,
        "microcode changes the speed of instructions: a bias between machines, or between the CPUs of one",
    )
    .read_from("/proc/cpuinfo");
    let revisions: Vec<&str> = platform.microcode.iter().map(String::as_str).collect();
    match (&revisions[..], &platform.old_microcode) {
        _ if seen.is_guest() => {
            f.unknown("a guest cannot read the processor's: the hypervisor reports a number of its own")
        }
        ([], _) => f.unknown("/proc/cpuinfo names no microcode"),
        ([one], Some(Reading::Known(old))) if old.starts_with("Vulnerable") => f
            .read_from(format!("/proc/cpuinfo, {VULNERABILITIES}/old_microcode"))
            .bad(format!("{one} on all CPUs, older than the kernel knows of"), at_boot(UPDATE)),
        ([one], _) => f.ok(format!("{one} on all CPUs; it is part of the fingerprint")),
        (several, _) => f.bad(format!("CPUs differ: {}", several.join(", ")), at_boot(UPDATE)),
    }
}

const UPDATE: &str = "install the processor vendor's microcode package (intel-microcode or amd64-microcode on Debian) and restart";

#[cfg(test)]
mod tests {
    use crate::audit::testing::check;
    use model::FindingState::{Bad, Ok, Unknown};

    const INTEL: &str = "/proc/cpuinfo\n\tmicrocode : 0x1\n\tmicrocode : 0x1\n";

    #[test]
    fn mitigations() {
        let at = "/sys/devices/system/cpu/vulnerabilities";
        let some =
            format!("{at}/mds\n\tVulnerable; SMT\n{at}/l1tf\n\tNot affected\n{at}/x\n\tMitigation: y\n");
        check(
            "mitigations",
            &[
                (&some, Ok, "1 mitigated, 1 vulnerable, 1 not affected, of 3"),
                (&format!("{some}/proc/cpuinfo\n\tflags : hypervisor\n"), Unknown, "1 mitigated"),
                ("", Unknown, "nothing can be read"),
                (&format!("{at}/mds ! 13 denied\n"), Unknown, "nothing can be read"),
            ],
        );
    }

    #[test]
    fn microcode() {
        let old = "/sys/devices/system/cpu/vulnerabilities/old_microcode\n\t";
        check(
            "microcode",
            &[
                (INTEL, Ok, "0x1 on all"),
                (&format!("{INTEL}{old}Not affected\n"), Ok, "0x1 on all"),
                (&format!("{INTEL}{old}Vulnerable\n"), Bad, "older than the kernel knows"),
                ("/proc/cpuinfo\n\tmicrocode : 0x1\n\tmicrocode : 0x2\n", Bad, "0x1, 0x2"),
                ("/proc/cpuinfo\n\tprocessor : 0\n", Unknown, "no microcode"),
                (&format!("{INTEL}\tflags : hypervisor\n"), Unknown, "guest"),
            ],
        );
    }
}
