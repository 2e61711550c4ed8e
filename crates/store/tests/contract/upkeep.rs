//! Opening, upgrading, retention, backup, and finding what is wrong.

use crate::Body;
use crate::common::samples::{
    AGAIN, SOURCE, at, claim, judge_all, judgement, lease, submission, submit, version,
};
use crate::common::{Database, Engine, execute, run};
use model::Verdict;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use store::{Conclusion, Error, Forgotten, Hash, NewSubmission, SCHEMA, Store, SubmissionId};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("several open an empty database at once", opened_at_once),
    ("a newer schema is refused", newer_schema),
    ("another program's database is refused", foreign),
    ("what is not there is not made", nothing_there),
    ("verdicts outlive sources and runs", retention),
    ("content in use is not forgotten", shared_content),
    ("a backup is a database", backup),
    ("what is wrong is found", wrong),
];

fn opened_at_once(database: &Database) {
    run(async {
        let url = database.url.clone();
        let openers = (0..4).map(|_| {
            let url = url.clone();
            tokio::spawn(async move { Store::open(&url).await })
        });
        let openers: Vec<_> = openers.collect();
        for (n, opener) in openers.into_iter().enumerate() {
            let store = opener.await.unwrap().unwrap();
            submit(&store, &n.to_string()).await;
        }
        assert_eq!(database.open().await.counts().await.unwrap().submissions, 4);
        if database.engine == Engine::Sqlite {
            for file in std::fs::read_dir(database.directory.path()).unwrap() {
                let file = file.unwrap();
                assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
            }
        }
    });
}

fn newer_schema(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        store.close().await;
        database.execute(&format!("INSERT INTO schema_versions (version) VALUES ({})", SCHEMA + 1)).await;
        let error = Store::open(&database.url).await.unwrap_err();
        let Error::NewerSchema { found, known, .. } = error else { panic!("{error}") };
        assert_eq!((found, known), (SCHEMA + 1, SCHEMA));
        database.execute(&format!("DELETE FROM schema_versions WHERE version > {SCHEMA}")).await;
        assert_eq!(database.open().await.counts().await.unwrap().submissions, 1);
    });
}

fn foreign(database: &Database) {
    run(async {
        database.execute("CREATE TABLE recipes (name TEXT)").await;
        let error = Store::open(&database.url).await.unwrap_err().to_string();
        assert!(error.contains("recipes") && error.contains("another program"), "{error}");
        assert!(!error.contains("tauto@"), "{error}");
    });
}

fn nothing_there(database: &Database) {
    run(async {
        let error = Store::open_as_is(&database.url).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{error}");
        if database.engine == Engine::Sqlite {
            assert!(!Path::new(&database.url).exists(), "it was made");
        }
        database.open().await.close().await;
        assert_eq!(Store::open_as_is(&database.url).await.unwrap().1, SCHEMA);
    });
}

fn retention(database: &Database) {
    run(async {
        let store = database.open().await;
        let mut ids = Vec::new();
        for n in 0..5 {
            let source = format!("program {n}");
            let files: Vec<(&str, &[u8])> = vec![("main.c", source.as_bytes()), ("same.h", SOURCE)];
            let token = n.to_string();
            let new = NewSubmission { files, created: at(n), ..submission(&token) };
            ids.push(store.submit(&new).await.unwrap().0);
        }
        for _ in 0..4 {
            let job = claim(&store, "w").await.unwrap();
            store
                .finish(lease(&job), &judgement(Verdict::TimeLimit), None, at(10), Conclusion::stands())
                .await
                .unwrap();
        }
        store.rejudge(ids[1], AGAIN).await.unwrap();
        // 1 is to be judged again, 4 was never judged, 3 is too young; two at a time.
        let some = |submissions, contents| Forgotten { submissions, contents, ..Forgotten::default() };
        assert_eq!(store.forget(at(3), 1, at(99)).await.unwrap(), some(1, 1));
        assert_eq!(store.forget(at(3), 9, at(99)).await.unwrap(), some(1, 1));
        assert_eq!(store.forget(at(3), 9, at(99)).await.unwrap(), some(0, 0));
        for (id, forgotten) in ids.iter().zip([true, false, true, false, false]) {
            let submission = store.submission(*id).await.unwrap();
            assert_eq!(submission.forgotten, forgotten.then_some(at(99)));
            assert_eq!(store.files(*id).await.unwrap().is_empty(), forgotten);
        }
        let error = store.rejudge(ids[0], AGAIN).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict(why) if why.contains("were deleted")), "{error}");
        let kept = store.current_judgement(ids[0]).await.unwrap();
        let mut expected = judgement(Verdict::TimeLimit);
        expected.tests.iter_mut().for_each(|test| test.runs.clear());
        assert_eq!((kept.forgotten, kept.judgement), (true, expected));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        judge_all(&store, Verdict::Accepted).await;
        assert_eq!(store.forget(at(99), 9, at(99)).await.unwrap(), some(3, 4));
        assert_eq!(store.counts().await.unwrap().content_bytes, 0);
    });
}

fn shared_content(database: &Database) {
    run(async {
        let store = database.open().await;
        // A package that is also somebody's source.
        store.add_version(version(SOURCE)).await.unwrap();
        submit(&store, "1").await;
        judge_all(&store, Verdict::Accepted).await;
        assert_eq!(
            store.forget(at(9), 9, at(9)).await.unwrap(),
            Forgotten { submissions: 1, ..Forgotten::default() }
        );
        assert_eq!(store.blob(&Hash::digest(SOURCE)).await.unwrap(), SOURCE);
    });
}

fn backup(database: &Database) {
    run(async {
        let store = database.open().await;
        submit(&store, "1").await;
        judge_all(&store, Verdict::Accepted).await;
        let to = database.directory.path().join("copy.db");
        let backed_up = store.backup(&to).await;
        if database.engine == Engine::Postgres {
            let error = backed_up.unwrap_err();
            assert!(matches!(&error, Error::Unsupported(why) if why.contains("pg_dump")), "{error}");
            return;
        }
        backed_up.unwrap();
        submit(&store, "2").await;
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = store.backup(&to).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict(why) if why.contains("copy.db")), "{error}");
        let nowhere = store.backup(Path::new("/nowhere/copy.db")).await.unwrap_err();
        assert!(nowhere.to_string().contains("/nowhere/copy.db"), "{nowhere}");
        let copy = Store::open(&to.display().to_string()).await.unwrap();
        assert_eq!(copy.counts().await.unwrap().submissions, 1);
        assert_eq!(copy.check().await.unwrap(), Vec::<String>::new());
        let (id, _) = copy.submit(&submission("3")).await.unwrap();
        assert_eq!(id, SubmissionId(2));
        let names: Vec<_> = std::fs::read_dir(database.directory.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("partial"))
            .collect();
        assert_eq!(names, Vec::<String>::new());
    });
}

fn wrong(database: &Database) {
    run(async {
        let store = database.open().await;
        for token in ["1", "2", "3"] {
            let id = submit(&store, token).await;
            store.rejudge(id, AGAIN).await.unwrap();
        }
        judge_all(&store, Verdict::Accepted).await;
        // Submission n has jobs 2n - 1 and 2n; live ones were judged first: judgement n, then n + 3.
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        for (damage, found, repair) in [
            (
                "UPDATE judgements SET current = 0 WHERE submission = 1",
                "submission 1: judged, and no judgement is current",
                "UPDATE judgements SET current = 1 WHERE id = 4",
            ),
            (
                "UPDATE judgements SET current = 0 WHERE id = 4; UPDATE judgements SET current = 1 WHERE id = 1",
                "judgement 1: current, though a later one should be",
                "UPDATE judgements SET current = 0 WHERE id = 1; UPDATE judgements SET current = 1 WHERE id = 4",
            ),
            (
                "UPDATE submissions SET judgements = 7 WHERE id = 2",
                "submission 2: it counts other judgements than there are",
                "UPDATE submissions SET judgements = 2 WHERE id = 2",
            ),
            (
                "UPDATE jobs SET state = 'queued' WHERE id = 3",
                "judgement 2: its job is not judged, or of another submission",
                "UPDATE jobs SET state = 'judged' WHERE id = 3",
            ),
            (
                "UPDATE submissions SET forgotten = 1 WHERE id = 3",
                "submission 3: its sources were deleted, and are there",
                "UPDATE submissions SET forgotten = NULL WHERE id = 3",
            ),
            (
                "UPDATE jobs SET purpose = 'trial' WHERE id = 6",
                "judgement 6: a trial is current",
                "UPDATE jobs SET purpose = 'verdict' WHERE id = 6",
            ),
            (
                "INSERT INTO submissions (token, language, details, created) VALUES ('x', 'c', '{}', 1)",
                "submission 4: no job asks for its verdict",
                "DELETE FROM submissions WHERE id = 4",
            ),
            (
                "INSERT INTO jobs (submission, author, purpose, urgency, ticket, state, created)
                 VALUES (1, 0, 'verdict', 0, 1, 'judged', 1)",
                "job 7: judged, and without a judgement",
                "DELETE FROM jobs WHERE id = 7",
            ),
            (
                "CREATE TABLE kept AS SELECT * FROM runs WHERE judgement = 5; DELETE FROM runs WHERE judgement = 5",
                "judgement 5: its runs are missing",
                "INSERT INTO runs SELECT * FROM kept",
            ),
        ] {
            execute(&database.url, damage).await;
            assert_eq!(store.check().await.unwrap(), [found]);
            execute(&database.url, repair).await;
            assert_eq!(store.check().await.unwrap(), Vec::<String>::new(), "{repair}");
        }
    });
}
