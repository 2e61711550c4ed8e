//! `tauto run` for people.

use super::{Paint, Style, shown};
use model::{Evidence, Exit, Isolation, Limits, Observation, Reading, Status, grouped};

/// A few lines about one run; `disturbed` names what condemns its time.
pub fn run_summary(observation: &Observation, limits: &Limits, disturbed: &[String], style: Style) -> String {
    let time = &observation.time;
    let mut lines = vec![("status", status(observation, limits, style))];
    if let Reading::Known(count) = observation.instructions {
        lines.push(("counted", format!("{} instructions", grouped(count))));
    }
    if let Reading::Known(count) = observation.cycles {
        lines.push(("cycles", grouped(count)));
    }
    if let Reading::Known(time) = observation.reference {
        lines.push(("reference", format!("{time} on the reference machine")));
    }
    lines.extend([
        ("cpu time", format!("{} (user {}, system {})", time.cpu, time.user, time.system)),
        ("wall time", time.wall.to_string()),
        ("memory", shown(&observation.memory_peak)),
        ("output", shown(&observation.output)),
        ("isolation", isolation(&observation.evidence)),
        ("waited", shown(&observation.evidence.run_queue_wait)),
    ]);
    if !disturbed.is_empty() {
        lines.push(("disturbed", style.paint(Paint::Yellow, &disturbed.join(", "))));
    }
    let weaker = observation.evidence.weaker.iter();
    lines.extend(weaker.map(|what| ("weaker", style.paint(Paint::Yellow, what))));
    lines.iter().map(|(label, text)| format!("{label:<10} {text}\n")).collect()
}

fn status(observation: &Observation, limits: &Limits, style: Style) -> String {
    let status = observation.status(limits);
    let limit = |name: &str| format!("{name} limit exceeded");
    let text = match (status, observation.exit) {
        (Status::Ok, _) => "ok".to_string(),
        (Status::CpuTimeLimit, _) => limit(observation.over(limits).unwrap_or_default().label()),
        (Status::WallTimeLimit, _) => limit("wall time"),
        (Status::MemoryLimit, _) => limit("memory"),
        (Status::OutputLimit, _) => limit("output"),
        (Status::SystemError, _) => "could not be run".to_string(),
        (Status::NonzeroExit | Status::Signalled, Exit::Code(code)) => format!("exited with code {code}"),
        (Status::NonzeroExit | Status::Signalled, Exit::Signal(signal)) => {
            format!("ended by signal {signal}")
        }
    };
    style.paint(if status == Status::Ok { Paint::Green } else { Paint::Red }, &text)
}

pub(crate) fn isolation(evidence: &Evidence) -> String {
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    if let (Isolation::Vm, Some(machine)) = (evidence.isolation, &evidence.machine) {
        let place = match evidence.cpus.is_empty() {
            true => "bound to no CPU".to_string(),
            false => format!("CPU {}", list(&evidence.cpus)),
        };
        return format!("vm ({}), {place}", machine.accelerator);
    }
    let rung = match evidence.isolation {
        Isolation::None => return "none".into(),
        Isolation::Affinity => "affinity",
        Isolation::Cpuset => "cpuset",
        Isolation::Partition => "partition",
        Isolation::Vm => "vm",
    };
    format!("{rung}, CPU {}, memory node {}", list(&evidence.cpus), list(&evidence.mem_nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use model::Nanos;

    #[test]
    fn a_run() {
        let (limits, plain) = (Limits::default(), Style::default());
        insta::assert_snapshot!(
            "run_summary",
            run_summary(&samples::observation(Exit::Code(0)), &limits, &["steal".into()], plain)
        );
        let first = |exit, limits: &Limits| {
            run_summary(&samples::observation(exit), limits, &[], plain).lines().next().unwrap().to_string()
        };
        assert_eq!(first(Exit::Code(7), &limits), "status     exited with code 7");
        assert_eq!(first(Exit::Signal(9), &limits), "status     ended by signal 9");
        let tight = Limits { cpu: Some(Nanos::from_millis(1)), ..limits };
        assert_eq!(first(Exit::Signal(9), &tight), "status     CPU time limit exceeded");
    }
}
