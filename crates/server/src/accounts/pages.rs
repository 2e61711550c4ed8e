//! The pages of accounts.

use super::caller::{Caller, Right, Scope};
use super::identity::Origin;
use super::links::{self, For};
use super::manage::{self, Imported};
use super::sign_in_page::SignInPage;
use super::{cookie, sign_in};
use crate::errors::Refusal;
use crate::pages::filters;
use crate::pages::{Frame, Refused, local, show};
use crate::service::Service;
use crate::timestamp::now;
use askama::Template;
use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use std::sync::Arc;
use store::{ApiToken, Role, TokenId, User, UserId};

/// The routes.
pub(crate) fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/sign-in", get(sign_in_page).post(sign_in_form))
        .route("/sign-out", post(sign_out))
        .route("/setup/{secret}", get(setup_page).post(setup_form))
        .route("/set-password/{user}/{secret}", get(set_password_page).post(set_password_form))
        .route("/account", get(account))
        .route("/account/password", post(change_password))
        .route("/account/tokens", post(new_token))
        .route("/account/tokens/{id}/revoke", post(revoke_token))
        .route("/users", get(users).post(add_user))
        .route("/users/import", post(import_users))
        .route("/users/{id}", post(change_user))
        .route("/users/{id}/link", post(password_link))
}

type Answer = Result<Response, Refused>;

/// A page again, with what was wrong with its form. What is no fault of the form fails as it is.
pub(super) fn again(refusal: Refusal, page: impl FnOnce(String) -> Response) -> Answer {
    let status = match &refusal {
        Refusal::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::Conflict(_) => StatusCode::CONFLICT,
        Refusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        _ => return Err(refusal.into()),
    };
    let wait = match refusal {
        Refusal::TooMany(seconds) => Some((header::RETRY_AFTER, seconds)),
        _ => None,
    };
    let mut response = page(refusal.to_string());
    *response.status_mut() = status;
    response.headers_mut().extend(wait.map(|(name, seconds)| (name, seconds.into())));
    Ok(response)
}

fn signed_in(secret: &str, origin: Origin, to: &str) -> Response {
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie::begin_session(secret, origin.secure))]);
    (cookie, Redirect::to(to)).into_response()
}

#[derive(Deserialize)]
struct Back {
    #[serde(default)]
    back: String,
}

async fn sign_in_page(frame: Frame, Query(Back { back }): Query<Back>) -> Response {
    if frame.caller.user.is_some() {
        return Redirect::to(local(&back)).into_response();
    }
    show(&SignInPage::new(frame, local(&back)))
}

#[derive(Deserialize)]
struct SignIn {
    name: String,
    password: String,
    #[serde(default)]
    back: String,
}

async fn sign_in_form(
    State(service): State<Arc<Service>>,
    frame: Frame,
    origin: Origin,
    headers: HeaderMap,
    Form(form): Form<SignIn>,
) -> Answer {
    let before = cookie::value(&headers, cookie::SESSION, origin.secure);
    let name = form.name.trim();
    match sign_in::sign_in(&service, name, &form.password, origin, before).await {
        Ok((secret, _)) => Ok(signed_in(&secret, origin, local(&form.back))),
        Err(refusal) => {
            again(refusal, |wrong| show(&SignInPage::new(frame, local(&form.back)).again(name, wrong)))
        }
    }
}

#[derive(Deserialize)]
struct SignOut {
    #[serde(default)]
    everywhere: bool,
}

async fn sign_out(
    State(service): State<Arc<Service>>,
    caller: Caller,
    origin: Origin,
    headers: HeaderMap,
    Form(form): Form<SignOut>,
) -> Answer {
    if form.everywhere {
        service.store.end_sessions(caller.must_have_signed_in()?.id).await?;
    } else if let Some(secret) = cookie::value(&headers, cookie::SESSION, origin.secure) {
        service.store.end_session(secret).await?;
    }
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie::end_session(origin.secure))]);
    Ok((cookie, Redirect::to("/")).into_response())
}

/// Of the admin's link (`name` is asked for) and of links to set a password.
#[derive(Template)]
#[template(path = "set-password.html")]
struct SetPasswordPage<'a> {
    frame: Frame,
    wrong: Option<String>,
    /// Who sets it; `None`: the admin, who chooses a name.
    user: Option<&'a str>,
    name: &'a str,
}

#[derive(Deserialize)]
struct SetPassword {
    #[serde(default)]
    name: String,
    password: String,
    again: String,
}

impl SetPassword {
    fn same(&self) -> Result<(), Refusal> {
        if self.password == self.again {
            Ok(())
        } else {
            Err(Refusal::Bad("the two passwords differ".into()))
        }
    }
}

async fn setup_page(State(service): State<Arc<Service>>, frame: Frame, Path(secret): Path<String>) -> Answer {
    links::look(&service, For::Admin, &secret).await?;
    Ok(show(&SetPasswordPage { frame, wrong: None, user: None, name: "admin" }))
}

async fn setup_form(
    State(service): State<Arc<Service>>,
    frame: Frame,
    origin: Origin,
    Path(secret): Path<String>,
    Form(form): Form<SetPassword>,
) -> Answer {
    let done = match form.same() {
        Ok(()) => links::become_admin(&service, &secret, &form.name, &form.password).await,
        Err(refusal) => Err(refusal),
    };
    match done {
        Ok(user) => Ok(signed_in(&sign_in::begin(&service, user).await?, origin, "/")),
        Err(refusal) => again(refusal, |wrong| {
            show(&SetPasswordPage { frame, wrong: Some(wrong), user: None, name: &form.name })
        }),
    }
}

async fn set_password_page(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path((id, secret)): Path<(i64, String)>,
) -> Answer {
    links::look(&service, For::Password(UserId(id)), &secret).await?;
    let user = service.store.user(UserId(id)).await?;
    Ok(show(&SetPasswordPage { frame, wrong: None, user: Some(&user.name), name: "" }))
}

async fn set_password_form(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path((id, secret)): Path<(i64, String)>,
    Form(form): Form<SetPassword>,
) -> Answer {
    let id = UserId(id);
    let done = match form.same() {
        Ok(()) => links::set_password(&service, id, &secret, &form.password).await,
        Err(refusal) => Err(refusal),
    };
    match done {
        // With what they chose, which shows that they know it.
        Ok(_) => Ok(Redirect::to("/sign-in").into_response()),
        Err(refusal @ Refusal::NotFound(_)) => Err(refusal.into()),
        Err(refusal) => {
            let user = service.store.user(id).await?;
            again(refusal, |wrong| {
                show(&SetPasswordPage { frame, wrong: Some(wrong), user: Some(&user.name), name: "" })
            })
        }
    }
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    user: User,
    tokens: Vec<ApiToken>,
    scopes: &'static [Scope],
    wrong: Option<String>,
    /// A token that was made: it is shown this once.
    made: Option<String>,
}

impl AccountPage {
    async fn read(service: &Service, frame: Frame) -> Result<AccountPage, Refusal> {
        let user = frame.caller.must_have_signed_in()?.clone();
        let mut tokens = service.store.tokens(user.id).await?;
        let now = now();
        tokens.retain(|token| token.revoked.is_none() && token.expires.is_none_or(|end| end > now));
        let scopes = manage::scopes_of(user.role);
        Ok(AccountPage { frame, user, tokens, scopes, wrong: None, made: None })
    }

    /// What a scope lets one do, in words.
    fn about(&self, scope: &Scope) -> &'static str {
        match scope {
            Scope::Submit => "submit programs and read their results",
            Scope::Read => "read everything that you can read",
            Scope::Problems => "add problems and verify them",
            Scope::Rejudge => "rejudge submissions",
            Scope::Admin => "manage accounts, settings and nodes; as powerful as your password",
        }
    }
}

/// The name of a role, as it is shown.
fn role_name(role: &Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::Jury => "jury",
        Role::Participant => "participant",
    }
}

async fn account(State(service): State<Arc<Service>>, frame: Frame) -> Answer {
    Ok(show(&AccountPage::read(&service, frame).await?))
}

#[derive(Deserialize)]
struct ChangePassword {
    old: String,
    password: String,
    again: String,
}

async fn change_password(
    State(service): State<Arc<Service>>,
    frame: Frame,
    origin: Origin,
    Form(form): Form<ChangePassword>,
) -> Answer {
    let page = AccountPage::read(&service, frame).await?;
    let done = match form.password == form.again {
        true => manage::change_password(&service, &page.user, &form.old, &form.password, origin).await,
        false => Err(Refusal::Bad("the two new passwords differ".into())),
    };
    match done {
        Ok(secret) => Ok(signed_in(&secret, origin, "/account")),
        Err(refusal) => again(refusal, |wrong| show(&AccountPage { wrong: Some(wrong), ..page })),
    }
}

#[derive(Deserialize)]
struct NewToken {
    name: String,
    /// Days; empty: no end.
    #[serde(default)]
    days: String,
    #[serde(default)]
    submit: bool,
    #[serde(default)]
    read: bool,
    #[serde(default)]
    problems: bool,
    #[serde(default)]
    rejudge: bool,
    #[serde(default)]
    admin: bool,
}

impl NewToken {
    fn scopes(&self) -> Vec<Scope> {
        let ticked = [self.submit, self.read, self.problems, self.rejudge, self.admin];
        Scope::ALL.into_iter().zip(ticked).filter(|(_, ticked)| *ticked).map(|(scope, _)| scope).collect()
    }

    fn days(&self) -> Result<Option<u32>, Refusal> {
        match self.days.trim() {
            "" => Ok(None),
            days => {
                days.parse().map(Some).map_err(|_| Refusal::Bad(format!("days: `{days}` is not a number")))
            }
        }
    }
}

async fn new_token(State(service): State<Arc<Service>>, frame: Frame, Form(form): Form<NewToken>) -> Answer {
    let owner = frame.caller.must_have_signed_in()?;
    let made = match form.days() {
        Ok(days) => manage::new_token(&service, owner, &form.name, &form.scopes(), days).await,
        Err(refusal) => Err(refusal),
    };
    let page = AccountPage::read(&service, frame).await?;
    match made {
        Ok((_, token)) => Ok(show(&AccountPage { made: Some(token), ..page })),
        Err(refusal) => again(refusal, |wrong| show(&AccountPage { wrong: Some(wrong), ..page })),
    }
}

async fn revoke_token(State(service): State<Arc<Service>>, caller: Caller, Path(id): Path<i64>) -> Answer {
    manage::revoke(&service, caller.must_have_signed_in()?.id, TokenId(id)).await?;
    Ok(Redirect::to("/account").into_response())
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    frame: Frame,
    users: Vec<User>,
    wrong: Option<String>,
    /// A link that was made, and for whom.
    link: Option<(String, String)>,
    /// Users that were taken in, with their passwords.
    imported: Vec<Imported>,
    /// What was typed into the list.
    table: String,
}

impl UsersPage {
    async fn read(service: &Service, frame: Frame) -> Result<UsersPage, Refusal> {
        frame.caller.must(Right::Administer)?;
        let users = service.store.users().await?;
        Ok(UsersPage { frame, users, wrong: None, link: None, imported: Vec::new(), table: String::new() })
    }

    fn link_of(&self, service: &Service, user: &str, path: &str) -> Option<(String, String)> {
        let base = service.settings.access.public_url.as_deref().unwrap_or_default();
        Some((user.to_string(), format!("{base}{path}")))
    }
}

async fn users(State(service): State<Arc<Service>>, frame: Frame) -> Answer {
    Ok(show(&UsersPage::read(&service, frame).await?))
}

#[derive(Deserialize)]
struct AddUser {
    name: String,
    #[serde(default)]
    display: String,
    role: String,
}

async fn add_user(State(service): State<Arc<Service>>, frame: Frame, Form(form): Form<AddUser>) -> Answer {
    frame.caller.must(Right::Administer)?;
    let added = match manage::role_of(&form.role) {
        Ok(role) => manage::add(&service, &form.name, &form.display, role, None).await,
        Err(refusal) => Err(refusal),
    };
    let page = UsersPage::read(&service, frame).await?;
    match added {
        Ok((user, link)) => {
            let link = link.and_then(|path| page.link_of(&service, &user.name, &path));
            Ok(show(&UsersPage { link, ..page }))
        }
        Err(refusal) => again(refusal, |wrong| show(&UsersPage { wrong: Some(wrong), ..page })),
    }
}

#[derive(Deserialize)]
struct Import {
    table: String,
}

async fn import_users(State(service): State<Arc<Service>>, frame: Frame, Form(form): Form<Import>) -> Answer {
    frame.caller.must(Right::Administer)?;
    let imported = manage::import(&service, &form.table).await;
    let page = UsersPage::read(&service, frame).await?;
    match imported {
        Ok(imported) => Ok(show(&UsersPage { imported, ..page })),
        Err(refusal) => {
            again(refusal, |wrong| show(&UsersPage { wrong: Some(wrong), table: form.table, ..page }))
        }
    }
}

#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    disabled: Option<bool>,
}

async fn change_user(
    State(service): State<Arc<Service>>,
    frame: Frame,
    Path(id): Path<i64>,
    Form(form): Form<Change>,
) -> Answer {
    frame.caller.must(Right::Administer)?;
    let changed = match form.role.as_deref().map(manage::role_of).transpose() {
        Ok(role) => manage::change(&service, UserId(id), role, form.disabled).await,
        Err(refusal) => Err(refusal),
    };
    match changed {
        Ok(_) => Ok(Redirect::to("/users").into_response()),
        Err(refusal) => {
            let page = UsersPage::read(&service, frame).await?;
            again(refusal, |wrong| show(&UsersPage { wrong: Some(wrong), ..page }))
        }
    }
}

async fn password_link(State(service): State<Arc<Service>>, frame: Frame, Path(id): Path<i64>) -> Answer {
    frame.caller.must(Right::Administer)?;
    let user = service.store.user(UserId(id)).await?;
    let path = manage::new_password_link(&service, user.id).await?;
    let page = UsersPage::read(&service, frame).await?;
    let link = page.link_of(&service, &user.name, &path);
    Ok(show(&UsersPage { link, ..page }))
}
