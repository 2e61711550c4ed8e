//! The one who asks: read from a request before anything else is.

use crate::errors::Refusal;
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::net::IpAddr;
use std::sync::Arc;
use store::{Role, Submission, User, UserId};

/// Something that not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// See problems and which machines there are, and one's own submissions.
    View,
    /// See the queue, pools, nodes and metrics: what whoever runs the contest watches, and without accounts whoever is at the machine.
    Watch,
    /// Hand in submissions.
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

/// Scope of an API token. A token never allows more than its owner may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Submit, and see the results of the owner's submissions.
    Submit,
    /// See what the owner sees.
    Read,
    /// Add and verify problems.
    Problems,
    /// Rejudge submissions.
    Rejudge,
    /// Manage accounts, settings and nodes. As powerful as the account of an admin.
    Admin,
}

impl Scope {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Scope; 5] =
        [Scope::Submit, Scope::Read, Scope::Problems, Scope::Rejudge, Scope::Admin];

    /// The word for it, in the store and in the API.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Scope::Submit => "submit",
            Scope::Read => "read",
            Scope::Problems => "problems",
            Scope::Rejudge => "rejudge",
            Scope::Admin => "admin",
        }
    }

    /// The scope of this name.
    pub(crate) fn from_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// The scopes of which a token needs one for something.
    const fn needed(right: Right) -> &'static [Scope] {
        match right {
            // Whoever hands in wants to know what came of it.
            Right::View => &[Scope::Read, Scope::Submit],
            Right::Submit => &[Scope::Submit],
            Right::Watch | Right::SeeAll => &[Scope::Read],
            Right::Problems => &[Scope::Problems],
            Right::Rejudge => &[Scope::Rejudge],
            Right::Administer => &[Scope::Admin],
        }
    }
}

/// By what somebody is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// They are not.
    Nothing,
    /// A session: they typed their password.
    Session,
    /// An API token with these scopes.
    Token(Vec<Scope>),
}

/// Whoever sent a request.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Who is signed in, by session or token.
    pub(crate) user: Option<User>,
    /// A browser that nobody is signed in with, where that may submit: the owner of what it hands in. A hash of its cookie.
    pub(crate) visitor: Option<String>,
    /// Nobody has to sign in to submit.
    pub(crate) anonymous_allowed: bool,
    /// By what they are known.
    pub(crate) by: By,
    /// Where the request came from, where that is known.
    pub(crate) address: Option<IpAddr>,
    /// What the field `csrf` of a form of theirs must hold ([`Caller::must_own_form`]); empty where there is no cookie.
    pub(crate) csrf: String,
}

/// Without what must not be in a log.
impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Caller { user, by, address, .. } = self;
        write!(f, "Caller {{ user: {user:?}, by: {by:?}, address: {address:?} }}")
    }
}

impl Caller {
    /// Somebody of whom nothing is known.
    pub(crate) fn nobody(anonymous_allowed: bool) -> Caller {
        Caller {
            user: None,
            visitor: None,
            anonymous_allowed,
            by: By::Nothing,
            address: None,
            csrf: String::new(),
        }
    }

    /// Their number, where they are signed in.
    pub(crate) fn id(&self) -> Option<UserId> {
        self.user.as_ref().map(|user| user.id)
    }

    /// Whether they may do this.
    pub(crate) fn may(&self, right: Right) -> bool {
        let role = match (self.user.as_ref().map(|user| user.role), right) {
            (Some(Role::Admin), _) => true,
            (Some(Role::Jury), Right::Administer) => false,
            (Some(Role::Jury), _) => true,
            (Some(Role::Participant), right) => matches!(right, Right::View | Right::Submit),
            (None, right) => {
                self.anonymous_allowed && matches!(right, Right::View | Right::Submit | Right::Watch)
            }
        };
        role && self.has_one_of(Scope::needed(right))
    }

    /// Whether what they are known by is good for one of these.
    fn has_one_of(&self, needed: &[Scope]) -> bool {
        match &self.by {
            By::Token(scopes) => needed.iter().any(|scope| scopes.contains(scope)),
            By::Nothing | By::Session => true,
        }
    }

    /// Refuses where they may not.
    pub(crate) fn must(&self, right: Right) -> Result<(), Refusal> {
        match (self.may(right), &self.user) {
            (true, _) => Ok(()),
            (false, None) => Err(Refusal::Unauthenticated("sign in first".into())),
            (false, Some(user)) if !self.has_one_of(Scope::needed(right)) => {
                let scope = Scope::needed(right)[0].name();
                Err(Refusal::Forbidden(format!(
                    "this token of {} has no scope `{scope}`\n\
                     hint: create a token that has it, on the page /account",
                    user.name
                )))
            }
            (false, Some(user)) => {
                Err(Refusal::Forbidden(format!("the account {} does not have this permission", user.name)))
            }
        }
    }

    /// Who they are, where they signed in with their password: for what no token may do.
    pub(crate) fn must_have_signed_in(&self) -> Result<&User, Refusal> {
        match (&self.user, &self.by) {
            (Some(user), By::Session) => Ok(user),
            (Some(_), _) => {
                Err(Refusal::Forbidden("no token may do this\nhint: sign in with the password".into()))
            }
            (None, _) => Err(Refusal::Unauthenticated("sign in first".into())),
        }
    }

    /// Refuses a form that did not come from a page of ours: `csrf` is its field of that name. Requests from other sites are refused before
    /// this ([`super::identity`]); this holds where a browser does not say where a request comes from.
    pub(crate) fn must_own_form(&self, csrf: &str) -> Result<(), Refusal> {
        if !self.csrf.is_empty() && csrf == self.csrf {
            return Ok(());
        }
        Err(Refusal::Forbidden(
            "this form is out of date\nhint: load the page again, with cookies allowed".into(),
        ))
    }

    /// Whether they have to sign in to do anything.
    pub(crate) fn signs_in(&self) -> bool {
        self.user.is_none() && !self.anonymous_allowed
    }

    /// Whether the limits for trusted callers apply, instead of those for strangers and participants. Without
    /// accounts, every local caller is trusted.
    pub(crate) fn is_trusted(&self) -> bool {
        match &self.user {
            Some(user) => user.role != Role::Participant,
            None => self.anonymous_allowed,
        }
    }

    /// Whether a submission is theirs, or they see all. What they may not see is not found.
    ///
    /// What came without a cookie in anonymous mode (from a command line) belongs to whoever is at the machine.
    pub(crate) fn sees(&self, submission: &Submission) -> bool {
        if self.may(Right::SeeAll) {
            return true;
        }
        let own = match (&self.user, submission.author) {
            (Some(user), author) => author == Some(user.id),
            (None, Some(_)) => false,
            (None, None) => self.anonymous_allowed && self.owns_as_visitor(submission),
        };
        own && self.has_one_of(Scope::needed(Right::View))
    }

    fn owns_as_visitor(&self, submission: &Submission) -> bool {
        match &submission.visitor {
            Some(visitor) => self.visitor.as_ref() == Some(visitor),
            None => submission.origin != "jury",
        }
    }
}

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = std::convert::Infallible;

    /// Whom the guard has found; behind no guard everybody is nobody.
    async fn from_request_parts(parts: &mut Parts, _: &Arc<Service>) -> Result<Caller, Self::Rejection> {
        Ok(parts.extensions.get().cloned().unwrap_or_else(|| Caller::nobody(false)))
    }
}
