//! Judging a job on more than one node: which jobs, and what their answers come to.
//!
//! Pure: the answers so far in, the next step out, so that it can be derived again from what is stored. In plain words: docs/fleet.md.

use crate::policy::{Stage, Strictness};
use model::{Confidence, Nanos, Verdict};
use serde::{Deserialize, Serialize};
use settle::Spread;

/// The numbers of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossPolicy {
    /// The share of jobs that is checked whatever their result, 0 to 1.
    pub share: f64,
    /// Times of one program on two nodes of a strict pool may differ by this part, besides what noise does
    /// ([`noise`]): two members may lie at both ends of the least tolerance of an index part of memory, 2 %.
    pub tolerance: f64,
    /// The same where a node of a relaxed pool is among them: of hundreds of machines of one model most lie within
    /// 30 % of each other, and in a cloud there are several models.
    pub relaxed_tolerance: f64,
    /// Times below this are not compared: caches and page faults at the start decide them.
    pub least_time: Nanos,
    /// The most answers of one job; after that the most frequent verdict counts, as `open`.
    pub most: u32,
    /// How many times as long a program may take on strict hardware as on a relaxed node that was not measured
    /// ([`crate::Definition::slower_at_most`] where it was).
    pub slower_at_most: f64,
}

impl CrossPolicy {
    /// The published numbers.
    pub const PUBLISHED: CrossPolicy = CrossPolicy {
        share: 0.02,
        tolerance: 0.04,
        relaxed_tolerance: 0.5,
        least_time: Nanos::from_millis(50),
        most: 5,
        slower_at_most: 2.0,
    };
}

/// The job that is cross-checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedJob<'a> {
    /// The job's name or number as text; its hash decides whether it is drawn for a check.
    pub job: &'a str,
    /// What its verdict must be based on.
    pub strictness: Strictness,
    /// The time limit of a test.
    pub limit: Nanos,
    /// Nodes without an answer that could still judge it: of the contest's pool if that has answered or must, else of all.
    /// 0: the answers so far decide.
    pub others: usize,
}

/// The result of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeAnswer {
    /// Which node.
    pub node: String,
    /// It belongs to a strict pool, and was a member of it then.
    pub strict: bool,
    /// The verdict. JE is no answer, only a reason to ask another node.
    pub verdict: Verdict,
    /// The settled time of the slowest test.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// How firmly it was settled.
    pub confidence: Confidence,
    /// [`noise`] of its slot: what the time may be too long by.
    pub noise: f64,
    /// The node was watched or suspected when it judged, or has been since.
    pub doubted: bool,
    /// Of a relaxed node: how many times as long the strict pool may take, at most; `None`: not known.
    pub slower_at_most: Option<f64>,
}

/// Why another node judges the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckReason {
    /// It was drawn.
    Drawn,
    /// It is near the limit.
    Grey,
    /// The node is under suspicion.
    Doubted,
    /// The judge failed there.
    Failed,
    /// Verdicts differ.
    Verdicts,
    /// Times differ.
    Times,
    /// It missed a limit, or may have, on relaxed hardware.
    Missed,
}

impl CheckReason {
    /// As jobs, metrics and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            CheckReason::Drawn => "drawn",
            CheckReason::Grey => "grey",
            CheckReason::Doubted => "doubted",
            CheckReason::Failed => "failed",
            CheckReason::Verdicts => "verdicts",
            CheckReason::Times => "times",
            CheckReason::Missed => "missed",
        }
    }
}

/// A node whose result disagrees with the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disagreement {
    /// Which.
    pub node: String,
    /// In words: lower case, no full stop.
    pub why: String,
}

/// The verdict on which the nodes agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// The verdict.
    pub verdict: Verdict,
    /// The answer that counts, by its place among the answers: of those that agree the one with the least time.
    pub counts: usize,
    /// Nodes that agree on the verdict.
    pub agreeing: Vec<String>,
    /// Nodes whose results disagreed.
    pub charged: Vec<Disagreement>,
    /// All nodes that were compared.
    pub compared: Vec<String>,
    /// Why the result is open: no majority, or a due check that no node could make.
    pub open: Option<CheckReason>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "next", rename_all = "snake_case")]
pub enum Next {
    /// It is decided.
    Final(Agreed),
    /// Ask another node like the first.
    NeedSecond {
        /// Not these.
        not_on: Vec<String>,
        /// Where: as the first, or in the contest's own pool once that has spoken.
        stage: Stage,
        /// Why.
        why: CheckReason,
    },
    /// Two differ: ask one more.
    NeedThird {
        /// Not these.
        not_on: Vec<String>,
        /// Where.
        stage: Stage,
        /// Why.
        why: CheckReason,
    },
    /// Ask the contest's own pool; what was said elsewhere counts no more.
    ConfirmStrict {
        /// Why.
        why: CheckReason,
    },
}

/// By how much the time of one undisturbed run is longer than the least one, at most, in all but one run of a thousand; as
/// a part of it, on a slot where programs vary like this (as the settle rule has it: docs/settling.md).
pub fn noise(spread: Spread) -> f64 {
    (1.0 + spread.median_excess) * (1.0 + spread.tail_scale * (0.5f64 / 0.001).ln()) - 1.0
}

/// Whether a job is drawn: the same for the same name, everywhere and for ever (FNV-1a of 64 bits, mixed as in SplitMix64).
pub fn drawn(job: &str, share: f64) -> bool {
    let hash = job.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    stats::Random::new(hash).unit() < share
}

/// What to do after these answers, in the order in which they came. At least one.
pub fn next(policy: &CrossPolicy, asked: &CheckedJob<'_>, answers: &[NodeAnswer]) -> Next {
    let confirms = asked.strictness == Strictness::RelaxedThenStrict;
    let strict_only = confirms && answers.iter().any(|answer| answer.strict);
    let in_question: Vec<usize> =
        (0..answers.len()).filter(|at| !strict_only || answers[*at].strict).collect();
    let heard: Vec<usize> =
        in_question.iter().copied().filter(|at| answers[*at].verdict != Verdict::JudgeError).collect();
    let said: Vec<&NodeAnswer> = heard.iter().map(|at| &answers[*at]).collect();
    if confirms
        && !strict_only
        && let Some(why) = said.iter().find_map(|one| missed(policy, asked, one))
    {
        return Next::ConfirmStrict { why };
    }
    let full = in_question.len() as u32 >= policy.most || asked.others == 0;
    // Relaxed answers count no more: one that came from relaxed hardware again would never end it.
    let stage = if strict_only { Stage::Confirm } else { Stage::Usual };
    let not_on: Vec<String> = in_question.iter().map(|at| answers[*at].node.clone()).collect();
    let decided = |open| Next::Final(agreed(policy, answers, &heard, open));
    match doubts(policy, asked, &said) {
        None => decided(None),
        Some(why) if full => decided(Some(why)),
        Some(why) if said.len() < 2 => Next::NeedSecond { not_on, stage, why },
        Some(why) => Next::NeedThird { not_on, stage, why },
    }
}

/// Why a relaxed answer is to be confirmed: it missed the limit, was near it, or is not far enough below it for the slower
/// of both machines.
fn missed(policy: &CrossPolicy, asked: &CheckedJob<'_>, answer: &NodeAnswer) -> Option<CheckReason> {
    let slower = answer.slower_at_most.unwrap_or(policy.slower_at_most);
    match answer.verdict {
        Verdict::TimeLimit => Some(CheckReason::Missed),
        Verdict::CompileError => None,
        _ if answer.confidence != Confidence::Clear => Some(CheckReason::Grey),
        _ if answer.time.scale(slower) > asked.limit => Some(CheckReason::Missed),
        _ => None,
    }
}

/// Why the answers do not suffice.
fn doubts(policy: &CrossPolicy, asked: &CheckedJob<'_>, said: &[&NodeAnswer]) -> Option<CheckReason> {
    match said {
        [] => Some(CheckReason::Failed),
        [one] if one.doubted => Some(CheckReason::Doubted),
        [one] if one.confidence != Confidence::Clear => Some(CheckReason::Grey),
        [_] => drawn(asked.job, policy.share).then_some(CheckReason::Drawn),
        [a, b] if a.verdict != b.verdict => Some(CheckReason::Verdicts),
        [a, b] => (!like(policy, a, b)).then_some(CheckReason::Times),
        more => {
            let most = more.iter().map(|one| votes(more, one.verdict)).max().unwrap_or(0);
            (2 * most <= more.len()).then_some(CheckReason::Verdicts)
        }
    }
}

fn votes(said: &[&NodeAnswer], verdict: Verdict) -> usize {
    said.iter().filter(|one| one.verdict == verdict).count()
}

/// Whether two answers are those of one program on equal machines. A missed limit has no time: it was stopped somewhere beyond.
fn like(policy: &CrossPolicy, a: &NodeAnswer, b: &NodeAnswer) -> bool {
    let both_missed = a.verdict == Verdict::TimeLimit && b.verdict == Verdict::TimeLimit;
    both_missed || a.time.max(b.time) < policy.least_time || near(policy, a, b)
}

/// Whether two times are as near as equal machines bring them.
fn near(policy: &CrossPolicy, a: &NodeAnswer, b: &NodeAnswer) -> bool {
    let tolerance = if a.strict && b.strict { policy.tolerance } else { policy.relaxed_tolerance };
    let noise = a.noise.max(b.noise);
    a.time.max(b.time) <= a.time.min(b.time).scale((1.0 + tolerance) * (1.0 + noise))
}

/// The verdict of most, and who is odd.
fn agreed(
    policy: &CrossPolicy,
    answers: &[NodeAnswer],
    heard: &[usize],
    open: Option<CheckReason>,
) -> Agreed {
    let said: Vec<&NodeAnswer> = heard.iter().map(|at| &answers[*at]).collect();
    // Of as many votes the verdict that was said first.
    let first_of_most = |best: Option<&'_ NodeAnswer>, one: &'_ NodeAnswer| match best {
        Some(best) => votes(&said, one.verdict) > votes(&said, best.verdict),
        None => true,
    };
    let mut best: Option<&NodeAnswer> = None;
    for one in &said {
        if first_of_most(best, one) {
            best = Some(one);
        }
    }
    let verdict = best.map_or(Verdict::JudgeError, |best| best.verdict);
    let agreeing = heard.iter().copied().filter(|at| answers[*at].verdict == verdict);
    let counts = agreeing.clone().min_by_key(|at| answers[*at].time).unwrap_or(0);
    let names = |places: &[usize]| places.iter().map(|at| answers[*at].node.clone()).collect::<Vec<_>>();
    Agreed {
        verdict,
        counts,
        agreeing: names(&agreeing.collect::<Vec<_>>()),
        charged: charges(policy, &said),
        compared: if said.len() > 1 { names(heard) } else { Vec::new() },
        open,
    }
}

/// Nodes that stand alone against at least two others that are alike.
fn charges(policy: &CrossPolicy, said: &[&NodeAnswer]) -> Vec<Disagreement> {
    let alone = |odd: &&NodeAnswer| {
        let others: Vec<&&NodeAnswer> = said.iter().filter(|one| one.node != odd.node).collect();
        let agree = |a: &NodeAnswer, b: &NodeAnswer| a.verdict == b.verdict && like(policy, a, b);
        let united = others.len() >= 2 && others.windows(2).all(|pair| agree(pair[0], pair[1]));
        let first = united.then(|| others[0])?;
        // At the limit a hair decides between two verdicts: then the times are alike, and nobody is at fault.
        let timed = [odd.verdict, first.verdict].contains(&Verdict::TimeLimit);
        let why = if odd.verdict != first.verdict && !(timed && near(policy, odd, first)) {
            format!("{} where {} others agree on {}", odd.verdict, others.len(), first.verdict)
        } else if odd.verdict == first.verdict && others.iter().all(|other| !like(policy, odd, other)) {
            format!("{} where {} others agree on {}", odd.time, others.len(), first.time)
        } else {
            return None;
        };
        Some(Disagreement { node: odd.node.clone(), why })
    };
    said.iter().filter_map(alone).collect()
}

#[cfg(test)]
mod tests;
