//! `tauto limits --html`.

use super::chart::put;
use super::tables::{machine, ms, row, table, warning};
use super::{escape, list, page};
use crate::calibration::{findings, rule_words, timed, times};
use model::{Calibration, Inference, LimitSide, MeasuredProgram, MeasuredTest, Nanos};

const WIDTH: f64 = 860.0;
/// Room for names on the left, and for figures on the right.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 110.0;
const ROW: f64 = 24.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 46.0;
/// A time that is drawn where there is none to speak of.
const LEAST: f64 = 1e5;

/// The page of measured packages: for each the limit, the picture by which a jury can decide, and every test. `facts`: the machine.
pub fn limits_page(calibrations: &[(String, Calibration)], facts: &[(String, String)]) -> String {
    let mut body = String::from("<h1>Time limits</h1>\n");
    for (path, calibration) in calibrations {
        body.push_str(&package(path, calibration));
    }
    body.push_str(&machine(facts));
    let title = match calibrations {
        [(path, _)] => format!("Time limit of {path}"),
        _ => "Time limits".to_string(),
    };
    page(&title, &body)
}

fn package(path: &str, calibration: &Calibration) -> String {
    let limit = calibration.suggestion.limit;
    let margin =
        |margin: Option<f64>| margin.map_or("–".to_string(), |margin| format!("{} ×", times(margin)));
    let mut html = format!(
        "<h2><code>{}</code>: {}</h2>\n<p>{} the slowest that must pass; the fastest that must be too slow is {} the limit.</p>\n",
        escape(path),
        escape(&timed(calibration.clock, limit)),
        margin(calibration.margin_accepted(limit)),
        margin(calibration.margin_too_slow(limit)),
    );
    let found = findings(calibration);
    let (warned, told): (Vec<&String>, Vec<&String>) =
        found.iter().partition(|text| text.starts_with("Warning: "));
    html.extend(warned.into_iter().map(|text| warning(text)));
    let mut told: Vec<String> = told.into_iter().cloned().collect();
    told.insert(0, format!("The rule is {}.", rule_words(calibration.rule)));
    told.extend(calibration.warnings.iter().cloned());
    html.push_str(&list(&told));
    html.push_str(&format!("<div class=\"wide\">{}</div>\n", picture(path, calibration)));
    html.push_str(
        "<p class=\"dim\">Each row is a program of the jury at its slowest test; dots are settled times with the interval in which repeated measurements lie; rings are the same with all CPUs busy; an arrow marks a program that was stopped there and takes longer. What must pass belongs in the left field, what must be too slow in the right one: the fields show what the rule requires around the limit. The axis is logarithmic.</p>\n",
    );
    html + &tests(calibration)
}

/// From times to places on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = Nanos>) -> Axis {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), time| {
            let value = (time.0 as f64).max(LEAST).log10();
            (low.min(value), high.max(value))
        });
        Axis { low: low - 0.15, high: high + 0.15 }
    }

    fn at(&self, time: Nanos) -> f64 {
        let value = (time.0 as f64).max(LEAST).log10().clamp(self.low, self.high);
        LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)
    }

    /// Round times: 1, 2 and 5 of each power of ten; of many powers the first alone.
    fn ticks(&self) -> Vec<Nanos> {
        let parts: &[f64] = if self.high - self.low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = powers.flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        all.filter(|value| (self.low..=self.high).contains(&value.log10())).map(|v| Nanos(v as u64)).collect()
    }
}

fn picture(path: &str, calibration: &Calibration) -> String {
    let limit = calibration.suggestion.limit;
    let mut programs: Vec<(&MeasuredProgram, &MeasuredTest)> =
        calibration.programs.iter().filter_map(|program| Some((program, program.slowest()?))).collect();
    programs.sort_by_key(|(program, test)| {
        (&program.language, program.side == LimitSide::TooSlow, test.idle.time)
    });
    let (pass_until, slow_from) = match calibration.rule {
        Inference::Legacy { multiplier, safety_margin } => {
            (limit.scale(1.0 / multiplier), limit.scale(safety_margin))
        }
        Inference::V2025_09 { ac_to_time_limit, time_limit_to_tle, .. } => {
            (limit.scale(1.0 / ac_to_time_limit), limit.scale(time_limit_to_tle))
        }
    };
    let times = programs.iter().flat_map(|(program, test)| {
        test.idle.interval.into_iter().chain([test.idle.time]).chain(program.loaded())
    });
    let axis = Axis::of(times.chain([limit, pass_until, slow_from]).chain(calibration.stated));
    let bottom = TOP + ROW * programs.len().max(1) as f64;
    let (height, right) = (bottom + BOTTOM, WIDTH - RIGHT);
    let title = escape(&format!("Times of the jury's programs around the limit of {path}"));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
    );
    let down = bottom - TOP;
    for (class, from, to) in [("c2", LEFT, axis.at(pass_until)), ("c1", axis.at(slow_from), right)] {
        let wide = to - from;
        put(
            &mut svg,
            format_args!(
                "<rect class=\"box {class}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{wide:.1}\" height=\"{down}\"/>\n"
            ),
        );
    }
    for time in axis.ticks() {
        let (x, label) = (axis.at(time), bottom + 18.0);
        put(
            &mut svg,
            format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{label}\" text-anchor=\"middle\">{}</text>\n",
                escape(&short(time))
            ),
        );
    }
    let stated = calibration.stated.filter(|stated| *stated != limit).map(|stated| (stated, "stated", 16.0));
    for (time, name, y) in [(limit, "limit", 34.0)].into_iter().chain(stated) {
        let x = axis.at(time);
        put(
            &mut svg,
            format_args!(
                "<path class=\"limit\" d=\"M{x:.1} {}V{bottom}\"/><text class=\"limit-text\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name} {}</text>\n",
                y + 6.0,
                escape(&short(time))
            ),
        );
    }
    for (n, (program, test)) in programs.iter().enumerate() {
        subject(&mut svg, &axis, calibration, program, test, TOP + ROW * (n as f64 + 0.5));
    }
    let (middle, low) = ((LEFT + right) / 2.0, height - 6.0);
    put(
        &mut svg,
        format_args!(
            "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/><text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">time of the slowest test</text>\n"
        ),
    );
    svg + "</svg>\n"
}

/// One program: its name, its interval, its time, its time under load, and how far it is from the limit.
fn subject(
    svg: &mut String,
    axis: &Axis,
    calibration: &Calibration,
    program: &MeasuredProgram,
    test: &MeasuredTest,
    y: f64,
) {
    let limit = calibration.suggestion.limit.0 as f64;
    let own = test.idle.time.0.max(1) as f64;
    let (colour, away) = match program.side {
        LimitSide::Passes => ("c2", format!("limit {:.2} ×", limit / own)),
        LimitSide::TooSlow => {
            ("c1", format!("{}{} × limit", if test.ended { "> " } else { "" }, times(own / limit)))
        }
    };
    let x = axis.at(test.idle.time);
    let [low, high] = test.idle.interval.map(|time| axis.at(time));
    let short_path = program.path.rsplit('/').next().unwrap_or(&program.path);
    let shown: String = short_path.chars().take(24).collect();
    let name = escape(&format!("{} · {shown}", program.language));
    let title = escape(&format!("{} on {}: {}", program.path, test.name, test.idle.time));
    let (before, text, after) = (LEFT - 8.0, y + 5.0, WIDTH - RIGHT + 8.0);
    put(svg, format_args!("<text x=\"{before}\" y=\"{text}\" text-anchor=\"end\">{name}</text>"));
    if test.ended {
        put(
            svg,
            format_args!(
                "<path class=\"beyond {colour}\" d=\"M{x:.1} {:.1}v12l10 -6z\"><title>{title}</title></path>",
                y - 6.0
            ),
        );
    } else {
        put(
            svg,
            format_args!(
                "<path class=\"whisker\" d=\"M{low:.1} {y:.1}H{high:.1}\"/><circle class=\"{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{title}</title></circle>"
            ),
        );
    }
    if let Some(loaded) = program.loaded() {
        let (x, title) = (axis.at(loaded), escape(&format!("{} under load: {loaded}", program.path)));
        let class = colour.trim_start_matches('c');
        put(
            svg,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"none\" stroke=\"var(--c{class})\" stroke-width=\"1.6\"><title>{title}</title></circle>"
            ),
        );
    }
    put(svg, format_args!("<text class=\"tick\" x=\"{after}\" y=\"{text}\">{}</text>\n", escape(&away)));
}

/// As short as an axis needs it.
fn short(time: Nanos) -> String {
    match time.0 {
        ns if ns >= 1_000_000_000 => format!("{} s", ns as f64 / 1e9),
        ns if ns >= 1_000_000 => format!("{} ms", ns as f64 / 1e6),
        ns => format!("{} µs", ns as f64 / 1e3),
    }
}

/// Every test of every program.
fn tests(calibration: &Calibration) -> String {
    let head = ["program", "test", "time (ms)", "interval (ms)", "spread", "runs", "under load (ms)", "load"];
    let line = |program: &MeasuredProgram, test: &MeasuredTest| {
        let [low, high] = test.idle.interval.map(ms);
        let loaded = test.loaded.as_ref();
        let more = loaded.map(|l| (l.time.0 as f64 / test.idle.time.0.max(1) as f64 - 1.0) * 100.0);
        let cells = [
            program.path.clone(),
            test.name.clone(),
            format!("{}{}", if test.ended { "> " } else { "" }, ms(test.idle.time)),
            format!("{low} … {high}"),
            format!("{:.1} %", test.idle.spread_pct()),
            test.idle.runs.len().to_string(),
            loaded.map_or(String::new(), |loaded| ms(loaded.time)),
            more.map_or(String::new(), |more| format!("{more:+.1} %")),
        ];
        row("", &cells)
    };
    let rows = calibration.programs.iter().flat_map(|p| p.tests.iter().map(move |test| line(p, test)));
    format!("<details><summary>Every test</summary>\n{}</details>\n", table(&head, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_page_shows_every_program_and_no_text_becomes_markup() {
        let page = limits_page(&samples::limits::calibrations(), &[("CPUs".into(), "2".into())]);
        for part in ["limit 2 s", "stated 5 s", "&lt;b&gt;.py", "2.50 ×", "secret/3"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<b>.py"));
        insta::assert_snapshot!(page);
    }

    #[test]
    fn ticks_are_round_and_on_the_axis() {
        let axis = Axis::of([Nanos(0), Nanos::from_secs(4)].into_iter());
        let ticks: Vec<String> = axis.ticks().into_iter().map(short).collect();
        assert_eq!(ticks, ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
        let axis = Axis::of([Nanos::from_millis(300), Nanos::from_secs(2)].into_iter());
        let ticks: Vec<String> = axis.ticks().into_iter().map(short).collect();
        assert_eq!(ticks, ["500 ms", "1 s", "2 s"]);
        assert!((LEFT..WIDTH - RIGHT).contains(&axis.at(Nanos(0))), "{}", axis.at(Nanos(0)));
    }
}
