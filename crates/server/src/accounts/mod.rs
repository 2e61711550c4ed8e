//! Who is asking, and what they may do.
//!
//! The guard of the service ([`crate::guard`]) finds out who sent a request before anything else is done with it ([`identity`]) and leaves a
//! [`Caller`] with it; handlers take that and ask it for a [`Right`]. Secrets (passwords, sessions, tokens, links) are in the store as hashes.

mod access;
mod api;
mod caller;
mod cookie;
mod csv;
mod forms;
pub(crate) mod identity;
mod links;
mod manage;
mod pages;
mod password;
mod sign_in;
mod sign_in_page;
#[cfg(test)]
mod tests;

pub use access::Access;
pub(crate) use api::router as api;
pub(crate) use caller::{Caller, Right};
pub(crate) use forms::are_own as forms_are_own;
pub(crate) use links::{has_admin, new_admin_link};
pub(crate) use pages::router as pages;
pub(crate) use password::Passwords;
pub(crate) use sign_in_page::SignInPage;

/// What accounts keep in memory.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) passwords: Passwords,
    pub(crate) rates: crate::limits::Rates,
}

impl Accounts {
    pub(crate) fn new(access: &Access) -> Accounts {
        Accounts { passwords: Passwords::default(), rates: crate::limits::Rates::new(&access.limits) }
    }
}
