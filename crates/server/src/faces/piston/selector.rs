//! Versions and what selects them, as far as clients of Piston use it: the ranges of node-semver
//! (<https://github.com/npm/node-semver>, "Ranges") without pre-releases.

use std::fmt;

/// Three numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version([u64; 3]);

impl Version {
    /// The first three numbers of a text; what is missing is 0.
    pub(super) fn parse(text: &str) -> Version {
        let mut numbers = text.split('.').map_while(|part| part.parse().ok());
        Version([0; 3].map(|_: u64| numbers.next().unwrap_or(0)))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0[0], self.0[1], self.0[2])
    }
}

/// Alternatives, each of bounds that all hold: from the first version, up to and without the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector(Vec<Vec<(Version, Option<Version>)>>);

impl Selector {
    /// Reads a selector; `None` where it is none.
    pub(super) fn parse(text: &str) -> Option<Selector> {
        let alternative = |text: &str| text.split_whitespace().map(bounds).collect::<Option<Vec<_>>>();
        text.split("||").map(alternative).collect::<Option<Vec<_>>>().map(Selector)
    }

    /// Whether it takes a version.
    pub(super) fn takes(&self, version: Version) -> bool {
        let within =
            |(from, to): &(Version, Option<Version>)| *from <= version && to.is_none_or(|to| version < to);
        self.0.iter().any(|all| all.iter().all(within))
    }
}

/// What one part asks for.
fn bounds(part: &str) -> Option<(Version, Option<Version>)> {
    const SIGNS: [&str; 7] = [">=", "<=", ">", "<", "^", "~", "="];
    let sign = SIGNS.into_iter().find(|sign| part.starts_with(sign)).unwrap_or("");
    let text = &part[sign.len()..];
    let text = text.strip_prefix('v').unwrap_or(text);
    let free = |part: &&str| matches!(*part, "x" | "X" | "*");
    let stated: Vec<&str> = text.split('.').take_while(|part| !free(part)).collect();
    let parts = text.split('.').count();
    if parts > 3 || text.split('.').skip(stated.len()).any(|part| !free(&part)) {
        return None;
    }
    let numbers = stated.iter().map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    let from = Version([at(0), at(1), at(2)]);
    // The first version behind all that agree with this one in so many numbers.
    let behind = |count: usize| {
        let place = count.checked_sub(1)?;
        let mut next = [0; 3];
        next[..count].copy_from_slice(&from.0[..count]);
        next[place] = next[place].checked_add(1)?;
        Some(Version(next))
    };
    let all = numbers.len();
    let caret = || from.0.iter().take(all).position(|number| *number != 0).map_or(all, |place| place + 1);
    Some(match sign {
        ">=" => (from, None),
        ">" => (behind(all).unwrap_or(Version([u64::MAX; 3])), None),
        "<" => (Version::default(), Some(from)),
        "<=" => (Version::default(), behind(all)),
        "^" => (from, behind(caret())),
        "~" => (from, behind(all.min(2))),
        _ => (from, behind(all)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn selectors_take_what_they_should() {
        for (selector, takes, not) in [
            ("3.11.7", &["3.11.7"][..], &["3.11.6", "3.11.8", "3.12.7"][..]),
            ("=3.11.7", &["3.11.7"], &["3.11.8"]),
            ("v3.11", &["3.11.0", "3.11.9"], &["3.12.0", "3.10.9"]),
            ("3", &["3.0.0", "3.99.1"], &["2.9.9", "4.0.0"]),
            ("3.x", &["3.1.2"], &["4.0.0"]),
            ("3.11.*", &["3.11.2"], &["3.12.0"]),
            ("*", &["0.0.0", "99.1.1"], &[]),
            ("", &["1.2.3"], &[]),
            (">=3.10", &["3.10.0", "4.0.0"], &["3.9.9"]),
            (">3.10", &["3.11.0"], &["3.10.5"]),
            ("<4", &["3.99.0"], &["4.0.0"]),
            ("<=3.11", &["3.11.9"], &["3.12.0"]),
            (">=3.10 <3.12", &["3.10.0", "3.11.9"], &["3.12.0", "3.9.0"]),
            ("2.x || 3.11.x", &["2.1.0", "3.11.1"], &["3.10.0"]),
            ("^1.2.3", &["1.2.3", "1.9.0"], &["2.0.0", "1.2.2"]),
            ("^0.2.3", &["0.2.9"], &["0.3.0"]),
            ("~1.2.3", &["1.2.9"], &["1.3.0", "1.2.2"]),
        ] {
            let parsed = Selector::parse(selector).unwrap_or_else(|| panic!("{selector}"));
            takes
                .iter()
                .for_each(|version| assert!(parsed.takes(Version::parse(version)), "{selector} {version}"));
            not.iter()
                .for_each(|version| assert!(!parsed.takes(Version::parse(version)), "{selector} {version}"));
        }
        for none in ["latest", "1.2.3.4", "1.x.3", "1..2", "-1", "1.2-3", ">=", "^"] {
            assert_eq!(Selector::parse(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn a_version_selects_itself(a: u64, b: u64, c in 0..u64::MAX) {
            let version = Version([a, b, c]);
            for sign in ["", "=", ">=", "<="] {
                let selector = Selector::parse(&format!("{sign}{version}")).unwrap();
                prop_assert!(selector.takes(version));
            }
        }

        #[test]
        fn a_selector_or_itself_takes_the_same(text in "[\\^~<>=vx*.0-9 ]{1,12}", a in 0u64..4, b in 0u64..4, c in 0u64..4) {
            let version = Version([a, b, c]);
            let takes = |text: &str| Selector::parse(text).map(|selector| selector.takes(version));
            prop_assert_eq!(takes(&text), takes(&format!("{text} || {text}")));
        }
    }
}
