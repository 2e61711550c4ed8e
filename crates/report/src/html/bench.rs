//! `tauto bench --html`.

use super::chart::{Chart, Limit, Point, svg};
use super::tables::{end, ms, row, table};
use super::{escape, page};
use crate::bench::{disturbed, exact, ledger, parameters, words};
use crate::text::isolation;
use model::{BenchReport, BenchRun, BenchWarning, Benched, Charge, Clock, Figures, Nanos, Reading};

/// The page of a bench: a scatter of all runs of each program, its figures, and every run with its evidence.
pub fn bench_page(report: &BenchReport) -> String {
    let mut body = "<h1>Bench</h1>\n".to_string();
    body.extend(end(&report.end).map(|text| format!("<p class=\"warning\">{}</p>\n", escape(&text))));
    let clock = report.clock;
    body.push_str(&warnings(&report.warnings, clock));
    if let Some(by) = &report.counted_by {
        let note = format!("What counts is the {}, by {by}.", clock.label());
        body.push_str(&format!("<p>{}</p>\n", escape(&note)));
    }
    if report.programs.len() > 1 {
        body.push_str(&comparison(&report.programs, clock));
        body.extend(sweep(&report.programs, clock));
    }
    body.extend(report.programs.iter().map(|program| section(program, clock)));
    let first = report.programs.first().map_or("", |program| &program.command);
    page(&format!("Bench of {first}"), &body)
}

fn warnings(warnings: &[BenchWarning], clock: Clock) -> String {
    let line = |warning| {
        let told = words(warning, clock);
        let (fact, hints) = model::hint::split(&told);
        let hints: String = hints.iter().map(|hint| format!("<br>\nhint: {}", escape(hint))).collect();
        format!("<p class=\"warning\">{}{hints}</p>\n", escape(&fact))
    };
    warnings.iter().map(line).collect()
}

fn name(program: &Benched) -> String {
    match program.parameters.is_empty() {
        true => program.command.clone(),
        false => format!("{} ({})", program.command, parameters(&program.parameters)),
    }
}

fn section(program: &Benched, clock: Clock) -> String {
    let mut html = format!("<h2><code>{}</code></h2>\n", escape(&name(program)));
    html.push_str(&warnings(&program.warnings, clock));
    if let Reading::Known(figures) = &program.charged {
        html.push_str(&scatter(program, figures, clock));
    }
    html.push_str(&figures_table(program, clock));
    html.push_str(&outliers(program, clock));
    html + &runs_table(program, clock)
}

/// What the columns of tables are in: milliseconds, or as many of what is counted.
fn column_unit(clock: Clock) -> &'static str {
    clock.scale(1_000_000).0
}

fn scatter(program: &Benched, figures: &Figures, clock: Clock) -> String {
    let (unit, size) = clock.scale(figures.max.0);
    let y = |time: Nanos| time.0 as f64 / size;
    let point = |(n, run): (usize, &BenchRun)| {
        let charge = *Charge::measured(clock, &run.observation).known()?;
        let title = title(n + 1, run, charge);
        Some(Point { x: (n + 1) as f64, y: y(charge.as_time()), interval: None, void: run.void, title })
    };
    let limit =
        |name: &str, time: Nanos| Limit { y: y(time), label: format!("{name} {}", exact(clock, time)) };
    let chart = Chart {
        title: &format!("{} of each run of {}", clock.label(), program.command),
        x_label: "run",
        y_label: &format!("{} ({unit})", clock.label()),
        whole: true,
        points: program.runs.iter().enumerate().filter_map(point).collect(),
        limits: vec![limit("median", figures.median), limit("max", figures.max), limit("min", figures.min)],
    };
    let void = match program.void_runs() {
        0 => "",
        _ => " Crosses are discarded runs, which do not count.",
    };
    format!(
        "<div class=\"wide\">{}</div>\n<p class=\"dim\">Each dot is a run.{void} The lines are the minimum, the median and the maximum of the runs that count; the spread is maximum minus minimum. The axis does not start at 0.</p>\n",
        svg(&chart)
    )
}

fn title(number: usize, run: &BenchRun, charge: Charge) -> String {
    let void = if run.void { ", discarded" } else { "" };
    let causes = match run.disturbed.is_empty() {
        true => String::new(),
        false => format!(", disturbed: {}", disturbed(&run.disturbed)),
    };
    format!("run {number}: {charge:#}{void}{causes}")
}

fn figures_table(program: &Benched, clock: Clock) -> String {
    let of = |what: String, figures: &Reading<Figures>| match figures {
        Reading::Unknown(why) => row("", &[what, format!("unknown ({why})")]),
        Reading::Known(f) => {
            let interval = match &f.median_ci95 {
                Reading::Known([low, high]) => format!("{} … {}", ms(*low), ms(*high)),
                Reading::Unknown(why) => format!("unknown ({why})"),
            };
            let percent = [f.spread_pct, f.cv_pct, f.mad_pct].map(|part| format!("{part:.2}"));
            let times = [f.min, f.median, f.max, f.spread].map(ms);
            row("", &[&[what][..], &times, &percent, &[interval]].concat())
        }
    };
    let head = [
        "clock",
        "min",
        "median",
        "max",
        "spread",
        "spread (%)",
        "CV (%)",
        "MAD (%)",
        "95 % interval of the median",
    ];
    let place = program.runs.first().map(|run| isolation(&run.observation.evidence)).unwrap_or_default();
    let counts = format!(
        "<p>{} runs count, {} are discarded. Isolation: {}.</p>\n",
        program.counted(),
        program.void_runs(),
        escape(&place)
    );
    let charged = format!("{} ({})", clock.label(), column_unit(clock));
    let rows = [(charged, &program.charged), ("wall time (ms)".into(), &program.wall)];
    counts + &table(&head, rows.into_iter().map(|(what, figures)| of(what, figures)))
}

fn outliers(program: &Benched, clock: Clock) -> String {
    if program.outliers.is_empty() {
        return String::new();
    }
    let item = |o: &model::BenchOutlier| format!("<li>run {}: {}</li>\n", o.run, escape(&ledger(o, clock)));
    let items: String = program.outliers.iter().map(item).collect();
    format!(
        "<p>Runs far from the median, and how much of the difference their evidence explains:</p>\n<ul>\n{items}</ul>\n"
    )
}

fn runs_table(program: &Benched, clock: Clock) -> String {
    // Under the clock cpu it stands in the next column.
    let counted = (!clock.varies()).then(|| format!("{} ({})", clock.label(), column_unit(clock)));
    let own = ["run"].into_iter().chain(counted.as_deref());
    let head = [
        "CPU (ms)",
        "user (ms)",
        "system (ms)",
        "wall (ms)",
        "waited (ms)",
        "steal (ms)",
        "irq (ms)",
        "other processes (ms)",
        "throttled (ms)",
        "migrations",
        "switches",
        "minor faults",
        "major faults",
        "frequency ratio",
        "memory peak (bytes)",
        "discarded",
        "disturbed",
    ];
    let head: Vec<&str> = own.chain(head).collect();
    fn known<T: ToString>(reading: &Reading<T>) -> String {
        reading.known().map_or("unknown".into(), T::to_string)
    }
    let line = |(n, run): (usize, &BenchRun)| {
        let (time, e) = (&run.observation.time, &run.observation.evidence);
        let charge = Charge::measured(clock, &run.observation).map(|charge| ms(charge.as_time()));
        let own: Vec<String> =
            [(n + 1).to_string()].into_iter().chain(counted.as_ref().map(|_| known(&charge))).collect();
        let times = [time.cpu, time.user, time.system, time.wall].map(ms);
        let readings = [&e.run_queue_wait, &e.steal, &e.irq, &e.foreign, &e.throttled]
            .map(|reading| known(&reading.clone().map(ms)));
        let counts = [&e.migrations, &e.involuntary_switches, &e.minor_faults, &e.major_faults].map(known);
        let peak = known(&run.observation.memory_peak.clone().map(|bytes| bytes.0));
        let void = if run.void { "yes" } else { "" }.to_string();
        let rest = [known(&e.frequency_ratio), peak, void, disturbed(&run.disturbed)];
        let cells = [&own[..], &times, &readings, &counts, &rest].concat();
        row(if run.void { "void" } else { "" }, &cells)
    };
    let rows = table(&head, program.runs.iter().enumerate().map(line));
    format!(
        "<details><summary>All {} runs with their evidence</summary>\n{rows}</details>\n",
        program.runs.len()
    )
}

fn comparison(programs: &[Benched], clock: Clock) -> String {
    let median = format!("median {} ({})", clock.label(), column_unit(clock));
    let line = |program: &Benched| {
        let (median, spread) = match &program.charged {
            Reading::Known(f) => (ms(f.median), format!("{:.2}", f.spread_pct)),
            Reading::Unknown(why) => (format!("unknown ({why})"), String::new()),
        };
        let against = match program.comparison {
            None => [String::new(), String::new(), String::new(), String::new()],
            Some(c) => {
                let verdict = if c.different { "differs" } else { "no measurable difference" };
                let [low, high] = c.ratio_ci95;
                [
                    format!("{:.4}", c.ratio),
                    format!("{low:.4} … {high:.4}"),
                    format!("{:.4}", c.p),
                    verdict.into(),
                ]
            }
        };
        let counts = [program.counted().to_string(), program.void_runs().to_string()];
        row("", &[&[name(program), median, spread][..], &counts, &against].concat())
    };
    let head = [
        "command",
        &median,
        "spread (%)",
        "runs",
        "discarded",
        "ratio to the first",
        "95 % interval of the ratio",
        "p",
        "verdict",
    ];
    table(&head, programs.iter().map(line))
}

/// The medians over the parameter, where there is one and its values are numbers.
fn sweep(programs: &[Benched], clock: Clock) -> Option<String> {
    let own = |program: &Benched| match &program.parameters[..] {
        [(_, value)] => value.parse::<f64>().ok().filter(|value| value.is_finite()),
        _ => None,
    };
    let xs: Vec<f64> = programs.iter().map(own).collect::<Option<_>>()?;
    let parameter = &programs.first()?.parameters.first()?.0;
    let most = programs.iter().filter_map(|p| Some(p.charged.known()?.max)).max()?;
    let ((unit, size), label) = (clock.scale(most.0), clock.label());
    let point = |(program, x): (&Benched, f64)| {
        let figures = program.charged.known()?;
        let interval = figures.median_ci95.known().map(|ends| ends.map(|end| end.0 as f64 / size));
        let title = format!("{parameter} = {}: {}", program.parameters[0].1, exact(clock, figures.median));
        Some(Point { x, y: figures.median.0 as f64 / size, interval, void: false, title })
    };
    let chart = Chart {
        title: &format!("median {label} over {parameter}"),
        x_label: parameter,
        y_label: &format!("median {label} ({unit})"),
        whole: xs.iter().all(|x| x.fract() == 0.0),
        points: programs.iter().zip(xs).filter_map(point).collect(),
        limits: vec![],
    };
    Some(format!(
        "<div class=\"wide\">{}</div>\n<p class=\"dim\">Medians with their 95 % intervals.</p>\n",
        svg(&chart)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::bench;
    use model::BenchEnd;

    #[test]
    fn a_page() {
        insta::assert_snapshot!("bench_page", bench_page(&bench::one_program()));
    }

    #[test]
    fn several_programs() {
        let page = bench_page(&bench::sweep());
        assert_eq!(page.matches("<svg ").count(), 6);
        assert!(page.contains("no measurable difference") && page.contains("median CPU time over n"));
        let mut words = bench::sweep();
        words.programs[1].parameters[0].1 = "two".into();
        assert_eq!(bench_page(&words).matches("<svg ").count(), 5);
    }

    #[test]
    fn numbers_are_those_of_the_document() {
        let report = bench::one_program();
        let page = bench_page(&report);
        let figures = report.programs[0].charged.known().unwrap();
        for time in [figures.min, figures.median, figures.max, figures.spread] {
            let shown = ms(time);
            assert!(page.contains(&format!("<td>{shown}</td>")), "{shown}");
            assert_eq!(
                shown.replace('.', "").parse::<u64>().unwrap(),
                (time.0 + 500) / 1000,
                "in microseconds"
            );
        }
        let dots = page.matches("<circle class=\"dot\"").count();
        assert_eq!((dots, page.matches("class=\"cross\"").count()), (11, 1));
    }

    #[test]
    fn nothing_is_loaded_and_everything_is_escaped() {
        let mut report = bench::two_programs();
        let nasty = "<script>alert(1)</script>\"'&";
        report.end = BenchEnd::Failed(nasty.into());
        for program in &mut report.programs {
            program.command = nasty.into();
            program.parameters = vec![("n".into(), nasty.into())];
            program.runs[0].disturbed = vec![nasty.into()];
            program.outliers[0].explained_by[0].0 = nasty.into();
            program.warnings = vec![BenchWarning::UnknownLoad { why: nasty.into() }];
        }
        let page = bench_page(&report);
        assert!(!page.contains("<script") && !page.contains("\"'&"));
        for loads in ["http:", "https:", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(page.contains("prefers-color-scheme") && page.contains("name=\"viewport\""));
    }
}
