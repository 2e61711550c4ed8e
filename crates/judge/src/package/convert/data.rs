//! `data/`: tests, groups, and their settings.

use super::super::{Grading, PackageError, TestCase, TestCheckRun, TestGroup};
use super::programs::check_name;
use super::{Writer, compares, comparison, inexpressible, list};
use crate::compare::BuiltIn;

/// So far two numbers of points may be apart to be the same.
const SAME: f64 = 1e-9;

pub(super) fn write(writer: &mut Writer) -> Result<(), PackageError> {
    let package = writer.package;
    if !package.scoring {
        for case in package.data.all_cases() {
            self::case(writer, case, &case.name);
        }
        return Ok(());
    }
    for group in &package.data.groups {
        match group.name.as_str() {
            "secret" => secret(writer, group)?,
            _ => group.all_cases().into_iter().for_each(|case| self::case(writer, case, &case.name)),
        }
    }
    Ok(())
}

/// The groups as they are; where tests have points of their own, each is a group.
fn secret(writer: &mut Writer, secret: &TestGroup) -> Result<(), PackageError> {
    let total = secret.settings.max_score;
    writer.text("data/secret/test_group.yaml", settings(total, aggregation(secret)?, &[]));
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for group in &secret.groups {
        let required: Vec<String> = (group.settings.require_pass.iter())
            .flat_map(|name| match parts.iter().find(|(known, _)| known == name) {
                Some((_, parts)) => parts.clone(),
                None => vec![name.clone()],
            })
            .collect();
        let cases = group.all_cases();
        let names = match alike(group) {
            true => {
                let text = settings(group.settings.max_score, aggregation(group)?, &required);
                writer.text(format!("data/{}/test_group.yaml", group.name), text);
                cases.into_iter().for_each(|case| self::case(writer, case, &case.name));
                vec![group.name.clone()]
            }
            false => cases.into_iter().map(|case| alone(writer, case, &group.name, "-", &required)).collect(),
        };
        parts.push((group.name.clone(), names));
    }
    let direct = &secret.cases;
    if !secret.groups.is_empty() || !alike(secret) {
        direct.iter().for_each(|case| drop(alone(writer, case, "secret", "/", &[])));
    } else {
        direct.iter().for_each(|case| self::case(writer, case, &case.name));
    }
    Ok(())
}

/// A test that is a group of its own; the group's name.
fn alone(writer: &mut Writer, case: &TestCase, around: &str, between: &str, required: &[String]) -> String {
    let last = case.name.rsplit('/').next().unwrap_or(&case.name);
    let name = format!("{around}{between}{last}");
    let text = settings(case.points.or(Some(0.0)), "min", required);
    writer.text(format!("data/{name}/test_group.yaml"), text);
    self::case(writer, case, &format!("{name}/{last}"));
    name
}

/// Whether every test of a group gives the same part of its points.
fn alike(group: &TestGroup) -> bool {
    let cases = group.all_cases();
    let share = group.settings.max_score.unwrap_or(0.0) / cases.len().max(1) as f64;
    group.settings.grading != Grading::Sum
        || cases.iter().all(|case| case.points.is_none_or(|points| (points - share).abs() < SAME))
}

fn aggregation(group: &TestGroup) -> Result<&'static str, PackageError> {
    match &group.settings.grading {
        Grading::PassFail => Ok("pass-fail"),
        Grading::Sum => Ok("sum"),
        Grading::Min => Ok("min"),
        other => {
            let what = match other {
                Grading::Product => "multiplies the shares of its tests",
                Grading::Threshold(_) => "gives its points by a threshold",
                _ => "is graded as in legacy packages",
            };
            let place = format!("data/{}", group.name);
            Err(PackageError::new(place, inexpressible(what)))
        }
    }
}

fn settings(max_score: Option<f64>, aggregation: &str, required: &[String]) -> String {
    let max = max_score.map_or("unbounded".to_string(), |max| max.to_string());
    let mut text = format!("max_score: {max}\nscore_aggregation: {aggregation}\n");
    if !required.is_empty() {
        text.push_str(&format!("require_pass: {}\n", list(required.iter().map(String::as_str))));
    }
    text
}

fn case(writer: &mut Writer, case: &TestCase, name: &str) {
    writer.copy(format!("data/{name}.in"), &case.input);
    writer.copy(format!("data/{name}.ans"), &case.answer);
    for file in &case.files {
        writer.copy(format!("data/{name}.files/{}", file.name), &file.path);
    }
    let mut text = String::new();
    if !case.args.is_empty() {
        text.push_str(&format!("args: {}\n", list(case.args.iter().map(String::as_str))));
    }
    let words = match compares(writer.package) {
        // One validator for all tests, and its word for the usual comparison.
        true => comparison(&case.comparison).or_else(|| comparison(&BuiltIn::Lines)).unwrap_or_default(),
        false => case.validator_flags.clone(),
    };
    if !words.is_empty() {
        text.push_str(&format!("output_validator_args: {}\n", list(words.iter().map(String::as_str))));
    }
    let looks = looks(writer, case);
    if !looks.is_empty() {
        text.push_str(&format!("input_validator_args:\n{looks}"));
    }
    if !text.is_empty() {
        writer.text(format!("data/{name}.yaml"), text);
    }
}

/// What each input validator is told of a test: `check` where it is to look at it, and its arguments.
fn looks(writer: &mut Writer, case: &TestCase) -> String {
    let mut text = String::new();
    for (n, check) in writer.package.features.checks.iter().enumerate() {
        let mut runs =
            check.runs.iter().filter(|run: &&TestCheckRun| run.file == case.input && run.input.is_none());
        let Some(run) = runs.next() else { continue };
        if runs.next().is_some() && !writer.warnings.iter().any(|told| told.place == check.program.path) {
            let why = "looks at a test several times with other arguments; only the first is kept";
            writer.warn(&check.program.path, why);
        }
        let of_kattis = writer.package.features.checks[n].accepts != 0;
        let word = (!of_kattis).then_some("check");
        let words = word.into_iter().chain(run.args.iter().map(String::as_str));
        let words = list(words);
        if words != "[]" {
            text.push_str(&format!("  {}: {words}\n", check_name(writer.package, n)));
        }
    }
    text
}
