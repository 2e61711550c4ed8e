//! The service's clock.

use crate::errors::Refusal;
use std::time::{SystemTime, UNIX_EPOCH};
use store::Timestamp;

/// Now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A moment as RFC 3339 writes it, in UTC, to the microsecond.
pub(crate) fn to_rfc3339(moment: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(moment.0).map(|at| format!("{at:.6}")).unwrap_or_default()
}

/// A moment for people, in UTC, to the second.
pub(crate) fn in_words(moment: Timestamp) -> String {
    let at = jiff::Timestamp::from_microsecond(moment.0);
    at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).unwrap_or_default()
}

/// A moment from text that names `field`: RFC 3339, with any offset, or a date, which is its midnight in UTC.
pub(crate) fn from_rfc3339(field: &str, text: &str) -> Result<Timestamp, Refusal> {
    let at = text.parse::<jiff::Timestamp>().or_else(|error| {
        let date: jiff::civil::Date = text.parse().map_err(|_| error)?;
        Ok::<_, jiff::Error>(date.to_zoned(jiff::tz::TimeZone::UTC)?.timestamp())
    });
    let at = at.map_err(|_| {
        Refusal::Bad(format!("{field}: not a time as RFC 3339 writes it, such as 2026-11-21T17:30:00Z"))
    })?;
    Ok(Timestamp(at.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        let at = from_rfc3339("since", "2026-11-21T17:30:00.5+01:00").unwrap();
        assert_eq!(to_rfc3339(at), "2026-11-21T16:30:00.500000Z");
        assert_eq!(in_words(at), "2026-11-21 16:30:00 UTC");
        assert_eq!(to_rfc3339(from_rfc3339("since", "2026-11-21").unwrap()), "2026-11-21T00:00:00.000000Z");
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "9999999999"] {
            assert!(
                matches!(from_rfc3339("since", bad), Err(Refusal::Bad(why)) if why.starts_with("since: ")),
                "{bad}"
            );
        }
    }
}
