use super::table::generations;
use super::*;
use model::OffcoreMask;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

fn of(name: &str) -> &'static Generation {
    generation(name).unwrap_or_else(|| panic!("a generation {name}"))
}

/// Generation, mask, its name, and what of its notation for perf.
fn check(name: &str, mask: u64, called: &str) -> OffcoreMask {
    let decoded = decode(of(name), mask);
    assert_eq!(decoded.why, None, "{name} {mask:#x}");
    assert_eq!(decoded.name.as_deref(), Some(called), "{name} {mask:#x}");
    decoded
}

#[test]
fn any_request_answered_by_remote_memory_on_nehalem() {
    let words = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    assert_eq!(encode(of("nehalem"), &words(&["ANY_REQUEST"]), &words(&["REMOTE_DRAM"])), Ok(0x20ff));
    let decoded = check("nehalem", 0x20ff, "ANY_REQUEST.REMOTE_DRAM");
    assert_eq!(decoded.request.len(), 8);
    assert_eq!(decoded.response, ["REMOTE_DRAM"]);
    assert_eq!(decoded.events, ["OFFCORE_RESPONSE_0.ANY_REQUEST.REMOTE_DRAM"]);
    assert_eq!(
        decoded.perf,
        ["cpu/event=0xb7,umask=0x1,offcore_rsp=0x20ff/", "cpu/config=0x1b7,config1=0x20ff/"]
    );
    let likwid = decoded.likwid.known().expect("LIKWID knows Nehalem");
    assert_eq!(*likwid, ["OFFCORE_RESPONSE_0_OPTIONS:PMC0:MATCH0=0xff:MATCH1=0x20"]);
}

/// The masks of the reference tables: intel/perfmon and numatop.
#[test]
fn masks_of_the_reference() {
    for (name, mask, called) in [
        ("nehalem", 0x4001, "DEMAND_DATA_RD.LOCAL_DRAM"),
        ("nehalem", 0x2011, "ANY_DATA.REMOTE_DRAM"),
        ("westmere", 0x2011, "ANY_DATA.REMOTE_DRAM"),
        ("westmere", 0x5011, "ANY_DATA.ALL_LOCAL_DRAM_AND_REMOTE_CACHE_HIT"),
        ("sandybridge-ep", 0x6_0040_0001, "DEMAND_DATA_RD.LLC_MISS.LOCAL_DRAM"),
        ("sandybridge-ep", 0x6_7f80_0001, "DEMAND_DATA_RD.LLC_MISS.REMOTE_DRAM"),
        ("ivybridge-ep", 0x6_7f80_0001, "DEMAND_DATA_RD.LLC_MISS.REMOTE_DRAM"),
        ("haswellx", 0x6_0040_0001, "DEMAND_DATA_RD.LLC_MISS.LOCAL_DRAM"),
        ("haswellx", 0x6_3f80_0091, "ALL_DATA_RD.LLC_MISS.REMOTE_DRAM"),
        ("broadwellx", 0x6_0400_0091, "ALL_DATA_RD.LLC_MISS.LOCAL_DRAM"),
        ("broadwellx", 0x6_3bc0_0091, "ALL_DATA_RD.LLC_MISS.REMOTE_DRAM"),
        ("skylakex", 0x6_0400_0001, "DEMAND_DATA_RD.L3_MISS_LOCAL_DRAM.SNOOP_MISS_OR_NO_FWD"),
        ("skylakex", 0x6_3b80_0001, "DEMAND_DATA_RD.L3_MISS_REMOTE_DRAM.SNOOP_MISS_OR_NO_FWD"),
        ("cascadelakex", 0x6_3b80_0001, "DEMAND_DATA_RD.L3_MISS_REMOTE_DRAM.SNOOP_MISS_OR_NO_FWD"),
        ("icelakex", 0x1_0400_0001, "DEMAND_DATA_RD.LOCAL_DRAM"),
        ("icelakex", 0x7_3000_0001, "DEMAND_DATA_RD.REMOTE_DRAM"),
        ("icelakex", 0x7_3c00_0001, "DEMAND_DATA_RD.DRAM"),
        ("icelakex", 0x7_0800_0001, "DEMAND_DATA_RD.SNC_DRAM"),
        ("sapphirerapids", 0x1_0400_0001, "DEMAND_DATA_RD.LOCAL_DRAM"),
        ("sapphirerapids", 0x7_3000_0001, "DEMAND_DATA_RD.REMOTE_DRAM"),
        ("emeraldrapids", 0x7_3000_0001, "DEMAND_DATA_RD.REMOTE_DRAM"),
        ("graniterapids", 0x7_3000_0001, "DEMAND_DATA_RD.REMOTE_DRAM"),
        ("zen2", 0x0843, "ls_refills_from_sys.ls_mabresp_lcl_dram"),
        ("zen2", 0x4043, "ls_refills_from_sys.ls_mabresp_rmt_dram"),
        ("zen3", 0x0844, "ls_any_fills_from_sys.mem_io_local"),
        ("zen3", 0x4044, "ls_any_fills_from_sys.mem_io_remote"),
        ("zen4", 0x4044, "ls_any_fills_from_sys.dram_io_far"),
        ("zen5", 0x0843, "ls_dmnd_fills_from_sys.dram_io_near"),
        ("zen5", 0xff44, "ls_any_fills_from_sys.all"),
    ] {
        check(name, mask, called);
    }
}

#[test]
fn unit_masks_of_amd_stand_for_the_usual_event() {
    let decoded = check("zen4", 0x40, "ls_any_fills_from_sys.dram_io_far");
    assert_eq!(decoded.mask, 0x4044);
    assert_eq!(decoded.perf, ["cpu/event=0x44,umask=0x40/", "r4044"]);
    assert_eq!(decoded.likwid.known().unwrap()[..], ["ANY_DATA_CACHE_FILLS_DRAM_IO_FAR:PMC0"]);
    check("zen2", 0x40, "ls_refills_from_sys.ls_mabresp_rmt_dram");
}

#[test]
fn what_counts_nothing_says_why() {
    for (name, mask, why) in [
        ("nehalem", 0x2000, "no request bit"),
        ("nehalem", 0x00ff, "no response bit"),
        ("nehalem", 0x1_20ff, "bit 16 is reserved on Nehalem"),
        ("sandybridge", 0x1_0000, "no request bit"),
        ("sandybridge", 0x0001, "neither a supplier bit and a snoop bit"),
        ("sandybridge", 0x40_0001, "no snoop bit"),
        ("sandybridge", 0x2_0000_0001, "no supplier bit"),
        // Remote memory is for processors with several packages.
        ("sandybridge", 0x6_7f80_0001, "bits 23, 24, 25, 26, 27, 28, 29, 30 are reserved"),
        ("skylakex", 0x1_7001, "bits 12, 13, 14 are reserved"),
        ("sapphirerapids", 0x40_0001_0001, "bit 38 is reserved"),
        ("zen3", 0, "its unit mask is empty"),
        ("zen3", 0x0876, "0x76 is not an event of this kind"),
        ("zen3", 0x2844, "bit 13 is reserved"),
        ("zen2", 0x0844, "0x44 is not an event of this kind"),
    ] {
        let decoded = decode(of(name), mask);
        let given = decoded.why.clone().unwrap_or_default();
        assert!(given.contains(why), "{name} {mask:#x}: {given}");
        assert_eq!((decoded.name, decoded.perf.len(), decoded.likwid.known()), (None, 0, None));
    }
    // With the bit for any response, suppliers and snoops do not matter.
    assert_eq!(decode(of("sandybridge"), 0x41_0001).why, None);
}

#[test]
fn every_published_event_is_decoded_to_its_name_and_counts() {
    let mut all = 0;
    for g in generations() {
        for row in &g.events {
            for (request, r) in &row.requests {
                for (response, s) in &row.responses {
                    let decoded = decode(g, r | s);
                    let event: Vec<&str> =
                        g.prefix.iter().map(|p| &**p).chain([&**request, &**response]).collect();
                    assert!(decoded.events.contains(&event.join(".")), "{} {event:?}", g.id);
                    assert_eq!(decoded.why, None, "{} {event:?}", g.id);
                    let back = encode(g, from_ref(request), from_ref(response));
                    assert_eq!(back, Ok(r | s), "{} {event:?}", g.id);
                    all += 1;
                }
            }
        }
    }
    // The vendors' own lists have so many; a table that lost rows would have fewer.
    assert_eq!(all, 3_750);
}

#[test]
fn the_tables_hold_together() {
    let mut names = BTreeSet::new();
    for g in generations() {
        for name in [&g.id].into_iter().chain(&g.aliases) {
            assert_eq!(generation(name).map(|found| &found.id), Some(&g.id), "{name}");
            assert!(names.insert(name.clone()), "{name} twice");
        }
        assert!(!g.sources.is_empty() && !g.codes.is_empty(), "{}", g.id);
        let bits = [g.request_bits(), g.response_bits()].concat();
        let masks: BTreeSet<u64> = bits.iter().map(|(_, mask)| *mask).collect();
        assert_eq!(masks.len(), bits.len(), "{}: a bit with two names", g.id);
        let low = g.request_part();
        assert!(g.response_bits().iter().all(|(_, mask)| mask & low == 0), "{}", g.id);
        // A name of a bit is that of no sum: both could not be told apart.
        let single: BTreeMap<&str, u64> = bits.iter().copied().collect();
        for (name, mask) in g.events.iter().flat_map(|row| row.requests.iter().chain(&row.responses)) {
            assert!(single.get(&**name).is_none_or(|bit| bit == mask), "{}: {name}", g.id);
        }
        let numa = g.numa;
        for part in [Some(numa.local_dram), numa.remote_dram].into_iter().flatten() {
            let decoded = decode(g, part | numa.any_request);
            assert_eq!(decoded.why, None, "{} {part:#x}", g.id);
            assert!(decoded.name.is_some(), "{} {part:#x}", g.id);
        }
    }
}

#[test]
fn processors_have_their_generation() {
    for (vendor, family, model, stepping, id) in [
        ("GenuineIntel", 6, 26, 5, Some("nehalem")),
        ("GenuineIntel", 6, 85, 4, Some("skylakex")),
        ("GenuineIntel", 6, 85, 7, Some("cascadelakex")),
        ("GenuineIntel", 6, 106, 6, Some("icelakex")),
        ("GenuineIntel", 6, 87, 1, None),
        ("AuthenticAMD", 23, 1, 2, Some("zen")),
        ("AuthenticAMD", 23, 49, 0, Some("zen2")),
        ("AuthenticAMD", 25, 1, 1, Some("zen3")),
        ("AuthenticAMD", 25, 17, 1, Some("zen4")),
        ("AuthenticAMD", 26, 2, 1, Some("zen5")),
        ("AuthenticAMD", 6, 26, 5, None),
    ] {
        let found = of_processor(vendor, family, model, stepping).map(|g| &*g.id);
        assert_eq!(found, id, "{vendor} {family}-{model}-{stepping}");
    }
    assert_eq!(generation("Sandy Bridge-EP").map(|g| &*g.id), Some("sandybridge-ep"));
    assert_eq!(generation("skylake-SP").map(|g| &*g.id), Some("skylakex"));
    assert!(generation("pentium").is_none());
}

#[test]
fn names_that_are_not_known_list_those_that_are() {
    let words = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    let error =
        encode(of("nehalem"), &words(&["ANY_REQUEST"]), &words(&["FAR_DRAM"])).unwrap_err().to_string();
    assert!(
        error.starts_with("Nehalem has no response `FAR_DRAM`") && error.contains("REMOTE_DRAM"),
        "{error}"
    );
    let error =
        encode(of("icelakex"), &words(&["demand_code_rd", "OTHER"]), &words(&["L3_HIT"])).unwrap_err();
    assert!(matches!(&error, EncodeError::Ambiguous { name, .. } if name == "L3_HIT"), "{error}");
    let two = words(&["ls_any_fills_from_sys", "ls_dmnd_fills_from_sys"]);
    assert!(matches!(encode(of("zen4"), &two, &[]), Err(EncodeError::OneRequest { n: 2, .. })));
    // The same words everywhere, and the last part of a name.
    for (name, mask) in
        [("westmere", 0x20ff), ("haswellx", 0x6_3f80_8fff), ("skylakex", 0x6_3b80_8fff), ("zen5", 0x4044)]
    {
        assert_eq!(encode(of(name), &words(&["any_request"]), &words(&["remote_dram"])), Ok(mask), "{name}");
    }
}

#[test]
fn likwid_gets_only_what_it_passes_on() {
    let likwid = |name: &str, mask: u64| decode(of(name), mask).likwid;
    assert_eq!(
        likwid("skylakex", 0x6_3b80_0001).known().unwrap()[..],
        [
            "OFFCORE_RESPONSE_0_OPTIONS:PMC0:MATCH0=0x1:MATCH1=0x63b80",
            "OFFCORE_RESPONSE_1_OPTIONS:PMC1:MATCH0=0x1:MATCH1=0x63b80"
        ]
    );
    assert!(likwid("icelakex", 0x7_3000_0001).known().is_some());
    // READS_TO_CORE has bit 6.
    assert_eq!(likwid("icelakex", 0x7_3000_0477).known(), None);
    assert_eq!(likwid("sapphirerapids", 0x7_3000_0001).known(), None);
    assert_eq!(likwid("zen3", 0x1444).known(), None);
}

#[test]
fn masks_as_people_write_them() {
    for (text, mask) in
        [("0x20ff", 0x20ff), ("0X20FF", 0x20ff), (" 8447 ", 8447), ("0x6_7f80_0001", 0x6_7f80_0001)]
    {
        assert_eq!(parse_mask(text), Ok(mask), "{text}");
    }
    for text in ["", "20ff", "0x", "0xg", "-1", "0x1_0000_0000_0000_0000"] {
        assert!(parse_mask(text).unwrap_err().contains(text), "{text}");
    }
}

/// A generation and names of single bits, so that the mask counts something.
fn valid() -> impl Strategy<Value = (usize, Vec<String>, Vec<String>)> {
    let all = generations();
    (0..all.len()).prop_flat_map(move |n| {
        let g = &all[n];
        let names =
            |bits: Vec<(&str, u64)>| bits.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        let own = |table: &BTreeMap<String, u32>| table.keys().cloned().collect::<Vec<_>>();
        let (requests, responses) = (names(g.request_bits()), names(g.response_bits()));
        let most = if g.rule == Rule::UnitMask { 1 } else { requests.len() };
        let some = |of: Vec<String>, most: usize| proptest::sample::subsequence(of, 1..=most);
        let response = match g.rule {
            Rule::SupplierAndSnoop => {
                let (supplier, snoop) = (own(&g.supplier), own(&g.snoop));
                let (p, q) = (supplier.len(), snoop.len());
                let both = (some(supplier, p), some(snoop, q)).prop_map(|(a, b)| [a, b].concat());
                let any = own(&g.any);
                let count = responses.len();
                let with_any = proptest::sample::subsequence(responses, 0..=count)
                    .prop_map(move |r| [r, any.clone()].concat());
                prop_oneof![3 => both, 1 => with_any].boxed()
            }
            _ => {
                let count = responses.len();
                some(responses, count).boxed()
            }
        };
        (Just(n), some(requests, most), response)
    })
}

proptest! {
    #[test]
    fn decoded_is_what_was_encoded((n, requests, responses) in valid()) {
        let g = &generations()[n];
        let mask = encode(g, &requests, &responses).unwrap();
        let decoded = decode(g, mask);
        prop_assert_eq!(&decoded.why, &None);
        prop_assert_eq!(decoded.mask, mask);
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(set(&decoded.request), set(&requests));
        prop_assert_eq!(set(&decoded.response), set(&responses));
        prop_assert_eq!(encode(g, &decoded.request, &decoded.response), Ok(mask));
        let mask_in_perf = format!("{mask:x}");
        prop_assert!(decoded.perf[1].contains(&mask_in_perf));
    }

    #[test]
    fn whatever_the_mask_it_is_said_what_it_is(n in 0..25usize, mask: u64) {
        let g = &generations()[n];
        let decoded = decode(g, mask);
        prop_assert_eq!(decoded.is_valid(), !decoded.perf.is_empty());
        if mask & !g.known() & !0xff != 0 && decoded.events.is_empty() {
            prop_assert!(!decoded.is_valid());
        }
    }
}
