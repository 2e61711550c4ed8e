//! Masks taken apart.

use super::table::{Generation, Rule};
use model::{OffcoreMask, Reading};

/// Takes a mask apart. For AMD a value below 0x100 is the unit mask of the generation's usual event.
pub fn decode(generation: &Generation, mask: u64) -> OffcoreMask {
    let mask = match generation.rule {
        Rule::UnitMask if mask <= 0xff => mask << 8 | generation.codes.first().copied().unwrap_or(0),
        _ => mask,
    };
    let low = generation.request_part();
    let (request, response) = (mask & low, mask & !low);
    let events = published(generation, mask);
    let why = if events.is_empty() { fault(generation, mask) } else { None };
    let name = match &why {
        Some(_) => None,
        None => name(generation, request, response, &events),
    };
    let perf = if why.is_none() { perf(generation, mask) } else { Vec::new() };
    OffcoreMask {
        mask,
        generation: generation.id.clone(),
        processor: generation.name.clone(),
        request: match generation.rule {
            Rule::UnitMask => exact(&generation.request_bits(), request).into_iter().collect(),
            _ => set(&generation.request_bits(), request),
        },
        response: set(&generation.response_bits(), response),
        name,
        events,
        likwid: match &why {
            Some(_) => Reading::unknown("the mask counts nothing"),
            None => likwid(generation, mask),
        },
        why,
        perf,
        sources: generation.sources.clone(),
    }
}

fn set(bits: &[(&str, u64)], mask: u64) -> Vec<String> {
    bits.iter().filter(|(_, bit)| mask & bit != 0).map(|(name, _)| name.to_string()).collect()
}

fn exact(named: &[(&str, u64)], mask: u64) -> Option<String> {
    named.iter().find(|(_, value)| *value == mask).map(|(name, _)| name.to_string())
}

/// Why a mask counts nothing, or why the processor refuses it.
fn fault(generation: &Generation, mask: u64) -> Option<String> {
    let (low, processor) = (generation.request_part(), &generation.name);
    let strange = match generation.rule {
        // The low byte is a code there.
        Rule::UnitMask => mask & !low & !generation.known(),
        _ => mask & !generation.known(),
    };
    if strange != 0 {
        let bits: Vec<String> =
            (0..64).filter(|bit| strange >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
        let (plural, are) = if bits.len() == 1 { ("", "is") } else { ("s", "are") };
        return Some(format!("bit{plural} {} {are} reserved on {processor}", bits.join(", ")));
    }
    let (request, response) = (mask & low, mask & !low);
    let need = |has: u64, what: &str| (has == 0).then(|| format!("{what}, so it counts nothing"));
    match generation.rule {
        Rule::UnitMask if !generation.codes.contains(&request) => {
            let codes: Vec<String> = generation.codes.iter().map(|code| format!("{code:#x}")).collect();
            Some(format!(
                "{request:#x} is not an event of this kind on {processor}: {} are",
                codes.join(", ")
            ))
        }
        Rule::UnitMask => need(response, "its unit mask is empty"),
        _ if request == 0 => need(request, "it has no request bit"),
        Rule::RequestAndResponse => need(response, "it has no response bit"),
        Rule::SupplierAndSnoop if response & Generation::sum(&generation.any) != 0 => None,
        Rule::SupplierAndSnoop => {
            let supplier = response & Generation::sum(&generation.supplier);
            let snoop = response & Generation::sum(&generation.snoop);
            let any = "and not the one for any response (16)";
            match (supplier, snoop) {
                (0, 0) => {
                    need(0, &format!("it has no response bit: neither a supplier bit and a snoop bit, {any}"))
                }
                (0, _) => need(0, &format!("it has snoop bits, but no supplier bit (17 and up), {any}")),
                (_, 0) => need(0, &format!("it has supplier bits, but no snoop bit (31 to 37), {any}")),
                _ => None,
            }
        }
    }
}

/// Events by which the vendor publishes exactly this mask.
fn published(generation: &Generation, mask: u64) -> Vec<String> {
    let mut events = Vec::new();
    for row in &generation.events {
        for (request, value) in &row.requests {
            let names = row.responses.iter().filter(|(_, response)| value | **response == mask);
            let prefix = generation.prefix.iter().map(String::as_str);
            let name =
                |response: &str| prefix.clone().chain([&**request, response]).collect::<Vec<_>>().join(".");
            events.extend(names.map(|(response, _)| name(response)));
        }
    }
    events
}

/// The published name without what all begin with; else from the names of the two parts.
fn name(generation: &Generation, request: u64, response: u64, events: &[String]) -> Option<String> {
    if let Some(event) = events.first() {
        let beginning = generation.prefix.as_ref().map_or(String::new(), |prefix| format!("{prefix}."));
        return Some(event.strip_prefix(&beginning).unwrap_or(event).to_string());
    }
    let (numa, groups) = (generation.numa, &generation.groups);
    let in_rows = |value: u64, of: fn(&super::table::Row) -> &super::table::Names| {
        let names = generation.events.iter().flat_map(of);
        names.into_iter().find(|(_, mask)| **mask == value).map(|(name, _)| name.clone())
    };
    let in_group = |names: &super::table::Names, value: u64| {
        names.iter().find(|(_, mask)| **mask == value).map(|(name, _)| name.clone())
    };
    let request = exact(&generation.request_bits(), request)
        .or_else(|| in_rows(request, |row| &row.requests))
        .or_else(|| in_group(&groups.request, request))
        .or_else(|| (request == numa.any_request).then(|| "ANY_REQUEST".to_string()))?;
    let response = exact(&generation.response_bits(), response)
        .or_else(|| in_rows(response, |row| &row.responses))
        .or_else(|| in_group(&groups.response, response))
        .or_else(|| (response == numa.local_dram).then(|| "LOCAL_DRAM".to_string()))
        .or_else(|| (Some(response) == numa.remote_dram).then(|| "REMOTE_DRAM".to_string()))?;
    Some(format!("{request}.{response}"))
}

/// perf's notations. `offcore_rsp` is a name for `config1` (/sys/bus/event_source/devices/cpu/format/offcore_rsp).
fn perf(generation: &Generation, mask: u64) -> Vec<String> {
    match generation.rule {
        Rule::UnitMask => {
            vec![format!("cpu/event={:#x},umask={:#x}/", mask & 0xff, mask >> 8), format!("r{mask:x}")]
        }
        _ => generation.codes.first().map_or_else(Vec::new, |code| {
            vec![
                format!("cpu/event={code:#x},umask=0x1,offcore_rsp={mask:#x}/"),
                format!("cpu/config={:#x},config1={mask:#x}/", 0x100 | code),
            ]
        }),
    }
}

fn likwid(generation: &Generation, mask: u64) -> Reading<Vec<String>> {
    if generation.rule == Rule::UnitMask {
        let name = generation.likwid_events.get(&format!("{mask:#x}"));
        let notation = name.map(|name| vec![format!("{name}:PMC0")]);
        return Reading::from_option(notation, || "LIKWID has no event with this unit mask".into());
    }
    let Some(form) = generation.likwid else {
        return Reading::unknown("LIKWID does not set this register on this generation (as of June 2026)");
    };
    let (request, response) = (mask & generation.request_part(), mask >> form.shift);
    if request & !form.request != 0 || response & !form.response != 0 {
        return Reading::unknown("LIKWID drops bits of this mask on this generation (as of June 2026)");
    }
    let event =
        |n: usize| format!("OFFCORE_RESPONSE_{n}_OPTIONS:PMC{n}:MATCH0={request:#x}:MATCH1={response:#x}");
    Reading::Known((0..generation.codes.len()).map(event).collect())
}
