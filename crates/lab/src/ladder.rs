//! One stage after another of what makes a program's time steady: in which order runs are made, and what they came to. Pure.

use crate::bench::{condemn, figures};
use crate::halves::agree;
use model::{
    BenchComparison, BenchRun, Clock, LadderLoad, LadderStage, LadderStep, Observation, Reading, Rung,
};
use settle::{NoiseFloor, disturbances};
use stats::Rounds;

/// Seed of every resampling: the same runs give the same figures.
const SEED: u64 = 20_261_122;
/// Chance of a false difference among all steps, and among all comparisons of loaded with idle runs.
const LEVEL: f64 = 0.05;

/// A stage that runs are made of, by its place in [`stages`].
pub type Stage = usize;

/// A rung as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Which.
    pub rung: Rung,
    /// What it is here with and without load, in words; why it cannot be had.
    pub made: Result<[String; 2], String>,
    /// Rungs of one phase take turns; a new phase begins where the machine is changed.
    pub phase: usize,
}

/// Where a stage stands among all: idle and loaded, of each rung.
pub fn stage_of(rung: usize, load: LadderLoad) -> Stage {
    2 * rung + usize::from(load == LadderLoad::Cpu)
}

/// Rung, among the planned, and load of a stage.
pub fn rung_of(stage: Stage) -> (usize, LadderLoad) {
    (stage / 2, LadderLoad::ALL[stage % 2])
}

/// The order in which runs are made: phase after phase, in each of them all its stages in rounds.
pub fn schedule(planned: &[Planned], runs: usize, seed: u64) -> Vec<Stage> {
    let mut phases: Vec<usize> = planned.iter().map(|rung| rung.phase).collect();
    phases.dedup();
    let mut order = Vec::new();
    for phase in phases {
        let of_phase = (0..planned.len()).filter(|n| planned[*n].phase == phase && planned[*n].made.is_ok());
        let stages: Vec<Stage> =
            of_phase.flat_map(|n| LadderLoad::ALL.map(|load| stage_of(n, load))).collect();
        let mut rounds = Rounds::new(stages.len(), runs, seed.wrapping_add(phase as u64));
        while let Some(next) = rounds.next() {
            order.push(stages[next]);
            rounds.put(true);
        }
    }
    order
}

/// What the runs of each stage came to.
pub fn stages(planned: &[Planned], runs: &[(Stage, Observation)], floor: &NoiseFloor) -> Vec<LadderStage> {
    let mut stages: Vec<LadderStage> = Vec::new();
    for (n, rung) in planned.iter().enumerate() {
        for load in LadderLoad::ALL {
            let own = runs.iter().filter(|(stage, _)| *stage == stage_of(n, load));
            let made = rung.made.clone().map(|words| words[usize::from(load == LadderLoad::Cpu)].clone());
            stages.push(one(rung.rung, load, made, own.map(|(_, run)| run), floor));
        }
    }
    let loaded =
        stages.iter().filter(|stage| stage.load == LadderLoad::Cpu && !stage.runs.is_empty()).count();
    for n in (1..stages.len()).step_by(2) {
        stages[n].under_load = compared(&stages[n - 1], &stages[n], loaded);
    }
    stages
}

fn one<'a>(
    rung: Rung,
    load: LadderLoad,
    made: Result<String, String>,
    runs: impl Iterator<Item = &'a Observation>,
    floor: &NoiseFloor,
) -> LadderStage {
    let run = |observation: &Observation| BenchRun {
        disturbed: disturbances(observation, floor).iter().map(|cause| cause.name.to_string()).collect(),
        observation: observation.clone(),
        void: false,
    };
    let mut runs: Vec<BenchRun> = runs.map(run).collect();
    condemn(&mut runs, Clock::Cpu);
    let why = made.as_ref().err().cloned().unwrap_or_else(|| "no run finished".into());
    let of = |sample: Vec<f64>| Reading::from_option(figures(&sample, 1), || why.clone());
    let weakest = runs.iter().map(|run| run.observation.evidence.isolation).min();
    LadderStage {
        rung,
        load,
        isolation: Reading::from_option(weakest, || why.clone()),
        cpu: of(cpu(&runs)),
        wall: of(runs.iter().map(|run| run.observation.time.wall.0 as f64).collect()),
        valid: of(cpu(&runs.iter().filter(|run| !run.void).cloned().collect::<Vec<_>>())),
        under_load: None,
        made,
        runs,
    }
}

fn cpu(runs: &[BenchRun]) -> Vec<f64> {
    runs.iter().map(|run| run.observation.time.cpu.0 as f64).collect()
}

fn compared(idle: &LadderStage, loaded: &LadderStage, comparisons: usize) -> Option<BenchComparison> {
    let (idle, loaded) = (cpu(&idle.runs), cpu(&loaded.runs));
    let seen = stats::compare(&idle, &loaded, SEED)?;
    let interval = seen.ratio_interval;
    let half =
        |idle: &[f64], loaded: &[f64]| stats::compare(idle, loaded, SEED).map(|c| (c.p, c.ratio > 1.0));
    Some(BenchComparison {
        ratio: seen.ratio,
        ratio_ci95: [interval.low, interval.high],
        p: seen.p,
        different: seen.p < LEVEL / comparisons.max(1) as f64 && agree(&idle, &loaded, half),
    })
}

/// What each rung bought against the nearest one below that this machine has, idle and loaded.
pub fn steps(stages: &[LadderStage]) -> Vec<LadderStep> {
    compared_in(stages, |stages| stages.windows(2).map(|two| [two[0], two[1]]).collect())
}

/// What all rungs bought together: the highest that this machine has against the lowest, idle and loaded.
pub fn whole(stages: &[LadderStage]) -> Vec<LadderStep> {
    compared_in(stages, |stages| match stages {
        [first, .., last] => vec![[*first, *last]],
        _ => vec![],
    })
}

fn compared_in<'a>(
    stages: &'a [LadderStage],
    pairs: impl Fn(&[&'a LadderStage]) -> Vec<[&'a LadderStage; 2]>,
) -> Vec<LadderStep> {
    let of = |load: LadderLoad| -> Vec<&LadderStage> {
        stages.iter().filter(|stage| stage.load == load && stage.cpu.known().is_some()).collect()
    };
    let pairs: Vec<[&LadderStage; 2]> = LadderLoad::ALL.iter().flat_map(|load| pairs(&of(*load))).collect();
    pairs.iter().filter_map(|pair| step(*pair, pairs.len())).collect()
}

fn step([from, to]: [&LadderStage; 2], steps: usize) -> Option<LadderStep> {
    let (before, after) = (from.cpu.known()?, to.cpu.known()?);
    let runs = [cpu(&from.runs), cpu(&to.runs)];
    let p = stats::spreads_differ(&runs[0], &runs[1], SEED);
    let half = |from: &[f64], to: &[f64]| {
        Some((stats::spreads_differ(from, to, SEED)?, stats::spread(to)? > stats::spread(from)?))
    };
    Some(LadderStep {
        from: from.rung,
        to: to.rung,
        load: to.load,
        from_spread_pct: before.spread_pct,
        to_spread_pct: after.spread_pct,
        median_ratio: after.median.0 as f64 / before.median.0.max(1) as f64,
        // Bonferroni: many steps together are wrong no more often than one.
        differs: p.is_some_and(|p| p < LEVEL / steps.max(1) as f64) && agree(&runs[0], &runs[1], half),
        p: Reading::from_option(p, || "fewer than six runs".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Exit, Nanos};
    use stats::Random;

    fn planned(phases: &[Option<usize>]) -> Vec<Planned> {
        let of = |(rung, phase): (Rung, &Option<usize>)| Planned {
            rung,
            made: phase.map(|_| ["idle".into(), "loaded".into()]).ok_or("not here".into()),
            phase: phase.unwrap_or(9),
        };
        Rung::ALL.into_iter().zip(phases).map(of).collect()
    }

    #[test]
    fn phases_follow_each_other_and_their_stages_take_turns() {
        let planned = planned(&[Some(0), Some(0), Some(1), None, Some(2)]);
        let order = schedule(&planned, 3, 5);
        assert_eq!(order.len(), 24);
        assert_eq!(order, schedule(&planned, 3, 5));
        let sorted = |part: &[Stage]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        };
        for round in order[..12].chunks(4) {
            assert_eq!(sorted(round), [0, 1, 2, 3]);
        }
        for round in order[12..18].chunks(2) {
            assert_eq!(sorted(round), [4, 5]);
        }
        assert_eq!((sorted(&order[18..]), rung_of(9)), (vec![8, 8, 8, 9, 9, 9], (4, LadderLoad::Cpu)));
    }

    /// Runs of 100 ms that vary by so many percent, on each rung.
    fn climbed(random: &mut Random, percent: [f64; 5], level: [f64; 5]) -> Vec<LadderStage> {
        let planned = planned(&[Some(0), Some(0), Some(0), None, Some(0)]);
        let runs: Vec<(Stage, Observation)> = schedule(&planned, 20, 1)
            .into_iter()
            .map(|stage| {
                let rung = rung_of(stage).0;
                let time = 1e8 * level[rung] * (1.0 + percent[rung] / 100.0 * random.normal().abs());
                (stage, Observation::unread(Exit::Code(0), Nanos(time as u64), "made up"))
            })
            .collect();
        stages(&planned, &runs, &NoiseFloor::assumed())
    }

    #[test]
    fn a_rung_that_helps_is_told_from_one_that_does_not() {
        let (mut helps, mut useless) = (0, 0);
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let stages = climbed(&mut random, [8.0, 8.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.25, 1.0, 1.25]);
            let steps = steps(&stages);
            let named: Vec<(Rung, Rung)> = steps.iter().map(|step| (step.from, step.to)).collect();
            let expected =
                [(Rung::Untouched, Rung::Bound), (Rung::Bound, Rung::Slot), (Rung::Slot, Rung::Node)];
            assert_eq!(named, [expected, expected].concat());
            helps += [1, 4].iter().filter(|n| steps[**n].differs).count();
            useless += [0, 2, 3, 5].iter().filter(|n| steps[**n].differs).count();
            let whole = whole(&stages);
            assert!(whole.len() == 2 && whole.iter().all(|step| step.differs), "{whole:?}");
            assert_eq!(
                (whole[1].from, whole[1].to, whole[1].load),
                (Rung::Untouched, Rung::Node, LadderLoad::Cpu)
            );
            assert!((steps[1].median_ratio - 1.2).abs() < 0.1, "{}", steps[1].median_ratio);
        }
        // Of 100 and of 200; steps without a difference look like one in 5 % of climbs together.
        assert!(helps >= 98 && useless <= 6, "{helps} {useless}");
    }

    #[test]
    fn a_stage_that_cannot_be_had_says_why() {
        let stages = climbed(&mut Random::new(1), [1.0; 5], [1.0; 5]);
        assert_eq!(stages.len(), 10);
        for stage in &stages[6..8] {
            assert_eq!(
                (stage.made.clone(), stage.cpu.clone()),
                (Err("not here".into()), Reading::unknown("not here"))
            );
        }
        assert_eq!(stages[0].cpu.known().map(|f| f.spread), stages[0].valid.known().map(|f| f.spread));
        assert!(stages[1].under_load.is_some_and(|seen| !seen.different) && stages[0].under_load.is_none());
    }
}
