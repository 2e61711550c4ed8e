//! `tauto run --explain` for people.

use super::{Paint, Style};
use model::{Cause, Ledger, Nanos, Reading};

/// Where the elapsed time of a run went, part by part, and what can have cost it CPU time.
pub fn ledger_lines(ledger: &Ledger, causes: &[Cause], style: Style) -> String {
    let threads = ledger.has_others();
    let known = |time: Nanos| Reading::Known(time);
    let parts = [
        ("cpu", known(ledger.cpu), if threads { "the main thread ran" } else { "it ran" }),
        ("waited", ledger.run_queue_wait.clone(), "it waited for a CPU (run queue)"),
        (
            "blocked",
            ledger.blocked.clone(),
            "it waited for input, a disk, a lock, a timer or another process",
        ),
        ("stolen", ledger.steal.clone(), "steal time: the hypervisor ran something else"),
        (
            "unexplained",
            known(ledger.unexplained),
            "the remainder: noticing its exit, and time that no clock shows",
        ),
    ];
    let mut lines =
        vec![format!("where the {} went{}", ledger.wall, if threads { ", of the main thread" } else { "" })];
    lines.extend(parts.iter().map(|(name, time, words)| part(ledger.wall, name, time, words, style)));
    if threads && let Some(others) = ledger.others_cpu.known() {
        lines.push(format!("other threads and processes ran for {others}; their waits are not included"));
    }
    if let Reading::Unknown(why) = &ledger.others_cpu {
        lines.push(format!(
            "the CPU time may include several threads: that of the main thread is unknown ({why})"
        ));
    }
    lines.push(if causes.is_empty() {
        "no known disturbance".into()
    } else {
        "what disturbed it".to_string()
    });
    lines.extend(causes.iter().map(|cause| {
        let name = style.paint(Paint::Yellow, &format!("{:<21}", cause.name));
        format!("  {name} {}; {}", cause.name.words(), bound(cause.bound))
    }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn part(wall: Nanos, name: &str, time: &Reading<Nanos>, words: &str, style: Style) -> String {
    match time {
        Reading::Known(time) => {
            let share = 100.0 * time.0 as f64 / wall.0.max(1) as f64;
            let words = style.paint(Paint::Dim, words);
            format!("  {name:<11} {:>10} {share:>5.1} %  {words}", time.to_string())
        }
        Reading::Unknown(why) => format!("  {name:<11} {:>10}          {why}", "unknown"),
    }
}

fn bound(bound: Nanos) -> String {
    match bound {
        Nanos::ZERO => "it added elapsed time, but no CPU time".into(),
        most => format!("it added at most {most} of CPU time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use model::Exit;

    #[test]
    fn one_thread() {
        let ledger = Ledger::for_run(&samples::observation(Exit::Code(0)));
        insta::assert_snapshot!("ledger", ledger_lines(&ledger, &samples::causes(), Style::default()));
        let quiet = ledger_lines(&ledger, &[], Style::default());
        assert_eq!(quiet.lines().last(), Some("no known disturbance"));
    }

    #[test]
    fn several_threads_are_told_from_the_main_one() {
        let mut run = samples::observation(Exit::Code(0));
        run.evidence.main_cpu = Reading::Known(Nanos::from_millis(50));
        insta::assert_snapshot!(
            "ledger_of_threads",
            ledger_lines(&Ledger::for_run(&run), &[], Style::default())
        );
    }

    #[test]
    fn without_schedstat_little_is_known() {
        let mut run = samples::observation(Exit::Code(0));
        run.evidence.main_cpu = Reading::unknown("no schedstat");
        run.evidence.run_queue_wait = Reading::unknown("no schedstat");
        insta::assert_snapshot!(
            "ledger_unknown",
            ledger_lines(&Ledger::for_run(&run), &[], Style::default())
        );
    }
}
