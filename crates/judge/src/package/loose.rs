//! Tests without a package: what a package of them says, so that they are judged as every other.

use model::{Bytes, Nanos};

/// CPU time of a test where nobody says another: no jury has said what is slow.
pub const LOOSE_TIME_LIMIT: Nanos = Nanos::from_secs(10);

/// `problem.yaml` of a pass-fail problem in format 2025-09 with these limits.
pub fn loose_problem(time: Nanos, memory: Option<Bytes>) -> String {
    let (seconds, resolution) = (time.as_secs_f64(), 1e-9);
    let memory = memory
        .map_or(String::new(), |memory| format!("  memory: {}\n", memory.0 as f64 / (1u64 << 20) as f64));
    format!(
        "problem_format_version: 2025-09\nname: Tests\nuuid: 00000000-0000-4000-8000-000000000000\nlimits:\n  time_limit: {seconds}\n  time_resolution: {resolution}\n{memory}"
    )
}

/// `test_group.yaml` of tests whose numbers may differ by so much, absolutely or relatively.
pub fn loose_group(tolerance: f64) -> String {
    format!("output_validator_args: [float_tolerance, \"{tolerance:e}\"]\n")
}
