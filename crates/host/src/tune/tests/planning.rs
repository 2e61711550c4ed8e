//! What is planned on machines of several shapes.

use crate::facts::Topology;
use crate::machine::Machine;
use crate::slots;
use crate::tune::{self, TuneConfig};
use model::Isolation;
use std::fmt::Write;

/// Two cores with two hyper-threads each: one slot on 2 and 3, housekeeping on 0 and 1.
const SERVER: [(&str, &str); 5] = [
    ("/sys/devices/system/cpu/online", "0-3"),
    ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1"),
    ("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1"),
    ("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3"),
    ("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "2-3"),
];

/// A machine with these files.
fn machine(files: &[(&str, &str)]) -> Machine {
    let mut text = String::from("tauto recording 1\n");
    for (path, content) in files {
        write!(text, "{path}\n\t{content}\n").unwrap();
    }
    Machine::parse(&text).unwrap()
}

/// The plan as `id target: found -> want`, with the long beginnings of paths left out.
fn planned(machine: &Machine, config: &TuneConfig) -> Vec<String> {
    let topology = Topology::read(machine).unwrap();
    let slots = slots::plan(&topology, &slots::SlotsConfig::default(), Isolation::Partition);
    let changes = tune::plan(machine, &slots, config);
    let short = |target: String| {
        target
            .replace("/sys/devices/system/cpu/", "")
            .replace("/sys/kernel/mm/", "")
            .replace("/sys/fs/cgroup/", "")
            .replace("/sys/fs/resctrl/", "")
    };
    let line = |change: &tune::Change| {
        format!("{} {}: {} -> {}", change.id, short(change.target.to_string()), change.found, change.want)
    };
    changes.iter().map(line).collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let all: Vec<(&str, &str)> = SERVER.iter().chain(files).copied().collect();
    assert_eq!(planned(&machine(&all), &TuneConfig::default()), expected);
}

const POLICY: &str = "/sys/devices/system/cpu/cpu2/cpufreq";

/// Files of the policy of CPU 2 (least, most, and what is set), and others.
fn policy(set: (&str, &str), others: &[(&str, &str)]) -> Vec<(String, String)> {
    let file = |name: &str| format!("{POLICY}/{name}");
    let own = [
        ("related_cpus", "2 3"),
        ("scaling_driver", "acpi-cpufreq"),
        ("cpuinfo_min_freq", "800000"),
        ("cpuinfo_max_freq", "3500000"),
        ("scaling_min_freq", set.0),
        ("scaling_max_freq", set.1),
    ];
    let own = own.iter().map(|(name, text)| (file(name), text.to_string()));
    let others = others.iter().map(|(path, text)| (path.to_string(), text.to_string()));
    own.chain(others).collect()
}

#[track_caller]
fn check_policy(set: (&str, &str), others: &[(&str, &str)], expected: &[&str]) {
    let files = policy(set, others);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    check(&files, expected);
}

#[test]
fn nothing_is_planned_that_is_not_there() {
    check(&[], &[]);
}

#[test]
fn hyper_threads_of_slots_only() {
    check(
        &[("/sys/devices/system/cpu/cpu1/online", "1"), ("/sys/devices/system/cpu/cpu3/online", "1")],
        &["smt cpu3/online: 1 -> 0"],
    );
    check(&[("/sys/devices/system/cpu/cpu3/online", "0")], &[]);
}

#[test]
fn turbo_of_the_machine_or_of_each_policy() {
    check(
        &[("/sys/devices/system/cpu/intel_pstate/no_turbo", "0")],
        &["turbo intel_pstate/no_turbo: 0 -> 1"],
    );
    check(&[("/sys/devices/system/cpu/cpufreq/boost", "1")], &["turbo cpufreq/boost: 1 -> 0"]);
    check(&[("/sys/devices/system/cpu/cpufreq/boost", "0")], &[]);
    let each = ("/sys/devices/system/cpu/cpu2/cpufreq/boost", "1");
    check(&[each], &["turbo cpu2/cpufreq/boost: 1 -> 0"]);
    check(
        &[("/sys/devices/system/cpu/cpufreq/boost", "1"), each],
        &["turbo cpu2/cpufreq/boost: 1 -> 0", "turbo cpufreq/boost: 1 -> 0"],
    );
}

#[test]
fn frequency_is_held_at_the_base() {
    let base = (&*format!("{POLICY}/base_frequency"), "2100000");
    let nominal = ("/sys/devices/system/cpu/cpu2/acpi_cppc/nominal_freq", "2300");
    let listed = (&*format!("{POLICY}/scaling_available_frequencies"), "2401000 2400000 1200000");
    let (min, max) = (
        "frequency_range cpu2/cpufreq/scaling_min_freq: ",
        "frequency_range cpu2/cpufreq/scaling_max_freq: ",
    );
    let (lowered, raised) = (format!("{max}3500000 -> 2100000"), format!("{min}800000 -> 2100000"));
    check_policy(("800000", "3500000"), &[base, nominal], &[&lowered, &raised]);
    // The least first where it lies above.
    let lowered_min = format!("{min}3000000 -> 2100000");
    check_policy(("3000000", "3500000"), &[base], &[&lowered_min, &lowered]);
    let (lowered, raised) = (format!("{max}3500000 -> 2300000"), format!("{min}800000 -> 2300000"));
    check_policy(("800000", "3500000"), &[nominal], &[&lowered, &raised]);
    let (lowered, raised) = (format!("{max}3500000 -> 2400000"), format!("{min}800000 -> 2400000"));
    check_policy(("800000", "3500000"), &[listed], &[&lowered, &raised]);
    check_policy(("2100000", "2100000"), &[base], &[]);
    // Nothing says what the base is: the most that is allowed.
    check_policy(("800000", "3000000"), &[], &[&format!("{min}800000 -> 3000000")]);
}

#[test]
fn governor_where_it_is_offered() {
    let file = |name: &str| format!("{POLICY}/{name}");
    let (related, governor, offered) =
        (file("related_cpus"), file("scaling_governor"), file("scaling_available_governors"));
    check(
        &[(&related, "2 3"), (&governor, "powersave"), (&offered, "performance powersave")],
        &["governor cpu2/cpufreq/scaling_governor: powersave -> performance"],
    );
    check(&[(&related, "2 3"), (&governor, "powersave"), (&offered, "powersave")], &[]);
}

#[test]
fn uncore_and_idle_states() {
    check(
        &[
            ("/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/max_freq_khz", "2400000"),
            ("/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz", "1200000"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state0/latency", "0"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state0/disable", "0"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state3/disable", "0"),
        ],
        &[
            "uncore intel_uncore_frequency/package_00_die_00/min_freq_khz: 1200000 -> 2400000",
            "c_states cpu2/cpuidle/state3/disable: 0 -> 1",
        ],
    );
}

#[test]
fn interrupts_go_where_they_may_and_no_slot_is() {
    check(
        &[
            ("/proc/irq/default_smp_affinity", "f"),
            ("/proc/irq/9/smp_affinity_list", "0"),
            ("/proc/irq/24/smp_affinity_list", "0-3"),
            ("/proc/irq/25/smp_affinity_list", "1,3"),
            ("/proc/irq/26/smp_affinity_list", "2"),
            // The machine's timer, and one without a device.
            ("/proc/irq/0/smp_affinity_list", "0-3"),
            ("/proc/irq/5/smp_affinity_list", "0-3"),
            (
                "/proc/interrupts",
                "  CPU0 CPU1 CPU2 CPU3\n\t0: 9 0 0 0 IO-APIC 2-edge timer\n\t9: 0 0 0 0 IO-APIC 9-level acpi\n\t\
                 24: 0 0 0 7 PCI-MSI 0-edge nvme0q0\n\t25: 0 0 0 0 PCI-MSI 1-edge nvme0q1\n\t\
                 26: 0 0 0 0 PCI-MSI 2-edge nvme0q2",
            ),
            ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "c"),
            ("/sys/class/net/eth0/queues/rx-1/rps_cpus", "0"),
            ("/sys/class/net/eth0/queues/tx-0/xps_cpus", "00000000,0000000a"),
        ],
        &[
            "irq_affinity /proc/irq/default_smp_affinity: f -> 3",
            "irq_affinity /proc/irq/24/smp_affinity_list: 0-3 -> 0-1",
            "irq_affinity /proc/irq/25/smp_affinity_list: 1,3 -> 1",
            "irq_affinity /proc/irq/26/smp_affinity_list: 2 -> 0-1",
            "softirq_rps /sys/class/net/eth0/queues/rx-0/rps_cpus: c -> 0",
            "softirq_rps /sys/class/net/eth0/queues/tx-0/xps_cpus: 00000000,0000000a -> 2",
        ],
    );
}

#[test]
fn the_balancer_is_stopped_first() {
    check(
        &[("/proc/irq/default_smp_affinity", "f"), ("/proc/900/comm", "irqbalance")],
        &[
            "irq_affinity service irqbalance: active -> inactive",
            "irq_affinity /proc/irq/default_smp_affinity: f -> 3",
        ],
    );
}

#[test]
fn kernel_threads_that_can_be_moved() {
    let stat = |pid: u32, comm: &str, flags: u32| {
        format!("{pid} ({comm}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 19 0 0")
    };
    let (kthread, bound) = (0x0020_0000, 0x0420_0000);
    let allowed = "Name:\tx\n\tCpus_allowed_list:\t0-3";
    let stats = [stat(17, "kcompactd0", kthread), stat(18, "ksoftirqd/2", bound), stat(300, "init", 0)];
    check(
        &[
            ("/proc/17/stat", &stats[0]),
            ("/proc/17/status", allowed),
            ("/proc/18/stat", &stats[1]),
            ("/proc/18/status", allowed),
            ("/proc/300/stat", &stats[2]),
            ("/proc/300/status", allowed),
        ],
        &["kernel_threads CPUs of 17 (kcompactd0): 0-3 -> 0-1"],
    );
}

#[test]
fn partitions_keep_what_tasks_may_use() {
    let task = |pid: u32, flags: u32, allowed: &str| {
        let stat = format!("{pid} (t{pid}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 19 0 0");
        let status = format!("Name:\tx\n\tCpus_allowed_list:\t{allowed}");
        [
            (format!("/proc/{pid}/task/{pid}/comm"), format!("t{pid}")),
            (format!("/proc/{pid}/stat"), stat),
            (format!("/proc/{pid}/status"), status),
        ]
    };
    let tasks = [
        task(11, 0x0020_0000, "0-3"),
        task(12, 0x0020_0000, "0-1"),
        task(13, 0x0420_0000, "0-1"),
        task(300, 0, "1"),
        task(301, 0, "2-3"),
        task(302, 0, "0-3"),
    ];
    let cgroup = [
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset"),
        ("/sys/fs/cgroup/cgroup.subtree_control", "cpuset"),
    ];
    let tasks = tasks.iter().flatten().map(|(path, text)| (path.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = SERVER.into_iter().chain(cgroup).chain(tasks).collect();
    let machine = machine(&files);
    let kept = [
        "isolated_cpus CPUs of 12 (t12): 0-1 -> 0-1",
        "isolated_cpus CPUs of 300 (t300): 1 -> 1",
        "isolated_cpus CPUs of 301 (t301): 2-3 -> 0-1",
    ];
    let all = planned(&machine, &TuneConfig::default());
    assert_eq!(all[0], "kernel_threads CPUs of 11 (t11): 0-3 -> 0-1");
    assert_eq!((&all[1..4], all.len()), (&kept.map(String::from)[..], 7));
    let only = TuneConfig { only: vec!["isolated_cpus".into()], ..TuneConfig::default() };
    assert_eq!(planned(&machine, &only)[..3], kept);
    let skip = TuneConfig { skip: vec!["isolated_cpus".into()], ..TuneConfig::default() };
    assert_eq!(planned(&machine, &skip), all[..1]);
}

#[test]
fn the_kernels_own_work() {
    let thp = "/sys/kernel/mm/transparent_hugepage";
    check(
        &[
            ("/sys/devices/virtual/workqueue/cpumask", "f"),
            ("/sys/devices/virtual/workqueue/writeback/cpumask", "f"),
            ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
            ("/proc/sys/kernel/nmi_watchdog", "1"),
            ("/proc/sys/vm/stat_interval", "1"),
            ("/proc/sys/kernel/perf_event_max_sample_rate", "100000"),
            (&format!("{thp}/enabled"), "[always] madvise never"),
            (&format!("{thp}/hugepages-64kB/enabled"), "[always] inherit madvise never"),
            (&format!("{thp}/hugepages-2048kB/enabled"), "always [inherit] madvise never"),
            (&format!("{thp}/defrag"), "always defer defer+madvise [madvise] never"),
            (&format!("{thp}/khugepaged/defrag"), "1"),
            ("/sys/kernel/mm/ksm/run", "1"),
            ("/sys/module/kvm/parameters/halt_poll_ns", "200000"),
            ("/sys/module/kvm/parameters/nx_huge_pages", "Y"),
            ("/sys/module/kvm/parameters/nx_huge_pages_recovery_ratio", "60"),
            ("/proc/sys/vm/compaction_proactiveness", "20"),
            ("/proc/sys/kernel/numa_balancing", "1"),
        ],
        &[
            "workqueues /sys/devices/virtual/workqueue/writeback/cpumask: f -> 3",
            "workqueues /sys/devices/virtual/workqueue/cpumask: f -> 3",
            "watchdog /proc/sys/kernel/watchdog_cpumask: 0-3 -> 0-1",
            "thp transparent_hugepage/enabled: always -> madvise",
            "thp transparent_hugepage/hugepages-64kB/enabled: always -> madvise",
            "watchdog /proc/sys/kernel/nmi_watchdog: 1 -> 0",
            "vmstat_interval /proc/sys/vm/stat_interval: 1 -> 120",
            "perf_sample_rate /proc/sys/kernel/perf_event_max_sample_rate: 100000 -> 1",
            "thp transparent_hugepage/defrag: madvise -> never",
            "thp transparent_hugepage/khugepaged/defrag: 1 -> 0",
            "ksm ksm/run: 1 -> 0",
            "guest_polling /sys/module/kvm/parameters/halt_poll_ns: 200000 -> 0",
            "compaction /proc/sys/vm/compaction_proactiveness: 20 -> 0",
            "numa_balancing /proc/sys/kernel/numa_balancing: 1 -> 0",
            "guest_pages /sys/module/kvm/parameters/nx_huge_pages_recovery_ratio: 60 -> 0",
        ],
    );
    // A processor on which KVM splits no huge pages.
    let kvm = "/sys/module/kvm/parameters/nx_huge_pages";
    check(&[(kvm, "N"), (&format!("{kvm}_recovery_ratio"), "60")], &[]);
    // Switched off already, and unmerging what was merged is nobody's noise.
    check(&[(&format!("{thp}/enabled"), "always madvise [never]"), ("/sys/kernel/mm/ksm/run", "2")], &[]);
}

#[test]
fn partitions_below_the_root_of_version_2() {
    let root = "/sys/fs/cgroup";
    let [controllers, subtree, own] =
        ["cgroup.controllers", "cgroup.subtree_control", "cpuset.cpus.partition"]
            .map(|n| format!("{root}/{n}"));
    let group = [
        "isolated_cpus tauto-slot-2: absent -> present",
        "isolated_cpus tauto-slot-2/cpuset.cpus:  -> 2-3",
        "isolated_cpus tauto-slot-2/cpuset.cpus.partition: member -> isolated",
    ];
    let switched = "isolated_cpus cgroup.subtree_control (cpuset): off -> on";
    check(
        &[(&controllers, "cpuset cpu memory"), (&subtree, "cpu memory")],
        &[switched, group[0], group[1], group[2]],
    );
    check(&[(&controllers, "cpuset cpu memory"), (&subtree, "cpu cpuset")], &group);
    // Version 1 has the controller; or what looks like the root is somebody's group.
    check(&[(&controllers, "hugetlb"), (&subtree, "")], &[]);
    check(&[(&controllers, "cpuset"), (&subtree, ""), (&own, "member")], &[]);
    // In force already, with a sibling that is offline since.
    let there = ["cpuset.cpus", "cpuset.cpus.partition"].map(|n| format!("{root}/tauto-slot-2/{n}"));
    check(
        &[(&controllers, "cpuset"), (&subtree, "cpuset"), (&there[0], "2-3,7"), (&there[1], "isolated")],
        &[],
    );
}

#[test]
fn a_single_core_is_tuned_without_moving_anything() {
    let one = machine(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1"),
        ("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1"),
        ("/sys/devices/system/cpu/cpu1/online", "1"),
        ("/proc/irq/24/smp_affinity_list", "0-1"),
        ("/proc/900/comm", "irqbalance"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset"),
        ("/sys/fs/cgroup/cgroup.subtree_control", ""),
        ("/proc/sys/kernel/numa_balancing", "1"),
        ("/proc/sys/kernel/watchdog", "1"),
        ("/proc/sys/kernel/watchdog_cpumask", "0-1"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
    ]);
    let expected =
        ["numa_balancing /proc/sys/kernel/numa_balancing: 1 -> 0", "turbo intel_pstate/no_turbo: 0 -> 1"];
    assert_eq!(planned(&one, &TuneConfig::default()), expected);
    let boot = TuneConfig { boot: true, ..TuneConfig::default() };
    assert_eq!(planned(&one, &boot), expected);
}

#[test]
fn the_next_start() {
    let boot = |files: &[(&str, &str)], only: &[&str]| {
        let all: Vec<(&str, &str)> = SERVER.iter().chain(files).copied().collect();
        let only = only.iter().map(ToString::to_string).collect();
        let config = TuneConfig { boot: true, boot_nosmt: true, only, ..TuneConfig::default() };
        let machine = machine(&all);
        let topology = Topology::read(&machine).unwrap();
        let slots = slots::plan(&topology, &slots::SlotsConfig::default(), Isolation::Partition);
        (tune::boot(&machine, &slots, &config), tune::plan(&machine, &slots, &config))
    };
    let parameters = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 nosmt";
    let (plain, changes) = boot(&[], &[]);
    assert_eq!((plain.parameters.as_str(), plain.drop_in, changes.len()), (parameters, None, 0));
    assert!(plain.advice[0].contains("unknown boot loader"), "{:?}", plain.advice);
    let (grub, changes) = boot(&[("/etc/default/grub", "GRUB_TIMEOUT=1")], &[]);
    let drop_in = grub.drop_in.unwrap();
    assert!(drop_in.contains(&format!("=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameters}\"\n")), "{drop_in}");
    assert_eq!((changes.len(), &changes[1].want, changes[1].found.as_str()), (2, &drop_in, "absent"));
    assert!(grub.advice[0].contains("update-grub"));
    let installed = ("/etc/default/grub.d/50-tautochrone.cfg", &*drop_in.trim_end().replace('\n', "\n\t"));
    assert_eq!(boot(&[("/etc/default/grub", ""), installed], &[]).1, []);
    let (some, _) = boot(&[("/etc/kernel/cmdline", "root=x")], &["nohz_full", "managed_irq"]);
    assert_eq!(some.parameters, "isolcpus=managed_irq,2-3 nohz_full=2-3");
    assert!(some.advice[0].contains("kernel-install"), "{:?}", some.advice);
}

/// Two sockets of four CPUs with a last cache each, and resctrl.
const CACHES: [(&str, &str); 6] = [
    ("/sys/devices/system/cpu/online", "0-7"),
    ("/sys/fs/resctrl/schemata", "    MB:0=100;1=100\n\t    L3:0=7ff;1=7ff"),
    ("/sys/fs/resctrl/info/L3/cbm_mask", "7ff"),
    ("/sys/fs/resctrl/info/L3/min_cbm_bits", "1"),
    ("/sys/fs/resctrl/info/L3/shareable_bits", "600"),
    ("/sys/fs/resctrl/info/L3/num_closids", "16"),
];

/// What is planned for caches on that machine with other files, of which each replaces one or is new.
fn planned_for_caches(others: &[(&str, &str)]) -> Vec<String> {
    let mut files: Vec<(String, String)> = Vec::new();
    for cpu in 0..8 {
        let cache = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3");
        let shared = if cpu < 4 { "0-3" } else { "4-7" };
        let facts = [("level", "3"), ("type", "Unified"), ("shared_cpu_list", shared)];
        files.extend(facts.map(|(name, text)| (format!("{cache}/{name}"), text.to_string())));
    }
    let replaced = |path: &str| others.iter().any(|(other, _)| *other == path);
    let own = CACHES.iter().filter(|(path, _)| !replaced(path));
    files.extend(own.chain(others).map(|(path, text)| (path.to_string(), text.to_string())));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    planned(&machine(&files), &TuneConfig::default())
}

#[test]
fn slots_that_share_a_cache_get_partitions_of_it() {
    // Housekeeping is CPUs 0 and 1: two slots at the first cache, four at the second.
    let all = "L3:0=7ff;1=7ff";
    let mut expected = vec![format!("cache_partition schemata: {all} -> L3:0=700;1=700")];
    for (group, (mask, cpus)) in [("3", "2,4"), ("c", "3,5"), ("30", "6"), ("c0", "7")].iter().enumerate() {
        expected.extend([
            format!("cache_partition tauto-slot-{group}: absent -> present"),
            format!("cache_partition tauto-slot-{group}/schemata: {all} -> L3:0={mask};1={mask}"),
            format!("cache_partition tauto-slot-{group}/cpus_list:  -> {cpus}"),
            format!("cache_partition tauto-slot-{group}/mode: shareable -> exclusive"),
        ]);
    }
    assert_eq!(planned_for_caches(&[]), expected);
    // What is in force is not planned again.
    let group = |n: usize, file: &str| format!("/sys/fs/resctrl/tauto-slot-{n}/{file}");
    let mut files: Vec<(String, String)> = vec![("/sys/fs/resctrl/schemata".into(), "L3:0=700;1=700".into())];
    for (n, (mask, cpus)) in [("003", "2,4"), ("00c", "3,5"), ("030", "6"), ("0c0", "7")].iter().enumerate() {
        files.push((group(n, "schemata"), format!("L3:0={mask};1={mask}")));
        files.push((group(n, "cpus_list"), cpus.to_string()));
        files.push((group(n, "mode"), "exclusive".into()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(planned_for_caches(&files), Vec::<String>::new());
}

#[test]
fn caches_that_cannot_be_partitioned_are_left_alone() {
    let none = Vec::<String>::new();
    for file in [
        // Another administrator's group.
        ("/sys/fs/resctrl/batch/cpus_list", "7"),
        // Code and data apart (CDP), and four groups for five.
        ("/sys/fs/resctrl/schemata", "L3CODE:0=7ff;1=7ff\n\tL3DATA:0=7ff;1=7ff"),
        ("/sys/fs/resctrl/info/L3/num_closids", "4"),
        ("/sys/fs/resctrl/info/L3/cbm_mask", "f"),
        ("/sys/fs/resctrl/info/L3/cbm_mask", "what"),
    ] {
        assert_eq!(planned_for_caches(&[file]), none, "{file:?}");
    }
}
