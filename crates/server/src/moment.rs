//! The service's clock.

use std::time::{SystemTime, UNIX_EPOCH};
use store::Moment;

/// Now.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A moment as RFC 3339 writes it, in UTC, to the microsecond.
pub(crate) fn written(moment: Moment) -> String {
    jiff::Timestamp::from_microsecond(moment.0).map(|at| format!("{at:.6}")).unwrap_or_default()
}
