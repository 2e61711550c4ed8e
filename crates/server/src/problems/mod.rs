//! Problems: packages that come in, are opened when they are needed, and are verified by their jury's submissions.

mod add;
mod packages;
mod verify;

pub(crate) use add::{Added, PACKAGE_LIMIT, add, name_of_file};
pub(crate) use packages::{Opened, Packages};
pub(crate) use verify::{JuryCheck, JuryVerification, verification, verify};
