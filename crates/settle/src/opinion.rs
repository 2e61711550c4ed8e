//! When the reference clock gives a second opinion.

use model::{Confidence, SecondOpinions};

/// Whether the reference clock also judges a result of this confidence. `near`: it passes, but its usual time may be above the
/// limit ([`crate::Decision::near`]).
pub fn asks(opinions: SecondOpinions, confidence: Confidence, near: bool) -> bool {
    match opinions {
        SecondOpinions::Never => false,
        SecondOpinions::Open => near || confidence == Confidence::Open,
        SecondOpinions::Grey => confidence != Confidence::Clear,
    }
}
