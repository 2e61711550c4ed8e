//! Masks put together from names.

use super::table::{Generation, Names, Row, Rule};
use std::collections::BTreeSet;

/// Why names make no mask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The generation has no such name.
    #[error("{generation} has no {part} `{name}`\nhint: it has {known}")]
    Unknown {
        /// The generation's name.
        generation: String,
        /// `request` or `response`.
        part: &'static str,
        /// What was asked for.
        name: String,
        /// All that there are.
        known: String,
    },
    /// The vendor uses the name for several sums of bits.
    #[error(
        "`{name}` stands for several masks on {generation} ({masks}), depending on the request\n\
         hint: name the bits instead"
    )]
    Ambiguous {
        /// The generation's name.
        generation: String,
        /// What was asked for.
        name: String,
        /// What it stands for.
        masks: String,
    },
    /// AMD's requests are events, of which a counter has one.
    #[error("{generation} counts one event at a time, not {n}\nhint: name one request")]
    OneRequest {
        /// The generation's name.
        generation: String,
        /// How many were named.
        n: usize,
    },
}

/// Puts a mask together from names of requests and of responses: bits, sums the vendor has a name for, the last part of such a
/// name where it is unmistakable, and ANY_REQUEST, LOCAL_DRAM and REMOTE_DRAM on every generation that can tell them. Capitals make no
/// difference. Whether the mask counts anything is for [`super::decode`] to say.
///
/// # Errors
/// A name is not known, or stands for several masks.
pub fn encode(
    generation: &Generation,
    requests: &[String],
    responses: &[String],
) -> Result<u64, EncodeError> {
    if generation.rule == Rule::UnitMask && requests.len() > 1 {
        return Err(EncodeError::OneRequest { generation: generation.name.clone(), n: requests.len() });
    }
    if let ([request], [response]) = (requests, responses)
        && let Some(mask) = published(generation, request, response)
    {
        return Ok(mask);
    }
    let sum = |names: &[String], part: &Part| {
        names.iter().try_fold(0, |mask, name| Ok(mask | one(generation, part, name)?))
    };
    let request = sum(requests, &Part::requests(generation))?;
    Ok(request | sum(responses, &Part::responses(generation, Some(request)))?)
}

/// The mask of the event of this name. Vendors use some names for several sums of bits, and never within one event.
fn published(generation: &Generation, request: &str, response: &str) -> Option<u64> {
    let of = |names: &Names, name: &str| {
        names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, mask)| *mask)
    };
    generation.events.iter().find_map(|row| Some(of(&row.requests, request)? | of(&row.responses, response)?))
}

/// All names of requests that [`encode`] knows.
pub fn request_names(generation: &Generation) -> Vec<String> {
    Part::requests(generation).names()
}

/// All names of responses that [`encode`] knows.
pub fn response_names(generation: &Generation) -> Vec<String> {
    Part::responses(generation, None).names()
}

/// The names of one part of a mask, those first that are looked at first.
struct Part<'a> {
    what: &'static str,
    tiers: [Vec<(&'a str, u64)>; 4],
}

impl<'a> Part<'a> {
    fn requests(generation: &'a Generation) -> Part<'a> {
        let rows = generation.events.iter().flat_map(|row| named(&row.requests));
        let own = vec![("ANY_REQUEST", generation.numa.any_request)];
        let summed = rows.chain(named(&generation.groups.request)).collect();
        Part { what: "request", tiers: [generation.request_bits(), Vec::new(), summed, own] }
    }

    /// `with`: what is published with this request comes before what is published with others.
    fn responses(generation: &'a Generation, with: Option<u64>) -> Part<'a> {
        let numa = generation.numa;
        let meant = |row: &&Row| with.is_some_and(|request| row.requests.values().any(|v| *v == request));
        let of = |row: &'a Row| named(&row.responses);
        let own = [Some(("LOCAL_DRAM", numa.local_dram)), numa.remote_dram.map(|mask| ("REMOTE_DRAM", mask))];
        Part {
            what: "response",
            tiers: [
                generation.response_bits(),
                generation.events.iter().filter(meant).flat_map(of).collect(),
                generation.events.iter().flat_map(of).chain(named(&generation.groups.response)).collect(),
                own.into_iter().flatten().collect(),
            ],
        }
    }

    fn names(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let all = self.tiers.iter().flatten();
        all.filter(|(name, _)| seen.insert(*name)).map(|(name, _)| name.to_string()).collect()
    }
}

fn named(names: &Names) -> impl Iterator<Item = (&str, u64)> {
    names.iter().map(|(name, mask)| (&**name, *mask))
}

fn one(generation: &Generation, part: &Part<'_>, name: &str) -> Result<u64, EncodeError> {
    let whole = |known: &str| known.eq_ignore_ascii_case(name);
    let last = |known: &str| known.rsplit('.').next().is_some_and(whole);
    let masks = |tier: &[(&str, u64)], same: &dyn Fn(&str) -> bool| -> BTreeSet<u64> {
        tier.iter().filter(|(known, _)| same(known)).map(|(_, mask)| *mask).collect()
    };
    let exact = part.tiers.iter().map(|tier| masks(tier, &whole));
    let found = exact.chain(part.tiers.iter().map(|tier| masks(tier, &last))).find(|masks| !masks.is_empty());
    let generation_name = || generation.name.clone();
    let found = found.ok_or_else(|| EncodeError::Unknown {
        generation: generation_name(),
        part: part.what,
        name: name.to_string(),
        known: part.names().join(", "),
    })?;
    match found.first() {
        Some(mask) if found.len() == 1 => Ok(*mask),
        _ => Err(EncodeError::Ambiguous {
            generation: generation_name(),
            name: name.to_string(),
            masks: found.iter().map(|mask| format!("{mask:#x}")).collect::<Vec<_>>().join(", "),
        }),
    }
}
