//! What the kernel was told when it started, and which processors it has set apart.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use super::{text, text_if_any};
use crate::cpulist::{self, Set};
use crate::machine::Machine;
use model::Reading;

/// What the kernel was told when it started.
#[derive(Clone, Debug, PartialEq)]
pub struct Boot {
    /// Its parameters, in order.
    pub parameters: Reading<Vec<(String, String)>>,
    /// Processors without load balancing; `None`: this kernel does not say.
    pub isolated: Option<Reading<Set>>,
    /// Processors without a tick while one task runs; `None`: this kernel cannot do that.
    pub nohz_full: Option<Reading<Set>>,
}

impl Boot {
    /// Reads it.
    pub fn read(machine: &Machine) -> Boot {
        let cpus = |name: &str| {
            let path = format!("/sys/devices/system/cpu/{name}");
            let set = |list: String| match list.trim() {
                // What older kernels print of a mask that was never made.
                "(null)" => Reading::Known(Set::new()),
                list => {
                    Reading::from_option(cpulist::parse(list), || format!("{path}: `{list}` is not a list"))
                }
            };
            text_if_any(machine, &path).map(|list| list.and_then(set))
        };
        let words = |line: String| -> Vec<(String, String)> {
            let pair = |word: &str| match word.split_once('=') {
                Some((name, value)) => (name.to_string(), value.to_string()),
                None => (word.to_string(), String::new()),
            };
            line.split_whitespace().map(pair).collect()
        };
        Boot {
            parameters: text(machine, "/proc/cmdline").map(words),
            isolated: cpus("isolated"),
            nohz_full: cpus("nohz_full"),
        }
    }

    /// Processors that a parameter lists, flags before the list left out; unknown where the parameters are.
    pub fn cpus_of(&self, parameter: &str) -> Reading<Set> {
        self.parameters.clone().map(|all| {
            let values = all.iter().filter(|(name, _)| name == parameter);
            values.flat_map(|(_, value)| listed(value)).collect()
        })
    }

    /// Processors that `isolcpus` keeps managed interrupts off.
    pub fn without_managed_interrupts(&self) -> Reading<Set> {
        self.parameters.clone().map(|all| {
            let managed = |value: &&String| value.split(',').any(|flag| flag == "managed_irq");
            let values = all.iter().filter(|(name, _)| name == "isolcpus").map(|(_, value)| value);
            values.filter(managed).flat_map(|value| listed(value)).collect()
        })
    }
}

/// The CPUs of `flag,flag,0-3,8`.
fn listed(value: &str) -> Set {
    let parts = value.split(',').filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    parts.filter_map(cpulist::parse).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_flags_and_lists() {
        let machine = Machine::parse(
            "tauto recording 1\n/proc/cmdline\n\tisolcpus=managed_irq,domain,1-2,5 nohz_full=1-2 nosmt\n\
             /sys/devices/system/cpu/isolated\n\t1-2\n/sys/devices/system/cpu/nohz_full\n\t  (null)\n",
        );
        let boot = Boot::read(&machine.unwrap());
        let known = |set: Reading<Set>| cpulist::to_list(set.known().unwrap());
        assert_eq!(known(boot.cpus_of("isolcpus")), "1-2,5");
        assert_eq!(known(boot.without_managed_interrupts()), "1-2,5");
        assert_eq!(known(boot.cpus_of("rcu_nocbs")), "");
        assert_eq!(known(boot.nohz_full.unwrap()), "");
        assert_eq!(known(boot.isolated.unwrap()), "1-2");
    }
}
