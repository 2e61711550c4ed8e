//! `tauto numa trace --html`.

use super::tables::{row, table};
use super::{escape, page};
use crate::trace::{by_node, first_touch, method, mib, no_counters, numbers, toucher, verdict};
use model::{Reading, Share, TraceReport, TraceVerdict};

/// Width of a full bar, in the units of its drawing.
const BAR: f64 = 240.0;

/// The page of a trace: what it comes to, a table with a bar for each CPU, threads, mappings and advice.
pub fn trace_page(report: &TraceReport) -> String {
    let mut body = format!("<h1>Memory nodes of <code>{}</code></h1>\n", escape(&report.command));
    let class = if report.verdict == TraceVerdict::WorksRight { "" } else { " class=\"warning\"" };
    body.push_str(&format!(
        "<p{class}><strong>{}</strong>: {}.</p>\n<p class=\"dim\">Determined {}.</p>\n",
        escape(verdict(report)),
        escape(&report.because),
        escape(method(report))
    ));
    body.extend(
        no_counters(report.no_counters.as_deref())
            .iter()
            .map(|line| format!("<p class=\"dim\">{}</p>\n", escape(line))),
    );
    let advice: String = report.advice.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    if !advice.is_empty() {
        body.push_str(&format!("<h2>Advice</h2>\n<ul>\n{advice}</ul>\n"));
    }
    body.push_str(&cpus(report));
    body.push_str(&threads(report));
    body.push_str(&mappings(report));
    body.push_str(&allocations(report));
    if let Reading::Known(latency) = &report.latency {
        body.push_str(&format!(
            "<p>Memory takes {:.1} ns from the own node and {:.1} ns from the farthest other one: {:.2} times as long.</p>\n",
            latency.local_ns, latency.remote_ns, latency.ratio
        ));
    }
    page(&format!("Memory nodes of {}", report.command), &body)
}

/// Local against remote.
fn bar(share: Share) -> String {
    let remote = BAR * share.remote_pct / 100.0;
    let local = BAR - remote;
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 {BAR} 14\" role=\"img\" aria-label=\"{:.1} % remote\">\
         <rect class=\"here\" width=\"{local:.1}\" height=\"14\"/><rect class=\"away\" x=\"{local:.1}\" width=\"{remote:.1}\" height=\"14\"/></svg>",
        share.remote_pct
    )
}

fn cpus(report: &TraceReport) -> String {
    let head = ["CPU", "node", "package", "CPU time (ms)", "local", "remote", "remote (%)", "local | remote"];
    let line = |cpu: &model::TracedCpu| {
        let cells = [
            cpu.cpu.to_string(),
            cpu.node.to_string(),
            cpu.package.to_string(),
            format!("{:.1}", cpu.time.as_millis_f64()),
            format!("{:.0}", cpu.share.local),
            format!("{:.0}", cpu.share.remote),
            format!("{:.1}", cpu.share.remote_pct),
        ];
        row("", &cells).replace("</tr>", &format!("<td>{}</td></tr>", bar(cpu.share)))
    };
    let unit = match report.method {
        model::TraceMethod::Counters => "requests",
        model::TraceMethod::Placement => "pages of 4 KiB",
    };
    let kinds: String = report
        .cpus
        .iter()
        .flat_map(|cpu| {
            cpu.kinds.iter().map(|kind| {
                let numbers = [kind.share.local, kind.share.remote].map(|n| format!("{n:.0}"));
                let [local, remote] = numbers;
                let shares = [kind.share.remote_pct, kind.counted_pct].map(|n| format!("{n:.1}"));
                row(
                    "",
                    &[
                        cpu.cpu.to_string(),
                        kind.kind.clone(),
                        local,
                        remote,
                        shares[0].clone(),
                        shares[1].clone(),
                    ],
                )
            })
        })
        .collect();
    let by_kind = match kinds.is_empty() {
        true => String::new(),
        false => format!(
            "<h2>By kind of request</h2>\n{}",
            table(
                &["CPU", "kind", "local", "remote", "remote (%)", "counted (% of the time)"],
                [kinds].into_iter()
            )
        ),
    };
    format!(
        "<h2>CPUs</h2>\n<p class=\"dim\">Local and remote are {unit}.</p>\n{}{by_kind}",
        table(&head, report.cpus.iter().map(line))
    )
}

fn threads(report: &TraceReport) -> String {
    let head = [
        "thread",
        "name",
        "process",
        "bound to CPUs",
        "ran on CPUs",
        "CPU time by node (ms)",
        "first wrote",
        "remote (%)",
    ];
    let line = |thread: &model::TracedThread| {
        let nodes: Vec<String> = thread
            .node_ns
            .iter()
            .map(|(node, time)| format!("{node}: {:.1}", time.as_millis_f64()))
            .collect();
        row(
            "",
            &[
                thread.thread.to_string(),
                thread.name.clone(),
                thread.pid.to_string(),
                numbers(&thread.bound),
                numbers(&thread.cpus),
                nodes.join(", "),
                mib(thread.first_touched_bytes),
                format!("{:.1}", thread.share.remote_pct),
            ],
        )
    };
    format!("<h2>Threads</h2>\n{}", table(&head, report.threads.iter().map(line)))
}

fn mappings(report: &TraceReport) -> String {
    let head = [
        "mapping",
        "size",
        "by node",
        "policy",
        "first written",
        "used from nodes",
        "moved",
        "remote at least (%)",
    ];
    let line = |mapping: &model::TracedMapping| {
        let first = mapping.first_touched_by.as_ref();
        let first = first.map_or("not during the trace".into(), toucher);
        row(
            "",
            &[
                mapping.name.clone(),
                mib(mapping.bytes),
                by_node(&mapping.node_bytes),
                mapping.policy.clone(),
                first,
                numbers(&mapping.used_from_nodes),
                mib(mapping.moved_bytes),
                format!("{:.1}", mapping.remote_pct),
            ],
        )
    };
    let how = escape(&first_touch(&report.first_touch));
    format!(
        "<h2>Mappings</h2>\n<p class=\"dim\">{how}.</p>\n{}",
        table(&head, report.mappings.iter().map(line))
    )
}

fn allocations(report: &TraceReport) -> String {
    let head = [
        "node",
        "had where wanted",
        "had here, wanted elsewhere",
        "wanted here, had elsewhere",
        "had by tasks elsewhere",
    ];
    let line = |(node, counts): (&u32, &Reading<model::NodeAllocations>)| match counts {
        Reading::Known(c) => {
            let counts = [c.hit, c.miss, c.foreign, c.other].map(|count| count.to_string());
            row("", &[&[node.to_string()][..], &counts].concat())
        }
        Reading::Unknown(why) => row("", &[node.to_string(), format!("unknown ({why})")]),
    };
    format!(
        "<h2>Allocations meanwhile, in pages, of the whole machine</h2>\n{}",
        table(&head, report.allocations.iter().map(line))
    )
}
