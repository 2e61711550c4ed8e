//! Accounts in the native API.

use super::caller::{By, Caller, Right, Scope};
use super::identity::Origin;
use super::manage::{self, Imported};
use super::{cookie, sign_in};
use crate::api::Problem;
use crate::api::extract::{Body, Path, Query, of_status};
use crate::errors::Refusal;
use crate::service::Service;
use crate::timestamp::to_rfc3339;
use axum::extract::State;
use axum::extract::multipart::MultipartError;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{ApiToken, Role, TokenId, User, UserId};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes, below `/api/v1`.
pub(crate) fn router() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(me))
        .routes(routes!(change_password))
        .routes(routes!(sign_in_by_password, sign_out))
        .routes(routes!(tokens, new_token))
        .routes(routes!(revoke_token))
        .routes(routes!(users, add_user))
        .routes(routes!(import_users))
        .routes(routes!(change_user))
        .routes(routes!(password_link))
}

/// Role of a user. `admin`: can do everything. `jury`: manages problems and verdicts. `participant`: submits, and
/// sees their own submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RoleName {
    /// Can do everything.
    Admin,
    /// Manages problems and verdicts.
    Jury,
    /// Submits, and sees their own submissions.
    Participant,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Role {
        match name {
            RoleName::Admin => Role::Admin,
            RoleName::Jury => Role::Jury,
            RoleName::Participant => Role::Participant,
        }
    }
}

impl From<Role> for RoleName {
    fn from(role: Role) -> RoleName {
        match role {
            Role::Admin => RoleName::Admin,
            Role::Jury => RoleName::Jury,
            Role::Participant => RoleName::Participant,
        }
    }
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
struct UserView {
    /// Number of the user.
    id: i64,
    /// Sign-in name.
    name: String,
    /// Display name.
    display: String,
    role: RoleName,
    /// When the user was added.
    #[schema(format = DateTime)]
    created: String,
    /// When the user was disabled. Null if the user is enabled.
    #[schema(format = DateTime)]
    disabled: Option<String>,
    /// Whether the user has a password.
    has_password: bool,
}

impl From<User> for UserView {
    fn from(user: User) -> UserView {
        UserView {
            id: user.id.0,
            has_password: user.password.is_some(),
            created: to_rfc3339(user.created),
            disabled: user.disabled.map(to_rfc3339),
            role: user.role.into(),
            name: user.name,
            display: user.display,
        }
    }
}

/// The caller and their permissions.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    /// Signed-in user. Null if there is none.
    user: Option<UserView>,
    /// Scopes of the API token. Null if the request has none.
    scopes: Option<Vec<Scope>>,
    /// Whether the caller may submit.
    may_submit: bool,
    /// Whether the caller may see all submissions.
    may_see_all: bool,
    /// Whether the caller may add problems.
    may_add_problems: bool,
    /// Whether the caller may rejudge submissions.
    may_rejudge: bool,
    /// Whether the caller may administer the service.
    may_administer: bool,
}

impl From<Caller> for Me {
    fn from(caller: Caller) -> Me {
        Me {
            may_submit: caller.may(Right::Submit),
            may_see_all: caller.may(Right::SeeAll),
            may_add_problems: caller.may(Right::Problems),
            may_rejudge: caller.may(Right::Rejudge),
            may_administer: caller.may(Right::Administer),
            scopes: match caller.by {
                By::Token(scopes) => Some(scopes),
                _ => None,
            },
            user: caller.user.map(UserView::from),
        }
    }
}

/// Get the current user
#[utoipa::path(get, path = "/me", tag = "accounts",
    responses((status = 200, description = "The caller and their permissions", body = Me)))]
async fn me(caller: Caller) -> axum::Json<Me> {
    axum::Json(caller.into())
}

/// Credentials of a user.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// Sign-in name.
    name: String,
    /// Password.
    #[schema(format = Password)]
    password: String,
}

/// Sign in
///
/// For browsers: the response sets a cookie. Programs use API tokens.
#[utoipa::path(post, path = "/session", tag = "accounts", request_body = SignIn,
    responses((status = 200, description = "The signed-in user and their permissions", body = Me)))]
async fn sign_in_by_password(
    State(service): State<Arc<Service>>,
    origin: Origin,
    headers: HeaderMap,
    body: Body<SignIn>,
) -> Result<Response, Problem> {
    let sign_in = body.json().await?;
    let before = cookie::value(&headers, cookie::SESSION, origin.secure);
    let (secret, user) = sign_in::sign_in(&service, &sign_in.name, &sign_in.password, origin, before).await?;
    let mut caller = Caller::nobody(false);
    (caller.user, caller.by) = (Some(user), By::Session);
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie::begin_session(&secret, origin.secure))]);
    Ok((cookie, axum::Json(Me::from(caller))).into_response())
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SignOut {
    /// Whether to end all sessions of the user instead of only this one. Default: false.
    #[serde(default)]
    #[param(required = false)]
    everywhere: bool,
}

/// Sign out
#[utoipa::path(delete, path = "/session", tag = "accounts", params(SignOut),
    responses((status = 204, description = "Signed out")))]
async fn sign_out(
    State(service): State<Arc<Service>>,
    caller: Caller,
    origin: Origin,
    headers: HeaderMap,
    query: Query<SignOut>,
) -> Result<Response, Problem> {
    let SignOut { everywhere } = query.read()?;
    if everywhere {
        service.store.end_sessions(caller.must_have_signed_in()?.id).await?;
    } else if let Some(secret) = cookie::value(&headers, cookie::SESSION, origin.secure) {
        service.store.end_session(secret).await?;
    }
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie::end_session(origin.secure))]);
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

/// The current and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    /// Current password.
    #[schema(format = Password)]
    old: String,
    /// New password, of at least 8 characters.
    #[schema(format = Password)]
    new: String,
}

/// Change your password
///
/// Requires a session. Ends all other sessions.
#[utoipa::path(put, path = "/me/password", tag = "accounts", request_body = NewPassword,
    responses((status = 204, description = "The password was changed")))]
async fn change_password(
    State(service): State<Arc<Service>>,
    caller: Caller,
    origin: Origin,
    body: Body<NewPassword>,
) -> Result<Response, Problem> {
    let user = caller.must_have_signed_in()?;
    let passwords = body.json().await?;
    let secret = manage::change_password(&service, user, &passwords.old, &passwords.new, origin).await?;
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie::begin_session(&secret, origin.secure))]);
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

/// An API token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
struct TokenView {
    /// Number of the token.
    id: i64,
    /// Name of the token.
    name: String,
    /// Scopes of the token.
    scopes: Vec<String>,
    /// When the token was created.
    #[schema(format = DateTime)]
    created: String,
    /// When the token expires. Null: never.
    #[schema(format = DateTime)]
    expires: Option<String>,
    /// When the token was last used, accurate to ten minutes. Null: never.
    #[schema(format = DateTime)]
    used: Option<String>,
    /// When the token was revoked. Null if it was not.
    #[schema(format = DateTime)]
    revoked: Option<String>,
}

impl From<ApiToken> for TokenView {
    fn from(token: ApiToken) -> TokenView {
        TokenView {
            id: token.id.0,
            name: token.name,
            scopes: token.scopes,
            created: to_rfc3339(token.created),
            expires: token.expires.map(to_rfc3339),
            used: token.used.map(to_rfc3339),
            revoked: token.revoked.map(to_rfc3339),
        }
    }
}

/// List your API tokens
///
/// Requires a session.
#[utoipa::path(get, path = "/tokens", tag = "accounts",
    responses((status = 200, description = "Tokens, oldest first, including expired and revoked ones", body = [TokenView])))]
async fn tokens(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Vec<TokenView>>, Problem> {
    let owner = caller.must_have_signed_in()?;
    Ok(axum::Json(service.store.tokens(owner.id).await?.into_iter().map(TokenView::from).collect()))
}

/// An API token to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewApiToken {
    /// Name of the token.
    name: String,
    /// Scopes of the token.
    scopes: Vec<Scope>,
    /// Number of days until the token expires. Default: it does not expire.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 3653)]
    days: Option<u32>,
}

/// A created API token.
#[derive(Debug, Serialize, ToSchema)]
struct MadeToken {
    /// Number of the token.
    id: i64,
    /// The token. It is shown only once.
    token: String,
}

/// Create an API token
///
/// Requires a session: a token cannot create another one.
#[utoipa::path(post, path = "/tokens", tag = "accounts", request_body = NewApiToken,
    responses((status = 201, description = "The created token", body = MadeToken)))]
async fn new_token(
    State(service): State<Arc<Service>>,
    caller: Caller,
    body: Body<NewApiToken>,
) -> Result<(StatusCode, axum::Json<MadeToken>), Problem> {
    let owner = caller.must_have_signed_in()?;
    let new = body.json().await?;
    let (id, token) = manage::new_token(&service, owner, &new.name, &new.scopes, new.days).await?;
    Ok((StatusCode::CREATED, axum::Json(MadeToken { id: id.0, token })))
}

/// Revoke an API token
///
/// Requires a session.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "accounts", params(("id" = i64, Path, description = "Number of the token")),
    responses((status = 204, description = "The token was revoked")))]
async fn revoke_token(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Result<StatusCode, Problem> {
    let owner = caller.must_have_signed_in()?;
    manage::revoke(&service, owner.id, TokenId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List users
#[utoipa::path(get, path = "/users", tag = "accounts",
    responses((status = 200, description = "All users, by name", body = [UserView])))]
async fn users(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Vec<UserView>>, Problem> {
    caller.must(Right::Administer)?;
    Ok(axum::Json(service.store.users().await?.into_iter().map(UserView::from).collect()))
}

/// A user to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewUser {
    /// Sign-in name: letters a to z, digits and `. _ - @ +`.
    name: String,
    /// Display name. Default: the sign-in name.
    #[serde(default)]
    display: String,
    role: RoleName,
    /// Password, of at least 8 characters. Without one, the response has a link to set it.
    #[serde(default)]
    #[schema(format = Password)]
    password: Option<String>,
}

/// An added user.
#[derive(Debug, Serialize, ToSchema)]
struct AddedUser {
    user: UserView,
    /// Address at which the user sets a password, relative to the service. It works once, for one day. Null if a
    /// password was given.
    link: Option<String>,
}

/// Add a user
#[utoipa::path(post, path = "/users", tag = "accounts", request_body = NewUser,
    responses((status = 201, description = "The added user", body = AddedUser)))]
async fn add_user(
    State(service): State<Arc<Service>>,
    caller: Caller,
    body: Body<NewUser>,
) -> Result<(StatusCode, axum::Json<AddedUser>), Problem> {
    caller.must(Right::Administer)?;
    let new = body.json().await?;
    let NewUser { name, display, role, password } = new;
    let (user, link) = manage::add(&service, &name, &display, role.into(), password.as_deref()).await?;
    Ok((StatusCode::CREATED, axum::Json(AddedUser { user: user.into(), link })))
}

/// A table of users as a form.
#[derive(ToSchema)]
#[schema(as = ImportForm)]
#[expect(dead_code, reason = "describes the form, which is read part by part")]
struct ImportForm {
    /// CSV file.
    #[schema(format = Binary, content_media_type = "text/csv")]
    table: String,
}

/// Add many users
///
/// The body is a CSV table (RFC 4180) with the columns name, display name, role and password. Only the name is
/// required: the role defaults to `participant`, and missing passwords are generated. A first row that begins with
/// `name` is skipped. All users are added, or none.
#[utoipa::path(post, path = "/users/import", tag = "accounts", request_body(content((String = "text/csv"), (ImportForm = "multipart/form-data"))),
    responses((status = 201, description = "The added users, with their passwords, which are shown only once", body = [Imported])))]
async fn import_users(
    State(service): State<Arc<Service>>,
    caller: Caller,
    body: Body<()>,
) -> Result<(StatusCode, axum::Json<Vec<Imported>>), Problem> {
    caller.must(Right::Administer)?;
    let table = match body.media_type().as_str() {
        "multipart/form-data" => table_of(body).await?,
        // As it was before there was a form: whatever is said of it.
        _ => body.text().await?,
    };
    Ok((StatusCode::CREATED, axum::Json(manage::import(&service, &table).await?)))
}

/// The table of a form.
async fn table_of(body: Body<()>) -> Result<String, Refusal> {
    let mut form = body.form().await?;
    let broken = |e: MultipartError| of_status(e.status(), &e.body_text());
    let mut table = None;
    while let Some(part) = form.next_field().await.map_err(broken)? {
        match part.name() {
            Some("table") => table = Some(part.text().await.map_err(broken)?),
            _ => return Err(Refusal::Bad("form: a part is not `table`".into())),
        }
    }
    table.ok_or_else(|| Refusal::Bad("table: missing".into()))
}

/// Changes to a user. Omitted fields do not change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UserChange)]
struct Change {
    /// New role.
    #[serde(default)]
    role: Option<RoleName>,
    /// Whether the user is disabled.
    #[serde(default)]
    disabled: Option<bool>,
}

/// Update a user
///
/// A change ends all sessions of the user. The only admin can be neither demoted nor disabled.
#[utoipa::path(patch, path = "/users/{id}", tag = "accounts", params(("id" = i64, Path, description = "Number of the user")),
    request_body = Change, responses((status = 200, description = "The updated user", body = UserView)))]
async fn change_user(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<i64>,
    body: Body<Change>,
) -> Result<axum::Json<UserView>, Problem> {
    caller.must(Right::Administer)?;
    let change = body.json().await?;
    let role = change.role.map(Role::from);
    Ok(axum::Json(manage::change(&service, UserId(id), role, change.disabled).await?.into()))
}

/// A link to set a password. It works once, for one day.
#[derive(Debug, Serialize, ToSchema)]
struct Link {
    /// Address relative to the service.
    link: String,
}

/// Create a link to set a user's password
///
/// For users who forgot their password. Invalidates the previous link.
#[utoipa::path(post, path = "/users/{id}/link", tag = "accounts", params(("id" = i64, Path, description = "Number of the user")),
    responses((status = 201, description = "The link", body = Link)))]
async fn password_link(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Result<(StatusCode, axum::Json<Link>), Problem> {
    caller.must(Right::Administer)?;
    let link = manage::new_password_link(&service, UserId(id)).await?;
    Ok((StatusCode::CREATED, axum::Json(Link { link })))
}
