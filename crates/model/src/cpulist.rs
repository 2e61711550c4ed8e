//! Sets of CPUs as the kernel writes them.
//!
//! Lists (`0-3,8`) and masks (`ff,ffffffff`) as in Documentation/core-api/kernel-api.rst ("bitmap_parselist",
//! "bitmap_parse"); a list of the kernel command line may have steps (`0-7:1/2`).

use std::collections::BTreeSet;

/// CPUs, or memory nodes, ascending.
pub type Set = BTreeSet<u32>;

/// Beyond the largest NR_CPUS of any distribution; keeps a malformed range from taking all memory.
const MOST: u32 = 1 << 16;

/// Parses a list such as `0-3,8` or `0-31:2/4`; `None` if it is malformed. An empty list is an empty set.
pub fn parse(list: &str) -> Option<Set> {
    let mut set = Set::new();
    for part in list.trim().split(',').filter(|_| !list.trim().is_empty()) {
        let (range, steps) = part.split_once(':').unwrap_or((part, "1/1"));
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (used, group) = steps.split_once('/')?;
        let [from, to, used, group] = [from, to, used, group].map(|n| n.trim().parse::<u32>().ok());
        let (from, to, used, group) = (from?, to?, used?, group?);
        if from > to || to >= MOST || group == 0 || used > group {
            return None;
        }
        set.extend((from..=to).filter(|cpu| (cpu - from) % group < used));
    }
    Some(set)
}

/// Formats a set as a list: `0-3,8`. The inverse of [`parse`].
pub fn to_list(set: &Set) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in set {
        match parts.last_mut() {
            Some((_, to)) if *to + 1 == cpu => *to = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Parses a hexadecimal mask such as `00ff` or `1,ffffffff`: words of 32 bits, the highest first.
pub fn parse_mask(mask: &str) -> Option<Set> {
    let mut set = Set::new();
    for (n, word) in mask.trim().split(',').rev().enumerate() {
        let bits = u32::from_str_radix(word.trim(), 16).ok()?;
        let base = u32::try_from(n).ok()? * 32;
        set.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| base + bit));
    }
    Some(set)
}

/// Formats a set as a mask in words of eight digits: `1,0000000f`. The kernel accepts it in any mask file.
pub fn to_mask(set: &Set) -> String {
    let highest = set.last().copied().unwrap_or(0) / 32;
    let word = |n: u32| (0..32).filter(|bit| set.contains(&(n * 32 + bit))).fold(0u32, |w, bit| w | 1 << bit);
    let words = (0..=highest)
        .rev()
        .map(|n| if n == highest { format!("{:x}", word(n)) } else { format!("{:08x}", word(n)) });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(cpus: &[u32]) -> Set {
        cpus.iter().copied().collect()
    }

    #[test]
    fn lists_of_the_kernel() {
        for (text, cpus) in [
            ("", vec![]),
            ("\n", vec![]),
            ("0\n", vec![0]),
            ("0-2,5", vec![0, 1, 2, 5]),
            ("0-7:1/2", vec![0, 2, 4, 6]),
            ("1-8:2/4", vec![1, 2, 5, 6]),
        ] {
            assert_eq!(parse(text), Some(set(&cpus)), "{text}");
        }
        for bad in ["a", "1,", ",1", "2-1", "0-4000000000", "0:1", "0-3:1/0", "managed_irq"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn masks_of_the_kernel() {
        assert_eq!(parse_mask("1,0000000f\n"), Some(set(&[0, 1, 2, 3, 32])));
        assert_eq!(to_mask(&set(&[0, 1, 2, 3, 32])), "1,0000000f");
        assert_eq!(to_mask(&set(&[])), "0");
        assert_eq!(parse_mask("xyz"), None);
    }

    proptest! {
        #[test]
        fn written_and_read_again(cpus in proptest::collection::btree_set(0u32..300, 0..40)) {
            prop_assert_eq!(parse(&to_list(&cpus)), Some(cpus.clone()));
            prop_assert_eq!(parse_mask(&to_mask(&cpus)), Some(cpus));
        }
    }
}
