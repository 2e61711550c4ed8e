//! Decisions about submissions: reading problem packages, choosing languages, comparing outputs, deriving
//! verdicts and scores. Pure: bytes and observations in, values out.

pub mod compare;
pub mod crash;
pub mod domjudge;
pub mod expect;
pub mod filenames;
pub mod infer;
pub mod language;
mod nearest;
pub mod package;
mod protocol;
pub mod scoring;
pub mod verdict;
pub mod yaml;
