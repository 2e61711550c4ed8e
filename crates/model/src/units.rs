//! Time and memory as distinct types, so that a second is never taken for a byte.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// From whole microseconds; saturates.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// From whole milliseconds; saturates.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// From whole seconds; saturates.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s.saturating_mul(1_000_000_000))
    }

    /// From seconds with decimals. `None` unless finite, not negative and below about 584 years.
    pub fn from_secs_f64(s: f64) -> Option<Nanos> {
        let ns = (s * 1e9).round();
        (ns.is_finite() && (0.0..u64::MAX as f64).contains(&ns)).then_some(Nanos(ns as u64))
    }

    /// In seconds, for display and for factors.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In milliseconds, for display.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Scaled by a non-negative factor; saturates.
    pub fn scale(self, factor: f64) -> Nanos {
        Nanos((self.0 as f64 * factor).round() as u64)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        self.saturating_sub(other)
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Nanos {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Duration {
        Duration::from_nanos(n.0)
    }
}

/// A number with a thin space before each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let threes: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|three| str::from_utf8(three).ok()).collect();
    threes.join("\u{202f}")
}

/// For people; `{:#}` has digits enough to tell runs apart.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 if f.alternate() => write!(f, "{} ns", self.0),
            1_000..1_000_000 if f.alternate() => write!(f, "{:.1} µs", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 if f.alternate() => write!(f, "{:.2} ms", self.as_millis_f64()),
            _ if f.alternate() => write!(f, "{:.4} s", self.as_secs_f64()),
            0..1_000_000 => write!(f, "{:.0} µs", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", self.as_millis_f64()),
            _ => write!(f, "{:.3} s", self.as_secs_f64()),
        }
    }
}

/// Size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// From KiB; saturates.
    pub const fn from_kib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1 << 10))
    }

    /// From MiB; saturates.
    pub const fn from_mib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1 << 20))
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// Whole MiB, rounded down.
    pub const fn mib(self) -> u64 {
        self.0 >> 20
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1024 => write!(f, "{} B", self.0),
            1024..1_048_576 => write!(f, "{:.1} KiB", self.0 as f64 / 1024.0),
            1_048_576..1_073_741_824 => write!(f, "{:.1} MiB", self.0 as f64 / 1_048_576.0),
            _ => write!(f, "{:.2} GiB", self.0 as f64 / 1_073_741_824.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_refused_when_they_are_no_span() {
        assert_eq!(Nanos::from_secs_f64(1.5), Some(Nanos(1_500_000_000)));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(Nanos::from_secs_f64(bad), None, "{bad}");
        }
    }

    #[test]
    fn differences_do_not_wrap() {
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
        assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes(0));
    }
}
