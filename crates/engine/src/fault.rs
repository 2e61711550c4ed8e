//! What can go wrong besides a bad submission. None of it is ever a verdict.

use crate::{Blame, SourceError, SystemError};

/// Why judging ended without a verdict.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Ours, or the machine's.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The package's: a validator that does not compile, a grader that fails.
    #[error("{place}: {why}")]
    Package {
        /// The program or file in the package.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// What was given cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What was given cannot be judged: no known language, not text, too large.
    #[error("{place}: {why}")]
    Input {
        /// The submission or file.
        place: String,
        /// Why, with the remedy.
        why: String,
    },
    /// The tools of a language are not on this machine.
    #[error("{place}: no toolchain for {language}: {why}")]
    NoToolchain {
        /// The submission or program.
        place: String,
        /// Name of the language.
        language: String,
        /// What is missing.
        why: String,
    },
    /// The user ended it.
    #[error("interrupted")]
    Cancelled,
}

impl Fault {
    /// Whether what was given is bad, in contrast to a fault of ours or of the package's programs.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Fault::Source(_) | Fault::Input { .. } | Fault::NoToolchain { .. } => true,
            Fault::System(error) => error.blame == Blame::Content,
            Fault::Package { .. } | Fault::Cancelled => false,
        }
    }
}
