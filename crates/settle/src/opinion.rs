//! When the reference clock is asked for a second opinion.

use model::{Confidence, SecondOpinions};

/// Whether a result of this confidence is judged by the reference clock too. `near`: it passes by runs so near the limit that its usual
/// time may be above ([`crate::Decision::near`]).
pub fn asks(opinions: SecondOpinions, confidence: Confidence, near: bool) -> bool {
    match opinions {
        SecondOpinions::Never => false,
        SecondOpinions::Open => near || confidence == Confidence::Open,
        SecondOpinions::Grey => confidence != Confidence::Clear,
    }
}
