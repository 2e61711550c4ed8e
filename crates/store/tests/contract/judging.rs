//! Judgements: kept whole, none overwritten, at most one current.

use crate::Body;
use crate::common::samples::{AGAIN, at, claim, judge_all, judgement, lease, submit};
use crate::common::{Database, run};
use model::{Bytes, Charge, Exit, Judgement, Nanos, Observation, Reading, Verdict};
use store::{Conclusion, Error, Finished, JobId, Purpose, Rejudge, Store, SubmissionId};

pub(crate) const TESTS: &[(&str, Body)] = &[
    ("a judgement is kept to the last digit", whole),
    ("a rejudge adds and the last that was asked for counts", last_asked_counts),
    ("a fault of ours never takes the place of a verdict", faults),
    ("trials do not count", trials),
    ("another version can be judged by", versions),
    ("what cannot be read is damaged", unreadable),
];

/// Everything that a database or JSON could bend.
fn odd() -> Judgement {
    let mut odd = judgement(Verdict::TimeLimit);
    odd.compile.output = "a\0b \u{7f} \u{1f600} \\ \" '\n".into();
    odd.score = Some(0.1 + 0.2);
    odd.max_score = Some(f64::MIN_POSITIVE);
    odd.tests[0].charge.amount = u64::MAX;
    odd.tests[0].memory_peak = Reading::unknown("nobody\0looked");
    odd.tests[0].message = "'; DROP TABLE jobs; -- $1\0".into();
    odd.tests[0].score = Some(1.0 / 3.0);
    let mut run = Observation::unread(Exit::Signal(9), Nanos(u64::MAX - 1), "odd");
    run.evidence.frequency_ratio = Reading::Known(1.000_000_000_000_000_2);
    run.evidence.slowdown = Reading::Known(2.225_073_858_507_201e-308);
    odd.tests[1].runs = vec![run.clone(), run];
    odd.tests[0].runs.clear();
    odd
}

fn whole(database: &Database) {
    run(async {
        let store = database.open().await;
        let empty = Judgement { tests: Vec::new(), ..judgement(Verdict::CompileError) };
        for (token, judgement) in [("odd", odd()), ("plain", judgement(Verdict::Accepted)), ("empty", empty)]
        {
            let id = submit(&store, token).await;
            let job = claim(&store, "w").await.unwrap();
            let Finished::Stored(stored) =
                store.finish(lease(&job), &judgement, None, at(5), Conclusion::stands()).await.unwrap()
            else {
                panic!("{token}: finished before")
            };
            let found = store.judgement(stored).await.unwrap();
            assert_eq!(found.judgement, judgement, "{token}");
            assert_eq!((found.submission, found.forgotten), (id, false));
            let short = found.summary;
            assert_eq!((short.id, short.job, short.number, short.current), (stored, job.id, 1, true));
            assert_eq!(
                (short.verdict, short.score, short.finished),
                (judgement.verdict, judgement.score, at(5))
            );
            assert_eq!(short.confidence, judgement.settled.confidence);
            // The column holds no more; the judgement itself has it all.
            let most = |n: u64| n.min(i64::MAX as u64);
            let charge = judgement.slowest().known().map(|c| Charge { amount: most(c.amount), ..*c });
            assert_eq!(short.charge, charge, "{token}");
            assert_eq!(short.memory, judgement.memory_peak().known().map(|n| Bytes(most(n.0))), "{token}");
            assert_eq!(store.history(id).await.unwrap(), std::slice::from_ref(&short));
            assert_eq!(store.submission(id).await.unwrap().current, Some(short));
            assert_eq!(store.current_judgement(id).await.unwrap().judgement, judgement);
        }
        let none = submit(&store, "none").await;
        assert!(matches!(store.current_judgement(none).await, Err(Error::NotFound(_))));
    });
}

async fn finish(store: &Store, job: JobId, verdict: Verdict) {
    let job = store.job(job).await.unwrap();
    store.finish(lease(&job), &judgement(verdict), None, at(5), Conclusion::stands()).await.unwrap();
}

/// The verdicts in the order they came, and the current one.
async fn seen(store: &Store, id: SubmissionId) -> (Vec<Verdict>, Option<Verdict>) {
    let history = store.history(id).await.unwrap();
    assert!(history.iter().filter(|j| j.current).count() <= 1);
    let numbers: Vec<u64> = history.iter().map(|j| j.number).collect();
    assert_eq!(numbers, (1..=history.len() as u64).collect::<Vec<_>>());
    let current = history.iter().find(|j| j.current).map(|j| j.verdict);
    assert_eq!(store.submission(id).await.unwrap().current.map(|j| j.verdict), current);
    (history.into_iter().map(|j| j.verdict).collect(), current)
}

fn last_asked_counts(database: &Database) {
    use Verdict::{Accepted as AC, TimeLimit as TLE, WrongAnswer as WA};
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        let again = store.rejudge(id, Rejudge { times: 2, ..AGAIN }).await.unwrap();
        let first = claim(&store, "u").await.unwrap().id;
        assert_eq!(seen(&store, id).await, (vec![], None));
        claim(&store, "v").await.unwrap();
        claim(&store, "w").await.unwrap();
        finish(&store, again[0], WA).await;
        assert_eq!(seen(&store, id).await, (vec![WA], Some(WA)));
        // Asked for earlier, so it was judged by what held earlier.
        finish(&store, first, AC).await;
        assert_eq!(seen(&store, id).await, (vec![WA, AC], Some(WA)));
        finish(&store, again[1], TLE).await;
        assert_eq!(seen(&store, id).await, (vec![WA, AC, TLE], Some(TLE)));
        let nowhere = store.rejudge(SubmissionId(99), AGAIN).await.unwrap_err();
        assert_eq!(nowhere.to_string(), "submission 99: not found");
    });
}

fn faults(database: &Database) {
    use Verdict::{Accepted as AC, JudgeError as JE, WrongAnswer as WA};
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        for (verdict, current) in [(JE, JE), (JE, JE), (WA, WA), (JE, WA), (AC, AC)] {
            judge_all(&store, verdict).await;
            assert_eq!(seen(&store, id).await.1, Some(current));
            store.rejudge(id, AGAIN).await.unwrap();
        }
        let history = store.history(id).await.unwrap();
        let last_fault = history.iter().rfind(|j| j.verdict == JE).unwrap().id;
        let fault = store.judgement(last_fault).await.unwrap().judgement.fault;
        assert_eq!(fault.as_deref(), Some("the slot vanished"));
    });
}

fn trials(database: &Database) {
    use Verdict::{Accepted as AC, TimeLimit as TLE};
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        judge_all(&store, AC).await;
        store.rejudge(id, Rejudge { times: 3, purpose: Purpose::Trial, ..AGAIN }).await.unwrap();
        assert_eq!(store.submission(id).await.unwrap().state, store::State::Judged);
        judge_all(&store, TLE).await;
        assert_eq!(seen(&store, id).await, (vec![AC, TLE, TLE, TLE], Some(AC)));
        let purposes: Vec<_> = store.history(id).await.unwrap().into_iter().map(|j| j.purpose).collect();
        assert_eq!(purposes, [Purpose::Verdict, Purpose::Trial, Purpose::Trial, Purpose::Trial]);
        assert_eq!(store.counts().await.unwrap().verdicts, [(AC, 1)]);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn versions(database: &Database) {
    run(async {
        let store = database.open().await;
        let old = store.add_version(crate::common::samples::version(b"old")).await.unwrap();
        let mut new = crate::common::samples::submission("1");
        new.version = Some(old.id);
        let (id, first) = store.submit(&new).await.unwrap();
        let newer = store.add_version(crate::common::samples::version(b"new")).await.unwrap();
        let same = store.rejudge(id, AGAIN).await.unwrap();
        let other = store.rejudge(id, Rejudge { version: Some(newer.id), ..AGAIN }).await.unwrap();
        let by = |job: JobId| {
            let store = store.clone();
            async move { store.job(job).await.unwrap().version }
        };
        assert_eq!(
            [by(first).await, by(same[0]).await, by(other[0]).await],
            [Some(old.id), Some(old.id), Some(newer.id)]
        );
        assert_eq!(store.submission(id).await.unwrap().problem.unwrap().version, old.id);
        let nowhere = Rejudge { version: Some(store::VersionId(99)), ..AGAIN };
        assert_eq!(
            store.rejudge(id, nowhere).await.unwrap_err().to_string(),
            "the problem version: not found"
        );
        assert_eq!(store.jobs(id).await.unwrap().len(), 3);
    });
}

fn unreadable(database: &Database) {
    run(async {
        let store = database.open().await;
        let id = submit(&store, "1").await;
        judge_all(&store, Verdict::Accepted).await;
        let judgement = store.history(id).await.unwrap()[0].id;
        for (damage, why, repair) in [
            (
                "UPDATE judgements SET form = 99",
                "form 99 of a judgement, and this version knows 1",
                "UPDATE judgements SET form = 1",
            ),
            ("UPDATE runs SET form = 0", "form 0 of a judgement", "UPDATE runs SET form = 1"),
            (
                "UPDATE judgements SET verdict = 'XX'",
                "`XX` is not a verdict",
                "UPDATE judgements SET verdict = 'AC'",
            ),
            (
                "UPDATE judgements SET body = '?' || body",
                "column body: expected value",
                "UPDATE judgements SET body = substr(body, 2)",
            ),
            ("DELETE FROM test_results WHERE position = 1", "runs of 2 tests", "UPDATE runs SET form = 1"),
        ] {
            database.execute(damage).await;
            let error = store.judgement(judgement).await.unwrap_err();
            assert!(matches!(&error, Error::Damaged { why: found, .. } if found.contains(why)), "{error}");
            database.execute(repair).await;
        }
    });
}
