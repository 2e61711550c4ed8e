//! What the renderings of an audit have in common: groups, order and words.

use model::{Audit, Finding, FindingState, MachineKind, Remedy, Scope, Severity};

/// Severities, the worst first, with what each means.
pub(crate) const SEVERITIES: [(Severity, &str, &str); 3] = [
    (Severity::High, "high", "several percent of a program's time"),
    (Severity::Medium, "medium", "tenths of a percent, or rare bursts"),
    (Severity::Low, "low", "microseconds, or only relevant when machines are compared"),
];

/// Findings of one state, in the audit's order.
pub(crate) fn with(audit: &Audit, state: FindingState) -> Vec<&Finding> {
    audit.findings.iter().filter(|finding| finding.state == state).collect()
}

/// Bad findings of one severity.
pub(crate) fn bad(audit: &Audit, severity: Severity) -> Vec<&Finding> {
    with(audit, FindingState::Bad).into_iter().filter(|finding| finding.severity == severity).collect()
}

/// `3 bad (1 high, 2 low), 4 unknown, 20 ok, 5 not applicable`: what there is none of is left out, save the bad.
pub(crate) fn summary(audit: &Audit) -> String {
    let counted = |(n, word): (usize, &str)| (n > 0).then(|| format!("{n} {word}"));
    let severities = SEVERITIES.map(|(severity, word, _)| (bad(audit, severity).len(), word));
    let severities: Vec<_> = severities.into_iter().filter_map(counted).collect();
    let bad = match &severities[..] {
        [] => "no source of noise found".into(),
        _ => format!("{} bad ({})", with(audit, FindingState::Bad).len(), severities.join(", ")),
    };
    let rest = [
        (with(audit, FindingState::Unknown).len(), "unknown"),
        (with(audit, FindingState::Ok).len(), "ok"),
        (with(audit, FindingState::NotApplicable).len(), "not applicable"),
    ];
    let parts: Vec<_> = std::iter::once(bad).chain(rest.into_iter().filter_map(counted)).collect();
    parts.join(", ")
}

/// The kind of machine in words.
pub(crate) fn kind(kind: MachineKind) -> &'static str {
    match kind {
        MachineKind::BareMetal => "bare metal",
        MachineKind::Vm => "virtual machine",
        MachineKind::Container => "container",
    }
}

/// What a remedy takes and how long it lasts, each in a few words.
pub(crate) fn badges(remedy: &Remedy) -> Vec<&'static str> {
    let scope = match remedy.scope {
        Scope::Process => "this process only",
        Scope::Runtime => "run time",
        Scope::Boot => "boot",
        Scope::Firmware => "firmware",
    };
    let undone = if remedy.reversible { "can be undone" } else { "cannot be undone" };
    let badges = [(true, scope), (remedy.root, "root"), (remedy.reboot, "reboot"), (true, undone)];
    badges.into_iter().filter_map(|(shown, badge)| shown.then_some(badge)).collect()
}

/// Text on one line: line ends and runs of white space become one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
