//! Which machine it is, and what kind.

use crate::audit::fingerprint;
use crate::facts::{Facts, text};
use crate::machine::Machine;
use model::Reading;

const MACHINE_ID: &str = "/etc/machine-id";

/// 16 hexadecimal digits over all that makes two machines unequal, as in an audit: equal machines have equal ones.
pub fn fingerprint(facts: &Facts) -> String {
    fingerprint::hash_of(facts)
}

/// 16 hexadecimal digits that only this installation has. machine-id(5) is to be shown to nobody, so it is hashed (FNV-1a,
/// 64 of its 128 random bits: it cannot be told from them).
pub fn machine_id(machine: &Machine) -> Reading<String> {
    let id = text(machine, MACHINE_ID).map(|id| id.trim().to_string());
    id.and_then(|id| match id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => {
            Reading::Known(format!("{:016x}", fingerprint::fnv1a(format!("tautochrone {id}").as_bytes())))
        }
        false => Reading::unknown(format!("{MACHINE_ID} holds no machine id")),
    })
}

/// Memory that programs can have without swapping, and all memory, in bytes (proc(5), meminfo).
pub fn memory(machine: &Machine) -> (Reading<u64>, Reading<u64>) {
    let info = text(machine, "/proc/meminfo");
    let field = |name: &str| {
        let of = |info: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        info.as_ref()
            .and_then(|info| Reading::from_option(of(info), || format!("/proc/meminfo has no {name}")))
    };
    (field("MemAvailable"), field("MemTotal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &str) -> Machine {
        Machine::parse(&format!("tauto recording 1\n{files}")).unwrap()
    }

    #[test]
    fn an_identity_is_hashed() {
        let of = |id: &str| machine_id(&machine(&format!("/etc/machine-id\n\t{id}\n")));
        let id = "0123456789abcdef0123456789abcdef";
        let hashed = of(id).known().unwrap().clone();
        assert_eq!(hashed.len(), 16);
        assert!(!id.contains(&hashed) && of(id) == Reading::Known(hashed.clone()));
        assert_ne!(of("1123456789abcdef0123456789abcdef"), Reading::Known(hashed));
        assert_eq!(of("uninitialized"), Reading::unknown("/etc/machine-id holds no machine id"));
        assert_eq!(machine_id(&machine("")), Reading::unknown("no /etc/machine-id"));
    }

    #[test]
    fn memory_is_in_bytes() {
        let info = machine("/proc/meminfo\n\tMemTotal:       2048 kB\n\tMemAvailable:    1024 kB\n");
        assert_eq!(memory(&info), (Reading::Known(1 << 20), Reading::Known(2 << 20)));
        let (available, total) = memory(&machine("/proc/meminfo\n\tMemTotal: x kB\n"));
        assert_eq!(available, Reading::unknown("/proc/meminfo has no MemAvailable"));
        assert!(total.known().is_none() && memory(&machine("")).0 == Reading::unknown("no /proc/meminfo"));
    }
}
