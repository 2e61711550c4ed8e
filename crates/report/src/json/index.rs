//! `tauto index --json`, written and read again.

use model::{Index, IndexFigure, IndexPart, Reading, SavedIndex};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An index.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Index))]
pub struct IndexDocument {
    /// The version of the program that took it.
    pub tauto: String,
    /// When, in seconds since 1970.
    pub taken_at: u64,
    /// How long it took.
    pub seconds: f64,
    /// Which machine.
    pub machine: Reading<String>,
    /// What kind of machine.
    pub fingerprint: String,
    /// The processor's name.
    pub cpu_model: Reading<String>,
    /// Its microcode.
    pub microcode: Reading<String>,
    /// The kernel's release.
    pub kernel: Reading<String>,
    /// All memory.
    pub memory_bytes: Reading<u64>,
    /// Data caches.
    pub caches: Vec<String>,
    /// The start of the system.
    pub boot_id: Reading<String>,
    /// What it was protected by.
    pub armour: ArmourDocument,
    /// Executions of the fixed loop in a second of CPU time.
    pub rounds_per_second: Reading<PartDocument>,
    /// All other parts, by name.
    #[cfg_attr(feature = "schema", schema(value_type = std::collections::BTreeMap<String, Reading<PartDocument>>))]
    pub parts: Map<String, Value>,
}

/// What an index was protected by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = IndexArmour))]
pub struct ArmourDocument {
    /// `fifo` or `other`.
    pub sched: &'static str,
    /// The slot that was locked.
    pub slot: Reading<u32>,
    /// The CPU it was bound to.
    pub cpu: Reading<u32>,
    /// Whether the clock is kept at one frequency.
    pub frequency_held: Reading<bool>,
    /// Governor, range, turbo.
    pub frequency: Reading<String>,
    /// The CPU's memory node.
    pub mem_node: Reading<u32>,
    /// Huge pages were off.
    pub huge_pages_off: Reading<bool>,
    /// What a hypervisor took of the CPU meanwhile.
    pub steal_ns: Reading<u64>,
    /// What was lacking.
    pub lacks: Vec<String>,
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = IndexFigure))]
pub struct PartDocument {
    /// What it came to.
    pub value: f64,
    /// Its 95 % interval.
    #[cfg_attr(feature = "schema", schema(value_type = Reading<Vec<f64>>))]
    pub ci95: Reading<[f64; 2]>,
    /// `ns`, `GHz`, `GB/s` or `1/s`.
    pub unit: &'static str,
    /// Slices that count.
    pub n: usize,
    /// Slices that do not.
    pub voided: usize,
    /// Least of those that count.
    pub min: f64,
    /// Greatest of them.
    pub max: f64,
    /// How far turns stray from each other, in percent.
    pub repeatability_pct: f64,
    /// Of the clock: that by multiplications over that by additions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_ratio: Option<f64>,
    /// What was done.
    pub how: String,
    /// What each turn came to.
    pub turns: Vec<f64>,
}

impl IndexDocument {
    /// The document of an index.
    pub fn new(index: &Index) -> IndexDocument {
        let armour = &index.armour;
        let part = |(part, figure): &(IndexPart, Reading<IndexFigure>)| {
            (*part, figure.clone().map(|figure| part_document(*part, figure)))
        };
        let mut parts: Vec<_> = index.parts.iter().map(part).collect();
        let rounds =
            parts.iter().position(|(part, _)| *part == IndexPart::Rounds).map(|at| parts.remove(at).1);
        IndexDocument {
            tauto: index.version.clone(),
            taken_at: index.taken_at,
            seconds: index.seconds,
            machine: index.machine.clone(),
            fingerprint: index.fingerprint.clone(),
            cpu_model: index.cpu_model.clone(),
            microcode: index.microcode.clone(),
            kernel: index.kernel.clone(),
            memory_bytes: index.memory_bytes.clone(),
            caches: index.caches.clone(),
            boot_id: index.boot_id.clone(),
            armour: ArmourDocument {
                sched: armour.sched,
                slot: armour.slot.clone(),
                cpu: armour.cpu.clone(),
                frequency_held: armour.frequency_held.clone(),
                frequency: armour.frequency.clone(),
                mem_node: armour.mem_node.clone(),
                huge_pages_off: armour.huge_pages_off.clone(),
                steal_ns: armour.steal_ns.clone(),
                lacks: armour.lacks.clone(),
            },
            rounds_per_second: rounds.unwrap_or_else(|| Reading::unknown("not measured")),
            parts: parts.iter().map(|(part, document)| (part.name().to_string(), json!(document))).collect(),
        }
    }
}

fn part_document(part: IndexPart, figure: IndexFigure) -> PartDocument {
    PartDocument {
        value: figure.value,
        ci95: figure.ci95,
        unit: part.unit(),
        n: figure.n,
        voided: figure.voided,
        min: figure.min,
        max: figure.max,
        repeatability_pct: figure.repeatability_pct,
        control_ratio: figure.control,
        how: figure.how,
        turns: figure.turns,
    }
}

/// Reads what a comparison needs of a saved index. `file` is its name, which stands for the machine where none is named.
///
/// # Errors
/// The field that is missing or wrong, and what it should be.
pub fn read_index(file: &str, text: &str) -> Result<SavedIndex, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON document: {e}"))?;
    let document = document.as_object().ok_or("no JSON object, as `tauto index --json` prints it")?;
    let fingerprint = text_of(document, "fingerprint")?.ok_or("fingerprint: missing; this is no index")?;
    let parts = document.get("parts").ok_or("parts: missing; this is no index")?;
    let parts = parts.as_object().ok_or("parts: must be an object")?;
    let mut values = Vec::new();
    for part in IndexPart::ALL {
        let (place, at) = match part {
            IndexPart::Rounds => (part.name().to_string(), document.get(part.name())),
            _ => (format!("parts.{}", part.name()), parts.get(part.name())),
        };
        let at = at.ok_or_else(|| format!("{place}: missing"))?;
        values.extend(value_of(at).map_err(|why| format!("{place}{why}"))?.map(|value| (part, value)));
    }
    let unknown: Vec<&String> =
        parts.keys().filter(|name| IndexPart::ALL.iter().all(|part| part.name() != *name)).collect();
    if let Some(name) = unknown.first() {
        return Err(format!("parts.{name}: no such part; it is from another version of tauto"));
    }
    Ok(SavedIndex {
        file: file.into(),
        machine: text_of(document, "machine")?.unwrap_or_else(|| file.into()),
        model: text_of(document, "cpu_model")?.unwrap_or(fingerprint),
        boot: text_of(document, "boot_id")?,
        taken_at: match document.get("taken_at") {
            None => None,
            Some(time) => Some(time.as_u64().ok_or("taken_at: must be whole seconds since 1970")?),
        },
        version: text_of(document, "tauto")?,
        values,
    })
}

/// A text that may be missing or unknown.
fn text_of(document: &Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match document.get(field) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(unknown) if is_unknown(unknown) => Ok(None),
        Some(other) => Err(format!("{field}: must be text, is {}", short(other))),
    }
}

/// The value of a part that may be unknown. The error goes on where the field's name ends.
fn value_of(part: &Value) -> Result<Option<f64>, String> {
    if is_unknown(part) {
        return Ok(None);
    }
    let value = part.get("value").ok_or_else(|| format!(": must have a value, is {}", short(part)))?;
    match value.as_f64() {
        Some(number) if number > 0.0 && number.is_finite() => Ok(Some(number)),
        _ => Err(format!(".value: must be a number above 0, is {}", short(value))),
    }
}

fn is_unknown(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.get("unknown").is_some_and(Value::is_string))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use crate::samples;

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let index = samples::index::index();
        let text = to_text(&IndexDocument::new(&index));
        insta::assert_snapshot!(text);
        let read = read_index("a.json", &text).unwrap();
        assert_eq!((&*read.file, &*read.machine, &*read.model), ("a.json", "5f1e", "AMD EPYC"));
        assert_eq!((read.boot.as_deref(), read.taken_at), (Some("b00t"), Some(1_795_271_405)));
        let known = |(part, figure): &(IndexPart, Reading<IndexFigure>)| Some((*part, figure.known()?.value));
        assert_eq!(read.values, index.parts.iter().filter_map(known).collect::<Vec<_>>());
        // Nothing but what the contract names.
        let parts: String = IndexPart::ALL[2..]
            .iter()
            .map(|part| format!(", \"{}\": {{\"value\": 2}}", part.name()))
            .collect();
        let least = format!(
            "{{\"fingerprint\": \"f\", \"rounds_per_second\": {{\"unknown\": \"why\"}}, \"parts\": {{\"clock_ghz\": {{\"value\": 3.5}}{parts}}}}}"
        );
        let read = read_index("b.json", &least).unwrap();
        assert_eq!((&*read.machine, &*read.model, read.values.len()), ("b.json", "f", 10));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_field() {
        let good = to_text(&IndexDocument::new(&samples::index::index()));
        let with = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            good.replacen(from, to, 1)
        };
        for (text, says) in [
            ("".to_string(), "no JSON document"),
            ("[]".into(), "no JSON object"),
            ("{}".into(), "fingerprint: missing"),
            (with("\"fingerprint\": \"dfee\"", "\"fingerprint\": 7"), "fingerprint: must be text, is `7`"),
            (with("\"parts\"", "\"part\""), "parts: missing"),
            (with("\"clock_ghz\"", "\"clock\""), "parts.clock_ghz: missing"),
            (
                with("\"value\": 3.5926", "\"value\": \"fast\""),
                "parts.clock_ghz.value: must be a number above 0, is `\"fast\"`",
            ),
            (with("\"value\": 3.5926", "\"value\": -1"), "parts.clock_ghz.value: must be a number above 0"),
            (with("\"value\": 3.5926", "\"values\": 1"), "parts.clock_ghz: must have a value"),
            (with("\"rounds_per_second\"", "\"rounds\""), "rounds_per_second: missing"),
            (with("\"taken_at\": 1795271405", "\"taken_at\": \"today\""), "taken_at: must be whole seconds"),
            (with("\"clock_ghz\": {", "\"warp_ns\": 1, \"clock_ghz\": {"), "parts.warp_ns: no such part"),
        ] {
            let why = read_index("x.json", &text).unwrap_err();
            assert!(why.starts_with(says), "{says}: {why}");
        }
    }
}
