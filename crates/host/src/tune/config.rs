//! What a site wants of its tuning: chosen ids, and the few values that are a matter of choice.

use crate::slots;
use serde::{Deserialize, Serialize};

/// What can be tuned, in the audit's words and order.
const TUNABLE: [&str; 24] = [
    "smt",
    "turbo",
    "governor",
    "frequency_range",
    "uncore",
    "c_states",
    "isolated_cpus",
    "nohz_full",
    "rcu_nocbs",
    "irq_affinity",
    "managed_irq",
    "softirq_rps",
    "workqueues",
    "kernel_threads",
    "watchdog",
    "vmstat_interval",
    "perf_sample_rate",
    "thp",
    "ksm",
    "compaction",
    "guest_polling",
    "guest_pages",
    "numa_balancing",
    "cache_partition",
];

/// The ids that can be chosen. Those of `nohz_full`, `rcu_nocbs` and `managed_irq` are matters of the boot loader.
pub fn known() -> impl Iterator<Item = &'static str> {
    TUNABLE.into_iter()
}

/// Section `[tune]` of the configuration or of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuneConfig {
    /// Only these ids; empty: all.
    pub only: Vec<String>,
    /// Not these ids.
    pub skip: Vec<String>,
    /// The frequency to hold slots at; not given: the highest without turbo.
    pub frequency_khz: Option<u64>,
    /// Install the boot loader's drop-in too.
    pub boot: bool,
    /// At the next start, switch hyper-threads off everywhere (`nosmt`).
    pub boot_nosmt: bool,
}

impl TuneConfig {
    /// Whether an id is chosen.
    pub fn chosen(&self, id: &str) -> bool {
        let named = |ids: &[String]| ids.iter().any(|named| named == id);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }

    /// What is wrong with them.
    ///
    /// # Errors
    /// An id that is not known; names those that are.
    pub fn check(&self) -> Result<(), String> {
        let all = known().collect::<Vec<_>>();
        match self.only.iter().chain(&self.skip).find(|id| !all.contains(&id.as_str())) {
            Some(unknown) => Err(format!("unknown id `{unknown}`\nhint: known are {}", all.join(", "))),
            None => Ok(()),
        }
    }
}

/// A profile: a site's choice in a file of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// What to tune; not given: as configured.
    pub tune: Option<TuneConfig>,
    /// Which slots to tune for; not given: as configured.
    pub slots: Option<slots::SlotsConfig>,
}

/// Why a profile is not understood: line, field and what may stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(String);

impl Profile {
    /// From its text; strict.
    ///
    /// # Errors
    /// What is not TOML, an unknown field or id.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile =
            toml::from_str(text).map_err(|e| ProfileError(e.to_string().trim_end().to_string()))?;
        profile.tune.iter().try_for_each(TuneConfig::check).map_err(ProfileError)?;
        profile.slots.iter().try_for_each(slots::SlotsConfig::check).map_err(ProfileError)?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_audits_in_its_order() {
        let of_the_audit: Vec<&str> =
            crate::audit::IDS.into_iter().filter(|id| TUNABLE.contains(id)).collect();
        assert_eq!(of_the_audit, TUNABLE);
    }

    #[test]
    fn choices() {
        let config = |only: &[&str], skip: &[&str]| TuneConfig {
            only: only.iter().map(ToString::to_string).collect(),
            skip: skip.iter().map(ToString::to_string).collect(),
            ..TuneConfig::default()
        };
        for (only, skip, id, chosen) in [
            (&[][..], &[][..], "thp", true),
            (&["ksm"], &[], "thp", false),
            (&["thp"], &[], "thp", true),
            (&["thp"], &["thp"], "thp", false),
            (&[], &["thp"], "thp", false),
        ] {
            assert_eq!(config(only, skip).chosen(id), chosen, "{only:?} {skip:?} {id}");
        }
    }

    #[test]
    fn profiles_are_strict() {
        let good = "[tune]\nskip = ['turbo']\nfrequency_khz = 2100000\n[slots]\ncores = 2\n";
        let profile = Profile::parse(good).unwrap();
        assert_eq!(
            (profile.tune.unwrap().skip, profile.slots.unwrap().cores),
            (vec!["turbo".to_string()], 2)
        );
        assert_eq!(Profile::parse("").unwrap(), Profile::default());
        for (bad, says) in [
            ("[tune]\nskipp = []", "unknown field `skipp`"),
            ("[tune]\nonly = ['hyperthreads']", "unknown id `hyperthreads`\nhint: known are smt, turbo"),
            ("[slots]\ncores = 0", "slots.cores"),
            ("[tuned]", "unknown field `tuned`"),
            ("[tune]\nboot = 1", "line 2"),
        ] {
            let error = Profile::parse(bad).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
