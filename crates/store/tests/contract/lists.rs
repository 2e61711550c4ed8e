//! Lists: filters and pages, against a filter over everything.

use crate::Body;
use crate::common::samples::{AGAIN, at, claim, judgement, lease, submission, version};
use crate::common::{Database, run};
use model::Verdict;
use std::collections::BTreeSet;
use store::{
    Conclusion, Filter, NewSubmission, NewUser, NewVersion, PARTICIPANT, Page, Purpose, Rejudge, Role, State,
    Store, Submission, SubmissionId, Urgency,
};

pub(crate) const TESTS: &[(&str, Body)] = &[("filters and pages", filters), ("pages do not shift", shifting)];

/// 48 submissions of every kind, of which a part is judged.
async fn fill(store: &Store) {
    let (mut users, mut versions) = (vec![None], vec![None]);
    for name in ["ann", "bob"] {
        let user = NewUser { name, display: name, role: Role::Participant, password: None, created: at(0) };
        users.push(Some(store.add_user(user).await.unwrap()));
    }
    for (name, package) in [("sieve", b"1"), ("sieve", b"2"), ("queens", b"3")] {
        let new = NewVersion { name, ..version(package) };
        versions.push(Some(store.add_version(new).await.unwrap().id));
    }
    for n in 0..48usize {
        let token = n.to_string();
        let new = NewSubmission {
            author: users[n % 3],
            version: versions[n % 4],
            language: ["c", "python3"][n % 2],
            origin: [PARTICIPANT, "jury", "judge0", PARTICIPANT][n / 3 % 4],
            visitor: (n % 3 == 0).then_some(["x", "y"][n / 6 % 2]),
            created: at(n as i64 / 5),
            ..submission(&token)
        };
        store.submit(&new).await.unwrap();
    }
    for n in 0..30 {
        let job = claim(store, "w").await.unwrap();
        let verdict = [Verdict::Accepted, Verdict::WrongAnswer, Verdict::TimeLimit][n % 3];
        store.finish(lease(&job), &judgement(verdict), None, at(100), Conclusion::stands()).await.unwrap();
    }
    for id in [1, 2, 3, 40] {
        let live = Rejudge { times: 2, urgency: Urgency::Live, ..AGAIN };
        store.rejudge(SubmissionId(id), live).await.unwrap();
        store.rejudge(SubmissionId(id + 4), Rejudge { purpose: Purpose::Trial, ..live }).await.unwrap();
    }
    for _ in 0..9 {
        claim(store, "w").await.unwrap();
    }
}

fn lets_through(filter: &Filter, s: &Submission) -> bool {
    filter.problem.is_none_or(|problem| s.problem.as_ref().is_some_and(|p| p.problem == problem))
        && filter.author.is_none_or(|author| s.author == Some(author))
        && filter.language.as_ref().is_none_or(|language| s.language == *language)
        && filter.verdict.is_none_or(|verdict| s.current.as_ref().is_some_and(|j| j.verdict == verdict))
        && filter.state.is_none_or(|state| s.state == state)
        && filter.origin.as_ref().is_none_or(|origin| s.origin == *origin)
        && filter.visitor.as_ref().is_none_or(|visitor| s.visitor.as_ref() == Some(visitor))
        && filter.since.is_none_or(|since| s.created >= since)
        && filter.until.is_none_or(|until| s.created < until)
}

/// One of every combination of filters, and the states by turns.
async fn combinations(store: &Store) -> Vec<Filter> {
    let problem = store.problem("sieve").await.unwrap().id;
    let author = store.user_of_name("bob").await.unwrap().id;
    let on = |n: u32, bit: u32| n & (1 << bit) != 0;
    let filter = |n: u32| Filter {
        contest: None,
        problem: on(n, 0).then_some(problem),
        author: on(n, 1).then_some(author),
        language: on(n, 2).then(|| "python3".to_string()),
        verdict: on(n, 3).then_some(Verdict::WrongAnswer),
        since: on(n, 4).then_some(at(2)),
        until: on(n, 5).then_some(at(8)),
        origin: on(n, 6).then(|| ["jury", PARTICIPANT][n as usize % 2].to_string()),
        visitor: on(n, 7).then(|| "y".to_string()),
        state: [None, Some(State::Waiting), Some(State::Judging), Some(State::Judged)]
            [(n.count_ones() + n / 16) as usize % 4],
    };
    (0..256).map(filter).collect()
}

fn filters(database: &Database) {
    run(async {
        let store = database.open().await;
        fill(&store).await;
        let all = store.submissions(&Filter::default(), Page::first(100)).await.unwrap();
        assert!(all.len() == 48 && all.is_sorted_by(|a, b| a.id > b.id));
        let mut some = 0;
        for filter in combinations(&store).await {
            let expected: Vec<_> = all.iter().filter(|s| lets_through(&filter, s)).cloned().collect();
            let count = store.count_submissions(&filter, 1000).await.unwrap();
            assert_eq!(count, expected.len() as u64, "{filter:?}");
            assert_eq!(store.count_submissions(&filter, 5).await.unwrap(), count.min(5), "{filter:?}");
            some += usize::from(!expected.is_empty() && expected.len() < all.len());
            let (mut paged, mut page) = (Vec::new(), Page::first(17));
            loop {
                let found = store.submissions(&filter, page).await.unwrap();
                let Some(last) = found.last() else { break };
                page = Page::after(last.id, 17);
                paged.extend(found);
            }
            assert_eq!(paged, expected, "{filter:?}");
            let skipped = store.submissions(&filter, Page { skip: 2, ..Page::first(3) }).await.unwrap();
            assert_eq!(skipped, expected.iter().skip(2).take(3).cloned().collect::<Vec<_>>(), "{filter:?}");
        }
        let states: BTreeSet<_> = all.iter().map(|s| format!("{:?}", s.state)).collect();
        assert_eq!(states.len(), 3, "{states:?}");
        assert!(some > 80, "only {some} filters tell anything apart");
    });
}

fn shifting(database: &Database) {
    run(async {
        let store = database.open().await;
        for n in 0..6 {
            store.submit(&submission(&n.to_string())).await.unwrap();
        }
        let ids = |found: Vec<Submission>| found.into_iter().map(|s| s.id).collect::<Vec<SubmissionId>>();
        let first = ids(store.submissions(&Filter::default(), Page::first(3)).await.unwrap());
        store.submit(&submission("late")).await.unwrap();
        let second = ids(store.submissions(&Filter::default(), Page::after(first[2], 3)).await.unwrap());
        let both: Vec<_> = first.into_iter().chain(second).map(|id| id.0).collect();
        assert_eq!(both, [6, 5, 4, 3, 2, 1]);
    });
}
