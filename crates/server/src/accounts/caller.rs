//! The one who asks: read from a request before anything else is.

use crate::errors::Refusal;
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use store::{Role, Submission, User, UserId};

/// Something that not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Hand in submissions, and see one's own.
    Submit,
    /// See everybody's submissions, sources and secret tests.
    SeeAll,
    /// Add problems and verify them.
    Problems,
    /// Judge again.
    Rejudge,
    /// Accounts, settings, nodes.
    Administer,
}

/// Whoever sent a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Who is signed in, by session or token.
    pub(crate) user: Option<User>,
    /// A browser that nobody is signed in with, known by its cookie: the owner of what it hands in.
    pub(crate) visitor: Option<String>,
    /// Nobody has to sign in to hand in.
    pub(crate) anonymous_allowed: bool,
}

impl Caller {
    /// Their number, where they are signed in.
    pub(crate) fn id(&self) -> Option<UserId> {
        self.user.as_ref().map(|user| user.id)
    }

    /// Whether they may do this.
    pub(crate) fn may(&self, right: Right) -> bool {
        match (self.user.as_ref().map(|user| user.role), right) {
            (Some(Role::Admin), _) => true,
            (Some(Role::Jury), Right::Administer) => false,
            (Some(Role::Jury), _) => true,
            (Some(Role::Participant), right) => right == Right::Submit,
            (None, right) => self.anonymous_allowed && right == Right::Submit,
        }
    }

    /// Refuses where they may not.
    pub(crate) fn must(&self, right: Right) -> Result<(), Refusal> {
        match (self.may(right), &self.user) {
            (true, _) => Ok(()),
            (false, None) => Err(Refusal::Unauthenticated("sign in first".into())),
            (false, Some(user)) => Err(Refusal::Forbidden(format!("{} may not do this", user.name))),
        }
    }

    /// Whether a submission is theirs, or they see all. What they may not see is not found.
    pub(crate) fn sees(&self, submission: &Submission) -> bool {
        self.may(Right::SeeAll) || (self.id().is_some() && submission.author == self.id())
    }
}

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(_: &mut Parts, service: &Arc<Service>) -> Result<Caller, Self::Rejection> {
        Ok(Caller { user: None, visitor: None, anonymous_allowed: service.settings.anonymous })
    }
}
