//! Decisions about submissions: reading problem packages, choosing languages, comparing outputs, deriving
//! verdicts and scores. Pure: bytes and observations in, values out.

pub mod package;
pub mod yaml;
