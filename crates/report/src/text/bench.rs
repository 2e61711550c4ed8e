//! `tauto bench` for people.

use super::layout::end_line;
use super::run::isolation;
use super::{Paint, Style, clip, count, harmless};
use crate::bench::{exact, ledger, parameters, words};
use model::{
    BenchComparison, BenchReport, BenchRun, BenchWarning, Benched, Charge, Clock, Figures, Nanos, Reading,
};

/// Columns of labels.
const LABEL: usize = 12;
/// Columns of a report where nothing bounds it.
const WIDTH: usize = 100;
/// More programs than these get one line each.
const IN_FULL: usize = 4;
/// Outliers that are told; the documents have all of them.
const OUTLIERS: usize = 10;
/// Heights of the strip plot.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The report of a bench.
pub fn bench_report(report: &BenchReport, style: Style) -> String {
    let mut text = String::new();
    let in_full = report.programs.len() <= IN_FULL;
    if in_full {
        text.extend(report.programs.iter().map(|program| block(program, report.clock, style) + "\n"));
    } else {
        text.push_str(&table(&report.programs, report.clock, style));
    }
    if in_full && report.programs.len() > 1 {
        text.push_str(&comparisons(&report.programs, report.clock, style));
    }
    for warning in &report.warnings {
        text.push_str(&warning_lines(warning, report.clock, "", style));
    }
    for program in report.programs.iter().filter(|_| !in_full) {
        let of = format!("{}: ", name(program));
        let lines = |warning| warning_lines(warning, report.clock, &of, style);
        text.extend(program.warnings.iter().map(lines));
    }
    text + &end_line(&report.end, style)
}

fn name(program: &Benched) -> String {
    match program.parameters.is_empty() {
        true => harmless(&program.command),
        false => harmless(&format!("{} ({})", program.command, parameters(&program.parameters))),
    }
}

fn block(program: &Benched, clock: Clock, style: Style) -> String {
    let mut text = format!("{}\n", style.rest(0, &name(program)));
    let mut line =
        |label: &str, what: &str| text.push_str(&format!("  {:<LABEL$}{what}\n", format!("{label} ")));
    let charged = clock.label().to_lowercase();
    for (label, clock, figures) in
        [(&*charged, clock, &program.charged), ("wall time", Clock::Cpu, &program.wall)]
    {
        match figures {
            Reading::Known(figures) if !clock.varies() && figures.spread == Nanos::ZERO => {
                line(label, &format!("{} in each run", exact(clock, figures.median)));
            }
            Reading::Known(figures) => {
                line(label, &centre(figures, clock));
                line("", &range(figures, clock));
            }
            Reading::Unknown(why) => line(label, &format!("unknown ({why})")),
        }
    }
    line("runs", &runs(program));
    for strip in strip(program, clock, style) {
        line("", &strip);
    }
    for outlier in program.outliers.iter().take(OUTLIERS) {
        let void = program.runs.get(outlier.run - 1).is_some_and(|run| run.void);
        let void = if void { ", discarded" } else { "" };
        line(&format!("run {}", outlier.run), &format!("{}{void}", ledger(outlier, clock)));
    }
    if program.outliers.len() > OUTLIERS {
        line("", &format!("and {} more outliers", program.outliers.len() - OUTLIERS));
    }
    let lines = |warning| warning_lines(warning, clock, "", style);
    text + &program.warnings.iter().map(lines).collect::<String>()
}

fn centre(figures: &Figures, clock: Clock) -> String {
    let interval = match &figures.median_ci95 {
        Reading::Known([low, high]) => {
            format!("95 % interval {} … {}", exact(clock, *low), exact(clock, *high))
        }
        Reading::Unknown(why) => format!("interval unknown ({why})"),
    };
    format!("{} median, {interval}", exact(clock, figures.median))
}

fn range(figures: &Figures, clock: Clock) -> String {
    // What counts varies by less than a hundredth of a percent.
    let digits = if clock.varies() { 2 } else { 4 };
    let [least, most, spread] = [figures.min, figures.max, figures.spread].map(|time| exact(clock, time));
    let [spread_pct, cv, mad] =
        [figures.spread_pct, figures.cv_pct, figures.mad_pct].map(|part| format!("{part:.digits$} %"));
    format!("{least} … {most}, spread {spread} = {spread_pct}, CV {cv}, MAD {mad}")
}

fn runs(program: &Benched) -> String {
    let void = match program.void_runs() {
        0 => String::new(),
        n => format!(", {n} discarded"),
    };
    let place = program
        .runs
        .first()
        .map_or(String::new(), |run| format!("; isolation {}", isolation(&run.observation.evidence)));
    format!("{}{void}{place}", program.counted())
}

/// How many runs took how long, from the least to the greatest of those that count, and below it the axis. Discarded runs
/// beyond it are the `»` at its end.
fn strip(program: &Benched, clock: Clock, style: Style) -> Vec<String> {
    let Some(figures) = program.charged.known().filter(|figures| figures.spread > Nanos::ZERO) else {
        return Vec::new();
    };
    let room = style.width.map_or(WIDTH, usize::from).min(WIDTH).saturating_sub(LABEL + 4).max(24);
    let column = |time: Nanos| {
        let part = (time - figures.min).0 as f64 / figures.spread.0 as f64;
        ((part * room as f64) as usize).min(room - 1)
    };
    let mut counts = vec![0usize; room];
    let time =
        |run: &BenchRun| Charge::measured(clock, &run.observation).known().map(|charge| charge.as_time());
    for time in program.runs.iter().filter(|run| !run.void).filter_map(time) {
        counts[column(time)] += 1;
    }
    // A single run is a low bar, also where no two runs are alike.
    let most = counts.iter().copied().max().unwrap_or(1).max(4);
    let bar = |n: &usize| if *n == 0 { ' ' } else { BARS[(8 * n).div_ceil(most) - 1] };
    let beyond = program.runs.iter().any(|run| run.void && time(run) > Some(figures.max));
    let bars: String = counts.iter().map(bar).chain(beyond.then_some('»')).collect();
    let (low, high) = (exact(clock, figures.min), exact(clock, figures.max));
    let mut axis: Vec<char> = vec![' '; room];
    for (at, label) in [(0, &low), (room - high.chars().count(), &high)] {
        label.chars().enumerate().for_each(|(n, c)| axis[at + n] = c);
    }
    // Where labels take its place, the line above has the median.
    let median = column(figures.median);
    if (low.chars().count()..room - high.chars().count()).contains(&median) {
        axis[median] = '▲';
    }
    vec![bars.trim_end().to_string(), axis.into_iter().collect()]
}

fn comparisons(programs: &[Benched], clock: Clock, style: Style) -> String {
    let Some((first, others)) = programs.split_first() else { return String::new() };
    let mut text = format!("compared with {}\n", style.rest(14, &name(first)));
    for other in others {
        text.push_str(&format!("  {}\n", style.rest(2, &name(other))));
        text.push_str(&format!("  {:<LABEL$}{}\n", "", compared(other.comparison.as_ref(), clock)));
    }
    text
}

fn compared(comparison: Option<&BenchComparison>, clock: Clock) -> String {
    let Some(c) = comparison else { return "too few runs to compare".into() };
    let [low, high] = c.ratio_ci95.map(|ratio| 100.0 * (ratio - 1.0));
    let p = if c.p < 0.001 { "p < 0.001".to_string() } else { format!("p = {:.3}", c.p) };
    let more = 100.0 * (c.ratio - 1.0);
    let word = if more < 0.0 { "less" } else { "more" };
    let change = format!(
        "{:.1} % {word} {}, 95 % interval {low:+.1} % … {high:+.1} %, {p}",
        more.abs(),
        clock.label()
    );
    match c.different {
        true => change,
        false => format!("no measurable difference: {change}"),
    }
}

/// One line for each program of many.
fn table(programs: &[Benched], clock: Clock, style: Style) -> String {
    let names: Vec<String> = programs.iter().map(|p| clip(&name(p), 40)).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(7);
    let mut text = format!(
        "{:<widest$}  {:>11}  {:>8}  {:>4}  {:>9}  {:>7}  against the first\n",
        "command", "median", "spread", "runs", "discarded", "ratio"
    );
    for (program, name) in programs.iter().zip(names) {
        let (median, spread) = match &program.charged {
            Reading::Known(f) => (exact(clock, f.median), format!("{:.2} %", f.spread_pct)),
            Reading::Unknown(_) => ("unknown".into(), String::new()),
        };
        let (ratio, verdict) = match program.comparison {
            None => (String::new(), ""),
            Some(c) => {
                (format!("{:.3}", c.ratio), if c.different { "differs" } else { "no measurable difference" })
            }
        };
        let row = format!(
            "{name:<widest$}  {median:>11}  {spread:>8}  {:>4}  {:>9}  {ratio:>7}  {verdict}",
            program.counted(),
            program.void_runs()
        );
        text.push_str(&format!("{}\n", row.trim_end()));
    }
    let void: usize = programs.iter().map(Benched::void_runs).sum();
    if void > 0 {
        text.push_str(&style.paint(Paint::Dim, &format!("{} not counted\n", count(void, "discarded run"))));
    }
    text
}

fn warning_lines(warning: &BenchWarning, clock: Clock, of: &str, style: Style) -> String {
    let loud = matches!(warning, BenchWarning::SaturatedCores { .. } | BenchWarning::Waiting { .. });
    let paint = if loud { Paint::Red } else { Paint::Yellow };
    let told = harmless(&words(warning, clock));
    let (fact, hints) = model::hint::split(&told);
    let hints: String = hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
    format!("{} {of}{fact}\n{hints}", style.paint(paint, "warning:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::bench;
    use model::BenchEnd;

    fn shown(report: &BenchReport) -> String {
        bench_report(report, Style::default())
    }

    #[test]
    fn one_program() {
        insta::assert_snapshot!("bench_one", shown(&bench::one_program()));
        let narrow = Style { colour: false, width: Some(60) };
        let text = bench_report(&bench::one_program(), narrow);
        let axis = |line: &&str| line.starts_with("              101.90 ms  ");
        let strip = text.lines().find(axis).expect("an axis");
        assert!(strip.chars().count() <= 60, "{text}");
    }

    #[test]
    fn several_programs() {
        insta::assert_snapshot!("bench_two", shown(&bench::two_programs()));
        insta::assert_snapshot!("bench_sweep", shown(&bench::sweep()));
    }

    #[test]
    fn odd_cases() {
        let mut report = bench::one_program();
        report.end = BenchEnd::Failed("run 57: exited with code 1".into());
        report.programs[0].command = "a\u{1b}[2J".into();
        report.programs[0].runs.clear();
        report.programs[0].charged = Reading::unknown("no run finished");
        let text = shown(&report);
        assert!(text.starts_with("a·[2J\n  cpu time    unknown (no run finished)\n"), "{text}");
        assert!(text.contains("stopped by a failed run (run 57: exited with code 1)"), "{text}");
        let mut equal = bench::one_program();
        if let Reading::Known(figures) = &mut equal.programs[0].charged {
            figures.spread = Nanos::ZERO;
        }
        assert!(!shown(&equal).contains('▲'));
        // Near an end the mark would stand in the label's blank.
        let mut near = bench::one_program();
        if let Reading::Known(figures) = &mut near.programs[0].charged {
            figures.median = figures.min + Nanos(figures.spread.0 / 16);
        }
        assert!(!shown(&near).contains('▲'), "{}", shown(&near));
    }
}
