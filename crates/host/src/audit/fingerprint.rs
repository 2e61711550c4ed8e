//! What makes two machines unequal, as one number.

use crate::facts::{Facts, Topology};
use std::collections::BTreeSet;

/// 16 hexadecimal digits: FNV-1a of 64 bits (the hash of IETF draft-eastlake-fnv) over processor, microcode, kernel and its
/// parameters, topology, mitigations and firmware.
///
/// A machine has the same one whether hyper-threads are switched off at run time or not; nothing in it names a machine.
pub(crate) fn hash_of(facts: &Facts) -> String {
    let platform = &facts.platform;
    let reading = |r: &model::Reading<String>| r.known().cloned().unwrap_or_default();
    let mut parts = vec![
        format!("{:?}", platform.kind()),
        reading(&platform.vendor),
        reading(&platform.cpu_model),
        platform.cpu_version.clone(),
        platform.microcode.iter().cloned().collect::<Vec<_>>().join(" "),
        reading(&platform.kernel),
        reading(&platform.kernel_build),
        reading(&platform.parameters),
    ];
    parts.extend(shape(&facts.topology));
    // "Mitigation: Clear CPU buffers; SMT disabled" says how it is now, not which machine it is.
    let lasting = |text: String| text.split("; SMT").next().unwrap_or_default().to_string();
    parts.extend(platform.vulnerabilities.iter().map(|(name, r)| format!("{name} {}", lasting(reading(r)))));
    parts.extend(platform.firmware.iter().cloned());
    format!("{:016x}", fnv1a(parts.join("\n").as_bytes()))
}

fn shape(topology: &Topology) -> Vec<String> {
    let packages: BTreeSet<u32> = topology.cpus.values().map(|cpu| cpu.package).collect();
    let present = topology.cpus.len() + topology.offline.len();
    let capacities: Vec<u32> = topology.cpus.values().filter_map(|cpu| cpu.capacity).collect();
    let caches = topology.cpus.values().next().map_or(&[][..], |cpu| &cpu.caches);
    let mut shape = vec![format!("{} {present} {} {capacities:?}", packages.len(), topology.cores().len())];
    shape.extend(caches.iter().map(|cache| format!("L{} {}", cache.level, cache.size)));
    shape.extend(topology.nodes.iter().map(|(node, distances)| format!("{node} {distances:?}")));
    shape
}

pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn of_files(files: &str) -> String {
        hash_of(&Facts::gather(&Machine::parse(&format!("tauto recording 1\n{files}")).unwrap()).unwrap())
    }

    #[test]
    fn the_published_test_vectors() {
        for (text, hash) in
            [("", 0xcbf29ce484222325), ("a", 0xaf63dc4c8601ec8c), ("foobar", 0x85944171f73967e8)]
        {
            assert_eq!(fnv1a(text.as_bytes()), hash);
        }
    }

    #[test]
    fn what_changes_it_and_what_does_not() {
        let machine = |mds: &str, parameters: &str, online: &str| {
            of_files(&format!(
                "/sys/devices/system/cpu/online\n\t{online}\n/sys/devices/system/cpu/offline\n\t1\n\
                 /sys/devices/system/cpu/vulnerabilities/mds\n\t{mds}\n/proc/cmdline\n\t{parameters}\n"
            ))
        };
        let usual = machine("Mitigation: Clear CPU buffers; SMT vulnerable", "root=/dev/a nosmt", "0");
        assert_eq!(usual.len(), 16);
        assert_eq!(machine("Mitigation: Clear CPU buffers; SMT disabled", "root=/dev/b nosmt", "0"), usual);
        assert_ne!(machine("Vulnerable; SMT vulnerable", "root=/dev/a nosmt", "0"), usual);
        assert_ne!(machine("Mitigation: Clear CPU buffers; SMT vulnerable", "root=/dev/a", "0"), usual);
        assert_ne!(machine("Mitigation: Clear CPU buffers; SMT vulnerable", "nosmt", "0,2"), usual);
        // Hyper-threads that are switched off.
        let cpu = |n: u32| format!("/sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list\n\t0-1\n");
        let on = format!("/sys/devices/system/cpu/online\n\t0-1\n{}{}", cpu(0), cpu(1));
        let off =
            format!("/sys/devices/system/cpu/online\n\t0\n/sys/devices/system/cpu/offline\n\t1\n{}", cpu(0));
        assert_eq!(of_files(&on), of_files(&off));
    }
}
