//! What is done to users and tokens, whichever face asks for it. Who may is the face's question.

use super::caller::Scope;
use super::identity::Origin;
use super::links::{self, For};
use super::{csv, password, sign_in};
use crate::errors::Refusal;
use crate::secret;
use crate::service::Service;
use crate::timestamp::now;
use std::collections::HashSet;
use store::{Error, NewToken, NewUser, Role, TokenId, User, UserId};

/// The longest name in bytes.
pub(crate) const LONGEST_NAME: usize = 64;

/// The longest name that is shown, and the longest name of a token, in bytes.
const LONGEST_DISPLAY: usize = 128;

/// Users in one list.
const IMPORTED: usize = 2000;

/// Good tokens of one user.
const TOKENS: usize = 50;

/// A token lasts ten years at most.
const LONGEST_DAYS: u32 = 3653;

/// What API tokens begin with, so that they are known for what they are where they were left lying about.
const TOKEN_PREFIX: &str = "tauto_";

/// A name to sign in with, without what is around it: plain letters, so that no two names look alike.
pub(crate) fn acceptable_name(name: &str) -> Result<&str, Refusal> {
    let name = name.trim();
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-@+".contains(&b);
    match name.len() {
        0 => Err(Refusal::Bad("name: is missing".into())),
        n if n > LONGEST_NAME => Err(Refusal::Bad(format!("name: at most {LONGEST_NAME} letters"))),
        _ if !name.bytes().all(fits) => {
            Err(Refusal::Bad(format!("name: `{name}` may have only letters a to z, digits and . _ - @ +")))
        }
        _ => Ok(name),
    }
}

/// A name to be shown; the other one where there is none.
fn acceptable_display<'a>(display: &'a str, name: &'a str) -> Result<&'a str, Refusal> {
    match display.trim() {
        "" => Ok(name),
        long if long.len() > LONGEST_DISPLAY => {
            Err(Refusal::Bad(format!("display: at most {LONGEST_DISPLAY} bytes")))
        }
        odd if odd.chars().any(char::is_control) => {
            Err(Refusal::Bad("display: control characters are not allowed".into()))
        }
        display => Ok(display),
    }
}

/// Where somebody sets their password by this link: below `/`.
fn password_link(user: UserId, secret: &str) -> String {
    format!("/set-password/{user}/{secret}")
}

/// Adds a user. Without a password they get a link to set one.
pub(super) async fn add(
    service: &Service,
    name: &str,
    display: &str,
    role: Role,
    new_password: Option<&str>,
) -> Result<(User, Option<String>), Refusal> {
    let name = acceptable_name(name)?;
    let display = acceptable_display(display, name)?;
    let hash = match new_password {
        Some(given) => {
            password::acceptable(given, name)?;
            Some(service.accounts.passwords.hash(given).await?)
        }
        None => None,
    };
    let new = NewUser { name, display, role, password: hash.as_deref(), created: now() };
    let id = service.store.add_user(new).await?;
    let link = match hash {
        Some(_) => None,
        None => Some(password_link(id, &links::new(service, For::Password(id)).await?)),
    };
    tracing::info!(user = name, ?role, "a user was added");
    Ok((service.store.user(id).await?, link))
}

/// A new link by which a user sets their password: below `/`.
pub(super) async fn new_password_link(service: &Service, id: UserId) -> Result<String, Refusal> {
    let user = service.store.user(id).await?;
    let secret = links::new(service, For::Password(id)).await?;
    tracing::info!(user = user.name, "a link to set the password was made");
    Ok(password_link(id, &secret))
}

/// Gives a user another role, shuts them out or lets them in. All their sessions end.
///
/// # Errors
/// [`Refusal::Conflict`] where nobody would be left to administer the service.
pub(super) async fn change(
    service: &Service,
    id: UserId,
    role: Option<Role>,
    disabled: Option<bool>,
) -> Result<User, Refusal> {
    let user = service.store.user(id).await?;
    let (new_role, off) = (role.unwrap_or(user.role), disabled.unwrap_or(user.disabled.is_some()));
    if user.role == Role::Admin && user.disabled.is_none() && (new_role != Role::Admin || off) {
        let other =
            |u: &User| u.id != id && u.role == Role::Admin && u.disabled.is_none() && u.password.is_some();
        if !service.store.users().await?.iter().any(other) {
            return Err(Refusal::Conflict(format!(
                "{} is the only admin\nhint: make another user an admin first",
                user.name
            )));
        }
    }
    if new_role != user.role {
        service.store.set_role(id, new_role).await?;
        tracing::info!(user = user.name, role = ?new_role, "a role was changed");
    }
    if off != user.disabled.is_some() {
        service.store.set_disabled(id, off.then(now)).await?;
        tracing::info!(user = user.name, disabled = off, "a user was disabled or enabled");
    }
    Ok(service.store.user(id).await?)
}

/// A user that was added from a list.
#[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
pub(super) struct Imported {
    /// Sign-in name.
    pub(super) name: String,
    /// Display name.
    pub(super) display: String,
    /// Password. It is shown only once.
    pub(super) password: String,
}

/// Adds the users of a list, all or none: rows of name, name to be shown, role, password. Whatever is left out at the end of a row is: the name, participant, and
/// a password that is made here. A first row that begins with `name` is a heading.
pub(super) async fn import(service: &Service, text: &str) -> Result<Vec<Imported>, Refusal> {
    let mut rows = csv::rows(text).map_err(Refusal::Bad)?;
    if rows.first().is_some_and(|row| row[0].eq_ignore_ascii_case("name")) {
        rows.remove(0);
    }
    if rows.is_empty() || rows.len() > IMPORTED {
        return Err(Refusal::Bad(format!("the list has {} users; 1 to {IMPORTED} are allowed", rows.len())));
    }
    let mut taken: HashSet<String> = service.store.users().await?.into_iter().map(|user| user.name).collect();
    let mut users = Vec::with_capacity(rows.len());
    for (number, row) in (1..).zip(&rows) {
        let in_row = |why: String| Refusal::Bad(format!("user {number} of the list: {why}"));
        let user = imported(row).map_err(|refusal| in_row(refusal.to_string()))?;
        if !taken.insert(user.0.name.clone()) {
            return Err(in_row(format!("the name {} is taken", user.0.name)));
        }
        users.push(user);
    }
    let mut hashes = Vec::with_capacity(users.len());
    for (user, _) in &users {
        hashes.push(service.accounts.passwords.hash(&user.password).await?);
    }
    let created = now();
    let new: Vec<NewUser<'_>> = users
        .iter()
        .zip(&hashes)
        .map(|((user, role), hash)| NewUser {
            name: &user.name,
            display: &user.display,
            role: *role,
            password: Some(hash),
            created,
        })
        .collect();
    service.store.add_users(&new).await?;
    tracing::info!(users = users.len(), "a list of users was added");
    Ok(users.into_iter().map(|(user, _)| user).collect())
}

fn imported(row: &[String]) -> Result<(Imported, Role), Refusal> {
    let field = |index: usize| row.get(index).map(String::as_str).unwrap_or_default();
    if row.len() > 4 {
        return Err(Refusal::Bad("more columns than name, display name, role and password".into()));
    }
    let name = acceptable_name(field(0))?;
    let role = match field(2) {
        "" => Role::Participant,
        text => role_of(text)?,
    };
    let password = match field(3) {
        "" => password::generated()?,
        given => {
            password::acceptable(given, name)?;
            given.to_string()
        }
    };
    let display = acceptable_display(field(1), name)?.to_string();
    Ok((Imported { name: name.into(), display, password }, role))
}

/// The role of this name.
pub(super) fn role_of(text: &str) -> Result<Role, Refusal> {
    let known = [(Role::Participant, "participant"), (Role::Jury, "jury"), (Role::Admin, "admin")];
    let found = known.into_iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    found.map(|(role, _)| role).ok_or_else(|| {
        Refusal::Bad(format!("role: `{text}` is unknown\nhint: use participant, jury or admin"))
    })
}

/// Changes one's own password. All sessions end; the secret of a new one is returned.
///
/// # Errors
/// [`Refusal::Bad`] where the current password is wrong or the new one poor.
pub(super) async fn change_password(
    service: &Service,
    user: &User,
    old: &str,
    new: &str,
    origin: Origin,
) -> Result<String, Refusal> {
    password::acceptable(new, &user.name)?;
    sign_in::verified(service, &user.name, old, origin).await.map_err(|refusal| match refusal {
        Refusal::Unauthenticated(_) => Refusal::Bad("the current password is wrong".into()),
        other => other,
    })?;
    let hash = service.accounts.passwords.hash(new).await?;
    service.store.set_password(user.id, Some(&hash)).await?;
    tracing::info!(user = user.name, "changed the password");
    sign_in::begin(service, user.id).await
}

/// Makes an API token: its number, and the token, which is shown once.
pub(super) async fn new_token(
    service: &Service,
    owner: &User,
    name: &str,
    scopes: &[Scope],
    days: Option<u32>,
) -> Result<(TokenId, String), Refusal> {
    let name = acceptable_display(name, "")?;
    if name.is_empty() {
        return Err(Refusal::Bad("name: is missing".into()));
    }
    if scopes.is_empty() {
        return Err(Refusal::Bad("scopes: at least one is required".into()));
    }
    if let Some(scope) = scopes.iter().find(|scope| !scopes_of(owner.role).contains(scope)) {
        let why = format!("scopes: {} may not do what `{}` is for", owner.name, scope.name());
        return Err(Refusal::Bad(why));
    }
    if days.is_some_and(|days| days == 0 || days > LONGEST_DAYS) {
        return Err(Refusal::Bad(format!("days: must be 1 to {LONGEST_DAYS}")));
    }
    let created = now();
    let good =
        |token: &&store::ApiToken| token.revoked.is_none() && token.expires.is_none_or(|end| end > created);
    if service.store.tokens(owner.id).await?.iter().filter(good).count() >= TOKENS {
        return Err(Refusal::Conflict(format!("there are {TOKENS} tokens\nhint: revoke one first")));
    }
    let secret = format!("{TOKEN_PREFIX}{}", secret::secret()?);
    let names: Vec<&str> = Scope::ALL.into_iter().filter(|s| scopes.contains(s)).map(Scope::name).collect();
    let expires = days.map(|days| created.plus_micros(i64::from(days) * 24 * 3600 * 1_000_000));
    let new = NewToken { owner: owner.id, name, secret: &secret, scopes: &names, created, expires };
    let id = service.store.add_token(new).await?;
    tracing::info!(user = owner.name, scopes = names.join(" "), "an API token was made");
    Ok((id, secret))
}

/// The scopes that mean something for this role.
pub(super) fn scopes_of(role: Role) -> &'static [Scope] {
    match role {
        Role::Participant => &Scope::ALL[..2],
        Role::Jury => &Scope::ALL[..4],
        Role::Admin => &Scope::ALL,
    }
}

/// Makes a token of a user worthless.
///
/// # Errors
/// [`Refusal::NotFound`] where it is not theirs.
pub(super) async fn revoke(service: &Service, owner: UserId, id: TokenId) -> Result<(), Refusal> {
    if !service.store.tokens(owner).await?.iter().any(|token| token.id == id) {
        return Err(Error::NotFound(format!("API token {id}")).into());
    }
    Ok(service.store.revoke_token(id, now()).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let check = |name: &str, good| assert_eq!(acceptable_name(name).is_ok(), good, "{name:?}");
        for name in ["ann", "team-17", "a.b@c.example", " ann "] {
            check(name, true);
        }
        for name in ["", " ", "a b", "аnn", "a/b", "<b>", &"x".repeat(65)] {
            check(name, false);
        }
    }

    #[test]
    fn rows_are_users() {
        let check = |row: &[&str], expected: Option<(&str, &str, Role)>| {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            let found = imported(&row).ok();
            let found = found.as_ref().map(|(user, role)| (user.name.as_str(), user.display.as_str(), *role));
            assert_eq!(found, expected, "{row:?}");
        };
        check(&["ann"], Some(("ann", "ann", Role::Participant)));
        check(&["ann", "Ann Ä", "Jury", "secret-7"], Some(("ann", "Ann Ä", Role::Jury)));
        check(&["ann", "", "", ""], Some(("ann", "ann", Role::Participant)));
        check(&["ann", "Ann", "boss"], None);
        check(&["ann", "Ann", "", "short"], None);
        check(&["ann", "a\u{7}"], None);
        check(&["", "Ann"], None);
        check(&["ann", "", "", "", "x"], None);
    }
}
