//! What the forms of a bench's report have in common: words and numbers for people.

use model::{BenchOutlier, BenchWarning, Charge, Clock, CpuLoad, Disturbance, Nanos, Reading};

/// A warning in words, of runs that were charged by this clock. What mends it is on a last line `hint: …`.
pub fn words(warning: &BenchWarning, clock: Clock) -> String {
    match warning {
        BenchWarning::SaturatedCores { busy, of, ours, load_average } => {
            saturated(busy, *of, *ours, load_average)
        }
        BenchWarning::Waiting { percent } => format!(
            "the runs spent {percent:.0} % of their time waiting for a CPU that other processes used, so wall times are not meaningful\nhint: end the other processes, or choose another slot with --slot"
        ),
        BenchWarning::UnknownLoad { why } => {
            format!("it is unknown whether other work kept CPUs busy meanwhile: {why}")
        }
        BenchWarning::SlowStart { ratio } => format!(
            "the first run took {ratio:.2} times as long as the others: caches or files were cold\nhint: add --warmup 1, which excludes it"
        ),
        BenchWarning::Trend { percent } => {
            let way = if *percent >= 0.0 { "rose" } else { "fell" };
            format!(
                "times {way} by {:.1} % during the benchmark, because of temperature, frequency or other work\nhint: measure again when times are stable",
                percent.abs()
            )
        }
        BenchWarning::TwoModes { low, high } => format!(
            "times fall into two groups, around {} and around {}: the median describes neither\nhint: compare the runs of both groups, which --html lists with their evidence",
            exact(clock, *low),
            exact(clock, *high)
        ),
        BenchWarning::Shift { run, ratio } => format!(
            "from run {run} on, times are {:.1} % {}: something changed during the benchmark",
            100.0 * (ratio - 1.0).abs(),
            if *ratio >= 1.0 { "higher" } else { "lower" }
        ),
        BenchWarning::Correlated { correlation } => format!(
            "the times of successive runs are correlated ({correlation:.2}): something varies slowly, and the true median may be outside its interval\nhint: measure longer, with a larger -n"
        ),
        BenchWarning::TooManyVoid { void, counted } => format!(
            "{void} runs were discarded and could not all be repeated: only {counted} count\nhint: `tauto audit` shows what disturbs this machine"
        ),
        BenchWarning::IntervalTooWide { asked_pct, reached_pct } => {
            let reached = match reached_pct {
                Reading::Known(percent) => format!("it reaches ± {percent:.2} %"),
                Reading::Unknown(why) => format!("it is not known: {why}"),
            };
            format!(
                "the median's interval is wider than the ± {asked_pct} % asked for: {reached}\nhint: raise --max-runs"
            )
        }
        BenchWarning::Short { median } => {
            let (little, label) = (exact(clock, *median), clock.label());
            format!("{little} of {label} is short: starting the program is a large part of it")
        }
        BenchWarning::Failing { runs, how } => {
            let which =
                if *runs == 1 { "1 run that counts".into() } else { format!("{runs} runs that count") };
            format!("{which} failed: {how}")
        }
    }
}

fn saturated(busy: &[CpuLoad], of: usize, ours: bool, load_average: &Reading<f64>) -> String {
    let shares: Vec<String> =
        busy.iter().map(|cpu| format!("CPU {} {:.0} %", cpu.cpu, cpu.busy_pct)).collect();
    let (shown, more) = shares.split_at(shares.len().min(8));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let who = match (busy.len() == of, of) {
        (true, 1) => "the only core was".into(),
        (true, _) => format!("all {of} cores were"),
        (false, _) if busy.len() == 1 => format!("1 of {of} cores was"),
        (false, _) => format!("{} of {of} cores were", busy.len()),
    };
    let meaning = if ours {
        "the runs had to share theirs, so wall times are not meaningful and CPU times may be too high"
    } else {
        "the runs had theirs to themselves, but share caches, memory and frequency with them"
    };
    let load = load_average.known().map_or(String::new(), |load| format!("; load average {load:.2}"));
    format!(
        "{who} busy with other work during the benchmark ({}{more}{load}): {meaning}\nhint: end that work, then measure again",
        shown.join(", ")
    )
}

/// An outlier by this clock and its ledger in words, such as `+3.1 ms: 3.0 ms steal, 0.1 ms unexplained`.
pub(crate) fn ledger(outlier: &BenchOutlier, clock: Clock) -> String {
    let signed = |ns: i64, plus: bool| {
        let sign = if ns < 0 { "−" } else { ["", "+"][usize::from(plus)] };
        format!("{sign}{}", exact(clock, Nanos(ns.unsigned_abs())))
    };
    let mut parts: Vec<String> = outlier
        .explained_by
        .iter()
        .map(|(name, time)| format!("up to {} {}", precise(*time), disturbance(name)))
        .collect();
    if outlier.unexplained_ns != 0 || parts.is_empty() {
        parts.push(format!("{} unexplained", signed(outlier.unexplained_ns, false)));
    }
    format!("{}: {}", signed(outlier.excess_ns, true), parts.join(", "))
}

/// What disturbed a run, by its name in documents, as words that follow a time.
fn disturbance(name: &str) -> String {
    match name {
        "foreign" => "of other processes".into(),
        "irq" => "of interrupts".into(),
        name => name.replace('_', " "),
    }
}

/// What disturbed a run, as sentences.
pub(crate) fn disturbed(names: &[String]) -> String {
    fn words(name: &str) -> &str {
        let known = Disturbance::ALL.into_iter().find(|cause| cause.name() == name);
        known.map_or(name, |cause| cause.words())
    }
    names.iter().map(|name| words(name)).collect::<Vec<_>>().join("; ")
}

/// A time with digits enough to tell runs apart.
pub(crate) fn precise(time: Nanos) -> String {
    format!("{time:#}")
}

/// What a time stands for under a clock, likewise.
pub(crate) fn exact(clock: Clock, time: Nanos) -> String {
    format!("{:#}", Charge::for_time(clock, time))
}

/// Names of parameters and their values, such as `n=2, m=3`.
pub(crate) fn parameters(of: &[(String, String)]) -> String {
    of.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_in_words() {
        let busy = |n: u32| (0..n).map(|cpu| CpuLoad { cpu, busy_pct: 97.3 }).collect::<Vec<_>>();
        let saturated = |n, of, ours| BenchWarning::SaturatedCores {
            busy: busy(n),
            of,
            ours,
            load_average: if n > 9 { Reading::unknown("no file") } else { Reading::Known(2.5) },
        };
        let ms = Nanos::from_millis;
        let all = [
            saturated(2, 2, true),
            saturated(1, 1, true),
            saturated(1, 8, false),
            saturated(10, 12, true),
            BenchWarning::Waiting { percent: 48.7 },
            BenchWarning::UnknownLoad { why: "/proc/stat: no such file".into() },
            BenchWarning::SlowStart { ratio: 1.5 },
            BenchWarning::Trend { percent: -3.25 },
            BenchWarning::TwoModes { low: ms(10), high: ms(12) },
            BenchWarning::Shift { run: 13, ratio: 1.08 },
            BenchWarning::Correlated { correlation: 0.463 },
            BenchWarning::TooManyVoid { void: 20, counted: 3 },
            BenchWarning::IntervalTooWide { asked_pct: 0.5, reached_pct: Reading::Known(0.731) },
            BenchWarning::IntervalTooWide { asked_pct: 0.5, reached_pct: Reading::unknown("too few") },
            BenchWarning::Short { median: Nanos(150_000) },
            BenchWarning::Failing { runs: 3, how: "exited with code 1".into() },
        ];
        let text: Vec<String> = all.iter().map(|warning| words(warning, Clock::Cpu)).collect();
        insta::assert_snapshot!("bench_warnings", text.join("\n"));
    }

    #[test]
    fn ledgers() {
        let outlier = |excess_ns, explained: &[(&str, u64)], unexplained_ns| BenchOutlier {
            run: 1,
            excess_ns,
            explained_by: explained.iter().map(|(name, ns)| (name.to_string(), Nanos(*ns))).collect(),
            unexplained_ns,
        };
        assert_eq!(
            ledger(&outlier(3_100_000, &[("run_queue_wait", 3_000_000)], 100_000), Clock::Cpu),
            "+3.10 ms: up to 3.00 ms run queue wait, 100.0 µs unexplained"
        );
        assert_eq!(ledger(&outlier(-5_000, &[], -5_000), Clock::Cpu), "−5.0 µs: −5.0 µs unexplained");
        assert_eq!(ledger(&outlier(500, &[("steal", 500)], 0), Clock::Cpu), "+500 ns: up to 500 ns steal");
        let foreign = ledger(&outlier(500, &[("foreign", 500)], 0), Clock::Cpu);
        assert_eq!(foreign, "+500 ns: up to 500 ns of other processes");
        assert_eq!(disturbed(&["foreign".into(), "new".into()]), "other processes ran on these CPUs; new");
        let counted = ledger(&outlier(1500, &[], 1500), Clock::Instructions);
        assert_eq!(counted, "+1\u{202f}500 instr.: 1\u{202f}500 instr. unexplained");
    }
}
