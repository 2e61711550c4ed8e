//! Value types every other crate speaks: units, limits, the specification of a run, what was observed,
//! verdicts, the engine's events, and what is found and changed on a host.
//!
//! Deliberately absent: I/O, clocks, randomness, and any decision. A verdict is only *named* here; the
//! crate `judge` derives it.

mod audit;
mod bench;
mod calibration;
mod clock;
mod consistency;
pub mod cpulist;
mod disturbance;
mod event;
mod execution;
mod facts;
mod form;
pub mod hint;
mod host;
mod ids;
mod index;
mod inferred;
mod lab;
mod ledger;
mod limits;
mod link_order;
mod numa;
mod observation;
mod opinion;
mod outcome;
mod reading;
mod run;
mod settling;
mod shadow;
mod trace;
mod transcript;
mod units;
mod verdict;

pub use audit::{Audit, Finding, FindingState, MachineId, MachineKind, Remedy, Scope};
pub use bench::{
    BenchComparison, BenchEnd, BenchOutlier, BenchReport, BenchRun, BenchWarning, Benched, CpuLoad, Figures,
    HostLoad,
};
pub use calibration::{Calibration, MeasuredProgram, MeasuredTest, SettledTime, Suggestion};
pub use clock::{Charge, Clock};
pub use consistency::{ConsistencyCell, ConsistencyReport, ConsistencyVerdicts};
pub use disturbance::{Cause, Disturbance};
pub use event::{Event, JudgePhase};
pub use execution::{
    Blob, CapturedStream, Executed, ExecutedCompile, ExecutedRun, Execution, ProgramFile, ProgramKind,
};
pub use facts::NodeFacts;
pub use form::{Form, Forms, Numbered};
pub use host::{
    BootPlan, Change, ChangeState, CpuNoise, HostLanguage, HostLanguages, HostTool, MeasuredSlot,
    MeasuredSlots, NoiseComparison, Severity, Slot, SlotPlan, Tuning,
};
pub use ids::{
    CallbackId, ContestId, JobId, JudgementId, Lease, ProblemId, RejudgingId, SubmissionId, Timestamp,
    TokenId, Urgency, UserId, VersionId,
};
pub use index::{
    ComparedMachine, ComparedModel, ComparedPart, ComparedValue, Index, IndexComparison, IndexFigure,
    IndexGroup, IndexPart, IndexStray, IndexSubject, IndexVariance, MeasurementConditions, SavedIndex,
    StrayKind,
};
pub use inferred::{Inference, InferredLimit, LimitSide, TimedProgram};
pub use lab::{
    Effect, LadderLoad, LadderReport, LadderStage, LadderStep, LayoutClock, LayoutPeak, LayoutPoint,
    LayoutReport, PUBLISHED_LADDER, PerturbReport, PerturbRun, PerturbTrial, Perturbation, PublishedStage,
    Rung, Vary,
};
pub use ledger::Ledger;
pub use limits::{Limits, WallLimit};
pub use link_order::{LinkOrder, LinkOrderReport, OrderComparison};
pub use numa::{NumaCache, NumaCore, NumaMap, NumaNode, OffcoreMask};
pub use observation::{
    Accelerator, Evidence, Exit, Isolation, MachineEvidence, NodePages, Observation, Status, Times,
};
pub use opinion::{InferredScales, ReferenceScale, SecondOpinion, SecondOpinions};
pub use outcome::{
    Bound, CheckOutcome, Checked, Compilation, GroupScore, Judgement, Settled, Verification, not_recorded,
};
pub use reading::{Reading, not_told, told};
pub use run::{
    Aslr, BoxId, BoxMount, FileMount, Found, Layout, Placement, RunSpec, Sched, Stdio, View, ViewMount,
};
pub use settling::{Noise, NoiseFloor, Policy, Quiet, Spread, Thresholds};
pub use shadow::{Agreement, Ours, Shadow, ShadowRow, Theirs};
pub use trace::{
    KindShare, LatencyRatio, NodeAllocations, SeenFaults, Share, Toucher, TraceMethod, TraceReport,
    TraceVerdict, TracedCpu, TracedMapping, TracedThread,
};
pub use transcript::{Speaker, Transcript, Turn};
pub use units::{Bytes, Nanos, grouped};
pub use verdict::{Confidence, ParseVerdictError, TestResult, Verdict};
