use super::*;

fn small(seed: u64) -> Scenario {
    Scenario { seed, seconds: 2 * 3600, ailing: 0.1, deaths: 0.1, ..Scenario::of_nodes(200) }
}

#[test]
fn nothing_is_lost_doubled_or_judged_elsewhere() {
    for seed in 1..4 {
        let figures = run(&Scenario { lost_messages: 0.01, cuts: 4, ..small(seed) });
        assert_eq!((figures.lost, figures.doubled, figures.outside_pool), (0, 0, 0), "{figures:#?}");
        // That it went well is worth something only where enough went wrong.
        assert!(figures.redelivered > 5 && figures.repeated > 5, "{figures:#?}");
        assert!(figures.wrong.wrong * 1000 <= figures.wrong.certain, "{:?}", figures.wrong);
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let short = Scenario { seconds: 600, ..Scenario::of_nodes(60) };
    assert_eq!(run(&short), run(&short));
    assert_ne!(run(&short).judgements, run(&Scenario { seed: 2, ..short }).judgements);
}

#[test]
fn guards_put_wrong_verdicts_right() {
    let ailing = Scenario { ailing: 0.5, deaths: 0.0, cuts: 0, ..small(5) };
    let guarded = run(&ailing);
    let open = run(&Scenario { guarded: false, ..ailing });
    assert!(
        open.wrong.wrong > 5 && 5 * guarded.wrong.wrong < open.wrong.wrong,
        "{:?} {:?}",
        open.wrong,
        guarded.wrong
    );
    assert!(
        guarded.detection.iter().all(|one| one.slower_pct < 5 || one.found > 0),
        "{:#?}",
        guarded.detection
    );
    assert!(open.checks.keys().all(|why| *why == "confirm"), "{:?}", open.checks);
}

#[test]
fn quiet_nodes_stay() {
    let quiet = quiet(20, 1);
    assert!(quiet.a_year <= 2.0 * quiet.allowed, "{quiet:?}");
}
