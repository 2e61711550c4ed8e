//! What all pages have around their content.

use super::assets;
use crate::accounts::{Caller, Right};
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::sync::Arc;

/// The frame of a page: who looks at it, where they are, how it looks. Every handler of a page takes one.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Who asks for the page.
    pub(crate) caller: Caller,
    /// `light` or `dark` where the reader has chosen; the browser's wish otherwise.
    pub(crate) theme: Option<&'static str>,
    /// Path and query of the page.
    pub(crate) path: String,
}

/// The cookie by which a browser remembers the reader's choice.
pub(super) const THEME: &str = "theme";

impl Frame {
    /// The address of a style, script or picture.
    pub(crate) fn asset(&self, name: &str) -> &'static str {
        assets::place(name)
    }

    /// Where the reader can go from every page.
    pub(crate) fn places(&self) -> Vec<(&'static str, &'static str)> {
        let mut places = vec![("/", "Problems")];
        if self.caller.may(Right::Submit) {
            places.push(("/submissions", "My submissions"));
        }
        places.push(("/status", "Status"));
        places.push(("/hosts", "Hosts"));
        if self.caller.may(Right::Watch) {
            places.extend([("/queue", "Queue"), ("/pools", "Pools")]);
        }
        if self.caller.may(Right::Rejudge) {
            places.push(("/rejudge", "Rejudge"));
        }
        if self.caller.may(Right::Administer) {
            places.push(("/users", "Users"));
        }
        places
    }

    /// Whether the reader is there, or below it.
    pub(crate) fn is_here(&self, place: &str) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        match place {
            "/" => path == "/" || path.starts_with("/problems"),
            "/hosts" => path == "/hosts" || path.starts_with("/nodes/"),
            place => path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        }
    }

    /// The name of who is signed in.
    pub(crate) fn signed_in(&self) -> Option<&str> {
        let user = self.caller.user.as_ref()?;
        Some(if user.display.is_empty() { &user.name } else { &user.display })
    }

    /// What finds the submissions of the reader; `None` where nobody knows who that is.
    pub(super) fn own(&self) -> Option<store::Filter> {
        super::problems::own(self.caller.id(), self.caller.visitor.as_deref())
    }

    /// What forms carry so that no other site can post them.
    pub(crate) fn csrf(&self) -> String {
        self.caller.csrf.clone()
    }

    /// What the switch changes to without a script, which could see what the browser wishes.
    pub(crate) fn other_theme(&self) -> &'static str {
        if self.theme == Some("dark") { "light" } else { "dark" }
    }
}

impl FromRequestParts<Arc<Service>> for Frame {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Frame, Infallible> {
        let caller = Caller::from_request_parts(parts, service).await?;
        let path = parts.uri.path_and_query().map_or("/".into(), ToString::to_string);
        Ok(Frame { caller, theme: theme(parts), path })
    }
}

fn theme(parts: &Parts) -> Option<&'static str> {
    let cookies = parts.headers.get_all(header::COOKIE);
    let pairs = cookies.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let chosen = pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(name, _)| *name == THEME)?.1;
    ["light", "dark"].into_iter().find(|known| *known == chosen)
}
