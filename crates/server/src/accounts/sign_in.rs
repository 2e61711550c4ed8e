//! Signing in and out.

use super::identity::{ABSOLUTE_US, IDLE_US, Origin};
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::timestamp::now;
use store::{Error, User, UserId};

/// Says no more than that: which of the two was wrong, and whether there is such a user, is nobody's business.
fn wrong() -> Refusal {
    Refusal::Unauthenticated("the name or the password is wrong".into())
}

/// Signs a user in; the secret of the new session. A session of before is ended: nobody keeps a secret that was known before signing in.
///
/// # Errors
/// [`Refusal::Unauthenticated`], and [`Refusal::TooMany`] after too many attempts.
pub(crate) async fn sign_in(
    service: &Service,
    name: &str,
    password: &str,
    origin: Origin,
    before: Option<&str>,
) -> Result<(String, User), Refusal> {
    if name.len() > super::manage::LONGEST_NAME || password.len() > super::password::LONGEST {
        return Err(wrong());
    }
    let user = verified(service, name, password, origin).await?;
    if let Some(before) = before {
        service.store.end_session(before).await?;
    }
    let secret = begin(service, user.id).await?;
    tracing::info!(user = user.name, address = ?origin.address, "signed in");
    Ok((secret, user))
}

/// The user of this name and password.
///
/// # Errors
/// As [`sign_in`].
pub(super) async fn verified(
    service: &Service,
    name: &str,
    password: &str,
    origin: Origin,
) -> Result<User, Refusal> {
    let rates = &service.accounts.rates;
    rates.sign_in(name, origin.address).inspect_err(|_| {
        tracing::warn!(name, address = ?origin.address, "too many sign-ins");
    })?;
    let user = match service.store.user_of_name(name).await {
        Ok(user) => Some(user),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let hash = user.as_ref().and_then(|user| user.password.as_deref());
    let good = service.accounts.passwords.verify(password, hash).await?;
    match user.filter(|user| good && user.disabled.is_none()) {
        Some(user) => {
            rates.sign_in_good(name, origin.address);
            Ok(user)
        }
        None => {
            tracing::warn!(name, address = ?origin.address, "sign-in failed");
            Err(wrong())
        }
    }
}

/// Begins a session; its secret.
pub(super) async fn begin(service: &Service, user: UserId) -> Result<String, Refusal> {
    let (secret, now) = (secret::secret()?, now());
    let details = serde_json::json!({ "began": now.0 });
    let end = now.plus_micros(IDLE_US.min(ABSOLUTE_US));
    service.store.begin_session(&secret, user, &details, now, end).await?;
    Ok(secret)
}
