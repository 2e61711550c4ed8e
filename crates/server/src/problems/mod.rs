//! Problems: packages that come in, are opened when they are needed, and are verified by their jury's submissions.

mod add;
mod examples;
pub(crate) mod limits;
pub(crate) mod packages;
mod verify;

pub(crate) use add::{Added, PACKAGE_LIMIT, add, name_of_file};
pub(crate) use examples::install_examples;
pub(crate) use packages::{Opened, Packages};
pub(crate) use verify::{JuryCheck, JuryVerification, verification, verify};
