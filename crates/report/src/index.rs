//! What the forms of an index have in common: words and numbers for people.

use model::{Index, IndexComparison, IndexPart, IndexStray, IndexSubject, Reading, StrayKind};

/// What a part is, for people.
pub(crate) fn title(part: IndexPart) -> &'static str {
    match part {
        IndexPart::Rounds => "rounds per second",
        IndexPart::Clock => "core clock",
        IndexPart::L1 => "read from L1",
        IndexPart::L2 => "read from L2",
        IndexPart::L3 => "read from L3",
        IndexPart::Dram => "read from memory",
        IndexPart::Bandwidth => "reading bandwidth",
        IndexPart::Mispredict => "mispredicted branch",
        IndexPart::PageFault => "page fault",
        IndexPart::Syscall => "system call",
        IndexPart::ForkExec => "fork and exec",
    }
}

/// A value with four or five digits that say something.
pub(crate) fn digits(value: f64) -> String {
    let decimals = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// A value with its unit, such as `3.593 GHz`.
pub(crate) fn with_unit(part: IndexPart, value: f64) -> String {
    match part.unit() {
        "1/s" => digits(value),
        "ns" if value >= 10_000.0 => format!("{} µs", digits(value / 1000.0)),
        unit => format!("{} {unit}", digits(value)),
    }
}

/// A percentage: two digits that say something.
pub(crate) fn percent(value: f64) -> String {
    let decimals = if value.abs() < 0.995 { 3 } else { 2 };
    format!("{value:.decimals$} %")
}

/// How far a machine varies, such as `4.0 % more` or `6.0 % more over its readings`.
pub(crate) fn reach(stray: &IndexStray) -> String {
    let change = 100.0 * (stray.ratio - 1.0);
    let more = if change >= 0.0 { "more" } else { "less" };
    let of = match stray.subject {
        IndexSubject::Part(_) => "",
        IndexSubject::Group(_) => " time",
    };
    let over = match stray.kind {
        StrayKind::Level => "",
        StrayKind::Trend => " over its readings",
    };
    format!("{:.1} % {more}{of}{over}", change.abs())
}

/// Those that vary, without parts of which the whole group does in the same way; these are named beside it.
pub(crate) fn by_group(comparison: &IndexComparison) -> Vec<(&IndexStray, String)> {
    let strays = &comparison.strays;
    let alone = strays.iter().filter(|stray| !strays.iter().any(|group| within(group, stray)));
    let parts = |group: &IndexStray| {
        let parts = strays.iter().filter(|part| within(group, part)).map(|part| part.subject.name());
        parts.collect::<Vec<_>>().join(" ")
    };
    alone.map(|stray| (stray, parts(stray))).collect()
}

fn within(group: &IndexStray, part: &IndexStray) -> bool {
    let within = match (group.subject, part.subject) {
        (IndexSubject::Group(group), IndexSubject::Part(part)) => part.group() == group,
        _ => false,
    };
    within && group.machine == part.machine && group.kind == part.kind && group.weaker == part.weaker
}

/// When, in UTC, such as `2026-11-21 14:30:05`. By Howard Hinnant's `civil_from_days`.
pub(crate) fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, civil) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(civil <= 2);
    format!("{year:04}-{civil:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The machine on one line.
pub(crate) fn machine(index: &Index) -> String {
    let or = |reading: &Reading<String>, what: &str| match reading {
        Reading::Known(text) => text.clone(),
        Reading::Unknown(_) => format!("unknown {what}"),
    };
    let memory = match &index.memory_bytes {
        Reading::Known(bytes) => format!("{:.1} GiB of memory", *bytes as f64 / (1u64 << 30) as f64),
        Reading::Unknown(_) => "unknown memory".into(),
    };
    format!(
        "{}, kernel {}, {memory}, caches {}, fingerprint {}",
        or(&index.cpu_model, "processor"),
        or(&index.kernel, "release"),
        if index.caches.is_empty() { "unknown".into() } else { index.caches.join(" ") },
        index.fingerprint
    )
}

/// What it was protected by, on one line.
pub(crate) fn conditions(index: &Index) -> String {
    let conditions = &index.conditions;
    let mut had = Vec::new();
    had.extend(conditions.slot.known().map(|slot| format!("slot {slot}")));
    had.extend(conditions.cpu.known().map(|cpu| format!("bound to CPU {cpu}")));
    had.extend((conditions.sched == "fifo").then(|| "real-time class".to_string()));
    had.extend(conditions.mem_node.known().map(|node| format!("memory of node {node}")));
    had.extend((conditions.huge_pages_off == Reading::Known(true)).then(|| "huge pages off".to_string()));
    had.extend((conditions.frequency_held == Reading::Known(true)).then(|| "frequency held".to_string()));
    if had.is_empty() { "none".into() } else { had.join(", ") }
}

/// What a hypervisor took, where it took something.
pub(crate) fn stolen(index: &Index) -> Option<String> {
    let steal = index.conditions.steal_ns.known().filter(|steal| **steal > 0)?;
    let share = 100.0 * *steal as f64 / (index.seconds.max(1e-9) * 1e9);
    Some(format!("a hypervisor took {:.0} ms of this CPU meanwhile ({share:.2} %)", *steal as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [3.592_64, 373.97, 4104.6, 0.03, 171_917.5].map(digits),
            ["3.593", "374.0", "4105", "0.03000", "171918"]
        );
        assert_eq!(with_unit(IndexPart::ForkExec, 171_917.5), "171.9 µs");
        assert_eq!(with_unit(IndexPart::Clock, 3.592_64), "3.593 GHz");
        assert_eq!([0.0123, 0.5, 1.234].map(percent), ["0.012 %", "0.500 %", "1.23 %"]);
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_271_405, "2026-11-21 14:30:05"),
            (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}
