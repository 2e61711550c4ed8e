//! Whether a node's clock is right, by the moment at which it says it greets. On its way a greeting may be held up, by a link that is cut for a while or a
//! broker that is away, and arrive as if its clock were behind. Delays differ, a clock that is wrong is so by the same amount each time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use store::Timestamp;

/// How far a node's clock may be from the service's, in microseconds: what it states is put in order by it.
const APART_US: i64 = 5_000_000;
/// No greeting is held up for so long, in microseconds: connections that are silent are given up before.
const HELD_UP_US: i64 = 300_000_000;
/// Greetings that are compared are apart by so much at least, in microseconds; if they are held up together, their delays differ by that.
const BETWEEN_US: i64 = 1_000_000;
/// And those of a clock that is wrong agree to this, in microseconds.
const ALIKE_US: i64 = 500_000;

/// How a clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// As the service's.
    Right,
    /// Ahead of the service's by so many microseconds, or behind.
    Wrong(i64),
    /// Behind, or the greeting was held up.
    Unclear,
}

/// The last greeting of each node that seemed to come by a clock that is behind: when it was sent by that, and by how much.
#[derive(Debug, Default)]
pub(super) struct Clocks(Mutex<HashMap<String, (i64, i64)>>);

impl Clocks {
    /// A greeting was sent at that moment by the clock of its node, and is here now.
    pub(super) fn look(&self, node: &str, sent: Timestamp, now: Timestamp) -> Clock {
        let away = sent.0.saturating_sub(now.0);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if away >= -APART_US {
            all.remove(node);
            return if away > APART_US { Clock::Wrong(away) } else { Clock::Right };
        }
        let before = all.get(node).copied();
        let alike = |(at, before): (i64, i64)| {
            sent.0.saturating_sub(at) >= BETWEEN_US && (away - before).abs() <= ALIKE_US
        };
        // One that comes soon after says nothing new: the next is compared to the one before.
        if before.is_none_or(|(at, _)| sent.0.saturating_sub(at) >= BETWEEN_US || sent.0 < at) {
            all.insert(node.to_string(), (sent.0, away));
        }
        match away < -HELD_UP_US || before.is_some_and(alike) {
            true => Clock::Wrong(away),
            false => Clock::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greetings, each with the second it was sent at by its node's clock and that it came at: how the clock is by each.
    fn by(greetings: &[(f64, f64)]) -> Vec<Clock> {
        let clocks = Clocks::default();
        let micros = |seconds: &f64| (seconds * 1e6) as i64;
        let look =
            |(sent, came): &(f64, f64)| clocks.look("a", Timestamp(micros(sent)), Timestamp(micros(came)));
        greetings.iter().map(look).collect()
    }

    #[test]
    fn what_is_held_up_is_no_wrong_clock() {
        use Clock::{Right, Unclear, Wrong};
        assert_eq!(by(&[(1000.0, 1000.1), (1002.0, 1006.9)]), [Right, Right]);
        // A link is cut for nine seconds, and then all comes at once: twice the same, and what was sent meanwhile.
        assert_eq!(
            by(&[(1000.0, 1009.0), (1000.0, 1009.0), (1002.0, 1009.0), (1003.5, 1009.0), (1010.0, 1010.0)]),
            [Unclear, Unclear, Unclear, Unclear, Right]
        );
        // Behind by a minute; told as often as it comes.
        let minute = Wrong(-60_000_000);
        assert_eq!(
            by(&[(1000.0, 1060.0), (1000.2, 1060.2), (1002.0, 1062.0), (1004.0, 1064.0)]),
            [Unclear, Unclear, minute, minute]
        );
        // Set right, and wrong again.
        assert_eq!(
            by(&[(1000.0, 1060.0), (1062.0, 1062.0), (1004.0, 1064.0), (1006.0, 1066.0)]),
            [Unclear, Right, Unclear, minute]
        );
        // Nothing is held up for an hour, and nothing comes before it is sent.
        assert_eq!(by(&[(1000.0, 4600.0)]), [Wrong(-3_600_000_000)]);
        assert_eq!(by(&[(1042.0, 1000.0)]), [Wrong(42_000_000)]);
    }
}
