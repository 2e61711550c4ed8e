//! `tauto index --html`: one machine, and many of them.

use super::chart::{Frame, Limit, Scale, Ticks, framed, limits, put};
use super::plots::{Column, boxes};
use super::tables::{machine, row, table, warning};
use super::{escape, page};
use crate::index::{by_group, conditions, date, percent, reach, stolen, title, with_unit};
use model::{
    ComparedModel, ComparedPart, Index, IndexComparison, IndexFigure, IndexPart, IndexStray, IndexSubject,
    Reading, StrayKind,
};
use std::collections::BTreeSet;

/// The page of an index: a table of its parts, how far turns strayed, and the machine.
pub fn index_page(index: &Index) -> String {
    let name = match &index.machine {
        Reading::Known(name) => format!("Power index of {name}"),
        Reading::Unknown(_) => "Power index".into(),
    };
    let mut body = format!(
        "<h1>{}</h1>\n<p>Taken {} UTC in {:.1} s by tauto {}. Protected by: {}.</p>\n",
        escape(&name),
        date(index.taken_at),
        index.seconds,
        escape(&index.version),
        escape(&conditions(index))
    );
    body.extend(index.conditions.lacks.iter().map(|lack| warning(&format!("Missing: {lack}."))));
    body.extend(stolen(index).map(|stolen| warning(&stolen)));
    let rows = index.figures().map(|(part, figure)| match figure {
        Reading::Known(figure) => row("", &cells(part, figure)),
        Reading::Unknown(why) => row("", &[title(part).into(), format!("unknown ({why})")]),
    });
    body += &table(
        &["part", "value", "95 % interval", "turns vary by", "slices", "discarded", "least", "most", "how"],
        rows,
    );
    body += &turns(index);
    body += "<p class=\"dim\">The parts were measured in turns. A dot is one turn: the median of its slices, or for the clock the value that one slice in twenty reaches. The box spans the first to the third quartile; a triangle at the edge is a turn outside the chart. Slices in which another process had the CPU are \
             discarded.</p>\n";
    let known = |reading: &Reading<String>| match reading {
        Reading::Known(text) => text.clone(),
        Reading::Unknown(why) => format!("unknown ({why})"),
    };
    let memory = match &index.memory_bytes {
        Reading::Known(bytes) => format!("{bytes} bytes"),
        Reading::Unknown(why) => format!("unknown ({why})"),
    };
    let facts = [
        ("fingerprint", index.fingerprint.clone()),
        ("processor", known(&index.cpu_model)),
        ("microcode", known(&index.microcode)),
        ("kernel", known(&index.kernel)),
        ("memory", memory),
        ("caches", index.caches.join(", ")),
        ("frequency", known(&index.conditions.frequency)),
        ("boot", known(&index.boot_id)),
    ];
    body += &machine(&facts.map(|(name, value)| (name.to_string(), value)));
    page(&name, &body)
}

fn cells(part: IndexPart, figure: &IndexFigure) -> [String; 9] {
    let shown = |value: f64| with_unit(part, value);
    let interval = match &figure.ci95 {
        Reading::Known([low, high]) => format!("{} … {}", shown(*low), shown(*high)),
        Reading::Unknown(_) => "unknown".into(),
    };
    [
        title(part).into(),
        shown(figure.value),
        interval,
        percent(figure.repeatability_pct),
        figure.n.to_string(),
        figure.voided.to_string(),
        shown(figure.min),
        shown(figure.max),
        figure.how.clone(),
    ]
}

/// Short enough to stand side by side.
fn short(part: IndexPart) -> String {
    part.name().split('_').next().unwrap_or_default().into()
}

fn turns(index: &Index) -> String {
    let known: Vec<(IndexPart, &IndexFigure)> =
        index.figures().filter_map(|(part, figure)| Some((part, figure.known()?))).collect();
    let names: Vec<String> = known.iter().map(|(part, _)| short(*part)).collect();
    let frame = Frame {
        title: "How far the turns of each part lie from its value",
        x_label: "part",
        y_label: "from the value, %",
        x_ticks: Ticks::Names(&names),
    };
    let column = |(n, (part, figure)): (usize, &(IndexPart, &IndexFigure))| Column {
        values: figure.turns.iter().map(|turn| 100.0 * (turn / figure.value - 1.0)).collect(),
        colour: n,
        title: format!("{}: {}", title(*part), with_unit(*part, figure.value)),
    };
    let columns: Vec<Column> = known.iter().enumerate().map(column).collect();
    format!("<div class=\"wide\">{}</div>\n", boxes(&frame, &columns, &[]))
}

/// The page of a comparison: the machines that vary, and a scatter of all machines for each part.
pub fn comparison_page(comparison: &IndexComparison) -> String {
    let machines: usize = comparison.models.iter().map(|model| model.machines.len()).sum();
    let straying: BTreeSet<&str> = comparison.strays.iter().map(|stray| &*stray.machine).collect();
    let mut body = format!(
        "<h1>Machines compared</h1>\n<p>{machines} machines, {} readings, {}.</p>\n",
        comparison.readings,
        match straying.len() {
            0 => "no outlier".to_string(),
            1 => "1 outlier".to_string(),
            n => format!("{n} outliers"),
        }
    );
    body.extend(comparison.notes.iter().map(|note| warning(note)));
    if !comparison.strays.is_empty() {
        let rows = by_group(comparison).into_iter().map(|(stray, within)| {
            row(
                if stray.weaker { "void" } else { "" },
                &[
                    stray.machine.clone(),
                    subject(stray).into(),
                    reach(stray),
                    format!("{:.1}", stray.robust_z),
                    if stray.weaker { "weaker" } else { "stronger" }.into(),
                    stray.readings.to_string(),
                    stray.file.clone(),
                    within,
                ],
            )
        });
        body += "<h2>Outlier machines</h2>\n";
        body += &table(&["machine", "in", "by", "robust z", "", "readings", "latest file", "also in"], rows);
    }
    for model in &comparison.models {
        body += &section(model, &comparison.strays);
    }
    page("Machines compared", &body)
}

fn section(model: &ComparedModel, strays: &[IndexStray]) -> String {
    let mut html = format!("<h2>{}</h2>\n", escape(&model.model));
    html.extend(model.notes.iter().map(|note| warning(note)));
    let share = |of: &Reading<f64>| of.known().map_or("unknown".into(), |share| format!("{share:.1} %"));
    let rows = model.parts.iter().map(|part| {
        let variance = &part.variance;
        row(
            "",
            &[
                title(part.part).into(),
                part.machines.len().to_string(),
                with_unit(part.part, part.median),
                part.deviation_pct.known().map_or("unknown".into(), |deviation| percent(*deviation)),
                share(&variance.machine_pct),
                share(&variance.boot_pct),
                share(&variance.run_pct),
                share(&variance.total_pct),
            ],
        )
    });
    html += &table(
        &[
            "part",
            "machines",
            "median",
            "deviation",
            "variance of machines",
            "of boots",
            "of runs",
            "all, deviation",
        ],
        rows,
    );
    if let Some(z) = model.level_z {
        html += &format!(
            "<p class=\"dim\">A machine is an outlier beyond {z:.2} deviations: chance does that to one healthy comparison in a hundred, all \
             its tests together. Crosses are outliers in that part or in its group. The axis does not start at 0.</p>\n"
        );
    }
    html + &model.parts.iter().map(|part| scatter(part, model, strays)).collect::<String>()
}

/// What a machine is weaker or stronger in, in words.
fn subject(stray: &IndexStray) -> &'static str {
    match stray.subject {
        IndexSubject::Part(part) => title(part),
        IndexSubject::Group(group) => group.name(),
    }
}

fn scatter(part: &ComparedPart, model: &ComparedModel, strays: &[IndexStray]) -> String {
    let of_part = |stray: &&IndexStray| match stray.subject {
        IndexSubject::Part(one) => one == part.part,
        IndexSubject::Group(group) => group == part.part.group(),
    };
    let straying: BTreeSet<&str> = strays
        .iter()
        .filter(of_part)
        .filter(|stray| stray.kind == StrayKind::Level || matches!(stray.subject, IndexSubject::Part(_)))
        .map(|stray| &*stray.machine)
        .collect();
    let x = Scale::across(part.machines.iter().map(|value| value.machine as f64 + 1.0));
    let above = |ratio: f64| 100.0 * (ratio - 1.0);
    let far = model.level_z.zip(part.deviation_pct.known()).map(|(z, deviation)| z * deviation);
    let lines = far.map_or(vec![], |far| {
        vec![
            Limit { y: far, label: format!("+{far:.1} %") },
            Limit { y: -far, label: format!("−{far:.1} %") },
        ]
    });
    let y = Scale::up(
        part.machines.iter().map(|value| above(value.ratio)).chain(lines.iter().map(|line| line.y)),
    );
    let name = format!("{}: median {}", title(part.part), with_unit(part.part, part.median));
    let y_label = "from the median, %";
    let frame = Frame { title: &name, x_label: "machine", y_label, x_ticks: Ticks::Whole };
    let svg = framed(&frame, &x, &y, |svg| {
        limits(svg, &lines, &y);
        for value in &part.machines {
            let (cx, cy) = (x.at(value.machine as f64 + 1.0), y.at(above(value.ratio)));
            let machine = &model.machines[value.machine].name;
            let title = escape(&format!(
                "{machine}: {}, {:+.2} %",
                with_unit(part.part, value.value),
                above(value.ratio)
            ));
            let (left, up) = (cx - 4.5, cy - 4.5);
            match straying.contains(&**machine) {
                false => put(
                    svg,
                    format_args!(
                        "<circle class=\"dot\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"2.5\"><title>{title}</title></circle>\n"
                    ),
                ),
                true => put(
                    svg,
                    format_args!(
                        "<path class=\"cross\" d=\"M{left:.1} {up:.1}l9 9m0 -9l-9 9\"><title>{title}</title></path>\
                         <text class=\"void-text\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                        cx + 8.0,
                        cy + 5.0,
                        escape(machine)
                    ),
                ),
            }
        }
    });
    format!("<h3>{}</h3>\n<div class=\"wide\">{svg}</div>\n", escape(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_page_has_the_numbers_of_the_document() {
        let index = samples::index::index();
        let html = index_page(&index);
        for (part, figure) in index.figures() {
            match figure {
                Reading::Known(figure) => {
                    let cells = format!("<td>{}</td><td>{}</td>", title(part), with_unit(part, figure.value));
                    assert!(html.contains(&cells), "{cells}");
                }
                Reading::Unknown(why) => assert!(html.contains(why.as_ref())),
            }
        }
        assert!(html.contains("as &lt;it&gt; is done") && html.contains("Missing: frequency held"));
        assert_eq!(html.matches("class=\"box c").count(), 10);
    }

    #[test]
    fn strays_are_marked_and_named() {
        let html = comparison_page(&samples::index::comparison());
        assert_eq!(html.matches("class=\"cross\"").count(), 2);
        assert_eq!(html.matches("class=\"void-text\"").count(), 2);
        assert_eq!(html.matches("<circle class=\"dot\"").count(), 2 * 6 - 2);
        for text in ["3 outliers", "2 outliers"].into_iter().zip([false, true]) {
            assert_eq!(html.contains(text.0), text.1, "{}", text.0);
        }
        assert!(html.contains("Other &lt;CPU&gt;") && html.contains("+6.6 %"));
        let nobody = IndexComparison { strays: vec![], ..samples::index::comparison() };
        assert_eq!(comparison_page(&nobody).matches("class=\"cross\"").count(), 0);
    }
}
