//! The kernel's own periodic and background work.
//!
//! Sources: Documentation/admin-guide/sysctl/{kernel,vm}.rst, Documentation/admin-guide/lockup-watchdogs.rst,
//! Documentation/admin-guide/mm/{ksm,transhuge}.rst, Documentation/core-api/workqueue.rst, Documentation/virt/kvm/halt-polling.rst.

use super::plan::View;
use super::{Change, Form};
use crate::facts::{GUEST_PAGES_RECOVERY, Memory};
use model::Reading;

/// Id, file, form, the values that are changed (empty: every other), and the value wanted.
type Knob = (&'static str, &'static str, Form, &'static [&'static str], &'static str);

const KNOBS: [Knob; 9] = [
    // The hard-lockup detector takes a hardware counter on every CPU and interrupts it.
    ("watchdog", "/proc/sys/kernel/nmi_watchdog", Form::Text, &[], "0"),
    // Statistics of memory are folded on every CPU once in so many seconds.
    ("vmstat_interval", "/proc/sys/vm/stat_interval", Form::Text, &[], "120"),
    // Profilers interrupt at most so often in a second; 1 is the least.
    ("perf_sample_rate", "/proc/sys/kernel/perf_event_max_sample_rate", Form::Text, &[], "1"),
    // No huge page is made by stopping a program that faults, or by moving its memory behind it.
    ("thp", "/sys/kernel/mm/transparent_hugepage/defrag", Form::Choice, &[], "never"),
    ("thp", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", Form::Text, &[], "0"),
    ("ksm", "/sys/kernel/mm/ksm/run", Form::Text, &["1"], "0"),
    ("guest_polling", "/sys/module/kvm/parameters/halt_poll_ns", Form::Text, &[], "0"),
    ("compaction", "/proc/sys/vm/compaction_proactiveness", Form::Text, &[], "0"),
    ("numa_balancing", "/proc/sys/kernel/numa_balancing", Form::Text, &[], "0"),
];

pub(super) fn changes(view: &View<'_>) -> Vec<Change> {
    let knob = |(id, path, form, only, want): &Knob| {
        let change = view.file(id, path, *form, want)?;
        (only.is_empty() || only.contains(&change.found.as_str())).then_some(change)
    };
    let mut changes: Vec<Change> = workqueues(view);
    // The detector of soft lockups stays where it costs no run anything. It is never switched off: on Linux 6.1 a mere
    // look at kernel.watchdog or soft_watchdog while the other is 0 makes the kernel forget how it stood.
    changes.extend(view.keep_off("watchdog", "/proc/sys/kernel/watchdog_cpumask", Form::Cpus));
    changes.extend(huge_pages(view));
    changes.extend(KNOBS.iter().filter_map(knob));
    changes.extend(guest_pages(view));
    changes
}

/// Huge pages of any size only for who asks.
fn huge_pages(view: &View<'_>) -> Vec<Change> {
    let always = |(_, word): &&(String, Reading<String>)| word.known().is_some_and(|word| word == "always");
    let sizes = Memory::read(view.machine).huge_pages;
    let files = sizes.iter().filter(always);
    files.filter_map(|(file, _)| view.file("thp", file, Form::Choice, "madvise")).collect()
}

/// KVM rebuilds no huge pages of guests where it splits them.
fn guest_pages(view: &View<'_>) -> Option<Change> {
    let split = Memory::read(view.machine).guest_pages_split;
    let split = split.is_some_and(|split| split.known().is_some_and(|word| word == "Y"));
    split.then(|| view.file("guest_pages", GUEST_PAGES_RECOVERY, Form::Text, "0")).flatten()
}

/// Those that are shown, then the mask of all unbound ones.
fn workqueues(view: &View<'_>) -> Vec<Change> {
    let directory = "/sys/devices/virtual/workqueue";
    let names = view.machine.list(directory).unwrap_or_default();
    let shown = names.iter().map(|name| format!("{directory}/{name}/cpumask"));
    let files = shown.chain([format!("{directory}/cpumask")]);
    files.filter_map(|path| view.keep_off("workqueues", &path, Form::Mask)).collect()
}
