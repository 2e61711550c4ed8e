//! The CLICS Contest API (versions 2023-06 and 2026-01), as far as a judge needs it: what a contest's feed of events tells ([`feed`]), the
//! contest that comes of it ([`contest`]), what its types of judgements are here ([`types`]); and a contest of ours as
//! such a feed ([`export`]). Pure: bytes in, values out.

pub mod contest;
pub mod export;
pub mod feed;
pub mod types;
