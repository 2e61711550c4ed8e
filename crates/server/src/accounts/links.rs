//! Links that are good once: to become an admin, to set a password.
//!
//! Of a link a hash is kept among the settings of the store, with its end. Each user has at most one, and so has the site for its admin; a new one
//! takes the place of the old one.

use super::manage;
use super::password;
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::timestamp::now;
use serde_json::{Value as Json, json};
use store::{Error, Hash, NewUser, Role, User, UserId};

/// A link is good for a day.
const GOOD_US: i64 = 24 * 3600 * 1_000_000;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// To name an admin and set their password.
    Admin,
    /// To set the password of this user.
    Password(UserId),
}

impl For {
    fn setting(self) -> String {
        match self {
            For::Admin => "link:admin".into(),
            For::Password(user) => format!("link:user:{user}"),
        }
    }
}

/// Makes a link; its secret.
pub(crate) async fn new(service: &Service, what: For) -> Result<String, Refusal> {
    let secret = secret::secret()?;
    let value =
        json!({"hash": Hash::digest(secret.as_bytes()).as_str(), "expires": now().plus_micros(GOOD_US).0});
    service.store.set_setting(&what.setting(), &value).await?;
    Ok(secret)
}

/// A new link by which one becomes an admin: below `/`. It is for who runs the service, who can read its database anyway.
///
/// # Errors
/// Those of the store.
pub(crate) async fn new_admin_link(service: &Service) -> Result<String, Refusal> {
    Ok(format!("/setup/{}", new(service, For::Admin).await?))
}

/// Whether there is somebody who can administer the service.
pub(crate) async fn has_admin(service: &Service) -> Result<bool, Refusal> {
    let can = |user: &User| user.role == Role::Admin && user.disabled.is_none() && user.password.is_some();
    Ok(service.store.users().await?.iter().any(can))
}

/// What is kept of a link that is good.
///
/// # Errors
/// [`Refusal::NotFound`] where it is not.
pub(crate) async fn look(service: &Service, what: For, secret: &str) -> Result<Json, Refusal> {
    let gone =
        || Refusal::NotFound("this link was used, replaced or has expired\nhint: ask for a new one".into());
    let kept = service.store.setting(&what.setting()).await?.ok_or_else(gone)?;
    // Of a secret that is compared by its hash, the time of the comparison tells nothing.
    let same = kept["hash"].as_str() == Some(Hash::digest(secret.as_bytes()).as_str());
    let good = kept["expires"].as_i64().is_some_and(|end| now().0 < end);
    if same && good { Ok(kept) } else { Err(gone()) }
}

/// Uses a link up. Of several who use it at once one succeeds.
async fn take(service: &Service, what: For, kept: &Json) -> Result<(), Refusal> {
    if service.store.take_setting(&what.setting(), kept).await? {
        return Ok(());
    }
    Err(Refusal::NotFound("this link was used\nhint: ask for a new one".into()))
}

/// Makes whoever has the admin's link an admin of this name and password: a new user, or one that is there.
///
/// # Errors
/// [`Refusal::NotFound`] for the link; [`Refusal::Bad`] for the name or the password, which leaves the link good.
pub(crate) async fn become_admin(
    service: &Service,
    secret: &str,
    name: &str,
    new_password: &str,
) -> Result<UserId, Refusal> {
    let kept = look(service, For::Admin, secret).await?;
    let name = manage::acceptable_name(name)?;
    password::acceptable(new_password, name)?;
    let hash = service.accounts.passwords.hash(new_password).await?;
    take(service, For::Admin, &kept).await?;
    let store = &service.store;
    let id = match store.user_of_name(name).await {
        Ok(user) => {
            store.set_role(user.id, Role::Admin).await?;
            store.set_disabled(user.id, None).await?;
            store.set_password(user.id, Some(&hash)).await?;
            user.id
        }
        Err(Error::NotFound(_)) => {
            let user =
                NewUser { name, display: name, role: Role::Admin, password: Some(&hash), created: now() };
            store.add_user(user).await?
        }
        Err(error) => return Err(error.into()),
    };
    tracing::info!(user = name, "an admin was named by the one-time link");
    Ok(id)
}

/// Sets a password by a link.
///
/// # Errors
/// [`Refusal::NotFound`] for the link; [`Refusal::Bad`] for the password, which leaves the link good.
pub(crate) async fn set_password(
    service: &Service,
    user: UserId,
    secret: &str,
    new_password: &str,
) -> Result<User, Refusal> {
    let kept = look(service, For::Password(user), secret).await?;
    let user = service.store.user(user).await?;
    password::acceptable(new_password, &user.name)?;
    let hash = service.accounts.passwords.hash(new_password).await?;
    take(service, For::Password(user.id), &kept).await?;
    service.store.set_password(user.id, Some(&hash)).await?;
    tracing::info!(user = user.name, "a password was set by a one-time link");
    Ok(user)
}
