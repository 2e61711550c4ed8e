//! Limits, and where the time limit comes from (legacy and 2025-09, "Limits").

use super::field::{self, Range, Section};
use super::{FileTree, Format, Inference, PackageError, PackageLimits, TimeLimit, Warning};
use crate::yaml::Value;
use model::{Bytes, Nanos};

/// Longest time a package may ask for: a day, in seconds. More is a slip of the pen.
const MOST_SECONDS: f64 = 86_400.0;
/// Most memory or output a package may ask for: a TiB, in MiB.
const MOST_MIB: f64 = 1_048_576.0;
/// Largest factor between two times.
const MOST_FACTOR: f64 = 10_000.0;

/// Keys of every format.
const COMMON: [&str; 8] = [
    "memory",
    "output",
    "code",
    "compilation_time",
    "compilation_memory",
    "validation_time",
    "validation_memory",
    "validation_output",
];
const LEGACY: [&str; 2] = ["time_multiplier", "time_safety_margin"];
const NEW: [&str; 4] = ["time_limit", "time_resolution", "time_multipliers", "validation_passes"];

/// The limits of a package, from `problem.yaml` and, for the time limit, the files beside it.
pub(super) fn read(
    tree: &FileTree,
    problem: &Section,
    format: Format,
    multi_pass: bool,
    warnings: &mut Vec<Warning>,
) -> Result<PackageLimits, PackageError> {
    let limits = problem.section("limits")?;
    let (own, other, why): (&[&str], &[&str], &str) = match format {
        Format::V2025_09 => (&NEW, &LEGACY, "a key of legacy, still understood here"),
        _ => (&LEGACY, &NEW, "a key of 2025-09, still understood here"),
    };
    let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
    let foreign: Vec<(&str, &str)> = other.iter().map(|key| (*key, why)).collect();
    limits.unknown(&known, &foreign, warnings);

    let size = |key: &str, unit: u64| -> Result<Option<Bytes>, PackageError> {
        let number = limits.number(key, Range::above_zero(MOST_MIB))?;
        Ok(number.map(|number| Bytes((number * unit as f64) as u64)))
    };
    let (mut wrong, mut wrong_rule) = (Vec::new(), Vec::new());
    let rule = inference(&limits, format, &mut wrong_rule);
    let read = PackageLimits {
        memory: or_none(size("memory", 1 << 20), &mut wrong),
        output: or_none(size("output", 1 << 20), &mut wrong),
        code: or_none(size("code", 1 << 10), &mut wrong),
        compilation_time: or_none(seconds(&limits, "compilation_time"), &mut wrong),
        compilation_memory: or_none(size("compilation_memory", 1 << 20), &mut wrong),
        validation_time: or_none(seconds(&limits, "validation_time"), &mut wrong),
        validation_memory: or_none(size("validation_memory", 1 << 20), &mut wrong),
        validation_output: or_none(size("validation_output", 1 << 20), &mut wrong),
        passes: or_none(passes(&limits, multi_pass), &mut wrong),
        time: time_limit(tree, &limits, rule, warnings, &mut wrong),
        rule,
    };
    wrong.extend(wrong_rule);
    PackageError::all(wrong).map_or(Ok(read), Err)
}

/// Notes what is wrong, so that all of it is told at once.
fn or_none<T: Default>(read: Result<T, PackageError>, wrong: &mut Vec<PackageError>) -> T {
    read.unwrap_or_else(|e| {
        wrong.push(e);
        T::default()
    })
}

fn seconds(limits: &Section, key: &str) -> Result<Option<Nanos>, PackageError> {
    Ok(limits.number(key, Range::above_zero(MOST_SECONDS))?.and_then(Nanos::from_secs_f64))
}

fn passes(limits: &Section, multi_pass: bool) -> Result<u32, PackageError> {
    let stated = limits.number("validation_passes", Range::at_least(1.0, 10_000.0))?;
    if !multi_pass {
        return Ok(1);
    }
    match stated {
        None => Ok(2),
        Some(passes) if passes.fract() == 0.0 => Ok(passes as u32),
        Some(_) => Err(limits.error("validation_passes", "must be a whole number")),
    }
}

/// The first of: `limits.time_limit`, `.timelimit`, `timelimit` of `domjudge-problem.ini`, inference.
fn time_limit(
    tree: &FileTree,
    limits: &Section,
    inference: Inference,
    warnings: &mut Vec<Warning>,
    wrong: &mut Vec<PackageError>,
) -> TimeLimit {
    let mut stated = Vec::new();
    if let Some(limit) = or_none(seconds(limits, "time_limit"), wrong) {
        check_resolution(limits, limit, inference, warnings);
        stated.push((limit, "problem.yaml: limits.time_limit".to_string()));
    }
    for (path, find) in [(".timelimit", plain_limit as Find), ("domjudge-problem.ini", ini_limit)] {
        let Some(text) = or_none(field::text(tree, path, warnings), wrong) else { continue };
        let Some((line, number)) = find(&text) else { continue };
        let limit = number.trim().parse().ok().filter(|s| *s > 0.0 && *s <= MOST_SECONDS);
        match limit.and_then(Nanos::from_secs_f64) {
            Some(limit) => stated.push((limit, format!("{path}: timelimit"))),
            None => {
                let message = format!("must be seconds above 0 and at most {MOST_SECONDS}, not `{number}`");
                wrong.push(PackageError::new(field::place(path, Some(line), "timelimit"), message));
            }
        }
    }
    let mut stated = stated.into_iter();
    let Some((limit, source)) = stated.next() else { return TimeLimit::Inferred(inference) };
    for (other, place) in stated.filter(|(other, _)| *other != limit) {
        let message =
            format!("says {}, but {source} says {} and comes first", in_seconds(other), in_seconds(limit));
        warnings.push(Warning::new(place, message));
    }
    TimeLimit::Stated { limit, source }
}

fn in_seconds(limit: Nanos) -> String {
    format!("{} s", limit.as_secs_f64())
}

type Find = fn(&str) -> Option<(usize, &str)>;

/// `.timelimit`: one number of seconds.
fn plain_limit(text: &str) -> Option<(usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).find(|(_, line)| !line.is_empty())
}

/// `timelimit = '3'` in an ini file, with any quotes or none.
fn ini_limit(text: &str) -> Option<(usize, &str)> {
    text.lines().enumerate().find_map(|(i, line)| {
        let (key, value) = line.split_once('=')?;
        let value = value.split([';', '#']).next().unwrap_or_default();
        key.trim().eq_ignore_ascii_case("timelimit").then(|| (i + 1, value.trim().trim_matches(['\'', '"'])))
    })
}

/// The rule by which the limit is inferred, each key also in the other format's spelling.
fn inference(limits: &Section, format: Format, wrong: &mut Vec<PackageError>) -> Inference {
    // One draft had the map under the legacy name.
    let is_map = |key: &&str| limits.get(key).is_some_and(|node| matches!(node.value, Value::Map(_)));
    let map = ["time_multipliers", "time_multiplier"].into_iter().find(is_map);
    let new = Range::at_least(1.0, MOST_FACTOR);
    let old = Range::above_zero(MOST_FACTOR);
    let (mut first, mut second) = (None, None);
    match limits.section(map.unwrap_or("time_multipliers")) {
        Ok(multipliers) => {
            first = or_none(multipliers.number("ac_to_time_limit", new), wrong);
            second = or_none(multipliers.number("time_limit_to_tle", new), wrong);
        }
        Err(e) => wrong.push(e),
    }
    let own = match map {
        Some("time_multiplier") => None,
        _ => or_none(limits.number("time_multiplier", old), wrong),
    };
    let (first, second) =
        (first.or(own), second.or(or_none(limits.number("time_safety_margin", old), wrong)));
    let resolution = or_none(limits.number("time_resolution", Range::above_zero(3_600.0)), wrong);
    match format {
        Format::V2025_09 => Inference::V2025_09 {
            ac_to_time_limit: first.unwrap_or(2.0),
            time_limit_to_tle: second.unwrap_or(1.5),
            resolution: resolution.unwrap_or(1.0),
        },
        _ => Inference::Legacy { multiplier: first.unwrap_or(5.0), safety_margin: second.unwrap_or(2.0) },
    }
}

/// 2025-09, "Problem timing": a stated limit is a multiple of the resolution. Drafts did not ask for it.
fn check_resolution(limits: &Section, limit: Nanos, rule: Inference, warnings: &mut Vec<Warning>) {
    let Inference::V2025_09 { resolution, .. } = rule else { return };
    let steps = limit.as_secs_f64() / resolution;
    if (steps - steps.round()).abs() > 1e-6 {
        let message = format!(
            "is not a multiple of time_resolution ({resolution} s)\nhint: state the resolution as well"
        );
        warnings.push(limits.warning("time_limit", message));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let limits = "limits:\n  memory: -1\n  time_limit: soon\n  time_resolution: 0\n  output: 1\n";
        let yaml = format!("problem_format_version: 2025-09\n{limits}");
        let files = [("problem.yaml", yaml.as_str()), (".timelimit", "never")];
        let error = super::super::read(&tree(&files)).unwrap_err().to_string();
        for place in [
            "problem.yaml:3: limits.memory: must",
            "limits.time_limit: ",
            "limits.time_resolution: ",
            ".timelimit:1: ",
        ] {
            assert_eq!(error.matches(place).count(), 1, "{place} in {error}");
        }
        assert!(error.starts_with("problem.yaml:3") && !error.contains("limits.output"), "{error}");
    }

    fn stated(limit: f64, source: &str) -> TimeLimit {
        TimeLimit::Stated { limit: Nanos::from_secs_f64(limit).unwrap(), source: source.to_string() }
    }

    #[test]
    fn the_time_limit_comes_from_the_first_that_states_it() {
        let yaml = ("problem.yaml", "problem_format_version: 2025-09\nlimits: {time_limit: 3}\n");
        let dot = (".timelimit", "\n 2.5\n");
        let ini = ("domjudge-problem.ini", "probid = a\ntimelimit='4' ; s\n");
        assert_eq!(read_clean(&[yaml]).limits.time, stated(3.0, "problem.yaml: limits.time_limit"));
        assert_eq!(read_clean(&[dot]).limits.time, stated(2.5, ".timelimit: timelimit"));
        assert_eq!(read_clean(&[ini]).limits.time, stated(4.0, "domjudge-problem.ini: timelimit"));
        let all =
            read_warned(&[yaml, dot, ini], &[".timelimit: timelimit: says 2.5 s", "domjudge-problem.ini"]);
        assert_eq!(all.limits.time, stated(3.0, "problem.yaml: limits.time_limit"));
        read_clean(&[yaml, (".timelimit", "3")]);
        assert!(matches!(
            read_clean(&[("domjudge-problem.ini", "color = red\n")]).limits.time,
            TimeLimit::Inferred(_)
        ));
    }

    #[test]
    fn rules_of_inference() {
        let legacy = |multiplier, safety_margin| Inference::Legacy { multiplier, safety_margin };
        let new = |ac_to_time_limit, time_limit_to_tle, resolution| Inference::V2025_09 {
            ac_to_time_limit,
            time_limit_to_tle,
            resolution,
        };
        let table = [
            ("", "", legacy(5.0, 2.0)),
            ("", "limits: {time_multiplier: 2, time_safety_margin: 1.5}", legacy(2.0, 1.5)),
            ("2025-09", "", new(2.0, 1.5, 1.0)),
            (
                "2025-09",
                "limits: {time_resolution: 0.5, time_multipliers: {ac_to_time_limit: 3, time_limit_to_tle: 4}}",
                new(3.0, 4.0, 0.5),
            ),
        ];
        let draft =
            "problem_format_version: 2023-07-draft\nlimits: {time_multiplier: {ac_to_time_limit: 4}}\n";
        let read =
            read_warned(&[("problem.yaml", draft)], &["problem.yaml:2: limits.time_multiplier: belongs"]);
        assert_eq!(read.limits.time, TimeLimit::Inferred(new(4.0, 1.5, 1.0)));
        for (version, rest, rule) in table {
            let version = if version.is_empty() { "legacy" } else { version };
            let yaml = format!("problem_format_version: {version}\n{rest}\n");
            assert_eq!(
                read_clean(&[("problem.yaml", &yaml)]).limits.time,
                TimeLimit::Inferred(rule),
                "{yaml}"
            );
        }
        let foreign = "limits: {time_multipliers: {ac_to_time_limit: 3}}";
        let warned =
            read_warned(&[("problem.yaml", foreign)], &["problem.yaml:1: limits.time_multipliers: belongs"]);
        assert_eq!(warned.limits.time, TimeLimit::Inferred(legacy(3.0, 2.0)));
    }

    #[test]
    fn sizes_have_their_units() {
        let yaml =
            "limits:\n memory: 2\n output: '3'\n code: 4\n compilation_time: 5\n validation_memory: 6\n";
        let limits = read_clean(&[("problem.yaml", yaml)]).limits;
        assert_eq!(limits.memory, Some(Bytes::from_mib(2)));
        assert_eq!(limits.output, Some(Bytes::from_mib(3)));
        assert_eq!(limits.code, Some(Bytes::from_kib(4)));
        assert_eq!(limits.compilation_time, Some(Nanos::from_secs(5)));
        assert_eq!(limits.validation_memory, Some(Bytes::from_mib(6)));
        assert_eq!((limits.validation_time, limits.passes), (None, 1));
    }

    #[test]
    fn passes_count_in_multi_pass_problems_only() {
        let yaml = |kind: &str| {
            format!("problem_format_version: 2025-09\ntype: {kind}\nlimits: {{validation_passes: 4}}\n")
        };
        let validator = ("output_validator/v.py", "");
        assert_eq!(read_clean(&[("problem.yaml", &yaml("multi-pass")), validator]).limits.passes, 4);
        assert_eq!(read_clean(&[("problem.yaml", &yaml("pass-fail"))]).limits.passes, 1);
    }

    #[test]
    fn absurd_limits_are_refused() {
        for value in ["-1", "0", "nan", ".nan", "inf", "1e300", "2 GB", "[]", "999999999999"] {
            for key in ["memory", "time_limit", "time_multiplier", "validation_time", "time_resolution"] {
                let yaml = format!("limits:\n  {key}: {value}\n");
                let error = refusal(&[("problem.yaml", &yaml)]);
                assert!(error.starts_with(&format!("problem.yaml:2: limits.{key}: must be ")), "{error}");
            }
            let error = refusal(&[(".timelimit", value)]);
            assert!(error.starts_with(".timelimit:1: timelimit: must be seconds above 0"), "{error}");
        }
    }
}
