//! Users, API tokens and sessions. Secrets are never stored: of tokens and sessions only a hash is (they are random and long, so
//! that a plain SHA-256 is enough), and of passwords what the caller's password hash is.

use crate::db::{Row, Tx, values};
use crate::{Error, Hash, Result, Store, Timestamp, TokenId, UserId};
use serde_json::Value as Json;

/// What a user may do at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Admin,
    /// What concerns problems and verdicts.
    Jury,
    /// Hand in, and see their own.
    Participant,
}

impl Role {
    const ALL: [Role; 3] = [Role::Admin, Role::Jury, Role::Participant];

    const fn name(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Jury => "jury",
            Role::Participant => "participant",
        }
    }

    fn from_name(name: &str) -> std::result::Result<Role, String> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| format!("`{name}` is not a role"))
    }
}

/// A user to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewUser<'a> {
    /// The name to sign in with; no other user has it. Compared byte by byte.
    pub name: &'a str,
    /// The name to be shown.
    pub display: &'a str,
    /// What they may do.
    pub role: Role,
    /// The hash of the password, as the caller's password hash writes it; `None`: no signing in by password.
    pub password: Option<&'a str>,
    /// When.
    pub created: Timestamp,
}

/// A user.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Their number.
    pub id: UserId,
    /// The name they sign in with.
    pub name: String,
    /// The name that is shown.
    pub display: String,
    /// What they may do.
    pub role: Role,
    /// The hash of their password.
    pub password: Option<String>,
    /// Since when they are known.
    pub created: Timestamp,
    /// Since when they may do nothing.
    pub disabled: Option<Timestamp>,
}

/// Without the hash of the password, which has no place in a log.
impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let User { id, name, role, disabled, .. } = self;
        write!(f, "User {{ {id} {name} {role:?}, disabled: {disabled:?} }}")
    }
}

/// An API token to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewToken<'a> {
    /// Whose it is.
    pub owner: UserId,
    /// What they call it.
    pub name: &'a str,
    /// The token itself, random and long. Its hash is stored.
    pub secret: &'a str,
    /// What it is good for: words without spaces.
    pub scopes: &'a [&'a str],
    /// When.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
}

/// An API token, without the token itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ApiToken {
    /// Its number.
    pub id: TokenId,
    /// Whose it is.
    pub owner: UserId,
    /// What they call it.
    pub name: String,
    /// What it is good for.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// When it was last used, as far as that was noted.
    pub used: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// Somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Who it is.
    pub user: User,
    /// What the caller noted when it began.
    pub details: Json,
    /// When it ends.
    pub expires: Timestamp,
}

fn user(row: &Row) -> Result<User> {
    Ok(User {
        id: UserId(row.get("id")?),
        name: row.get("name")?,
        display: row.get("display")?,
        role: row.parse("role", Role::from_name)?,
        password: row.get("password")?,
        created: Timestamp(row.get("created")?),
        disabled: row.get::<Option<i64>>("disabled")?.map(Timestamp),
    })
}

fn token(row: &Row) -> Result<ApiToken> {
    let moment = |name| Ok::<_, Error>(row.get::<Option<i64>>(name)?.map(Timestamp));
    Ok(ApiToken {
        id: TokenId(row.get("id")?),
        owner: UserId(row.get("owner")?),
        name: row.get("name")?,
        scopes: row.get::<String>("scopes")?.split_whitespace().map(String::from).collect(),
        created: Timestamp(row.get("created")?),
        expires: moment("expires")?,
        used: moment("used")?,
        revoked: moment("revoked")?,
    })
}

async fn insert_user(tx: &mut Tx, new: &NewUser<'_>) -> Result<UserId> {
    let row = tx
        .one(
            "INSERT INTO users (name, display, role, password, created) VALUES ($1, $2, $3, $4, $5) RETURNING id",
            values![new.name, new.display, new.role.name(), new.password, new.created],
        )
        .await
        .map_err(|e| e.in_words(|| format!("user {}: the name is taken", new.name), String::new))?;
    Ok(UserId(row.get("id")?))
}

fn no_user(id: UserId) -> Error {
    Error::NotFound(format!("user {id}"))
}

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the name is taken.
    pub async fn add_user(&self, new: NewUser<'_>) -> Result<UserId> {
        let mut tx = self.db.write().await?;
        let id = insert_user(&mut tx, &new).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Adds users: all of them, or none.
    ///
    /// # Errors
    /// [`Error::Conflict`] where a name is taken.
    pub async fn add_users(&self, new: &[NewUser<'_>]) -> Result<Vec<UserId>> {
        let mut tx = self.db.write().await?;
        let mut ids = Vec::with_capacity(new.len());
        for user in new {
            ids.push(insert_user(&mut tx, user).await?);
        }
        tx.commit().await?;
        Ok(ids)
    }

    /// All users, by name.
    pub async fn users(&self) -> Result<Vec<User>> {
        let rows = self.db.read().await?.rows("SELECT * FROM users ORDER BY name", []).await?;
        rows.iter().map(user).collect()
    }

    /// One user.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn user(&self, id: UserId) -> Result<User> {
        let row = self.db.read().await?.row("SELECT * FROM users WHERE id = $1", values![id]).await?;
        user(&row.ok_or_else(|| no_user(id))?)
    }

    /// The user of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn user_of_name(&self, name: &str) -> Result<User> {
        let row = self.db.read().await?.row("SELECT * FROM users WHERE name = $1", values![name]).await?;
        user(&row.ok_or_else(|| Error::NotFound(format!("user {name}")))?)
    }

    /// Gives a user another password hash, and ends all their sessions.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn set_password(&self, id: UserId, password: Option<&str>) -> Result<()> {
        self.change_user(id, "UPDATE users SET password = $1 WHERE id = $2", values![password, id]).await
    }

    /// Gives a user another role, and ends all their sessions.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn set_role(&self, id: UserId, role: Role) -> Result<()> {
        self.change_user(id, "UPDATE users SET role = $1 WHERE id = $2", values![role.name(), id]).await
    }

    /// Shuts a user out since `disabled`, or lets them in again, and ends all their sessions.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn set_disabled(&self, id: UserId, disabled: Option<Timestamp>) -> Result<()> {
        self.change_user(id, "UPDATE users SET disabled = $1 WHERE id = $2", values![disabled, id]).await
    }

    async fn change_user(&self, id: UserId, sql: &'static str, values: Vec<crate::db::Value>) -> Result<()> {
        let mut tx = self.db.write().await?;
        if tx.run(sql, values).await? == 0 {
            return Err(no_user(id));
        }
        tx.run("DELETE FROM sessions WHERE owner = $1", values![id]).await?;
        tx.commit().await
    }

    /// Adds an API token.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the owner, [`Error::Conflict`] where the token is known.
    pub async fn add_token(&self, new: NewToken<'_>) -> Result<TokenId> {
        let mut tx = self.db.write().await?;
        let hash = Hash::digest(new.secret.as_bytes());
        let row = tx
            .one(
                "INSERT INTO api_tokens (owner, name, hash, scopes, created, expires)
                 VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
                values![new.owner, new.name, &hash, new.scopes.join(" "), new.created, new.expires],
            )
            .await
            .map_err(|e| {
                let taken = || format!("token {}: this secret is in use", new.name);
                e.in_words(taken, || format!("user {}", new.owner))
            })?;
        let id = TokenId(row.get("id")?);
        tx.commit().await?;
        Ok(id)
    }

    /// The API token of this secret and its owner, where both are good at `now`.
    ///
    /// # Errors
    /// [`Error::NotFound`] where it is unknown, revoked or over, or its owner disabled.
    pub async fn token_of_secret(&self, secret: &str, now: Timestamp) -> Result<(ApiToken, User)> {
        let mut tx = self.db.read().await?;
        let found = tx
            .row(
                "SELECT * FROM api_tokens WHERE hash = $1 AND revoked IS NULL AND (expires IS NULL OR expires > $2)",
                values![&Hash::digest(secret.as_bytes()), now],
            )
            .await?;
        let unknown = || Error::NotFound("an API token that is good".to_string());
        let token = token(&found.ok_or_else(unknown)?)?;
        let owner =
            tx.row("SELECT * FROM users WHERE id = $1 AND disabled IS NULL", values![token.owner]).await?;
        let owner = user(&owner.ok_or_else(unknown)?)?;
        Ok((token, owner))
    }

    /// Notes that a token was used. Not part of looking it up, which would make each request write.
    pub async fn note_use(&self, id: TokenId, now: Timestamp) -> Result<()> {
        self.change_token(id, "UPDATE api_tokens SET used = $1 WHERE id = $2", now).await
    }

    /// Makes a token worthless.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn revoke_token(&self, id: TokenId, now: Timestamp) -> Result<()> {
        self.change_token(id, "UPDATE api_tokens SET revoked = COALESCE(revoked, $1) WHERE id = $2", now)
            .await
    }

    async fn change_token(&self, id: TokenId, sql: &'static str, now: Timestamp) -> Result<()> {
        let mut tx = self.db.write().await?;
        if tx.run(sql, values![now, id]).await? == 0 {
            return Err(Error::NotFound(format!("API token {id}")));
        }
        tx.commit().await
    }

    /// The API tokens of a user, oldest first, expired and revoked ones included.
    pub async fn tokens(&self, owner: UserId) -> Result<Vec<ApiToken>> {
        let mut tx = self.db.read().await?;
        let rows = tx.rows("SELECT * FROM api_tokens WHERE owner = $1 ORDER BY id", values![owner]).await?;
        rows.iter().map(token).collect()
    }

    /// Begins a session. `secret` is random and long; its hash is stored.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the user, [`Error::Conflict`] where the secret is known.
    pub async fn begin_session(
        &self,
        secret: &str,
        user: UserId,
        details: &Json,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run(
            "INSERT INTO sessions (hash, owner, details, created, expires) VALUES ($1, $2, $3, $4, $5)",
            values![&Hash::digest(secret.as_bytes()), user, details.to_string(), now, expires],
        )
        .await
        .map_err(|e| e.in_words(|| "a session of this secret is there".into(), || format!("user {user}")))?;
        tx.commit().await
    }

    /// The session of this secret, where it is good at `now`.
    ///
    /// # Errors
    /// [`Error::NotFound`] where it is unknown or over, or its user disabled.
    pub async fn session(&self, secret: &str, now: Timestamp) -> Result<Session> {
        let mut tx = self.db.read().await?;
        let row = tx
            .row(
                "SELECT u.*, s.details, s.expires FROM sessions s JOIN users u ON u.id = s.owner
                 WHERE s.hash = $1 AND s.expires > $2 AND u.disabled IS NULL",
                values![&Hash::digest(secret.as_bytes()), now],
            )
            .await?;
        let row = row.ok_or_else(|| Error::NotFound("a session that is good".to_string()))?;
        Ok(Session {
            user: user(&row)?,
            details: row.json("details")?,
            expires: Timestamp(row.get("expires")?),
        })
    }

    /// Lets a session last until `expires`. Nothing happens to one that is unknown.
    pub async fn extend_session(&self, secret: &str, expires: Timestamp) -> Result<()> {
        let mut tx = self.db.write().await?;
        let hash = Hash::digest(secret.as_bytes());
        tx.run("UPDATE sessions SET expires = $1 WHERE hash = $2", values![expires, &hash]).await?;
        tx.commit().await
    }

    /// Ends a session. Nothing happens to one that is unknown.
    pub async fn end_session(&self, secret: &str) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run("DELETE FROM sessions WHERE hash = $1", values![&Hash::digest(secret.as_bytes())]).await?;
        tx.commit().await
    }

    /// Ends all sessions of a user.
    pub async fn end_sessions(&self, owner: UserId) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run("DELETE FROM sessions WHERE owner = $1", values![owner]).await?;
        tx.commit().await
    }

    /// Deletes the sessions that were over at `now`; how many.
    pub async fn drop_old_sessions(&self, now: Timestamp) -> Result<u64> {
        let mut tx = self.db.write().await?;
        let dropped = tx.run("DELETE FROM sessions WHERE expires <= $1", values![now]).await?;
        tx.commit().await?;
        Ok(dropped)
    }
}
