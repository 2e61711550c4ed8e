//! A program disturbed on purpose: in which order runs are made, and what each disturbance did. Pure.

use model::{BenchRun, Effect, Observation, PerturbRun, PerturbTrial, Perturbation, Reading};
use settle::{NoiseFloor, disturbances};
use stats::Random;

/// One run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which trial, by its place among those that can be had.
    pub trial: usize,
    /// Which pair, from 0.
    pub pair: usize,
    /// Disturbed, or the control.
    pub disturbed: bool,
}

/// The order in which runs are made: in rounds, each of which has a pair of every trial, in an order drawn by lot. Control and
/// disturbed run of a pair follow each other, either first.
pub fn schedule(trials: usize, pairs: usize, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut steps = Vec::with_capacity(2 * trials * pairs);
    for pair in 0..pairs {
        let mut order: Vec<usize> = (0..trials).collect();
        random.shuffle(&mut order);
        for trial in order {
            let first = random.below(2) == 0;
            steps.extend([first, !first].map(|disturbed| Step { trial, pair, disturbed }));
        }
    }
    steps
}

/// What the runs of a trial came to. `runs` are those of this trial, in the order in which they were made.
pub fn trial(
    perturbation: Perturbation,
    made: Result<String, String>,
    runs: &[(Step, Observation)],
    floor: &NoiseFloor,
) -> PerturbTrial {
    let run = |(step, observation): &(Step, Observation)| PerturbRun {
        pair: step.pair + 1,
        disturbed: step.disturbed,
        run: BenchRun {
            disturbed: disturbances(observation, floor).iter().map(|cause| cause.name.to_string()).collect(),
            observation: observation.clone(),
            void: false,
        },
    };
    let runs: Vec<PerturbRun> = runs.iter().map(run).collect();
    let pairs = pairs(&runs);
    let why = made.as_ref().err().cloned().unwrap_or_else(|| "no pair finished".into());
    let of = |clock: &dyn Fn(&Observation) -> Reading<u64>| effect(&pairs, clock, &why);
    PerturbTrial {
        perturbation,
        cpu: of(&|run| Reading::Known(run.time.cpu.0)),
        wall: of(&|run| Reading::Known(run.time.wall.0)),
        instructions: of(&|run| run.instructions.clone()),
        pairs: pairs.len(),
        made,
        runs,
    }
}

/// Control and disturbed run of each pair that has both.
pub fn pairs(runs: &[PerturbRun]) -> Vec<[&Observation; 2]> {
    let both = runs.chunks(2).filter(|two| two.len() == 2 && two[0].pair == two[1].pair);
    both.map(|two| if two[0].disturbed { [&two[1], &two[0]] } else { [&two[0], &two[1]] })
        .map(|two| two.map(|run| &run.run.observation))
        .collect()
}

fn effect(
    pairs: &[[&Observation; 2]],
    clock: &dyn Fn(&Observation) -> Reading<u64>,
    why: &str,
) -> Reading<Effect> {
    let mut differences = Vec::new();
    for pair in pairs {
        match pair.map(clock) {
            // What took no time at all has no ratio.
            [Reading::Known(control @ 1..), Reading::Known(disturbed @ 1..)] => {
                differences.push((disturbed as f64 / control as f64).ln());
            }
            [Reading::Unknown(why), _] | [_, Reading::Unknown(why)] => return Reading::Unknown(why),
            _ => return Reading::unknown("a run used none of it"),
        }
    }
    Reading::from_option(of_differences(&differences), || why.into())
}

/// The effect that differences of logarithms tell of.
pub fn of_differences(differences: &[f64]) -> Option<Effect> {
    // A millionth of a percent is less than any clock tells.
    let percent = |log: f64| (100.0 * log.exp_m1() * 1e6).round() / 1e6;
    let interval = stats::shift_interval(differences);
    let interval = interval.map(|i| [i.low, i.high].map(percent));
    let detectable = stats::detectable_shift(differences).map(percent);
    Some(Effect {
        pct: percent(stats::shift(differences)?),
        ci95: Reading::from_option(interval, || "fewer than six pairs".into()),
        found: Reading::from_option(stats::finds_shift(differences), || "fewer than twelve pairs".into()),
        detectable_pct: Reading::from_option(detectable, || "fewer than twenty pairs".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Exit, Nanos};

    #[test]
    fn every_round_has_a_pair_of_every_trial() {
        let steps = schedule(4, 30, 9);
        assert_eq!((steps.len(), &steps), (240, &schedule(4, 30, 9)));
        for (round, of_round) in steps.chunks(8).enumerate() {
            let mut trials: Vec<usize> = of_round.chunks(2).map(|pair| pair[0].trial).collect();
            trials.sort_unstable();
            assert_eq!(trials, [0, 1, 2, 3]);
            for pair in of_round.chunks(2) {
                assert!(pair[0].trial == pair[1].trial && pair[0].disturbed != pair[1].disturbed);
                assert!(pair.iter().all(|step| step.pair == round));
            }
        }
        let first = steps.iter().step_by(2).filter(|step| step.disturbed).count();
        assert!((40..=80).contains(&first), "{first} of 120");
        let orders: std::collections::BTreeSet<Vec<usize>> =
            steps.chunks(8).map(|round| round.iter().map(|step| step.trial).collect()).collect();
        assert!(orders.len() > 10);
    }

    /// A trial whose disturbed runs take `factor` times as long, on a machine that slows down and varies by `percent`.
    fn tried(seed: u64, pairs: usize, factor: f64, percent: f64) -> PerturbTrial {
        let mut random = Random::new(seed);
        let mut run = |(n, step): (usize, Step)| {
            let level = 1e8 * (1.0 + 0.002 * n as f64) * if step.disturbed { factor } else { 1.0 };
            let time = level * (percent / 100.0 * random.normal()).exp();
            (step, Observation::unread(Exit::Code(0), Nanos(time as u64), "made up"))
        };
        let runs: Vec<(Step, Observation)> =
            schedule(1, pairs, seed).into_iter().enumerate().map(&mut run).collect();
        trial(Perturbation::CacheLoad, Ok("made up".into()), &runs, &NoiseFloor::assumed())
    }

    #[test]
    fn effects_are_found_and_told_with_their_size() {
        let seen = tried(3, 20, 1.2, 1.0);
        let effect = seen.cpu.known().unwrap();
        let [low, high] = *effect.ci95.known().unwrap();
        assert!(low < 20.0 && 20.0 < high && high - low < 2.0, "{effect:?}");
        assert_eq!((effect.found.known(), seen.pairs), (Some(&true), 20));
        assert_eq!(seen.instructions, Reading::unknown("not counted under the cpu clock"));
        let few = tried(3, 3, 1.2, 1.0);
        let effect = few.cpu.known().unwrap();
        assert!((effect.pct - 20.0).abs() < 5.0 && effect.found.known().is_none());
    }

    #[test]
    fn what_is_not_there_is_hardly_ever_found_and_what_is_detectable_in_four_of_five_experiments() {
        let count = |factor: f64| {
            let is_found = |seed: &u64| {
                let seen = tried(*seed, 20, factor, 1.0).cpu;
                seen.known().is_some_and(|effect| effect.found.known() == Some(&true))
            };
            (0..400).filter(is_found).count()
        };
        // Half a one is expected.
        assert!(count(1.0) <= 3, "{}", count(1.0));
        let told: Vec<f64> = (0..400)
            .filter_map(|seed| tried(seed, 20, 1.0, 1.0).cpu.known()?.detectable_pct.known().copied())
            .collect();
        let detectable = stats::median(&told).unwrap();
        let found = count(1.0 + detectable / 100.0);
        assert!((310..=372).contains(&found), "{found} of 400 at {detectable} %");
    }

    #[test]
    fn half_a_pair_is_none() {
        let whole = tried(1, 8, 1.0, 1.0);
        let runs: Vec<(Step, Observation)> = schedule(1, 8, 1)
            .into_iter()
            .zip(&whole.runs)
            .map(|(step, run)| (step, run.run.observation.clone()))
            .collect();
        let cut = trial(Perturbation::Frequency, Ok(String::new()), &runs[..15], &NoiseFloor::assumed());
        assert_eq!((cut.pairs, cut.runs.len()), (7, 15));
        let none = trial(Perturbation::Frequency, Err("no cpufreq".into()), &[], &NoiseFloor::assumed());
        assert_eq!((none.pairs, none.wall), (0, Reading::unknown("no cpufreq")));
    }
}
