//! Submissions, files, problems and their versions.

use crate::Body;
use crate::common::samples::{SOURCE, at, submission, submit, version};
use crate::common::{Database, run};
use serde_json::json;
use store::{Error, Hash, NewSubmission, NewUser, NewVersion, PIECE, Role, State, Store, UserId, VersionId};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a submission is as it was handed in", as_handed_in),
    ("a submission that is refused leaves nothing behind", refused),
    ("content is kept once and in pieces", content),
    ("a problem's versions are its packages", versions),
];

fn as_handed_in(database: &Database) {
    run(async {
        let store = database.open().await;
        let user =
            NewUser { name: "ann", display: "Ann", role: Role::Participant, password: None, created: at(0) };
        let author = store.add_user(user).await.unwrap();
        let version = store.add_version(version(b"package")).await.unwrap();
        let details = json!({"from": "api", "π": [1, null, 0.1]});
        // What one database would take and the other refuse: no file, an empty one, a NUL in a name.
        let files: Vec<(&str, &[u8])> = vec![("z.c", SOURCE), ("a\0b.h", b""), ("копия.c", SOURCE)];
        let new = NewSubmission {
            version: Some(version.id),
            author: Some(author),
            files,
            details: details.clone(),
            ..submission("tok")
        };
        let (id, job) = store.submit(&new).await.unwrap();
        store.close().await;

        let store = database.open().await;
        let found = store.submission(id).await.unwrap();
        assert_eq!(store.submission_of_token("tok").await.unwrap(), found);
        assert_eq!((found.token.as_str(), found.language.as_str()), ("tok", "c"));
        assert_eq!((found.author, found.details, found.created), (Some(author), details, at(0)));
        assert_eq!((found.state, found.current, found.forgotten), (State::Waiting, None, None));
        let problem = found.problem.unwrap();
        assert_eq!((problem.name.as_str(), problem.version, problem.number), ("sieve", version.id, 1));
        let files = store.files(id).await.unwrap();
        let seen: Vec<_> = files.iter().map(|f| (f.name.as_str(), f.size, f.hash.clone())).collect();
        let of = |bytes: &[u8]| (bytes.len() as u64, Hash::digest(bytes));
        let (source, empty) = (of(SOURCE), of(b""));
        assert_eq!(
            seen,
            [
                ("z.c", source.0, source.1.clone()),
                ("a\u{fffd}b.h", 0, empty.1),
                ("копия.c", source.0, source.1)
            ]
        );
        assert_eq!(store.blob(&files[0].hash).await.unwrap(), SOURCE);
        assert_eq!(store.blob(&files[1].hash).await.unwrap(), b"");
        assert_eq!(store.jobs(id).await.unwrap().iter().map(|j| j.id).collect::<Vec<_>>(), [job]);
        assert!(store.files(submit(&store, "other").await).await.unwrap().len() == 1);
    });
}

fn refused(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "tok").await;
        let before = store.counts().await.unwrap();
        let other: &[u8] = b"other";
        let twice = vec![("main.c", other), ("main.c", SOURCE)];
        for (new, expected) in [
            (
                NewSubmission { files: vec![("main.c", other)], ..submission("tok") },
                "submission tok: there is one",
            ),
            (NewSubmission { files: twice, ..submission("a") }, "file main.c: two files"),
            (
                NewSubmission { version: Some(VersionId(77)), ..submission("b") },
                "the problem version or the author",
            ),
            (
                NewSubmission { author: Some(UserId(77)), ..submission("c") },
                "the problem version or the author",
            ),
        ] {
            let error = store.submit(&new).await.unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert_eq!(
                matches!(error, Error::NotFound(_)),
                new.version.is_some() || new.author.is_some(),
                "{error}"
            );
        }
        assert_eq!(store.counts().await.unwrap(), before);
        let error = store.blob(&Hash::digest(other)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("content {}: not found", Hash::digest(other)));
    });
}

fn content(database: &Database) {
    run(async {
        let store = database.open().await;
        let large: Vec<u8> = (0..PIECE * 2 + 5).map(|i| (i % 251) as u8).collect();
        for (token, name) in [("a", "x"), ("b", "y")] {
            store.submit(&NewSubmission { files: vec![(name, &large)], ..submission(token) }).await.unwrap();
        }
        let hash = Hash::digest(&large);
        assert_eq!(store.counts().await.unwrap().content_bytes, large.len() as u64);
        assert_eq!(store.blob_size(&hash).await.unwrap(), large.len() as u64);
        assert!(store.blob(&hash).await.unwrap() == large);
        let mut pieces = Vec::new();
        for piece in 0..4 {
            pieces.push(store.blob_piece(&hash, piece).await.unwrap());
        }
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE, PIECE, 5, 0]);
        assert!(pieces.concat() == large);

        database.execute("UPDATE blob_pieces SET bytes = (SELECT bytes FROM blob_pieces WHERE piece = 2) WHERE piece = 1").await;
        assert!(matches!(store.blob(&hash).await, Err(Error::Damaged { .. })));
        assert_eq!(store.check().await.unwrap(), [format!("content {hash}: it has changed")]);
    });
}

async fn newest(store: &Store) -> (String, u32) {
    let problem = store.problem("sieve").await.unwrap();
    (problem.title, problem.newest.number)
}

fn versions(database: &Database) {
    run(async {
        let store = database.open().await;
        assert!(matches!(store.problem("sieve").await, Err(Error::NotFound(_))));
        let first = store.add_version(version(b"one")).await.unwrap();
        assert_eq!(store.add_version(version(b"one")).await.unwrap(), first);
        let second = store.add_version(NewVersion { title: "Old sieve", ..version(b"two") }).await.unwrap();
        // Back to the first package is a version of its own.
        let third = store.add_version(version(b"one")).await.unwrap();
        assert_eq!([first.number, second.number, third.number], [1, 2, 3]);
        assert_eq!(third.package, first.package);
        assert_eq!(store.versions(first.problem).await.unwrap(), [third.clone(), second.clone(), first]);
        assert_eq!(store.version(second.id).await.unwrap(), second);
        assert_eq!(newest(&store).await, ("Sieve".to_string(), 3));
        store.add_version(NewVersion { name: "abacus", ..version(b"three") }).await.unwrap();
        let names: Vec<_> = store.problems().await.unwrap().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["abacus", "sieve"]);
        let new = NewSubmission { version: Some(second.id), ..submission("tok") };
        let id = store.submit(&new).await.unwrap().0;
        assert_eq!(store.submission(id).await.unwrap().problem.unwrap().number, 2);
        let mut refused = version(b"four");
        refused.author = Some(UserId(77));
        assert_eq!(store.add_version(refused).await.unwrap_err().to_string(), "user 77: not found");
        assert_eq!(newest(&store).await.1, 3);
    });
}
