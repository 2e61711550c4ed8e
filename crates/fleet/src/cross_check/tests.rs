use super::*;
use Strictness::{Relaxed, RelaxedThenStrict, Strict};
use Verdict::{
    Accepted as AC, CompileError as CE, JudgeError as JE, RunTimeError as RTE, TimeLimit as TLE,
    WrongAnswer as WA,
};
use proptest::prelude::*;

const LIMIT: Nanos = Nanos::from_millis(1000);
const POLICY: CrossPolicy = CrossPolicy { share: 0.0, ..CrossPolicy::PUBLISHED };

/// Answers of the nodes a, b, c …, clear and of a strict pool.
fn answers(of: &[(Verdict, u64)]) -> Vec<NodeAnswer> {
    let answer = |(at, (verdict, ms)): (usize, &(Verdict, u64))| NodeAnswer {
        node: ["a", "b", "c", "d", "e", "f"][at].into(),
        strict: true,
        verdict: *verdict,
        time: Nanos::from_millis(*ms),
        confidence: Confidence::Clear,
        noise: 0.0,
        doubted: false,
        slower_at_most: None,
    };
    of.iter().enumerate().map(answer).collect()
}

/// In a line: `second grey`, `third times`, `confirm missed`, or `AC by a+b` with ` charged c` and ` open …`.
fn shown(next: Next) -> String {
    let word = |why: CheckReason| format!("{why:?}").to_lowercase();
    match next {
        Next::NeedSecond { why, .. } => format!("second {}", word(why)),
        Next::NeedThird { why, .. } => format!("third {}", word(why)),
        Next::ConfirmStrict { why } => format!("confirm {}", word(why)),
        Next::Final(agreed) => {
            let charged: Vec<&str> = agreed.charged.iter().map(|charge| charge.node.as_str()).collect();
            let charged =
                if charged.is_empty() { String::new() } else { format!(" charged {}", charged.join("+")) };
            let open = agreed.open.map_or(String::new(), |why| format!(" open {}", word(why)));
            format!("{} by {}{charged}{open}", agreed.verdict, agreed.agreeing.join("+"))
        }
    }
}

#[track_caller]
fn check_all(strictness: Strictness, others: usize, answers: &[NodeAnswer], expected: &str) {
    let asked = CheckedJob { job: "7", strictness, limit: LIMIT, others };
    assert_eq!(shown(next(&POLICY, &asked, answers)), expected, "{answers:?}");
}

#[track_caller]
fn check(of: &[(Verdict, u64)], expected: &str) {
    check_all(Strict, 9, &answers(of), expected);
}

#[test]
fn two_that_agree_decide() {
    check(&[(AC, 500)], "AC by a");
    check(&[(AC, 500), (AC, 512)], "AC by a+b");
    check(&[(TLE, 1100), (TLE, 2000)], "TLE by a+b");
    check(&[(AC, 1), (AC, 40)], "AC by a+b");
    check(&[(CE, 0), (CE, 0)], "CE by a+b");
}

#[test]
fn where_two_differ_a_third_decides_and_the_odd_one_is_charged() {
    check(&[(AC, 500), (AC, 525)], "third times");
    check(&[(AC, 500), (AC, 525), (AC, 505)], "AC by a+b+c");
    check(&[(AC, 500), (AC, 530), (AC, 505)], "AC by a+b+c charged b");
    check(&[(AC, 500), (AC, 530), (AC, 560)], "AC by a+b+c");
    check(&[(TLE, 1300), (AC, 900)], "third verdicts");
    check(&[(TLE, 1300), (AC, 900), (AC, 905)], "AC by b+c charged a");
    check(&[(TLE, 1300), (AC, 900), (TLE, 1310)], "TLE by a+c charged b");
    check(&[(AC, 500), (WA, 500), (AC, 500)], "AC by a+c charged b");
}

#[test]
fn noise_charges_nobody() {
    let mut noisy = answers(&[(AC, 500), (AC, 525)]);
    let noise = noise(Spread { median_excess: 0.01, tail_scale: 0.01 });
    assert!((noise - 0.0728).abs() < 1e-4, "{noise}");
    noisy[1].noise = noise;
    check_all(Strict, 9, &noisy, "AC by a+b");
    noisy[1].time = Nanos::from_millis(560);
    check_all(Strict, 9, &noisy, "third times");
}

#[test]
fn a_program_at_the_limit_charges_nobody() {
    check(&[(TLE, 1010), (AC, 998), (AC, 999)], "AC by b+c");
    check(&[(TLE, 1010), (AC, 998), (TLE, 1011)], "TLE by a+c");
}

#[test]
fn without_a_majority_more_are_asked_up_to_the_bound() {
    check(&[(AC, 500), (WA, 500), (RTE, 500)], "third verdicts");
    check(&[(AC, 500), (WA, 500), (RTE, 500), (WA, 500)], "third verdicts");
    check(&[(AC, 500), (WA, 500), (RTE, 500), (WA, 500), (WA, 500)], "WA by b+d+e");
    check(&[(AC, 500), (WA, 500), (RTE, 500), (WA, 500), (AC, 500)], "AC by a+e open verdicts");
    check_all(Strict, 0, &answers(&[(AC, 500), (WA, 500)]), "AC by a open verdicts");
}

#[test]
fn a_fault_of_ours_is_no_answer() {
    check(&[(JE, 0)], "second failed");
    check(&[(JE, 0), (AC, 500)], "AC by b");
    check(&[(JE, 0), (AC, 500), (WA, 500)], "third verdicts");
    check(&[(JE, 0), (JE, 0), (JE, 0), (JE, 0)], "second failed");
    check(&[(JE, 0), (JE, 0), (JE, 0), (JE, 0), (JE, 0)], "JE by  open failed");
}

#[test]
fn doubtful_answers_are_checked() {
    let mut grey = answers(&[(AC, 950)]);
    grey[0].confidence = Confidence::Settled;
    check_all(Strict, 9, &grey, "second grey");
    check_all(Relaxed, 9, &grey, "second grey");
    check_all(Strict, 0, &grey, "AC by a open grey");
    let mut doubted = answers(&[(WA, 10)]);
    doubted[0].doubted = true;
    check_all(Strict, 9, &doubted, "second doubted");
    doubted.extend(answers(&[(AC, 10), (WA, 10)]).into_iter().skip(1));
    check_all(Strict, 9, &doubted, "WA by a+b");
    let always = CrossPolicy { share: 1.0, ..POLICY };
    let asked = CheckedJob { job: "7", strictness: Strict, limit: LIMIT, others: 1 };
    let expected =
        Next::NeedSecond { not_on: vec!["a".into()], stage: Stage::Usual, why: CheckReason::Drawn };
    assert_eq!(next(&always, &asked, &answers(&[(AC, 500)])), expected);
}

/// A relaxed answer, and what comes after it.
#[track_caller]
fn check_relaxed(verdict: Verdict, ms: u64, slower_at_most: Option<f64>, expected: &str) {
    let mut first = answers(&[(verdict, ms)]);
    (first[0].strict, first[0].slower_at_most) = (false, slower_at_most);
    check_all(RelaxedThenStrict, 9, &first, expected);
    if expected.starts_with("confirm") {
        first.extend(answers(&[(AC, 0), (AC, 700)]).into_iter().skip(1));
        check_all(RelaxedThenStrict, 9, &first, "AC by b");
        first[1].confidence = Confidence::Settled;
        check_all(RelaxedThenStrict, 9, &first, "second grey");
    }
}

#[test]
fn what_missed_a_limit_is_confirmed_on_strict_hardware() {
    check_relaxed(AC, 400, None, "AC by a");
    check_relaxed(AC, 600, None, "confirm missed");
    check_relaxed(AC, 600, Some(1.3), "AC by a");
    check_relaxed(AC, 800, Some(1.3), "confirm missed");
    check_relaxed(WA, 800, Some(1.3), "confirm missed");
    check_relaxed(TLE, 1500, Some(1.0), "confirm missed");
    check_relaxed(CE, 0, None, "CE by a");
    let mut grey = answers(&[(AC, 300)]);
    (grey[0].strict, grey[0].confidence) = (false, Confidence::Settled);
    check_all(RelaxedThenStrict, 9, &grey, "confirm grey");
    let mut missed = answers(&[(TLE, 1500)]);
    missed[0].strict = false;
    check_all(Relaxed, 9, &missed, "TLE by a");
}

#[test]
fn jobs_are_drawn_by_name() {
    let share = |share: f64| (0..100_000).filter(|job| drawn(&job.to_string(), share)).count();
    assert_eq!((share(0.0), share(1.0)), (0, 100_000));
    // Three deviations of a binomial: 3 · √(100 000 · 0.02 · 0.98) = 133.
    assert!((1867..2133).contains(&share(0.02)), "{}", share(0.02));
    let few: Vec<u64> = (0..200).filter(|job| drawn(&job.to_string(), 0.02)).collect();
    assert_eq!(few, (0..200).filter(|job| drawn(&job.to_string(), 0.02)).collect::<Vec<_>>());
    assert!((0..1000u64).all(|job| !drawn(&job.to_string(), 0.02) || drawn(&job.to_string(), 0.05)));
}

proptest! {
    /// It ends within the bound; asks no node twice; the verdict was said by some node, and by most where it is not open;
    /// nobody is charged without two others against it.
    #[test]
    fn bounded_and_fair(
        all in proptest::collection::vec((0usize..5, 1u64..2000, 0usize..3, any::<bool>(), any::<bool>()), 6),
        strictness in 0usize..3, share in 0.0f64..1.0,
    ) {
        let policy = CrossPolicy { share, ..POLICY };
        let strictness = [Strict, Relaxed, RelaxedThenStrict][strictness];
        let mut given = Vec::new();
        let mut confirmed = false;
        for (at, (verdict, ms, firm, doubted, strict)) in all.iter().enumerate() {
            let mut one = answers(&[(AC, 0); 6]).swap_remove(at);
            one.verdict = [AC, TLE, WA, RTE, JE][*verdict];
            one.time = Nanos::from_millis(*ms);
            one.confidence = [Confidence::Clear, Confidence::Settled, Confidence::Open][*firm];
            one.doubted = *doubted;
            // A strict node may help out with relaxed work.
            one.strict = match strictness { Strict => true, Relaxed => *strict, RelaxedThenStrict => confirmed || *strict };
            given.push(one);
            let asked = CheckedJob { job: "1", strictness, limit: LIMIT, others: 6 - given.len() };
            match next(&policy, &asked, &given) {
                Next::ConfirmStrict { .. } => {
                    prop_assert!(strictness == RelaxedThenStrict && !confirmed);
                    confirmed = true;
                }
                Next::NeedSecond { not_on, stage, .. } | Next::NeedThird { not_on, stage, .. } => {
                    confirmed |= stage == Stage::Confirm;
                    prop_assert!(strictness == RelaxedThenStrict || stage == Stage::Usual);
                    prop_assert!(given.iter().all(|one| not_on.contains(&one.node) || confirmed && !one.strict));
                }
                Next::Final(agreed) => {
                    prop_assert!(agreed.verdict == JE || given[agreed.counts].verdict == agreed.verdict);
                    prop_assert!(!confirmed || given[agreed.counts].strict || agreed.verdict == JE);
                    prop_assert!(agreed.charged.len() <= 1 && (agreed.charged.is_empty() || agreed.compared.len() > 2));
                    let most = agreed.agreeing.len() * 2 > agreed.compared.len();
                    prop_assert!(most || agreed.open.is_some() || agreed.compared.is_empty());
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "not decided by six answers");
    }
}
