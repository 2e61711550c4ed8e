//! Calibrations.

use model::{
    Calibration, Clock, Inference, LimitSide, MeasuredProgram, MeasuredTest, Nanos, SettledTime, Suggestion,
};

fn settled(ms: u64, varies: bool) -> SettledTime {
    let at = Nanos::from_millis;
    match varies {
        true => SettledTime {
            time: at(ms),
            interval: [at(ms - ms / 20), at(ms + ms / 20)],
            runs: vec![at(ms + ms / 50), at(ms)],
        },
        false => SettledTime { time: at(ms), interval: [at(ms); 2], runs: vec![at(ms)] },
    }
}

fn test(name: &str, ms: u64, loaded: Option<u64>, varies: bool) -> MeasuredTest {
    MeasuredTest {
        name: name.into(),
        ended: false,
        idle: settled(ms, varies),
        loaded: loaded.map(|ms| settled(ms, varies)),
    }
}

/// One by CPU time with everything, and one by the reference clock whose sides leave no room.
pub(crate) fn calibrations() -> Vec<(String, Calibration)> {
    let program = |path: &str, language: &str, side, tests| MeasuredProgram {
        path: format!("submissions/{path}"),
        language: language.into(),
        side,
        tests,
    };
    let rule = Inference::V2025_09 { ac_to_time_limit: 2.0, time_limit_to_tle: 1.5, resolution: 0.5 };
    let endless = MeasuredTest { ended: true, ..test("secret/2", 6000, None, true) };
    let fence = Calibration {
        package: "fence".into(),
        clock: Clock::Cpu,
        counted_by: None,
        rule,
        stated: Some(Nanos::from_secs(5)),
        suggestion: Suggestion { limit: Nanos::from_secs(2), firm: false, kept: true, clash: None },
        under_load: Some(Nanos::from_millis(2500)),
        floor_measured: false,
        programs: vec![
            program(
                "accepted/a.cpp",
                "cpp",
                LimitSide::Passes,
                vec![test("secret/1", 40, None, true), test("secret/2", 100, Some(125), true)],
            ),
            program(
                "accepted/<b>.py",
                "cpython3",
                LimitSide::Passes,
                vec![test("secret/3", 800, Some(1200), true)],
            ),
            program("time_limit_exceeded/c.cpp", "cpp", LimitSide::TooSlow, vec![endless]),
            program(
                "time_limit_exceeded/d.cpp",
                "cpp",
                LimitSide::TooSlow,
                vec![test("secret/3", 4200, Some(4500), true)],
            ),
        ],
        warnings: vec!["submissions/accepted/e.kt: does not count for the time limit: no toolchain".into()],
    };
    let clash = Calibration {
        package: "fence".into(),
        clock: Clock::Reference,
        counted_by: Some("an emulator".into()),
        rule: Inference::Legacy { multiplier: 5.0, safety_margin: 2.0 },
        stated: None,
        suggestion: Suggestion {
            limit: Nanos::from_secs(1),
            firm: true,
            kept: false,
            clash: Some("no time limit fits".into()),
        },
        under_load: None,
        floor_measured: true,
        programs: vec![program(
            "accepted/a.cpp",
            "cpp",
            LimitSide::Passes,
            vec![test("secret/1", 20, None, false)],
        )],
        warnings: Vec::new(),
    };
    vec![("problems/fence".into(), fence), ("problems/fence".into(), clash)]
}
