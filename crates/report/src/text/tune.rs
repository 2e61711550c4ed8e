//! `tauto tune` for people.

use super::{Paint, Style, clip, count, harmless, shown};
use comfy_table::{ContentArrangement, Table, presets};
use model::{BootPlan, Change, ChangeState, CpuNoise, NoiseComparison, Tuning};

/// A value as far as a line of a table shows it.
const VALUE: usize = 30;

/// A table of changes, those that differ in nothing but the target on one line, and what to do next. Ends with a line
/// end.
pub fn tuning_table(tuning: &Tuning, style: Style) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = style.width {
        table.set_width(width);
    }
    table.set_header(["id", "what", "found", "wanted", "state"]);
    for alike in tuning.changes.chunk_by(alike) {
        let change = &alike[0];
        let more = if alike.len() > 1 { format!(" and {} more", alike.len() - 1) } else { String::new() };
        table.add_row([
            change.id.clone(),
            harmless(&change.target) + &more,
            value(&change.found),
            value(&change.want),
            state(change),
        ]);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_string()).collect();
    let table = if tuning.changes.is_empty() { String::new() } else { lines.join("\n") + "\n" };
    format!("{table}{}\n", summary(tuning, style))
}

fn alike(a: &Change, b: &Change) -> bool {
    let rest = |c: &Change| (c.id.clone(), c.found.clone(), c.want.clone(), c.state, c.reason.clone());
    rest(a) == rest(b)
}

/// One line of it; nothing is shown as nothing.
fn value(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.starts_with('#')).unwrap_or_default();
    if line.is_empty() { "-".into() } else { clip(&harmless(line), VALUE) }
}

fn state(change: &Change) -> String {
    match &change.reason {
        Some(reason) => format!("{}: {}", word(change.state), harmless(reason)),
        None => word(change.state).to_string(),
    }
}

fn word(state: ChangeState) -> &'static str {
    match state {
        ChangeState::Planned => "planned",
        ChangeState::Applied => "applied",
        ChangeState::Verified => "verified",
        ChangeState::Refused => "refused",
        ChangeState::Undone => "undone",
        ChangeState::Foreign => "foreign",
    }
}

fn summary(tuning: &Tuning, style: Style) -> String {
    let states = [
        (ChangeState::Planned, Paint::Yellow),
        (ChangeState::Verified, Paint::Green),
        (ChangeState::Undone, Paint::Green),
        (ChangeState::Applied, Paint::Yellow),
        (ChangeState::Foreign, Paint::Yellow),
        (ChangeState::Refused, Paint::Red),
    ];
    let number = |state| tuning.changes.iter().filter(|change| change.state == state).count();
    let parts = states.iter().filter(|(state, _)| number(*state) > 0);
    let parts: Vec<String> = parts
        .map(|(state, paint)| style.paint(*paint, &format!("{} {}", number(*state), word(*state))))
        .collect();
    let what = match tuning.changes.len() {
        0 => "nothing to change".to_string(),
        n => format!("{}: {}", count(n, "change"), parts.join(", ")),
    };
    let force = match tuning.in_force {
        true => format!("in force: yes; `tauto tune undo` restores the previous values ({})", tuning.journal),
        false => "in force: nothing".to_string(),
    };
    format!("{what}\n{force}")
}

/// What to do for the next start. Ends with a line end.
pub fn boot_lines(boot: &BootPlan) -> String {
    let mut lines = vec!["for the next boot:".to_string()];
    if !boot.parameters.is_empty() {
        lines.push(format!("  {}", boot.parameters));
    }
    lines.extend(boot.advice.iter().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}

/// How quiet slots were before and after. Ends with a line end.
pub fn noise_lines(noise: &NoiseComparison) -> String {
    let lines = |name: &str, all: &[CpuNoise]| {
        all.iter().map(|cpu| format!("{name} {}\n", noise_of(cpu))).collect::<String>()
    };
    lines("before:", &noise.before) + &lines("after: ", &noise.after)
}

fn noise_of(noise: &CpuNoise) -> String {
    let one = |number: f64| format!("{number:.1}");
    let Some(longest) = noise.longest_ns.known() else {
        return format!("CPU {}: {}", noise.cpu, shown(&noise.longest_ns));
    };
    format!(
        "CPU {}: {} gaps/s over 10 µs, {} % of the time lost, the longest {longest}",
        noise.cpu,
        shown(&noise.gaps_per_second.clone().map(one)),
        shown(&noise.lost_pct.clone().map(|pct| format!("{pct:.2}"))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn tuning() {
        let table = |width| tuning_table(&samples::tuning(), Style { colour: false, width });
        insta::assert_snapshot!("tuning_wide", table(None));
        insta::assert_snapshot!("tuning_narrow", table(Some(72)));
    }

    #[test]
    fn nothing_to_do() {
        let tuning = Tuning { changes: vec![], journal: "/j".into(), in_force: false, ..samples::tuning() };
        assert_eq!(tuning_table(&tuning, Style::default()), "nothing to change\nin force: nothing\n");
    }

    #[test]
    fn boot_and_noise() {
        let (noise, boot) = samples::noise_and_boot();
        insta::assert_snapshot!("tuning_noise_and_boot", noise_lines(&noise) + &boot_lines(&boot));
    }
}
