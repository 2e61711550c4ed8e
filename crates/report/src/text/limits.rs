//! `tauto limits` for people.

use super::table::plain_table;
use super::{Paint, Style, harmless};
use crate::calibration::{findings, more_under_load, rule_words, timed, times};
use model::{Calibration, LimitSide, MeasuredProgram, MeasuredTest};

/// Each package with its limit, the programs nearest to it in each language, and every test that matters. Ends with a line end.
pub fn limits_report(calibrations: &[(String, Calibration)], style: Style) -> String {
    let parts: Vec<String> = calibrations.iter().map(|(path, c)| package(path, c, style)).collect();
    parts.join("\n")
}

fn package(path: &str, calibration: &Calibration, style: Style) -> String {
    let limit = calibration.suggestion.limit;
    let word = match calibration.suggestion.clash {
        Some(_) => style.paint(Paint::Red, "no room "),
        None => style.paint(Paint::Green, "limit   "),
    };
    let margin =
        |margin: Option<f64>| margin.map_or("–".to_string(), |margin| format!("{} ×", times(margin)));
    let mut text = format!("{word}  {}: {}\n", harmless(path), timed(calibration.clock, limit));
    text += &format!(
        "          {} the slowest that must pass; the fastest that must be too slow is {} the limit\n",
        margin(calibration.margin_accepted(limit)),
        margin(calibration.margin_too_slow(limit))
    );
    text += &style.paragraph(10, &format!("rule {}", rule_words(calibration.rule)));
    for found in findings(calibration) {
        text += &style.paragraph(10, &found);
    }
    let loaded = calibration.programs.iter().any(|program| program.loaded().is_some());
    let mut head = vec!["language", "side", "program", "test", "time", "interval", "spread", "runs", "limit"];
    if loaded {
        head.extend(["under load", "load"]);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for language in calibration.languages() {
        for side in [LimitSide::Passes, LimitSide::TooSlow] {
            let bound = calibration.bound_of(language, side);
            let row = bound.and_then(|program| Some((program, program.slowest()?)));
            rows.extend(row.map(|(program, test)| cells(calibration, program, test, loaded)));
        }
    }
    text + &plain_table(&head, &rows, style)
}

fn cells(
    calibration: &Calibration,
    program: &MeasuredProgram,
    test: &MeasuredTest,
    loaded: bool,
) -> Vec<String> {
    let ratio = calibration.suggestion.limit.0 as f64 / test.idle.time.0.max(1) as f64;
    let [low, high] = test.idle.interval;
    let over = if test.ended { "> " } else { "" };
    let (side, away) = match program.side {
        LimitSide::Passes => ("passes", format!("{} × it", times(ratio))),
        LimitSide::TooSlow => ("too slow", format!("{over}{} × that", times(1.0 / ratio))),
    };
    let mut cells = vec![
        program.language.clone(),
        side.to_string(),
        program.path.strip_prefix("submissions/").unwrap_or(&program.path).to_string(),
        test.name.clone(),
        format!("{over}{}", test.idle.time),
        if test.ended { "–".to_string() } else { format!("{low} … {high}") },
        format!("{:.1} %", test.idle.spread_pct()),
        test.idle.runs.len().to_string(),
        away,
    ];
    if loaded {
        cells.extend(match (&test.loaded, more_under_load(test)) {
            (Some(under), Some(more)) => [under.time.to_string(), format!("{more:+.1} %")],
            _ => ["–".to_string(), "–".to_string()],
        });
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn report() {
        let text = limits_report(&samples::limits::calibrations(), Style::default());
        insta::assert_snapshot!("limits_report", text);
    }
}
