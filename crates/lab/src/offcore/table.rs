//! The tables of offcore masks, one for each generation of processors: data, with their sources named in them.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a mask must have so that it counts anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A request bit and a response bit (Nehalem, Westmere).
    RequestAndResponse,
    /// A request bit, and either the bit for any response, or a supplier bit and a snoop bit (Sandy Bridge and later; Intel SDM
    /// volume 3B, off-core response performance monitoring).
    SupplierAndSnoop,
    /// An event's code, and a bit of its unit mask (AMD).
    UnitMask,
}

/// Names and the bits, or sums of bits, they stand for.
pub(super) type Names = BTreeMap<String, u64>;

/// A generation of processors that share their masks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Lower case, such as `nehalem`.
    pub id: String,
    /// For people.
    pub name: String,
    /// What else it is called.
    pub aliases: Vec<String>,
    /// As /proc/cpuinfo has it.
    pub vendor: String,
    /// Likewise.
    pub family: u32,
    /// Likewise: first and last of each range.
    pub models: Vec<[u32; 2]>,
    /// Likewise, where a model is of two generations.
    pub steppings: Option<[u32; 2]>,
    /// Where the table comes from, in words.
    pub sources: Vec<String>,
    /// What a mask must have.
    pub rule: Rule,
    /// Codes of the events: one for each register, or for AMD all whose unit mask has this form, the usual one first.
    pub codes: Vec<u64>,
    /// How the vendor's names of events begin; none for AMD, where the request is the beginning.
    pub(super) prefix: Option<String>,
    pub(super) likwid: Option<Likwid>,
    #[serde(default)]
    pub(super) likwid_events: BTreeMap<String, String>,
    /// What is compared when it is asked where requests are answered.
    pub numa: Numa,
    /// Bits of the request part, or codes for AMD.
    pub(super) request: BTreeMap<String, u64>,
    #[serde(default)]
    pub(super) response: BTreeMap<String, u32>,
    #[serde(default)]
    pub(super) any: BTreeMap<String, u32>,
    #[serde(default)]
    pub(super) supplier: BTreeMap<String, u32>,
    #[serde(default)]
    pub(super) snoop: BTreeMap<String, u32>,
    #[serde(default)]
    pub(super) groups: Groups,
    pub(super) events: Vec<Row>,
}

/// Parts of masks by which own and foreign memory are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numa {
    /// Every request; for AMD the event that counts most of them.
    pub any_request: u64,
    /// Answered by memory of the core's own node.
    pub local_dram: u64,
    /// Answered by memory of another node; `None` for processors of single packages.
    pub remote_dram: Option<u64>,
}

/// The bits LIKWID passes on in MATCH0 and MATCH1, and where those of MATCH1 begin.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Likwid {
    pub(super) request: u64,
    pub(super) response: u64,
    pub(super) shift: u32,
}

/// Names of sums of bits that no event has.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Groups {
    #[serde(default)]
    pub(super) request: Names,
    #[serde(default)]
    pub(super) response: Names,
}

/// Published events: each request with each response.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) requests: Names,
    pub(super) responses: Names,
}

const TABLES: [&str; 25] = [
    include_str!("../../data/offcore/nehalem.toml"),
    include_str!("../../data/offcore/westmere.toml"),
    include_str!("../../data/offcore/westmere-sp.toml"),
    include_str!("../../data/offcore/westmere-ex.toml"),
    include_str!("../../data/offcore/sandybridge.toml"),
    include_str!("../../data/offcore/sandybridge-ep.toml"),
    include_str!("../../data/offcore/ivybridge.toml"),
    include_str!("../../data/offcore/ivybridge-ep.toml"),
    include_str!("../../data/offcore/haswell.toml"),
    include_str!("../../data/offcore/haswellx.toml"),
    include_str!("../../data/offcore/broadwell.toml"),
    include_str!("../../data/offcore/broadwellx.toml"),
    include_str!("../../data/offcore/skylake.toml"),
    include_str!("../../data/offcore/skylakex.toml"),
    include_str!("../../data/offcore/cascadelakex.toml"),
    include_str!("../../data/offcore/icelake.toml"),
    include_str!("../../data/offcore/icelakex.toml"),
    include_str!("../../data/offcore/sapphirerapids.toml"),
    include_str!("../../data/offcore/emeraldrapids.toml"),
    include_str!("../../data/offcore/graniterapids.toml"),
    include_str!("../../data/offcore/zen.toml"),
    include_str!("../../data/offcore/zen2.toml"),
    include_str!("../../data/offcore/zen3.toml"),
    include_str!("../../data/offcore/zen4.toml"),
    include_str!("../../data/offcore/zen5.toml"),
];

/// All generations, each vendor's in the order in which they appeared.
pub fn generations() -> &'static [Generation] {
    // The tables are part of the binary, and a test reads each of them.
    static READ: LazyLock<Vec<Generation>> = LazyLock::new(|| {
        TABLES.iter().map(|table| toml::from_str(table).expect("a table of masks")).collect()
    });
    &READ
}

/// The generation of this name; capitals, spaces, `-` and `_` make no difference.
pub fn generation(name: &str) -> Option<&'static Generation> {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let called =
        |g: &&Generation| [&g.id, &g.name].into_iter().chain(&g.aliases).any(|name| plain(name) == wanted);
    generations().iter().find(called)
}

/// The generation of a processor, from vendor, family, model and stepping as /proc/cpuinfo has them.
pub fn of_processor(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<&'static Generation> {
    let within = |[first, last]: [u32; 2], n: u32| (first..=last).contains(&n);
    generations().iter().find(|g| {
        g.vendor == vendor
            && g.family == family
            && g.models.iter().any(|range| within(*range, model))
            && g.steppings.is_none_or(|range| within(range, stepping))
    })
}

impl Generation {
    /// The bits that say which request, as one mask.
    pub(super) fn request_part(&self) -> u64 {
        match self.rule {
            Rule::SupplierAndSnoop => 0xffff,
            Rule::RequestAndResponse | Rule::UnitMask => 0xff,
        }
    }

    /// Single bits of the response part: name and mask, from the lowest.
    pub(super) fn response_bits(&self) -> Vec<(&str, u64)> {
        let tables = [&self.response, &self.any, &self.supplier, &self.snoop];
        let mut bits: Vec<(&str, u64)> =
            tables.into_iter().flatten().map(|(name, bit)| (&**name, 1 << bit)).collect();
        bits.sort_by_key(|(_, mask)| *mask);
        bits
    }

    /// Requests that need no sum: single bits, or codes for AMD; from the lowest.
    pub(crate) fn request_bits(&self) -> Vec<(&str, u64)> {
        let mask = |value: u64| if self.rule == Rule::UnitMask { value } else { 1 << value };
        let mut bits: Vec<(&str, u64)> = self.request.iter().map(|(n, v)| (&**n, mask(*v))).collect();
        bits.sort_by_key(|(_, mask)| *mask);
        bits
    }

    /// Every bit that has a meaning.
    pub(super) fn known(&self) -> u64 {
        self.request_bits().iter().chain(&self.response_bits()).fold(0, |all, (_, mask)| all | mask)
    }

    pub(super) fn sum(bits: &BTreeMap<String, u32>) -> u64 {
        bits.values().fold(0, |all, bit| all | 1 << bit)
    }
}
