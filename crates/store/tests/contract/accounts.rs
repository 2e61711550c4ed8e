//! Users, tokens, sessions and settings.

use crate::Body;
use crate::common::samples::at;
use crate::common::{Database, run};
use serde_json::json;
use store::{Error, NewToken, NewUser, Role, Store, UserId};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("users have names of their own", users),
    ("tokens are good until they are not", tokens),
    ("sessions end", sessions),
    ("settings are set once by whoever is first", settings),
];

const ANN: NewUser<'_> = NewUser {
    name: "ann",
    display: "Ann Ã",
    role: Role::Jury,
    password: Some("$argon2id$x"),
    created: at(1),
};

async fn gone<T: std::fmt::Debug>(looked_up: store::Result<T>) {
    assert!(matches!(looked_up, Err(Error::NotFound(_))), "{looked_up:?}");
}

fn users(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = store.add_user(ANN).await.unwrap();
        let taken = store.add_user(NewUser { role: Role::Admin, ..ANN }).await.unwrap_err();
        assert_eq!(taken.to_string(), "user ann: the name is taken");
        store.add_user(NewUser { name: "Ann", password: None, ..ANN }).await.unwrap();
        let ann = store.user_of_name("ann").await.unwrap();
        assert_eq!((ann.id, ann.display.as_str(), ann.role), (id, "Ann Ã", Role::Jury));
        assert_eq!((ann.password.as_deref(), ann.created, ann.disabled), (Some("$argon2id$x"), at(1), None));
        assert!(!format!("{ann:?}").contains("argon2"));
        store.set_role(id, Role::Admin).await.unwrap();
        store.set_password(id, None).await.unwrap();
        store.set_disabled(id, Some(at(9))).await.unwrap();
        let ann = store.user(id).await.unwrap();
        assert_eq!((ann.role, ann.password, ann.disabled), (Role::Admin, None, Some(at(9))));
        let names: Vec<_> = store.users().await.unwrap().into_iter().map(|u| u.name).collect();
        assert_eq!(names, ["Ann", "ann"]);
        let bob = NewUser { name: "bob", role: Role::Participant, ..ANN };
        assert!(matches!(store.add_users(&[bob, ANN]).await, Err(Error::Conflict(_))));
        gone(store.user_of_name("bob").await).await;
        let added = store.add_users(&[bob, NewUser { name: "cyd", ..bob }]).await.unwrap();
        assert_eq!(store.user(added[1]).await.unwrap().name, "cyd");
        gone(store.user(UserId(99)).await).await;
        gone(store.user_of_name("dan").await).await;
        gone(store.set_role(UserId(99), Role::Admin).await).await;
    });
}

fn tokens(database: &Database) {
    run(async {
        let store = database.open().await;
        let owner = store.add_user(ANN).await.unwrap();
        let new = NewToken {
            owner,
            name: "ci",
            secret: "s3cret-1",
            scopes: &["submit", "read"],
            created: at(1),
            expires: None,
        };
        let id = store.add_token(new).await.unwrap();
        let short =
            store.add_token(NewToken { secret: "s3cret-2", expires: Some(at(10)), ..new }).await.unwrap();
        assert!(matches!(store.add_token(new).await, Err(Error::Conflict(_))));
        gone(store.add_token(NewToken { owner: UserId(99), secret: "s3cret-3", ..new }).await).await;
        let (token, user) = store.token_of_secret("s3cret-1", at(5)).await.unwrap();
        assert_eq!((token.id, token.scopes, user.id), (id, vec!["submit".to_string(), "read".into()], owner));
        assert_eq!(store.token_of_secret("s3cret-2", at(9)).await.unwrap().0.id, short);
        gone(store.token_of_secret("s3cret-2", at(10)).await).await;
        gone(store.token_of_secret("s3cret", at(5)).await).await;
        store.note_use(id, at(6)).await.unwrap();
        store.revoke_token(id, at(7)).await.unwrap();
        store.revoke_token(id, at(8)).await.unwrap();
        gone(store.token_of_secret("s3cret-1", at(8)).await).await;
        let all = store.tokens(owner).await.unwrap();
        assert_eq!(
            all.iter().map(|t| (t.used, t.revoked)).collect::<Vec<_>>(),
            [(Some(at(6)), Some(at(7))), (None, None)]
        );
        store.set_disabled(owner, Some(at(2))).await.unwrap();
        gone(store.token_of_secret("s3cret-2", at(3)).await).await;
        store.close().await;
        assert!(!stored(database).contains("s3cret"), "a secret is stored in clear");
    });
}

/// Everything in the files of an SQLite database. PostgreSQL is given the same statements.
fn stored(database: &Database) -> String {
    let files = std::fs::read_dir(database.directory.path()).unwrap();
    let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>().concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn begin(store: &Store, secret: &str, user: UserId) {
    store.begin_session(secret, user, &json!({"csrf": "x"}), at(1), at(10)).await.unwrap();
}

fn sessions(database: &Database) {
    run(async {
        let store = database.open().await;
        let ann = store.add_user(ANN).await.unwrap();
        for secret in ["a", "b", "c"] {
            begin(&store, secret, ann).await;
        }
        let session = store.session("a", at(9)).await.unwrap();
        assert_eq!((session.user.id, session.details, session.expires), (ann, json!({"csrf": "x"}), at(10)));
        gone(store.session("a", at(10)).await).await;
        store.extend_session("a", at(20)).await.unwrap();
        store.end_session("b").await.unwrap();
        gone(store.session("b", at(2)).await).await;
        assert_eq!(store.drop_old_sessions(at(10)).await.unwrap(), 1);
        store.session("a", at(19)).await.unwrap();
        gone(store.begin_session("d", UserId(99), &json!(null), at(1), at(2)).await).await;
        begin(&store, "f", ann).await;
        store.end_sessions(ann).await.unwrap();
        gone(store.session("f", at(2)).await).await;
        begin(&store, "a", ann).await;
        // Whoever changes a password is rid of everyone who knew the old one.
        store.set_password(ann, Some("new")).await.unwrap();
        gone(store.session("a", at(2)).await).await;
        begin(&store, "e", ann).await;
        store.set_disabled(ann, Some(at(2))).await.unwrap();
        store.set_disabled(ann, None).await.unwrap();
        gone(store.session("e", at(2)).await).await;
    });
}

fn settings(database: &Database) {
    run(async {
        let store = database.open().await;
        assert_eq!(store.setting("site").await.unwrap(), None);
        store.set_setting("site", &json!({"name": "a"})).await.unwrap();
        store.set_setting("site", &json!({"name": "b"})).await.unwrap();
        assert_eq!(store.setting("site").await.unwrap(), Some(json!({"name": "b"})));
        assert_eq!(store.setting_or("site", &json!(1)).await.unwrap(), json!({"name": "b"}));
        let racers = (0..6).map(|n| {
            let store = store.clone();
            tokio::spawn(async move { store.setting_or("key", &json!(n)).await.unwrap() })
        });
        let mut seen = Vec::new();
        for racer in racers.collect::<Vec<_>>() {
            seen.push(racer.await.unwrap());
        }
        let set = store.setting("key").await.unwrap().unwrap();
        assert!(seen.iter().all(|value| *value == set), "{seen:?}");
        assert!(!store.take_setting("key", &json!("another")).await.unwrap());
        let takers = (0..6).map(|_| {
            let (store, set) = (store.clone(), set.clone());
            tokio::spawn(async move { store.take_setting("key", &set).await.unwrap() })
        });
        let mut took = 0;
        for taker in takers.collect::<Vec<_>>() {
            took += u32::from(taker.await.unwrap());
        }
        assert_eq!((took, store.setting("key").await.unwrap()), (1, None));
    });
}
