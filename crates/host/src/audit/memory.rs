//! What the kernel does with memory by itself, and where programs lie in it.

use super::{Judged, Seen, at_boot, at_run_time, finding, setting};
use crate::facts::GUEST_PAGES_RECOVERY;
use model::{Finding, MachineKind, Reading, Severity};

/// The sandbox switches it off for each process (personality(2), ADDR_NO_RANDOMIZE), which takes no privilege; filters of
/// system calls, such as Docker's, may refuse that.
pub(super) fn aslr(seen: &Seen) -> Finding {
    let f = finding(
        "aslr",
        Severity::Medium,
        "the memory layout changes the time: the variation of 60 runs of one loop was 3.0 % with fixed addresses, 13 % with \
         random ones (measured)",
    )
    .read_from("/proc/sys/kernel/randomize_va_space, /proc/self/status");
    let memory = &seen.facts.memory;
    match (memory.randomize.known().map(String::as_str), memory.seccomp.known().map(String::as_str)) {
        (Some("0"), _) => f.ok("addresses are fixed for all programs"),
        (_, Some("0")) => {
            f.ok("the sandbox fixes the addresses of each program it runs; that is permitted here")
        }
        (_, Some(_)) => f.unknown(
            "a system call filter is in force and may refuse what the sandbox does for each program",
        ),
        (_, None) => f.unknown("whether the sandbox may fix the addresses of each program is not reported"),
    }
}

/// The sandbox leaves huge pages as they are; a program that asks for them (`madvise`) gets them in every run alike.
pub(super) fn thp(seen: &Seen) -> Finding {
    let f = finding(
        "thp",
        Severity::Medium,
        "the duration of a page fault depends on whether a huge page is free: user time 1.01 to 1.09 s and up to 0.5 s of \
         system time for one sieve, 1.00 to 1.02 s without (measured); runs are not exempt",
    )
    .read_from("/sys/kernel/mm/transparent_hugepage/enabled");
    let memory = &seen.facts.memory;
    if memory.huge_pages.is_empty() {
        return f.not_applicable("this kernel has no transparent huge pages");
    }
    let value = |(_, value): &&(String, Reading<String>)| value.known().cloned();
    let always: Vec<&(String, Reading<String>)> =
        memory.huge_pages.iter().filter(|size| value(size).is_some_and(|word| word == "always")).collect();
    if let Some((file, _)) = always.first() {
        let never = always.iter().map(|(file, _)| format!("echo madvise > {file}"));
        let defrag = memory.huge_pages_defrag.as_ref().and_then(Reading::known);
        let defrag = defrag.map_or(String::new(), |word| format!(", defrag is {word}"));
        let observed = format!("{file} is always{defrag}");
        return f.bad(observed, at_run_time(never.collect::<Vec<_>>().join("; ")));
    }
    match &memory.huge_pages[0].1 {
        Reading::Unknown(why) => f.unknown(why.clone()),
        Reading::Known(word) if word == "madvise" => {
            f.ok("madvise: only programs that ask for them get them")
        }
        Reading::Known(word) => f.ok(word.clone()),
    }
}

pub(super) fn ksm(seen: &Seen) -> Finding {
    let file = "/sys/kernel/mm/ksm/run";
    let f = finding(
        "ksm",
        Severity::Low,
        "ksmd compares pages in the background; the first write to a merged page costs a fault and a copy",
    )
    .read_from(file);
    setting(f, &seen.facts.memory.ksm, |run| run != "1", at_run_time(format!("echo 0 > {file}")))
}

/// KVM may poll for a while before a CPU with an idle guest sleeps (virt/kvm/halt-polling.rst).
pub(super) fn guest_polling(seen: &Seen) -> Finding {
    let file = "/sys/module/kvm/parameters/halt_poll_ns";
    let f = finding(
        "guest_polling",
        Severity::Low,
        "when a virtual machine of this host becomes idle, its CPU polls for up to this many ns before it sleeps: that takes \
         time from the hyper-thread beside it, and turbo from the other cores",
    )
    .read_from(file);
    setting(f, &seen.facts.memory.guest_polling, |ns| ns == "0", at_run_time(format!("echo 0 > {file}")))
}

/// Splitting huge pages is a mitigation and stays (admin-guide/hw-vuln/multihit.rst); rebuilding them is background work.
pub(super) fn guest_pages(seen: &Seen) -> Finding {
    let f = finding(
        "guest_pages",
        Severity::Low,
        "KVM periodically frees split pages of running virtual machines to rebuild huge pages; the next access to each exits to the host",
    )
    .read_from(GUEST_PAGES_RECOVERY);
    let memory = &seen.facts.memory;
    match memory.guest_pages_split.as_ref().and_then(Reading::known).map(String::as_str) {
        Some("Y") => {
            let off = at_run_time(format!("echo 0 > {GUEST_PAGES_RECOVERY}"));
            setting(f, &memory.guest_pages_recovery, |ratio| ratio == "0", off)
        }
        Some(_) => f.ok("KVM does not split huge pages on this processor, so it rebuilds none"),
        None => setting(f, &memory.guest_pages_split, |_| true, None),
    }
}

pub(super) fn damon(seen: &Seen) -> Finding {
    let f = finding(
        "damon",
        Severity::Low,
        "kdamond clears the access bits of page tables several times a second: extra TLB misses and a thread that wakes",
    )
    .read_from("/proc/2/task/2/children, /sys/module/damon_*/parameters/enabled");
    match &seen.facts.memory.damon {
        Reading::Unknown(why) => f.unknown(why.clone()),
        Reading::Known(users) if users.is_empty() => f.ok("no thread of it"),
        Reading::Known(users) => {
            let modules = users.iter().filter(|user| user.starts_with("damon_"));
            let mut off: Vec<String> =
                modules.map(|m| format!("echo N > /sys/module/{m}/parameters/enabled")).collect();
            let admin = "/sys/kernel/mm/damon/admin/kdamonds";
            off.extend(
                seen.facts.memory.damon_switched_on.iter().map(|n| format!("echo off > {admin}/{n}/state")),
            );
            // Of a user within the kernel itself nothing tells who it is.
            let remedy = if off.is_empty() { None } else { at_run_time(off.join("; ")) };
            let mut f = f.bad(format!("running: {}", users.join(", ")), remedy);
            f.who = users.clone();
            f
        }
    }
}

pub(super) fn compaction(seen: &Seen) -> Finding {
    let f = finding(
        "compaction",
        Severity::Low,
        "kcompactd moves pages in advance: programs then find unmapped pages and flushed TLB entries",
    )
    .read_from("/proc/sys/vm/compaction_proactiveness");
    let off = at_run_time("sysctl -w vm.compaction_proactiveness=0");
    setting(f, &seen.facts.memory.compaction, |value| value == "0", off)
}

pub(super) fn swap(seen: &Seen) -> Finding {
    let f = finding(
        "swap",
        Severity::High,
        "reading pages back from swap takes an order of magnitude longer than the program itself",
    )
    .read_from("/proc/swaps");
    match &seen.facts.memory.swaps {
        Reading::Unknown(why) => f.unknown(why.clone()),
        Reading::Known(areas) if areas.is_empty() => f.ok("no swap area"),
        Reading::Known(areas) => f.bad(
            format!("{}; the groups of runs may not swap, everything else may", areas.join(", ")),
            at_run_time("swapoff -a"),
        ),
    }
}

/// Memory that the host takes back costs again at the next touch. Without a balloon the host may still do so unseen.
pub(super) fn balloon(seen: &Seen) -> Finding {
    let f = finding(
        "balloon",
        Severity::Medium,
        "memory that the host has reclaimed costs time at the next access: 0.02 to 0.51 s of system time for the same 200 MB \
         (measured)",
    )
    .read_from("/sys/bus/virtio/drivers/virtio_balloon/*/features");
    let balloons = &seen.facts.memory.balloons;
    let reporting = balloons.iter().filter(|(_, reporting)| reporting.known() == Some(&true));
    let reporting: Vec<&str> = reporting.map(|(name, _)| name.as_str()).collect();
    match (seen.is_guest() || seen.kind == MachineKind::Vm, &reporting[..]) {
        (_, [_, ..]) => f.bad(
            format!("{}: every page that becomes free goes back to the host at once", reporting.join(", ")),
            at_boot(
                "at the hypervisor, for this guest: no free page reporting (QEMU: free-page-reporting=off)",
            ),
        ),
        (false, []) => f.not_applicable("no hypervisor is detected that could reclaim memory"),
        (true, []) if balloons.is_empty() => f.unknown(
            "no balloon is detected; whether the host has memory for this whole guest is not reported",
        ),
        (true, []) => {
            f.unknown("a balloon without free page reporting; when the host inflates it is not reported")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::audit::testing::{CONTAINER, GUEST, check, command, judged};
    use model::FindingState::{Bad, NotApplicable, Ok, Unknown};

    #[test]
    fn aslr() {
        let file = |value: &str| format!("/proc/sys/kernel/randomize_va_space\n\t{value}\n");
        let status = |mode: u32| format!("/proc/self/status\n\tName:\tx\n\tSeccomp:\t{mode}\n");
        check(
            "aslr",
            &[
                (&file("0"), Ok, "all programs"),
                (&format!("{}{}", file("2"), status(0)), Ok, "the sandbox fixes"),
                (&format!("{CONTAINER}{}{}", file("2"), status(0)), Ok, "the sandbox fixes"),
                (&format!("{CONTAINER}{}{}", file("2"), status(2)), Unknown, "filter"),
                (&file("2"), Unknown, "not reported"),
                ("", Unknown, "not reported"),
            ],
        );
    }

    #[test]
    fn thp() {
        let at = "/sys/kernel/mm/transparent_hugepage";
        let files = |enabled: &str, size: &str| {
            format!(
                "{at}/enabled\n\t{enabled}\n{at}/defrag\n\talways defer [madvise] never\n{at}/hugepages-64kB/enabled\n\t{size}\n"
            )
        };
        let none = "always inherit madvise [never]";
        let size = files("always madvise [never]", "[always] inherit madvise never");
        check(
            "thp",
            &[
                (&files("[always] madvise never", none), Bad, "defrag is madvise"),
                (&size, Bad, "hugepages-64kB/enabled is always"),
                (&files("always [madvise] never", none), Ok, "only programs that ask"),
                (&files("always madvise [never]", none), Ok, "never"),
                (&format!("{at}/enabled ! 13 Permission denied\n"), Unknown, "may not be read"),
                ("", NotApplicable, "no transparent huge pages"),
            ],
        );
        assert_eq!(command("thp", &size), format!("echo madvise > {at}/hugepages-64kB/enabled"));
    }

    #[test]
    fn guest_pages() {
        let at = "/sys/module/kvm/parameters/nx_huge_pages";
        let files = |split: &str, ratio: &str| format!("{at}\n\t{split}\n{at}_recovery_ratio\n\t{ratio}\n");
        check(
            "guest_pages",
            &[
                (&files("Y", "60"), Bad, "is 60"),
                (&files("Y", "0"), Ok, "is 0"),
                (&files("N", "60"), Ok, "does not split"),
                (&format!("{at} ! 13 Permission denied\n"), Unknown, "may not be read"),
                ("", NotApplicable, "has no"),
            ],
        );
        assert_eq!(command("guest_pages", &files("Y", "60")), format!("echo 0 > {at}_recovery_ratio"));
    }

    #[test]
    fn files_that_should_hold_a_value() {
        for (id, file, quiet, loud) in [
            ("ksm", "/sys/kernel/mm/ksm/run", "0", "1"),
            ("ksm", "/sys/kernel/mm/ksm/run", "2", "1"),
            ("compaction", "/proc/sys/vm/compaction_proactiveness", "0", "20"),
            ("guest_polling", "/sys/module/kvm/parameters/halt_poll_ns", "0", "200000"),
        ] {
            check(
                id,
                &[
                    (&format!("{file}\n\t{quiet}\n"), Ok, quiet),
                    (&format!("{file}\n\t{loud}\n"), Bad, loud),
                    (&format!("{file} ! 13 Permission denied\n"), Unknown, "may not be read"),
                    ("", NotApplicable, "this kernel has no"),
                ],
            );
        }
        let file = "/sys/kernel/mm/ksm/run\n\t1\n";
        assert_eq!(command("ksm", file), "echo 0 > /sys/kernel/mm/ksm/run");
        let in_container = command("ksm", &format!("{CONTAINER}{file}"));
        assert_eq!(in_container, "echo 0 > /sys/kernel/mm/ksm/run  # on the host, not in this container");
    }

    #[test]
    fn damon() {
        let threads = "/proc/2/task/2/children\n\t3 76\n/proc/3/comm\n\trcu_gp\n";
        let running = format!("{threads}/proc/76/comm\n\tkdamond.0\n");
        let module = format!("{threads}/sys/module/damon_stat/parameters/enabled\n\tY\n");
        let admin = format!("{running}/sys/kernel/mm/damon/admin/kdamonds/0/state\n\ton\n")
            + "/sys/kernel/mm/damon/admin/kdamonds/1/state\n\toff\n";
        check(
            "damon",
            &[
                (threads, Ok, "no thread"),
                (&running, Bad, "kdamond.0"),
                (&module, Bad, "damon_stat"),
                (&admin, Bad, "kdamond.0"),
                (&format!("{threads}/sys/module/damon_stat/parameters/enabled\n\tN\n"), Ok, ""),
                ("", Unknown, "no /proc/2"),
            ],
        );
        assert_eq!(judged("damon", &running).who, ["kdamond.0"]);
        assert_eq!(judged("damon", &running).remedy, None);
        assert_eq!(command("damon", &admin), "echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state");
        assert_eq!(command("damon", &module), "echo N > /sys/module/damon_stat/parameters/enabled");
    }

    #[test]
    fn swap() {
        let head = "/proc/swaps\n\tFilename\tType\tSize\n";
        check(
            "swap",
            &[
                (head, Ok, "no swap"),
                (&format!("{head}\t/dev/zram0 partition 8\n\t/swap file 9\n"), Bad, "/dev/zram0, /swap"),
                ("", Unknown, "no /proc/swaps"),
            ],
        );
    }

    #[test]
    fn balloon() {
        let with = |bits: &str| {
            format!("{GUEST}/sys/bus/virtio/drivers/virtio_balloon/virtio0/features\n\t{bits}\n")
        };
        check(
            "balloon",
            &[
                ("", NotApplicable, "no hypervisor"),
                (GUEST, Unknown, "no balloon is detected"),
                (&with("011001"), Bad, "virtio0"),
                (&with("011110"), Unknown, "without free page reporting"),
            ],
        );
    }
}
