//! What the forms of an experiment's report have in common: what was found, in words.

mod consistency;
mod ladder;
mod perturb;

pub(crate) use consistency::consistency_findings;
pub(crate) use ladder::{ladder_findings, published, words as ladder_words};
pub(crate) use perturb::perturb_findings;

use model::{LayoutClock, LayoutReport, LinkOrderReport, Reading};

/// What was found, a sentence each.
pub(crate) fn layout_findings(report: &LayoutReport) -> Vec<String> {
    let mut found = Vec::new();
    let what = report.vary.words();
    let unit = layout_unit(report.clock);
    if let (Reading::Known(seen), Reading::Known(chance)) = (&report.sensitivity_pct, &report.chance_pct) {
        let verdict = match seen > chance {
            true => format!("the {what} alone changes this program's time by this much"),
            false => "that is no more than chance causes in runs that vary like these".to_string(),
        };
        found.push(format!(
            "Layout sensitivity {seen:.2} % (maximum minus minimum median of {unit}, over the mean; chance alone: {chance:.2} %): {verdict}."
        ));
    }
    match report.peaks.len() {
        0 => found.push(format!(
            "No peak: of {} layouts none is slower than chance makes one in a sweep of a hundred.",
            report.points.len()
        )),
        n => found.push(format!(
            "{n} peak{} in {} layouts:",
            if n == 1 { "" } else { "s" },
            report.points.len()
        )),
    }
    for (n, peak) in report.peaks.iter().enumerate() {
        let apart =
            report.distances.get(n).map_or(String::new(), |d| format!("; the next begins {d} bytes later"));
        found.push(format!(
            "Peak {}: {} to {} bytes ({} wide), {:+.1} % above the mean{apart}.",
            n + 1,
            peak.from,
            peak.to,
            peak.width_bytes,
            peak.height_pct
        ));
    }
    match report.unconfirmed.len() {
        0 => {}
        1 => found.push("One more peak is left out because no second sample shows it.".into()),
        n => found.push(format!("{n} more peaks are left out because no second sample shows them.")),
    }
    if let Some(why) = &report.why_clock {
        let (why, hints) = model::hint::split(why);
        found.push(format!("CPU time was measured because cycles cannot be counted here: {why}."));
        // On a line of its own.
        found.extend(hints.iter().map(|hint| format!("hint: {hint}")));
    }
    if report.quick {
        found.push("Layouts were sampled, and refined only where neighbours differed.".into());
    }
    found
}

pub(crate) fn layout_unit(clock: LayoutClock) -> &'static str {
    match clock {
        LayoutClock::Cycles => "cycles in user space",
        LayoutClock::CpuNs => "CPU time",
    }
}

/// Runs that count of an order, so that each half of them can confirm a difference: six are needed for a comparison.
const LEAST_TO_CONFIRM: usize = 12;

/// What was found, a sentence each.
pub(crate) fn link_order_findings(report: &LinkOrderReport) -> Vec<String> {
    let mut found = Vec::new();
    found.push(match report.outputs_agree {
        true => format!(
            "{} orders of {} objects; all runs wrote the same output.",
            report.orders.len(),
            report.objects.len()
        ),
        false => {
            "Outputs differ between link orders: the program depends on behaviour that its language leaves unspecified.".into()
        }
    });
    if let (Reading::Known(seen), Reading::Known(chance)) = (&report.sensitivity_pct, &report.chance_pct) {
        let verdict = match seen > chance {
            true => "the link order alone changes this program's time by this much",
            false => "no more than chance causes in runs that vary like these",
        };
        found.push(format!(
            "Link-order sensitivity {seen:.2} % (maximum minus minimum median of {}, over their mean; chance alone: {chance:.2} %): {verdict}.",
            layout_unit(report.clock)
        ));
    }
    let different: Vec<String> = report
        .orders
        .iter()
        .filter_map(|order| Some((order.seed, order.against_given.filter(|a| a.different)?)))
        .map(|(seed, a)| format!("{seed} ({:+.2} %)", 100.0 * (a.ratio - 1.0)))
        .collect();
    if report.orders.iter().any(|order| order.n < LEAST_TO_CONFIRM) {
        found.push(format!(
            "At least {LEAST_TO_CONFIRM} runs of each order must count to show that one differs from the given one."
        ));
    }
    if !different.is_empty() {
        found.push(format!(
            "Orders that differ from the given order, by {}: seeds {}.",
            layout_unit(report.clock),
            different.join(", ")
        ));
    }
    found
}
