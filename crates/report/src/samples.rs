//! Values the tests of this crate show.

pub(crate) mod bench;
pub(crate) mod disturbed;
pub(crate) mod index;
pub(crate) mod lab;
pub(crate) mod limits;
mod numa;

pub(crate) use numa::{empty_mask, mask, numa_map};

use model::{
    Audit, BootPlan, Bytes, Cause, Change, ChangeState, Charge, CheckOutcome, Checked, Clock, Compilation,
    Confidence, CpuNoise, Evidence, Exit, Finding, FindingState, GroupScore, HostLanguage, HostLanguages,
    HostTool, Isolation, Judgement, Limits, MachineId, MachineKind, Nanos, NodePages, NoiseComparison,
    Observation, Reading, Remedy, Scope, SecondOpinion, Settled, Severity, Speaker, TestResult, Times,
    Transcript, Tuning, Turn, Verdict, Verification,
};

pub(crate) fn observation(exit: Exit) -> Observation {
    let ms = Nanos::from_millis;
    Observation {
        exit,
        time: Times { cpu: ms(120), user: ms(100), system: ms(20), wall: ms(130) },
        instructions: Reading::unknown("not counted under the cpu clock"),
        cycles: Reading::unknown("the processor's counters were not asked for"),
        reference: Reading::unknown("not followed under the cpu clock"),
        memory_peak: Reading::Known(Bytes::from_mib(3)),
        output: Reading::Known(Bytes(12)),
        out_of_memory: false,
        wall_exceeded: false,
        output_cut: false,
        cancelled: false,
        ended: Nanos::ZERO,
        evidence: Evidence {
            isolation: Isolation::Cpuset,
            cpus: vec![1],
            cpu_nodes: vec![0],
            mem_nodes: vec![0],
            main_cpu: Reading::Known(ms(120)),
            run_queue_wait: Reading::Known(Nanos(25_000)),
            steal: Reading::Known(Nanos(0)),
            irq: Reading::Known(Nanos(1_000)),
            foreign: Reading::Known(Nanos(2_000)),
            throttled: Reading::unknown("no quota in force"),
            migrations: Reading::Known(0),
            voluntary_switches: Reading::Known(1),
            involuntary_switches: Reading::Known(2),
            minor_faults: Reading::Known(321),
            major_faults: Reading::Known(0),
            frequency_ratio: Reading::unknown("no APERF here"),
            swapped_pages: Reading::Known(0),
            pages_by_node: Reading::Known(vec![NodePages { node: 0, pages: 40 }]),
            cost: Nanos::from_micros(250),
            weaker: vec!["no memory controller".into()],
            ..Evidence::unread("not asked for")
        },
    }
}

pub(crate) fn causes() -> Vec<Cause> {
    vec![
        Cause { name: model::Disturbance::RunQueueWait, bound: Nanos::from_micros(200) },
        Cause { name: model::Disturbance::Frequency, bound: Nanos::from_millis(4) },
    ]
}

pub(crate) fn test(name: &str, verdict: Verdict, cpu_ms: u64, message: &str) -> TestResult {
    TestResult {
        name: name.into(),
        verdict,
        charge: Charge::cpu(Nanos::from_millis(cpu_ms)),
        wall: Nanos::from_millis(cpu_ms + 1),
        memory_peak: Reading::Known(Bytes::from_mib(cpu_ms)),
        score: None,
        settled: Settled { confidence: Confidence::Clear, runs: 1, void_runs: 0 },
        runs: vec![observation(Exit::Code(0))],
        causes: Reading::unknown("made up"),
        second_opinion: None,
        transcript: None,
        message: message.into(),
    }
}

pub(crate) fn transcript() -> Transcript {
    let turn = Turn { from: Speaker::Program, at: Nanos::from_micros(1500), text: "\u{1b}4\n".into() };
    Transcript { turns: vec![turn], left_out_bytes: 7 }
}

pub(crate) fn judgement(verdict: Verdict) -> Judgement {
    Judgement {
        submission: "a.cpp".into(),
        language: "cpp".into(),
        clock: Clock::Cpu,
        counted_by: None,
        verdict,
        score: None,
        max_score: None,
        groups: vec![],
        time_limit: Nanos::from_secs(1),
        limits: Limits::default(),
        compile: Compilation { ok: true, output: String::new() },
        tests: vec![
            test("sample/1", Verdict::Accepted, 2, ""),
            test(
                "secret/01",
                verdict,
                15,
                "line 3, column 1 of the output (line 3 of the answer): expected `4`, found `5`",
            ),
        ],
        settled: Settled { confidence: Confidence::Clear, runs: 2, void_runs: 0 },
        thresholds: Reading::unknown("made up"),
        fault: None,
    }
}

/// A judgement that the reference clock decided: its verdict, its reference time in milliseconds of a second, whether that is in time.
pub(crate) fn confirmed((verdict, ms, passes): (Verdict, u64, bool)) -> Judgement {
    let opinion = SecondOpinion {
        clock: Clock::Reference,
        time: Nanos::from_millis(ms),
        limit: Nanos::from_secs(1),
        passes,
    };
    let settled = Settled { confidence: Confidence::Confirmed, runs: 10, void_runs: 0 };
    let test = TestResult { settled, second_opinion: Some(opinion), ..test("secret/1", verdict, 995, "") };
    Judgement { tests: vec![test], settled, ..judgement(verdict) }
}

pub(crate) fn compile_error() -> Judgement {
    Judgement {
        verdict: Verdict::CompileError,
        compile: Compilation { ok: false, output: "a.cpp:1:1: error: \u{1b}[31mno\u{1b}[0m\n  int\n".into() },
        tests: vec![],
        settled: Settled { confidence: Confidence::Clear, runs: 0, void_runs: 0 },
        ..judgement(Verdict::CompileError)
    }
}

fn part(name: &str, score: f64, max_score: Option<f64>) -> GroupScore {
    GroupScore { name: name.into(), verdict: Verdict::Accepted, score, max_score }
}

pub(crate) fn partly() -> Judgement {
    Judgement {
        verdict: Verdict::PartiallyAccepted,
        score: Some(37.5),
        max_score: Some(100.0),
        groups: vec![part("secret/easy", 30.0, Some(30.0)), part("secret/\u{1b}[2Jhard", 7.5, None)],
        ..judgement(Verdict::Accepted)
    }
}

/// Stopped some way beyond its limit.
pub(crate) fn too_slow() -> Judgement {
    let mut judgement = judgement(Verdict::TimeLimit);
    let message = "CPU time limit; stopped at 1.7 × the limit to be sure";
    judgement.tests[1] = test("secret/01", Verdict::TimeLimit, 1700, message);
    let run = &mut judgement.tests[1].runs[0];
    (run.exit, run.time.cpu) = (Exit::Signal(9), Nanos::from_millis(1700));
    judgement
}

pub(crate) fn judge_error() -> Judgement {
    Judgement { fault: Some("the validator exited with code 1".into()), ..judgement(Verdict::JudgeError) }
}

fn checked(path: &str, expected: &[Verdict], outcome: CheckOutcome) -> Checked {
    Checked { path: path.into(), expected: expected.to_vec(), outcome }
}

pub(crate) fn verifications() -> Vec<Verification> {
    let judged = |judgement, broken: &[&str]| CheckOutcome::Judged {
        judgement: Box::new(judgement),
        broken: broken.iter().map(|s| s.to_string()).collect(),
    };
    let accepted = judgement(Verdict::Accepted);
    vec![
        Verification {
            package: "hello".into(),
            format: "legacy".into(),
            time_limit: Reading::Known(Nanos::from_secs(1)),
            time_limit_source: Some("problem.yaml: limits.time_limit".into()),
            submissions: vec![
                checked("submissions/accepted/a.cpp", &[Verdict::Accepted], judged(accepted.clone(), &[])),
                checked(
                    "submissions/accepted/b.kt",
                    &[Verdict::Accepted],
                    CheckOutcome::Skipped("no kotlinc".into()),
                ),
                checked(
                    "submissions/wrong_answer/c.py",
                    &[Verdict::WrongAnswer],
                    judged(accepted, &["the verdict is AC, expected WA", "no test case got WA"]),
                ),
                checked(
                    "submissions/time_limit_exceeded/e.py",
                    &[Verdict::TimeLimit],
                    judged(too_slow(), &[]),
                ),
                checked(
                    "submissions/partially_accepted/d.c",
                    &[Verdict::PartiallyAccepted],
                    judged(partly(), &[]),
                ),
            ],
            fault: None,
            warnings: vec!["hello/submissions/acepted: did you mean `accepted`?".into()],
        },
        Verification {
            package: "empty".into(),
            format: "polygon".into(),
            time_limit: Reading::unknown("no submission bounds it"),
            time_limit_source: None,
            submissions: vec![],
            fault: Some("no jury submission bounds the time limit from below".into()),
            warnings: vec![],
        },
    ]
}

pub(crate) fn languages() -> HostLanguages {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let language =
        |id: &str, name: &str, extensions: &str, run: &str, found: Result<HostTool, &str>| HostLanguage {
            id: id.into(),
            name: name.into(),
            extensions: words(extensions),
            available: found.is_ok(),
            missing: found.as_ref().err().map(|why| why.to_string()),
            tools: found.into_iter().collect(),
            compile: None,
            run: words(run),
        };
    let tool =
        |name: &str, version| Ok(HostTool { name: name.into(), path: format!("/usr/bin/{name}"), version });
    let (gcc, pypy) = (Reading::Known("12.2.0".into()), Reading::unknown("it ended with code 1"));
    let compiled = |command: &str, language| HostLanguage { compile: Some(words(command)), ..language };
    let none = Err("no kotlinc found; install it or name its place in the table");
    HostLanguages {
        languages: vec![
            compiled("g++ -O2 {files}", language("cpp", "C++20", "cc cpp", "{binary}", tool("g++", gcc))),
            compiled("kotlinc {files}", language("kotlin", "Kotlin", "kt", "kotlin {entry}", none)),
            language("python3", "Python 3", "py", "pypy3 {entry}", tool("pypy3", pypy)),
        ],
    }
}

/// Changes in every state.
pub(crate) fn tuning() -> Tuning {
    use ChangeState::{Applied, Foreign, Refused, Undone, Verified};
    let change = |id: &str, target: &str, values: [&str; 2], state, reason: Option<&str>| Change {
        id: id.into(),
        target: target.into(),
        found: values[0].into(),
        want: values[1].into(),
        state,
        reason: reason.map(String::from),
    };
    let irq = |n: u32| format!("/proc/irq/{n}/smp_affinity_list");
    let refused = Some("EIO: the kernel refuses the change");
    Tuning {
        changes: vec![
            change("irq_affinity", &irq(24), ["0-7", "0-1"], Verified, None),
            change("irq_affinity", &irq(25), ["0-7", "0-1"], Verified, None),
            change("irq_affinity", &irq(26), ["0-7", "0-1"], Verified, None),
            change("irq_affinity", &irq(27), ["5", "0-1"], Refused, refused),
            change(
                "thp",
                "/sys/kernel/mm/transparent_hugepage/defrag",
                ["madvise", "never"],
                Foreign,
                Some("is `always` now"),
            ),
            change("ksm", "/sys/kernel/mm/ksm/run", ["1", "0"], Undone, None),
            change("isolated_cpus", "/sys/fs/cgroup/tauto-slot-4/cpuset.cpus", ["", "4-5"], Applied, None),
            change("smt", "/sys/devices/system/cpu/cpu5/online", ["1", "0"], ChangeState::Planned, None),
        ],
        journal: "/var/lib/tautochrone/tune.journal".into(),
        in_force: true,
        noise: None,
        boot: None,
    }
}

/// A measurement that worked and one that did not, and a command line.
pub(crate) fn noise_and_boot() -> (NoiseComparison, BootPlan) {
    let seen = |gaps, pct, longest| CpuNoise {
        cpu: 4,
        gaps_per_second: Reading::Known(gaps),
        lost_pct: Reading::Known(pct),
        longest_ns: Reading::Known(Nanos(longest)),
    };
    let why = "cannot run on CPU 6: Invalid argument";
    let not_seen = CpuNoise {
        cpu: 6,
        gaps_per_second: Reading::unknown(why),
        lost_pct: Reading::unknown(why),
        longest_ns: Reading::unknown(why),
    };
    let parameters = "isolcpus=managed_irq,domain,4-7 nohz_full=4-7 rcu_nocbs=4-7 irqaffinity=0-3";
    let boot = BootPlan {
        parameters: parameters.into(),
        drop_in: Some(format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameters}\"\n")),
        advice: vec!["then run `update-grub` and restart".into()],
    };
    let before = vec![seen(480.0, 1.25, 54_000_000), not_seen.clone()];
    (NoiseComparison { before, after: vec![seen(3.5, 0.01, 42_000), not_seen] }, boot)
}

fn finding(id: &str, state: FindingState, severity: Severity, observed: &str) -> Finding {
    Finding {
        id: id.into(),
        state,
        severity,
        observed: observed.into(),
        source: format!("/sys/kernel/{id}"),
        why: format!("an effect of {id} was published: 13.5 % became 2.5 % of ten seconds (someone #12)"),
        who: vec![],
        remedy: None,
    }
}

fn remedy(command: &str, scope: Scope, root: bool, reboot: bool, reversible: bool) -> Option<Remedy> {
    Some(Remedy { command: command.into(), scope, root, reboot, reversible })
}

/// An audit with every state, every severity and every scope, and names that want to do harm.
pub(crate) fn audit() -> Audit {
    use FindingState::{Bad, NotApplicable, Ok, Unknown};
    use Severity::{High, Low, Medium};
    let bad = |id, severity, observed, remedy| Finding { remedy, ..finding(id, Bad, severity, observed) };
    let names =
        ["kworker/1:0", "\u{1b}[2Jevil", "a`b|c", "@someone", "\u{202e}txt", "one\ntwo", "and 3 more"];
    let load = bad("background_load", High, "7 tasks can run on CPU 1", None);
    Audit {
        machine: MachineId {
            kind: MachineKind::BareMetal,
            cpu_model: Reading::Known("Some(R) Processor 6148 @ 2.40GHz".into()),
            fingerprint: "00c0ffee00c0ffee".into(),
        },
        findings: vec![
            bad(
                "smt",
                High,
                "siblings share cores: 0,4 1,5 2,6 3,7",
                remedy("echo off > /sys/devices/system/cpu/smt/control", Scope::Runtime, true, false, true),
            ),
            bad(
                "turbo",
                Medium,
                "on",
                remedy("in the firmware's set-up, turn turbo off", Scope::Firmware, false, true, false),
            ),
            finding("governor", Ok, High, "performance on CPUs 0-7"),
            finding("uncore", NotApplicable, Medium, "no such driver"),
            bad(
                "nohz_full",
                Low,
                "no CPU",
                remedy("isolcpus=managed_irq,1-3 nohz_full=1-3 rcu_nocbs=1-3", Scope::Boot, true, true, true),
            ),
            Finding { who: names.map(String::from).to_vec(), ..load },
            finding("steal", Unknown, High, "/proc/stat may not be read by this user"),
            bad(
                "aslr",
                Low,
                "/sys/kernel/aslr is 2",
                remedy("tauto run --aslr off", Scope::Process, false, false, true),
            ),
            finding("swap", Ok, High, "no swap space | at all"),
            finding("hybrid_cores", NotApplicable, High, "all cores are of one kind"),
            finding(
                "microcode",
                Unknown,
                Low,
                "the processor's is not told to a guest: the hypervisor gives a number of its own",
            ),
        ],
    }
}

/// An audit without a fault.
pub(crate) fn quiet_audit() -> Audit {
    let mut audit = audit();
    audit.machine.kind = MachineKind::Container;
    audit.findings.retain(|finding| finding.state == FindingState::Ok);
    audit
}
