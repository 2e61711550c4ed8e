//! Results as comma-separated values (RFC 4180): one line for each run, or for each layout of a sweep.

use crate::json::bench_run_document;
use model::{
    BenchReport, BenchRun, LadderReport, LayoutClock, LayoutReport, Limits, LinkOrderReport, PerturbReport,
};
use serde_json::Value;

/// Every run of every program, with its time and all its evidence. A reading that could not be taken is an empty cell;
/// the JSON says why.
pub fn bench_csv(report: &BenchReport) -> String {
    let mut rows: Vec<Vec<(String, String)>> = Vec::new();
    for (n, program) in report.programs.iter().enumerate() {
        for (run, document) in program.runs.iter().enumerate() {
            let mut row = vec![
                ("program".to_string(), (n + 1).to_string()),
                ("command".to_string(), program.command.clone()),
            ];
            let parameters =
                program.parameters.iter().map(|(name, value)| (format!("parameter_{name}"), value.clone()));
            row.extend(parameters);
            row.push(("run".to_string(), (run + 1).to_string()));
            flatten(&evidence(document, &report.limits), &mut row);
            rows.push(row);
        }
    }
    joined(&rows)
}

/// Every run of every stage of a ladder, likewise.
pub fn ladder_csv(report: &LadderReport) -> String {
    let mut rows = Vec::new();
    for stage in &report.stages {
        for (run, document) in stage.runs.iter().enumerate() {
            let mut row = named(&[
                ("stage", stage.rung.name().into()),
                ("load", stage.load.name().into()),
                ("run", (run + 1).to_string()),
            ]);
            flatten(&evidence(document, &report.limits), &mut row);
            rows.push(row);
        }
    }
    joined(&rows)
}

/// Every run of every trial of a perturbation, likewise.
pub fn perturb_csv(report: &PerturbReport) -> String {
    let mut rows = Vec::new();
    for trial in &report.trials {
        for run in &trial.runs {
            let role = if run.disturbed { "disturbed" } else { "control" };
            let mut row = named(&[
                ("trial", trial.perturbation.name().into()),
                ("pair", run.pair.to_string()),
                ("role", role.into()),
            ]);
            flatten(&evidence(&run.run, &report.limits), &mut row);
            rows.push(row);
        }
    }
    joined(&rows)
}

fn named(cells: &[(&str, String)]) -> Vec<(String, String)> {
    cells.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

/// Documents have text keys only, so there is always one.
fn evidence(run: &BenchRun, limits: &Limits) -> Value {
    serde_json::to_value(bench_run_document(run, limits)).unwrap_or_default()
}

/// Rows of named cells, under the names of all of them.
fn joined(rows: &[Vec<(String, String)>]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for row in rows {
        for (at, (name, _)) in row.iter().enumerate() {
            if !columns.contains(&name.as_str()) {
                // A field that earlier runs did not have stands behind the one it follows here.
                let before = at.checked_sub(1).and_then(|at| columns.iter().position(|c| *c == row[at].0));
                columns.insert(before.map_or(columns.len(), |at| at + 1), name);
            }
        }
    }
    let mut text = line(columns.iter().copied());
    for row in rows {
        let cell = |name: &&str| row.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value);
        text.push_str(&line(columns.iter().map(cell)));
    }
    text
}

/// Every layout.
pub fn layout_csv(report: &LayoutReport) -> String {
    let unit = match report.clock {
        LayoutClock::Cycles => "cycles",
        LayoutClock::CpuNs => "ns",
    };
    let head = [
        "bytes".to_string(),
        format!("median_{unit}"),
        format!("min_{unit}"),
        format!("max_{unit}"),
        "n".into(),
    ];
    let mut text = line(head.iter().map(|name| &**name));
    for point in &report.points {
        let numbers = [u64::from(point.at), point.median, point.min, point.max, point.n as u64];
        let cells = numbers.map(|number| number.to_string());
        text.push_str(&line(cells.iter().map(|cell| &**cell)));
    }
    text
}

/// Every run of every link order.
pub fn link_order_csv(report: &LinkOrderReport) -> String {
    let head =
        ["seed", "run", "counts", "cpu_ns", "user_ns", "system_ns", "wall_ns", "cycles", "instructions"];
    let mut text = line(head.into_iter());
    for order in &report.orders {
        for (n, (run, counts)) in order.runs.iter().enumerate() {
            let times =
                [run.time.cpu, run.time.user, run.time.system, run.time.wall].map(|time| time.0.to_string());
            let counted =
                [&run.cycles, &run.instructions].map(|r| r.known().map_or(String::new(), u64::to_string));
            let first = [order.seed.to_string(), (n + 1).to_string(), counts.to_string()];
            let cells = [&first[..], &times, &counted].concat();
            text.push_str(&line(cells.iter().map(|cell| &**cell)));
        }
    }
    text
}

/// The fields of a document; those of `time` and `evidence` stand beside the others.
fn flatten(document: &Value, row: &mut Vec<(String, String)>) {
    let fields = document.as_object().into_iter().flatten();
    for (name, value) in fields {
        match value {
            Value::Object(_) if name == "time" || name == "evidence" => flatten(value, row),
            _ => row.push((name.clone(), cell(value))),
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(fields) if fields.contains_key("unknown") => String::new(),
        Value::Object(fields) => fields.values().map(cell).collect::<Vec<_>>().join(":"),
        Value::Array(items) if items.iter().any(Value::is_string) => {
            items.iter().map(cell).collect::<Vec<_>>().join("; ")
        }
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_string(),
    };
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::bench;
    use model::Reading;

    #[test]
    fn one_line_for_each_run() {
        let mut report = bench::two_programs();
        report.programs[0].command = "a \"quoted\", word".into();
        report.programs[0].runs[1].observation.evidence.steal = Reading::unknown("no field");
        report.programs[1].runs[2].observation.evidence.weaker.clear();
        report.programs.iter_mut().for_each(|program| program.runs.truncate(3));
        let text = bench_csv(&report);
        insta::assert_snapshot!("bench_csv", text.replace("\r\n", "\n"));
        let fields = |line: &str| line.replace("\"a \"\"quoted\"\", word\"", "").matches(',').count();
        assert!(text.lines().all(|line| fields(line) == fields(text.lines().next().unwrap())), "{text}");
    }
}
