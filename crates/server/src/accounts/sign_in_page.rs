//! The sign-in form: by itself, in the place of a page that needs it, and with a form inside that waits for it.

use super::forms::PendingForm;
use crate::pages::Frame;
use crate::pages::filters;
use askama::Template;

/// The page.
#[derive(Template)]
#[template(path = "sign-in.html")]
pub(crate) struct SignInPage {
    frame: Frame,
    wrong: Option<String>,
    name: String,
    /// Where one goes then.
    back: String,
    /// What is sent on then, to the address of this page.
    kept: Option<PendingForm>,
}

impl SignInPage {
    /// The form by itself; `back` is a place on this site.
    pub(crate) fn new(frame: Frame, back: &str) -> SignInPage {
        SignInPage { frame, wrong: None, name: String::new(), back: back.into(), kept: None }
    }

    /// With a form that is sent on.
    pub(super) fn resuming(frame: Frame, kept: PendingForm) -> SignInPage {
        SignInPage { kept: Some(kept), ..SignInPage::new(frame, "/") }
    }

    /// The same after an attempt that failed.
    pub(super) fn again(self, name: &str, wrong: String) -> SignInPage {
        SignInPage { wrong: Some(wrong), name: name.into(), ..self }
    }

    fn signs_in(&self) -> bool {
        self.kept.is_none() || self.frame.caller.signs_in()
    }

    fn to(&self) -> &str {
        if self.kept.is_some() { &self.frame.path } else { "/sign-in" }
    }
}
